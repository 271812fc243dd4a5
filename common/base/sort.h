/*
 * base/sort.h - sorts numbers by keys.
 */
#ifndef RT_SORT_H
#define RT_SORT_H

#include <stdint.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Sorts n pairs by key, stably, on all threads (OpenMP); the result is the same for any number of
 * them. Not to be called from several threads at once, because it allocates. */
void rt_sort(uint64_t *key, uint32_t *value, int64_t n);
/* Returns the most bytes of host memory that rt_sort allocates for n pairs. */
double rt_sort_memory(double n);

RT_C_END
#endif
