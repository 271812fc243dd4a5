/*
 * measure/ceiling_kokkos.cpp - the loops of rt_ceiling on a GPU that Kokkos alone reaches.
 *
 * Idea: as in measure/ceiling_cuda.cu, a thread has several loads of 16 bytes in flight before its
 * first store, or several chains of multiply-adds; how many are best is tried.
 * Advantage: one text for all makes, so a rung's share of the ceiling is known there too.
 * Price: the host's clock times the loops, which includes their launches.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "base/mem.h"
#include "machine/device.h"
#include "machine/timer.h"
#include "measure/ceiling_loops.h"

namespace
{

using range_t = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;
using teams_t = Kokkos::TeamPolicy<rt_kokkos::Exec>;
using pair_t = rt_kokkos::Pack<double, 2>;

range_t all(size_t n)
{
    return range_t(rt_kokkos::exec(), 0, static_cast<int64_t>(n));
}

/* ---- bandwidth ---- */

/* Threads of a team, and items of 16 bytes that each has in flight, of each array. */
const struct {
    int threads, unroll;
} shapes[] = {{256, 1}, {256, 2}, {256, 4}, {512, 1}, {512, 2}, {1024, 1}};

struct arrays_t {
    pair_t *array[RT_LOOP_ARRAYS];
};

template <rt_loop_t loop>
KOKKOS_FORCEINLINE_FUNCTION pair_t load_and_add(const arrays_t &s, size_t i)
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

template <rt_loop_t loop, int unroll> void stream(int threads, const arrays_t &s, size_t n)
{
    const size_t tile = static_cast<size_t>(threads) * unroll;
    const teams_t teams(rt_kokkos::exec(), static_cast<int>((n + tile - 1) / tile), threads);
    Kokkos::parallel_for(
        "ceiling stream", teams, KOKKOS_LAMBDA(const teams_t::member_type &team) {
            const size_t first = static_cast<size_t>(team.league_rank()) * tile +
                                 static_cast<size_t>(team.team_rank());
            const size_t step = static_cast<size_t>(team.team_size());
            if (first + (unroll - 1) * step < n) {
                pair_t v[unroll];
                RT_UNROLL
                for (int u = 0; u < unroll; u++)
                    v[u] = load_and_add<loop>(s, first + u * step);
                RT_UNROLL
                for (int u = 0; u < unroll; u++)
                    s.array[0][first + u * step] = v[u];
            } else {
                for (size_t i = first; i < n; i += step)
                    s.array[0][i] = load_and_add<loop>(s, i);
            }
        });
}

template <rt_loop_t loop> void stream_launch(int shape, const arrays_t &s, size_t n)
{
    const int threads = rt_kokkos::on_host ? 1 : shapes[shape].threads;
    if (shapes[shape].unroll == 1)
        stream<loop, 1>(threads, s, n);
    else if (shapes[shape].unroll == 2)
        stream<loop, 2>(threads, s, n);
    else
        stream<loop, 4>(threads, s, n);
}

void kokkos_pass(rt_loop_t loop, int shape, const rt_streams_t *streams)
{
    arrays_t s;
    for (int k = 0; k < RT_LOOP_ARRAYS; k++)
        s.array[k] = reinterpret_cast<pair_t *>(streams->array[k]);
    const size_t n = streams->n / 2; /* measure/ceiling.c makes n even */
    if (loop == RT_LOOP_COPY)
        stream_launch<RT_LOOP_COPY>(shape, s, n);
    else if (loop == RT_LOOP_TRIAD)
        stream_launch<RT_LOOP_TRIAD>(shape, s, n);
    else
        stream_launch<RT_LOOP_READ>(shape, s, n);
}

void kokkos_copy(double *dst, const double *src, size_t n)
{
    using to_t = Kokkos::View<double *, rt_kokkos::Memory, Kokkos::MemoryUnmanaged>;
    using from_t = Kokkos::View<const double *, rt_kokkos::Memory, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(rt_kokkos::exec(), to_t(dst, n), from_t(src, n));
}

