/*
 * test_mem.c - allocation, counting, copies and poison, on the back-end of a machine without a GPU
 * and, where there is one, on the GPU.
 *
 * Checks of programs that must die come first: they need fork, which neither CUDA nor OpenMP
 * survives.
 */
#include "config.h"
#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "check.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "machine/kokkos.h"
#include "base/error.h"

static void test_format(void)
{
    char buf[16];
    CHECK_TEXT(rt_mem_format(0, buf, sizeof buf), "0 B");
    CHECK_TEXT(rt_mem_format(1023, buf, sizeof buf), "1023 B");
    CHECK_TEXT(rt_mem_format(1536, buf, sizeof buf), "1.5 KiB");
    CHECK_TEXT(rt_mem_format(1048575, buf, sizeof buf), "1.0 MiB"); /* not 1024.0 KiB */
    CHECK_TEXT(rt_mem_format(ldexp(1, 60), buf, sizeof buf), "1.0 EiB");
    CHECK_TEXT(rt_space_name(RT_HOST), "host");
    CHECK_TEXT(rt_space_name(RT_PINNED), "pinned");
    CHECK_TEXT(rt_space_name(RT_DEVICE), "device");
}

/* One of several threads asks for memory: two would both say that they may not. */
static void allocate_by_threads(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    rt_alloc(1, 8, RT_HOST);
}

static void test_out_of_memory(void)
{
    /* The product wraps to 8 bytes, which could be allocated. */
    CHECK_DIES(RT_MEMORY, "out of memory: asked for", { rt_alloc(SIZE_MAX / 8 + 2, 8, RT_HOST); });
    CHECK(rt_try_alloc(SIZE_MAX / 8 + 2, 8, RT_HOST) == NULL);
    for (rt_space_t space = RT_HOST; space < RT_SPACES; space++) {
        CHECK_DIES(RT_MEMORY, "asked for 1.0 EiB", { rt_alloc((size_t)1 << 60, 1, space); });
        CHECK_DIES(RT_MEMORY, rt_space_name(space), { rt_alloc((size_t)1 << 60, 1, space); });
        CHECK_DIES(RT_MEMORY, ", free ", { rt_alloc((size_t)1 << 60, 1, space); });
        CHECK_DIES(RT_MEMORY, "test_mem.c:", { rt_alloc((size_t)1 << 60, 1, space); });
        CHECK(rt_try_alloc((size_t)1 << 60, 1, space) == NULL);
        CHECK(rt_mem_used(space) == 0); /* failed allocations are not counted */
    }
    if (RT_HAVE_OPENMP)
        CHECK_DIES(RT_INVALID, "in a parallel region", { allocate_by_threads(); });
    /* A little too much: Linux would promise it and kill us later. */
    const size_t too_much = rt_mem_available(RT_HOST) + ((size_t)1 << 30);
    CHECK_DIES(RT_MEMORY, "out of memory", { rt_alloc(too_much, 1, RT_HOST); });
}

/* Memory that was promised and not touched yet cannot be allocated a second time. */
static void test_promises(void)
{
    const size_t gib = (size_t)1 << 30;
    bool seen =
        rt_mem_available(RT_HOST) < 6 * gib; /* too little to tell apart from other programs */
    for (int i = 0; i < 5 && !seen; i++) {
        const size_t before = rt_mem_available(RT_HOST);
        char *big = rt_alloc(2, gib, RT_HOST);
        seen = rt_mem_available(RT_HOST) < before - gib;
        rt_free(big, RT_HOST);
    }
    CHECK(seen);
#ifndef CHECK_LEAKS /* the address sanitizer touches it, in its shadow memory */
    const size_t most = rt_mem_available(RT_HOST) / 10 * 6;
    char *first = rt_try_alloc(most, 1, RT_HOST); /* NULL if a ulimit prevents it */
    CHECK(!first || rt_try_alloc(most, 1, RT_HOST) == NULL);
    rt_free(first, RT_HOST);
#endif
}

