/*
 * test_vectors.c - the CPU's loops over vectors, each against its line in kernel.h, value by value
 * (Newmark's: test_physics). Those that make x, p and du or fill ghosts are not here: the judge rates every fault of
 * theirs INVALID (tests/mutants). Nor is z . r, z . q: test_iterations counts what a fault costs.
 * Ghosts and padding hold a mark that must be there afterwards; sums must have the same bits on any
 * number of threads.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include "apps/gfnn-wave/loops/node.h"
#include "base/threads.h"
#include "gfnn_test.h"

static const gfnn_vectors_t *const V = &gfnn_vectors_cpu;
enum { MARK = 77 };

/* A box, whose own values of all components are numbered: x fastest, then y, z, component. */
typedef struct {
    gfnn_config_t config;
    gfnn_box_t box;
    gfnn_model_t *model;
    gfnn_form_t form;
    gfnn_view_t view;
    int64_t n;
} bench_t;

static void bench_new(bench_t *b, int faces)
{
    b->config = gfnn_test_config(11, 6, 5, faces);
    b->config.model = "head";
    b->box = gfnn_box(&b->config, 0);
    b->model = gfnn_model_new(&b->config, &b->box);
    b->form = gfnn_step(&b->config).A;
    b->view = (gfnn_view_t){
        .space = RT_HOST, .box = &b->box, .materials = &b->model->materials, .id = b->model->id};
    b->n = 3 * b->box.n[0] * b->box.n[1] * b->box.n[2];
    V->set_up(&b->view, &b->form);
}

/* --- vectors of a type: doubles on `fine`, others on `wide` --- */

static const rt_type_t type_of[] = {[GFNN_DOUBLE] = RT_F64, [GFNN_SINGLE] = RT_F32};

static const gfnn_grid_t *grid(const bench_t *b, rt_type_t type)
{
    return type == RT_F64 ? &b->box.fine : &b->box.wide;
}

static void put(rt_type_t type, void *x, int64_t at, double value)
{
    if (type == RT_F64)
        ((double *)x)[at] = value;
    else if (type == RT_F32)
        ((float *)x)[at] = (float)value;
    else
        ((uint16_t *)x)[at] = (uint16_t)value;
}

static double get(rt_type_t type, const void *x, int64_t at)
{
    return type == RT_F64   ? ((const double *)x)[at]
           : type == RT_F32 ? (double)((const float *)x)[at]
                            : (double)((const uint16_t *)x)[at];
}

/* Returns where own value number q is. */
static int64_t place(const bench_t *b, rt_type_t type, int64_t q)
{
    const gfnn_grid_t *g = grid(b, type);
    const int64_t *n = g->n, node = q / n[0];
    return node / n[1] / n[2] * g->plane + gfnn_at(g, q % n[0], node % n[1], node / n[1] % n[2]);
}

static double own(const bench_t *b, rt_type_t type, const void *x, int64_t q)
{
    return get(type, x, place(b, type, q));
}

/* Returns a vector of random own values, with the mark everywhere else. */
static void *new_vector(const bench_t *b, rt_type_t type, uint64_t seed)
{
    const int64_t values = 3 * grid(b, type)->plane;
    void *x = gfnn_test_keep(rt_alloc((size_t)values, sizeof(double), RT_HOST));
    for (int64_t i = 0; i < values; i++)
        put(type, x, i, MARK);
    for (int64_t q = 0; q < b->n; q++)
        put(type, x, place(b, type, q), type == RT_F16 ? 0 : rt_random((uint64_t)q, seed));
    return x;
}

/* Is the mark still everywhere else? Changes the own values. */
static bool marked(const bench_t *b, rt_type_t type, void *x)
{
    bool all = true;
    for (int64_t q = 0; q < b->n; q++)
        put(type, x, place(b, type, q), MARK);
    for (int64_t i = 0; i < 3 * grid(b, type)->plane; i++)
        all = all && get(type, x, i) == MARK;
    return all;
}

static void spoil(const bench_t *b, rt_type_t type, void *x)
{
    for (int64_t q = 0; q < b->n; q++)
        put(type, x, place(b, type, q), NAN);
}

static bool is_near(double got, double want, double tolerance)
{
    return rt_finite(got) && fabs(got - want) <= tolerance;
}

