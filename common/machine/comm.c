/*
 * machine/comm.c - the ranks, over MPI or alone.
 *
 * Idea: a thin layer that knows three states. Alone: no launcher was seen, MPI is never touched.
 * A single rank under a launcher: MPI is started and finished and otherwise not used. Many
 * ranks: every function is one MPI call, sizes checked.
 * Advantage: the rest of Rooftop compiles without mpi.h, and a laptop without MPI runs everything
 * but messages.
 * Price: one communicator, one thread that talks, and a new collective needs a function here.
 */
#include "config.h"
#include "machine/comm.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#if RT_HAVE_MPI
#include <mpi.h>
#include <time.h>
#endif

static struct {
    int rank, size, local_rank, local_size;
    bool started; /* MPI is initialised and ours to finish */
    char host[256], library[256];
} self = {.size = 1, .local_size = 1, .library = "none: this process is alone"};

int rt_comm_rank(void)
{
    return self.rank;
}

int rt_comm_size(void)
{
    return self.size;
}

int rt_comm_local_rank(void)
{
    return self.local_rank;
}

int rt_comm_local_size(void)
{
    return self.local_size;
}

const char *rt_comm_library(void)
{
    return self.library;
}

const char *rt_comm_host(void)
{
    if (!self.host[0] && gethostname(self.host, sizeof self.host - 1) != 0)
        strcpy(self.host, "unknown host");
    return self.host;
}

/* ---- start and end --------------------------------------------------------------------------- */

#if RT_HAVE_MPI

static bool launcher_seen(void)
{
    static const char *const signs[] = {
        "OMPI_COMM_WORLD_SIZE", "PMI_RANK",       "PMI_SIZE", "PMIX_RANK", "PALS_RANKID",
        "MV2_COMM_WORLD_RANK",  "MPI_LOCALRANKID"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (getenv(signs[i]))
            return true;
    return false;
}

static MPI_Comm meeting = MPI_COMM_NULL; /* for meet_all, so that it mixes with nothing else */

/* Waits up to PATIENCE seconds for all ranks to be here. */
static bool meet_all(void)
{
    enum { PATIENCE = 5, STEPS = 1000 }; /* per second */
    const struct timespec step = {.tv_nsec = 1000000000 / STEPS};
    MPI_Request request;
    int here = 0;
    MPI_Ibarrier(meeting, &request);
    MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    for (int i = 0; i < PATIENCE * STEPS && !here; i++) {
        nanosleep(&step, NULL);
        MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    }
    return here;
}

static void end_all(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
    _Exit(status); /* the standard allows MPI_Abort to return */
}

static void finish_all(void)
{
    if (self.started) {
        MPI_Comm_free(&meeting);
        MPI_Finalize();
    }
    self.started = false;
}

static void describe_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length); /* allowed before MPI_Init */
    snprintf(self.library, sizeof self.library, "%.*s%s", (int)strcspn(text, "\n,"), text,
             self.started ? "" : " (not started: no MPI launcher was seen)");
}

static void start(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    self.started = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.size);

    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, self.rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &self.local_rank);
    MPI_Comm_size(host, &self.local_size);
    MPI_Comm_free(&host);

    MPI_Comm_dup(MPI_COMM_WORLD, &meeting);
    describe_library();
    rt_error_set_ranks(self.rank, self.size, end_all, finish_all, meet_all);
}

void rt_comm_init(int *argc, char ***argv)
{
    if (launcher_seen())
        start(argc, argv);
    else
        describe_library();
}

bool rt_comm_init_alone(void)
{
    start(NULL, NULL);
    return true;
}

void rt_comm_finish(void)
{
    finish_all();
}

#else

static int number_of(const char *const *names, int fallback)
{
    for (; *names; names++)
        if (getenv(*names))
            return atoi(getenv(*names));
    return fallback;
}