/* ---- data and checks ---- */

void kokkos_set(double *x, size_t n, int label)
{
    Kokkos::parallel_for(
        "ceiling set", all(n),
        KOKKOS_LAMBDA(const int64_t i) { x[i] = rt_loop_value(static_cast<size_t>(i), label); });
}

double kokkos_wrong(const double *x, size_t n, rt_expected_t expected)
{
    double wrong = 0;
    Kokkos::parallel_reduce(
        "ceiling wrong", all(n),
        KOKKOS_LAMBDA(const int64_t i, double &sum) {
            const double want = rt_loop_expected(static_cast<size_t>(i), expected);
            if (!(x[i] == want)) /* NaN is wrong too: want is a number above 1 */
                sum += 1;
        },
        wrong);
    return wrong;
}

/* ---- multiply-add ---- */

const int fma_threads = rt_kokkos::on_host ? 64 : 2048; /* per multiprocessor */
const int chains_of_shape[] = {2, 4, 8};

double *partial; /* what each thread summed up, of the last fma */

size_t lanes()
{
    const rt_gpu_t *gpu = rt_device_gpu();
    return static_cast<size_t>(gpu && gpu->multiprocessors > 0 ? gpu->multiprocessors : 1) *
           fma_threads;
}

template <class T, int chains> void fma_chains(T a, T b, int steps)
{
    double *const sums = partial;
    Kokkos::parallel_for(
        "ceiling fma", all(lanes()), KOKKOS_LAMBDA(const int64_t i) {
            T x[chains];
            RT_UNROLL
            for (int j = 0; j < chains; j++)
                x[j] = static_cast<T>(j + i % 4);
            for (int step = 0; step < steps; step += 16) {
                RT_UNROLL
                for (int u = 0; u < 16; u++) {
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
        });
}

template <class T> void fma_launch(int shape, T a, T b, int steps)
{
    if (chains_of_shape[shape] == 2)
        fma_chains<T, 2>(a, b, steps);
    else if (chains_of_shape[shape] == 4)
        fma_chains<T, 4>(a, b, steps);
    else
        fma_chains<T, 8>(a, b, steps);
}

void kokkos_fma(int bits, int shape, double a, double b, int steps)
{
    if (bits == 64)
        fma_launch<double>(shape, a, b, steps);
    else
        fma_launch<float>(shape, static_cast<float>(a), static_cast<float>(b), steps);
}

double kokkos_fma_lanes(int, int shape)
{
    return static_cast<double>(lanes()) * chains_of_shape[shape];
}

double kokkos_fma_sum()
{
    const double *const sums = partial;
    double all_sums = 0;
    Kokkos::parallel_reduce(
        "ceiling fma sum", all(lanes()),
        KOKKOS_LAMBDA(const int64_t i, double &sum) { sum += sums[i]; }, all_sums);
    return all_sums;
}

/* ---- the stopwatch ---- */

double begun;

void kokkos_open()
{
    partial = RT_NEW(double, lanes(), rt_kokkos_space());
}

void kokkos_close()
{
    RT_FREE(partial, rt_kokkos_space());
}

void kokkos_start()
{
    begun = rt_window_begin();
}

double kokkos_stop()
{
    return rt_window_end(begun);
}

constexpr rt_loops_t table()
{
    rt_loops_t t = {};
    t.space = RT_DEVICE;
    t.shapes = sizeof shapes / sizeof *shapes;
    t.fma_shapes = sizeof chains_of_shape / sizeof *chains_of_shape;
    t.open = kokkos_open;
    t.close = kokkos_close;
    t.start = kokkos_start;
    t.stop = kokkos_stop;
    t.set = kokkos_set;
    t.wrong = kokkos_wrong;
    t.pass = kokkos_pass;
    t.copy = kokkos_copy;
    t.fma = kokkos_fma;
    t.fma_lanes = kokkos_fma_lanes;
    t.fma_sum = kokkos_fma_sum;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(rt_loops_t, rt_loops_kokkos, table());
