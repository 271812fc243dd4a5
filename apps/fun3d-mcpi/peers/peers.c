/*
 * peers.c - times each peer that is in this build alternately with cpu-simd, and says whether it
 * agrees.
 *
 * The rungs of the ladder have been timed and their problem is gone, so the system is made again
 * here, in FP64, and there is room for a peer's copy of O. A peer on the CPU has one core, and so
 * has cpu-simd in this comparison. They alternate window by window, because two figures taken
 * minutes apart on a shared machine say little about each other.
 */
#include "config.h"
#include <math.h>
#include "base/threads.h"
#include "base/stats.h"
#include "peers.h"

enum { MOST_WINDOWS = 64, PRODUCTS = 15 };

static const mcpi_peer_t *const peers[] = {
#if RT_HAVE_PETSC
    &mcpi_peer_petsc,
#endif
#if RT_HAVE_CUSPARSE
    &mcpi_peer_cusparse,
#endif
    NULL};

/* The whole comparison. */
typedef struct {
    const rt_run_t *run, *fp64; /* as the user asked, and in FP64 */
    const rt_outcome_t *outcomes;
    mcpi_problem_t *p;       /* FP64 */
    double *x, *want, *have; /* [rows][nb] */
    rt_table_t *table;
    FILE *out;
} comparison_t;

/* One of our solvers and its seconds per unit in each window. */
typedef struct {
    char name[64];
    double bytes; /* of a unit */
    double seconds[MOST_WINDOWS], median;
    mcpi_config_t config;
    mcpi_problem_t problem; /* the FP64 one, with another system */
    mcpi_solver_t *solver;
} runner_t;

/* --- our side --- */

/* Makes cpu-simd on the problem's matrix with these types. */
static void runner_begin(runner_t *r, const comparison_t *c, const mcpi_config_t *types)
{
    mcpi_problem_t *p = c->p;
    r->config = *p->config;
    r->config.offdiagonal = types->offdiagonal;
    r->config.dq = types->dq;
    r->config.accumulate = types->accumulate;
    r->problem = *p;
    r->problem.config = &r->config;
    if (types->offdiagonal != MCPI_FP64) {
        char why[256];
        r->problem.system =
            mcpi_system_new(p->matrix, (mcpi_type_t)types->offdiagonal, why, sizeof why);
        RT_EXPECT(r->problem.system, RT_INVALID, "%s", why); /* the ladder had it */
    }
    rt_run_t mine = *c->fp64;
    rt_work_t work;
    mine.config = &r->config;
    mcpi_work(&mine, mcpi_cpu_rung(), &work);
    r->bytes = work.bytes;
    snprintf(r->name, sizeof r->name, "cpu-simd, %s/%s/%s, one core",
             mcpi_type_names[types->offdiagonal], mcpi_type_names[types->dq],
             mcpi_type_names[types->accumulate]);
    r->solver = mcpi_solver_new(&r->problem, mcpi_cpu_rung());
}

static void runner_end(runner_t *r, const mcpi_problem_t *p)
{
    mcpi_solver_destroy(r->solver);
    if (r->problem.system != p->system)
        mcpi_system_destroy(r->problem.system);
}

static double solve_seconds(runner_t *r)
{
    const double begun = rt_clock();
    mcpi_solve(r->solver);
    return rt_clock() - begun;
}

/* --- the comparison --- */

/* Computes want = O x, with O and x rounded to FP32. */
static void product(const comparison_t *c)
{
    const mcpi_matrix_t *m = c->p->matrix;
    const int nb = m->nb;
    for (int64_t row = 0; row < m->part->rows; row++)
        for (int i = 0; i < nb; i++) {
            double sum = 0;
            for (int64_t k = m->part->start[row]; k < m->part->start[row + 1]; k++)
                for (int j = 0; j < nb; j++)
                    sum += (double)(float)m->O[(k * nb + j) * nb + i] *
                           (double)(float)c->x[(int64_t)m->part->column[k] * nb + j];
            c->want[row * nb + i] = sum;
        }
}

/* Returns the largest |have - want| / |want| over the components of a block, which differ in
 * size. */
static double difference(const comparison_t *c)
{
    const int nb = c->p->nb;
    double worst = 0;
    for (int i = 0; i < nb; i++) {
        double error = 0, size = 0;
        for (int64_t row = 0; row < c->p->part->rows; row++) {
            const double want = c->want[row * nb + i], d = c->have[row * nb + i] - want;
            error += d * d;
            size += want * want;
        }
        const double ratio = sqrt(error / size);
        if (!(ratio <= worst)) /* a NaN stays */
            worst = ratio;
    }
    return worst;
}

static void cells(rt_table_t *t, double seconds, double bytes)
{
    rt_table_cell(t, "%.1f", 1e6 * seconds);
    rt_table_cell(t, "%.1f", 1e-9 * bytes / seconds);
}

