/*
 * judge/work.h - the work model: what an app must do, counted before it is measured.
 *
 * It counts flops and the *least* bytes (each input read once, each output written once), kernel by
 * kernel, summed over all ranks. Each app's work.c derives them, term by term.
 */
#ifndef RT_WORK_H
#define RT_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/extern_c.h"
#include "base/arithmetic.h"

RT_C_BEGIN

enum { RT_MAX_WORK = 24 };
typedef struct {
    const char *kernel;          /* also the timer's name */
    double calls;                /* per unit */
    double flops, read, written; /* per call; bytes */
    rt_arithmetic_t arithmetic;  /* of its flops, where the rung's is RT_MIXED */
    double launches; /* of a call: 1, or how many kernels wait for one another; others run beside */
    double barriers; /* of a call: how often all blocks of the kernel wait for all others */
} rt_work_line_t;

typedef struct {
    const char *unit; /* "iteration", "sweep", "assembly": what times are quoted for */
    double units;     /* in one solve */
    /* What every rung is credited with, whatever it does inside: the paper's count. */
    double flops, bytes; /* per unit */
    double points;       /* unique unknowns, or what the field counts per unit */
    const char *point;   /* what they are called: "point", "element" */
    /* What this rung does. */
    rt_work_line_t line[RT_MAX_WORK];
    int n;
    rt_arithmetic_t arithmetic; /* that most flops are done in */
    /* The measured roofline: arrays touched per unit, and bytes of one array on this rank. */
    int loads_and_stores, distinct_arrays;
    double array_bytes;
} rt_work_t;

/* A row of an app's table of work: what a kernel of some rungs does for each of what the app counts,
 * such as points, elements and values shared by elements. */
enum { RT_WORK_COUNTS = 12, RT_IN_FP32 = 64 };
typedef struct {
    const char *rungs; /* that have it, with a blank between their names */
    const char *kernel;
    double flops[RT_WORK_COUNTS], read[RT_WORK_COUNTS], written[RT_WORK_COUNTS]; /* bytes */
    int calls; /* which of `calls` are its own, and RT_IN_FP32 if its flops are */
} rt_work_row_t;
/* Adds a line for each row of that rung with calls per unit, and returns whether it has rows. */
bool rt_work_rows(const rt_work_row_t *rows, size_t n, const char *rung,
                  const double count[RT_WORK_COUNTS], const double *calls, rt_work_t *work);

/* Adds a line, in FP64, and returns it. All counts must be finite and not negative. */
rt_work_line_t *rt_work_add(rt_work_t *work, const char *kernel, double calls, double flops,
                            double read, double written);
/* Return the sums over all lines: calls * (read + written), and calls * flops. */
double rt_work_bytes(const rt_work_t *work);
double rt_work_flops(const rt_work_t *work);
/* Returns the bytes that the largest line touches in one call. */
double rt_work_touched(const rt_work_t *work);

RT_C_END
#endif