/* Refuses several ranks: without MPI each process would solve the whole problem. */
void rt_comm_init(int *argc, char ***argv)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                        NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                                        NULL};
    (void)argc;
    (void)argv;
    snprintf(self.library, sizeof self.library, "none: this build has no MPI");
    int size = number_of(sizes, 1);
    if (size > 1) {
        /* so that only one of them prints */
        rt_error_set_ranks(number_of(ranks, 0), size, NULL, NULL, NULL);
        rt_refuse(RT_ENVIRONMENT,
                  "started as %d ranks, but this build has no MPI: each of them would solve the "
                  "whole problem; configure --with-mpi, or run it without mpirun",
                  size);
    }
}

bool rt_comm_init_alone(void)
{
    return false;
}

void rt_comm_finish(void)
{
}

#endif

/* ---- collectives ----------------------------------------------------------------------------- */

#if RT_HAVE_MPI

static void reduce(void *x, int n, MPI_Datatype type, MPI_Op op)
{
    if (self.size > 1)
        MPI_Allreduce(MPI_IN_PLACE, x, n, type, op, MPI_COMM_WORLD);
}

void rt_comm_barrier(void)
{
    if (self.size > 1)
        MPI_Barrier(MPI_COMM_WORLD);
}

void rt_comm_sum(double *x, int n)
{
    reduce(x, n, MPI_DOUBLE, MPI_SUM);
}

void rt_comm_max(double *x, int n)
{
    reduce(x, n, MPI_DOUBLE, MPI_MAX);
}

void rt_comm_min(double *x, int n)
{
    reduce(x, n, MPI_DOUBLE, MPI_MIN);
}

void rt_comm_sum_i64(int64_t *x, int n)
{
    reduce(x, n, MPI_INT64_T, MPI_SUM);
}

void rt_comm_bcast(void *data, size_t bytes, int root)
{
    if (self.size == 1)
        return;
    for (size_t done = 0, piece; done < bytes; done += piece) { /* MPI counts in int */
        piece = bytes - done < INT_MAX ? bytes - done : INT_MAX;
        MPI_Bcast((char *)data + done, (int)piece, MPI_BYTE, root, MPI_COMM_WORLD);
    }
}

