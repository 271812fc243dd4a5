/* base/free_memory.h - how much host memory this process could still take. */
#ifndef RT_FREE_MEMORY_H
#define RT_FREE_MEMORY_H

#include <stddef.h>

/* Returns the bytes of host memory that could be allocated now: the kernel's MemAvailable within
 * the limits of the control groups, less the part of `promised` (bytes that this process has
 * allocated) that is not resident yet. Takes about 50 us. */
size_t rt_free_memory(size_t promised);

#endif
