/*
 * driver/driver.h - the driver: takes every app through the same life (app/app.h), from the command
 * line to the exit status.
 */
#ifndef RT_DRIVER_H
#define RT_DRIVER_H

#include "app/app.h"
#include "app/context.h"

RT_C_BEGIN

/* Runs the whole program. Returns the exit status. */
int rt_app_main(const rt_app_t *app, int argc, char **argv);

/* --- parts of it, for tests --- */

/* Sets up a run without a command line: the app's defaults and the given "name=value ...". */
void rt_run_init(rt_run_t *run, const rt_app_t *app, const char *settings);
/* Frees the run, and its input if there is one. */
void rt_run_destroy(rt_run_t *run);
/* Calls the app's configure, then applies what is tuned for these extents. Frees the input, which
 * belonged to other extents. */
void rt_run_configure(rt_run_t *run);
/* Chooses the largest extents for which the memory, where the arrays are, stays below target_bytes
 * on every rank, and all memory fits. Then configures. */
void rt_run_size(rt_run_t *run, double target_bytes);
/* Runs one rung from set-up to verdict, on a problem that exists; fills *out. With seconds <= 0:
 * verifies and solves once, and times nothing. `meter`: of the rung's processor, to judge whether
 * the machine was steady and could have done that; NULL: neither is judged but by the spread.
 * `extra` (may be NULL) receives the app's result. */
void rt_run_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung, rt_meter_t *meter,
                 rt_outcome_t *out, json_t *extra);

RT_C_END
#endif
