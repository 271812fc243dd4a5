/*
 * halo/plan.c - from groups to messages, and to the lists that the kernels read.
 *
 * Advantage: one plan, of 32-bit positions, serves sums and copies.
 * Price: a group that m ranks hold costs m (m - 1) values per sum, which is right for faces and
 * edges and wrong for an id that all ranks share.
 */
#include "config.h"
#include "halo/state.h"
#include <string.h>
#include "base/mem.h"
#include "machine/comm.h"

static int64_t position(const rt_halo_desc_t *desc, int64_t entry)
{
    return desc->index ? desc->index[entry] : entry;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Groups in the message between two ranks are in this order: owned by the lower rank, by the
 * higher, by neither (or without owners); then by gid. A sum sends the whole message; a copy sends
 * the part this rank owns and receives the part the other owns, in the same slots. */
enum { OWNED_LOWER, OWNED_HIGHER, OWNED_NEITHER, SECTIONS };

/* Brings the owner's entry, if it is on this rank, to the front of its group. */
static void owner_first(rt_halo_item_t *entry, const rt_halo_members_t *g)
{
    for (int32_t i = g->first; i < g->first + g->copies; i++)
        if (entry[i].owners > 0) {
            rt_halo_item_t owner = entry[i];
            memmove(&entry[g->first + 1], &entry[g->first], (size_t)(i - g->first) * sizeof *entry);
            entry[g->first] = owner;
            return;
        }
}

/* Returns the rank of the group's owner, -1 without one. Needs owner_first. */
static int owner_rank(const rt_halo_setup_t *setup, const rt_halo_members_t *g)
{
    if (setup->entry[g->first].owners > 0)
        return rt_comm_rank();
    for (int32_t i = 0; i < g->sharers; i++)
        if (setup->sharer[g->sharer + i].owners > 0)
            return setup->sharer[g->sharer + i].from;
    return -1;
}

static int section_of(int owner, int rank)
{
    int me = rt_comm_rank();
    if (owner != me && owner != rank)
        return OWNED_NEITHER;
    return owner == (me < rank ? me : rank) ? OWNED_LOWER : OWNED_HIGHER;
}

/* Lists the neighbours, and the ranges of their messages. */
static void list_peers(rt_halo_t *halo, int64_t (*count)[SECTIONS])
{
    int size = rt_comm_size(), me = rt_comm_rank();
    for (int rank = 0; rank < size; rank++)
        halo->n_peers += count[rank][0] + count[rank][1] + count[rank][2] > 0;
    size_t n = (size_t)halo->n_peers;
    halo->peer = RT_NEW(int, n, RT_HOST);
    for (int op = 0; op < 2; op++) {
        halo->out[op] = RT_NEW(rt_halo_range_t, n, RT_HOST);
        halo->in[op] = RT_NEW(rt_halo_range_t, n, RT_HOST);
    }
    int64_t slot = 0;
    for (int rank = 0, p = 0; rank < size; rank++) {
        const int64_t *c = count[rank];
        if (c[OWNED_LOWER] + c[OWNED_HIGHER] + c[OWNED_NEITHER] == 0)
            continue;
        rt_halo_range_t lower = {slot, c[OWNED_LOWER]};
        rt_halo_range_t higher = {slot + c[OWNED_LOWER], c[OWNED_HIGHER]};
        rt_halo_range_t all = {slot, c[OWNED_LOWER] + c[OWNED_HIGHER] + c[OWNED_NEITHER]};
        halo->peer[p] = rank;
        halo->out[RT_HALO_SUM][p] = halo->in[RT_HALO_SUM][p] = all;
        halo->out[RT_HALO_COPY][p] = me < rank ? lower : higher;
        halo->in[RT_HALO_COPY][p] = me < rank ? higher : lower;
        for (int op = 0; op < 2; op++) {
            rt_traffic_t *sent = &halo->values[op];
            const bool near = rt_comm_node(rank) == rt_comm_node(me);
            *(near ? &sent->within : &sent->between) += (double)halo->out[op][p].count;
        }
        slot += all.count;
        if (rank < me)
            halo->plan.own_slot = (int32_t)slot;
        p++;
    }
    halo->n_slots = slot;
}

/* Gives every (group, other rank) its slot, which replaces the rank in the list of sharers. */
static void assign_slots(rt_halo_t *halo, rt_halo_setup_t *setup)
{
    size_t size = (size_t)rt_comm_size();
    int64_t(*count)[SECTIONS] = rt_alloc(size, sizeof *count, RT_HOST);
    int64_t(*next)[SECTIONS] = rt_alloc(size, sizeof *next, RT_HOST);
    memset(count, 0, size * sizeof *count);
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const rt_halo_members_t *g = &setup->group[i];
        owner_first(setup->entry, g);
        int owner = owner_rank(setup, g);
        for (int32_t s = g->sharer; s < g->sharer + g->sharers; s++)
            count[setup->sharer[s].from][section_of(owner, setup->sharer[s].from)]++;
    }
    list_peers(halo, count);
    rt_halo_starts(count[0], next[0], (int)size * SECTIONS);
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const rt_halo_members_t *g = &setup->group[i];
        int owner = owner_rank(setup, g);
        for (int32_t s = g->sharer; s < g->sharer + g->sharers; s++) {
            int rank = setup->sharer[s].from;
            setup->sharer[s].from = (int32_t)next[rank][section_of(owner, rank)]++;
        }
    }
    RT_FREE(count, RT_HOST);
    RT_FREE(next, RT_HOST);
}

/* ---- plan ------------------------------------------------------------------------------------ */

typedef struct {
    int64_t large, copies; /* positions in large groups, and in shared ones */
} sizes_t;

/* Points the plan's arrays into `block`; with NULL it only counts. Returns the number of integers.
 */
