/* machine/place.h - which place of a grid of ranks each rank takes, by the nodes they are on. */
#ifndef RT_PLACE_H
#define RT_PLACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Places the ranks of a grid[3], x y z, so that those of a node have a compact block and little
 * lies between nodes. count[nodes]: ranks per node, the grid's in all. part[3]: the extents of the
 * part that every rank has; only their ratios count. Fills place[ranks], node by node: rank i is at
 * place[i] = x + grid[0] (y + grid[1] z). place[0] is 0. */
void rt_place(const int *count, int nodes, const int64_t grid[3], const int64_t part[3],
              int *place);
/* Returns the faces between parts of different nodes: their area, in units of `part`. */
double rt_place_cut(const int *count, int nodes, const int64_t grid[3], const int64_t part[3],
                    const int *place);

#ifdef __cplusplus
}
#endif
#endif
