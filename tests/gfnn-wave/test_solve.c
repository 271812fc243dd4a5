/*
 * test_solve.c - how conjugate gradients begin and end, with a host that runs ahead, and what is
 * between two solves. That solutions are right, the judge says of every run (cli.sh).
 */
#include "config.h"
#include <math.h>
#include "base/threads.h"
#include "gfnn_test.h"

typedef struct {
    gfnn_test_t test;
    gfnn_config_t *config;
    gfnn_problem_t *problem;
    gfnn_solver_t *s;
    const gfnn_grid_t *g;
    size_t values; /* of a vector on fine */
} bench_t;

static void bench_new(bench_t *b, const char *rung, const char *settings)
{
    gfnn_test_new(&b->test, settings);
    b->config = b->test.config;
    b->problem = b->test.problem;
    b->s = gfnn_test_solver(&b->test, rung);
    b->g = &b->problem->box.fine;
    b->values = 3 * (size_t)b->g->plane;
}

static void bench_destroy(bench_t *b)
{
    gfnn_test_destroy(&b->test);
}

/* Returns the position of own value number q: component, z, y, x. */
static int64_t position(const gfnn_grid_t *g, int64_t q)
{
    const int64_t i = q % g->n[0], j = q / g->n[0] % g->n[1], k = q / g->n[0] / g->n[1] % g->n[2];
    return q / (g->n[0] * g->n[1] * g->n[2]) * g->plane + gfnn_at(g, i, j, k);
}

static int64_t own_values(const gfnn_grid_t *g)
{
    return 3 * g->n[0] * g->n[1] * g->n[2];
}

static void random_force(bench_t *b, double *f)
{
    memset(f, 0, b->values * sizeof *f);
    for (int64_t q = 0; q < own_values(b->g); q++)
        f[position(b->g, q)] = 1e-9 * rt_random((uint64_t)q, 3); /* far from 1, as a wave's is */
}

/* |x - y| / |y| */
static double difference(const gfnn_grid_t *g, const double *x, const double *y)
{
    double *t = gfnn_judge_vector(g);
    const double share = gfnn_judge_apart(g, x, y, t) / gfnn_judge_norm(g, y);
    RT_FREE(t, RT_HOST);
    return share;
}

/* --- bj in one pass with the update --- */

static double *six_iterations(const char *settings, double factor, int threads)
{
    bench_t b;
    bench_new(&b, "solve-simd", settings);
    gfnn_solver_t *s = b.s;
    gfnn_spoil(s, 0, RT_KEEP_NOTHING);
    random_force(&b, s->f);
    for (size_t i = 0; i < b.values; i++)
        s->f[i] *= factor;
    b.config->max_iterations = 6;
    rt_threads_set(threads);
    CHECK(gfnn_cg(s) == 6 && s->residual > b.config->tolerance);
    CHECK(!s->halo_fine && !s->halo_wide1 && !s->halo_wide3 && !s->halo_low);
    CHECK((s->r32 == NULL) == (b.config->precond == GFNN_BJ));
    rt_threads_set(1);
    double *x = RT_NEW(double, b.values, RT_HOST);
    memcpy(x, s->x, b.values * sizeof *x);
    bench_destroy(&b);
    return x;
}

/* A polynomial of degree 1 is bj times a factor, which has no effect on conjugate gradients: it
 * takes the same steps, in separate passes. A force of another magnitude takes the same steps
 * too, though z is in FP32: all scales are powers of two, and the bits are the same; as on more threads,
 * since no sum is in their order. */
static void check_fused(const char *more)
{
    const double factor = 0x1p-200;
    char bj[96], cheb[96];
    snprintf(bj, sizeof bj, "elements=6x5x7 precond=bj %s", more);
    snprintf(cheb, sizeof cheb, "elements=6x5x7 precond=cheb1 %s", more);
    double *x = six_iterations(bj, 1, 1), *small = six_iterations(bj, factor, 1);
    double *want = six_iterations(cheb, 1, 1);
    double *x_3 = six_iterations(bj, 1, 3), *want_3 = six_iterations(cheb, 1, 3);
    int64_t off = 0;
    bench_t b;
    bench_new(&b, "solve-simd", bj);
    CHECK(gfnn_judge_norm(b.g, x) > 0 && difference(b.g, x, want) < 1e-5);
    for (int64_t q = 0; q < own_values(b.g); q++)
        off += small[position(b.g, q)] != factor * x[position(b.g, q)];
    CHECK(off == 0);
    CHECK(memcmp(x, x_3, b.values * sizeof *x) == 0);
    CHECK(memcmp(want, want_3, b.values * sizeof *x) == 0);
    bench_destroy(&b);
    RT_FREE_ALL(RT_HOST, x, small, want, x_3, want_3);
}

