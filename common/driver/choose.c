/* driver/choose.c - which rungs run, and why others do not. */
#include "config.h"
#include <stdlib.h>
#include "base/progress.h"
#include "base/text.h"
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"

/* Returns NULL, or why the rung cannot run; then *status is that of a refusal. First the reasons
 * that hold on any machine, then those of this machine. */
static const char *find_obstacle(const rt_run_t *run, const rt_rung_t *rung, rt_text_t *why,
                                 rt_status_t *status)
{
    *status = RT_USAGE;
    const char *refusal = rt_rung_refuse(rung, run->config, why);
    if (refusal)
        return refusal;
    *status = RT_ENVIRONMENT;
    refusal = rt_rung_why_not(rung);
    if (refusal)
        return refusal;
    *status = RT_USAGE;
    rt_text_t choice, need;
    refusal = rt_tuning_obstacle(run, rung, &choice);
    if (refusal)
        return rt_text(why, "cannot follow --choose %.400s", refusal);
    *status = RT_MEMORY;
    if (rt_memory_fits(run, rung, &need))
        return NULL;
    return rt_text(why, "needs more memory per rank than there is: %.400s", need.text);
}

const char *rt_run_obstacle(const rt_run_t *run, const rt_rung_t *rung, bool fatal, rt_text_t *why)
{
    rt_status_t status;
    const char *obstacle = find_obstacle(run, rung, why, &status);
    if (!obstacle || !fatal)
        return obstacle;
    if (status == RT_MEMORY)
        rt_refuse(status, "%s %s; use a smaller problem or more ranks", rung->name, obstacle);
    rt_refuse(status, "--rung %s cannot run %s: %s", rung->name,
              status == RT_USAGE ? "this problem" : "here", obstacle);
}

void rt_run_able(const rt_run_t *run, bool *able)
{
    rt_text_t why;
    for (int i = 0; i < run->app->n_rungs; i++)
        able[i] = !rt_run_obstacle(run, &run->app->ladder[i], false, &why);
}

void rt_run_read(rt_run_t *run)
{
    rt_text_t why;
    bool any = false;
    for (int i = 0; i < run->app->n_rungs && !any; i++)
        any = rt_run_wants(run, &run->app->ladder[i]) &&
              !rt_run_obstacle(run, &run->app->ladder[i], false, &why);
    if (!any)
        return;
    rt_progress("reading or making the input");
    rt_input_new(run);
    rt_tuning_resolve(run); /* the input knows the counts that a choice is made for */
}

/* Fills in the kinds of rungs, the fastest processor first. Kokkos comes before the CPU where it
 * reaches a GPU, such as one of another make. */
enum { KINDS = 4 };
static void kinds_by_speed(rt_kind_t order[KINDS])
{
    const bool gpu = rt_kind_on_gpu(RT_KOKKOS);
    order[0] = RT_CUDA;
    order[1] = gpu ? RT_KOKKOS : RT_CPU;
    order[2] = gpu ? RT_CPU : RT_KOKKOS;
    order[3] = RT_OPENACC;
}

/* Returns the first rung that is able of those that the app names for this kind, or NULL. */
static const rt_rung_t *suggested_rung(const rt_run_t *run, rt_kind_t kind, const bool *able,
                                       rt_text_t *why)
{
    const rt_app_t *app = run->app;
    const rt_extras_t *extras = rt_app_extras(app);
    const char *const *names = extras->default_rungs ? extras->default_rungs(run, kind, why) : NULL;
    for (; names && *names; names++) {
        const rt_rung_t *rung = rt_app_rung(app, *names);
        if (rung && rung->kind == kind && able[rung - app->ladder])
            return rung;
    }
    rt_text(why, "%s", "");
    return NULL;
}

const rt_rung_t *rt_run_default_rung(const rt_run_t *run, const bool *able, rt_text_t *why)
{
    const rt_app_t *app = run->app;
    rt_kind_t order[KINDS];
    kinds_by_speed(order);
    rt_text(why, "%s", "");
    for (int k = 0; k < KINDS; k++) {
        const rt_rung_t *rung = suggested_rung(run, order[k], able, why);
        if (rung)
            return rung;
        for (int i = app->n_rungs - 1; i >= 0; i--)
            if (app->ladder[i].kind == order[k] && able[i])
                return &app->ladder[i];
    }
    return &app->ladder[0]; /* so that it is refused with its reason */
}

/* Returns the one rung to run, and prints why unless the user asked for it. */
static const rt_rung_t *the_rung(const rt_run_t *run, bool *able)
{
    rt_text_t why;
    if (run->opt.rung)
        return rt_run_asked(run);
    rt_run_able(run, able);
    const rt_rung_t *fallback = rt_run_default_rung(run, able, &why);
    const rt_rung_t *rung = rt_tuning_fastest(run, able, fallback);
    if (rung == fallback && *why.text && rt_comm_rank() == 0 && !run->opt.quiet)
        printf("default       %s for %s\n", rung->name, why.text);
    return rung;
}

