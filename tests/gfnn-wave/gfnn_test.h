/*
 * gfnn_test.h - what the tests of gfnn-wave share: a configuration without a command line, a rung's
 * solver, and where the sample inputs are.
 */
#ifndef GFNN_TEST_H
#define GFNN_TEST_H

#include "apps/gfnn-wave/gfnn.h"
#include "apps/gfnn-wave/judge/judge.h"
#include "tests/common/app_test.h"

/* Returns the first named case (dt 20 us), one material of Vs = 80, on as many ranks as run. A test
 * sets what it is about. */
static inline gfnn_config_t gfnn_test_config(int64_t nx, int64_t ny, int64_t nz, int faces)
{
    const int64_t more = faces == GFNN_PERIODIC ? 0 : 1;
    gfnn_config_t config = {.model = "uniform",
                            .heads = {1, 1, 1},
                            .ds = 1e-3,
                            .dt = 20e-6,
                            .damping = 1e-3,
                            .faces = faces,
                            .precond = GFNN_BJ,
                            .form = "bj",
                            .precision = GFNN_FP32,
                            .kernels = 2,
                            .reach = GFNN_ND,
                            .degree = 5,
                            .weights = "shipped",
                            .tolerance = 1e-8,
                            .max_iterations = 1000,
                            .steps = 1,
                            .frequency = 1000,
                            .ranks = "auto",
                            .n_elements = {nx, ny, nz},
                            .n_nodes = {nx + more, ny + more, nz + more}};
    gfnn_box_choose(&config, rt_comm_size());
    return config;
}

/* Arrays of a check: kept when they are made, and freed together at its end. */
enum { GFNN_TEST_ARRAYS = 64 };
static struct {
    void *array[GFNN_TEST_ARRAYS];
    int n;
} gfnn_test_kept;

static inline void *gfnn_test_keep(void *array)
{
    RT_EXPECT(gfnn_test_kept.n < GFNN_TEST_ARRAYS, RT_MEMORY, "too many arrays in a check");
    return gfnn_test_kept.array[gfnn_test_kept.n++] = array;
}

static inline void gfnn_test_release(void)
{
    while (gfnn_test_kept.n > 0)
        rt_free(gfnn_test_kept.array[--gfnn_test_kept.n], RT_HOST);
}

/* Writes the path of a file of inputs/gfnn-wave; returns path->text. */
static inline const char *gfnn_test_input(const char *name, rt_text_t *path)
{
    const char *root = getenv("abs_top_srcdir");
    return rt_text(path, "%s/inputs/gfnn-wave/%s", root ? root : ".", name);
}

/* A run with these settings, its problem, and a rung's solver when there is one. In place: the
 * problem keeps the run's address. */
typedef struct {
    app_test_t app;
    gfnn_config_t *config;
    gfnn_problem_t *problem;
    gfnn_solver_t *s;
} gfnn_test_t;

static inline void gfnn_test_new(gfnn_test_t *t, const char *settings)
{
    app_test_new(&t->app, &gfnn_app, settings);
    t->config = t->app.config;
    t->problem = t->app.problem;
    t->s = NULL;
}

static inline gfnn_solver_t *gfnn_test_solver(gfnn_test_t *t, const char *rung)
{
    t->s = gfnn_solver_new(t->problem, rt_app_rung(&gfnn_app, rung));
    return t->s;
}

static inline void gfnn_test_no_force(const gfnn_view_t *view, int64_t at, double value, double *x)
{
    (void)view, (void)at, (void)value, (void)x;
}

/* Takes the source away from a solver on the CPU. */
static inline void gfnn_test_no_source(gfnn_solver_t *s)
{
    static gfnn_vectors_t vectors;
    vectors = gfnn_vectors_cpu;
    vectors.add = gfnn_test_no_force;
    s->vectors = &vectors;
}

static inline void gfnn_test_destroy(gfnn_test_t *t)
{
    if (t->s)
        gfnn_solver_destroy(t->s);
    app_test_destroy(&t->app);
}

#endif
