/*
 * gfnn.h - implicit elastic waves in a voxel model, preconditioned by a Green's-function network.
 *
 * Fujita, Kikuchi, Ichimura, Hori, Maddegedara, Ueda, "GPU porting of scalable implicit solver with
 * Green's function-based neural networks by OpenACC" (WACCPD 2021). Displacements u of the nodes of
 * a box of cubes, Newmark (1/4, 1/2): every time step solves A du = f to 1e-8, matrix-free, element
 * by element (EBE), by conjugate gradients.
 *
 * Element matrices of the unit cube, 8 nodes, 3 components a node (row 3 a + c for corner
 * a = x + 2 y + 4 z and component c), 2x2x2 Gauss points: M consistent mass of density 1, K_L for
 * lambda = 1, K_M for mu = 1. All operators of the app are of one form (gfnn_form_t):
 *
 *     y = sum_e  w_e (mass M + bulk K_L) x  +  Vs_e^2 shear (K_M - 2 K_L) x
 *
 * w_e is 1, or 0 for an element that is not there (beyond a face that is not periodic), whose Vs_e
 * is 0 too. With lambda = rho (Vp^2 - 2 Vs^2), mu = rho Vs^2 and Rayleigh damping C = a M + b K the
 * matrix of a time step is c0 A with
 *
 *     c0 = (4/dt^2 + 2 a/dt) rho ds^3,    k = (1 + 2 b/dt) ds rho / c0,
 *     A:  mass 1, bulk k Vp^2, shear k          (without damping k = (dt / 2 ds)^2)
 *
 * The app has three ladders: the operator (unit: one y = A x), the predictor, which is the
 * network's preconditioner z = P r (unit: one application), and the solve (unit: one time step).
 *
 * Words: an *element* is a voxel; a *node* is one of its corners; element (i, j, k) lies between
 * nodes i and i + 1 in x, and so on. *id* is the number of a material.
 */
#ifndef GFNN_H
#define GFNN_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GFNN_ND = 3,          /* reach of the predictor: nodes to each side */
    GFNN_W = 7,           /* 2 ND + 1 */
    GFNN_STENCIL = 343,   /* W^3 */
    GFNN_PATCH = 6,       /* elements a side that the network looks at: 2 ND */
    GFNN_INPUTS = 216,    /* PATCH^3 */
    GFNN_MAX_KERNELS = 8, /* M */
    GFNN_MAX_COEF = 8,
    GFNN_MAX_IDS = 256,
    GFNN_OUTSIDE = 255, /* id of an element that is not there */
    GFNN_HALO = 4       /* of ids: a kernel about a node touches elements that far below it */
};

/* --- options --- */

typedef enum { GFNN_PERIODIC, GFNN_FREE, GFNN_MIRROR, GFNN_FACES } gfnn_faces_t;
typedef enum {
    GFNN_NONE, /* plain conjugate gradients */
    GFNN_BJ,   /* inverses of the 3x3 diagonal blocks: the paper's CGBJ */
    GFNN_CHEB, /* Chebyshev polynomial of `degree` over bj */
    GFNN_GF8,  /* one symmetric kernel G, 8 coefficients a node: the paper's form */
    GFNN_GFM,  /* M kernels, M coefficients a node */
    GFNN_PRECONDS
} gfnn_precond_t;
typedef enum {
    GFNN_COEF_CONST,    /* of a uniform medium of Vs = 80, everywhere */
    GFNN_COEF_GALERKIN, /* energy fit at every node: what the networks have learnt */
    GFNN_COEF_NN_REG,   /* network, coefficients */
    GFNN_COEF_NN_CLASS, /* network, one of 16 classes (the paper's) */
    GFNN_COEFS
} gfnn_coef_t;
typedef enum {
    GFNN_FP32,
    GFNN_FP16,
    GFNN_PRECISIONS
} gfnn_precision_t; /* of r for the predictor */
typedef enum { GFNN_POINT, GFNN_PLANE, GFNN_SOURCES } gfnn_source_t;

