/*
 * staged_lists.cu - the lists of rung staged that say which blocks of this GPU, and of others, have
 * rows that are neighbours, and where dQ of boundary rows is stored on other GPUs.
 */
#include "config.h"
#include "staged_steps.cuh"
#include <vector>
#include "halo/allreduce.h"
#include "machine/comm.h"
#include "mcpi_cuda.cuh"

/* Opens the memory of the other ranks' GPUs, and makes view->dq there, if they can be reached.
 * first[ranks + 1]: filled as for mcpi_near_new. */
static void open_ranks(mcpi_view_t *view, mcpi_staged_data_t *data, size_t value_bytes,
                       int32_t *first)
{
    const int ranks = rt_comm_size();
    const int32_t mine = static_cast<int32_t>(data->blocks);
    char text[RT_PEER_LINE] = "";
    first[0] = 0;
    rt_comm_allgather(&mine, sizeof mine, first + 1);
    for (int r = 0; r < ranks; r++)
        first[r + 1] += first[r];
    if (ranks == 1 || !view->halo || !rt_device_allreduce_get())
        return;
    data->flag_bytes = static_cast<size_t>(first[ranks]) * RT_FLAG_APART * sizeof(unsigned);
    const size_t values =
        static_cast<size_t>(view->rows + view->ghosts) * static_cast<size_t>(view->nb);
    if (!rt_peer_new(&data->memory, data->flag_bytes + values * value_bytes, text))
        return;
    unsigned char *own = static_cast<unsigned char *>(data->memory.of[rt_comm_rank()]);
    data->lists.ended = reinterpret_cast<unsigned *>(own);
    view->dq = own + data->flag_bytes;
}

/* Makes the lists of flags: which ones a block watches, and which ones it raises on other GPUs. */
static void list_flags(const mcpi_near_t &near, const int32_t *first, mcpi_staged_data_t *data)
{
    const size_t blocks = data->blocks;
    std::vector<int32_t> start(blocks + 1);
    std::vector<unsigned *> raise;
    for (size_t b = 0; b < blocks; b++) {
        int rank = 0;
        start[b] = static_cast<int32_t>(raise.size());
        for (int32_t k = near.far[b]; k < near.start[b + 1]; k++) {
            if (k > near.far[b] && near.near[k] < first[rank + 1])
                continue; /* another block of that rank */
            while (near.near[k] >= first[rank + 1])
                rank++;
            raise.push_back(static_cast<unsigned *>(data->memory.of[rank]) +
                            (static_cast<size_t>(data->lists.own) + b) * RT_FLAG_APART);
        }
    }
    start[blocks] = static_cast<int32_t>(raise.size());
    data->lists.start = mcpi_upload(near.start, blocks + 1);
    data->lists.far = mcpi_upload(near.far, blocks);
    data->lists.near = mcpi_upload(near.near, static_cast<size_t>(near.start[blocks]));
    data->lists.raise_start = mcpi_upload(start.data(), start.size());
    data->lists.raise = mcpi_upload(raise.data(), raise.size());
}

/* Lists where dQ of each record's rows is stored on other GPUs, in the order of the rows. */
static void list_copies(const mcpi_view_t *view, const mcpi_sends_t &sends, size_t value_bytes,
                        mcpi_staged_data_t *data)
{
    const mcpi_chunks_t &chunks = data->chunks;
    std::vector<mcpi_copy_t> copy;
    for (int k = 0; k < chunks.chunks; k++)
        for (int32_t row = chunks.first_row[k]; row < chunks.first_row[k + 1]; row++)
            for (int32_t s = sends.start[row]; s < sends.start[row + 1]; s++) {
                const mcpi_send_t &to = sends.to[s];
                copy.push_back({static_cast<unsigned char *>(data->memory.of[to.rank]) +
                                    data->flag_bytes +
                                    static_cast<size_t>(to.ghost) * static_cast<size_t>(view->nb) *
                                        value_bytes,
                                row - chunks.first_row[k], 0});
            }
    data->lists.copy = mcpi_upload(copy.data(), copy.size());
}

mcpi_sends_t mcpi_staged_connect(mcpi_view_t *view, mcpi_staged_data_t *data, size_t value_bytes)
{
    const mcpi_part_t *part = view->system->part;
    std::vector<int32_t> first(static_cast<size_t>(rt_comm_size()) + 1);
    open_ranks(view, data, value_bytes, first.data());
    if (rt_comm_size() > 1 && !view->dq)
        return {};
    const int blocks = static_cast<int>(data->blocks), ranks = rt_comm_size(),
              rank = rt_comm_rank();
    uint16_t *block = RT_NEW(uint16_t, static_cast<size_t>(part->rows), RT_HOST);
    mcpi_share_t *share = mcpi_shares_new(part, &data->chunks, blocks, block);
    mcpi_home_t *home = nullptr;
    mcpi_sends_t sends = {};
    data->lists.own = first[rank];
    if (ranks > 1) {
        home = mcpi_homes_new(part, view->halo, block);
        sends = mcpi_sends_new(part, home);
        list_copies(view, sends, value_bytes, data);
    } else {
        const size_t flags = data->blocks * RT_FLAG_APART;
        data->lists.ended = RT_NEW(unsigned, flags, RT_DEVICE);
        rt_fill(data->lists.ended, RT_DEVICE, 0, flags * sizeof(unsigned));
    }
    mcpi_near_t near = mcpi_near_new(part, block, home, ranks, rank, first.data());
    list_flags(near, first.data(), data);
    data->lists.share = mcpi_upload(share, data->blocks * static_cast<size_t>(part->colours));
    RT_FREE_ALL(RT_HOST, near.start, near.far, near.near, home, block, share);
    return sends;
}

void mcpi_staged_lists_destroy(mcpi_view_t *view, mcpi_staged_data_t *data)
{
    mcpi_staged_lists_t &lists = data->lists;
    RT_FREE_ALL(RT_DEVICE, lists.share, lists.start, lists.far, lists.near, lists.raise_start,
                lists.raise, lists.copy);
    if (view->dq) {
        rt_device_synchronize();
        rt_peer_destroy(&data->memory);
        view->dq = nullptr;
    } else {
        RT_FREE(lists.ended, RT_DEVICE);
    }
}
