/*
 * peers.c - times each peer that is in this build, beside the fastest rung of its kind on the ladder, and
 * says whether it is right.
 *
 * The rungs have been timed and their problem is gone, so the system is made again here, in FP64, and
 * there is room for a peer's copy of O.
 */
#include "config.h"
#include <math.h>
#include "peers.h"

static const mcpi_peer_t *const peers[] = {
#if RT_HAVE_CUSPARSE
    &mcpi_peer_cusparse,
#endif
    NULL};

/* The whole comparison. */
typedef struct {
    const rt_run_t *run; /* in FP64 */
    const rt_outcome_t *outcomes;
    mcpi_problem_t *p;
    double *want, *have; /* [rows][nb] */
} comparison_t;

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
        if (worst - worst == 0 && !(ratio <= worst)) /* a NaN stays */
            worst = ratio;
    }
    return worst;
}

/* Returns the least seconds per unit. */
static double least_seconds(const comparison_t *c, const mcpi_peer_t *peer, void *state)
{
    const int64_t units = c->p->config->sweeps;
    double least = INFINITY;
    for (int k = 0; k < c->run->opt.windows; k++) {
        const double begun = rt_clock();
        peer->run(state, units);
        rt_device_synchronize();
        least = fmin(least, (rt_clock() - begun) / (double)units);
    }
    return least;
}

/* Returns the fastest rung of that kind on the ladder, with its own types, threads or GPU; NULL: there
 * is none. */
static const rt_outcome_t *best_rung(const comparison_t *c, rt_kind_t kind)
{
    const rt_outcome_t *best = NULL;
    for (int i = 0; i < mcpi_app.n_rungs; i++) {
        const rt_outcome_t *o = &c->outcomes[i];
        if (o->rung && o->rung->kind == kind && o->verdict.valid && o->seconds_per_unit > 0 &&
            (!best || o->seconds_per_unit < best->seconds_per_unit))
            best = o;
    }
    return best;
}

static void compare_peer(const comparison_t *c, const mcpi_peer_t *peer, FILE *out)
{
    rt_text_t why;
    const rt_outcome_t *best = best_rung(c, peer->kind);
    void *state = peer->begin(c->p, &why);
    if (!state) {
        fprintf(out, "not run       %s: %s\n", peer->name, why.text);
        return;
    }
    const double seconds = least_seconds(c, peer, state);
    const double ours = best ? best->seconds_per_unit : NAN;
    peer->result(state, c->have);
    peer->want(c->p, c->want);
    const double differs = difference(c);
    fprintf(out, "%-16s %-22s %9.1f %7.1f   %-20s %9.1f %12.2f   %.1e %s\n", peer->name, peer->job,
            1e6 * seconds, 1e-9 * peer->bytes(c->p) / seconds, best ? best->rung->name : "-",
            1e6 * ours, seconds / ours, differs, differs <= peer->allowed ? "agrees" : "DISAGREES");
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
    const double need = 1.5 * bytes[RT_HOST], have = (double)rt_mem_available(RT_HOST);
    if (need > have)
        return rt_text(
            why, "the system in fp64 and a peer's copy need %s of host memory, and %s are free",
            rt_mem_format(need, a, sizeof a), rt_mem_format(have, b, sizeof b));
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
    comparison_t c = {.run = &fp64, .outcomes = outcomes};
    fprintf(out,
            "\npeers, beside the ladder's best; GB/s: by the peer's own bytes\n\n"
            "%-16s %-22s %9s %7s   %-20s %9s %12s   %s\n",
            "peer", "unit", "us", "GB/s", "compared with", "us", "peer / ours", "differs by");
    fflush(out);
    fp64.input = mcpi_input_new(&fp64);
    c.p = mcpi_problem_new(&fp64, fp64.input);
    const size_t n = (size_t)(c.p->part->rows * c.p->nb);
    c.want = RT_NEW(double, n, RT_HOST);
    c.have = RT_NEW(double, n, RT_HOST);
    for (int i = 0; peers[i]; i++)
        compare_peer(&c, peers[i], out);
    RT_FREE_ALL(RT_HOST, c.have, c.want);
    mcpi_problem_destroy(c.p);
    mcpi_input_destroy(fp64.input);
}
