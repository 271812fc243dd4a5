/*
 * tune/tune.h - launch parameters of rungs, chosen by measuring them inside the application.
 *
 * A rung has parameters, each with a list of named values; the rung says which values cannot go
 * together. The search sets up, verifies and times the whole application with one choice after
 * another (CRESTA D3.5.2, section 4: what is best alone may be slower than the default inside). It
 * writes the best to a tuning file, for the device and the point (n, elements, ...) where it was
 * found. Later runs read it; a point that is not in it uses the nearest one and says so.
 *
 * The tuning file is JSON, one line per entry (here broken):
 *
 *   {"rooftop-tuning": 2, "entries": [
 *   {"program": "nekbone", "version": "0.1.0", "device": "NVIDIA H200", "threads": 0, "ranks": 1,
 *    "point": {"n": 10.0, "elements": 512.0}, "rung": "packed",
 *    "choice": {"elements": "4", "unroll": "yes"}, "measured": "inside", "seconds": 1.44e-05,
 *    "date": "2025-01-31T12:00:00Z"}
 *   ]}
 *
 * device: the GPU of a rung that runs on one, and threads 0; else the processor's model and the
 * threads of a rank. point: the app's coordinates. choice: every parameter of the rung by name;
 * a rung without parameters is there because its time says which rung is the fastest. measured:
 * inside the application, seconds per unit; or isolated (--isolated), seconds per call of the
 * kernel.
 *
 * A file of another format, or one with any damage, is not used at all. An entry is not used if its
 * rung, parameters or values are unknown to this program, or if the rung refuses the values for its
 * problem. Either is reported, and the defaults are in force.
 */
#ifndef RT_TUNE_H
#define RT_TUNE_H

#include "app/ladder.h"

RT_C_BEGIN

struct rt_run;

/* Returns what is in force for a rung of this run: an index of a value for each parameter. Without
 * tuning these are the initial values, or, if the rung refuses them for its problem, the allowed
 * ones that differ in the fewest parameters. Never NULL, and valid as long as the run. The indices
 * change when the run is configured again or the tuner tries another choice, so each new solver
 * reads them anew. Not collective. */
const int *rt_tune_choice(const struct rt_run *run, const rt_rung_t *rung);

RT_C_END
#endif
