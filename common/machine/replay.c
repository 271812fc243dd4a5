/* machine/replay.c - CUDA graphs behind machine/replay.h. */
#include "config.h"
#include "machine/replay.h"

#include <stddef.h>
#include "machine/device.h"
#if RT_HAVE_CUDA
#include "machine/cuda.h"

/* The mode is relaxed because the first launch of a kernel may have to load its code. */
static void record(rt_replay_t *replay, void (*enqueue)(void *work), void *work)
{
    const rt_traffic_t before = rt_traffic_take();
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    RT_CUDA(cudaStreamBeginCapture(rt_stream(), cudaStreamCaptureModeRelaxed));
    enqueue(work);
    RT_CUDA(cudaStreamEndCapture(rt_stream(), &graph));
    RT_CUDA(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    RT_CUDA(cudaGraphDestroy(graph));
    replay->graph = ready;
    replay->traffic = rt_traffic_take(); /* it is sent with each launch, not now */
    rt_traffic_add(before);
}
#endif

void rt_replay(rt_replay_t *replay, int64_t key, void (*enqueue)(void *work), void *work)
{
#if RT_HAVE_CUDA
    if (rt_device_stream()) {
        if (replay->graph && replay->key != key)
            rt_replay_drop(replay);
        if (!replay->graph)
            record(replay, enqueue, work);
        replay->key = key;
        RT_CUDA(cudaGraphLaunch((cudaGraphExec_t)replay->graph, rt_stream()));
        rt_traffic_add(replay->traffic);
        return;
    }
#else
    (void)replay;
    (void)key;
#endif
    enqueue(work);
}

void rt_replay_drop(rt_replay_t *replay)
{
#if RT_HAVE_CUDA
    if (replay->graph)
        RT_CUDA(cudaGraphExecDestroy((cudaGraphExec_t)replay->graph));
#endif
    replay->graph = NULL;
}