/* --- ends --- */

static void check_ends(const char *settings)
{
    bench_t b;
    bench_new(&b, "solve-simd", settings);
    gfnn_solver_t *s = b.s;
    gfnn_vectors_cpu.fill(&s->view_vec, GFNN_DOUBLE, 0, s->f);
    gfnn_vectors_cpu.fill(&s->view_vec, GFNN_DOUBLE, NAN, s->x);
    CHECK(gfnn_cg(s) == 0);
    CHECK(s->residual == 0 && gfnn_judge_norm(b.g, s->x) == 0);
    random_force(&b, s->f);
    b.config->max_iterations = 2;
    CHECK(gfnn_cg(s) == 2);
    CHECK(s->residual >= b.config->tolerance && s->residual < 1);
    b.config->max_iterations = 100000000; /* a NaN that did not stop it would take days */
    s->f[position(b.g, 5)] = NAN;
    CHECK(gfnn_cg(s) == 100000000);
    CHECK(!rt_finite(s->residual));
    bench_destroy(&b);
}

/* --- a host that runs ahead --- */

/* Scalars in host memory that count as a device's: what the host asks for, and what it starts. */
static struct {
    gfnn_scalars_t scalars;
    int64_t started, most_ahead, waits;
} ahead;

static gfnn_status_t status(const gfnn_cg_data_t *data, int64_t iterations)
{
    CHECK(iterations == ahead.started || gfnn_cg_has_ended(&data->cg->status));
    ahead.waits++;
    return gfnn_scalars_host.status(data, iterations);
}

static double residual(const gfnn_cg_data_t *data, int64_t iterations)
{
    ahead.most_ahead = ahead.most_ahead > ahead.started - iterations ? ahead.most_ahead
                                                                     : ahead.started - iterations;
    return gfnn_scalars_host.residual(data, iterations);
}

static void settle(const gfnn_cg_data_t *data, gfnn_stage_t stage)
{
    ahead.started += stage == GFNN_APPLIED;
    gfnn_scalars_host.settle(data, stage);
}

/* Scalars on a device let the host start iterations before it knows that the solve has ended. It
 * knows nothing of earlier solves, starts none in vain, is two ahead, and waits for few. */
static void check_ahead(const char *settings, int64_t most_waits)
{
    gfnn_vectors_t vectors = gfnn_vectors_cpu;
    bench_t b;
    bench_new(&b, "solve-simd", settings);
    gfnn_solver_t *s = b.s;
    random_force(&b, s->f);
    const int64_t iterations = gfnn_cg(s);
    double *x = RT_NEW(double, b.values, RT_HOST);
    memcpy(x, s->x, b.values * sizeof *x);
    ahead.scalars = gfnn_scalars_host;
    ahead.scalars.on_device = true;
    ahead.scalars.status = status;
    ahead.scalars.residual = residual;
    ahead.scalars.settle = settle;
    ahead.started = ahead.most_ahead = ahead.waits = 0;
    vectors.scalars = &ahead.scalars;
    s->vectors = &vectors;
    CHECK(gfnn_cg(s) == iterations && iterations > 2);
    CHECK(memcmp(x, s->x, b.values * sizeof *x) == 0);
    CHECK(ahead.started == iterations && ahead.most_ahead == 2);
    CHECK(ahead.waits <= most_waits);
    if (ahead.waits > most_waits || ahead.started != iterations || getenv("RT_CHECK_VERBOSE"))
        printf("%s: %lld iterations, %lld started, %lld waits\n", settings, (long long)iterations,
               (long long)ahead.started, (long long)ahead.waits);
    s->vectors = &gfnn_vectors_cpu;
    RT_FREE(x, RT_HOST);
    bench_destroy(&b);
}

/* An iteration that was started in vain changes nothing: catches a loop, or gfnn_form, that goes on
 * after the end. Here f is 0, which is known after two. */
static void check_in_vain(const char *settings)
{
    gfnn_vectors_t vectors = gfnn_vectors_cpu;
    bench_t b;
    bench_new(&b, "solve-simd", settings);
    ahead.scalars = gfnn_scalars_host;
    ahead.scalars.on_device = true;
    vectors.scalars = &ahead.scalars;
    b.s->vectors = &vectors;
    gfnn_vectors_cpu.fill(&b.s->view_vec, GFNN_DOUBLE, 0, b.s->f);
    gfnn_vectors_cpu.fill(&b.s->view_vec, GFNN_DOUBLE, NAN, b.s->x);
    CHECK(gfnn_cg(b.s) == 0 && b.s->residual == 0 && gfnn_judge_norm(b.g, b.s->x) == 0);
    b.s->vectors = &gfnn_vectors_cpu;
    bench_destroy(&b);
}

