/*
 * halo/transports.c - which transport serves a halo: the one that was named, or the fastest of
 * those that bring the right values in a trial.
 */
#include "config.h"
#include "halo/state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/mem.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "machine/timer.h"

/* What --transport may name. A new transport is one line here. */
static const struct {
    const char *name;
    const rt_transport_t *transport; /* NULL: not in this build */
} known[] = {{"staged", &rt_transport_staged},
#if RT_HAVE_NCCL
             {"nccl", &rt_transport_nccl},
#else
             {"nccl", NULL},
#endif
#if RT_HAVE_CUDA
             {"peer", &rt_transport_peer}
#else
             {"peer", NULL}
#endif
};
enum { KNOWN = sizeof known / sizeof *known };

static bool on_gpu(const rt_halo_t *halo)
{
    return halo->plan_space == RT_DEVICE && !rt_mem_device_is_emulated();
}

/* Returns NULL, or why this transport cannot serve this halo. Collective. */
static const char *why_not(const rt_halo_t *halo, const rt_transport_t *transport)
{
    if (!transport)
        return "not in this build";
    if (transport->buffer_space != RT_DEVICE)
        return NULL;
    if (!on_gpu(halo))
        return "it moves device memory, and the arrays of this run are in host memory";
    return transport->why_not ? transport->why_not(halo->n_peers, halo->peer) : NULL;
}

/* Fills the outgoing messages with known values or, with `check`, returns whether the messages that
 * arrived hold them. values: n_slots slots in host memory. */
static bool trial_messages(const rt_halo_t *halo, double *values, bool check)
{
    const int me = rt_comm_rank();
    bool right = true;
    for (int m = 0; m < halo->n_peers; m++) {
        const rt_halo_range_t *range = &halo->in[RT_HALO_SUM][m]; /* the same both ways */
        const int peer = halo->peer[m];
        double *value = values + range->first * halo->max_components;
        for (int64_t i = 0; i < range->count * halo->max_components; i++)
            if (check)
                right = right && value[i] == rt_trial_value(peer, me, i);
            else
                value[i] = rt_trial_value(me, peer, i);
    }
    return right;
}

/* Exchanges the largest messages a few times and returns whether what arrived is right. *seconds:
 * per exchange on the slowest rank, back to back as in a solver; the best of a few rows.
 * Collective. */
static bool try_transport(rt_halo_t *halo, const rt_transport_t *transport, double *seconds)
{
    enum { ROWS = 4, EXCHANGES = 5 };
    const size_t bytes = (size_t)halo->n_slots * rt_halo_slot_bytes(halo);
    double *values = rt_alloc((size_t)halo->n_slots, rt_halo_slot_bytes(halo), RT_HOST), right;
    rt_halo_wire_open(halo, transport);
    halo->job.op = RT_HALO_SUM;
    halo->job.field = (rt_field_t){NULL, RT_F64, halo->max_components, 1, 0};
    trial_messages(halo, values, false);
    if (bytes > 0) {
        rt_copy(halo->packed_send, halo->packed_space, values, RT_HOST, bytes);
        rt_fill(halo->packed_recv, halo->packed_space, 0xff, bytes);
    }
    *seconds = 0;
    for (int row = 0; row < ROWS; row++) {
        rt_comm_barrier();
        double taken = -rt_clock();
        for (int i = 0; i < EXCHANGES; i++) {
            rt_halo_wire_leave(halo);
            rt_halo_wire_start(halo);
            rt_halo_wire_arrive(halo);
        }
        halo->kernels->mark();
        halo->kernels->wait();
        taken = (taken + rt_clock()) / EXCHANGES;
        rt_comm_max(&taken, 1);
        if (row == 1 || (row > 1 && taken < *seconds)) /* the first row warms up */
            *seconds = taken;
    }
    if (bytes > 0)
        rt_copy(values, RT_HOST, halo->packed_recv, halo->packed_space, bytes);
    right = trial_messages(halo, values, true);
    rt_comm_min(&right, 1);
    RT_FREE(values, RT_HOST);
    rt_halo_wire_close(halo);
    return right > 0;
}

static const char wrong_values[] = "it brought wrong values in a trial";

/* Returns the fastest transport that works. All ranks have the same times, so they choose the same.
 */
static const rt_transport_t *fastest(rt_halo_t *halo)
{
    const rt_transport_t *best = NULL;
    const char *why[KNOWN];
    double best_seconds = 0, seconds = 0;
    int candidates = 0;
    for (int i = 0; i < KNOWN; i++) {
        why[i] = why_not(halo, known[i].transport);
        candidates += !why[i];
    }
    size_t length = 0;
    for (int i = 0; i < KNOWN; i++) {
        char *to = halo->choice + length;
        size_t room = sizeof halo->choice - length;
        if (!why[i] && candidates > 1 && !try_transport(halo, known[i].transport, &seconds))
            why[i] = wrong_values;
        if (why[i])
            snprintf(to, room, "%s%s: %s", i ? "; " : "", known[i].name, why[i]);
        else if (candidates > 1)
            snprintf(to, room, "%s%s: %.1f us", i ? "; " : "", known[i].name, 1e6 * seconds);
        else
            snprintf(to, room, "%s%s: the only one that works", i ? "; " : "", known[i].name);
        length += strlen(to);
        if (!why[i] && (!best || seconds < best_seconds)) {
            best = known[i].transport;
            best_seconds = seconds;
        }
    }
    if (!best)
        rt_refuse(RT_ENVIRONMENT, "no transport works between the ranks: %s", halo->choice);
    return best;
}

/* Returns the transport's index among those known, or KNOWN for auto; refuses other names. */
static int find_transport(const char *name)
{
    int i = 0;
    while (i < KNOWN && strcmp(name, known[i].name) != 0)
        i++;
    if (i == KNOWN && strcmp(name, "auto") != 0)
        rt_refuse(RT_USAGE, "--transport %s: there are auto, staged, nccl, peer, none", name);
    if (i < KNOWN && !known[i].transport)
        rt_refuse(RT_ENVIRONMENT, "--transport %s: not in this build; use auto", name);
    return i;
}

void rt_transport_check(const char *name)
{
    if (strcmp(name, "none") != 0)
        find_transport(name);
}

bool rt_halo_is_cut(const char *transport)
{
    return strcmp(transport, "none") == 0 && rt_comm_size() > 1;
}

const rt_transport_t *rt_halo_choose_transport(rt_halo_t *halo, const char *name)
{
    if (strcmp(name, "none") == 0) {
        snprintf(halo->choice, sizeof halo->choice, "none: asked for, ranks do not communicate");
        return NULL;
    }
    const int i = find_transport(name);
    if (rt_comm_size() == 1) {
        snprintf(halo->choice, sizeof halo->choice, "none: one rank sends no messages");
        return NULL;
    }
    if (i == KNOWN)
        return fastest(halo);
    if (known[i].transport->buffer_space == RT_DEVICE && !on_gpu(halo) && rt_device_gpu()) {
        snprintf(halo->choice, sizeof halo->choice, "staged: %s is for what lies on the GPU", name);
        return &rt_transport_staged;
    }
    double seconds;
    const char *why = why_not(halo, known[i].transport);
    if (!why && !try_transport(halo, known[i].transport, &seconds))
        why = wrong_values;
    if (why)
        rt_refuse(RT_ENVIRONMENT, "--transport %s: %s; use auto", name, why);
    snprintf(halo->choice, sizeof halo->choice, "%s: asked for, %.1f us", name, 1e6 * seconds);
    return known[i].transport;
}
