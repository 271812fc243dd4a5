/*
 * driver/main.c - the driver: the life that every app shares, from the command line to the exit status.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "rt.h"
#include "driver/driver.h"

/* --- options that all apps share --- */

#define AT(member) offsetof(rt_options_t, member)
static const rt_opt_t common_options[] = {
    {"help", RT_OPT_ACTION, AT(help), NULL, "this text", NULL, 0, 0, NULL},
    {"version", RT_OPT_ACTION, AT(version), NULL, "version and how this program was built", NULL, 0,
     0, NULL},
    {"list", RT_OPT_ACTION, AT(list), NULL,
     "the rungs: name, device, what each changes, and why one is absent", NULL, 0, 0, NULL},
    {"rung", RT_OPT_STRING, AT(rung), "NAME",
     "run this rung (default: the fastest by the tuning file, else what the app knows to be fast "
     "at "
     "this size, else the fastest processor's last)",
     NULL, 0, 0, NULL},
    {"ladder", RT_OPT_FLAG, AT(ladder), NULL,
     "run every rung that can run here, one after the other", NULL, 0, 0, NULL},
    {"only", RT_OPT_STRING, AT(only), "NAME",
     "of --ladder: the ladder of this name, of an app that has several (see --list); or the rungs "
     "that run on the cpu or gpu",
     NULL, 0, 0, NULL},
    {"roofline", RT_OPT_FLAG, AT(roofline), NULL,
     "the paper's measured roofline, and each rung's share of it, over the paper's sizes", NULL, 0,
     0, NULL},
    {"size", RT_OPT_STRING, AT(size), "NAME",
     "tiny (64 MiB), small (1 GiB), medium (8 GiB), large (half) or full (87 % of the memory where "
     "the "
     "arrays live, if the host's suffices); for each rank",
     NULL, 0, 0, NULL},
    {"case", RT_OPT_STRING, AT(case_file), "FILE",
     "options from a file of lines 'name = value'; the command line wins", NULL, 0, 0, NULL},
    {"device", RT_OPT_STRING, AT(device), "LIST", "auto, cpu, or GPU ordinals (0 or 0,1,2)", "auto",
     0, 0, NULL},
    {"share-device", RT_OPT_FLAG, AT(share_device), NULL,
     "let several ranks use one GPU (for tests; slow)", NULL, 0, 0, NULL},
    {"threads", RT_OPT_INT, AT(threads), "N", "OpenMP threads of a rank (default: its cores)", NULL,
     1, 65536, NULL},
    {"transport", RT_OPT_STRING, AT(transport), "NAME",
     "halo messages: auto (the fastest), staged (MPI, from the host's memory), gpu-aware (MPI, "
     "from the GPU's), nccl (on the GPU's stream), peer (GPUs of a host write into each other's "
     "memory), none",
     "auto", 0, 0, NULL},
    {"seed", RT_OPT_INT, AT(seed), "N", "of all random input", "1", 0, 9e15, NULL},
    {"nonce", RT_OPT_STRING, AT(nonce), "TEXT",
     "a word of whoever asked for this run: makes the seed, and is in the seal of --json", NULL, 0,
     0, NULL},
    {"digest", RT_OPT_ACTION, AT(digest), NULL,
     "make the problem, print the digest of its inputs and end", NULL, 0, 0, NULL},
    {"seconds", RT_OPT_REAL, AT(seconds), "S",
     "of timing for each rung, in all its windows; 0: verify only", "0.3", 0, 86400, NULL},
    {"windows", RT_OPT_INT, AT(windows), "N",
     "timed windows; the median counts (fewer where they take four times --seconds)", "5", 1,
     RT_MAX_WINDOWS, NULL},
    {"window", RT_OPT_REAL, AT(window), "S",
     "least length of a window; 0: --seconds divided by --windows", "0", 0, 86400, NULL},
    {"warm-up", RT_OPT_REAL, AT(warm_up), "S",
     "least length of what runs before the first window; 0: a fifth of what the windows take", "0",
     0, 86400, NULL},
    {"profile", RT_OPT_FLAG, AT(profile), NULL, "one more solve, kernel by kernel", NULL, 0, 0,
     NULL},
    {"tune", RT_OPT_FLAG, AT(tune), NULL,
     "first find the fastest launch parameters of --rung, or of every rung and the fastest of "
     "these, and keep them in the tuning file",
     NULL, 0, 0, NULL},
    {"tune-seconds", RT_OPT_REAL, AT(tune_seconds), "S",
     "that --tune may take; implies it (Open MPI's mpirun has a --tune of its own, and complains)",
     "60", 0.01, 864000, NULL},
    {"isolated", RT_OPT_FLAG, AT(isolated), NULL,
     "of --tune: time kernels alone instead of inside the application; else: use what was tuned so",
     NULL, 0, 0, NULL},
    {"tuning", RT_OPT_STRING, AT(tuning), "FILE",
     "tuned parameters to use, and to add to with --tune; none: the defaults (default: "
     "~/.cache/rooftop/APP.tuning, else the one that ships with the program, if there is one)",
     NULL, 0, 0, NULL},
    {"no-tuning", RT_OPT_ACTION, AT(no_tuning), NULL, "the same as --tuning none", NULL, 0, 0,
     NULL},
    {"choose", RT_OPT_STRING, AT(choose), "NAME=VALUE,...",
     "values of launch parameters (see --list), whatever was tuned", NULL, 0, 0, NULL},
    {"json", RT_OPT_STRING, AT(json), "FILE", "write the result for programs", NULL, 0, 0, NULL},
    {"picture", RT_OPT_STRING, AT(picture), "FILE", "write a picture of the solution", NULL, 0, 0,
     NULL},
    {"quiet", RT_OPT_FLAG, AT(quiet), NULL, "only the table and the verdict", NULL, 0, 0, NULL},
};

