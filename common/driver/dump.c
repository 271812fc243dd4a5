/* driver/dump.c - --dump: the arrays of the solve that is judged, and how the run was made. */
#include "config.h"
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"

void rt_dump_check(const rt_run_t *run)
{
    const rt_options_t *opt = &run->opt;
    rt_text_t why;
    if (opt->dump_anyway && !opt->dump)
        rt_refuse(RT_USAGE, "--dump-anyway: give --dump too");
    if (!opt->dump)
        return;
    if (!rt_app_extras(run->app)->dump)
        rt_refuse(RT_USAGE, "--dump: %s has no arrays to write", run->app->name);
    if (opt->ladder || opt->roofline || opt->dry_run)
        rt_refuse(RT_USAGE, "--dump is of a solve by one rung: leave --ladder, --roofline and "
                            "--dry-run out");
    if (rt_comm_size() > 1)
        rt_refuse(RT_USAGE, "--dump: its arrays are those of one rank, and %d run; start one",
                  rt_comm_size());
    if (!rt_dump_probe(opt->dump, &why))
        rt_refuse(RT_USAGE, "--dump: cannot fill '%.400s': %s", opt->dump, why.text);
}

void rt_dump_arrays(const rt_run_t *run, const void *solver, const char *folder, rt_dump_t *dump)
{
    char bytes[16];
    rt_dump_begin(dump, folder);
    rt_app_extras(run->app)->dump(solver, dump);
    if (!folder && dump->bytes > 0x1p30 && !run->opt.dump_anyway)
        rt_refuse(RT_USAGE,
                  "--dump: %s is more than 1 GiB; make the problem smaller, or add "
                  "--dump-anyway",
                  rt_mem_format(dump->bytes, bytes, sizeof bytes));
}

void rt_dump_index(const rt_run_t *run, const rt_outcome_t *out, rt_dump_t *dump)
{
    rt_json_environment(dump->index, run);
    rt_json_text(dump->index, "schema", "rooftop dump 1");
    rt_json_text(dump->index, "rung", out->rung->name);
    rt_json_bool(dump->index, "valid", out->verdict.valid);
    rt_dump_end(dump);
}