static void test_misuse(void)
{
    double on_stack[4] = {1, 2, 3, 4};
    double *h = RT_NEW(double, 4, RT_HOST), *d = RT_NEW(double, 4, RT_DEVICE);
    CHECK_DIES(RT_INVALID, "freed already", {
        rt_free(h, RT_HOST);
        rt_free(h, RT_HOST);
    });
    CHECK_DIES(RT_INVALID, "not from rt_alloc", { rt_free(on_stack, RT_HOST); });
    CHECK_DIES(RT_INVALID, "not from rt_alloc", { rt_free(h + 1, RT_HOST); });
    CHECK_DIES(RT_INVALID, "this is device memory", { rt_free(d, RT_HOST); });
    CHECK_DIES(RT_INVALID, "this is host memory", { rt_free(h, RT_DEVICE); });

    CHECK_DIES(RT_INVALID, "called host but is device",
               { rt_copy(on_stack, RT_HOST, d, RT_HOST, sizeof on_stack); });
    CHECK_DIES(RT_INVALID, "called device but is host",
               { rt_copy(h, RT_DEVICE, on_stack, RT_HOST, sizeof on_stack); });
    CHECK_DIES(RT_INVALID, "is not device memory",
               { rt_copy(on_stack, RT_DEVICE, h, RT_HOST, sizeof on_stack); });
    CHECK_DIES(RT_INVALID, "over the end", { rt_copy(d, RT_DEVICE, h, RT_HOST, 33); });
    CHECK_DIES(RT_INVALID, "over the end", { rt_copy(d + 1, RT_DEVICE, on_stack, RT_HOST, 32); });
    CHECK_DIES(RT_INVALID, "over the end", { rt_copy(on_stack, RT_HOST, d + 3, RT_DEVICE, 9); });
    CHECK_DIES(RT_INVALID, "over the end", { rt_fill(d, RT_DEVICE, 0, 33); });
    rt_copy(d + 3, RT_DEVICE, on_stack, RT_HOST, 8); /* up to the very end is allowed */
    RT_FREE(h, RT_HOST);
    RT_FREE(d, RT_DEVICE);
    CHECK(h == NULL && d == NULL);
}

static void test_counting(rt_space_t space)
{
    rt_mem_reset_high_water();
    const size_t before = rt_mem_used(space);
    const size_t others = rt_mem_used((space + 1) % RT_SPACES);
    CHECK(rt_mem_high_water(space) == before);
    char *a = rt_alloc(25, 4, space), *b = rt_alloc(200, 1, space);
    rt_free(a, space);
    char *c = rt_alloc(50, 1, space);
    CHECK(rt_mem_used(space) == before + 250);
    CHECK(rt_mem_high_water(space) == before + 300);
    rt_mem_reset_high_water();
    CHECK(rt_mem_high_water(space) == before + 250);
    rt_free(b, space);
    rt_free(c, space);
    CHECK(rt_mem_used(space) == before);
    CHECK(rt_mem_used((space + 1) % RT_SPACES) == others);
    CHECK(rt_alloc(0, 8, space) == NULL && rt_alloc(8, 0, space) == NULL);
    rt_free(NULL, space);
    CHECK(rt_mem_available(space) > 0);
}

/* Many blocks, freed in another order than allocated: the table must keep them apart. */
static void test_many(rt_space_t space)
{
    enum { MANY = 300 };
    int *block[MANY];
    for (int i = 0; i < MANY; i++) {
        block[i] = rt_clone(&i, 1, sizeof i, space);
        CHECK((uintptr_t)block[i] % (space == RT_DEVICE ? 128 : 64) == 0);
    }
    int wrong = 0;
    for (int k = 0; k < MANY; k++) {
        const int i =
            k * 7 % MANY; /* 7 and 300 have no common factor, so this visits each block once */
        int back = -1;
        rt_copy(&back, RT_HOST, block[i], space, sizeof back);
        wrong += back != i;
        rt_free(block[i], space);
    }
    CHECK(wrong == 0);
}

static void test_copies(void)
{
    enum { N = 1000 };
    double from[N], back[N];
    for (int i = 0; i < N; i++)
        from[i] = 1.0 / (i + 1);
    for (rt_space_t a = RT_HOST; a < RT_SPACES; a++) {
        for (rt_space_t b = RT_HOST; b < RT_SPACES; b++) {
            double *x = rt_clone(from, N, sizeof from[0], a), *y = RT_NEW(double, N, b);
            rt_fill(y, b, 0x55, sizeof from);
            rt_copy(y, b, x, a, sizeof from / 2);
            rt_copy(back, RT_HOST, y, b, sizeof from);
            CHECK(memcmp(back, from, sizeof from / 2) == 0);
            CHECK(((unsigned char *)back)[sizeof from / 2] == 0x55);
            CHECK(((unsigned char *)back)[sizeof from - 1] == 0x55);
            RT_FREE(x, a);
            RT_FREE(y, b);
        }
    }
}

/* A program that forgets the copy to the device must compute NaN. */
static void test_poison(rt_space_t space, size_t n)
{
    double *never_written = RT_NEW(double, n, space), *result = malloc(n * sizeof *result);
    rt_copy(result, RT_HOST, never_written, space, n * sizeof *result);
    size_t finite = 0, tame = 0, signalling = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits; /* not isnan: with -ffast-math it is never true */
        int32_t half[2];
        memcpy(&bits, &result[i], sizeof bits);
        memcpy(half, &bits, sizeof bits);
        finite += (bits & INT64_MAX) <= UINT64_C(0x7ff0000000000000);
        finite += (half[0] & INT32_MAX) <= 0x7f800000 || (half[1] & INT32_MAX) <= 0x7f800000;
        tame += half[0] < INT32_MAX / 2 || half[1] < INT32_MAX / 2;
        signalling += !(bits & UINT64_C(0x0008000000000000));
    }
    CHECK(finite == 0);
    CHECK(tame == 0);
    CHECK(signalling == n);
    free(result);
    rt_free(never_written, space);

    unsigned char odd[13], *few = rt_alloc(sizeof odd, 1, space); /* not a multiple of a word */
    rt_copy(odd, RT_HOST, few, space, sizeof odd);
    CHECK(odd[8] == 0xf4 && odd[11] == 0x7f && odd[12] == 0xf4);
    rt_free(few, space);
}

