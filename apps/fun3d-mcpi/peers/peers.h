/*
 * peers.h - libraries that do the same work, or a part of it, timed in the same run.
 *
 * They are built in only if configure was asked for them (--with-cusparse). They are
 * not rungs: nothing is judged by them, and a peer that disagrees does not change a run's verdict.
 */
#ifndef MCPI_PEERS_H
#define MCPI_PEERS_H

#include "base/extern_c.h"
#include "../mcpi.h"

RT_C_BEGIN

typedef struct {
    const char *name; /* "cuSPARSE bsrmv" */
    const char *job;  /* what one unit is, and its precision */
    rt_kind_t kind;   /* of the rungs that it is compared with */
    double allowed;   /* relative difference from `want` */
    /* Copies what it needs of the FP64 matrix. Returns NULL and one line in why if it cannot run
     * here. */
    void *(*begin)(const mcpi_problem_t *problem, rt_text_t *why);
    void (*run)(void *state, int64_t n);               /* does n units from the same start */
    void (*result)(const void *state, double *values); /* [rows][nb] */
    /* What the result should be, and the bytes of a unit. */
    void (*want)(const mcpi_problem_t *problem, double *values);
    double (*bytes)(const mcpi_problem_t *problem);
    void (*end)(void *state);
} RT_BY_NAME mcpi_peer_t;

extern const mcpi_peer_t mcpi_peer_cusparse; /* peers/cusparse.cu */

/* peers/peers.c. After a ladder: makes the system again in FP64, times each peer, and prints
 * a table beside the best rung; does nothing if no peer is in this build. One rank. */
void mcpi_peers_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);

RT_C_END
#endif
