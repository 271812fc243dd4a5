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

struct nek_fused {
    const nek_config_t *config;
    nek_fused_each_fn *each;
    rt_kind_t kind;
    int64_t elements;
    int n3;
    const double *G;
    nek_tiles_t D;
    double *x, *r, *p, *v;
    const double **c; /* [elements] weights of each element */
    double *sums;     /* [SUMS][elements] */
    rt_halo_t *halo;  /* of the points that other ranks share; NULL if there are none */
    nek_fused_body_fn *element;
    void (*face)(const nek_fused_t *f, int64_t e, int d);
    /* of the present pass */
    nek_step_t step;
    bool ahead;     /* prefetch what the next element needs */
    int64_t shares; /* parts of the elements, one for each thread */
    int direction;  /* whose faces are summed */
};
typedef nek_fused_t fused_t;

/* --- one element --- */

NEK_INLINE void element(const int n, const fused_t *f, int64_t e)
{
    const int n3 = n * n * n;
    const double *restrict c = f->c[e];
    double *restrict x = f->x + e * n3, *restrict r = f->r + e * n3;
    double *restrict p = f->p + e * n3, *restrict v = f->v + e * n3;
    double pv = 0, rv = 0;
    const double rr = nek_fused_update(n3, &f->step, c, v, x, r, p);
    const double *G = f->G + e * 6 * n3;
    const nek_ahead_t next = {G + 6 * n3, {r + n3, p + n3, v + n3}};
    const bool ahead = f->ahead && e + 1 < f->elements;
    nek_tiles_element(n, &f->D, G, p, v, ahead ? &next : NULL);
    nek_fused_shift(n3, f->step.lambda, c, r, p, v, &pv, &rv);
    const int64_t elements = f->elements;
    f->sums[RR * elements + e] = rr;
    f->sums[PV * elements + e] = pv;
    f->sums[RV * elements + e] = rv;
}

/* Computes v.v of the assembled v. */
static void element_norm(const fused_t *f, int64_t e)
{
    const double *v = f->v + e * f->n3;
    f->sums[VV * f->elements + e] = nek_points_dot(f->n3, f->c[e], v, v);
}

/* Sums the next r.r, as it is, with the alpha of `step`. */
static void element_next(const fused_t *f, int64_t e)
{
    const double *restrict c = f->c[e], *restrict v = f->v + e * f->n3,
                           *restrict r = f->r + e * f->n3;
    const double alpha = f->step.alpha;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int q = 0; q < f->n3; q++) {
        double s = r[q] - alpha * v[q];
        sum += c[q] * s * s;
    }
    f->sums[RR * f->elements + e] = sum;
}

/* Adds what x and r still lack after the last pass. */
static void element_finish(const fused_t *f, int64_t e)
{
    const int64_t at = e * f->n3;
    f->sums[RR * f->elements + e] =
        nek_fused_finish(f->n3, &f->step, f->c[e], f->v + at, f->p + at, f->x + at, f->r + at);
}

/* --- gather-scatter on this rank --- */

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
    int from[3], to[3];
    nek_own_points(f->config, e, from, to);
    double *b = f->v + e * n3, *a = b - n3 + n - 1;
    for (int k = from[2]; k < to[2]; k++)
        for (int j = from[1]; j < to[1]; j++) {
            int q = k * n2 + j * n;
            a[q] = b[q] = a[q] + b[q];
        }
}

/* Sums the face between element e and the one before it along d, y (1) or z (2), line by line. */
NEK_INLINE void face(const int n, const fused_t *f, int64_t e, int d)
{
    const int n2 = n * n, n3 = n2 * n, across = d == 1 ? n2 : n, through = d == 1 ? n : n2;
    const int64_t *local = f->config->local, away = d == 1 ? local[0] : local[0] * local[1];
    int from[3], to[3];
    nek_own_points(f->config, e, from, to);
    double *b = f->v + e * n3, *a = b - away * n3 + (n - 1) * through;
    for (int l = from[3 - d]; l < to[3 - d]; l++)
        sum_line(n, from[0], to[0], a + l * across, b + l * across);
}

