/*
 * read.c - the tetrahedra of a mesh file, through the common reader; only the names of the arrays
 * change.
 */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "input.h"
#include "mesh/mesh.h"

enum { ONLY_TETRAHEDRA = 1 << RT_TETRAHEDRON };

/* Takes over the file's arrays. */
static alya_mesh_t *convert(rt_mesh_t *file, const char *name, char *why, size_t len)
{
    alya_mesh_t *mesh = rt_try_alloc(1, sizeof *mesh, RT_HOST);
    if (mesh) {
        *mesh = (alya_mesh_t){.elements = file->elements[RT_TETRAHEDRON], .nodes = file->vertices};
        mesh->node_id = rt_try_alloc((size_t)mesh->nodes, sizeof *mesh->node_id, RT_HOST);
        mesh->flags = rt_try_alloc((size_t)mesh->nodes, sizeof *mesh->flags, RT_HOST);
    }
    if (!mesh || !mesh->node_id || !mesh->flags) {
        snprintf(why, len, "%s: not enough memory for %.0f nodes", name, (double)file->vertices);
        alya_mesh_destroy(mesh);
        mesh = NULL;
    } else {
        mesh->connectivity = file->element[RT_TETRAHEDRON];
        mesh->x = file->x;
        file->element[RT_TETRAHEDRON] = NULL;
        file->x = NULL;
        for (int64_t n = 0; n < mesh->nodes; n++)
            mesh->node_id[n] = n;
        memset(mesh->flags, 0, (size_t)mesh->nodes);
    }
    rt_mesh_destroy(file);
    return mesh;
}

alya_mesh_t *alya_mesh_parse(const char *name, const void *data, size_t bytes, char *why,
                             size_t len)
{
    rt_mesh_t *file = rt_mesh_parse(name, data, bytes, ONLY_TETRAHEDRA, why, len);
    return file ? convert(file, name, why, len) : NULL;
}

alya_mesh_t *alya_mesh_read(const char *path, char *why, size_t len)
{
    rt_mesh_t *file = rt_mesh_read(path, ONLY_TETRAHEDRA, why, len);
    return file ? convert(file, path, why, len) : NULL;
}
