/*
 * time_vectors.c - times the parts of a step on the GPU without a judge: variants of the FP32
 * operator, the loops over vectors, and steps of bj and cheb. Not a test.
 */
#include "config.h"
#include <stdlib.h>
#include "gfnn_test.h"
#include "machine/timer.h"

static gfnn_test_t test;
static const char *rung = "solve-cuda";

static double clock_now(void)
{
    rt_device_synchronize();
    return rt_clock();
}

static void report(const char *what, double seconds, double bytes)
{
    const int64_t *n = test.config->n_nodes;
    const double N = (double)(n[0] * n[1] * n[2]);
    printf("%-34s %8.1f us %7.0f GB/s\n", what, 1e6 * seconds, bytes * N / seconds * 1e-9);
}

#define TIME(what, bytes, ...)                                   \
    do {                                                         \
        enum { REPEATS = 20 };                                   \
        double best = 1e9;                                       \
        for (int turn = 0; turn < 3; turn++) {                   \
            const double begin = clock_now();                    \
            for (int repeat = 0; repeat < REPEATS; repeat++) {   \
                __VA_ARGS__;                                     \
            }                                                    \
            const double each = (clock_now() - begin) / REPEATS; \
            best = each < best ? each : best;                    \
        }                                                        \
        report(what, best, bytes);                               \
    } while (0)

static gfnn_solver_t *solver(int precond, int vectors, int64_t degree)
{
    test.config->precond = precond;
    test.config->vectors = vectors;
    test.config->degree = degree;
    return gfnn_test_solver(&test, rung);
}

static void operators(void)
{
    gfnn_solver_t *s = solver(GFNN_BJ, GFNN_SINGLE, 7);
    const gfnn_form_t *A = &s->problem->step.A;
    const gfnn_operator_t *op = s->kernels->op;
    gfnn_solve(s);
    TIME("ghosts of p, FP32", 0, s->vectors->wrap(&s->view_vec, 1, RT_F32, s->cg.p));
    for (int warps = 0; warps < 3; warps++)
        for (int tile = 1; tile < 4; tile++)
            for (int layers = 0; layers < 8; layers += layers ? 2 : 4) {
                const int choice[3] = {tile, layers, warps};
                rt_text_t what;
                s->view_op.choice = choice;
                TIME(rt_text(&what, "FP32 p.q warps %d tile %d layers %d", warps, tile, layers), 25,
                     op->apply_cg32(&s->view_op, A, s->cg.p, s->cg.q, s->scalars.cg));
            }
    s->view_op.choice = NULL;
    const gfnn_region_t all = {
        {0, 0, 0}, {test.config->n_nodes[0], test.config->n_nodes[1], test.config->n_nodes[2]}};
    TIME("FP32 without p.q", 25, op->apply32(&s->view_op, A, &all, s->cg.p, s->cg.q));
    TIME("FP64 without p.q", 49, op->apply(&s->view_op, A, &all, s->x, s->q));
    gfnn_solver_destroy(s);
    test.s = NULL;
}

static void loops(int vectors)
{
    const bool single = vectors == GFNN_SINGLE;
    gfnn_solver_t *s = solver(GFNN_BJ, vectors, 7);
    const size_t values = 3 * (size_t)s->problem->box.wide.plane;
    uint16_t *memory = rt_alloc(values + GFNN_LOW_SKIP, sizeof *memory, s->space);
    void *low = memory + GFNN_LOW_SKIP;
    rt_fill(memory, s->space, 0, values * sizeof *memory);
    const gfnn_loops_t *v = s->vectors->loops[vectors];
    const gfnn_view_t *view = &s->view_vec;
    gfnn_cg_t *cg = s->scalars.cg,
              host = {.alpha = 1e-9, .due = 1e-9, .scale = 1, .unit = 1, .ff = 1, .rr = 1};
    host.forms = false;
    host.told.progress = 4;
    rt_copy(cg, s->space, &host, RT_HOST, sizeof host);
    s->vectors->fill(view, 0, s->f);
    s->vectors->fill(view, 0, s->q);
    s->vectors->fill(view, 0, s->x);
    s->vectors->fill32(view, 0, s->z);
    const int value = single ? 12 : 24;
    TIME(single ? "renew, begin, FP32" : "renew, begin, FP64", 24 + 2 * value + 6,
         v->renew(view, cg, s->f, NULL, s->cg.r, s->cg.x, GFNN_FP16, low));
    if (single)
        TIME("renew, FP32", 48 + 2 * value + 6,
             v->renew(view, cg, s->f, s->q, s->cg.r, s->cg.x, GFNN_FP16, low));
    TIME(single ? "update, FP32" : "update, FP64", 3 * value + 6,
         v->update(view, cg, s->cg.q, s->cg.r, GFNN_FP16, low));
    TIME(single ? "dots, FP32" : "dots, FP64", 2 * value + 12,
         v->dots(view, cg, s->z, s->cg.r, s->cg.q));
    TIME(single ? "update bj, FP32" : "update bj, FP64", 3 * value + 13,
         v->update_bj(view, cg, false, s->cg.q, s->cg.r, s->z));
    TIME(single ? "direction, FP32" : "direction, FP64", 4 * value + 12,
         v->direction(view, cg, false, s->cg.x, s->z, s->cg.p));
    TIME(single ? "arrive, FP32" : "arrive, FP64", single ? 72 : 72,
         v->arrive(view, cg, false, s->cg.x, s->cg.p, s->x));
    TIME("ghosts of low", 0, s->vectors->wrap(view, 3, RT_F16, low));
    TIME("newmark before", 120,
         s->vectors->newmark_before(view, 1, 1, 1, s->u, s->v, s->a, s->x, s->q));
    TIME("newmark after", 168, s->vectors->newmark_after(view, 1, s->x, s->u, s->v, s->a));
    rt_free(memory, s->space);
    gfnn_solver_destroy(s);
    test.s = NULL;
}

static void steps(int precond, const char *name, int64_t degree)
{
    for (int vectors = GFNN_DOUBLE; vectors <= GFNN_SINGLE; vectors++) {
        gfnn_solver_t *s = solver(precond, vectors, degree);
        gfnn_solve(s);
        double begin = 0, best = 1e9;
        for (int turn = 0; turn < 4; turn++) {
            gfnn_spoil(s);
            begin = clock_now();
            gfnn_solve(s);
            const double taken = clock_now() - begin;
            best = taken < best ? taken : best;
        }
        printf("step %-6s %s %8.2f ms, %lld iterations, residual %.2e\n", name,
               vectors == GFNN_SINGLE ? "fp32" : "fp64", 1e3 * best, (long long)s->last_iterations,
               s->residual);
        gfnn_solver_destroy(s);
        test.s = NULL;
    }
}

int main(int argc, char **argv)
{
    app_test_start("time_vectors", &argc, &argv);
    rung = argc > 2 ? argv[2] : rung;
    const char *size = argc > 1 ? argv[1] : "256x256x256";
    rt_text_t settings;
    gfnn_test_new(&test,
                  rt_text(&settings, "elements=%s precond=gfm steps=1 frequency=5000", size));
    steps(GFNN_GFM, "gfm 2", 7);
    steps(GFNN_BJ, "bj", 7);
    steps(GFNN_CHEB, "cheb 7", 7);
    steps(GFNN_CHEB, "cheb 5", 5);
    loops(GFNN_DOUBLE);
    loops(GFNN_SINGLE);
    if (rt_device_gpu())
        operators();
    return 0;
}
