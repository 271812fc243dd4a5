/*
 * verify.c - what a rung must show before its time counts.
 *
 * Before timing: that rows are a permutation and no two neighbours have one colour; that the system
 * is the matrix, scaled and rounded; then, on dQ and R drawn from a seed that no rung can know,
 * each colour by itself against the reference, component by component, boundary rows first, and
 * that no other row or ghost was touched; sweeps against the reference's, in one call and colour by
 * colour; the same bits twice where a rung claims it. After timing: what the last solve left
 * behind, against the reference's dQ of all sweeps (made once, and scaled: the sweeps are linear in
 * R), the rows of the last colour against the rest of dQ, the residual with the exact matrix,
 * ghosts against their owners, and how many sweeps there were.
 *
 * Bounds. The reference works in FP64 over the same rounded O, so what O is stored in costs nothing
 * here. A component of dr is R less nb L products, L blocks in the row. With unit roundoff u of the
 * sums: dQ is rounded to u where it is stored wider (1), each product is rounded (1), and goes
 * through at most nb L sums, as does R, which is rounded to u on its way from FP64 (1): some nb L +
 * 2 roundings of every term, and with nb in place of 2 the specification's
 *
 *     e = nb (L + 1) u |D^-1| (|R| + |O| |dQ|),
 *
 * whatever the order of the sum; and the same with eps for the reference. The triangular solves are
 * FP64 always: D in place of L and U with an error of at most 2 nb eps |L| |U| (Higham,
 * theorem 9.4), here and in the reference; together 4 nb eps |D^-1| |L| |U| |dQ|, which is added.
 * The rounding of the stored dQ is no error of the sum: it is taken off first, since an honest rung
 * fills it to the brim, and so says nothing.
 *
 * Over sweeps, errors feed each other through -D^-1 O, whose magnitudes may grow where the sweeps
 * themselves converge: a componentwise recursion would be a bound of no use. So what the sweeps
 * make of errors is measured: the reference twice more, with an error of up to the full e of the
 * last sweep in every update, the same in every sweep, as roundings become when dQ no longer moves;
 * once of random sign, once of one sign for all rows, which lasts longest. The larger effect, in
 * units of e, and of a row and its neighbours the largest (one of them alone may have been lucky),
 * times SAMPLE is the bound. Honest roundings are a random walk of nb L steps, and come to a
 * thirtieth of e; SAMPLE is for their being of one sign in a region. This file is compiled with
 * -fno-fast-math.
 */
#include "config.h"
#include "../mcpi.h"
#include <math.h>
#include <string.h>

static const double SAMPLE = 2;
enum { RANDOM_SIGN = 1, ONE_SIGN = 2 }; /* disturbances of the reference, 0: none */
enum { CHUNK = 64 /* rows a thread does at a time */, MOST_SWEEPS = 4 /* of a short solve */ };

/* What the reference makes of the problem's R in all sweeps; one block of memory, freed by
 * mcpi_problem_destroy. */
typedef struct {
    double residual;
    bool is_known[2];          /* for FP32 and FP64 roundings: */
    double residual_spread[2]; /* |A d| / |R|, d the effect on dQ */
    double data[];             /* dQ [rows + ghosts][nb], spread [2][rows] as in bench_t */
} oracle_t;

typedef struct {
    mcpi_solver_t *s;
    mcpi_problem_t *p;
    const mcpi_system_t *system;
    const mcpi_part_t *part;
    int nb;
    size_t values;      /* of rows */
    size_t all;         /* of rows and ghosts */
    double u_sum, u_dq; /* unit roundoffs */
    double *R;          /* [rows][nb] */
    double *put;        /* [rows + ghosts][nb] as the next three */
    double *want, *got;
    double *e;      /* [rows][nb] see the file's comment */
    double *spread; /* [rows] what sweeps make of e, in units of it */
    rt_verdict_t *verdict;
    uint64_t seed;
} bench_t;

