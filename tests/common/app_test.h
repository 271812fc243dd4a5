/*
 * app_test.h - start and stop of a test that runs rungs of an app: every rung that this machine can
 * run, on one with a GPU the CUDA rungs too.
 */
#ifndef APP_TEST_H
#define APP_TEST_H

#include "rt.h"
#include "tests/common/check.h"

/* Every rung of the ladder can be asked afterwards whether it can run. Threads as --threads: 1 for
 * many problems of a few elements, where waking the others takes most of the time. */
static inline void app_test_start_on(int threads, const char *name, int *argc, char ***argv)
{
    const char *device = getenv("RT_TEST_DEVICE"); /* gpu.sh shares one GPU between ranks */
    rt_error_set_program(name);
    rt_comm_init(argc, argv);
    rt_device_select(device ? device : "auto", true, threads);
    rt_kokkos_start(rt_device_cpu()->threads, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
}

static inline void app_test_start(const char *name, int *argc, char ***argv)
{
    app_test_start_on(0, name, argc, argv);
}

static inline int app_test_stop(int status)
{
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return status;
}

#endif
