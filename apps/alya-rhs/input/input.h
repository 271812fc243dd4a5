/*
 * input.h - meshes in host memory: made or read, checked, shared out, ordered; and the velocity.
 */
#ifndef ALYA_INPUT_H
#define ALYA_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"
#include "mesh/mesh.h"

RT_C_BEGIN

/* Nodes and elements of this rank. Limits: fewer than 2^31 of either. */
typedef struct {
    int64_t elements, nodes;
    int32_t *connectivity; /* [elements][4], local node numbers; det > 0 */
    double *x;             /* [nodes][3], metres */
    int64_t *node_id;      /* [nodes] global id: the same for all copies of a node on all ranks,
                              and for periodic images; independent of order and rank count */
    uint8_t *flags;        /* [nodes] bits below */
} alya_mesh_t;
enum {
    ALYA_SHARED = 1,  /* another rank, or another node of this rank (periodic), has the same id */
    ALYA_BOUNDARY = 2 /* on the boundary of the domain */
};

/* How large the mesh is. */
typedef struct {
    int64_t elements, nodes;            /* most of any rank; nodes: an upper bound */
    double total_elements, total_nodes; /* of all ranks */
    bool poor_order;  /* rungs may get the elements in an order without locality */
    int64_t cells[3]; /* generated: of the rank with the most nodes */
    int64_t pass;     /* for a rung's memory: elements of a pass, see alya_view_t */
    unsigned threads; /* the same: threads per block or team */
} alya_counts_t;

/* Frees the arrays and the struct; NULL is allowed. */
void alya_mesh_destroy(alya_mesh_t *mesh);

/* Fills e_k = x_k - x_0 of the element with these nodes. */
static inline void alya_edges(const alya_mesh_t *mesh, const int32_t *node, double edge[3][3])
{
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            edge[k][d] = mesh->x[3 * (int64_t)node[k + 1] + d] - mesh->x[3 * (int64_t)node[0] + d];
}

/* Returns det = e_1 . (e_2 x e_3) = 6 V. */
static inline double alya_determinant(double edge[3][3])
{
    return edge[0][0] * (edge[1][1] * edge[2][2] - edge[1][2] * edge[2][1]) +
           edge[0][1] * (edge[1][2] * edge[2][0] - edge[1][0] * edge[2][2]) +
           edge[0][2] * (edge[1][0] * edge[2][1] - edge[1][1] * edge[2][0]);
}

/* --- box.c: generated meshes --- */

/* A box of cells, each split into 6 tetrahedra (Kuhn): the whole mesh, of all ranks. */
typedef struct {
    int64_t cells[3];  /* x y z */
    double growth;     /* hill: ratio of neighbouring layers' heights */
    bool periodic_box; /* (2 pi)^3, periodic; else the hill */
    double jitter;     /* moves inner nodes by up to this share of a cell; 0: none */
    uint64_t seed;     /* of the jitter */
} alya_box_t;

/* Makes this rank's part: a block of the cells; elements and nodes in natural order (cells with z
 * fastest, then y, then x; node ((i (ny+1)) + j) (nz+1) + k). Made in parallel, without the other
 * ranks' parts. */
alya_mesh_t *alya_box_new(const alya_box_t *box, int rank, int ranks);
/* How large the parts are: the most elements and nodes of any, the cells of that with the most nodes,
 * and the least elements of any. */
typedef struct {
    int64_t elements, nodes, cells[3], least;
} alya_parts_t;
alya_parts_t alya_box_count(const alya_box_t *box, int ranks);
/* Returns the height of the hill at (x, y), metres. */
double alya_hill(double x, double y);

/* --- order.c --- */

typedef enum {
    ALYA_NATURAL, /* as made, or as in the file */
    ALYA_HILBERT, /* elements and nodes along a Hilbert curve */
    ALYA_RANDOM,  /* elements and nodes shuffled */
    ALYA_ORDERS
} alya_order_t;

/* Puts the mesh in this order; ids and flags move along. */
void alya_mesh_reorder(alya_mesh_t *mesh, alya_order_t order, uint64_t seed);
/* Returns the distinct nodes in runs of 512 consecutive elements, divided by elements: about 0.5 in
 * a good order, near 4 in a random one. */
double alya_mesh_spread(const alya_mesh_t *mesh);
/* Fills order[elements] with the elements along the Hilbert curve. */
void alya_hilbert_order(const alya_mesh_t *mesh, uint32_t *order);

/* --- check.c --- */

/* Finds the first node whose coordinate is not finite, or else the first element that is inverted
 * or flat or has a node out of range or twice: one line into why, false; as rt_mesh_check, which
 * calls nodes vertices. */
bool alya_mesh_check(const alya_mesh_t *mesh, char *why, size_t len);
/* Sets ALYA_BOUNDARY on the nodes of faces that only one element has (whole mesh on one rank). */
void alya_mesh_find_boundary(alya_mesh_t *mesh);

/* --- read.c --- */

/* Reads the tetrahedra of a file that mesh/mesh.h can read; other volume elements are refused,
 * boundary faces not kept. node_id = 0 .. nodes-1 in the order of the file; flags: the boundary.
 * Refuses a file that cannot be used. Collective: every rank reads all of it. */
alya_mesh_t *alya_mesh_read(const char *path);
/* Keeps the elements of a rank's share, a range of the Hilbert curve, and their nodes, in the order of
 * the whole; flags the nodes that other shares have too. Not collective. */
void alya_mesh_share(alya_mesh_t *mesh, int rank, int ranks);

/* --- velocity.c --- */

/* Sets u[nodes][3] = random in (-1, 1) by global id. */
void alya_random_field(const alya_mesh_t *mesh, uint64_t seed, double *u);
/* Returns the logarithmic wind profile, m/s, at a height over the ground, m. */
double alya_log_wind(double above);
/* Sets u[nodes][3] to the velocity of the timed runs, m/s: on the hill and in files the logarithmic
 * wind profile over the ground with roughness 3 cm and friction velocity 0.4 m/s, plus modes that
 * vanish at the ground; in the box the Taylor-Green vortex plus modes. Collective. */
typedef enum { ALYA_OVER_HILL, ALYA_IN_BOX, ALYA_IN_FILE } alya_velocity_t;
void alya_fill_velocity(const alya_mesh_t *mesh, alya_velocity_t flow, double *u);

/* Return the most host memory in bytes, in addition to the mesh itself, while these run:
 * alya_mesh_reorder in any order, alya_mesh_find_boundary, alya_mesh_share. */
double alya_reorder_memory(double elements, double nodes);
double alya_boundary_memory(double elements);
double alya_share_memory(double elements, double nodes);

RT_C_END
#endif
