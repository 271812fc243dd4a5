/*
 * driver/study.c - --roofline: the measured roofline of Karp et al., section V, and each rung's
 * share.
 *
 * For each size, every load and store of an iteration is replaced by a copy of that array within
 * the processor's memory. A copy moves each byte twice, so half its time is what the iteration
 * would take if it only moved its data. This is not a bound: copies mix reads and writes one to
 * one, and an app that moves fewer bytes than the paper counts can be faster. So the table gives
 * the bytes that a rung moves as a share of the bytes that it is credited with.
 *
 * A CPU would take many minutes for the sizes that papers chose for GPUs. There, sizes that would
 * not end within a minute are left out, and a line says so.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "driver/job.h"
#include "base/progress.h"
#include "base/table.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"

#define CPU_SECONDS 60.0 /* of the study on a CPU, unless --seconds is given */

typedef struct {
    rt_run_t *run;
    rt_table_t *table;
    json_t *rows;
    rt_grade_t grade;
    int rows_made;
} study_t;

static void add_row(study_t *study, const rt_outcome_t *out, double roofline, const char *name)
{
    const rt_work_t *work = &out->work;
    double seconds = out->seconds_per_unit, rate = work->flops / seconds;
    double moved = rt_work_bytes(work) / work->bytes;
    const rt_grade_t grade = rt_outcome_grade(out);
    const bool valid = grade < RT_GRADE_NOT_CONVERGED;
    study->grade = rt_grade_worse(study->grade, grade);
    study->rows_made++;
    rt_table_t *t = study->table;
    rt_table_cell(t, "%s", name);
    rt_table_cell(t, "%s", out->rung->name);
    if (valid) {
        rt_table_cell(t, "%.2f", seconds * 1e6);
        rt_table_cell(t, "%.0f", rate * 1e-9);
        rt_table_cell(t, "%.0f", work->flops / roofline * 1e-9);
        rt_add_share(roofline, seconds, t);
        rt_table_cell(t, "%.0f %%", 100 * moved);
        rt_add_share(roofline * moved, seconds, t);
    } else {
        for (int i = 0; i < 6; i++)
            rt_table_cell(t, "-");
    }
    rt_table_cell(t, "%s", rt_grade_name(grade));
    rt_table_row(t);
    if (!valid || !study->rows)
        return;
    json_t *row = rt_json_append_object(study->rows);
    rt_json_text(row, "case", name);
    rt_json_text(row, "rung", out->rung->name);
    rt_json_real(row, "seconds", seconds);
    rt_json_real(row, "roofline_seconds", roofline);
    rt_json_real(row, "share", roofline / seconds);
    rt_json_real(row, "share_by_bytes_moved", moved * roofline / seconds);
    rt_json_real(row, "credited_flop_per_unit", work->flops);
    rt_tuning_json(study->run, out->rung, row);
}

/* Runs all rungs of the fastest processor here, at the run's current size. */
static void study_case(study_t *study, const char *name)
{
    rt_run_t *run = study->run;
    const rt_app_t *app = run->app;
    const rt_rung_t *only = rt_run_asked(run);
    rt_text_t why;
    rt_kind_t processor = only ? rt_rung_processor(only) : rt_device_gpu() ? RT_CUDA : RT_CPU;
    void *problem = NULL;
    double roofline = 0;
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_rung_t *rung = &app->ladder[i];
        if ((only && only != rung) || rt_rung_processor(rung) != processor ||
            rt_run_obstacle(run, rung, only != NULL, &why))
            continue;
        rt_outcome_t out;
        if (!problem) {
            rt_work_t work;
            rt_progress("measuring the roofline of %s", name);
            app->work(run, rung, &work);
            roofline = rt_ceiling_replay(processor, work.loads_and_stores, work.distinct_arrays,
                                         (size_t)work.array_bytes, run->opt.seconds);
            problem = rt_problem_new(run);
        }
        if (rt_comm_rank() == 0)
            rt_tuning_print_rung(run, rung, run->opt.quiet, stdout);
        rt_run_rung(run, problem, rung, NULL, &out, NULL);
        add_row(study, &out, roofline, name);
        if (rt_comm_rank() == 0)
            rt_table_print(study->table, stdout);
        if (!out.verdict.valid && rt_comm_rank() == 0)
            rt_verdict_print(&out.verdict, stdout);
    }
    if (problem)
        rt_problem_destroy(run, problem);
}

