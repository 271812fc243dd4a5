/*
 * rt_tune.c - launch parameters of rungs.
 */
#include "config.h"
#include "rt.h"

const int *rt_tune_choice(const rt_run_t *run, const rt_rung_t *rung)
{
    static int choice[RT_TUNE_PARAMETERS];
    int count = 0;
    const rt_parameter_t *parameters =
        run->app->parameters ? run->app->parameters(rung, &count) : NULL;
    for (int p = 0; p < count; p++)
        choice[p] = parameters[p].initial;
    return choice;
}
