/* driver/options.c - the options that all apps share. */
#include "config.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/numbers.h"
#include "driver/job.h"
#include "halo/transport.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/cores.h"
#include "machine/shared.h"

#define CONFIG rt_options_t
static const rt_opt_t common_options[] = {
    RT_ACTION(CONFIG, help, "help", "print this text"),
    RT_ACTION(CONFIG, version, "version", "print the version, and how this program was built"),
    RT_ACTION(CONFIG, list, "list",
              "list the rungs: name, device, what each changes, and why some are absent; with "
              "--rung NAME or --ladder also what it computes in, and its launch parameters"),
    RT_TEXT(
        CONFIG, rung, "rung", "NAME", NULL,
        "run this rung (default: the fastest in the tuning file, else the one known to be fast at "
        "this size, else the last one of the fastest processor)"),
    RT_FLAG(CONFIG, ladder, "ladder", NULL,
            "run every rung that can run here, one after the other"),
    RT_TEXT(CONFIG, only, "only", "NAME", NULL,
            "run only a part of --ladder: the ladder of this name, in an app that has several (see "
            "--list), the rungs that run on the cpu or gpu, or those of both: assembly,gpu"),
    RT_FLAG(CONFIG, roofline, "roofline", NULL,
            "measure a roofline by copies of all loads and stores, and each rung's share of it"),
    RT_TEXT(CONFIG, size, "size", "NAME", NULL,
            "choose the problem by its memory per rank: tiny (64 MiB), small (1 GiB), medium (8 "
            "GiB), large (half of the free memory where the arrays are) or full (87 % of it); less "
            "if the host's memory does not suffice"),
    RT_TEXT(CONFIG, case_file, "case", "FILE", NULL,
            "read options from a file of lines 'name = value'; the command line wins"),
    RT_TEXT(CONFIG, device, "device", "LIST", "auto",
            "run on: auto, cpu, or GPU ordinals (0 or 0,1,2)"),
    RT_FLAG(CONFIG, share_device, "share-device", NULL,
            "let several ranks use one GPU (for tests; slow)"),
    RT_INT(CONFIG, threads, "threads", "N", NULL, 1, RT_MAX_THREADS,
           "OpenMP threads per rank (default: its cores)"),
    RT_TEXT(CONFIG, transport, "transport", "NAME", "auto",
            "transport of halo messages: auto (the fastest), staged (MPI, from the host's memory), "
            "nccl (on the GPU's stream), peer (GPUs of a host write "
            "into each other's memory), none"),
    RT_INT(CONFIG, seed, "seed", "N", "1", 0, 9e15, "seed of all random input"),
    RT_TEXT(CONFIG, nonce, "nonce", "TEXT", NULL,
            "text chosen by the person who asked for this run: makes the seed, and is in --json"),
    RT_ACTION(CONFIG, dry_run, "dry-run",
              "say which rungs would run and what memory they would need, and stop"),
    RT_REAL(CONFIG, seconds, "seconds", "S", "0.3", 0, 86400,
            "time for each rung, in all its windows; 0: only verify"),
    RT_INT(CONFIG, windows, "windows", "N", "5", 1, RT_MAX_WINDOWS,
           "number of timed windows, of which the median counts (fewer if they take four times "
           "--seconds)"),
    RT_REAL(CONFIG, window, "window", "S", "0", 0, 86400,
            "minimum length of a window; 0: --seconds divided by --windows"),
    RT_REAL(CONFIG, warm_up, "warm-up", "S", "0", 0, 86400,
            "minimum length of the warm-up before the first window; 0: a fifth of the time of all "
            "windows"),
    RT_FLAG(CONFIG, profile, "profile", NULL, "solve once more, and time each kernel"),
    RT_FLAG(CONFIG, tune, "tune", NULL,
            "first find the fastest launch parameters (of --rung, or else of every rung, and the "
            "fastest rung), and keep them in the tuning file"),
    RT_REAL(CONFIG, tune_seconds, "tune-seconds", "S", "60", 0.01, 864000,
            "time that --tune may take; implies --tune (under mpirun, give this option alone: Open "
            "MPI's mpirun has a --tune of its own, and complains about ours)"),
    RT_FLAG(
        CONFIG, isolated, "isolated", NULL,
        "with --tune: time kernels alone instead of inside the application; without --tune: use "
        "what was tuned that way"),
    RT_TEXT(CONFIG, tuning, "tuning", "FILE", NULL,
            "file of tuned parameters to use, and to add to with --tune; none: use the defaults "
            "(default: ~/.cache/rooftop/APP.tuning)"),
    RT_ACTION(CONFIG, no_tuning, "no-tuning", "use no tuned parameters: the same as --tuning none"),
    RT_TEXT(CONFIG, choose, "choose", "NAME=VALUE,...", NULL,
            "set launch parameters (see --list --rung NAME), whatever was tuned"),
    RT_TEXT(CONFIG, json, "json", "FILE", NULL, "write the result as JSON, for other programs"),
    RT_TEXT(CONFIG, power, "power", "FILE", NULL,
            "file to which a power meter writes lines 'TIME, WATTS', for the energy of the timed "
            "windows (time: seconds since 1970, or 2026-11-29T04:24:19.5Z)"),
    RT_TEXT(CONFIG, picture, "picture", "FILE", NULL, "write a picture of the solution"),
    RT_TEXT(CONFIG, dump, "dump", "DIR", NULL,
            "write what is computed with and the answer to this folder, as .npy files and an "
            "index.json that explains them, to compute it again elsewhere"),
    RT_FLAG(CONFIG, dump_anyway, "dump-anyway", NULL, "write a --dump of more than 1 GiB"),
    RT_FLAG(CONFIG, quiet, "quiet", NULL, "print only the table and the verdict"),
};

