/* driver/tables.c - what the user reads. */
#include "config.h"
#include <string.h>
#include "driver/job.h"
#include "base/table.h"
#include "machine/comm.h"
#include "machine/kokkos.h"
#include "measure/plausible.h"

static void print_kokkos(void)
{
    if (RT_HAVE_KOKKOS)
        printf("Kokkos        %s %s\n", rt_kokkos_version(), rt_kokkos_backend());
    else
        printf("Kokkos        not in this build\n");
}

void rt_print_version(const rt_app_t *app)
{
    printf("%s (Rooftop) %s\ncompiler      %s\nflags         %s\nMPI           %s\n", app->name,
           rt_version(), RT_CC_ID, RT_CFLAGS, rt_comm_library());
    printf("CUDA          %s\n",
           RT_HAVE_CUDA ? RT_NVCC_ID ", architectures " RT_CUDA_ARCHS : "not in this build");
    printf("BLAS          %s\n", RT_HAVE_BLAS ? RT_BLAS_NAME : "not in this build");
    printf("cuBLAS        %s\n",
           RT_HAVE_CUBLAS ? "loaded when it is chosen (dgemm on a GPU)" : "not in this build");
    print_kokkos();
}

void rt_print_header(const rt_run_t *run)
{
    printf("%s %s: %s\n", run->app->name, rt_version(), run->app->purpose);
    run->app->describe(run, stdout);
    printf("MPI           %s\n", rt_comm_library());
    if (rt_comm_nodes() > 1)
        printf(
            "              %d ranks on %d compute nodes, each with a compact part of the problem\n",
            rt_comm_size(), rt_comm_nodes());
    print_kokkos();
}

/* Prints a line of rates and one of times, or neither. */
static void print_units(const rt_ceilings_t *c)
{
    for (int times = 0; times < 2; times++) {
        const char *before = "              ";
        for (int i = 0; i < RT_UNITS; i++) {
            const double value = c->unit[i] * (times ? 1e6 : 1e-9);
            if (value > 0 && rt_unit_is_time(i) == times) {
                printf("%s%s %.*f %s", before, rt_unit_names[i].said, value < 100 ? 2 : 0, value,
                       rt_unit_names[i].in);
                before = ", ";
            }
        }
        if (*before == ',')
            printf("\n");
    }
}

void rt_print_ceilings(const rt_ceilings_t *c)
{
    char set[32];
    printf(
        "\nceilings      %s, over %s, the highest of %d samples, which differ by %.0f %% (FMA by "
        "%.0f %%):\n"
        "              copy %.1f, triad %.1f, read %.1f",
        c->kind == RT_CPU ? "CPU" : "GPU", rt_mem_format((double)c->working_set, set, sizeof set),
        c->samples, 100 * c->spread, 100 * c->fma_spread, c->rate[RT_LOOP_COPY] * 1e-9,
        c->rate[RT_LOOP_TRIAD] * 1e-9, c->rate[RT_LOOP_READ] * 1e-9);
    if (c->rate[RT_LOOP_UPDATE] > 0)
        printf(", update %.1f", c->rate[RT_LOOP_UPDATE] * 1e-9);
    printf(" GB/s; FMA FP64 %.0f, FP32 %.0f GFlop/s", c->rate[RT_RATE_FMA64] * 1e-9,
           c->rate[RT_RATE_FMA32] * 1e-9);
    if (c->message > 0)
        printf("; message %.1f us, %.2f GB/s", c->latency * 1e6, c->message * 1e-9);
    printf("\n");
    print_units(c);
}

void rt_print_memory(const rt_outcome_t *out)
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

void rt_print_traffic(const rt_outcome_t *out)
{
    char a[32], b[32];
    if (out->sent.within + out->sent.between == 0)
        return;
    printf("messages      %s per %s within compute nodes",
           rt_mem_format(out->sent.within, a, sizeof a), out->work.unit);
    if (rt_comm_nodes() > 1)
        printf(", %s between the %d", rt_mem_format(out->sent.between, b, sizeof b),
               rt_comm_nodes());
    printf(", of all ranks\n");
}

void rt_add_share(double part, double most, rt_table_t *t)
{
    if (most > 0 && part <= RT_MOST_SHARE * most)
        rt_table_cell(t, "%.1f %%", 100 * part / most);
    else
        rt_table_cell(t, "-");
}

/* Returns the seconds of a rung that is VALID, 0 if it is not or was not timed. */
static double valid_seconds(const rt_outcome_t *out)
{
    return out->rung && rt_outcome_grade(out) == RT_GRADE_VALID ? out->seconds_per_unit : 0;
}

