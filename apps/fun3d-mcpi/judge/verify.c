/*
 * verify.c - what a rung must show before its time counts.
 *
 * Before timing: rows are a permutation, and no two neighbours have one colour; the system is the
 * matrix, scaled and rounded. Then, on dQ and R drawn from a seed that no rung can know: each
 * colour by itself agrees with the reference, component by component, boundary rows first, and no
 * other row or ghost is touched; rows of one term do to the rounding of FP64; sweeps agree with the
 * reference's; the bits are the same twice if the rung claims it.
 *
 * After timing: what a solve left behind agrees with the reference's dQ of all sweeps; the rows of
 * the last colour agree with the rest of dQ; the residual with the exact matrix is the reference's;
 * ghosts are what their owners have; and the number of sweeps is right. So it is for a solve drawn
 * among the timed ones and for the last of them, each with its own R, for which the reference sweeps
 * anew, and for a solve of the problem's R, for which it sweeps once in a run.
 *
 * oracle.c derives the bounds. The files of this folder are compiled with -fno-fast-math.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge.h"
#include "judge/compare.h"

enum { MOST_SWEEPS = 4 }; /* of a short solve */
/* Added to the seed of a verification, or streams of random numbers of it. */
enum { SHORT_SOLVE_STREAM = 2, COLOUR_SEED = 1, SWEEPS_SEED = 3, TERMS_SEED = 5 };
enum { ROW_STREAM = 1 }; /* hashes of row numbers */

static mcpi_bench_t bench_new(mcpi_solver_t *s, uint64_t seed, rt_verdict_t *verdict)
{
    mcpi_problem_t *p = s->problem;
    mcpi_bench_t t = {.s = s, .p = p, .system = p->system, .part = p->part, .nb = p->nb};
    const size_t values = (size_t)t.part->rows * (size_t)t.nb;
    t.all = (size_t)(t.part->rows + t.part->ghosts) * (size_t)t.nb;
    /* what was asked for, whatever the rung does */
    const bool fp64 = s->kernels->always_fp64;
    t.u_sum = fp64 || p->config->accumulate == MCPI_FP64 ? RT_EPS : 0x1p-24;
    t.u_dq = fp64 || p->config->dq == MCPI_FP64 ? RT_EPS : 0x1p-24;
    t.R = RT_NEW(double, values, RT_HOST);
    t.put = RT_NEW(double, t.all, RT_HOST);
    t.want = RT_NEW(double, t.all, RT_HOST);
    t.got = RT_NEW(double, t.all, RT_HOST);
    t.e = RT_NEW(double, values, RT_HOST);
    t.spread = RT_NEW(double, (size_t)t.part->rows, RT_HOST);
    t.verdict = verdict;
    t.seed = seed;
    return t;
}

static void bench_destroy(mcpi_bench_t *t)
{
    RT_FREE_ALL(RT_HOST, t->R, t->put, t->want, t->got, t->e, t->spread);
}

/* --- fields --- */

/* Draws values in (-1, 1) that are the same for a row on every rank that has it. */
static void draw(const mcpi_bench_t *t, uint64_t seed, int64_t entries, double *x)
{
    const uint64_t nb = (uint64_t)t->nb;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < entries; i++)
        for (uint64_t k = 0; k < nb; k++)
            x[(uint64_t)i * nb + k] = rt_random((uint64_t)t->part->global[i] * nb + k, seed);
}

/* Returns the largest error of all rows and ranks, storage included, over what the sweeps make of
 * e. */
static double worst(const mcpi_bench_t *t, const double *got, const double *want)
{
    const int nb = t->nb;
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t i = 0; i < t->part->rows; i++) {
        const double d = mcpi_error(got, want, t->e, nb * i, nb * (i + 1), 0);
        if (d > 0) /* where the reference blew up too, nothing can be shown */
            most =
                fmax(most, rt_finite(t->spread[i]) ? d / (mcpi_sample * t->spread[i]) : INFINITY);
    }
    rt_comm_max(&most, 1);
    return most;
}

