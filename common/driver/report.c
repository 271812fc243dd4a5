/* driver/report.c - the result as JSON, and the verdict. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "driver/job.h"
#include "io/files.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/kokkos.h"
#include "version.h"

extern char **environ; /* POSIX has no header for it */

static const char *const arithmetic_names[] = {
    [RT_FMA64] = "fp64", [RT_FMA32] = "fp32", [RT_MMA16] = "fp16-tensor", [RT_MIXED] = "mixed"};

void rt_json_ceilings(json_t *object, const char *key, const rt_ceilings_t *c)
{
    static const char *const rates[RT_RATES] = {"copy_bytes_per_s", "triad_bytes_per_s",
                                                "read_bytes_per_s", "update_bytes_per_s",
                                                "fma64_flop_per_s", "fma32_flop_per_s"};
    json_t *o = rt_json_object(object, key);
    rt_json_int(o, "working_set_bytes", (long long)c->working_set);
    for (int i = 0; i < RT_RATES; i++)
        rt_json_real(o, rates[i], c->rate[i]);
    rt_json_int(o, "samples", c->samples);
    rt_json_real(o, "spread", c->spread);
    rt_json_real(o, "fma_spread", c->fma_spread);
    if (c->message > 0) {
        rt_json_real(o, "latency_s", c->latency);
        rt_json_real(o, "message_bytes_per_s", c->message);
    }
    for (int i = 0; i < RT_UNITS; i++)
        if (c->unit[i] > 0)
            rt_json_real(o, rt_unit_names[i].member, c->unit[i]);
}

static void json_clocks(const rt_watch_t *watch, json_t *row)
{
    json_t *o = rt_json_object(row, "clocks");
    rt_json_real(o, "host_s", watch->host);
    if (watch->gpu > 0)
        rt_json_real(o, "gpu_s", watch->gpu);
}

/* Writes the energy of a meter in members that begin with its name; those that are not known, no. */
static void json_energy(const rt_energy_t *energy, const char *name, json_t *row)
{
    static const char *const ends[] = {"joules",        "seconds",      "samples",
                                       "samples_per_s", "lowest_watts", "highest_watts",
                                       "idle_watts"};
    const double values[] = {
        energy->joules, energy->seconds, energy->samples, energy->samples / energy->seconds,
        energy->lowest, energy->highest, energy->idle};
    rt_text_t key;
    if (!energy->source)
        return;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i] > 0)
            rt_json_real(row, rt_text(&key, "%s_%s", name, ends[i]), values[i]);
    rt_json_text(row, rt_text(&key, "%s_source", name), energy->source);
}

/* Writes what a reader needs to recompute the figure of merit, which is the credited work divided
 * by the median, and to see whether the rest of the machine agrees. */
static void json_times(const rt_outcome_t *out, json_t *row)
{
    rt_json_real(row, "credited_flop_per_unit", out->work.flops);
    json_t *windows = rt_json_array(row, "window_seconds");
    for (int i = 0; i < out->windows; i++)
        rt_json_append_real(windows, out->window_seconds[i]);
    rt_json_real(row, "warm_up_seconds", out->warm_up_seconds);
    rt_json_real(row, "timed_seconds", out->timed_seconds);
    json_clocks(&out->watch, row);
    json_t *phase = rt_json_array(row, "core_phase");
    rt_json_append_real(phase, out->energy.begin);
    rt_json_append_real(phase, out->energy.end);
    json_energy(&out->energy, "energy", row);
    json_energy(&out->meter, "meter", row);
}

static void json_disturbed(const rt_outcome_t *out, rt_grade_t grade, json_t *row)
{
    rt_text_t said[RT_UNRESTS];
    json_t *list = rt_json_array(row, "disturbed");
    const int n = grade == RT_GRADE_UNSTEADY ? rt_unrest_said(&out->unrest, said) : 0;
    for (int i = 0; i < n; i++)
        rt_json_append_text(list, said[i].text);
}

