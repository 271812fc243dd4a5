/*
 * mixed.cu - `onepass` with vectors, factors and the operator in FP32, and inner products in FP64.
 *
 * Advantage: 55.5 bytes per point instead of 111. With half the shared memory a multiprocessor holds
 * six blocks of n = 10 although bulk copies fetch the factors, while r, p and v are on their way:
 * 72.9 us per iteration at 4096 elements on an H200, 79.0 without. From n = 12 on fewer blocks fit,
 * and plain loads are faster.
 *
 * Price: x is right to FP32, so |b - A x| ends at 1e-7 |A||x|: an error class of its own. One rank.
 *
 * The vectors take the place of p and w, two in one; x and r of the solve are FP64.
 */
#include "config.h"
#include "onepass.cuh"

using from_t = const float *;
/* A bulk copy has units of 16 bytes, and the factors of an odd n are half ones apart. */
template <int n> constexpr nek_source source_of = n % 2 == 0 && n < 12 ? NEK_BULK : NEK_STREAMED;
template <int n> using factors_t = nek_factors<n, source_of<n>, float>;

__global__ void round_to_single(const double *from, float *to, size_t count)
{
    const size_t q = blockIdx.x * size_t{NEK_ADDING_THREADS} + threadIdx.x;
    rt_wait_for_previous();
    if (q < count)
        to[q] = static_cast<float>(from[q]);
}

static void launch_round(const double *from, float *to, int64_t count)
{
    rt_launch_chained(round_to_single, rt_blocks(count, NEK_ADDING_THREADS), NEK_ADDING_THREADS, 0,
                      from, to, count);
}

static void cg(nek_solver_t *s)
{
    nek_line_solve<from_t>(s, [=](auto n, const nek_line_data<from_t> *d, int first, int last) {
        if (first == 0)
            launch_round(s->b, d->vectors.r, s->view.points);
        onepass_iterations<n(), factors_t<n()>>(s, d, first, last);
    });
}

static void set_up(nek_solver_t *s)
{
    auto *d = new nek_line_data<from_t>();
    auto *factors = reinterpret_cast<float *>(s->view.scratch);
    s->data = d;
    launch_round(s->view.G, factors, 6 * s->view.points);
    d->vectors.factors = factors;
    d->launch = nek_make_launch(&s->view, false, NEK_CACHED);
    nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto n) {
        using pass_t = onepass_pass<n(), factors_t<n()>>;
        nek_allow_shared(nek_pass_kernel<n(), pass_t>, pass_t::bytes(d->launch.per_block));
        nek_line_set_up<n()>(s, d, onepass_finish<n(), from_t>);
    });
}

static const char *refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    return rt_comm_size() > 1 ? "its vectors are FP32 and messages between ranks FP64: use onepass"
                              : nek_refuse_any_line<onepass_extra<true>>(self, options, why);
}

extern "C" const nek_kernels_t nek_mixed = {
    .rung = {.precision = "FP32, sums in FP64",
             .reproducible = true,
             .parameters = nek_line_parameters,
             .n_parameters = NEK_FACTORS, /* no choice of how factors are read */
             .refuse = refuse,
             .refuse_choice = nek_refuse_any_choice<onepass_extra<true>, false>},
    .ax = nek_packed_ax_auto,
    .vector = &nek_vector_cuda,
    .scratch_arrays = 3, /* the six factors in FP32 */
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .roundoff = 0x1p-24,
    .cg = cg,
    .set_up = set_up,
    .tear_down = nek_line_tear_down<from_t>,
    .memory = nek_split_memory,
};
