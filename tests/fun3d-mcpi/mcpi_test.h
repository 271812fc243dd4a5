/*
 * mcpi_test.h - what the tests of fun3d-mcpi share: start and stop, and which rungs can run here.
 *
 * The tests run every rung that this machine can run: on one with a GPU the CUDA rungs too.
 */
#ifndef MCPI_TEST_H
#define MCPI_TEST_H

#include "apps/fun3d-mcpi/mcpi.h"
#include "tests/common/check.h"

/* `device` as --device. Every rung of the ladder can be asked afterwards whether it can run. */
static inline void mcpi_test_start(const char *name, int *argc, char ***argv)
{
    const char *device = getenv("RT_TEST_DEVICE"); /* gpu.sh shares one GPU between ranks */
    rt_error_set_program(name);
    rt_comm_init(argc, argv);
    rt_device_select(device ? device : "auto", true, 0);
    rt_kokkos_start(rt_device_cpu()->threads, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
}

static inline int mcpi_test_stop(int status)
{
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return status;
}

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
