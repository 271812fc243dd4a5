/*
 * test_vectors.c - the CPU's loops over vectors, each against a plain loop written from its line in
 * kernel.h. Ghosts and padding hold a mark that must be there afterwards; sums must have the same
 * bits on one thread and on two.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include "gfnn_test.h"
#include "base/threads.h"

static const gfnn_vectors_t *const V = &gfnn_vectors_cpu;
static const double MARK = 77;

/* A box with all its arrays' own values in one order: component, z, y, x. */
typedef struct {
    gfnn_config_t config;
    gfnn_box_t box;
    gfnn_model_t *model;
    gfnn_form_t form;
    gfnn_view_t view;
    int64_t n;
    int64_t *fine, *wide; /* [n] where they are */
} bench_t;

static int64_t *positions(const gfnn_grid_t *g)
{
    int64_t *at = RT_NEW(int64_t, (size_t)(3 * g->n[0] * g->n[1] * g->n[2]), RT_HOST), q = 0;
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++)
                    at[q++] = c * g->plane + gfnn_at(g, i, j, k);
    return at;
}

static void bench_new(bench_t *b, int faces)
{
    b->config = gfnn_test_config(11, 6, 5, faces);
    b->config.model = "head";
    b->box = gfnn_box(&b->config, 0);
    b->model = gfnn_model_new(&b->config, &b->box);
    b->form = gfnn_step(&b->config).A;
    b->view = (gfnn_view_t){.kind = RT_CPU,
                            .space = RT_HOST,
                            .box = &b->box,
                            .materials = &b->model->materials,
                            .id = b->model->id};
    b->n = 3 * b->box.n[0] * b->box.n[1] * b->box.n[2];
    b->fine = positions(&b->box.fine);
    b->wide = positions(&b->box.wide);
    V->set_up(&b->view, &b->form);
}

static void bench_destroy(bench_t *b)
{
    V->tear_down(&b->view);
    gfnn_model_destroy(b->model);
    RT_FREE(b->fine, RT_HOST);
    RT_FREE(b->wide, RT_HOST);
}

/* Returns a vector of random own values, with the mark everywhere else. */
static double *new64(const bench_t *b, uint64_t seed)
{
    const size_t values = 3 * (size_t)b->box.fine.plane;
    double *x = gfnn_test_keep(RT_NEW(double, values, RT_HOST));
    for (size_t i = 0; i < values; i++)
        x[i] = MARK;
    for (int64_t q = 0; q < b->n; q++)
        x[b->fine[q]] = rt_random((uint64_t)q, seed);
    return x;
}

static float *new32(const bench_t *b, uint64_t seed)
{
    const size_t values = 3 * (size_t)b->box.wide.plane;
    float *x = gfnn_test_keep(RT_NEW(float, values, RT_HOST));
    for (size_t i = 0; i < values; i++)
        x[i] = (float)MARK;
    for (int64_t q = 0; q < b->n; q++)
        x[b->wide[q]] = (float)rt_random((uint64_t)q, seed);
    return x;
}

static uint16_t *new16(const bench_t *b)
{
    const size_t values = 3 * (size_t)b->box.wide.plane;
    uint16_t *x = gfnn_test_keep(RT_NEW(uint16_t, values, RT_HOST));
    for (size_t i = 0; i < values; i++)
        x[i] = 77;
    return x;
}

/* Is the mark still in everything that is not own? */
#define DEFINE_MARKED(NAME, TYPE, GRID)                                   \
    static bool NAME(const bench_t *b, const TYPE *x)                     \
    {                                                                     \
        const int64_t values = 3 * b->box.GRID.plane;                     \
        bool *own = RT_NEW(bool, (size_t)values, RT_HOST), marked = true; \
        memset(own, 0, (size_t)values);                                   \
        for (int64_t q = 0; q < b->n; q++)                                \
            own[b->GRID[q]] = true;                                       \
        for (int64_t i = 0; i < values; i++)                              \
            marked = marked && (own[i] || x[i] == (TYPE)77);              \
        RT_FREE(own, RT_HOST);                                            \
        return marked;                                                    \
    }
DEFINE_MARKED(marked64, double, fine)
DEFINE_MARKED(marked32, float, wide)
DEFINE_MARKED(marked16, uint16_t, wide)

static bool is_near(double got, double want, double tolerance)
{
    return rt_finite(got) && fabs(got - want) <= tolerance;
}

