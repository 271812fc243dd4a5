/*
 * flow_kokkos.cpp - the nonlinear step as Kokkos loops over nodes, sweeps by kokkos: one source for
 * CPUs and GPUs.
 *
 * Idea: an index per node around the shared text of flow/node.h; in the Jacobian an index per
 * column of a row. On a GPU the nodes are taken along a curve through space, so that what they
 * gather is in a cache. Advantage: no atomics on floating-point values, the same bits every time.
 * Price: one thread goes through all faces of a node, and its loads are not side by side with those
 * of the next.
 */
#include "config.h"
#include <cmath>
#include <cstring>
#include "machine/kokkos.hpp"
#include "../cuda/types.hpp"
#include "../flow/node.h"

namespace
{

constexpr int NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q;
using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

template <class Body> void each(const char *name, int64_t n, const Body &body)
{
    Kokkos::parallel_for(name, Range(rt_kokkos::exec(), 0, n), body);
}

void gradient(const mcpi_field_t *field)
{
    const mcpi_field_t f = *field;
    each(
        "flow slopes", f.rows,
        KOKKOS_LAMBDA(int64_t place) { mcpi_node_gradient(&f, mcpi_row_of(&f, place)); });
}

void residual(const mcpi_field_t *field)
{
    const mcpi_field_t f = *field;
    each(
        "flow residual", f.rows,
        KOKKOS_LAMBDA(int64_t place) { mcpi_node_residual(&f, mcpi_row_of(&f, place)); });
}

double norm(const mcpi_field_t *field, const void *before)
{
    const mcpi_field_t f = *field;
    each(
        "flow norm", mcpi_chunks(&f),
        KOKKOS_LAMBDA(int64_t k) { f.sums[k] = mcpi_chunk_square(&f, before, k); });
    rt_kokkos_fence();
    return mcpi_sum_chunks(&f, rt_kokkos_space());
}

/* --- Jacobian --- */

KOKKOS_INLINE_FUNCTION void put(double *to, double x)
{
    *to = x;
}
KOKKOS_INLINE_FUNCTION void put(float *to, double x)
{
    *to = static_cast<float>(x);
}
KOKKOS_INLINE_FUNCTION void put(mcpi_half_t *to, double x)
{
    to->bits = mcpi_narrow(x, 10, 15);
}
KOKKOS_INLINE_FUNCTION void put(mcpi_bfloat_t *to, double x)
{
    to->bits = mcpi_narrow(x, 7, 127);
}

/* Computes column c of the blocks of row i. */
template <class O> KOKKOS_INLINE_FUNCTION void row_column(const mcpi_field_t &f, int64_t i, int c)
{
    const double scale = mcpi_scale_of(f.rate[i]);
    const bool held = mcpi_is_held(&f, i);
    double D[NB] = {0, 0, 0, 0, 0};
    constexpr int width = MCPI_CHUNK / sizeof(O);
    const int64_t first_chunk = mcpi_first_chunk(NB, width, f.start[i], i);
    for (int32_t k = f.start[i]; k < f.start[i + 1]; k++) {
        double column[NB] = {0, 0, 0, 0, 0};
        if (mcpi_has_block(&f, k)) {
            const double *there = f.w + NB * f.column[k], *n = f.n + 3 * static_cast<int64_t>(k);
            const mcpi_wave_t wave = mcpi_face_wave(f.w + NB * i, there, n);
            mcpi_face_column(&wave, there, n, mcpi_conducts(&f, k), c, column, D);
        }
        if (held)
            mcpi_hold_column(0, c, column);
        const int64_t at = f.chunked
                               ? mcpi_chunked_entry(NB, width, first_chunk, k - f.start[i], c, 0)
                               : BLOCK * static_cast<int64_t>(k) + NB * c;
        for (int v = 0; v < NB; v++)
            put(static_cast<O *>(f.O) + at + (f.chunked ? width * v : v), scale * column[v]);
    }
    mcpi_own_column(&f, i, c, D);
    if (held)
        mcpi_hold_column(f.rate[i], c, D);
    double *LU = mcpi_LU_of(&f, i) + NB * c;
    for (int v = 0; v < NB; v++)
        LU[v] = scale * D[v];
    if (c == 0)
        f.scale[i] = scale;
}

template <class O> void jacobian_in(const mcpi_field_t &f)
{
    each(
        "flow Jacobian", NB * f.rows, KOKKOS_LAMBDA(int64_t at) {
            row_column<O>(f, mcpi_row_of(&f, at / NB), static_cast<int>(at % NB));
        });
}

void jacobian(const mcpi_field_t *f)
{
    mcpi_fixed_offdiagonal<mcpi_half_t, mcpi_bfloat_t>(
        f->offdiagonal, [&](auto o) { jacobian_in<typename decltype(o)::type>(*f); });
}

/* --- LU, right-hand side, update --- */

void factor(const mcpi_field_t *field)
{
    const mcpi_field_t f = *field;
    each(
        "flow LU", f.rows, KOKKOS_LAMBDA(int64_t i) { mcpi_factor_block(mcpi_LU_of(&f, i)); });
}

void right(const mcpi_field_t *field)
{
    const mcpi_field_t f = *field;
    each(
        "flow right", NB * f.rows,
        KOKKOS_LAMBDA(int64_t at) { mcpi_put_right(&f, at / NB, static_cast<int>(at % NB)); });
}

mcpi_moved_t update(const mcpi_field_t *field)
{
    const mcpi_field_t f = *field;
    long long counts[2]; /* rows scaled, and how many rows there are from the first that stopped */
    long long *there = reinterpret_cast<long long *>(f.sums);
    rt_fill(there, rt_kokkos_space(), 0, sizeof counts);
    each(
        "flow update", f.rows, KOKKOS_LAMBDA(int64_t i) {
            double dq[NB];
            mcpi_take_dq(&f, f.dq, i, dq);
            const int halvings = mcpi_node_update(&f, i, dq);
            if (halvings > 0)
                Kokkos::atomic_fetch_add(there, 1ll);
            if (halvings == MCPI_HALVINGS)
                Kokkos::atomic_fetch_max(there + 1, static_cast<long long>(f.rows - i));
        });
    rt_kokkos_fence();
    rt_copy(counts, RT_HOST, there, rt_kokkos_space(), sizeof counts);
    return {counts[0], f.rows - counts[1]};
}

constexpr mcpi_phases_t phases_table()
{
    mcpi_phases_t p = {};
    p.sweeps = "kokkos";
    p.gradient = gradient;
    p.residual = residual;
    p.norm = norm;
    p.jacobian = jacobian;
    p.factor = factor;
    p.right = right;
    p.update = update;
    return p;
}

constexpr mcpi_phases_t phases = phases_table();

constexpr mcpi_kernels_t table()
{
    mcpi_kernels_t t = {};
    t.rung.precision = MCPI_FLOW_PRECISION;
    t.rung.reproducible = true;
    t.rung.refuse = mcpi_flow_refuse;
    t.phases = &phases;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(mcpi_kernels_t, mcpi_flow_kokkos, table());