/* --- solves --- */

static bool is_same(const double *x, const double *y, size_t values)
{
    return memcmp(x, y, values * sizeof *x) == 0;
}

/* Without a draw a solve begins at the problem's start, and always leaves the same; with one its input
 * differs from all others'. Nothing of an earlier solve can be taken for its result. What it left is
 * kept as it was. */
static void check_spoil(void)
{
    bench_t b;
    bench_new(&b, "solve-simd", "elements=6x5x7 precond=bj steps=3 faces=free");
    gfnn_solver_t *s = b.s;
    double *u = RT_NEW(double, b.values, RT_HOST), *v = RT_NEW(double, b.values, RT_HOST);
    gfnn_solve(s);
    memcpy(u, s->u, b.values * sizeof *u);
    CHECK(gfnn_judge_norm(b.g, u) > 0 && s->steps == 3);
    CHECK(s->iterations == s->history[0] + s->history[1] + s->history[2]);
    CHECK(s->residuals[2] == s->residual && s->worst >= s->residuals[1]);
    gfnn_spoil(s, 7, RT_KEEP_SAMPLE);
    memcpy(v, s->v, b.values * sizeof *v);
    CHECK(gfnn_judge_norm(b.g, s->u) == 0 && s->steps == 0 && s->history[0] == -1 &&
          gfnn_judge_norm(b.g, v) > 0);
    CHECK(rt_count_nonfinite(s->x, b.values) == (size_t)own_values(b.g));
    CHECK(s->kept[RT_KEEP_SAMPLE].draw == 0 && s->kept[RT_KEEP_SAMPLE].steps == 3);
    CHECK(is_same(u, s->kept[RT_KEEP_SAMPLE].left[0], b.values));
    gfnn_spoil(s, 9, RT_KEEP_NOTHING);
    CHECK(difference(b.g, s->v, v) > 0.5);
    gfnn_spoil(s, 0, RT_KEEP_LAST);
    CHECK(s->kept[RT_KEEP_LAST].draw == 9);
    gfnn_solve(s);
    CHECK(is_same(u, s->u, b.values));
    RT_FREE(u, RT_HOST);
    RT_FREE(v, RT_HOST);
    bench_destroy(&b);

    bench_new(&b, "cpu-simd", "elements=6x5x7 precond=bj faces=free");
    s = b.s;
    double *x = RT_NEW(double, b.values, RT_HOST);
    gfnn_spoil(s, 5, RT_KEEP_NOTHING);
    CHECK(rt_count_nonfinite(s->q, b.values) == (size_t)own_values(b.g));
    gfnn_input(s, 0, x);
    CHECK(difference(b.g, s->x, x) > 0.5);
    gfnn_input(s, 5, x);
    CHECK(is_same(x, s->x, b.values));
    gfnn_solve(s);
    CHECK(rt_count_nonfinite(s->q, b.values) == 0);
    RT_FREE(x, RT_HOST);
    bench_destroy(&b);
}

/* The transposed steps say what a functional of the end is for another start. */
static void check_transposed(const char *faces)
{
    bench_t b;
    rt_text_t text;
    bench_new(&b, "solve-simd",
              rt_text(&text,
                      "elements=6x5x7 precond=bj vectors=fp64 steps=3 damping=0.05 "
                      "tolerance=1e-13 faces=%s",
                      faces));
    gfnn_oracle_t *oracle = gfnn_oracle_new(b.problem);
    gfnn_oracle_transpose(b.problem, 1234, oracle);
    gfnn_spoil(b.s, 7, RT_KEEP_NOTHING);
    const double want = gfnn_judge_dot(b.g, oracle->per_v, b.s->v);
    gfnn_solve(b.s);
    const gfnn_state_t end = {b.s->u, b.s->v, b.s->a};
    const double got = gfnn_oracle_functional(b.problem, 1234, &end) -
                       gfnn_oracle_functional(b.problem, 1234, &oracle->end);
    CHECK(want != 0 && fabs(got - want) < 1e-9 * fabs(want));
    gfnn_oracle_destroy(oracle);
    bench_destroy(&b);
}

