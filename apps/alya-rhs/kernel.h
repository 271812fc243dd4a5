/*
 * kernel.h - what a kernel of alya-rhs computes and sees: physics, view, and the function tables.
 *
 * Owen, Ernst et al., "Alya towards Exascale: Optimal OpenACC Performance of the Navier-Stokes
 * Finite Element Assembly on GPUs" (arXiv 2403.08777). For an element with nodes 0..3, positions
 * x_a and velocities u_a:
 *
 *     e_k = x_k - x_0, w_k = u_k - u_0 (k = 1..3), c_k = e_{k+1} x e_{k+2} (cyclic),
 *     det = e_1 . c_1 > 0, V = det / 6, grad N_k = g_k = c_k / det, g_0 = -(g_1 + g_2 + g_3),
 *     J_ij = du_i/dx_j = sum_k w_k,i g_k,j,
 *
 *     r_a = sum_q (det/24) { rho N_a f - rho N_a A u_q - mu_t (J + J^T) g_a }
 *
 * over four Gauss points q, with N_a(q) = ALYA_GAUSS_NEAR if a = q, else ALYA_GAUSS_FAR, and
 * u_q = sum_a N_a(q) u_a. The quadrature is exact: with s = u_0 + u_1 + u_2 + u_3 it equals the
 * closed form
 *
 *     r_a = (V/4) rho f - (rho V/20) A (u_a + s) - V mu_t (J + J^T) g_a.
 *
 * A depends on the convective form (alya_form_t). Subgrid model (Vreman 2004): mu_t = mu + rho
 * nu_t, nu_t = c Delta^2 sqrt(B / |J|_F^2), B = the sum of the nine squared 2x2 minors of J, nu_t =
 * 0 where |J| = 0; Delta = V^(1/3), or a width that the user gives. r is the sum over elements:
 * assembled.
 */
#ifndef ALYA_KERNEL_H
#define ALYA_KERNEL_H

#include "input/input.h"

#if defined(__CUDACC__) || defined(__HIPCC__)
#define ALYA_HOST_DEVICE __host__ __device__
#else
#define ALYA_HOST_DEVICE
#endif
#ifdef __cplusplus
#define ALYA_CONSTEXPR constexpr
#else
#define ALYA_CONSTEXPR
#endif

RT_C_BEGIN

#define ALYA_GAUSS_NEAR 0.5854101966249685
#define ALYA_GAUSS_FAR  0.1381966011250105

/* A = J + share div I + J^T: the terms of each form. */
typedef enum {
    ALYA_CONV, /* J: conserves nothing in the discrete sense */
    ALYA_SKEW, /* J + (1/2) div I: kinetic energy */
    ALYA_CONS, /* J + div I: momentum and angular momentum */
    ALYA_EMAC, /* J + J^T + div I: energy, momentum, angular momentum */
    ALYA_FORMS
} alya_form_t;

/* Returns the share of div I in A. */
ALYA_HOST_DEVICE ALYA_CONSTEXPR static inline double alya_divergence_share(int form)
{
    return form == ALYA_CONV ? 0.0 : form == ALYA_SKEW ? 0.5 : 1.0;
}

/* Physics of an assembly. A plain struct: kernels take it by value. */
typedef struct {
    double rho, mu;  /* kg/m^3, Pa s */
    double vreman;   /* c of the subgrid model, 0: off */
    double filter;   /* Delta in m; 0: V^(1/3) of each element */
    double force[3]; /* f, m/s^2 */
    alya_form_t form;
} alya_physics_t;

/* Elements that a CPU rung takes at once: the paper's choice, or that of configure
 * CPPFLAGS=-DALYA_VECTOR_DIM=8. */
#ifndef ALYA_VECTOR_DIM
#define ALYA_VECTOR_DIM 16
#endif

/*
 * The elements that a CPU kernel may process at the same time: chunks of consecutive elements, in
 * colours. Chunks of one colour have no node in common, so threads may take them at once; colours
 * come one after the other. This fixes the order in which a node gets its contributions, so
 * results do not depend on the number of threads, bit for bit.
 */
typedef struct {
    int64_t chunks;
    int32_t colours;
    int32_t *list;   /* [elements], or NULL: position p of the schedule is element p */
    int64_t *first;  /* [chunks + 1] positions */
    int64_t *colour; /* [colours + 1] chunks */
} alya_schedule_t;
/* cpu/schedule.c. Makes chunks of up to `most` consecutive elements. Where that needs too many
 * colours (a random order), a chunk takes elements of one colour from anywhere, through `list`. */
alya_schedule_t *alya_schedule_new(const alya_mesh_t *mesh, int64_t most);
void alya_schedule_destroy(alya_schedule_t *schedule);
/* Returns the most bytes for a mesh of that size; *making: the extra bytes while it is made. */
double alya_schedule_memory(int64_t elements, int64_t nodes, double *making);

