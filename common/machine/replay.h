/*
 * machine/replay.h - work on the device's stream, recorded once and started as one (a CUDA graph).
 *
 * For many short kernels: launched one by one they wait for the host, recorded they follow one
 * another on the device. Price: making the record takes as long as some launches of all that is in
 * it, so it pays from the third run on; and what stands in the arguments of the kernels is what
 * stood there when it was made.
 */
#ifndef RT_REPLAY_H
#define RT_REPLAY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    void *graph; /* NULL: nothing is recorded */
    int64_t key;
} rt_replay_t;

/* enqueue(work) only puts work on rt_device_stream(): no allocation, nothing that waits, no timer.
 * It is called if the record was made for another key, or there is none; and each time, where
 * there is no stream. Halos may be in it if rt_halo_on_stream. Several ranks: all or none. */
void rt_replay(rt_replay_t *replay, int64_t key, void (*enqueue)(void *work), void *work);
void rt_replay_drop(rt_replay_t *replay);

#ifdef __cplusplus
}
#endif
#endif