/* Why rungs do not run: a reason for each rung, "" if it runs, and the kinds of all. */
typedef struct {
    rt_text_t *why;          /* [n_rungs] */
    bool any[RT_MEMORY + 1]; /* by the status of a refusal */
} reasons_t;

/* Prints each reason once, after all its rungs. */
static void print_reasons(const rt_run_t *run, const reasons_t *reasons)
{
    rt_text_t names;
    for (int i = 0; i < run->app->n_rungs; i++)
        if (rt_ladder_reason(run->app->ladder, run->app->n_rungs, reasons->why, i, &names))
            printf("not run       %s: %s\n", names.text, reasons->why[i].text);
}

static void report_absent(const rt_job_t *job, const rt_rung_t *rung, const char *why)
{
    if (!job->absent)
        return;
    json_t *row = rt_json_append_object(job->absent);
    rt_json_text(row, "name", rung->name);
    rt_json_text(row, "kind", rt_kind_name(rung->kind));
    rt_json_text(row, "why", why);
}

/* Returns whether the rung runs; notes why not, or the most memory that one needs. */
static bool consider(const rt_job_t *job, const rt_rung_t *rung, reasons_t *reasons,
                     const rt_rung_t **largest)
{
    const rt_run_t *run = job->run;
    rt_text_t text;
    rt_status_t status;
    double bytes[RT_SPACES], most[RT_SPACES];
    const char *why = find_obstacle(run, rung, &text, &status);
    if (why) {
        reasons->any[status] = true;
        rt_text(&reasons->why[rung - run->app->ladder], "%s", why);
        report_absent(job, rung, why);
        return false;
    }
    run->app->memory(run, rung, bytes);
    if (*largest)
        run->app->memory(run, *largest, most);
    if (!*largest || bytes[RT_HOST] + bytes[RT_DEVICE] > most[RT_HOST] + most[RT_DEVICE])
        *largest = rung;
    return true;
}

/* Prints what the rung will need. Collective. */
static void print_need(const rt_run_t *run, const rt_rung_t *rung, const char *most)
{
    rt_text_t need;
    rt_memory_fits(run, rung, &need);
    if (rt_comm_rank() == 0 && !run->opt.quiet)
        printf("memory        %s will need%s: %s\n", rung->name, most, need.text);
}

/* Prints the reasons, and what the run will need: of a ladder the most, in a dry run all. */
static void announce(const rt_job_t *job, const reasons_t *reasons, const rt_rung_t *largest)
{
    const rt_run_t *run = job->run;
    if (rt_comm_rank() == 0)
        print_reasons(run, reasons);
    for (int i = 0; i < run->app->n_rungs; i++)
        if (job->chosen[i] && (run->opt.dry_run || &run->app->ladder[i] == largest))
            print_need(run, &run->app->ladder[i],
                       run->opt.ladder && !run->opt.dry_run ? " the most" : "");
}

/* Refuses a ladder of which nothing can run, with the status of the most telling reason. */
RT_NORETURN static void refuse_all(const reasons_t *reasons)
{
    rt_refuse(reasons->any[RT_MEMORY]        ? RT_MEMORY
              : reasons->any[RT_ENVIRONMENT] ? RT_ENVIRONMENT
                                             : RT_USAGE,
              "no rung can run this problem here: see the reasons above");
}

int rt_job_choose(rt_job_t *job)
{
    int count = 0;
    const rt_run_t *run = job->run;
    const rt_rung_t *only = run->opt.ladder ? NULL : the_rung(run, job->chosen), *largest = NULL;
    reasons_t reasons = {.why = calloc((size_t)run->app->n_rungs, sizeof *reasons.why)};
    rt_text_t why;
    RT_EXPECT(reasons.why, RT_MEMORY, "no memory for %d rungs", run->app->n_rungs);
    if (only)
        rt_run_obstacle(run, only, true, &why);
    for (int i = 0; i < run->app->n_rungs; i++) {
        const rt_rung_t *rung = &run->app->ladder[i];
        const bool wanted = only ? only == rung : rt_rung_is_on(rung, run->opt.only);
        job->chosen[i] = wanted && consider(job, rung, &reasons, &largest);
        if (!job->chosen[i])
            continue;
        job->used[rt_rung_processor(rung)] = true;
        count++;
    }
    announce(job, &reasons, largest);
    if (!largest)
        refuse_all(&reasons);
    free(reasons.why);
    return count;
}

int rt_job_list(const rt_run_t *run, const rt_rung_t **list)
{
    const rt_app_t *app = run->app;
    rt_text_t why;
    rt_kind_t order[KINDS];
    int n = 0;
    kinds_by_speed(order);
    for (int k = 0; k < KINDS; k++)
        for (int i = app->n_rungs - 1; i >= 0; i--) {
            const rt_rung_t *rung = &app->ladder[i];
            if (rung->kind == order[k] && rt_run_wants(run, rung) &&
                !rt_run_obstacle(run, rung, run->opt.rung != NULL, &why))
                list[n++] = rung;
        }
    return n;
}
