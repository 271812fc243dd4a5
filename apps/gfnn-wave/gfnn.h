/*
 * gfnn.h - implicit elastic waves in a voxel model, preconditioned by a Green's-function network.
 *
 * Fujita, Kikuchi, Ichimura, Hori, Maddegedara, Ueda, "GPU porting of scalable implicit solver with
 * Green's function-based neural networks by OpenACC" (WACCPD 2021). Unknowns are the displacements
 * u of the nodes of a box of cubes, integrated by Newmark (1/4, 1/2): every time step solves A du =
 * f to 1e-8, matrix-free, element by element (EBE), by conjugate gradients.
 *
 * Element matrices of the unit cube, 8 nodes, 3 components per node (row 3 a + c for corner
 * a = x + 2 y + 4 z and component c), 2x2x2 Gauss points: M consistent mass of density 1, K_L for
 * lambda = 1, K_M for mu = 1. All operators of the app are of one form (gfnn_form_t):
 *
 *     y = sum_e  w_e (mass M + bulk K_L) x  +  Vs_e^2 shear (K_M - 2 K_L) x
 *
 * w_e is 1, or 0 for an absent element (beyond a face that is not periodic), whose Vs_e is 0 too.
 * With lambda = rho (Vp^2 - 2 Vs^2), mu = rho Vs^2 and Rayleigh damping C = a M + b K the matrix of
 * a time step is c0 A with
 *
 *     c0 = (4/dt^2 + 2 a/dt) rho ds^3,    k = (1 + 2 b/dt) ds rho / c0,
 *     A:  mass 1, bulk k Vp^2, shear k          (without damping k = (dt / 2 ds)^2)
 */
#ifndef GFNN_H
#define GFNN_H

#include "base/draw.h"
#include "input/input.h"
#include "machine/replay.h"

extern const rt_app_t gfnn_app;

/* --- solve/step.c: a time step --- */

typedef struct {
    double rayleigh_a, rayleigh_b; /* C = a M + b K */
    double c0, k;
    gfnn_form_t A, M, K; /* A; M alone; K / (ds^3 rho): bulk Vp^2/ds^2, shear 1/ds^2 */
    double unit;         /* ds^3 rho / c0 */
} gfnn_step_t;
gfnn_step_t gfnn_step(const gfnn_config_t *config);

/* The external force of the step that ends at `time`, over c0. The point source is a Ricker wavelet
 * in direction z at the node nearest to GFNN_SOURCE_AT of the box. */
#define GFNN_SOURCE_AT \
    {                  \
        0.6, 0.6, 0.55 \
    }
typedef struct {
    int64_t at;   /* index on box->fine of the node's z component; -1: not on this rank */
    double value; /* to be added to f */
} gfnn_force_t;
gfnn_force_t gfnn_source(const gfnn_config_t *config, const gfnn_box_t *box,
                         const gfnn_step_t *step, double time);
/* Finds the node that is nearest to the source. */
void gfnn_source_node(const gfnn_box_t *box, int64_t node[3]);

/* --- problem.c --- */

/* Displacement, velocity, acceleration: host doubles on box->fine. */
typedef struct {
    double *u, *v, *a;
} gfnn_state_t;

typedef struct {
    const rt_run_t *run;
    const gfnn_config_t *config;
    gfnn_box_t box;
    const gfnn_model_t *model; /* the input's */
    gfnn_step_t step;
    double *noise;                 /* host, on box->fine: the base of v at t = 0, if not at rest */
    const gfnn_weights_t *weights; /* the input's; NULL unless --precond has a network */
    float *coef;                   /* gfnn_coefficients; NULL at first */
    rt_halo_t *halo_fine;          /* of host vectors, for the oracle */
    struct gfnn_oracle *oracle;    /* judge/judge.h; made when first needed */
    double seconds_model, seconds_coef; /* of `coef` when it was made */
} gfnn_problem_t;
/* Returns the network's coefficients [coefs][box.bare.plane], host: the first call makes them. */
const float *gfnn_coefficients(gfnn_problem_t *p);
void *gfnn_problem_new(const rt_run_t *run, void *input);
void gfnn_problem_destroy(void *problem);
void gfnn_digest(const void *problem, rt_digest_t *digest);