/* Returns the table. Its first two columns are as wide as the longest names, for its rows are
 * printed as they come. */
static rt_table_t *new_table(const rt_app_t *app, const char *const *cases)
{
    rt_text_t columns;
    size_t name = 0, rung = 0;
    for (; *cases; cases++)
        name = strlen(*cases) > name ? strlen(*cases) : name;
    for (int i = 0; i < app->n_rungs; i++)
        rung = strlen(app->ladder[i].name) > rung ? strlen(app->ladder[i].name) : rung;
    return rt_table_new(rt_text(&columns,
                                "<%-*s|<%-*s|us per iteration|GFlop/s|roofline GFlop/s|share|"
                                "bytes moved / credited|share by bytes moved|<verdict",
                                (int)name, "case", (int)rung, "rung"));
}

/* Configures a case. Returns the bytes that its rungs are credited with, as time grows with them;
 * 1 for the user's own case, which may be a file that was not read yet. */
static double set_case(rt_run_t *run, const char *name, bool one)
{
    rt_work_t work;
    if (!one)
        rt_run_assign(run, name);
    rt_run_configure(run);
    if (one)
        return 1;
    run->app->work(run, &run->app->ladder[0], &work);
    return work.bytes * work.units;
}

/* Measures the cases one after the other, as many as time allows. */
static void study_cases(study_t *study, const char *const *cases, bool one)
{
    rt_run_t *run = study->run;
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    const rt_rung_t *only = rt_run_asked(run);
    const bool on_cpu = only ? rt_rung_processor(only) == RT_CPU : !rt_device_gpu();
    const bool limited = on_cpu && !one && !rt_opt_given(sets, RT_OPTION_SETS, "seconds");
    const double begin = rt_clock();
    double total_bytes = 0, rate = 0; /* seconds per byte of the last case */
    int total = 0;
    for (; cases[total]; total++)
        total_bytes += set_case(run, cases[total], one);
    for (int k = 0; k < total; k++) {
        const double bytes = set_case(run, cases[k], one), start = rt_clock();
        double spent = start - begin; /* all ranks decide by the same time */
        rt_comm_max(&spent, 1);
        if (limited && k > 0 && spent + rate * bytes > CPU_SECONDS) {
            if (rt_comm_rank() == 0)
                printf("\n%s and larger: left out, about %.0f s more; give --seconds, or one size "
                       "with --%s\n",
                       cases[k], rate * total_bytes, run->app->size_option);
            break;
        }
        rt_progress_parts("size", k, total);
        if (k > 0)
            rt_progress_share(spent / (spent + rate * total_bytes));
        rt_run_read(run);
        study_case(study, cases[k]);
        rate = (rt_clock() - start) / bytes;
        rt_comm_max(&rate, 1);
        total_bytes -= bytes;
    }
    rt_progress_parts("size", total, total);
}

rt_grade_t rt_study_roofline(rt_run_t *run, json_t *root)
{
    const rt_extras_t *extras = rt_app_extras(run->app);
    const bool one = rt_run_has_extents(run) || run->opt.size;
    static const char *const given[] = {"as given", NULL};
    const char *const *cases = one ? given : extras->roofline_cases;
    study_t study = {.run = run,
                     .table = new_table(run->app, cases),
                     .rows = root ? rt_json_array(root, "roofline") : NULL,
                     .grade = RT_GRADE_VALID};
    rt_run_assign(run, extras->roofline_settings);
    if (rt_comm_rank() == 0)
        printf("measured roofline (%s): every load and store replaced by a copy; time halved\n\n",
               extras->roofline_settings);
    study_cases(&study, cases, one);
    if (study.rows_made == 0)
        rt_refuse(RT_MEMORY,
                  "no rung can run this study here: --ladder on one of its sizes says why");
    rt_table_destroy(study.table);
    return study.grade;
}
