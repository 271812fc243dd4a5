/*
 * kernel.h - what a kernel gets (gfnn_view_t), and the function tables of the rungs.
 *
 * A rung is on one of three ladders: the operator (unit: one y = A x), the predictor, which is the
 * network's preconditioner z = P r (unit: one application), and the solve (unit: one time step),
 * which is made of the tables of the other two and of the loops over vectors.
 */
#ifndef GFNN_KERNEL_H
#define GFNN_KERNEL_H

#include "box/box.h"
#include "solve/cg.h"

RT_C_BEGIN

/* --- materials and element matrices --- */

typedef struct {
    int ids;                     /* materials 0 .. ids - 1; at most 255 */
    double vs[GFNN_MAX_IDS];     /* m/s; 0 for GFNN_OUTSIDE */
    double w[GFNN_MAX_IDS];      /* 1; 0 for GFNN_OUTSIDE */
    double square[GFNN_MAX_IDS]; /* Vs^2 */
} gfnn_materials_t;

typedef struct {
    double M[24][24], KL[24][24], KM[24][24]; /* row 3 a + c */
} gfnn_element_t;
/* Returns the matrices of the unit cube, which the first call makes. */
const gfnn_element_t *gfnn_element(void);

typedef struct {
    double mass, bulk, shear;
} gfnn_form_t;
/* A = w_e (mass M + bulk K_L) + square_e shear (K_M - 2 K_L) */
void gfnn_element_matrix(const gfnn_form_t *form, double w, double square, double A[24][24]);

/* --- function tables --- */

/* What a kernel gets. Arrays are in `space`; ids and vectors lie as the box's grids say. */
typedef struct {
    rt_space_t space;
    const gfnn_config_t *config;
    const gfnn_box_t *box;
    const gfnn_materials_t *materials; /* host */
    const uint8_t *id;                 /* on box->wide, in `space` */
    void *data;                        /* what set_up made */
    const int *choice;                 /* parameters in force for the rung; NULL: initial values */
} gfnn_view_t;

/* What an element adds to the 3x3 block of its corner: by the symmetry of the cube the same to the
 * three diagonal entries, and one value to the others, negative where the corner is at different ends
 * in their two directions. */
typedef struct __attribute__((aligned(8))) {
    float diagonal, cross;
} gfnn_entries_t;
/* Returns those of all ids, [GFNN_MAX_IDS] in view->space. RT_FREE them. */
gfnn_entries_t *gfnn_entries_new(const gfnn_view_t *view, const gfnn_form_t *form);

/* A sweep: out = z + a (z - old) + omega D^-1 (r - A z), float on `wide`. D: the 3x3 diagonal blocks.
 * old NULL: 0. If a is 0, old is not read. */
typedef struct {
    const gfnn_view_t *vectors; /* whose set_up got D */
    float a, omega;
    const float *old, *r;
    float *out; /* may be old */
} gfnn_sweep_t;

/* A product: y = A x for all own nodes. Ghosts of x are up to date (1 deep), unless it wraps;
 * ghosts of y are not touched. */
typedef struct {
    const gfnn_form_t *form; /* of A */
    gfnn_type_t type;        /* of x and y: GFNN_DOUBLE on `fine`, or GFNN_SINGLE on `wide` */
    void *x, *y;
    /* What becomes of A x besides; each only where the table has it, NULL: not asked for. */
    double *dot;               /* in `space`: gets x . y */
    gfnn_cg_t *cg;             /* on a device: gets it instead (GFNN_APPLIED) */
    const gfnn_sweep_t *sweep; /* a sweep with x as its z, which is not out: y is out */
} gfnn_product_t;

typedef struct {
    void (*apply)(const gfnn_view_t *view, const gfnn_product_t *product);
    bool single, sums, sums_on_device; /* has FP32, as solves need; product->dot; product->cg */
    /* Whether these choices read a periodic box that is all on this rank without its ghosts, and
     * whether they have product->sweep. NULL: no. */
    bool (*wraps)(const gfnn_view_t *view);
    bool (*sweeps)(const gfnn_view_t *view);
    void (*set_up)(gfnn_view_t *view);
    void (*tear_down)(gfnn_view_t *view);
    /* Returns the bytes that set_up takes where it grows with the box. NULL: none. */
    double (*memory)(const gfnn_config_t *config, const gfnn_box_t *box);
} RT_BY_NAME gfnn_operator_t;

