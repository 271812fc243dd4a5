/*
 * test_sweeps.c - what sweeps must reach. The judge compares every rung with the reference, and both may
 * make the same mistake. Here the expected values come from elsewhere: a known solution, and levels
 * that were measured with another program; each type must miss those of the others.
 * RT_CHECK_LONG: at full size too.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/fun3d-mcpi/mcpi.h"
#include "tests/common/app_test.h"

/* --- a rung, a problem, sweeps --- */

static size_t values(const mcpi_problem_t *p)
{
    return (size_t)((p->part->rows + p->part->ghosts) * p->nb);
}

/* Returns dQ after n sweeps from 0, with the problem's R; to be freed. */
static double *sweep(mcpi_problem_t *p, const rt_rung_t *rung, int64_t sweeps)
{
    double *dq = RT_NEW(double, values(p), RT_HOST);
    mcpi_solver_t *s = mcpi_solver_new(p, rung);
    memset(dq, 0, values(p) * sizeof *dq);
    mcpi_put_dq(s, dq);
    mcpi_sweeps(s, sweeps);
    rt_device_synchronize();
    mcpi_get_dq(s, dq);
    mcpi_solver_destroy(s);
    return dq;
}

/* Returns the residual; sets the largest |dQ - dQ*|. */
static double residual(mcpi_problem_t *p, const rt_rung_t *rung, int64_t sweeps, double *error)
{
    double *dq = sweep(p, rung, sweeps);
    const double r = mcpi_residual(p->matrix, NULL, p->matrix->R, 1, dq);
    *error = 0;
    for (int64_t v = 0; v < p->part->rows * p->nb; v++)
        *error = fmax(*error, rt_finite(dq[v]) ? fabs(dq[v] - p->exact[v]) : INFINITY);
    RT_FREE(dq, RT_HOST);
    return r;
}

/* --- what precision costs --- */

typedef struct {
    const char *types;          /* settings */
    double after_15, after_200; /* residual */
} level_t;

static bool is_near(double got, double want)
{
    const bool exact = want < 1e-12; /* nothing but roundings: may be less */
    return got < 3 * want && (exact || got > want / 3);
}

/* R = A 1, because the residual of a random dQ*, which has nothing smooth in it, is a hundred times
 * lower after 15 sweeps. is_full: the size is the one that the levels after 15 sweeps are for. */
static void precision(const char *mesh, bool is_full, const level_t *level, int n)
{
    for (int i = 0; i < n; i++) {
        char settings[256];
        app_test_t t;
        snprintf(settings, sizeof settings, "%s cfl=10 solution=constant %s", mesh, level[i].types);
        app_test_new(&t, &mcpi_app, settings);
        double error;
        const double after_15 = residual(t.problem, mcpi_cpu_rung(), 15, &error);
        const double after_200 = residual(t.problem, mcpi_cpu_rung(), 200, &error);
        const bool near = (!is_full || is_near(after_15, level[i].after_15)) &&
                          is_near(after_200, level[i].after_200);
        CHECK(near);
        CHECK(level[i].after_200 > 1e-12 || error < 1e-9);
        for (int j = 0; j < n; j++) /* and no other type has that level */
            CHECK(i == j || !is_near(after_200, level[j].after_200));
        if (!near || getenv("RT_CHECK_VERBOSE"))
            printf("%s: %.3g after 15 sweeps, %.3g after 200\n", settings, after_15, after_200);
        app_test_destroy(&t);
    }
}

static void check_charged(void)
{
    app_test_t t;
    app_test_new(&t, &mcpi_app, "surface=4 layers=5");
    const mcpi_problem_t *p = t.problem;
    const double colours = p->seconds_colour, factors = p->seconds_system, halo = p->seconds_halo;
    double charged = app_test_charged(&mcpi_app, t.problem, "cpu-simd");
    CHECK(colours > 0 && factors > 0 && fabs(charged - colours - factors - halo) < 1e-12);
    charged = app_test_charged(&mcpi_app, t.problem, "flow-simd"); /* it has other factors */
    CHECK(fabs(charged - colours - halo) < 1e-12);
    app_test_destroy(&t);
}

int main(int argc, char **argv)
{
    /* measured with another program, for 43,700 rows: fewer rows converge faster, to the same
     * levels */
    static const level_t levels[] = {
        {"offdiagonal=fp64 dq=fp64 accumulate=fp64", 2.06e-2, 1e-14},
        {"offdiagonal=fp32", 2.06e-2, 4e-7},
        {"offdiagonal=fp16", 2.07e-2, 4.2e-4},
        {"offdiagonal=bf16", 2.10e-2, 3.4e-3},
    };
    static const level_t random = {"solution=random offdiagonal=fp64 dq=fp64 accumulate=fp64", 0,
                                   1e-14};
    app_test_start_on(1, "test_sweeps", &argc, &argv);
    check_charged();
    precision("surface=9 layers=14", false, levels, 4);
    precision("surface=5 layers=7", false, &random, 1);
    precision("surface=4 layers=5 block-size=7", false, &random, 1);
    precision("surface=4 layers=5 block-size=15", false, &random, 1);
    if (getenv("RT_CHECK_LONG"))
        precision("surface=29 layers=25", true, levels, 4);
    return app_test_stop(check_done());
}