/* Returns the scalars in the midst of a solve; their sums are unusable. */
static gfnn_cg_t scalars(double alpha, double beta, double scale)
{
    return (gfnn_cg_t){
        .sums = {NAN, NAN}, .alpha = alpha, .beta = beta, .scale = scale, .told = {1, 2 * 3}};
}

/* --- FP64 --- */

static void check_fine(const bench_t *b)
{
    double *x = new64(b, 1), *y = new64(b, 2), *want = new64(b, 2);
    double sum = 0;
    bool same = true;
    for (int64_t q = 0; q < b->n; q++)
        sum += x[b->fine[q]] * y[b->fine[q]];
    CHECK(is_near(V->dot(&b->view, x, y), sum, 1e-12));

    V->axpby(&b->view, 1.5, x, -0.25, y);
    for (int64_t q = 0; q < b->n; q++)
        same = same && is_near(y[b->fine[q]], 1.5 * x[b->fine[q]] - 0.25 * want[b->fine[q]],
                               4 * DBL_EPSILON);
    CHECK(same && marked64(b, y));

    V->fill(&b->view, NAN, y);
    CHECK(marked64(b, y) && rt_count_nonfinite(y, 3 * (size_t)b->box.fine.plane) == (size_t)b->n);
    V->axpby(&b->view, 2, x, 0, y); /* and y is not read */
    for (int64_t q = 0; q < b->n; q++)
        same = same && y[b->fine[q]] == 2 * x[b->fine[q]];
    CHECK(same && marked64(b, x));
    const double before = y[b->fine[7]];
    V->add(&b->view, b->fine[7], 0.5, y);
    CHECK(y[b->fine[7]] == before + 0.5 && y[b->fine[6]] == 2 * x[b->fine[6]]);
    gfnn_test_release();
}

/* f . f and the largest |f|, which is negative here. */
static void check_start(const bench_t *b)
{
    const gfnn_method_t method = {.flexible = true, .tolerance = 0.25, .most_iterations = 9};
    gfnn_cg_t cg = scalars(NAN, NAN, NAN);
    double *f = new64(b, 1), sum = 0;
    f[b->fine[b->n / 2]] = -9;
    V->start(&b->view, &cg, &method, f);
    for (int64_t q = 0; q < b->n; q++)
        sum += f[b->fine[q]] * f[b->fine[q]];
    CHECK(is_near(cg.sums[0], sum, 1e-12 * sum) && cg.sums[1] == 9);
    CHECK(cg.method.flexible && cg.method.tolerance == 0.25 && cg.method.most_iterations == 9);
    gfnn_test_release();
}

/* --- conjugate gradients, in FP64 or FP32 --- */

static void *new_of(const bench_t *b, int type, uint64_t seed)
{
    return type == GFNN_SINGLE ? (void *)new32(b, seed) : (void *)new64(b, seed);
}

/* Returns own value number q. */
static double value_of(const bench_t *b, int type, const void *x, int64_t q)
{
    return type == GFNN_SINGLE ? (double)((const float *)x)[b->wide[q]]
                               : ((const double *)x)[b->fine[q]];
}

static bool marked_of(const bench_t *b, int type, const void *x)
{
    return type == GFNN_SINGLE ? marked32(b, x) : marked64(b, x);
}

static void spoil(const bench_t *b, int type, void *x)
{
    if (type == GFNN_SINGLE)
        V->fill32(&b->view, NAN, x);
    else
        V->fill(&b->view, NAN, x);
}

