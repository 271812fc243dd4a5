/*
 * cpu_fused.c - conjugate gradients in one pass over the elements.
 *
 * Idea: each line of nek_solve sweeps all arrays, so nothing is left in cache from one line to the
 * next. Here one pass goes through the elements and does, for each, everything that needs no sum
 * over the mesh:
 *
 *     x += alpha p                      with the p of the iteration before
 *     r -= alpha v,  r.r                with its v = A p
 *     p = r + beta p
 *     v = D^T G D p + lambda p,  p.v,  r.v
 *
 * (Kronbichler et al., arXiv 2205.08909, Alg. 5.) beta needs |r|^2 before r is known:
 *
 *     |r - alpha v|^2 = |r|^2 - 2 alpha r.v + alpha^2 v.v
 *
 * Four sums give this and alpha, so an iteration has one reduction. The next pass sums |r|^2 again,
 * exactly, so errors do not accumulate from one iteration to the next. Where the terms cancel,
 * which takes a residual that falls by a factor of 4 in one iteration, |r|^2 is summed at once. p.v
 * and r.v need no gather-scatter: p and r are the same at all copies of a point, so the sum of the
 * elements' own products is the product of the assembled vectors. Only v.v must wait for the
 * gather-scatter.
 *
 * Only every second pass updates x: the p of the iteration before the last is then (p - r) / beta.
 * Elements with neighbours on the same sides have the same weights. They are read from the first
 * element of each kind, which stays in cache. The gather-scatter of a box needs no lists of
 * indices: summing faces along x, then y, then z sums edges and corners too. Points that other
 * ranks share are left out there and have a halo of their own.
 *
 * Advantage: 14 values per point instead of 22 between memory and processor, gather-scatter apart,
 * and p, r and v are in L1 when the operator needs them. Each element has its own partial sums,
 * which are added pairwise: the result has the same bits for any number of threads. Price: no line
 * of the algorithm can be seen, timed or replaced on its own.
 */
#include "config.h"
#include "../nekbone.h"
#include "base/threads.h"
#include "fused.h"
#include "tiles.h"
#include <math.h>
#include <string.h>

/* If |r|^2 falls below this share of its previous value, it is summed instead of taken from the
 * recurrence. */
static const double CANCELLED = 0.0625;

enum { RR, PV, RV, VV, SUMS };

enum { AHEAD, NOT_AHEAD };
static const char *const fetch[] = {[AHEAD] = "next", [NOT_AHEAD] = "none", NULL};

typedef struct {
    nek_step_t scalars;
    bool ahead; /* prefetch what the next element needs */
} step_t;

typedef struct fused fused_t;
struct fused {
    const nek_config_t *config;
    const double *D, *G;
    double Dt[NEK_MAX_N * NEK_MAX_N];
    double *x, *r, *p, *v;
    const double **c; /* [elements] weights of each element */
    double *sums;     /* [SUMS][elements] */
    rt_halo_t *halo;  /* of the points that other ranks share; NULL if there are none */
    void (*element)(const fused_t *f, const step_t *t, int64_t e);
    void (*face)(const fused_t *f, int64_t e, int d);
};

/* --- one element --- */

NEK_INLINE void element(const int n, const fused_t *f, const step_t *t, int64_t e)
{
    const int n3 = n * n * n;
    const double *restrict c = f->c[e];
    double *restrict x = f->x + e * n3, *restrict r = f->r + e * n3;
    double *restrict p = f->p + e * n3, *restrict v = f->v + e * n3;
    double pv = 0, rv = 0;
    const double rr = nek_fused_update(n3, &t->scalars, c, v, x, r, p);
    const double *G = f->G + e * 6 * n3;
    const nek_ahead_t next = {G + 6 * n3, {r + n3, p + n3, v + n3}};
    const bool ahead = t->ahead && e + 1 < f->config->local_elements;
    nek_tiles_element(n, f->D, f->Dt, G, p, v, ahead ? &next : NULL);
    nek_fused_shift(n3, t->scalars.lambda, c, r, p, v, &pv, &rv);
    const int64_t elements = f->config->local_elements;
    f->sums[RR * elements + e] = rr;
    f->sums[PV * elements + e] = pv;
    f->sums[RV * elements + e] = rv;
}

/* --- gather-scatter on this rank --- */