/* A predictor that is compiled for the usual reach refuses another one. */
static void check_reach(void)
{
    gfnn_predictor_t predictor = {.only_usual = "its tile is full"};
    const gfnn_kernels_t kernels = {.ladder = GFNN_LADDER_PREDICTOR,
                                    .predictor = {&predictor, &predictor}};
    gfnn_config_t config = {.precond = GFNN_GFM, .reach = GFNN_ND};
    rt_text_t why;
    CHECK(!gfnn_refuse(&kernels.rung, &config, &why));
    config.reach = GFNN_MAX_ND;
    CHECK(strstr(gfnn_refuse(&kernels.rung, &config, &why), "with --reach 6 its tile is full"));
    predictor.only_usual = NULL;
    CHECK(!gfnn_refuse(&kernels.rung, &config, &why));
}

/* --- Green's functions --- */

/* Two nodes of a head: A^-1 is symmetric, A g is the force by the definition, and an expansion is what
 * the definition of P makes of a unit vector, here at the reach of the node. */
static void check_green(const char *precond)
{
    const int64_t a[3] = {5, 4, 3}, b[3] = {2, 7, 4};
    char settings[96];
    bench_t t;
    snprintf(settings, sizeof settings, "elements=12x10x8 green=5x4x3 precond=%s", precond);
    bench_new(&t, "solve-simd", settings);
    const gfnn_box_t *box = &t.problem->box;
    const gfnn_grid_t *wide = &box->wide;
    gfnn_scratch_t scratch = {.n = 0};
    double *g = gfnn_judge_scratch(&scratch, t.g), *y = gfnn_judge_scratch(&scratch, t.g),
           *h = gfnn_judge_scratch(&scratch, t.g), *r = gfnn_judge_scratch(&scratch, wide),
           *z = gfnn_judge_scratch(&scratch, wide);
    for (int l = 0; l < 3; l++) {
        const int k = (l + 1) % 3;
        const int64_t at_a = l * t.g->plane + gfnn_at(t.g, a[0], a[1], a[2]),
                      at_b = k * t.g->plane + gfnn_at(t.g, b[0], b[1], b[2]),
                      wide_b = k * wide->plane + gfnn_at(wide, b[0], b[1], b[2]);
        gfnn_green(t.s, b, k, y);
        gfnn_green(t.s, a, l, g);
        CHECK(g[at_b] != 0 && fabs(g[at_b] - y[at_a]) < 1e-10 * g[at_a]);
        gfnn_oracle_apply(t.problem, &t.problem->step.A, false, g, y);
        y[at_a] -= 1;
        CHECK(gfnn_judge_norm(t.g, y) < 1e-11);
        gfnn_expansion(t.s, a, l, h);
        r[wide_b] = 1;
        gfnn_predict_reference(box, &t.s->network, false, r, z);
        r[wide_b] = 0;
        const double want = z[l * wide->plane + gfnn_at(wide, a[0], a[1], a[2])];
        CHECK(want != 0 && fabs(h[at_b] - want) < 1e-14 * fabs(want));
    }
    gfnn_judge_release(&scratch, 0);
    bench_destroy(&t);
}

static void check_charged(void)
{
    gfnn_test_t t;
    gfnn_test_new(&t, "elements=6x5x7 precond=gf8");
    const double charged = app_test_charged(&gfnn_app, t.problem, "solve-simd");
    CHECK(charged > 0 && charged == t.problem->seconds_coef);
    CHECK(app_test_charged(&gfnn_app, t.problem, "predict-simd") < charged); /* its input is none */
    gfnn_test_destroy(&t);
}

int main(int argc, char **argv)
{
    app_test_start_on(1, "test_solve", &argc, &argv);
    check_reach();
    check_fused("faces=periodic");
    check_fused("faces=free");
    check_fused("faces=free vectors=fp64");
    check_ends("elements=4x3x5 precond=bj");
    check_ends("elements=4x3x5 precond=cheb");
    check_ahead("elements=6x5x7 precond=bj vectors=fp64", 4);
    check_ahead("elements=6x5x7 precond=cheb3 vectors=fp64", 4);
    check_ahead("elements=6x5x7 precond=bj vectors=fp32", 8);
    check_ahead("elements=6x5x7 precond=cheb3 vectors=fp32", 8);
    check_in_vain("elements=6x5x7 precond=bj vectors=fp64");
    check_in_vain("elements=6x5x7 precond=bj vectors=fp32");
    check_spoil();
    check_transposed("periodic");
    check_transposed("free");
    check_charged();
    check_green("gf8");
    check_green("gfm4");
    return app_test_stop(check_done());
}
