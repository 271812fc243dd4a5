/*
 * order.c - orders of elements and nodes.
 *
 * All orders are functions of the mesh and the seed; the number of threads has no influence.
 */
#include "config.h"
#include "base/hilbert.h"
#include "base/sort.h"
#include "input.h"
#include <math.h>
#include <string.h>

/* --- along a Hilbert curve --- */

static double coordinate(const alya_mesh_t *mesh, int64_t e, int a, int d)
{
    return mesh->x[3 * (int64_t)mesh->connectivity[4 * e + a] + d];
}

enum { GRID_BITS = 21 };

/* Maps points to the grid that is numbered along the curve. */
typedef struct {
    double low[3], scale[3];
} grid_t;

enum { BLOCKS = 64 };

/* Averages the extents of the elements along each axis. Summed in blocks that do not depend on the
 * number of threads. */
static void mean_extents(const alya_mesh_t *mesh, double mean[3])
{
    double sum[BLOCKS][3] = {{0}};
#pragma omp parallel for schedule(static)
    for (int b = 0; b < BLOCKS; b++)
        for (int64_t e = mesh->elements * b / BLOCKS; e < mesh->elements * (b + 1) / BLOCKS; e++)
            for (int d = 0; d < 3; d++) {
                double low = coordinate(mesh, e, 0, d), high = low;
                for (int a = 1; a < 4; a++) {
                    low = fmin(low, coordinate(mesh, e, a, d));
                    high = fmax(high, coordinate(mesh, e, a, d));
                }
                sum[b][d] += (high - low) / (double)mesh->elements;
            }
    for (int d = 0; d < 3; d++) {
        mean[d] = 0;
        for (int b = 0; b < BLOCKS; b++)
            mean[d] += sum[b][d];
    }
}

/*
 * Scales each axis so that the mean extents of the elements are equal. A compact set then has about
 * as many elements along each axis, hence few nodes. In metres, flat elements would make patches of
 * many thin layers.
 */
static grid_t make_grid(const alya_mesh_t *mesh)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double mean[3], longest = 0;
    grid_t grid;
#pragma omp parallel for schedule(static) reduction(min : low[:3]) reduction(max : high[:3])
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], mesh->x[3 * n + d]);
            high[d] = fmax(high[d], mesh->x[3 * n + d]);
        }
    mean_extents(mesh, mean);
    for (int d = 0; d < 3; d++) {
        mean[d] = mean[d] > 0 && isfinite(mean[d]) ? mean[d] : 1;
        longest = fmax(longest, (high[d] - low[d]) / mean[d]);
    }
    for (int d = 0; d < 3; d++) {
        grid.low[d] = low[d];
        grid.scale[d] = longest > 0 ? ((1 << GRID_BITS) - 1) / (longest * mean[d]) : 0;
    }
    return grid;
}

/*
 * Finds the point that represents an element: the middle of its longest edge, measured in the grid.
 * The elements around such an edge get the same key and stay together, in the order they had; they
 * have many nodes in common. In the generated meshes it is usually the diagonal of the cell.
 */
static void find_place(const alya_mesh_t *mesh, const grid_t *grid, int64_t e, uint32_t at[3])
{
    double longest = -1, x[4][3], middle[3] = {0, 0, 0};
    for (int a = 0; a < 4; a++)
        for (int d = 0; d < 3; d++)
            x[a][d] = (coordinate(mesh, e, a, d) - grid->low[d]) * grid->scale[d];
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++) {
            double square = 0;
            for (int d = 0; d < 3; d++)
                square += (x[a][d] - x[b][d]) * (x[a][d] - x[b][d]);
            if (square <= longest)
                continue;
            longest = square;
            for (int d = 0; d < 3; d++)
                middle[d] = (x[a][d] + x[b][d]) / 2;
        }
    for (int d = 0; d < 3; d++) {
        const double last = (1 << GRID_BITS) - 1;
        at[d] = middle[d] > 0 ? (uint32_t)(middle[d] < last ? middle[d] : last) : 0;
    }
}

void alya_hilbert_order(const alya_mesh_t *mesh, uint32_t *order)
{
    grid_t grid = make_grid(mesh);
    uint64_t *key = RT_NEW(uint64_t, (size_t)mesh->elements, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++) {
        uint32_t at[3];
        find_place(mesh, &grid, e, at);
        key[e] = rt_hilbert_key(at, GRID_BITS);
        order[e] = (uint32_t)e;
    }
    rt_sort(key, order, mesh->elements);
    RT_FREE(key, RT_HOST);
}

