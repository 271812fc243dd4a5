/*
 * halo/staged.c - transport `staged`: MPI, from page-locked memory of the host.
 */
#include "config.h"
#include <stdlib.h>
#include "base/error.h"
#include "halo/transport.h"
#include "machine/comm.h"

enum { MOST_TAGS = 32768 };

typedef struct {
    rt_request_t *requests;
    int tag;
} mpi_state_t;

static void *mpi_open(int n_peers, const int *peers, const size_t *most)
{
    /* All ranks open transports in the same order, so a number per transport keeps apart the
     * messages of two halos under way at once. MPI guarantees tags only up to 32767. */
    static int opened;
    mpi_state_t *state = malloc(sizeof *state);
    RT_EXPECT(state, RT_MEMORY, "no memory for %d neighbours", n_peers);
    (void)peers, (void)most;
    state->requests = rt_request_new(2 * n_peers);
    state->tag = opened++ % MOST_TAGS;
    return state;
}

static void mpi_close(void *opaque)
{
    mpi_state_t *state = opaque;
    rt_request_destroy(state->requests);
    free(state);
}

static void mpi_start(void *opaque, const rt_messages_t *x)
{
    mpi_state_t *state = opaque;
    const size_t bytes = x->bytes_per_value;
    for (int m = 0; m < x->n_peers; m++)
        if (x->in[m].count > 0)
            rt_request_recv(state->requests, (char *)x->recv + (size_t)x->in[m].first * bytes,
                            (size_t)x->in[m].count * bytes, x->peers[m], state->tag);
    for (int m = 0; m < x->n_peers; m++)
        if (x->out[m].count > 0)
            rt_request_send(state->requests,
                            (const char *)x->send + (size_t)x->out[m].first * bytes,
                            (size_t)x->out[m].count * bytes, x->peers[m], state->tag);
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
