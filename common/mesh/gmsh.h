/*
 * mesh/gmsh.h - what the parts of the reader of Gmsh files share. Private to mesh/gmsh*.c.
 *
 * As in mesh/builder.h, a function that returns false has written one line of why into the scanner.
 */
#ifndef RT_GMSH_H
#define RT_GMSH_H

#include "mesh/builder.h"

/* ---- tags (gmsh_tags.c) ---- */

typedef struct {
    int64_t tag;
    int32_t node;
} rt_gmsh_pair_t;

/* A map from tags to positions. */
typedef struct {
    int64_t n;
    rt_gmsh_pair_t *pairs; /* [n] by tag */
} rt_gmsh_tags_t;

/* Maps tag[i], none of them negative, to i. Fails if a tag occurs twice; `what` names it. */
bool rt_gmsh_tags_make(rt_scan_t *s, rt_gmsh_tags_t *map, const int64_t *tag, int64_t n,
                       const char *what);
void rt_gmsh_tags_free(rt_gmsh_tags_t *map);
/* Returns the position, or -1. */
int32_t rt_gmsh_tags_find(const rt_gmsh_tags_t *map, int64_t tag);

/* ---- a file that is being read ---- */

typedef struct {
    rt_mesh_draft_t *draft;
    bool entities, elements; /* the section has come */
    rt_gmsh_tags_t map;      /* of nodes */
    int64_t *node_tag;       /* [nodes] until the map is made */
    int64_t total;           /* elements that the file says it has */
    int64_t volumes, room;   /* volume elements so far */
    int64_t *tag;            /* [room] of volume elements, to find duplicates */
    rt_gmsh_tags_t surface;  /* of entities of dimension 2 */
    int64_t surfaces, surface_room;
    int64_t *surface_tag; /* [surface_room] until the map is made */
    int64_t *physical;    /* [surface_room] first physical group, 0: none */
} rt_gmsh_t;

/* ---- types of elements, and what sections have in common (gmsh_parts.c) ---- */

enum { RT_GMSH_NONE = -1 };
typedef struct {
    int dimension, nodes; /* dimension -1: an unknown type */
    int element, face;    /* rt_element_t or rt_face_t, or RT_GMSH_NONE */
    const char *name;
} rt_gmsh_shape_t;

/* Looks up Gmsh's number of a type. Gmsh orders the vertices of all types that can be used as
 * mesh/mesh.h does. */
rt_gmsh_shape_t rt_gmsh_shape_of(int64_t type);
/* False for points and lines, which the reader skips. */
bool rt_gmsh_is_used(rt_gmsh_shape_t shape);
/* Checks that elements of this type can be used or skipped. `tag` is for the message. */
bool rt_gmsh_check_type(rt_scan_t *s, const rt_gmsh_t *g, int64_t tag, int64_t type);
bool rt_gmsh_check_tag(rt_scan_t *s, int64_t tag, const char *what);
/* Checks the size of a block: it may be empty, but not larger than what is left of the total. */
bool rt_gmsh_check_block(rt_scan_t *s, int64_t n, int64_t left, const char *what);

/* Takes a number in binary: an int, or a size_t of 8 bytes. A size_t that int64_t cannot hold
 * becomes -1, which every caller refuses. */
int64_t rt_gmsh_int(rt_scan_t *s);
int64_t rt_gmsh_size(rt_scan_t *s);

/* Makes room for n nodes of at least `least` bytes each in the file. */
bool rt_gmsh_allocate_nodes(rt_scan_t *s, rt_gmsh_t *g, int64_t n, int64_t least);
/* Reads the coordinates of node n and skips `more` parameters after them. In binary the caller has
 * checked that they are there. */
bool rt_gmsh_coordinates(rt_scan_t *s, rt_gmsh_t *g, int64_t n, int more);
bool rt_gmsh_count_elements(rt_scan_t *s, rt_gmsh_t *g, int64_t n, int64_t least);
/* Makes room for n elements or faces that are known to be in the file (rt_scan_need). */
bool rt_gmsh_reserve(rt_scan_t *s, rt_gmsh_t *g, rt_gmsh_shape_t shape, int64_t n);
/* Adds an element or a face with these tags of nodes. */
bool rt_gmsh_add(rt_scan_t *s, rt_gmsh_t *g, int64_t tag, rt_gmsh_shape_t shape,
                 const int64_t *node, int64_t physical);
/* The same with the nodes that the rest of the line holds; messages name that line. */
bool rt_gmsh_add_line(rt_scan_t *s, rt_gmsh_t *g, int64_t tag, rt_gmsh_shape_t shape,
                      int64_t physical);

/* ---- sections (gmsh_sections.c) ---- */

bool rt_gmsh_read_nodes(rt_scan_t *s, rt_gmsh_t *g);
bool rt_gmsh_read_elements(rt_scan_t *s, rt_gmsh_t *g);
bool rt_gmsh_read_entities(rt_scan_t *s, rt_gmsh_t *g);

#endif
