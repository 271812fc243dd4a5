/*
 * test_blocks.c - the CPU's D^-1, by the 3x3 blocks of the diagonal, against the element matrices: a wrong
 * one still converges. All other loops over vectors are judged in every run (tests/mutants), or cost
 * iterations (test_iterations, test_solve).
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include "apps/gfnn-wave/loops/node.h"
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

/* Returns the position of own value number q. */
static int64_t position(const bench_t *b, int64_t q)
{
    const gfnn_grid_t *g = &b->box.wide;
    const int64_t *n = g->n, node = q / n[0];
    return node / n[1] / n[2] * g->plane + gfnn_at(g, q % n[0], node % n[1], node / n[1] % n[2]);
}

/* Returns a vector of random own values, with the mark everywhere else. */
static float *new_vector(const bench_t *b, uint64_t seed)
{
    const int64_t values = 3 * b->box.wide.plane;
    float *x = gfnn_test_keep(RT_NEW(float, (size_t)values, RT_HOST));
    for (int64_t i = 0; i < values; i++)
        x[i] = MARK;
    for (int64_t q = 0; q < b->n; q++)
        x[position(b, q)] = (float)rt_random((uint64_t)q, seed);
    return x;
}

/* Returns whether the mark is still everywhere else; changes the own values. */
static bool marked(const bench_t *b, float *x)
{
    bool all = true;
    for (int64_t q = 0; q < b->n; q++)
        x[position(b, q)] = MARK;
    for (int64_t i = 0; i < 3 * b->box.wide.plane; i++)
        all = all && x[i] == MARK;
    return all;
}

/* Checks something of every own value q, at position i. */
#define CHECK_ALL(b, ...)                           \
    do {                                            \
        bool all_ = true;                           \
        for (int64_t q = 0; q < (b)->n; q++) {      \
            const int64_t i = position(b, q);       \
            all_ = all_ && i >= 0 && (__VA_ARGS__); \
        }                                           \
        CHECK(all_ &&#__VA_ARGS__);                 \
    } while (0)

/* Returns |D z - r| of a component of a node over the size of its terms; D: the corners of the eight
 * elements around the node. */
static double block_error(const bench_t *b, int64_t q, const float *r, const float *z)
{
    const gfnn_grid_t *g = &b->box.wide;
    const int64_t *n = g->n, node = q % (b->n / 3), first = position(b, node);
    const int c = (int)(q / (b->n / 3));
    double sum = -(double)r[position(b, q)], size = fabs(sum);
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
    float *z = new_vector(b, 2), *old = new_vector(b, 3), *r = new_vector(b, 4),
          *y = new_vector(b, 5), *d = new_vector(b, 6), *solved = new_vector(b, 7),
          *old0 = new_vector(b, 3), *out = in_place ? old : new_vector(b, 8);
    for (int64_t q = 0; q < b->n; q++)
        d[position(b, q)] = r[position(b, q)] - (with_z ? y[position(b, q)] : 0);
    V->smooth32(&b->view, NULL, 0, NULL, 1, d, NULL, solved);
    CHECK_ALL(b, block_error(b, q, d, solved) < 16 * (double)FLT_EPSILON);
    V->smooth32(&b->view, with_z ? z : NULL, a, with_old ? old : NULL, omega, r, with_z ? y : NULL,
                out);
    CHECK_ALL(b, fabsf(out[i] - (with_z ? z[i] : 0) -
                       a * ((with_z ? z[i] : 0) - (with_old ? old0[i] : 0)) - omega * solved[i]) <=
                     4e-6F);
    CHECK(marked(b, out) && marked(b, solved));
    gfnn_test_release();
}

/* z = scale D^-1 r in the pass of the update; anew: r stays. */
static void check_update(const bench_t *b, bool anew)
{
    float *r = new_vector(b, 1), *r0 = new_vector(b, 1), *q_of = new_vector(b, 2),
          *z = new_vector(b, 3);
    gfnn_cg_t cg = {.alpha = 0.375, .scale = 8, .status = {1, 2 * 3}};
    V->loops[GFNN_SINGLE]->update_bj(&b->view, &cg, anew, q_of, r, z);
    CHECK_ALL(b, fabsf(r[i] - r0[i] + (anew ? 0 : 0.375F * q_of[i])) <= 4 * FLT_EPSILON);
    for (int64_t q = 0; q < b->n; q++)
        z[position(b, q)] /= 8;
    CHECK_ALL(b, block_error(b, q, r, z) < 16 * (double)FLT_EPSILON);
    CHECK(marked(b, r) && marked(b, z));
    gfnn_test_release();
}

int main(int argc, char **argv)
{
    app_test_start("test_blocks", &argc, &argv);
    for (int faces = 0; faces < GFNN_FACES; faces++) {
        bench_t b;
        bench_new(&b, faces);
        for (int way = 0; way < 6; way++)
            check_smooth(&b, way / 2 > 0, way / 2 > 1, way % 2);
        check_update(&b, false);
        check_update(&b, true);
        V->tear_down(&b.view);
        gfnn_model_destroy(b.model);
    }
    return app_test_stop(check_done());
}
