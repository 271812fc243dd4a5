/*
 * lanes.h - shared by the CPU rungs: 16 elements at a time, chunk after chunk, colour after colour.
 *
 * A group of 16 elements is copied from the nodes into arrays [value][16], so that the arithmetic
 * has unit stride, and its results are added to the nodes one by one. Elements of a group may share
 * nodes, so these additions cannot be a vector scatter; their order is that of the elements.
 *
 * The copies cost as much as the arithmetic if they go value by value: 24 loads and as many stores
 * per element, 12 additions in memory. Where a node's fields are rows of four doubles (packed 8,
 * r_stride 4), a row is one vector, and four rows of four lanes are transposed into vectors of
 * lanes, and back, in registers.
 */
#ifndef ALYA_LANES_H
#define ALYA_LANES_H

#include <string.h>
#include "../kernel.h"
#include "base/threads.h"

_Static_assert(
    ALYA_VECTOR_DIM > 0 && ALYA_VECTOR_DIM % 4 == 0,
    "rows of four lanes are transposed at once: ALYA_VECTOR_DIM must be a multiple of 4");

#define ALYA_INLINE static inline __attribute__((always_inline))
#define ALYA_LANES  _Pragma("omp simd") for (int lane = 0; lane < ALYA_VECTOR_DIM; lane++)

/* The subgrid model's Delta. Known at compile time in the hot loops, like the form: one function
 * for each of the twelve combinations, chosen once per assembly. */
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
    void *data; /* the view's */
    alya_physics_t physics;
} alya_job_t;

/* Assembles positions first .. end - 1 of the schedule. */
typedef void alya_chunk_fn(const alya_job_t *job, int64_t first, int64_t end);

/* Defines a function for each of the twelve combinations from the inline function chunk(), and
 * assemble(), which chooses one. */
/* clang-format off */
#define ALYA_FOR_EACH_VARIANT(X)                                \
    X(CONV, NO_MODEL) X(CONV, OWN_WIDTH) X(CONV, GIVEN_WIDTH)   \
    X(SKEW, NO_MODEL) X(SKEW, OWN_WIDTH) X(SKEW, GIVEN_WIDTH)   \
    X(CONS, NO_MODEL) X(CONS, OWN_WIDTH) X(CONS, GIVEN_WIDTH)   \
    X(EMAC, NO_MODEL) X(EMAC, OWN_WIDTH) X(EMAC, GIVEN_WIDTH)
/* clang-format on */
#define ALYA_DEFINE_VARIANT(FORM, MODEL)                                                  \
    static void chunk_##FORM##_##MODEL(const alya_job_t *job, int64_t first, int64_t end) \
    {                                                                                     \
        chunk(job, first, end, ALYA_##FORM, ALYA_##MODEL);                                \
    }
#define ALYA_VARIANT_ENTRY(FORM, MODEL) [ALYA_##FORM][ALYA_##MODEL] = chunk_##FORM##_##MODEL,
#define ALYA_DEFINE_ASSEMBLE(r_stride)                                                            \
    ALYA_FOR_EACH_VARIANT(ALYA_DEFINE_VARIANT)                                                    \
    static alya_chunk_fn *const chunk_of[ALYA_FORMS][3] = {                                       \
        ALYA_FOR_EACH_VARIANT(ALYA_VARIANT_ENTRY)};                                               \
    static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u, \
                         double *r)                                                               \
    {                                                                                             \
        alya_run(view, physics, u, r, r_stride, rt_threads(),                                     \
                 chunk_of[physics->form][alya_model_of(physics)]);                                \
    }

ALYA_INLINE alya_job_t alya_job(const alya_view_t *view, const alya_physics_t *physics,
                                const double *u, double *r)
{
    return (alya_job_t){.connectivity = view->connectivity,
                        .list = view->schedule->list,
                        .x = view->x,
                        .u = u,
                        .r = r,
                        .data = view->data,
                        .physics = *physics};
}

/* Zeroes r, then runs all chunks of one colour, then of the next. The chunk function is passed as a
 * pointer because a constant outside an OpenMP region is a variable inside it. */
