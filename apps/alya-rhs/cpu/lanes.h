/*
 * lanes.h - what the CPU rungs share: 16 elements at a time, chunk after chunk, colour after
 * colour.
 *
 * A group of 16 elements is copied from the nodes into arrays [value][16], so that the arithmetic
 * is on unit stride, and its results are added to the nodes one by one. Elements of a group may
 * share nodes, so these additions cannot be a vector scatter; their order is that of the elements.
 */
#ifndef ALYA_LANES_H
#define ALYA_LANES_H

#include <math.h>
#include <omp.h>
#include <string.h>
#include "../alya.h"

#define ALYA_INLINE static inline __attribute__((always_inline))
#define ALYA_LANES  _Pragma("omp simd") for (int lane = 0; lane < ALYA_VECTOR_DIM; lane++)

/* What the subgrid model takes for Delta. Known at compile time in the hot loops, as the form is:
 * a function for each of the twelve, chosen once an assembly. */
typedef enum { ALYA_NO_MODEL, ALYA_OWN_WIDTH, ALYA_GIVEN_WIDTH } alya_model_t;

ALYA_INLINE alya_model_t alya_model_of(const alya_physics_t *physics)
{
    if (physics->vreman == 0)
        return ALYA_NO_MODEL;
    return physics->filter > 0 ? ALYA_GIVEN_WIDTH : ALYA_OWN_WIDTH;
}

typedef struct {
    const int32_t *connectivity, *list;
    const double *x, *u;
    double *r;
    alya_physics_t physics;
} alya_job_t;

/* Assembles positions first .. end - 1 of the schedule; w is this thread's workspace, or NULL. */
typedef void alya_chunk_fn(const alya_job_t *job, double *w, int64_t first, int64_t end);

/* DEFINE(FORM, MODEL) for each of the twelve, and the table of what it defines. */
/* clang-format off */
#define ALYA_FOR_EACH_VARIANT(X)                                \
    X(CONV, NO_MODEL) X(CONV, OWN_WIDTH) X(CONV, GIVEN_WIDTH)   \
    X(SKEW, NO_MODEL) X(SKEW, OWN_WIDTH) X(SKEW, GIVEN_WIDTH)   \
    X(CONS, NO_MODEL) X(CONS, OWN_WIDTH) X(CONS, GIVEN_WIDTH)   \
    X(EMAC, NO_MODEL) X(EMAC, OWN_WIDTH) X(EMAC, GIVEN_WIDTH)
/* clang-format on */
#define ALYA_DEFINE_VARIANT(FORM, MODEL)                                                \
    static void chunk_##FORM##_##MODEL(const alya_job_t *job, double *w, int64_t first, \
                                       int64_t end)                                     \
    {                                                                                   \
        chunk(job, w, first, end, ALYA_##FORM, ALYA_##MODEL);                           \
    }
#define ALYA_VARIANT_ENTRY(FORM, MODEL) [ALYA_##FORM][ALYA_##MODEL] = chunk_##FORM##_##MODEL,
#define ALYA_DEFINE_VARIANTS                                \
    ALYA_FOR_EACH_VARIANT(ALYA_DEFINE_VARIANT)              \
    static alya_chunk_fn *const chunk_of[ALYA_FORMS][3] = { \
        ALYA_FOR_EACH_VARIANT(ALYA_VARIANT_ENTRY)};

/* A workspace of `values` arrays [16] for each thread. */
typedef struct {
    int threads;
    size_t length; /* doubles of a thread */
    double *w;
} alya_workspaces_t;

ALYA_INLINE size_t alya_workspace_length(int values)
{
    return ((size_t)values * ALYA_VECTOR_DIM + 511) / 512 * 512; /* whole pages */
}

static inline void alya_workspaces_new(alya_view_t *view, int values)
{
    alya_workspaces_t *all = RT_NEW(alya_workspaces_t, 1, RT_HOST);
    all->threads = omp_get_max_threads();
    all->length = alya_workspace_length(values);
    all->w = RT_NEW(double, (size_t)all->threads * all->length, RT_HOST);
    memset(all->w, 0, (size_t)all->threads * all->length * sizeof *all->w);
    view->data = all;
}

static inline void alya_workspaces_destroy(alya_view_t *view)
{
    alya_workspaces_t *all = view->data;
    if (all)
        RT_FREE(all->w, RT_HOST);
    RT_FREE(all, RT_HOST);
    view->data = NULL;
}

static inline void alya_workspaces_memory(int values, double bytes[RT_SPACES])
{
    bytes[RT_HOST] += sizeof(alya_workspaces_t) + (double)omp_get_max_threads() *
                                                      (double)alya_workspace_length(values) *
                                                      sizeof(double);
}

/* Zeroes r, then all chunks of one colour, then of the next. The chunk function comes as a pointer
 * because what is a constant outside an OpenMP region is a variable inside it. */
static inline void alya_run(const alya_view_t *view, const alya_job_t *job, int r_stride,
                            const alya_workspaces_t *all, alya_chunk_fn *fn)
{
    const alya_schedule_t *s = view->schedule;
    int threads = all ? all->threads : omp_get_max_threads();
    int64_t length = view->nodes * r_stride;
#pragma omp parallel num_threads(threads)
    {
        double *w = all ? all->w + (size_t)omp_get_thread_num() * all->length : NULL;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < length; i++)
            job->r[i] = 0;
        for (int32_t c = 0; c < s->colours; c++) {
#pragma omp for schedule(dynamic, 1)
            for (int64_t k = s->colour[c]; k < s->colour[c + 1]; k++)
                fn(job, w, s->first[k], s->first[k + 1]);
        }
    }
}