/* Adds the cells with the figures of merit of a rung, and all that follows from its time. */
static void add_figures(const rt_job_t *job, const rt_outcome_t *out, rt_table_t *t)
{
    const rt_app_t *app = job->run->app;
    const rt_work_t *work = &out->work;
    const double s = out->seconds_per_unit, rank_seconds = s * rt_comm_size();
    const double bytes = rt_work_bytes(work), flops = rt_work_flops(work);
    for (int solves = 0; solves <= 100; solves = solves ? 100 * solves : 1)
        rt_table_cell(t, "%.2f", rt_outcome_fom(out, solves) * 1e-9);
    rt_table_cell(t, "%.3g", out->setup_seconds);
    rt_table_cell(t, "%.1f", work->points / s * 1e-6);
    rt_table_cell(t, "%.1f", bytes / s * 1e-9);
    rt_add_share(bytes / rank_seconds, rt_bandwidth_ceiling(&out->ceilings), t);
    rt_table_cell(t, "%.2f", flops / s * 1e-9);
    rt_add_share(flops / rank_seconds, rt_arithmetic_ceiling(&out->ceilings, work->arithmetic), t);
    const rt_rung_t *after = rt_app_rung(app, out->rung->after);
    const double before = after ? valid_seconds(&job->out[after - app->ladder]) : 0;
    if (before > 0)
        rt_table_cell(t, "%.2fx", before / s);
    else
        rt_table_cell(t, "-");
}

/* Returns what the table says of a rung that has one thread, however many the CPU rungs have. */
static const char *serial(const rt_rung_t *rung)
{
    const bool kokkos = rung->kind == RT_KOKKOS && strcmp(rt_kokkos_backend(), "Serial") == 0;
    return kokkos ? ", 1 thread (Serial)" : "";
}

/* Prints the table of the ladder that has rungs begin .. end - 1. */
static void print_table(const rt_job_t *job, int begin, int end)
{
    enum { FIGURES = 10 };
    const rt_app_t *app = job->run->app;
    const char *name = app->ladder[begin].ladder;
    rt_work_t first; /* for the names, which all its rungs share */
    rt_text_t columns;
    app->work(job->run, &app->ladder[begin], &first);
    rt_table_t *t = rt_table_new(rt_text(
        &columns,
        "<rung|<device|us per unit|spread|FOM GFlop/s|1 solve|100 solves|set-up s|M%s/s|GB/s|of bandwidth|GFlop/s|of FMA|"
        "speed-up|<over|<verdict",
        first.point));
    for (int i = begin; i < end; i++) {
        const rt_outcome_t *out = &job->out[i];
        if (!out->rung)
            continue;
        rt_table_cell(t, "%s", out->rung->name);
        rt_table_cell(t, "%s%s", rt_kind_name(out->rung->kind), serial(out->rung));
        const bool timed = out->verdict.valid && out->seconds_per_unit > 0;
        rt_table_cell(t, timed ? "%.2f" : "-", out->seconds_per_unit * 1e6);
        rt_table_cell(t, timed && out->windows > 1 ? "%.1f %%" : "-", 100 * out->unrest.spread);
        if (valid_seconds(out) > 0)
            add_figures(job, out, t);
        else
            for (int cell = 0; cell < FIGURES; cell++)
                rt_table_cell(t, "-");
        rt_table_cell(t, "%s", out->rung->after);
        rt_table_cell(t, "%s", rt_grade_name(rt_outcome_grade(out)));
        rt_table_row(t);
    }
    if (name)
        printf("\nLadder %s", name);
    printf(
        "\nOne unit is one %s. FOM counts the work that every rung is credited with, without and\n"
        "with set-up: over 1 and 100 solves, of %.6g units each. GB/s and GFlop/s count what the\n"
        "rung does; their shares are of the measured ceilings.\n\n",
        first.unit, first.units);
    rt_table_print(t, stdout);
    rt_table_destroy(t);
}

/* Says why rungs are UNSTEADY, and so have no figures. */
static void print_unsteady(const rt_job_t *job)
{
    bool any = false;
    for (int i = 0; i < job->run->app->n_rungs; i++) {
        const rt_outcome_t *out = &job->out[i];
        rt_text_t said[RT_UNRESTS];
        if (!out->rung || rt_outcome_grade(out) != RT_GRADE_UNSTEADY)
            continue;
        const int n = rt_unrest_said(&out->unrest, said);
        for (int k = 0; k < n; k++)
            printf("%s%s%s",
                   k     ? "; "
                   : any ? "unsteady      "
                         : "\nunsteady      ",
                   k ? "" : rt_text(&(rt_text_t){""}, "%s: ", out->rung->name), said[k].text);
        printf("\n");
        any = true;
    }
    if (any)
        printf("              these have no figure of merit: use a quiet machine, or longer "
               "windows (--window)\n");
}

static void print_energy(const rt_rung_t *rung, const rt_energy_t *energy)
{
    rt_text_t idle;
    if (energy->source)
        printf("energy        %s: %.3g J in %.3g s, %.3g W (%s)%s\n", rung->name, energy->joules,
               energy->seconds, energy->joules / energy->seconds, energy->source,
               energy->idle > 0 ? rt_text(&idle, ", idle %.3g W", energy->idle) : "");
}

/* Prints the remarks below the tables: unsteady rungs, and the energy if there is a meter. */
static void print_remarks(const rt_job_t *job)
{
    print_unsteady(job);
    for (int i = 0; i < job->run->app->n_rungs; i++) {
        const rt_outcome_t *out = &job->out[i];
        if (out->rung && out->verdict.valid) {
            print_energy(out->rung, &out->energy);
            print_energy(out->rung, &out->meter);
        }
    }
}

void rt_print_tables(const rt_job_t *job)
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
