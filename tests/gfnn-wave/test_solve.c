/*
 * test_solve.c - conjugate gradients, their preconditioners and Newmark's method, on boxes small
 * enough to be solved by elimination.
 */
#include "config.h"
#include <math.h>
#include "gfnn_test.h"

typedef struct {
    gfnn_test_t test;
    gfnn_config_t *config;
    gfnn_problem_t *problem;
    gfnn_solver_t *s;
    const gfnn_grid_t *g;
    size_t values; /* of a vector on fine */
} bench_t;

/* A network of one kernel, which is no Green's function: about D^-1, with random values around
 * it and coefficients that differ from node to node, so that P is not symmetric. */
typedef enum { NO_NETWORK, NETWORK, NETWORK_16 } network_use_t; /* 16 bits */
static gfnn_weights_t network;
static float kernel[9 * GFNN_STENCIL];

static void give_network(bench_t *b, network_use_t use)
{
    const size_t plane = (size_t)b->problem->box.bare.plane;
    for (int q = 0; q < 9 * GFNN_STENCIL; q++) {
        const bool centre = q % GFNN_STENCIL == GFNN_STENCIL / 2 && q / GFNN_STENCIL % 4 == 0;
        kernel[q] = (float)(0.003 * rt_random((uint64_t)q, 7)) + (centre ? 0.25f : 0);
    }
    network =
        (gfnn_weights_t){.form = GFNN_GFM, .kernels = 1, .coefs = 1, .reach = GFNN_ND, .K = kernel};
    b->problem->weights = &network;
    b->problem->coef = RT_NEW(float, plane, RT_HOST);
    for (size_t i = 0; i < plane; i++)
        b->problem->coef[i] = (float)(1 + 0.3 * rt_random(i, 8));
    b->config->precond = GFNN_GFM; /* a setting would read a file */
    b->config->precision = use == NETWORK_16 ? GFNN_FP16 : GFNN_FP32;
}

static void bench_new(bench_t *b, const char *rung, const char *settings, network_use_t use)
{
    gfnn_test_new(&b->test, settings);
    b->config = b->test.config;
    b->problem = b->test.problem;
    if (use != NO_NETWORK)
        give_network(b, use);
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

static double norm(const gfnn_grid_t *g, const double *x)
{
    double sum = 0;
    for (int64_t q = 0; q < own_values(g); q++)
        sum += x[position(g, q)] * x[position(g, q)];
    return sqrt(sum);
}

/* |x - y| / |y| */
static double difference(const gfnn_grid_t *g, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t q = 0; q < own_values(g); q++) {
        const int64_t at = position(g, q);
        sum += (x[at] - y[at]) * (x[at] - y[at]);
    }
    return sqrt(sum) / norm(g, y);
}

/* --- against elimination --- */

/* Solves A x = f by Cholesky, with A column by column from the definition. Held values are 0. */
static void eliminate(bench_t *b, const double *f, double *x)
{
    const int64_t n = own_values(b->g);
    double *A = RT_NEW(double, (size_t)(n * n), RT_HOST), *y = RT_NEW(double, (size_t)n, RT_HOST);
    double *e = RT_NEW(double, b->values, RT_HOST), *Ae = RT_NEW(double, b->values, RT_HOST);
    memset(Ae, 0, b->values * sizeof *Ae);
    for (int64_t q = 0; q < n; q++) {
        memset(e, 0, b->values * sizeof *e);
        e[position(b->g, q)] = 1;
        gfnn_oracle_apply(b->problem, &b->problem->step.A, false, e, Ae);
        for (int64_t p = 0; p < n; p++)
            A[p * n + q] = Ae[position(b->g, p)];
        if (A[q * n + q] == 0)
            A[q * n + q] = 1; /* held */
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = f[position(b->g, i)];
        for (int64_t j = 0; j <= i; j++) {
            double entry = A[i * n + j];
            for (int64_t k = 0; k < j; k++)
                entry -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(entry) : entry / A[j * n + j];
        }
        for (int64_t j = 0; j < i; j++)
            sum -= A[i * n + j] * y[j];
        y[i] = sum / A[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++)
            y[i] -= A[j * n + i] * y[j];
        y[i] /= A[i * n + i];
        x[position(b->g, i)] = y[i];
    }
    RT_FREE(A, RT_HOST);
    RT_FREE(y, RT_HOST);
    RT_FREE(e, RT_HOST);
    RT_FREE(Ae, RT_HOST);
}

