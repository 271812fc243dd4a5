/*
 * check.c - finds faults of a mesh, and its boundary; destroys a mesh.
 */
#include "config.h"
#include "input.h"
#include "base/sort.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void alya_mesh_destroy(alya_mesh_t *mesh)
{
    if (!mesh)
        return;
    RT_FREE(mesh->connectivity, RT_HOST);
    RT_FREE(mesh->x, RT_HOST);
    RT_FREE(mesh->node_id, RT_HOST);
    RT_FREE(mesh->flags, RT_HOST);
    RT_FREE(mesh, RT_HOST);
}

/* --- faults --- */

/* Runs the common check on the same arrays. */
bool alya_mesh_check(const alya_mesh_t *mesh, char *why, size_t len)
{
    const rt_mesh_t view = {.vertices = mesh->nodes,
                            .x = mesh->x,
                            .elements[RT_TETRAHEDRON] = mesh->elements,
                            .element[RT_TETRAHEDRON] = mesh->connectivity};
    return rt_mesh_check(&view, why, len);
}

/* --- twins --- */

/* Returns a hash that does not depend on the order of the nodes. */
static uint64_t hash_of_nodes(const int32_t *node)
{
    uint64_t sum = 0;
    for (int a = 0; a < 4; a++)
        sum += rt_hash((uint64_t)node[a], 4);
    return sum;
}

static bool same_nodes(const int32_t *node, const int32_t *other)
{
    for (int a = 0; a < 4; a++) /* an element's nodes differ, so looking one way is enough */
        if (node[a] != other[0] && node[a] != other[1] && node[a] != other[2] &&
            node[a] != other[3])
            return false;
    return true;
}

bool alya_mesh_check_twins(const rt_mesh_t *mesh, char *why, size_t len)
{
    const int32_t *node = mesh->element[RT_TETRAHEDRON];
    const int64_t elements = mesh->elements[RT_TETRAHEDRON];
    uint64_t *key = RT_NEW(uint64_t, (size_t)elements, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)elements, RT_HOST);
    int64_t first = -1, twin = INT64_MAX;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < elements; e++) {
        key[e] = hash_of_nodes(node + 4 * e);
        list[e] = (uint32_t)e;
    }
    rt_sort(key, list, elements);
    /* The sort is stable, so the first twin found is the next one. */
    for (int64_t i = 0; i < elements; i++)
        for (int64_t j = i + 1; j < elements && key[j] == key[i]; j++)
            if (same_nodes(node + 4 * (int64_t)list[i], node + 4 * (int64_t)list[j])) {
                if (list[j] < twin) {
                    first = list[i];
                    twin = list[j];
                }
                break;
            }
    RT_FREE(key, RT_HOST);
    RT_FREE(list, RT_HOST);
    if (first < 0)
        return true;
    snprintf(why, len, "element %" PRId64 " has the same four nodes as element %" PRId64, twin,
             first);
    return false;
}

/* --- boundary --- */

/* Returns the three nodes of the face opposite node a, ascending. */
static void face(const int32_t *node, int a, int32_t sorted[3])
{
    int n = 0;
    for (int b = 0; b < 4; b++) {
        if (b == a)
            continue;
        int at = n++;
        for (; at > 0 && sorted[at - 1] > node[b]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = node[b];
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_keys(uint64_t *key, int64_t n)
{
    if (n > 64) {
        qsort(key, (size_t)n, sizeof *key, compare);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        uint64_t own = key[i];
        int64_t at = i;
        for (; at > 0 && key[at - 1] > own; at--)
            key[at] = key[at - 1];
        key[at] = own;
    }
}

static inline void mark(alya_mesh_t *mesh, int64_t n)
{
#pragma omp atomic
    mesh->flags[n] |= ALYA_BOUNDARY;
}

/* Fills key[first[n] .. first[n+1]-1] with the other two nodes of each face whose least node is n,
 * in no particular order. */
static uint64_t *list_faces(const alya_mesh_t *mesh, int64_t *first)
{
    uint64_t *key = RT_NEW(uint64_t, 4 * (size_t)mesh->elements, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes + 2; n++)
        first[n] = 0;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t sorted[3];
            face(mesh->connectivity + 4 * e, a, sorted);
#pragma omp atomic
            first[sorted[0] + 2]++;
        }
    /* from here on first[n + 1] is the place of n's next face; at the end, of the first face of n +
     * 1 */
    for (int64_t n = 0; n < mesh->nodes; n++)
        first[n + 2] += first[n + 1];
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t sorted[3];
            int64_t at;
            face(mesh->connectivity + 4 * e, a, sorted);
#pragma omp atomic capture
            at = first[sorted[0] + 1]++;
            key[at] = (uint64_t)sorted[1] << 32 | (uint64_t)sorted[2];
        }
    return key;
}

double alya_boundary_memory(double elements, double nodes)
{
    return 32 * elements + 8 * (nodes + 2);
}

void alya_mesh_find_boundary(alya_mesh_t *mesh)
{
    int64_t *first = RT_NEW(int64_t, (size_t)mesh->nodes + 2, RT_HOST);
    uint64_t *key = list_faces(mesh, first);
#pragma omp parallel for schedule(dynamic, 4096)
    for (int64_t n = 0; n < mesh->nodes; n++) {
        int64_t end = first[n + 1];
        sort_keys(key + first[n], end - first[n]);
        for (int64_t i = first[n], next; i < end; i = next) {
            for (next = i + 1; next < end && key[next] == key[i];)
                next++;
            if (next - i > 1)
                continue;
            mark(mesh, n);
            mark(mesh, (int64_t)(key[i] >> 32));
            mark(mesh, (int64_t)(key[i] & UINT32_MAX));
        }
    }
    RT_FREE(key, RT_HOST);
    RT_FREE(first, RT_HOST);
}