typedef struct {
    const char *model;      /* "head", "uniform", or a voxel file */
    int64_t model_seed;     /* head: 0 the nominal one, else a head of its own proportions */
    int64_t heads[3];       /* head: so many of it fill the box, x y z */
    double vs;              /* uniform */
    double ds, dt;          /* m, s */
    double vp, rho;         /* m/s, kg/m^3 */
    double damping, f1, f2; /* h, and the two frequencies (Hz) at which it is h */
    int faces, precond, coef, precision, source;
    int64_t kernels;     /* M of gfm */
    int64_t degree;      /* of cheb */
    int64_t smooth;      /* Jacobi sweeps before and after the predictor: 0 or 1 */
    int64_t inner;       /* k FP32 iterations inside each outer one; 0: none */
    const char *weights; /* a file, or "shipped": that of the form, M and dt in inputs/gfnn-wave */
    double tolerance;    /* |A du - f| / |f| */
    int64_t max_iterations;
    int64_t steps;     /* time steps of a solve */
    double frequency;  /* Hz, of the source */
    const char *ranks; /* "2x2x1", or "auto" */

    /* what configure makes of them */
    int64_t n_elements[3], n_nodes[3]; /* of the whole box, x y z */
    int n_ranks[3];
} gfnn_config_t;

/* --- box.c: a rank's part of the box --- */

/* Arrays over nodes, or over elements, which are numbered as the node at their lower corner: x
 * fastest, with `halo` more on every side. The value of (i, j, k), -halo <= i < n[0] + halo, is at
 * origin + k slab + j pitch + i; a vector has its components a plane apart (SoA). Rows of own
 * values begin at multiples of 4 values (with a halo of more than 1: of 8); so are pitch, slab and
 * plane. */
typedef struct {
    int64_t n[3];
    int64_t halo, pitch, slab, plane, origin;
} gfnn_grid_t;
gfnn_grid_t gfnn_grid(const int64_t n[3], int64_t halo);
static inline int64_t gfnn_at(const gfnn_grid_t *g, int64_t i, int64_t j, int64_t k)
{
    return g->origin + k * g->slab + j * g->pitch + i;
}

/* FP64 vectors have a halo of 1 (`fine`); FP32 and FP16 vectors and ids one of 4 (`wide`), of which
 * vectors use 3;
 * coefficients have none (`bare`). */
typedef struct {
    int64_t first[3], n[3]; /* own nodes: first .. first + n - 1 of the whole box */
    int64_t N[3], E[3];     /* nodes and elements of the whole box */
    int faces;              /* gfnn_faces_t */
    int ranks[3], place[3]; /* boxes in each direction, and which this is */
    gfnn_grid_t fine, wide, bare;
} gfnn_box_t;
gfnn_box_t gfnn_box(const gfnn_config_t *cfg, int rank);
/* Chooses n_ranks for `ranks` ranks (least surface), or checks those asked for: each box at least 1
 * node a side, a periodic direction at least 3 elements. Refuses. */
void gfnn_box_choose(gfnn_config_t *cfg, int ranks);
/* Halo of vectors on `fine` (width 1) or `wide` (width 1 or 3): RT_HALO_COPY brings all ghosts,
 * edges and corners too, of periodic neighbours and of other ranks. Ghosts beyond a face that is
 * not periodic are never written: they are 0. Fields: {data + origin-free pointer, type, 3, 1,
 * plane}. NULL if there is nothing to exchange. */
rt_halo_t *gfnn_halo_new(const gfnn_box_t *box, const gfnn_grid_t *grid, int width,
                         const char *transport, rt_kind_t kind, rt_space_t space);
rt_field_t gfnn_field(const gfnn_grid_t *grid, void *data, rt_type_t type);
/* Entries of such a halo, for rt_halo_predict: own or ghost values whose group is on this rank
 * alone, and those shared with others. */
void gfnn_halo_count(const gfnn_box_t *box, int width, int64_t *local, int64_t *shared);

/* --- model.c, head.c, voxel.c: which material where --- */

typedef struct {
    int ids;                        /* materials 0 .. ids - 1; at most 255 */
    double vs[GFNN_MAX_IDS];        /* m/s; 0 for GFNN_OUTSIDE */
    double w[GFNN_MAX_IDS];         /* 1; 0 for GFNN_OUTSIDE */
    double square[GFNN_MAX_IDS];    /* Vs^2 */
    const char *name[GFNN_MAX_IDS]; /* of tissues; NULL: none given */
} gfnn_materials_t;
typedef struct {
    gfnn_materials_t materials;
    /* on box->wide: own elements and 4 to each side, wrapped or OUTSIDE */
    uint8_t *id;
    char *text; /* one line that says what it is */
} gfnn_model_t;
/* The box's part of cfg->model. Vs above Vp / sqrt(2) (lambda would be negative), an id without
 * Vs, sizes that differ from --elements: refused. A voxel file: text header <name>.txt or the head
 * of the file; see voxel.c and the README. Collective. */
