/*
 * halo/allreduce.cu - makes the boxes of halo/allreduce.cuh, opens them on all ranks of the host and tries
 * them.
 *
 * A box that can be opened need not receive what is written. A few sums of known values show that
 * it does: each needs a word from every rank to every other.
 */
#include "config.h"
#include "halo/allreduce.cuh"
#include <cstdio>
#include <cstring>
#include "machine/comm.h"
#include "base/mem.h"

namespace
{

enum { EPOCHS = 4 };

/* In a solve a rank may be late because its host is late; in the trial all have just met. */
constexpr unsigned long long solve_patience = 30000000000ULL, trial_patience = 5000000000ULL;

struct {
    bool tried;
    rt_device_allreduce_t *device; /* NULL: not usable */
    rt_peer_memory_t boxes;
    char why[RT_PEER_LINE];
} self;

__global__ void trial(rt_device_allreduce_t *m, double mine, double *result)
{
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        double sum[2] = {mine + epoch, 1};
        rt_device_allreduce(m, sum);
        if (threadIdx.x == 0) {
            result[2 * epoch] = sum[0];
            result[2 * epoch + 1] = sum[1];
        }
        __syncthreads(); /* the epoch is written before it is read again */
    }
}

void try_out(char text[RT_PEER_LINE])
{
    double result[2 * EPOCHS];
    double *device = RT_NEW(double, 2 * EPOCHS, RT_DEVICE);
    const int ranks = rt_comm_size();
    rt_comm_barrier();
    trial<<<1, 64, 0, rt_stream()>>>(self.device, 1.0 + rt_comm_rank(), device);
    RT_CUDA_LAUNCHED();
    rt_copy(result, RT_HOST, device, RT_DEVICE, sizeof result);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        if (result[2 * epoch] != ranks * (ranks + 1) / 2 + ranks * epoch ||
            result[2 * epoch + 1] != ranks)
            snprintf(text, RT_PEER_LINE,
                     "what is written into another GPU's memory does not arrive");
    RT_FREE(device, RT_DEVICE);
}

void start(char text[RT_PEER_LINE])
{
    rt_device_allreduce_t m = {};
    const size_t values = 2 * static_cast<size_t>(rt_comm_size()) * RT_ALLREDUCE_VALUES;
    if (!rt_peer_new(&self.boxes, values * sizeof(uint4), text))
        return;
    m.rank = rt_comm_rank();
    m.ranks = rt_comm_size();
    m.patience = trial_patience;
    for (int r = 0; r < m.ranks; r++)
        m.box[r] = static_cast<uint4 *>(self.boxes.of[r]);
    self.device = static_cast<rt_device_allreduce_t *>(rt_clone(&m, 1, sizeof m, RT_DEVICE));
    try_out(text);
    if (rt_comm_agree(text, RT_PEER_LINE) >= 0) {
        rt_device_allreduce_stop();
        return;
    }
    rt_copy(&self.device->patience, RT_DEVICE, &solve_patience, RT_HOST, sizeof solve_patience);
}

} // namespace

extern "C" {

rt_device_allreduce_t *rt_device_allreduce_get(void)
{
    char text[RT_PEER_LINE] = "";
    if (!self.tried) {
        rt_device_at_release(rt_device_allreduce_stop);
        start(text);
        self.tried = true;
        memcpy(self.why, text, sizeof text);
    }
    return self.device;
}

const char *rt_device_allreduce_why_not(void)
{
    return self.why;
}

void rt_device_allreduce_stop(void)
{
    if (self.device) {
        RT_FREE(self.device, RT_DEVICE);
        rt_peer_destroy(&self.boxes);
    }
    self.device = nullptr;
    self.tried = false;
}

} // extern "C"