void rt_run_option_sets(rt_run_t *run, rt_opt_set_t sets[RT_OPTION_SETS])
{
    sets[0] = (rt_opt_set_t){"Problem", run->app->options, run->app->n_options, run->config};
    sets[1] = (rt_opt_set_t){"Run", common_options,
                             (int)(sizeof common_options / sizeof *common_options), &run->opt};
}

static bool is_root(void)
{
    return rt_comm_rank() == 0;
}

static void print_version(const rt_app_t *app)
{
    printf("%s (Rooftop) %s\ncompiler      %s\nflags         %s\nMPI           %s\n", app->name,
           rt_version(), RT_CC_ID, RT_CFLAGS, rt_comm_library());
    printf("CUDA          %s\nKokkos        %s %s\n",
           RT_HAVE_CUDA ? RT_NVCC_ID ", architectures " RT_CUDA_ARCHS : "not in this build",
           rt_kokkos_version(), rt_kokkos_backend());
}

/* --- sizes and memory --- */

static double sum_host(const double bytes[RT_SPACES])
{
    /* pinned memory is host memory, and so is a device that is emulated */
    return bytes[RT_HOST] + bytes[RT_PINNED] + (rt_mem_device_is_emulated() ? bytes[RT_DEVICE] : 0);
}

/* "host 1.2 GiB of 20 GiB, device ..." ; returns whether it fits on every rank. */
static bool memory_fits(const rt_run_t *run, const rt_rung_t *rung, char *text, size_t len)
{
    double need[RT_SPACES];
    char a[32], b[32], c[32], d[32];
    run->app->memory(run, rung, need);
    double host = sum_host(need), device = rt_mem_device_is_emulated() ? 0 : need[RT_DEVICE];
    /* What this rank holds already, a problem that rungs share, is in what they need. */
    double held[RT_SPACES];
    for (int s = 0; s < RT_SPACES; s++)
        held[s] = (double)rt_mem_used((rt_space_t)s);
    double host_free = (double)rt_mem_available(RT_HOST) / rt_comm_local_size() + sum_host(held);
    double device_free =
        device > 0 ? (double)rt_mem_available(RT_DEVICE) + held[RT_DEVICE] : INFINITY;
    double too_much = host > host_free || device > device_free;
    rt_comm_max(&too_much, 1);
    int used = snprintf(text, len, "host %s of %s free", rt_mem_format(host, a, sizeof a),
                        rt_mem_format(host_free, b, sizeof b));
    if (device > 0)
        snprintf(text + used, len - (size_t)used, ", device %s of %s free",
                 rt_mem_format(device, c, sizeof c), rt_mem_format(device_free, d, sizeof d));
    return too_much == 0;
}

double rt_run_most_memory(const rt_run_t *run)
{
    const rt_app_t *app = run->app;
    double most = 0;
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_rung_t *rung = &app->ladder[i];
        double bytes[RT_SPACES];
        if ((run->opt.rung && strcmp(run->opt.rung, rung->name) != 0) || rt_rung_why_not(rung) ||
            (app->refuse && app->refuse(run, rung)))
            continue;
        app->memory(run, rung, bytes);
        most = fmax(most, bytes[rt_rung_space(rung)]);
    }
    return most;
}

const char *rt_run_obstacle(const rt_run_t *run, const rt_rung_t *rung, bool fatal)
{
    static char text[512];
    /* First what no machine could do, then what this one cannot. */
    const char *why = run->app->refuse ? run->app->refuse(run, rung) : NULL;
    if (why && fatal)
        rt_refuse(RT_USAGE, "--rung %s cannot run this problem: %s", rung->name, why);
    if (why)
        return why;
    why = rt_rung_why_not(rung);
    if (why && fatal)
        rt_refuse(RT_ENVIRONMENT, "--rung %s cannot run here: %s", rung->name, why);
    if (why)
        return why;
    why = rt_tuning_obstacle(run, rung);
    if (why && fatal)
        rt_refuse(RT_USAGE, "--rung %s cannot run this problem with --choose %s", rung->name, why);
    if (why)
        return why;
    char need[256];
    if (memory_fits(run, rung, need, sizeof need))
        return NULL;
    if (fatal)
        rt_refuse(RT_MEMORY,
                  "%s needs more memory a rank than there is: %s; use a smaller problem or "
                  "more ranks",
                  rung->name, need);
    snprintf(text, sizeof text, "needs more memory than there is: %s", need);
    return text;
}

rt_kind_t rt_run_processor(const rt_rung_t *rung)
{
    if (rung->kind == RT_CUDA || (rung->kind == RT_KOKKOS && rt_kokkos_on_gpu()))
        return RT_CUDA;
    return RT_CPU;
}