/* Items of `bytes` each as one MPI type, so that counts stay below 2^31. */
static MPI_Datatype item_type(size_t bytes)
{
    MPI_Datatype type;
    RT_EXPECT(bytes <= INT_MAX, RT_USAGE, "an item of %zu bytes", bytes);
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void gather_ranks(const void *mine, size_t bytes, void *all)
{
    MPI_Datatype type = item_type(bytes);
    MPI_Allgather(mine, 1, type, all, 1, type, MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

/* Fills count[size], where[size] as MPI wants them from 64-bit counts; returns the total. */
static int64_t to_int(const int64_t *n, int *count, int *where)
{
    int64_t total = 0;
    for (int r = 0; r < self.size; r++) {
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
    size_t ranks = (size_t)self.size;
    int *ints = malloc(4 * ranks * sizeof *ints);
    RT_EXPECT(ints, RT_MEMORY, "no memory for the counts of %d ranks", self.size);
    int *send_count = ints, *send_at = ints + ranks;
    int *recv_count = ints + 2 * ranks, *recv_at = ints + 3 * ranks;

    MPI_Alltoall(nsend, 1, MPI_INT64_T, nrecv, 1, MPI_INT64_T, MPI_COMM_WORLD);
    to_int(nsend, send_count, send_at);
    int64_t total = to_int(nrecv, recv_count, recv_at);
    void *recv = total > 0 ? malloc((size_t)total * unit) : NULL;
    RT_EXPECT(recv || total == 0, RT_MEMORY, "no memory for %lld items of %zu bytes received",
              (long long)total, unit);

    MPI_Datatype type = item_type(unit);
    MPI_Alltoallv(send, send_count, send_at, type, recv, recv_count, recv_at, type, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    free(ints);
    return recv;
}

#else

static void gather_ranks(const void *mine, size_t bytes, void *all)
{
    memcpy(all, mine, bytes);
}

static void *exchange_ranks(const void *send, const int64_t *nsend, size_t unit, int64_t *nrecv)
{
    (void)send;
    (void)nsend;
    (void)unit;
    (void)nrecv;
    rt_die(RT_ENVIRONMENT, "this build has no MPI");
}

void rt_comm_barrier(void)
{
}

void rt_comm_sum(double *x, int n)
{
    (void)x;
    (void)n;
}

void rt_comm_max(double *x, int n)
{
    (void)x;
    (void)n;
}

void rt_comm_min(double *x, int n)
{
    (void)x;
    (void)n;
}

void rt_comm_sum_i64(int64_t *x, int n)
{
    (void)x;
    (void)n;
}

void rt_comm_bcast(void *data, size_t bytes, int root)
{
    (void)data;
    (void)bytes;
    (void)root;
}

#endif

void rt_comm_allgather(const void *mine, size_t bytes, void *all)
{
    if (bytes == 0)
        return;
    if (self.size > 1)
        gather_ranks(mine, bytes, all);
    else
        memcpy(all, mine, bytes);
}

int rt_comm_agree(char *line, size_t len)
{
    char *all = calloc((size_t)self.size, len);
    RT_EXPECT(all, RT_MEMORY, "no memory for the lines of %d ranks", self.size);
    rt_comm_allgather(line, len, all);
    int r = 0;
    while (r < self.size && all[(size_t)r * len] == '\0')
        r++;
    if (r < self.size)
        memcpy(line, all + (size_t)r * len, len);
    const int rank = r < self.size ? r : -1;
    free(all);
    return rank;
}

void *rt_comm_exchange(const void *send, const int64_t *nsend, size_t unit, int64_t *nrecv)
{
    if (self.size > 1)
        return exchange_ranks(send, nsend, unit, nrecv);
    nrecv[0] = nsend[0];
    if (nsend[0] == 0)
        return NULL;
    void *recv = malloc((size_t)nsend[0] * unit);
    RT_EXPECT(recv, RT_MEMORY, "no memory for %lld items of %zu bytes", (long long)nsend[0], unit);
    return memcpy(recv, send, (size_t)nsend[0] * unit);
}

/* ---- point to point -------------------------------------------------------------------------- */

struct rt_request {
    int n, capacity;
#if RT_HAVE_MPI
    MPI_Request pending[];
#endif
};

rt_request_t *rt_request_new(int capacity)
{
    size_t bytes = sizeof(rt_request_t);
#if RT_HAVE_MPI
    bytes += (size_t)capacity * sizeof(MPI_Request);
#endif
    rt_request_t *req = malloc(bytes);
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

#if RT_HAVE_MPI

/* Returns the request of one more message, after checking it. */
static MPI_Request *one_more(rt_request_t *req, size_t bytes, int peer)
{
    RT_EXPECT(self.started, RT_USAGE, "a message, but MPI was not started");
    RT_EXPECT(req->n < req->capacity, RT_USAGE, "more messages than the %d said", req->capacity);
    RT_EXPECT(bytes <= INT_MAX, RT_USAGE, "a message of %zu bytes: at most 2^31-1", bytes);
    RT_EXPECT(peer >= 0 && peer < self.size, RT_USAGE, "no rank %d of %d", peer, self.size);
    return &req->pending[req->n++];
}

void rt_request_send(rt_request_t *req, const void *data, size_t bytes, int to, int tag)
{
    MPI_Request *place = one_more(req, bytes, to);
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, place);
}

void rt_request_recv(rt_request_t *req, void *data, size_t bytes, int from, int tag)
{
    MPI_Request *place = one_more(req, bytes, from);
    MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, place);
}

void rt_request_wait(rt_request_t *req)
{
    if (req->n > 0)
        MPI_Waitall(req->n, req->pending, MPI_STATUSES_IGNORE);
    req->n = 0;
}

#else

void rt_request_send(rt_request_t *req, const void *data, size_t bytes, int to, int tag)
{
    (void)req;
    (void)data;
    rt_die(RT_USAGE, "%zu bytes to rank %d, tag %d, but this build has no MPI", bytes, to, tag);
}

void rt_request_recv(rt_request_t *req, void *data, size_t bytes, int from, int tag)
{
    (void)req;
    (void)data;
    rt_die(RT_USAGE, "%zu bytes from rank %d, tag %d, but this build has no MPI", bytes, from, tag);
}

void rt_request_wait(rt_request_t *req)
{
    (void)req;
}

#endif
