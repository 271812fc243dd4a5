/*
 * measure/ceiling_gpu.hpp - the loops of rt_ceiling on GPUs: one text for CUDA and for a GPU that
 * Kokkos alone reaches.
 *
 * Bandwidth: each thread moves 16 bytes at a time and issues all its loads before the first store;
 * neighbours touch neighbouring addresses. How many loads in flight and how many blocks are best
 * depends on the GPU and on the size of the data, so several launch shapes are tried and the best
 * counts.
 *
 * Arithmetic: multiply-adds in registers, several independent chains per thread, on full
 * multiprocessors.
 *
 * A back-end includes this after its own header and gives gpu_loops<> a struct of static functions:
 *
 *     launch(blocks, threads, body)   body(block, blocks, thread, threads) by all threads
 *     each(n, body)                   body(i), i = 0 .. n - 1
 *     sum(n, body)                    returns the sum of body(i)
 *     copy, open, close, start, stop  as in rt_loops_t
 *     on_host                         whether it works on the CPU (in tests)
 */
#ifndef RT_CEILING_GPU_HPP
#define RT_CEILING_GPU_HPP

#include "machine/device.h"
#include "measure/ceiling_loops.h"

#if defined(KOKKOS_FORCEINLINE_FUNCTION)
#define RT_GPU_FN KOKKOS_FORCEINLINE_FUNCTION
#else
#define RT_GPU_FN __device__ __forceinline__
#define RT_UNROLL _Pragma("unroll")
#endif

