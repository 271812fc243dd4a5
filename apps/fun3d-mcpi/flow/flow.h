/*
 * flow.h - the nonlinear time step around the sweeps: what a mesh is to it (geometry), what its
 * loops see (field), the functions of a back-end (phases), and the steps themselves (march).
 *
 * One step, from a state w: the residual R, second order; A = D + O, first order, with the
 * pseudo-time step; L U = D; sweeps of A dQ = R by a rung of the ladder "sweeps"; w moves by dQ.
 */
#ifndef MCPI_MARCH_H
#define MCPI_MARCH_H

#include "base/extern_c.h"
#include "../input/blocks.h"
#include "../kernel.h"
#include "physics.h"

RT_C_BEGIN

/* --- geometry.c: the dual mesh of this rank's rows, in the order of its part; host memory --- */

/* What closes the dual cell of a row at the boundary: areas, outwards. */
typedef struct {
    double wall[3], slip[3], far[3];
    double held; /* 1: no-slip, the velocity is 0; else 0 */
} mcpi_side_t;

typedef struct mcpi_geometry {
    int64_t rows, ghosts, sides;
    int64_t faces;     /* entries of all ranks that have an area */
    double *x;         /* [rows + ghosts][3] */
    double *n;         /* [entries][3] area of the dual face towards each column */
    double *viscous;   /* [entries] L_ij */
    double *diagonal;  /* [rows] L_ii */
    double *fit;       /* [rows][6] inverse of sum d d^T, xx xy xz yy yz zz */
    double *surface;   /* [rows] area of the dual cell */
    int32_t *side_of;  /* [rows] index of side, -1 inside */
    mcpi_side_t *side; /* [sides] */
    double length;     /* of the body */
} mcpi_geometry_t;
/* Takes the rows of the part from a source that is a flow. */
mcpi_geometry_t *mcpi_geometry_new(const mcpi_source_t *source, const mcpi_part_t *part,
                                   bool viscous);
void mcpi_geometry_destroy(mcpi_geometry_t *geometry);
/* Returns the most bytes of a geometry. */
double mcpi_geometry_memory(const mcpi_counts_t *counts);

/* --- tiles.c: nodes in groups, whose neighbours a GPU fetches once per group --- */

/* At most, in a tile: own nodes, members, entries of own nodes, faces. */
enum { MCPI_TILE = 64, MCPI_MEMBERS = 208, MCPI_TILE_ENTRIES = 1536, MCPI_TILE_FACES = 384 };
/* Banks of fast memory, of 8 bytes each. */
enum { MCPI_BANKS = 16 };

/* Members of a tile are its own nodes, in order, and then their neighbours, each once. Faces are
 * the edges of own nodes that have an area, each once per tile. */
typedef struct {
    int32_t tiles;
    int32_t *first;        /* [tiles + 1] place in the order */
    int32_t *member_first; /* [tiles + 1] */
    uint32_t *member;      /* rows and ghosts */
    int32_t *entry;        /* [rows + 1] where a node's entries begin, in order */
    uint16_t *near;        /* [entries] which member the neighbour is */
    double *viscous;       /* [entries] */
    int32_t *face_first;   /* [tiles + 1] */
    uint32_t *ends;        /* [faces] members: an own node, and shifted by 16 that opposite */
    double *area;          /* [faces][3] from that own node to the other */
    int32_t *part_first;   /* [rows + 1] where a node's faces begin, in order */
    uint16_t *part;        /* twice the face of the tile; + 1: its area points to the node */
} mcpi_tiles_t;
/* Fills tiles, in `space`, and puts order[] (host), a curve through the rows, into their order.
 * Returns -1, or a row that has more neighbours than a tile has room for: then there are no tiles. */
int64_t mcpi_tiles_new(const mcpi_part_t *part, const mcpi_geometry_t *g, uint32_t *order,
                       rt_space_t space, mcpi_tiles_t *tiles);
void mcpi_tiles_destroy(mcpi_tiles_t *tiles, rt_space_t space);
/* Returns the most bytes of tiles. */
double mcpi_tiles_memory(const mcpi_counts_t *counts);

/* --- field --- */

