/*
 * base/mem.h - memory spaces.
 *
 * There are three spaces: ordinary host memory, page-locked host memory (from which a GPU copies at
 * full speed) and the device's own memory. Both ends of a copy are always named, so that a line of
 * code says where the data is. All bytes are counted; the high-water mark is part of the report.
 *
 * If no GPU is in use, RT_DEVICE is a separate host allocation filled with the repeated pattern
 * 0x7ff4: a signalling NaN as a double, a NaN in every shorter type, and an integer near 2^31. So a
 * forgotten copy gives NaN, and a test fails on a machine without a GPU too. RT_PINNED is then
 * ordinary host memory, counted separately.
 *
 * Not for several threads at once.
 */
#ifndef RT_MEM_H
#define RT_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include "base/extern_c.h"

RT_C_BEGIN

typedef enum { RT_HOST = 0, RT_PINNED = 1, RT_DEVICE = 2, RT_SPACES = 3 } rt_space_t;

const char *rt_space_name(rt_space_t space); /* "host", "pinned", "device" */

/* Allocates n * size bytes, aligned to 64 (host) or 128 (device). The content is undefined
 * (poisoned if rt_mem_poison is on). Returns NULL if n * size == 0. If n * size overflows or there
 * is no memory, the program ends with RT_MEMORY and one line that says how much was asked for, in
 * which space, and how much was free. Not collective. */
#define rt_alloc(n, size, space) rt_alloc_at(n, size, space, __FILE__, __LINE__)
void *rt_alloc_at(size_t n, size_t size, rt_space_t space, const char *file, int line);
/* Does the same, but returns NULL on failure. */
void *rt_try_alloc(size_t n, size_t size, rt_space_t space);
/* Frees what rt_alloc returned for the same space (checked). NULL is allowed. */
void rt_free(void *ptr, rt_space_t space);

/* Typed forms: double *u = RT_NEW(double, n, RT_DEVICE); RT_FREE(u, RT_DEVICE) also clears u. */
#ifdef __cplusplus
#define RT_NEW(type, n, space) static_cast<type *>(rt_alloc(n, sizeof(type), space))
#else
#define RT_NEW(type, n, space) ((type *)rt_alloc(n, sizeof(type), space))
#endif
#define RT_FREE(ptr, space) (rt_free((void *)(ptr), space), (ptr) = NULL)
/* Frees all of these pointers to memory of one space, and clears none: RT_FREE_ALL(RT_HOST, x, y). */
#define RT_FREE_ALL(space, ...)                                    \
    do {                                                           \
        const void *const all_[] = {__VA_ARGS__};                  \
        for (size_t k_ = 0; k_ < sizeof all_ / sizeof *all_; k_++) \
            rt_free((void *)all_[k_], space);                      \
    } while (0)

/* Copies bytes between any two spaces. The copy is complete on return, and comes after all work
 * already on the device's stream. A pinned or device pointer must point into a block from rt_alloc,
 * and no copy may run over the end of a block (checked). Pinned memory may be passed as RT_HOST,
 * but not vice versa. */
void rt_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space, size_t bytes);
/* Sets every byte. On the device this is ordered on the stream, and may still be running on
 * return. */
void rt_fill(void *dst, rt_space_t space, int byte, size_t bytes);
/* Returns a new array in `space` that holds a copy of n items from host memory. */
void *rt_clone(const void *host, size_t n, size_t size, rt_space_t space);

/* Turns on (or off) filling each new allocation with that pattern, in all spaces. It is off by
 * default, and RT_POISON=1 in the environment turns it on. RT_DEVICE without a GPU is always
 * filled. */
void rt_mem_poison(bool on);

/* Return the bytes in use, and the most in use since the last reset, in one space of this rank. */
size_t rt_mem_used(rt_space_t space);
size_t rt_mem_high_water(rt_space_t space);
void rt_mem_reset_high_water(void);
/* Returns the bytes that could be allocated now. For host and pinned: MemAvailable within the
 * limits of the cgroups, less what this rank has allocated and not touched yet. For the device: its
 * free memory, or that of the host if the device is emulated. */
size_t rt_mem_available(rt_space_t space);
/* True while RT_DEVICE is host memory. */
bool rt_mem_device_is_emulated(void);
/* Writes "12.3 GiB" to buf (at least 16 bytes); returns buf. */
char *rt_mem_format(double bytes, char *buf, size_t len);

RT_C_END
#endif
