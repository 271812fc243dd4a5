/*
 * test_tune.c - tests the tuner, and what is charged as set-up, with an app whose times are made up.
 *
 * Real time plays no part: this program has its own clock. Each solve, set-up and verification
 * advances it by the time that the app says it takes. So the result of a search does not depend on
 * the machine, a time limit can be tested to the second, and a minute takes a moment.
 */
#include "config.h"
#include <math.h>
#include <stdarg.h>
#include <time.h>
#include "app_test.h"
#include "driver/job.h"
#include "tune/force.h"

/* --- a clock that is moved by hand --- */

static double now = 1000;

int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    now += 1e-8; /* a loop that waits for the clock must end */
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)((now - (double)t->tv_sec) * 1e9);
    return 0;
}

/* --- the app --- */

static const char *const six[] = {"1", "2", "4", "8", "16", "32", NULL};
static const char *const three[] = {"x", "y", "z", NULL};
static const char *const kernels[] = {"plain", "good", "broken", "lazy", "huge", NULL};
static const rt_parameter_t few[] = {{"block", "elements a block", six, 0},
                                     {"loop", "order of loops", three, 2},
                                     {"kernel", "which", kernels, 0}};
static const rt_parameter_t many[] = {{"a", "", six, 0}, {"b", "", six, 0}, {"c", "", six, 0},
                                      {"d", "", six, 0}, {"e", "", six, 0}, {"f", "", six, 0},
                                      {"g", "", six, 0}, {"h", "", six, 0}};

/* How the app behaves in the current test. */
static struct {
    double noise;         /* of a solve, relative */
    bool flat;            /* all choices take the same time */
    bool has_broken;      /* values broken, lazy and huge are allowed */
    double set_up, later; /* seconds of the default; factor for the others */
    int64_t solvers;      /* alive */
    int64_t unproved;     /* solves of a solver that was not verified first */
    int64_t trials, solves, isolated;
    uint64_t draws;
    double shared, input, hidden; /* seconds of set-up: made before; drawn in solver_new, which are
                                     none; in each of the first two solves */
} toy;

typedef struct {
    int64_t n, elements;
} config_t;
#define CONFIG config_t
static const rt_opt_t options[] = {
    RT_INT(CONFIG, n, "n", "N", "10", 1, 1000, "points"),
    RT_INT(CONFIG, elements, "elements", "N", "512", 1, 1000000, "elements")};

typedef struct {
    const rt_run_t *run;
    const rt_rung_t *rung;
    int choice[RT_TUNE_PARAMETERS];
    double *memory;
    bool verified, right;
    int solves;
} solver_t;

static const char *refuse_choice(const void *config, const int *choice)
{
    const config_t *cfg = config;
    if (choice[2] > 1 && !toy.has_broken)
        return "this kernel is not for this test";
    if (choice[0] == 4 && choice[1] == 0)
        return "16 does not go with x";
    return cfg->n > 20 && choice[0] == 0 ? "a block of 1 is too small for n > 20" : NULL;
}

static const struct {
    rt_kernels_t rung;
} bare, of_few = {.rung = {.parameters = few, .n_parameters = 3, .refuse_choice = refuse_choice}},
        of_many = {.rung = {.parameters = many, .n_parameters = 8}};
static const rt_rung_t ladder[] = {
    RT_RUNG_OF(bare, CPU, "", NULL, bare, "nothing to choose"),
    RT_RUNG_OF(few, CPU, "bare", NULL, of_few, "90 combinations"),
    RT_RUNG_OF(many, CPU, "few", NULL, of_many, "1679616 combinations"),
};
enum { BARE, FEW, MANY, RUNGS };
static const rt_rung_t absent[] = {
    {.name = "absent", .kind = RT_CUDA, .after = "", .idea = "not built"},
};

/* Returns the seconds of a solve without noise. The best choice of `few` is block=8 loop=x
 * kernel=good, next to the choice that its constraint refuses. The best of `many` is 3 for all
 * parameters, where pairs only gain together. */
static double truth(const rt_rung_t *rung, const int *choice)
{
    double t = 1;
    if (toy.flat || rung == &ladder[BARE])
        return 1e-3;
    if (rung == &ladder[FEW]) {
        t += 0.2 * fabs(choice[0] - 3.0) + 0.1 * choice[1];
        t *= choice[2] == 0 ? 1 : choice[2] == 1 ? 0.8 : 0.1;
    } else {
        for (int p = 0; p < 8; p++)
            t += 0.1 * fabs(choice[p] - 3.0) + 0.05 * fabs((double)choice[p] - choice[(p + 1) % 8]);
    }
    return 1e-3 * t;
}