static bench_t bench_new(mcpi_solver_t *s, uint64_t seed, rt_verdict_t *verdict)
{
    mcpi_problem_t *p = s->problem;
    bench_t t = {.s = s, .p = p, .system = p->system, .part = p->part, .nb = p->nb};
    t.values = (size_t)t.part->rows * (size_t)t.nb;
    t.all = (size_t)(t.part->rows + t.part->ghosts) * (size_t)t.nb;
    /* of what was asked for, whatever the rung does */
    const bool fp64 = s->kernels->always_fp64;
    t.u_sum = fp64 || p->config->accumulate == MCPI_FP64 ? RT_EPS : 0x1p-24;
    t.u_dq = fp64 || p->config->dq == MCPI_FP64 ? RT_EPS : 0x1p-24;
    t.R = RT_NEW(double, t.values, RT_HOST);
    t.put = RT_NEW(double, t.all, RT_HOST);
    t.want = RT_NEW(double, t.all, RT_HOST);
    t.got = RT_NEW(double, t.all, RT_HOST);
    t.e = RT_NEW(double, t.values, RT_HOST);
    t.spread = RT_NEW(double, (size_t)t.part->rows, RT_HOST);
    t.verdict = verdict;
    t.seed = seed;
    return t;
}

static void bench_destroy(bench_t *t)
{
    RT_FREE(t->R, RT_HOST);
    RT_FREE(t->put, RT_HOST);
    RT_FREE(t->want, RT_HOST);
    RT_FREE(t->got, RT_HOST);
    RT_FREE(t->e, RT_HOST);
    RT_FREE(t->spread, RT_HOST);
}

/* --- fields --- */

/* Random in (-1, 1), the same of a row on every rank that has it. */
static void draw(const bench_t *t, uint64_t seed, int64_t entries, double *x)
{
    const uint64_t nb = (uint64_t)t->nb;
    for (int64_t i = 0; i < entries; i++)
        for (uint64_t k = 0; k < nb; k++)
            x[(uint64_t)i * nb + k] = rt_random((uint64_t)t->part->global[i] * nb + k, seed);
}

/* Ghosts of a colour, or of all, of a host array. */
static void exchange(const bench_t *t, int colour, double *x)
{
    const rt_field_t field = {x, RT_F64, t->nb, t->nb, 1};
    for (int c = 0; t->p->halo && c < t->part->colours; c++)
        if (colour < 0 || c == colour)
            rt_halo_do(t->p->halo[c], RT_HALO_COPY, &field);
}

/* Are ghosts brought up to date after every colour, as was asked for? Else after every sweep. */
static bool is_current(const bench_t *t)
{
    return t->p->config->exchange == MCPI_EXCHANGE_COLOUR &&
           t->p->config->colouring == MCPI_COLOUR_GLOBAL;
}

static void put_r(const bench_t *t, const double *R)
{
    const mcpi_solver_t *s = t->s;
    if (s->kernels->own_layout)
        s->kernels->put_r(&s->view, R);
    else if (t->values > 0)
        rt_copy(s->view.R, s->space, R, RT_HOST, t->values * sizeof *R);
}

/* --- the oracle --- */

/* e of rows first .. last - 1 for unit roundoff u, from |D^-1| (|R| + |O| |dQ|), which it replaces.
 */
static void allowance(const bench_t *t, int64_t first, int64_t last, double u, const double *dq,
                      double *e)
{
    const int nb = t->nb;
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
        for (int k = 0; k < nb; k++)
            e[i * nb + k] *= steps * (u + RT_EPS); /* the rung's, and the reference's own */
        for (int j = 0; j < nb; j++) {
            double unit[MCPI_MAX_NB] = {0}, column[MCPI_MAX_NB];
            unit[j] = 1;
            mcpi_solve_block(nb, LU, unit, column);
            for (int k = 0; k < nb; k++)
                e[i * nb + k] += 4 * nb * RT_EPS * fabs(column[k]) * z[j];
        }
    }
}

/* One colour by the reference into dq; e, if not NULL, for unit roundoff u. */
static void oracle_colour(const bench_t *t, const double *R, int colour, double u, double *dq,
                          double *e)
{
    const int64_t first = t->part->colour_start[colour], last = t->part->colour_start[colour + 1];
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int64_t i = first; i < last; i += CHUNK) {
        const int64_t end = i + CHUNK < last ? i + CHUNK : last;
        mcpi_reference_rows(t->system, R, i, end, dq, e);
        if (e)
            allowance(t, i, end, u, dq, e);
    }
}

static double larger_unit(const bench_t *t)
{
    return fmax(t->u_sum, t->u_dq);
}

