/*
 * halo/staged.c - transport `staged`: MPI, from page-locked memory of the host.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "halo/transport.h"
#include "machine/comm.h"

enum { MOST_TAGS = 32768 };

typedef struct {
    rt_request_t *requests;
    int n, tag;
    int peer[];
} mpi_state_t;

static void *mpi_open(int n_peers, const int *peers, const size_t *most)
{
    /* All ranks open transports in the same order, so a number per transport keeps apart the
     * messages of two halos under way at once. MPI guarantees tags only up to 32767. */
    static int opened;
    mpi_state_t *state = malloc(sizeof *state + (size_t)n_peers * sizeof *peers);
    RT_EXPECT(state, RT_MEMORY, "no memory for %d neighbours", n_peers);
    (void)most;
    state->requests = rt_request_new(2 * n_peers);
    state->n = n_peers;
    state->tag = opened++ % MOST_TAGS;
    if (n_peers > 0)
        memcpy(state->peer, peers, (size_t)n_peers * sizeof *peers);
    return state;
}

static void mpi_close(void *opaque)
{
    mpi_state_t *state = opaque;
    rt_request_destroy(state->requests);
    free(state);
}

static void mpi_start(void *opaque, const void *send, const rt_halo_range_t *out, void *recv,
                      const rt_halo_range_t *in, size_t bytes)
{
    mpi_state_t *state = opaque;
    for (int m = 0; m < state->n; m++)
        if (in[m].count > 0)
            rt_request_recv(state->requests, (char *)recv + (size_t)in[m].first * bytes,
                            (size_t)in[m].count * bytes, state->peer[m], state->tag);
    for (int m = 0; m < state->n; m++)
        if (out[m].count > 0)
            rt_request_send(state->requests, (const char *)send + (size_t)out[m].first * bytes,
                            (size_t)out[m].count * bytes, state->peer[m], state->tag);
}

static void mpi_finish(void *opaque)
{
    mpi_state_t *state = opaque;
    rt_request_wait(state->requests);
}

const rt_transport_t rt_transport_staged = {.name = "staged",
                                            .buffer_space = RT_PINNED,
                                            .open = mpi_open,
                                            .close = mpi_close,
                                            .start = mpi_start,
                                            .finish = mpi_finish};
