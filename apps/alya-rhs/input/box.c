/*
 * box.c - the generated meshes: a hill like that of Bolund, and a periodic box for the manufactured
 * tests.
 *
 * A box of cells, each split into 6 tetrahedra around its diagonal from corner 0 to corner 7
 * (Kuhn), which fit together across faces. The box is enclosed in the smallest cube whose edge is a
 * power of two, and a rank has the cells between two places on the Hilbert curve through that cube.
 * These are found by descending from the cube to its eighths and counting the cells of a subcube as
 * those of its intersection with the box. So they come as a few hundred blocks, and no rank lists
 * the cells of others. Two bitmaps over the hull of the part, of its cells and of its nodes, give
 * the numbers in natural order.
 */
#include "config.h"
#include "base/hilbert.h"
#include "set.h"
#include <math.h>
#include <string.h>

static const double two_pi = 6.28318530717958647692;
static const double hill_low[2] = {-200, -200}, hill_high[2] = {400, 200}; /* m */
static const double hill_top = 120, hill_height = 12;

/* --- which cells a rank has --- */

enum { MAX_BITS = 21 };
/* On each level the ends of the range cut two subcubes, each with at most 7 whole eighths. */
enum { MAX_BLOCKS = 14 * MAX_BITS + 2 };

typedef struct {
    int64_t low[3], high[3]; /* low <= cell < high */
} block_t;

typedef struct {
    int64_t begin, end; /* places among the cells along the curve */
    int blocks;
    block_t block[MAX_BLOCKS];
} part_t;

static int cube_bits(const alya_box_t *box)
{
    int64_t edge = 1;
    int bits = 0;
    for (int d = 0; d < 3; d++)
        while (edge < box->cells[d]) {
            edge *= 2;
            bits++;
        }
    RT_EXPECT(bits <= MAX_BITS, RT_USAGE, "more than 2^%d cells along an axis", MAX_BITS);
    return bits;
}

/* Counts the cells of the box in the subcube with place `prefix` among those of its level. */
static int64_t subcube(const alya_box_t *box, int bits, int level, uint64_t prefix, block_t *block)
{
    uint32_t at[3];
    int64_t edge = (int64_t)1 << (bits - level), count = 1;
    rt_hilbert_point(prefix, level, at);
    for (int d = 0; d < 3; d++) {
        block->low[d] = at[d] * edge;
        block->high[d] = block->low[d] + edge;
        if (block->high[d] > box->cells[d])
            block->high[d] = box->cells[d];
        if (block->high[d] < block->low[d])
            block->high[d] = block->low[d];
        count *= block->high[d] - block->low[d];
    }
    return count;
}

/* Adds to the part its cells in this subcube, whose cells start at place `place` of the curve.
 * Returns the number of cells of the box in the subcube. */
static int64_t descend(const alya_box_t *box, int bits, int level, uint64_t prefix, int64_t place,
                       part_t *part)
{
    block_t block;
    int64_t count = subcube(box, bits, level, prefix, &block), behind = place;
    if (count == 0 || place >= part->end || place + count <= part->begin)
        return count;
    if (place >= part->begin && place + count <= part->end) {
        RT_EXPECT(part->blocks < MAX_BLOCKS, RT_ENVIRONMENT, "a part has too many blocks");
        part->block[part->blocks++] = block;
        return count;
    }
    for (uint64_t eighth = 0; eighth < 8; eighth++)
        behind += descend(box, bits, level + 1, 8 * prefix + eighth, behind, part);
    return count;
}

static int64_t whole_cells(const alya_box_t *box)
{
    return box->cells[0] * box->cells[1] * box->cells[2];
}

/* Returns the first place of a rank: the first ranks have one cell more where the division is not
 * exact. */
static int64_t first_place(int64_t cells, int rank, int ranks)
{
    int64_t more = cells % ranks;
    return cells / ranks * rank + (rank < more ? rank : more);
}

static void find_part(const alya_box_t *box, int rank, int ranks, part_t *part)
{
    int64_t cells = whole_cells(box);
    part->begin = first_place(cells, rank, ranks);
    part->end = first_place(cells, rank + 1, ranks);
    part->blocks = 0;
    descend(box, cube_bits(box), 0, 0, 0, part);
}

