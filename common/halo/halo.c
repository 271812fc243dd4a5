/*
 * halo/halo.c - who shares what with whom, and the exchange.
 *
 * Idea: each global id has a home rank, found by hashing it. Every rank tells the homes which ids
 * it holds; a home that hears of one id from several ranks tells each of them about the others.
 * From this both sides of a pair derive the same message layout, with no more talk.
 * Advantage: no rank ever sees more than its share, whatever the partition looks like; one plan, of
 * 32-bit positions, serves sums and copies.
 * Price: set-up sorts all entries and sends each id once; a group that m ranks hold costs m (m - 1)
 * values a sum, which is right for faces and edges and wrong for an id that all ranks share.
 *
 * Reading order: entries -> sharers -> groups -> messages -> plan; then transports, begin and end.
 */
#include "config.h"
#include "halo/halo.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine/comm.h"
#include "base/error.h"
#include "halo/kernels.h"
#include "halo/nccl.h"
#if RT_HAVE_CUDA
#include "halo/peer_memory.h"
#endif
#include "machine/timer.h"

struct rt_halo {
    /* What the application said */
    int64_t n;
    int max_components;
    rt_kind_t kind;
    rt_space_t space;
    bool has_owners;
    int32_t *copies; /* [n] of each entry over all ranks, host */
    /* Who and what */
    rt_halo_plan_t plan;
    int32_t *plan_block; /* all of the plan's arrays */
    rt_space_t plan_space;
    int n_peers;
    int *peer;                       /* [n_peers], ascending */
    rt_halo_range_t *out[2], *in[2]; /* [op][n_peers] in slots */
    int64_t n_slots;
    /* How */
    const rt_halo_kernels_t *kernels;
    void *mark;
    const rt_transport_t *transport; /* NULL: no messages */
    void *transport_state;
    size_t transport_bytes;          /* of its own on the device */
    void *packed_send, *packed_recv; /* where the kernels run */
    void *wire_send, *wire_recv; /* where the transport takes and leaves them; may be the same */
    rt_space_t packed_space, wire_space;
    /* The exchange under way */
    bool active;
    bool handed_over; /* to kernels of the application */
    rt_halo_job_t job;
    rt_halo_info_t info;
    char choice[512];
};

/* ---- entries --------------------------------------------------------------------------------- */

/* What is sorted and sent in set-up, twice over:
 *   an entry:  from = its number, count = 1
 *   a sharer:  from = a rank, count = that rank's copies of the group
 * count is negative if the owner is (among) it. */
typedef struct {
    int64_t gid;
    int32_t from, count;
} item_t;

/* A group with a copy on this rank. */
typedef struct {
    int32_t first, copies;   /* its entries: item `first` and those behind it, the owner first */
    int32_t sharer, sharers; /* the other ranks: likewise among the sharers, ascending with rank */
} group_t;

typedef struct {
    const rt_halo_desc_t *desc;
    item_t *entry, *sharer; /* each sorted by gid */
    int64_t n_entries, n_sharers;
    group_t *group; /* by gid; without those of a single copy */
    int32_t n_groups;
} setup_t;

static int64_t position(const rt_halo_desc_t *desc, int64_t entry)
{
    return desc->index ? desc->index[entry] : entry;
}

static void check_entries(const rt_halo_desc_t *desc)
{
    RT_EXPECT(desc->n >= 0 && desc->n < INT32_MAX, RT_USAGE, "%lld entries", (long long)desc->n);
    RT_EXPECT(desc->n == 0 || desc->gid, RT_USAGE, "entries without global ids");
    RT_EXPECT(desc->max_components > 0, RT_USAGE, "%d components", desc->max_components);
    if (!desc->index)
        return;
    int64_t top = 0;
    for (int64_t i = 0; i < desc->n; i++) {
        int64_t at = desc->index[i];
        RT_EXPECT(at >= 0 && at < INT32_MAX, RT_USAGE, "entry %lld is at position %lld",
                  (long long)i, (long long)at);
        top = at > top ? at : top;
    }
    size_t bytes = (size_t)top / 8 + 1;
    uint8_t *seen = RT_NEW(uint8_t, bytes, RT_HOST); /* a bit a position */
    memset(seen, 0, bytes);
    for (int64_t i = 0; i < desc->n; i++) {
        uint8_t *byte = &seen[desc->index[i] / 8], bit = (uint8_t)(1 << desc->index[i] % 8);
        RT_EXPECT(!(*byte & bit), RT_USAGE, "entry %lld is at position %lld, as one before it",
                  (long long)i, (long long)desc->index[i]);
        *byte |= bit;
    }
    RT_FREE(seen, RT_HOST);
}

