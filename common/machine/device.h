/*
 * machine/device.h - which processor does the work, and on which rank.
 *
 * One GPU a rank, or none. A binary built with CUDA runs its CPU rungs on a machine without a
 * driver: nothing here fails because a GPU is absent, unless the user named one.
 */
#ifndef RT_DEVICE_H
#define RT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "machine/cores.h"
#include "machine/streams.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What runs a rung's loops. NVRTC in a ladder.def: a rung that CUDA runs, built if there is NVRTC.
 */
typedef enum { RT_CPU = 0, RT_CUDA = 1, RT_KOKKOS = 2, RT_NVRTC = RT_CUDA } rt_kind_t;
const char *rt_kind_name(rt_kind_t kind); /* "cpu", "cuda", "kokkos" */

typedef struct {
    int ordinal; /* as CUDA counts, after CUDA_VISIBLE_DEVICES */
    char name[256];
    char uuid[48]; /* "GPU-xxxxxxxx-xxxx-..." */
    char pci[24];
    int major, minor; /* compute capability */
    int multiprocessors;
    size_t memory;       /* bytes */
    size_t l2;           /* bytes */
    size_t shared;       /* bytes of shared memory that a block may ask for */
    int driver, runtime; /* CUDA versions as 13000 */
    double clock_ghz;    /* boost clock of the multiprocessors */
} rt_gpu_t;

/* Chooses this rank's GPU. `option` is --device: "auto" (a GPU if there is one that can be used),
 * "cpu" (none), or ordinals "0" or "0,1,3" that the host's ranks take in turn of their local rank.
 * "auto" hands the host's GPUs out in order of local rank, to each the first that is near its cores
 * (by hwloc). threads 0 = OMP_NUM_THREADS if set, else the cores of the affinity mask divided by
 * the ranks that were given the same mask (a launcher that binds has divided them already).
 * Collective. Ends with RT_ENVIRONMENT and one line of cause and remedy when a GPU that was named
 * cannot be had: no driver, no GPU, no such ordinal, its architecture not in this binary, or two
 * ranks on one GPU without share. With "auto" the same causes leave the rank without a GPU (all
 * ranks or none) and are told by rt_device_why_not, except two ranks on one GPU, which is refused,
 * since a silent fall back to the CPU would be timed as something else. */
void rt_device_select(const char *option, bool share, int threads);
/* Gives the GPU back. Call it after the last rt_free of device memory and after rt_timer_reset.
 * Collective. */
void rt_device_release(void);
/* Has the next rt_device_release call stop() once, before the streams close; the last one
 * registered is called first. All ranks must register the same functions in the same order, since
 * stop() may be collective. A function that is already registered stays registered once. */
void rt_device_at_release(void (*stop)(void));

const rt_gpu_t *rt_device_gpu(void); /* NULL without */
const char *rt_device_why_not(void); /* "" with a GPU, else one line */
/* Returns whether every rank has a GPU and no two ranks the same one. If not, text[len] says why
 * ("ranks 0 and 1 use the same GPU, GPU-xxxx"), the same on all ranks. Collective, after
 * rt_device_select. */
bool rt_device_own(char *text, size_t len);

/* Lines "rank 0: host, cores 0-15, GPU 0 NVIDIA H200 GPU-..." of all ranks, in order. Collective.
 */
void rt_device_print(FILE *out);

#ifdef __cplusplus
}
#endif
#endif
