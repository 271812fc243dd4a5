/*
 * mcpi_test.h - what the tests of fun3d-mcpi share: a problem, and which rungs can run here.
 */
#ifndef MCPI_TEST_H
#define MCPI_TEST_H

#include "apps/fun3d-mcpi/mcpi.h"
#include "tests/common/app_test.h"

/* A run with these settings and its problem; seconds 0: verify, solve once, verify. */
typedef struct {
    rt_run_t run;
    mcpi_problem_t *problem;
    mcpi_config_t *config;
} mcpi_test_t;

static inline void mcpi_test_new(mcpi_test_t *t, const rt_app_t *app, const char *settings)
{
    rt_run_init(&t->run, app, settings);
    t->run.opt.seconds = 0;
    t->run.opt.quiet = true; /* no line about the set-up of each problem */
    t->config = t->run.config;
    t->problem = mcpi_problem_new(&t->run);
}

static inline void mcpi_test_destroy(mcpi_test_t *t)
{
    mcpi_problem_destroy(t->problem);
    rt_run_destroy(&t->run);
}

/* Here and now, and with what O is stored in. */
static inline bool mcpi_test_can_run(const mcpi_test_t *t, const rt_rung_t *rung)
{
    return !rt_rung_why_not(rung) && !(mcpi_app.refuse && mcpi_app.refuse(&t->run, rung));
}

#endif
