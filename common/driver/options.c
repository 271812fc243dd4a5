/* driver/options.c - the options that all apps share. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "driver/job.h"
#include "io/json.h"

#define CONFIG rt_options_t
static const rt_opt_t common_options[] = {
    RT_ACTION(CONFIG, help, "help", "this text"),
    RT_ACTION(CONFIG, version, "version", "version and how this program was built"),
    RT_ACTION(CONFIG, list, "list",
              "the rungs: name, device, what each changes, and why one is absent"),
    RT_TEXT(CONFIG, rung, "rung", "NAME", NULL,
            "run this rung (default: the fastest by the tuning file, else what the app knows to "
            "be fast at this size, else the fastest processor's last)"),
    RT_FLAG(CONFIG, ladder, "ladder", NULL,
            "run every rung that can run here, one after the other"),
    RT_TEXT(CONFIG, only, "only", "NAME", NULL,
            "of --ladder: the ladder of this name, of an app that has several (see --list); or "
            "the rungs that run on the cpu or gpu"),
    RT_FLAG(CONFIG, roofline, "roofline", NULL,
            "the paper's measured roofline, and each rung's share of it, over the paper's sizes"),
    RT_TEXT(CONFIG, size, "size", "NAME", NULL,
            "tiny (64 MiB), small (1 GiB), medium (8 GiB), large (half) or full (87 % of the "
            "memory where the arrays live, if the host's suffices); for each rank"),
    RT_TEXT(CONFIG, case_file, "case", "FILE", NULL,
            "options from a file of lines 'name = value'; the command line wins"),
    RT_TEXT(CONFIG, device, "device", "LIST", "auto", "auto, cpu, or GPU ordinals (0 or 0,1,2)"),
    RT_FLAG(CONFIG, share_device, "share-device", NULL,
            "let several ranks use one GPU (for tests; slow)"),
    RT_INT(CONFIG, threads, "threads", "N", NULL, 1, 65536,
           "OpenMP threads of a rank (default: its cores)"),
    RT_TEXT(CONFIG, transport, "transport", "NAME", "auto",
            "halo messages: auto (the fastest), staged (MPI, from the host's memory), gpu-aware "
            "(MPI, from the GPU's), nccl (on the GPU's stream), peer (GPUs of a host write into "
            "each other's memory), none"),
    RT_INT(CONFIG, seed, "seed", "N", "1", 0, 9e15, "of all random input"),
    RT_TEXT(
        CONFIG, nonce, "nonce", "TEXT", NULL,
        "text chosen by whoever requested this run: makes the seed, and is in the seal of --json"),
    RT_ACTION(CONFIG, digest, "digest", "make the problem, print the digest of its inputs and end"),
    RT_REAL(CONFIG, seconds, "seconds", "S", "0.3", 0, 86400,
            "of timing for each rung, in all its windows; 0: verify only"),
    RT_INT(CONFIG, windows, "windows", "N", "5", 1, RT_MAX_WINDOWS,
           "timed windows; the median counts (fewer where they take four times --seconds)"),
    RT_REAL(CONFIG, window, "window", "S", "0", 0, 86400,
            "least length of a window; 0: --seconds divided by --windows"),
    RT_REAL(CONFIG, warm_up, "warm-up", "S", "0", 0, 86400,
            "least length of what runs before the first window; 0: a fifth of what the windows "
            "take"),
    RT_FLAG(CONFIG, profile, "profile", NULL, "one more solve, kernel by kernel"),
    RT_FLAG(CONFIG, tune, "tune", NULL,
            "first find the fastest launch parameters of --rung, or of every rung and the "
            "fastest of these, and keep them in the tuning file"),
    RT_REAL(CONFIG, tune_seconds, "tune-seconds", "S", "60", 0.01, 864000,
            "that --tune may take; implies it (Open MPI's mpirun has a --tune of its own, and "
            "complains)"),
    RT_FLAG(CONFIG, isolated, "isolated", NULL,
            "of --tune: time kernels alone instead of inside the application; else: use what "
            "was tuned so"),
    RT_TEXT(CONFIG, tuning, "tuning", "FILE", NULL,
            "tuned parameters to use, and to add to with --tune; none: the defaults (default: "
            "~/.cache/rooftop/APP.tuning, else the one that ships with the program, if there is "
            "one)"),
    RT_ACTION(CONFIG, no_tuning, "no-tuning", "the same as --tuning none"),
    RT_TEXT(CONFIG, choose, "choose", "NAME=VALUE,...", NULL,
            "values of launch parameters (see --list), whatever was tuned"),
    RT_TEXT(CONFIG, json, "json", "FILE", NULL, "write the result for programs"),
    RT_TEXT(CONFIG, picture, "picture", "FILE", NULL, "write a picture of the solution"),
    RT_FLAG(CONFIG, quiet, "quiet", NULL, "only the table and the verdict"),
};

void rt_run_option_sets(rt_run_t *run, rt_opt_set_t sets[RT_OPTION_SETS])
{
    sets[0] = (rt_opt_set_t){"Problem", run->app->options, run->app->n_options, run->config};
    sets[1] = (rt_opt_set_t){"Run", common_options,
                             (int)(sizeof common_options / sizeof *common_options), &run->opt};
}

void rt_run_assign(rt_run_t *run, const char *settings)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    char *copy = strdup(settings ? settings : ""), *rest = copy;
    RT_EXPECT(copy, RT_MEMORY, "no memory for the settings '%s'", settings);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        RT_EXPECT(value, RT_USAGE, "'%s' in settings '%s' is not name=value", word, settings);
        *value++ = 0;
        rt_opt_assign(sets, RT_OPTION_SETS, word, value, settings);
    }
    free(copy);
}

bool rt_run_has_extents(rt_run_t *run)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    return rt_opt_given(sets, RT_OPTION_SETS, run->app->size_option);
}

/* The nonce makes the seed. It goes into a JSON file and comes back as the same bytes. */
static void take_nonce(rt_run_t *run, const rt_opt_set_t *sets)
{
    rt_options_t *opt = &run->opt;
    if (!opt->nonce)
        return;
    if (rt_opt_given(sets, RT_OPTION_SETS, "seed"))
        rt_refuse(RT_USAGE, "--nonce and --seed exclude each other: the nonce makes the seed");
    json_t *text = json_string(opt->nonce);
    if (!text)
        rt_refuse(RT_USAGE, "--nonce: not UTF-8; give it letters and digits");
    json_decref(text);
    opt->seed = rt_seed_of_nonce(opt->nonce);
}

