/*
 * halo/state.h - what a halo object holds. Private to halo/.
 *
 * groups.c finds out who shares what, plan.c turns that into lists of positions and messages,
 * wire.c moves packed messages, transports.c chooses how, and halo.c is the interface.
 */
#ifndef RT_HALO_STATE_H
#define RT_HALO_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "halo/halo.h"
#include "halo/kernels.h"
#include "halo/transport.h"
#include "machine/comm.h"

struct rt_halo {
    /* What the application said */
    int max_components;
    rt_kind_t kind;
    rt_space_t space;
    bool has_owners;
    /* Which entries, which ranks */
    rt_halo_plan_t plan;
    int32_t *plan_block; /* all of the plan's arrays */
    rt_space_t plan_space;
    int n_peers;
    int *peer;                       /* [n_peers], ascending */
    rt_halo_range_t *out[2], *in[2]; /* [op][n_peers] in slots */
    int64_t n_slots;
    rt_traffic_t values[2]; /* [op] sent per component */
    /* How they are moved */
    const rt_halo_kernels_t *kernels;
    const rt_transport_t *transport; /* NULL: no messages */
    void *transport_state;
    size_t transport_bytes;          /* device memory of the transport's own */
    void *packed_send, *packed_recv; /* where the kernels run */
    void *wire_send, *wire_recv;     /* where the transport reads and writes; may be the same */
    rt_space_t packed_space, wire_space;
    /* The exchange under way */
    bool active;
    bool handed_over; /* kernels of the application do the exchanges */
    rt_halo_job_t job;
    rt_halo_info_t info;
    char choice[512];
};

/* An item of the set-up, used for two things:
 *   an entry:  from = its number, owners = 1 if it is the owner
 *   a sharer:  from = a rank, owners = 1 if it has the owner */
typedef struct {
    int64_t gid;
    int32_t from, owners;
} rt_halo_item_t;

/* A group with a copy on this rank. */
typedef struct {
    int32_t first, copies;   /* its entries start at item `first`, the owner first */
    int32_t sharer, sharers; /* the other ranks: likewise in the list of sharers, by rank */
} rt_halo_members_t;

typedef struct {
    const rt_halo_desc_t *desc;
    rt_halo_item_t *entry, *sharer; /* each sorted by gid */
    int64_t n_entries, n_sharers;
    rt_halo_members_t *group; /* by gid; without groups of a single copy */
    int32_t n_groups;
} rt_halo_setup_t;

/* Checks the entries and finds all groups with a copy on this rank; returns whether they have owners.
 * Collective. */
bool rt_halo_find_groups(rt_halo_setup_t *setup);
/* Gives each (group, other rank) its slot in a message and lists what to pack, add and copy. */
void rt_halo_make_plan(rt_halo_t *halo, rt_halo_setup_t *setup);

/* Turns counts into starts; returns the sum. */
static inline int64_t rt_halo_starts(const int64_t *count, int64_t *start, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        start[i] = sum;
        sum += count[i];
    }
    return sum;
}

/* Returns the bytes of an entry of the field. */
static inline size_t rt_halo_entry_bytes(const rt_field_t *field)
{
    static const size_t size[] = {[RT_F64] = 8, [RT_F32] = 4, [RT_F16] = 2};
    return (size_t)field->components * size[field->type];
}

/* Bytes of a slot in the largest message. */
size_t rt_halo_slot_bytes(const rt_halo_t *halo);
/* Opens a transport, with buffers where it wants them; closes it. Collective. */
void rt_halo_wire_open(rt_halo_t *halo, const rt_transport_t *transport);
void rt_halo_wire_close(rt_halo_t *halo);
/* One exchange of halo->job: packed values to the wire, off to the neighbours, and back. */
void rt_halo_wire_leave(rt_halo_t *halo);
void rt_halo_wire_start(rt_halo_t *halo);
void rt_halo_wire_arrive(rt_halo_t *halo);
/* Returns the bytes that this rank sends in it. */
size_t rt_halo_wire_bytes(const rt_halo_t *halo);

/* Returns the transport of that name or, for "auto", the fastest that works; NULL: no messages.
 * halo->choice says why. Collective. */
const rt_transport_t *rt_halo_choose_transport(rt_halo_t *halo, const char *name);

#endif
