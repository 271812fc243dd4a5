/*
 * halo/predict.c - the memory of a halo, before there is one.
 */
#include "config.h"
#include "halo/state.h"
#include "machine/comm.h"

/* Lists per rank or neighbour, and the rounding of allocations, together. */
enum { SMALL = 16384 };

size_t rt_halo_predict(int64_t n_local, int64_t n_shared, int max_components, rt_space_t space)
{
    size_t local = (size_t)n_local, shared = (size_t)n_shared;
    size_t buffers = 2 * shared * (size_t)max_components * sizeof(double);
    /* Positions; starts of groups of nine and more. Shared: two starts, position, slot, source. */
    size_t plan = (local + local / (RT_HALO_PLANES + 1) + 5 * shared) * sizeof(int32_t);
    if (space == RT_PINNED)
        return buffers + SMALL;
    /* Transport peer: two slots per value, each of twice its bytes. */
    size_t inbox =
        space == RT_DEVICE && rt_comm_size() > 1 && !rt_mem_device_is_emulated() ? 2 * buffers : 0;
    return plan + buffers + inbox + SMALL;
}

size_t rt_halo_predict_setup(int64_t n_local, int64_t n_shared)
{
    size_t local = (size_t)n_local, shared = (size_t)n_shared, n = local + shared;
    size_t per_rank = (size_t)rt_comm_size() * 6 * sizeof(int64_t),
           items = n * sizeof(rt_halo_item_t);
    /* Sorting the entries takes twice the items. Asking the homes: the questions and what a home
     * hears, which hashing spreads evenly to within a few percent. */
    size_t asking = rt_comm_size() > 1 ? items / 16 + 3 * items : 2 * items;
    /* At the end: entries, sharers, groups (two entries or more, or shared), the entries' groups,
     * plan. */
    size_t end = items + shared * sizeof(rt_halo_item_t) +
                 (local / 2 + shared) * sizeof(rt_halo_members_t) + n * sizeof(int32_t) +
                 rt_halo_predict(n_local, n_shared, 0, RT_HOST);
    return (asking > end ? asking : end) + per_rank + 8 * 256 * sizeof(int64_t) + SMALL;
}
