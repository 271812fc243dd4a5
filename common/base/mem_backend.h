/*
 * base/mem_backend.h - what base/mem.c asks of a kind of memory. Private to the runtime.
 *
 * Host memory is in base/mem.c itself. machine/device.c installs CUDA's while such a GPU is in use,
 * and machine/kokkos.cpp that of Kokkos where it alone reaches one.
 */
#ifndef RT_MEM_BACKEND_H
#define RT_MEM_BACKEND_H

#include "base/by_name.h"
#include "base/draw.h"
#include "base/mem.h"

RT_C_BEGIN

typedef struct {
    void *(*alloc)(size_t bytes, rt_space_t space); /* NULL on failure */
    void (*release)(void *ptr, rt_space_t space);
    void (*copy)(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                 size_t bytes);
    void (*fill)(void *dst, rt_space_t space, int byte, size_t bytes);
    /* in device memory */
    void (*draw)(void *x, const void *base, size_t n, size_t size, rt_draw_t draw);
    size_t (*available)(rt_space_t space);
} RT_BY_NAME rt_mem_backend_t;

/* Ordinary host memory for all three spaces; in use until another back-end is installed. */
extern const rt_mem_backend_t rt_mem_host;
/* CUDA's, of machine/memory.cu. */
extern const rt_mem_backend_t rt_mem_cuda;
/* Makes this the back-end of pinned and device memory that is allocated from now on, and of copies
 * and fills. Each block is released by the back-end that allocated it. RT_HOST is always
 * rt_mem_host. `backend` must stay valid. */
void rt_mem_set_backend(const rt_mem_backend_t *backend);
/* The pattern of base/mem.h, repeated. */
enum { RT_MEM_POISON = 0x7ff4 };
/* True if rt_mem_poison, or RT_POISON=1 in the environment, is on. */
bool rt_mem_is_poisoning(void);

RT_C_END
#endif