/* Returns the coordinate of element e along direction d. */
static int64_t coordinate(const nek_config_t *config, int64_t e, int d)
{
    return (d == 0   ? e
            : d == 1 ? e / config->local[0]
                     : e / (config->local[0] * config->local[1])) %
           config->local[d];
}

/* Finds the points of local element e along direction d that no other rank has: [from, to). */
static void own_points(const fused_t *f, int64_t e, int d, int *from, int *to)
{
    nek_own_points(f->config, d, f->config->first[d] + coordinate(f->config, e, d), from, to);
}

/* Sets both lines to their sum. */
NEK_INLINE void sum_line(const int n, int from, int to, double *restrict a, double *restrict b)
{
    if (from == 0 && to == n) {
#pragma omp simd
        for (int i = 0; i < n; i++)
            a[i] = b[i] = a[i] + b[i];
    } else {
        for (int i = from; i < to; i++)
            a[i] = b[i] = a[i] + b[i];
    }
}

/* Sums the face between element e and the element before it along x. */
static void face_x(const fused_t *f, int64_t e)
{
    const int n = f->config->n, n2 = n * n, n3 = n2 * n;
    int j0, j1, k0, k1;
    own_points(f, e, 1, &j0, &j1);
    own_points(f, e, 2, &k0, &k1);
    double *b = f->v + e * n3, *a = b - n3 + n - 1;
    for (int k = k0; k < k1; k++)
        for (int j = j0; j < j1; j++) {
            int q = k * n2 + j * n;
            a[q] = b[q] = a[q] + b[q];
        }
}

/* Sums the face between element e and the one before it along d, y (1) or z (2), line by line. */
NEK_INLINE void face(const int n, const fused_t *f, int64_t e, int d)
{
    const int n2 = n * n, n3 = n2 * n, across = d == 1 ? n2 : n, through = d == 1 ? n : n2;
    const int64_t *local = f->config->local, away = d == 1 ? local[0] : local[0] * local[1];
    int i0, i1, l0, l1;
    own_points(f, e, 0, &i0, &i1);
    own_points(f, e, 3 - d, &l0, &l1);
    double *b = f->v + e * n3, *a = b - away * n3 + (n - 1) * through;
    for (int l = l0; l < l1; l++)
        sum_line(n, i0, i1, a + l * across, b + l * across);
}

#define DEFINE(N)                                                         \
    static void element_##N(const fused_t *f, const step_t *t, int64_t e) \
    {                                                                     \
        element(N, f, t, e);                                              \
    }                                                                     \
    static void face_##N(const fused_t *f, int64_t e, int d)              \
    {                                                                     \
        face(N, f, e, d);                                                 \
    }
NEK_FOR_EACH_N(DEFINE)

#define ENTRY(N) [N] = {element_##N, face_##N},
static const struct {
    void (*element)(const fused_t *f, const step_t *t, int64_t e);
    void (*face)(const fused_t *f, int64_t e, int d);
} code_of[NEK_MAX_N + 1] = {NEK_FOR_EACH_N(ENTRY)};

/* --- the mesh --- */

/* Runs one pass. Sums a face along x while both sides are in cache, unless another thread has one
 * of them. Faces along y need all sums along x, and faces along z all sums along y. */
static void pass(const fused_t *f, const step_t *t)
{
    const nek_config_t *config = f->config;
    const int64_t elements = config->local_elements, row = config->local[0];
#pragma omp parallel
    {
        const int64_t threads = rt_threads_here(), me = rt_thread();
        const int64_t begin = elements * me / threads, end = elements * (me + 1) / threads;
        for (int64_t e = begin; e < end; e++) {
            f->element(f, t, e);
            if (config->communication && e > begin && e % row != 0)
                face_x(f, e);
        }
        if (config->communication) {
#pragma omp barrier
            if (begin < end && begin % row != 0)
                face_x(f, begin);
        }
    }
}

static void sum_faces(const fused_t *f)
{
    const nek_config_t *config = f->config;
    const int64_t elements = config->local_elements;
    for (int d = 1; d < 3; d++) {
#pragma omp parallel for schedule(static)
        for (int64_t e = 0; e < elements; e++)
            if (coordinate(config, e, d) > 0)
                f->face(f, e, d);
    }
}

