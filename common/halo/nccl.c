/*
 * halo/nccl.c - NCCL between this job's ranks, for halos and for sums of scalars.
 *
 * Idea: one communicator of all ranks, whose id MPI broadcasts. An exchange is a group of sends and
 * receives on the second stream (rt_side_begin), so kernels that do not need it overlap with it;
 * being work on a stream, it can be captured.
 * Advantage: the host neither waits nor takes part.
 * Price: a kernel of NCCL holds some multiprocessors while it waits for the other side; a library
 * of hundreds of megabytes; all ranks must put their exchanges on the stream in the same order.
 *
 * What can hang (the start, the first message to a neighbour) runs on a thread of its own. A thread
 * that does not return is abandoned: no call ends a wait inside NCCL for a rank that never comes.
 */
#include "config.h"
#include "halo/nccl.h"
#include "base/error.h"
#include "halo/transport.h"
#include "machine/comm.h"

#if RT_HAVE_NCCL

#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "machine/cuda.h"

/* PATIENCE: seconds for a trial, which is looked at STEPS times in each. BLOCKS: most thread blocks of
 * one exchange, taken from the kernels that run with it; four move a face of 16 x 16 elements of
 * degree 9 (170 KB) in a few microseconds. TRIAL: values per message. */
enum { LINE = 160, PATIENCE = 40, STEPS = 1000, BLOCKS = 4, TRIAL = 1000 };

static struct {
    bool tried;
    ncclComm_t comm; /* NULL: not usable */
    char why[LINE + 32];
} self;

#define NCCL(call) nccl_check(call, __FILE__, __LINE__, #call)

static void nccl_check(ncclResult_t status, const char *file, int line, const char *call)
{
    if (status != ncclSuccess)
        rt_die_at(file, line, call, RT_ENVIRONMENT, "NCCL: %s", ncclGetErrorString(status));
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* What the thread works on. It may outlive the caller, in which case it owns itself. */
typedef struct {
    int ordinal;
    ncclUniqueId id;
    ncclComm_t comm;     /* NULL: the trial makes it */
    int n_peers, *peers; /* whose values are to arrive */
    char text[LINE];
    _Atomic int state; /* the thread sets DONE, the caller ABANDONED; the second of them frees it */
} trial_t;
enum { RUNNING, DONE, ABANDONED };

static void trial_destroy(trial_t *trial)
{
    free(trial->peers);
    free(trial);
}

static const char *in_words(trial_t *trial, ncclResult_t status)
{
    snprintf(trial->text, sizeof trial->text, "%s", ncclGetErrorString(status));
    return trial->text;
}

/* Posts send[TRIAL] to the peers, from each of which as many go to recv; or from all ranks to all. */
static ncclResult_t post(const trial_t *trial, bool all, const double *send, double *recv,
                         cudaStream_t stream)
{
    if (all)
        return ncclAllGather(send, recv, TRIAL, ncclDouble, trial->comm, stream);
    ncclResult_t status = ncclGroupStart();
    for (int m = 0; m < trial->n_peers && status == ncclSuccess; m++) {
        double *to = recv + (size_t)m * TRIAL;
        status = ncclRecv(to, TRIAL, ncclDouble, trial->peers[m], trial->comm, stream);
        if (status == ncclSuccess)
            status = ncclSend(send, TRIAL, ncclDouble, trial->peers[m], trial->comm, stream);
    }
    const ncclResult_t ended = ncclGroupEnd();
    return status == ncclSuccess ? ended : status;
}

/* Sends host[0..TRIAL-1] and replaces it by the n values that arrive. */
static const char *move_known(trial_t *trial, bool all, double *host, size_t n)
{
    double *send = NULL, *recv = NULL;
    cudaStream_t stream = NULL;
    ncclResult_t status = ncclSuccess;
    cudaError_t fault = cudaStreamCreate(&stream);
    if (fault == cudaSuccess)
        fault = cudaMalloc((void **)&send, TRIAL * sizeof *send);
    if (fault == cudaSuccess)
        fault = cudaMalloc((void **)&recv, n * sizeof *recv);
    if (fault == cudaSuccess)
        fault = cudaMemcpy(send, host, TRIAL * sizeof *send, cudaMemcpyDefault);
    if (fault == cudaSuccess)
        status = post(trial, all, send, recv, stream);
    if (fault == cudaSuccess && status == ncclSuccess)
        fault = cudaStreamSynchronize(stream);
    if (fault == cudaSuccess && status == ncclSuccess)
        fault = cudaMemcpy(host, recv, n * sizeof *recv, cudaMemcpyDefault);
    cudaFree(send);
    cudaFree(recv);
    if (stream)
        cudaStreamDestroy(stream);
    if (status != ncclSuccess)
        return in_words(trial, status);
    return fault == cudaSuccess ? NULL : cudaGetErrorString(fault);
}

/* Makes the communicator, if there is none, and gathers known values of all ranks; else sends known
 * values to every peer. Returns NULL, or what went wrong. */
static const char *exchange_known(trial_t *trial)
{
    const size_t n = (size_t)trial->n_peers * TRIAL;
    const bool all = !trial->comm;
    if (all) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.maxCTAs = BLOCKS;
        const ncclResult_t status = ncclCommInitRankConfig(&trial->comm, rt_comm_size(), trial->id,
                                                           rt_comm_rank(), &config);
        if (status != ncclSuccess)
            return in_words(trial, status);
    }
    double *host = malloc(n * sizeof *host);
    if (!host)
        return "no memory for a trial";
    for (int i = 0; i < TRIAL; i++)
        host[i] = rt_trial_value(rt_comm_rank(), 0, i);
    const char *fault = move_known(trial, all, host, n);
    for (size_t i = 0; i < n && !fault; i++)
        if (host[i] != rt_trial_value(trial->peers[i / TRIAL], 0, (int64_t)(i % TRIAL)))
            fault = "a trial brought wrong values";
    free(host);
    return fault;
}