/* All from dQ = 0; disturbed: each update by up to t->e. */
static void oracle_sweeps(const bench_t *t, const double *R, int64_t sweeps, int disturbed,
                          double *dq)
{
    const int nb = t->nb;
    const int64_t *start = t->part->colour_start;
    memset(dq, 0, t->all * sizeof *dq);
    for (int64_t k = 0; k < sweeps; k++) {
        for (int c = 0; c < t->part->colours; c++) {
            oracle_colour(t, R, c, 0, dq, NULL);
            for (int64_t v = nb * start[c]; disturbed && v < nb * start[c + 1]; v++) {
                const int64_t row = disturbed == RANDOM_SIGN ? t->part->global[v / nb] : 0;
                dq[v] += t->e[v] * rt_random((uint64_t)(row * nb + v % nb), 7);
            }
            if (is_current(t))
                exchange(t, c, dq);
        }
        if (!is_current(t))
            exchange(t, -1, dq);
    }
}

/* t->e of dQ as it is after all sweeps; uses t->put. */
static void last_e(const bench_t *t, const double *R, const double *dq)
{
    memcpy(t->put, dq, t->all * sizeof *dq);
    for (int c = 0; c < t->part->colours; c++)
        oracle_colour(t, R, c, larger_unit(t), t->put, t->e);
}

/* |got - scale want| less what storage in a type of unit roundoff u may do, over scale e, of the
 * values first .. last - 1; u = 0: nothing is taken off. */
static double error(const double *got, const double *want, const double *e, int64_t first,
                    int64_t last, double scale, double u)
{
    double most = 0;
    for (int64_t v = first; v < last; v++) {
        if (!rt_finite(got[v]) || !rt_finite(want[v]))
            return INFINITY;
        const double stored = u > RT_EPS ? u * fabs(scale * want[v]) + 0x1p-126 : 0;
        const double d = fabs(got[v] - scale * want[v]) - stored;
        if (d > 0)
            most = fmax(most, e[v] > 0 ? d / (scale * e[v]) : INFINITY);
    }
    return most;
}

/* Largest error of all rows and ranks, storage included, over what the sweeps make of e. */
static double worst(const bench_t *t, const double *got, const double *want, double scale)
{
    const int nb = t->nb;
    double most = 0;
    for (int64_t i = 0; i < t->part->rows; i++) {
        const double d = error(got, want, t->e, nb * i, nb * (i + 1), scale, 0);
        if (d > 0) /* what blew up in the reference too shows nothing */
            most = rt_finite(t->spread[i]) ? fmax(most, d / (SAMPLE * t->spread[i])) : INFINITY;
    }
    rt_comm_max(&most, 1);
    return most;
}

/* t->spread about dq, the sweeps' result; leaves t->e of it, and the effect of the last disturbance
 * in t->got. Uses t->put. */
