/*
 * box.c - the generated meshes: a hill like that of Bolund, and a periodic box for the manufactured
 * tests.
 *
 * A box of cells, each split into 6 tetrahedra around its diagonal from corner 0 to corner 7
 * (Kuhn), which fit together across faces. A rank has a block of cells: the ranks are halved, and
 * the cells along the longest axis with them, until each has its own. So no rank lists the cells of
 * others, and blocks are compact and, to a layer of cells, equal.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <string.h>

static const double two_pi = 6.28318530717958647692;
static const double hill_low[2] = {-200, -200}, hill_high[2] = {400, 200}; /* m */
static const double hill_top = 120, hill_height = 12;

/* Below this many nodes, starting threads takes longer than the work. */
enum { SERIAL = 16384 };

/* --- which cells a rank has --- */

typedef struct {
    int64_t low[3], high[3]; /* low <= cell < high */
} block_t;

static block_t find_block(const alya_box_t *box, int rank, int ranks)
{
    block_t block = {.high = {box->cells[0], box->cells[1], box->cells[2]}};
    while (ranks > 1) {
        const int half = ranks / 2;
        int axis = 0;
        for (int d = 1; d < 3; d++)
            if (block.high[d] - block.low[d] > block.high[axis] - block.low[axis])
                axis = d;
        const int64_t size = block.high[axis] - block.low[axis];
        const int64_t cut = block.low[axis] + (2 * size * half + ranks) / (2 * ranks); /* nearest */
        if (rank < half) {
            block.high[axis] = cut;
            ranks = half;
        } else {
            block.low[axis] = cut;
            rank -= half;
            ranks -= half;
        }
    }
    return block;
}

/* Returns the cells of a block, or its nodes (more: 1). */
static int64_t size_of(const block_t *block, int more)
{
    int64_t size = 1;
    for (int d = 0; d < 3; d++)
        size *= block->high[d] - block->low[d] + more;
    return size;
}

alya_parts_t alya_box_count(const alya_box_t *box, int ranks)
{
    alya_parts_t parts = {.least = INT64_MAX};
    for (int rank = 0; rank < ranks; rank++) {
        const block_t block = find_block(box, rank, ranks);
        const int64_t cells = size_of(&block, 0), nodes = size_of(&block, 1);
        parts.least = 6 * cells < parts.least ? 6 * cells : parts.least;
        parts.elements = 6 * cells > parts.elements ? 6 * cells : parts.elements;
        if (nodes <= parts.nodes)
            continue;
        parts.nodes = nodes;
        for (int d = 0; d < 3; d++)
            parts.cells[d] = block.high[d] - block.low[d];
    }
    return parts;
}

/* --- nodes --- */

typedef struct {
    const alya_box_t *box;
    block_t block;
    double *level; /* [nz + 1] height of a layer's bottom over the hill, as a share of the column */
} maker_t;

static double smooth_step(double t)
{
    return (1 + tanh(t)) / 2;
}

double alya_hill(double x, double y)
{
    return hill_height * smooth_step((x + 65) / 1.5) * smooth_step((65 - x) / 15) *
           smooth_step((37.5 - fabs(y)) / 8);
}

static double *make_levels(const alya_box_t *box)
{
    int64_t n = box->cells[2];
    double *level = RT_NEW(double, (size_t)n + 1, RT_HOST), rate = log(box->growth);
    for (int64_t k = 0; k <= n; k++) /* expm1: no digits are lost where growth is close to 1 */
        level[k] = box->periodic_box || rate == 0
                       ? (double)k / (double)n
                       : expm1((double)k * rate) / expm1((double)n * rate);
    return level;
}

/* Returns the position along a horizontal axis in the hill's box; d = 0, 1. */
static double on_ground(const alya_box_t *box, int d, int64_t at)
{
    return hill_low[d] + (hill_high[d] - hill_low[d]) * (double)at / (double)box->cells[d];
}

static double height(const alya_box_t *box, int64_t i, int64_t j)
{
    return box->periodic_box ? 0 : alya_hill(on_ground(box, 0, i), on_ground(box, 1, j));
}

/* Returns the largest rise of the ground along an edge in x, plus the same in y, over the four
 * cells around a column of nodes. */
static double steepest_rise(const alya_box_t *box, int64_t i, int64_t j)
{
    double h[3][3], in_x = 0, in_y = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            h[a][b] = height(box, i + a - 1, j + b - 1);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++) {
            in_x = fmax(in_x, fabs(h[a + 1][b] - h[a][b]));
            in_y = fmax(in_y, fabs(h[b][a + 1] - h[b][a]));
        }
    return in_x + in_y;
}

/*
 * Computes how far a node may be moved along each axis. A move along a slope also moves the node
 * across the layers, by rise dx'/dx. So all moves on the hill are divided by 1 + rise / thickness.
 * Measured along the faces of a cell, no node then moves by more than jitter times the cell's
 * extent in any direction, and det > 0 for jitter < 1/6 on any slope (the matrix of edges is
 * diagonally dominant).
 */
static void reach(const maker_t *m, const int64_t at[3], double rise, double size[3])
{
    const alya_box_t *box = m->box;
    if (box->periodic_box) {
        for (int d = 0; d < 3; d++)
            size[d] = box->jitter * two_pi / (double)box->cells[d];
        return;
    }
    const double *level = m->level + at[2];
    double thickness = (hill_top - hill_height) * fmin(level[0] - level[-1], level[1] - level[0]);
    double share = box->jitter / (1 + rise / thickness);
    for (int d = 0; d < 2; d++)
        size[d] = share * (hill_high[d] - hill_low[d]) / (double)box->cells[d];
    size[2] = share * thickness;
}

