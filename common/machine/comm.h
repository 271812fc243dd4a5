/*
 * machine/comm.h - the ranks. machine/comm.c and collectives.c alone use MPI.
 *
 * All functions are collective over all ranks unless they say otherwise. With one rank none of
 * them calls MPI. A program that was not started by an MPI launcher never initialises MPI, which
 * keeps a small run under a second and makes a binary with MPI usable where MPI is broken.
 */
#ifndef RT_COMM_H
#define RT_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* The first and the last call of a program. rt_comm_init tells base/error how to end all ranks. */
void rt_comm_init(int *argc, char ***argv);
void rt_comm_finish(void);

int rt_comm_rank(void); /* 0 .. size-1; not collective, as the next three */
int rt_comm_size(void);
int rt_comm_local_rank(void); /* among the ranks of the same node */
int rt_comm_local_size(void);
int rt_comm_nodes(void);           /* how many nodes the ranks are on */
int rt_comm_node(int rank);        /* that a rank is on: 0 .. nodes-1; rank 0 is on node 0 */
const char *rt_comm_library(void); /* "Open MPI v4.1.4 ...", or why there is none */
const char *rt_comm_host(void);    /* host name of this rank */

void rt_comm_barrier(void);
/* While timers are on (machine/timer.h): waits for all ranks, in a timer "waiting", so that what
 * follows is timed without the wait for those that are late. Else does nothing. */
void rt_comm_meet(void);
/* Replaces x[0..n-1] (host) by the sum, maximum or minimum over ranks, on every rank: after
 * rt_comm_meet, in a timer "sum". */
void rt_comm_sum(double *x, int n);
void rt_comm_max(double *x, int n);
void rt_comm_min(double *x, int n);
void rt_comm_sum_i64(int64_t *x, int n);
/* Reduces x[n] of doubles or, if whole, of int64_t: the same without timers. */
typedef enum { RT_SUM, RT_MAX, RT_MIN } rt_reduction_t;
void rt_comm_reduce(void *x, int n, bool whole, rt_reduction_t how);
/* Copies `bytes` of host memory from rank `root` to all. */
void rt_comm_bcast(void *data, size_t bytes, int root);
/* Gathers `bytes` of each rank into all[size * bytes] on every rank, by rank. */
void rt_comm_allgather(const void *mine, size_t bytes, void *all);
/* Gathers `bytes` of each rank of this node into gathered[local_size * bytes], by local rank. */
void rt_comm_local_allgather(const void *mine, size_t bytes, void *gathered);
/* Replaces line[len] ("", or what is wrong on this rank) on all ranks by the line of the lowest rank
 * with a fault. Returns that rank, or -1 if no rank has one. */
int rt_comm_agree(char *line, size_t len);
/* Exchanges items of `unit` bytes: the nsend[i] items for rank i start at item sum(nsend[0..i-1]) of
 * `send`. Returns a new array of the items received, by rank (release it with free), and fills
 * nrecv[size]; NULL if nothing was received. */
void *rt_comm_exchange(const void *send, const int64_t *nsend, size_t unit, int64_t *nrecv);
/* Returns to rank 0 the n items of each rank, by rank, and how many they are (else NULL and 0). */
void *rt_comm_gather(const void *mine, int64_t n, size_t unit, int64_t *all);

/* Point to point, for halos. Not collective. `data` is host memory. At most 2^31-1 bytes per
 * message (checked). */
typedef struct rt_request rt_request_t;
rt_request_t *rt_request_new(int capacity);
void rt_request_destroy(rt_request_t *req);
void rt_request_send(rt_request_t *req, const void *data, size_t bytes, int to, int tag);
void rt_request_recv(rt_request_t *req, void *data, size_t bytes, int from, int tag);
void rt_request_wait(rt_request_t *req); /* for all messages posted so far */

/* The bytes that this rank has sent to other ranks, as halos count them. Not collective. */
typedef struct {
    double within, between; /* bytes to ranks of this node, and to those of other nodes */
} rt_traffic_t;
void rt_traffic_add(rt_traffic_t bytes);
rt_traffic_t rt_traffic_take(void); /* what was added since the last call */

RT_C_END
#endif
