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
 * The factors, half of all bytes, are read like all other data up to n = 12. A bulk copy would be
 * under way while r, p and v are fetched and the first products are formed, and takes no registers;
 * but its shared memory costs one block per multiprocessor. On an H200 at n = 10, in us per
 * iteration: 39.6 against 42.6 with the copy at 1024 elements, 130 against 142 at 4096. From n = 13
 * on only one block fits anyway: it takes elements in turn, and copies the next element's factors
 * while it computes.
 */
#include "config.h"
#include "onepass.cuh"

using data_t = onepass_data<const double *>;

static void cg(nek_solver_t *s)
{
    data_t *d = static_cast<data_t *>(s->data);
    d->pass.lambda = s->lambda;
    auto enqueue = [=](int first, int last) {
        nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto n) {
            nek_with_source(d->launch.source, [&](auto source) {
                onepass_iterations<n(), nek_factors<n(), source()>>(s, d, first, last);
            });
        });
    };
    nek_run_solve(&d->replay, &d->pass.scalars, s, enqueue);
}

static void set_up(nek_solver_t *s)
{
    data_t *d = new data_t();
    s->data = d;
    d->pass.factors = s->view.G;
    nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto N) {
        constexpr int n = N();
        d->launch = nek_make_launch(
            &s->view, true, nek_automatic_source<n>(onepass_bytes<n, nek_factors<n, NEK_BULK>>(1)));
        nek_with_source(d->launch.source, [&](auto source) {
            using factors_t = nek_factors<n, source()>;
            nek_set_up_launch<factors_t>(&d->launch, onepass_element<n, factors_t>,
                                         onepass_bytes<n, factors_t>(d->launch.per_block));
        });
        onepass_set_up<n>(s, d);
    });
}

static void tear_down(nek_solver_t *s)
{
    onepass_tear_down(static_cast<data_t *>(s->data));
}

static void work(const nek_config_t *config, double P, double S, rt_work_t *work)
{
    onepass_work(config, P, S, 6 * sizeof(double), 0, work);
}

extern "C" const nek_kernels_t nek_onepass = {
    .rung = NEK_LINE_RUNG(onepass_extra<true>),
    .ax = nek_packed_ax,
    .vector = &nek_vector_cuda,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .cg = cg,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = nek_split_memory,
    .work = work,
};
