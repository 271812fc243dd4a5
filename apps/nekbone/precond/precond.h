/*
 * precond.h - the preconditioner by levels of polynomial degree: element Schwarz.
 *
 * A level has polynomials of one degree N on the elements of the mesh. Its fields are on a grid: each
 * point of this rank once, x fastest, with a ring of one more point around them. Those of the ring
 * belong to the neighbours' elements; beyond the boundary of the box they are 0. Level 0 has the
 * degree of the problem, the last one degree 1.
 *
 *   schwarz     z = sum over levels of P_l F_l R_l r. F is the element-wise overlapping Schwarz
 *               method: the box of an element and one more layer of points, on which the operator
 *               is taken as that of a straight box of the element's mean edges, so that its inverse
 *               is three small matrices and a division (fast diagonalisation: Lynch, Rice and
 *               Thomas 1964; Fischer and Lottes 2005). At degree 1 a fixed polynomial
 *               (Chebyshev's) of the whole mesh's operator replaces it.
 *
 * It is linear, symmetric and positive. R is the transpose of P, interpolation at the points.
 *
 * The shift lambda is not the mass matrix, so it has no fast diagonalisation. On functions that are
 * smooth in an element, lambda is lambda N^3 / volume times the mass matrix, which has one.
 *
 * nek_levels_t is what all rungs share, in FP64 on the host. nek_precond_t is a rung's copy of it in
 * FP32 and the vectors (precond.c); kernels work on its grids through nek_precond_ops_t.
 */
#ifndef NEK_PRECOND_H
#define NEK_PRECOND_H

#include "base/extern_c.h"
#include "../nekbone.h"

/* 23-8-3-1 */
enum { NEK_MOST_LEVELS = 4 };

RT_C_BEGIN

/* --- the grid of a level --- */

typedef struct {
    int degree, n, patch; /* n = degree + 1 points of an element, patch = n + 2 with overlap */
    int points[3];        /* of the grid, with the ring */
    int local[3];         /* elements of this rank */
    int origin[3];        /* of this rank's first element in the grid, in elements; 0, but for the
                             last level, whose grid has all elements of the mesh on every rank */
    int low[3], high[3];  /* 1: the grid begins, or ends, at the boundary of the box */
    int64_t nodes;        /* product of points */
} nek_grid_t;

/* Boxes of an element: its n^3 own points, or patch^3 with overlap. A box begins at `ring` points
 * from the grid's first. */
typedef enum { NEK_OWN_BOX, NEK_PATCH } nek_box_t;

enum { NEK_STENCIL = 27, NEK_MOST_PATCH = NEK_MAX_N + 2 };

/* --- levels.c, fdm.c: what a preconditioner knows, made once for a problem; host, FP64 --- */

typedef struct {
    nek_grid_t grid;
    double *S;       /* [elements][3][patch point][mode] modes of a patch along x, y, z, times the
                       weight of the point, 1 / sqrt(patches that have it); 0 beyond the patch */
    double *eigen;   /* [elements][3][patch] their eigenvalues; those along x with the shift */
    double *J;       /* [n of the finer level][n]: this level's polynomials at the finer points */
    rt_halo_t *halo; /* of host grids in FP64; NULL on one rank */
} nek_level_t;

typedef struct nek_levels {
    int count;
    nek_level_t level[NEK_MOST_LEVELS];
    /* The operator of degree 1: [27][nodes], 0 at the boundary; [nodes] 1 / diagonal */
    double *stencil, *coarse_inverse;
    double coarse_largest; /* bound of the eigenvalues of the inverse diagonal times the operator */
    int coarse_order;
    double seconds; /* that it took to make it */
} nek_levels_t;

/* Returns the preconditioner of a rung: config's, with auto resolved. */
int nek_precond(const nek_config_t *config, const nek_kernels_t *kernels);
/* Fills the degrees of the levels, finest first: thirds, down to 1. Returns their number. */
int nek_level_degrees(const nek_config_t *config, int degree[NEK_MOST_LEVELS]);
/* Returns the levels of the problem's preconditioner, which the first call makes; NULL if the rung
 * has none. Collective. */
nek_levels_t *nek_levels(nek_problem_t *p, const nek_kernels_t *kernels);
void nek_levels_destroy(nek_levels_t *levels);
/* Makes a halo of a level's grid: sums complete points that several ranks have, copies bring the
 * ring. NULL on one rank. Collective. */
rt_halo_t *nek_grid_halo(const nek_config_t *config, const nek_grid_t *grid, const char *transport,
                         rt_kind_t kind, rt_space_t space);
/* Returns the grid of a level. */
nek_grid_t nek_grid_of(const nek_config_t *config, int degree);
/* Lists the halos' entries of this rank on a level. */
void nek_grid_list(const nek_config_t *config, const nek_grid_t *grid, rt_halo_list_t *list);
/* Returns their number: with copies on other ranks, those counted. */
int64_t nek_grid_shared(const nek_config_t *config, const nek_grid_t *grid);

/* Computes eigenvalues and orthonormal eigenvectors (columns of V[m][m]) of the symmetric A[m][m],
 * which is overwritten, by Jacobi's rotations. */
void nek_symmetric_eigen(int m, double *A, double *eigen, double *V);
/* Fills S and eigen of all elements of a level; lengths[3][local + 2 each way] are the mean edges of
 * the elements and their neighbours. */
double *nek_edge_lengths(const nek_config_t *config);
void nek_fill_patches(const nek_config_t *config, const double *lengths, nek_level_t *level);

/* --- work.c --- */

/* Adds the kernels of the rung's preconditioner to the work, and if CG is fused with it those of CG
 * too; P stored points. */