static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const config_t *cfg = run->config;
    point[0] = (rt_coordinate_t){"n", (double)cfg->n, 8};
    point[1] = (rt_coordinate_t){"elements", (double)cfg->elements, 1};
    return 2;
}

static void configure(rt_run_t *run)
{
    (void)run;
}

static void memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    bytes[RT_HOST] = 4096;
    bytes[RT_PINNED] = bytes[RT_DEVICE] = 0;
    if (rung == &ladder[FEW] && rt_tune_choice(run, rung)[2] == 4)
        bytes[RT_HOST] = 1e18;
}

static void work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *out)
{
    (void)run, (void)rung;
    *out = (rt_work_t){.unit = "pass", .point = "point", .units = 1, .flops = 1, .bytes = 8};
    out->points = out->loads_and_stores = out->distinct_arrays = 1;
    out->array_bytes = 4096;
    rt_work_add(out, "pass", 1, 1, 8, 0);
}

static void *problem_new(const rt_run_t *run, void *input)
{
    (void)input;
    return (void *)run;
}

static void problem_destroy(void *problem)
{
    (void)problem;
}

static void *solver_new(void *problem, const rt_rung_t *rung)
{
    solver_t *s = RT_NEW(solver_t, 1, RT_HOST);
    *s = (solver_t){.run = problem, .rung = rung};
    memcpy(s->choice, rt_tune_choice(s->run, rung), sizeof s->choice);
    CHECK(rung != &ladder[FEW] || s->choice[2] != 4); /* the app said that it does not fit */
    s->memory = RT_NEW(double, 16, RT_HOST);
    toy.solvers++;
    toy.trials++;
    const bool initial = s->choice[0] == 0 && s->choice[1] == (rung == &ladder[FEW] ? 2 : 0);
    now += toy.set_up * (initial ? 1 : toy.later) + toy.input;
    rt_setup_charge(toy.shared);
    rt_setup_charge(-toy.input);
    return s;
}

static void solver_destroy(void *solver)
{
    solver_t *s = solver;
    toy.solvers--;
    RT_FREE(s->memory, RT_HOST);
    RT_FREE(s, RT_HOST);
}

/* Fails "broken", which is wrong from the beginning; "lazy" is wrong only after a timed solve. */
static void verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    solver_t *s = solver;
    (void)seed;
    s->verified = true;
    now += toy.hidden; /* this is no set-up, nor is what a judge charges */
    rt_setup_charge(1000);
    rt_verdict_true(verdict, "kernel", s->rung != &ladder[FEW] || s->choice[2] != 2);
}

static void spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    (void)draw;
    (void)keep;
    ((solver_t *)solver)->right = false;
}

static double noisy(const solver_t *s)
{
    return truth(s->rung, s->choice) * (1 + toy.noise * rt_random(toy.draws++, 1));
}

static void solve(void *solver)
{
    solver_t *s = solver;
    toy.solves++;
    toy.unproved += !s->verified;
    s->right = s->rung != &ladder[FEW] || s->choice[2] < 3;
    now += noisy(s) + (s->solves++ < 2 ? toy.hidden : 0);
}

static void verify_after(void *solver, rt_verdict_t *verdict)
{
    rt_verdict_true(verdict, "answer", ((solver_t *)solver)->right);
}

/* Times the kernel alone. Alone, another choice is best: block=1 loop=z kernel=plain. */
static double isolated(void *solver, int calls)
{
    const solver_t *s = solver;
    toy.isolated += calls;
    const double seconds = (5 - noisy(s) * 1e3) * 1e-6 * calls;
    now += seconds;
    return seconds;
}

static const rt_extras_t extras = {.tune_point = tune_point, .isolated = isolated};
static const rt_app_t app = {.name = "toy",
                             .purpose = "nothing",
                             .options = options,
                             .n_options = 2,
                             .config_size = sizeof(config_t),
                             .ladder = ladder,
                             .n_rungs = RUNGS,
                             .size_option = "n",
                             .extras = &extras,
                             .configure = configure,
                             .memory = memory,
                             .work = work,
                             .problem_new = problem_new,
                             .problem_destroy = problem_destroy,
                             .solver_new = solver_new,
                             .solver_destroy = solver_destroy,
                             .verify_before = verify_before,
                             .spoil = spoil,
                             .solve = solve,
                             .verify_after = verify_after};

