/*
 * op_simd_rows.h - y = A x in the modes of parity.h, vectors along x: what op_simd.c and
 * op_simd32.c share. REAL is the type of x and y.
 *
 * Idea: 187 operations an element instead of 1152. A row of elements is as many vectors of
 * elements; rows follow each other in y, and the x-z transform of the nodes between two rows is
 * made once for both, as is the way back. (parity.h speaks of layers in z; the cube does not know
 * z from y, so it is called with the two, and their components, exchanged.) What a row leaves for
 * the next, 24 vectors a block, stays in the first cache, and the layers of x and y above and below
 * a layer of elements stay in the second: a tile of nodes in y and x (24 by 256, unless another is
 * chosen), layer after layer in z. The elements below a node set its y, those above add to it.
 *
 * A block of elements is as wide as a vector and begins where a block of nodes does: these get its
 * left corners, and its right ones moved up by a lane, where the last one of the block before comes
 * in. The first element of a row has no node of the region to its left; it is in all lanes of a
 * block of its own, of which only the last is used.
 *
 * Advantage: x and y go through memory once, nobody adds to another thread's nodes, and each
 * node's terms are added in one order, whatever the number of threads. Price: elements between two
 * threads or tiles are worked out by both, and there are three additions to a multiplication, so
 * that fused ones cannot reach the peak.
 */
#ifndef GFNN_OP_SIMD_ROWS_H
#define GFNN_OP_SIMD_ROWS_H

#include <string.h>
#include "cpu.h"
#include "rt_threads.h"

/* op_simd32.c */
void gfnn_simd_apply32(const gfnn_view_t *view, const gfnn_form_t *form,
                       const gfnn_region_t *region, const float *x, float *y);

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

/* Bytes of a vector: what the machine has registers for. */
#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16
#endif

enum {
    LANES = VECTOR / sizeof(REAL),
    LEFT = -1,   /* in place of a number of lanes: one element in all lanes */
    CHUNK = 256, /* the widest tile */
    BLOCKS = CHUNK / LANES + 2
};
typedef REAL vec_t __attribute__((vector_size(VECTOR)));
/* In memory it lies at any value of an array. */
typedef REAL at_t __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));

#define GFNN_PARITY_T       vec_t
#define GFNN_PARITY_S       REAL
#define GFNN_PARITY_NAME(f) f
#define GFNN_PARITY_FN      INLINE
#include "../parity.h"

/* The last lane of a, then all but the last of b. */
#if VECTOR / REAL_BYTES == 16
#define MOVED 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
#elif VECTOR / REAL_BYTES == 8
#define MOVED 7, 8, 9, 10, 11, 12, 13, 14
#elif VECTOR / REAL_BYTES == 4
#define MOVED 3, 4, 5, 6
#else
#define MOVED 1, 2
#endif
#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define MOVE_UP(a, b) __builtin_shufflevector(a, b, MOVED)
#endif
#endif
#ifndef MOVE_UP
typedef INTEGER mask_t __attribute__((vector_size(VECTOR)));
#define MOVE_UP(a, b) __builtin_shuffle(a, b, (mask_t){MOVED})
#endif

typedef struct {
    const gfnn_grid_t *grid, *wide; /* of x and y; of id */
    const uint8_t *id;
    const REAL *x;
    REAL *y;
    REAL mass, bulk; /* as parity.h scales them */
    REAL shear[GFNN_MAX_IDS], w[GFNN_MAX_IDS];
    int64_t tile[2]; /* nodes in y and in x */
    double *row;     /* [n[2]][n[1]]: x . y of a row of nodes; NULL if nobody asks */
} job_t;

/* What a block of elements leaves for that of the next row, by x-z modes; components x, z, y. */
typedef struct {
    vec_t node[3][4]; /* modes of the nodes between the two */
    vec_t sum[3][4];  /* what the elements so far add to these nodes, in modes */
} block_t;

