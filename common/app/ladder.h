/*
 * app/ladder.h - the rungs of an app, in order.
 *
 * An app's ladder.def is an X-macro table; its rungs.c turns it into an array of rt_rung_t:
 *
 *   RUNG(layered, CUDA, shared, nek_layered, "one layer of the element at a time: ...")
 *        name     kind  after   kernels      what changed since the rung before, and why
 *
 * A rung whose kind was not built in stays listed, with the reason. An app with several jobs has a
 * ladder for each (gfnn-wave: its operator, its predictor, its solve), one after the other in
 * ladder.def.
 */
#ifndef RT_LADDER_H
#define RT_LADDER_H

#include <stdbool.h>
#include <stdio.h>
#include "machine/device.h"
#include "base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name;
    rt_kind_t kind;
    const char *after;   /* rung that it is compared with; "" for the first */
    const char *idea;    /* one line */
    const void *kernels; /* the app's function table; NULL: not in this build */
    const char *ladder;  /* which of the app's ladders; NULL if it has one */
} rt_rung_t;

/* In rungs.c: #define RUNG(name, kind, after, table, idea) {#name, RT_##kind, after,
 * RT_TABLE_##kind(table), idea}, with config.h included first. */
#define RT_TABLE_CPU(table) &(table)
#if defined(RT_HAVE_CUDA) && RT_HAVE_CUDA
#define RT_TABLE_CUDA(table) &(table)
#else
#define RT_TABLE_CUDA(table) NULL
#endif
#if defined(RT_HAVE_NVRTC) && RT_HAVE_NVRTC
#define RT_TABLE_NVRTC(table) &(table)
#else
#define RT_TABLE_NVRTC(table) NULL
#endif
#if defined(RT_HAVE_KOKKOS) && RT_HAVE_KOKKOS
#define RT_TABLE_KOKKOS(table) &(table)
#else
#define RT_TABLE_KOKKOS(table) NULL
#endif

/* NULL if this rung can run here and now (after rt_device_select), else one line of why not. */
const char *rt_rung_why_not(const rt_rung_t *rung);
/* Where its arrays live. */
rt_space_t rt_rung_space(const rt_rung_t *rung);
/* The first rung of the ladder that ladder[i] is on, if there are several; else 0. */
int rt_ladder_first(const rt_rung_t *ladder, int i);
/* The rung of that name, or NULL. */
const rt_rung_t *rt_ladder_find(const rt_rung_t *ladder, int n, const char *name);
/* --list: name, device, idea; what `more` (may be NULL) has to say; for a rung that cannot run,
 * why.
 */
void rt_ladder_print(const rt_rung_t *ladder, int n,
                     void (*more)(const void *context, const rt_rung_t *rung, FILE *out),
                     const void *context, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
