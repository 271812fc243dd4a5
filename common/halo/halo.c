/*
 * halo/halo.c - the halo object: from its description to its end, and the exchange.
 */
#include "config.h"
#include "halo/halo.h"
#include <stdlib.h>
#include "base/error.h"
#include "base/mem.h"
#include "halo/kernels.h"
#include "halo/state.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "machine/timer.h"

/* ---- life ------------------------------------------------------------------------------------ */

/* Chooses the kernels that can reach the fields. On a GPU that CUDA reaches these are CUDA's, even
 * for a Kokkos rung: CUDA can wait for one event, Kokkos only for the whole queue. OpenACC has no
 * kernels of its own: its rungs run where CUDA's or the host's do. */
static void choose_kernels(rt_halo_t *halo)
{
    bool device = halo->space == RT_DEVICE;
    halo->plan_space = device ? RT_DEVICE : RT_HOST;
    halo->kernels = NULL;
#if RT_HAVE_CUDA
    if (rt_device_gpu() && (halo->kind == RT_CUDA || (device && halo->kind != RT_CPU))) {
        halo->kernels = &rt_halo_kernels_cuda;
        halo->plan_space = RT_DEVICE;
    }
#endif
#if RT_HAVE_KOKKOS
    if (!halo->kernels && halo->kind == RT_KOKKOS)
        halo->kernels = &rt_halo_kernels_kokkos;
#endif
    bool host = (halo->kind == RT_CPU || halo->kind == RT_OPENACC) &&
                (!device || rt_mem_device_is_emulated());
    if (!halo->kernels && host)
        halo->kernels = &rt_halo_kernels_host;
    RT_EXPECT(halo->kernels, RT_USAGE, "%s cannot reach fields in %s memory here",
              rt_kind_name(halo->kind), rt_space_name(halo->space));
}

/* Adds the memory of the lists per neighbour and and of the buffers to the info. */
static void count_bytes(rt_halo_t *halo)
{
    rt_halo_info_t *info = &halo->info;
    size_t buffers = 2 * (size_t)halo->n_slots * rt_halo_slot_bytes(halo);
    size_t per_peer = sizeof *halo->peer + 4 * sizeof **halo->out;
    info->bytes[RT_HOST] += (size_t)halo->n_peers * per_peer;
    if (halo->transport)
        info->bytes[halo->packed_space] += buffers;
    if (halo->transport && halo->wire_send != halo->packed_send)
        info->bytes[halo->wire_space] += buffers;
    info->bytes[RT_DEVICE] += halo->transport_bytes;
    info->neighbours = halo->n_peers;
    info->send_values = halo->n_slots;
    info->transport = halo->transport ? halo->transport->name : "none";
    info->choice = halo->choice;
}

rt_halo_t *rt_halo_new(const rt_halo_desc_t *desc)
{
    rt_halo_t *halo = calloc(1, sizeof *halo);
    RT_EXPECT(halo, RT_MEMORY, "no memory for a halo");
    rt_halo_setup_t setup = {.desc = desc};
    halo->max_components = desc->max_components;
    halo->kind = desc->kind;
    halo->space = desc->space;
    choose_kernels(halo);

    halo->has_owners = rt_halo_find_groups(&setup);
    rt_halo_make_plan(halo, &setup);
    RT_FREE(setup.entry, RT_HOST);
    RT_FREE(setup.group, RT_HOST);
    free(setup.sharer);

    const rt_transport_t *transport =
        rt_halo_choose_transport(halo, desc->transport ? desc->transport : "auto");
    if (transport)
        rt_halo_wire_open(halo, transport);
    count_bytes(halo);
    return halo;
}

void rt_halo_destroy(rt_halo_t *halo)
{
    if (!halo)
        return;
    RT_EXPECT(!halo->active, RT_USAGE, "the exchange that was begun was not ended");
    rt_halo_wire_close(halo);
    RT_FREE(halo->plan_block, halo->plan_space);
    for (int op = 0; op < 2; op++) {
        RT_FREE(halo->out[op], RT_HOST);
        RT_FREE(halo->in[op], RT_HOST);
    }
    RT_FREE(halo->peer, RT_HOST);
    free(halo);
}

/* ---- lists ----------------------------------------------------------------------------------- */

bool rt_halo_list_again(rt_halo_list_t *list)
{
    const size_t n = (size_t)list->n;
    if (list->pass == 1) {
        list->index = RT_NEW(int64_t, n, RT_HOST);
        list->gid = RT_NEW(int64_t, n, RT_HOST);
        list->owner = RT_NEW(uint8_t, n, RT_HOST);
        list->n = 0;
    }
    return list->pass++ < 2;
}