static void *trial_main(void *opaque)
{
    trial_t *trial = opaque;
    const char *fault =
        cudaSetDevice(trial->ordinal) == cudaSuccess ? exchange_known(trial) : "the GPU is gone";
    if (fault && fault != trial->text)
        snprintf(trial->text, sizeof trial->text, "%s", fault);
    if (atomic_exchange(&trial->state, DONE) == ABANDONED)
        trial_destroy(trial);
    return NULL;
}

/* Dies if this rank's GPU is lost: other ranks may be in a trial that waits for it. */
static void expect_gpu(void)
{
    const cudaError_t status = cudaStreamQuery(rt_stream());
    if (status != cudaErrorNotReady)
        rt_cuda_check(status, __FILE__, __LINE__, "cudaStreamQuery(rt_stream())");
}

/* Runs the trial for at most PATIENCE seconds and takes it over. text: the fault, or "". *comm: the
 * communicator it made. */
static void try_out(trial_t *trial, ncclComm_t *comm, char text[LINE])
{
    const struct timespec step = {.tv_nsec = 1000000000 / STEPS};
    pthread_t thread;
    trial->ordinal = rt_device_gpu()->ordinal;
    RT_EXPECT(pthread_create(&thread, NULL, trial_main, trial) == 0, RT_MEMORY,
              "no thread to try NCCL on");
    pthread_detach(thread);
    for (int i = 0; i < PATIENCE * STEPS && trial->state == RUNNING; i++) {
        nanosleep(&step, NULL);
        if (i % STEPS == 0)
            expect_gpu();
    }
    if (atomic_exchange(&trial->state, ABANDONED) == DONE) {
        memcpy(text, trial->text, LINE);
        *comm = trial->comm;
        trial_destroy(trial);
    } else {
        snprintf(text, LINE, "a trial did not end within %d s", PATIENCE);
    }
}

/* Returns a trial with these peers, or with all ranks. */
static trial_t *trial_new(int n_peers, const int *peers)
{
    trial_t *trial = calloc(1, sizeof *trial);
    int *copy = malloc((size_t)n_peers * sizeof *copy);
    RT_EXPECT(trial && copy, RT_MEMORY, "no memory to try NCCL");
    for (int m = 0; m < n_peers; m++)
        copy[m] = peers ? peers[m] : m;
    trial->comm = self.comm;
    trial->n_peers = n_peers;
    trial->peers = copy;
    return trial;
}

