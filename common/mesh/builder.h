/*
 * mesh/builder.h - a mesh that is being read: what the readers of mesh files share.
 *
 * Vertices are numbered as in the file until mesh/read.c drops those that no element uses. Lists
 * grow as elements come, never by what the file claims.
 */
#ifndef RT_MESH_BUILDER_H
#define RT_MESH_BUILDER_H

#include "mesh/mesh.h"
#include "io/scan.h"

/* What to do with a file of another format. */
#define RT_MESH_CONVERT "convert it: python3 inputs/to_ugrid.py FILE OUT.lb8.ugrid"

typedef struct {
    rt_mesh_t mesh;
    unsigned types; /* bit t: elements of type t are allowed */
    int64_t element_room[RT_ELEMENTS], face_room[RT_FACES];
} rt_mesh_draft_t;

static inline bool rt_mesh_allows(const rt_mesh_draft_t *draft, int type)
{
    return (draft->types >> type & 1) != 0;
}

/* Writes "element 5 is a hexahedron (type 5): only tetrahedra can be used"; returns false. */
bool rt_mesh_refuse_type(rt_scan_t *s, const rt_mesh_draft_t *draft, int64_t number,
                         const char *shape, int64_t type);
/* Make room for n more, all of which the file is known to hold. */
bool rt_mesh_reserve_elements(rt_scan_t *s, rt_mesh_draft_t *draft, int type, int64_t n);
bool rt_mesh_reserve_faces(rt_scan_t *s, rt_mesh_draft_t *draft, int type, int64_t n);
/* Return where the vertices of the next element or face go, for which there is room; NULL: the tag is
 * no 32-bit number. */
int32_t *rt_mesh_add_element(rt_mesh_draft_t *draft, int type);
int32_t *rt_mesh_add_face(rt_scan_t *s, rt_mesh_draft_t *draft, int type, int64_t tag);
/* Checks that the three coordinates of node `tag` are finite. */
bool rt_mesh_scan_finite(rt_scan_t *s, const double x[3], int64_t tag);

/* Fill the draft. What they allocate in it stays there, on failure too. */
bool rt_mesh_gmsh_parse(rt_scan_t *s, rt_mesh_draft_t *draft);
bool rt_mesh_ugrid_parse(rt_scan_t *s, rt_mesh_draft_t *draft, bool big_endian);

#endif
