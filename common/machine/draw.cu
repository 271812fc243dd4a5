/* machine/draw.cu - random fields on the GPU (base/draw.h). */
#include "config.h"
#include "base/draw.h"
#include "machine/cuda.cuh"
#include "machine/memory.h"

namespace
{

constexpr unsigned threads = 256;

template <class T> __global__ void draw_all(T *x, const T *base, size_t n, rt_draw_t draw)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * threads + threadIdx.x;
    if (i < n)
        x[i] = static_cast<T>(rt_drawn(base[i], draw));
}

template <class T> void launch(void *x, const void *base, size_t n, rt_draw_t draw)
{
    draw_all<<<rt_blocks(n, threads), threads, 0, rt_stream()>>>(
        static_cast<T *>(x), static_cast<const T *>(base), n, draw);
    RT_CUDA_LAUNCHED();
}

} // namespace

void rt_draw_cuda(void *x, const void *base, size_t n, size_t size, rt_draw_t draw)
{
    if (size == sizeof(double))
        launch<double>(x, base, n, draw);
    else
        launch<float>(x, base, n, draw);
}
