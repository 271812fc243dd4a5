/*
 * kokkos.cpp - y = A x through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: the modes of parity.h. On a GPU a thread has a column of elements and climbs in z: the x-y
 * transform of a layer of nodes serves the elements below and above it, and what both give to the
 * layer is added before it is transformed back. Then, after a barrier, a node gathers from its four
 * columns, from the team's scratch memory. A thread loads one node of a layer, two layers before the
 * team needs it, and leaves it in scratch memory. On a CPU each thread has a part of the nodes, by
 * the vectors of `cpu-simd`.
 * Advantage: portable, no atomics, equal bits from run to run, close to the least number of 187
 * operations per element. Price: a tile has a column and a row of elements, and a chunk of layers a
 * layer, that its neighbours have too; what another backend would shuffle goes through scratch
 * memory; and there are two forms of one operator.
 */
#include "config.h"
#include "columns.hpp"
#include "../cpu/cpu.h"

namespace
{

using namespace gfnn_kokkos;

/* --- what becomes of y --- */

/* What becomes of y of a node: it is stored, and multiplied by x if `dots`. Loads: what a node needs
 * for that, which is loaded early or just before the barrier. */
template <class T, bool dots> struct Store {
    static constexpr bool early = false;
    struct Loads {
        T x[dots ? 3 : 1];
    };
    const T *x;

    KOKKOS_FORCEINLINE_FUNCTION void load(int64_t at, int64_t plane, int64_t, int64_t,
                                          Loads *to) const
    {
        if constexpr (dots) {
            GFNN_UNROLL
            for (int c = 0; c < 3; c++)
                to->x[c] = x[at + c * plane];
        }
    }
    KOKKOS_FORCEINLINE_FUNCTION double finish(int64_t at, int64_t plane, T *y, const T value[3],
                                              const Loads &loads) const
    {
        T sum = 0;
        GFNN_UNROLL
        for (int c = 0; c < 3; c++) {
            y[at + c * plane] = value[c];
            if constexpr (dots)
                sum += loads.x[c] * value[c];
        }
        return static_cast<double>(sum);
    }
};

/* It is not stored, but goes into the next z of a sweep, which is in the place of y. */
template <bool with_old> struct Sweep {
    static constexpr bool early = true;
    struct Loads {
        float z[3], old[3], r[3], inverse[GFNN_BLOCK];
    };
    const float *z, *old, *r, *inverse;
    float a, omega;

    KOKKOS_FORCEINLINE_FUNCTION void load(int64_t at, int64_t plane, int64_t at_bare, int64_t bare,
                                          Loads *to) const
    {
        GFNN_UNROLL
        for (int b = 0; b < GFNN_BLOCK; b++)
            to->inverse[b] = inverse[at_bare + b * bare];
        GFNN_UNROLL
        for (int c = 0; c < 3; c++) {
            to->r[c] = r[at + c * plane];
            to->old[c] = with_old ? old[at + c * plane] : 0;
            to->z[c] = z[at + c * plane];
        }
    }
    KOKKOS_FORCEINLINE_FUNCTION double finish(int64_t at, int64_t plane, float *out,
                                              const float value[3], const Loads &loads) const
    {
        float result[3];
        gfnn_smooth(true, true, loads.inverse, 1, loads.z, a, loads.old, omega, loads.r, value, 1,
                    result);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++)
            out[at + c * plane] = result[c];
        return 0;
    }
};

/* Kokkos 3 takes a functor with both for neither. */
template <class T, class End> struct Plain {
    Apply<T, End> apply;

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        apply.climb_all(team);
    }
};

template <class T> struct WithDot {
    Apply<T, Store<T, true>> apply;

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team, double &sum) const
    {
        sum += apply.climb_all(team);
    }
};

/* --- the rung --- */

template <class T, class End> Policy policy_of(const Apply<T, End> &apply)
{
    Policy policy(rt_kokkos::exec(), apply.cut.teams(), THREADS);
    policy.set_scratch_size(
        0, Kokkos::PerTeam(static_cast<int>(apply.layers() + apply.strips() + 2 * sizeof(T))));
    return policy;
}