static double epsilon(int type)
{
    return type == GFNN_SINGLE ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* r = unit (f - y), x = 0, what the preconditioner gets, and r . r. */
static void check_renew(const bench_t *b, int type, bool with_y)
{
    const double unit = type == GFNN_SINGLE ? 16 : 1;
    double *f = new64(b, 1), *y = new64(b, 2), sum = 0;
    void *r = new_of(b, type, 3), *x = new_of(b, type, 4);
    float *low = new32(b, 5);
    gfnn_cg_t cg = scalars(NAN, NAN, 2);
    cg.unit = unit;
    spoil(b, type, r);
    spoil(b, type, x);
    V->loops[type]->renew(&b->view, &cg, f, with_y ? y : NULL, r, x, GFNN_FP32, low);
    bool same = true;
    for (int64_t q = 0; q < b->n; q++) {
        const double want = unit * (f[b->fine[q]] - (with_y ? y[b->fine[q]] : 0));
        const double got = value_of(b, type, r, q);
        sum += want * want;
        same = same && is_near(got, want, 32 * epsilon(type)) && value_of(b, type, x, q) == 0 &&
               is_near((double)low[b->wide[q]], 2 * got, 4 * (double)FLT_EPSILON * fabs(got));
    }
    CHECK(same && marked_of(b, type, r) && marked_of(b, type, x) && marked32(b, low));
    CHECK(!with_y || is_near(cg.sums[0], sum, 1e-6 * sum));
    gfnn_test_release();
}

static void check_update(const bench_t *b, int type)
{
    const double alpha = 0.375, scale = 8;
    void *q = new_of(b, type, 2), *r = new_of(b, type, 4), *r0 = new_of(b, type, 4);
    float *low = new32(b, 5);
    double sum = 0;
    gfnn_cg_t cg = scalars(alpha, NAN, scale);
    V->loops[type]->update(&b->view, &cg, q, r, GFNN_FP32, low);
    bool same = true;
    for (int64_t i = 0; i < b->n; i++) {
        const double got = value_of(b, type, r, i);
        const double want = value_of(b, type, r0, i) - alpha * value_of(b, type, q, i);
        sum += got * got;
        same = same && is_near(got, want, 4 * epsilon(type)) &&
               low[b->wide[i]] == (float)(scale * got);
    }
    CHECK(same && is_near(cg.sums[0], sum, 1e-12 * sum) && cg.sums[1] == 0);
    CHECK(marked_of(b, type, r) && marked32(b, low));
    cg = scalars(0, NAN, NAN);
    V->loops[type]->update(&b->view, &cg, q, r, GFNN_FP32, NULL);
    CHECK(is_near(cg.sums[0], sum, 1e-12 * sum));
    gfnn_test_release();
}

/* Checks update and D^-1 in one pass; without a step, q is not even read. */
static void check_update_bj(const bench_t *b, int type)
{
    const double alpha = 0.375, scale = 8;
    void *q = new_of(b, type, 2), *r = new_of(b, type, 4), *r0 = new_of(b, type, 4);
    gfnn_cg_t of_update = scalars(alpha, NAN, scale), cg = of_update;
    double zr = 0;
    float *z = new32(b, 5), *low = new32(b, 6), *want = new32(b, 7);
    V->loops[type]->update(&b->view, &of_update, q, r0, GFNN_FP32, low);
    const double rr = of_update.sums[0];
    V->smooth32(&b->view, NULL, 0, NULL, 1, low, NULL, want);
    V->loops[type]->update_bj(&b->view, &cg, false, q, r, z);
    bool same = true, same_z = true;
    for (int64_t i = 0; i < b->n; i++) {
        const double here = value_of(b, type, r, i);
        same = same && is_near(here, value_of(b, type, r0, i), 4 * epsilon(type));
        same_z = same_z && is_near((double)z[b->wide[i]], (double)want[b->wide[i]], 1e-5);
        zr += (double)z[b->wide[i]] * here;
    }
    CHECK(same && same_z);
    CHECK(is_near(cg.sums[0], rr, 1e-12 * rr) && is_near(cg.sums[1], zr, 1e-12 * zr));
    CHECK(marked_of(b, type, r) && marked32(b, z));
    spoil(b, type, q);
    V->fill32(&b->view, NAN, z);
    cg = scalars(NAN, NAN, scale);
    V->loops[type]->update_bj(&b->view, &cg, true, q, r, z);
    CHECK(is_near(cg.sums[0], rr, 1e-12 * rr) && is_near(cg.sums[1], zr, 1e-12 * zr));
    gfnn_test_release();
}

static void check_dots(const bench_t *b, int type)
{
    void *r = new_of(b, type, 1), *q = new_of(b, type, 2);
    float *z = new32(b, 4);
    double want[2] = {0};
    gfnn_cg_t got = scalars(NAN, NAN, 2), only = got;
    for (int64_t i = 0; i < b->n; i++) {
        want[0] += (double)z[b->wide[i]] * value_of(b, type, r, i);
        want[1] += (double)z[b->wide[i]] * value_of(b, type, q, i);
    }
    V->loops[type]->dots(&b->view, &got, z, r, q);
    V->loops[type]->dots(&b->view, &only, z, r, NULL);
    CHECK(is_near(got.sums[0], want[0], 1e-12) && is_near(got.sums[1], want[1], 1e-12));
    CHECK(only.sums[0] == got.sums[0]);
    gfnn_test_release();
}

/* x must go along p as it was, and p go on from there: catches a step along the new p, one of
 * another length, and one before there is a p. The step is that which is due, not alpha: after the
 * true residual took the place of r, none is. */
static void check_direction(const bench_t *b, int type)
{
    static const double factor[][2] = {{0.75, -3}, {0.75, 0}, {0, -3}, {NAN, NAN}};
    void *x0 = new_of(b, type, 2), *p0 = new_of(b, type, 3);
    float *z = new32(b, 4);
    for (size_t f = 0; f < sizeof factor / sizeof *factor; f++) {
        const bool first = isnan(factor[f][0]);
        const double due = first ? 0 : factor[f][0], beta = first ? 0 : factor[f][1];
        const double scale = 0.5;
        gfnn_cg_t cg = scalars(NAN, factor[f][1], 1 / scale);
        void *x = new_of(b, type, 2), *p = new_of(b, type, 3);
        bool same = true;
        cg.due = factor[f][0];
        if (first) /* p is not read */
            spoil(b, type, p);
        V->loops[type]->direction(&b->view, &cg, first, x, z, p);
        for (int64_t i = 0; i < b->n; i++) {
            const double before = value_of(b, type, p0, i);
            const double from = scale * (double)z[b->wide[i]];
            same = same &&
                   is_near(value_of(b, type, x, i), value_of(b, type, x0, i) + due * before,
                           4 * epsilon(type)) &&
                   is_near(value_of(b, type, p, i), from + beta * before, 8 * epsilon(type)) &&
                   (!first || value_of(b, type, p, i) == from); /* exact */
        }
        CHECK(same && marked_of(b, type, x) && marked_of(b, type, p));
    }
    CHECK(marked32(b, z));
    gfnn_test_release();
}

/* The last step of x, which is none before there is a p; in FP32 also the sum with what was found
 * before, in FP64. */
static void check_arrive(const bench_t *b, int type, bool first)
{
    const bool single = type == GFNN_SINGLE;
    for (int due = 0; due < 2; due++) {
        gfnn_cg_t cg = scalars(NAN, NAN, NAN);
        double *du0 = new64(b, 2), *du = new64(b, 2);
        void *x = single ? new_of(b, type, 4) : du, *p = new_of(b, type, 3);
        void *x0 = single ? x : du0, *p0 = new_of(b, type, 3);
        bool same = true;
        cg.due = due * 0.75;
        cg.unit = single ? 16 : 1;
        if (first && single) /* du is not read */
            V->fill(&b->view, NAN, du);
        if (!due) /* nor is p */
            spoil(b, type, p);
        V->loops[type]->arrive(&b->view, &cg, first, x, p, du);
        for (int64_t q = 0; q < b->n; q++) {
            const double step = cg.due * value_of(b, type, p0, q);
            const double more = (value_of(b, type, x0, q) + step) / cg.unit;
            const double want = single && !first ? du0[b->fine[q]] + more : more;
            same = same && is_near(du[b->fine[q]], want, 4 * DBL_EPSILON);
        }
        CHECK(same && marked64(b, du));
    }
    gfnn_test_release();
}

static void check_loops(const bench_t *b, int type)
{
    check_renew(b, type, false);
    if (type == GFNN_SINGLE)
        check_renew(b, type, true);
    check_update(b, type);
    check_update_bj(b, type);
    check_dots(b, type);
    check_direction(b, type);
    check_arrive(b, type, true);
    check_arrive(b, type, false);
}

/* --- FP32 --- */

static void check_wide(const bench_t *b)
{
    float *x = new32(b, 1), *y = new32(b, 2);
    double sum = 0;
    for (int64_t q = 0; q < b->n; q++)
        sum += (double)x[b->wide[q]] * (double)y[b->wide[q]];
    CHECK(is_near(V->dot32(&b->view, x, y), sum, 1e-12));
    V->fill32(&b->view, 4, y);
    CHECK(marked32(b, y) && y[b->wide[0]] == 4 && y[b->wide[b->n - 1]] == 4);
    gfnn_test_release();
}

/* --- 16 bits --- */

/* Returns x as a 16-bit float, by arithmetic: 11 binary digits, or multiples of 2^-24. */
static double rounded_half(double x)
{
    int exponent;
    if (!rt_finite(x) || x == 0)
        return x;
    frexp(x, &exponent);
    const int last = exponent - 11 > -24 ? exponent - 11 : -24;
    const double value = ldexp(rint(ldexp(x, -last)), last);
    return fabs(value) > 65504 ? copysign(INFINITY, x) : value;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0    ? ldexp(fraction, -24)
                        : exponent == 31 ? (fraction ? NAN : INFINITY)
                                         : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

static void check_half(const bench_t *b)
{
    static const double special[] = {0,         1,        1 + 0x1p-11, 1 + 3 * 0x1p-11, 65504,
                                     65519,     65520,    1e9,         0x1p-14,         0x1p-24,
                                     0x1.8p-24, 0x1p-25,  0x1p-26,     0x1.ffcp-15,     0x1.ffep-15,
                                     -0.1,      -0x1p-20, INFINITY};
    double *r = new64(b, 1);
    float *x = new32(b, 2);
    uint16_t *packed = new16(b), *plain = new16(b);
    const int n = (int)(sizeof special / sizeof *special);
    for (int64_t q = 0; q < b->n; q++) { /* all magnitudes, and each special value in every lane */
        double value = ldexp(r[b->fine[q]], (int)(q % 44) - 27);
        if (q / n % 2)
            value = special[(q + q / n) % n];
        r[b->fine[q]] = value / 4;
        x[b->wide[q]] = (float)value;
    }
    gfnn_cg_t cg = scalars(NAN, NAN, 4);
    double *moved = new64(b, 3), *zero = new64(b, 4);
    cg.unit = 1;
    V->loops[GFNN_DOUBLE]->renew(&b->view, &cg, r, NULL, moved, zero, GFNN_FP16, packed);
    V->to_half(&b->view, x, plain);
    bool same = true;
    for (int64_t q = 0; q < b->n; q++) {
        const double want = rounded_half((double)(float)(4 * r[b->fine[q]]));
        same = same && half_value(packed[b->wide[q]]) == want &&
               plain[b->wide[q]] == packed[b->wide[q]];
    }
    CHECK(same && marked16(b, packed) && marked16(b, plain));
    x[b->wide[7]] = NAN;
    V->to_half(&b->view, x, plain);
    CHECK(isnan(half_value(plain[b->wide[7]])));
    gfnn_test_release();
}

/* --- diagonal blocks --- */

/* Computes D of the node: the corners of the eight elements around it. */
static void block(const bench_t *b, const int64_t at[3], double D[3][3])
{
    memset(D, 0, 9 * sizeof(double));
    for (int a = 0; a < 8; a++) {
        const int id =
            b->model->id[gfnn_at(&b->box.wide, at[0] - a % 2, at[1] - a / 2 % 2, at[2] - a / 4)];
        double A[24][24];
        gfnn_element_matrix(&b->form, b->model->materials.w[id], b->model->materials.square[id], A);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                D[i][j] += A[3 * a + i][3 * a + j];
    }
}

/* Checks D z = r. */
static bool solves_block(const bench_t *b, const int64_t at[3], const float *r, const float *z)
{
    const gfnn_grid_t *g = &b->box.wide;
    const int64_t node = gfnn_at(g, at[0], at[1], at[2]);
    double D[3][3];
    bool solved = true;
    block(b, at, D);
    for (int i = 0; i < 3; i++) {
        double sum = -(double)r[i * g->plane + node], size = fabs(sum);
        for (int j = 0; j < 3; j++) {
            sum += D[i][j] * (double)z[j * g->plane + node];
            size += fabs(D[i][j] * (double)z[j * g->plane + node]);
        }
        solved = solved && is_near(sum, 0, 16 * (double)FLT_EPSILON * size);
    }
    return solved;
}

/* Checks D^-1 alone, by which the next test is measured. */
static void check_blocks(const bench_t *b)
{
    const int64_t *n = b->box.n;
    float *r = new32(b, 1), *z = new32(b, 2);
    V->smooth32(&b->view, NULL, 0, NULL, 1, r, NULL, z);
    bool solved = true;
    for (int64_t k = 0; k < n[2]; k++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[0]; i++)
                solved = solved && solves_block(b, (const int64_t[]){i, j, k}, r, z);
    CHECK(solved && marked32(b, z));
    gfnn_test_release();
}

/* z + a (z - old) + omega D^-1 (r - y), with z and y or not, and old or not; the result takes the
 * place of old or not. */
static void check_smooth_of(const bench_t *b, bool with_z, bool with_old, bool in_place)
{
    const float omega = 0.75f, a = 0.625f;
    float *z = new32(b, 2), *old = new32(b, 3), *r = new32(b, 4), *y = new32(b, 5);
    float *d = new32(b, 6), *solved = new32(b, 7), *z0 = new32(b, 2), *old0 = new32(b, 3);
    float *const out = in_place ? old : new32(b, 8);
    bool same = true;
    for (int64_t q = 0; q < b->n; q++)
        d[b->wide[q]] = r[b->wide[q]] - (with_z ? y[b->wide[q]] : 0);
    V->smooth32(&b->view, NULL, 0, NULL, 1, d, NULL, solved);
    V->smooth32(&b->view, with_z ? z : NULL, a, with_old ? old : NULL, omega, r, with_z ? y : NULL,
                out);
    for (int64_t q = 0; q < b->n; q++) {
        const int64_t at = b->wide[q];
        const double of_z = with_z ? (double)z0[at] : 0, of_old = with_old ? (double)old0[at] : 0;
        const double want = of_z + (double)a * (of_z - of_old) + (double)(omega * solved[at]);
        same = same && is_near((double)out[at], want, 4e-6);
    }
    CHECK(same && marked32(b, out) && marked32(b, z) && marked32(b, old));
    gfnn_test_release();
}

static void check_smooth(const bench_t *b)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        check_smooth_of(b, false, false, in_place);
        check_smooth_of(b, true, false, in_place);
        check_smooth_of(b, true, true, in_place);
    }
}

