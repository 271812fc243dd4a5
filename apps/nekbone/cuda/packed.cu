/*
 * packed.cu - the operator by lines (nek_line.cuh): no idle lanes, D from the constant bank.
 *
 * Idea: `layered` is bound by shared memory, which it reads 4 n times per point. Here a thread
 * holds whole lines in registers, so shared memory is touched a dozen times per point. D comes with
 * the instruction, and split into halves costs half the multiplications. Elements too small to fill
 * warps share a block.
 *
 * Advantage: what is left is to read u and the factors once, and to write w.
 *
 * Price: three times the 2 n registers of a line, n fixed at compile time, n <= 16. CG around it is
 * as before: everything else is still read and written for each line of nek_solve.
 */
#include "config.h"
#include <cstring>
#include "nek_launch.cuh"

/* The registers of a thread, 6 n + 52, are three lines of doubles, and the rest. */
template <int n, nek_source source>
__global__ void __launch_bounds__(nek_shape<n>::threads,
                                  nek_blocks_of(nek_shape<n>::threads, 6 * n + 52))
    element(const __grid_constant__ nek_halves<n> D, const double *G, const double *u_all,
            double *w_all, int elements, int per_block)
{
    using factors_t = nek_factors<n, source>;
    constexpr int n2 = n * n, n3 = n2 * n;
    extern __shared__ __align__(128) double memory[];
    const nek_place<n> at(elements, per_block, memory + per_block * factors_t::shared);
    factors_t factors(G, at, elements, per_block, memory);
    const size_t own = static_cast<size_t>(at.e) * n3 + at.t;
    double u[n], w[n];
#pragma unroll
    for (int k = 0; k < n; k++)
        u[k] = nek_load<factors_t::once>(u_all + own + k * n2);
    nek_line_operator(D, at, factors, u, w);
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++)
            w_all[own + k * n2] = w[k];
    }
}

template <int n, nek_source source> size_t bytes(int per_block)
{
    return nek_line_bytes<n>(per_block, nek_factors<n, source>::shared, 0);
}

/*
 * Returns what "auto" means for the factors: a bulk copy where a multiprocessor still holds
 * BULK_BLOCKS blocks and there are more than BULK_ROUNDS rounds of them (at n = 10 from 2112
 * elements on); else plain loads, past L2 if the arrays of an iteration are more than twice what it
 * holds.
 */
template <int n> static nek_source automatic_source(const nek_view_t *view, const int *choice)
{
    constexpr int BULK_BLOCKS = 3, BULK_ROUNDS = 4, ARRAYS = 10;
    const rt_gpu_t *gpu = rt_device_gpu();
    const int per_block = nek_choice_per_block(n, choice);
    const int64_t blocks = (view->elements + per_block - 1) / per_block;
    const int fit = nek_fit(element<n, NEK_BULK>, nek_whole_warps(per_block * n * n),
                            bytes<n, NEK_BULK>(per_block));
    const double iteration = sizeof(double) * ARRAYS * static_cast<double>(view->points);
    if (fit >= BULK_BLOCKS && blocks > int64_t{BULK_ROUNDS} * fit * gpu->multiprocessors)
        return NEK_BULK;
    return iteration > 2.0 * static_cast<double>(gpu->l2) ? NEK_STREAMED : NEK_CACHED;
}

/* The launch of the last call, because finding one takes longer than a small kernel. */
static struct {
    int n, choice[NEK_LINE_PARAMETERS];
    int64_t elements;
    nek_launch_t launch;
} last;

template <int n> static void find_launch(const nek_view_t *view)
{
    static const int automatic[NEK_LINE_PARAMETERS] = {0};
    const int *choice = view->choice ? view->choice : automatic;
    if (last.n == n && last.elements == view->elements &&
        memcmp(last.choice, choice, sizeof last.choice) == 0)
        return;
    last.n = n;
    last.elements = view->elements;
    memcpy(last.choice, choice, sizeof last.choice);
    last.launch = nek_make_launch(view, true, automatic_source<n>(view, choice));
    nek_with_source(last.launch.source, [&](auto source) {
        nek_allow_shared(element<n, source()>, bytes<n, source()>(last.launch.per_block));
    });
}

void nek_packed_ax(const nek_view_t *view, const double *u, double *w)
{
    const nek_launch_t &l = last.launch;
    const bool known = nek_fixed_n<NEK_FIXED_N>(view->n, [&](auto N) {
        constexpr int n = N();
        find_launch<n>(view);
        nek_with_source(l.source, [&](auto source) {
            const size_t shared = bytes<n, source()>(l.per_block);
            element<n, source()><<<l.blocks, l.threads, shared, rt_stream()>>>(
                nek_halve<n>(view->D_host), view->G, u, w, static_cast<int>(view->elements),
                l.per_block);
        });
    });
    RT_EXPECT(known, RT_USAGE, "n = %d: the driver should have refused", view->n);
    RT_CUDA_LAUNCHED();
}

void nek_packed_ax_auto(const nek_view_t *view, const double *u, double *w)
{
    nek_view_t automatic = *view;
    automatic.choice = nullptr;
    nek_packed_ax(&automatic, u, w);
}

extern "C" const nek_kernels_t nek_packed = {
    .rung = NEK_LINE_RUNG(nek_no_extra),
    .ax = nek_packed_ax,
    .vector = &nek_vector_cuda,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
};
