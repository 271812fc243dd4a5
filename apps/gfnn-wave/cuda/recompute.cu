/*
 * recompute.cu - no matrix: strains and stresses at the Gauss points.
 *
 * Idea (the paper's): what a matrix stores is recomputed element by element from the material.
 * A thread transforms its element's values to displacements and their gradients at the 2x2x2 Gauss
 * points, multiplies them there by density and elasticity, and transforms the stresses back to the
 * corners. The transform goes one direction after the other; and as u is linear in each direction,
 * du/dx is the same at both points along x: 4 values, not 8. Advantage: 700 operations per element
 * instead of 1152, and only two constants. Price: about a hundred intermediates are in registers at
 * the widest place; the atomics remain.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { THREADS = 128 };

/* The value at a Gauss point of an interval is NEAR times the near end plus FAR times the other. */
static constexpr double NEAR = 0.78867513459481288225, FAR = 0.21132486540518711775;

/* A component of u at the points q = x + 2 y + 4 z, and its derivatives where they differ: d/dx at
 * (y, z), d/dy at (x, z), d/dz at (x, y), the first of a pair fastest. */
struct component_t {
    double u[8], dx[4], dy[4], dz[4];
};

static __device__ __forceinline__ void interpolate(double lower, double upper, double &first,
                                                   double &second)
{
    first = NEAR * lower + FAR * upper;
    second = FAR * lower + NEAR * upper;
}

/* Transforms corners to points. */
static __device__ __forceinline__ component_t to_points(const double (&corner)[8])
{
    component_t p;
    double bx[8], dx[4];        /* along x: points at both ends of y and z */
    double bb[8], db[4], bd[4]; /* along x and y, at both ends of z */
#pragma unroll
    for (int q = 0; q < 4; q++) {
        interpolate(corner[2 * q], corner[2 * q + 1], bx[2 * q], bx[2 * q + 1]);
        dx[q] = corner[2 * q + 1] - corner[2 * q];
    }
#pragma unroll
    for (int z = 0; z < 2; z++) {
#pragma unroll
        for (int x = 0; x < 2; x++) {
            interpolate(bx[4 * z + x], bx[4 * z + 2 + x], bb[4 * z + x], bb[4 * z + 2 + x]);
            bd[2 * z + x] = bx[4 * z + 2 + x] - bx[4 * z + x];
        }
        interpolate(dx[2 * z], dx[2 * z + 1], db[2 * z], db[2 * z + 1]);
    }
#pragma unroll
    for (int q = 0; q < 4; q++) {
        interpolate(bb[q], bb[q + 4], p.u[q], p.u[q + 4]);
        p.dz[q] = bb[q + 4] - bb[q];
    }
#pragma unroll
    for (int q = 0; q < 2; q++) {
        interpolate(db[q], db[q + 2], p.dx[q], p.dx[q + 2]);
        interpolate(bd[q], bd[q + 2], p.dy[q], p.dy[q + 2]);
    }
    return p;
}

/* The transpose: transforms forces and stresses at points to forces at corners. */
static __device__ __forceinline__ void to_corners(const component_t &p, double (&corner)[8])
{
    double bx[8], dx[4], bb[8], db[4], bd[4];
#pragma unroll
    for (int q = 0; q < 4; q++) {
        interpolate(p.u[q], p.u[q + 4], bb[q], bb[q + 4]);
        bb[q] -= p.dz[q];
        bb[q + 4] += p.dz[q];
    }
#pragma unroll
    for (int q = 0; q < 2; q++) {
        interpolate(p.dx[q], p.dx[q + 2], db[q], db[q + 2]);
        interpolate(p.dy[q], p.dy[q + 2], bd[q], bd[q + 2]);
    }
#pragma unroll
    for (int z = 0; z < 2; z++) {
#pragma unroll
        for (int x = 0; x < 2; x++) {
            interpolate(bb[4 * z + x], bb[4 * z + 2 + x], bx[4 * z + x], bx[4 * z + 2 + x]);
            bx[4 * z + x] -= bd[2 * z + x];
            bx[4 * z + 2 + x] += bd[2 * z + x];
        }
        interpolate(db[2 * z], db[2 * z + 1], dx[2 * z], dx[2 * z + 1]);
    }
#pragma unroll
    for (int q = 0; q < 4; q++) {
        interpolate(bx[2 * q], bx[2 * q + 1], corner[2 * q], corner[2 * q + 1]);
        corner[2 * q] -= dx[q];
        corner[2 * q + 1] += dx[q];
    }
}