/* Do the entries name owners? On all ranks or on none. */
static bool find_owners(const rt_halo_desc_t *desc)
{
    double has[2] = {desc->n > 0 && desc->owner, desc->n > 0 && !desc->owner};
    rt_comm_max(has, 2);
    if (has[0] && has[1])
        rt_refuse(RT_USAGE, "halo: some ranks name owners and some do not");
    return has[0] > 0;
}

/* Sorts by gid and leaves the order of equal ones: a radix sort from the lowest byte up. It skips
 * the bytes that are the same everywhere, most of the eight as a rule. */
static void sort_items(item_t *item, int64_t n)
{
    if (n < 2)
        return;
    item_t *a = item, *b = RT_NEW(item_t, (size_t)n, RT_HOST), *spare = b;
    int64_t(*at)[256] = rt_alloc(8, sizeof *at, RT_HOST);
    memset(at, 0, 8 * sizeof *at);
    for (int64_t i = 0; i < n; i++)
        for (int byte = 0; byte < 8; byte++)
            at[byte][item[i].gid >> 8 * byte & 255]++;
    for (int byte = 0; byte < 8; byte++) {
        if (at[byte][item[0].gid >> 8 * byte & 255] == n)
            continue;
        for (int64_t digit = 0, sum = 0; digit < 256; digit++) { /* counts become places */
            int64_t count = at[byte][digit];
            at[byte][digit] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            b[at[byte][a[i].gid >> 8 * byte & 255]++] = a[i];
        item_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != item)
        memcpy(item, a, (size_t)n * sizeof *item);
    RT_FREE(at, RT_HOST);
    RT_FREE(spare, RT_HOST);
}

static void collect_entries(setup_t *setup)
{
    const rt_halo_desc_t *desc = setup->desc;
    int64_t n = 0;
    for (int64_t i = 0; i < desc->n; i++)
        n += desc->gid[i] >= 0;
    setup->n_entries = n;
    setup->entry = RT_NEW(item_t, (size_t)n, RT_HOST);
    item_t *next = setup->entry;
    for (int64_t i = 0; i < desc->n; i++)
        if (desc->gid[i] >= 0)
            *next++ = (item_t){desc->gid[i], (int32_t)i, desc->owner && desc->owner[i] ? -1 : 1};
    sort_items(setup->entry, n);
}

/* ---- sharers --------------------------------------------------------------------------------- */

/* First item from `i` on that has another gid than item i. */
static int64_t run_end(const item_t *item, int64_t n, int64_t i)
{
    int64_t end = i + 1;
    while (end < n && item[end].gid == item[i].gid)
        end++;
    return end;
}

/* Neighbouring ids must not all have one home, hence the mixing; the high bits are the best. */
static int home_of(int64_t gid)
{
    uint64_t x = (uint64_t)gid * UINT64_C(0x9e3779b97f4a7c15);
    return (int)((x >> 33) % (uint64_t)rt_comm_size());
}

/* Turns counts into starts; returns the sum. */
static int64_t starts(const int64_t *count, int64_t *start, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        start[i] = sum;
        sum += count[i];
    }
    return sum;
}

/* Tells the homes of this rank's ids how many copies it has; returns what it hears as a home
 * itself, in order of rank. */