/* --- the order of rows, and the system --- */

static int colour_of(const mcpi_bench_t *t, int64_t i)
{
    const int64_t *start = i < t->part->rows ? t->part->colour_start : t->part->ghost_start;
    int c = 0;
    while (i >= start[c + 1])
        c++;
    return c;
}

/* Sums hashes of x[0 .. n-1] over the ranks, less those of 0 .. all - 1, of which each rank adds a
 * share. 0 for a permutation: a number that is missing and one that is there twice do not cancel. */
static bool is_permutation(const int64_t *x, int64_t n, int64_t all)
{
    const int64_t ranks = rt_comm_size(), rank = rt_comm_rank();
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (int64_t)(rt_hash((uint64_t)x[i], ROW_STREAM) >> 32);
    for (int64_t i = rank; i < all; i += ranks)
        sum -= (int64_t)(rt_hash((uint64_t)i, ROW_STREAM) >> 32);
    rt_comm_sum_i64(&sum, 1);
    return sum == 0;
}

/* Returns how many ghosts have another vertex than their owners say. Uses t->put. */
static double wrong_ghosts(const mcpi_bench_t *t)
{
    const mcpi_part_t *part = t->part;
    double wrong = 0;
    for (int64_t i = 0; i < part->rows + part->ghosts; i++)
        for (int k = 0; k < t->nb; k++)
            t->put[i * t->nb + k] = i < part->rows ? (double)part->vertex[i] : -1;
    mcpi_halo_copy(t->p->halo, t->part->colours, -1, t->nb, t->put);
    for (int64_t i = part->rows; i < part->rows + part->ghosts; i++)
        wrong += t->put[i * t->nb] != (double)part->vertex[i];
    return wrong;
}

/* Every row and every vertex must be on one rank, and every row within its colour. */
static void check_order(const mcpi_bench_t *t)
{
    const mcpi_part_t *part = t->part;
    double wrong = wrong_ghosts(t);
    wrong += !is_permutation(part->global, part->rows, part->global_rows);
    wrong += !is_permutation(part->vertex, part->rows, part->global_rows);
    for (int64_t i = 0; i < part->rows + part->ghosts; i++) {
        const int c = colour_of(t, i);
        wrong += part->global[i] < part->first_row[c] || part->global[i] >= part->first_row[c + 1];
    }
    rt_comm_max(&wrong, 1);
    rt_verdict_true(t->verdict, "order of rows: a permutation, by colours", wrong == 0);

    double edges = 0;
#pragma omp parallel for schedule(static) reduction(+ : edges)
    for (int64_t i = 0; i < part->rows; i++)
        for (int64_t b = part->start[i]; b < part->start[i + 1]; b++)
            edges += colour_of(t, part->column[b]) == colour_of(t, i);
    rt_comm_max(&edges, 1);
    rt_verdict_true(t->verdict, "no two neighbours have one colour", edges == 0);
}

double mcpi_rounded(double x, mcpi_type_t type)
{
    double stored;
    mcpi_put_value(&stored, type, 0, x);
    return mcpi_value(&stored, type, 0);
}

double mcpi_factor_error(int nb, const double *LU, const double *D, double scale)
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
            most = fmax(most, rt_error_over(sum, D[j * nb + i] * scale, 16 * nb * RT_EPS * size));
        }
    return most;
}

