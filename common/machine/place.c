/*
 * machine/place.c - which place of a grid each rank takes.
 *
 * Idea: the largest number of ranks of which all nodes are multiples makes a block, of the shape
 * that leaves the least area between nodes. The blocks lie along a Hilbert curve, and each node
 * takes the next ones.
 * Advantage: a node of any size has one piece of the curve, and the next node the piece beside it.
 * Where all nodes are equal, each is one block.
 * Price: nodes of 3 and of 5 ranks have blocks of one rank, and less even surfaces. All shapes are
 * tried: 2 ms for 4096 ranks on nodes of 8.
 */
#include "config.h"
#include "machine/place.h"
#include <string.h>
#include "base/hilbert.h"
#include "base/mem.h"
#include "base/sort.h"

double rt_place_cut(const int *count, int nodes, const int64_t grid[3], const int64_t part[3],
                    const int *place)
{
    const int64_t ranks = grid[0] * grid[1] * grid[2], step[3] = {1, grid[0], grid[0] * grid[1]};
    int *node_at = RT_NEW(int, (size_t)ranks, RT_HOST);
    double sum = 0;
    for (int64_t n = 0, i = 0; n < nodes; n++)
        for (const int64_t end = i + count[n]; i < end; i++)
            node_at[place[i]] = (int)n;
    for (int64_t i = 0; i < ranks; i++)
        for (int d = 0; d < 3; d++)
            if (i / step[d] % grid[d] < grid[d] - 1 && node_at[i] != node_at[i + step[d]])
                sum += (double)part[(d + 1) % 3] * (double)part[(d + 2) % 3];
    RT_FREE(node_at, RT_HOST);
    return sum;
}

static int64_t common_divisor(const int *count, int nodes)
{
    int64_t divisor = 0;
    for (int n = 0; n < nodes; n++)
        for (int64_t a = count[n], rest; a > 0; a = rest) {
            rest = divisor % a;
            divisor = a;
        }
    return divisor;
}

/* Lists the places block by block along the curve, x fastest in a block. */
static void list_blocks(const int64_t grid[3], const int64_t block[3], int *place)
{
    int64_t blocks[3];
    int bits = 1;
    for (int d = 0; d < 3; d++) {
        blocks[d] = grid[d] / block[d];
        while (((int64_t)1 << bits) < blocks[d])
            bits++;
    }
    const int64_t n = blocks[0] * blocks[1] * blocks[2], ranks = block[0] * block[1] * block[2];
    uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)n, RT_HOST);
    for (int64_t b = 0; b < n; b++) {
        const uint32_t at[3] = {(uint32_t)(b % blocks[0]), (uint32_t)(b / blocks[0] % blocks[1]),
                                (uint32_t)(b / (blocks[0] * blocks[1]))};
        key[b] = rt_hilbert_key(at, bits);
        list[b] = (uint32_t)b;
    }
    rt_sort(key, list, n);
    for (int64_t i = 0; i < n * ranks; i++) {
        const int64_t b = list[i / ranks], r = i % ranks;
        const int64_t x = b % blocks[0] * block[0] + r % block[0];
        const int64_t y = b / blocks[0] % blocks[1] * block[1] + r / block[0] % block[1];
        const int64_t z = b / (blocks[0] * blocks[1]) * block[2] + r / (block[0] * block[1]);
        place[i] = (int)(x + grid[0] * (y + grid[1] * z));
    }
    RT_FREE(key, RT_HOST);
    RT_FREE(list, RT_HOST);
}

/* Tries the blocks of all shapes. There is one that fits at least: the number of ranks in it divides
 * that of the grid, so the grid's extents have all its prime factors. The order of the grid, x
 * fastest, stays where no block is better: on one node, or where nodes are layers of a grid. */
void rt_place(const int *count, int nodes, const int64_t grid[3], const int64_t part[3], int *place)
{
    const int64_t ranks = grid[0] * grid[1] * grid[2], each = common_divisor(count, nodes);
    for (int64_t i = 0; i < ranks; i++)
        place[i] = (int)i;
    double least = nodes > 1 ? rt_place_cut(count, nodes, grid, part, place) : 0;
    if (least == 0)
        return;
    int *tried = RT_NEW(int, (size_t)ranks, RT_HOST);
    for (int64_t x = 1; x <= each; x++)
        for (int64_t y = 1; each % x == 0 && y <= each / x; y++) {
            const int64_t block[3] = {x, y, each / x / y};
            if (each / x % y != 0 || grid[0] % x != 0 || grid[1] % y != 0 ||
                grid[2] % block[2] != 0)
                continue;
            list_blocks(grid, block, tried);
            const double cut = rt_place_cut(count, nodes, grid, part, tried);
            if (cut >= least)
                continue;
            least = cut;
            memcpy(place, tried, (size_t)ranks * sizeof *place);
        }
    RT_FREE(tried, RT_HOST);
}
