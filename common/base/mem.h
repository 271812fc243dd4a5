/*
 * base/mem.h - memory spaces.
 *
 * Three spaces: ordinary host memory, page-locked host memory (what a GPU copies from at full
 * speed) and the device's own memory. Both ends of a copy are always named, so that reading a
 * line tells where the data is. All bytes are counted; the high-water mark is part of the report.
 *
 * Where no GPU is in use, RT_DEVICE is a separate host allocation filled with 0x7ff4 over and over:
 * a signalling NaN as a double, a NaN in every shorter type, and an integer near 2^31. So a copy
 * that was forgotten gives NaN, and a test fails on a machine without a GPU too. RT_PINNED is then
 * ordinary host memory, counted apart.
 *
 * Not for several threads at once.
 */
#ifndef RT_MEM_H
#define RT_MEM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RT_HOST = 0, RT_PINNED = 1, RT_DEVICE = 2, RT_SPACES = 3 } rt_space_t;

const char *rt_space_name(rt_space_t space); /* "host", "pinned", "device" */

/* n * size bytes, aligned to 64 (host) or 256 (device); content undefined (poisoned when
 * rt_mem_poison is on). n * size == 0 gives NULL. Overflow of n * size, or no memory: the program
 * ends with RT_MEMORY and one line that says what was asked, for what, and what was free; nothing
 * else is lost. Not collective. */
#define rt_alloc(n, size, space) rt_alloc_at(n, size, space, __FILE__, __LINE__)
void *rt_alloc_at(size_t n, size_t size, rt_space_t space, const char *file, int line);
/* The same, but NULL on failure. */
void *rt_try_alloc(size_t n, size_t size, rt_space_t space);
/* Only what rt_alloc of the same space gave (checked), or NULL. */
void rt_free(void *ptr, rt_space_t space);

/* Typed forms: double *u = RT_NEW(double, n, RT_DEVICE); RT_FREE(u, RT_DEVICE) also clears u. */
#ifdef __cplusplus
#define RT_NEW(type, n, space) static_cast<type *>(rt_alloc(n, sizeof(type), space))
#else
#define RT_NEW(type, n, space) ((type *)rt_alloc(n, sizeof(type), space))
#endif
#define RT_FREE(ptr, space) (rt_free((void *)(ptr), space), (ptr) = NULL)

/* Copy bytes between any two spaces. Complete on return, and ordered after all work already on the
 * device's stream. A pinned or device pointer must lie in what rt_alloc gave, and no copy may run
 * over the end of a block (checked). Pinned memory may be called host, not the other way round. */
void rt_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space, size_t bytes);
/* Set every byte; the device's work is ordered on its stream, and may still be under way on return.
 */
void rt_fill(void *dst, rt_space_t space, int byte, size_t bytes);
/* A new array in `space` holding a copy of n items from host memory. */
void *rt_clone(const void *host, size_t n, size_t size, rt_space_t space);

/* Fill every new allocation with that pattern, in all spaces (off; RT_DEVICE without a GPU is
 * always filled). Environment RT_POISON=1 turns it on. */
void rt_mem_poison(bool on);

/* Bytes in use, and most ever in use since the last reset, in one space of this rank. */
size_t rt_mem_used(rt_space_t space);
size_t rt_mem_high_water(rt_space_t space);
void rt_mem_reset_high_water(void);
/* Bytes that could be had now: for host and pinned, MemAvailable within the cgroups' limits, less
 * what was promised to this rank and not touched yet; the device's free memory; of the emulated
 * device the host's. */
size_t rt_mem_available(rt_space_t space);
/* True when RT_DEVICE is host memory in disguise. */
bool rt_mem_device_is_emulated(void);
/* "12.3 GiB" into buf (at least 16 bytes); returns buf. */
char *rt_mem_format(double bytes, char *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif
