/*
 * read.c - the tetrahedra of a mesh file, through the common reader, and a rank's share of them.
 *
 * Every rank reads the file, and keeps its share before anything else is made of it. Price: the mesh,
 * some 70 bytes per node and 50 per element of the whole, is on every rank until then.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/sort.h"
#include "input.h"

enum { ONLY_TETRAHEDRA = 1 << RT_TETRAHEDRON };

alya_mesh_t *alya_mesh_read(const char *path)
{
    rt_mesh_t *file = rt_mesh_read_all(path, ONLY_TETRAHEDRA, NULL, NULL);
    alya_mesh_t *mesh = RT_NEW(alya_mesh_t, 1, RT_HOST);
    *mesh = (alya_mesh_t){.elements = file->elements[RT_TETRAHEDRON],
                          .nodes = file->vertices,
                          .connectivity = file->element[RT_TETRAHEDRON],
                          .x = file->x,
                          .node_id = RT_NEW(int64_t, (size_t)file->vertices, RT_HOST),
                          .flags = RT_NEW(uint8_t, (size_t)file->vertices, RT_HOST)};
    file->element[RT_TETRAHEDRON] = NULL;
    file->x = NULL;
    rt_mesh_destroy(file);
    for (int64_t n = 0; n < mesh->nodes; n++)
        mesh->node_id[n] = n;
    memset(mesh->flags, 0, (size_t)mesh->nodes);
    alya_mesh_find_boundary(mesh);
    return mesh;
}

/* --- a share --- */

enum { OWN = 1, OTHERS = 2 };

/* Marks the elements of the share, and the nodes by who has them. */
static void mark_share(const alya_mesh_t *mesh, int rank, int ranks, uint8_t *own, uint8_t *node)
{
    uint32_t *order = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    alya_hilbert_order(mesh, order);
    memset(own, 0, (size_t)mesh->elements);
    memset(node, 0, (size_t)mesh->nodes);
    for (int64_t i = mesh->elements * rank / ranks; i < mesh->elements * (rank + 1) / ranks; i++)
        own[order[i]] = 1;
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        node[mesh->connectivity[i]] |= own[i / 4] ? OWN : OTHERS;
    RT_FREE(order, RT_HOST);
}

static void *shrink(void *array, int64_t n, size_t size)
{
    void *kept = rt_clone(array, (size_t)n, size, RT_HOST);
    rt_free(array, RT_HOST);
    return kept;
}

void alya_mesh_share(alya_mesh_t *mesh, int rank, int ranks)
{
    uint8_t *own = RT_NEW(uint8_t, (size_t)mesh->elements, RT_HOST);
    uint8_t *node = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
    int32_t *number = RT_NEW(int32_t, (size_t)mesh->nodes, RT_HOST);
    int64_t elements = 0, nodes = 0;
    mark_share(mesh, rank, ranks, own, node);
    for (int64_t n = 0; n < mesh->nodes; n++) {
        if (!(node[n] & OWN))
            continue;
        memmove(mesh->x + 3 * nodes, mesh->x + 3 * n, 3 * sizeof *mesh->x);
        mesh->node_id[nodes] = mesh->node_id[n];
        mesh->flags[nodes] = mesh->flags[n] | (node[n] & OTHERS ? ALYA_SHARED : 0);
        number[n] = (int32_t)nodes++;
    }
    for (int64_t e = 0; e < mesh->elements; e++) {
        if (!own[e])
            continue;
        for (int a = 0; a < 4; a++)
            mesh->connectivity[4 * elements + a] = number[mesh->connectivity[4 * e + a]];
        elements++;
    }
    RT_FREE_ALL(RT_HOST, own, node, number);
    mesh->elements = elements;
    mesh->nodes = nodes;
    mesh->connectivity = shrink(mesh->connectivity, 4 * elements, sizeof *mesh->connectivity);
    mesh->x = shrink(mesh->x, 3 * nodes, sizeof *mesh->x);
    mesh->node_id = shrink(mesh->node_id, nodes, sizeof *mesh->node_id);
    mesh->flags = shrink(mesh->flags, nodes, sizeof *mesh->flags);
}

/* Marks and numbers, and what puts the elements in order; or a copy of the largest array. */
double alya_share_memory(double elements, double nodes)
{
    const double finding = elements + 5 * nodes + 12 * elements + rt_sort_memory(elements);
    return fmax(finding, fmax(16 * elements, 24 * nodes));
}