template <class T, class End>
void run(const gfnn_view_t *view, const gfnn_product_t *a, const End &end)
{
    const Apply<T, End> apply(view, a, end);
    Kokkos::parallel_for("gfnn operator", policy_of(apply), Plain<T, End>{apply});
}

template <class T> void run_dot(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const Apply<T, Store<T, true>> apply(view, a, {static_cast<const T *>(a->x)});
    const Kokkos::View<double, rt_kokkos::Memory, Kokkos::MemoryUnmanaged> result(a->dot);
    Kokkos::parallel_reduce("gfnn operator", policy_of(apply), WithDot<T>{apply}, result);
}

void run_sweep(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_sweep_t *s = a->sweep;
    const float *inverse = inverse_of(s->vectors), *z = static_cast<const float *>(a->x);
    if (s->old && s->a != 0)
        run<float>(view, a, Sweep<true>{z, s->old, s->r, inverse, s->a, s->omega});
    else
        run<float>(view, a, Sweep<false>{z, nullptr, s->r, inverse, s->a, s->omega});
}

/* Each thread of a CPU has a part, by the vectors of `cpu-simd`. The view that it gets has none of
 * this rung's choices. */
void by_vectors(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const int64_t parts = rt_kokkos::exec().concurrency();
    double *dots = a->dot ? static_cast<const OperatorData *>(view->data)->dots : nullptr;
    gfnn_view_t plain = *view;
    plain.choice = nullptr;
    rt_kokkos::host_for("gfnn operator", parts,
                        [=](int64_t me) { gfnn_simd_part(&plain, a, me, parts, dots); });
    if (dots)
        *a->dot = rt_sum_pairwise(dots, view->box->n[1] * view->box->n[2]);
}

template <class T> void apply_as(const gfnn_view_t *view, const gfnn_product_t *a)
{
    if (a->dot)
        run_dot<T>(view, a);
    else
        run<T>(view, a, Store<T, false>());
}

void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    if (a->sweep)
        run_sweep(view, a);
    else if (is_vector(view))
        by_vectors(view, a);
    else if (a->type == GFNN_SINGLE)
        apply_as<float>(view, a);
    else
        apply_as<double>(view, a);
}

bool sweeps(const gfnn_view_t *view)
{
    return !is_vector(view);
}

template <class T> material_t<T> *materials_new(const gfnn_view_t *view)
{
    material_t<T> table[GFNN_MAX_IDS];
    for (int id = 0; id < GFNN_MAX_IDS; id++)
        table[id] = {static_cast<T>(view->materials->w[id]),
                     static_cast<T>(view->materials->square[id])};
    return static_cast<material_t<T> *>(
        rt_clone(table, GFNN_MAX_IDS, sizeof *table, rt_kokkos_space()));
}

void set_up(gfnn_view_t *view)
{
    const size_t rows = static_cast<size_t>(view->box->n[1] * view->box->n[2]);
    OperatorData *data = RT_NEW(OperatorData, 1, RT_HOST);
    data->space = rt_kokkos_space();
    data->fp64 = materials_new<double>(view);
    data->fp32 = materials_new<float>(view);
    data->dots = on_host ? RT_NEW(double, rows, RT_HOST) : nullptr;
    view->data = data;
}

void tear_down(gfnn_view_t *view)
{
    OperatorData *data = static_cast<OperatorData *>(view->data);
    if (!data)
        return;
    RT_FREE(data->fp64, data->space);
    RT_FREE(data->fp32, data->space);
    RT_FREE(data->dots, RT_HOST);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

constexpr gfnn_operator_t operators()
{
    gfnn_operator_t t = {};
    t.apply = apply;
    t.single = true;
    t.sums = true;
    t.wraps = wraps;
    t.sweeps = sweeps;
    t.set_up = set_up;
    t.tear_down = tear_down;
    return t;
}

constexpr gfnn_kernels_t table()
{
    gfnn_kernels_t t = {};
    t.rung.precision = "FP64";
    t.rung.reproducible = true;
    choose_form(&t.rung);
    t.ladder = GFNN_LADDER_OPERATOR;
    t.op = &gfnn_operator_kokkos;
    t.vectors = &gfnn_vectors_kokkos;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(gfnn_operator_t, gfnn_operator_kokkos, operators());
RT_KOKKOS_TABLE(gfnn_kernels_t, gfnn_op_kokkos, table());
