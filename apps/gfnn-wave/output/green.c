/*
 * green.c - --green: Green's function of a node, its expansion by the network, and how far apart
 * they are.
 *
 * Green's function g_l is the answer to a unit force along l at the node: column l of A^-1. The
 * network expands it as row l of P there, which is kernels times the node's coefficients, and 0
 * beyond the reach: the rows of P are fitted to those of A^-1, and A is symmetric. Errors are of the
 * three directions together, over |g|, in L2 and in the norm of energy, |d|^2 = d . A d.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "apps/gfnn-wave/gfnn.h"
#include "apps/gfnn-wave/judge/judge.h"

/* Rows of the table: nodes at a distance of 0, 1 .. reach (its largest component), and others. */
enum { WITHIN = GFNN_MAX_ND + 1, OUTSIDE, ALL, ENERGY, ROWS };
enum { NODES, OF_G, OF_D, SUMS }; /* squares of g and of d = g - h */
typedef struct {
    double sum[ROWS][SUMS], most[ROWS + 1]; /* |d|; the last: |g| */
} errors_t;

/* --- a column of A^-1, a row of P --- */

int64_t gfnn_green(gfnn_solver_t *s, const int64_t node[3], int l, double *g)
{
    const gfnn_grid_t *fine = &s->problem->box.fine;
    const int64_t at = gfnn_own_node(&s->problem->box, fine, node);
    rt_fill(s->f, RT_HOST, 0, 3 * (size_t)fine->plane * sizeof *s->f);
    if (at >= 0)
        s->f[l * fine->plane + at] = 1;
    const int64_t iterations = gfnn_cg(s);
    rt_copy(g, RT_HOST, s->x, RT_HOST, 3 * (size_t)fine->plane * sizeof *g);
    return iterations;
}

/* Returns P's entry for row l of a node with coefficients c, and component j of the node at a tap of
 * the stencil, which is `away` from it. */
static double entry(const gfnn_network_t *network, const double *c, int64_t tap, int l, int j,
                    const int64_t away[3])
{
    const int64_t taps = gfnn_stencil(network->reach);
    const float *K = network->K + (3 * l + j) * taps + tap;
    double sum = 0;
    for (int m = 0; m < network->kernels && network->form == GFNN_GFM; m++)
        sum += c[m] * (double)K[9 * m * taps];
    if (network->form == GFNN_GFM)
        return sum;
    c += l == j ? 0 : 4;
    for (int d = 0; d < 3; d++)
        sum += c[1 + d] * (double)away[d] / network->reach;
    return (double)K[0] * (c[0] + sum);
}

void gfnn_expansion(const gfnn_solver_t *s, const int64_t node[3], int l, double *h)
{
    const gfnn_network_t *network = &s->network;
    const gfnn_box_t *box = &s->problem->box;
    const int64_t nd = network->reach, W = 2 * nd + 1, own = gfnn_own_node(box, &box->bare, node);
    double c[GFNN_MAX_COEF];
    for (int q = 0; q < network->coefs; q++)
        c[q] = own >= 0 ? (double)network->c[q * box->bare.plane + own] : 0;
    rt_comm_sum(c, network->coefs);
    rt_fill(h, RT_HOST, 0, 3 * (size_t)box->fine.plane * sizeof *h);
    for (int64_t tap = 0; tap < gfnn_stencil(nd); tap++) {
        const int64_t away[3] = {tap % W - nd, tap / W % W - nd, tap / W / W - nd};
        const int64_t to[3] = {node[0] + away[0], node[1] + away[1], node[2] + away[2]};
        const int64_t at = gfnn_own_node(box, &box->fine, to);
        for (int j = 0; j < 3 && at >= 0; j++)
            h[j * box->fine.plane + at] += entry(network, c, tap, l, j, away);
    }
}

/* --- errors --- */

/* Returns x . A x. */
static double energy(gfnn_solver_t *s, double *x)
{
    gfnn_apply(s, &s->problem->step.A, x, s->q);
    return gfnn_judge_dot(&s->problem->box.fine, x, s->q);
}

