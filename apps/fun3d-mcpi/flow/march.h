/*
 * march.h - a rung of the ladder "flow": steps in pseudo-time towards the steady state.
 */
#ifndef MCPI_MARCH_STEPS_H
#define MCPI_MARCH_STEPS_H

#include "../mcpi.h"
#include "flow.h"

RT_C_BEGIN

/* A step, as --json and the plot show it. */
typedef struct {
    double norm; /* of the residual before it, over that of the first step */
    double cfl;
    int64_t sweeps;
    int64_t scaled; /* rows whose update was scaled for positivity, on all ranks */
    bool back;      /* it was taken back */
} mcpi_step_t;

/* What a run of steps came to. */
typedef enum { MCPI_GOING, MCPI_CONVERGED, MCPI_DIVERGED } mcpi_end_t;

/* What a solve left. The residuals of its first steps are judged too. */
enum { MCPI_JUDGED_STEPS = 64 };
typedef struct {
    uint64_t draw;
    mcpi_end_t end;
    int64_t steps;
    double first_norm, last_norm; /* the last over the first */
    double norm[MCPI_JUDGED_STEPS];
    double *w; /* host [rows + ghosts][5]; NULL: nothing was put aside */
} mcpi_state_left_t;

typedef struct {
    mcpi_problem_t *problem; /* the first two are those of mcpi_solver_t */
    const rt_rung_t *rung;
    const mcpi_kernels_t *kernels;
    const mcpi_phases_t *phases;
    rt_space_t space;
    mcpi_problem_t shadow; /* the problem with a system that the steps fill */
    mcpi_solver_t *sweeper;
    rt_halo_t **halo; /* of state and slopes: the sweeper's, or own where its kernel needs none */
    bool own_halo;
    mcpi_field_t field;
    mcpi_places_t places; /* zeros: the sweeps have no layout of their own */
    double *outside;      /* [rows][5] in `space`: the field's */
    double scale;         /* of density, pressure and viscosity in this solve, a power of two */
    uint64_t draw;        /* of this solve's input: new after each spoil */
    mcpi_state_left_t left[RT_KEEPS];
    mcpi_step_t *history; /* [steps + 1] */
    int64_t steps;        /* done, with those taken back */
    mcpi_end_t end;
    int64_t lost;      /* vertex at which it diverged, of all ranks */
    double first_norm; /* of the residual, not divided */
    /* The control of a solve with a tolerance. */
    double *kept; /* [rows + ghosts][5] in `space`: the state before the last step; NULL: none */
    double share; /* of the Courant number that the residual allows, at most 1 */
    double least; /* residual since the share changed */
    void *before; /* [rows + ghosts][5] of dQ's type, in `space`: dQ before its last sweep */
    double drag, lift; /* of the state that was judged */
} mcpi_march_t;

void *mcpi_march_new(void *problem, const rt_rung_t *rung);
void mcpi_march_destroy(void *march);
void mcpi_march_solve(void *march);
void mcpi_march_spoil(void *march, uint64_t draw, rt_keep_t keep);
/* Puts aside what the last solve left, in place of what was put aside for the same reason;
 * RT_KEEP_NOTHING: for no reason that the driver has. */
void mcpi_march_keep(mcpi_march_t *m, rt_keep_t why);

/* Computes the force of the pressure on the walls over the dynamic pressure and the squared length
 * of the body: along the stream (drag) and across it in the plane of the angle of attack (lift).
 * Collective. */
void mcpi_march_forces(const mcpi_march_t *m, double *drag, double *lift);

/* Copies n doubles of the rung to a new host array. */
double *mcpi_march_take(const mcpi_march_t *m, const double *x, int64_t n);

/* --- parts of a step, for the judge --- */

/* Computes gradients, their ghosts, and R. Collective. */
void mcpi_march_residual(mcpi_march_t *m);
/* Returns the norm of R over all ranks. */
double mcpi_march_norm(mcpi_march_t *m);
/* Brings the ghosts of w. Collective. */
void mcpi_march_ghosts(mcpi_march_t *m);
/* Forms A and its factors for Courant number field.cfl. */
void mcpi_march_left(mcpi_march_t *m);
/* Sweeps A dQ = R from dQ = 0, as often as asked for. Collective. */
void mcpi_march_sweeps(mcpi_march_t *m);
/* Sweeps n times more, at least once, and returns the norm of what the last sweep changed.
 * Collective. */
double mcpi_march_sweep_more(mcpi_march_t *m, int64_t n);
/* Returns the Courant number for a residual of so much of the first one's. */
double mcpi_march_courant(const mcpi_config_t *config, double norm);
/* Returns the gas of a draw; 0: of the problem, at scale 1. */
mcpi_gas_t mcpi_march_gas(const mcpi_config_t *config, const mcpi_geometry_t *g, uint64_t draw);

/* What the steps of a solve add up to. */
typedef struct {
    int64_t sweeps, scaled, back;
    double cfl[2];       /* least and largest */
    int64_t sweeps_most; /* in one step */
} mcpi_tally_t;
mcpi_tally_t mcpi_march_tally(const mcpi_march_t *m);

/* --- work.c, report.c, ../judge/flow_verify.c: hooks of the app for this ladder --- */

void mcpi_march_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
/* The same for a solve that was done: with its steps and faces. */
void mcpi_march_work_done(const mcpi_march_t *m, rt_work_t *work);
void mcpi_march_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
/* Writes a .vtu file. Collective. */
void mcpi_march_picture(const mcpi_march_t *m, const char *path);
void mcpi_march_result(const void *march, rt_result_t *out);
void mcpi_march_verify_before(void *march, uint64_t seed, rt_verdict_t *verdict);
void mcpi_march_verify_after(void *march, rt_verdict_t *verdict);

RT_C_END
#endif