static void measure_spread(const bench_t *t, const double *R, int64_t sweeps, const double *dq)
{
    const int nb = t->nb;
    const int64_t rows = t->part->rows;
    double *own = RT_NEW(double, (size_t)rows, RT_HOST);
    last_e(t, R, dq);
    for (int disturbed = RANDOM_SIGN; disturbed <= ONE_SIGN; disturbed++) {
        oracle_sweeps(t, R, sweeps, disturbed, t->got);
        for (int64_t i = 0; i < rows; i++) {
            const double d = error(t->got, dq, t->e, nb * i, nb * (i + 1), 1, 0);
            own[i] = disturbed == RANDOM_SIGN ? d : fmax(own[i], d);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        t->spread[i] = own[i];
        for (int64_t b = t->part->start[i]; b < t->part->start[i + 1]; b++)
            if (t->part->column[b] < rows)
                t->spread[i] = fmax(t->spread[i], own[t->part->column[b]]);
    }
    RT_FREE(own, RT_HOST);
    for (size_t v = 0; v < t->all; v++)
        t->got[v] -= dq[v];
}

/* |factor R - A dQ| / |R| with the exact matrix, over all ranks; factor 0: |A dQ| / |R|. */
static double defect(const bench_t *t, double factor, const double *dq)
{
    const mcpi_matrix_t *A = t->p->matrix;
    const int nb = t->nb;
    double rr = 0, bb = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
#endif
    for (int64_t i = 0; i < t->part->rows; i++) {
        double r[MCPI_MAX_NB];
        for (int k = 0; k < nb; k++) {
            r[k] = factor * A->R[i * nb + k];
            bb += A->R[i * nb + k] * A->R[i * nb + k];
            for (int j = 0; j < nb; j++)
                r[k] -= A->D[(i * nb + j) * nb + k] * dq[i * nb + j];
        }
        for (int64_t b = t->part->start[i]; b < t->part->start[i + 1]; b++) {
            const double *x = dq + (int64_t)t->part->column[b] * nb;
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

/* The oracle of all sweeps; leaves t->e of it, and t->spread for this rung's roundings. */
static const oracle_t *oracle_get(const bench_t *t)
{
    const int64_t sweeps = t->p->config->sweeps;
    const double *R = t->p->system->R;
    const size_t rows = (size_t)t->part->rows;
    const int level = larger_unit(t) == RT_EPS;
    oracle_t *o = t->p->oracle;
    if (!o) {
        o = rt_alloc(1, sizeof *o + (t->all + 2 * rows) * sizeof(double), RT_HOST);
        memset(o, 0, sizeof *o);
        oracle_sweeps(t, R, sweeps, 0, o->data);
        o->residual = defect(t, 1, o->data);
        t->p->oracle = o;
    }
    double *spread = o->data + t->all + (size_t)level * rows;
    if (!o->is_known[level]) {
        measure_spread(t, R, sweeps, o->data);
        memcpy(spread, t->spread, rows * sizeof *spread);
        o->residual_spread[level] = defect(t, 0, t->got);
        o->is_known[level] = true;
    }
    memcpy(t->spread, spread, rows * sizeof *spread);
    last_e(t, R, o->data);
    return o;
}

/* --- the order of rows, and the system --- */

static int colour_of(const bench_t *t, int64_t i)
{
    const int64_t *start = i < t->part->rows ? t->part->colour_start : t->part->ghost_start;
    int c = 0;
    while (i >= start[c + 1])
        c++;
    return c;
}

/* All rows of the whole system once in `vertex`, and once on all ranks together, each within its
 * colour. */
static void check_order(const bench_t *t)
{
    const mcpi_order_t *order = t->p->order;
    const mcpi_part_t *part = t->part;
    double wrong = 0;
    for (int64_t r = 0; r < order->rows; r++)
        wrong += order->vertex[r] < 0 || order->vertex[r] >= order->rows ||
                 order->row[order->vertex[r]] != r;
    int64_t sum[2] = {0, 0}; /* of hashes: rows that are missing and twice do not cancel */
    for (int64_t i = 0; i < part->rows; i++)
        sum[0] += (int64_t)(rt_hash((uint64_t)part->global[i], 1) >> 32);
    rt_comm_sum_i64(sum, 1);
    for (int64_t r = 0; r < part->global_rows; r++)
        sum[1] += (int64_t)(rt_hash((uint64_t)r, 1) >> 32);
    wrong += sum[0] != sum[1] || part->global_rows != order->rows;
    for (int64_t i = 0; i < part->rows + part->ghosts; i++) {
        const int c = colour_of(t, i);
        wrong += part->global[i] < order->colour_start[c] ||
                 part->global[i] >= order->colour_start[c + 1];
    }
    rt_comm_max(&wrong, 1);
    rt_verdict_true(t->verdict, "order of rows: a permutation, by colours", wrong == 0);

    double edges = 0;
    const bool global = t->p->config->colouring == MCPI_COLOUR_GLOBAL;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : edges)
#endif
    for (int64_t i = 0; i < part->rows; i++)
        for (int64_t b = part->start[i]; b < part->start[i + 1]; b++)
            if (part->column[b] < part->rows || global)
                edges += colour_of(t, part->column[b]) == colour_of(t, i);
    rt_comm_max(&edges, 1);
    rt_verdict_true(t->verdict, "no two neighbours have one colour", edges == 0);
}

/* x rounded to a type of O. */
static double rounded(double x, mcpi_type_t type)
{
    switch (type) {
    case MCPI_FP32:
        return (double)(float)x;
    case MCPI_FP16:
        return mcpi_from_fp16(mcpi_to_fp16(x));
    case MCPI_BF16:
        return mcpi_from_bf16(mcpi_to_bf16(x));
    default:
        return x;
    }
}

/* |LU - D| of one block over its rounding error, sixteenfold. */
static double factor_error(int nb, const double *LU, const double *D, double scale)
{
    double most = 0;
    for (int i = 0; i < nb; i++)
        for (int j = 0; j < nb; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k <= i && k <= j; k++) {
                const double l = k == i ? 1 : LU[k * nb + i];
                const double u = k == j ? 1 / LU[j * nb + j] : LU[j * nb + k];
                sum += l * u;
                size += fabs(l * u);
            }
            const double d = fabs(sum - D[j * nb + i] * scale);
            if (!rt_finite(sum) || d > 0)
                most = fmax(most,
                            rt_finite(sum) && size > 0 ? d / (16 * nb * RT_EPS * size) : INFINITY);
        }
    return most;
}

static void check_system(const bench_t *t)
{
    const mcpi_matrix_t *A = t->p->matrix;
    const mcpi_system_t *system = t->system;
    const int nb = t->nb;
    const int64_t nb2 = (int64_t)nb * nb;
    double differ = 0, most = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : differ) reduction(max : most)
#endif
    for (int64_t i = 0; i < t->part->rows; i++) {
        const double scale = ldexp(1, -system->exponent[i]);
        for (int64_t v = t->part->start[i] * nb2; v < t->part->start[i + 1] * nb2; v++)
            differ +=
                mcpi_value(system->O, system->type, v) != rounded(A->O[v] * scale, system->type);
        for (int64_t v = i * nb; v < (i + 1) * nb; v++)
            differ += system->R[v] != A->R[v] * scale;
        most = fmax(most, factor_error(nb, system->LU + i * nb2, A->D + i * nb2, scale));
    }
    double wrong[2] = {differ + (system->type != (mcpi_type_t)t->p->config->offdiagonal), most};
    rt_comm_max(wrong, 2);
    rt_verdict_true(t->verdict, "O and R: the matrix, scaled and rounded as asked", wrong[0] == 0);
    rt_verdict_check(t->verdict, "L U = D (of its rounding bound)", wrong[1], 1);
}

/* --- one colour --- */

/* Values of got that differ in any bit from what was put, of those outside first .. last - 1. */
static bool is_untouched(const bench_t *t, int64_t first, int64_t last)
{
    const size_t nb = (size_t)t->nb, row = nb * sizeof *t->put;
    return memcmp(t->put, t->got, (size_t)first * row) == 0 &&
           memcmp(t->put + (size_t)last * nb, t->got + (size_t)last * nb,
                  t->all * sizeof *t->put - (size_t)last * row) == 0;
}

/* The rung's rows first .. last - 1, which must be t->want, into t->got. */
static double rows_error(const bench_t *t, int64_t first, int64_t last, bool *untouched)
{
    const int nb = t->nb;
    if (first == last)
        return 0;
    mcpi_put_dq(t->s, t->put);
    t->s->kernels->rows(&t->s->view, first, last, t->s->dq);
    rt_device_synchronize();
    mcpi_get_dq(t->s, t->got);
    *untouched = *untouched && is_untouched(t, first, last);
    return error(t->got, t->want, t->e, nb * first, nb * last, 1, t->u_dq);
}

static void check_colours(const bench_t *t)
{
    double most[2] = {0, 0};
    draw(t, t->seed, t->part->rows, t->R);
    put_r(t, t->R);
    for (int c = 0; c < t->part->colours; c++) {
        const int64_t *start = t->part->colour_start, middle = t->part->boundary_end[c];
        bool untouched = true;
        draw(t, rt_hash((uint64_t)c, t->seed + 1), t->part->rows + t->part->ghosts, t->put);
        for (size_t v = 0; v < t->all && t->u_dq > RT_EPS; v++)
            t->put[v] = (double)(float)t->put[v];
        memcpy(t->want, t->put, t->all * sizeof *t->want);
        oracle_colour(t, t->R, c, t->u_sum, t->want, t->e);
        most[0] = fmax(most[0], rows_error(t, start[c], middle, &untouched));
        most[0] = fmax(most[0], rows_error(t, middle, start[c + 1], &untouched));
        most[1] = fmax(most[1], !untouched);
    }
    rt_comm_max(most, 2);
    rt_verdict_check(t->verdict, "each colour = FP64 over the same O (of its rounding bound)",
                     most[0], 1);
    rt_verdict_true(t->verdict, "no other row or ghost touched", most[1] == 0);
}

/* --- sweeps --- */

/* By the rung, from dQ = 0, into t->got. */
static void rung_sweeps(const bench_t *t, int64_t sweeps, bool by_colour)
{
    memset(t->got, 0, t->all * sizeof *t->got);
    mcpi_put_dq(t->s, t->got);
    if (!by_colour)
        mcpi_sweeps(t->s, sweeps);
    for (int64_t k = 0; by_colour && k < sweeps; k++)
        for (int c = 0; c < t->part->colours; c++)
            t->s->kernels->rows(&t->s->view, t->part->colour_start[c], t->part->colour_start[c + 1],
                                t->s->dq);
    rt_device_synchronize();
    mcpi_get_dq(t->s, t->got);
}

static void check_sweeps(const bench_t *t)
{
    const int64_t asked = t->p->config->sweeps;
    const int64_t sweeps = 1 + (int64_t)(rt_hash(2, t->seed) % MOST_SWEEPS);
    const int64_t few = sweeps < asked ? sweeps : asked;
    draw(t, t->seed + 3, t->part->rows, t->R);
    put_r(t, t->R);
    oracle_sweeps(t, t->R, few, 0, t->want);
    measure_spread(t, t->R, few, t->want);
    rung_sweeps(t, few, false);
    rt_verdict_check(t->verdict, "sweeps = the reference's (of their rounding bound)",
                     worst(t, t->got, t->want, 1), 1);
    if (t->s->kernels->reproducible) {
        memcpy(t->put, t->got, t->all * sizeof *t->put);
        rung_sweeps(t, few, false);
        double differ = memcmp(t->put, t->got, t->all * sizeof *t->put) != 0;
        rt_comm_max(&differ, 1);
        rt_verdict_true(t->verdict, "the same bits twice, as it claims", differ == 0);
    }
    if (rt_comm_size() == 1 && (t->s->kernels->sweeps || t->s->rung->kind == RT_CUDA)) {
        rung_sweeps(t, few, true);
        rt_verdict_check(t->verdict, "the same colour by colour", worst(t, t->got, t->want, 1), 1);
    }
}

void mcpi_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    mcpi_solver_t *s = solver;
    bench_t t = bench_new(s, seed, verdict);
    check_order(&t);
    check_system(&t);
    check_colours(&t);
    check_sweeps(&t);
    for (size_t v = 0; v < t.values; v++)
        t.R[v] = s->factor * t.system->R[v];
    put_r(&t, t.R);
    bench_destroy(&t);
}