/* Adds g and d = g - h of one force. */
static void measure(gfnn_solver_t *s, const int64_t center[3], double *g, double *d, errors_t *e)
{
    const gfnn_box_t *box = &s->problem->box;
    const gfnn_grid_t *fine = &box->fine;
    for (int64_t node = 0; node < fine->n[0] * fine->n[1] * fine->n[2]; node++) {
        const int64_t i = node % fine->n[0], j = node / fine->n[0] % fine->n[1],
                      k = node / fine->n[0] / fine->n[1];
        const int64_t from = gfnn_distance(box, i, j, k, center);
        const bool reached = from <= s->network.reach;
        const int64_t rows[3] = {ALL, reached ? WITHIN : OUTSIDE, from};
        for (int r = 0; r < (reached ? 3 : 2); r++) {
            double *const sum = e->sum[rows[r]], *const most = &e->most[rows[r]];
            sum[NODES]++;
            for (int c = 0; c < 3; c++) {
                const int64_t at = c * fine->plane + gfnn_at(fine, i, j, k);
                sum[OF_G] += g[at] * g[at];
                sum[OF_D] += d[at] * d[at];
                *most = fmax(*most, fabs(d[at]));
                e->most[ROWS] = fmax(e->most[ROWS], fabs(g[at]));
            }
        }
    }
    e->sum[ENERGY][OF_G] += energy(s, g) / rt_comm_size();
    e->sum[ENERGY][OF_D] += energy(s, d) / rt_comm_size();
}

static void print(const errors_t *e, int reach)
{
    static const char *const names[] = {"within the reach", "outside", "all", "all, in energy"};
    rt_table_t *t = rt_table_new("<distance|nodes|Green's function %|lacks %|at most %");
    for (int i = 0; i < ROWS; i++) {
        const double *sum = e->sum[i], all = e->sum[i == ENERGY ? ENERGY : ALL][OF_G];
        if (i > reach && i < WITHIN)
            continue;
        if (i < WITHIN)
            rt_table_cell(t, "%d", i);
        else
            rt_table_cell(t, "%s", names[i - WITHIN]);
        rt_table_cell(t, i == ENERGY ? "-" : "%.0f", sum[NODES] / 3);
        rt_table_cell(t, "%.2f", 100 * sqrt(sum[OF_G] / all));
        rt_table_cell(t, "%.2f", 100 * sqrt(sum[OF_D] / all));
        rt_table_cell(t, i == ENERGY ? "-" : "%.2f", 100 * e->most[i] / e->most[ROWS]);
        rt_table_row(t);
    }
    rt_table_print(t, stdout);
    rt_table_destroy(t);
}

/* --- the answer --- */

bool gfnn_answer(rt_run_t *run, rt_verdict_t *verdict)
{
    static const char *const names[] = {"green", "expansion", "difference", NULL};
    const gfnn_config_t *config = run->config;
    const int64_t *const node = config->green;
    long long iterations = 0;
    errors_t e = {.most = {0}};
    if (node[0] < 0)
        return false;
    uint64_t seed = rt_hash((uint64_t)run->opt.seed, (uint64_t)(rt_clock() * 1e9));
    rt_comm_bcast(&seed, sizeof seed, 0);
    gfnn_problem_t *p = rt_problem_new(run);
    gfnn_solver_t *s = gfnn_solver_new(p, rt_app_rung(run->app, "solve-simd"));
    gfnn_bench_t b = {s, p, &p->box, verdict, seed, {{NULL}, 0}};
    double *g = gfnn_judge_scratch(&b.scratch, &p->box.fine),
           *h = gfnn_judge_scratch(&b.scratch, &p->box.fine),
           *d = gfnn_judge_scratch(&b.scratch, &p->box.fine);
    for (int l = 0; l < 3; l++) {
        iterations += gfnn_green(s, node, l, g);
        gfnn_expansion(s, node, l, h);
        gfnn_verify_green(&b, node, l, g, h);
        for (int64_t i = 0; i < 3 * p->box.fine.plane; i++)
            d[i] = g[i] - h[i];
        measure(s, node, g, d, &e);
    }
    rt_comm_sum(e.sum[0], ROWS * SUMS);
    rt_comm_max(e.most, ROWS + 1);
    if (rt_comm_rank() == 0) {
        printf(
            "\nGreen's functions of node %lldx%lldx%lld, in %lld iterations, and what expansions "
            "by %s lack\n\n",
            (long long)node[0], (long long)node[1], (long long)node[2], iterations, config->form);
        print(&e, s->network.reach);
        printf("\n");
    }
    if (run->opt.picture)
        gfnn_write_vti(p, names, (const double *[]){g, h, d}, node, run->opt.picture);
    gfnn_judge_release(&b.scratch, 0);
    gfnn_solver_destroy(s);
    rt_problem_destroy(run, p);
    return true;
}
