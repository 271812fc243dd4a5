/*
 * machine/collectives.c - collectives, and messages from rank to rank.
 *
 * Many ranks: every function is one MPI call, sizes checked. One rank: none is.
 */
#include "config.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "machine/comm.h"
#include "machine/comm_mpi.h"

/* Every function below returns, or dies, before it needs MPI if there is none. */

void rt_comm_reduce(void *x, int n, bool whole, rt_reduction_t how)
{
    if (rt_comm_size() == 1)
        return;
#if RT_HAVE_MPI
    const MPI_Op op[] = {[RT_SUM] = MPI_SUM, [RT_MAX] = MPI_MAX, [RT_MIN] = MPI_MIN};
    MPI_Allreduce(MPI_IN_PLACE, x, n, whole ? MPI_INT64_T : MPI_DOUBLE, op[how], rt_comm_all());
#else
    (void)x, (void)n, (void)whole, (void)how;
#endif
}

void rt_comm_barrier(void)
{
#if RT_HAVE_MPI
    if (rt_comm_size() > 1)
        MPI_Barrier(rt_comm_all());
#endif
}

void rt_comm_bcast(void *data, size_t bytes, int root)
{
#if RT_HAVE_MPI
    if (rt_comm_size() == 1)
        return;
    for (size_t done = 0, piece; done < bytes; done += piece) { /* MPI counts in int */
        piece = bytes - done < INT_MAX ? bytes - done : INT_MAX;
        MPI_Bcast((char *)data + done, (int)piece, MPI_BYTE, root, rt_comm_all());
    }
#else
    (void)data, (void)bytes, (void)root;
#endif
}

#if RT_HAVE_MPI

