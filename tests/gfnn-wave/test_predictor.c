/*
 * test_predictor.c - z = P r of the CPU rungs against the formula of kernel.h, written down a
 * second time as plainly as possible: random kernels, coefficients and r.
 *
 * Around r there are NaN and a page that must not be touched; around z a mark that must stay.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/gfnn-wave/loops/node.h"
#include "base/threads.h"
#include "tests/common/check.h"
#include "tests/common/guarded.h"

extern const gfnn_kernels_t gfnn_net_reference, gfnn_net_simd;
static const gfnn_kernels_t *const rungs[] = {&gfnn_net_reference, &gfnn_net_simd};
enum { RUNGS = sizeof rungs / sizeof *rungs };
static const float mark = -77;
static int nd = GFNN_ND; /* of the cases that follow */

typedef struct {
    gfnn_box_t box;
    gfnn_network_t network;
    float *K, *c, *z;
    double *r; /* on wide, before it is narrowed for the kernels */
    size_t values;
} case_t;

/* --- one case --- */

static bool is_inside(const case_t *t, int64_t i, int64_t j, int64_t k, int64_t beyond)
{
    const int64_t *n = t->box.n;
    return i >= -beyond && i < n[0] + beyond && j >= -beyond && j < n[1] + beyond && k >= -beyond &&
           k < n[2] + beyond;
}

/* Loops over the values on `wide`, component l at (i, j, k). */
#define FOR_NODES(t, beyond)                                           \
    for (int64_t k = -(beyond); k < (t)->box.n[2] + (beyond); k++)     \
        for (int64_t j = -(beyond); j < (t)->box.n[1] + (beyond); j++) \
            for (int64_t i = -(beyond); i < (t)->box.n[0] + (beyond); i++)

static int64_t wide_at(const case_t *t, int l, int64_t i, int64_t j, int64_t k)
{
    return l * t->box.wide.plane + gfnn_at(&t->box.wide, i, j, k);
}

static float *kernel(case_t *t, int m, int i, int j, int x, int y, int z)
{
    const int width = 2 * nd + 1;
    return &t->K[(((m * 3 + i) * 3 + j) * width + z + nd) * width * width + (y + nd) * width + x +
                 nd];
}

static void make(case_t *t, int form, int kernels, const int64_t n[3])
{
    *t = (case_t){.box = {.n = {n[0], n[1], n[2]},
                          .fine = gfnn_grid(n, 1),
                          .wide = gfnn_grid(n, nd + 1),
                          .bare = gfnn_grid(n, 0)}};
    const int coefs = form == GFNN_GF8 ? 8 : kernels;
    const size_t K = (size_t)(kernels * 9 * gfnn_stencil(nd));
    const size_t c = (size_t)coefs * (size_t)t->box.bare.plane;
    t->values = 3 * (size_t)t->box.wide.plane;
    t->K = RT_NEW(float, K, RT_HOST);
    t->c = RT_NEW(float, c, RT_HOST);
    t->z = RT_NEW(float, t->values, RT_HOST);
    t->r = RT_NEW(double, t->values, RT_HOST);
    for (size_t q = 0; q < K; q++)
        t->K[q] = (float)rt_random(q, 1);
    for (int z = -nd; form == GFNN_GF8 && z <= nd; z++)
        for (int y = -nd; y <= nd; y++)
            for (int x = -nd; x <= nd; x++)
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < i; j++)
                        *kernel(t, 0, i, j, x, y, z) = *kernel(t, 0, j, i, x, y, z);
    for (size_t q = 0; q < c; q++)
        t->c[q] = (float)rt_random(q, 2);
    for (size_t q = 0; q < t->values; q++)
        t->r[q] = NAN;
    for (int l = 0; l < 3; l++)
        FOR_NODES(t, nd)
    t->r[wide_at(t, l, i, j, k)] = rt_random((uint64_t)wide_at(t, l, i, j, k), 3);
    t->network = (gfnn_network_t){form, kernels, coefs, t->K, t->c, GFNN_FP32, nd};
}

static void destroy(case_t *t)
{
    RT_FREE(t->K, RT_HOST);
    RT_FREE(t->c, RT_HOST);
    RT_FREE(t->z, RT_HOST);
    RT_FREE(t->r, RT_HOST);
}