/* Every preconditioner finds the same x: a wrong one costs iterations, so these are bounded too.
 * Catches an alpha, a beta or a scale that is not that of the method. */
static void check_solution(const char *asked, network_use_t use, int64_t most)
{
    static const char *const rungs[] = {"solve-reference", "solve-simd"};
    static const char *const vectors[] = {"fp64", "fp32", "fp32 tolerance=1e-12"};
    for (size_t i = 0; i < 6; i++) {
        bench_t b;
        rt_text_t text;
        const char *settings = rt_text(&text, "%s vectors=%s", asked, vectors[i % 3]);
        bench_new(&b, rungs[i / 3], settings, use);
        double *f = RT_NEW(double, b.values, RT_HOST), *want = RT_NEW(double, b.values, RT_HOST);
        random_force(&b, f);
        memset(want, 0, b.values * sizeof *want);
        eliminate(&b, f, want);
        rt_copy(b.s->f, b.s->space, f, RT_HOST, b.values * sizeof *f);
        const int64_t iterations = gfnn_cg(b.s);
        const double error = difference(b.g, b.s->x, want);
        const bool tight = b.config->tolerance < 1e-10;
        const int64_t limit = tight ? 2 * most : most;
        const double bound = tight ? 1e-11 : 1e-7;
        CHECK(iterations <= limit && b.s->residual < b.config->tolerance);
        CHECK(error < bound);
        if (iterations > limit || !(error < bound) || getenv("RT_CHECK_VERBOSE"))
            printf("%s, %s: %lld iterations, error %.2e\n", rungs[i / 3], settings,
                   (long long)iterations, error);
        RT_FREE(f, RT_HOST);
        RT_FREE(want, RT_HOST);
        bench_destroy(&b);
    }
}

/* --- bj in one pass with the update --- */

static double *six_iterations(const char *settings, double factor)
{
    bench_t b;
    bench_new(&b, "solve-simd", settings, NO_NETWORK);
    gfnn_solver_t *s = b.s;
    gfnn_spoil(s, 0, RT_KEEP_NOTHING);
    random_force(&b, s->f);
    for (size_t i = 0; i < b.values; i++)
        s->f[i] *= factor;
    b.config->max_iterations = 6;
    CHECK(gfnn_cg(s) == 6 && s->residual > b.config->tolerance);
    CHECK(!s->halo_fine && !s->halo_wide1 && !s->halo_wide3 && !s->halo_low);
    CHECK((s->r32 == NULL) == (b.config->precond == GFNN_BJ));
    double *x = RT_NEW(double, b.values, RT_HOST);
    memcpy(x, s->x, b.values * sizeof *x);
    bench_destroy(&b);
    return x;
}

/* A polynomial of degree 1 is bj times a factor, which has no effect on conjugate gradients: it
 * takes the same steps, in separate passes. A force of another magnitude takes the same steps
 * too, though z is in FP32: all scales are powers of two, and the bits are the same. */
static void check_fused(const char *more)
{
    const double factor = 0x1p-200;
    char bj[96], cheb[96];
    snprintf(bj, sizeof bj, "elements=6x5x7 precond=bj %s", more);
    snprintf(cheb, sizeof cheb, "elements=6x5x7 precond=cheb1 %s", more);
    double *x = six_iterations(bj, 1), *small = six_iterations(bj, factor);
    double *want = six_iterations(cheb, 1);
    int64_t off = 0;
    bench_t b;
    bench_new(&b, "solve-simd", bj, NO_NETWORK);
    CHECK(norm(b.g, x) > 0 && difference(b.g, x, want) < 1e-5);
    for (int64_t q = 0; q < own_values(b.g); q++)
        off += small[position(b.g, q)] != factor * x[position(b.g, q)];
    CHECK(off == 0);
    bench_destroy(&b);
    RT_FREE(x, RT_HOST);
    RT_FREE(small, RT_HOST);
    RT_FREE(want, RT_HOST);
}

/* --- ends --- */

