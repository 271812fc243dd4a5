/*
 * rt_tune.h - launch parameters of rungs, chosen by measuring them inside the application.
 *
 * A rung has parameters, each with a list of named values; the app says which values cannot go
 * together. The search sets up, verifies and times the whole application with one choice after the
 * other (CRESTA D3.5.2, section 4: what is best alone may be worse than the default inside), and
 * writes the best to a tuning file, for the device and the point (n, elements, ...) it was found
 * at. Later runs read it; a point that is not in it uses the nearest one and says so.
 */
#ifndef RT_TUNE_H
#define RT_TUNE_H

#include <stdbool.h>
#include "rt_ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_TUNE_PARAMETERS = 12, RT_TUNE_COORDINATES = 4, RT_TUNE_VALUES = 32 };

/* One thing to choose. */
typedef struct {
    const char *name, *about;
    const char *const *values; /* names, the last followed by NULL; at most RT_TUNE_VALUES */
    int initial;               /* index of the value without tuning */
} rt_parameter_t;

/* A coordinate of the point that a choice was made for; `weight` of a factor e in the distance from
 * one point to another. */
typedef struct {
    const char *name;
    double value, weight;
} rt_coordinate_t;

struct rt_run;

/* What is in force for a rung of this run: an index of a value for each parameter. Valid as long as
 * the run; never NULL. */
const int *rt_tune_choice(const struct rt_run *run, const rt_rung_t *rung);

#ifdef __cplusplus
}
#endif
#endif
