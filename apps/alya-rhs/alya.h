/*
 * alya.h - alya-rhs: the right-hand side of the momentum equation of explicit LES on linear
 * tetrahedra, assembled. kernel.h has the equations.
 */
#ifndef ALYA_H
#define ALYA_H

#include "kernel.h"

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
    int64_t assemblies;

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
typedef struct {
    const rt_run_t *run;
    const alya_config_t *config;
    alya_counts_t counts;
    alya_physics_t physics;
    alya_mesh_t *mesh;
    alya_schedule_t *schedule;
    rt_halo_t *halo; /* of host arrays; NULL if no node is shared */
    double *u;       /* [nodes][3] velocity of the timed runs, m/s */
    double spread;   /* alya_mesh_spread of the order handed in */
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
    double *r, *witness; /* [nodes][3] the last r, and what was kept of earlier ones */
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
    /* What a solve leaves behind of its earlier assemblies, see alya_solve. */
    int64_t assembled; /* calls of alya_assemble since the last spoil */
    double *witness;   /* [ALYA_WATCHED][ALYA_WITNESSES][3] their r */
};

void *alya_solver_new(void *problem, const rt_rung_t *rung);
void alya_solver_destroy(void *solver);
/* Computes r = assembled right-hand side of all ranks' elements for the velocity in s->u. */
void alya_assemble(alya_solver_t *s);
/* Returns the physics of assembly k of the solve of that draw; the last one has s->physics. */
alya_physics_t alya_physics(const alya_solver_t *s, uint64_t draw, int64_t k);
/* Returns the assemblies of that solve that are watched, and the nodes at which. */
alya_watch_t alya_watch(const alya_solver_t *s, uint64_t draw);
void alya_solve(void *solver);
void alya_spoil(void *solver, uint64_t draw, rt_keep_t keep);
/* Fills u[nodes][3] (host) with the velocity that the solve of that draw starts from. */
void alya_draw(const alya_problem_t *p, uint64_t draw, double *u);
/* Copies what the last solve left to new host arrays; frees them. */
alya_left_t alya_left_new(const alya_solver_t *s);
void alya_left_destroy(alya_left_t *left);
/* Makes r unusable (NaN). */
void alya_erase_r(alya_solver_t *s);
/* Copy the velocity to, and r or u from, the rung's arrays; host [nodes][3]. */
void alya_put_velocity(alya_solver_t *s, const double *u);
void alya_get(const alya_solver_t *s, const double *array, int stride, double *host);

/* --- judge/, work.c, output/ --- */
void alya_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void alya_verify_after(void *solver, rt_verdict_t *verdict);
void alya_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
void alya_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
/* Prints the ladder next to the paper's: flops, loads and stores, bytes, and times as ratios to B. */
void alya_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
const char *alya_paper(const rt_run_t *run, const rt_rung_t *rung);
/* Writes .vtu: the mesh with u and r. Collective. */
void alya_picture(const void *solver, const char *path);
void alya_dump(const void *solver, rt_dump_t *dump);

#endif
