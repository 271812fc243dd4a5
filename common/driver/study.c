/*
 * driver/study.c - --roofline: the measured roofline of Karp et al., section V, and each rung's
 * share.
 *
 * Every load and store of an iteration is replaced by a copy of that array within
 * the processor's memory. A copy moves each byte twice, so half its time is what the iteration
 * would take if it only moved its data. This is not a bound: copies mix reads and writes one to
 * one, and an app that moves fewer bytes than the paper counts can be faster. So the table gives
 * the bytes that a rung moves as a share of the bytes that it is credited with.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "driver/job.h"
#include "base/progress.h"
#include "base/table.h"
#include "io/json.h"
#include "machine/comm.h"

typedef struct {
    rt_run_t *run;
    rt_table_t *table;
    json_t *rows;
    rt_grade_t grade;
    int rows_made;
} study_t;

static void add_row(study_t *study, const rt_outcome_t *out, double roofline)
{
    const rt_work_t *work = &out->work;
    double seconds = out->seconds_per_unit, rate = work->flops / seconds;
    double moved = rt_work_bytes(work) / work->bytes;
    const rt_grade_t grade = rt_outcome_grade(out);
    const bool valid = grade < RT_GRADE_NOT_CONVERGED;
    study->grade = rt_grade_worse(study->grade, grade);
    study->rows_made++;
    rt_table_t *t = study->table;
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
    rt_json_text(row, "rung", out->rung->name);
    rt_json_real(row, "seconds", seconds);
    rt_json_real(row, "roofline_seconds", roofline);
    rt_json_real(row, "share", roofline / seconds);
    rt_json_real(row, "share_by_bytes_moved", moved * roofline / seconds);
    rt_json_real(row, "credited_flop_per_unit", work->flops);
    rt_tuning_json(study->run, out->rung, row);
}

/* Runs all rungs of the fastest processor here. */
static void study_rungs(study_t *study)
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
            rt_progress("measuring the roofline");
            app->work(run, rung, &work);
            roofline = rt_ceiling_replay(processor, work.loads_and_stores, work.distinct_arrays,
                                         (size_t)work.array_bytes, run->opt.seconds);
            problem = rt_problem_new(run);
        }
        if (rt_comm_rank() == 0)
            rt_tuning_print_rung(run, rung, run->opt.quiet, stdout);
        rt_run_rung(run, problem, rung, NULL, &out, NULL);
        add_row(study, &out, roofline);
        if (rt_comm_rank() == 0)
            rt_table_print(study->table, stdout);
        if (!out.verdict.valid && rt_comm_rank() == 0)
            rt_verdict_print(&out.verdict, stdout);
    }
    if (problem)
        rt_problem_destroy(run, problem);
}

rt_grade_t rt_study_roofline(rt_run_t *run, json_t *root)
{
    const char *settings = rt_app_extras(run->app)->roofline_settings;
    int name = 0; /* of a rung; rows are printed as they come */
    for (int i = 0; i < run->app->n_rungs; i++)
        name = (int)fmax(name, (double)strlen(run->app->ladder[i].name));
    rt_text_t columns;
    study_t study = {
        .run = run,
        .table = rt_table_new(rt_text(&columns,
                                      "<%-*s|us per iteration|GFlop/s|roofline GFlop/s|share|"
                                      "bytes moved / credited|share by bytes moved|<verdict",
                                      name, "rung")),
        .rows = root ? rt_json_array(root, "roofline") : NULL,
        .grade = RT_GRADE_VALID};
    rt_run_assign(run, settings);
    rt_run_configure(run);
    rt_run_read(run);
    if (rt_comm_rank() == 0)
        printf("\nmeasured roofline (%s): every load and store replaced by a copy; time halved\n\n",
               settings);
    study_rungs(&study);
    if (study.rows_made == 0)
        rt_refuse(RT_MEMORY, "no rung can run this study here: --ladder says why");
    rt_table_destroy(study.table);
    return study.grade;
}
