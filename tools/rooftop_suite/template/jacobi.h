/*
 * jacobi.h - jacobi: sweeps of Jacobi's method for -Laplace u = f in the unit cube, with u = 0 around it.
 *
 *     v[p] = (b[p] + the sum of u over the six neighbours of p) / 6, then u and v change places
 *
 * with b = h^2 f on n^3 points. A rank has whole layers in z, and a ghost layer on either side of them.
 * Arrays are [layers + 2][n + 2][n + 2], x fastest.
 */
#ifndef JACOBI_H
#define JACOBI_H

#include <rt.h>

RT_C_BEGIN

typedef struct {
    int64_t n, iterations; /* the options */
    int64_t first, layers; /* of this rank, by configure */
} jacobi_config_t;

/* What a rung sees. */
typedef struct {
    int64_t n, layers, row, plane; /* row, plane: from a point to its neighbours in y and z */
    size_t values;                 /* of an array */
    double *b, *u, *v;             /* in the rung's space */
} jacobi_view_t;

typedef struct {
    rt_kernels_t rung; /* first: the driver's part */
    /* Makes v of u, whose ghost layers are set, at this rank's points. */
    void (*sweep)(const jacobi_view_t *view);
} RT_BY_NAME jacobi_kernels_t;
extern const jacobi_kernels_t jacobi_reference; /* cpu/reference.c, which judges the others */

typedef struct {
    const rt_run_t *run;
    const jacobi_kernels_t *kernels;
    rt_kind_t kind;
    rt_space_t space;
    jacobi_view_t view;
    double *base; /* of b, in `space` */
    rt_halo_t *halo;
    /* What solves left, host, and their draws. RT_KEEP_NOTHING: the last of all. */
    double *kept[RT_KEEPS];
    uint64_t draw[RT_KEEPS];
} jacobi_solver_t;
extern const rt_app_t jacobi_app;

/* Returns the number of the point at [i] of an array, -1 outside of the cube; ghosts are points. */
int64_t jacobi_point(const jacobi_config_t *config, size_t i);
/* Brings the ghost layers of u. Collective. */
void jacobi_exchange(jacobi_solver_t *s);
/* Puts aside what the last solve left. */
void jacobi_keep(jacobi_solver_t *s, rt_keep_t keep);

/* Hooks of app/app.h. */
void *jacobi_solver_new(void *problem, const rt_rung_t *rung);
void jacobi_solver_destroy(void *solver);
void jacobi_spoil(void *solver, uint64_t draw, rt_keep_t keep);
void jacobi_solve(void *solver);
void jacobi_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void jacobi_verify_after(void *solver, rt_verdict_t *verdict);
void jacobi_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
void jacobi_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);

RT_C_END
#endif
