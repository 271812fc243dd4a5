/*
 * rt_mail.cu - the boxes of rt_mail.cuh: made, opened by all ranks of the host, tried out.
 *
 * Each rank opens the others' boxes by CUDA's handles for memory of other processes. That these can
 * be opened does not show that what is written arrives: a few sums of known values do.
 */
#include "config.h"
#include "rt_mail.cuh"
#include <cstdio>
#include <cstring>
#include <vector>
#include "rt_comm.h"
#include "rt_mem.h"

namespace
{

enum { LINE = 160, TURNS = 4 };

/* In a solve a rank may be late because its host is; in the trial all have just met. */
constexpr unsigned long long solve_patience = 120000000000ULL, trial_patience = 5000000000ULL;

struct {
    bool tried;
    rt_mail_t *device; /* NULL: not usable */
    rt_mail_t host;    /* its addresses */
    char why[LINE];
} self;

/* The fault of the lowest rank that has one, for all; true if there is one. */
bool agree(char (&text)[LINE])
{
    std::vector<char> all(static_cast<size_t>(rt_comm_size()) * LINE);
    rt_comm_allgather(text, LINE, all.data());
    for (int r = 0; r < rt_comm_size(); r++)
        if (all[static_cast<size_t>(r) * LINE]) {
            memcpy(text, &all[static_cast<size_t>(r) * LINE], LINE);
            return true;
        }
    return false;
}

void check_place(char (&text)[LINE])
{
    const int size = rt_comm_size();
    if (size == 1)
        snprintf(text, LINE, "one rank has nothing to add");
    else if (size > RT_MAIL_RANKS)
        snprintf(text, LINE, "more than %d ranks", static_cast<int>(RT_MAIL_RANKS));
    else if (rt_comm_local_size() != size)
        snprintf(text, LINE, "the ranks are on several hosts");
    else if (!rt_device_gpu())
        snprintf(text, LINE, "rank %d has no GPU", rt_comm_rank());
    if (agree(text))
        return;
    using uuid_t = char[sizeof rt_device_gpu()->uuid];
    std::vector<char> all(size * sizeof(uuid_t));
    rt_comm_allgather(rt_device_gpu()->uuid, sizeof(uuid_t), all.data());
    for (int r = 0; r < rt_comm_rank(); r++)
        if (strcmp(&all[r * sizeof(uuid_t)], rt_device_gpu()->uuid) == 0)
            snprintf(text, LINE, "ranks %d and %d use the same GPU", r, rt_comm_rank());
}

/* Own box, and those of the others as this process sees them. */
void open_boxes(char (&text)[LINE])
{
    rt_mail_t &m = self.host;
    const size_t size = static_cast<size_t>(rt_comm_size()), values = 2 * size * RT_MAIL_VALUES;
    cudaIpcMemHandle_t mine;
    std::vector<cudaIpcMemHandle_t> all(size);
    m.rank = rt_comm_rank();
    m.ranks = rt_comm_size();
    uint4 *own = RT_NEW(uint4, values, RT_DEVICE);
    rt_fill(own, RT_DEVICE, 0, values * sizeof *own);
    rt_device_synchronize();
    cudaError_t status = cudaIpcGetMemHandle(&mine, own);
    rt_comm_allgather(&mine, sizeof mine, all.data());
    m.box[m.rank] = own;
    for (int r = 0; r < m.ranks && status == cudaSuccess; r++)
        if (r != m.rank)
            status = cudaIpcOpenMemHandle(reinterpret_cast<void **>(&m.box[r]), all[r],
                                          cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess)
        snprintf(text, LINE, "rank %d cannot reach the memory of the other GPUs: %s", m.rank,
                 cudaGetErrorString(status));
    (void)cudaGetLastError();
}

/* Others may still write until all are here. */
void close_boxes()
{
    rt_mail_t &m = self.host;
    rt_comm_barrier();
    for (int r = 0; r < m.ranks; r++)
        if (r != m.rank && m.box[r])
            RT_CUDA(cudaIpcCloseMemHandle(m.box[r]));
    rt_comm_barrier();
    RT_FREE(m.box[m.rank], RT_DEVICE);
    m = {};
}

__global__ void trial(rt_mail_t *m, double mine, double *result)
{
    for (int turn = 0; turn < TURNS; turn++) {
        double sum[2] = {mine + turn, 1};
        rt_mail_sum(m, sum);
        if (threadIdx.x == 0) {
            result[2 * turn] = sum[0];
            result[2 * turn + 1] = sum[1];
        }
        __syncthreads(); /* the turn is written before it is read again */
    }
}

void try_out(char (&text)[LINE])
{
    double result[2 * TURNS];
    double *device = RT_NEW(double, 2 * TURNS, RT_DEVICE);
    const int ranks = self.host.ranks;
    rt_comm_barrier();
    trial<<<1, 64, 0, rt_stream()>>>(self.device, 1.0 + rt_comm_rank(), device);
    RT_CUDA_LAUNCHED();
    rt_copy(result, RT_HOST, device, RT_DEVICE, sizeof result);
    for (int turn = 0; turn < TURNS; turn++)
        if (result[2 * turn] != ranks * (ranks + 1) / 2 + ranks * turn ||
            result[2 * turn + 1] != ranks)
            snprintf(text, LINE, "what is written into another GPU's memory does not arrive");
    RT_FREE(device, RT_DEVICE);
}

void start(char (&text)[LINE])
{
    check_place(text);
    if (agree(text))
        return;
    open_boxes(text);
    if (agree(text)) {
        close_boxes();
        return;
    }
    self.host.patience = trial_patience;
    self.device = static_cast<rt_mail_t *>(rt_clone(&self.host, 1, sizeof self.host, RT_DEVICE));
    try_out(text);
    if (agree(text)) {
        rt_mail_stop();
        return;
    }
    rt_copy(&self.device->patience, RT_DEVICE, &solve_patience, RT_HOST, sizeof solve_patience);
}

} // namespace

extern "C" {

rt_mail_t *rt_mail_get(void)
{
    char text[LINE] = "";
    if (!self.tried) {
        start(text);
        self.tried = true;
        memcpy(self.why, text, sizeof text);
    }
    return self.device;
}

const char *rt_mail_why_not(void)
{
    return self.why;
}

void rt_mail_stop(void)
{
    if (self.device) {
        RT_FREE(self.device, RT_DEVICE);
        close_boxes();
    }
    self.device = nullptr;
    self.tried = false;
}

} // extern "C"