static double epsilon(rt_type_t type)
{
    return type == RT_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* Checks something of every own value q. */
#define CHECK_ALL(b, ...)                    \
    do {                                     \
        bool all_ = true;                    \
        for (int64_t q = 0; q < (b)->n; q++) \
            all_ = all_ && (__VA_ARGS__);    \
        CHECK(all_ &&#__VA_ARGS__);          \
    } while (0)
#define F64(x) own(b, RT_F64, x, q)
#define F32(x) own(b, RT_F32, x, q)
#define OWN(x) own(b, type, x, q)

static double dot(const bench_t *b, rt_type_t of_x, const void *x, rt_type_t of_y, const void *y)
{
    double sum = 0;
    for (int64_t q = 0; q < b->n; q++)
        sum += own(b, of_x, x, q) * own(b, of_y, y, q);
    return sum;
}

/* Returns the scalars in the midst of a solve; their sums are unusable. */
static gfnn_cg_t scalars(double alpha, double beta, double scale)
{
    return (gfnn_cg_t){
        .sums = {NAN, NAN}, .alpha = alpha, .beta = beta, .scale = scale, .status = {1, 2 * 3}};
}

/* --- without scalars --- */

static void check_plain(const bench_t *b)
{
    const gfnn_method_t method = {.flexible = true, .tolerance = 0.25, .most_iterations = 9};
    double *x = new_vector(b, RT_F64, 1), *y = new_vector(b, RT_F64, 2),
           *y0 = new_vector(b, RT_F64, 2);
    float *z = new_vector(b, RT_F32, 1), *s = new_vector(b, RT_F32, 2);
    gfnn_cg_t cg = scalars(NAN, NAN, NAN);
    CHECK(is_near(V->dot(&b->view, GFNN_DOUBLE, x, y), dot(b, RT_F64, x, RT_F64, y), 1e-12));
    CHECK(is_near(V->dot(&b->view, GFNN_SINGLE, z, s), dot(b, RT_F32, z, RT_F32, s), 1e-12));
    V->axpby(&b->view, 1.5, x, -0.25, y);
    CHECK_ALL(b, is_near(F64(y), 1.5 * F64(x) - 0.25 * F64(y0), 4 * DBL_EPSILON));
    V->fill(&b->view, GFNN_DOUBLE, NAN, y);
    V->axpby(&b->view, 2, x, 0, y); /* y is not read */
    CHECK_ALL(b, F64(y) == 2 * F64(x));
    V->add(&b->view, place(b, RT_F64, 7), 0.5, y);
    CHECK_ALL(b, F64(y) == 2 * F64(x) + (q == 7 ? 0.5 : 0));
    V->fill(&b->view, GFNN_SINGLE, 4, z);
    CHECK_ALL(b, F32(z) == 4);
    x[place(b, RT_F64, b->n / 2)] = -9;
    V->start(&b->view, &cg, &method, x);
    CHECK(is_near(cg.sums[0], dot(b, RT_F64, x, RT_F64, x), 1e-10) && cg.sums[1] == 9);
    CHECK(cg.method.flexible && cg.method.tolerance == 0.25 && cg.method.most_iterations == 9);
    CHECK(marked(b, RT_F64, y) && marked(b, RT_F32, z) && marked(b, RT_F64, x));
    gfnn_test_release();
}

/* --- conjugate gradients, in FP64 or FP32 --- */

/* r = unit (f - y), x = 0, what the preconditioner gets, and r . r. */
static void check_renew(const bench_t *b, gfnn_type_t of_loop, bool with_y)
{
    const rt_type_t type = type_of[of_loop];
    const double unit = of_loop == GFNN_SINGLE ? 16 : 1;
    double *f = new_vector(b, RT_F64, 1), *y = new_vector(b, RT_F64, 2);
    void *r = new_vector(b, type, 3), *x = new_vector(b, type, 4);
    float *low = new_vector(b, RT_F32, 5);
    uint16_t *half = new_vector(b, RT_F16, 6);
    gfnn_cg_t cg = scalars(NAN, NAN, 2);
    cg.unit = unit;
    spoil(b, type, r);
    spoil(b, type, x);
    V->loops[of_loop]->renew(&b->view, &cg, f, with_y ? y : NULL, r, x, GFNN_FP32, low);
    CHECK_ALL(b, is_near(OWN(r), unit * (F64(f) - (with_y ? F64(y) : 0)), 32 * epsilon(type)));
    CHECK_ALL(b, OWN(x) == 0 && F32(low) == (double)(float)(2 * OWN(r)));
    const double rr = dot(b, type, r, type, r);
    CHECK(!with_y || is_near(cg.sums[0], rr, 1e-6 * rr));
    V->loops[of_loop]->renew(&b->view, &cg, f, with_y ? y : NULL, r, x, GFNN_FP16, half);
    CHECK_ALL(b, own(b, RT_F16, half, q) == gfnn_to_half((float)(2 * OWN(r))));
    V->to_half(&b->view, low, half);
    CHECK_ALL(b, own(b, RT_F16, half, q) == gfnn_to_half((float)F32(low)));
    CHECK(marked(b, type, r) && marked(b, type, x) && marked(b, RT_F32, low) &&
          marked(b, RT_F16, half));
    gfnn_test_release();
}

/* r -= alpha q, low = scale r, r . r; with D^-1 in the same pass, z = scale D^-1 r and z . r; and
 * without a step, when q is not even read. */
static void check_update(const bench_t *b, gfnn_type_t of_loop)
{
    const rt_type_t type = type_of[of_loop];
    const gfnn_loops_t *loops = V->loops[of_loop];
    const double alpha = 0.375, scale = 8, eps = 4 * epsilon(type);
    void *of_q = new_vector(b, type, 2), *r = new_vector(b, type, 4), *r0 = new_vector(b, type, 4),
         *bj = new_vector(b, type, 4);
    float *low = new_vector(b, RT_F32, 5), *z = new_vector(b, RT_F32, 6),
          *want = new_vector(b, RT_F32, 7);
    gfnn_cg_t cg = scalars(alpha, NAN, scale), fused = cg;
    loops->update(&b->view, &cg, of_q, r, GFNN_FP32, low);
    CHECK_ALL(b, is_near(OWN(r), OWN(r0) - alpha * OWN(of_q), eps) &&
                     F32(low) == (double)(float)(scale * OWN(r)));
    const double rr = dot(b, type, r, type, r);
    CHECK(is_near(cg.sums[0], rr, 1e-12 * rr) && cg.sums[1] == 0);
    V->smooth32(&b->view, NULL, 0, NULL, 1, low, NULL, want);
    loops->update_bj(&b->view, &fused, false, of_q, bj, z);
    const double zr = dot(b, RT_F32, z, type, bj);
    CHECK_ALL(b, is_near(OWN(bj), OWN(r), eps) && is_near(F32(z), F32(want), 1e-5));
    CHECK(is_near(fused.sums[0], rr, 1e-7 * rr) && is_near(fused.sums[1], zr, 1e-12 * zr));
    spoil(b, type, of_q);
    spoil(b, RT_F32, z);
    cg = scalars(NAN, NAN, scale);
    loops->update_bj(&b->view, &cg, true, of_q, bj, z);
    CHECK(is_near(cg.sums[0], rr, 1e-7 * rr) && is_near(cg.sums[1], zr, 1e-12 * zr));
    CHECK(marked(b, type, r) && marked(b, RT_F32, low) && marked(b, type, bj) &&
          marked(b, RT_F32, z));
    gfnn_test_release();
}

static void check_loops(const bench_t *b, gfnn_type_t type)
{
    check_renew(b, type, false);
    if (type == GFNN_SINGLE)
        check_renew(b, type, true);
    check_update(b, type);
}

/* --- diagonal blocks --- */

/* Returns |D z - r| of a component of a node over the size of its terms; D: the corners of the eight
 * elements around the node. */
static double block_error(const bench_t *b, int64_t q, const float *r, const float *z)
{
    const gfnn_grid_t *g = &b->box.wide;
    const int64_t *n = g->n, node = q % (b->n / 3), first = place(b, RT_F32, node);
    const int c = (int)(q / (b->n / 3));
    double sum = -F32(r), size = fabs(sum);
    for (int a = 0; a < 8; a++) {
        const int id = b->model->id[gfnn_at(g, node % n[0] - a % 2, node / n[0] % n[1] - a / 2 % 2,
                                            node / n[0] / n[1] - a / 4)];
        double A[24][24];
        gfnn_element_matrix(&b->form, b->model->materials.w[id], b->model->materials.square[id], A);
        for (int d = 0; d < 3; d++) {
            sum += A[3 * a + c][3 * a + d] * (double)z[d * g->plane + first];
            size += fabs(A[3 * a + c][3 * a + d] * (double)z[d * g->plane + first]);
        }
    }
    return fabs(sum) / size;
}

/* z + a (z - old) + omega D^-1 (r - y), with z and y or not, and old or not; the result takes the
 * place of old or not. D^-1 alone, by which the rest is measured, is that without all of them. */
static void check_smooth(const bench_t *b, bool with_z, bool with_old, bool in_place)
{
    const float omega = 0.75f, a = 0.625f;
    float *z = new_vector(b, RT_F32, 2), *old = new_vector(b, RT_F32, 3),
          *r = new_vector(b, RT_F32, 4), *y = new_vector(b, RT_F32, 5),
          *d = new_vector(b, RT_F32, 6), *solved = new_vector(b, RT_F32, 7),
          *old0 = new_vector(b, RT_F32, 3), *out = in_place ? old : new_vector(b, RT_F32, 8);
    for (int64_t q = 0; q < b->n; q++)
        put(RT_F32, d, place(b, RT_F32, q), F32(r) - (with_z ? F32(y) : 0));
    V->smooth32(&b->view, NULL, 0, NULL, 1, d, NULL, solved);
    CHECK_ALL(b, block_error(b, q, d, solved) < 16 * (double)FLT_EPSILON);
    V->smooth32(&b->view, with_z ? z : NULL, a, with_old ? old : NULL, omega, r, with_z ? y : NULL,
                out);
    CHECK_ALL(b, is_near(F32(out),
                         (with_z ? F32(z) : 0) +
                             (double)a * ((with_z ? F32(z) : 0) - (with_old ? F32(old0) : 0)) +
                             (double)omega * F32(solved),
                         4e-6));
    CHECK(marked(b, RT_F32, out) && marked(b, RT_F32, solved));
    gfnn_test_release();
}

/* --- sums --- */

enum { SUMS = 9 };
static void sums_with(const bench_t *b, gfnn_type_t of_loop, int threads, double sums[SUMS])
{
    rt_threads_set(threads);
    const rt_type_t type = type_of[of_loop];
    const gfnn_loops_t *loops = V->loops[of_loop];
    double *f = new_vector(b, RT_F64, 1), *y = new_vector(b, RT_F64, 2);
    void *x = new_vector(b, type, 1), *q = new_vector(b, type, 2), *r = new_vector(b, type, 3);
    float *z = new_vector(b, RT_F32, 4);
    const gfnn_method_t method = {.fused = true};
    gfnn_cg_t cg = scalars(0.3, NAN, 1);
    cg.unit = 1;
    sums[0] = V->dot(&b->view, GFNN_DOUBLE, f, y);
    loops->dots(&b->view, &cg, z, x, q);
    sums[1] = cg.sums[0];
    sums[2] = cg.sums[1];
    sums[3] = V->dot(&b->view, GFNN_SINGLE, z, z);
    loops->update(&b->view, &cg, q, r, GFNN_FP32, NULL);
    sums[4] = cg.sums[0];
    loops->update_bj(&b->view, &cg, false, q, r, z);
    sums[5] = cg.sums[0];
    sums[6] = cg.sums[1];
    loops->renew(&b->view, &cg, f, of_loop == GFNN_SINGLE ? y : NULL, r, x, GFNN_FP32, NULL);
    sums[7] = of_loop == GFNN_SINGLE ? cg.sums[0] : 0;
    V->start(&b->view, &cg, &method, f);
    sums[8] = cg.sums[0];
    gfnn_test_release();
}

/* Catches a reduction in the order of the threads. */
static void check_reproducible(const bench_t *b, gfnn_type_t type)
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
        check_plain(&b);
        for (int type = 0; type < GFNN_TYPES; type++) {
            check_loops(&b, type);
            check_reproducible(&b, type);
        }
        for (int way = 0; way < 6; way++)
            check_smooth(&b, way / 2 > 0, way / 2 > 1, way % 2);
        V->tear_down(&b.view);
        gfnn_model_destroy(b.model);
    }
    return app_test_stop(check_done());
}
