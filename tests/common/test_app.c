/*
 * test_app.c - tests the driver with a tiny app whose solve can be made wrong.
 *
 * The app squares n numbers. Each run is a process of its own, as from a shell. Each hook that the
 * driver calls writes its letter to memory that both processes share:
 *
 *   c configure   I i input   N n problem   S s solver   B verify_before   p spoil   x solve
 *   k, l spoil, where what a sampled or the last timed solve left is put aside
 *   A verify_after   R result   D digest
 */
#include "config.h"
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include "check.h"
#include "rt.h"

enum { EVENTS = 1 << 20 };
static struct {
    int n;
    char event[EVENTS];
    uint64_t seed[8]; /* given to verify_before, in order */
    int seeds;
    int scales; /* calls of extents */
    int twice;  /* solves with the input of the one before */
} * shared;

static void note(char event)
{
    if (shared->n < EVENTS - 1)
        shared->event[shared->n++] = event;
}

/* --- the app --- */

/* "second": wrong from the second solve on; "plain": wrong in the first rung of two only */
/* "boast": the first rung counts a billion times the flops that it does */
/* "noise": right, but every other solve takes a few milliseconds longer */
/* "late": right, but ranks solve together, and the last one is ready 100 ms after the others */
/* "short": ends before its goal, as the options made it; "stuck": the same, and something is wrong */
static const char *const faults[] = {"none",   "nothing", "wrong", "nan",   "second",
                                     "kernel", "plain",   "boast", "noise", "late",
                                     "short",  "stuck",   NULL};

static int64_t most_numbers = INT64_MAX; /* accepted by extents */

typedef struct {
    int64_t n;
    int fault;
} config_t;

static bool has_fault(const config_t *config, const char *name)
{
    return strcmp(faults[config->fault], name) == 0;
}

#define CONFIG config_t
static const rt_opt_t options[] = {
    RT_INT(CONFIG, n, "n", "N", "20000", 1, 9e15, "numbers"),
    RT_CHOICE(CONFIG, fault, "fault", "NAME", "none", faults, "what solve does wrong"),
};

typedef struct {
    const config_t *config;
    const rt_rung_t *rung;
    double *y;
    int solves;
    uint64_t draw;
} solver_t;

static void configure(rt_run_t *run)
{
    (void)run;
    note('c');
}

static bool extents(rt_run_t *run, int64_t scale)
{
    ((config_t *)run->config)->n = scale;
    shared->scales++;
    return scale <= most_numbers;
}

static void describe(const rt_run_t *run, FILE *out)
{
    fprintf(out, "problem       %lld squares\n", (long long)((config_t *)run->config)->n);
}

/* Refuses for the rung `fast`. Writes the reason to the caller's text, as apps do whose reasons
 * have figures. */
static const char *refuse_few(const rt_kernels_t *self, const void *config, rt_text_t *why)
{
    (void)self;
    return ((const config_t *)config)->n < 10
               ? rt_text(why, "fewer than %d numbers are not worth it", 10)
               : NULL;
}

static void memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    (void)rung;
    bytes[RT_HOST] = (double)((config_t *)run->config)->n * sizeof(double);
    bytes[RT_PINNED] = bytes[RT_DEVICE] = 0;
}

static void work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *out)
{
    double n = (double)((config_t *)run->config)->n;
    const bool boasts = has_fault(run->config, "boast") && strcmp(rung->name, "plain") == 0;
    *out = (rt_work_t){.unit = "pass",
                       .point = "point",
                       .units = 1,
                       .flops = n,
                       .bytes = 8 * n,
                       .points = n,
                       .loads_and_stores = 1,
                       .distinct_arrays = 1,
                       .array_bytes = 8 * n};
    rt_work_add(out, "square", 1, boasts ? 1e9 * n : n, 0, 8 * n);
}

/* Reads nothing. Its result can be used for one problem only, as if the problem took it over. */
static void *input_new(const rt_run_t *run)
{
    (void)run;
    note('I');
    return calloc(1, 1);
}