/* The predictor's kernels and coefficients: what P is.
 *   gfm:  z_i(x) = sum_m c_m(x) sum_{s,j} K_m[i][j][s] r_j(x + s)
 *   gf8:  K_0[i][j] is G_ij, symmetric in i and j, and
 *         z_i(x) = sum_{s,j} G_ij(s) (a + b . s/nd) r_j(x + s), with (a, b) = coefficients 0..3
 *         for i = j and 4..7 for i != j   (s/nd: each component of s in units of the reach) */
typedef struct {
    int form;       /* GFNN_GF8 or GFNN_GFM */
    int kernels;    /* 1 for gf8, else M */
    int coefs;      /* planes of c: 8 for gf8, else M */
    const float *K; /* host [kernels][3 i][3 j][W z][W y][W x], W = 2 nd + 1 */
    const float *c; /* [coefs][box->bare.plane], in the view's space */
    int precision;  /* of r: gfnn_precision_t */
    int reach;      /* nd */
} gfnn_network_t;

/* z = P r for own nodes, in both forms. r is on `wide`, float or 16-bit float by
 * network->precision, with ghosts nd deep up to date; z is float on `wide`. */
typedef struct {
    void (*apply)(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z);
    /* The same with z in 16 bits; NULL: none. */
    void (*apply_low)(const gfnn_view_t *view, const gfnn_network_t *network, const void *r,
                      uint16_t *z);
    /* Does apply_low need no ghosts of r but those that renew and update store? NULL: it does. */
    bool (*wraps)(const gfnn_view_t *view);
    /* Lays out K in the order that the kernel reads; may be NULL. */
    void (*set_up)(gfnn_view_t *view, const gfnn_network_t *network);
    void (*tear_down)(gfnn_view_t *view);
    /* Returns the bytes that set_up takes where it grows with the box. NULL: none. */
    double (*memory)(const gfnn_config_t *config, const gfnn_box_t *box);
    const char *only_usual; /* why GFNN_ND is its only reach; NULL: any to GFNN_MAX_ND */
} RT_BY_NAME gfnn_predictor_t;

/* Where the scalars of conjugate gradients are. */
typedef struct {
    gfnn_cg_t *cg;         /* what the loops get: host memory, or the device's */
    gfnn_status_t *status; /* on a device: page-locked, what its kernels publish for the host */
    double *all;           /* on a device: [ranks][2], which NCCL gathers; NULL: no NCCL */
    /* of the last solve: residuals after 0, 1, 2 .. iterations, host memory [GFNN_MOST_RESIDUALS] */
    double *history;
    bool forms; /* on a device: kernels form the scalars themselves */
} gfnn_cg_data_t;

/* How they become those of all ranks. */
typedef struct {
    bool on_device; /* the loops read them in device memory, and do not wait */
    /* on_stream: the halos' messages need no host. Collective. */
    gfnn_cg_data_t (*make)(bool on_stream);
    void (*destroy)(gfnn_cg_data_t *data);
    /* Called after each loop that leaves sums: makes them those of all ranks and forms what
     * follows, where the loop has not done so. Collective. */
    void (*settle)(const gfnn_cg_data_t *data, gfnn_stage_t stage);
    /* Returns what is known when `iterations` are done, or the solve has ended. */
    gfnn_status_t (*status)(const gfnn_cg_data_t *data, int64_t iterations);
    /* Returns the residual after n iterations, fewer than GFNN_MOST_RESIDUALS, which are not
     * more than the solve takes: the same on all ranks, whatever has been done since. */
    double (*residual)(const gfnn_cg_data_t *data, int64_t iterations);
} RT_BY_NAME gfnn_scalars_t;
/* solve/cg.c: in host memory; cuda/scalars.cu. */
extern const gfnn_scalars_t gfnn_scalars_host, gfnn_scalars_cuda;

