/*
 * base/mem.c - memory spaces: the table of live blocks, the poison, and host memory.
 *
 * Idea: one table holds every live block. It counts the bytes, finds a pointer that is freed twice or
 * in the wrong space, and catches a copy that runs over the end of a block on a GPU, where nothing
 * else would.
 * Advantage: a copy with the spaces mixed up fails here, with both spaces named, and not as an
 * illegal access some kernels later.
 * Price: a search of the table per copy. It is short, because apps hold tens of blocks.
 *
 * Not for several threads at once.
 */
#include "config.h"
#include "base/mem.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/free_memory.h"
#include "base/mem_backend.h"
#include "base/threads.h"

const char *rt_space_name(rt_space_t space)
{
    static const char *const names[RT_SPACES] = {"host", "pinned", "device"};
    return names[space];
}

/* ---- the poison ---- The pattern 0x7ff4, repeated, is a signalling NaN as a double, a NaN as
 * float, half and bfloat16, and close to the largest integer of 16, 32 and 64 bits: as an index,
 * far outside any array. (No pattern of 32 bits is a signalling NaN both as a float and, repeated,
 * as a double: the exponent of the double covers the bit that makes the float a quiet NaN.) */
#define POISON (UINT64_C(0x0001000100010001) * RT_MEM_POISON)

static int poison_all = -1; /* -1: RT_POISON has not been read yet */

void rt_mem_poison(bool on)
{
    poison_all = on;
}

bool rt_mem_is_poisoning(void)
{
    if (poison_all < 0) {
        const char *value = getenv("RT_POISON");
        poison_all = value && strcmp(value, "1") == 0;
    }
    return poison_all;
}

static void host_poison(void *ptr, size_t bytes)
{
    uint64_t *word = ptr;
    const size_t n = bytes / sizeof *word;
    const uint64_t poison = POISON;
#pragma omp parallel for schedule(static) if (n > 65536)
    for (size_t i = 0; i < n; i++)
        word[i] = poison;
    memcpy(word + n, &poison, bytes % sizeof *word);
}

/* ---- the host back-end ---- */

static size_t promised_bytes; /* allocated by host_alloc, touched or not */

static size_t host_available(rt_space_t space)
{
    (void)space;
    return rt_free_memory(promised_bytes);
}

static void *host_alloc(size_t bytes, rt_space_t space)
{
    /* Asking takes about 50 us. That is worth it where a mistake could get the program killed. */
    const size_t worth_asking = (size_t)1 << 20;
    void *ptr = NULL;
    if (bytes >= worth_asking && bytes > host_available(space))
        return NULL;
    if (posix_memalign(&ptr, space == RT_DEVICE ? 128 : 64, bytes) != 0)
        return NULL;
    if (space == RT_DEVICE || rt_mem_is_poisoning())
        host_poison(ptr, bytes);
    return ptr;
}

static void host_release(void *ptr, rt_space_t space)
{
    (void)space;
    free(ptr);
}

/* Large blocks are touched in parallel. The first touch decides on which NUMA node a page lives,
 * and the kernel clears a page when it is touched: one thread needs a second for each GB or two. */
enum { PIECE = 1 << 20 };

static void host_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                      size_t bytes)
{
    (void)dst_space;
    (void)src_space;
#pragma omp parallel for schedule(static) if (bytes > PIECE)
    for (size_t at = 0; at < bytes; at += PIECE)
        memcpy((char *)dst + at, (const char *)src + at, bytes - at < PIECE ? bytes - at : PIECE);
}

static void host_fill(void *dst, rt_space_t space, int byte, size_t bytes)
{
    (void)space;
#pragma omp parallel for schedule(static) if (bytes > PIECE)
    for (size_t at = 0; at < bytes; at += PIECE)
        memset((char *)dst + at, byte, bytes - at < PIECE ? bytes - at : PIECE);
}

