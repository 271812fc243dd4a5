/*
 * convergence.c - how fast the sweeps converge on this problem.
 *
 * It runs the rung cpu-simd on a problem that is complete, so it is above problem.c and solve.c.
 */
#include "config.h"
#include "mcpi.h"
#include <string.h>

static double residual_now(const mcpi_solver_t *s)
{
    const mcpi_part_t *part = s->problem->part;
    double *dq = RT_NEW(double, (size_t)((part->rows + part->ghosts) * s->view.nb), RT_HOST);
    mcpi_get_dq(s, dq);
    const double residual = mcpi_residual(s->problem->matrix, s->problem->matrix->R, dq);
    RT_FREE(dq, RT_HOST);
    return residual;
}

/* Sums a hash of vertex, component and bits over all values. */
uint64_t mcpi_fingerprint(const mcpi_solver_t *s)
{
    const mcpi_problem_t *p = s->problem;
    const int64_t nb = s->view.nb, rows = s->view.rows;
    double *dq = RT_NEW(double, (size_t)((rows + s->view.ghosts) * nb), RT_HOST);
    mcpi_get_dq(s, dq);
    const uint64_t mask = (UINT64_C(1) << 48) - 1; /* 2^15 ranks may be added up */
    uint64_t sum = 0;
    for (int64_t k = 0; k < rows * nb; k++) {
        uint64_t bits;
        memcpy(&bits, &dq[k], sizeof bits);
        const int64_t vertex = p->part->vertex[k / nb];
        sum += rt_hash((uint64_t)(vertex * nb + k % nb), bits);
    }
    RT_FREE(dq, RT_HOST);
    int64_t all = (int64_t)(sum & mask);
    rt_comm_sum_i64(&all, 1);
    return (uint64_t)all & mask;
}

/* Samples the residual at doubling numbers of sweeps, from 0 to those of a solve. */
static void find_history(mcpi_problem_t *p)
{
    mcpi_convergence_t *c = &p->convergence;
    const int64_t most = p->config->sweeps;
    const size_t values = (size_t)((p->part->rows + p->part->ghosts) * p->nb);
    mcpi_solver_t *s = mcpi_solver_new(p, mcpi_cpu_rung());
    rt_fill(s->dq, s->space, 0, values * mcpi_type_size(s->view.dq_type));
    c->samples = 0;
    for (int64_t done = 0, next = 0; c->samples < MCPI_SAMPLES && done < most;) {
        mcpi_sweeps(s, next - done);
        done = next;
        c->sweep[c->samples] = done;
        c->residual[c->samples++] = residual_now(s);
        next = next ? 2 * next : 1;
        if (next > most || c->samples == MCPI_SAMPLES - 1)
            next = most;
    }
    c->fingerprint = mcpi_fingerprint(s);
    mcpi_solver_destroy(s);
}

static void print(const mcpi_problem_t *p)
{
    const mcpi_convergence_t *c = &p->convergence;
    printf("residual      |R - A dQ| / |R| ");
    for (int i = 0; i < c->samples; i++)
        printf("%s%lld: %.3g", i ? ", " : "after sweep ", (long long)c->sweep[i], c->residual[i]);
    printf("; dQ is %012llx\n", (unsigned long long)c->fingerprint);
    fflush(stdout);
}

void mcpi_convergence_find(mcpi_problem_t *p)
{
    const rt_options_t *opt = &p->run->opt;
    if (!opt->quiet || opt->json)
        find_history(p);
    if (rt_comm_rank() == 0 && !opt->quiet)
        print(p);
}
