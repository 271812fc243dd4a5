/*
 * halo/peer_memory.cu - memory of each GPU of a host that the other GPUs write into.
 *
 * Each rank opens the others' memory by CUDA's handles for memory of other processes.
 * Advantage: a kernel stores through NVLink or PCIe as into its own memory; no host takes part.
 * Price: one host, a GPU per rank, and memory that is freed only when all ranks have closed it.
 */
#include "config.h"
#include "halo/peer_memory.h"
#include <cstdio>
#include <vector>
#include "machine/comm.h"
#include "machine/cuda.cuh"
#include "base/mem.h"

namespace
{

/* Writes into `text` why these ranks cannot share memory, or "". Two processes use one GPU
 * alternately, for milliseconds, so a kernel that waits for the other process would keep it from running. */
void check_ranks(char text[RT_PEER_LINE])
{
    const int size = rt_comm_size();
    if (size == 1)
        snprintf(text, RT_PEER_LINE, "there is one rank");
    else if (size > RT_PEER_RANKS)
        snprintf(text, RT_PEER_LINE, "more than %d ranks", static_cast<int>(RT_PEER_RANKS));
    else if (rt_comm_local_size() != size)
        snprintf(text, RT_PEER_LINE, "the ranks are on several hosts");
    if (rt_comm_agree(text, RT_PEER_LINE) < 0)
        rt_device_own(text, RT_PEER_LINE);
}

void open_memory(rt_peer_memory_t *memory, size_t bytes, char text[RT_PEER_LINE])
{
    const int me = rt_comm_rank(), size = rt_comm_size();
    cudaIpcMemHandle_t mine = {};
    std::vector<cudaIpcMemHandle_t> all(static_cast<size_t>(size));
    memory->of[me] = rt_alloc(bytes, 1, RT_DEVICE);
    rt_fill(memory->of[me], RT_DEVICE, 0, bytes);
    rt_device_synchronize();
    cudaError_t status = cudaIpcGetMemHandle(&mine, memory->of[me]);
    if (status != cudaSuccess)
        snprintf(text, RT_PEER_LINE, "rank %d cannot share its GPU's memory: %s", me,
                 cudaGetErrorString(status));
    (void)cudaGetLastError();
    if (rt_comm_agree(text, RT_PEER_LINE) >= 0)
        return;
    rt_comm_allgather(&mine, sizeof mine, all.data());
    for (int r = 0; r < size && status == cudaSuccess; r++)
        if (r != me)
            status = cudaIpcOpenMemHandle(&memory->of[r], all[r], cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess)
        snprintf(text, RT_PEER_LINE, "rank %d cannot reach the memory of the other GPUs: %s", me,
                 cudaGetErrorString(status));
    (void)cudaGetLastError();
}

} // namespace

extern "C" {

bool rt_peer_new(rt_peer_memory_t *memory, size_t bytes, char text[RT_PEER_LINE])
{
    *memory = {};
    check_ranks(text);
    if (text[0])
        return false;
    open_memory(memory, bytes, text);
    if (rt_comm_agree(text, RT_PEER_LINE) < 0)
        return true;
    rt_peer_destroy(memory);
    return false;
}

/* Other ranks may write until all are here, and have the memory open until all have closed it. */
void rt_peer_destroy(rt_peer_memory_t *memory)
{
    const int me = rt_comm_rank();
    rt_comm_barrier();
    for (int r = 0; r < rt_comm_size() && r < RT_PEER_RANKS; r++)
        if (r != me && memory->of[r])
            RT_CUDA(cudaIpcCloseMemHandle(memory->of[r]));
    rt_comm_barrier();
    RT_FREE(memory->of[me], RT_DEVICE);
    *memory = {};
}

} // extern "C"
