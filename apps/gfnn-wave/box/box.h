/*
 * box.h - what was asked for, and a rank's part of the box of cubes.
 *
 * An *element* is a voxel, a *node* is one of its corners. Element (i, j, k) lies between nodes i
 * and i + 1 in x, and so on. The *id* of an element is the number of its material.
 */
#ifndef GFNN_BOX_H
#define GFNN_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"

RT_C_BEGIN

enum {
    GFNN_ND = 3,          /* the usual reach of the predictor: nodes to each side */
    GFNN_W = 7,           /* of which 2 ND + 1 are a row of the stencil */
    GFNN_STENCIL = 343,   /* W^3 */
    GFNN_MAX_ND = 6,      /* the largest reach; the least is ND */
    GFNN_PATCH = 6,       /* elements per side that the network reads, whatever the reach */
    GFNN_INPUTS = 216,    /* PATCH^3 */
    GFNN_MAX_KERNELS = 8, /* M */
    GFNN_MAX_COEF = 8,
    GFNN_MAX_IDS = 256,
    GFNN_OUTSIDE = 255 /* id of an absent element */
};

/* Streams of random data in addition to the verifier's: --seed plus one of these. */
enum { GFNN_SEED_INPUT = 77, GFNN_SEED_NOISE = 99 };
enum { GFNN_SEED_SPECTRUM = 5 }; /* alone */

/* --- options --- */

typedef enum { GFNN_PERIODIC, GFNN_FREE, GFNN_FACES } gfnn_faces_t;
typedef enum {
    GFNN_BJ,   /* inverses of the 3x3 diagonal blocks: the paper's CGBJ */
    GFNN_CHEB, /* Chebyshev polynomial of `degree` over bj */
    GFNN_GF8,  /* one symmetric kernel G, 8 coefficients per node: the paper's form */
    GFNN_GFM   /* M kernels, M coefficients per node */
} gfnn_precond_t;
typedef enum {
    GFNN_COEF_NN_REG,  /* a network gives the coefficients */
    GFNN_COEF_NN_CLASS /* a network gives one of 16 classes (the paper's) */
} gfnn_coef_t;
/* What conjugate gradients keep x, r, p and q in. */
typedef enum { GFNN_DOUBLE, GFNN_SINGLE, GFNN_TYPES } gfnn_type_t;
/* Precision of r for the predictor. */
typedef enum { GFNN_FP32, GFNN_FP16, GFNN_PRECISIONS } gfnn_precision_t;

/* The paper's medium: speed of P waves (m/s), density (kg/m^3), the frequencies (Hz) at which
 * --damping holds; and the edge of an element of generated models (m). */
static const double GFNN_VP = 200, GFNN_RHO = 1000, GFNN_F1 = 500, GFNN_F2 = 5000, GFNN_DS = 1e-3;

typedef struct {
    const char *model; /* "head", "uniform", "uniform:VS" (m/s), or a voxel file */
    int64_t heads[3];  /* head: how many of it fill the box, x y z */
    double dt;         /* s */
    double damping;    /* ratio h at F1 and F2 */
    const char *form;  /* --precond: "bj", "cheb7", "gf8", "gfm2", "auto" */
    int faces, coef, precision, vectors;
    int64_t reach;       /* nd of gf8 and gfm: nodes to each side, ND to MAX_ND */
    const char *weights; /* a file, or "shipped": the one for the form, M and dt in inputs/ */
    double tolerance;    /* |A du - f| / |f| */
    int64_t max_iterations;
    int64_t steps;     /* time steps per solve */
    double frequency;  /* Hz, of the source */
    const char *ranks; /* "2x2x1", or "auto" */
    int64_t green[3];  /* a node; green[0] -1: none */

    /* configure derives these */
    double ds;                         /* edge of an element, m: DS, or the voxel file's */
    int64_t n_elements[3], n_nodes[3]; /* of the whole box, x y z */
    int n_ranks[3];
    int precond;             /* gfnn_precond_t */
    int64_t kernels, degree; /* M of gfm; of cheb */
    const char *form_asked;  /* form as given */
    char form_text[16];      /* what stands for it; form points to it then */
} gfnn_config_t;

/* Returns whether --precond has a network. */
static inline bool gfnn_has_network(const gfnn_config_t *config)
{
    return config->precond == GFNN_GF8 || config->precond == GFNN_GFM;
}

/* Returns the nodes of a stencil of this reach. */
static inline int64_t gfnn_stencil(int64_t reach)
{
    const int64_t width = 2 * reach + 1;
    return width * width * width;
}

/* Returns the coefficients of a network per node. */
static inline int64_t gfnn_coefs(const gfnn_config_t *config)
{
    return config->precond == GFNN_GF8 ? (int64_t)GFNN_MAX_COEF : config->kernels;
}

