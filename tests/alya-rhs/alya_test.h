/*
 * alya_test.h - shared by the tests of alya-rhs: a problem, and which rungs can run here.
 */
#ifndef ALYA_TEST_H
#define ALYA_TEST_H

#include "apps/alya-rhs/alya.h"
#include "tests/common/app_test.h"

static inline bool alya_test_can_run(const rt_rung_t *rung)
{
    return !rt_rung_why_not(rung);
}

/* A run with these settings and its problem; seconds 0: verify, solve once, verify. */
typedef struct {
    rt_run_t run;
    alya_problem_t *problem;
    alya_config_t *config;
} alya_test_t;

static inline void alya_test_new(alya_test_t *t, const rt_app_t *app, const char *settings)
{
    rt_run_init(&t->run, app, settings);
    t->run.opt.seconds = 0;
    t->run.opt.quiet = true; /* no line about the set-up of each problem */
    t->config = t->run.config;
    t->problem = alya_problem_new(&t->run);
}

static inline void alya_test_destroy(alya_test_t *t)
{
    alya_problem_destroy(t->problem);
    rt_run_destroy(&t->run);
}

#endif
