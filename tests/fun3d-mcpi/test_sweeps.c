/*
 * test_sweeps.c - what sweeps must do, for every rung that can run here.
 *
 * That a rung agrees with the reference may only show that both make the same mistake. Here the
 * expected values come from elsewhere: a known solution, and levels that were measured with another
 * program. Each check has a twin that is wrong on purpose (a transposed block, another type) and
 * must not pass: a check that cannot fail shows nothing. RT_CHECK_LONG: what precision costs is
 * checked at full size too.
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

/* Returns whether a rung can run here, and is one of sweeps. */
static bool can_sweep(const rt_run_t *run, const rt_rung_t *rung)
{
    return strcmp(rung->ladder, "sweeps") == 0 && app_test_can_run(run, rung);
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

static double residual(mcpi_problem_t *p, const rt_rung_t *rung, int64_t sweeps)
{
    double *dq = sweep(p, rung, sweeps);
    const double r = mcpi_residual(p->matrix, NULL, p->matrix->R, 1, dq);
    RT_FREE(dq, RT_HOST);
    return r;
}

/* --- a known solution --- */

/* Returns the largest |dQ - dQ*|; dQ* is in (-1, 1). */
static double solution_error(const mcpi_problem_t *p, const double *dq)
{
    double most = 0;
    for (int64_t v = 0; v < p->part->rows * p->nb; v++)
        most = fmax(most, rt_finite(dq[v]) ? fabs(dq[v] - p->exact[v]) : INFINITY);
    return most;
}

/* Returns the block whose off-diagonal part is largest. */
static int64_t largest_block(const mcpi_system_t *system)
{
    const int64_t nb2 = system->nb * system->nb;
    int64_t at = 0;
    double most = -1;
    for (int64_t v = 0; v < system->part->start[system->part->rows] * nb2; v++) {
        const double x = fabs(mcpi_value(system->O, system->type, v));
        if (x > most && v % nb2 % (system->nb + 1) != 0) {
            most = x;
            at = v / nb2;
        }
    }
    return at;
}

static void transpose(mcpi_system_t *system, int64_t block)
{
    const int nb = system->nb;
    double *O = (double *)system->O + block * nb * nb;
    for (int i = 0; i < nb; i++)
        for (int j = 0; j < i; j++) {
            const double x = O[i * nb + j];
            O[i * nb + j] = O[j * nb + i];
            O[j * nb + i] = x;
        }
}

static void manufactured(const char *settings)
{
    app_test_t t;
    app_test_new(&t, &mcpi_app, settings);
    mcpi_problem_t *p = t.problem;
    const int64_t block = largest_block(p->system);
    for (int i = 0; i < mcpi_app.n_rungs; i++) {
        const rt_rung_t *rung = &mcpi_app.ladder[i];
        if (!can_sweep(&t.run, rung))
            continue;
        double *dq = sweep(p, rung, 200);
        CHECK(mcpi_residual(p->matrix, NULL, p->matrix->R, 1, dq) < 1e-12);
        CHECK(solution_error(p, dq) < 1e-9);
        RT_FREE(dq, RT_HOST);

        transpose(p->system, block);
        dq = sweep(p, rung, 200);
        CHECK(!(mcpi_residual(p->matrix, NULL, p->matrix->R, 1, dq) < 1e-12));
        CHECK(!(solution_error(p, dq) < 1e-9));
        RT_FREE(dq, RT_HOST);
        transpose(p->system, block);
    }
    app_test_destroy(&t);
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
        const double after_15 = residual(t.problem, mcpi_cpu_rung(), 15);
        const double after_200 = residual(t.problem, mcpi_cpu_rung(), 200);
        const bool near = (!is_full || is_near(after_15, level[i].after_15)) &&
                          is_near(after_200, level[i].after_200);
        CHECK(near);
        for (int j = 0; j < n; j++) /* and no other type has that level */
            CHECK(i == j || !is_near(after_200, level[j].after_200));
        if (!near || getenv("RT_CHECK_VERBOSE"))
            printf("%s: %.3g after 15 sweeps, %.3g after 200\n", settings, after_15, after_200);
        app_test_destroy(&t);
    }
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
    app_test_start_on(1, "test_sweeps", &argc, &argv);
    manufactured("surface=5 layers=7 cfl=10 offdiagonal=fp64 dq=fp64 accumulate=fp64");
    manufactured("surface=4 layers=5 cfl=10 block-size=7 offdiagonal=fp64 dq=fp64 accumulate=fp64");
    manufactured(
        "surface=4 layers=5 cfl=10 block-size=15 offdiagonal=fp64 dq=fp64 accumulate=fp64");
    rt_text_t why;
    CHECK(!mcpi_fixed_refuse(NULL, &(const mcpi_config_t){.nb = 7}, &why));
    CHECK(strstr(mcpi_fixed_refuse(NULL, &(const mcpi_config_t){.nb = 8}, &why), "of 4 to 7"));
    precision("surface=9 layers=14", false, levels, 4);
    if (getenv("RT_CHECK_LONG"))
        precision("surface=29 layers=25", true, levels, 4);
    return app_test_stop(check_done());
}