static void check_system(const mcpi_bench_t *t)
{
    const mcpi_matrix_t *A = t->p->matrix;
    const mcpi_system_t *system = t->system;
    const int nb = t->nb;
    const int64_t nb2 = (int64_t)nb * nb;
    double differ = 0, most = 0;
#pragma omp parallel for schedule(static) reduction(+ : differ) reduction(max : most)
    for (int64_t i = 0; i < t->part->rows; i++) {
        const double scale = ldexp(1, -system->exponent[i]);
        for (int64_t v = t->part->start[i] * nb2; v < t->part->start[i + 1] * nb2; v++)
            differ += mcpi_value(system->O, system->type, v) !=
                      mcpi_rounded(A->O[v] * scale, system->type);
        for (int64_t v = i * nb; v < (i + 1) * nb; v++)
            differ += system->R[v] != A->R[v] * scale;
        most = fmax(most, mcpi_factor_error(nb, system->LU + i * nb2, A->D + i * nb2, scale));
    }
    double wrong[2] = {differ + (system->type != (mcpi_type_t)t->p->config->offdiagonal), most};
    rt_comm_max(wrong, 2);
    rt_verdict_true(t->verdict, "O and R: the matrix, scaled and rounded as asked", wrong[0] == 0);
    rt_verdict_check(t->verdict, "L U = D (of its rounding bound)", wrong[1], 1);
}

/* --- one colour --- */

/* Returns whether all values outside rows first .. last - 1 still have the bits that were put. */
static bool is_untouched(const mcpi_bench_t *t, int64_t first, int64_t last)
{
    int64_t changed = 0;
#pragma omp parallel for schedule(static) reduction(+ : changed)
    for (int64_t v = 0; v < (int64_t)t->all; v++)
        changed += (v < first * t->nb || v >= last * t->nb) &&
                   memcmp(&t->got[v], &t->put[v], sizeof *t->put) != 0;
    return changed == 0;
}

/* Runs the rung on rows first .. last - 1, which must be t->want, into t->got; returns the
 * error. */
static double rows_error(const mcpi_bench_t *t, int64_t first, int64_t last, bool *untouched)
{
    const int nb = t->nb;
    if (first == last)
        return 0;
    mcpi_put_dq(t->s, t->put);
    t->s->kernels->rows(&t->s->view, first, last, t->s->dq);
    rt_device_synchronize();
    mcpi_get_dq(t->s, t->got);
    *untouched = *untouched && is_untouched(t, first, last);
    return mcpi_error(t->got, t->want, t->e, nb * first, nb * last, t->u_dq);
}

static void check_colours(const mcpi_bench_t *t)
{
    double most[2] = {0, 0};
    draw(t, t->seed, t->part->rows, t->R);
    mcpi_put_r(t->s, t->R);
    for (int c = 0; c < t->part->colours; c++) {
        const int64_t *start = t->part->colour_start, middle = t->part->boundary_end[c];
        bool untouched = true;
        draw(t, rt_hash((uint64_t)c, t->seed + COLOUR_SEED), t->part->rows + t->part->ghosts,
             t->put);
        const size_t rounded = t->u_dq > RT_EPS ? t->all : 0;
#pragma omp parallel for schedule(static)
        for (size_t v = 0; v < rounded; v++)
            t->put[v] = (double)(float)t->put[v];
        rt_copy(t->want, RT_HOST, t->put, RT_HOST, t->all * sizeof *t->want);
        mcpi_oracle_colour(t, t->R, c, t->u_sum, t->want, t->e);
        most[0] = fmax(most[0], rows_error(t, start[c], middle, &untouched));
        most[0] = fmax(most[0], rows_error(t, middle, start[c + 1], &untouched));
        most[1] = fmax(most[1], !untouched);
    }
    rt_comm_max(most, 2);
    rt_verdict_check(t->verdict, "each colour = FP64 over the same O (of its rounding bound)",
                     most[0], 1);
    rt_verdict_true(t->verdict, "no other row or ghost touched", most[1] == 0);
}

/* --- single terms --- */

/* Draws dQ that is 0 but for one component, a power of two, of one row in eight: of none where FP32
 * sums round an O in FP64. */
