/*
 * app_test.h - what tests that run rungs of an app share: start and stop, a problem, and which
 * rungs can run here (on a machine with a GPU the CUDA rungs too).
 */
#ifndef APP_TEST_H
#define APP_TEST_H

#include "judge/perturb.h"
#include "rt.h"
#include "tests/common/check.h"

/* Takes the place of the judge's search for races, which takes most of the time of a tiny rung: here rungs
 * run on many problems, and a race shows on one as well (cli.sh, races.sh, mutants). */
double rt_perturb(void (*run)(void *data), double (*error)(void *data), void *data)
{
    run(data);
    return error(data);
}

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

/*
 * APP_TEST(nek_test, nek_problem_t, nek_config_t) makes nek_test_t, a run and its problem, with
 * nek_test_new(t, app, settings) and nek_test_destroy(t). run.opt.seconds is 0: a rung is verified,
 * solved once and verified.
 */
#define APP_TEST(name_, problem_t_, config_t_)                                              \
    typedef struct {                                                                        \
        rt_run_t run;                                                                       \
        problem_t_ *problem;                                                                \
        config_t_ *config;                                                                  \
    } name_##_t;                                                                            \
    static inline void name_##_new(name_##_t *t, const rt_app_t *app, const char *settings) \
    {                                                                                       \
        rt_run_init(&t->run, app, settings);                                                \
        t->run.opt.seconds = 0;                                                             \
        t->run.opt.quiet = true; /* no line about the set-up of each problem */             \
        t->config = t->run.config;                                                          \
        t->problem = rt_problem_new(&t->run);                                               \
    }                                                                                       \
    static inline void name_##_destroy(name_##_t *t)                                        \
    {                                                                                       \
        rt_problem_destroy(&t->run, t->problem);                                            \
        rt_run_destroy(&t->run);                                                            \
    }

/* The same for tests that need no type: app_test_t, with void pointers. */
APP_TEST(app_test, void, void)

/* Returns what a rung is charged with because an earlier one, or the problem, has made it. */
static inline double app_test_charged(const rt_app_t *app, void *problem, const char *rung)
{
    for (int i = 0; i < 2; i++) {
        rt_setup_take();
        app->solver_destroy(app->solver_new(problem, rt_app_rung(app, rung)));
    }
    return rt_setup_take();
}

/* Returns whether this rung can run here, and this problem. */
static inline bool app_test_can_run(const rt_run_t *run, const rt_rung_t *rung)
{
    rt_text_t why;
    return !rt_rung_why_not(rung) && !rt_rung_refuse(rung, run->config, &why);
}

#endif