/* Adds up `count` sums of the last pass, from `first` on, over all ranks. */
static void add_up(const fused_t *f, int first, int count, double *total)
{
    const int64_t elements = f->config->local_elements;
    for (int i = 0; i < count; i++)
        total[i] = rt_sum_pairwise(f->sums + (first + i) * elements, elements);
    rt_comm_sum(total, count);
}

/* Computes v.v of the assembled v, element by element. */
static void sum_vv(const fused_t *f)
{
    const int64_t elements = f->config->local_elements;
    const int n3 = f->config->n * f->config->n * f->config->n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < elements; e++)
        f->sums[VV * elements + e] = nek_fused_norm(n3, f->c[e], f->v + e * n3);
}

/* Returns the next r.r, summed as it is. */
static double next_residual(const fused_t *f, double alpha)
{
    const int64_t elements = f->config->local_elements;
    const int n3 = f->config->n * f->config->n * f->config->n;
    double total;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < elements; e++) {
        const double *restrict c = f->c[e], *restrict v = f->v + e * n3,
                               *restrict r = f->r + e * n3;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int q = 0; q < n3; q++) {
            double s = r[q] - alpha * v[q];
            sum += c[q] * s * s;
        }
        f->sums[RR * elements + e] = sum;
    }
    add_up(f, RR, 1, &total);
    return total;
}

/* Adds what x and r still lack after the last pass; returns r.r. */
static double last_update(const fused_t *f, const nek_step_t *t)
{
    const int64_t elements = f->config->local_elements;
    const int n3 = f->config->n * f->config->n * f->config->n;
    double total;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < elements; e++)
        f->sums[RR * elements + e] = nek_fused_finish(n3, t, f->c[e], f->v + e * n3, f->p + e * n3,
                                                      f->x + e * n3, f->r + e * n3);
    add_up(f, RR, 1, &total);
    return total;
}

/* --- the solve --- */

static void gather_scatter(const fused_t *f)
{
    rt_timer_start("gather-scatter", RT_CPU);
    if (f->halo) {
        rt_field_t field = rt_field_f64(f->v);
        rt_halo_begin(f->halo, RT_HALO_SUM, &field);
        sum_faces(f);
        rt_halo_end(f->halo);
    } else if (f->config->communication) {
        sum_faces(f);
    }
    sum_vv(f);
    rt_timer_stop("gather-scatter");
}

static void fused_cg(nek_solver_t *s)
{
    fused_t *f = s->data;
    const size_t bytes = (size_t)s->view.points * sizeof(double);
    step_t step = {.ahead = s->view.choice[0] == AHEAD};
    nek_step_t *t = &step.scalars;
    memcpy(f->r, s->b, bytes);
    memset(f->x, 0, bytes);
    memset(f->p, 0, bytes);
    memset(f->v, 0, bytes);
    s->beta[0] = 0;

    for (int k = 0; k < s->iterations; k++) {
        double sum[SUMS];
        *t = nek_fused_step(s->alpha, s->beta, k, false, s->lambda);
        rt_timer_start("pass", RT_CPU);
        pass(f, &step);
        rt_timer_stop("pass");
        gather_scatter(f);
        add_up(f, 0, SUMS, sum);

        const double rr = sum[RR];
        s->history[k] = sqrt(rr);
        /* After convergence to the last bit p may vanish; a step of zero keeps x. */
        const double alpha = s->alpha[k] = sum[PV] > 0 ? rr / sum[PV] : 0;
        double next = rr - 2 * alpha * sum[RV] + alpha * alpha * sum[VV];
        if (!(next > CANCELLED * rr))
            next = next_residual(f, alpha);
        if (k + 1 < s->iterations)
            s->beta[k + 1] = rr > 0 ? next / rr : 0;
    }
    rt_timer_start("last update", RT_CPU);
    *t = nek_fused_step(s->alpha, s->beta, s->iterations, true, s->lambda);
    s->history[s->iterations] = sqrt(last_update(f, t));
    rt_timer_stop("last update");
}

/* --- what only this rung needs --- */

static int64_t position(int n, int64_t e, const int l[3])
{
    return ((e * n + l[2]) * n + l[1]) * n + l[0];
}

/* Makes a halo of the points that other ranks share, with all copies of this rank. */
static rt_halo_t *outer_halo(const nek_config_t *config, const char *transport)
{
    rt_halo_list_t list = {0};
    while (rt_halo_list_again(&list))
        nek_list_outer(config, position, &list);
    return rt_halo_of_list(
        &list, false,
        (rt_halo_desc_t){
            .max_components = 1, .kind = RT_CPU, .space = RT_HOST, .transport = transport});
}

