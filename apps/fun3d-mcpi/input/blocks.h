/*
 * blocks.h - what a flow is made of: dual mesh, walls, and the blocks of one face. Other files ask
 * the source for rows.
 */
#ifndef MCPI_BLOCKS_H
#define MCPI_BLOCKS_H

#include "input.h"

/* --- dual.c --- */

/* What one element contributes to the dual cell of its vertex a. Vertices are the element's. */
typedef struct {
    double volume;  /* of the element */
    double s[8][3]; /* the gradient in the element is (1 / volume) sum_b s_b value_b */
    double n[8][3]; /* area of the dual face from a to b, 0 if ab is no edge */
} mcpi_share_t;
void mcpi_share(const rt_mesh_t *mesh, rt_element_t type, const int32_t *vertex, int a,
                mcpi_share_t *share);
/* Allocates and fills n, viscous, boundary and diagonal of a source that has its graph. */
void mcpi_make_dual(const mcpi_incidence_t *in, mcpi_source_t *source);

/* --- walls.c --- */

/* Fills wall[vertices] with 1 where a boundary face has one of these tags, else 0. */
void mcpi_find_walls(const rt_mesh_t *mesh, const char *walls, uint8_t *wall);
/* Returns whether the list of tags has this one. */
bool mcpi_has_this_tag(const char *tags, int32_t tag);
/* Fills area[vertices][3] with each vertex's share of the boundary faces that have one of these
 * tags, pointing out of the mesh. own[vertices]: those whose shares are wanted; others' may be
 * incomplete. */
void mcpi_find_areas(const mcpi_incidence_t *in, const char *tags, const uint8_t *own,
                     double *area);

/* --- distance.c --- */

/* Fills far[vertices] with the distance to the wall, approximately; -1: there is no wall. Fills
 * odd[vertices] with 1 where the least number of edges to a wall is odd, else 0. Collective. */
void mcpi_find_distance(const mcpi_graph_t *graph, const mcpi_piece_t *piece, const double *x,
                        const uint8_t *wall, double *far, uint8_t *odd);

/* --- blocks.c --- */

/* Makes the made-up flow on a source whose dual mesh and walls are known: mu, length and q. far: the
 * distance from the wall. Collective. */
void mcpi_flow_fill(mcpi_source_t *source, const mcpi_flow_t *flow, const double *far);

/* What a flux Jacobian depends on. */
typedef struct {
    double u[3], H;              /* velocity, total enthalpy */
    double phi[MCPI_MAX_NB - 5]; /* transported scalars */
    double weight;               /* in a mean: root of the density */
} mcpi_state_t;
mcpi_state_t mcpi_state(int nb, const double *q);
mcpi_state_t mcpi_roe_mean(const mcpi_state_t *a, const mcpi_state_t *b);
/* Computes A(n) with |n| = 1, nb x nb column-major, the normal velocity *V and its speed of sound
 * *c. */
void mcpi_jacobian(int nb, const mcpi_state_t *s, const double n[3], double *A, double *V,
                   double *c);
/* Computes |A|, with eigenvalues below `fix` in magnitude kept away from 0; fix = 0: |A| itself. */
void mcpi_magnitude(int nb, const double *A, double V, double c, double fix, double *M);
/* Computes K(q): the change of the viscous flux with q, without mu and L. */
void mcpi_viscous(int nb, const double *q, double *K);

static inline double mcpi_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

#endif