/* Bytes a rank may use for --size, in the memory where the rungs' arrays live. */
static double size_target(const rt_run_t *run)
{
    static const struct {
        const char *name;
        double bytes, share;
    } sizes[] = {{"tiny", 0x1p26, 0},
                 {"small", 0x1p30, 0},
                 {"medium", 0x1p33, 0},
                 {"large", 0, 0.5},
                 {"full", 0, 0.87}};
    rt_space_t space = rt_device_gpu() ? RT_DEVICE : RT_HOST;
    const rt_rung_t *rung =
        run->opt.rung ? rt_ladder_find(run->app->ladder, run->app->n_rungs, run->opt.rung) : NULL;
    if (rung && rt_run_processor(rung) == RT_CPU)
        space = RT_HOST;
    double free_bytes = (double)rt_mem_available(space);
    if (space == RT_HOST)
        free_bytes /= rt_comm_local_size();
    rt_comm_min(&free_bytes, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(run->opt.size, sizes[i].name) == 0)
            return sizes[i].bytes > 0 ? sizes[i].bytes : sizes[i].share * free_bytes;
    rt_refuse(RT_USAGE, "--size %s: use tiny, small, medium, large or full", run->opt.size);
}

/* The problem's extents: the user's own, or as large as --size says and the host can check. */
static void configure(rt_run_t *run)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    if (!run->opt.size || rt_opt_given(sets, RT_OPTION_SETS, run->app->size_option)) {
        rt_run_configure(run, 0);
        return;
    }
    double target = size_target(run);
    rt_run_configure(run, target);
    /* The device may hold more than the host can generate and check: shrink until both do. */
    for (int i = 0; i < run->app->n_rungs; i++) {
        const rt_rung_t *rung = &run->app->ladder[i];
        char need[256];
        bool asked = !run->opt.rung || strcmp(run->opt.rung, rung->name) == 0;
        while (asked && !rt_rung_why_not(rung) && target > 0x1p20 &&
               !memory_fits(run, rung, need, sizeof need))
            rt_run_configure(run, target *= 0.95);
    }
}

/* --- the job --- */

static const char *rung_names(const rt_app_t *app, char *text, size_t len)
{
    size_t used = 0;
    for (int i = 0; i < app->n_rungs && used < len; i++)
        used +=
            (size_t)snprintf(text + used, len - used, "%s%s", i ? ", " : "", app->ladder[i].name);
    return text;
}

/* The first that can run of those that the app names for this kind of processor, or NULL. */
static const rt_rung_t *suggested_rung(const rt_run_t *run, rt_kind_t kind, char *why, size_t len)
{
    const rt_app_t *app = run->app;
    const char *const *names = app->default_rungs ? app->default_rungs(run, kind, why, len) : NULL;
    for (; names && *names; names++) {
        const rt_rung_t *rung = rt_ladder_find(app->ladder, app->n_rungs, *names);
        if (rung && rung->kind == kind && !rt_run_obstacle(run, rung, false))
            return rung;
    }
    return NULL;
}

const rt_rung_t *rt_run_default_rung(const rt_run_t *run, char *why, size_t len)
{
    static const rt_kind_t order[] = {RT_CUDA, RT_CPU, RT_KOKKOS};
    char reason[128] = "";
    if (why)
        *why = '\0';
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        const rt_rung_t *rung = suggested_rung(run, order[k], reason, sizeof reason);
        if (rung && why)
            snprintf(why, len, "%s", reason);
        if (rung)
            return rung;
        for (int i = run->app->n_rungs - 1; i >= 0; i--)
            if (run->app->ladder[i].kind == order[k] &&
                !rt_run_obstacle(run, &run->app->ladder[i], false))
                return &run->app->ladder[i];
    }
    return &run->app->ladder[0]; /* and let it be refused with its reason */
}

bool rt_run_on_ladder(const rt_rung_t *rung, const char *only)
{
    if (!only || (rung->ladder && strcmp(rung->ladder, only) == 0))
        return true;
    return strcmp(only, rt_run_processor(rung) == RT_CUDA ? "gpu" : "cpu") == 0;
}

static void check_only(const rt_app_t *app, const rt_options_t *opt)
{
    char names[256] = "";
    size_t used = 0;
    if (!opt->ladder)
        rt_refuse(RT_USAGE, "--only %s chooses one of the ladders of --ladder: give that too",
                  opt->only);
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_rung_t *rung = &app->ladder[i];
        if (rt_run_on_ladder(rung, opt->only))
            return;
        if (rung->ladder && rt_ladder_first(app->ladder, i) == i && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     rung->ladder);
    }
    rt_refuse(RT_USAGE, "--only %s: there is no such ladder; known: %s%scpu, gpu", opt->only, names,
              used ? ", " : "");
}

