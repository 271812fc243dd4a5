/*
 * test_timer.c - nesting, totals, and that a timer shows the time of the work.
 *
 * A sleep lasts at least as long as asked for, and maybe much longer on a busy machine. So the
 * lower bounds are absolute, and the upper bounds come from other clocks that ran around it.
 */
#include "config.h"
#include "machine/timer.h"

#include <string.h>
#include <time.h>

#include "check.h"
#include "driver/job.h"
#include "machine/comm.h"
#include "base/error.h"
#include "base/mem.h"

static void rest(double seconds)
{
    const struct timespec time = {0, (long)(seconds * 1e9)};
    nanosleep(&time, NULL);
}

static int results(void)
{
    rt_timer_result_t result;
    int n = 0;
    while (rt_timer_result(n, &result))
        n++;
    return n;
}

static void test_misuse(void)
{
    CHECK_DIES(RT_INVALID, "no timer is running", { rt_timer_stop("a"); });
    CHECK_DIES(RT_INVALID, "no timer is running", { rt_timer_work(1, 1); });
    CHECK_DIES(RT_INVALID, "the innermost timer is \"b\"", {
        rt_timer_start("a", RT_CPU);
        rt_timer_start("b", RT_CPU);
        rt_timer_stop("a");
    });
    CHECK_DIES(RT_INVALID, "\"a\" is running", {
        rt_timer_start("a", RT_CPU);
        rt_timer_enable(false);
    });
    CHECK_DIES(RT_INVALID, "\"a\" is running", {
        rt_timer_start("a", RT_CPU);
        rt_timer_reset();
    });
}

static void test_off(void)
{
    rt_timer_enable(false);
    CHECK(!rt_timer_enabled());
    rt_timer_start("a", RT_CPU);
    rt_timer_work(1, 1);
    rt_timer_stop("something else"); /* ignored while timers are off */
    CHECK(results() == 0);
    rt_timer_enable(true);
    CHECK(rt_timer_enabled());
    CHECK(results() == 0);
}

static void test_tree(void)
{
    rt_timer_result_t solve, apply, gather, again;
    const double begin = rt_clock();
    rt_timer_start("solve", RT_CPU);
    for (int i = 0; i < 3; i++) {
        rt_timer_start("operator", RT_CUDA); /* without a GPU: the host's clock */
        rest(i == 1 ? 0.03 : 0.01);
        rt_timer_work(100, 7);
        rt_timer_start("gather", RT_CPU);
        rt_timer_stop("gather");
        rt_timer_stop("operator");
    }
    rest(0.005);
    rt_timer_stop("solve");
    rt_timer_start("gather", RT_CPU); /* another parent, so another timer */
    rt_timer_stop("gather");
    const double elapsed = rt_clock() - begin;

    CHECK(results() == 4);
    CHECK(rt_timer_result(0, &solve) && rt_timer_result(1, &apply));
    CHECK(rt_timer_result(2, &gather) && rt_timer_result(3, &again));
    CHECK(!rt_timer_result(4, &again) && rt_timer_result(3, &again));
    CHECK_TEXT(solve.name, "solve");
    CHECK_TEXT(apply.name, "operator");
    CHECK_TEXT(gather.name, "gather");
    CHECK_TEXT(again.name, "gather");
    CHECK(solve.depth == 0 && apply.depth == 1 && gather.depth == 2 && again.depth == 0);
    CHECK(solve.calls == 1 && apply.calls == 3 && gather.calls == 3 && again.calls == 1);
    CHECK(apply.bytes == 300 && apply.flops == 21);
    CHECK(solve.bytes == 0 && gather.flops == 0);
    rt_timer_credit("gather", 8,
                    2); /* counts for both timers of that name, for each of their calls */
    CHECK(rt_timer_result(1, &apply) && rt_timer_result(2, &gather));
    CHECK(rt_timer_result(3, &again) && again.bytes == 8 && again.flops == 2);
    CHECK(gather.bytes == 24 && gather.flops == 6 && apply.bytes == 300);

    CHECK(solve.min == solve.max && solve.max == solve.sum);
    CHECK(solve.sum <= elapsed);
    if (!rt_device_stream()) {
        CHECK(apply.min >= 0.01 && apply.max >= 0.03 && apply.sum >= 0.05);
        CHECK(apply.min < apply.max);
        CHECK(apply.min * 3 <= apply.sum && apply.sum <= apply.max * 3);
        CHECK(solve.sum >= apply.sum + 0.005);
        CHECK(gather.sum <= apply.sum);
    }
}