/* --- searches --- */

static char path[64];

static void fresh_toy(int seed)
{
    memset(&toy, 0, sizeof toy);
    toy.draws = (uint64_t)seed << 32;
    toy.later = 1;
    toy.noise = 0.02;
    toy.set_up = 0.01;
}

/* Tunes the app that `toy` describes; returns the status and sets the resulting choice. Uses no
 * file unless the settings name one, since each file would have to reach the disk. */
static rt_status_t tuned(const char *settings, const rt_rung_t *rung, int *choice)
{
    char all[256];
    rt_run_t run;
    snprintf(all, sizeof all, "tune=yes quiet=yes seconds=0.02 tuning=none %s", settings);
    rt_run_init(&run, &app, all);
    const size_t used = rt_mem_used(RT_HOST);
    toy.trials = toy.unproved = 0;
    const rt_status_t status = rt_job_tune(&run, NULL);
    memcpy(choice, rt_tune_choice(&run, rung), RT_TUNE_PARAMETERS * sizeof *choice);
    CHECK(toy.solvers == 0 && rt_mem_used(RT_HOST) == used);
    CHECK(toy.unproved == 0 && toy.trials > 0);
    rt_run_destroy(&run);
    return status;
}

static void check_optimum(void)
{
    int choice[RT_TUNE_PARAMETERS], initial[RT_TUNE_PARAMETERS] = {0};
    char settings[128];
    for (int seed = 1; seed <= 4; seed++) {
        fresh_toy(seed);
        snprintf(settings, sizeof settings, "rung=few seed=%d tune-seconds=60", seed);
        const double begin = now;
        CHECK(tuned(settings, &ladder[FEW], choice) == RT_OK);
        CHECK(choice[0] == 3 && choice[1] == 0 && choice[2] == 1);
        CHECK(now - begin < 60);
        /* All 34 that are allowed, the halving, and the finals. */
        CHECK(toy.trials >= 34 + 3 * 2 && toy.trials <= 34 + 33 + 7 * 5);
    }
    /* More than can be tried: the best that a few thousand draws can find. */
    for (int seed = 1; seed <= 4; seed++) {
        fresh_toy(seed);
        toy.noise = 0.002;
        snprintf(settings, sizeof settings, "rung=many seed=%d tune-seconds=120", seed);
        CHECK(tuned(settings, &ladder[MANY], choice) == RT_OK);
        CHECK(truth(&ladder[MANY], choice) < 0.7 * truth(&ladder[MANY], initial));
    }
}

/* Checks that the time limit is kept, except for the trial in progress, however long a trial
 * takes. */
static void check_time(void)
{
    static const double limit[] = {0.05, 1, 7, 40}, set_up[] = {0.001, 0.1, 3};
    int choice[RT_TUNE_PARAMETERS];
    char settings[128];
    for (int l = 0; l < 4; l++)
        for (int k = 0; k < 3; k++) {
            fresh_toy(k);
            toy.set_up = set_up[k];
            snprintf(settings, sizeof settings, "tune-seconds=%g", limit[l]);
            double begin = now;
            CHECK(tuned(settings, &ladder[MANY], choice) == RT_OK);
            CHECK(now - begin <= limit[l] + 1.2 * set_up[k] + 0.1);
            toy.later = 3; /* all seem to fit, but do not */
            snprintf(settings, sizeof settings, "rung=few tune-seconds=%g", limit[l]);
            begin = now;
            CHECK(tuned(settings, &ladder[FEW], choice) == RT_OK);
            CHECK(now - begin <= limit[l] + 1.2 * 3 * set_up[k] + 0.1);
        }
}

/* Checks that the choice is not slower than the default, for any noise and time limit. */
static void check_never_slower(void)
{
    int choice[RT_TUNE_PARAMETERS], initial[RT_TUNE_PARAMETERS] = {0, 2, 0}, changed = 0;
    char settings[128];
    for (int seed = 1; seed <= 20; seed++) {
        fresh_toy(seed);
        toy.noise = 0.01 * seed;
        snprintf(settings, sizeof settings, "rung=few seed=%d tune-seconds=%d", seed, seed % 7 + 1);
        CHECK(tuned(settings, &ladder[FEW], choice) == RT_OK);
        CHECK(truth(&ladder[FEW], choice) <= truth(&ladder[FEW], initial));
    }
    for (int seed = 1; seed <= 20; seed++) {
        fresh_toy(seed);
        toy.flat = true;
        toy.noise = 0.05;
        snprintf(settings, sizeof settings, "rung=few seed=%d tune-seconds=30", seed);
        CHECK(tuned(settings, &ladder[FEW], choice) == RT_OK);
        changed += memcmp(choice, initial, 3 * sizeof *choice) != 0;
    }
    CHECK(changed <= 2); /* nothing to gain: the default stays */
}