static void check_options(const rt_run_t *run)
{
    char names[512];
    const rt_options_t *opt = &run->opt;
    if (opt->rung && !rt_ladder_find(run->app->ladder, run->app->n_rungs, opt->rung))
        rt_refuse(RT_USAGE, "--rung %s: there is no such rung; known: %s", opt->rung,
                  rung_names(run->app, names, sizeof names));
    if (opt->rung && opt->ladder)
        rt_refuse(RT_USAGE, "--rung and --ladder exclude each other: --ladder runs all rungs");
    if (opt->only)
        check_only(run->app, opt);
    rt_tuning_check(run);
    if (opt->roofline && !run->app->roofline_cases)
        rt_refuse(RT_USAGE, "--roofline: the paper of %s has none", run->app->name);
    if (opt->roofline && opt->seconds <= 0)
        rt_refuse(RT_USAGE, "--roofline compares times: give --seconds more than 0");
    if (opt->picture && !run->app->picture)
        rt_refuse(RT_USAGE, "--picture: %s has no picture to write", run->app->name);
    if (opt->digest && opt->json)
        rt_refuse(RT_USAGE, "--digest makes the problem and runs nothing: leave --json out");
    if (opt->json)
        rt_report_probe(opt->json);
    if (opt->picture)
        rt_report_probe(opt->picture);
}

static void print_header(const rt_run_t *run)
{
    printf("%s %s: %s\n", run->app->name, rt_version(), run->app->purpose);
    if (!run->opt.roofline) /* a study has many problems; its table names them */
        run->app->describe(run, stdout);
    printf("MPI           %s\n", rt_comm_library());
    printf("Kokkos        %s %s\n", rt_kokkos_version(), rt_kokkos_backend());
}

static void json_ceilings(json_t *object, const char *key, const rt_ceilings_t *c)
{
    json_t *o = rt_json_object(object, key);
    rt_json_int(o, "working_set_bytes", (long long)c->working_set);
    rt_json_real(o, "copy_bytes_per_s", c->copy);
    rt_json_real(o, "triad_bytes_per_s", c->triad);
    rt_json_real(o, "read_bytes_per_s", c->read);
    rt_json_real(o, "fma64_flop_per_s", c->fma64);
    rt_json_real(o, "fma32_flop_per_s", c->fma32);
    rt_json_real(o, "latency_s", c->latency);
    rt_json_real(o, "message_bytes_per_s", c->message);
}

static void print_ceilings(const char *when, const rt_ceilings_t *c)
{
    char set[32];
    printf(
        "ceilings      %s, %s, over %s: copy %.1f, triad %.1f, read %.1f GB/s; FMA FP64 %.0f, FP32 "
        "%.0f GFlop/s",
        when, c->kind == RT_CPU ? "CPU" : "GPU",
        rt_mem_format((double)c->working_set, set, sizeof set), c->copy * 1e-9, c->triad * 1e-9,
        c->read * 1e-9, c->fma64 * 1e-9, c->fma32 * 1e-9);
    if (c->message > 0)
        printf("; message %.1f us, %.2f GB/s", c->latency * 1e6, c->message * 1e-9);
    printf("\n");
}

/* Everything that a run of rungs collects. */
typedef struct {
    rt_run_t *run;
    void *problem;
    rt_outcome_t *out; /* [n_rungs] in the order of the ladder; rung NULL: did not run */
    rt_ceilings_t before[2], after[2]; /* RT_CPU, RT_CUDA */
    bool used[2];
    json_t *root, *rungs, *absent; /* absent: rungs that were wanted and cannot run */
    json_t **row;                  /* [n_rungs] of rungs */
    bool valid;
} job_t;

static void measure_ceilings(job_t *job, rt_ceilings_t *c, const char *when)
{
    static const rt_kind_t kinds[] = {RT_CPU, RT_CUDA};
    for (int k = 0; k < 2; k++) {
        if (!job->used[k])
            continue;
        rt_work_t work;
        job->run->app->work(job->run, &job->run->app->ladder[0], &work);
        size_t set = (size_t)(work.array_bytes * work.distinct_arrays);
        rt_ceiling_measure(kinds[k], set,
                           fmin(0.5, k == 1 ? job->run->opt.seconds : 0.2 * job->run->opt.seconds),
                           &c[k]);
        if (is_root() && !job->run->opt.quiet)
            print_ceilings(when, &c[k]);
        if (is_root() && job->root) {
            char key[64];
            snprintf(key, sizeof key, "ceilings_%s_%s", k ? "gpu" : "cpu", when);
            json_ceilings(job->root, key, &c[k]);
        }
    }
}

static const double steady_spread = 0.03; /* above it, a rung is marked */

static const char *const arithmetic_names[] = {
    [RT_FMA64] = "fp64", [RT_FMA32] = "fp32", [RT_MMA16] = "fp16-tensor", [RT_MIXED] = "mixed"};

/* What a reader needs to repeat the sums: the figure of merit is the credited work by the median.
 */
static void json_times(const rt_outcome_t *out, json_t *row)
{
    rt_json_real(row, "credited_flop_per_unit", out->work.flops);
    json_t *windows = rt_json_array(row, "window_seconds");
    for (int i = 0; i < out->windows; i++)
        rt_json_append_real(windows, out->window_seconds[i]);
    rt_json_real(row, "warm_up_seconds", out->warm_up_seconds);
    rt_json_real(row, "timed_seconds", out->timed_seconds);
    rt_json_bool(row, "spread_flag", out->spread > steady_spread);
    if (out->energy.source) {
        rt_json_real(row, "energy_joules", out->energy.joules);
        rt_json_real(row, "energy_seconds", out->energy.seconds);
        rt_json_text(row, "energy_source", out->energy.source);
    }
}