/* --- solve.c: a rung's job; solve/arrays.c: its arrays --- */

enum { GFNN_MAX_HISTORY = 1024, GFNN_LOW_SKIP = GFNN_ND };

/* What a solve left, put aside on the host: q, or z, or u, v, a and du. */
enum { GFNN_MOST_LEFT = 4 };
typedef struct {
    void *left[GFNN_MOST_LEFT]; /* NULL: nothing */
    uint64_t draw;              /* of its input */
    int64_t steps;
    double residual; /* the largest of all steps */
} gfnn_kept_t;

typedef struct {
    gfnn_problem_t *problem;
    const rt_rung_t *rung;
    const gfnn_kernels_t *kernels;
    const gfnn_vectors_t *vectors;
    rt_space_t space;
    gfnn_view_t view_op, view_net, view_vec; /* each has its own data pointer */
    gfnn_network_t network;
    /* low: FP16; all NULL on one rank, and where vectors are shared */
    rt_halo_t *halo_fine, *halo_wide1, *halo_wide3, *halo_low;
    bool shared;           /* GPUs write into each other's vectors: `wrap` brings all ghosts */
    const char *transport; /* of the first halo; NULL: one rank */
    const uint8_t *id;
    /* operator ladder: f (the base of its input), x, q. predictor ladder: s32 (likewise), r32 or
     * low, z. solve: all others. */
    double *u, *v, *a, *x, *q, *f; /* on fine; x is du */
    struct {
        void *x, *r, *p, *q; /* of config->vectors' type; in double x and q are those above */
    } cg;
    float *z, *r32, *s32, *t32; /* on wide; r32 may be cg.r */
    float *other;               /* the second z, or what is added to z */
    void *low;                  /* 16 bits on wide, GFNN_LOW_SKIP values into its
                                              memory: where the predictor's rows begin, 3 nodes
                                              before a row's first, is a multiple of 16 bytes */
    double *dot;                /* in `space`: what a product leaves */
    const double *noise;        /* the problem's, in `space`: no solve waits for the host's */
    gfnn_cg_data_t scalars;     /* of conjugate gradients */
    bool on_stream;             /* an iteration needs no host */
    rt_replay_t replay[2];      /* of an iteration; [1]: the first */
    /* Results of the last solve. */
    int64_t steps, iterations, last_iterations;
    double residual;                   /* of the recurrence, last step: |r| / |f| */
    double worst;                      /* the largest of all steps */
    int64_t judged_iterations;         /* of the first step, when it was judged; 0: not converged */
    int64_t history[GFNN_MAX_HISTORY]; /* iterations of each step */
    double residuals[GFNN_MAX_HISTORY]; /* of each step, at its end */
    double spectrum[2];                 /* bounds of D^-1 A, for cheb */
    int64_t timed_iterations;           /* of the last timed solve; 0: none */
    uint64_t draw;                      /* of the input that the solver holds */
    gfnn_kept_t kept[RT_KEEPS];
    void (*after_step)(void *data); /* the judge's; NULL: none */
    void *after_step_data;
} gfnn_solver_t;
void *gfnn_solver_new(void *problem, const rt_rung_t *rung);
void gfnn_solver_destroy(void *solver);
void gfnn_solve(void *solver);
void gfnn_spoil(void *solver, uint64_t draw, rt_keep_t keep);
/* Puts aside what the last solve left, in place of what was there; frees it. */
void gfnn_keep(gfnn_solver_t *s, gfnn_kept_t *kept);
void gfnn_forget(gfnn_kept_t *kept);
/* Operator and predictor ladders: writes the input of a draw, host doubles on box->fine, or on
 * box->wide with values of FP32 (before rounding to r's precision). Draw 0: rt_random of 3 node +
 * component; others: rt_draw of that, with mean 0. */