static void draw_single(const mcpi_bench_t *t, uint64_t seed)
{
    enum { ONE_IN = 8 };
    const bool exact = t->system->type != MCPI_FP64 || t->u_sum == RT_EPS;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->part->rows + t->part->ghosts; i++) {
        const uint64_t draw = rt_hash((uint64_t)t->part->global[i], seed);
        for (int k = 0; k < t->nb; k++)
            t->put[i * t->nb + k] = 0;
        if (exact && draw % ONE_IN == 0)
            t->put[i * t->nb + (int64_t)(draw / ONE_IN % (uint64_t)t->nb)] =
                ldexp(draw >> 32 & 1 ? 1 : -1, (int)(draw >> 33 & 3));
    }
}

/* Returns how many neighbours of a row have a dQ that is not 0. */
static int count_terms(const mcpi_bench_t *t, int64_t row)
{
    int terms = 0;
    for (int64_t b = t->part->start[row]; b < t->part->start[row + 1]; b++)
        for (int k = 0; k < t->nb; k++)
            terms += t->put[(int64_t)t->part->column[b] * t->nb + k] != 0;
    return terms;
}

/*
 * Where a row has one term alone, R or a column of O times a power of two, its sum is exact in FP32,
 * and so are the values, however the rung stores them. What is left is D^-1 in FP64, whose bound
 * neither a solve in FP32 nor an O of fewer bits can meet. The sums of many terms hide both.
 */
static double terms_error(const mcpi_bench_t *t, uint64_t seed)
{
    const int nb = t->nb;
    double most = 0;
    draw_single(t, seed);
    draw(t, t->seed, t->part->rows, t->R);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->part->rows; i++) {
        const bool has_terms = count_terms(t, i) > 0;
        for (int64_t v = nb * i; v < nb * (i + 1); v++)
            t->R[v] = has_terms ? 0 : (double)(float)t->R[v];
    }
    mcpi_put_r(t->s, t->R);
    for (int c = 0; c < t->part->colours; c++) {
        const int64_t first = t->part->colour_start[c], last = t->part->colour_start[c + 1];
        bool untouched = true;
        rt_copy(t->want, RT_HOST, t->put, RT_HOST, t->all * sizeof *t->want);
        mcpi_oracle_colour(t, t->R, c, RT_EPS, t->want, t->e);
#pragma omp parallel for schedule(static)
        for (int64_t i = first; i < last; i++)
            if (count_terms(t, i) > 1)
                for (int k = 0; k < nb; k++)
                    t->e[nb * i + k] = INFINITY;
        most = fmax(most, rows_error(t, first, last, &untouched));
    }
    return most;
}

static void check_terms(const mcpi_bench_t *t)
{
    enum { DRAWS = 4 }; /* a small mesh may have no such row in one of them */
    double most = 0;
    for (uint64_t k = 0; k < DRAWS; k++)
        most = fmax(most, terms_error(t, rt_hash(k, t->seed + TERMS_SEED)));
    rt_comm_max(&most, 1);
    rt_verdict_check(t->verdict, "rows of one term: O and D^-1 as promised (of FP64's bound)", most,
                     1);
}

/* --- sweeps --- */

static void zero_dq(const mcpi_bench_t *t)
{
    rt_fill(t->got, RT_HOST, 0, t->all * sizeof *t->got);
    mcpi_put_dq(t->s, t->got);
}

static void rung_sweeps(void *bench)
{
    const mcpi_bench_t *t = bench;
    mcpi_sweeps(t->s, t->few);
    rt_device_synchronize();
}

/* Returns whether dQ differs from t->put, and begins anew. */
static double differs(void *bench)
{
    const mcpi_bench_t *t = bench;
    mcpi_get_dq(t->s, t->got);
    const double differ = memcmp(t->put, t->got, t->all * sizeof *t->put) != 0;
    zero_dq(t);
    return differ;
}