/* --- Newmark --- */

static void check_newmark(const bench_t *b)
{
    const double dt = 0.5, ra = 3, rb = 0.125;
    double *u = new64(b, 1), *v = new64(b, 2), *a = new64(b, 3), *du = new64(b, 4);
    double *u0 = new64(b, 1), *v0 = new64(b, 2), *a0 = new64(b, 3);
    double *x1 = new64(b, 5), *x2 = new64(b, 6);
    bool before = true, after = true;
    V->newmark_before(&b->view, dt, ra, rb, u, v, a, x1, x2);
    V->newmark_after(&b->view, dt, du, u, v, a);
    for (int64_t q = 0; q < b->n; q++) {
        const int64_t i = b->fine[q];
        const double eps = 64 * DBL_EPSILON;
        before = before && is_near(x1[i], a0[i] + (4 / dt + ra) * v0[i], eps) &&
                 is_near(x2[i], rb * v0[i] - u0[i], eps);
        after = after && is_near(u[i], u0[i] + du[i], eps) &&
                is_near(a[i], -a0[i] - 4 * v0[i] / dt + 4 * du[i] / (dt * dt), eps) &&
                is_near(v[i], -v0[i] + 2 * du[i] / dt, eps);
    }
    CHECK(before && marked64(b, x1) && marked64(b, x2));
    CHECK(after && marked64(b, u) && marked64(b, v) && marked64(b, a));
    gfnn_test_release();
}