static void host_draw(void *x, const void *base, size_t n, size_t size, rt_draw_t draw)
{
    const double *base64 = base;
    const float *base32 = base;
    double *x64 = x;
    float *x32 = x;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        if (size == sizeof(double))
            x64[i] = rt_drawn(base64[i], draw);
        else
            x32[i] = (float)rt_drawn(base32[i], draw);
}

const rt_mem_backend_t rt_mem_host = {.alloc = host_alloc,
                                      .release = host_release,
                                      .copy = host_copy,
                                      .fill = host_fill,
                                      .draw = host_draw,
                                      .available = host_available};

static const rt_mem_backend_t *backend = &rt_mem_host;

void rt_mem_set_backend(const rt_mem_backend_t *chosen)
{
    backend = chosen;
}

bool rt_mem_device_is_emulated(void)
{
    return backend == &rt_mem_host;
}

size_t rt_mem_available(rt_space_t space)
{
    return space == RT_HOST ? host_available(space) : backend->available(space);
}

/* ---- the table of live blocks ---- */

typedef struct {
    uintptr_t start;
    size_t bytes;
    rt_space_t space;
    const rt_mem_backend_t
        *backend; /* the one that allocated it: the device may have been released since */
} block_t;

static struct {
    block_t *block; /* [n], in no order; addresses of CUDA and of the host never clash */
    size_t n, capacity;
    size_t used[RT_SPACES], high_water[RT_SPACES];
} table;

/* Returns the block that holds `address`, or NULL. */
static const block_t *block_around(uintptr_t address)
{
    for (const block_t *b = table.block; b < table.block + table.n; b++)
        if (address - b->start < b->bytes)
            return b;
    return NULL;
}

static bool table_reserve(void)
{
    if (table.n < table.capacity)
        return true;
    const size_t capacity = table.capacity ? 2 * table.capacity : 64;
    block_t *grown = realloc(table.block, capacity * sizeof *grown);
    if (!grown)
        return false;
    table.block = grown;
    table.capacity = capacity;
    return true;
}

static void table_insert(block_t b)
{
    table.block[table.n++] = b;
    if (b.backend == &rt_mem_host)
        promised_bytes += b.bytes;
    table.used[b.space] += b.bytes;
    if (table.used[b.space] > table.high_water[b.space])
        table.high_water[b.space] = table.used[b.space];
}

static void table_remove(const block_t *b)
{
    if (b->backend == &rt_mem_host)
        promised_bytes -= b->bytes;
    table.used[b->space] -= b->bytes;
    table.block[b - table.block] = table.block[--table.n];
    if (table.n == 0) { /* nothing is live, so leave nothing for a leak checker to find */
        free(table.block);
        table.block = NULL;
        table.capacity = 0;
    }
}

/* ---- allocating ---- */

void *rt_try_alloc(size_t n, size_t size, rt_space_t space)
{
    if (n == 0 || size == 0 || n > SIZE_MAX / size)
        return NULL;
    block_t b = {.bytes = n * size, .space = space};
    b.backend = space == RT_HOST ? &rt_mem_host : backend;
    if (!table_reserve())
        return NULL;
    void *ptr = b.backend->alloc(b.bytes, space);
    if (ptr) {
        b.start = (uintptr_t)ptr;
        table_insert(b);
    }
    return ptr;
}

void *rt_alloc_at(size_t n, size_t size, rt_space_t space, const char *file, int line)
{
    if (n == 0 || size == 0)
        return NULL;
    if (rt_threads_here() > 1) /* the table of blocks belongs to one thread */
        rt_die_at(file, line, "", RT_INVALID, "memory is asked for in a parallel region");
    void *ptr = rt_try_alloc(n, size, space);
    if (!ptr) {
        char asked[16], left[16], used[16];
        rt_die_at(file, line, "", RT_MEMORY,
                  "out of memory: asked for %s of %s memory (%zu x %zu bytes), free %s, used by "
                  "this rank %s",
                  rt_mem_format((double)n * (double)size, asked, sizeof asked),
                  rt_space_name(space), n, size,
                  rt_mem_format((double)rt_mem_available(space), left, sizeof left),
                  rt_mem_format((double)table.used[space], used, sizeof used));
    }
    return ptr;
}