/* Checks that wrong kernels, which are the fastest by far, are detected, reported and never
 * chosen. */
static void check_wrong_kernels(void)
{
    int choice[RT_TUNE_PARAMETERS];
    fresh_toy(1);
    toy.has_broken = true;
    CHECK(tuned("rung=few tune-seconds=100", &ladder[FEW], choice) == RT_INVALID);
    CHECK(choice[0] == 3 && choice[1] == 0 && choice[2] == 1);
    /* "lazy" is detected only after it was timed, here chosen by hand. */
    rt_run_t run;
    rt_outcome_t out;
    rt_run_init(&run, &app, "rung=few choose=kernel=lazy,block=2 seconds=0.01");
    rt_run_rung(&run, &run, &ladder[FEW], NULL, &out, NULL);
    CHECK(!out.verdict.valid && strcmp(out.verdict.check[1].name, "answer") == 0);
    rt_run_destroy(&run);
}

static double member(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name));
}

/* Checks what is charged as set-up, to the microsecond. Catches a part that is left out or counted
 * twice, what is left to the first two solves, and a judge's time. */
static void check_setup(void)
{
    rt_run_t run;
    rt_outcome_t out;
    fresh_toy(1);
    toy.noise = 0;
    toy.shared = 5;
    toy.input = 0.3;
    toy.hidden = 0.7;
    rt_run_init(&run, &app, "rung=few seconds=0.1");
    for (int rung = 0; rung < 2; rung++) { /* the second one finds what the first has made */
        rt_run_rung(&run, &run, &ladder[FEW], NULL, &out, NULL);
        const double s = truth(&ladder[FEW], rt_tune_choice(&run, &ladder[FEW]));
        CHECK(out.verdict.valid && fabs(out.setup_seconds - (0.01 + 5 + 2 * 0.7)) < 2e-6);
        CHECK(fabs(rt_outcome_fom(&out, 0) * s - 1) < 1e-4);
        CHECK(fabs(rt_outcome_fom(&out, 1) * (6.41 + s) - 1) < 1e-4);
        out.work.units = 4;
        CHECK(fabs(rt_outcome_fom(&out, 100) * (0.0641 / 4 + s) - 1) < 1e-4);
        json_t *row = json_object();
        rt_json_rung(&out, row);
        CHECK(member(row, "setup_seconds") == out.setup_seconds);
        CHECK(member(row, "units_per_solve") == 4);
        CHECK(member(row, "fom_flop_per_s") == rt_outcome_fom(&out, 0));
        CHECK(member(row, "fom_1_solve_flop_per_s") == rt_outcome_fom(&out, 1));
        CHECK(member(row, "fom_100_solves_flop_per_s") == rt_outcome_fom(&out, 100));
        json_decref(row);
    }
    rt_run_destroy(&run);
}

static void check_isolated(void)
{
    int choice[RT_TUNE_PARAMETERS];
    rt_run_t run;
    char settings[128];
    fresh_toy(1);
    toy.noise = 0.001;
    remove(path);
    snprintf(settings, sizeof settings, "rung=few tune-seconds=60 tuning=%s", path);
    CHECK(tuned(settings, &ladder[FEW], choice) == RT_OK);
    CHECK(toy.isolated == 0);
    strcat(settings, " isolated=yes");
    CHECK(tuned(settings, &ladder[FEW], choice) == RT_OK);
    CHECK(toy.isolated > 0 && choice[0] == 0 && choice[1] == 2 && choice[2] == 0);
    /* Both are in the file, and each is used for its own way of measuring. */
    snprintf(settings, sizeof settings, "tuning=%s isolated=yes", path);
    rt_run_init(&run, &app, settings);
    CHECK(rt_tune_choice(&run, &ladder[FEW])[0] == 0);
    rt_run_destroy(&run);
    settings[strlen(settings) - strlen(" isolated=yes")] = '\0';
    rt_run_init(&run, &app, settings);
    CHECK(rt_tune_choice(&run, &ladder[FEW])[0] == 3);
    rt_run_destroy(&run);
}

