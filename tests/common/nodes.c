/*
 * nodes.c - the programs of the apps as on several nodes, for many_ranks.sh.
 *
 * RT_TEST_NODES has a letter for each rank of MPI_COMM_WORLD: those with the same letter are told that
 * they are on the same node. Without it they are told the truth. Like the apps' own main(), this is
 * compiled once for each program, with RT_APP the app's table. At its end each rank says on stderr how
 * much memory it had at most.
 */
#include "config.h"
#include "driver/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#if RT_HAVE_MPI
#include <mpi.h>

int MPI_Comm_split_type(MPI_Comm ranks, int type, int key, MPI_Info info, MPI_Comm *local)
{
    const char *nodes = getenv("RT_TEST_NODES");
    int rank;
    if (!nodes)
        return PMPI_Comm_split_type(ranks, type, key, info, local);
    MPI_Comm_rank(ranks, &rank);
    return MPI_Comm_split(ranks, nodes[rank], key, local);
}
#endif

extern const rt_app_t RT_APP;

int main(int argc, char **argv)
{
    struct rusage usage;
    const int status = rt_app_main(&RT_APP, argc, argv);
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "resident %ld KiB\n", usage.ru_maxrss);
    return status;
}
