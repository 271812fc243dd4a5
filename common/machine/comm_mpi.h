/* machine/comm_mpi.h - what comm.c and collectives.c share, the only files that use MPI; private. */
#ifndef RT_COMM_MPI_H
#define RT_COMM_MPI_H

#if RT_HAVE_MPI
#include <mpi.h>

/* Returns the communicator of all ranks, as they are numbered now; MPI_COMM_NULL: MPI was not
 * started. Not collective. */
MPI_Comm rt_comm_all(void);
#endif

#endif
