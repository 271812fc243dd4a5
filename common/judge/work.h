/*
 * judge/work.h - the work model: what an app must do, counted before it is measured.
 *
 * Flops and the *least* bytes (each input read once, each output written once), kernel by kernel,
 * summed over all ranks. Each app's work.c derives them, term by term.
 */
#ifndef RT_WORK_H
#define RT_WORK_H

#include "base/arithmetic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_MAX_WORK = 24 };
typedef struct {
    const char *kernel;          /* the timer's name too */
    double calls;                /* a unit */
    double flops, read, written; /* a call; bytes */
} rt_work_line_t;

typedef struct {
    const char *unit; /* "iteration", "sweep", "assembly": what times are quoted for */
    double units;     /* in one solve */
    /* What every rung is credited with, whatever it does inside: the paper's count. */
    double flops, bytes; /* a unit */
    double points;       /* unique unknowns, or whatever the field counts a unit by */
    const char *point;   /* what they are called: "point", "element" */
    /* What this rung does. */
    rt_work_line_t line[RT_MAX_WORK];
    int n;
    rt_arithmetic_t arithmetic; /* that most flops are done in */
    /* The measured roofline: arrays touched a unit, and bytes of one on this rank. */
    int loads_and_stores, distinct_arrays;
    double array_bytes;
} rt_work_t;

/* Adds a line. */
void rt_work_add(rt_work_t *work, const char *kernel, double calls, double flops, double read,
                 double written);
/* Sum over lines of calls * (read + written), and of calls * flops. */
double rt_work_bytes(const rt_work_t *work);
double rt_work_flops(const rt_work_t *work);

#ifdef __cplusplus
}
#endif
#endif
