/*
 * onepass.cu - a whole iteration in one pass over vectors and factors, and Q Q^T.
 *
 * Idea: `fused` reads r and v once more only because beta needs the new r. Kronbichler et al. get
 * beta from sums of the pass before (onepass.cuh).
 *
 * Advantage: 111 bytes per point instead of 127, and two kernels per iteration; on several ranks,
 * one sum over ranks.
 *
 * Price: three more inner products, one array of shared memory, and x is up to two steps late.
 *
 * The factors are read like all other data up to n = 12: a bulk copy would be under way while r, p
 * and v are fetched, but costs one block per multiprocessor. From n = 13 on only one fits anyway: it
 * takes elements in turn, and copies the next element's factors while it computes.
 */
#include "config.h"
#include "onepass.cuh"

using from_t = const double *;

static void cg(nek_solver_t *s)
{
    nek_line_solve<from_t>(s, [=](auto n, const nek_line_data<from_t> *d, int first, int last) {
        nek_with_source(d->launch.source, [&](auto source) {
            onepass_iterations<n(), nek_factors<n(), source()>>(s, d, first, last);
        });
    });
}

static void set_up(nek_solver_t *s)
{
    nek_line_set_up_reading<onepass_pass>(s, [](auto n) { return onepass_finish<n(), from_t>; });
}

extern "C" const nek_kernels_t nek_onepass = {
    .rung = NEK_LINE_RUNG(onepass_extra<true>),
    .ax = nek_packed_ax,
    .vector = &nek_vector_cuda,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .cg = cg,
    .set_up = set_up,
    .tear_down = nek_line_tear_down<from_t>,
    .memory = nek_split_memory,
};