static void input_destroy(void *input)
{
    note('i');
    free(input);
}

static void *problem_new(const rt_run_t *run, void *input)
{
    note('N');
    CHECK(input && input == run->input && *(char *)input == 0);
    *(char *)input = 1;
    return run->config;
}

static void problem_destroy(void *problem)
{
    (void)problem;
    note('n');
}

static void digest_problem(const void *problem, rt_digest_t *digest)
{
    const config_t *config = problem;
    note('D');
    rt_digest_int(digest, "n", config->n);
}

static void *solver_new(void *problem, const rt_rung_t *rung)
{
    solver_t *s = RT_NEW(solver_t, 1, RT_HOST);
    note('S');
    *s = (solver_t){.config = problem, .rung = rung};
    s->y = RT_NEW(double, (size_t)s->config->n, RT_HOST);
    return s;
}

static void solver_destroy(void *solver)
{
    solver_t *s = solver;
    note('s');
    RT_FREE(s->y, RT_HOST);
    RT_FREE(s, RT_HOST);
}

static void verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    const solver_t *s = solver;
    note('B');
    if (shared->seeds < 8)
        shared->seed[shared->seeds++] = seed;
    rt_verdict_true(verdict, "kernel", !has_fault(s->config, "kernel"));
}

static void nap(int milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000L * milliseconds}, NULL);
}

static void spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    solver_t *s = solver;
    note(keep == RT_KEEP_SAMPLE ? 'k' : keep == RT_KEEP_LAST ? 'l' : 'p');
    shared->twice += draw != 0 && draw == s->draw;
    s->draw = draw;
    if (has_fault(s->config, "late") && rt_comm_rank() == rt_comm_size() - 1)
        nap(100);
    for (int64_t i = 0; i < s->config->n; i++)
        s->y[i] = NAN;
}

static void solve(void *solver)
{
    solver_t *s = solver;
    const config_t *config = s->config;
    note('x');
    s->solves++;
    if (has_fault(config, "noise") && s->solves % 2)
        nap(3);
    if (has_fault(config, "late"))
        rt_comm_barrier();
    if (has_fault(config, "nothing") || (has_fault(config, "second") && s->solves > 1))
        return;
    for (int64_t i = 0; i < config->n; i++)
        s->y[i] = (double)i * (double)i;
    if (has_fault(config, "wrong") ||
        (has_fault(config, "plain") && strcmp(s->rung->name, "plain") == 0))
        s->y[config->n / 2] += 1;
    if (has_fault(config, "nan"))
        s->y[config->n / 2] = NAN;
}

static void verify_after(void *solver, rt_verdict_t *verdict)
{
    const solver_t *s = solver;
    double most = 0;
    note('A');
    for (int64_t i = 0; i < s->config->n; i++) {
        double error = fabs(s->y[i] - (double)i * (double)i);
        most = rt_finite(error) ? fmax(most, error) : INFINITY;
    }
    const bool stuck = has_fault(s->config, "stuck");
    rt_verdict_check(verdict, "squares", stuck ? 1 : most, 0.5);
    rt_verdict_converged(verdict, "reached", !stuck && !has_fault(s->config, "short"));
}

/* Adds to the result. The driver also calls it after an INVALID run, when values that are not
 * finite cannot be written. */
static void result(const void *solver, rt_result_t *out)
{
    const solver_t *s = solver;
    double last = s->y[s->config->n - 1];
    note('R');
    if (rt_finite(last))
        rt_text(&out->line, "the last is %g", last);
    if (out->json && rt_finite(last))
        rt_json_real(out->json, "last", last);
}

static const char *const sizes[] = {"few", "many", NULL};
static const rt_parameter_t parameters[] = {
    {.name = "size", .about = "how many", .values = sizes, .initial = 1}};
static const struct {
    rt_kernels_t rung;
} table = {.rung = {.precision = "FP64",
                    .reproducible = true,
                    .parameters = parameters,
                    .n_parameters = 1}},
  choosy = {.rung = {.refuse = refuse_few}};
#define MISSING "this build has no CUDA"