/* Returns the ladder's best rung of a kind, with its own threads or GPU. */
static const rt_outcome_t *best_of(const comparison_t *c, rt_kind_t kind)
{
    const rt_outcome_t *best = NULL;
    for (int i = 0; i < MCPI_RUNGS; i++) {
        const rt_outcome_t *o = &c->outcomes[i];
        if (o->rung && o->rung->kind == kind && o->verdict.valid && o->seconds_per_unit > 0 &&
            (!best || o->seconds_per_unit < best->seconds_per_unit))
            best = o;
    }
    return best;
}

static void peer_cells(const comparison_t *c, const mcpi_peer_t *peer, double seconds, double bytes,
                       double differs)
{
    rt_table_cell(c->table, "%s", peer->name);
    rt_table_cell(c->table, "%s", peer->job);
    cells(c->table, seconds, bytes);
    rt_table_cell(c->table, "%.1e", differs);
    rt_table_cell(c->table, "%s", differs <= peer->allowed ? "agrees" : "DISAGREES");
}

static void ladder_row(const comparison_t *c, const mcpi_peer_t *peer, double seconds)
{
    const rt_outcome_t *best = best_of(c, peer->kind);
    if (!best)
        return;
    for (int i = 0; i < 6; i++)
        rt_table_cell(c->table, "%s", "");
    rt_table_cell(c->table, "%s of the ladder above", best->rung->name);
    cells(c->table, best->seconds_per_unit, best->work.bytes);
    rt_table_cell(c->table, "%.2f", seconds / best->seconds_per_unit);
    rt_table_row(c->table);
}

static double product_bytes(const mcpi_problem_t *p)
{
    const double N = (double)p->counts.rows, B = (double)p->counts.blocks, nb = (double)p->nb;
    return sizeof(float) * nb * nb * B + sizeof(int32_t) * (B + N) + 2 * sizeof(float) * nb * N;
}

static void compare_product(comparison_t *c, const mcpi_peer_t *peer, void *state)
{
    const int windows = (int)c->run->opt.windows;
    double seconds[MOST_WINDOWS];
    peer->run(state, PRODUCTS);
    for (int i = 0; i < windows; i++)
        seconds[i] = peer->run(state, PRODUCTS) / PRODUCTS;
    peer->result(state, c->have);
    product(c);
    const double middle = rt_median(seconds, windows);
    peer_cells(c, peer, middle, product_bytes(c->p), difference(c));
    rt_table_row(c->table);
    ladder_row(c, peer, middle);
}

/* Times windows of the peer and of each of ours, alternately. */
static double alternate(const comparison_t *c, const mcpi_peer_t *peer, void *state, runner_t *ours,
                        int n)
{
    const int windows = (int)c->run->opt.windows;
    const double sweeps = (double)c->p->config->sweeps;
    double peers_own[MOST_WINDOWS], one = peer->run(state, c->p->config->sweeps);
    one = peer->run(state, c->p->config->sweeps);
    for (int r = 0; r < n; r++)
        mcpi_solve(ours[r].solver);
    const int solves = (int)fmax(1, ceil(c->run->opt.seconds / windows / fmax(one, 1e-9)));
    for (int i = 0; i < windows; i++) {
        peers_own[i] = 0;
        for (int k = 0; k < solves; k++)
            peers_own[i] += peer->run(state, c->p->config->sweeps) / solves / sweeps;
        for (int r = 0; r < n; r++) {
            ours[r].seconds[i] = 0;
            for (int k = 0; k < solves; k++)
                ours[r].seconds[i] += solve_seconds(&ours[r]) / solves / sweeps;
        }
    }
    for (int r = 0; r < n; r++)
        ours[r].median = rt_median(ours[r].seconds, windows);
    return rt_median(peers_own, windows);
}

static void compare_sweeps(comparison_t *c, const mcpi_peer_t *peer, void *state)
{
    const mcpi_config_t *config = c->run->config;
    runner_t *ours = RT_NEW(runner_t, 2, RT_HOST);
    int n = 0;
    runner_begin(&ours[n++], c, c->p->config);
    if (config->offdiagonal != MCPI_FP64 || config->dq != MCPI_FP64 ||
        config->accumulate != MCPI_FP64)
        runner_begin(&ours[n++], c, config);
    rt_threads_set(1);
    const double seconds = alternate(c, peer, state, ours, n);
    rt_threads_set(rt_device_cpu()->threads);
    peer->result(state, c->have);
    mcpi_get_dq(ours[0].solver, c->want);

    peer_cells(c, peer, seconds, ours[0].bytes, difference(c));
    for (int r = 0; r < n; r++) {
        for (int i = 0; r > 0 && i < 6; i++)
            rt_table_cell(c->table, "%s", "");
        rt_table_cell(c->table, "%s", ours[r].name);
        cells(c->table, ours[r].median, ours[r].bytes);
        rt_table_cell(c->table, "%.2f", seconds / ours[r].median);
        rt_table_row(c->table);
    }
    ladder_row(c, peer, seconds);
    while (n > 0)
        runner_end(&ours[--n], c->p);
    RT_FREE(ours, RT_HOST);
}