gfnn_model_t *gfnn_model_new(const gfnn_config_t *cfg, const gfnn_box_t *box);
void gfnn_model_destroy(gfnn_model_t *model);
/* Extents of a voxel file, for configure: E and ds are set from it. Refuses what it cannot read. */
void gfnn_voxel_extents(const char *path, int64_t E[3], double *ds);
/* Reads a voxel file whole: *id (malloc'd, [E[2]][E[1]][E[0]], x fastest), false and one line in
 * why otherwise. For the fuzzer as well. */
typedef struct {
    int64_t E[3];
    double ds;
    gfnn_materials_t materials;
    uint8_t *id;
} gfnn_voxels_t;
bool gfnn_voxel_read(const char *path, bool header_only, gfnn_voxels_t *voxels, char *why,
                     size_t len);
bool gfnn_voxel_parse(const char *name, const void *data, size_t bytes, bool header_only,
                      gfnn_voxels_t *voxels, char *why, size_t len);
void gfnn_voxel_free(gfnn_voxels_t *voxels);
/* Tissue of the point (x, y, z) in (-1, 1)^3 of a generated head: nested ellipsoids. */
int gfnn_head_id(double x, double y, double z, uint64_t seed);

/* --- element.c: matrices of the unit cube --- */

typedef struct {
    double M[24][24], KL[24][24], KM[24][24]; /* row 3 a + c */
} gfnn_element_t;
const gfnn_element_t *gfnn_element(void); /* made at the first call */

typedef struct {
    double mass, bulk, shear;
} gfnn_form_t;
/* w_e (mass M + bulk K_L) + square_e shear (K_M - 2 K_L). */
void gfnn_element_matrix(const gfnn_form_t *form, double w, double square, double A[24][24]);

/* --- rungs --- */

/* What a kernel gets. Arrays in `space`; ids and vectors as the box's grids say. */
typedef struct {
    rt_kind_t kind;
    rt_space_t space;
    const gfnn_box_t *box;
    const gfnn_materials_t *materials; /* host */
    const uint8_t *id;                 /* on box->wide, in `space` */
    void *data;                        /* what set_up made */
    const int *choice;                 /* what is in force for the rung; NULL: its initial values */
} gfnn_view_t;

/* Own nodes from lo to hi - 1. */
typedef struct {
    int64_t lo[3], hi[3];
} gfnn_region_t;

/* The operator: y = A x for own nodes of the region; ghosts of x are up to date (1 deep), those of
 * y are not touched. Mirror faces: the caller zeroes what is held (gfnn_hold). */
typedef struct {
    void (*apply)(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                  const double *x, double *y);
    /* The same over FP32 vectors on `wide`; NULL: none. */
    void (*apply32)(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                    const float *x, float *y);
    /* apply, and *dot (in `space`, one double) = x . y over the region; NULL: none. */
    void (*apply_dot)(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                      const double *x, double *y, double *dot);
    void (*set_up)(gfnn_view_t *view);
    void (*tear_down)(gfnn_view_t *view);
    void (*memory)(const gfnn_config_t *cfg, const gfnn_box_t *box, double bytes[RT_SPACES]);
    bool whole;        /* takes regions of all own nodes only (it scatters) */
    bool reproducible; /* the same bits from run to run */
    /* What a tuner may choose; view->choice has what is in force. */
    const rt_parameter_t *parameters;
    int n_parameters;
} gfnn_operator_t;

/* The predictor's kernels and coefficients: what P is.
 *   gfm:  z_i(x) = sum_m c_m(x) sum_{s,j} K_m[i][j][s] r_j(x + s)
 *   gf8:  K_0[i][j] is G_ij, symmetric in i and j, and
 *         z_i(x) = sum_{s,j} G_ij(s) (a + b . s/3) r_j(x + s), with (a, b) = coefficients 0..3 for
 *         i = j and 4..7 for i != j   (s/3: each component of s in units of ND) */