/* ---- start and end --------------------------------------------------------------------------- */

static void start(char text[LINE])
{
    trial_t *trial;
    if (!rt_device_own(text, LINE))
        return;
    trial = trial_new(rt_comm_size(), NULL);
    if (rt_comm_rank() == 0) {
        const ncclResult_t status = ncclGetUniqueId(&trial->id);
        if (status != ncclSuccess)
            snprintf(text, LINE, "no id: %s", ncclGetErrorString(status));
    }
    if (rt_comm_agree(text, LINE) >= 0) {
        trial_destroy(trial);
        return;
    }
    rt_comm_bcast(&trial->id, sizeof trial->id, 0);
    try_out(trial, &self.comm, text);
    if (rt_comm_agree(text, LINE) >= 0 && self.comm) {
        ncclCommAbort(self.comm);
        self.comm = NULL;
    }
}

/* Ends NCCL, before the GPU is released. Collective. */
static void stop(void)
{
    if (self.comm)
        NCCL(ncclCommDestroy(self.comm));
    self.comm = NULL;
    self.tried = false;
}

const char *rt_nccl_why_not(void)
{
    char text[LINE] = "";
    if (rt_comm_size() == 1)
        return "one rank sends no messages";
    if (!self.tried) {
        self.tried = true;
        rt_device_at_release(stop);
        start(text);
        snprintf(self.why, sizeof self.why, "%s", text);
    }
    return self.comm ? NULL : self.why;
}

/* ---- on the stream --------------------------------------------------------------------------- */

void rt_nccl_allgather(const double *x, int n, double *all)
{
    rt_side_begin();
    NCCL(ncclAllGather(x, all, (size_t)n, ncclDouble, self.comm, rt_stream()));
    rt_side_end();
    rt_side_join();
}

/* Makes the connections now: the first message does that, and a capture would be too late. */
static const char *halo_why_not(int n_peers, const int *peers)
{
    char text[LINE] = "";
    ncclComm_t comm;
    if (rt_nccl_why_not())
        return rt_nccl_why_not();
    if (n_peers > 0)
        try_out(trial_new(n_peers, peers), &comm, text);
    if (rt_comm_agree(text, LINE) < 0)
        return NULL;
    snprintf(self.why, sizeof self.why, "%s", text);
    ncclCommAbort(self.comm);
    self.comm = NULL;
    return self.why;
}

static void halo_start(void *unused, const rt_messages_t *x)
{
    const size_t bytes = x->bytes_per_value;
    (void)unused;
    rt_side_begin();
    NCCL(ncclGroupStart());
    for (int m = 0; m < x->n_peers; m++) {
        const rt_halo_range_t in = x->in[m], out = x->out[m];
        if (in.count > 0)
            NCCL(ncclRecv((char *)x->recv + (size_t)in.first * bytes, (size_t)in.count * bytes,
                          ncclInt8, x->peers[m], self.comm, rt_stream()));
        if (out.count > 0)
            NCCL(ncclSend((const char *)x->send + (size_t)out.first * bytes,
                          (size_t)out.count * bytes, ncclInt8, x->peers[m], self.comm,
                          rt_stream()));
    }
    NCCL(ncclGroupEnd());
    rt_side_end();
}

static void halo_finish(void *opaque)
{
    (void)opaque;
    rt_side_join();
}

const rt_transport_t rt_transport_nccl = {.name = "nccl",
                                          .buffer_space = RT_DEVICE,
                                          .start = halo_start,
                                          .finish = halo_finish,
                                          .why_not = halo_why_not,
                                          .on_stream = true};

#else

const char *rt_nccl_why_not(void)
{
    return "not in this build";
}

void rt_nccl_allgather(const double *x, int n, double *all)
{
    (void)x;
    (void)all;
    rt_die(RT_USAGE, "%d values for NCCL, which is not in this build", n);
}

#endif
