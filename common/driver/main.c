/* driver/main.c - the driver, from the command line to the exit status. */
#include "config.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/progress.h"
#include "driver/job.h"
#include "machine/comm.h"
#include "machine/shared.h"
#include "machine/kokkos.h"
#include "machine/openacc.h"

static bool is_root(void)
{
    return rt_comm_rank() == 0;
}

static void start_devices(const rt_run_t *run)
{
    rt_device_select(run->opt.device, run->opt.share_device, (int)run->opt.threads);
    const rt_gpu_t *gpu = rt_device_gpu();
    rt_kokkos_start(rt_device_cpu()->threads, gpu ? gpu->ordinal : -1);
    rt_openacc_start();
}

static rt_status_t run_program(rt_run_t *run)
{
    json_t *root = NULL;
    if (is_root() && !run->opt.quiet)
        rt_progress_start(0);
    rt_tuning_read(run);
    if (run->opt.tune) /* a file that could not be added to is refused before time is spent */
        rt_tuning_target(run);
    rt_run_choose_size(run);
    rt_run_read(run);
    if (is_root() && !run->opt.quiet)
        rt_print_header(run);
    if (!run->opt.quiet)
        rt_device_print(stdout);
    if (is_root()) /* quiet or not: a problem with the file is always reported */
        rt_tuning_print(run, run->opt.quiet ? stderr : stdout);
    if (run->opt.dry_run)
        return rt_job_dry_run(run);
    rt_verdict_t verdict;
    rt_verdict_clear(&verdict);
    if (rt_app_extras(run->app)->answer && rt_app_extras(run->app)->answer(run, &verdict)) {
        if (is_root() && !(run->opt.quiet && verdict.valid))
            rt_verdict_print(&verdict, stdout);
        return rt_report_end(run, NULL, verdict.valid ? RT_GRADE_VALID : RT_GRADE_INVALID, RT_OK);
    }
    if (run->opt.json && is_root()) {
        root = json_object();
        rt_json_environment(root, run);
    }
    const rt_status_t tuned = run->opt.tune ? rt_job_tune(run, root) : RT_OK;
    const rt_grade_t grade =
        run->opt.roofline ? rt_study_roofline(run, root) : rt_job_run(run, root);
    return rt_report_end(run, root, tuned == RT_INVALID ? RT_GRADE_INVALID : grade, tuned);
}

/* Makes the standard streams such that nothing can go wrong without a word. A closed one must not
 * become the number of a file of ours: on it every write fails. Lines come out as they are made, in
 * pipes and files too. A file that grows too large is a failed write, not a signal. */
static void prepare_streams(void)
{
    int file;
    do
        file = open("/dev/null", O_RDONLY);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0)
        close(file);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    signal(SIGXFSZ, SIG_IGN);
}

/* Returns the status of the program, which is that of the environment if an output is lacking. */
static rt_status_t end_status(rt_status_t status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        rt_unwritten(
            "standard output was not all written: see whether it is closed, or its disk full");
    return status == RT_OK && !rt_all_written() ? RT_ENVIRONMENT : status;
}

/* Prints the ladder, or all about the rung that was asked for. */
static void print_list(const rt_run_t *run)
{
    const rt_rung_t *asked = rt_run_asked(run);
    if (asked)
        rt_ladder_print(asked, 1, true, stdout);
    else
        rt_ladder_print(run->app->ladder, run->app->n_rungs, run->opt.ladder, stdout);
}

int rt_app_main(const rt_app_t *app, int argc, char **argv)
{
    rt_status_t status = RT_OK;
    rt_run_t run = {.app = app};
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_error_set_program(app->name);
    prepare_streams();
    rt_comm_init(&argc, &argv);
    run.config = calloc(1, app->config_size);
    RT_EXPECT(run.config, RT_MEMORY, "no memory for the options");
    rt_tuning_new(&run);
    rt_run_option_sets(&run, sets);
    rt_opt_parse(sets, RT_OPTION_SETS, argc, argv, rt_shared_load);
    rt_options_complete(&run);
    if (run.opt.help) {
        if (is_root())
            rt_options_help(&run, stdout);
    } else if (run.opt.version) {
        if (is_root())
            rt_print_version(app);
    } else {
        rt_options_check(&run);
        if (run.opt.size)
            rt_size_check(run.opt.size);
        start_devices(&run);
        if (!run.opt.list)
            status = run_program(&run);
        else if (is_root())
            print_list(&run);
        rt_input_destroy(&run);
        rt_openacc_finish();
        rt_kokkos_finish();
        rt_device_release();
    }
    rt_tuning_destroy(&run);
    free(run.config);
    rt_progress_stop();
    status = end_status(status);
    rt_comm_finish();
    return (int)status;
}