void nek_precond_work(const nek_config_t *config, const nek_kernels_t *kernels, double iterations,
                      double P, rt_work_t *work);
/* Returns the host's bytes that a rung on the ladder solve has besides: the levels, its own copy of
 * them, and the judge's vectors (judge/tolerance.c); adds those of other spaces. */
double nek_precond_memory(const nek_config_t *config, const nek_kernels_t *kernels,
                          rt_space_t space, double bytes[RT_SPACES]);

/* Computes the matrix A[8][8] of an element of degree 1 with factors G[6][8]. */
void nek_corner_matrix(const double *D, const double *G, double *A);

/* --- kernels --- */

/* What kernels see of a level; arrays in the rung's space, FP32. */
typedef struct {
    nek_grid_t grid;
    const float *S, *eigen, *J;
    double *energy; /* NULL, or where kernels leave parts of r' (sum of the boxes) */
} nek_level_view_t;

typedef struct {
    nek_grid_t grid;
    const float *stencil, *inverse;
    float largest, smallest; /* ends of the interval */
    int order;
    float *work; /* [4][nodes], 0 on the boundary */
} nek_coarse_view_t;

/* Arrays are in the rung's space. Grids are whole, ring included. Each function returns when its
 * work is done, or is on the rung's stream. */
struct nek_precond_ops {
    /* r32 = scale r on own points, 0 in the ring. */
    void (*take)(const nek_view_t *view, const nek_level_view_t *level, double scale,
                 const double *r, float *r32);
    /* box of each element [elements][patch^3] = S (S' r / sum of eigenvalues) */
    void (*schwarz)(const nek_view_t *view, const nek_level_view_t *level, const float *r,
                    float *boxes);
    /* box of each element [elements][coarse n^3] = its share of J' r */
    void (*restrict_)(const nek_view_t *view, const nek_level_view_t *fine,
                      const nek_level_view_t *coarse, const float *r, float *boxes);
    /* x += J (coarse x) on own points. NULL: the rung has raise and top */
    void (*prolong)(const nek_view_t *view, const nek_level_view_t *coarse,
                    const nek_level_view_t *fine, const float *from, float *x);
    /* sum = the sum of the boxes at each point of the grid, 0 on the boundary of the box */
    void (*collect)(const nek_view_t *view, const nek_level_view_t *level, nek_box_t kind,
                    const float *boxes, float *sum);
    /* x = coarse solve of r, which it may overwrite. It may still run, beside what follows, until
     * prolong, raise or top is called. */
    void (*coarse)(const nek_view_t *view, const nek_coarse_view_t *coarse, float *r, float *x);
    /* Both or NULL: r of the last level = this rank's sum of J' times
     * boxes of the level before; and x = the sum of the patches' boxes + this rank's share of J
     * (coarse x), in place of collect and prolong. */
    void (*restrict_last)(const nek_view_t *view, const nek_level_view_t *fine,
                          const nek_level_view_t *last, const float *boxes, float *r);
    void (*raise)(const nek_view_t *view, const nek_level_view_t *coarse,
                  const nek_level_view_t *fine, const float *boxes, const float *from, float *x);
    /* Returns this rank's sum c r z, r on stored points, z on the grid of level 0. */
    double (*dot)(const nek_view_t *view, const nek_level_view_t *level, const double *r,
                  const float *z);
    /* p = scale z + beta p */
    void (*update_p)(const nek_view_t *view, const nek_level_view_t *level, double scale,
                     const float *z, double beta, double *p);
    /* NULL, or for a rung whose own take also makes the boxes of J' r on the next level (in `low`),
     * and which ends with the finest level: x = the sum of the boxes on all ranks (NULL: x) + J times
     * x of the next level (NULL: without). Waits for the side stream. */
    void (*top)(nek_solver_t *s, const float *boxes, const nek_level_view_t *next,
                const float *from, float *x);
} RT_BY_NAME;

/* A rung's copy of a level; vectors are on its grid. */
typedef struct {
    nek_level_view_t view;
    rt_halo_t *halo;
    float *r, *x;
} nek_single_level_t;

/* What a rung over nek_precond_ops_t keeps in nek_solver_t.precond. */
typedef struct {
    const nek_precond_ops_t *ops;
    int count;
    nek_single_level_t level[NEK_MOST_LEVELS];
    nek_coarse_view_t coarse;
    float *boxes, *low; /* of the finest level, and of those below: they may be used together */
    double scale;
} nek_single_t;

/* What CG sees of a preconditioner. */
struct nek_preconditioner {
    void (*set_up)(nek_solver_t *s);
    void (*tear_down)(nek_solver_t *s);
    /* Adds the bytes on this rank that only this rung has; NULL: none. */
    void (*memory)(const nek_config_t *config, rt_space_t space, double bytes[RT_SPACES]);
    /* For the loop of solve.c, which is not for a rung with its own cg. Makes z = B r, which the
     * preconditioner keeps; returns this rank's sum c r z. norm: |r| */
    double (*apply)(nek_solver_t *s, double norm, const double *r);
    /* p = z + beta p with that z; NULL: z is s->z, in the order of p */
    void (*update_p)(nek_solver_t *s, double beta, double *p);
    bool adds_levels; /* r.z is the sum over the levels of r' F r, in FP32 */
};

/* precond.c: functions of all rungs but the reference */
void nek_single_set_up(nek_solver_t *s);
void nek_single_tear_down(nek_solver_t *s);
/* Makes x of level 0 from r of level 0; enqueues only, if halos do. */
void nek_single_levels(nek_solver_t *s);

/* As it is defined (cpu/solve_reference.c); and over a rung's nek_precond_ops_t. */
extern const nek_preconditioner_t nek_precond_reference, nek_precond_single;

RT_C_END
#endif