static void check_ends(const char *settings)
{
    bench_t b;
    bench_new(&b, "solve-simd", settings, NO_NETWORK);
    gfnn_solver_t *s = b.s;
    gfnn_vectors_cpu.fill(&s->view_vec, 0, s->f);
    gfnn_vectors_cpu.fill(&s->view_vec, NAN, s->x);
    CHECK(gfnn_cg(s) == 0);
    CHECK(s->residual == 0 && norm(b.g, s->x) == 0);
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

static gfnn_told_t told(const gfnn_place_t *place, int64_t iterations)
{
    CHECK(iterations == ahead.started || gfnn_cg_has_ended(&place->cg->told));
    ahead.waits++;
    return gfnn_scalars_host.told(place, iterations);
}

static double residual(const gfnn_place_t *place, int64_t iterations)
{
    ahead.most_ahead = ahead.most_ahead > ahead.started - iterations ? ahead.most_ahead
                                                                     : ahead.started - iterations;
    return gfnn_scalars_host.residual(place, iterations);
}

static void settle(const gfnn_place_t *place, gfnn_stage_t stage)
{
    ahead.started += stage == GFNN_APPLIED;
    gfnn_scalars_host.settle(place, stage);
}

/* Scalars on a device let the host start iterations before it knows that the solve has ended. It
 * knows nothing of earlier solves, starts none in vain, is two ahead, and waits for few. */
static void check_ahead(const char *settings, int64_t most_waits)
{
    gfnn_vectors_t vectors = gfnn_vectors_cpu;
    bench_t b;
    bench_new(&b, "solve-simd", settings, NO_NETWORK);
    gfnn_solver_t *s = b.s;
    random_force(&b, s->f);
    const int64_t iterations = gfnn_cg(s);
    double *x = RT_NEW(double, b.values, RT_HOST);
    memcpy(x, s->x, b.values * sizeof *x);
    ahead.scalars = gfnn_scalars_host;
    ahead.scalars.on_device = true;
    ahead.scalars.told = told;
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
    bench_new(&b, "solve-simd", settings, NO_NETWORK);
    ahead.scalars = gfnn_scalars_host;
    ahead.scalars.on_device = true;
    vectors.scalars = &ahead.scalars;
    b.s->vectors = &vectors;
    gfnn_vectors_cpu.fill(&b.s->view_vec, 0, b.s->f);
    gfnn_vectors_cpu.fill(&b.s->view_vec, NAN, b.s->x);
    CHECK(gfnn_cg(b.s) == 0 && b.s->residual == 0 && norm(b.g, b.s->x) == 0);
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
    bench_new(&b, "solve-simd", "elements=6x5x7 precond=bj steps=3 faces=free", NO_NETWORK);
    gfnn_solver_t *s = b.s;
    double *u = RT_NEW(double, b.values, RT_HOST), *v = RT_NEW(double, b.values, RT_HOST);
    gfnn_solve(s);
    memcpy(u, s->u, b.values * sizeof *u);
    CHECK(norm(b.g, u) > 0 && s->steps == 3);
    CHECK(s->iterations == s->history[0] + s->history[1] + s->history[2]);
    CHECK(s->residuals[2] == s->residual && s->worst >= s->residuals[1]);
    gfnn_spoil(s, 7, RT_KEEP_SAMPLE);
    memcpy(v, s->v, b.values * sizeof *v);
    CHECK(norm(b.g, s->u) == 0 && s->steps == 0 && s->history[0] == -1 && norm(b.g, v) > 0);
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

    bench_new(&b, "cpu-simd", "elements=6x5x7 precond=bj faces=free", NO_NETWORK);
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
                      faces),
              NO_NETWORK);
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

int main(int argc, char **argv)
{
    app_test_start_on(1, "test_solve", &argc, &argv);
    check_reach();
    check_solution("elements=4x3x5 precond=bj", NO_NETWORK, 40);
    check_solution("elements=3x2x3 precond=bj faces=free", NO_NETWORK, 45);
    check_solution("elements=4x3x5 precond=cheb3", NO_NETWORK, 20);
    check_solution("elements=3x2x3 precond=cheb5 faces=free", NO_NETWORK, 14);
    check_solution("elements=4x3x5 precond=cheb1", NO_NETWORK, 40);
    check_solution("elements=4x3x5 precond=bj", NETWORK, 75);
    check_solution("elements=4x3x5 precond=bj", NETWORK_16, 75);
    check_fused("faces=periodic");
    check_fused("faces=free");
    check_fused("faces=free vectors=fp32");
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
    return app_test_stop(check_done());
}
