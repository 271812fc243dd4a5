/* app/context.h - what can be done with a run and asked of it, by the tuner as by the driver. */
#ifndef RT_CONTEXT_H
#define RT_CONTEXT_H

#include "app/app.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the input, if the app has one and it is not there yet. Collective. */
void rt_input_new(rt_run_t *run);
/* Gives back the input, if it is there. */
void rt_input_destroy(rt_run_t *run);
/* Makes a problem; makes the input first, if it is not there or an earlier problem was made of it.
 * One problem of a run at a time. Collective. */
void *rt_problem_new(rt_run_t *run);
/* Gives back the problem. The input stays, for its counts. */
void rt_problem_destroy(rt_run_t *run, void *problem);

/* Returns the rung that --rung asks for, or NULL. */
const rt_rung_t *rt_run_asked(const rt_run_t *run);
/* Returns whether --rung or --only ask for this rung, or neither was given. */
bool rt_run_wants(const rt_run_t *run, const rt_rung_t *rung);
/* Returns the app's extras, or an empty table. */
const rt_extras_t *rt_app_extras(const rt_app_t *app);

#ifdef __cplusplus
}
#endif
#endif