static item_t *tell_homes(const setup_t *setup, int64_t *count, int64_t *start, int64_t *n_heard)
{
    int size = rt_comm_size();
    const item_t *entry = setup->entry;
    int64_t n = setup->n_entries;
    memset(count, 0, (size_t)size * sizeof *count);
    for (int64_t i = 0; i < n; i = run_end(entry, n, i))
        count[home_of(entry[i].gid)]++;
    item_t *told = RT_NEW(item_t, (size_t)starts(count, start, size), RT_HOST);
    for (int64_t i = 0, end; i < n; i = end) {
        bool owner = false;
        end = run_end(entry, n, i);
        for (int64_t j = i; j < end; j++)
            owner |= entry[j].count < 0;
        int32_t copies = (int32_t)(end - i);
        told[start[home_of(entry[i].gid)]++] =
            (item_t){entry[i].gid, rt_comm_rank(), owner ? -copies : copies};
    }
    item_t *heard = rt_comm_exchange(told, count, sizeof *told, start);
    RT_FREE(told, RT_HOST);
    *n_heard = 0;
    for (int r = 0; r < size; r++)
        *n_heard += start[r];
    return heard;
}

/* As a home: tells each rank of the others that hold its ids. Sorts `heard`, which is in order of
 * rank, so within an id it stays so. */
static item_t *tell_sharers(item_t *heard, int64_t n, int64_t *count, int64_t *start)
{
    int size = rt_comm_size();
    sort_items(heard, n);
    memset(count, 0, (size_t)size * sizeof *count);
    for (int64_t i = 0, end; i < n; i = end) {
        end = run_end(heard, n, i);
        for (int64_t j = i; j < end; j++)
            count[heard[j].from] += end - i - 1;
    }
    item_t *told = RT_NEW(item_t, (size_t)starts(count, start, size), RT_HOST);
    for (int64_t i = 0, end; i < n; i = end) {
        end = run_end(heard, n, i);
        for (int64_t j = i; j < end; j++)
            for (int64_t other = i; other < end; other++)
                if (other != j)
                    told[start[heard[j].from]++] = heard[other];
    }
    free(heard);
    item_t *sharer = rt_comm_exchange(told, count, sizeof *told, start);
    RT_FREE(told, RT_HOST);
    return sharer;
}

