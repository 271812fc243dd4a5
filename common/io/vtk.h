/*
 * io/vtk.h - what --picture writes: VTK's XML files, .vti for boxes of nodes and .vtu for
 * meshes, for ParaView and `rooftop picture`.
 *
 * The text comes first, then the arrays as raw bytes, each after its size (UInt64). All sizes are
 * known from the beginning, so values may be put in any order, and no rank holds the whole. Files
 * are written whole or not at all (io/draft.h); a failure is noted (rt_unwritten), and the run goes
 * on. Nothing is collective. Apps include this where they write pictures.
 */
#ifndef RT_VTK_H
#define RT_VTK_H

#include <stddef.h>
#include <stdint.h>
#include "io/draft.h"

RT_C_BEGIN

typedef struct {
    const char *name, *type; /* VTK's type: "Float32", "UInt8" */
    int components;
} rt_vtk_array_t;

typedef struct {
    int64_t points, cells, corners; /* corners: of all cells */
    /* Values of points and of cells, each list ended by an array without a name; of_cells may be
     * NULL. */
    const rt_vtk_array_t *of_points, *of_cells;
    const char *facts; /* VTK's FieldData, or NULL */
} rt_vtk_mesh_t;

enum { RT_VTK_MOST = 12 }; /* arrays of a file, with the four of the mesh */

typedef struct {
    rt_draft_t draft;
    int n;                       /* arrays */
    int64_t at[RT_VTK_MOST];     /* where the values of each begin in the file */
    uint64_t bytes[RT_VTK_MOST]; /* of all values */
    size_t tuple[RT_VTK_MOST];   /* bytes of a point or cell */
    int coordinates, connectivity, offsets,
        types;              /* arrays of the mesh: Float64, Int64, Int64, UInt8 */
    int64_t cells, corners; /* put so far */
} rt_vtk_t;

/* Begins a .vti file of nodes[3] nodes, x fastest, from the origin on. `facts` is VTK's FieldData,
 * or "". Array i of the file is arrays[i]. */
void rt_vtk_box_begin(rt_vtk_t *vtk, const char *path, const int64_t nodes[3], double spacing,
                      const char *facts, const rt_vtk_array_t *arrays);
/* Begins a .vtu file. Its arrays are those of the points, then those of the cells. */
void rt_vtk_mesh_begin(rt_vtk_t *vtk, const char *path, const rt_vtk_mesh_t *mesh);
/* Writes n points or cells of an array, the first of which is number `first`. */
void rt_vtk_put(rt_vtk_t *vtk, int array, int64_t first, const void *values, int64_t n);
/* Adds n cells of a VTK type after those that were added before: corner[n][size], counted from node
 * number `node` of the file. */
void rt_vtk_add_cells(rt_vtk_t *vtk, int type, int size, int64_t node, const int32_t *corner,
                      int64_t n);
/* Replaces `path` by what was written, or notes why it cannot. */
void rt_vtk_end(rt_vtk_t *vtk, const char *path);

RT_C_END
#endif
