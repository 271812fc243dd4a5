/*
 * measure/steady.h - was the machine left alone while a rung was timed? A figure from a disturbed
 * machine says more about the disturbance than about the machine. So the rung is UNSTEADY: its
 * answer is right, and it has no figure of merit.
 */
#ifndef RT_STEADY_H
#define RT_STEADY_H

#include <stdbool.h>
#include "base/text.h"
#include "measure/ceiling.h"

RT_C_BEGIN

/* The most of each that a steady machine shows. */
#define RT_MOST_SPREAD 0.10             /* of windows: (longest - shortest) / median */
#define RT_MOST_WAITED 0.03             /* of a thread's time, ready to run and without a core */
#define RT_MOST_STOLEN 0.03             /* of the cores' time, taken by a hypervisor */
#define RT_MOST_SLOWED RT_CEILING_NOISE /* of the ceilings: how far below the job's highest */

/* What disturbed a rung, as shares; 0: nothing, or not known. */
typedef struct {
    double spread, waited, stolen, slowed;
    double
        share; /* of a ceiling, where neither measuring longer nor measuring again explained it */
} rt_unrest_t;

enum { RT_UNRESTS = 5 };
/* Writes a text for each disturbance that exceeds its limit ("windows differ by 14.2 %"); returns
 * how many there are. 0: the machine was steady. */
int rt_unrest_said(const rt_unrest_t *unrest, rt_text_t said[RT_UNRESTS]);
bool rt_steady(const rt_unrest_t *unrest);

RT_C_END
#endif