/* The bound of the nodes counts nodes between two blocks of a part once for each block. With one
 * rank there is one block, and the bound is exact. */
void alya_box_count(const alya_box_t *box, int ranks, int64_t *elements, int64_t *nodes)
{
    int64_t cells = whole_cells(box), most = 0;
    int64_t whole = (box->cells[0] + 1) * (box->cells[1] + 1) * (box->cells[2] + 1);
    for (int rank = 0; rank < ranks; rank++) {
        part_t part;
        int64_t sum = 0;
        find_part(box, rank, ranks, &part);
        for (int b = 0; b < part.blocks; b++) {
            const block_t *block = &part.block[b];
            sum += (block->high[0] - block->low[0] + 1) * (block->high[1] - block->low[1] + 1) *
                   (block->high[2] - block->low[2] + 1);
        }
        most = sum > most ? sum : most;
    }
    *elements = 6 * (cells / ranks + (cells % ranks > 0));
    *nodes = most < whole ? most : whole;
}

/* --- the cells and nodes of a part --- */

static int64_t block_cells(const block_t *block)
{
    return (block->high[0] - block->low[0]) * (block->high[1] - block->low[1]) *
           (block->high[2] - block->low[2]);
}

static void make_cells(set_t *cells, const part_t *part)
{
    int64_t low[3] = {0, 0, 0}, size[3] = {0, 0, 0};
    for (int d = 0; d < 3 && part->blocks > 0; d++) {
        int64_t high = part->block[0].high[d];
        low[d] = part->block[0].low[d];
        for (int b = 1; b < part->blocks; b++) {
            low[d] = part->block[b].low[d] < low[d] ? part->block[b].low[d] : low[d];
            high = part->block[b].high[d] > high ? part->block[b].high[d] : high;
        }
        size[d] = high - low[d];
    }
    set_new(cells, low, size);
    for (int b = 0; b < part->blocks; b++) {
        const block_t *block = &part->block[b];
        const bool large = block_cells(block) > SERIAL;
        (void)large; /* unused without OpenMP */
                     /* blocks may have words in common; columns of one block do not */
#pragma omp parallel for collapse(2) schedule(static) if (large)
        for (int64_t i = block->low[0]; i < block->high[0]; i++)
            for (int64_t j = block->low[1]; j < block->high[1]; j++)
                for (int64_t k = block->low[2] - low[2]; k < block->high[2] - low[2]; k++)
                    cells->bit[set_column(cells, i, j) + k / 64] |= (uint64_t)1 << (k % 64);
    }
    set_count(cells);
}

/* Adds the corners of the cells of a column, as bits of a column of nodes. */
static void add_corners(const set_t *cells, int64_t i, int64_t j, uint64_t *bit, int64_t words)
{
    if (i < cells->low[0] || i >= cells->low[0] + cells->size[0] || j < cells->low[1] ||
        j >= cells->low[1] + cells->size[1])
        return;
    const uint64_t *cell = cells->bit + set_column(cells, i, j);
    for (int64_t w = 0; w < words; w++) {
        uint64_t own = w < cells->words ? cell[w] : 0;
        bit[w] |= own | own << 1 | (w > 0 ? cell[w - 1] >> 63 : 0);
    }
}

static void make_nodes(set_t *nodes, const set_t *cells)
{
    int64_t size[3];
    for (int d = 0; d < 3; d++)
        size[d] = cells->members > 0 ? cells->size[d] + 1 : 0;
    set_new(nodes, cells->low, size);
#pragma omp parallel for collapse(2) schedule(static) if (cells->members > SERIAL)
    for (int64_t i = cells->low[0]; i < cells->low[0] + size[0]; i++)
        for (int64_t j = cells->low[1]; j < cells->low[1] + size[1]; j++)
            for (int corner = 0; corner < 4; corner++)
                add_corners(cells, i - corner / 2, j - corner % 2,
                            nodes->bit + set_column(nodes, i, j), nodes->words);
    set_count(nodes);
}

/* --- nodes --- */

