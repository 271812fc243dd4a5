/*
 * oracle.c - the reference's dQ, and how much a rung may differ from it.
 *
 * One update. The reference works in FP64 over the same rounded O, so what O is stored in costs
 * nothing here. A component of dr is R less nb L products, with L blocks in the row. With unit
 * roundoff u of the sums: dQ is rounded to u where it is stored in a wider type (1), each product
 * is rounded (1), and it goes through at most nb L sums, as does R, which is rounded to u on its
 * way from FP64 (1). These are nb L + 2 roundings of every term; with nb in place of 2,
 *
 *     e = nb (L + 1) u |D^-1| (|R| + |O| |dQ|)
 *
 * is a bound whatever the order of the sum, and the same with eps holds for the reference. The
 * triangular solves are always FP64. They put D in place of L and U with an error of at most
 * 2 nb eps |L| |U| (Higham, theorem 9.4), here and in the reference; together 4 nb eps |D^-1| |L|
 * |U| |dQ|, which is added. The rounding of the stored dQ is no error of the sum. It is subtracted
 * first, because an honest rung uses all of it, and so it says nothing.
 *
 * Sweeps. Errors feed each other through -D^-1 O, whose magnitudes may grow where the sweeps
 * themselves converge, so a componentwise recursion would be a useless bound. What the sweeps make
 * of errors is therefore measured: the reference runs twice more, with an error of up to the full e
 * of the last sweep in every update, the same in every sweep, as roundings are once dQ no longer
 * moves. One run has random signs, the other one sign for all rows, which lasts longest. The bound
 * is the larger effect, in units of e, and the largest of a row and its neighbours (a single row
 * may have been lucky), times mcpi_sample. Honest roundings are a random walk of nb L steps and
 * come to a thirtieth of e; mcpi_sample allows for regions where they have one sign.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge.h"

enum { RANDOM_SIGN = 1, ONE_SIGN = 2 }; /* disturbances of the reference */
enum { DISTURBANCE_SEED = 7 };

void mcpi_check_ghosts(const mcpi_problem_t *p, int nb, const double *x, const char *name,
                       rt_verdict_t *verdict)
{
    const size_t all = (size_t)((p->part->rows + p->part->ghosts) * nb);
    double *owners = rt_clone(x, all, sizeof *x, RT_HOST);
    mcpi_halo_copy(p->halo, p->part->colours, -1, nb, owners);
    double differ = memcmp(x, owners, all * sizeof *x) != 0;
    rt_comm_max(&differ, 1);
    rt_verdict_true(verdict, name, differ == 0);
    RT_FREE(owners, RT_HOST);
}

/* Replaces |D^-1| (|R| + |O| |dQ|) by e, of rows first .. last - 1, for unit roundoff u. */
static void allowance(const mcpi_bench_t *t, int64_t first, int64_t last, double u,
                      const double *dq, double *e)
{
    const int nb = t->nb;
#pragma omp parallel for schedule(static)
    for (int64_t i = first; i < last; i++) {
        const double *LU = t->system->LU + i * nb * nb, *x = dq + i * nb;
        const double steps = (double)(nb * (t->part->start[i + 1] - t->part->start[i] + 1));
        double y[MCPI_MAX_NB] = {0}, z[MCPI_MAX_NB] = {0};
        for (int k = 0; k < nb; k++) { /* y = |U| |x|, z = |L| y */
            y[k] = fabs(x[k] / LU[k * nb + k]);
            for (int j = k + 1; j < nb; j++)
                y[k] += fabs(LU[j * nb + k] * x[j]);
            z[k] = y[k];
            for (int j = 0; j < k; j++)
                z[k] += fabs(LU[j * nb + k]) * y[j];
        }
        mcpi_through_inverse(nb, LU, z, y);
        for (int k = 0; k < nb; k++) /* steps: the rung's roundings, and the reference's own */
            e[i * nb + k] = e[i * nb + k] * steps * (u + RT_EPS) + 4 * nb * RT_EPS * y[k];
    }
}

void mcpi_oracle_colour(const mcpi_bench_t *t, const double *R, int colour, double u, double *dq,
                        double *e)
{
    const int64_t first = t->part->colour_start[colour], last = t->part->colour_start[colour + 1];
    mcpi_reference_rows(t->system, R, first, last, dq, e);
    if (e)
        allowance(t, first, last, u, dq, e);
}

void mcpi_oracle_sweeps(const mcpi_bench_t *t, const double *R, int64_t sweeps, int disturbed,
                        double *dq)
{
    const int nb = t->nb;
    const int64_t *start = t->part->colour_start;
    rt_fill(dq, RT_HOST, 0, t->all * sizeof *dq);
    for (int64_t k = 0; k < sweeps; k++) {
        for (int c = 0; c < t->part->colours; c++) {
            mcpi_oracle_colour(t, R, c, 0, dq, NULL);
            const int64_t end = disturbed ? nb * start[c + 1] : 0;
#pragma omp parallel for schedule(static) if (disturbed)
            for (int64_t v = nb * start[c]; v < end; v++) {
                const int64_t row = disturbed == RANDOM_SIGN ? t->part->global[v / nb] : 0;
                dq[v] += t->e[v] * rt_random((uint64_t)(row * nb + v % nb), DISTURBANCE_SEED);
            }
            mcpi_halo_copy(t->p->halo, t->part->colours, c, nb, dq);
        }
    }
}