static void check_sweeps(mcpi_bench_t *t)
{
    const int64_t asked = t->p->config->sweeps;
    const int64_t sweeps = 1 + (int64_t)(rt_hash(SHORT_SOLVE_STREAM, t->seed) % MOST_SWEEPS);
    t->few = sweeps < asked ? sweeps : asked;
    draw(t, t->seed + SWEEPS_SEED, t->part->rows, t->R);
    mcpi_put_r(t->s, t->R);
    mcpi_oracle_sweeps(t, t->R, t->few, 0, t->want);
    mcpi_measure_spread(t, t->R, t->few, t->want);
    zero_dq(t);
    rung_sweeps(t);
    mcpi_get_dq(t->s, t->got);
    rt_verdict_check(t->verdict, "sweeps = the reference's (of their rounding bound)",
                     worst(t, t->got, t->want), 1);
    if (!t->s->kernels->rung.reproducible)
        return;
    rt_copy(t->put, RT_HOST, t->got, RT_HOST, t->all * sizeof *t->put);
    zero_dq(t);
    rt_compare_bits(rung_sweeps, differs, t, t->s->rung->kind == RT_CPU, t->verdict);
}

void mcpi_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    mcpi_solver_t *s = solver;
    mcpi_bench_t t = bench_new(s, seed, verdict);
    check_order(&t);
    check_system(&t);
    check_colours(&t);
    check_terms(&t);
    check_sweeps(&t);
    mcpi_draw_r(t.system, s->draw, t.R);
    mcpi_put_r(s, t.R);
    bench_destroy(&t);
}

/* --- what a solve left behind --- */

/* Rows of the last colour were made from the rest of dQ as it is now. */
static void check_last(const mcpi_bench_t *t)
{
    const mcpi_part_t *part = t->part;
    const int64_t first = part->colour_start[part->colours - 1];
    rt_copy(t->want, RT_HOST, t->got, RT_HOST, t->all * sizeof *t->want);
    mcpi_oracle_colour(t, t->R, part->colours - 1, t->u_sum, t->want, t->e);
    double most = mcpi_error(t->got, t->want, t->e, t->nb * first, t->nb * part->rows, t->u_dq);
    rt_comm_max(&most, 1);
    rt_verdict_check(t->verdict, "last colour = D^-1 (R - O dQ) (of its rounding bound)", most, 1);
}

static void check_answer(const mcpi_bench_t *t, const mcpi_answer_t *answer)
{
    void *own = NULL;
    mcpi_draw_r(t->system, answer->draw, t->R);
    const mcpi_oracle_t *oracle = mcpi_oracle_get(t, answer->draw == 0 ? &t->p->oracle : &own);
    const int level = mcpi_larger_unit(t) == RT_EPS;
    rt_verdict_true(t->verdict, "as many sweeps as asked", answer->swept == t->p->config->sweeps);
    rt_copy(t->got, RT_HOST, answer->dq, RT_HOST, t->all * sizeof *t->got);
    rt_verdict_check(t->verdict, "dQ left behind = the reference's (of its rounding bound)",
                     worst(t, t->got, oracle->data), 1);
    check_last(t);
    mcpi_check_ghosts(t->p, t->nb, t->got, "ghosts are what their owners have", t->verdict);
    mcpi_halo_copy(t->p->halo, t->part->colours, -1, t->nb, t->got);
    rt_verdict_check(
        t->verdict, "residual - the reference's, exact matrix (of |R|)",
        fabs(mcpi_residual(t->p->matrix, t->system->exponent, t->R, 1, t->got) - oracle->residual),
        mcpi_sample * oracle->residual_spread[level]);
    rt_free(own, RT_HOST);
}

void mcpi_verify_after(void *solver, rt_verdict_t *verdict)
{
    mcpi_solver_t *s = solver;
    mcpi_bench_t t = bench_new(s, 0, verdict);
    mcpi_keep(s, RT_KEEP_NOTHING); /* what is there now */
    for (int why = 0; why < RT_KEEPS; why++) {
        if (!s->kept[why].dq)
            continue;
        check_answer(&t, &s->kept[why]);
        RT_FREE(s->kept[why].dq, RT_HOST);
    }
    bench_destroy(&t);
}