static void json_rung(const rt_outcome_t *out, json_t *row)
{
    rt_json_text(row, "name", out->rung->name);
    rt_json_text(row, "kind", rt_kind_name(out->rung->kind));
    rt_json_text(row, "after", out->rung->after);
    rt_json_text(row, "idea", out->rung->idea);
    rt_json_bool(row, "valid", out->verdict.valid);
    json_t *checks = rt_json_array(row, "checks");
    for (int i = 0; i < out->verdict.n; i++) {
        const rt_check_t *c = &out->verdict.check[i];
        json_t *o = rt_json_append_object(checks);
        rt_json_text(o, "name", c->name);
        rt_json_bool(o, "held", c->held);
        if (rt_finite(c->value)) /* left out otherwise: a value that is not finite has failed */
            rt_json_real(o, "value", c->value);
        rt_json_real(o, "bound", c->bound);
    }
    if (out->plausible == RT_NOT_JUDGED)
        rt_json_text(row, "plausible", NULL);
    else
        rt_json_bool(row, "plausible", out->plausible == RT_PLAUSIBLE);
    json_t *memory = rt_json_object(row, "memory_bytes");
    for (int s = 0; s < RT_SPACES; s++) {
        json_t *o = rt_json_object(memory, rt_space_name((rt_space_t)s));
        rt_json_real(o, "predicted", out->predicted[s]);
        rt_json_real(o, "high_water", out->high_water[s]);
    }
    if (!out->verdict.valid || out->seconds_per_unit <= 0)
        return;
    const rt_work_t *work = &out->work;
    rt_json_text(row, "unit", work->unit);
    rt_json_text(row, "arithmetic", arithmetic_names[work->arithmetic]);
    rt_json_real(row, "seconds_per_unit", out->seconds_per_unit);
    rt_json_real(row, "spread", out->spread);
    rt_json_int(row, "windows", out->windows);
    rt_json_int(row, "solves", out->solves);
    json_times(out, row);
    rt_json_real(row, "fom_flop_per_s", work->flops / out->seconds_per_unit);
    rt_json_real(row, "points_per_s", work->points / out->seconds_per_unit);
    rt_json_real(row, "bytes_per_s", rt_work_bytes(work) / out->seconds_per_unit);
    rt_json_real(row, "flop_per_s", rt_work_flops(work) / out->seconds_per_unit);
}

static void print_memory(const rt_outcome_t *out)
{
    char a[32], b[32];
    printf("memory        ");
    for (int s = 0; s < RT_SPACES; s++)
        if (out->high_water[s] > 0 || out->predicted[s] > 0)
            printf("%s %s (predicted %s)  ", rt_space_name((rt_space_t)s),
                   rt_mem_format(out->high_water[s], a, sizeof a),
                   rt_mem_format(out->predicted[s], b, sizeof b));
    printf("\n");
}

static void run_one(job_t *job, int i)
{
    rt_run_t *run = job->run;
    const rt_rung_t *rung = &run->app->ladder[i];
    rt_outcome_t *out = &job->out[i];
    if (is_root() && job->rungs)
        job->row[i] = rt_json_append_object(job->rungs);
    if (is_root() && !run->opt.quiet) {
        printf("\n%s (%s): %s\n", rung->name, rt_kind_name(rung->kind), rung->idea);
        fflush(stdout);
    }
    if (is_root())
        rt_tuning_print_rung(run, rung, run->opt.quiet, stdout);
    run->bandwidth = rt_bandwidth_ceiling(&job->before[rt_run_processor(rung) == RT_CUDA]);
    rt_run_rung(run, job->problem, rung, out, job->row[i]);
    job->valid = job->valid && out->verdict.valid;
    if (is_root() && (!run->opt.quiet || !out->verdict.valid)) {
        rt_verdict_print(&out->verdict, stdout);
        if (*out->conclusion)
            printf("solve         %s\n", out->conclusion);
        print_memory(out);
    }
}

/* The one to run, and a line on why if no one asked for it. */
static const rt_rung_t *the_rung(const rt_run_t *run)
{
    char why[128];
    if (run->opt.rung)
        return rt_ladder_find(run->app->ladder, run->app->n_rungs, run->opt.rung);
    const rt_rung_t *fallback = rt_run_default_rung(run, why, sizeof why);
    const rt_rung_t *rung = rt_tuning_fastest(run, fallback);
    if (rung == fallback && *why && is_root() && !run->opt.quiet)
        printf("default       %s for %s\n", rung->name, why);
    return rung;
}

