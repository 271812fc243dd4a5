/*
 * halo/peer_memory.cu - memory that the GPUs of one host write into, each into that of all others.
 *
 * Each rank opens the others' memory by CUDA's handles for memory of other processes. Advantage: a
 * kernel stores through NVLink or PCIe as it stores at home, and nobody else takes part. Price: one
 * host, a GPU for each rank, and memory that may be given back only when all have closed it.
 */
#include "config.h"
#include "halo/peer_memory.h"
#include <cstdio>
#include <cstring>
#include <vector>
#include "machine/comm.h"
#include "machine/cuda.cuh"
#include "base/mem.h"

namespace
{

/* One host, and a GPU for each rank: two processes have one GPU in turns of milliseconds, so a
 * kernel that waits for the other one's would keep it from running. */
void check_place(char text[RT_PEER_LINE])
{
    const int size = rt_comm_size();
    if (size == 1)
        snprintf(text, RT_PEER_LINE, "there is one rank");
    else if (size > RT_PEER_RANKS)
        snprintf(text, RT_PEER_LINE, "more than %d ranks", static_cast<int>(RT_PEER_RANKS));
    else if (rt_comm_local_size() != size)
        snprintf(text, RT_PEER_LINE, "the ranks are on several hosts");
    else if (!rt_device_gpu())
        snprintf(text, RT_PEER_LINE, "rank %d has no GPU", rt_comm_rank());
    if (rt_comm_agree(text, RT_PEER_LINE) >= 0)
        return;
    using uuid_t = char[sizeof rt_device_gpu()->uuid];
    std::vector<char> all(size * sizeof(uuid_t));
    rt_comm_allgather(rt_device_gpu()->uuid, sizeof(uuid_t), all.data());
    for (int r = 0; r < rt_comm_rank() && !text[0]; r++)
        if (strcmp(&all[r * sizeof(uuid_t)], rt_device_gpu()->uuid) == 0)
            snprintf(text, RT_PEER_LINE, "ranks %d and %d use the same GPU", r, rt_comm_rank());
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
    check_place(text);
    if (rt_comm_agree(text, RT_PEER_LINE) >= 0)
        return false;
    open_memory(memory, bytes, text);
    if (rt_comm_agree(text, RT_PEER_LINE) < 0)
        return true;
    rt_peer_destroy(memory);
    return false;
}

/* Others may write until all are here, and have it open until all have closed it. */
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
