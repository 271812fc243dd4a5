/* app/team.c - threads per team, one list for all Kokkos rungs. */
#include "config.h"
#include "app/team.h"
#include <stdlib.h>
#include "machine/kokkos.h"

/* Multiples of the 32 lanes of an NVIDIA warp, the 64 of an AMD wavefront, and the 8, 16 or 32 of an
 * Intel sub-group. */
static const char *const threads[] = {"auto", "1",   "8",   "16",  "32",  "64",  "96",
                                      "128",  "160", "192", "256", "384", "512", NULL};
const rt_parameter_t rt_team_threads = {
    .name = "threads",
    .about = "per team of a GPU; on a CPU auto is vector code, and 1 the text for GPUs",
    .values = threads};

int rt_team_size(const int *choice)
{
    return choice ? (int)strtol(threads[choice[0]], NULL, 10) : 0;
}

const char *rt_team_refuse(const void *config, const int *choice)
{
    (void)config;
    return rt_kokkos_on_gpu() || rt_team_size(choice) <= 1 ? NULL
                                                           : "a team has one thread on a CPU";
}
