/*
 * newmark.cu - the loops of a time step that are not in its conjugate gradients, on the GPU:
 * Newmark's vectors, the force at the source, and components that mirror faces hold.
 */
#include "config.h"
#include "rows.cuh"

using pair_t = gfnn_pack_t<double, 2>;

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    before_kernel(gfnn_rows_t g, double of_v, double rayleigh_b, const double *__restrict__ u,
                  const double *__restrict__ v, const double *__restrict__ a,
                  double *__restrict__ x1, double *__restrict__ x2)
{
    struct state_t {
        pair_t u, v, a;
    };
    gfnn_each_pack<2, 1>(
        g,
        [=](int64_t at, int64_t) {
            return state_t{gfnn_get<2>(u + at), gfnn_get<2>(v + at), gfnn_get<2>(a + at)};
        },
        [=](int64_t at, int64_t, int own, const state_t &s) {
            pair_t to1, to2;
#pragma unroll
            for (int e = 0; e < 2; e++)
                gfnn_before(of_v, rayleigh_b, s.u.at[e], s.v.at[e], s.a.at[e], &to1.at[e],
                            &to2.at[e]);
            gfnn_put(x1 + at, own, to1);
            gfnn_put(x2 + at, own, to2);
        });
}

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    after_kernel(gfnn_rows_t g, double dt, const double *__restrict__ du, double *__restrict__ u,
                 double *__restrict__ v, double *__restrict__ a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
    struct state_t {
        pair_t du, u, v, a;
    };
    gfnn_each_pack<2, 1>(
        g,
        [=](int64_t at, int64_t) {
            return state_t{gfnn_get<2>(du + at), gfnn_get<2>(u + at), gfnn_get<2>(v + at),
                           gfnn_get<2>(a + at)};
        },
        [=](int64_t at, int64_t, int own, state_t &s) {
#pragma unroll
            for (int e = 0; e < 2; e++)
                gfnn_after(f1, f2, s.du.at[e], &s.u.at[e], &s.v.at[e], &s.a.at[e]);
            gfnn_put(u + at, own, s.u);
            gfnn_put(a + at, own, s.a);
            gfnn_put(v + at, own, s.v);
        });
}

static __global__ void add_kernel(double value, double *at)
{
    *at += value;
}

void gfnn_cuda_newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a,
                              double rayleigh_b, const double *u, const double *v, const double *a,
                              double *x1, double *x2)
{
    gfnn_launch_rows(before_kernel, view, 4 / dt + rayleigh_a, rayleigh_b, u, v, a, x1, x2);
}

void gfnn_cuda_newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u,
                             double *v, double *a)
{
    gfnn_launch_rows(after_kernel, view, dt, du, u, v, a);
}

void gfnn_cuda_add(const gfnn_view_t *, int64_t at, double value, double *x)
{
    add_kernel<<<1, 1, 0, rt_stream()>>>(value, x + at);
    RT_CUDA_LAUNCHED();
}

/* --- mirror faces --- */

/* Zeroes component d of a layer across direction d, with a thread per node. */
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    hold_kernel(const __grid_constant__ gfnn_rows_t g, int d, int layer, double *x, float *z)
{
    const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
    const unsigned node = blockIdx.x * GFNN_THREADS + threadIdx.x;
    if (node >= static_cast<unsigned>(g.n[a]) * g.n[b])
        return;
    const int s = node % g.n[a], t = node / g.n[a];
    int at[3];
    gfnn_on_layer(d, layer, s, t, at);
    if (x)
        x[d * g.fine.plane + g.fine.at(at[0], at[1], at[2])] = 0;
    if (z)
        z[d * g.wide.plane + g.wide.at(at[0], at[1], at[2])] = 0;
}

void gfnn_cuda_hold(const gfnn_view_t *view, double *x, float *z)
{
    const gfnn_rows_t g(view->box);
    const gfnn_held_t held = gfnn_held(view->box);
    for (int face = 0; face < 6; face++) {
        if (!held.at[face])
            continue;
        const int d = face / 2, layer = face % 2 ? g.n[d] - 1 : 0;
        const size_t nodes = static_cast<size_t>(g.n[(d + 1) % 3]) * g.n[(d + 2) % 3];
        hold_kernel<<<rt_blocks(nodes, GFNN_THREADS), GFNN_THREADS, 0, rt_stream()>>>(g, d, layer,
                                                                                      x, z);
        RT_CUDA_LAUNCHED();
    }
}
