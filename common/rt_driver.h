/* rt_driver.h - private to the driver: what rt_app.c, rt_run.c and rt_study.c share. */
#ifndef RT_DRIVER_H
#define RT_DRIVER_H

#include "rt_app.h"
#include "rt_ceiling.h"
#include "rt_error.h"

enum { RT_OPTION_SETS = 2 };

/* The option table of the driver and that of the app, reading into `run`. */
void rt_run_option_sets(rt_run_t *run, rt_opt_set_t sets[RT_OPTION_SETS]);
/* "name=value name=value": as if a case file had these lines. Does not configure. */
void rt_run_assign(rt_run_t *run, const char *settings);

/* Why this rung cannot run this problem here (absent, refused, too large), or NULL. With `fatal`
 * the program ends instead, with the right status. The text is valid until the next call. */
const char *rt_run_obstacle(const rt_run_t *run, const rt_rung_t *rung, bool fatal);
/* Kind of processor that a rung's arrays are worked on by: RT_CPU or RT_CUDA. */
rt_kind_t rt_run_processor(const rt_rung_t *rung);
/* --roofline. Returns the exit status. */
rt_status_t rt_study_roofline(rt_run_t *run, json_t *root);

#endif