/* --- ghosts --- */

/* Returns the node that a position along direction d is or is an image of; -1: more than `width`
 * out. */
static int64_t node_at(const bench_t *b, int d, int64_t i, int width)
{
    const int64_t n = b->box.N[d];
    return i < -width || i >= n + width ? -1 : (i + n) % n;
}

/* Own values are their numbers: ghosts get those of their nodes, and everything beyond them
 * keeps the mark, 7777, which no value has. */
#define DEFINE_CHECK_WRAP(NAME, TYPE, GRID, RT_TYPE)                                             \
    static void NAME(const bench_t *b, int width)                                                \
    {                                                                                            \
        const gfnn_grid_t *g = &b->box.GRID;                                                     \
        const int64_t *n = g->n, halo = g->halo;                                                 \
        TYPE *x = RT_NEW(TYPE, 3 * (size_t)g->plane, RT_HOST);                                   \
        for (int64_t i = 0; i < 3 * g->plane; i++)                                               \
            x[i] = 7777;                                                                         \
        for (int64_t q = 0; q < b->n; q++)                                                       \
            x[b->GRID[q]] = (TYPE)q;                                                             \
        V->wrap(&b->view, width, RT_TYPE, x);                                                    \
        bool same = true;                                                                        \
        for (int c = 0; c < 3; c++)                                                              \
            for (int64_t k = -halo; k < n[2] + halo; k++)                                        \
                for (int64_t j = -halo; j < n[1] + halo; j++)                                    \
                    for (int64_t i = -halo; i < n[0] + halo; i++) {                              \
                        const int64_t at[3] = {node_at(b, 0, i, width), node_at(b, 1, j, width), \
                                               node_at(b, 2, k, width)};                         \
                        const bool beyond = at[0] < 0 || at[1] < 0 || at[2] < 0;                 \
                        const int64_t q = ((c * n[2] + at[2]) * n[1] + at[1]) * n[0] + at[0];    \
                        const TYPE want = (TYPE)(beyond ? 7777 : q);                             \
                        same = same && x[c * g->plane + gfnn_at(g, i, j, k)] == want;            \
                    }                                                                            \
        CHECK(same);                                                                             \
        RT_FREE(x, RT_HOST);                                                                     \
    }