/* A tile's row of elements. The first block is LEFT. */
typedef struct {
    block_t block[BLOCKS];
    _Alignas(VECTOR) REAL shear[BLOCKS * LANES], w[BLOCKS * LANES];
    REAL nobody[6 * BLOCKS * LANES]; /* y of a row of nodes that is another tile's */
} chunk_t;

/* Two rows of nodes of y, one above the other: where the first is, and from component to component
 * and from row to row. */
typedef struct {
    REAL *first;
    int64_t plane, slab;
} rows_t;

static const int axis[3] = {0, 2, 1}; /* components in that order */

INLINE void load(const REAL *p, int lanes, vec_t *v)
{
    if (lanes == LANES) {
        *v = *(const at_t *)p;
    } else if (lanes == LEFT) {
        *v = (vec_t){0} + *p;
    } else {
        *v = (vec_t){0};
        for (int lane = 0; lane < lanes; lane++)
            (*v)[lane] = p[lane];
    }
}

INLINE void store(REAL *p, int lanes, const vec_t *v)
{
    if (lanes == LANES)
        *(at_t *)p = *v;
    else
        for (int lane = 0; lane < lanes; lane++)
            p[lane] = (*v)[lane];
}

/* Modes of the x-z squares of nodes whose lower left ones are (i, j, k) and those after it. */
INLINE void squares(const job_t *job, int64_t i, int64_t j, int64_t k, int lanes, vec_t mode[3][4])
{
    const REAL *x = job->x + gfnn_at(job->grid, i, j, k);
    UNROLL
    for (int c = 0; c < 3; c++) {
        const REAL *below = x + axis[c] * job->grid->plane, *above = below + job->grid->slab;
        vec_t corner[4];
        if (lanes == LANES) /* of the next layer: a tile's rows are too short for the hardware */
            __builtin_prefetch(above + job->grid->slab);
        load(below, lanes, &corner[0]);
        load(below + 1, lanes, &corner[1]);
        load(above, lanes, &corner[2]);
        load(above + 1, lanes, &corner[3]);
        gfnn_parity_layer(corner, mode[c]);
    }
}

/* The elements from (i, j, k) on, block b: `mode` is what they and those of row j - 1 add to the
 * nodes of row j; the block is made ready for row j + 1. */
INLINE void elements(const job_t *job, int64_t i, int64_t j, int64_t k, int lanes, bool absent,
                     chunk_t *chunk, int64_t b, vec_t mode[3][4])
{
    block_t *block = &chunk->block[b];
    vec_t next[3][4], U[3][8], Y[3][8];
    squares(job, i, j + 1, k, lanes, next);
    UNROLL
    for (int c = 0; c < 3; c++) {
        gfnn_parity_join(block->node[c], next[c], U[c]);
        memcpy(block->node[c], next[c], sizeof next[c]);
    }
    vec_t element[3], there = (vec_t){0} + 1;
    if (absent)
        load(chunk->w + b * LANES, LANES, &there);
    element[0] = there * job->mass;
    element[1] = there * job->bulk;
    load(chunk->shear + b * LANES, LANES, &element[2]);
    gfnn_parity_product(element, U, Y);
    UNROLL
    for (int c = 0; c < 3; c++) {
        vec_t lower[4], upper[4];
        gfnn_parity_part(Y[c], lower, upper);
        UNROLL
        for (int q = 0; q < 4; q++) {
            mode[c][q] = block->sum[c][q] + lower[q];
            block->sum[c][q] = upper[q];
        }
    }
}

/* From modes to nodes (i, j, k) and (i, j, k + 1) and those after them. left: right corners of the
 * block before, and then of this. */
