/*
 * base/progress.h - says how far long work is: a line on stderr every 10 s, and every 5 s on a
 * terminal. Short runs say nothing. A thread that sleeps prints, so that one long call needs no
 * marks within.
 *
 *     nekbone: 40 s, rung 5 of 12: verifying jammed; about 55 s left
 *
 * Rank 0 starts it, unless the user wants quiet. The other functions do nothing before that.
 */
#ifndef RT_PROGRESS_H
#define RT_PROGRESS_H

#include "base/error.h"

RT_C_BEGIN

/* `every`: seconds between two lines; 0: as above. */
void rt_progress_start(int every);
void rt_progress_stop(void);
/* Say what is being done from now on; "" : nothing that should be talked of. */
void rt_progress(const char *fmt, ...) RT_PRINTF(1, 2);
/* Says that the work has `total` parts of this kind ("rung"), of which `done` are finished. The
 * time left is estimated from that, from the first call with done = 0 on. */
void rt_progress_parts(const char *kind, int done, int total);
/* Says what share of all parts is finished, where they take different times. Until the next
 * rt_progress_parts the time left is estimated from it. */
void rt_progress_share(double share);

RT_C_END
#endif
