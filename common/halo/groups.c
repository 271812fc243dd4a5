/*
 * halo/groups.c - who shares what with whom.
 *
 * Idea: each global id has a home rank, found by hashing it. Every rank tells the homes which ids
 * it holds; a home that hears of one id from several ranks tells each of them about the others.
 * From this both sides of a pair derive the same message layout without further talk.
 * Advantage: no rank ever sees more than its share, whatever the partition looks like.
 * Price: set-up sorts all entries and sends each id once.
 */
#include "config.h"
#include "halo/state.h"
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/mem.h"
#include "machine/comm.h"

/* ---- entries --------------------------------------------------------------------------------- */

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
    uint8_t *seen = RT_NEW(uint8_t, bytes, RT_HOST); /* one bit per position */
    memset(seen, 0, bytes);
    for (int64_t i = 0; i < desc->n; i++) {
        uint8_t *byte = &seen[desc->index[i] / 8], bit = (uint8_t)(1 << desc->index[i] % 8);
        RT_EXPECT(!(*byte & bit), RT_USAGE, "entry %lld is at position %lld, like an earlier one",
                  (long long)i, (long long)desc->index[i]);
        *byte |= bit;
    }
    RT_FREE(seen, RT_HOST);
}

/* Returns whether the entries name owners. All ranks must name them, or none. */
static bool find_owners(const rt_halo_desc_t *desc)
{
    double has[2] = {desc->n > 0 && desc->owner, desc->n > 0 && !desc->owner};
    rt_comm_max(has, 2);
    if (has[0] && has[1])
        rt_refuse(RT_USAGE, "halo: some ranks name owners and some do not");
    return has[0] > 0;
}

/* Sorts by gid, stably: a radix sort from the lowest byte up. Skips bytes that are the same in all
 * items, usually most of the eight. */
