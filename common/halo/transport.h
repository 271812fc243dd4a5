/*
 * halo/transport.h - how packed messages move between ranks. A new transport is one table.
 */
#ifndef RT_HALO_TRANSPORT_H
#define RT_HALO_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/by_name.h"
#include "base/mem.h"

RT_C_BEGIN

typedef struct {
    int64_t first, count;
} rt_halo_range_t;

/* The messages of an exchange. Buffers are in buffer_space (for fields in host memory: always RT_HOST).
 * `send` and `recv` hold values of bytes_per_value each. Message m to rank peers[m] is range out[m] of
 * `send`; the message from it goes to range in[m] of `recv`. An empty message is not sent. */
typedef struct {
    int n_peers;
    const int *peers;
    const void *send;
    void *recv;
    const rt_halo_range_t *out, *in;
    size_t bytes_per_value;
} rt_messages_t;

typedef struct {
    const char *name;
    rt_space_t buffer_space; /* where the packed buffers live: RT_PINNED for staged */
    /* Called by all ranks, in the same order. most[m]: bytes of the largest message to or from
     * peers[m], the same on both. NULL: there is no state. */
    void *(*open)(int n_peers, const int *peers, const size_t *most);
    void (*close)(void *state); /* likewise */
    /* Start and finish only put work on the second stream (machine/device.h) if on_stream;
     * otherwise start is called when the packed values are there. */
    void (*start)(void *state, const rt_messages_t *messages);
    void (*finish)(void *state);
    /* Returns NULL, or why it cannot serve these ranks. Collective. May be NULL: it always can. */
    const char *(*why_not)(int n_peers, const int *peers);
    bool on_stream;
} RT_BY_NAME rt_transport_t;

extern const rt_transport_t rt_transport_staged;
extern const rt_transport_t rt_transport_nccl; /* in builds with NCCL */
extern const rt_transport_t rt_transport_peer; /* in builds with CUDA */

/* Refuses a name that --transport does not know, or that this build lacks. */
void rt_transport_check(const char *name);

/* Value i that rank `from` sends to rank `to` in a trial. */
static inline double rt_trial_value(int from, int to, int64_t i)
{
    return 1 + from + 1000.0 * to + (double)i / 1048576;
}

RT_C_END
#endif
