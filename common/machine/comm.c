/*
 * machine/comm.c - the ranks, over MPI or alone: their start, their nodes, their end.
 *
 * Idea: a thin layer that knows three states. Alone: no launcher was seen, MPI is never touched.
 * A single rank under a launcher: MPI is started and finished and otherwise not used. Many
 * ranks: they have the launcher's numbers, and which of them share a node is known.
 * Advantage: the rest of Rooftop compiles without mpi.h, and a laptop without MPI runs everything
 * but messages.
 * Price: one thread that talks, and a new collective needs a function in collectives.c.
 */
#include "config.h"
#include "machine/comm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/mem.h"
#include "machine/comm_mpi.h"
#if RT_HAVE_MPI
#include <time.h>
#endif

static struct {
    int rank, size, local_rank, local_size, nodes;
    int *node;    /* [size] the node of each rank; NULL: there is one */
    bool started; /* MPI is initialised and ours to finish */
    char host[256], library[256];
} self = {.size = 1, .local_size = 1, .nodes = 1, .library = "none: this process is alone"};

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

int rt_comm_nodes(void)
{
    return self.nodes;
}

int rt_comm_node(int rank)
{
    return self.node ? self.node[rank] : 0;
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

/* All ranks; those of this node; and one for meet_all, so that it mixes with nothing else. */
static MPI_Comm all = MPI_COMM_NULL, local = MPI_COMM_NULL, meeting = MPI_COMM_NULL;

MPI_Comm rt_comm_all(void)
{
    return all;
}

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
        MPI_Comm_free(&local);
        MPI_Comm_free(&all);
        MPI_Finalize();
    }
    free(self.node);
    self.node = NULL;
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

/* Finds out which ranks share a node: what MPI says can share memory. Nodes are numbered by the first
 * of their ranks. */
static void find_nodes(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_rank(all, &self.rank);
    MPI_Comm_size(all, &self.size);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, self.rank, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &self.local_rank);
    MPI_Comm_size(local, &self.local_size);
    if (self.local_size == self.size)
        return;
    int first = self.rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, local);
    self.node = malloc((size_t)self.size * sizeof *self.node);
    RT_EXPECT(self.node, RT_MEMORY, "no memory for the nodes of %d ranks", self.size);
    MPI_Allgather(&first, 1, MPI_INT, self.node, 1, MPI_INT, all);
    self.nodes = 0;
    for (int r = 0; r < self.size; r++)
        self.node[r] = self.node[r] == r ? self.nodes++ : self.node[self.node[r]];
}

static void start(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    self.started = true;
    find_nodes();
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

void rt_comm_finish(void)
{
}

#endif

void rt_comm_local_allgather(const void *mine, size_t bytes, void *gathered)
{
#if RT_HAVE_MPI
    if (self.started) {
        MPI_Allgather(mine, (int)bytes, MPI_BYTE, gathered, (int)bytes, MPI_BYTE, local);
        return;
    }
#endif
    memcpy(gathered, mine, bytes);
}

/* ---- what was sent --------------------------------------------------------------------------- */

static rt_traffic_t sent;

void rt_traffic_add(rt_traffic_t bytes)
{
    sent.within += bytes.within;
    sent.between += bytes.between;
}

rt_traffic_t rt_traffic_take(void)
{
    const rt_traffic_t taken = sent;
    sent = (rt_traffic_t){0, 0};
    return taken;
}
