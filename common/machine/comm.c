/*
 * machine/comm.c - the ranks, over MPI or alone.
 *
 * Idea: a thin layer that knows three states. Alone: no launcher was seen, MPI is never touched.
 * One rank of one under a launcher: MPI is started and finished and otherwise left in peace. Many
 * ranks: every function is one MPI call, sizes checked.
 * Advantage: the rest of Rooftop compiles without mpi.h, and a laptop without MPI runs everything
 * but the messages.
 * Price: one communicator, one thread that talks, and a new collective needs a function here.
 */
#include "config.h"
#include "machine/comm.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "machine/device.h"
#include "base/error.h"
#include "base/mem.h"
#if RT_HAVE_MPI
#include <mpi.h>
#endif

static struct {
    int rank, size, local_rank, local_size;
    bool started; /* MPI is initialised and ours to finish */
    int gpu_aware;
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

int rt_comm_gpu_aware(void)
{
    return self.gpu_aware;
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

static void end_all(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
    _Exit(status); /* MPI_Abort may return, by the letter of the standard */
}

static void finish_all(void)
{
    if (self.started)
        MPI_Finalize();
    self.started = false;
}

static void describe_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    snprintf(self.library, sizeof self.library, "%.*s", (int)strcspn(text, "\n"), text);
}

void rt_comm_init(int *argc, char ***argv)
{
    if (!launcher_seen()) {
        snprintf(self.library, sizeof self.library, "not started: no MPI launcher was seen");
        return;
    }
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

    describe_library();
    rt_error_set_ranks(self.rank, self.size, end_all, finish_all);
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

/* Started by mpirun all the same? Each process would take itself for the whole job. */
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
        rt_error_set_ranks(number_of(ranks, 0), size, NULL, NULL); /* so that one of them speaks */
        rt_refuse(RT_ENVIRONMENT,
                  "started as %d ranks, but this build has no MPI: each of them would solve the "
                  "whole problem; configure --with-mpi, or run it without mpirun",
                  size);
    }
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

/* The place for one more message, all of it checked. */
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

/* ---- does this MPI move device memory? ----------------------------------------------------------
 *
 * A library's own answer cannot be trusted, and the usual way to be wrong is a crash. So a child
 * process tries, and only an exit status of 0 counts.
 */

#if RT_HAVE_MPI

/* `bytes` of device memory through MPI to this process itself; true if they arrived. */
static bool device_message_arrives(size_t bytes)
{
    unsigned char *host = RT_NEW(unsigned char, bytes, RT_HOST);
    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)(i * 7 + i / 251 + 1);
    unsigned char *from = rt_clone(host, bytes, 1, RT_DEVICE);
    unsigned char *to = RT_NEW(unsigned char, bytes, RT_DEVICE);
    unsigned char *back = RT_NEW(unsigned char, bytes, RT_HOST);
    rt_fill(to, RT_DEVICE, 0, bytes);
    rt_device_synchronize();

    MPI_Request pending[2];
    MPI_Irecv(to, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &pending[0]);
    MPI_Isend(from, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &pending[1]);
    MPI_Waitall(2, pending, MPI_STATUSES_IGNORE);
    rt_copy(back, RT_HOST, to, RT_DEVICE, bytes);
    bool same = memcmp(host, back, bytes) == 0;

    RT_FREE(host, RT_HOST);
    RT_FREE(back, RT_HOST);
    RT_FREE(from, RT_DEVICE);
    RT_FREE(to, RT_DEVICE);
    return same;
}

int rt_comm_probe_main(void)
{
    int provided;
    rt_device_select("auto", true, 1);
    if (!rt_device_gpu())
        return EXIT_FAILURE;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    /* A short message goes eagerly, a long one by the library's rendezvous: two ways to fail. */
    bool arrived = device_message_arrives(64) && device_message_arrives(100003) &&
                   device_message_arrives((size_t)8 << 20);
    MPI_Finalize();
    return arrived ? EXIT_SUCCESS : EXIT_FAILURE;
}

extern char **environ;

/* Variables by which a launcher tells a process that it is one of many. What the user set to tune
 * his MPI (OMPI_MCA_pml, UCX_TLS, ...) must stay, or the probe tries another MPI. */
static bool is_launchers(const char *variable)
{
    static const char *const prefixes[] = {"OMPI_COMM_",
                                           "OMPI_APP_",
                                           "OMPI_ARGV",
                                           "OMPI_COMMAND",
                                           "OMPI_FILE_",
                                           "OMPI_FIRST_",
                                           "OMPI_NUM_",
                                           "OMPI_UNIVERSE",
                                           "OMPI_MCA_orte_",
                                           "OMPI_MCA_ess",
                                           "OMPI_MCA_initial_wdir",
                                           "OMPI_MCA_shmem_RUNTIME",
                                           "OMPI_MCA_mpi_oversubscribe", /* set by mpirun itself */
                                           "PMIX_",
                                           "PMI_",
                                           "PMI2_",
                                           "PRTE_",
                                           "PALS_",
                                           "MV2_COMM_",
                                           "MPI_LOCAL",
                                           "HYDI_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* The environment without the launcher; free the array, not the strings. */
static char **singleton_environment(void)
{
    static char isolated[] = "OMPI_MCA_ess_singleton_isolated=1"; /* starts no daemon of its own */
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **mine = malloc((n + 2) * sizeof *mine);
    RT_EXPECT(mine, RT_MEMORY, "no memory for %zu environment variables", n);
    for (size_t i = 0; i < n; i++)
        if (!is_launchers(environ[i]))
            mine[kept++] = environ[i];
    mine[kept++] = isolated;
    mine[kept] = NULL;
    return mine;
}

/* Exit status of the child, or -1 if it crashed or had to be killed after `seconds`. */
static int wait_at_most(pid_t child, double seconds)
{
    const struct timespec nap = {0, 10000000};
    int status;
    for (int naps = 0; naps < seconds * 100; naps++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended < 0 && errno != EINTR)
            return -1;
        nanosleep(&nap, NULL);
    }
    kill(-child, SIGKILL); /* its group: MPI may have started helpers */
    waitpid(child, &status, 0);
    return -1;
}

/* posix_spawn and not fork: a forked child would share this process's device and network state. */
static bool probe_succeeds(const char *program)
{
    char path[] = "/proc/self/exe", option[] = "--probe-gpu-aware";
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", access(path, X_OK) == 0 || !program ? path : program);
    char *arguments[] = {name, option, NULL};
    char **variables = singleton_environment();
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int failed = posix_spawn(&child, name, &files, &attributes, arguments, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(variables);
    return !failed && wait_at_most(child, 20) == 0;
}

void rt_comm_probe_gpu_aware(const char *program)
{
    double works = rt_device_gpu() != NULL;
    if (self.size == 1)
        return; /* no messages, nothing to know */
    rt_comm_min(&works, 1);
    if (works > 0 && self.local_rank == 0) /* one a host: its ranks share the answer */
        works = probe_succeeds(program);
    rt_comm_min(&works, 1);
    self.gpu_aware = works > 0;
}

#else

int rt_comm_probe_main(void)
{
    return EXIT_FAILURE;
}

void rt_comm_probe_gpu_aware(const char *program)
{
    (void)program;
}

#endif
