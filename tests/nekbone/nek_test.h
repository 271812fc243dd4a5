/*
 * nek_test.h - what the tests of nekbone share: a problem, and which rungs can run here.
 */
#ifndef NEK_TEST_H
#define NEK_TEST_H

#include "apps/nekbone/nekbone.h"
#include "tests/common/app_test.h"

/* A run with these settings and its problem; seconds 0: verify, solve once, verify. */
typedef struct {
    rt_run_t run;
    nek_problem_t *problem;
    nek_config_t *config;
} nek_test_t;

static inline void nek_test_new(nek_test_t *t, const rt_app_t *app, const char *settings)
{
    rt_run_init(&t->run, app, settings);
    t->run.opt.seconds = 0;
    t->config = t->run.config;
    t->problem = nek_problem_new(&t->run);
}

/* Can this rung run here, and this problem? */
static inline bool nek_test_can_run(const rt_run_t *run, const rt_rung_t *rung)
{
    return !rt_rung_why_not(rung) && !run->app->refuse(run, rung);
}

static inline void nek_test_destroy(nek_test_t *t)
{
    nek_problem_destroy(t->problem);
    rt_run_destroy(&t->run);
}

#endif