#define DEFINE(N)                                            \
    static void element_##N(const fused_t *f, int64_t e)     \
    {                                                        \
        element(N, f, e);                                    \
    }                                                        \
    static void face_##N(const fused_t *f, int64_t e, int d) \
    {                                                        \
        face(N, f, e, d);                                    \
    }
NEK_FOR_EACH_N(DEFINE)

#define ENTRY(N) [N] = {element_##N, face_##N},
static const struct {
    nek_fused_body_fn *element;
    void (*face)(const fused_t *f, int64_t e, int d);
} code_of[NEK_MAX_N + 1] = {NEK_FOR_EACH_N(ENTRY)};

/* --- the mesh --- */

/* Runs a pass over the elements of a share. Sums the faces along x whose sides are both in cache. */
static void pass_share(const fused_t *f, int64_t share)
{
    const int64_t begin = f->elements * share / f->shares,
                  end = f->elements * (share + 1) / f->shares;
    for (int64_t e = begin; e < end; e++) {
        f->element(f, e);
        if (f->config->communication && e > begin && e % f->config->local[0] != 0)
            face_x(f, e);
    }
}

/* Sums the face along x between a share and the one before it. */
static void face_of_share(const fused_t *f, int64_t share)
{
    const int64_t begin = f->elements * share / f->shares;
    if (begin < f->elements * (share + 1) / f->shares && begin % f->config->local[0] != 0)
        face_x(f, begin);
}

static void pass(fused_t *f)
{
    f->shares = rt_threads();
    f->each(f->shares, pass_share, f);
    if (f->config->communication && f->elements % (f->shares * f->config->local[0]) != 0)
        f->each(f->shares, face_of_share, f);
}

static void element_face(const fused_t *f, int64_t e)
{
    int64_t at[3];
    nek_element_position(f->config, e, at);
    if (at[f->direction] > f->config->first[f->direction])
        f->face(f, e, f->direction);
}

/* Sums faces along y, which need all sums along x, and then along z, which need all along y. */
static void sum_faces(fused_t *f)
{
    for (f->direction = 1; f->direction < 3; f->direction++)
        f->each(f->elements, element_face, f);
}

/* Adds up `count` sums of the last pass, from `first` on, over all ranks. */
static void add_up(const fused_t *f, int first, int count, double *total)
{
    const int64_t elements = f->elements;
    for (int i = 0; i < count; i++)
        total[i] = rt_sum_pairwise(f->sums + (first + i) * elements, elements);
    rt_comm_sum(total, count);
}

/* Returns r.r, of which `body` makes each element's part. */
static double sum_rr(const fused_t *f, nek_fused_body_fn *body)
{
    double total;
    f->each(f->elements, body, f);
    add_up(f, RR, 1, &total);
    return total;
}

/* --- the solve --- */

static void gather_scatter(fused_t *f)
{
    rt_timer_start("gather-scatter", f->kind);
    if (f->halo) {
        rt_field_t field = rt_field_f64(f->v);
        rt_halo_begin(f->halo, RT_HALO_SUM, &field);
        sum_faces(f);
        rt_halo_end(f->halo);
    } else if (f->config->communication) {
        sum_faces(f);
    }
    f->each(f->elements, element_norm, f);
    rt_timer_stop("gather-scatter");
}

void nek_fused_cg(nek_solver_t *s, bool ahead)
{
    fused_t *f = s->data;
    const size_t bytes = (size_t)s->view.points * sizeof(double);
    f->ahead = ahead;
    memcpy(f->r, s->b, bytes);
    memset(f->x, 0, bytes);
    memset(f->p, 0, bytes);
    memset(f->v, 0, bytes);
    s->beta[0] = 0;

    for (int k = 0; k < s->iterations; k++) {
        double sum[SUMS];
        f->step = nek_fused_step(s->alpha, s->beta, k, false, s->lambda);
        rt_timer_start("pass", f->kind);
        pass(f);
        rt_timer_stop("pass");
        gather_scatter(f);
        add_up(f, 0, SUMS, sum);

        const double rr = sum[RR];
        s->history[k] = sqrt(rr);
        /* After convergence to the last bit p may vanish; a step of zero keeps x. */
        const double alpha = s->alpha[k] = f->step.alpha = sum[PV] > 0 ? rr / sum[PV] : 0;
        double next = rr - 2 * alpha * sum[RV] + alpha * alpha * sum[VV];
        if (!(next > CANCELLED * rr))
            next = sum_rr(f, element_next);
        if (k + 1 < s->iterations)
            s->beta[k + 1] = rr > 0 ? next / rr : 0;
    }
    rt_timer_start("last update", f->kind);
    f->step = nek_fused_step(s->alpha, s->beta, s->iterations, true, s->lambda);
    s->history[s->iterations] = sqrt(sum_rr(f, element_finish));
    rt_timer_stop("last update");
}