static void not_run(const comparison_t *c, const mcpi_peer_t *peer, const char *why)
{
    fprintf(c->out, "not run       %s: %s\n", peer->name, why);
}

/* Compares what the peer needs in addition to the problem with what is free. */
static bool fits(const comparison_t *c, const mcpi_peer_t *peer)
{
    const mcpi_config_t config = mcpi_counted(c->fp64);
    double bytes[RT_SPACES] = {0};
    peer->memory(&config, bytes);
    if (peer->sweeps) { /* and ours with its own system, which is no larger than the FP64 one */
        double ours[RT_SPACES] = {0};
        mcpi_memory(c->fp64, mcpi_cpu_rung(), ours);
        bytes[RT_HOST] += ours[RT_HOST] / 2;
    }
    for (int s = 0; s < RT_SPACES; s++)
        if (bytes[s] > 0 && bytes[s] > (double)rt_mem_available((rt_space_t)s)) {
            char a[32], b[32];
            rt_text_t why;
            rt_text(&why, "it needs %s more %s memory, and %s are free; use a smaller problem",
                    rt_mem_format(bytes[s], a, sizeof a), rt_space_name((rt_space_t)s),
                    rt_mem_format((double)rt_mem_available((rt_space_t)s), b, sizeof b));
            not_run(c, peer, why.text);
            return false;
        }
    return true;
}

static void compare_peer(comparison_t *c, const mcpi_peer_t *peer)
{
    rt_text_t why;
    if (!fits(c, peer))
        return;
    void *state = peer->begin(c->p, c->x, &why);
    if (!state) {
        not_run(c, peer, why.text);
        return;
    }
    (peer->sweeps ? compare_sweeps : compare_product)(c, peer, state);
    peer->end(state);
}

/* Returns why no peer can run, or NULL. */
static const char *obstacle(const rt_run_t *fp64, rt_text_t *why)
{
    char a[32], b[32];
    double bytes[RT_SPACES];
    if (rt_comm_size() > 1)
        return "they are for one rank";
    mcpi_memory(fp64, mcpi_cpu_rung(), bytes);
    const double have = (double)rt_mem_available(RT_HOST);
    if (bytes[RT_HOST] > have)
        return rt_text(why, "the system in fp64 needs %s of host memory, and %s are free",
                       rt_mem_format(bytes[RT_HOST], a, sizeof a),
                       rt_mem_format(have, b, sizeof b));
    return fp64->opt.seconds > 0 ? NULL : "nothing is timed with --seconds 0";
}

void mcpi_peers_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    if (!peers[0] || !mcpi_wants_sweeps(run))
        return;
    mcpi_config_t config = *(const mcpi_config_t *)run->config;
    config.offdiagonal = config.dq = config.accumulate = MCPI_FP64;
    rt_run_t fp64 = *run;
    fp64.config = &config;
    fp64.opt.quiet = true;
    rt_text_t text;
    const char *why = obstacle(&fp64, &text);
    if (why) {
        fprintf(out, "\npeers: not run, %s\n", why);
        return;
    }
    comparison_t c = {.run = run, .fp64 = &fp64, .outcomes = outcomes, .out = out};
    fprintf(out,
            "\npeers, alternating with ours where both have one core; GB/s: a sweep's bytes by "
            "the same count, a product's by its own\n\n");
    fflush(out);
    fp64.input = mcpi_input_new(&fp64);
    c.p = mcpi_problem_new(&fp64, fp64.input);
    const size_t n = (size_t)(c.p->part->rows * c.p->nb);
    c.x = RT_NEW(double, n, RT_HOST);
    c.want = RT_NEW(double, n, RT_HOST);
    c.have = RT_NEW(double, n, RT_HOST);
    for (size_t i = 0; i < n; i++)
        c.x[i] = 2 * rt_random(i, (uint64_t)run->opt.seed) - 1;
    c.table = rt_table_new("<peer|<unit|us|GB/s|differs by|<|<compared with|us|GB/s|peer / ours");
    for (int i = 0; peers[i]; i++)
        compare_peer(&c, peers[i]);
    rt_table_print(c.table, out);
    rt_table_destroy(c.table);
    RT_FREE(c.have, RT_HOST);
    RT_FREE(c.want, RT_HOST);
    RT_FREE(c.x, RT_HOST);
    mcpi_problem_destroy(c.p);
    mcpi_input_destroy(fp64.input);
}