namespace
{

/* ---- what a thread does ---- */

struct alignas(2 * sizeof(double)) pair_t {
    double at[2];
};

struct arrays_t {
    pair_t *array[RT_LOOP_ARRAYS];
};

template <rt_loop_t loop> RT_GPU_FN pair_t load_and_add(const arrays_t &s, size_t i)
{
    constexpr int last = loop == RT_LOOP_READ ? RT_LOOP_ARRAYS - 1 : loop == RT_LOOP_TRIAD ? 2 : 1;
    constexpr double scale = loop == RT_LOOP_TRIAD ? RT_TRIAD_SCALE : 1;
    pair_t v[last];
    RT_UNROLL
    for (int k = 0; k < last; k++)
        v[k] = s.array[k + 1][i];
    RT_UNROLL
    for (int k = 1; k < last; k++) {
        v[0].at[0] += scale * v[k].at[0];
        v[0].at[1] += scale * v[k].at[1];
    }
    return v[0];
}

/* A block takes tiles of threads * unroll items, `blocks` tiles apart. The last tile may be short. */
template <rt_loop_t loop, int unroll> struct stream_t {
    arrays_t s;
    size_t n;
    RT_GPU_FN void operator()(unsigned block, unsigned blocks, unsigned thread,
                              unsigned threads) const
    {
        const size_t tile = static_cast<size_t>(threads) * unroll;
        for (size_t first = block * tile; first < n; first += blocks * tile) {
            pair_t v[unroll];
            if (first + tile <= n) {
                RT_UNROLL
                for (int u = 0; u < unroll; u++)
                    v[u] = load_and_add<loop>(s, first + u * threads + thread);
                RT_UNROLL
                for (int u = 0; u < unroll; u++)
                    s.array[0][first + u * threads + thread] = v[u];
            } else {
                for (size_t i = first + thread; i < n; i += threads)
                    s.array[0][i] = load_and_add<loop>(s, i);
            }
        }
    }
};

struct set_t {
    double *x;
    int label;
    RT_GPU_FN void operator()(size_t i) const
    {
        x[i] = rt_loop_value(i, label);
    }
};

struct wrong_t {
    const double *x;
    rt_expected_t expected;
    RT_GPU_FN double operator()(size_t i) const
    {
        return x[i] == rt_loop_expected(i, expected) ? 0 : 1; /* NaN is wrong too */
    }
};

enum { FMA_UNROLL = 16 }; /* steps that are written out */

template <class T, int chains> struct fma_t {
    T a, b;
    int steps;
    double *sums;
    RT_GPU_FN void operator()(size_t i) const
    {
        T x[chains];
        RT_UNROLL
        for (int j = 0; j < chains; j++)
            x[j] = static_cast<T>(j + static_cast<int>(i % 4));
        for (int step = 0; step < steps; step += FMA_UNROLL) {
            RT_UNROLL
            for (int u = 0; u < FMA_UNROLL; u++) {
                RT_UNROLL
                for (int j = 0; j < chains; j++)
                    x[j] = a * x[j] + b; /* compilers for GPUs make it one instruction */
            }
        }
        double sum = 0;
        RT_UNROLL
        for (int j = 0; j < chains; j++)
            sum += static_cast<double>(x[j]);
        sums[i] = sum;
    }
};

struct value_t {
    const double *x;
    RT_GPU_FN double operator()(size_t i) const
    {
        return x[i];
    }
};

/* ---- the loops ---- */

const struct {
    unsigned threads;       /* per block */
    unsigned unroll;        /* items of 16 bytes that a thread has in flight, of each array */
    unsigned blocks_per_sm; /* 0: as many blocks as cover the data once */
} shapes[] = {
    {256, 1, 0}, {256, 2, 0}, {256, 4, 0}, {512, 1, 0}, {1024, 1, 0}, {512, 2, 4}, {256, 4, 8},
};

const int chains_of_shape[] = {2, 4, 8};

template <class Gpu> struct gpu_loops {
    static constexpr rt_space_t space = Gpu::on_host ? RT_HOST : RT_DEVICE;
    static inline double *sums; /* what each thread summed up, of the last fma */

    static unsigned multiprocessors()
    {
        const rt_gpu_t *gpu = rt_device_gpu();
        return gpu && gpu->multiprocessors > 0 ? static_cast<unsigned>(gpu->multiprocessors) : 1;
    }

    static size_t threads()
    {
        return static_cast<size_t>(multiprocessors()) * (Gpu::on_host ? 64 : 2048);
    }

    template <rt_loop_t loop> static void stream(int shape, const arrays_t &s, size_t n)
    {
        const auto how = shapes[shape];
        const unsigned threads = Gpu::on_host ? 1 : how.threads, tile = threads * how.unroll;
        const unsigned most = how.blocks_per_sm * multiprocessors();
        unsigned blocks = static_cast<unsigned>((n + tile - 1) / tile);
        if (most > 0 && blocks > most)
            blocks = most;
        if (how.unroll == 1)
            Gpu::launch(blocks, threads, stream_t<loop, 1>{s, n});
        else if (how.unroll == 2)
            Gpu::launch(blocks, threads, stream_t<loop, 2>{s, n});
        else
            Gpu::launch(blocks, threads, stream_t<loop, 4>{s, n});
    }

    static void pass(rt_loop_t loop, int shape, const rt_streams_t *streams)
    {
        arrays_t s;
        for (int k = 0; k < RT_LOOP_ARRAYS; k++)
            s.array[k] = reinterpret_cast<pair_t *>(streams->array[k]);
        const size_t n = streams->n / 2; /* measure/ceiling.c makes n even */
        if (loop == RT_LOOP_COPY)
            stream<RT_LOOP_COPY>(shape, s, n);
        else if (loop == RT_LOOP_TRIAD)
            stream<RT_LOOP_TRIAD>(shape, s, n);
        else
            stream<RT_LOOP_READ>(shape, s, n);
    }

    static void set(double *x, size_t n, int label)
    {
        Gpu::each(n, set_t{x, label});
    }

    static double wrong(const double *x, size_t n, rt_expected_t expected)
    {
        return Gpu::sum(n, wrong_t{x, expected});
    }

    template <class T> static void fma_chains(int chains, T a, T b, int steps)
    {
        if (chains == 2)
            Gpu::each(threads(), fma_t<T, 2>{a, b, steps, sums});
        else if (chains == 4)
            Gpu::each(threads(), fma_t<T, 4>{a, b, steps, sums});
        else
            Gpu::each(threads(), fma_t<T, 8>{a, b, steps, sums});
    }

    static void fma(int bits, int shape, double a, double b, int steps)
    {
        if (bits == 64)
            fma_chains<double>(chains_of_shape[shape], a, b, steps);
        else
            fma_chains<float>(chains_of_shape[shape], static_cast<float>(a), static_cast<float>(b),
                              steps);
    }

    static double fma_lanes(int, int shape)
    {
        return static_cast<double>(threads()) * chains_of_shape[shape];
    }

    static double fma_sum()
    {
        return Gpu::sum(threads(), value_t{sums});
    }

    static void open()
    {
        sums = RT_NEW(double, threads(), space);
        Gpu::open();
    }

    static void close()
    {
        Gpu::close();
        RT_FREE(sums, space);
    }

    static constexpr rt_loops_t table(const rt_unit_row_t *units = nullptr)
    {
        rt_loops_t t = {};
        t.space = RT_DEVICE;
        t.shapes = sizeof shapes / sizeof *shapes;
        t.fma_shapes = sizeof chains_of_shape / sizeof *chains_of_shape;
        t.open = open;
        t.close = close;
        t.start = Gpu::start;
        t.stop = Gpu::stop;
        t.set = set;
        t.wrong = wrong;
        t.pass = pass;
        t.copy = Gpu::copy;
        t.fma = fma;
        t.fma_lanes = fma_lanes;
        t.fma_sum = fma_sum;
        t.units = units;
        return t;
    }
};

} // namespace

#endif