/* Computes t->e of dQ as it is after all sweeps; uses t->put. */
static void last_e(const mcpi_bench_t *t, const double *R, const double *dq)
{
    rt_copy(t->put, RT_HOST, dq, RT_HOST, t->all * sizeof *dq);
    for (int c = 0; c < t->part->colours; c++)
        mcpi_oracle_colour(t, R, c, mcpi_larger_unit(t), t->put, t->e);
}

double mcpi_error(const double *got, const double *want, const double *e, int64_t first,
                  int64_t last, double u)
{
    double most = 0;
    for (int64_t v = first; v < last; v++) {
        if (!rt_finite(got[v]) || !rt_finite(want[v]))
            return INFINITY;
        const double stored = u > RT_EPS ? u * fabs(want[v]) + 0x1p-126 : 0;
        const double d = fabs(got[v] - want[v]) - stored;
        if (d > 0)
            most = fmax(most, e[v] > 0 ? d / e[v] : INFINITY);
    }
    return most;
}

void mcpi_measure_spread(const mcpi_bench_t *t, const double *R, int64_t sweeps, const double *dq)
{
    const int nb = t->nb;
    const int64_t rows = t->part->rows;
    double *own = RT_NEW(double, (size_t)rows, RT_HOST);
    last_e(t, R, dq);
    for (int disturbed = RANDOM_SIGN; disturbed <= ONE_SIGN; disturbed++) {
        mcpi_oracle_sweeps(t, R, sweeps, disturbed, t->got);
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            const double d = mcpi_error(t->got, dq, t->e, nb * i, nb * (i + 1), 0);
            own[i] = disturbed == RANDOM_SIGN ? d : fmax(own[i], d);
        }
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        t->spread[i] = own[i];
        for (int64_t b = t->part->start[i]; b < t->part->start[i + 1]; b++)
            if (t->part->column[b] < rows)
                t->spread[i] = fmax(t->spread[i], own[t->part->column[b]]);
    }
    RT_FREE(own, RT_HOST);
#pragma omp parallel for schedule(static)
    for (size_t v = 0; v < t->all; v++)
        t->got[v] -= dq[v];
}

double mcpi_residual(const mcpi_matrix_t *A, const int *exponent, const double *R, double factor,
                     const double *dq)
{
    const mcpi_part_t *part = A->part;
    const int nb = A->nb;
    double rr = 0, bb = 0;
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
    for (int64_t i = 0; i < part->rows; i++) {
        double r[MCPI_MAX_NB];
        for (int k = 0; k < nb; k++) {
            const double value = ldexp(R[i * nb + k], exponent ? exponent[i] : 0);
            r[k] = factor * value;
            bb += value * value;
            for (int j = 0; j < nb; j++)
                r[k] -= A->D[(i * nb + j) * nb + k] * dq[i * nb + j];
        }
        for (int64_t b = part->start[i]; b < part->start[i + 1]; b++) {
            const double *x = dq + (int64_t)part->column[b] * nb;
            for (int j = 0; j < nb; j++)
                for (int k = 0; k < nb; k++)
                    r[k] -= A->O[(b * nb + j) * nb + k] * x[j];
        }
        for (int k = 0; k < nb; k++)
            rr += r[k] * r[k];
    }
    double sum[2] = {rr, bb};
    rt_comm_sum(sum, 2);
    return sqrt(sum[0] / sum[1]);
}

const mcpi_oracle_t *mcpi_oracle_get(const mcpi_bench_t *t, void **known)
{
    const int64_t sweeps = t->p->config->sweeps;
    const size_t rows = (size_t)t->part->rows;
    const int level = mcpi_larger_unit(t) == RT_EPS;
    mcpi_oracle_t *o = *known;
    if (!o) {
        o = rt_alloc(1, sizeof *o + (t->all + 2 * rows) * sizeof(double), RT_HOST);
        memset(o, 0, sizeof *o);
        mcpi_oracle_sweeps(t, t->R, sweeps, 0, o->data);
        o->residual = mcpi_residual(t->p->matrix, t->system->exponent, t->R, 1, o->data);
        *known = o;
    }
    double *spread = o->data + t->all + (size_t)level * rows;
    if (!o->is_known[level]) {
        mcpi_measure_spread(t, t->R, sweeps, o->data);
        memcpy(spread, t->spread, rows * sizeof *spread);
        o->residual_spread[level] =
            mcpi_residual(t->p->matrix, t->system->exponent, t->R, 0, t->got);
        o->is_known[level] = true;
    }
    memcpy(t->spread, spread, rows * sizeof *spread);
    last_e(t, t->R, o->data);
    return o;
}