typedef struct {
    int form;       /* GFNN_GF8 or GFNN_GFM */
    int kernels;    /* 1 for gf8, else M */
    int coefs;      /* planes of c: 8 for gf8, else M */
    const float *K; /* host [kernels][3 i][3 j][7 z][7 y][7 x] */
    const float *c; /* [coefs][box->bare.plane], in the view's space */
    int precision;  /* of r: gfnn_precision_t */
} gfnn_network_t;

/* z = P r for own nodes; r on `wide`, float or 16-bit float by network->precision, ghosts 3 deep up
 * to date; z float on `wide`. */
typedef struct {
    void (*apply)(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z);
    /* K, in the order the kernel wants it; may be NULL. */
    void (*set_up)(gfnn_view_t *view, const gfnn_network_t *network);
    void (*tear_down)(gfnn_view_t *view);
    void (*memory)(const gfnn_config_t *cfg, const gfnn_box_t *box, double bytes[RT_SPACES]);
    unsigned forms;      /* bit GFNN_GF8, bit GFNN_GFM */
    unsigned precisions; /* bit of each gfnn_precision_t that r may have */
    bool reproducible;
} gfnn_predictor_t;

/* Vectors of a solve: all loops of the CG that are not A or P, over own nodes. x, p, q, r: double
 * on `fine`. z and what is float: on `wide`. Sums are of this rank alone. "Held" components (mirror
 * faces) are 0 in p, q, r, z already. */
typedef struct {
    /* x = 0 etc. */
    void (*fill)(const gfnn_view_t *view, double value, double *x);
    void (*fill32)(const gfnn_view_t *view, float value, float *z);
    double (*dot)(const gfnn_view_t *view, const double *x, const double *y);
    /* y = a x + b y */
    void (*axpby)(const gfnn_view_t *view, double a, const double *x, double b, double *y);
    /* r -= alpha q; returns r . r. If low is not NULL, low = scale * r in `precision` on `wide`:
     * what the preconditioner gets. */
    double (*update)(const gfnn_view_t *view, double alpha, const double *q, double *r,
                     double scale, int precision, void *low);
    /* The same for B = D^-1, the inverses of the 3x3 diagonal blocks: in one pass r -= alpha q,
     * z = scale * D^-1 r, sums[0] = r . r, sums[1] = z . r. If alpha is 0, q is not read. */
    void (*update_bj)(const gfnn_view_t *view, double alpha, const double *q, double *r,
                      double scale, float *z, double sums[2]);
    /* low = scale * r; returns the largest |r| of this rank. */
    double (*pack)(const gfnn_view_t *view, const double *r, double scale, int precision,
                   void *low);
    /* sums[0] = z . r, sums[1] = z . q. q may be NULL. */
    void (*dots)(const gfnn_view_t *view, const float *z, const double *r, const double *q,
                 double sums[2]);
    /* The step along p that is still due, x += alpha p, and the next p = scale z + beta p. If alpha
     * and beta are 0, x and p are not read, nor x written. */
    void (*direction)(const gfnn_view_t *view, double alpha, double *x, double scale,
                      const float *z, double beta, double *p);
    /* The same for B = 1: p = r + beta p. */
    void (*direction_plain)(const gfnn_view_t *view, double alpha, double *x, const double *r,
                            double beta, double *p);
    /* out = z + a (z - old) + omega D^-1 (r - y), D: the 3x3 diagonal blocks. z, old or y NULL: 0.
     * If a is 0, old is not read. out may be z or old. */
    void (*smooth32)(const gfnn_view_t *view, const float *z, float a, const float *old,
                     float omega, const float *r, const float *y, float *out);
    /* y = a x + b y, float on `wide`; y is not read if b is 0. */
    void (*axpby32)(const gfnn_view_t *view, float a, const float *x, float b, float *y);
    /* Summed in double. */
    double (*dot32)(const gfnn_view_t *view, const float *x, const float *y);
    /* low = scale (x - y) in 16 bits, of float vectors; y NULL: 0. */
    void (*narrow)(const gfnn_view_t *view, float scale, const float *x, const float *y, void *low);
    /* Newmark, specification "Numerics": x1 = a + (4/dt + rayleigh) v, x2 = b v - u; and after the
     * solve u += du, a = -a - 4 v/dt + 4 du/dt^2, v = -v + 2 du/dt. */
    void (*newmark_before)(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                           const double *u, const double *v, const double *a, double *x1,
                           double *x2);
    void (*newmark_after)(const gfnn_view_t *view, double dt, const double *du, double *u,
                          double *v, double *a);
    /* Zero the components that mirror faces hold. One of both may be NULL. */
    void (*hold)(const gfnn_view_t *view, double *x, float *z);
    /* Ghosts of a vector, `width` deep, where the whole periodic box is on this rank: x on `fine`
     * if type is RT_F64, else on `wide`. What a halo does, without its lists. */
    void (*wrap)(const gfnn_view_t *view, int width, rt_type_t type, void *x);
    /* form: of A, for D of smooth32 and update_bj */
    void (*set_up)(gfnn_view_t *view, const gfnn_form_t *form);
    void (*tear_down)(gfnn_view_t *view);
    void (*memory)(const gfnn_config_t *cfg, const gfnn_box_t *box, double bytes[RT_SPACES]);
} gfnn_vectors_t;
/* cpu/vectors_cpu.c; cuda/vectors.cu */
extern const gfnn_vectors_t gfnn_vectors_cpu, gfnn_vectors_cuda;