/* The loops of conjugate gradients over x, p, q and r of one type: double on `fine`, or float on
 * `wide`. z is float on `wide`. They take alpha, beta and scale from a gfnn_cg_t and leave their
 * sums in it: those of this rank until `settle`. When the solve has ended, update, update_bj and
 * the directions do nothing. */
typedef struct {
    /* r = unit (f - y), x = 0, and if low is not NULL, low = scale r, which the preconditioner
     * gets: in `precision` on `wide`. sums[0] = r . r. y NULL: 0, and no sum is left. f and y are
     * double. In double always y = 0. */
    void (*renew)(const gfnn_view_t *view, gfnn_cg_t *cg, const double *f, const double *y, void *r,
                  void *x, int precision, void *low);
    /* r -= alpha q; sums[0] = r . r. If low is not NULL, also low. */
    void (*update)(const gfnn_view_t *view, gfnn_cg_t *cg, const void *q, void *r, int precision,
                   void *low);
    /* The same for B = D^-1, the inverses of the 3x3 diagonal blocks: in one pass r -= alpha q,
     * z = scale D^-1 r, sums: r . r and z . r. first: r stays, q is not read (GFNN_BEGUN). */
    void (*update_bj)(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q, void *r,
                      float *z);
    /* sums: z . r and z . q. q may be NULL. */
    void (*dots)(const gfnn_view_t *view, gfnn_cg_t *cg, const float *z, const void *r,
                 const void *q);
    /* Makes the step along p that is still due, x += due p, and the next p = z / scale + beta p.
     * first: x and p are not read, nor is x written. */
    void (*direction)(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                      const float *z, void *p);
    /* The same for z in 16 bits on `wide`; NULL: none. */
    void (*dots_low)(const gfnn_view_t *view, gfnn_cg_t *cg, const uint16_t *z, const void *r,
                     const void *q);
    void (*direction_low)(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                          const uint16_t *z, void *p);
    /* Adds to du the x that has made the step that is due: du += (x + due p) / unit; first: du is
     * not read, but set. If nothing is due, p is not read. In double x is du itself. */
    void (*arrive)(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
                   const void *p, double *du);
} RT_BY_NAME gfnn_loops_t;

/* The vectors of a solve: all loops of a time step that are neither A nor P, over own nodes. What
 * is double is on `fine`, what is float on `wide`. */
typedef struct {
    const gfnn_scalars_t *scalars;
    const gfnn_loops_t *loops[GFNN_TYPES]; /* by gfnn_type_t */
    /* x = value; and x . y, summed in double */
    void (*fill)(const gfnn_view_t *view, gfnn_type_t type, double value, void *x);
    double (*dot)(const gfnn_view_t *view, gfnn_type_t type, const void *x, const void *y);
    /* y = a x + b y; y is not read if b is 0 */
    void (*axpby)(const gfnn_view_t *view, double a, const double *x, double b, double *y);
    /* x[at] += value, for one value anywhere in x */
    void (*add)(const gfnn_view_t *view, int64_t at, double value, double *x);
    /* sums: f . f and the largest |f| of this rank. */
    void (*start)(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method,
                  const double *f);
    /* out = z + a (z - old) + omega D^-1 (r - y), D: the 3x3 diagonal blocks. old NULL: 0; z NULL:
     * all three are 0. out may be old. */
    void (*smooth32)(const gfnn_view_t *view, const float *z, float a, const float *old,
                     float omega, const float *r, const float *y, float *out);
    /* low = x in 16 bits, from a float vector. */
    void (*to_half)(const gfnn_view_t *view, const float *x, void *low);
    /* Newmark: x1 = a + (4/dt + rayleigh_a) v, x2 = rayleigh_b v - u; and after the solve u += du,
     * a = -a - 4 v/dt + 4 du/dt^2, v = -v + 2 du/dt. */
    void (*newmark_before)(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                           const double *u, const double *v, const double *a, double *x1,
                           double *x2);
    void (*newmark_after)(const gfnn_view_t *view, double dt, const double *du, double *u,
                          double *v, double *a);
    /* Fills the ghosts of a vector, `width` deep, where no halo is needed: the whole periodic box is
     * on this rank, or x was made by `share`. x is on `fine` if type is RT_F64, else on `wide`.
     * Collective if shared. */
    void (*wrap)(const gfnn_view_t *view, int width, rt_type_t type, void *x);
    /* Make and free a vector of zeros that all ranks can write into; NULL: no such thing here, else
     * possible where transport peer is. Collective, in the same order on all ranks. */
    void *(*share)(const gfnn_view_t *view, size_t bytes);
    void (*unshare)(const gfnn_view_t *view, void *x);
    /* form: that of A, for D */
    void (*set_up)(gfnn_view_t *view, const gfnn_form_t *form);
    void (*tear_down)(gfnn_view_t *view);
    /* Returns the bytes that set_up takes where it grows with the box. NULL: none. */
    double (*memory)(const gfnn_config_t *config, const gfnn_box_t *box);
} RT_BY_NAME gfnn_vectors_t;
/* cpu/vectors.c, cuda/vectors.cu */
extern const gfnn_vectors_t gfnn_vectors_cpu, gfnn_vectors_cuda;