/* Prints what each rung will need, before anything is allocated; which can run. */
static int choose_rungs(job_t *job, bool *chosen)
{
    const rt_run_t *run = job->run;
    const rt_rung_t *only = run->opt.ladder ? NULL : the_rung(run);
    int count = 0;
    for (int i = 0; i < run->app->n_rungs; i++) {
        const rt_rung_t *rung = &run->app->ladder[i];
        chosen[i] = only ? only == rung : rt_run_on_ladder(rung, run->opt.only);
        if (!chosen[i])
            continue;
        const char *obstacle = rt_run_obstacle(run, rung, only != NULL);
        if (obstacle) {
            if (is_root())
                printf("not run       %s: %s\n", rung->name, obstacle);
            if (job->absent) {
                json_t *row = rt_json_append_object(job->absent);
                rt_json_text(row, "name", rung->name);
                rt_json_text(row, "kind", rt_kind_name(rung->kind));
                rt_json_text(row, "why", obstacle);
            }
            chosen[i] = false;
            continue;
        }
        char need[256];
        memory_fits(run, rung, need, sizeof need);
        if (is_root() && !run->opt.quiet)
            printf("memory        %s will need: %s\n", rung->name, need);
        job->used[rt_run_processor(rung) == RT_CUDA] = true;
        count++;
    }
    return count;
}

static rt_ceilings_t ceilings_of(const job_t *job, const rt_rung_t *rung)
{
    const int gpu = rt_run_processor(rung) == RT_CUDA;
    return rt_ceilings_best(&job->before[gpu], &job->after[gpu]);
}

/* When all ceilings are known: is every figure possible? And with that each rung's row is whole. */
static void finish_rung(job_t *job, int i)
{
    const rt_run_t *run = job->run;
    rt_outcome_t *out = &job->out[i];
    const rt_ceilings_t measured = ceilings_of(job, out->rung);
    rt_ceilings_t again;
    const bool repeated = rt_plausible_judge(out, &measured, &again);
    job->valid = job->valid && out->verdict.valid;
    if (!is_root())
        return;
    if (repeated) {
        printf("\n%s goes beyond the ceilings that were measured before and after; once more:\n",
               out->rung->name);
        print_ceilings("again", &again);
        rt_verdict_print(&out->verdict, stdout);
    }
    if (!job->row[i])
        return;
    json_rung(out, job->row[i]);
    rt_tuning_json(run, out->rung, job->row[i]);
    if (repeated)
        json_ceilings(job->row[i], "ceilings_again", &again);
}

/* Of the ladder whose rungs are begin .. end - 1. */
static void print_table(const job_t *job, int begin, int end)
{
    const rt_app_t *app = job->run->app;
    rt_work_t first; /* for the names, which all its rungs share */
    char columns[160];
    app->work(job->run, &app->ladder[begin], &first);
    snprintf(columns, sizeof columns,
             "<rung|<device|us a unit|spread|FOM GFlop/s|M%s/s|GB/s|of ceiling|"
             "GFlop/s|of ceiling|step|<over|<verdict",
             first.point);
    rt_table_t *t = rt_table_new(columns);
    for (int i = begin; i < end; i++) {
        const rt_outcome_t *out = &job->out[i];
        if (!out->rung)
            continue;
        const rt_work_t *work = &out->work;
        double s = out->seconds_per_unit;
        rt_table_cell(t, "%s", out->rung->name);
        rt_table_cell(t, "%s", rt_kind_name(out->rung->kind));
        if (out->verdict.valid && s > 0) {
            const rt_ceilings_t ceilings = ceilings_of(job, out->rung);
            const double bandwidth = rt_bandwidth_ceiling(&ceilings);
            const double fma = rt_arithmetic_ceiling(&ceilings, work->arithmetic);
            double ranks = rt_comm_size(), bytes = rt_work_bytes(work), flops = rt_work_flops(work);
            rt_table_cell(t, "%.2f", s * 1e6);
            rt_table_cell(t, "%.1f %%", 100 * out->spread);
            rt_table_cell(t, "%.2f", work->flops / s * 1e-9);
            rt_table_cell(t, "%.1f", work->points / s * 1e-6);
            rt_table_cell(t, "%.1f", bytes / s * 1e-9);
            rt_table_cell(t, "%.1f %%", 100 * bytes / s / ranks / bandwidth);
            rt_table_cell(t, "%.2f", flops / s * 1e-9);
            if (fma > 0)
                rt_table_cell(t, "%.1f %%", 100 * flops / s / ranks / fma);
            else
                rt_table_cell(t, "-");
            const rt_rung_t *after = rt_ladder_find(app->ladder, app->n_rungs, out->rung->after);
            const rt_outcome_t *before = after ? &job->out[after - app->ladder] : NULL;
            if (before && before->rung && before->seconds_per_unit > 0)
                rt_table_cell(t, "%.2fx", before->seconds_per_unit / s);
            else
                rt_table_cell(t, "-");
            rt_table_cell(t, "%s", out->rung->after);
        } else {
            for (int cell = 0; cell < 10; cell++)
                rt_table_cell(t, "-");
        }
        rt_table_cell(t, "%s", out->verdict.valid ? "VALID" : "INVALID");
        rt_table_row(t);
    }
    const char *name = app->ladder[begin].ladder;
    printf("\n%s%sa unit is one %s; FOM: the work that every rung is credited with; GB/s and "
           "GFlop/s: what the rung does\n\n",
           name ? name : "", name ? ": " : "", first.unit);
    rt_table_print(t, stdout);
    rt_table_destroy(t);
}

