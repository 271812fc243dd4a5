/*
 * peers.h - libraries that do the same work, or a part of it, timed in the same run.
 *
 * They are built in only if configure was asked for them (--with-petsc, --with-cusparse). They are
 * not rungs: nothing is judged by them, and a peer that disagrees does not change a run's verdict.
 */
#ifndef MCPI_PEERS_H
#define MCPI_PEERS_H

#include "../mcpi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name; /* "PETSc MatSOR" */
    const char *job;  /* what one unit is, and its precision */
    bool sweeps;      /* a unit is a sweep of A dQ = R; else a product O x */
    rt_kind_t kind;   /* RT_CPU: one core; RT_CUDA */
    double allowed;   /* relative difference from ours */
    /* Adds the bytes that begin takes, in the space of its kind and (for RT_CUDA) in RT_HOST. */
    void (*memory)(const mcpi_config_t *config, double bytes[RT_SPACES]);
    /* Copies what it needs of the FP64 matrix and, for a product, of x[rows][nb]. Returns NULL and
     * one line in why if it cannot run here. */
    void *(*begin)(const mcpi_problem_t *problem, const double *x, rt_text_t *why);
    /* Does so many sweeps from dQ = 0, or so many products. Returns seconds. */
    double (*run)(void *state, int64_t units);
    void (*result)(const void *state, double *values); /* [rows][nb] dQ, or O x */
    void (*end)(void *state);
} mcpi_peer_t;

extern const mcpi_peer_t mcpi_peer_petsc;    /* peers/petsc.c */
extern const mcpi_peer_t mcpi_peer_cusparse; /* peers/cusparse.cu */

/* peers/peers.c. After a ladder: makes the system again in FP64, times each peer and cpu-simd
 * alternately, and prints a table; does nothing if no peer is in this build. One rank. */
void mcpi_peers_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
