/* app/context.h - operations and queries on a run, for the tuner and the driver. */
#ifndef RT_CONTEXT_H
#define RT_CONTEXT_H

#include "app/app.h"

RT_C_BEGIN

/* Makes the input, if the app has one and it does not exist yet. Collective. */
void rt_input_new(rt_run_t *run);
/* Frees the input, if there is one. */
void rt_input_destroy(rt_run_t *run);
/* Makes a problem; makes the input first, if there is none or an earlier problem was made of it.
 * A run may have one problem at a time. Collective. */
void *rt_problem_new(rt_run_t *run);
/* Frees the problem. The input stays, for its counts. */
void rt_problem_destroy(rt_run_t *run, void *problem);

/* Returns whether the user gave this option of the app. */
bool rt_run_given(const rt_run_t *run, const char *name);
/* If `ignored`, refuses the options of the app in `names` ("cells jitter") that the user gave
 * another value than the default: "--cells: " and why it means nothing here. */
void rt_run_refuse_ignored(const rt_run_t *run, bool ignored, const char *names, const char *why);
/* Returns the rung of that name, or NULL. */
const rt_rung_t *rt_app_rung(const rt_app_t *app, const char *name);
/* Returns the rung that --rung asks for, or NULL. */
const rt_rung_t *rt_run_asked(const rt_run_t *run);
/* Returns whether --rung or --only ask for this rung, or neither was given. */
bool rt_run_wants(const rt_run_t *run, const rt_rung_t *rung);
/* Returns the app's extras, or an empty table. */
const rt_extras_t *rt_app_extras(const rt_app_t *app);

RT_C_END
#endif