/* A field that is drawn in any space has the bits of rt_random on the host: judges draw it again.
 * Copies of a value stay copies, 0 stays 0, and another draw shares no value with it. */
static void test_draw(rt_space_t space)
{
    enum { N = 1000 };
    double base[N], x[N], other[N];
    float base32[N], x32[N];
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        base[i] = i % 7 == 0 ? 0 : rt_random((uint64_t)(i % 600), 5);
        base32[i] = (float)base[i];
    }
    double *in = rt_clone(base, N, sizeof *base, space);
    float *in32 = rt_clone(base32, N, sizeof *base32, space);
    double *out = RT_NEW(double, N, space);
    rt_draw(out, space, in, N, sizeof *in, (rt_draw_t){9, 0, 1});
    rt_copy(x, RT_HOST, out, space, sizeof x);
    rt_draw(out, space, in, N, sizeof *in, (rt_draw_t){10, 1, 0.125});
    rt_copy(other, RT_HOST, out, space, sizeof other);
    rt_draw(in32, space, in32, N, sizeof *in32, (rt_draw_t){9, 0, 1});
    rt_copy(x32, RT_HOST, in32, space, sizeof x32);
    for (int i = 0; i < N; i++) {
        uint64_t bits;
        memcpy(&bits, &base[i], sizeof bits);
        const double wide = base32[i];
        wrong += x[i] != base[i] * rt_random(bits, 9);
        wrong += other[i] != base[i] * (1 + 0.125 * rt_random(bits, 10));
        memcpy(&bits, &wide, sizeof bits);
        wrong += x32[i] != (float)(wide * rt_random(bits, 9));
        wrong += base[i] != 0 && x[i] == other[i];
    }
    CHECK(wrong == 0);
    CHECK(x[0] == 0 && x[1] != 0 && x[1] == x[601] && x[1] != x[2]);
    rt_free(in, space);
    rt_free(in32, space);
    rt_free(out, space);
}

static void test_all_spaces(void)
{
    for (rt_space_t space = RT_HOST; space < RT_SPACES; space++) {
        test_counting(space);
        test_many(space);
        test_draw(space);
    }
    test_copies();
}

static void test_gpu(void)
{
    CHECK(!rt_mem_device_is_emulated());
    test_all_spaces();
    rt_mem_poison(true);
    for (rt_space_t space = RT_HOST; space < RT_SPACES; space++)
        test_poison(space, 300001); /* more than the megabyte from which doubling starts */
    rt_mem_poison(false);

    const size_t before = rt_mem_available(RT_DEVICE);
    CHECK(before <= rt_device_gpu()->memory);
    CHECK(rt_try_alloc(rt_device_gpu()->memory, 1, RT_DEVICE) == NULL); /* the driver holds some */
    rt_device_synchronize(); /* dies if the failed allocation left an error behind */
    bool less = false; /* other programs may free memory meanwhile: one of a few tries must do */
    for (int attempt = 0; attempt < 10 && !less; attempt++) {
        const size_t now = rt_mem_available(RT_DEVICE), quarter = now / 4;
        char *block = rt_alloc(1, quarter, RT_DEVICE);
        less = rt_mem_available(RT_DEVICE) <= now - quarter;
        rt_free(block, RT_DEVICE);
    }
    CHECK(less);
}

int main(int argc, char **argv)
{
    setenv("RT_POISON", "1", 1); /* looked at by the first allocation */
    rt_comm_init(&argc, &argv);
    test_format();
    test_out_of_memory();
    test_misuse();
    CHECK(rt_mem_device_is_emulated());
    for (rt_space_t space = RT_HOST; space < RT_SPACES; space++)
        test_poison(space, 100);
    rt_mem_poison(false);
    test_poison(RT_DEVICE, 100001); /* always, when it is emulated; in parallel */
    test_all_spaces();
    test_promises();

    rt_device_select("auto", true, 0);
    rt_kokkos_start(1, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
    if (rt_device_gpu())
        test_gpu();
    else
        printf("not tested: memory of a GPU (%s)\n", rt_device_why_not());
    CHECK(rt_mem_used(RT_HOST) == 0 && rt_mem_used(RT_PINNED) == 0 && rt_mem_used(RT_DEVICE) == 0);
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