static void sort_items(rt_halo_item_t *item, int64_t n)
{
    if (n < 2)
        return;
    rt_halo_item_t *a = item, *b = RT_NEW(rt_halo_item_t, (size_t)n, RT_HOST), *spare = b;
    int64_t(*at)[256] = rt_alloc(8, sizeof *at, RT_HOST);
    memset(at, 0, 8 * sizeof *at);
    for (int64_t i = 0; i < n; i++)
        for (int byte = 0; byte < 8; byte++)
            at[byte][item[i].gid >> 8 * byte & 255]++;
    for (int byte = 0; byte < 8; byte++) {
        if (at[byte][item[0].gid >> 8 * byte & 255] == n)
            continue;
        for (int64_t digit = 0, sum = 0; digit < 256; digit++) { /* counts become starts */
            int64_t count = at[byte][digit];
            at[byte][digit] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            b[at[byte][a[i].gid >> 8 * byte & 255]++] = a[i];
        rt_halo_item_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != item)
        memcpy(item, a, (size_t)n * sizeof *item);
    RT_FREE(at, RT_HOST);
    RT_FREE(spare, RT_HOST);
}

static void collect_entries(rt_halo_setup_t *setup)
{
    const rt_halo_desc_t *desc = setup->desc;
    int64_t n = 0;
    for (int64_t i = 0; i < desc->n; i++)
        n += desc->gid[i] >= 0;
    setup->n_entries = n;
    setup->entry = RT_NEW(rt_halo_item_t, (size_t)n, RT_HOST);
    rt_halo_item_t *next = setup->entry;
    for (int64_t i = 0; i < desc->n; i++)
        if (desc->gid[i] >= 0)
            *next++ = (rt_halo_item_t){desc->gid[i], (int32_t)i, desc->owner && desc->owner[i]};
    sort_items(setup->entry, n);
}

/* ---- sharers --------------------------------------------------------------------------------- */

/* Returns the first item after i that has another gid. */
static int64_t run_end(const rt_halo_item_t *item, int64_t n, int64_t i)
{
    int64_t end = i + 1;
    while (end < n && item[end].gid == item[i].gid)
        end++;
    return end;
}

/* Returns the home of an id. Mixes the bits, so that neighbouring ids have different homes; the
 * high bits are the best mixed. */
static int home_of(int64_t gid)
{
    uint64_t x = (uint64_t)gid * UINT64_C(0x9e3779b97f4a7c15);
    return (int)((x >> 33) % (uint64_t)rt_comm_size());
}

/* Sends the homes the ids that this rank has, and of which it has the owner. Returns what this rank hears
 * as a home, by rank. */
static rt_halo_item_t *send_to_homes(const rt_halo_setup_t *setup, int64_t *count, int64_t *start,
                                     int64_t *n_heard)
{
    int size = rt_comm_size();
    const rt_halo_item_t *entry = setup->entry;
    int64_t n = setup->n_entries;
    memset(count, 0, (size_t)size * sizeof *count);
    for (int64_t i = 0; i < n; i = run_end(entry, n, i))
        count[home_of(entry[i].gid)]++;
    rt_halo_item_t *sent =
        RT_NEW(rt_halo_item_t, (size_t)rt_halo_starts(count, start, size), RT_HOST);
    for (int64_t i = 0, end; i < n; i = end) {
        bool owner = false;
        end = run_end(entry, n, i);
        for (int64_t j = i; j < end; j++)
            owner |= entry[j].owners > 0;
        sent[start[home_of(entry[i].gid)]++] =
            (rt_halo_item_t){entry[i].gid, rt_comm_rank(), owner};
    }
    rt_halo_item_t *heard = rt_comm_exchange(sent, count, sizeof *sent, start);
    RT_FREE(sent, RT_HOST);
    *n_heard = 0;
    for (int r = 0; r < size; r++)
        *n_heard += start[r];
    return heard;
}

/* As a home: tells each rank which others hold its ids. Sorts `heard` by id; within an id it stays
 * sorted by rank. */
static rt_halo_item_t *send_to_sharers(rt_halo_item_t *heard, int64_t n, int64_t *count,
                                       int64_t *start)
{
    int size = rt_comm_size();
    sort_items(heard, n);
    memset(count, 0, (size_t)size * sizeof *count);
    for (int64_t i = 0, end; i < n; i = end) {
        end = run_end(heard, n, i);
        for (int64_t j = i; j < end; j++)
            count[heard[j].from] += end - i - 1;
    }
    rt_halo_item_t *sent =
        RT_NEW(rt_halo_item_t, (size_t)rt_halo_starts(count, start, size), RT_HOST);
    for (int64_t i = 0, end; i < n; i = end) {
        end = run_end(heard, n, i);
        for (int64_t j = i; j < end; j++)
            for (int64_t other = i; other < end; other++)
                if (other != j)
                    sent[start[heard[j].from]++] = heard[other];
    }
    free(heard);
    rt_halo_item_t *sharer = rt_comm_exchange(sent, count, sizeof *sent, start);
    RT_FREE(sent, RT_HOST);
    return sharer;
}

static void find_sharers(rt_halo_setup_t *setup)
{
    int size = rt_comm_size();
    if (size == 1)
        return;
    int64_t *count = RT_NEW(int64_t, (size_t)size, RT_HOST);
    int64_t *start = RT_NEW(int64_t, (size_t)size, RT_HOST);
    int64_t n_heard;
    rt_halo_item_t *heard = send_to_homes(setup, count, start, &n_heard);
    setup->sharer = send_to_sharers(heard, n_heard, count, start);
    for (int r = 0; r < size; r++)
        setup->n_sharers += start[r];
    RT_EXPECT(setup->n_sharers < INT32_MAX, RT_USAGE, "%lld copies to exchange",
              (long long)setup->n_sharers);
    sort_items(setup->sharer, setup->n_sharers);
    RT_FREE(count, RT_HOST);
    RT_FREE(start, RT_HOST);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Steps from one id of this rank to the next, with its sharers; from {0} to the first. */
static bool next_group(const rt_halo_setup_t *setup, rt_halo_members_t *g)
{
    const rt_halo_item_t *entry = setup->entry, *sharer = setup->sharer;
    int64_t first = (int64_t)g->first + g->copies, s = (int64_t)g->sharer + g->sharers;
    if (first == setup->n_entries)
        return false;
    int64_t end = run_end(entry, setup->n_entries, first), s_end = s;
    if (s < setup->n_sharers && sharer[s].gid == entry[first].gid)
        s_end = run_end(sharer, setup->n_sharers, s);
    *g = (rt_halo_members_t){(int32_t)first, (int32_t)(end - first), (int32_t)s,
                             (int32_t)(s_end - s)};
    return true;
}

static int count_owners(const rt_halo_setup_t *setup, const rt_halo_members_t *g)
{
    int owners = 0;
    for (int32_t i = 0; i < g->copies; i++)
        owners += setup->entry[g->first + i].owners;
    for (int32_t i = 0; i < g->sharers; i++)
        owners += setup->sharer[g->sharer + i].owners;
    return owners;
}

/* Ends all ranks with one line if some group does not have exactly one owner. */
static void check_owners(const rt_halo_setup_t *setup)
{
    int size = rt_comm_size();
    rt_halo_item_t bad = {.gid = -1}, *all = RT_NEW(rt_halo_item_t, (size_t)size, RT_HOST);
    for (rt_halo_members_t g = {0}; bad.gid < 0 && next_group(setup, &g);) {
        int owners = count_owners(setup, &g);
        if (owners != 1)
            bad = (rt_halo_item_t){setup->entry[g.first].gid, rt_comm_rank(), owners};
    }
    rt_comm_allgather(&bad, sizeof bad, all);
    for (int r = 0; r < size; r++)
        if (all[r].gid >= 0)
            rt_refuse(RT_USAGE, "halo: global id %lld has %d owners; a copy needs exactly one",
                      (long long)all[r].gid, all[r].owners);
    RT_FREE(all, RT_HOST);
}

/* Lists the groups. */
static void make_groups(rt_halo_setup_t *setup)
{
    int32_t n = 0;
    for (rt_halo_members_t g = {0}; next_group(setup, &g);)
        n += g.copies + g.sharers > 1;
    setup->n_groups = n;
    setup->group = RT_NEW(rt_halo_members_t, (size_t)n, RT_HOST);
    rt_halo_members_t *next = setup->group;
    for (rt_halo_members_t g = {0}; next_group(setup, &g);)
        if (g.copies + g.sharers > 1)
            *next++ = g;
}

bool rt_halo_find_groups(rt_halo_setup_t *setup)
{
    check_entries(setup->desc);
    const bool owners = find_owners(setup->desc);
    collect_entries(setup);
    find_sharers(setup);
    if (owners)
        check_owners(setup);
    make_groups(setup);
    return owners;
}