/* --- the current choice --- */

static void write_text(const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(text, 1, bytes, file) == bytes && fclose(file) == 0);
}

/* Returns an entry for this machine and `rung` at (n, elements). */
static json_t *entry_of(const rt_rung_t *rung, double n, double elements, double seconds,
                        const char *block)
{
    json_t *choice = rung == &ladder[FEW] ? json_pack("{s:s, s:s, s:s}", "block", block, "loop",
                                                      "y", "kernel", "good")
                                          : json_object();
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:{s:f, s:f}, s:s, s:o, s:s, s:f, s:s}", "program",
                     "toy", "version", "1", "device", rt_device_cpu()->model, "threads",
                     rt_device_cpu()->threads, "ranks", 1, "point", "n", n, "elements", elements,
                     "rung", rung->name, "choice", choice, "measured", "inside", "seconds", seconds,
                     "date", "2025-01-31T12:00:00Z");
}

/* Sets a text of the entry; of its choice, if the name is a parameter's. */
static void set_text(json_t *entry, const char *name, const char *text)
{
    json_t *choice = json_object_get(entry, "choice");
    json_object_set_new(json_object_get(entry, name) ? entry : choice, name, json_string(text));
}

/* Writes a file of these entries, the last followed by NULL; releases them. */
static void write_entries(json_t *first, ...)
{
    size_t bytes;
    va_list more;
    json_t *list = json_array();
    va_start(more, first);
    for (json_t *entry = first; entry; entry = va_arg(more, json_t *))
        json_array_append_new(list, entry);
    va_end(more);
    char *text = rt_tune_file_text(NULL, list, &bytes);
    write_text(text, bytes);
    json_decref(list);
    free(text);
}

/* Returns what a run with the file prints, as one text; sets its choice for the rung `few`. */
static const char *said(const char *settings, int *choice)
{
    char all[256];
    rt_run_t run;
    FILE *out = tmpfile();
    snprintf(all, sizeof all, "tuning=%s %s", path, settings);
    rt_run_init(&run, &app, all);
    rt_tuning_print(&run, out);
    rt_tuning_print_rung(&run, &ladder[FEW], false, out);
    memcpy(choice, rt_tune_choice(&run, &ladder[FEW]), RT_TUNE_PARAMETERS * sizeof *choice);
    rt_run_destroy(&run);
    return check_written(out);
}

static bool is_default(const int *choice)
{
    return choice[0] == 0 && choice[1] == 2 && choice[2] == 0;
}

static void check_nearest(void)
{
    int choice[RT_TUNE_PARAMETERS];
    const rt_rung_t *rung = &ladder[FEW];
    json_t *other = entry_of(rung, 10, 256, 1, "16");
    set_text(other, "device", "Another Processor"); /* not this machine's */
    write_entries(entry_of(rung, 10, 256, 1, "2"), entry_of(rung, 10, 1024, 1, "4"),
                  entry_of(rung, 12, 600, 1, "8"), other, NULL);
    const char *text = said("n=10 elements=256", choice);
    CHECK(choice[0] == 1 && choice[1] == 1 && choice[2] == 1);
    CHECK(!strstr(text, "nearest") && strstr(text, "few: block=2 loop=y kernel=good"));
    text = said("n=10 elements=300", choice);
    CHECK(choice[0] == 1);
    CHECK(strstr(text, "n=10 elements=300: nearest tuned point is n=10 elements=256\n") != NULL);
    said("n=10 elements=600", choice); /* log(1024/600) < 8 log(12/10) */
    CHECK(choice[0] == 2);
    said("n=13 elements=300", choice);
    CHECK(choice[0] == 3);
    said("n=13 elements=300 tuning=none", choice);
    CHECK(is_default(choice));

    /* Other ranks are as far away as the same factor in elements. */
    other = entry_of(rung, 10, 256, 1, "2");
    json_object_set_new(other, "ranks", json_integer(2));
    write_entries(other, NULL);
    text = said("n=10 elements=256", choice);
    CHECK(choice[0] == 1 && strstr(text, "n=10 elements=256 ranks=2\n") != NULL);

    other = entry_of(rung, 10, 256, 1, "2");
    json_object_set_new(other, "threads", json_integer(rt_device_cpu()->threads + 1));
    write_entries(other, NULL);
    text = said("n=10 elements=256", choice);
    CHECK(is_default(choice) && strstr(text, "has nothing for toy on this device") != NULL);
}