static int64_t lay_out(rt_halo_plan_t *plan, const sizes_t *sizes, int64_t n_slots, bool owners,
                       int32_t *block)
{
    int64_t used = 0;
#define TAKE(array, n) (plan->array = block ? block + used : NULL, used += (n))
    for (int k = 2; k < RT_HALO_CLASSES; k++)
        TAKE(at[k], (int64_t)k * plan->count[k]);
    if (plan->n_large > 0) {
        TAKE(large_start, plan->n_large + 1);
        TAKE(large, sizes->large);
    }
    if (plan->n_shared > 0) {
        TAKE(copy_start, plan->n_shared + 1);
        TAKE(copy, sizes->copies);
        TAKE(slot_start, plan->n_shared + 1);
        TAKE(slot, n_slots);
        if (owners)
            TAKE(source, plan->n_shared);
    }
#undef TAKE
    return used;
}

static sizes_t count_groups(rt_halo_t *halo, const rt_halo_setup_t *setup)
{
    rt_halo_plan_t *plan = &halo->plan;
    sizes_t sizes = {0, 0};
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const rt_halo_members_t *g = &setup->group[i];
        if (g->sharers > 0) {
            plan->n_shared++;
            sizes.copies += g->copies;
        } else if (g->copies <= RT_HALO_PLANES) {
            plan->count[g->copies]++;
        } else {
            plan->n_large++;
            sizes.large += g->copies;
        }
    }
    return sizes;
}

/* Where the next group of each kind goes. */
typedef struct {
    int32_t class[RT_HALO_CLASSES], large, shared;
} cursor_t;

static void put_local(rt_halo_plan_t *plan, cursor_t *next, const rt_halo_setup_t *setup,
                      const rt_halo_members_t *g)
{
    int32_t k = g->copies, *to, step;
    if (k <= RT_HALO_PLANES) {
        to = plan->at[k] + next->class[k]++;
        step = plan->count[k];
    } else {
        int32_t *start = plan->large_start + next->large++;
        to = plan->large + start[0];
        step = 1;
        start[1] = start[0] + k;
    }
    for (int32_t j = 0; j < k; j++)
        to[(int64_t)j * step] = (int32_t)position(setup->desc, setup->entry[g->first + j].from);
}

static void put_shared(rt_halo_plan_t *plan, cursor_t *next, const rt_halo_setup_t *setup,
                       const rt_halo_members_t *g)
{
    int32_t i = next->shared++;
    int32_t *copy = plan->copy + plan->copy_start[i], *slot = plan->slot + plan->slot_start[i];
    for (int32_t j = 0; j < g->copies; j++)
        copy[j] = (int32_t)position(setup->desc, setup->entry[g->first + j].from);
    for (int32_t j = 0; j < g->sharers; j++)
        slot[j] = setup->sharer[g->sharer + j].from;
    plan->copy_start[i + 1] = plan->copy_start[i] + g->copies;
    plan->slot_start[i + 1] = plan->slot_start[i] + g->sharers;
    if (!plan->source)
        return;
    plan->source[i] = -1;
    for (int32_t j = 0; j < g->sharers; j++)
        if (setup->sharer[g->sharer + j].owners > 0)
            plan->source[i] = slot[j];
}

/* Fills the plan's arrays, in host memory: groups in the order of their first entry. */
static void fill_plan(rt_halo_plan_t *plan, const rt_halo_setup_t *setup)
{
    int32_t *group_of = RT_NEW(int32_t, (size_t)setup->desc->n, RT_HOST);
    for (int64_t i = 0; i < setup->desc->n; i++)
        group_of[i] = -1;
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const rt_halo_members_t *g = &setup->group[i];
        int32_t leader = setup->entry[g->first].from;
        for (int32_t j = 1; j < g->copies; j++)
            if (setup->entry[g->first + j].from < leader)
                leader = setup->entry[g->first + j].from;
        group_of[leader] = i;
    }
    cursor_t next = {0};
    if (plan->n_large > 0)
        plan->large_start[0] = 0;
    if (plan->n_shared > 0)
        plan->copy_start[0] = plan->slot_start[0] = 0;
    for (int64_t i = 0; i < setup->desc->n; i++) {
        if (group_of[i] < 0)
            continue;
        const rt_halo_members_t *g = &setup->group[group_of[i]];
        if (g->sharers > 0)
            put_shared(plan, &next, setup, g);
        else
            put_local(plan, &next, setup, g);
    }
    RT_FREE(group_of, RT_HOST);
}

void rt_halo_make_plan(rt_halo_t *halo, rt_halo_setup_t *setup)
{
    assign_slots(halo, setup);
    sizes_t sizes = count_groups(halo, setup);
    rt_halo_plan_t *plan = &halo->plan;
    int64_t ints = lay_out(plan, &sizes, halo->n_slots, halo->has_owners, NULL);
    int32_t *block = RT_NEW(int32_t, (size_t)ints, RT_HOST);
    lay_out(plan, &sizes, halo->n_slots, halo->has_owners, block);
    fill_plan(plan, setup);

    halo->info.groups = setup->n_groups;
    for (int k = 2; k < RT_HALO_CLASSES; k++)
        halo->info.local_entries += (int64_t)k * plan->count[k];
    halo->info.local_entries += sizes.large;
    halo->info.shared_entries = sizes.copies;
    halo->info.bytes[halo->plan_space] += (size_t)ints * sizeof *block;
    halo->plan_block = block;
    if (halo->plan_space == RT_HOST)
        return;
    halo->plan_block = rt_clone(block, (size_t)ints, sizeof *block, halo->plan_space);
    lay_out(plan, &sizes, halo->n_slots, halo->has_owners, halo->plan_block);
    RT_FREE(block, RT_HOST);
}