/* --- what only these rungs need --- */

/* There are at most four kinds of position along a direction, so the first element of a kind is
 * close to the start of the box. */
int64_t nek_like_element(const nek_config_t *config, const double *c, int64_t e)
{
    const int64_t n3 = config->n * config->n * config->n;
    int64_t at[3], first = 0, stride = 1;
    nek_element_position(config, e, at);
    for (int d = 0; d < 3; d++) {
        const int64_t in = at[d] - config->first[d], last = config->local[d] - 1;
        first += stride * (in == 0 || in == last ? in : 1);
        stride *= config->local[d];
    }
    return memcmp(c + first * n3, c + e * n3, (size_t)n3 * sizeof(double)) ? e : first;
}

void nek_fused_set_up(nek_solver_t *s, nek_fused_each_fn *each)
{
    const nek_config_t *config = s->problem->config;
    fused_t *f = s->data = RT_NEW(fused_t, 1, RT_HOST);
    *f = (fused_t){.config = config,
                   .each = each,
                   .kind = s->rung->kind,
                   .elements = config->local_elements,
                   .n3 = config->n * config->n * config->n,
                   .G = s->view.G,
                   .x = s->x,
                   .r = s->r,
                   .p = s->p,
                   .v = s->w,
                   .element = code_of[config->n].element,
                   .face = code_of[config->n].face};
    nek_tiles_set(config->n, s->view.D, &f->D);
    f->c = RT_NEW(const double *, (size_t)f->elements, RT_HOST);
    for (int64_t e = 0; e < f->elements; e++)
        f->c[e] = s->view.c + nek_like_element(config, s->view.c, e) * f->n3;
    f->sums = RT_NEW(double, (size_t)f->elements *SUMS, RT_HOST);
    f->halo = nek_halo_new(config, true, s->problem->run->opt.transport, f->kind, RT_HOST);
}

void nek_fused_tear_down(nek_solver_t *s)
{
    fused_t *f = s->data;
    rt_halo_destroy(f->halo);
    RT_FREE_ALL(RT_HOST, f->c, f->sums, s->data);
}

void nek_fused_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    int64_t local, with_ranks;
    bytes[RT_HOST] += sizeof(fused_t) + (double)config->local_elements *
                                            (double)(sizeof(double *) + SUMS * sizeof(double));
    nek_shared_points(config, &local, &with_ranks);
    if (config->communication && rt_comm_size() > 1)
        bytes[RT_HOST] += (double)rt_halo_predict(0, with_ranks, 1, RT_HOST);
}

/* --- the rung --- */

enum { AHEAD, NOT_AHEAD };
static const char *const fetch[] = {[AHEAD] = "next", [NOT_AHEAD] = "none", NULL};
static const rt_parameter_t parameters[] = {
    {"fetch", "next: what the next element needs is fetched while this one is worked on", fetch,
     AHEAD}};

static void each(int64_t n, nek_fused_body_fn *body, const nek_fused_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        body(f, i);
}

static void set_up(nek_solver_t *s)
{
    nek_fused_set_up(s, each);
}

static void cg(nek_solver_t *s)
{
    nek_fused_cg(s, s->view.choice[0] == AHEAD);
}

const nek_kernels_t nek_cpu_fused = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = sizeof parameters / sizeof *parameters,
             .refuse = nek_refuse},
    .ax = nek_tiles_ax,
    .vector = &nek_vector_cpu,
    .cg = cg,
    .set_up = set_up,
    .tear_down = nek_fused_tear_down,
    .memory = nek_fused_memory,
};