static const rt_rung_t ladder[] = {
    RT_RUNG_OF(plain, CPU, "", NULL, table, "one after the other"),
    RT_RUNG_OF(fast, CPU, "plain", NULL, choosy, "the same, with a better name"),
    {.name = "absent", .kind = RT_CUDA, .after = "fast", .idea = "not in any build"},
};

static const rt_extras_t extras = {.result = result, .roofline_settings = "fault=none"};

static const rt_app_t fake = {.name = "fake",
                              .purpose = "squares",
                              .options = options,
                              .n_options = 2,
                              .config_size = sizeof(config_t),
                              .ladder = ladder,
                              .n_rungs = 3,
                              .size_option = "n",
                              .extras = &extras,
                              .configure = configure,
                              .extents = extents,
                              .describe = describe,
                              .memory = memory,
                              .work = work,
                              .input_new = input_new,
                              .input_destroy = input_destroy,
                              .problem_new = problem_new,
                              .problem_destroy = problem_destroy,
                              .digest = digest_problem,
                              .solver_new = solver_new,
                              .solver_destroy = solver_destroy,
                              .verify_before = verify_before,
                              .spoil = spoil,
                              .solve = solve,
                              .verify_after = verify_after};

/* --- a run --- */

static const rt_app_t *tested = &fake;
static bool no_room; /* the disk of the next run is full */
static char out[65536], err[8192];