static void test_print(double bandwidth, bool share)
{
    FILE *file = tmpfile();
    json_t *rows = json_array();
    rt_print_profile(file, bandwidth, rows);
    static const char *const paths[] = {"solve", "solve/operator", "solve/operator/gather",
                                        "gather"};
    CHECK(json_array_size(rows) == 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(rows, i);
        rt_timer_result_t timer;
        CHECK(rt_timer_result((int)i, &timer));
        CHECK(strcmp(json_string_value(json_object_get(row, "timer")), paths[i]) == 0);
        CHECK(json_real_value(json_object_get(row, "seconds")) == timer.sum);
        CHECK(json_integer_value(json_object_get(row, "calls")) == timer.calls);
        CHECK(json_real_value(json_object_get(row, "bytes")) == timer.bytes);
    }
    json_decref(rows);
    const char *text = check_written(file);
    CHECK(strstr(text, "solve") && strstr(text, "  operator") && strstr(text, "    gather"));
    CHECK(strstr(text, "min us@rank") && strstr(text, "@0"));
    CHECK((strstr(text, "of ") != NULL) == share);
    CHECK((strstr(text, " %") != NULL) == share);
}

static void test_reset(void)
{
    rt_timer_reset();
    CHECK(results() == 0);
    rt_timer_start("solve", RT_CPU);
    rt_timer_stop("solve");
    rt_timer_result_t solve;
    CHECK(rt_timer_result(0, &solve) && solve.calls == 1);
    rt_timer_reset();
}

/* Returns seconds of a clock that rt_clock does not use. */
static double other_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void test_window(void)
{
    const double around = other_clock();
    const double begin = rt_window_begin();
    rest(0.01);
    const double window = rt_window_end(begin);
    CHECK(window >= 0.01);
    CHECK(window <= 1.1 * (other_clock() - around)); /* a time server may adjust it */
}

/* Times work that continues after the call that started it has returned. */
static void test_gpu(void)
{
    const size_t bytes = (size_t)1 << 30;
    char *data = rt_alloc(1, bytes, RT_DEVICE);
    rt_fill(data, RT_DEVICE, 1, bytes); /* warm-up */
    rt_timer_start("host", RT_CPU);
    for (int i = 0; i < 10; i++) {
        rt_timer_start("fill", RT_CUDA);
        rt_fill(data, RT_DEVICE, i, bytes);
        rt_timer_stop("fill");
    }
    rt_timer_stop("host");
    rt_timer_start("after", RT_CPU);
    rt_timer_stop("after");
    rt_timer_result_t host, fill, after;
    CHECK(rt_timer_result(0, &host) && rt_timer_result(1, &fill) && rt_timer_result(2, &after));
    CHECK(fill.calls == 10);
    CHECK(fill.min > 1e-5); /* 1 GiB in 10 us would be 100 TB/s: only the launch was timed */
    CHECK(fill.sum <= 1.01 * host.sum); /* the outer timer has waited for the work */
    CHECK(after.sum < fill.sum);        /* and has left none of it for the next one */
    rt_timer_reset();

    double seconds = rt_window_begin();
    for (int i = 0; i < 10; i++)
        rt_fill(data, RT_DEVICE, i, bytes);
    seconds = rt_window_end(seconds);
    CHECK(seconds > 1e-4);

    for (int i = 0; i < 10000; i++) { /* more than can be pending at once */
        rt_timer_start("many", RT_CUDA);
        rt_timer_stop("many");
    }
    CHECK(rt_timer_result(0, &fill) && fill.calls == 10000 && fill.min >= 0);
    rt_timer_reset();
    rt_free(data, RT_DEVICE);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    test_off();
    test_misuse();
    test_tree();
    test_print(0, false);
    test_print(1e9, true);
    test_reset();
    test_window();
    rt_device_select("auto", true, 0);
    if (rt_device_stream()) {
        test_tree();
        test_reset();
        test_gpu();
    } else {
        printf("not tested: timers on a stream (%s)\n", rt_device_why_not());
    }
    rt_timer_reset();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