/* cpu/op_simd.c: height and width of a tile, in nodes, by its parameters; choice NULL: the initial
 * values. */
void gfnn_simd_tile(const int *choice, int64_t tile[2]);
/* What a tuner may choose for a rung; *count 0: nothing. */
const rt_parameter_t *gfnn_parameters(const rt_rung_t *rung, int *count);

typedef enum { GFNN_LADDER_OPERATOR, GFNN_LADDER_PREDICTOR, GFNN_LADDER_SOLVE } gfnn_ladder_id_t;
/* A rung's function table: one of three, or for a solve all. */
typedef struct {
    gfnn_ladder_id_t ladder;
    const gfnn_operator_t *op;
    const gfnn_predictor_t *predictor[GFNN_PRECISIONS]; /* by precision of r; solve: those used */
    const gfnn_vectors_t *vectors;
} gfnn_kernels_t;

#define RUNG(name, kind, after, ladder, table, idea) extern const gfnn_kernels_t table;
#include "ladder.def"
#undef RUNG
enum {
    GFNN_RUNGS = 0
#define RUNG(name, kind, after, ladder, table, idea) +1
#include "ladder.def"
#undef RUNG
};
extern const rt_rung_t gfnn_ladder[GFNN_RUNGS];
extern const rt_app_t gfnn_app;

/* Element kernels of the reference, host memory, any region: plain sums over elements. Also the
 * oracle of verify.c. absolute: |A_e| |x| summed instead (for bounds). */
void gfnn_apply_reference(const gfnn_box_t *box, const gfnn_materials_t *materials,
                          const uint8_t *id, const gfnn_form_t *form, bool absolute,
                          const double *x, double *y);
/* Oracle of z = P r in double, host. r: double on `wide`; z double on `wide`; absolute likewise. */
void gfnn_predict_reference(const gfnn_box_t *box, const gfnn_network_t *network, bool absolute,
                            const double *r, double *z);

/* --- input/: weights.c, infer.c, fit.c --- */

/* A trained file; little endian, see weights.c and tools/train-gfnn/README.md. */
typedef struct {
    int layers;        /* of weights; 2: 216 -> 64 -> outputs */
    int width[5];      /* width[0] inputs .. width[layers] outputs */
    const float *W[4]; /* [width[l+1]][width[l]] row major */
    const float *b[4];
} gfnn_mlp_t;
typedef struct {
    int form, kernels, coefs;
    double vp, ds, dt, rho, damping, f1, f2, vs_min, vs_max;
    float *K;                                    /* [kernels][3][3][7][7][7] */
    double whiten[GFNN_MAX_COEF][GFNN_MAX_COEF]; /* L: c = L^-T y + mean */
    double mean[GFNN_MAX_COEF];
    gfnn_mlp_t reg, cls; /* cls: outputs are scores of classes */
    int classes;
    float *centroid; /* [classes][coefs], whitened */
    void *memory;
} gfnn_weights_t;
/* NULL and one line in why: not there, truncated, CRC wrong, of another version, sizes that do not
 * fit together, values that are not finite. */
gfnn_weights_t *gfnn_weights_read(const char *path, char *why, size_t len);
void gfnn_weights_free(gfnn_weights_t *weights);
/* Refuses with both values if the file is not for this run: form, M, ds, dt, Vp, range of Vs. */
void gfnn_weights_match(const gfnn_weights_t *weights, const gfnn_config_t *cfg,
                        const gfnn_materials_t *materials, const char *path);