ALYA_INLINE alya_job_t alya_job(const alya_view_t *view, const alya_physics_t *physics,
                                const double *u, double *r)
{
    return (alya_job_t){view->connectivity, view->schedule->list, view->x, u, r, *physics};
}

/* --- groups of 16 --- */

typedef const double (*alya_nodes_in_t)[3][ALYA_VECTOR_DIM]; /* [node][component][lane] */
typedef double (*alya_nodes_out_t)[3][ALYA_VECTOR_DIM];

/* Connectivity of the group at position p. Lanes beyond `end` repeat its last element: they are
 * worked out and never added. Returns the number of real lanes. */
ALYA_INLINE int alya_group(const alya_job_t *job, int64_t p, int64_t end,
                           const int32_t *node[ALYA_VECTOR_DIM])
{
    int count = end - p < ALYA_VECTOR_DIM ? (int)(end - p) : ALYA_VECTOR_DIM;
    for (int lane = 0; lane < ALYA_VECTOR_DIM; lane++) {
        int64_t at = p + (lane < count ? lane : count - 1);
        node[lane] = job->connectivity + 4 * (job->list ? (int64_t)job->list[at] : at);
    }
    return count;
}

ALYA_INLINE void alya_gather(const int32_t *const node[ALYA_VECTOR_DIM], const double *x,
                             const double *u, int stride, alya_nodes_out_t gx, alya_nodes_out_t gu)
{
    for (int lane = 0; lane < ALYA_VECTOR_DIM; lane++)
        for (int a = 0; a < 4; a++) {
            int64_t n = node[lane][a];
            for (int i = 0; i < 3; i++) {
                gx[a][i][lane] = x[n * stride + i];
                gu[a][i][lane] = u[n * stride + i];
            }
        }
}

ALYA_INLINE void alya_scatter(const int32_t *const node[ALYA_VECTOR_DIM], int count,
                              alya_nodes_in_t gr, double *r, int r_stride)
{
    for (int lane = 0; lane < count; lane++)
        for (int a = 0; a < 4; a++) {
            double *rn = r + (int64_t)node[lane][a] * r_stride;
            for (int i = 0; i < 3; i++)
                rn[i] += gr[a][i][lane];
        }
}

/* --- arithmetic on one lane; by value, so that all of it ends in registers --- */

typedef struct {
    double x, y, z;
} alya_vec_t;

ALYA_INLINE alya_vec_t alya_load(alya_nodes_in_t array, int a, int lane)
{
    return (alya_vec_t){array[a][0][lane], array[a][1][lane], array[a][2][lane]};
}

