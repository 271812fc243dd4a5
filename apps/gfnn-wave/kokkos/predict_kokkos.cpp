/*
 * predict_kokkos.cpp - z = P r through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU the text of `unrolled` (loops/network.hpp). On a CPU each thread has rows of nodes, by
 * the vectors of `predict-simd`. Advantage: portable, no scratch memory, every sum in one order.
 * Price: all of r and K comes through the first cache, 16-bit r is first converted to FP32, once,
 * because all neighbours read it, and there are two forms of one predictor.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"
#include "../cpu/cpu.h"
#include "../loops/network.hpp"

namespace
{

using namespace gfnn_kokkos;

enum {
    TILE_X = 32,
    TILE_Y = 8,
    THREADS = on_host ? 1 : TILE_X * TILE_Y,
    RESIDENT = on_host ? 1 : 2
};
using Policy =
    Kokkos::MDRangePolicy<rt_kokkos::Exec,
                          Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                          Kokkos::IndexType<int>, Kokkos::LaunchBounds<THREADS, RESIDENT>>;

struct Data {
    rt_space_t space;
    float *taps;
    float *r; /* FP32 copy on box->wide; NULL: not needed */
};

template <int M, int ND> struct Predict {
    gfnn_net_job_t job;

    KOKKOS_INLINE_FUNCTION void operator()(int i, int j, int block) const
    {
        gfnn_unrolled<M, ND>(job, i, j, block * gfnn_unrolled_nodes<M>);
    }
};

struct Widen {
    const uint16_t *from;
    float *to;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t at) const
    {
        to[at] = gfnn_from_half(from[at]);
    }
};

template <int M, int ND> void run(const gfnn_view_t *view, const gfnn_net_job_t &job)
{
    constexpr int B = gfnn_unrolled_nodes<M>;
    const int64_t *n = view->box->n;
    const Policy policy(
        rt_kokkos::exec(), {0, 0, 0},
        {static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>((n[2] + B - 1) / B)},
        {TILE_X, TILE_Y, 1});
    Kokkos::parallel_for("gfnn predictor", policy, Predict<M, ND>{job});
}

void by_vectors(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    rt_kokkos::host_for("gfnn widen", gfnn_simd_copies(view, network),
                        [=](int64_t row) { gfnn_simd_copy(view, network, r, row); });
    rt_kokkos::host_for("gfnn predictor", view->box->n[1] * view->box->n[2],
                        [=](int64_t row) { gfnn_simd_predict(view, network, r, row, z); });
}

void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    if (is_vector(view))
        return by_vectors(view, network, r, z);
    const Data *data = static_cast<const Data *>(view->data);
    if (data->r)
        Kokkos::parallel_for("gfnn widen", Range(rt_kokkos::exec(), 0, 3 * view->box->wide.plane),
                             Widen{static_cast<const uint16_t *>(r), data->r});
    const gfnn_net_job_t job(view, network, data->taps, data->r ? data->r : r, z);
    gfnn_fixed_network(network->form, network->kernels, network->reach,
                       [&](auto M, auto ND) { run<M(), ND()>(view, job); });
}

void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    if (is_vector(view))
        return gfnn_predictor_simd.set_up(view, network);
    Data *data = RT_NEW(Data, 1, RT_HOST);
    data->space = rt_kokkos_space();
    data->taps = gfnn_taps_new(network, data->space);
    data->r = network->precision == GFNN_FP16
                  ? RT_NEW(float, 3 * static_cast<size_t>(view->box->wide.plane), data->space)
                  : nullptr;
    view->data = data;
}

void tear_down(gfnn_view_t *view)
{
    if (is_vector(view))
        return gfnn_predictor_simd.tear_down(view);
    Data *data = static_cast<Data *>(view->data);
    if (!data)
        return;
    RT_FREE(data->taps, data->space);
    RT_FREE(data->r, data->space);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

/* On a CPU the vector code's, which has no less. */
double memory(const gfnn_config_t *config, const gfnn_box_t *box)
{
    if (on_host)
        return gfnn_predictor_simd.memory(config, box);
    return config->precision == GFNN_FP16
               ? 3.0 * sizeof(float) * static_cast<double>(box->wide.plane)
               : 0;
}

constexpr gfnn_predictor_t predictors()
{
    gfnn_predictor_t t = {};
    t.apply = apply;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = memory;
    return t;
}

constexpr gfnn_kernels_t table()
{
    gfnn_kernels_t t = {};
    t.rung.precision = "FP32, r in FP32 or FP16";
    t.rung.reproducible = true;
    t.rung.refuse = gfnn_refuse;
    choose_form(&t.rung);
    t.ladder = GFNN_LADDER_PREDICTOR;
    t.predictor[GFNN_FP32] = &gfnn_predictor_kokkos;
    t.predictor[GFNN_FP16] = &gfnn_predictor_kokkos;
    t.vectors = &gfnn_vectors_kokkos;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(gfnn_predictor_t, gfnn_predictor_kokkos, predictors());
RT_KOKKOS_TABLE(gfnn_kernels_t, gfnn_net_kokkos, table());