INLINE void nodes(const job_t *job, const gfnn_region_t *part, const rows_t *out, int64_t i,
                  int64_t j, int64_t k, int lanes, vec_t mode[3][4], vec_t left[3][2], vec_t *dot)
{
    const int64_t at = gfnn_at(job->grid, i, j, k);
    UNROLL
    for (int c = 0; c < 3; c++) {
        REAL *below = out->first + axis[c] * out->plane + i - part->lo[0];
        REAL *above = below + out->slab;
        vec_t corner[4], old, x, y;
        gfnn_parity_layer_back(mode[c], corner);
        if (lanes == LANES)
            __builtin_prefetch(above + out->slab, 1);
        if (lanes != LEFT && k >= part->lo[2]) {
            load(below, lanes, &old);
            y = old + (corner[0] + MOVE_UP(left[c][0], corner[1]));
            store(below, lanes, &y);
            if (dot) {
                load(job->x + axis[c] * job->grid->plane + at, lanes, &x);
                *dot += x * y;
            }
        }
        if (lanes != LEFT && k + 1 < part->hi[2]) {
            y = corner[2] + MOVE_UP(left[c][1], corner[3]);
            store(above, lanes, &y);
        }
        left[c][0] = corner[1];
        left[c][1] = corner[3];
    }
}

/* Of elements lo[0] - 1 .. hi[0] - 1: shear and, if one of them is absent, w. Is one? */
INLINE bool materials(const job_t *job, const gfnn_region_t *part, int64_t j, int64_t k,
                      chunk_t *chunk)
{
    const uint8_t *id = job->id + gfnn_at(job->wide, part->lo[0], j, k);
    const int64_t n = part->hi[0] - part->lo[0];
    int absent = 0;
    for (int64_t e = -1; e < n; e++)
        absent |= id[e] == GFNN_OUTSIDE;
    for (int64_t e = -LANES; e < n; e++)
        chunk->shear[LANES + e] = job->shear[id[e < 0 ? -1 : e]];
    for (int64_t e = -LANES; absent && e < n; e++)
        chunk->w[LANES + e] = job->w[id[e < 0 ? -1 : e]];
    return absent;
}

/* One row of elements. Returns x . y of the lower nodes. */
INLINE double row(const job_t *job, const gfnn_region_t *part, int64_t j, int64_t k, bool absent,
                  bool with_dot, chunk_t *chunk)
{
    /* The row before the tile's first is worked out in just the same way, and then forgotten: code
     * of its own, where nobody asks for `mode`, may be rounded in another way, and the bits would
     * depend on where tiles and threads meet. */
    const rows_t own = {job->y + gfnn_at(job->grid, part->lo[0], j, k), job->grid->plane,
                        job->grid->slab};
    const rows_t none = {chunk->nobody, 2 * BLOCKS * LANES, BLOCKS * LANES};
    const rows_t out = j >= part->lo[1] ? own : none;
    vec_t left[3][2], mode[3][4], dot = {0};
    int64_t i = part->lo[0], b = 0;
    elements(job, i - 1, j, k, LEFT, absent, chunk, b, mode);
    nodes(job, part, &out, i - 1, j, k, LEFT, mode, left, NULL);
    for (; i + LANES <= part->hi[0]; i += LANES) {
        elements(job, i, j, k, LANES, absent, chunk, ++b, mode);
        nodes(job, part, &out, i, j, k, LANES, mode, left, with_dot ? &dot : NULL);
    }
    if (i < part->hi[0]) {
        const int lanes = (int)(part->hi[0] - i);
        elements(job, i, j, k, lanes, absent, chunk, ++b, mode);
        nodes(job, part, &out, i, j, k, lanes, mode, left, with_dot ? &dot : NULL);
    }
    double sum = 0;
    for (int lane = 0; with_dot && lane < LANES; lane++)
        sum += (double)dot[lane];
    return sum;
}

