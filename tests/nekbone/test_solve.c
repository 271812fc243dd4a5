/*
 * test_solve.c - tests conjugate gradients, rung by rung, and the memory that they need.
 */
#include "config.h"
#include <math.h>
#include "nek_test.h"
#include "base/threads.h"
#include "tune/force.h"

/* --- histories --- */

/* Runs every rung on every kind of problem, also far beyond convergence, where the histories of
 * honest programs diverge (see nek_sensitivity). */
static void check_problems(void)
{
    static const char *const problems[] = {
        "elements=3x3x2 degree=7", "elements=3x3x2 degree=7 lambda=0",
        "elements=3x3x2 degree=7 deform=0.3", "elements=3x3x2 degree=7 deform=-0.3 lambda=0",
        "elements=3x3x2 degree=7 communication=no",
        "elements=3x3x2 degree=7 communication=no lambda=0 deform=0.2",
        "elements=3x3x2 degree=7 lambda=1000000", /* |r|^2 falls 4-fold and more at once */
        "elements=2x2x2 degree=9 iterations=1",
        "elements=2x2x2 degree=5 lambda=0 deform=0.2 iterations=800",
        "elements=1x1x1 degree=2",               /* one unknown, solved in one iteration */
        "elements=2x2x2 degree=1 iterations=3",  /* the same */
        "elements=2x2x1 degree=3 iterations=60", /* fewer unknowns than iterations */
        "elements=5x1x1 degree=8 seed=77",
        /* converges within the short solve of verify.c, and is chaotic from then on */
        "elements=1x2x2 degree=2 iterations=5 seed=839 communication=no",
        "elements=2x2x3 degree=2 seed=926 communication=no", NULL};
    nek_test_problems(problems);
}

/* Compares the residual norms of a solve with the reference's, by a bound of its own: while the
 * recurrence is not chaotic (here for 40 iterations), two programs differ by rounding errors, at
 * most a few thousand eps. Catches a wrong rung that verify.c accepts because its bounds have
 * become too wide. */
static void check_history(void)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, "elements=4x4x3 degree=7 deform=0.2 iterations=40");
    nek_reference_solve(t.problem);
    const double *want = t.problem->reference.history;
    CHECK(want[40] < 1e-2 * want[0]); /* it converges, so there is something to compare */
    CHECK(t.problem->eigen_min > 0 && t.problem->eigen_max > t.problem->eigen_min);
    for (int r = 0; r < nek_app.n_rungs; r++) {
        if (!app_test_can_run(&t.run, &nek_app.ladder[r]))
            continue;
        nek_solver_t *s = nek_solver_new(t.problem, &nek_app.ladder[r]);
        double most = 0;
        nek_solve(s);
        for (int k = 0; k <= 40; k++)
            most = fmax(most, fabs(s->history[k] / want[k] - 1));
        CHECK(most <= 4096 * fmax(RT_EPS, 2 * s->kernels->roundoff));
        nek_solver_destroy(s);
    }
    nek_test_destroy(&t);
}

/* Verifies every value of every parameter of the rungs that run here, one at a time, like the
 * default. Catches a choice that has not been run since it was written. */
static void check_parameters(void)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, "elements=3x2x2 degree=6 deform=0.2 iterations=30");
    for (int r = 0; r < nek_app.n_rungs; r++) {
        const nek_kernels_t *kernels = nek_kernels(&nek_app.ladder[r]);
        if (nek_app.ladder[r].kind != RT_CPU)
            continue;
        for (int p = 0; p < kernels->rung.n_parameters; p++)
            for (int v = 0; kernels->rung.parameters[p].values[v]; v++) {
                int choice[RT_TUNE_PARAMETERS];
                for (int i = 0; i < kernels->rung.n_parameters; i++)
                    choice[i] = i == p ? v : kernels->rung.parameters[i].initial;
                if (rt_rung_refuse_choice(&nek_app.ladder[r], t.config, choice))
                    continue;
                rt_outcome_t out;
                rt_force_choice(&t.run, &nek_app.ladder[r], choice);
                rt_run_rung(&t.run, t.problem, &nek_app.ladder[r], NULL, &out, NULL);
                CHECK(out.verdict.valid);
            }
    }
    nek_test_destroy(&t);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *settings, *only;
    } memory[] = {
        {"elements=4x4x4 degree=9 iterations=3", NULL},
        {"elements=3x4x5 degree=6 iterations=3", NULL},
        {"elements=16x16x16 degree=1 iterations=3", NULL}, /* all points are shared */
        {"elements=11x11x11 degree=2 iterations=3", NULL},
        {"elements=1x2x1 degree=23 iterations=3", NULL},
        {"elements=4x4x4 degree=7 iterations=3 communication=no", NULL},
        {"elements=1x1x1 degree=3 iterations=16000", "jammed"}, /* histories count too */
    };
    app_test_start("test_solve", &argc, &argv);
    rt_threads_set(1); /* several would only wait for each other */
    check_problems();
    check_history();
    check_parameters();
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        nek_test_memory(memory[i].settings, memory[i].only, 1e-3);
    return app_test_stop(check_done());
}
