/* app/team.h - the launch parameter of Kokkos rungs whose kernels are teams. */
#ifndef RT_TEAM_H
#define RT_TEAM_H

#include "base/extern_c.h"
#include "app/parameter.h"

RT_C_BEGIN

/* "threads": of a team. auto: what suits the kernel on a GPU, and vector code instead of teams on a
 * CPU. There 1 runs the text that is for GPUs, which verifies it where no GPU is. */
extern const rt_parameter_t rt_team_threads;
/* Returns that value of a choice; 0: auto. choice may be NULL. */
int rt_team_size(const int *choice);
/* Refuses more than one thread on a CPU: a rung's refuse_choice. */
const char *rt_team_refuse(const void *config, const int *choice);

RT_C_END
#endif
