/*
 * base/sort.h - numbers sorted by keys.
 */
#ifndef RT_SORT_H
#define RT_SORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stable sort of n pairs by key, on all threads (OpenMP), with the same result on any number of
 * them. Not from several threads at once: it allocates. */
void rt_sort(uint64_t *key, uint32_t *value, int64_t n);
/* Host memory in bytes that it takes on the way, at most. */
double rt_sort_memory(double n);

#ifdef __cplusplus
}
#endif
#endif
