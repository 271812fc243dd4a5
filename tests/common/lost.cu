/*
 * lost.cu - linked with an app, makes it lose its GPU while it works. For gpu_lost.sh.
 *
 * A kernel traps: CUDA then answers every later call of the process with an error, as it does when
 * a GPU falls off the bus, and no other process of the GPU is harmed. When, and on which rank, is
 * in RT_LOSE_AFTER (seconds from when the rank has its GPU) and RT_LOSE_RANK (0 if not set).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "rt.h"

static double after;
static int rank;

static __global__ void trap(void)
{
    __trap();
}

static void nap(double seconds)
{
    usleep((useconds_t)(1e6 * seconds));
}

/* A stream of its own, which waits for none: the program's may be in the midst of a capture. */
static void *lose(void *)
{
    while (!rt_device_gpu())
        nap(1e-3);
    if (rt_comm_rank() != rank)
        return NULL;
    nap(after);
    cudaStream_t stream;
    if (cudaSetDevice(rt_device_gpu()->ordinal) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        fprintf(stderr, "lost: too late\n");
        return NULL;
    }
    fprintf(stderr, "lost: after %g s\n", after); /* before it is: the program may end first */
    trap<<<1, 1, 0, stream>>>();
    return NULL;
}

/* Before main() begins. */
static __attribute__((constructor)) void start(void)
{
    const char *when = getenv("RT_LOSE_AFTER"), *who = getenv("RT_LOSE_RANK");
    pthread_t thread;
    if (!when)
        return;
    after = atof(when);
    rank = who ? atoi(who) : 0;
    if (pthread_create(&thread, NULL, lose, NULL))
        abort();
}
