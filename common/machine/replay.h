/*
 * machine/replay.h - work on the device's stream, recorded once and started as one (a CUDA graph).
 *
 * Meant for many short kernels: launched one by one they wait for the host, recorded they follow
 * one another on the device. Price: recording takes as long as some launches of everything in the
 * record, so it pays from the third run on; and kernel arguments keep the values they had when it
 * was recorded.
 */
#ifndef RT_REPLAY_H
#define RT_REPLAY_H

#include <stdint.h>
#include "machine/comm.h"

RT_C_BEGIN

typedef struct {
    void *graph; /* NULL: nothing is recorded */
    int64_t key;
    rt_traffic_t traffic; /* of the record */
} rt_replay_t;

/* Runs what enqueue(work) puts on rt_device_stream(). enqueue must not allocate, wait or use
 * timers. It is called if there is no record for this key yet, and each time if there is no stream.
 * It may exchange halos if rt_halo_on_stream says so. With several ranks, all of them call this or
 * none. */
void rt_replay(rt_replay_t *replay, int64_t key, void (*enqueue)(void *work), void *work);
void rt_replay_drop(rt_replay_t *replay);

RT_C_END
#endif
