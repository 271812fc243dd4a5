/*
 * alya.h - alya-rhs: the right-hand side of the momentum equation of explicit LES on linear
 * tetrahedra, assembled. kernel.h has the equations.
 */
#ifndef ALYA_H
#define ALYA_H

#include "kernel.h"
#include "step/step.h"

extern const rt_app_t alya_app;

/* Numbers of the streams of random values: each is added to the run's seed. */
enum {
    ALYA_SEED_PHYSICS = 97,  /* of each assembly */
    ALYA_SEED_WITNESSES = 98 /* assemblies and nodes that are watched */
};

/* --- the options, and what follows from them --- */
enum { ALYA_REORDER_AUTO, ALYA_REORDER_NO, ALYA_REORDER_HILBERT };
typedef struct {
    const char *mesh; /* "hill", "box", or a file */
    rt_extents_t cells;
    double growth, jitter;
    int order, reorder; /* alya_order_t, ALYA_REORDER_* */
    int form;           /* alya_form_t */
    double vreman, filter, rho, mu, force_x, force_y, force_z;
    int64_t assemblies, steps;
    double dt, tolerance; /* of the ladder `step` */

    bool from_file, is_hill;
    alya_counts_t counts; /* of a generated mesh; estimated while extents are searched for */
} alya_config_t;

/* --- input/input.c --- */
typedef struct {
    alya_counts_t counts;
    alya_mesh_t *mesh; /* this rank's part; NULL once a problem has taken it */
    double seconds;    /* that reading or generating took */
} alya_input_t;

/* Reads the mesh file, or generates the mesh; refuses a file that cannot be used. Collective. */
void *alya_input_new(const rt_run_t *run);
void alya_input_destroy(void *input);
/* Returns the counts of the input; of the options as long as there is none. */
const alya_counts_t *alya_counts(const rt_run_t *run);
/* Returns the box that the options describe. */
alya_box_t alya_box(const alya_config_t *config);

/* --- problem.c --- */
typedef struct alya_problem {
    const rt_run_t *run;
    const alya_config_t *config;
    alya_counts_t counts;
    alya_physics_t physics;
    alya_mesh_t *mesh;
    alya_schedule_t *schedule;
    rt_halo_t *halo;                     /* of host arrays; NULL if no node is shared */
    double *u;                           /* [nodes][3] velocity of the timed runs, m/s */
    double spread;                       /* alya_mesh_spread of the order handed in */
    double seconds_order, seconds_lists; /* of the reordering; of schedule and halo */
    alya_flow_input_t *flow;             /* of the ladder `step`; NULL until a rung of it is made */
} alya_problem_t;

/* Takes over the input's mesh. */
void *alya_problem_new(const rt_run_t *run, void *input);
void alya_problem_destroy(void *problem);
void alya_digest(const void *problem, rt_digest_t *digest);
/* Makes the halo of the shared nodes: entries are nodes, of up to 3 components; or, if r_stride is
 * not 0, the single values 0 .. 2 of each in an array [nodes][r_stride]. NULL: no node is shared.
 * Collective. */
rt_halo_t *alya_halo_new(const alya_mesh_t *mesh, const char *transport, rt_kind_t kind,
                         rt_space_t space, int r_stride);

/* --- solve.c --- */
enum { ALYA_WATCHED = 2, ALYA_WITNESSES = 256 };
typedef struct {
    int64_t assembly[ALYA_WATCHED]; /* or -1 */
    int64_t first, jump, count;     /* nodes first, first + jump, ... */
} alya_watch_t;
/* What a solve left behind, in host memory. */
typedef struct {
    uint64_t draw;       /* which velocity it started from: 0 is the problem's */
    int64_t assembled;   /* calls of alya_assemble */
    double *r, *witness; /* [nodes][3] the last r, and what was kept of earlier ones, or NULL */
    int64_t steps;
    double *begin, *u, *p; /* [nodes][3] u before and after the last step; [nodes]; or NULL */
} alya_left_t;
typedef struct alya_solver alya_solver_t;
struct alya_solver {
    alya_problem_t *problem;
    const rt_rung_t *rung;
    const alya_kernels_t *kernels;
    const alya_vectors_t *vectors;
    rt_space_t space;
    alya_view_t view;
    rt_halo_t *halo;
    bool own_halo;
    void *exchange;                /* does what the halo is for, in a kernel of its own; or NULL */
    alya_schedule_t *own_schedule; /* in chunks of another size than the problem's, or NULL */
    alya_physics_t physics;
    double *record; /* [nodes][packed], or NULL */
    double *x, *u;  /* views of record, or arrays [nodes][3] */
    int u_stride;
    double *r;                  /* [nodes][r_stride] */
    size_t r_bytes;             /* size of r */
    double *u0;                 /* [nodes][3] velocity that a solve starts from */
    uint64_t draw;              /* which velocity is in s->u */
    alya_left_t kept[RT_KEEPS]; /* by alya_spoil, for alya_verify_after */
    alya_flow_t *flow;          /* NULL on the ladder `assembly` */
    /* What a solve leaves behind of its earlier assemblies, see alya_solve. */
    int64_t assembled; /* calls of alya_assemble since the last spoil */
    double *witness;   /* [ALYA_WATCHED][ALYA_WITNESSES][3] their r */
};

