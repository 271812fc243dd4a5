/*
 * test_work.c - compares the work model with figures worked out by hand. test_problem counts the points
 * that elements share.
 *
 * All rates and shares that a run prints are this model divided by time. So an error here is an
 * error in every figure, and no other test would see it.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "nek_test.h"
#include "apps/nekbone/precond/precond.h"
#include "driver/driver.h"

static const rt_work_line_t *line(const rt_work_t *work, const char *kernel)
{
    for (int i = 0; i < work->n; i++)
        if (strcmp(work->line[i].kernel, kernel) == 0)
            return &work->line[i];
    return NULL;
}

static void check_line(const rt_work_t *work, const char *kernel, double flops, double read,
                       double written)
{
    const rt_work_line_t *l = line(work, kernel);
    CHECK(l != NULL);
    if (!l)
        return;
    CHECK(l->calls == 1);
    CHECK(l->flops == flops);
    CHECK(l->read == read);
    CHECK(l->written == written);
}

/* Checks the longest chain of kernels of a preconditioner. Degree 9 has levels 9, 3, 1: boxes of level
 * 1, J' to degree 1, 3 kernels of 8 steps, J to level 1, r.z. Degree 23 has one level more, with two
 * kernels down and two up; degree 2 has two levels, and degree 1 the steps and r.z alone. */
static void check_chain(void)
{
    static const int wanted[][2] = {{1, 4}, {2, 5}, {9, 7}, {23, 11}};
    const nek_kernels_t own = {.cg = nek_solve_by_lines}, lines = {.cg = NULL};
    for (int i = 0; i < 4; i++) {
        rt_run_t run;
        rt_text_t settings;
        rt_work_t work = {.n = 0}, called = {.n = 0};
        rt_run_init(&run, &nek_app, rt_text(&settings, "elements=2x2x2 degree=%d", wanted[i][0]));
        nek_precond_work(run.config, &own, 1, 1, &work);
        CHECK(line(&work, "precondition")->launches == wanted[i][1]);
        CHECK(line(&work, "element")->launches == 1 && line(&work, "element")->barriers == 0);
        nek_precond_work(run.config, &lines, 1, 1, &called);
        CHECK(called.line[0].launches == 1); /* not known there */
        rt_run_destroy(&run);
    }
}

/* Returns the work of a rung, which need not be built. */
static rt_work_t work_of(const char *settings, const char *name)
{
    rt_run_t run;
    rt_work_t work = {.n = 0};
    const rt_rung_t *rung = rt_app_rung(&nek_app, name);
    rt_run_init(&run, &nek_app, settings);
    nek_work(&run, rung, &work);
    rt_run_destroy(&run);
    return work;
}

/* Checks the credited work: 12 n + 34 flops and 30 values of 8 bytes per stored point and iteration
 * (Karp et al.), whatever the rung does. Catches a rung that is credited with its own count, and
 * iterations counted twice (Nekbone counts 101 for 100). */
static void check_credit(const char *settings)
{
    rt_run_t run;
    rt_run_init(&run, &nek_app, settings);
    const nek_config_t *cfg = run.config;
    double points = (double)cfg->points;
    for (int i = 0; i < nek_app.n_rungs; i++) {
        rt_work_t work;
        nek_work(&run, &nek_app.ladder[i], &work);
        if (strcmp(nek_app.ladder[i].ladder, "solve") == 0)
            continue;
        CHECK_TEXT(work.unit, "iteration");
        CHECK(work.units == (double)cfg->iterations);
        CHECK(work.flops == points * (12 * cfg->n + 34));
        CHECK(work.bytes == points * 240);
        CHECK(work.loads_and_stores == 30 && work.array_bytes == 8 * points);
    }
    rt_run_destroy(&run);
}

/*
 * Checks the work of 2 x 1 x 1 elements of degree 2, n = 3, against figures by hand. P = 2 * 27 =
 * 54 stored points. The two elements share one face of 9 points, and each has a copy: S = 18.
 * Unique points 5 * 3 * 3 = 45.
 *
 *   update_p         2 * 54 =  108 flops   2 * 8 * 54 =  864 B read    8 * 54 = 432 B written
 *   ax         (32 + 15) * 54 = 2538       7 * 8 * 54 = 3024                    432
 *   gather-scatter  18                     18 * (4 + 8) = 216          18 * 8 = 144
 *   shift            5 * 54 =  270         3 * 8 * 54 = 1296                    432
 *   update_xr        7 * 54 =  378         5 * 8 * 54 = 2160           2 * 432 = 864
 *   sum                      3312                       7560                   2304
 */