static inline void alya_run(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                            double *r, int r_stride, int threads, alya_chunk_fn *fn)
{
    const alya_schedule_t *s = view->schedule;
    const alya_job_t job = alya_job(view, physics, u, r);
    int64_t length = view->nodes * r_stride;
    (void)threads; /* unused without OpenMP */
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < length; i++)
            r[i] = 0;
        for (int32_t c = 0; c < s->colours; c++) {
#pragma omp for schedule(dynamic, 1)
            for (int64_t k = s->colour[c]; k < s->colour[c + 1]; k++)
                fn(&job, s->first[k], s->first[k + 1]);
        }
    }
}

/* --- groups of 16 --- */

typedef const double (*alya_nodes_in_t)[3][ALYA_VECTOR_DIM]; /* [node][component][lane] */
typedef double (*alya_nodes_out_t)[3][ALYA_VECTOR_DIM];

/* Finds the connectivity of the group at position p. Lanes beyond `end` repeat its last element:
 * they are computed and never added. Returns the number of real lanes. */
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

/*
 * The same for rows of four, with the vector extension of gcc and clang. No function takes or
 * returns a vector, since that would depend on the target's calling conventions. Where vectors are
 * shorter than a row, clang splits them, but gcc would handle them value by value: there, and
 * without shuffles, the plain copies are used.
 */
#if defined __has_builtin && (defined __AVX__ || defined __clang__)
#if __has_builtin(__builtin_shufflevector)
#define ALYA_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#elif __has_builtin(__builtin_shuffle)
typedef int64_t alya_mask_t __attribute__((vector_size(32)));
#define ALYA_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (alya_mask_t){__VA_ARGS__})
#endif
#endif

#ifdef ALYA_SHUFFLE
/* In memory it may be at any multiple of 8 bytes, among doubles. */
typedef double alya_row_t __attribute__((vector_size(32), aligned(8), may_alias));
/* Pairs of even and of odd places, and pairs of the lower and of the upper halves: two rounds of
 * these transpose four rows. */
#define ALYA_EVEN(a, b)  ALYA_SHUFFLE(a, b, 0, 4, 2, 6)
#define ALYA_ODD(a, b)   ALYA_SHUFFLE(a, b, 1, 5, 3, 7)
#define ALYA_LOWER(a, b) ALYA_SHUFFLE(a, b, 0, 1, 4, 5)
#define ALYA_UPPER(a, b) ALYA_SHUFFLE(a, b, 2, 3, 6, 7)

#define ALYA_ROW_AT(field, n, stride) (*(alya_row_t *)((field) + (int64_t)(n) * (stride)))

/* out[i][lane .. lane + 3] = component i of the nodes `a` of four lanes. */
ALYA_INLINE void alya_turn_rows(const int32_t *const node[4], int a, const double *field,
                                double (*out)[ALYA_VECTOR_DIM], int lane)
{
    alya_row_t row0 = ALYA_ROW_AT(field, node[0][a], ALYA_RECORD);
    alya_row_t row1 = ALYA_ROW_AT(field, node[1][a], ALYA_RECORD);
    alya_row_t row2 = ALYA_ROW_AT(field, node[2][a], ALYA_RECORD);
    alya_row_t row3 = ALYA_ROW_AT(field, node[3][a], ALYA_RECORD);
    alya_row_t even01 = ALYA_EVEN(row0, row1), odd01 = ALYA_ODD(row0, row1);
    alya_row_t even23 = ALYA_EVEN(row2, row3), odd23 = ALYA_ODD(row2, row3);
    ALYA_ROW_AT(out[0], lane, 1) = ALYA_LOWER(even01, even23);
    ALYA_ROW_AT(out[1], lane, 1) = ALYA_LOWER(odd01, odd23);
    ALYA_ROW_AT(out[2], lane, 1) = ALYA_UPPER(even01, even23);
}

