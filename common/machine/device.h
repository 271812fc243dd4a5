/*
 * machine/device.h - which processor does the work on each rank.
 *
 * A rank has one GPU or none. A binary built with CUDA runs its CPU rungs on a machine without a
 * driver too: nothing here fails because a GPU is absent, unless the user named one.
 */
#ifndef RT_DEVICE_H
#define RT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/mem.h"
#include "machine/cores.h"
#include "machine/streams.h"

RT_C_BEGIN

/* What runs a rung's loops. */
typedef enum { RT_CPU = 0, RT_CUDA = 1, RT_KOKKOS = 2, RT_OPENACC = 3 } rt_kind_t;
const char *rt_kind_name(rt_kind_t kind); /* "cpu", "cuda", "kokkos", "openacc" */

/* Of a GPU that Kokkos alone reaches, ordinal, name, pci, multiprocessors, memory and, with CUDA,
 * driver are known. The rest is 0, and uuid is where the GPU is. */
typedef struct {
    int ordinal; /* the number that CUDA or Kokkos gives it, after CUDA_VISIBLE_DEVICES */
    char name[256];
    char uuid[48];    /* "GPU-xxxxxxxx-xxxx-..." */
    char pci[24];     /* 0000:c1:00.0, "" if not known */
    int major, minor; /* compute capability */
    int multiprocessors;
    size_t memory; /* bytes */
    size_t l2;     /* bytes */
    size_t shared; /* bytes of shared memory that a block may have */
    int driver;    /* CUDA version, such as 13000 */
} rt_gpu_t;

/* Chooses this rank's GPU and its number of threads. Collective. `option` is --device: "auto" (a
 * GPU if one can be used), "cpu" (none), or ordinals "0" or "0,1,3", which the ranks of a host take
 * in the order of their local rank. "auto" assigns the host's GPUs in order of local rank; each
 * rank gets the first free one that is near its cores (by hwloc). threads 0: OMP_NUM_THREADS if
 * set, else the cores of the affinity mask divided by the ranks that were given the same mask (a
 * launcher that binds has divided them already). If a named GPU cannot be used, ends with
 * RT_ENVIRONMENT and one line of cause and remedy: no driver, no GPU, no such ordinal, its
 * architecture not in this binary, or two ranks on one GPU without `share`. With "auto" the same
 * causes leave all ranks without a GPU, and rt_device_why_not returns the cause. Two ranks on one
 * GPU are refused with "auto" too, because a silent change to the CPU would time something else. */
void rt_device_select(const char *option, bool share, int threads);
/* Gives the GPU back. Call it after the last rt_free of device memory and after rt_timer_reset.
 * Collective. */
void rt_device_release(void);
/* Has the next rt_device_release call stop() once, before the streams close; the last one
 * registered is called first. All ranks must register the same functions in the same order, since
 * stop() may be collective. A function that is already registered stays registered once. */
void rt_device_at_release(void (*stop)(void));

/* Returns whether rungs of this kind run on a GPU here. After the back-ends were started. */
bool rt_kind_on_gpu(rt_kind_t kind);
/* Returns the space for the arrays of such rungs: RT_DEVICE on a GPU and, except for RT_CPU, where
 * RT_DEVICE is emulated (so that a missing copy is caught); else RT_HOST. */
rt_space_t rt_kind_space(rt_kind_t kind);

/* Waits for the stream of this rank's GPU; dies on a pending device error. */
void rt_device_synchronize(void);

const rt_gpu_t *rt_device_gpu(void); /* NULL without */
const char *rt_device_why_not(void); /* "" with a GPU, else one line of why there is none */
/* Returns whether every rank has a GPU and no two ranks the same one. If not, text[len] says why
 * ("ranks 0 and 1 use the same GPU, GPU-xxxx"), the same on all ranks. Collective, after
 * rt_device_select. */
bool rt_device_own(char *text, size_t len);

/* Prints lines "rank 0: host, cores 0-15, GPU 0 NVIDIA H200 GPU-..." of all ranks, in order.
 * Collective. */
void rt_device_print(FILE *out);

RT_C_END
#endif