typedef enum { GFNN_LADDER_OPERATOR, GFNN_LADDER_PREDICTOR, GFNN_LADDER_SOLVE } gfnn_ladder_id_t;
/* A rung's function table: one of the three, or all for a solve. */
typedef struct {
    rt_kernels_t rung;
    gfnn_ladder_id_t ladder;
    const gfnn_operator_t *op;
    const gfnn_predictor_t *predictor[GFNN_PRECISIONS]; /* by precision of r; NULL: not that one */
    const gfnn_vectors_t *vectors; /* NULL: those of the space where its arrays are */
} RT_BY_NAME gfnn_kernels_t;

/* Returns the vectors of a rung. */
static inline const gfnn_vectors_t *gfnn_vectors_of(const gfnn_kernels_t *kernels, rt_space_t space)
{
    if (kernels->vectors)
        return kernels->vectors;
#if defined(RT_HAVE_CUDA) && RT_HAVE_CUDA
    if (space == RT_DEVICE)
        return &gfnn_vectors_cuda;
#endif
    (void)space;
    return &gfnn_vectors_cpu;
}

/* Returns the precision that r is rounded to for a rung: the one asked for. On the ladder of
 * predictors a rung that lacks it shows the one it has, so that all can be compared. */
static inline int gfnn_precision_of(const gfnn_kernels_t *kernels, const gfnn_config_t *config)
{
    const int other = config->precision == GFNN_FP16 ? GFNN_FP32 : GFNN_FP16;
    const bool instead = kernels && kernels->ladder == GFNN_LADDER_PREDICTOR &&
                         !kernels->predictor[config->precision] && kernels->predictor[other];
    return instead ? other : config->precision;
}

/* Does a solve have z in 16 bits, in the memory of the float vector? */
static inline bool gfnn_z_is_low(const gfnn_kernels_t *kernels, const gfnn_config_t *config)
{
    const gfnn_predictor_t *predictor = kernels ? kernels->predictor[GFNN_FP16] : NULL;
    return gfnn_reads_low(config) && predictor && predictor->apply_low;
}

/* refuse of rt_kernels_t, for the rungs of predictors and solves. */
const char *gfnn_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why);

/* What solves compute in. */
#define GFNN_SOLVE_PRECISION "FP64, vectors in FP64 or FP32, preconditioner in FP32 or FP16"

/* --- reference kernels, which judge all others: host memory, all own nodes --- */

/* y = A x as plain sums over elements. absolute: sums |A_e| |x| instead (for bounds). */
void gfnn_apply_reference(const gfnn_box_t *box, const gfnn_materials_t *materials,
                          const uint8_t *id, const gfnn_form_t *form, bool absolute,
                          const double *x, double *y);
/* z = P r in double; r and z are double on `wide`. absolute: likewise. */
void gfnn_predict_reference(const gfnn_box_t *box, const gfnn_network_t *network, bool absolute,
                            const double *r, double *z);

RT_C_END
#endif