void rt_run_option_sets(rt_run_t *run, rt_opt_set_t sets[RT_OPTION_SETS])
{
    sets[0] = (rt_opt_set_t){"Problem", run->app->options, run->app->n_options, run->config,
                             &run->given[0]};
    sets[1] =
        (rt_opt_set_t){"Run", common_options, (int)(sizeof common_options / sizeof *common_options),
                       &run->opt, &run->given[1]};
}

void rt_options_help(rt_run_t *run, FILE *out)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    const rt_extras_t *extras = rt_app_extras(run->app);
    const char *absent[6];
    int n = 0;
    if (!extras->picture)
        absent[n++] = "picture";
    if (!extras->dump) {
        absent[n++] = "dump";
        absent[n++] = "dump-anyway";
    }
    if (!extras->roofline_settings)
        absent[n++] = "roofline";
    if (!extras->isolated)
        absent[n++] = "isolated";
    absent[n] = NULL;
    const rt_opt_page_t page = {.program = run->app->name,
                                .purpose = run->app->purpose,
                                .examples = run->app->examples,
                                .absent = absent};
    rt_run_option_sets(run, sets);
    rt_opt_help(out, &page, sets, RT_OPTION_SETS);
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

/* Derives the seed from the nonce, which must be UTF-8: a JSON file then returns the same bytes. */
static void take_nonce(rt_run_t *run, const rt_opt_set_t *sets)
{
    rt_options_t *opt = &run->opt;
    if (!opt->nonce)
        return;
    if (rt_opt_given(sets, RT_OPTION_SETS, "seed"))
        rt_refuse(RT_USAGE, "--nonce and --seed exclude each other: the nonce makes the seed");
    json_t *text = json_string(opt->nonce);
    if (!text || opt->nonce[strspn(opt->nonce, " ")] == '\0')
        rt_refuse(RT_USAGE, "--nonce: %s; give it letters and digits",
                  text ? "nothing but blanks" : "not UTF-8");
    json_decref(text);
    opt->seed = rt_seed_of_nonce(opt->nonce);
}

void rt_options_complete(rt_run_t *run)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    run->opt.tune = run->opt.tune || rt_opt_given(sets, RT_OPTION_SETS, "tune-seconds");
    take_nonce(run, sets);
}

static void check_rung(const rt_app_t *app, const char *name)
{
    rt_text_t names = {""};
    if (rt_app_rung(app, name))
        return;
    for (int i = 0; i < app->n_rungs; i++)
        rt_text_add(&names, "%s%s", i ? ", " : "", app->ladder[i].name);
    rt_refuse(RT_USAGE, "--rung %s: there is no such rung; known: %s", name, names.text);
}

static void check_only(const rt_app_t *app, const rt_options_t *opt)
{
    rt_text_t names = {""};
    if (!opt->ladder)
        rt_refuse(RT_USAGE, "--only %s chooses a part of --ladder: give --ladder too", opt->only);
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

/* Refuses an output that would overwrite a file of another option. */
static void check_output(rt_run_t *run, const char *name, const char *path)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    for (int s = 0; s < RT_OPTION_SETS; s++)
        for (int i = 0; i < sets[s].n; i++) {
            const rt_opt_t *o = &sets[s].options[i];
            char other[PATH_MAX];
            const bool is_file = o->type == RT_OPT_STRING && (sets[s].target == run->config ||
                                                              strcmp(o->argument, "FILE") == 0);
            if (!is_file || strcmp(o->name, name) == 0)
                continue;
            rt_opt_value(o, sets[s].target, other, sizeof other);
            if (*other && rt_shared_same(path, other))
                rt_refuse(RT_USAGE, "--%s %.400s: the same file as --%s; name another", name, path,
                          o->name);
        }
}

static void check_outputs(rt_run_t *run)
{
    const rt_options_t *opt = &run->opt;
    const char *const outputs[][2] = {{"json", opt->json},
                                      {"picture", opt->picture},
                                      {"tuning", opt->tune ? opt->tuning : NULL},
                                      {"dump", opt->dump}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i][1]) {
            if (i < 2) /* the tuner and the dump try their own */
                rt_shared_probe(outputs[i][0], outputs[i][1]);
            check_output(run, outputs[i][0], outputs[i][1]);
        }
}

void rt_options_check(rt_run_t *run)
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
    if (opt->roofline && !extras->roofline_settings)
        rt_refuse(RT_USAGE, "--roofline: the paper of %s has none", run->app->name);
    if (opt->roofline && opt->seconds <= 0)
        rt_refuse(RT_USAGE, "--roofline compares times: give --seconds more than 0");
    if (opt->picture && !extras->picture)
        rt_refuse(RT_USAGE, "--picture: %s has no picture to write", run->app->name);
    if (opt->picture && !rt_ends_with(opt->picture, extras->picture_ends))
        rt_refuse(RT_USAGE, "--picture %.400s: the name must end in %s", opt->picture,
                  extras->picture_ends);
    if (opt->dry_run && opt->json)
        rt_refuse(RT_USAGE, "--dry-run runs nothing: leave --json out");
    if (opt->power && (opt->roofline || opt->seconds <= 0))
        rt_refuse(RT_USAGE, "--power needs timed windows: no --roofline, --seconds more than 0");
    rt_text_t why = {""};
    if (opt->power && rt_comm_rank() == 0)
        rt_power_read(opt->power, &(rt_energy_t){0}, NULL, &why);
    if (rt_comm_agree(why.text, sizeof why.text) >= 0)
        rt_refuse(RT_USAGE, "--power: %s", why.text);
    rt_transport_check(opt->transport);
    rt_dump_check(run);
    check_outputs(run);
}
