/*
 * machine/streams.h - the streams on which a rank's GPU works.
 */
#ifndef RT_STREAMS_H
#define RT_STREAMS_H

#include "base/extern_c.h"

RT_C_BEGIN

/* Returns the one stream on which everything of this rank is ordered: a cudaStream_t, NULL without
 * a GPU. */
void *rt_device_stream(void);

/* Let messages, and the work that belongs to them, run on a second stream of higher priority.
 * Between begin and end rt_device_stream() returns that stream; it starts when the first stream has
 * done all that it was given before begin. The first stream goes on, and waits for the second at
 * join. Between begin and end, further calls of begin, end and join change nothing; nor do they
 * between forbid and allow. Forking and joining streams costs some microseconds, which is wasted if
 * no other work can overlap. Without a GPU these functions do nothing. */
void rt_side_begin(void);
void rt_side_end(void);
void rt_side_join(void);
void rt_side_forbid(void);
void rt_side_allow(void);

/* Private to machine/device.c. Open returns 0 or a cudaError_t, with whatever could be opened left
 * for rt_streams_close. */
int rt_streams_open(void);
void rt_streams_close(void);

RT_C_END
#endif