/* Checks that an entry of `few` with this text in place of its own is not used, and why. */
static void check_unused(const char *name, const char *value, const char *words)
{
    int choice[RT_TUNE_PARAMETERS];
    json_t *e = entry_of(&ladder[FEW], 10, 512, 1, "16");
    set_text(e, name, value);
    write_entries(e, NULL);
    const char *text = said("", choice);
    CHECK(is_default(choice) && strstr(text, words));
}

static void check_entries_refused(void)
{
    int choice[RT_TUNE_PARAMETERS];
    check_unused("block", "3", "entry 1 is not used: block of few has no value 3");
    check_unused("blocks", "2", "entry 1 is not used: few has no parameter blocks");
    check_unused("loop", "x", "16 does not go with x");
    check_unused("rung", "gone", "entry 1 is not used: there is no rung gone");
    json_t *e = entry_of(&ladder[FEW], 10, 512, 1, "2");
    json_object_del(json_object_get(e, "choice"), "kernel");
    write_entries(e, NULL);
    const char *text = said("", choice);
    CHECK(is_default(choice) && strstr(text, "kernel of few is missing"));
    e = entry_of(&ladder[FEW], 10, 512, 1, "2"); /* other coordinates cannot be compared */
    json_object_set_new(e, "point", json_pack("{s:f, s:f}", "n", 10.0, "rows", 512.0));
    write_entries(e, NULL);
    said("", choice);
    CHECK(is_default(choice));
}

/* Checks that the default is the fastest of the rungs that were timed at the nearest point. */
static void check_default_rung(void)
{
    rt_run_t run;
    rt_text_t reason;
    bool able[RUNGS];
    char settings[96];
    snprintf(settings, sizeof settings, "tuning=%s", path);
    write_entries(entry_of(&ladder[BARE], 10, 512, 3, ""), entry_of(&ladder[FEW], 10, 512, 2, "2"),
                  entry_of(&ladder[FEW], 10, 4096, 9, "4"),
                  entry_of(&ladder[BARE], 10, 4096, 3, ""), NULL);
    rt_run_init(&run, &app, settings);
    rt_run_able(&run, able);
    CHECK(rt_run_default_rung(&run, able, &reason) == &ladder[MANY]);
    CHECK(rt_tuning_fastest(&run, able, &ladder[MANY]) == &ladder[FEW]);
    rt_run_destroy(&run);
    snprintf(settings, sizeof settings, "tuning=%s elements=3000", path);
    rt_run_init(&run, &app, settings);
    CHECK(rt_tuning_fastest(&run, able, &ladder[MANY]) == &ladder[BARE]);
    rt_run_destroy(&run);
    /* A single rung is not the fastest of anything. */
    write_entries(entry_of(&ladder[BARE], 10, 512, 3, ""), NULL);
    rt_run_init(&run, &app, settings);
    CHECK(rt_tuning_fastest(&run, able, &ladder[MANY]) == &ladder[MANY]);
    rt_run_destroy(&run);
}

static void check_choose(void)
{
    rt_run_t run;
    rt_text_t reason;
    rt_run_init(&run, &app, "choose=block=8,b=32");
    CHECK(rt_tune_choice(&run, &ladder[FEW])[0] == 3 && rt_tune_choice(&run, &ladder[FEW])[1] == 2);
    CHECK(rt_tune_choice(&run, &ladder[MANY])[1] == 5);
    CHECK(rt_run_obstacle(&run, &ladder[FEW], false, &reason) == NULL);
    rt_run_destroy(&run);
    rt_run_init(&run, &app, "choose=block=16,loop=x");
    CHECK(strstr(rt_run_obstacle(&run, &ladder[FEW], false, &reason), "16 does not go with x") !=
          NULL);
    rt_run_destroy(&run);
    rt_run_init(&run, &app, "n=30"); /* the initial block=1 is refused, so the next best is used */
    CHECK(rt_tune_choice(&run, &ladder[FEW])[0] == 1 && rt_tune_choice(&run, &ladder[FEW])[1] == 2);
    rt_run_destroy(&run);
    CHECK_DIES(RT_USAGE, "has no such parameter in this build: see --list --ladder",
               { rt_run_init(&run, &app, "choose=blok=8"); });
    rt_app_t lacking = app; /* a rung that was not built may have any parameter */
    lacking.ladder = absent;
    lacking.n_rungs = 1;
    CHECK_DIES(RT_ENVIRONMENT, "--rung absent cannot run here: this build has no ",
               { rt_run_init(&run, &lacking, "rung=absent choose=block=8"); });
    CHECK_DIES(RT_USAGE, "no such parameter in this build",
               { rt_run_init(&run, &lacking, "choose=block=8"); });
}