typedef struct {
    const alya_box_t *box;
    set_t cells, nodes;
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

/* Does one of the cells around this node belong to another part? */
static bool has_foreign_cell(const maker_t *m, const int64_t at[3])
{
    for (int corner = 0; corner < 8; corner++) {
        int64_t cell[3];
        bool exists = true;
        for (int d = 0; d < 3; d++) {
            cell[d] = at[d] - (corner >> d & 1);
            exists = exists && cell[d] >= 0 && cell[d] < m->box->cells[d];
        }
        if (exists && !set_has(&m->cells, cell))
            return true;
    }
    return false;
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
    const set_t *nodes = &m->nodes;
    int64_t column = set_column(nodes, i, j);
    double ground = height(m->box, i, j);
    double rise = m->box->jitter != 0 ? steepest_rise(m->box, i, j) : 0;
    for (int64_t w = 0; w < nodes->words; w++) {
        int64_t n = nodes->first[column + w];
        for (uint64_t rest = nodes->bit[column + w]; rest; rest &= rest - 1) {
            int64_t at[3] = {i, j, nodes->low[2] + 64 * w + __builtin_ctzll(rest)};
            make_node(m, at, ground, rise, mesh, n++);
        }
    }
}

/* --- elements --- */

/* Corners of a cell: bit d is set if it is the far one along axis d. For each permutation of the
 * axes the path from corner 0 to corner 7; the last two are swapped where the permutation is
 * odd. */
static const uint8_t kuhn[6][4] = {{0, 1, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7},
                                   {0, 1, 7, 5}, {0, 2, 7, 3}, {0, 4, 7, 6}};

static void make_cell_column(const maker_t *m, int64_t i, int64_t j, alya_mesh_t *mesh)
{
    const set_t *cells = &m->cells;
    int64_t column = set_column(cells, i, j);
    for (int64_t w = 0; w < cells->words; w++) {
        int32_t *element = mesh->connectivity + 24 * cells->first[column + w];
        for (uint64_t rest = cells->bit[column + w]; rest; rest &= rest - 1) {
            int64_t k = cells->low[2] + 64 * w + __builtin_ctzll(rest);
            int32_t corner[8];
            for (int c = 0; c < 4; c++) {
                int64_t n = set_number(&m->nodes, i + c % 2, j + c / 2, k);
                corner[c] = (int32_t)n;
                corner[c + 4] = (int32_t)(n + 1); /* both exist, so their numbers are consecutive */
            }
            for (int t = 0; t < 6; t++)
                for (int a = 0; a < 4; a++)
                    *element++ = corner[kuhn[t][a]];
        }
    }
}

alya_mesh_t *alya_box_new(const alya_box_t *box, int rank, int ranks)
{
    part_t part;
    maker_t m = {.box = box, .level = make_levels(box)};
    alya_mesh_t *mesh = RT_NEW(alya_mesh_t, 1, RT_HOST);
    find_part(box, rank, ranks, &part);
    make_cells(&m.cells, &part);
    make_nodes(&m.nodes, &m.cells);
    RT_EXPECT(6 * m.cells.members <= INT32_MAX && m.nodes.members <= INT32_MAX, RT_USAGE,
              "a rank can hold 2147483647 elements and nodes");
    mesh->elements = 6 * m.cells.members;
    mesh->nodes = m.nodes.members;
    mesh->connectivity = RT_NEW(int32_t, 4 * (size_t)mesh->elements, RT_HOST);
    mesh->x = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    mesh->node_id = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST);
    mesh->flags = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
    const set_t *nodes = &m.nodes, *cells = &m.cells;
#pragma omp parallel for collapse(2) schedule(static) if (mesh->nodes > SERIAL)
    for (int64_t i = nodes->low[0]; i < nodes->low[0] + nodes->size[0]; i++)
        for (int64_t j = nodes->low[1]; j < nodes->low[1] + nodes->size[1]; j++)
            make_node_column(&m, i, j, mesh);
#pragma omp parallel for collapse(2) schedule(static) if (mesh->nodes > SERIAL)
    for (int64_t i = cells->low[0]; i < cells->low[0] + cells->size[0]; i++)
        for (int64_t j = cells->low[1]; j < cells->low[1] + cells->size[1]; j++)
            make_cell_column(&m, i, j, mesh);
    set_destroy(&m.cells);
    set_destroy(&m.nodes);
    RT_FREE(m.level, RT_HOST);
    return mesh;
}
