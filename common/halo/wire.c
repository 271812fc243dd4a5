/*
 * halo/wire.c - packed messages on their way: buffers, staging between spaces, and the transport's
 * calls.
 */
#include "config.h"
#include "halo/state.h"
#include "base/error.h"
#include "base/mem.h"

size_t rt_halo_slot_bytes(const rt_halo_t *halo)
{
    return (size_t)halo->max_components * sizeof(double);
}

/* Kernels pack where they run; if the transport reads elsewhere, the packed values are staged. */
void rt_halo_wire_open(rt_halo_t *halo, const rt_transport_t *transport)
{
    size_t n = (size_t)halo->n_slots, bytes = rt_halo_slot_bytes(halo);
    const size_t used = rt_mem_used(RT_DEVICE);
    size_t *most = RT_NEW(size_t, (size_t)halo->n_peers, RT_HOST);
    for (int m = 0; m < halo->n_peers;
         m++) /* those of a sum are the largest, and the same both ways */
        most[m] = (size_t)halo->in[RT_HALO_SUM][m].count * bytes;
    halo->transport = transport;
    halo->transport_state =
        transport->open ? transport->open(halo->n_peers, halo->peer, most) : NULL;
    halo->transport_bytes = rt_mem_used(RT_DEVICE) - used;
    RT_FREE(most, RT_HOST);
    halo->packed_space = halo->plan_space;
    halo->wire_space = halo->plan_space == RT_HOST ? RT_HOST : transport->buffer_space;
    halo->packed_send = rt_alloc(n, bytes, halo->packed_space);
    halo->packed_recv = rt_alloc(n, bytes, halo->packed_space);
    halo->wire_send = halo->packed_send;
    halo->wire_recv = halo->packed_recv;
    if (halo->wire_space != halo->packed_space) {
        halo->wire_send = rt_alloc(n, bytes, halo->wire_space);
        halo->wire_recv = rt_alloc(n, bytes, halo->wire_space);
    }
}

void rt_halo_wire_close(rt_halo_t *halo)
{
    if (!halo->transport)
        return;
    if (halo->transport->close)
        halo->transport->close(halo->transport_state);
    if (halo->wire_send != halo->packed_send) {
        rt_free(halo->wire_send, halo->wire_space);
        rt_free(halo->wire_recv, halo->wire_space);
    }
    RT_FREE(halo->packed_send, halo->packed_space);
    RT_FREE(halo->packed_recv, halo->packed_space);
    halo->transport = NULL;
    halo->transport_bytes = 0;
}

/* Copies ranges between the packed and the wire buffers, adjacent ranges in one go. */
static void stage(const rt_halo_t *halo, const rt_halo_range_t *range, void *dst,
                  rt_space_t dst_space, const void *src, rt_space_t src_space, size_t bytes)
{
    if (dst == src)
        return;
    for (int m = 0, last; m < halo->n_peers; m = last) {
        int64_t first = range[m].first, end = first + range[m].count;
        for (last = m + 1; last < halo->n_peers && range[last].first == end; last++)
            end += range[last].count;
        if (end > first)
            halo->kernels->copy((char *)dst + (size_t)first * bytes, dst_space,
                                (const char *)src + (size_t)first * bytes, src_space,
                                (size_t)(end - first) * bytes);
    }
}

size_t rt_halo_wire_bytes(const rt_halo_t *halo)
{
    size_t slots = 0;
    for (int m = 0; m < halo->n_peers; m++)
        slots += (size_t)halo->out[halo->job.op][m].count;
    return slots * rt_halo_entry_bytes(&halo->job.field);
}

void rt_halo_wire_leave(rt_halo_t *halo)
{
    stage(halo, halo->out[halo->job.op], halo->wire_send, halo->wire_space, halo->packed_send,
          halo->packed_space, rt_halo_entry_bytes(&halo->job.field));
    if (!halo->transport->on_stream)
        halo->kernels->mark();
}

/* Sends once the packed values have reached the wire. Waiting for that, on the host or the stream,
 * includes all older work of the queue, so nothing reads the receive buffers any more. */
void rt_halo_wire_start(rt_halo_t *halo)
{
    const rt_halo_op_t op = halo->job.op;
    const rt_messages_t messages = {halo->n_peers,
                                    halo->peer,
                                    halo->wire_send,
                                    halo->wire_recv,
                                    halo->out[op],
                                    halo->in[op],
                                    rt_halo_entry_bytes(&halo->job.field)};
    if (!halo->transport->on_stream)
        halo->kernels->wait();
    halo->transport->start(halo->transport_state, &messages);
}

void rt_halo_wire_arrive(rt_halo_t *halo)
{
    halo->transport->finish(halo->transport_state);
    stage(halo, halo->in[halo->job.op], halo->packed_recv, halo->packed_space, halo->wire_recv,
          halo->wire_space, rt_halo_entry_bytes(&halo->job.field));
}

void *rt_halo_hand_over(rt_halo_t *halo, const rt_transport_t *transport,
                        const rt_halo_plan_t **plan, const rt_halo_range_t **slots)
{
    RT_EXPECT(!halo->active, RT_USAGE, "the exchange that was begun was not ended");
    if (halo->transport != transport)
        return NULL;
    halo->handed_over = true;
    *plan = &halo->plan;
    *slots = halo->in[RT_HALO_SUM]; /* those of a sum are the same both ways */
    return halo->transport_state;
}