/* --- the file --- */

static void check_round_trip(void)
{
    rt_text_t why = {""};
    size_t bytes, again;
    json_t *first = entry_of(&ladder[FEW], 10, 0.1, 1.23456789e-5, "2");
    set_text(first, "device", "A GPU, 100% \"new\": x=y");
    set_text(first, "loop", "a:b,c d");
    json_t *second = entry_of(&ladder[BARE], 3, 1e9, 7, "");
    set_text(second, "measured", "isolated");
    json_t *none = json_array(), *one = json_pack("[o]", first),
           *both = json_pack("[O, o]", first, second);
    char *text = rt_tune_file_text(NULL, both, &bytes);
    rt_tune_file_t *file = rt_tune_file_parse("f", text, bytes, &why);
    CHECK(file && file->entries == 2 && *why.text == '\0');
    if (!file)
        exit(check_done());
    const rt_tune_entry_t *r = file->entry;
    CHECK(json_equal(json_object_get(file->root, "entries"), both));
    CHECK_TEXT(r[0].device, "A GPU, 100% \"new\": x=y");
    CHECK(r[0].seconds == 1.23456789e-5 && json_object_size(r[0].choice) == 3);
    CHECK(r[1].isolated && !r[0].isolated && json_object_size(r[1].choice) == 0 &&
          r[0].number == 1);

    /* An entry with the same key is replaced, the others stay, and the bytes do not change. */
    char *same = rt_tune_file_text(file, none, &again);
    CHECK(again == bytes && memcmp(same, text, bytes) == 0);
    free(same);
    json_object_set_new(first, "seconds", json_real(5));
    same = rt_tune_file_text(file, one, &again);
    rt_tune_file_t *changed = rt_tune_file_parse("f", same, again, &why);
    CHECK(changed && changed->entries == 2 && changed->entry[1].seconds == 5 &&
          changed->entry[0].seconds == 7);
    rt_tune_file_free(changed);
    rt_tune_file_free(file);
    json_decref(none);
    json_decref(one);
    json_decref(both);
    free(same);
    free(text);
}

/* Checks what a run says of a file with this text, which it does not use. */
static void check_refused(const char *text, const char *wanted)
{
    int choice[RT_TUNE_PARAMETERS];
    write_text(text, strlen(text));
    const char *words = said("", choice);
    CHECK(is_default(choice) && strstr(words, "not used: "));
    if (!strstr(words, wanted))
        CHECK_TEXT(words, wanted);
}

static void check_files_refused(void)
{
    char settings[96];
    int choice[RT_TUNE_PARAMETERS];
    check_refused("", "damaged: ");
    check_refused("threads = 4\n", "damaged: ");
    check_refused("[1]", "this is not a tuning file");
    check_refused("{\"rooftop-tuning\": 3, \"entries\": []}", "another format than this program");
    check_refused("{\"rooftop-tuning\": 2, \"entries\": 5}", "\"entries\" is no list");
    check_refused("{\"rooftop-tuning\": 2, \"entries\": [{}]}", "entry 1: Object item not found");
    fresh_toy(1);
    snprintf(settings, sizeof settings, "rung=few tune-seconds=1 tuning=%s", path);
    CHECK_DIES(RT_USAGE, "--tune cannot add to", { tuned(settings, &ladder[FEW], choice); });
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/rt_tune_XXXXXX";
    if (!mkdtemp(folder)) {
        perror("mkdtemp");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/toy.tuning", folder);
    app_test_start("toy", &argc, &argv);
    fresh_toy(1);
    check_round_trip();
    check_files_refused();
    check_nearest();
    check_entries_refused();
    check_default_rung();
    check_choose();
    check_optimum();
    check_time();
    check_never_slower();
    check_wrong_kernels();
    check_setup();
    check_isolated();
    remove(path);
    CHECK(rmdir(folder) == 0); /* no temporary file is left */
    return app_test_stop(check_done());
}
