/*
 * partition.c - which rank has which vertices.
 *
 * Parts are ranges of a Hilbert curve, and so compact. They are equal in blocks, because blocks are
 * what a sweep reads: prisms at the wall have 20 per row where tetrahedra have 14, so parts of equal
 * rows differ by a sixth in time and memory. Every rank has all points, of a file or of the surface
 * of a wing, and finds the same parts.
 */
#include "config.h"
#include "input.h"

void mcpi_partition(int64_t n, const double *x, const int64_t *weight, int parts, int32_t *part)
{
    uint32_t *list = RT_NEW(uint32_t, (size_t)n, RT_HOST);
    int64_t all = 0, before = 0;
    int32_t p = 0;
    mcpi_hilbert_order(n, NULL, x, list);
    for (int64_t i = 0; i < n; i++)
        all += weight[i];
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = all / parts * (p + 1) + all % parts * (p + 1) / parts;
        if (i > 0 && p < parts - 1 && (before >= end || n - i < parts - p))
            p++; /* at least one for each part */
        part[list[i]] = p;
        before += weight[list[i]];
    }
    RT_FREE(list, RT_HOST);
}

/* An inner vertex with tetrahedra alone has half as many neighbours, less 2, as corners of
 * tetrahedra meet there (Euler). A row counts as much as two more blocks, for D, R and dQ. */
static int64_t *weigh(const rt_mesh_t *mesh)
{
    static const int corner[RT_ELEMENTS] = {1, 2, MCPI_PRISM_WEIGHT, 6};
    int64_t *weight = RT_NEW(int64_t, (size_t)mesh->vertices, RT_HOST);
    for (int64_t v = 0; v < mesh->vertices; v++)
        weight[v] = MCPI_ROW_WEIGHT;
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t i = 0; i < rt_element_size((rt_element_t)t) * mesh->elements[t]; i++)
            weight[mesh->element[t][i]] += corner[t];
    return weight;
}

rt_mesh_t *mcpi_mesh_share(const rt_mesh_t *whole, int rank, int ranks, mcpi_piece_t **piece)
{
    int64_t *weight = weigh(whole);
    int32_t *part = RT_NEW(int32_t, (size_t)whole->vertices, RT_HOST);
    mcpi_partition(whole->vertices, whole->x, weight, ranks, part);
    *piece = mcpi_piece_new(whole->vertices, whole->vertices);
    mcpi_piece_own(*piece, part, 1, rank);
    RT_FREE_ALL(RT_HOST, weight, part);
    return mcpi_mesh_cut(whole, *piece);
}
