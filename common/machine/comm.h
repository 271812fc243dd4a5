/*
 * machine/comm.h - the ranks. machine/comm.c is the only file of Rooftop that includes mpi.h.
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

#ifdef __cplusplus
extern "C" {
#endif

/* First and last call of a program. Init tells rt_error how to end all ranks. */
void rt_comm_init(int *argc, char ***argv);
void rt_comm_finish(void);
/* Starts MPI in a program that no launcher started, as one rank. False: this build has no MPI. */
bool rt_comm_init_alone(void);

int rt_comm_rank(void); /* 0 .. size-1; not collective, as the next three */
int rt_comm_size(void);
int rt_comm_local_rank(void); /* among the ranks of the same host */
int rt_comm_local_size(void);
const char *rt_comm_library(void); /* "Open MPI v4.1.4 ...", or why there is none */
const char *rt_comm_host(void);    /* host name of this rank */

void rt_comm_barrier(void);
/* x[0..n-1] becomes the sum, maximum or minimum over ranks, on every rank. Host memory. */
void rt_comm_sum(double *x, int n);
void rt_comm_max(double *x, int n);
void rt_comm_min(double *x, int n);
void rt_comm_sum_i64(int64_t *x, int n);
/* `bytes` of host memory from rank `root` to all. */
void rt_comm_bcast(void *data, size_t bytes, int root);
/* `bytes` from each rank to `all` on every rank, in rank order: all holds size * bytes. */
void rt_comm_allgather(const void *mine, size_t bytes, void *all);
/* line[len]: "" or what is wrong on this rank; becomes that of the lowest rank with a fault, on all
 * of them. Returns that rank, or -1 if there is none. Collective. */
int rt_comm_agree(char *line, size_t len);
/* Personalised exchange of `unit`-byte items: send[i] items to rank i start at item
 * sum(nsend[0..i-1]) of `send`. Returns a new array of what came, in rank order (free it with
 * free), and fills nrecv[size]. NULL when nothing came. */
void *rt_comm_exchange(const void *send, const int64_t *nsend, size_t unit, int64_t *nrecv);

/* Point to point, for halos. Not collective. `data` may be device memory only if
 * rt_gpu_aware() (halo/transport.h). At most 2^31-1 bytes a message (checked). */
typedef struct rt_request rt_request_t;
rt_request_t *rt_request_new(int capacity);
void rt_request_destroy(rt_request_t *req);
void rt_request_send(rt_request_t *req, const void *data, size_t bytes, int to, int tag);
void rt_request_recv(rt_request_t *req, void *data, size_t bytes, int from, int tag);
void rt_request_wait(rt_request_t *req); /* all posted so far; the set is empty afterwards */

#ifdef __cplusplus
}
#endif
#endif