/* What a kernel sees, in the rung's space unless said otherwise. Strides are in doubles. */
typedef struct {
    const alya_mesh_t *host; /* the mesh, in host memory, for set-up */
    int64_t elements, nodes;
    const int32_t *connectivity; /* [elements][4] */
    const double *x;             /* node n at x + n x_stride: [3] */
    int x_stride;
    const alya_schedule_t *schedule; /* host; NULL for rungs on the GPU */
    unsigned threads; /* per block or team, for a rung with the parameter `threads` */
    int64_t pass;     /* elements of a pass, for a rung with a workspace */
    void *data;       /* what the rung's set_up made, host memory */
} alya_view_t;

/*
 * The function table of a rung. Fields are by node; `packed` is the number of doubles in a node's
 * record, 6: x y z u v w; 8: x y z 0 u v w 0; 0: x and u are separate arrays [nodes][3]. r is
 * [nodes][r_stride].
 */
typedef struct {
    rt_kernels_t rung;
    /* r = the assembled right-hand side of this rank's elements, zeroing included. u: node n at
     * u + n u_stride, u_stride = packed or 3. Every r[n][0..2] is written; padding may be. On the
     * rank's stream; may return before it is done. */
    void (*assemble)(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r);
    /* Once per mesh: lists, patches, workspaces; kept in view->data. May be NULL. */
    void (*set_up)(alya_view_t *view);
    void (*tear_down)(alya_view_t *view);
    /* Adds the most bytes that set_up keeps, and (in RT_HOST) needs in between. May be NULL. */
    void (*memory)(const alya_counts_t *counts, double bytes[RT_SPACES]);
    int packed, r_stride;
    double tolerance; /* relative to sum |r_e|, see judge/verify.c */
} RT_BY_NAME alya_kernels_t;

#define ALYA_TOLERANCE       1e-13
#define ALYA_TOLERANCE_MIXED 1e-5

/* cpu/schedule.c. What a tuner may choose: elements per chunk on the CPU, threads per block and
 * elements per pass on a GPU. The oracle has no parameter: its sums stay as they are. */
enum { ALYA_CHUNK = 512 }; /* of the problem's own schedule */
extern const rt_parameter_t alya_chunk, alya_threads, alya_few_threads; /* up to 512, up to 256 */
extern const rt_parameter_t alya_pass_only, alya_threads_and_pass[2];
/* Returns the elements per chunk; those of the problem's own schedule if it is no parameter. */
int64_t alya_chunk_elements(const rt_rung_t *rung, const int *choice);
/* Returns the threads per block; 0 if that is no parameter. */
unsigned alya_block_threads(const rt_rung_t *rung, const int *choice);
/* Returns the elements of a pass, the paper's VECTOR_DIM on a GPU, for a rung whose intermediates
 * are in a workspace [values][pass] in device memory. */
int64_t alya_pass_elements(const rt_rung_t *rung, const int *choice, int64_t elements);

/* What is done to vectors, where the arrays are. */
typedef struct {
    /* to[n] = from[n], 3 components, at these strides. */
    void (*copy)(int64_t nodes, const double *from, int from_stride, double *to, int to_stride);
    /* Adds what other ranks have of r, by one kernel and without the halo's own: make takes over a
     * halo of single values, whose transport is peer. NULL: there is no such kernel. Collective. */
    void *(*exchange_new)(rt_halo_t *halo);
    void (*exchange_destroy)(void *exchange);
    void (*exchange)(const void *exchange, double *r);
} RT_BY_NAME alya_vectors_t;
extern const alya_vectors_t alya_vectors_cpu, alya_vectors_cuda, alya_vectors_kokkos,
    alya_vectors_openacc;

extern const alya_kernels_t alya_reference; /* cpu/reference.c, the oracle */
/* The same file. Computes r as above by quadrature and, if size is not NULL,
 * size[nodes][2]: the sum of |r_e| over the node's elements, and the sum of what |r_e| would be if
 * nothing in it cancelled. With wanted [nodes] both are right only where it is above 0. r [nodes][3].
 * u [nodes][3]. Host memory. */
void alya_reference_assemble(const alya_mesh_t *mesh, const alya_schedule_t *schedule,
                             const alya_physics_t *physics, const double *u, const double *wanted,
                             double *r, double *size);

/* cpu/cpu_closed.c. Adds chunk k of the schedule to r [nodes][ALYA_ROW]; x and u are records of
 * ALYA_RECORD doubles (packed). Host memory. Chunks of one colour may be done at once. */
enum { ALYA_RECORD = 8, ALYA_ROW = 4 };
void alya_closed_chunk(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                       double *r, int64_t k);

RT_C_END
#endif