void rt_options_complete(rt_run_t *run)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    run->opt.tune = run->opt.tune || rt_opt_given(sets, RT_OPTION_SETS, "tune-seconds");
    run->opt.quiet = run->opt.quiet || run->opt.digest;
    take_nonce(run, sets);
}

static void check_rung(const rt_app_t *app, const char *name)
{
    rt_text_t names = {""};
    if (rt_ladder_find(app->ladder, app->n_rungs, name))
        return;
    for (int i = 0; i < app->n_rungs; i++)
        rt_text_add(&names, "%s%s", i ? ", " : "", app->ladder[i].name);
    rt_refuse(RT_USAGE, "--rung %s: there is no such rung; known: %s", name, names.text);
}

static void check_only(const rt_app_t *app, const rt_options_t *opt)
{
    rt_text_t names = {""};
    if (!opt->ladder)
        rt_refuse(RT_USAGE, "--only %s chooses one of the ladders of --ladder: give that too",
                  opt->only);
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_rung_t *rung = &app->ladder[i];
        if (rt_rung_is_on(rung, opt->only))
            return;
        if (rung->ladder && rt_ladder_first(app->ladder, i) == i)
            rt_text_add(&names, "%s, ", rung->ladder);
    }
    rt_refuse(RT_USAGE, "--only %s: there is no such ladder; known: %scpu, gpu", opt->only,
              names.text);
}

void rt_options_check(const rt_run_t *run)
{
    const rt_options_t *opt = &run->opt;
    const rt_extras_t *extras = rt_app_extras(run->app);
    if (opt->rung)
        check_rung(run->app, opt->rung);
    if (opt->rung && opt->ladder)
        rt_refuse(RT_USAGE, "--rung and --ladder exclude each other: --ladder runs all rungs");
    if (opt->only)
        check_only(run->app, opt);
    rt_tuning_check(run);
    if (opt->roofline && !extras->roofline_cases)
        rt_refuse(RT_USAGE, "--roofline: the paper of %s has none", run->app->name);
    if (opt->roofline && opt->seconds <= 0)
        rt_refuse(RT_USAGE, "--roofline compares times: give --seconds more than 0");
    if (opt->picture && !extras->picture)
        rt_refuse(RT_USAGE, "--picture: %s has no picture to write", run->app->name);
    if (opt->digest && opt->json)
        rt_refuse(RT_USAGE, "--digest makes the problem and runs nothing: leave --json out");
    if (opt->json)
        rt_report_probe(opt->json);
    if (opt->picture)
        rt_report_probe(opt->picture);
}