/* Returns whether the preconditioner reads the residual in 16 bits (s->low). */
static inline bool gfnn_reads_low(const gfnn_config_t *config)
{
    return gfnn_has_network(config) && config->precision == GFNN_FP16;
}

/* Returns whether it reads the residual in FP32 (s->r32). */
static inline bool gfnn_reads_r32(const gfnn_config_t *config)
{
    return config->precond > GFNN_BJ && !gfnn_reads_low(config);
}

/* Returns whether conjugate gradients make that as a vector of its own; if r is FP32, it is r. */
static inline bool gfnn_needs_r32(const gfnn_config_t *config)
{
    return gfnn_reads_r32(config) && config->vectors == GFNN_DOUBLE;
}

/* Returns whether the vectors of conjugate gradients are FP32. */
static inline bool gfnn_is_single(const gfnn_config_t *config)
{
    return config->vectors == GFNN_SINGLE;
}

/* --- box.c --- */

/* Rows of own values begin at multiples of this: 64 bytes of FP32, which is what a GPU's memory
 * moves at once. */
enum { GFNN_ROW_UNIT = 16 };

/* Arrays over nodes, or over elements, which are numbered as the node at their lower corner: x
 * fastest, with `halo` more on every side. The value of (i, j, k), -halo <= i < n[0] + halo, is at
 * origin + k slab + j pitch + i; a vector has its components a plane apart (SoA). pitch,
 * slab, plane and origin are multiples of GFNN_ROW_UNIT. */
typedef struct {
    int64_t n[3];
    int64_t halo, pitch, slab, plane, origin;
} gfnn_grid_t;
gfnn_grid_t gfnn_grid(const int64_t n[3], int64_t halo);
static inline int64_t gfnn_at(const gfnn_grid_t *g, int64_t i, int64_t j, int64_t k)
{
    return g->origin + k * g->slab + j * g->pitch + i;
}

/* Returns whether node (i, j, k) is this rank's own. */
static inline bool gfnn_is_own(const gfnn_grid_t *g, int64_t i, int64_t j, int64_t k)
{
    return i >= 0 && i < g->n[0] && j >= 0 && j < g->n[1] && k >= 0 && k < g->n[2];
}

/* FP64 vectors have a halo of 1 (`fine`). FP32 and FP16 vectors and ids have a halo of reach + 1
 * (`wide`): a kernel about a node touches elements that far below it. Vectors use `reach` of it.
 * Coefficients have none (`bare`). */
typedef struct {
    int64_t first[3], n[3]; /* own nodes: first .. first + n - 1 of the whole box */
    int64_t N[3], E[3];     /* nodes and elements of the whole box */
    int faces;              /* gfnn_faces_t */
    int ranks[3], place[3]; /* boxes in each direction, and which of them this is */
    gfnn_grid_t fine, wide, bare;
} gfnn_box_t;
gfnn_box_t gfnn_box(const gfnn_config_t *config, int rank);
/* Returns which of the n of the whole box is at position i, after wrapping; -1: none. */
static inline int64_t gfnn_wrap(int faces, int64_t i, int64_t n)
{
    return faces == GFNN_PERIODIC ? (i % n + n) % n : i >= 0 && i < n ? i : -1;
}
/* Returns whether a box is all of a periodic one. */
static inline bool gfnn_is_alone(const gfnn_box_t *box)
{
    return box->faces == GFNN_PERIODIC && box->ranks[0] * box->ranks[1] * box->ranks[2] == 1;
}
/* Returns where on a grid this rank has a node of the whole box, after wrapping; -1: it is not its
 * own. */
int64_t gfnn_own_node(const gfnn_box_t *box, const gfnn_grid_t *g, const int64_t node[3]);
/* Returns the distance of own node (i, j, k) from a node of the whole box, the short way round: its
 * largest component. */
int64_t gfnn_distance(const gfnn_box_t *box, int64_t i, int64_t j, int64_t k,
                      const int64_t node[3]);
/* Sets n_nodes from n_elements. */
void gfnn_box_count(gfnn_config_t *config);
/* Chooses n_ranks for `ranks` ranks (least surface), or checks those asked for: each box must have
 * at least 1 node per side, a periodic direction at least as many
 * elements as the reach. Refuses. */
void gfnn_box_choose(gfnn_config_t *config, int ranks);
/* Makes the halo of vectors on `fine` (width 1) or `wide` (width 1 or the reach). RT_HALO_COPY
 * brings all ghosts, edges and corners too, of periodic neighbours and of other ranks. Ghosts
 * beyond a face that is not periodic are never written: they are 0. The fields are those of
 * gfnn_field. Returns NULL if there is nothing to exchange. Collective. */
rt_halo_t *gfnn_halo_new(const gfnn_box_t *box, const gfnn_grid_t *grid, int width,
                         const char *transport, rt_kind_t kind, rt_space_t space);
rt_field_t gfnn_field(const gfnn_grid_t *grid, void *data, rt_type_t type);

RT_C_END
#endif