void rt_halo_list_destroy(rt_halo_list_t *list)
{
    RT_FREE(list->index, RT_HOST);
    RT_FREE(list->gid, RT_HOST);
    RT_FREE(list->owner, RT_HOST);
}

rt_halo_t *rt_halo_of_list(rt_halo_list_t *list, bool owners, rt_halo_desc_t desc)
{
    desc.n = list->n;
    desc.index = list->index;
    desc.gid = list->gid;
    desc.owner = owners ? list->owner : NULL;
    rt_halo_t *halo = rt_halo_new(&desc);
    rt_halo_list_destroy(list);
    return halo;
}

/* ---- exchange -------------------------------------------------------------------------------- */

void rt_halo_count(const rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field)
{
    const double bytes = (double)rt_halo_entry_bytes(field);
    const rt_traffic_t *values = &halo->values[op];
    rt_traffic_add((rt_traffic_t){bytes * values->within, bytes * values->between});
}

/* Time the parts of an exchange. Messages on the stream may be captured in a graph, where there is
 * no time. */
static void start(const rt_halo_t *halo, const char *name)
{
    if (!rt_halo_on_stream(halo))
        rt_timer_start(name, halo->kernels->asynchronous ? halo->kind : RT_CPU);
}

static void stop(const rt_halo_t *halo, const char *name)
{
    if (!rt_halo_on_stream(halo))
        rt_timer_stop(name);
}

/* Begins an exchange. `alone`: nothing else happens until its end, so that a profile can tell the
 * messages from the wait for late ranks. */
static void begin(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field, bool alone)
{
    RT_EXPECT(!halo->active, RT_USAGE, "the exchange before this one was not ended");
    RT_EXPECT(!halo->handed_over, RT_USAGE, "an exchange of a halo that kernels have taken over");
    RT_EXPECT(field->components > 0 && field->components <= halo->max_components, RT_USAGE,
              "%d components in a halo made for %d", field->components, halo->max_components);
    RT_EXPECT(op == RT_HALO_COPY || field->type != RT_F16, RT_USAGE,
              "16-bit floats are only copied, not summed");
    RT_EXPECT(op == RT_HALO_SUM || halo->has_owners || halo->info.groups == 0, RT_USAGE,
              "a copy in a halo made without owners");
    halo->active = true;
    halo->job = (rt_halo_job_t){op, *field, halo->packed_send, halo->packed_recv};

    /* A device gets the local groups into its queue before the host waits for the packed values; a
     * host runs its loops while the messages are under way. */
    const rt_halo_kernels_t *kernels = halo->kernels;
    bool messages = halo->transport && halo->n_peers > 0;
    if (messages) {
        rt_halo_count(halo, op, field);
        start(halo, "pack");
        kernels->pack(&halo->plan, &halo->job);
        rt_halo_wire_leave(halo);
        stop(halo, "pack");
    }
    if (alone && halo->transport && !rt_halo_on_stream(halo))
        rt_comm_meet();
    if (kernels->asynchronous)
        kernels->local(&halo->plan, &halo->job);
    if (messages) {
        start(halo, "messages");
        rt_halo_wire_start(halo);
        stop(halo, "messages");
    }
    if (!kernels->asynchronous)
        kernels->local(&halo->plan, &halo->job);
}

void rt_halo_begin(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field)
{
    begin(halo, op, field, false);
}

void rt_halo_end(rt_halo_t *halo)
{
    RT_EXPECT(halo->active, RT_USAGE, "no exchange was begun");
    halo->active = false;
    if (halo->transport && halo->n_peers > 0) {
        start(halo, "messages");
        rt_halo_wire_arrive(halo);
        if (!rt_halo_on_stream(halo))
            rt_timer_work((double)rt_halo_wire_bytes(halo), 0);
        stop(halo, "messages");
    }
    if (halo->plan.n_shared > 0) {
        start(halo, "unpack");
        halo->kernels->unpack(&halo->plan, &halo->job);
        stop(halo, "unpack");
    }
}

void rt_halo_do(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field)
{
    rt_side_forbid();
    begin(halo, op, field, true);
    rt_halo_end(halo);
    rt_side_allow();
}

bool rt_halo_on_stream(const rt_halo_t *halo)
{
    return halo->kernels->asynchronous && (!halo->transport || halo->transport->on_stream);
}

/* ---- questions --------------------------------------------------------------------------- */

rt_halo_info_t rt_halo_info(const rt_halo_t *halo)
{
    return halo->info;
}