ALYA_INLINE alya_vec_t alya_add(alya_vec_t a, alya_vec_t b)
{
    return (alya_vec_t){a.x + b.x, a.y + b.y, a.z + b.z};
}

ALYA_INLINE alya_vec_t alya_sub(alya_vec_t a, alya_vec_t b)
{
    return (alya_vec_t){a.x - b.x, a.y - b.y, a.z - b.z};
}

ALYA_INLINE alya_vec_t alya_times(double s, alya_vec_t a)
{
    return (alya_vec_t){s * a.x, s * a.y, s * a.z};
}

ALYA_INLINE double alya_dot(alya_vec_t a, alya_vec_t b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

ALYA_INLINE alya_vec_t alya_cross(alya_vec_t a, alya_vec_t b)
{
    return (alya_vec_t){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

typedef struct {
    alya_vec_t x, y, z; /* rows */
} alya_mat_t;

ALYA_INLINE alya_vec_t alya_apply(alya_mat_t A, alya_vec_t v)
{
    return (alya_vec_t){alya_dot(A.x, v), alya_dot(A.y, v), alya_dot(A.z, v)};
}

ALYA_INLINE alya_mat_t alya_transposed(alya_mat_t A)
{
    return (alya_mat_t){{A.x.x, A.y.x, A.z.x}, {A.x.y, A.y.y, A.z.y}, {A.x.z, A.y.z, A.z.z}};
}

ALYA_INLINE alya_mat_t alya_sum(alya_mat_t A, alya_mat_t B)
{
    return (alya_mat_t){alya_add(A.x, B.x), alya_add(A.y, B.y), alya_add(A.z, B.z)};
}

ALYA_INLINE alya_mat_t alya_scaled(double s, alya_mat_t A)
{
    return (alya_mat_t){alya_times(s, A.x), alya_times(s, A.y), alya_times(s, A.z)};
}

/* A of the form, from J and S = J + J^T. */
ALYA_INLINE alya_mat_t alya_convective(alya_form_t form, alya_mat_t J, alya_mat_t S)
{
    alya_mat_t A = form == ALYA_EMAC ? S : J;
    if (form != ALYA_CONV) {
        double share = form == ALYA_SKEW ? 0.5 : 1, div = share * (J.x.x + J.y.y + J.z.z);
        A.x.x += div;
        A.y.y += div;
        A.z.z += div;
    }
    return A;
}

/* sqrt(B / |J|^2): the rows of the cofactor matrix are cross products of the rows of J. */
ALYA_INLINE double alya_vreman(alya_mat_t J)
{
    alya_vec_t c0 = alya_cross(J.y, J.z), c1 = alya_cross(J.z, J.x), c2 = alya_cross(J.x, J.y);
    double B = alya_dot(c0, c0) + alya_dot(c1, c1) + alya_dot(c2, c2);
    double norm2 = alya_dot(J.x, J.x) + alya_dot(J.y, J.y) + alya_dot(J.z, J.z);
    double safe = norm2 > 0 ? norm2 : 1; /* B is 0 where J is */
    return sqrt(B / safe);
}

/*
 * x^(-1/3) for normal x > 0, to about one unit in the last place. The libm's cbrt is a call a lane;
 * this is straight-line code that vectorises. Start: minus a third of the exponent, by integer
 * arithmetic on the bits (1/3 = 1/4 + 1/16 + ..., since there is no vector division of integers),
 * good to 3.5 %. Then twice y (1 - e)^(-1/3) to third order in e = 1 - x y^3: 1e-5, 1e-20.
 */
ALYA_INLINE double alya_rcbrt(double x)
{
    uint64_t bits, third;
    double y;
    memcpy(&bits, &x, sizeof bits);
    third = (bits >> 2) + (bits >> 4);
    third += third >> 4;
    third += third >> 8;
    third += third >> 16;
    third += third >> 32;
    bits = UINT64_C(0x553ef0ff289dd796) - third;
    memcpy(&y, &bits, sizeof y);
#pragma GCC unroll 2
    for (int step = 0; step < 2; step++) {
        double e = 1 - x * (y * y * y);
        y += y * e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81)));
    }
    return y;
}

#endif