/* Below the tables: which figures to take with care, and the energy where there is a meter. */
static void print_remarks(const job_t *job)
{
    int marked = 0;
    for (int i = 0; i < job->run->app->n_rungs; i++) {
        const rt_outcome_t *out = &job->out[i];
        if (!out->rung || !out->verdict.valid || out->spread <= steady_spread)
            continue;
        printf("%s%s %.1f %%", marked++ ? ", " : "\nunsteady      ", out->rung->name,
               100 * out->spread);
    }
    if (marked)
        printf(": windows differ by more than %.0f %%; use longer ones (--window), or a machine "
               "with nothing else to do\n",
               100 * steady_spread);
    for (int i = 0; i < job->run->app->n_rungs; i++) {
        const rt_outcome_t *out = &job->out[i];
        if (out->rung && out->verdict.valid && out->energy.source)
            printf("energy        %s: %.3g J in %.3g s, %.3g W (%s)\n", out->rung->name,
                   out->energy.joules, out->energy.seconds,
                   out->energy.joules / out->energy.seconds, out->energy.source);
    }
}

/* One table for each ladder of which something ran. */
static void print_tables(const job_t *job)
{
    const rt_app_t *app = job->run->app;
    for (int begin = 0, end; begin < app->n_rungs; begin = end) {
        bool any = false;
        for (end = begin; end < app->n_rungs && rt_ladder_first(app->ladder, end) == begin; end++)
            any = any || job->out[end].rung;
        if (any)
            print_table(job, begin, end);
    }
    print_remarks(job);
}

/* Of the problem, which the seed has a part in even where the app says no more. Collective. */
static void digest_inputs(const rt_run_t *run, const void *problem, char hex[RT_SHA256_DIGITS + 1])
{
    rt_digest_t digest;
    rt_digest_begin(&digest);
    rt_digest_text(&digest, "program", run->app->name);
    rt_digest_int(&digest, "seed", run->opt.seed);
    if (run->app->digest)
        run->app->digest(problem, &digest);
    rt_digest_end(&digest, hex);
}

/* --digest */
static void print_digest(const rt_run_t *run)
{
    char hex[RT_SHA256_DIGITS + 1];
    void *problem = run->app->problem_new(run);
    digest_inputs(run, problem, hex);
    run->app->problem_destroy(problem);
    if (is_root())
        printf("%s\n", hex);
}

static void report_inputs(const job_t *job)
{
    char hex[RT_SHA256_DIGITS + 1];
    const rt_options_t *opt = &job->run->opt;
    if (!opt->json && !opt->nonce)
        return;
    digest_inputs(job->run, job->problem, hex);
    if (job->root)
        rt_json_text(job->root, "inputs_digest", hex);
    if (is_root() && opt->nonce && !opt->quiet)
        printf("inputs        nonce '%s', seed %lld, digest %s\n", opt->nonce, (long long)opt->seed,
               hex);
}

static rt_status_t run_job(rt_run_t *run, json_t *root)
{
    const rt_app_t *app = run->app;
    job_t job = {.run = run, .root = root, .valid = true};
    bool *chosen = calloc((size_t)app->n_rungs, sizeof *chosen);
    job.out = calloc((size_t)app->n_rungs, sizeof *job.out);
    job.row = calloc((size_t)app->n_rungs, sizeof *job.row);
    RT_EXPECT(chosen && job.out && job.row, RT_MEMORY, "no memory for %d rungs", app->n_rungs);
    if (root) {
        job.rungs = rt_json_array(root, "rungs");
        job.absent = rt_json_array(root, "absent");
    }
    if (choose_rungs(&job, chosen) == 0)
        rt_refuse(RT_MEMORY, "no rung can run this problem here: see the reasons above");
    if (run->opt.seconds > 0)
        measure_ceilings(&job, job.before, "before");
    rt_mem_reset_high_water();
    job.problem = app->problem_new(run);
    report_inputs(&job);
    for (int i = 0; i < app->n_rungs; i++)
        if (chosen[i]) {
            run_one(&job, i);
            rt_mem_reset_high_water();
        }
    app->problem_destroy(job.problem);
    if (run->opt.seconds > 0)
        measure_ceilings(&job, job.after, "after");
    for (int i = 0; i < app->n_rungs; i++)
        if (chosen[i])
            finish_rung(&job, i);
    if (is_root() && run->opt.seconds > 0)
        print_tables(&job);
    if (is_root() && run->opt.ladder && !run->opt.quiet && app->compare)
        app->compare(run, job.out, stdout);
    free(chosen);
    free(job.out);
    free(job.row);
    return job.valid ? RT_OK : RT_INVALID;
}

/* --- the report --- */