DEFINE_CHECK_WRAP(check_wrap64, double, fine, RT_F64)
DEFINE_CHECK_WRAP(check_wrap32, float, wide, RT_F32)
DEFINE_CHECK_WRAP(check_wrap16, uint16_t, wide, RT_F16)

static void check_wrap(const bench_t *b)
{
    if (b->box.faces != GFNN_PERIODIC)
        return;
    check_wrap64(b, 1);
    check_wrap32(b, 1);
    check_wrap32(b, GFNN_ND);
    check_wrap16(b, GFNN_ND);
}

/* --- sums --- */

enum { SUMS = 9 };
static void sums_with(const bench_t *b, int type, int threads, double sums[SUMS])
{
    rt_threads_set(threads);
    const gfnn_loops_t *loops = V->loops[type];
    double *f = new64(b, 1), *y = new64(b, 2);
    void *x = new_of(b, type, 1), *q = new_of(b, type, 2), *r = new_of(b, type, 3);
    float *z = new32(b, 4);
    const gfnn_method_t method = {.fused = true};
    gfnn_cg_t cg = scalars(0.3, NAN, 1);
    cg.unit = 1;
    sums[0] = V->dot(&b->view, f, y);
    loops->dots(&b->view, &cg, z, x, q);
    sums[1] = cg.sums[0];
    sums[2] = cg.sums[1];
    sums[3] = V->dot32(&b->view, z, z);
    loops->update(&b->view, &cg, q, r, GFNN_FP32, NULL);
    sums[4] = cg.sums[0];
    loops->update_bj(&b->view, &cg, false, q, r, z);
    sums[5] = cg.sums[0];
    sums[6] = cg.sums[1];
    loops->renew(&b->view, &cg, f, type == GFNN_SINGLE ? y : NULL, r, x, GFNN_FP32, NULL);
    sums[7] = type == GFNN_SINGLE ? cg.sums[0] : 0;
    V->start(&b->view, &cg, &method, f);
    sums[8] = cg.sums[0];
    gfnn_test_release();
}

/* Catches a reduction in the order of the threads. */
static void check_reproducible(const bench_t *b, int type)
{
    double one[SUMS], more[SUMS];
    sums_with(b, type, 1, one);
    for (int threads = 2; threads <= 5; threads++) {
        sums_with(b, type, threads, more);
        CHECK(memcmp(one, more, sizeof one) == 0);
    }
}

int main(int argc, char **argv)
{
    app_test_start("test_vectors", &argc, &argv);
    for (int faces = 0; faces < GFNN_FACES; faces++) {
        bench_t b;
        bench_new(&b, faces);
        check_fine(&b);
        check_start(&b);
        check_loops(&b, GFNN_DOUBLE);
        check_loops(&b, GFNN_SINGLE);
        check_wide(&b);
        check_half(&b);
        check_blocks(&b);
        check_smooth(&b);
        check_newmark(&b);
        check_wrap(&b);
        check_reproducible(&b, GFNN_DOUBLE);
        check_reproducible(&b, GFNN_SINGLE);
        bench_destroy(&b);
    }
    return app_test_stop(check_done());
}
