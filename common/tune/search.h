/* tune/search.h - --tune: the search for the fastest choice. Private to the driver and the tuner.
 */
#ifndef RT_SEARCH_H
#define RT_SEARCH_H

#include "app/app.h"

/* How a choice is tried. */
typedef struct {
    double seconds; /* for the windows of one trial */
    double give_up; /* one window is enough if a unit takes longer than this; 0: never */
    bool isolated; /* time the kernel alone instead of solves: seconds_per_unit is that of a call */
} rt_trial_t;

/* Runs the rung, with what rt_tune_choice says now, from set-up to verdict. Returns false, and runs
 * nothing, if the rung cannot run with it. Collective. */
typedef bool rt_attempt_t(const rt_run_t *run, void *problem, const rt_rung_t *rung,
                          const rt_trial_t *trial, rt_outcome_t *out);

typedef struct {
    const rt_rung_t *const *rungs; /* [n] in the order of the search: the most important first */
    int n;
    void *problem;
    double begin; /* rt_clock() when the time of --tune-seconds began; that of rank 0 counts */
    rt_attempt_t *attempt;
} rt_tune_plan_t;

/* Searches, and adds what it found to the tuning file. `root` (rank 0, may be NULL) receives what
 * was found. Collective. */
rt_status_t rt_tune_search(rt_run_t *run, const rt_tune_plan_t *plan, json_t *root);

#endif