void gfnn_input(const gfnn_solver_t *s, uint64_t draw, double *x);
/* Returns how a draw makes an input of its base; 0: the base itself. */
static inline rt_draw_t gfnn_draw(uint64_t draw)
{
    return (rt_draw_t){draw, draw == 0, draw != 0};
}
/* Time steps until config->steps or until one does not converge. */
void gfnn_time_steps(gfnn_solver_t *s);
/* Counts a step that has been solved, in iterations and residuals; calls after_step. */
void gfnn_count_step(gfnn_solver_t *s);

/* --- operator/apply.c: A and P with their ghosts --- */

static inline void gfnn_start(const gfnn_solver_t *s, const char *name)
{
    rt_timer_start(name, s->rung->kind);
}
/* y = A x with its ghosts; x and y are of the solver's space. */
void gfnn_apply(gfnn_solver_t *s, const gfnn_form_t *form, double *x, double *y);
void gfnn_apply32(gfnn_solver_t *s, const gfnn_form_t *form, float *x, float *y);
/* Returns whether the rung can make a sweep in one pass; makes one, in which z is not out. */
bool gfnn_sweeps(const gfnn_solver_t *s);
void gfnn_sweep(gfnn_solver_t *s, float *z, const gfnn_sweep_t *sweep);
/* cg.q = A cg.p, and p . q over all ranks: the stage GFNN_APPLIED. Collective. */
void gfnn_apply_p(gfnn_solver_t *s);
/* s->z = P r, with r in s->low (16 bits) or s->r32 by the network's precision; brings r's ghosts.
 * low: z gets 16 bits. */
void gfnn_predict(gfnn_solver_t *s, bool low);

/* --- solve/cg.c, precond/precond.c --- */

/* Solves A x = f from x = 0 (s->f in, s->x out). Returns the iterations, or max_iterations
 * if it did not converge. Collective. */
int64_t gfnn_cg(gfnn_solver_t *s);
/* z = B r for the preconditioner asked for: r in s->r32 (or s->low if 16 bits), result in s->z. Not
 * for bj, which has no r32: gfnn_cg does it in passing. */
void gfnn_precondition(gfnn_solver_t *s);
/* Returns how often a step in FP32 vectors replaces its residual, if each falls no further than it
 * must; 0 in FP64. */
double gfnn_replacements(const gfnn_config_t *config);
/* Sets s->spectrum: the largest eigenvalue of D^-1 A by power iterations, and the lower bound that
 * cheb uses. Collective. */
void gfnn_spectrum(gfnn_solver_t *s);

/* --- work.c, solve/memory.c, output/ --- */

void gfnn_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
/* The same for a solve that was done: with its iterations, if timed, and those of CGBJ. Returns its
 * iterations per step. */
double gfnn_work_done(const gfnn_solver_t *s, rt_work_t *work);
void gfnn_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
/* result of rt_extras_t. */
void gfnn_result(const void *solver, rt_result_t *out);
/* Writes .vti: u, the residual and the materials. A rung that solves nothing writes nothing.
 * Collective. */
void gfnn_picture(const void *solver, const char *path);
void gfnn_dump(const void *solver, rt_dump_t *dump);
/* Writes .vti: vectors on box->fine, GFNN_MOST_SHOWN at most, with their names, NULL-terminated; the
 * materials; and the node of the source. Collective. */
enum { GFNN_MOST_SHOWN = 3 };
void gfnn_write_vti(const gfnn_problem_t *p, const char *const names[],
                    const double *const vectors[], const int64_t source[3], const char *path);
/* answer of rt_extras_t: --green. */
bool gfnn_answer(rt_run_t *run, rt_verdict_t *verdict);
/* Solves A g = e, a unit force along l at a node, by a solver whose space is the host; g is on
 * box->fine. Returns the iterations. Collective. */
int64_t gfnn_green(gfnn_solver_t *s, const int64_t node[3], int l, double *g);
/* Makes the expansion h of that g by the network. Collective. */
void gfnn_expansion(const gfnn_solver_t *s, const int64_t node[3], int l, double *h);

#endif