/* Turns displacements into forces and gradients into stresses, summed over the points that share a
 * derivative; mass, lambda and mu include the weight of a point, 1/8. */
static __device__ __forceinline__ void respond(component_t (&p)[3], double mass, double lambda,
                                               double mu)
{
    component_t s[3] = {};
#pragma unroll
    for (int q = 0; q < 8; q++) {
        const int yz = q >> 1, xz = (q & 1) + (q >> 2) * 2, xy = q & 3;
        const double pressure = lambda * (p[0].dx[yz] + p[1].dy[xz] + p[2].dz[xy]);
        const double sxy = mu * (p[0].dy[xz] + p[1].dx[yz]);
        const double sxz = mu * (p[0].dz[xy] + p[2].dx[yz]);
        const double syz = mu * (p[1].dz[xy] + p[2].dy[xz]);
        s[0].dx[yz] += 2 * mu * p[0].dx[yz] + pressure;
        s[1].dy[xz] += 2 * mu * p[1].dy[xz] + pressure;
        s[2].dz[xy] += 2 * mu * p[2].dz[xy] + pressure;
        s[0].dy[xz] += sxy;
        s[1].dx[yz] += sxy;
        s[0].dz[xy] += sxz;
        s[2].dx[yz] += sxz;
        s[1].dz[xy] += syz;
        s[2].dy[xz] += syz;
#pragma unroll
        for (int c = 0; c < 3; c++)
            s[c].u[q] = mass * p[c].u[q];
    }
#pragma unroll
    for (int c = 0; c < 3; c++)
        p[c] = s[c];
}

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job,
                 const __grid_constant__ gfnn_form_t form)
{
    const int from[3] = {0, 0, 0};
    int at[3];
    if (!gfnn_element_at(blockIdx.x * THREADS + threadIdx.x, job.lo, job.hi, from, 1, at))
        return;
    double u[24];
    component_t p[3];
    gfnn_gather(job, at, u);
    const gfnn_material_t material = gfnn_material_at(job, at);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        double corner[8];
#pragma unroll
        for (int a = 0; a < 8; a++)
            corner[a] = u[3 * a + c];
        p[c] = to_points(corner);
    }
    const double mu = form.shear / 8 * material.square;
    respond(p, form.mass / 8 * material.w, form.bulk / 8 * material.w - 2 * mu, mu);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        double corner[8];
        to_corners(p[c], corner);
#pragma unroll
        for (int a = 0; a < 8; a++)
            u[3 * a + c] = corner[a];
    }
    gfnn_scatter(job, at, [&](double *y, int row) { atomicAdd(y, u[row]); });
}

static void apply(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                  const double *x, double *y)
{
    const gfnn_job_t<double> job(view, view->box->fine, region, x, y);
    if (job.empty())
        return;
    const int from[3] = {0, 0, 0};
    gfnn_clear(job);
    apply_kernel<<<rt_blocks(gfnn_elements(job, from, 1), THREADS), THREADS, 0, rt_stream()>>>(
        job, *form);
    RT_CUDA_LAUNCHED();
}

static const gfnn_operator_t op = {.apply = apply,
                                   .set_up = gfnn_operator_set_up,
                                   .tear_down = gfnn_operator_tear_down,
                                   .memory = gfnn_operator_memory,
                                   .whole = true};
extern "C" const gfnn_kernels_t gfnn_op_recompute = {
    .rung = {.precision = "FP64", .reproducible = false},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &op,
};