static void check_by_hand(void)
{
    rt_work_t work = work_of("elements=2x1x1 degree=2 iterations=10", "jammed");
    CHECK(work.points == 45);
    CHECK(work.flops == 54 * 70.0 && work.bytes == 12960);
    CHECK(work.n == 5);
    check_line(&work, "update_p", 108, 864, 432);
    check_line(&work, "ax", 2538, 3024, 432); /* 4 sums of 3 products, 4 by halves: 3 + 2 */
    check_line(&work, "gather-scatter", 18, 216, 144);
    check_line(&work, "shift", 270, 1296, 432);
    check_line(&work, "update_xr", 378, 2160, 864);
    CHECK(rt_work_flops(&work) == 3312);
    CHECK(rt_work_bytes(&work) == 7560 + 2304);

    /* without communication that line is missing */
    work = work_of("elements=2x1x1 degree=2 communication=no", "jammed");
    CHECK(work.n == 4 && line(&work, "gather-scatter") == NULL);
    CHECK(rt_work_flops(&work) == 3294);

    /* seven sweeps of `vector` and `batched`: 17 arrays read, 9 written */
    for (int i = 0; i < 2; i++) {
        work = work_of("elements=2x1x1 degree=2", i ? "batched" : "vector");
        CHECK(work.n == 5);
        check_line(&work, "ax", 2754, 17 * 432, 9 * 432);
        check_line(&work, "shift", 270, 1296, 432);
    }

    /* One pass of `cpu-fused` reads r, v, p, six factors and, every second time, x; it writes r, p,
     * v and, every second time, x. 2 + 2 + 3 + 2 + 32 + 15 + 3 + 4 = 63 flops per point. v.v reads
     * v, and v is written where it is shared. The last update runs once in 10 iterations. */
    work = work_of("elements=2x1x1 degree=2 iterations=10", "cpu-fused");
    CHECK(work.n == 3);
    check_line(&work, "pass", 63 * 54, 9.5 * 432, 3.5 * 432);
    check_line(&work, "gather-scatter", 18 + 3 * 54, 432, 144);
    CHECK(line(&work, "last update") && line(&work, "last update")->calls == 0.1);
    CHECK(rt_work_bytes(&work) == 13 * 432 + 432 + 144 + 0.1 * 6 * 432);
    work = work_of("elements=2x1x1 degree=2 communication=no", "cpu-fused");
    check_line(&work, "gather-scatter", 3 * 54, 432, 0);

    /* `global` spills three arrays: 24 bytes more are written, and read again */
    work = work_of("elements=2x1x1 degree=2", "global");
    check_line(&work, "ax", 2754, 3024 + 54 * 24, 432 + 54 * 24);

    /* Lines of threads: 6 (3 + 2) + 15 = 45 flops per point for the operator. */
    work = work_of("elements=2x1x1 degree=2", "fused");
    CHECK(work.n == 3);
    check_line(&work, "pass", (45 + 8) * 54, 9 * 432, 3 * 432);
    check_line(&work, "gather", 18, 144, 144);
    check_line(&work, "update", 5 * 54, 2 * 432, 432);
    work = work_of("elements=2x1x1 degree=2", "onepass");
    check_line(&work, "pass", (45 + 17.5) * 54, 9.5 * 432, 3.5 * 432);
    check_line(&work, "gather", 2 * 18, 144, 144);
    CHECK(line(&work, "finish")->calls == 0.01 && line(&work, "finish")->flops == 10 * 54);
    work = work_of("elements=2x1x1 degree=2", "mixed"); /* half the bytes */
    check_line(&work, "pass", (45 + 17.5) * 54, 9.5 * 216, 3.5 * 216);
    check_line(&work, "gather", 2 * 18, 72, 72);
    CHECK(work.arithmetic == RT_FMA32);
    /* two elements with 24 coefficients */
    work = work_of("elements=2x1x1 degree=2", "trilinear");
    check_line(&work, "pass", (30 + 17.5 + 59.8) * 54, 3.5 * 432 + 2 * 8 * 24, 3.5 * 432);
    work = work_of("elements=2x1x1 degree=2", "resident");
    check_line(&work, "cg", (45 + 15) * 54 + 18, 6 * 432 + 2 * 144, 2 * 144);
    /* one kernel in 100 iterations, with 101 exchanges of sums; of others a call is a launch */
    CHECK(work.line[0].launches == 0.01 && work.line[0].barriers == 1.01);
    /* Lines of a rung in several precisions have their own. */
    work = work_of("elements=2x1x1 degree=2 precond=schwarz", "solve-cpu");
    CHECK(work.arithmetic == RT_MIXED);
    CHECK(line(&work, "precondition")->arithmetic == RT_FMA32);
    CHECK(line(&work, "ax")->arithmetic == RT_FMA64);
}

/* Checks which rung runs by default on a GPU: it depends on the points per rank, and is never one that
 * solves another class of problems. Catches a size on the wrong side of the limit, and a name that is
 * not on the ladder. */
static void check_default(const char *settings, const char *want)
{
    rt_run_t run;
    rt_text_t why;
    rt_run_init(&run, &nek_app, settings);
    const char *const *gpu = nek_app.extras->default_rungs(&run, RT_CUDA, &why);
    CHECK_TEXT(gpu[0], want);
    for (; *gpu; gpu++) {
        const rt_rung_t *rung = rt_app_rung(&nek_app, *gpu);
        CHECK(rung && rung->kind == RT_CUDA && !strstr("trilinear mixed", *gpu));
    }
    rt_run_destroy(&run);
}

/* Checks that --size small is the problem of docs/reference/h200. Catches a judge that keeps
 * more arrays beside those of the rung `vector`, which needs most. */
static void check_small(void)
{
    rt_run_t run;
    rt_run_init(&run, &nek_app, "");
    rt_run_size(&run, 0x1p30);
    const nek_config_t *config = run.config;
    for (int d = 0; d < 3; d++)
        CHECK(config->elements[d] == 18);
    rt_run_destroy(&run);
}

int main(int argc, char **argv)
{
    app_test_start("test_work", &argc, &argv);
    check_small();
    check_chain();
    check_by_hand();
    check_default("elements=8x8x8 degree=9", "resident");
    check_default("elements=16x8x8 degree=9", "onepass");
    check_default("elements=16x16x16 degree=3", "resident");
    check_credit("elements=3x4x2 degree=4 iterations=7");
    check_credit("elements=1x6x1 degree=9");
    return app_test_stop(check_done());
}
