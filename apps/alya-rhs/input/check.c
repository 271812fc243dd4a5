/*
 * check.c - finds faults of a mesh, and its boundary; destroys a mesh.
 */
#include "config.h"
#include "input.h"
#include "base/sort.h"
#include <string.h>

void alya_mesh_destroy(alya_mesh_t *mesh)
{
    if (!mesh)
        return;
    RT_FREE_ALL(RT_HOST, mesh->connectivity, mesh->x, mesh->node_id, mesh->flags, mesh);
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

/* --- boundary --- */

/* Fills the nodes of face f, those of element f / 4 without its node f % 4, in ascending order. */
static void face_of(const alya_mesh_t *mesh, int64_t f, int32_t face[3])
{
    for (int a = 0, n = 0; a < 4; a++) {
        const int32_t node = mesh->connectivity[f / 4 * 4 + a];
        int at = n;
        if (a == f % 4)
            continue;
        for (n++; at > 0 && face[at - 1] > node; at--)
            face[at] = face[at - 1];
        face[at] = node;
    }
}

static bool is_face(const alya_mesh_t *mesh, int64_t f, const int32_t face[3])
{
    int32_t other[3];
    face_of(mesh, f, other);
    return memcmp(face, other, sizeof other) == 0;
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
        key[f] = rt_hash((uint64_t)face[0] << 32 | (uint64_t)face[1], (uint64_t)face[2]);
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
    RT_FREE_ALL(RT_HOST, key, list);
}