void rt_free(void *ptr, rt_space_t space)
{
    if (!ptr)
        return;
    const block_t *b = block_around((uintptr_t)ptr);
    RT_EXPECT(b && b->start == (uintptr_t)ptr, RT_INVALID,
              "rt_free(%p, %s): freed already, or not from rt_alloc", ptr, rt_space_name(space));
    RT_EXPECT(b->space == space, RT_INVALID, "rt_free(%p, %s): this is %s memory", ptr,
              rt_space_name(space), rt_space_name(b->space));
    const rt_mem_backend_t *maker = b->backend;
    table_remove(b);
    maker->release(ptr, space);
}

/* ---- copying ---- */

/* Checks one end of a copy. Pinned and device memory can only come from rt_alloc, so such a range
 * must be in a block of its space. Host memory may come from anywhere, but it must not be a block
 * of the device, nor run over the end of a block. */
static void check_range(const void *ptr, rt_space_t space, size_t bytes, const char *what)
{
    const block_t *b = block_around((uintptr_t)ptr);
    if (!b) {
        RT_EXPECT(space == RT_HOST, RT_INVALID, "%s %p is not %s memory from rt_alloc", what, ptr,
                  rt_space_name(space));
        return;
    }
    /* Pinned memory is also host memory, for code that only reads and writes it on the host. */
    RT_EXPECT(b->space == space || (space == RT_HOST && b->space == RT_PINNED), RT_INVALID,
              "%s %p is called %s but is %s memory", what, ptr, rt_space_name(space),
              rt_space_name(b->space));
    const size_t offset = (uintptr_t)ptr - b->start;
    RT_EXPECT(bytes <= b->bytes - offset, RT_INVALID,
              "%s %p: %zu bytes from offset %zu run over the end of a %s block of %zu", what, ptr,
              bytes, offset, rt_space_name(space), b->bytes);
}

void rt_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space, size_t bytes)
{
    if (bytes == 0)
        return;
    check_range(dst, dst_space, bytes, "destination");
    check_range(src, src_space, bytes, "source");
    backend->copy(dst, dst_space, src, src_space, bytes);
}

void rt_fill(void *dst, rt_space_t space, int byte, size_t bytes)
{
    if (bytes == 0)
        return;
    check_range(dst, space, bytes, "destination");
    backend->fill(dst, space, byte, bytes);
}

void rt_draw(void *x, rt_space_t space, const void *base, size_t n, size_t size, rt_draw_t draw)
{
    if (n == 0)
        return;
    check_range(x, space, n * size, "a drawn field");
    check_range(base, space, n * size, "the base of a drawn field");
    const rt_mem_backend_t *drawing = space == RT_DEVICE ? backend : &rt_mem_host;
    drawing->draw(x, base, n, size, draw);
}

void *rt_clone(const void *host, size_t n, size_t size, rt_space_t space)
{
    void *ptr = rt_alloc(n, size, space);
    if (ptr)
        rt_copy(ptr, space, host, RT_HOST, n * size);
    return ptr;
}

/* ---- counting ---- */

size_t rt_mem_used(rt_space_t space)
{
    return table.used[space];
}

size_t rt_mem_high_water(rt_space_t space)
{
    return table.high_water[space];
}

void rt_mem_reset_high_water(void)
{
    for (int space = 0; space < RT_SPACES; space++)
        table.high_water[space] = table.used[space];
}

char *rt_mem_format(double bytes, char *buf, size_t len)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int u = 0;
    while (bytes >= 1023.95 && u < 6) { /* not 1024, which would print "1024.0 KiB" */
        bytes /= 1024;
        u++;
    }
    snprintf(buf, len, "%.*f %s", u > 0, bytes, units[u]);
    return buf;
}
