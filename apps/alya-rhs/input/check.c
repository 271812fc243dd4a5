/*
 * check.c - finds faults of a mesh, and its boundary; destroys a mesh.
 */
#include "config.h"
#include "input.h"
#include "base/sort.h"
#include <inttypes.h>
#include <stdio.h>

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

/* --- sets of nodes, found by a hash that does not depend on their order --- */

static uint64_t hash_of(const int32_t *node, int n)
{
    uint64_t sum = 0;
    for (int a = 0; a < n; a++)
        sum += rt_hash((uint64_t)node[a], 4);
    return sum;
}

static bool has(const int32_t *node, int n, int32_t wanted)
{
    for (int a = 0; a < n; a++)
        if (node[a] == wanted)
            return true;
    return false;
}

static bool same_nodes(const int32_t *node, const int32_t *other, int n)
{
    for (int a = 0; a < n; a++) /* those of a set differ, so looking one way is enough */
        if (!has(other, n, node[a]))
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
        key[e] = hash_of(node + 4 * e, 4);
        list[e] = (uint32_t)e;
    }
    rt_sort(key, list, elements);
    /* The sort is stable, so the first twin found is the next one. */
    for (int64_t i = 0; i < elements; i++)
        for (int64_t j = i + 1; j < elements && key[j] == key[i]; j++)
            if (same_nodes(node + 4 * (int64_t)list[i], node + 4 * (int64_t)list[j], 4)) {
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

/* Fills the nodes of face f: those of element f / 4 without its node f % 4. */
static void face_of(const alya_mesh_t *mesh, int64_t f, int32_t face[3])
{
    for (int a = 0, n = 0; a < 4; a++)
        if (a != f % 4)
            face[n++] = mesh->connectivity[f / 4 * 4 + a];
}

static bool is_face(const alya_mesh_t *mesh, int64_t f, const int32_t face[3])
{
    int32_t other[3];
    face_of(mesh, f, other);
    return same_nodes(face, other, 3);
}

double alya_boundary_memory(double elements)
{
    return 48 * elements + rt_sort_memory(4 * elements);
}

void alya_mesh_find_boundary(alya_mesh_t *mesh)
{
    const int64_t faces = 4 * mesh->elements;
    RT_EXPECT(faces <= UINT32_MAX, RT_USAGE, "a mesh of more than 2^32 faces");
    uint64_t *key = RT_NEW(uint64_t, (size_t)faces, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)faces, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t f = 0; f < faces; f++) {
        int32_t face[3];
        face_of(mesh, f, face);
        key[f] = hash_of(face, 3);
        list[f] = (uint32_t)f;
    }
    rt_sort(key, list, faces);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < faces; i++) {
        int32_t face[3];
        bool alone = true;
        face_of(mesh, list[i], face);
        for (int64_t j = i; alone && j > 0 && key[j - 1] == key[i]; j--)
            alone = !is_face(mesh, list[j - 1], face);
        for (int64_t j = i + 1; alone && j < faces && key[j] == key[i]; j++)
            alone = !is_face(mesh, list[j], face);
        for (int a = 0; alone && a < 3; a++) {
#pragma omp atomic
            mesh->flags[face[a]] |= ALYA_BOUNDARY;
        }
    }
    RT_FREE(key, RT_HOST);
    RT_FREE(list, RT_HOST);
}
