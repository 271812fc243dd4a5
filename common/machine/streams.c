/* machine/streams.c - the main stream of a GPU and its side stream. */
#include "config.h"
#include "machine/streams.h"

#include <stdbool.h>
#include <stddef.h>
#include "machine/cuda.h"

static struct {
    void *stream; /* the one in use: main or side; NULL: none is open */
    int side_depth;
#if RT_HAVE_CUDA
    cudaStream_t main, side;
    cudaEvent_t forked, joined;
#endif
} self;

void *rt_device_stream(void)
{
    return self.stream;
}

int rt_streams_open(void)
{
    int status = 0;
#if RT_HAVE_CUDA
    int lowest, highest;
    status = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
    if (status == cudaSuccess)
        status = cudaStreamCreate(&self.main);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithPriority(&self.side, cudaStreamDefault, highest);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&self.forked, cudaEventDisableTiming);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&self.joined, cudaEventDisableTiming);
    self.stream = status == cudaSuccess ? self.main : NULL;
#endif
    return status;
}

void rt_streams_close(void)
{
#if RT_HAVE_CUDA
    RT_CUDA(self.main ? cudaStreamDestroy(self.main) : cudaSuccess);
    RT_CUDA(self.side ? cudaStreamDestroy(self.side) : cudaSuccess);
    RT_CUDA(self.forked ? cudaEventDestroy(self.forked) : cudaSuccess);
    RT_CUDA(self.joined ? cudaEventDestroy(self.joined) : cudaSuccess);
    self.main = self.side = NULL;
    self.forked = self.joined = NULL;
    self.stream = NULL;
#endif
}

/* ---- the side stream ---- */

void rt_side_begin(void)
{
    if (!self.stream || self.side_depth++ > 0)
        return;
#if RT_HAVE_CUDA
    RT_CUDA(cudaEventRecord(self.forked, self.main));
    RT_CUDA(cudaStreamWaitEvent(self.side, self.forked, 0));
    self.stream = self.side;
#endif
}

void rt_side_end(void)
{
    if (!self.stream || --self.side_depth > 0)
        return;
#if RT_HAVE_CUDA
    RT_CUDA(cudaEventRecord(self.joined, self.side));
    self.stream = self.main;
#endif
}

void rt_side_join(void)
{
    if (!self.stream || self.side_depth > 0)
        return;
#if RT_HAVE_CUDA
    RT_CUDA(cudaStreamWaitEvent(self.main, self.joined, 0));
#endif
}

void rt_side_forbid(void)
{
    self.side_depth++;
}

void rt_side_allow(void)
{
    self.side_depth--;
}
