/*
 * newmark.cu - the loops of a time step that are not in its conjugate gradients, on the GPU:
 * Newmark's vectors, the force at the source, and components that mirror faces hold.
 */
#include "config.h"
#include "rows.cuh"

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    before_kernel(gfnn_rows_t g, double of_v, double rayleigh_b, const double *__restrict__ u,
                  const double *__restrict__ v, const double *__restrict__ a,
                  double *__restrict__ x1, double *__restrict__ x2)
{
    gfnn_each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double3{u[at], v[at], a[at]};
        },
        [=](int64_t at, int64_t, const double3 &old) {
            gfnn_before(of_v, rayleigh_b, old.x, old.y, old.z, x1 + at, x2 + at);
        });
}

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    after_kernel(gfnn_rows_t g, double dt, const double *__restrict__ du, double *__restrict__ u,
                 double *__restrict__ v, double *__restrict__ a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
    struct state_t {
        double du, u, v, a;
    };
    gfnn_each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return state_t{du[at], u[at], v[at], a[at]};
        },
        [=](int64_t at, int64_t, state_t s) {
            gfnn_after(f1, f2, s.du, &s.u, &s.v, &s.a);
            u[at] = s.u;
            a[at] = s.a;
            v[at] = s.v;
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
