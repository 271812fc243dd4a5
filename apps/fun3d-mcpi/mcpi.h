/*
 * mcpi.h - multicolour point-implicit sweeps for a block-sparse linear system A dQ = R.
 *
 * Zubair, Stone, Walden, Nielsen, "Experiences in Moving CUDA-Optimized Kernels to Intel GPUs using
 * oneAPI". A = O + D, where O holds the off-diagonal and D the diagonal blocks, nb x nb each:
 *
 *     dQ = 0
 *     for sweep in 1 .. sweeps:
 *       for colour c:     dr = R_c - O_c dQ;  dQ_c = D_c^-1 dr
 *
 * Rows of one colour are not neighbours, so they may be updated at once, and a colour sees what the
 * colours before it have just computed (block Gauss-Seidel in colour order).
 */
#ifndef MCPI_H
#define MCPI_H

#include "kernel.h"

RT_C_BEGIN

extern const rt_app_t mcpi_app;

/* --- problem.c --- */

enum { MCPI_SAMPLES = 16 };
typedef struct {
    /* mcpi_residual after sweep[i] sweeps from dQ = 0. */
    int samples;
    int64_t sweep[MCPI_SAMPLES];
    double residual[MCPI_SAMPLES];
    /* mcpi_fingerprint after a solve by cpu-simd, which does not depend on the number of ranks. */
    uint64_t fingerprint;
} mcpi_convergence_t;

typedef struct {
    const rt_run_t *run;
    const mcpi_config_t *config;
    mcpi_counts_t counts;
    int nb;
    mcpi_part_t *part;
    mcpi_matrix_t *matrix; /* NULL, as is system: no rung of the ladder sweeps is to run */
    mcpi_system_t *system;
    double seconds_colour, seconds_system, seconds_halo; /* colours and order; factors; `halo` */
    rt_halo_t **halo;    /* [colours] of host FP64 arrays [rows + ghosts][nb]; NULL with one rank */
    double *exact;       /* [rows][nb] dQ*: R = A dQ* */
    rt_items_t vertices; /* of a mesh file, for this rank's rows, for the digest */
    struct mcpi_geometry *geometry; /* for the ladder flow; NULL: no rung of it is to run */
    mcpi_convergence_t convergence; /* zeros unless mcpi_convergence_find was called */
    void *oracle, *flow_oracle;     /* made by the judge when first needed */
} mcpi_problem_t;

/* Takes source and part of the input over. Collective, as is all of this file. */
void *mcpi_problem_new(const rt_run_t *run, void *input);
void mcpi_problem_destroy(void *problem);
/* Returns whether rungs of the ladder flow may run: then the problem has a geometry. Not
 * collective. */
bool mcpi_wants_flow(const rt_run_t *run);
/* The same for the ladder sweeps, whose rungs need the matrix of the invented flow. */
bool mcpi_wants_sweeps(const rt_run_t *run);
void mcpi_digest(const void *problem, rt_digest_t *digest);
/* Makes one halo per colour: ghosts of that colour get their owners' values. NULL with one rank. */
rt_halo_t **mcpi_halo_new(const mcpi_part_t *part, int nb, const char *transport, rt_kind_t kind,
                          rt_space_t space);
/* Gives the ghosts of x [rows + ghosts][components], in host memory as the halos, their owners'
 * values: of one colour, or (-1) of all. Does nothing without halos. Collective. */
void mcpi_halo_copy(rt_halo_t *const *halo, int colours, int colour, int components, double *x);
void mcpi_halo_destroy(rt_halo_t **halo, int colours);

/* --- solve.c --- */

/* What a solve left. */
typedef struct {
    uint64_t draw; /* of its R */
    int64_t swept; /* sweeps that it asked for */
    double *dq;    /* host [rows + ghosts][nb]; NULL: nothing was put aside */
} mcpi_answer_t;

typedef struct {
    mcpi_problem_t *problem;
    const rt_rung_t *rung;
    const mcpi_kernels_t *kernels;
    rt_space_t space;
    mcpi_view_t view;
    rt_halo_t **halo;
    bool own_halo;
    void *dq;      /* [rows + ghosts][nb] of view.dq_type, in `space` */
    double *R;     /* [rows][nb] host: scaled R of the next solve */
    uint64_t draw; /* of that R: new after each spoil */
    int64_t swept; /* sweeps that the last solve asked for, for verify.c */
    mcpi_answer_t kept[RT_KEEPS];
    bool on_stream;    /* all messages are on the stream: no step of a sweep waits for the host */
    int64_t recording; /* sweeps that are being recorded, not run, without timers; 0: none */
    rt_replay_t replay;
} mcpi_solver_t;

void *mcpi_solver_new(void *problem, const rt_rung_t *rung);
void mcpi_solver_destroy(void *solver);
/* Sets dQ = 0, then sweeps. */
void mcpi_solve(void *solver);
void mcpi_spoil(void *solver, uint64_t draw, rt_keep_t keep);
/* Puts aside what the last solve left, in place of what was put aside for the same reason;
 * RT_KEEP_NOTHING: for no reason that the driver has. */
void mcpi_keep(mcpi_solver_t *s, rt_keep_t why);
/* Makes R [rows][nb] of a draw: the system's own for 0, else values in (-1, 1), each of which has
 * its own hash, so that no R follows from others. */
void mcpi_draw_r(const mcpi_system_t *system, uint64_t draw, double *R);
/* Copies R [rows][nb], scaled, to where the rung wants it. */
void mcpi_put_r(const mcpi_solver_t *s, const double *R);
/* Sweeps on from what dq holds; as one launch if no step needs the host. */
void mcpi_sweeps(mcpi_solver_t *s, int64_t sweeps);
/* Copy dq [rows + ghosts][nb] to and from host doubles. mcpi_put_dq rounds to the rung's type. */
void mcpi_put_dq(mcpi_solver_t *s, const double *host);
void mcpi_get_dq(const mcpi_solver_t *s, double *host);

/* Sweeps with the rung cpu-simd and fills problem->convergence, if the run prints or writes it.
 * Prints what it found. Collective. */
void mcpi_convergence_find(mcpi_problem_t *problem);
/* Returns 48 bits made from the bits of dQ as it is now; they do not depend on the order of the
 * ranks. Collective. */
uint64_t mcpi_fingerprint(const mcpi_solver_t *s);

/* --- judge/, work.c --- */

void mcpi_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void mcpi_verify_after(void *solver, rt_verdict_t *verdict);
void mcpi_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
void mcpi_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
void mcpi_dump(const void *solver, rt_dump_t *dump); /* output/dump.c */

/* Returns the rung cpu-simd: it runs everywhere, and is the fastest that does. */
static inline const rt_rung_t *mcpi_cpu_rung(void)
{
    return rt_app_rung(&mcpi_app, "cpu-simd");
}

RT_C_END
#endif
