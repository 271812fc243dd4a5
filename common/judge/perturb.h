/*
 * judge/perturb.h - runs a kernel under a hostile schedule, so that a race that a quiet machine hides
 * shows in its result.
 *
 * A lost update needs a thread that is late between its load and its store, while another one passes
 * the same place. So there are more threads than cores, and each of them is stopped at a random
 * moment of each run, for about as long as the others need for all the rest. Timers of the kernel
 * interrupt them between any two instructions; what a result may not depend on is all that changes.
 */
#ifndef RT_PERTURB_H
#define RT_PERTURB_H

#include "base/extern_c.h"

RT_C_BEGIN

/* Calls run(data) at most 200 times, or for 70 ms of the cores, but a few times, and returns the largest of what
 * error(data) returns after each of them. run: parallel regions of OpenMP, on any number of threads.
 * Collective if `run` or `error` is: all ranks make the same number of calls. */
double rt_perturb(void (*run)(void *data), double (*error)(void *data), void *data);

RT_C_END
#endif