/* Fills number[old node] = new, by first use in this order of the elements; unused nodes come
 * last. */
static void number_by_use(const alya_mesh_t *mesh, const uint32_t *order, int32_t *number)
{
    int32_t next = 0;
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        number[n] = -1;
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t *n = &number[mesh->connectivity[4 * (int64_t)order[e] + a]];
            if (*n < 0)
                *n = next++;
        }
    for (int64_t n = 0; n < mesh->nodes; n++)
        if (number[n] < 0)
            number[n] = next++;
}

/* --- random --- */

/* Fills list[n] with a permutation of 0 to n - 1: sorts them by random keys. */
static void shuffle(int64_t n, uint64_t seed, uint32_t *list)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        key[i] = rt_hash((uint64_t)i, seed);
        list[i] = (uint32_t)i;
    }
    rt_sort(key, list, n);
    RT_FREE(key, RT_HOST);
}

/* --- applying an order --- */

/* Element p becomes the old order[p]; node n becomes number[n]. */
static void apply(alya_mesh_t *mesh, const uint32_t *order, const int32_t *number)
{
    int32_t *connectivity = RT_NEW(int32_t, 4 * (size_t)mesh->elements, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++)
            connectivity[4 * e + a] = number[mesh->connectivity[4 * (int64_t)order[e] + a]];
    RT_FREE(mesh->connectivity, RT_HOST);
    mesh->connectivity = connectivity;
    double *x = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    int64_t *node_id = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST);
    uint8_t *flags = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++) {
        memcpy(x + 3 * (int64_t)number[n], mesh->x + 3 * n, 3 * sizeof *x);
        node_id[number[n]] = mesh->node_id[n];
        flags[number[n]] = mesh->flags[n];
    }
    RT_FREE_ALL(RT_HOST, mesh->x, mesh->node_id, mesh->flags);
    mesh->x = x;
    mesh->node_id = node_id;
    mesh->flags = flags;
}

void alya_mesh_reorder(alya_mesh_t *mesh, alya_order_t order, uint64_t seed)
{
    if (order == ALYA_NATURAL || mesh->elements == 0)
        return;
    uint32_t *list = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    int32_t *number = RT_NEW(int32_t, (size_t)mesh->nodes, RT_HOST);
    if (order == ALYA_HILBERT) {
        alya_hilbert_order(mesh, list);
        number_by_use(mesh, list, number);
    } else {
        shuffle(mesh->elements, rt_hash(0, seed), list);
        shuffle(mesh->nodes, rt_hash(1, seed), (uint32_t *)number);
    }
    apply(mesh, list, number);
    RT_FREE_ALL(RT_HOST, list, number);
}

/* First list, keys, numbers and the sort's memory; at the end the new connectivity, then the new
 * nodes. */
double alya_reorder_memory(double elements, double nodes)
{
    const double hilbert = 12 * elements + 4 * nodes + rt_sort_memory(elements);
    return fmax(hilbert, 4 * elements + 37 * nodes);
}

/* Counts the distinct nodes of up to 512 elements. */
static int distinct_nodes(const int32_t *node, int64_t count)
{
    enum { SLOTS = 4096 }; /* at most half full */
    int32_t slot[SLOTS];
    int distinct = 0;
    memset(slot, 0xff, sizeof slot); /* -1 */
    for (int64_t i = 0; i < count; i++) {
        uint32_t at = ((uint32_t)node[i] * 2654435769U) >> 20;
        while (slot[at] >= 0 && slot[at] != node[i])
            at = (at + 1) % SLOTS;
        distinct += slot[at] < 0;
        slot[at] = node[i];
    }
    return distinct;
}

double alya_mesh_spread(const alya_mesh_t *mesh)
{
    enum { RUN = 512 };
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t e = 0; e < mesh->elements; e += RUN) {
        int64_t count = mesh->elements - e < RUN ? mesh->elements - e : RUN;
        sum += distinct_nodes(mesh->connectivity + 4 * e, 4 * count);
    }
    return mesh->elements > 0 ? (double)sum / (double)mesh->elements : 0;
}
