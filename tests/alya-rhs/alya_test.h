/*
 * alya_test.h - what the tests of alya-rhs share: start and stop, and which rungs can run here.
 *
 * The tests run every rung that this machine can run: on one with a GPU the CUDA rungs too.
 */
#ifndef ALYA_TEST_H
#define ALYA_TEST_H

#include "apps/alya-rhs/alya.h"
#include "tests/common/check.h"

/* `device` as --device. Every rung of the ladder can be asked afterwards whether it can run. */
static inline void alya_test_start(const char *name, int *argc, char ***argv)
{
    const char *device = getenv("RT_TEST_DEVICE"); /* gpu.sh shares one GPU between ranks */
    rt_error_set_program(name);
    rt_comm_init(argc, argv);
    rt_device_select(device ? device : "auto", true, 0);
    rt_kokkos_start(rt_device_cpu()->threads, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
}

static inline int alya_test_stop(int status)
{
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return status;
}

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