static bool on_surface(const alya_box_t *box, const int64_t at[3])
{
    for (int d = 0; d < 3; d++)
        if (at[d] == 0 || at[d] == box->cells[d])
            return true;
    return false;
}

/* Returns whether one of the cells around this node belongs to another rank. */
static bool has_foreign_cell(const maker_t *m, const int64_t at[3])
{
    const block_t *b = &m->block;
    for (int d = 0; d < 3; d++)
        if ((at[d] == b->low[d] && at[d] > 0) || (at[d] == b->high[d] && at[d] < m->box->cells[d]))
            return true;
    return false;
}

/* Returns the number of a node in its block. */
static int64_t number_of(const block_t *b, int64_t i, int64_t j, int64_t k)
{
    return ((i - b->low[0]) * (b->high[1] - b->low[1] + 1) + j - b->low[1]) *
               (b->high[2] - b->low[2] + 1) +
           k - b->low[2];
}

static int64_t global_id(const alya_box_t *box, const int64_t at[3])
{
    int64_t id = 0;
    for (int d = 0; d < 3; d++)
        id = id * (box->cells[d] + 1) + (box->periodic_box ? at[d] % box->cells[d] : at[d]);
    return id;
}

/* Makes node n. ground: height of the hill; rise: from steepest_rise. */
static void make_node(const maker_t *m, const int64_t at[3], double ground, double rise,
                      alya_mesh_t *mesh, int64_t n)
{
    const alya_box_t *box = m->box;
    bool surface = on_surface(box, at);
    double *x = mesh->x + 3 * n;
    mesh->node_id[n] = global_id(box, at);
    if (box->periodic_box) {
        for (int d = 0; d < 3; d++)
            x[d] = two_pi * (double)at[d] / (double)box->cells[d];
        mesh->flags[n] = surface || has_foreign_cell(m, at) ? ALYA_SHARED : 0;
    } else {
        x[0] = on_ground(box, 0, at[0]);
        x[1] = on_ground(box, 1, at[1]);
        x[2] = ground + (hill_top - ground) * m->level[at[2]];
        mesh->flags[n] =
            (uint8_t)((surface ? ALYA_BOUNDARY : 0) | (has_foreign_cell(m, at) ? ALYA_SHARED : 0));
    }
    if (box->jitter == 0 || (surface && !box->periodic_box))
        return;
    double size[3];
    reach(m, at, rise, size);
    for (int d = 0; d < 3; d++)
        x[d] += size[d] * rt_random(3 * (uint64_t)mesh->node_id[n] + (uint64_t)d, box->seed);
}

static void make_node_column(const maker_t *m, int64_t i, int64_t j, alya_mesh_t *mesh)
{
    const double ground = height(m->box, i, j);
    const double rise = m->box->jitter != 0 ? steepest_rise(m->box, i, j) : 0;
    for (int64_t k = m->block.low[2]; k <= m->block.high[2]; k++)
        make_node(m, (const int64_t[]){i, j, k}, ground, rise, mesh, number_of(&m->block, i, j, k));
}

/* --- elements --- */

/* Corners of a cell: bit d is set if it is the far one along axis d. For each permutation of the
 * axes the path from corner 0 to corner 7; the last two are swapped where the permutation is
 * odd. */
static const uint8_t kuhn[6][4] = {{0, 1, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7},
                                   {0, 1, 7, 5}, {0, 2, 7, 3}, {0, 4, 7, 6}};

static void make_cell_column(const block_t *b, int64_t i, int64_t j, int32_t *element)
{
    for (int64_t k = b->low[2]; k < b->high[2]; k++) {
        int32_t corner[8];
        for (int c = 0; c < 8; c++)
            corner[c] = (int32_t)number_of(b, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
        for (int t = 0; t < 6; t++)
            for (int a = 0; a < 4; a++)
                *element++ = corner[kuhn[t][a]];
    }
}

alya_mesh_t *alya_box_new(const alya_box_t *box, int rank, int ranks)
{
    const block_t b = find_block(box, rank, ranks);
    maker_t m = {.box = box, .block = b, .level = make_levels(box)};
    const int64_t column = 24 * (b.high[2] - b.low[2]), wide = b.high[1] - b.low[1];
    alya_mesh_t *mesh = RT_NEW(alya_mesh_t, 1, RT_HOST);
    *mesh = (alya_mesh_t){.elements = 6 * size_of(&b, 0), .nodes = size_of(&b, 1)};
    RT_EXPECT(mesh->elements <= INT32_MAX && mesh->nodes <= INT32_MAX, RT_USAGE,
              "a rank can hold 2147483647 elements and nodes");
    mesh->connectivity = RT_NEW(int32_t, 4 * (size_t)mesh->elements, RT_HOST);
    mesh->x = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    mesh->node_id = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST);
    mesh->flags = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
#pragma omp parallel for collapse(2) schedule(static) if (mesh->nodes > SERIAL)
    for (int64_t i = b.low[0]; i <= b.high[0]; i++)
        for (int64_t j = b.low[1]; j <= b.high[1]; j++)
            make_node_column(&m, i, j, mesh);
#pragma omp parallel for collapse(2) schedule(static) if (mesh->nodes > SERIAL)
    for (int64_t i = b.low[0]; i < b.high[0]; i++)
        for (int64_t j = b.low[1]; j < b.high[1]; j++)
            make_cell_column(&b, i, j,
                             mesh->connectivity + column * ((i - b.low[0]) * wide + j - b.low[1]));
    RT_FREE(m.level, RT_HOST);
    return mesh;
}