/* Runs the app with these arguments and returns its exit status; fills out, err and shared. */
static int run(const char *arguments)
{
    char copy[512], *argv[32] = {"fake"}, *rest = copy;
    int argc = 1, status = 0;
    snprintf(copy, sizeof copy, "%s", arguments);
    for (char *word; argc < 31 && (word = strtok_r(rest, " ", &rest));)
        argv[argc++] = word;
    memset(shared, 0, sizeof *shared);
    fflush(NULL);
    FILE *file[2] = {tmpfile(), tmpfile()};
    pid_t child = file[0] && file[1] ? fork() : -1;
    if (child < 0) {
        perror("run");
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        alarm(CHECK_SECONDS);
        dup2(fileno(file[0]), STDOUT_FILENO);
        dup2(fileno(file[1]), STDERR_FILENO);
        const int ended = rt_app_main(tested, argc, argv);
        if (no_room) { /* for the data that a coverage build writes at exit */
            fflush(NULL);
            _Exit(ended);
        }
        exit(ended);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    snprintf(out, sizeof out, "%s", check_written(file[0]));
    snprintf(err, sizeof err, "%.8191s", check_written(file[1]));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Runs the app: it must end with this status, and its output have each of these texts, or must not
 * have it if it begins with '!'. */
#define CHECK_RUN(arguments, status, ...) \
    check_run(arguments, status, (const char *const[]){__VA_ARGS__, NULL}, __LINE__)
static void check_run(const char *arguments, int status, const char *const *text, int line)
{
    const int got = run(arguments);
    bool held = got == status;
    for (; held && *text; text++)
        held = **text == '!' ? !strstr(out, *text + 1) : strstr(out, *text) != NULL;
    check_that(held, arguments, __FILE__, line);
    if (!held)
        fprintf(stderr, "    ended with %d, not %d; '%s': %s%s", got, status,
                got == status ? text[-1] : "", out, err);
}

/* Returns whether the last run was right, on a machine that others may use too. */
static bool is_right(void)
{
    return strstr(out, "\nfake: VALID\n") || strstr(out, "\nfake: UNSTEADY\n");
}

/* Checks that a run ends with this status before a problem is made, and that one line on stderr has
 * `text`. */
static void check_refused(const char *arguments, int status, const char *text)
{
    int got = run(arguments);
    int held = got == status && lines(err) == 1 && strstr(err, text) != NULL &&
               strncmp(err, "fake: ", 6) == 0 && strchr(shared->event, 'N') == NULL;
    CHECK(held);
    if (!held)
        fprintf(stderr, "    fake %s\n    ended with %d, not %d; events %.40s; stderr: %s",
                arguments, got, status, shared->event, err);
}

/* --- the order of calls --- */

/* Checks the calls of one rung: it is set up, verified, solved at least `least` times with the
 * output made unusable before each solve, and verified again; what one of the timed solves left is
 * put aside, and what the last one left. Catches a solve that is timed before it was verified, or
 * that reuses the answer of the solve before. Only the first solve, whose time is part of set-up, is
 * before all. Returns the events that follow. */
static const char *check_life(const char *event, int least)
{
    int solves = 0, sampled = 0, held = strncmp(event, "SpxB", 4) == 0;
    for (event += held ? 4 : 0; *event && strchr("pk", *event) && event[1] == 'x'; event += 2) {
        sampled += *event == 'k';
        solves++;
    }
    held = held && solves >= least && strncmp(event, "lxAR", 4) == 0 && shared->twice == 0;
    event += held ? 4 : 0;
    if (*event == 'p') { /* it seemed too fast, and was timed again */
        event += strspn(event, "pkxl");
        event += *event == 'A';
    }
    held = held && sampled <= solves; /* none where the sample is the last */
    held = held && *event == 's';
    CHECK(held);
    return held ? event + 1 : "";
}

static void check_valid_runs(void)
{
    /* the last rung that can run; nothing is timed */
    CHECK_RUN("--seconds 0", 0, "\nfake: VALID\n", "!ceilings", "fast (cpu)",
              "\nsolve         the last is 3.9996e+08\n");
    CHECK_TEXT(shared->event, "cINSBpxARsni");

    CHECK_RUN("--seconds 0.01 --windows 3 --rung plain", 0, "ceilings");
    CHECK(is_right() && strncmp(shared->event, "cIN", 3) == 0);
    CHECK_TEXT(check_life(shared->event + 3, 4), "ni"); /* a warm-up and three windows */

    CHECK_RUN("--ladder --seconds 0.01", 0, "not run       absent: " MISSING);
    const char *second = check_life(shared->event + 3, 6);
    CHECK_TEXT(check_life(second, 6), "ni"); /* one problem for both */
    CHECK(shared->seeds == 2 && shared->seed[0] != shared->seed[1]);
    uint64_t before = shared->seed[0];
    run("--ladder --seconds 0");
    CHECK(shared->seed[0] == before); /* the same run, the same data */
    run("--ladder --seconds 0 --seed 2");
    CHECK(shared->seed[0] != before);

    CHECK(run("--quiet --seconds 0") == 0);
    CHECK_TEXT(out, "\nfake: VALID\n");
}

static void check_wrong_runs(void)
{
    static const char *const wrong[] = {"nothing", "wrong", "nan", "second", "kernel"};
    for (int i = 0; i < 5; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "--seconds 0.01 --rung plain --fault %s", wrong[i]);
        CHECK_RUN(arguments, 1, "\nfake: INVALID\n", "!fake: VALID", "FAILED");
        const char *row = strstr(out, "\nplain ");
        row = row ? strstr(row + 1, "\nplain ") : NULL; /* the first is the rung's heading */
        CHECK(row && strstr(row, "INVALID") != NULL);   /* no figures */
        if (strcmp(wrong[i], "kernel") == 0)
            CHECK_TEXT(shared->event, "cINSpxBpxARsni"); /* a wrong rung is not timed */
    }
    CHECK(run("--fault second --seconds 0") == 0); /* valid as long as it is not timed */
    CHECK_RUN("--ladder --fault wrong --seconds 0 --quiet", 1,
              "squares"); /* still says what failed */

    /* What has not converged is no wrong program, and has no figures; one that is wrong too is. */
    CHECK_RUN("--rung plain --fault short --seconds 0.01", 1, "\nfake: NOT CONVERGED\n",
              "not converged\n", "!FAILED", "! VALID\n");
    CHECK_RUN("--rung plain --fault stuck --seconds 0", 1, "\nfake: INVALID\n", "FAILED");

    /* A wrong rung has no figures. The right one after it has figures, and does not hide the
     * failure. */
    CHECK_RUN("--ladder --fault plain --seconds 0.01 --quiet", 1, "\nfake: INVALID\n");
    const char *plain = strstr(out, "\nplain "), *fast = plain ? strstr(plain, "\nfast ") : NULL;
    CHECK(fast && strstr(plain, "INVALID") < fast && strcspn(plain, "%") > (size_t)(fast - plain));
    CHECK(fast && (strstr(fast, " VALID\n") || strstr(fast, " UNSTEADY\n")));
    CHECK(fast && strcspn(fast, "%") < strcspn(fast + 1, "\n"));
}

/* --- the other ways to call it --- */

static void check_without_run(void)
{
    CHECK_RUN("--list", 0, "plain", "one after the other", "\nabsent absent: " MISSING);
    CHECK_TEXT(shared->event, "");
    CHECK_RUN("--list --ladder", 0, " size: few, many (default); how many\n",
              "claims the same bits from run to run, on any number of threads; computes in FP64\n");
    CHECK_RUN("--list --rung absent", 0, "!plain", " absent: " MISSING);
    CHECK_RUN("--help", 0, "--fault", "--rung NAME");
    CHECK_TEXT(shared->event, "");
    CHECK(run("--version") == 0);
    char first[128];
    snprintf(first, sizeof first, "fake (Rooftop) %s\n", rt_version());
    CHECK(strncmp(out, first, strlen(first)) == 0);
    CHECK(rt_version()[0] >= '0' && rt_version()[0] <= '9');
}

/* Replaces the expected number of points by that of the last solve. For the app with two ladders,
 * which has a table for each, and --only for one of them. */
static void many_points(const void *solver, rt_result_t *out)
{
    (void)solver;
    out->work->points = 1e15;
}

static void count_one_rung(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *out)
{
    work(run, rung, out);
    if (strcmp(rung->name, "plain") != 0)
        out->n = 0;
}

static size_t most_digits(const char *text)
{
    size_t most = 0;
    for (; *text; text++)
        most = strspn(text, "0123456789") > most ? strspn(text, "0123456789") : most;
    return most;
}

static void check_ladders(void)
{
    static const rt_rung_t ladders[] = {
        RT_RUNG_OF(plain, CPU, "", "squares", table, "one after the other"),
        RT_RUNG_OF(fast, CPU, "plain", "squares", table, "the same, with a better name"),
        RT_RUNG_OF(other, CPU, "", "cubes", table, "another job"),
    };
    rt_app_t two = fake;
    two.ladder = ladders;
    two.extras = &(const rt_extras_t){.result = many_points};
    tested = &two;
    CHECK(run("--ladder --seconds 0.01") == 0);
    const char *squares = strstr(out, "\nLadder squares\nOne unit is one pass"),
               *cubes = strstr(out, "\nLadder cubes\nOne unit is one pass");
    CHECK(squares && cubes && squares < cubes);
    CHECK(squares && strstr(squares, "\nplain ") && strstr(squares, "\nplain ") < cubes &&
          strstr(squares, "\nfast ") < cubes && strstr(squares, "\nother ") > cubes);
    const char *details = strstr(out, "\nplain (cpu): ");
    CHECK(cubes && details && cubes < details); /* the tables first */
    CHECK(cubes && strstr(cubes, "\nplain ") == details && !strstr(cubes, "\nfast  "));
    /* 1e15 points per unit */
    CHECK(cubes && (most_digits(cubes) > 12 || strstr(cubes, " UNSTEADY\n")));
    CHECK_RUN("--ladder --only cubes --seconds 0", 0, "other (cpu)", "!plain (cpu)");
    CHECK_RUN("--list", 0, "squares:\nplain ", "\ncubes:\nother ");
    CHECK(run("--seconds 0 --quiet") == 0); /* the last rung of all: the app's main job */
    CHECK(shared->seeds == 1);
    check_refused("--ladder --only spheres", RT_USAGE, "known: squares, cubes");
    check_refused("--only cubes", RT_USAGE, "give --ladder too");
    check_refused("--roofline", RT_USAGE, "has none");
    two.work = count_one_rung;
    check_refused("--rung plain", RT_USAGE, "fast is in ladder.def, and work.c of fake has no row");
    tested = &fake;
    check_refused("--ladder --only cubes", RT_USAGE, "no such ladder; known: cpu, gpu");
    check_refused("--ladder --only cpu,gpu", RT_USAGE, "no such ladder; known: cpu, gpu");
    check_refused("--ladder --only gpu", RT_ENVIRONMENT, "no rung can run this problem here");
}

static void check_refusals(void)
{
    check_refused("--rung fats", RT_USAGE, "known: plain, fast, absent");
    check_refused("--rung plain --ladder", RT_USAGE, "exclude each other");
    check_refused("--rung absent", RT_ENVIRONMENT, MISSING);
    check_refused("--rung fast --n 5", RT_USAGE, "fewer than 10 numbers");
    check_refused("--json /nowhere/at/all.json", RT_USAGE, "/nowhere/at/all.json");
    check_refused("--picture x.pgm", RT_USAGE, "has no picture");
    check_refused("--dump x", RT_USAGE, "has no arrays");
    check_refused("--size huge", RT_USAGE, "tiny, small, medium, large or full");
    check_refused("--n 9000000000000000 --rung plain", RT_MEMORY, "PiB of "); /* both figures */
    check_refused("--n 9000000000000000 --ladder", RT_MEMORY, "no rung can run");
    const char *fits = strstr(out, "\nnot run  "); /* each with both figures */
    CHECK(fits && strstr(fits, "plain") && strstr(fits, ": host ") && strstr(fits, "PiB of "));
    check_refused("--threads 0", RT_USAGE, "--threads");
    check_refused("--fault many", RT_USAGE, "--fault");
    check_refused("fast", RT_USAGE, "fast");
    CHECK_RUN("--ladder --n 5 --seconds 0", 0, "not run       fast: fewer than 10");
    CHECK_RUN("--n 5 --seconds 0", 0, "plain (cpu)"); /* nor does the default take it */
}

static void check_sizes(void)
{
    CHECK_RUN("--size tiny --seconds 0 --rung plain", 0, "8388608 squares"); /* exactly 2^26 / 8 */
    CHECK(shared->scales > 0 && shared->scales < 100);
    most_numbers = 1000; /* more cannot be numbered */
    CHECK_RUN("--size tiny --seconds 0 --rung plain", 0, " 1000 squares");
    most_numbers = INT64_MAX;
    CHECK_RUN("--size tiny --n 20 --seconds 0", 0, "20 squares"); /* the user's own extents win */
    CHECK(shared->scales == 0);
}

/* --- the report --- */

static json_t *first_rung(const json_t *root)
{
    return json_array_get(json_object_get(root, "rungs"), 0);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static char folder[] = "/tmp/rt_app_XXXXXX", file[64];

/* Returns the result of a run with these arguments, which must end with this status (-1: with any);
 * leaves nothing on disk. */
static json_t *result_of(const char *arguments, int status)
{
    char all[256];
    snprintf(all, sizeof all, "%s --json %s", arguments, file);
    const int got = run(all);
    CHECK(status == -1 || got == status);
    json_t *root = json_load_file(file, 0, NULL);
    CHECK(root != NULL);
    unlink(file);
    return root;
}

static double real_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void check_json(void)
{
    json_t *root = result_of("--n 100 --rung plain --windows 3 --seconds 0.001", 0);
    json_t *rung = first_rung(root);
    CHECK(strncmp(shared->event, "cIND", 4) == 0);
    CHECK_TEXT(check_life(shared->event + 4, 4), "ni");
    const bool steady = strcmp(text_of(root, "verdict"), "VALID") == 0;
    CHECK(steady || strcmp(text_of(root, "verdict"), "UNSTEADY") == 0);
    CHECK_TEXT(text_of(root, "program"), "fake");
    CHECK_TEXT(text_of(json_object_get(root, "options"), "n"), "100");
    CHECK_TEXT(text_of(rung, "name"), "plain");
    CHECK(real_of(rung, "last") == 99 * 99);
    const double seconds = real_of(rung, "seconds_per_unit");
    CHECK(seconds > 0); /* and 100 flops per pass */
    CHECK(!steady || fabs(real_of(rung, "fom_flop_per_s") * seconds / 100 - 1) < 1e-12);
    CHECK(strstr(out, "  1 solve  100 solves  set-up s  ") && strstr(out, " s, set up in "));
    CHECK(real_of(rung, "windows") >= 1 && real_of(rung, "windows") <= 3);
    CHECK(real_of(rung, "solves") >= 3);
    CHECK(json_is_object(json_object_get(root, "ceilings_cpu")));
    json_decref(root);

    root = result_of("--rung plain --seconds 0.01 --fault nothing", 1);
    rung = first_rung(root);
    CHECK_TEXT(text_of(root, "verdict"), "INVALID");
    CHECK_TEXT(text_of(rung, "verdict"), "INVALID");
    CHECK(json_object_get(rung, "seconds_per_unit") == NULL); /* no figures of a wrong run */
    CHECK(json_is_array(json_object_get(rung, "checks")));    /* but what was wrong with it */
    json_decref(root);

    /* JSON cannot hold a value that is not finite: the failed check is listed without a value. */
    root = result_of("--rung plain --seconds 0 --fault nan", 1);
    CHECK_TEXT(err, "");
    const json_t *check = json_array_get(json_object_get(first_rung(root), "checks"), 1);
    CHECK_TEXT(text_of(root, "verdict"), "INVALID");
    CHECK_TEXT(text_of(check, "name"), "squares");
    CHECK(json_is_false(json_object_get(check, "held")) && !json_object_get(check, "value"));
    json_decref(root);
}

/* Checks that a figure that the machine cannot have reached is not accepted. On a machine that is
 * not steady it could be noise: then the rung is UNSTEADY. */
static void check_plausible(void)
{
    json_t *root = result_of("--rung plain --fault boast --seconds 0.001", -1);
    const json_t *rung = first_rung(root);
    const bool steady = strcmp(text_of(rung, "verdict"), "INVALID") == 0;
    CHECK(steady || strcmp(text_of(rung, "verdict"), "UNSTEADY") == 0);
    CHECK(json_object_get(rung, "fom_flop_per_s") == NULL);
    CHECK(strstr(out, steady ? "plausible: at most 102 % of the measured ceiling"
                             : "faster than the ceilings, which were not steady either") != NULL);
    CHECK(strstr(out, steady ? "\nfake: INVALID\n" : "\nfake: UNSTEADY\n") != NULL);
    if (!steady) /* measured again, and longer */
        CHECK(real_of(json_object_get(rung, "ceilings_again"), "samples") >= 2 &&
              real_of(rung, "timed_seconds") > 0.01);
    json_decref(root);
}

/* Checks that a rung whose windows differ is UNSTEADY, with status 0 and without a figure of merit,
 * and that this is found out in windows of one solve. */
static void check_unsteady(void)
{
    json_t *root = result_of("--rung plain --fault noise --n 100 --windows 4 --seconds 0.001", 0);
    const json_t *rung = first_rung(root);
    CHECK_TEXT(text_of(root, "verdict"), "UNSTEADY");
    CHECK_TEXT(text_of(rung, "verdict"), "UNSTEADY");
    CHECK(json_array_size(json_object_get(rung, "disturbed")) >= 1);
    CHECK(real_of(rung, "seconds_per_unit") > 0 && !json_object_get(rung, "fom_flop_per_s"));
    CHECK(strstr(out, "\nunsteady      plain: windows differ by ") != NULL);
    CHECK(strstr(out, "\nfake: UNSTEADY\n") != NULL);
    json_decref(root);
}

/* From `printf rooftop:hello | sha256sum`. */
static const long long seed_of_hello = 699219423346350485;

/* Returns the digest of a run's inputs, until the next call. */
static const char *digest_of(const char *arguments)
{
    static char digest[RT_SHA256_DIGITS + 1];
    char words[128];
    snprintf(words, sizeof words, "%s --seconds 0", arguments);
    json_t *root = result_of(words, 0);
    snprintf(digest, sizeof digest, "%s", text_of(root, "inputs_digest"));
    json_decref(root);
    return digest;
}

static void check_nonce(void)
{
    json_t *root = result_of("--n 10 --seconds 0 --nonce hello", 0);
    CHECK_TEXT(json_object_iter_key(json_object_iter(root)), "schema"); /* the first */
    CHECK(json_integer_value(json_object_get(root, "schema")) == 2);
    CHECK_TEXT(text_of(root, "nonce"), "hello");
    CHECK(json_integer_value(json_object_get(root, "seed")) == seed_of_hello);
    char digest[RT_SHA256_DIGITS + 1];
    snprintf(digest, sizeof digest, "%s", text_of(root, "inputs_digest"));
    CHECK(strstr(out, digest) != NULL);
    json_decref(root);
    CHECK(strcmp(digest_of("--n 10 --nonce hello"), digest) == 0);
    CHECK(strcmp(digest_of("--n 11 --nonce hello"), digest) != 0);
    CHECK(strcmp(digest_of("--n 10 --nonce hellO"), digest) != 0);
    CHECK(strcmp(digest_of("--n 10 --seed 699219"), digest) != 0);
    root = result_of("--n 10 --seconds 0 --seed 5", 0);
    CHECK_TEXT(text_of(root, "nonce"), "");
    CHECK(json_integer_value(json_object_get(root, "seed")) == 5);
    json_decref(root);
    check_refused("--nonce hello --seed 5", RT_USAGE, "--nonce and --seed exclude each other");
    check_refused("--nonce h\xff", RT_USAGE, "--nonce: not UTF-8");
    check_refused("--nonce h\x1b[31m", RT_USAGE, "must not have control characters");
    check_refused("--window -1", RT_USAGE, "--window");
    check_refused("--warm-up nan", RT_USAGE, "--warm-up");
}

/* Checks a disk that is full when the result is written: one line, status 3, and no partial
 * file. */
static void check_full_disk(void)
{
    char arguments[128];
    struct rlimit old, limit;
    snprintf(arguments, sizeof arguments, "--quiet --n 10 --seconds 0 --json %s", file);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limit = old;
    limit.rlim_cur = 512; /* applies to all files, also to those that catch the output */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    no_room = true;
    const int status = run(arguments);
    no_room = false;
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, handler);
    CHECK(status == RT_ENVIRONMENT);
    CHECK(lines(err) == 1 && strstr(err, "File too large") != NULL);
    CHECK_TEXT(out, "\nfake: VALID, but not every file was written or read\n");
}

static void check_roofline(void)
{
    CHECK_RUN("--roofline --device cpu --n 30 --seconds 0.005", 0, "measured roofline (fault=none)",
              "plain");
    CHECK(is_right());
}

/* test_app late, for halo_mpi.sh: what does a solve take on ranks that are ready at different
 * times? */
int main(int argc, char **argv)
{
    FILE *memory = tmpfile(); /* POSIX has no anonymous mappings */
    if (!memory || ftruncate(fileno(memory), sizeof *shared) != 0) {
        perror("tmpfile");
        return EXIT_FAILURE;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(memory), 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        char *late[] = {argv[0],          "--rung=plain", "--fault=late",
                        "--seconds=0.01", "--windows=3",  "--device=cpu"};
        return rt_app_main(&fake, sizeof late / sizeof *late, late);
    }
    setenv("COLUMNS", "10000", 1); /* no line is wrapped */
    check_valid_runs();
    check_wrong_runs();
    check_without_run();
    check_refusals();
    check_ladders();
    check_sizes();
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/a.json", folder);
    check_json();
    check_plausible();
    check_unsteady();
    check_nonce();
    check_full_disk();
    CHECK(rmdir(folder) == 0); /* nothing is left there */
    check_roofline();
    return check_done();
}