ALYA_INLINE void alya_gather_rows(const int32_t *const node[ALYA_VECTOR_DIM], const double *x,
                                  const double *u, alya_nodes_out_t gx, alya_nodes_out_t gu)
{
    for (int lane = 0; lane < ALYA_VECTOR_DIM; lane += 4)
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) {
            alya_turn_rows(node + lane, a, x, gx[a], lane);
            alya_turn_rows(node + lane, a, u, gu[a], lane);
        }
}

ALYA_INLINE void alya_scatter_rows(const int32_t *const node[ALYA_VECTOR_DIM], int count,
                                   alya_nodes_in_t gr, double *r)
{
    for (int lane = 0; lane < count; lane += 4) {
        const alya_row_t zero = {0, 0, 0, 0};
        alya_row_t row[4][4]; /* [lane][node] */
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) {
            alya_row_t x = ALYA_ROW_AT(gr[a][0], lane, 1), y = ALYA_ROW_AT(gr[a][1], lane, 1);
            alya_row_t z = ALYA_ROW_AT(gr[a][2], lane, 1);
            alya_row_t xy02 = ALYA_EVEN(x, y), xy13 = ALYA_ODD(x, y);
            alya_row_t z02 = ALYA_EVEN(z, zero), z13 = ALYA_ODD(z, zero);
            row[0][a] = ALYA_LOWER(xy02, z02);
            row[1][a] = ALYA_LOWER(xy13, z13);
            row[2][a] = ALYA_UPPER(xy02, z02);
            row[3][a] = ALYA_UPPER(xy13, z13);
        }
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            if (lane + k < count)
#pragma GCC unroll 4
                for (int a = 0; a < 4; a++)
                    ALYA_ROW_AT(r, node[lane + k][a], ALYA_ROW) += row[k][a];
    }
}
#else
ALYA_INLINE void alya_gather_rows(const int32_t *const node[ALYA_VECTOR_DIM], const double *x,
                                  const double *u, alya_nodes_out_t gx, alya_nodes_out_t gu)
{
    alya_gather(node, x, u, ALYA_RECORD, gx, gu);
}

ALYA_INLINE void alya_scatter_rows(const int32_t *const node[ALYA_VECTOR_DIM], int count,
                                   alya_nodes_in_t gr, double *r)
{
    alya_scatter(node, count, gr, r, ALYA_ROW);
}
#endif

/* Computes one lane of a group: r of its four nodes, from x and u. */
typedef void alya_element_fn(alya_nodes_in_t x, alya_nodes_in_t u, alya_nodes_out_t r, int lane,
                             const alya_physics_t *physics, alya_form_t form, alya_model_t model);

/* Assembles positions first .. end - 1 by a routine whose intermediates are scalars. All arguments
 * but job, first and end are constants at the call, and `element` is inlined into the loop. rows: x
 * and u are records of ALYA_RECORD, r has rows of ALYA_ROW; otherwise all three are [nodes][3]. */
ALYA_INLINE void alya_groups(const alya_job_t *job, int64_t first, int64_t end, bool rows,
                             alya_element_fn *element, alya_form_t form, alya_model_t model)
{
    const alya_physics_t physics = job->physics;
    for (int64_t p = first; p < end; p += ALYA_VECTOR_DIM) {
        const int32_t *node[ALYA_VECTOR_DIM];
        double x[4][3][ALYA_VECTOR_DIM] __attribute__((aligned(64)));
        double u[4][3][ALYA_VECTOR_DIM] __attribute__((aligned(64)));
        double r[4][3][ALYA_VECTOR_DIM] __attribute__((aligned(64)));
        int count = alya_group(job, p, end, node);
        if (rows)
            alya_gather_rows(node, job->x, job->u, x, u);
        else
            alya_gather(node, job->x, job->u, 3, x, u);
        ALYA_LANES
        element((alya_nodes_in_t)x, (alya_nodes_in_t)u, r, lane, &physics, form, model);
        if (rows)
            alya_scatter_rows(node, count, (alya_nodes_in_t)r, job->r);
        else
            alya_scatter(node, count, (alya_nodes_in_t)r, job->r, 3);
    }
}

#endif