/* The file of --weights shipped: looked for in $GFNN_INPUTS, and where io/inputs.h says. */
void gfnn_weights_path(const gfnn_config_t *cfg, char *path, size_t len);
/* Coefficients of every own node by the network, c [coefs][box->bare.plane] host. reg or class by
 * cfg->coef. The input is Vs^2 of the 6^3 elements about the node (z slowest, x fastest), scaled by
 * the file's range: (Vs^2 - vs_min^2) / (vs_max^2 - vs_min^2); an element that is not there counts
 * as vs_min. */
void gfnn_infer(const gfnn_weights_t *weights, int coef, const gfnn_box_t *box,
                const gfnn_model_t *model, float *c);
/* The same by the energy fit N c = b, N = Q0 + sum_e Vs_e^2 Q1_e over the 8^3 elements that the
 * kernels touch; elements that are not there have no energy. form: of A. */
void gfnn_fit(const gfnn_weights_t *weights, const gfnn_form_t *form, const gfnn_box_t *box,
              const gfnn_model_t *model, float *c);
/* That of a uniform medium, [coefs]. */
void gfnn_fit_uniform(const gfnn_weights_t *weights, const gfnn_form_t *form, double vs, float *c);

/* --- problem.c, solve.c --- */

/* Coefficients of a time step. */
typedef struct {
    double rayleigh_a, rayleigh_b; /* C = a M + b K */
    double c0, k;
    gfnn_form_t A, M, K; /* A; M alone; K / (ds^3 rho): bulk Vp^2/ds^2, shear 1/ds^2 */
} gfnn_step_t;
gfnn_step_t gfnn_step(const gfnn_config_t *cfg);

/* Displacement, velocity, acceleration: host doubles on box->fine. */
typedef struct {
    double *u, *v, *a;
} gfnn_state_t;

typedef struct {
    const rt_run_t *run;
    const gfnn_config_t *cfg;
    gfnn_box_t box;
    gfnn_model_t *model;
    gfnn_step_t step;
    gfnn_state_t start;         /* at t = 0 */
    gfnn_weights_t *weights;    /* NULL unless a predictor is used */
    float *coef;                /* [coefs][box.bare.plane] host; NULL likewise */
    rt_halo_t *halo_fine;       /* of host vectors, for the oracle */
    struct gfnn_oracle *oracle; /* made when first needed */
    double seconds_model, seconds_coef;
} gfnn_problem_t;
void *gfnn_problem_new(const rt_run_t *run);
void gfnn_problem_destroy(void *problem);
void gfnn_digest(const void *problem, rt_digest_t *digest);
/* External force at step number `step` (its end, t = step dt), divided by rho ds^3 * c0/(rho ds^3):
 * adds F / c0 to f, host or device by the view. Point source: Ricker wavelet at the node nearest to
 * (0.6, 0.6, 0.55) of the box, direction z. */
typedef struct {
    int64_t at;   /* index on box->fine of the node's z component; -1: not on this rank */
    double value; /* to add */
} gfnn_force_t;
gfnn_force_t gfnn_source(const gfnn_config_t *cfg, const gfnn_box_t *box, const gfnn_step_t *step,
                         double time);

