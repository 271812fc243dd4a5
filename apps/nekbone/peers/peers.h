/*
 * peers.h - a library that solves the same system, timed in the same run.
 *
 * It is built in only if configure was asked for it (--with-hypre). It is not a rung: nothing is
 * judged by it, and a peer that fails does not change a run's verdict.
 */
#ifndef NEK_PEERS_H
#define NEK_PEERS_H

#include "../nekbone.h"

#if RT_HAVE_HYPRE
/* peers/hypre.c. After a ladder `solve`: makes the problem again, times solve-cpu and the same
 * conjugate gradients with BoomerAMG alternately, on one core, and prints a table. One rank. */
void nek_peers_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
#else
#define nek_peers_compare NULL
#endif

#endif
