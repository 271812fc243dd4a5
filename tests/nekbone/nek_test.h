/* nek_test.h - what the tests of nekbone share: a run and its problem. */
#ifndef NEK_TEST_H
#define NEK_TEST_H

#include <string.h>
#include "apps/nekbone/nekbone.h"
#include "tests/common/app_test.h"

APP_TEST(nek_test, nek_problem_t, nek_config_t)

/* Runs every rung that can solve this problem as the driver does; it has at least `checks` checks. An
 * honest rung is never INVALID. */
static inline void nek_test_rungs(nek_test_t *t, const char *settings, int checks)
{
    for (int i = 0; i < nek_app.n_rungs; i++) {
        rt_outcome_t out;
        if (!app_test_can_run(&t->run, &nek_app.ladder[i]))
            continue;
        rt_run_rung(&t->run, t->problem, &nek_app.ladder[i], NULL, &out, NULL);
        CHECK(out.verdict.valid);
        CHECK(out.verdict.n >= checks);
        if (out.verdict.valid)
            continue;
        printf("%s, %s:\n", nek_app.ladder[i].name, settings);
        rt_verdict_print(&out.verdict, stdout);
    }
}

static inline void nek_test_problems(const char *const *settings)
{
    for (; *settings; settings++) {
        nek_test_t t;
        nek_test_new(&t, &nek_app, *settings);
        nek_test_rungs(&t, *settings, 1);
        nek_test_destroy(&t);
    }
}

/* Returns whether the rung has the same arrays as `jammed`, which is then tested instead. */
static inline bool nek_test_same_arrays(const rt_rung_t *rung)
{
    const nek_kernels_t *kernels = nek_kernels(rung);
    return rung->kind == RT_CPU && strcmp(rung->name, "jammed") != 0 && !kernels->memory &&
           !kernels->preconditioner && kernels->scratch_arrays == 0;
}

/* Checks the predicted memory of a whole run: the problem, then each rung's solver together with
 * the oracle's. The prediction is printed before anything is allocated and decides whether a run is
 * refused, so it may be neither too small nor far too large. `only`: the rung, or NULL for all.
 * With `seconds` solves are timed, and two are put aside. */
static inline void nek_test_memory(const char *settings, const char *only, double seconds)
{
    rt_run_t run;
    rt_run_init(&run, &nek_app, settings);
    run.opt.seconds = seconds;
    run.opt.windows = 2;
    run.opt.quiet = true;
    for (int r = 0; r < nek_app.n_rungs; r++) {
        const rt_rung_t *rung = &nek_app.ladder[r];
        bool asked = only ? strcmp(only, rung->name) == 0 : !nek_test_same_arrays(rung);
        if (!asked || !app_test_can_run(&run, rung))
            continue;
        rt_outcome_t out;
        rt_mem_reset_high_water();
        void *problem = rt_problem_new(&run);
        rt_run_rung(&run, problem, rung, NULL, &out, NULL);
        nek_problem_destroy(problem);
        CHECK(out.verdict.valid);
        for (int s = 0; s < RT_SPACES; s++) {
            CHECK(rt_mem_used((rt_space_t)s) == 0); /* everything was freed */
            if (out.predicted[s] < 1 << 19)         /* a few scalars */
                continue;
            /* In host memory the sample may be the last timed solve: then one is put aside, not two.
             * And where nearly all points are shared, it peaks while a second halo is set up, which
             * is only bounded (as if no point had more than two copies). */
            double ratio = out.high_water[s] / out.predicted[s];
            const double least = s == RT_HOST && seconds > 0 ? 0.8 : 0.95;
            CHECK(ratio >= least && ratio <= 1.05);
            if (ratio < least || ratio > 1.05)
                printf("%s, %s, %s: %.0f bytes used, %.0f predicted\n", rung->name, settings,
                       rt_space_name((rt_space_t)s), out.high_water[s], out.predicted[s]);
        }
    }
    rt_run_destroy(&run);
}

#endif
