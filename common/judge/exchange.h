/*
 * judge/exchange.h - judges a sum over copies by the ids of the entries alone.
 *
 * A judge that sums over ranks with the halo that the run has cannot see a copy that the halo lost.
 * So this check sums without one: of up to 4096 ids, drawn at random, half of them among entries that
 * the exchange changed, every rank adds what it has, and the ranks add that by rt_comm_sum. The values
 * are integers, so that sums are exact, whatever their order.
 */
#ifndef RT_EXCHANGE_H
#define RT_EXCHANGE_H

#include <stdint.h>
#include "judge/verify.h"

typedef struct {
    const void *data;
    int64_t n; /* entries of this rank, each with a value */
    /* Returns the global id of an entry. Entries with one id, on any rank, are copies. */
    int64_t (*id)(const void *data, int64_t entry);
    /* Replaces x[n] (host) by the sums over all copies. Collective. */
    void (*sum)(const void *data, double *x);
} rt_exchange_t;

/* Returns the host's bytes that a check takes, with at most n entries on a rank. */
double rt_exchange_memory(int64_t n);

/* Checks that e->sum makes every copy the sum of all. Overwrites x[n]. Collective. */
void rt_exchange_check(const rt_exchange_t *e, uint64_t seed, double *x, rt_verdict_t *v);

#endif