void *alya_solver_new(void *problem, const rt_rung_t *rung);
void alya_solver_destroy(void *solver);
/* Computes r = assembled right-hand side of all ranks' elements for the velocity in s->u. */
void alya_assemble(alya_solver_t *s);
/* Replaces this rank's part of s->r by the sum over all ranks. */
void alya_sum_r(alya_solver_t *s);
/* Returns the velocity that solves start from, [nodes][3], host. */
const double *alya_base(const alya_problem_t *p, bool steps);
/* Returns the function table of the rung's assembly. */
static inline const alya_kernels_t *alya_kernels(const rt_rung_t *rung)
{
    return (const alya_kernels_t *)rung->kernels;
}
/* Returns whether the rung is on the ladder `step`. */
bool alya_is_step(const rt_rung_t *rung);
/* Returns the physics of assembly k of the solve of that draw; the last one has s->physics. */
alya_physics_t alya_physics(const alya_solver_t *s, uint64_t draw, int64_t k);
/* Returns the assemblies of that solve that are watched, and the nodes at which. */
alya_watch_t alya_watch(const alya_solver_t *s, uint64_t draw);
void alya_solve(void *solver);
void alya_spoil(void *solver, uint64_t draw, rt_keep_t keep);
/* Fills u[nodes][3] (host) with the velocity that the solve of that draw starts from. */
void alya_draw(const alya_problem_t *p, bool steps, uint64_t draw, double *u);
/* Copies what the last solve left to new host arrays; frees them. */
alya_left_t alya_left_new(const alya_solver_t *s);
void alya_left_destroy(alya_left_t *left);
/* Makes r unusable (NaN). */
void alya_erase_r(alya_solver_t *s);
/* Copy the velocity to, and r or u from, the rung's arrays; host [nodes][3]. */
void alya_put_velocity(alya_solver_t *s, const double *u);
void alya_get(const alya_solver_t *s, const double *array, int stride, double *host);

/* --- step/flow.c --- */

/* Makes a solver's state of the ladder `step`; s has its arrays and halo. Collective. */
alya_flow_t *alya_flow_new(const alya_solver_t *s, const alya_loops_t *loops);
void alya_flow_destroy(alya_flow_t *flow);
/* Makes what a step leaves behind unusable (NaN). */
void alya_flow_spoil(alya_flow_t *flow);
/* Does a time step; alya_project is its second half, from u* in s->u on. */
void alya_step(alya_solver_t *s);
void alya_project(alya_solver_t *s);
/* Copies the pressure to p[nodes] (host); in the box its mean is 0. Collective. */
void alya_flow_pressure(const alya_solver_t *s, double *p);
/* Reports a solve: dt, iterations, divergence, and the time of the three assemblies. Collective. */
void alya_flow_result(const alya_solver_t *s, rt_result_t *out);

/* --- judge/, work.c, output/ --- */
void alya_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void alya_verify_after(void *solver, rt_verdict_t *verdict);
/* judge/step.c. Checks the last step of a solve. Collective. */
void alya_judge_step(alya_solver_t *s, const alya_left_t *left, rt_verdict_t *verdict);
void alya_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
/* Adds the iterations of the pressure, known after a solve, to the work of a step. */
void alya_work_pressure(const rt_run_t *run, double iterations, rt_work_t *work);
void alya_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
/* Prints, of the ladder `step`, the share of assembly, and what each rung is worth to a step. */
void alya_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
/* Writes .vtu: the mesh with u and r. Collective. */
void alya_picture(const void *solver, const char *path);
void alya_dump(const void *solver, rt_dump_t *dump);

#endif