void rt_json_rung(const rt_outcome_t *out, json_t *row)
{
    rt_json_text(row, "name", out->rung->name);
    rt_json_text(row, "kind", rt_kind_name(out->rung->kind));
    rt_json_text(row, "processor", rt_kind_on_gpu(out->rung->kind) ? "gpu" : "cpu");
    rt_json_text(row, "after", out->rung->after);
    rt_json_text(row, "idea", out->rung->idea);
    const char *own = out->rung->kernels->precision;
    rt_json_text(row, "precision", *out->precision.text ? out->precision.text : own);
    const rt_grade_t grade = rt_outcome_grade(out);
    rt_json_text(row, "verdict", rt_grade_name(grade));
    json_disturbed(out, grade, row);
    json_t *checks = rt_json_array(row, "checks");
    for (int i = 0; i < out->verdict.n; i++) {
        const rt_check_t *c = &out->verdict.check[i];
        json_t *o = rt_json_append_object(checks);
        rt_json_text(o, "name", c->name);
        rt_json_bool(o, "held", c->held);
        if (c->convergence)
            rt_json_bool(o, "convergence", true);
        if (rt_finite(c->value)) /* a value that is not finite has failed, and is left out */
            rt_json_real(o, "value", c->value);
        rt_json_real(o, "bound", c->bound);
    }
    rt_json_real(row, "judge_seconds", out->judge_seconds);
    json_t *memory = rt_json_object(row, "memory_bytes");
    for (int s = 0; s < RT_SPACES; s++) {
        json_t *o = rt_json_object(memory, rt_space_name((rt_space_t)s));
        rt_json_real(o, "predicted", out->predicted[s]);
        rt_json_real(o, "high_water", out->high_water[s]);
    }
    if (out->sent.within + out->sent.between > 0) {
        json_t *sent = rt_json_object(row, "message_bytes_per_unit");
        rt_json_real(sent, "within_compute_nodes", out->sent.within);
        rt_json_real(sent, "between_compute_nodes", out->sent.between);
    }
    if (!out->verdict.valid || out->seconds_per_unit <= 0)
        return;
    const rt_work_t *work = &out->work;
    rt_json_text(row, "unit", work->unit);
    rt_json_text(row, "arithmetic", arithmetic_names[work->arithmetic]);
    rt_json_real(row, "seconds_per_unit", out->seconds_per_unit);
    rt_json_real(row, "setup_seconds", out->setup_seconds);
    rt_json_real(row, "units_per_solve", work->units);
    rt_json_real(row, "spread", out->unrest.spread);
    rt_json_int(row, "windows", out->windows);
    rt_json_int(row, "solves", out->solves);
    json_times(out, row);
    if (grade == RT_GRADE_VALID) {
        rt_json_real(row, "fom_flop_per_s", rt_outcome_fom(out, 0));
        rt_json_real(row, "fom_1_solve_flop_per_s", rt_outcome_fom(out, 1));
        rt_json_real(row, "fom_100_solves_flop_per_s", rt_outcome_fom(out, 100));
        rt_json_real(row, "points_per_s", work->points / out->seconds_per_unit);
    }
    rt_json_real(row, "touched_bytes", rt_work_touched(work) / rt_comm_size());
    if (out->again.samples > 0)
        rt_json_ceilings(row, "ceilings_again", &out->again);
    rt_json_real(row, "bytes_per_unit", rt_work_bytes(work));
    rt_json_real(row, "flop_per_unit", rt_work_flops(work));
    json_t *lines = rt_json_array(row, "work");
    for (const rt_work_line_t *line = work->line; line < work->line + work->n; line++) {
        json_t *o = rt_json_append_object(lines);
        rt_json_text(o, "kernel", line->kernel);
        rt_json_real(o, "calls", line->calls);
        rt_json_real(o, "flop", line->flops);
        rt_json_text(
            o, "arithmetic",
            arithmetic_names[work->arithmetic == RT_MIXED ? line->arithmetic : work->arithmetic]);
        rt_json_real(o, "read_bytes", line->read);
        rt_json_real(o, "written_bytes", line->written);
        rt_json_real(o, "launches", line->launches);
        rt_json_real(o, "barriers", line->barriers);
    }
}

/* Writes how the program was built. */
static void json_build(json_t *root)
{
    int n;
    const rt_build_fact_t *fact = rt_build(&n);
    json_t *build = rt_json_object(root, "build");
    for (int i = 0; i < n; i++)
        rt_json_text(build, fact[i].name, fact[i].value);
}

/* Writes the environment variables that change what a program is or does. */
static void json_variables(json_t *root)
{
    static const char *const starts[] = {"LD_",   "GLIBC_TUNABLES", "MALLOC_",  "GFNN_", "ROOFTOP_",
                                         "OMP_",  "GOMP_",          "KMP_",     "CUDA_", "KOKKOS_",
                                         "NCCL_", "UCX_",           "OPENBLAS_"};
    json_t *variables = rt_json_object(root, "variables");
    for (char **entry = environ; *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        bool known = false;
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
            known = known || strncmp(*entry, starts[i], strlen(starts[i])) == 0;
        char *name = known && equals ? strndup(*entry, (size_t)(equals - *entry)) : NULL;
        if (name)
            rt_json_text(variables, name, equals + 1);
        free(name);
    }
}

void rt_json_environment(json_t *root, const rt_run_t *run)
{
    char now[32], value[256];
    time_t t = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    rt_json_int(root, "schema", RT_SCHEMA);
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
    rt_json_int(root, "compute_nodes", rt_comm_nodes());
    const rt_cpu_t *cpu = rt_device_cpu();
    rt_json_text(root, "cpu", cpu->model);
    rt_json_int(root, "threads", cpu->threads);
    const rt_gpu_t *gpu = rt_device_gpu();
    rt_json_text(root, "gpu", gpu ? gpu->name : "");
    rt_json_int(root, "gpu_driver", gpu ? gpu->driver : 0);
    rt_json_text(root, "nonce", run->opt.nonce ? run->opt.nonce : "");
    rt_json_int(root, "seed", run->opt.seed);
    json_build(root);
    json_variables(root);
    rt_files_json(root, "files");
    json_t *options = rt_json_object(root, "options");
    for (int i = 0; i < run->app->n_options; i++) {
        rt_opt_value(&run->app->options[i], run->config, value, sizeof value);
        rt_json_text(options, run->app->options[i].name, value);
    }
    rt_json_int(options, "seed", run->opt.seed);
}

rt_status_t rt_report_end(const rt_run_t *run, json_t *root, rt_grade_t grade, rt_status_t tuned)
{
    const rt_status_t status = grade >= RT_GRADE_NOT_CONVERGED ? RT_INVALID : tuned;
    if (rt_comm_rank() != 0)
        return status;
    if (root) {
        rt_json_text(root, "verdict", rt_grade_name(grade));
        rt_report_write(run->opt.json, root);
        json_decref(root);
    }
    printf("\n%s: %s%s\n", run->app->name, rt_grade_name(grade),
           rt_all_written() ? "" : ", but not every file was written or read");
    return status;
}