/* All arrays are in the rung's space. */
typedef struct {
    int64_t rows, ghosts;
    const int32_t *start, *column;
    const double *x, *n, *viscous, *diagonal, *fit, *surface;
    const int32_t *side_of;
    const mcpi_side_t *side;
    const double *source;  /* [rows][5] added to R; NULL: none (tests) */
    const double *outside; /* [rows][5] state beyond the far field; NULL: the stream (tests) */
    mcpi_gas_t gas;
    double cfl;       /* of the step */
    double *w;        /* [rows + ghosts][5] primitive state */
    double *gradient; /* [rows + ghosts][5][3] */
    double *R;        /* [rows][5] what flows into each cell */
    double *rate;     /* [rows] sum of area (|V| + c) / 2 over the faces, and of diffusion */
    /* What the sweeps read. Row i is multiplied by scale[i], a power of two. */
    double *scale; /* [rows] */
    mcpi_type_t offdiagonal, dq_type;
    void *O;          /* [entries][25] column-major, of type offdiagonal, or in chunks */
    bool chunked;     /* O is as input/portable.h says */
    void *LU, *right; /* doubles: [rows][25] D, then its factors; [rows][5] scaled R */
    /* [rows] bytes from O, LU and right on to what is row i's, where a rung of sweeps has a layout
     * of its own; NULL: the arrays are as they say. */
    const uint64_t *O_at, *LU_at, *right_at;
    const void *dq;              /* [rows + ghosts][5] of dq_type */
    const uint32_t *permutation; /* [rows] neighbours one soon after the other; NULL on a CPU */
    mcpi_tiles_t tiles;          /* zeros: the rung needs none */
    double *sums;                /* [rows / MCPI_NORM_CHUNK + 2] for partial results */
} mcpi_field_t;

/* What an update did on this rank. */
typedef struct {
    int64_t scaled;  /* rows whose whole dQ would have broken positivity */
    int64_t stopped; /* the first row for which no share of dQ was possible; rows: none */
} mcpi_moved_t;

/* --- phases --- */

typedef struct mcpi_phases {
    const char *sweeps; /* the rung of the ladder "sweeps" that solves A dQ = R */
    bool tiled;         /* the field needs tiles */
    void (*gradient)(const mcpi_field_t *f);
    void (*residual)(const mcpi_field_t *f); /* R and rate */
    /* Returns the sum of squares of R / (surface, stream) of this rank, or of dQ - before, an
     * earlier dQ, if that is not NULL; the same on any number of threads. */
    double (*norm)(const mcpi_field_t *f, const void *before);
    void (*jacobian)(const mcpi_field_t *f); /* O, D in LU's place, and scale */
    void (*factor)(const mcpi_field_t *f);   /* LU = D, in place */
    void (*right)(const mcpi_field_t *f);    /* right = scale R */
    mcpi_moved_t (*update)(const mcpi_field_t *f);
} RT_BY_NAME mcpi_phases_t;

/* cpu/flow_simd.c: phases that both rungs of the CPU have. */
double mcpi_simd_norm(const mcpi_field_t *f, const void *before);
void mcpi_simd_factor(const mcpi_field_t *f);
void mcpi_simd_right(const mcpi_field_t *f);

/* Rows of a chunk: the sum of squares is taken over each chunk first. */
enum { MCPI_NORM_CHUNK = 64 };
/* Returns the sum of what all chunks have in sums[], which is in `space`, in order. */
double mcpi_sum_chunks(const mcpi_field_t *f, rt_space_t space);
/* Halvings of an update, at most, until density and pressure keep at least this share. */
enum { MCPI_HALVINGS = 10 };
#define MCPI_LEAST_SHARE 0.1

/* --- definition.c: parts of the step by their definition, for the reference and the judge ---
 *
 * Each has the magnitudes of what it adds up, from which the bounds of its rounding follow. Sizes
 * may be NULL, but those of a row's blocks only together. */

/* Fill M and b of the normal equations M g = b of the slopes of row i, and the sums of |terms| of
 * b; and solve them for one variable. */
void mcpi_reference_normal(const mcpi_field_t *f, int64_t i, double M[3][3], double b[MCPI_Q][3],
                           double size[MCPI_Q][3]);
void mcpi_reference_solve3(double M[3][3], const double *b, double *x);
/* Computes R of row i from w and the gradients; returns the rate. */
double mcpi_reference_residual(const mcpi_field_t *f, int64_t i, double *R, double *size);
/* Computes the blocks of row i, not scaled: O[entries][25] and D[25], column-major. */
void mcpi_reference_row_blocks(const mcpi_field_t *f, int64_t i, double *O, double *D,
                               double *size_O, double *size_D);
/* Moves w by dQ, or by a half, a quarter ...; returns the halvings. */
int mcpi_reference_update(double *w, const double *dq);

RT_C_END
#endif
