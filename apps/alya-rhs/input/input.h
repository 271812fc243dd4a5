/*
 * input.h - what the files of mesh/ do for each other, for problem.c and for work.c.
 */
#ifndef ALYA_MESH_H
#define ALYA_MESH_H

#include "../alya.h"

/* e_k = x_k - x_0 of the element with these nodes. */
static inline void alya_edges(const alya_mesh_t *mesh, const int32_t *node, double edge[3][3])
{
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            edge[k][d] = mesh->x[3 * (int64_t)node[k + 1] + d] - mesh->x[3 * (int64_t)node[0] + d];
}

/* det = e_1 . (e_2 x e_3) = 6 V. */
static inline double alya_determinant(double edge[3][3])
{
    return edge[0][0] * (edge[1][1] * edge[2][2] - edge[1][2] * edge[2][1]) +
           edge[0][1] * (edge[1][2] * edge[2][0] - edge[1][0] * edge[2][2]) +
           edge[0][2] * (edge[1][0] * edge[2][1] - edge[1][1] * edge[2][0]);
}

/* order.c. order[elements]: the elements along the Hilbert curve. */
void alya_hilbert_order(const alya_mesh_t *mesh, uint32_t *order);

/* check.c. Two elements with the same four nodes: those with the least numbers, one line into why,
 * false. For meshes from files: what is made has none. After alya_mesh_check. */
bool alya_mesh_check_twins(const alya_mesh_t *mesh, char *why, size_t len);

/* Most host memory in bytes, beside the mesh itself, while these run: alya_mesh_reorder in any
 * order, alya_mesh_find_boundary, alya_mesh_distribute on rank 0. */
double alya_reorder_memory(double elements, double nodes);
double alya_boundary_memory(double elements, double nodes);
double alya_distribute_memory(double elements, double nodes, bool metis);

#endif
