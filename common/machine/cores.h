/* machine/cores.h - the processor of this rank: its cores and how many threads work on them. */
#ifndef RT_CORES_H
#define RT_CORES_H

#include "base/extern_c.h"

RT_C_BEGIN

enum { RT_MAX_THREADS = 4096 }; /* per rank */

typedef struct {
    char model[128]; /* of the processor */
    int cores;       /* that this process may run on (affinity) */
    int threads;     /* OpenMP threads in use */
    char core_set[128];
} rt_cpu_t;

const rt_cpu_t *rt_device_cpu(void);

/* Private to rt_device_select, which see for `threads`. Refuses (RT_ENVIRONMENT) threads that cannot
 * be started, and stacks that are too small. Collective. */
void rt_cores_select(int threads);

RT_C_END
#endif
