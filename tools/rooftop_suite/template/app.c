/* app.c - jacobi as the driver sees it: options, sizes, the ladder and the table of hooks. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "jacobi.h"

enum { MOST = 2000, STEP = 8 };

#define CONFIG jacobi_config_t
static const rt_opt_t options[] = {
    RT_INT(CONFIG, n, "n", "N", "64", 4, MOST, "points along each edge of the cube"),
    RT_INT(CONFIG, iterations, "iterations", "N", "100", 1, 1e6, "sweeps per solve"),
};

static void configure(rt_run_t *run)
{
    jacobi_config_t *config = run->config;
    const int64_t rank = rt_comm_rank(), size = rt_comm_size();
    if (config->n < size)
        rt_refuse(RT_USAGE, "--n %lld: fewer layers than the %lld ranks; use more points",
                  (long long)config->n, (long long)size);
    config->first = config->n * rank / size;
    config->layers = config->n * (rank + 1) / size - config->first;
}

static bool extents(rt_run_t *run, int64_t scale)
{
    jacobi_config_t *config = run->config;
    if (scale > MOST / STEP)
        return false;
    config->n = scale * STEP > rt_comm_size() ? scale * STEP : rt_comm_size();
    configure(run);
    return true;
}

static void describe(const rt_run_t *run, FILE *out)
{
    const jacobi_config_t *config = run->config;
    fprintf(out, "problem       %lld sweeps over %lld^3 points\n", (long long)config->iterations,
            (long long)config->n);
}

/* The problem is the run: what follows from it is made where a rung wants it. */
static void *problem_new(const rt_run_t *run, void *input)
{
    (void)input;
    return (void *)run;
}

static void problem_destroy(void *problem)
{
    (void)problem;
}

/* b follows from these and the seed. */
static void digest(const void *problem, rt_digest_t *out)
{
    const jacobi_config_t *config = ((const rt_run_t *)problem)->config;
    rt_digest_int(out, "n", config->n);
    rt_digest_int(out, "iterations", config->iterations);
}

#define RUNG(name, kind, after, table, idea) extern const jacobi_kernels_t table;
#include "ladder.def"
#undef RUNG
#define RUNG RT_RUNG
static const rt_rung_t ladder[] = {
#include "ladder.def"
};
#undef RUNG

const rt_app_t jacobi_app = {
    .name = "jacobi",
    .purpose = "sweeps of Jacobi's method for the Poisson equation, 7 points",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(jacobi_config_t),
    .ladder = ladder,
    .n_rungs = sizeof ladder / sizeof *ladder,
    .size_option = "n",
    .configure = configure,
    .extents = extents,
    .describe = describe,
    .memory = jacobi_memory,
    .work = jacobi_work,
    .problem_new = problem_new,
    .problem_destroy = problem_destroy,
    .digest = digest,
    .solver_new = jacobi_solver_new,
    .solver_destroy = jacobi_solver_destroy,
    .verify_before = jacobi_verify_before,
    .spoil = jacobi_spoil,
    .solve = jacobi_solve,
    .verify_after = jacobi_verify_after,
};