static void find_sharers(setup_t *setup)
{
    int size = rt_comm_size();
    if (size == 1)
        return;
    int64_t *count = RT_NEW(int64_t, (size_t)size, RT_HOST);
    int64_t *start = RT_NEW(int64_t, (size_t)size, RT_HOST);
    int64_t n_heard;
    item_t *heard = tell_homes(setup, count, start, &n_heard);
    setup->sharer = tell_sharers(heard, n_heard, count, start);
    for (int r = 0; r < size; r++)
        setup->n_sharers += start[r];
    RT_EXPECT(setup->n_sharers < INT32_MAX, RT_USAGE, "%lld copies to exchange",
              (long long)setup->n_sharers);
    sort_items(setup->sharer, setup->n_sharers);
    RT_FREE(count, RT_HOST);
    RT_FREE(start, RT_HOST);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Steps to the next id of this rank (from {0}: to the first), with its sharers. */
static bool next_group(const setup_t *setup, group_t *g)
{
    const item_t *entry = setup->entry, *sharer = setup->sharer;
    int64_t first = (int64_t)g->first + g->copies, s = (int64_t)g->sharer + g->sharers;
    if (first == setup->n_entries)
        return false;
    int64_t end = run_end(entry, setup->n_entries, first), s_end = s;
    if (s < setup->n_sharers && sharer[s].gid == entry[first].gid)
        s_end = run_end(sharer, setup->n_sharers, s);
    *g = (group_t){(int32_t)first, (int32_t)(end - first), (int32_t)s, (int32_t)(s_end - s)};
    return true;
}

static int count_owners(const setup_t *setup, const group_t *g)
{
    int owners = 0;
    for (int32_t i = 0; i < g->copies; i++)
        owners += setup->entry[g->first + i].count < 0;
    for (int32_t i = 0; i < g->sharers; i++)
        owners += setup->sharer[g->sharer + i].count < 0;
    return owners;
}

/* Each group one owner, or all ranks end with one line about one of the others. */
static void check_owners(const setup_t *setup)
{
    int size = rt_comm_size();
    item_t bad = {.gid = -1}, *all = RT_NEW(item_t, (size_t)size, RT_HOST);
    for (group_t g = {0}; bad.gid < 0 && next_group(setup, &g);) {
        int owners = count_owners(setup, &g);
        if (owners != 1)
            bad = (item_t){setup->entry[g.first].gid, rt_comm_rank(), owners};
    }
    rt_comm_allgather(&bad, sizeof bad, all);
    for (int r = 0; r < size; r++)
        if (all[r].gid >= 0)
            rt_refuse(RT_USAGE, "halo: global id %lld has %d owners; to be copied it needs one",
                      (long long)all[r].gid, all[r].count);
    RT_FREE(all, RT_HOST);
}

/* Brings the owner's entry, if it is here, to the front of its group. */
static void owner_first(item_t *entry, const group_t *g)
{
    for (int32_t i = g->first; i < g->first + g->copies; i++)
        if (entry[i].count < 0) {
            item_t owner = entry[i];
            memmove(&entry[g->first + 1], &entry[g->first], (size_t)(i - g->first) * sizeof *entry);
            entry[g->first] = owner;
            return;
        }
}

/* Lists the groups and counts everybody's copies. */
static void make_groups(rt_halo_t *halo, setup_t *setup)
{
    int32_t n = 0;
    for (group_t g = {0}; next_group(setup, &g);)
        n += g.copies + g.sharers > 1;
    setup->n_groups = n;
    setup->group = RT_NEW(group_t, (size_t)n, RT_HOST);
    group_t *next = setup->group;

    halo->copies = RT_NEW(int32_t, (size_t)halo->n, RT_HOST);
    for (int64_t i = 0; i < halo->n; i++)
        halo->copies[i] = 1;
    for (group_t g = {0}; next_group(setup, &g);) {
        if (g.copies + g.sharers == 1)
            continue;
        int32_t copies = g.copies;
        for (int32_t i = 0; i < g.sharers; i++)
            copies += abs(setup->sharer[g.sharer + i].count);
        for (int32_t i = 0; i < g.copies; i++)
            halo->copies[setup->entry[g.first + i].from] = copies;
        *next++ = g;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Within the message between two ranks, groups stand in the order: owned by the lower of the two,
 * by the higher, by neither (or no owners); then by gid. So a sum sends the whole message, and a
 * copy sends one of its ends and receives another, with the same slots. */
enum { OWNED_LOWER, OWNED_HIGHER, OWNED_NEITHER, SECTIONS };

/* Rank of the group's owner, -1 without. */
static int owner_rank(const setup_t *setup, const group_t *g)
{
    if (setup->entry[g->first].count < 0)
        return rt_comm_rank(); /* owner_first was here */
    for (int32_t i = 0; i < g->sharers; i++)
        if (setup->sharer[g->sharer + i].count < 0)
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

/* Lists the ranks with anything to exchange, and each one's ranges. */
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
        slot += all.count;
        if (rank < me)
            halo->plan.own_slot = (int32_t)slot;
        p++;
    }
    halo->n_slots = slot;
}

/* Gives every (group, other rank) its slot; it takes the place of the rank in the sharers' list. */
static void assign_slots(rt_halo_t *halo, setup_t *setup)
{
    size_t size = (size_t)rt_comm_size();
    int64_t(*count)[SECTIONS] = rt_alloc(size, sizeof *count, RT_HOST);
    int64_t(*next)[SECTIONS] = rt_alloc(size, sizeof *next, RT_HOST);
    memset(count, 0, size * sizeof *count);
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const group_t *g = &setup->group[i];
        owner_first(setup->entry, g);
        int owner = owner_rank(setup, g);
        for (int32_t s = g->sharer; s < g->sharer + g->sharers; s++)
            count[setup->sharer[s].from][section_of(owner, setup->sharer[s].from)]++;
    }
    list_peers(halo, count);
    starts(count[0], next[0], (int)size * SECTIONS);
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const group_t *g = &setup->group[i];
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

/* Points the plan's arrays into `block`, or only counts (block NULL); returns all the integers. */
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

static sizes_t count_groups(rt_halo_t *halo, const setup_t *setup)
{
    rt_halo_plan_t *plan = &halo->plan;
    sizes_t sizes = {0, 0};
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const group_t *g = &setup->group[i];
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

/* Where the next group of each sort goes. */
typedef struct {
    int32_t class[RT_HALO_CLASSES], large, shared;
} cursor_t;

static void put_local(rt_halo_plan_t *plan, cursor_t *next, const setup_t *setup, const group_t *g)
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

static void put_shared(rt_halo_plan_t *plan, cursor_t *next, const setup_t *setup, const group_t *g)
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
        if (setup->sharer[g->sharer + j].count < 0)
            plan->source[i] = slot[j];
}

/* The plan's arrays in host memory, groups in the order of their first entry. */
static void fill_plan(rt_halo_plan_t *plan, const setup_t *setup)
{
    int32_t *group_of = RT_NEW(int32_t, (size_t)setup->desc->n, RT_HOST);
    for (int64_t i = 0; i < setup->desc->n; i++)
        group_of[i] = -1;
    for (int32_t i = 0; i < setup->n_groups; i++) {
        const group_t *g = &setup->group[i];
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
        const group_t *g = &setup->group[group_of[i]];
        if (g->sharers > 0)
            put_shared(plan, &next, setup, g);
        else
            put_local(plan, &next, setup, g);
    }
    RT_FREE(group_of, RT_HOST);
}

static void make_plan(rt_halo_t *halo, const setup_t *setup)
{
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

/* ---- transports ------------------------------------------------------------------------------ */

/* `staged` and `gpu-aware` are MPI; they differ in where the buffers are. */
typedef struct {
    rt_request_t *requests;
    int n, tag;
    int peer[];
} mpi_state_t;

static void *mpi_open(int n_peers, const int *peers, const size_t *most)
{
    /* Opened by all ranks in the same order, so a number of its own keeps the messages of two halos
     * apart that are under way at once. 32767 is the least that MPI allows as the largest tag. */
    static int opened;
    mpi_state_t *state = malloc(sizeof *state + (size_t)n_peers * sizeof *peers);
    RT_EXPECT(state, RT_MEMORY, "no memory for %d neighbours", n_peers);
    (void)most;
    state->requests = rt_request_new(2 * n_peers);
    state->n = n_peers;
    state->tag = opened++ % 32768;
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

static const char *gpu_aware_why_not(int n_peers, const int *peers)
{
    (void)n_peers;
    (void)peers;
    return rt_comm_gpu_aware() ? NULL : "a probe showed that this MPI cannot move device memory";
}

const rt_transport_t rt_transport_staged = {.name = "staged",
                                            .buffer_space = RT_PINNED,
                                            .open = mpi_open,
                                            .close = mpi_close,
                                            .start = mpi_start,
                                            .finish = mpi_finish};
const rt_transport_t rt_transport_gpu_aware = {.name = "gpu-aware",
                                               .buffer_space = RT_DEVICE,
                                               .open = mpi_open,
                                               .close = mpi_close,
                                               .start = mpi_start,
                                               .finish = mpi_finish,
                                               .why_not = gpu_aware_why_not};

/* What --transport may name. To add one: its table here, with the reason where it cannot run. */
static const struct {
    const char *name;
    const rt_transport_t *transport; /* NULL: not in this build */
} known[] = {{"staged", &rt_transport_staged},
             {"gpu-aware", &rt_transport_gpu_aware},
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

static const rt_transport_t *forced;

void rt_halo_force_transport(const rt_transport_t *transport)
{
    forced = transport;
}

static bool on_gpu(const rt_halo_t *halo)
{
    return halo->plan_space == RT_DEVICE && !rt_mem_device_is_emulated();
}

/* NULL, or why this transport cannot serve this halo. Collective. */
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

static size_t slot_bytes(const rt_halo_t *halo)
{
    return (size_t)halo->max_components * sizeof(double);
}

/* Opens the transport with buffers where it wants them. Kernels that run on a device pack there;
 * what the transport needs elsewhere is staged. */
static void open_transport(rt_halo_t *halo, const rt_transport_t *transport)
{
    size_t n = (size_t)halo->n_slots, bytes = slot_bytes(halo);
    const size_t used = rt_mem_used(RT_DEVICE);
    size_t *most = RT_NEW(size_t, (size_t)halo->n_peers, RT_HOST);
    for (int m = 0; m < halo->n_peers; m++) /* a sum's are the largest, and the same both ways */
        most[m] = (size_t)halo->in[RT_HALO_SUM][m].count * bytes;
    halo->transport = transport;
    halo->transport_state = transport->open(halo->n_peers, halo->peer, most);
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

static void close_transport(rt_halo_t *halo)
{
    if (!halo->transport)
        return;
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

/* Copies the ranges between packed and wire buffers; neighbouring ranges in one go. */
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

/* Bytes of a slot in the exchange under way. */
static size_t job_bytes(const rt_halo_t *halo)
{
    static const size_t size[] = {[RT_F64] = 8, [RT_F32] = 4, [RT_F16] = 2};
    return (size_t)halo->job.field.components * size[halo->job.field.type];
}

static void leave(rt_halo_t *halo)
{
    stage(halo, halo->out[halo->job.op], halo->wire_send, halo->wire_space, halo->packed_send,
          halo->packed_space, job_bytes(halo));
    if (!halo->transport->on_stream)
        halo->kernels->mark(halo->mark);
}

/* Sends, when what was packed has arrived at the wire. What waits for that, the host or the stream,
 * waits for all older work of the queue too: nobody reads the receive buffers any more, into which
 * messages now come. */
static void start(rt_halo_t *halo)
{
    if (!halo->transport->on_stream)
        halo->kernels->wait(halo->mark);
    halo->transport->start(halo->transport_state, halo->wire_send, halo->out[halo->job.op],
                           halo->wire_recv, halo->in[halo->job.op], job_bytes(halo));
}

static void arrive(rt_halo_t *halo)
{
    halo->transport->finish(halo->transport_state);
    stage(halo, halo->in[halo->job.op], halo->packed_recv, halo->packed_space, halo->wire_recv,
          halo->wire_space, job_bytes(halo));
}

/* Value i of the message between two ranks in a trial. */
static double trial_value(int from, int to, int64_t i)
{
    return from + 1000.0 * to + (double)i / 1048576;
}

/* Fills the messages that go out, or looks whether those that came are what the others filled in.
 * values: of `n_slots` slots, in host memory. */
static bool trial_messages(const rt_halo_t *halo, double *values, bool check)
{
    const int me = rt_comm_rank();
    bool right = true;
    for (int m = 0; m < halo->n_peers; m++) {
        const rt_halo_range_t *range =
            &halo->in[RT_HALO_SUM][m]; /* a sum's are the same both ways */
        const int peer = halo->peer[m];
        double *value = values + range->first * halo->max_components;
        for (int64_t i = 0; i < range->count * halo->max_components; i++)
            if (check)
                right = right && value[i] == trial_value(peer, me, i);
            else
                value[i] = trial_value(me, peer, i);
    }
    return right;
}

/* Exchanges the largest messages a few times, and looks whether what came is right. *seconds: of
 * one, on the slowest rank, in a row of them as a solver makes; the best of a few rows. Collective.
 */
static bool try_transport(rt_halo_t *halo, const rt_transport_t *transport, double *seconds)
{
    enum { ROWS = 4, A_ROW = 5 };
    const size_t bytes = (size_t)halo->n_slots * slot_bytes(halo);
    double *values = rt_alloc((size_t)halo->n_slots, slot_bytes(halo), RT_HOST), right;
    open_transport(halo, transport);
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
        for (int i = 0; i < A_ROW; i++) {
            leave(halo);
            start(halo);
            arrive(halo);
        }
        halo->kernels->mark(halo->mark);
        halo->kernels->wait(halo->mark);
        taken = (taken + rt_clock()) / A_ROW;
        rt_comm_max(&taken, 1);
        if (row == 1 || (row > 1 && taken < *seconds)) /* the first warms up */
            *seconds = taken;
    }
    if (bytes > 0)
        rt_copy(values, RT_HOST, halo->packed_recv, halo->packed_space, bytes);
    right = trial_messages(halo, values, true);
    rt_comm_min(&right, 1);
    RT_FREE(values, RT_HOST);
    close_transport(halo);
    return right > 0;
}

static const char wrong_values[] = "it brought wrong values in a trial";

/* The fastest of those that work. Times are the same on all ranks, so the choice is. */
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
            snprintf(to, room, "%s%s: the one that works", i ? "; " : "", known[i].name);
        length += strlen(to);
        if (!why[i] && (!best || seconds < best_seconds)) {
            best = known[i].transport;
            best_seconds = seconds;
        }
    }
    if (!best)
        rt_refuse(RT_ENVIRONMENT, "no way for messages between the ranks: %s", halo->choice);
    return best;
}

/* The transport of that name, NULL for "none". */
static const rt_transport_t *choose_transport(rt_halo_t *halo, const char *name)
{
    if (forced) {
        snprintf(halo->choice, sizeof halo->choice, "%s: forced by a test", forced->name);
        return forced;
    }
    if (strcmp(name, "none") == 0) {
        snprintf(halo->choice, sizeof halo->choice, "none: asked for, ranks do not communicate");
        return NULL;
    }
    int i = 0;
    while (i < KNOWN && strcmp(name, known[i].name) != 0)
        i++;
    if (i == KNOWN && strcmp(name, "auto") != 0)
        rt_refuse(RT_USAGE, "--transport %s: there are auto, staged, gpu-aware, nccl, peer, none",
                  name);
    if (i < KNOWN && !known[i].transport)
        rt_refuse(RT_ENVIRONMENT, "--transport %s: not in this build; use auto", name);
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

/* ---- life ------------------------------------------------------------------------------------ */

/* Who runs the loops: whoever reaches the fields. A GPU that CUDA reaches is CUDA's even for a
 * Kokkos rung, because there an event can be waited for, and not only the whole queue. */
static void choose_kernels(rt_halo_t *halo)
{
    bool device = halo->space == RT_DEVICE;
    halo->plan_space = device ? RT_DEVICE : RT_HOST;
    halo->kernels = NULL;
#if RT_HAVE_CUDA
    if (rt_device_gpu() && (halo->kind == RT_CUDA || (halo->kind == RT_KOKKOS && device))) {
        halo->kernels = &rt_halo_kernels_cuda;
        halo->plan_space = RT_DEVICE;
    }
#endif
#if RT_HAVE_KOKKOS
    if (!halo->kernels && halo->kind == RT_KOKKOS)
        halo->kernels = &rt_halo_kernels_kokkos;
#endif
    bool host = halo->kind == RT_CPU && (!device || rt_mem_device_is_emulated());
    if (!halo->kernels && host)
        halo->kernels = &rt_halo_kernels_host;
    RT_EXPECT(halo->kernels, RT_USAGE, "%s cannot reach fields in %s memory here",
              rt_kind_name(halo->kind), rt_space_name(halo->space));
}

/* What is a list for each neighbour, or for each entry, beside the plan and the buffers. */
static void count_bytes(rt_halo_t *halo)
{
    rt_halo_info_t *info = &halo->info;
    size_t buffers = 2 * (size_t)halo->n_slots * slot_bytes(halo);
    size_t a_peer = sizeof *halo->peer + 4 * sizeof **halo->out;
    info->bytes[RT_HOST] += (size_t)halo->n * sizeof *halo->copies + (size_t)halo->n_peers * a_peer;
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
    setup_t setup = {.desc = desc};
    check_entries(desc);
    halo->n = desc->n;
    halo->max_components = desc->max_components;
    halo->kind = desc->kind;
    halo->space = desc->space;
    halo->has_owners = find_owners(desc);
    choose_kernels(halo);

    collect_entries(&setup);
    find_sharers(&setup);
    if (halo->has_owners)
        check_owners(&setup);
    make_groups(halo, &setup);
    assign_slots(halo, &setup);
    make_plan(halo, &setup);
    RT_FREE(setup.entry, RT_HOST);
    RT_FREE(setup.group, RT_HOST);
    free(setup.sharer);

    halo->mark = halo->kernels->mark_new();
    const rt_transport_t *transport =
        choose_transport(halo, desc->transport ? desc->transport : "auto");
    if (transport)
        open_transport(halo, transport);
    count_bytes(halo);
    return halo;
}

void rt_halo_destroy(rt_halo_t *halo)
{
    if (!halo)
        return;
    RT_EXPECT(!halo->active, RT_USAGE, "the exchange that was begun was not ended");
    close_transport(halo);
    halo->kernels->mark_destroy(halo->mark);
    RT_FREE(halo->plan_block, halo->plan_space);
    for (int op = 0; op < 2; op++) {
        RT_FREE(halo->out[op], RT_HOST);
        RT_FREE(halo->in[op], RT_HOST);
    }
    RT_FREE(halo->peer, RT_HOST);
    RT_FREE(halo->copies, RT_HOST);
    free(halo);
}

/* ---- exchange -------------------------------------------------------------------------------- */

void rt_halo_begin(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field)
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

    /* A device's queue gets the local groups before the host stops to wait for the packed ones; a
     * host's loops run when the messages are under way. */
    const rt_halo_kernels_t *kernels = halo->kernels;
    bool messages = halo->transport && halo->n_peers > 0;
    if (messages) {
        kernels->pack(&halo->plan, &halo->job);
        leave(halo);
    }
    if (kernels->asynchronous)
        kernels->local(&halo->plan, &halo->job);
    if (messages)
        start(halo);
    if (!kernels->asynchronous)
        kernels->local(&halo->plan, &halo->job);
}

void rt_halo_end(rt_halo_t *halo)
{
    RT_EXPECT(halo->active, RT_USAGE, "no exchange was begun");
    halo->active = false;
    if (halo->transport && halo->n_peers > 0)
        arrive(halo);
    if (halo->plan.n_shared > 0)
        halo->kernels->unpack(&halo->plan, &halo->job);
}

void rt_halo_do(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field)
{
    rt_side_forbid();
    rt_halo_begin(halo, op, field);
    rt_halo_end(halo);
    rt_side_allow();
}

bool rt_halo_on_stream(const rt_halo_t *halo)
{
    return halo->kernels->asynchronous && (!halo->transport || halo->transport->on_stream);
}

void *rt_halo_hand_over(rt_halo_t *halo, const rt_transport_t *transport,
                        const rt_halo_plan_t **plan, const rt_halo_range_t **slots)
{
    RT_EXPECT(!halo->active, RT_USAGE, "the exchange that was begun was not ended");
    if (halo->transport != transport)
        return NULL;
    halo->handed_over = true;
    *plan = &halo->plan;
    *slots = halo->in[RT_HALO_SUM]; /* a sum's are the same both ways */
    return halo->transport_state;
}

/* ---- what it knows --------------------------------------------------------------------------- */

rt_halo_info_t rt_halo_info(const rt_halo_t *halo)
{
    return halo->info;
}

void rt_halo_multiplicity(const rt_halo_t *halo, double *counts)
{
    for (int64_t i = 0; i < halo->n; i++)
        counts[i] = halo->copies[i];
}

/* Lists for each rank or neighbour, and the rounding of allocations, in all. */
enum { SMALL = 16384 };

size_t rt_halo_predict(int64_t n_local, int64_t n_shared, int max_components, rt_space_t space)
{
    size_t local = (size_t)n_local, shared = (size_t)n_shared;
    size_t buffers = 2 * shared * (size_t)max_components * sizeof(double);
    /* Positions; starts of groups of nine and more. Shared: two starts, position, slot, source. */
    size_t plan = (local + local / (RT_HALO_PLANES + 1) + 5 * shared) * sizeof(int32_t);
    if (space == RT_PINNED)
        return buffers + SMALL;
    size_t copies = space == RT_HOST ? (local + shared) * sizeof(int32_t) : 0;
    /* Of peer: two places a value, each of twice its bytes. */
    size_t inbox =
        space == RT_DEVICE && rt_comm_size() > 1 && !rt_mem_device_is_emulated() ? 2 * buffers : 0;
    return plan + buffers + inbox + copies + SMALL;
}

size_t rt_halo_predict_setup(int64_t n_local, int64_t n_shared)
{
    size_t local = (size_t)n_local, shared = (size_t)n_shared, n = local + shared;
    size_t a_rank = (size_t)rt_comm_size() * 6 * sizeof(int64_t), items = n * sizeof(item_t);
    /* Sorting the entries: twice the items. Asking the homes: what is asked and what is heard;
     * hashing spreads that evenly but for a few in a hundred. */
    size_t asking = rt_comm_size() > 1 ? items / 16 + 3 * items : 2 * items;
    /* At the end: entries, sharers, groups (two entries or more, or shared), the entries' groups,
     * copies, plan. */
    size_t end = items + shared * sizeof(item_t) + (local / 2 + shared) * sizeof(group_t) +
                 2 * n * sizeof(int32_t) + rt_halo_predict(n_local, n_shared, 0, RT_HOST);
    return (asking > end ? asking : end) + a_rank + 8 * 256 * sizeof(int64_t) + SMALL;
}