enum { GFNN_MAX_HISTORY = 1024, GFNN_LOW_SKIP = GFNN_ND };
typedef struct {
    gfnn_problem_t *problem;
    const rt_rung_t *rung;
    const gfnn_kernels_t *kernels;
    rt_space_t space;
    gfnn_view_t view_op, view_net, view_vec; /* a data pointer each */
    gfnn_network_t network;
    /* low: FP16; all NULL on one rank */
    rt_halo_t *halo_fine, *halo_wide1, *halo_wide3, *halo_low;
    uint8_t *id;
    /* operator ladder: x, q. predictor ladder: r or low, z. solve: all. */
    double *u, *v, *a, *x, *r, *p, *q, *f; /* on fine; x is du */
    float *z, *r32, *s32, *t32;            /* on wide */
    float *other;                          /* of two z, or z and what is added to it */
    float *p32, *q32;                      /* the same, of --inner */
    void *low;                             /* 16 bits on wide, GFNN_LOW_SKIP values into its
                                              memory: where the predictor's rows begin, 3 nodes
                                              before a row's first, is a multiple of 16 bytes */
    double *dots;                          /* in `space`, sums that apply_dot leaves */
    /* Of the last solve. */
    int64_t steps, iterations, last_iterations;
    double residual;                   /* of the recurrence, last step: |r| / |f| */
    int64_t history[GFNN_MAX_HISTORY]; /* iterations of each step */
    double spectrum[2];                /* bounds of D^-1 A, for cheb */
    double scale;                      /* of the input, new after each spoil; of a solve: of its
                                          start, its source, and so of u, v, a and du */
    uint64_t solves;
} gfnn_solver_t;
void *gfnn_solver_new(void *problem, const rt_rung_t *rung);
void gfnn_solver_destroy(void *solver);
void gfnn_solve(void *solver);
void gfnn_spoil(void *solver);
/* y = A x with halo and overlap; x of the solver's space. */
void gfnn_apply(gfnn_solver_t *s, const gfnn_form_t *form, double *x, double *y);
void gfnn_apply32(gfnn_solver_t *s, const gfnn_form_t *form, float *x, float *y);
/* s->z = P r, r in s->low (16 bits) or s->r32 by the network's precision; brings the ghosts of r.
 */
void gfnn_predict(gfnn_solver_t *s);
/* Operator and predictor ladders: what the last gfnn_solve was given, host doubles on box->fine or
 * box->wide (before rounding to r's precision): rt_random of 3 node + component, times s->scale; 0
 * where a mirror holds. */
void gfnn_input(const gfnn_solver_t *s, double *x);
/* Solves A x = f from x = 0 (s->f in, s->x and s->r out); returns iterations, max_iterations if it
 * did not converge. */
int64_t gfnn_cg(gfnn_solver_t *s);
/* z = B r for the preconditioner asked for, r in s->r32 (and s->low if 16 bits), result in s->z.
 * Not for bj without inner iterations, which has no r32: gfnn_cg does it in passing. */
void gfnn_precondition(gfnn_solver_t *s);
/* Largest eigenvalue of D^-1 A by power iterations, and the lower bound cheb uses. */
void gfnn_spectrum(gfnn_solver_t *s);

/* --- oracle.c: the judge's own solution, on the host, in double --- */

/* Newmark with conjugate gradients and exact 3x3 blocks (CGBJ), apart from solve.c. Its operator is
 * cpu-simd, once that has agreed with the reference in this very run. */
typedef struct gfnn_oracle {
    double *du;             /* of the first step, to 1e-11 or better */
    double *last;           /* that of the last step */
    double most_u, most_du; /* the largest |u| and |du| of all steps */
    double norm;            /* |du| over all ranks */
    gfnn_state_t end;       /* after all steps */
    double end_norm[3];     /* |u|, |v|, |a| */
    int64_t iterations_bj;  /* of the first step, to the run's tolerance */
    double operator_error;  /* cpu-simd against the reference, of its rounding bound */
} gfnn_oracle_t;
/* Collective. */
gfnn_oracle_t *gfnn_oracle_new(const gfnn_problem_t *problem);
void gfnn_oracle_destroy(gfnn_oracle_t *oracle);
/* f of the step that ends at `time`, from the state before it: host arrays on box->fine. */
void gfnn_oracle_force(const gfnn_problem_t *problem, const gfnn_state_t *state, double time,
                       double *f);
/* y = A x by the reference: brings x's ghosts up to date and zeroes what mirror faces hold. */
void gfnn_oracle_apply(const gfnn_problem_t *problem, const gfnn_form_t *form, bool absolute,
                       double *x, double *y);

/* --- verify.c, work.c, picture.c --- */
void gfnn_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void gfnn_verify_after(void *solver, rt_verdict_t *verdict);
void gfnn_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
/* The same of a solve that was done: with its iterations, and those of CGBJ. */
void gfnn_work_done(const void *solver, rt_work_t *work);
void gfnn_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
void gfnn_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
const char *gfnn_paper(const rt_run_t *run, const rt_rung_t *rung);
/* .vti: u and the materials for ParaView; .ppm or .png: |u| in the plane of the source. Rungs that
 * solve nothing write nothing. Collective. */
void gfnn_picture(const void *solver, const char *path);
const char *gfnn_picture_why_not(const char *path); /* NULL: it can be written */

#ifdef __cplusplus
}
#endif
#endif
