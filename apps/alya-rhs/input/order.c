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

static void order_by_least_node(const alya_mesh_t *mesh, const int32_t *number, uint32_t *order)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)mesh->elements, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++) {
        int32_t least = INT32_MAX;
        for (int a = 0; a < 4; a++) {
            int32_t n = number[mesh->connectivity[4 * e + a]];
            least = n < least ? n : least;
        }
        key[e] = (uint64_t)least;
        order[e] = (uint32_t)e;
    }
    rt_sort(key, order, mesh->elements);
    RT_FREE(key, RT_HOST);
}

/* --- random --- */

/* Returns the image of i under a bijection of [0, n): four rounds of a Feistel network on the
 * smallest even number of bits that holds n, repeated until the result is below n. */
static int64_t shuffled(int64_t i, int64_t n, uint64_t seed)
{
    int half = 1;
    while (((int64_t)1 << 2 * half) < n)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t x = (uint64_t)i;
    do {
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t right = x & mask;
            x = right << half | ((x >> half ^ rt_hash(right + (round << 32), seed)) & mask);
        }
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

/* --- applying an order --- */

/* Element p becomes the old order[p]; node n becomes number[n], or stays if that is NULL. */
static void apply(alya_mesh_t *mesh, const uint32_t *order, const int32_t *number)
{
    int32_t *connectivity = RT_NEW(int32_t, 4 * (size_t)mesh->elements, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t n = mesh->connectivity[4 * (int64_t)order[e] + a];
            connectivity[4 * e + a] = number ? number[n] : n;
        }
    RT_FREE(mesh->connectivity, RT_HOST);
    mesh->connectivity = connectivity;
    if (!number)
        return;
    double *x = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    int64_t *node_id = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST);
    uint8_t *flags = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++) {
        memcpy(x + 3 * (int64_t)number[n], mesh->x + 3 * n, 3 * sizeof *x);
        node_id[number[n]] = mesh->node_id[n];
        flags[number[n]] = mesh->flags[n];
    }
    RT_FREE(mesh->x, RT_HOST);
    RT_FREE(mesh->node_id, RT_HOST);
    RT_FREE(mesh->flags, RT_HOST);
    mesh->x = x;
    mesh->node_id = node_id;
    mesh->flags = flags;
}

void alya_mesh_reorder(alya_mesh_t *mesh, alya_order_t order, uint64_t seed)
{
    if (order == ALYA_NATURAL || mesh->elements == 0)
        return;
    uint32_t *list = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    int32_t *number =
        order == ALYA_RANDOM_ELEMENTS ? NULL : RT_NEW(int32_t, (size_t)mesh->nodes, RT_HOST);
    if (order == ALYA_HILBERT) {
        alya_hilbert_order(mesh, list);
        number_by_use(mesh, list, number);
    } else if (order == ALYA_RCM) {
        alya_rcm_number(mesh, number);
        order_by_least_node(mesh, number, list);
    } else {
#pragma omp parallel for schedule(static)
        for (int64_t e = 0; e < mesh->elements; e++)
            list[e] = (uint32_t)shuffled(e, mesh->elements, rt_hash(0, seed));
    }
    if (order == ALYA_RANDOM_ALL) {
#pragma omp parallel for schedule(static)
        for (int64_t n = 0; n < mesh->nodes; n++)
            number[n] = (int32_t)shuffled(n, mesh->nodes, rt_hash(1, seed));
    }
    apply(mesh, list, number);
    RT_FREE(list, RT_HOST);
    RT_FREE(number, RT_HOST);
}

/* Hilbert: list, keys and the sort's memory. RCM: list, numbers and the graph. At the end the new
 * connectivity, then the new nodes. */
double alya_reorder_memory(double elements, double nodes)
{
    const double hilbert = 12 * elements + 4 * nodes + rt_sort_memory(elements);
    const double rcm = 20 * elements + 21 * nodes + sizeof(int64_t);
    return fmax(fmax(hilbert, rcm), 4 * elements + 37 * nodes);
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
