/*
 * test_ladder.c - tests which rungs can run, where their arrays are, and what --list prints.
 *
 * The test works on machines with and without a GPU, and in builds with and without CUDA and
 * Kokkos: it asks the device first for everything that depends on that.
 */
#include "config.h"
#include "check.h"
#include "rt.h"

/* An app's function table, as far as the ladder knows it. */
static const char *const sizes[] = {"few", "many", NULL};
static const rt_parameter_t parameters[] = {
    {.name = "size", .about = "how many", .values = sizes, .initial = 1}};
static const struct {
    rt_kernels_t rung;
} table = {
    .rung = {
        .precision = "FP64", .reproducible = true, .parameters = parameters, .n_parameters = 1}};

/* Rungs in the order of a ladder. "second" occurs twice, so that the order of a search can be
 * tested. */
static const rt_rung_t ladder[] = {
    RT_RUNG_OF(first, CPU, "", NULL, table, "the plain loop"),
    RT_RUNG_OF(second, CPU, "first", NULL, table, "one idea more"),
    RT_RUNG_OF(second, CPU, "first", NULL, table, "never found"),
    RT_RUNG_OF(built, CUDA, "second", NULL, table, "on a GPU"),
    {.name = "missing", .kind = RT_CUDA, .after = "second", .idea = "not in any build"},
    RT_RUNG_OF(portable, KOKKOS, "first", NULL, table, "anywhere"),
};
enum { RUNGS = sizeof ladder / sizeof *ladder };

static void check_find(void)
{
    CHECK(rt_ladder_find(ladder, RUNGS, "first") == &ladder[0]);
    CHECK(rt_ladder_find(ladder, RUNGS, "second") == &ladder[1]);
    CHECK(rt_ladder_find(ladder, RUNGS, "portable") == &ladder[5]);
    CHECK(rt_ladder_find(ladder, RUNGS, "firs") == NULL); /* no prefixes of names */
    CHECK(rt_ladder_find(ladder, RUNGS, "") == NULL);
    CHECK(rt_ladder_find(ladder, 5, "portable") == NULL); /* nothing past the end */
}

static int contains(const char *text, const char *part)
{
    return text && strstr(text, part) != NULL;
}

static void check_why_not(void)
{
    CHECK(rt_rung_why_not(&ladder[0]) == NULL);
    CHECK(contains(rt_rung_why_not(&ladder[4]), "this build has no CUDA"));
    CHECK(contains(rt_rung_why_not(&ladder[4]), "--with-cuda=DIR")); /* the remedy */
    if (RT_HAVE_CUDA && rt_device_gpu())
        CHECK(rt_rung_why_not(&ladder[3]) == NULL);
    else if (RT_HAVE_CUDA)
        CHECK_TEXT(rt_rung_why_not(&ladder[3]), rt_device_why_not());
    else
        CHECK(contains(rt_rung_why_not(&ladder[3]), "this build has no CUDA"));
    CHECK_TEXT(rt_rung_why_not(&ladder[5]), rt_kokkos_why_not());
}

/* Checks that the rungs of one ladder are adjacent. */
static void check_first(void)
{
    char again[] = "operator"; /* the same name elsewhere in memory */
    const rt_rung_t two[] = {
        RT_RUNG_OF(a, CPU, "", "operator", table, ""),
        RT_RUNG_OF(b, CPU, "", again, table, ""),
        RT_RUNG_OF(c, CPU, "", "solve", table, ""),
        RT_RUNG_OF(d, CPU, "", NULL, table, ""),
    };
    CHECK(rt_ladder_first(two, 0) == 0 && rt_ladder_first(two, 1) == 0);
    CHECK(rt_ladder_first(two, 2) == 2 && rt_ladder_first(two, 3) == 3);
    CHECK(rt_ladder_first(ladder, RUNGS - 1) == 0);
}

static void check_space(void)
{
    CHECK(rt_rung_space(&ladder[0]) == RT_HOST);
    CHECK(rt_rung_space(&ladder[3]) == RT_DEVICE);
    CHECK(rt_rung_space(&ladder[5]) == rt_kokkos_space());
}

static const char *printed(bool details)
{
    FILE *file = tmpfile();
    rt_ladder_print(ladder, RUNGS, details, file);
    return check_written(file);
}

/* Checks that every rung is listed, in order, with its idea, and with details an absent one with
 * the reason below it; without, that a rung is one line, and each reason too. */
static void check_print(void)
{
    const char *text = printed(false);
    int lines = 0, reasons = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    for (const char *c = text; (c = strstr(c, "\nabsent ")) != NULL; c++)
        reasons++;
    CHECK(lines == RUNGS + 2 * reasons && !contains(text, "claims"));
    CHECK(contains(text, rt_rung_why_not(&ladder[4])));
    text = printed(true);
    const char *at = text;
    for (int i = 0; i < RUNGS && at; i++) {
        at = strstr(at, ladder[i].name);
        CHECK(at != NULL);
        const char *why_not = rt_rung_why_not(&ladder[i]);
        const char *end = at ? strchr(at, '\n') : NULL,
                   *idea = at ? strstr(at, ladder[i].idea) : NULL;
        CHECK(idea && end && idea < end);
        if (why_not)
            CHECK(end && contains(end, "absent: ") && contains(end, why_not));
        at = end;
    }
    CHECK(contains(text, "claims the same bits from run to run, on any number of threads; computes "
                         "in FP64\n"));
    CHECK(contains(text, " size: few, many (default); how many\n"));
    CHECK(contains(text, rt_kind_name(RT_CPU)) && contains(text, rt_kind_name(RT_KOKKOS)));
}

int main(int argc, char **argv)
{
    setenv("COLUMNS", "10000", 1);
    rt_error_set_program("test_ladder");
    rt_comm_init(&argc, &argv);
    rt_device_select("auto", true, 1);
    rt_kokkos_start(1, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
    check_find();
    check_why_not();
    check_first();
    check_space();
    check_print();
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
