/*
 * machine/comm.c - the ranks, over MPI or alone: their start, their numbers, their nodes, their end.
 *
 * Idea: a thin layer that knows three states. Alone: no launcher was seen, MPI is never touched.
 * A single rank under a launcher: MPI is started and finished and otherwise not used. Many
 * ranks: they are numbered node by node, whatever the launcher did, and then as a grid wants it.
 * The whole program sees these numbers only. So sums and messages have the order of the grid, and
 * results do not depend on which node a rank is on.
 * Advantage: the rest of Rooftop compiles without mpi.h, and a laptop without MPI runs everything
 * but messages.
 * Price: one thread that talks, and a new collective needs a function in collectives.c. A rank's
 * number is not the launcher's, but for rank 0.
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
#include "machine/place.h"
#if RT_HAVE_MPI
#include <time.h>
#endif

static struct {
    int rank, size, local_rank, local_size, nodes;
    int numbering; /* how often the ranks were numbered again */
    int *node;     /* [size] the node of each rank; NULL: there is one */
    bool started;  /* MPI is initialised and ours to finish */
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

int rt_comm_numbering(void)
{
    return self.numbering;
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

/* As the ranks are numbered now; node by node; those of this node; and one for meet_all, so that it
 * mixes with nothing else. */
static MPI_Comm all = MPI_COMM_NULL, line = MPI_COMM_NULL, local = MPI_COMM_NULL,
                meeting = MPI_COMM_NULL;

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
        if (all != line)
            MPI_Comm_free(&all);
        MPI_Comm_free(&line);
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

/* Numbers the ranks node by node, nodes and their ranks as the launcher numbers them. A node is what
 * MPI says can share memory. */
static void number_by_node(void)
{
    int first;
    MPI_Comm_rank(MPI_COMM_WORLD, &first);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, first, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &self.local_rank);
    MPI_Comm_size(local, &self.local_size);
    MPI_Bcast(&first, 1, MPI_INT, 0, local);
    MPI_Comm_split(MPI_COMM_WORLD, 0, first, &line); /* equal keys stay in the world's order */
    MPI_Comm_rank(line, &self.rank);
    MPI_Comm_size(line, &self.size);
    all = line;
    if (self.local_size == self.size)
        return;
    self.node = malloc((size_t)self.size * sizeof *self.node);
    RT_EXPECT(self.node, RT_MEMORY, "no memory for the nodes of %d ranks", self.size);
    MPI_Allgather(&first, 1, MPI_INT, self.node, 1, MPI_INT, line);
    for (int r = 0, last = -1, node = -1; r < self.size; r++) {
        node += self.node[r] != last;
        last = self.node[r];
        self.node[r] = node;
        self.nodes = node + 1;
    }
}

static void start(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    self.started = true;
    number_by_node();
    MPI_Comm_dup(MPI_COMM_WORLD, &meeting);
    describe_library();
    rt_error_set_ranks(self.rank, self.size, end_all, finish_all, meet_all);
}

/* Gives rank i of `line` the number place[i], unless all have their numbers already. */
static void number_again(const int *place, const int *count)
{
    int me;
    MPI_Comm_rank(line, &me);
    int same = place[me] == self.rank;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, line);
    if (same)
        return;
    if (all != line)
        MPI_Comm_free(&all);
    MPI_Comm_split(line, 0, place[me], &all);
    for (int n = 0, i = 0; n < self.nodes; n++)
        for (const int end = i + count[n]; i < end; i++)
            self.node[place[i]] = n;
    self.rank = place[me];
    self.numbering++;
    rt_error_set_ranks(self.rank, self.size, end_all, finish_all, meet_all);
}

static void place_ranks(const int64_t grid[3], const int64_t part[3])
{
    int *count = RT_NEW(int, (size_t)self.nodes, RT_HOST);
    int *place = RT_NEW(int, (size_t)self.size, RT_HOST);
    memset(count, 0, (size_t)self.nodes * sizeof *count);
    for (int r = 0; r < self.size; r++)
        count[self.node[r]]++;
    rt_place(count, self.nodes, grid, part, place);
    number_again(place, count);
    RT_FREE(count, RT_HOST);
    RT_FREE(place, RT_HOST);
}

void rt_comm_local_allgather(const void *mine, size_t bytes, void *gathered)
{
    if (self.started)
        MPI_Allgather(mine, (int)bytes, MPI_BYTE, gathered, (int)bytes, MPI_BYTE, local);
    else
        memcpy(gathered, mine, bytes);
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

static void place_ranks(const int64_t grid[3], const int64_t part[3])
{
    (void)grid;
    (void)part;
}

void rt_comm_local_allgather(const void *mine, size_t bytes, void *gathered)
{
    memcpy(gathered, mine, bytes);
}

void rt_comm_finish(void)
{
}

#endif

void rt_comm_place(const int64_t grid[3], const int64_t part[3])
{
    RT_EXPECT(grid[0] * grid[1] * grid[2] == self.size, RT_USAGE, "a grid of other than %d ranks",
              self.size);
    if (self.nodes > 1)
        place_ranks(grid, part);
}