/* Layer k of elements of a tile. */
INLINE void layer(const job_t *job, const gfnn_region_t *tile, int64_t k, bool with_dot,
                  chunk_t *chunk)
{
    const int64_t j0 = tile->lo[1] - 1;
    block_t *block = chunk->block;
    squares(job, tile->lo[0] - 1, j0, k, LEFT, block->node);
    for (int64_t i = tile->lo[0]; i < tile->hi[0]; i += LANES) {
        const int64_t lanes = tile->hi[0] - i;
        squares(job, i, j0, k, lanes < LANES ? (int)lanes : LANES, (++block)->node);
    }
    for (int64_t j = j0; j < tile->hi[1]; j++) {
        const bool absent = materials(job, tile, j, k, chunk);
        const double dot = absent ? row(job, tile, j, k, true, with_dot, chunk)
                                  : row(job, tile, j, k, false, with_dot, chunk);
        if (with_dot && j >= tile->lo[1] && k >= tile->lo[2])
            job->row[k * job->grid->n[1] + j] += dot;
    }
}

/* A thread's part of the region, tile after tile. */
INLINE void tiles(const job_t *job, const gfnn_region_t *part, bool with_dot)
{
    chunk_t chunk;
    memset(&chunk, 0, sizeof chunk);
    const int64_t rows = job->tile[0], width = job->tile[1];
    for (int64_t j = part->lo[1]; j < part->hi[1]; j += rows)
        for (int64_t i = part->lo[0]; i < part->hi[0]; i += width) {
            gfnn_region_t tile = *part;
            tile.lo[0] = i;
            tile.hi[0] = part->hi[0] - i < width ? part->hi[0] : i + width;
            tile.lo[1] = j;
            tile.hi[1] = part->hi[1] - j < rows ? part->hi[1] : j + rows;
            for (int64_t k = part->lo[2] - 1; k < part->hi[2]; k++)
                layer(job, &tile, k, with_dot, &chunk);
        }
    /* Somebody reads it, as far as the compiler knows. */
    __asm__ volatile("" : : "r"(chunk.nobody) : "memory");
}

static job_t job_of(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_grid_t *grid,
                    const REAL *x, REAL *y)
{
    const gfnn_materials_t *materials = view->materials;
    job_t job = {.grid = grid, .wide = &view->box->wide, .id = view->id, .x = x, .y = y};
    gfnn_simd_tile(view->choice, job.tile);
    job.mass = (REAL)(form->mass / GFNN_PARITY_MASS);
    job.bulk = (REAL)(form->bulk / GFNN_PARITY_STIFF);
    for (int m = 0; m <= materials->ids; m++) {
        const int id = m < materials->ids ? m : GFNN_OUTSIDE;
        job.shear[id] = (REAL)(materials->square[id] * form->shear / GFNN_PARITY_STIFF);
        job.w[id] = (REAL)materials->w[id];
    }
    return job;
}

static bool empty(const gfnn_region_t *r)
{
    return r->hi[0] <= r->lo[0] || r->hi[1] <= r->lo[1] || r->hi[2] <= r->lo[2];
}

/* The part of this thread of a parallel region: as many in z and in y as give the least work, with
 * the layer and the row of elements that each has besides. */
static gfnn_region_t part_of(const gfnn_region_t *region)
{
    const int64_t threads = rt_threads_here(), me = rt_thread();
    const int64_t ny = region->hi[1] - region->lo[1], nz = region->hi[2] - region->lo[2];
    int64_t in_z = 1, least = INT64_MAX;
    for (int64_t z = 1; z <= threads; z++) {
        const int64_t y = threads / z;
        const int64_t work = ((nz + z - 1) / z + 1) * ((ny + y - 1) / y + 1);
        if (threads % z == 0 && work < least) {
            least = work;
            in_z = z;
        }
    }
    const int64_t in_y = threads / in_z, z = me / in_y, y = me % in_y;
    gfnn_region_t part = *region;
    part.lo[1] = region->lo[1] + ny * y / in_y;
    part.hi[1] = region->lo[1] + ny * (y + 1) / in_y;
    part.lo[2] = region->lo[2] + nz * z / in_z;
    part.hi[2] = region->lo[2] + nz * (z + 1) / in_z;
    return part;
}

#endif