/* --- what a solve left behind --- */

/* Rows of the last colour were made of the rest of dQ as it is now: but for ghosts, where those
 * were brought up to date afterwards. */
static void check_last(const bench_t *t)
{
    const mcpi_part_t *part = t->part;
    const int nb = t->nb;
    const int64_t first = part->colour_start[part->colours - 1];
    double most = 0;
    for (size_t v = 0; v < t->values; v++)
        t->R[v] = t->s->factor * t->system->R[v];
    memcpy(t->want, t->got, t->all * sizeof *t->want);
    oracle_colour(t, t->R, part->colours - 1, t->u_sum, t->want, t->e);
    for (int64_t i = first; i < part->rows; i++) {
        bool has_ghost = false;
        for (int64_t b = part->start[i]; b < part->start[i + 1]; b++)
            has_ghost = has_ghost || part->column[b] >= part->rows;
        if (is_current(t) || !has_ghost)
            most = fmax(most, error(t->got, t->want, t->e, nb * i, nb * (i + 1), 1, t->u_dq));
    }
    rt_comm_max(&most, 1);
    rt_verdict_check(t->verdict, "last colour = D^-1 (R - O dQ) (of its rounding bound)", most, 1);
}

static void check_ghosts(const bench_t *t)
{
    memcpy(t->want, t->got, t->all * sizeof *t->want);
    exchange(t, -1, t->want);
    double differ = memcmp(t->want, t->got, t->all * sizeof *t->want) != 0;
    rt_comm_max(&differ, 1);
    rt_verdict_true(t->verdict, "ghosts are what their owners have", differ == 0);
}

void mcpi_verify_after(void *solver, rt_verdict_t *verdict)
{
    mcpi_solver_t *s = solver;
    bench_t t = bench_new(s, 0, verdict);
    rt_verdict_true(verdict, "as many sweeps as asked", s->swept == t.p->config->sweeps);
    const oracle_t *oracle = oracle_get(&t);
    const int level = larger_unit(&t) == RT_EPS;
    mcpi_get_dq(s, t.got);
    rt_verdict_check(verdict, "dQ left behind = the reference's (of its rounding bound)",
                     worst(&t, t.got, oracle->data, s->factor), 1);
    check_last(&t);
    check_ghosts(&t);
    exchange(&t, -1, t.got);
    rt_verdict_check(verdict, "residual - the reference's, exact matrix (of |R|)",
                     fabs(defect(&t, s->factor, t.got) - s->factor * oracle->residual),
                     s->factor * SAMPLE * oracle->residual_spread[level]);
    bench_destroy(&t);
}