/* Returns r in this precision, which ends where a page begins that must not be touched. */
static size_t bytes_of(const case_t *t, int precision)
{
    return t->values * (precision == GFNN_FP16 ? 2 : 4);
}

static void *guarded(const case_t *t, int precision)
{
    void *r = guarded_new(bytes_of(t, precision));
    for (size_t q = 0; q < t->values; q++)
        if (precision == GFNN_FP16)
            ((uint16_t *)r)[q] = gfnn_to_half((float)t->r[q]);
        else
            ((float *)r)[q] = (float)t->r[q];
    return r;
}

static void apply(case_t *t, const gfnn_kernels_t *rung, int precision)
{
    const gfnn_predictor_t *predictor = rung->predictor[precision];
    gfnn_view_t view = {.space = RT_HOST, .box = &t->box};
    void *r = guarded(t, precision);
    CHECK(predictor != NULL);
    t->network.precision = precision;
    for (size_t q = 0; q < t->values; q++)
        t->z[q] = mark;
    predictor->set_up(&view, &t->network);
    predictor->apply(&view, &t->network, r, t->z);
    predictor->tear_down(&view);
    guarded_free(r, bytes_of(t, precision));
}

/* --- what is wanted --- */

/* Returns z_l at a node, or the sum of the magnitudes of its terms. */
static double wanted(case_t *t, bool absolute, int l, int64_t i, int64_t j, int64_t k)
{
    double sum = 0, c[GFNN_MAX_COEF];
    for (int q = 0; q < t->network.coefs; q++)
        c[q] = (double)t->c[q * t->box.bare.plane + gfnn_at(&t->box.bare, i, j, k)];
    for (int m = 0; m < t->network.kernels; m++)
        for (int g = 0; g < 3; g++)
            for (int z = -nd; z <= nd; z++)
                for (int y = -nd; y <= nd; y++)
                    for (int x = -nd; x <= nd; x++) {
                        const double *d = c + (g == l ? 0 : 4);
                        const double Kr = (double)*kernel(t, m, l, g, x, y, z) *
                                          t->r[wide_at(t, g, i + x, j + y, k + z)];
                        if (t->network.form == GFNN_GFM)
                            sum += absolute ? fabs(c[m] * Kr) : c[m] * Kr;
                        else if (absolute)
                            sum += fabs(Kr) * (fabs(d[0]) + fabs(d[1] * x / nd) +
                                               fabs(d[2] * y / nd) + fabs(d[3] * z / nd));
                        else
                            sum += Kr * (d[0] + (d[1] * x + d[2] * y + d[3] * z) / nd);
                    }
    return sum;
}

/* Returns the largest error against the largest |z|; infinite if anything but z was written. */
static double error_of(case_t *t)
{
    double most = 0, error = 0;
    bool kept = true;
    for (int l = 0; l < 3; l++)
        FOR_NODES(t, nd + 1)
        {
            const float z = t->z[wide_at(t, l, i, j, k)];
            if (!is_inside(t, i, j, k, 0)) {
                kept = kept && memcmp(&z, &mark, sizeof z) == 0;
                continue;
            }
            const double want = wanted(t, false, l, i, j, k);
            most = fmax(most, fabs(want));
            error = rt_finite((double)z) ? fmax(error, fabs((double)z - want)) : INFINITY;
        }
    return kept ? error / most : INFINITY;
}

static void narrow(case_t *t)
{
    for (size_t q = 0; q < t->values; q++)
        t->r[q] = (double)gfnn_from_half(gfnn_to_half((float)t->r[q]));
}

static void random_case(int form, int kernels, int64_t nx, int64_t ny, int64_t nz)
{
    case_t t;
    for (int g = 0; g < RUNGS; g++) {
        make(&t, form, kernels, (int64_t[]){nx, ny, nz});
        apply(&t, rungs[g], GFNN_FP32);
        CHECK(error_of(&t) < 1e-5);
        apply(&t, rungs[g], GFNN_FP16);
        const double error = error_of(&t);
        CHECK(error < 5e-3 && error > 1e-6); /* or r was not narrowed at all */
        narrow(&t);                          /* no remaining error is due to r */
        CHECK(error_of(&t) < 1e-5);
        destroy(&t);
    }
}

