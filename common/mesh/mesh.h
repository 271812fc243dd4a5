/*
 * mesh/mesh.h - unstructured meshes and the files they come from (host memory).
 *
 * A mesh has vertices, volume elements of four types, and boundary faces with a tag each. Vertices
 * are ordered within an element as in CGNS (Gmsh uses the same order):
 *
 *     tetrahedron  0 1 2 counter-clockwise as seen from 3 (positive volume)
 *     pyramid      0 1 2 3 the base, counter-clockwise as seen from 4, the apex
 *     prism        0 1 2 counter-clockwise as seen from inside; 3 4 5 above 0 1 2
 *     hexahedron   0 1 2 3 counter-clockwise as seen from inside; 4 5 6 7 above them
 */
#ifndef RT_MESH_H
#define RT_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/extern_c.h"

RT_C_BEGIN

typedef enum { RT_TETRAHEDRON, RT_PYRAMID, RT_PRISM, RT_HEXAHEDRON, RT_ELEMENTS } rt_element_t;
typedef enum { RT_TRIANGLE, RT_QUAD, RT_FACES } rt_face_t;
static inline int rt_element_size(rt_element_t type) /* vertices */
{
    return type == RT_TETRAHEDRON ? 4 : type == RT_PYRAMID ? 5 : type == RT_PRISM ? 6 : 8;
}
static inline int rt_face_size(rt_face_t type)
{
    return type == RT_TRIANGLE ? 3 : 4;
}
const char *rt_element_name(rt_element_t type); /* "tetrahedron" */

/* Fewer than 2^31 of anything. */
typedef struct {
    int64_t vertices;
    double *x; /* [vertices][3], metres */
    int64_t elements[RT_ELEMENTS];
    int32_t *element[RT_ELEMENTS]; /* [elements[t]][rt_element_size(t)] vertex numbers */
    int64_t faces[RT_FACES];       /* on the boundary */
    int32_t *face[RT_FACES];       /* [faces[t]][rt_face_size(t)] */
    /* [faces[t]] Gmsh: the (first) physical group; AFLR3: the surface; 0: none given. */
    int32_t *tag[RT_FACES];
} rt_mesh_t;

void rt_mesh_destroy(rt_mesh_t *mesh); /* NULL allowed; arrays are from rt_alloc, RT_HOST */

/* Reads a mesh file: Gmsh 4.1 (ASCII or binary), which it knows by its content, and AFLR3, which it knows by the name (.b8.ugrid, .lb8.ugrid). `types`: bit t allows volume
 * elements of type t (0 allows all). Other types are refused, and so are elements and faces of
 * higher order. Vertices that no volume element uses are dropped, and faces with such a vertex.
 * Faces are as in the file: some turn inwards, and some may lie inside. Takes at most a fixed
 * multiple of the size of the file in memory, whatever the file says. Element numbers in messages
 * are those of the file. Returns NULL, and one line in why (what is wrong, in which line or at
 * which byte), if the file cannot be used. */
rt_mesh_t *rt_mesh_read(const char *path, unsigned types, char *why, size_t len);
/* Returns whether a mesh that was read and is right can be used; if not, one line in why. */
typedef bool rt_mesh_usable_fn(const rt_mesh_t *mesh, const void *data, char *why, size_t len);
/* Reads the file of --mesh on every rank and checks it, by `usable` too if that is not NULL; refuses
 * it, by that option's name, in the words of rank 0. Collective. */
rt_mesh_t *rt_mesh_read_all(const char *path, unsigned types, rt_mesh_usable_fn *usable,
                            const void *data);
/* Reads the same from memory. `name` is for messages, and says whether it is AFLR3. */
rt_mesh_t *rt_mesh_parse(const char *name, const void *data, size_t bytes, unsigned types,
                         char *why, size_t len);

/* Checks a mesh. Returns false, and one line in why, that names the first vertex with a coordinate
 * that is not finite, or else the first element (type, and number from 0) that is inverted or flat
 * or has a vertex out of range or twice. An element is inverted if one of the tetrahedra at its
 * corners is. A tetrahedron is flat if its determinant (6 V) is below 1e-13 of the longest edge
 * cubed, and V has to be within 1e-30 .. 1e30 m^3. For boundary faces only the vertex numbers are
 * checked. */
bool rt_mesh_check(const rt_mesh_t *mesh, char *why, size_t len);

RT_C_END
#endif