/* Items of `bytes` each as one MPI type, so that counts stay below 2^31. */
static MPI_Datatype item_type(size_t bytes)
{
    MPI_Datatype type;
    RT_EXPECT(bytes <= INT_MAX, RT_USAGE, "an item of %zu bytes", bytes);
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Fills count[size], where[size] as MPI wants them from 64-bit counts; returns the total. */
static int64_t to_int(const int64_t *n, int *count, int *where)
{
    int64_t total = 0;
    for (int r = 0; r < rt_comm_size(); r++) {
        RT_EXPECT(n[r] >= 0 && total + n[r] <= INT_MAX, RT_USAGE,
                  "%lld items to or from rank %d: more than 2^31-1 in all", (long long)n[r], r);
        count[r] = (int)n[r];
        where[r] = (int)total;
        total += n[r];
    }
    return total;
}

static void *exchange_ranks(const void *send, const int64_t *nsend, size_t unit, int64_t *nrecv)
{
    size_t ranks = (size_t)rt_comm_size();
    int *ints = malloc(4 * ranks * sizeof *ints);
    RT_EXPECT(ints, RT_MEMORY, "no memory for the counts of %d ranks", rt_comm_size());
    int *send_count = ints, *send_at = ints + ranks;
    int *recv_count = ints + 2 * ranks, *recv_at = ints + 3 * ranks;

    MPI_Alltoall(nsend, 1, MPI_INT64_T, nrecv, 1, MPI_INT64_T, rt_comm_all());
    to_int(nsend, send_count, send_at);
    int64_t total = to_int(nrecv, recv_count, recv_at);
    void *recv = total > 0 ? malloc((size_t)total * unit) : NULL;
    RT_EXPECT(recv || total == 0, RT_MEMORY, "no memory for %lld items of %zu bytes received",
              (long long)total, unit);

    MPI_Datatype type = item_type(unit);
    MPI_Alltoallv(send, send_count, send_at, type, recv, recv_count, recv_at, type, rt_comm_all());
    MPI_Type_free(&type);
    free(ints);
    return recv;
}

#endif

void rt_comm_allgather(const void *mine, size_t bytes, void *all)
{
    if (bytes == 0)
        return;
    if (rt_comm_size() == 1) {
        memcpy(all, mine, bytes);
        return;
    }
#if RT_HAVE_MPI
    MPI_Datatype type = item_type(bytes);
    MPI_Allgather(mine, 1, type, all, 1, type, rt_comm_all());
    MPI_Type_free(&type);
#endif
}

int rt_comm_agree(char *line, size_t len)
{
    double first = line[0] ? rt_comm_rank() : rt_comm_size();
    rt_comm_reduce(&first, 1, false, RT_MIN);
    if (first == rt_comm_size())
        return -1;
    rt_comm_bcast(line, len, (int)first);
    return (int)first;
}

void *rt_comm_exchange(const void *send, const int64_t *nsend, size_t unit, int64_t *nrecv)
{
#if RT_HAVE_MPI
    if (rt_comm_size() > 1)
        return exchange_ranks(send, nsend, unit, nrecv);
#endif
    nrecv[0] = nsend[0];
    if (nsend[0] == 0)
        return NULL;
    void *recv = malloc((size_t)nsend[0] * unit);
    RT_EXPECT(recv, RT_MEMORY, "no memory for %lld items of %zu bytes", (long long)nsend[0], unit);
    return memcpy(recv, send, (size_t)nsend[0] * unit);
}

void *rt_comm_gather(const void *mine, int64_t n, size_t unit, int64_t *all)
{
    const int ranks = rt_comm_size();
    int64_t *count = calloc(2 * (size_t)ranks, sizeof *count);
    RT_EXPECT(count, RT_MEMORY, "no memory for the counts of %d ranks", ranks);
    count[0] = n;
    void *got = rt_comm_exchange(mine, count, unit, count + ranks);
    *all = 0;
    for (int rank = 0; rank < ranks; rank++)
        *all += count[ranks + rank];
    free(count);
    return got;
}

/* ---- point to point -------------------------------------------------------------------------- */

#if !RT_HAVE_MPI
typedef int MPI_Request; /* none is used */
#endif

struct rt_request {
    int n, capacity;
    MPI_Request pending[];
};

rt_request_t *rt_request_new(int capacity)
{
    rt_request_t *req = malloc(sizeof *req + (size_t)capacity * sizeof *req->pending);
    RT_EXPECT(req, RT_MEMORY, "no memory for %d requests", capacity);
    req->n = 0;
    req->capacity = capacity;
    return req;
}

void rt_request_destroy(rt_request_t *req)
{
    RT_EXPECT(!req || req->n == 0, RT_USAGE, "%d messages are still under way", req->n);
    free(req);
}

/* Returns the request of one more message, after checking it. */
static MPI_Request *one_more(rt_request_t *req, size_t bytes, int peer)
{
    RT_EXPECT(rt_comm_size() > 1, RT_USAGE, "a message, but there is one rank");
    RT_EXPECT(req->n < req->capacity, RT_USAGE, "more messages than the %d said", req->capacity);
    RT_EXPECT(bytes <= INT_MAX, RT_USAGE, "a message of %zu bytes: at most 2^31-1", bytes);
    RT_EXPECT(peer >= 0 && peer < rt_comm_size(), RT_USAGE, "no rank %d of %d", peer,
              rt_comm_size());
    return &req->pending[req->n++];
}

void rt_request_send(rt_request_t *req, const void *data, size_t bytes, int to, int tag)
{
    MPI_Request *place = one_more(req, bytes, to);
#if RT_HAVE_MPI
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, rt_comm_all(), place);
#else
    (void)data, (void)tag, (void)place;
#endif
}

void rt_request_recv(rt_request_t *req, void *data, size_t bytes, int from, int tag)
{
    MPI_Request *place = one_more(req, bytes, from);
#if RT_HAVE_MPI
    MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, rt_comm_all(), place);
#else
    (void)data, (void)tag, (void)place;
#endif
}

void rt_request_wait(rt_request_t *req)
{
#if RT_HAVE_MPI
    if (req->n > 0)
        MPI_Waitall(req->n, req->pending, MPI_STATUSES_IGNORE);
#endif
    req->n = 0;
}