static void json_environment(json_t *root, const rt_run_t *run)
{
    char now[32], value[256];
    time_t t = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    rt_json_int(root, "schema", 1);
    rt_json_text(root, "program", run->app->name);
    rt_json_text(root, "version", rt_version());
    rt_json_text(root, "date", now);
    rt_json_text(root, "compiler", RT_CC_ID);
    rt_json_text(root, "flags", RT_CFLAGS);
    rt_json_text(root, "mpi", rt_comm_library());
    rt_json_text(root, "host", rt_comm_host());
    rt_json_text(root, "kokkos", rt_kokkos_version());
    rt_json_text(root, "kokkos_backend", rt_kokkos_backend());
    rt_json_int(root, "ranks", rt_comm_size());
    const rt_cpu_t *cpu = rt_device_cpu();
    rt_json_text(root, "cpu", cpu->model);
    rt_json_int(root, "threads", cpu->threads);
    const rt_gpu_t *gpu = rt_device_gpu();
    rt_json_text(root, "gpu", gpu ? gpu->name : "");
    rt_json_int(root, "gpu_driver", gpu ? gpu->driver : 0);
    rt_json_text(root, "nonce", run->opt.nonce ? run->opt.nonce : "");
    rt_json_int(root, "seed", run->opt.seed);
    json_t *options = rt_json_object(root, "options");
    for (int i = 0; i < run->app->n_options; i++) {
        rt_opt_value(&run->app->options[i], run->config, value, sizeof value);
        rt_json_text(options, run->app->options[i].name, value);
    }
    rt_json_int(options, "seed", run->opt.seed);
}

/* --list: what else there is to say on a rung. */
static void list_more(const void *app, const rt_rung_t *rung, FILE *out)
{
    const rt_app_t *a = app;
    const char *note = a->note ? a->note(rung) : NULL;
    int count = 0;
    const rt_parameter_t *parameter = a->parameters ? a->parameters(rung, &count) : NULL;
    if (note)
        fprintf(out, "%-20s %s\n", "", note);
    for (int p = 0; p < count; p++) {
        fprintf(out, "%-20s %s:", "", parameter[p].name);
        for (int v = 0; parameter[p].values[v]; v++)
            fprintf(out, "%s %s%s", v ? "," : "", parameter[p].values[v],
                    v == parameter[p].initial ? " (default)" : "");
        fprintf(out, "; %s\n", parameter[p].about);
    }
}

static rt_status_t report(rt_run_t *run, json_t *root, rt_status_t status)
{
    if (!is_root())
        return status;
    const char *verdict = status == RT_OK ? "VALID" : "INVALID";
    bool written = true;
    if (root) {
        rt_json_text(root, "verdict", verdict);
        const char *nonce = run->opt.nonce ? run->opt.nonce : "";
        written = rt_report_write(run->opt.json, root, nonce) == 0;
        json_decref(root);
    }
    printf("\n%s: %s%s\n", run->app->name, verdict, written ? "" : ", but --json was not written");
    return written ? status : RT_ENVIRONMENT;
}

static void start_devices(const rt_run_t *run, const char *program)
{
    rt_device_select(run->opt.device, run->opt.share_device, (int)run->opt.threads);
    const rt_gpu_t *gpu = rt_device_gpu();
    rt_kokkos_start(rt_device_cpu()->threads, gpu ? gpu->ordinal : -1);
    if (gpu && rt_comm_size() > 1 &&
        (strcmp(run->opt.transport, "auto") == 0 || strcmp(run->opt.transport, "gpu-aware") == 0))
        rt_gpu_aware_probe(program);
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

static rt_status_t run_program(rt_run_t *run)
{
    json_t *root = NULL;
    rt_tuning_read(run);
    configure(run);
    if (run->opt.digest) {
        print_digest(run);
        return RT_OK;
    }
    if (is_root() && !run->opt.quiet)
        print_header(run);
    if (!run->opt.quiet)
        rt_device_print(stdout);
    if (is_root()) /* that something is wrong with a file is said in any case */
        rt_tuning_print(run, run->opt.quiet ? stderr : stdout);
    if (run->opt.json && is_root()) {
        root = json_object();
        json_environment(root, run);
    }
    rt_status_t tuned = run->opt.tune ? rt_tune_search(run, root) : RT_OK;
    rt_status_t status = run->opt.roofline ? rt_study_roofline(run, root) : run_job(run, root);
    return report(run, root, status == RT_OK ? tuned : status);
}

int rt_app_main(const rt_app_t *app, int argc, char **argv)
{
    rt_status_t status = RT_OK;
    rt_run_t run = {.app = app};
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_error_set_program(app->name);
    if (argc == 2 && strcmp(argv[1], "--probe-gpu-aware") == 0)
        return rt_gpu_aware_main();
    rt_comm_init(&argc, &argv);
    run.config = calloc(1, app->config_size);
    RT_EXPECT(run.config, RT_MEMORY, "no memory for the options");
    rt_tuning_new(&run);
    rt_run_option_sets(&run, sets);
    rt_opt_parse(sets, RT_OPTION_SETS, argc, argv);
    run.opt.tune = run.opt.tune || rt_opt_given(sets, RT_OPTION_SETS, "tune-seconds");
    run.opt.quiet = run.opt.quiet || run.opt.digest;
    take_nonce(&run, sets);
    if (run.opt.help) {
        if (is_root())
            rt_opt_help(stdout, app->name, app->purpose, sets, RT_OPTION_SETS);
    } else if (run.opt.version) {
        if (is_root())
            print_version(app);
    } else {
        check_options(&run);
        start_devices(&run, argv[0]);
        if (!run.opt.list)
            status = run_program(&run);
        else if (is_root())
            rt_ladder_print(app->ladder, app->n_rungs, list_more, app, stdout);
        rt_kokkos_finish();
        rt_device_release();
    }
    rt_tuning_destroy(&run);
    free(run.config);
    rt_comm_finish();
    return (int)status;
}