/* --- the oracle's bound, threads, halves --- */

static void absolute(int form, int kernels)
{
    case_t t;
    make(&t, form, kernels, (int64_t[]){3, 4, 3});
    double *z = RT_NEW(double, t.values, RT_HOST);
    gfnn_predict_reference(&t.box, &t.network, true, t.r, z);
    bool good = true;
    for (int l = 0; l < 3; l++)
        FOR_NODES(&t, 0)
        {
            const double want = wanted(&t, true, l, i, j, k);
            good = good && fabs(z[wide_at(&t, l, i, j, k)] - want) < 1e-12 * want;
        }
    CHECK(good);
    RT_FREE(z, RT_HOST);
    destroy(&t);
}

/* The same bits whatever the number of threads. */
static void threads(void)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    case_t t;
    const int before = rt_threads();
    make(&t, GFNN_GFM, 3, (int64_t[]){37, 5, 3});
    float *z = RT_NEW(float, t.values, RT_HOST);
    for (int g = 0; g < RUNGS; g++) {
        omp_set_num_threads(1);
        apply(&t, rungs[g], GFNN_FP32);
        memcpy(z, t.z, t.values * sizeof *z);
        omp_set_num_threads(4);
        apply(&t, rungs[g], GFNN_FP32);
        CHECK(rungs[g]->rung.reproducible && !memcmp(z, t.z, t.values * sizeof *z));
    }
    omp_set_num_threads(before);
    RT_FREE(z, RT_HOST);
    destroy(&t);
#endif
}

static void halves(void)
{
    bool good = true;
    for (uint32_t h = 0; h < 0x8000; h++) {
        const int exponent = (int)(h >> 10), fraction = (int)(h & 0x3ff);
        const double want = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        const float got = gfnn_from_half((uint16_t)h),
                    minus = gfnn_from_half((uint16_t)(h | 0x8000));
        if (exponent == 31) {
            good = good && (fraction ? isnan(got) : isinf(got) && got > 0);
        } else {
            const double next = (double)gfnn_from_half((uint16_t)(h + 1));
            const float middle = (float)(want + (h == 0x7bff ? 16 : (next - want) / 2));
            good = good && (double)got == want && (double)minus == -want;
            good = good && gfnn_to_half(got) == h && gfnn_to_half(minus) == (h | 0x8000);
            good = good && gfnn_to_half(middle) == h + (h & 1); /* ties to even */
            good = good && gfnn_to_half(nextafterf(middle, 0)) == h;
            good = good && gfnn_to_half(nextafterf(middle, INFINITY)) == h + 1;
        }
    }
    CHECK(good);
    CHECK(gfnn_to_half(INFINITY) == 0x7c00 && gfnn_to_half(1e30f) == 0x7c00);
    CHECK(isnan(gfnn_from_half(gfnn_to_half(NAN))));
}

int main(void)
{
    /* rows shorter than a vector, of one, with a remainder, of several blocks */
    random_case(GFNN_GFM, 1, 3, 4, 5);
    random_case(GFNN_GFM, 2, 16, 3, 4);
    random_case(GFNN_GFM, 2, 37, 5, 3);
    random_case(GFNN_GFM, 3, 17, 3, 3);
    random_case(GFNN_GFM, 4, 9, 4, 3);
    random_case(GFNN_GFM, 8, 33, 3, 3);
    random_case(GFNN_GFM, 1, 131, 3, 3);
    random_case(GFNN_GF8, 1, 5, 3, 4);
    random_case(GFNN_GF8, 1, 53, 4, 3);
    random_case(GFNN_GF8, 1, 64, 3, 3);
    for (nd = GFNN_ND + 1; nd <= GFNN_MAX_ND; nd++) {
        random_case(GFNN_GFM, 1, 3, 2, 3);
        random_case(GFNN_GFM, 3, 17, 2, 3);
        random_case(GFNN_GF8, 1, 21, 3, 2);
        absolute(GFNN_GF8, 1);
    }
    nd = GFNN_ND;
    absolute(GFNN_GFM, 2);
    absolute(GFNN_GF8, 1);
    threads();
    halves();
    return check_done();
}
