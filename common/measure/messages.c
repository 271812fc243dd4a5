/* measure/messages.c - latency and bandwidth of messages between two ranks. */
#include "config.h"
#include "measure/messages.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "machine/comm.h"
#include "machine/timer.h"

/* Sends a message from rank 0 to rank 1 and back, `trips` times; returns seconds one way. The first
 * and the last byte are a serial number, so that no message can be taken for another. */
static double ping_pong(rt_request_t *request, unsigned char *data, size_t bytes, int trips)
{
    const int me = rt_comm_rank(), other = 1 - me, tag = 77;
    const double begin = rt_clock();
    for (int i = 0; i < trips; i++) {
        if (me == 0) {
            data[0] = data[bytes - 1] = (unsigned char)i;
            rt_request_send(request, data, bytes, other, tag);
            rt_request_wait(request);
        }
        /* spoiled, so that only a message that arrives can set it */
        data[0] = data[bytes - 1] = (unsigned char)(me == 0 ? i + 1 : i - 1);
        rt_request_recv(request, data, bytes, other, tag);
        rt_request_wait(request);
        RT_EXPECT(data[0] == (unsigned char)i && data[bytes - 1] == (unsigned char)i, RT_INVALID,
                  "message %d of the ping-pong of %zu bytes has another serial number", i, bytes);
        if (me == 1) {
            rt_request_send(request, data, bytes, other, tag);
            rt_request_wait(request);
        }
    }
    return (rt_clock() - begin) / (2.0 * trips);
}

enum { ROUNDS = 5 };

/* Returns the best of ROUNDS rounds, in seconds one way; the same on all ranks. */
static double ping_pong_best(size_t bytes, int trips)
{
    double best = 0;
    rt_comm_barrier();
    if (rt_comm_rank() < 2) {
        unsigned char *data = RT_NEW(unsigned char, bytes, RT_HOST);
        memset(data, 0, bytes);
        rt_request_t *request = rt_request_new(1);
        ping_pong(request, data, bytes, trips); /* connections are made by the first message */
        best = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            const double seconds = ping_pong(request, data, bytes, trips);
            best = seconds < best ? seconds : best;
        }
        rt_request_destroy(request);
        rt_free(data, RT_HOST);
    }
    rt_comm_bcast(&best, sizeof best, 0);
    return best;
}

void rt_messages_measure(double *latency, double *bandwidth)
{
    enum { SMALL = 8, SMALL_TRIPS = 200, LARGE = 1 << 20, LARGE_TRIPS = 10 }; /* bytes */
    *latency = *bandwidth = 0;
    if (rt_comm_size() < 2)
        return;
    *latency = ping_pong_best(SMALL, SMALL_TRIPS);
    *bandwidth = LARGE / ping_pong_best(LARGE, LARGE_TRIPS);
}