/* There are at most four kinds of position along a direction, so the first element of a kind is
 * close to the start of the box. */
int64_t nek_like_element(const nek_config_t *config, const double *c, int64_t e)
{
    const int64_t n3 = config->n * config->n * config->n;
    int64_t first = 0, stride = 1;
    for (int d = 0; d < 3; d++) {
        int64_t at = coordinate(config, e, d), last = config->local[d] - 1;
        first += stride * (at == 0 || at == last ? at : 1);
        stride *= config->local[d];
    }
    return memcmp(c + first * n3, c + e * n3, (size_t)n3 * sizeof(double)) ? e : first;
}

static void fused_set_up(nek_solver_t *s)
{
    const nek_config_t *config = s->problem->config;
    const int n3 = config->n * config->n * config->n;
    fused_t *f = s->data = RT_NEW(fused_t, 1, RT_HOST);
    *f = (fused_t){.config = config,
                   .D = s->view.D,
                   .G = s->view.G,
                   .x = s->x,
                   .r = s->r,
                   .p = s->p,
                   .v = s->w,
                   .element = code_of[config->n].element,
                   .face = code_of[config->n].face};
    nek_transpose(config->n, f->D, f->Dt);
    f->c = RT_NEW(const double *, (size_t)config->local_elements, RT_HOST);
    for (int64_t e = 0; e < config->local_elements; e++)
        f->c[e] = s->view.c + nek_like_element(config, s->view.c, e) * n3;
    f->sums = RT_NEW(double, (size_t)config->local_elements *SUMS, RT_HOST);
    if (config->communication && rt_comm_size() > 1)
        f->halo = outer_halo(config, s->problem->run->opt.transport);
}

static void fused_tear_down(nek_solver_t *s)
{
    fused_t *f = s->data;
    if (f->halo)
        rt_halo_destroy(f->halo);
    RT_FREE(f->c, RT_HOST);
    RT_FREE(f->sums, RT_HOST);
    RT_FREE(s->data, RT_HOST);
}

static void fused_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    int64_t local, with_ranks;
    bytes[RT_HOST] = sizeof(fused_t) + (double)config->local_elements *
                                           (double)(sizeof(double *) + SUMS * sizeof(double));
    nek_shared_points(config, &local, &with_ranks);
    if (config->communication && rt_comm_size() > 1)
        bytes[RT_HOST] += (double)rt_halo_predict(0, with_ranks, 1, RT_HOST);
}

/*
 *   kernel          flops per point                                 bytes per point
 *   pass            2      (alpha v, r -)                           read r v p, 6 factors
 *                   2      (beta p, + r)                            write r p v                 96
 *                   3      (c r r, sum)                             x every second time:
 *                   2      (x: 2 products, 2 sums, every second)    read x, write x              8
 *                   12 n + 15  (operator)                           (D, weights: in cache)
 *                   3      (lambda c p, + v)
 *                   4      (p.v, r.v)
 *   gather-scatter  3 (c v v, sum), 1 per shared point              read v                       8
 *                                                                   write shared v           8 S/P
 *   last update     once per solve: 4 (x), 5 (r, r.r)               read x p r v; write x r     48
 */
void nek_fused_work(const nek_config_t *config, double P, double S, rt_work_t *work)
{
    const double value = sizeof(double);
    if (!config->communication)
        S = 0;
    rt_work_add(work, "pass", 1, (12 * config->n + 31) * P, 9.5 * value * P, 3.5 * value * P);
    rt_work_add(work, "gather-scatter", 1, S + 3 * P, value * P, value * S);
    rt_work_add(work, "last update", 1 / (double)config->iterations, 9 * P, 4 * value * P,
                2 * value * P);
}

static const rt_parameter_t parameters[] = {
    {"fetch", "next: what the next element needs is fetched while this one is worked on", fetch,
     AHEAD}};

const nek_kernels_t nek_cpu_fused = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = sizeof parameters / sizeof *parameters,
             .refuse = nek_refuse},
    .ax = nek_tiles_ax,
    .vector = &nek_vector_cpu,
    .cg = fused_cg,
    .set_up = fused_set_up,
    .tear_down = fused_tear_down,
    .memory = fused_memory,
    .work = nek_fused_work,
};
