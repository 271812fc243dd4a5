/*
 * node.h - the arithmetic of the loops over vectors, at one node or one value: one text for the C
 * of the host, for CUDA and for Kokkos. Each back-end adds its own loops.
 *
 * A file of Kokkos includes it after "machine/kokkos.hpp". Pointers point to the values of the node
 * itself; `fine`, `wide` and `bare` are the distances between components on these grids.
 */
#ifndef GFNN_NODE_H
#define GFNN_NODE_H

#include <stdint.h>
#include <string.h>
#include "apps/gfnn-wave/kernel.h"

#if defined(KOKKOS_FORCEINLINE_FUNCTION)
#define GFNN_METHOD KOKKOS_FORCEINLINE_FUNCTION
#elif defined(__CUDACC__)
#define GFNN_METHOD __host__ __device__ __forceinline__
#else
#define GFNN_METHOD inline __attribute__((always_inline))
#endif
#define GFNN_FN static GFNN_METHOD

/* Before loops whose arrays must be in registers. */
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__clang__)
#define GFNN_UNROLL _Pragma("unroll")
#else
#define GFNN_UNROLL
#endif

/* --- 16-bit floats (IEEE binary16) as bits: any compiler, no branches, so loops vectorise --- */

GFNN_FN float gfnn_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

GFNN_FN uint32_t gfnn_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Converts exactly. Exponent and fraction, moved to their places in a float, make a number that is
 * too small by 2^112, the difference of the exponents' biases. */
GFNN_FN float gfnn_from_half(uint16_t half)
{
    const float shift = 5192296858534827628530496329220096.0f; /* 2^112 */
    const uint32_t size = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t bits = gfnn_bits_of(gfnn_float_of(size << 13) * shift);
    const uint32_t infinite = size >= 0x7c00u ? 0x7f800000u : 0; /* NaN too */
    return gfnn_float_of(bits | infinite | sign);
}

/* Rounds to nearest, ties to even; above 65504 the result is infinite. */
GFNN_FN uint16_t gfnn_to_half(float x)
{
    const uint32_t bits = gfnn_bits_of(x), size = bits & 0x7fffffffu;
    const uint32_t normal = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
    /* in a float near 0.5 the last bit is worth 2^-24, as in a denormal half */
    const uint32_t denormal = gfnn_bits_of(gfnn_float_of(size) + 0.5f) - 0x3f000000u;
    const uint32_t beyond = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t half = size >= 0x47800000u ? beyond : size < 0x38800000u ? denormal : normal;
    return (uint16_t)(half | (bits >> 16 & 0x8000u));
}

/* --- where a node is --- */

#ifdef __cplusplus
/* A grid in 32 bits: gfnn_box_choose makes sure that they suffice for one component. */
struct gfnn_lines_t {
    int pitch, slab, origin;
    int64_t plane;

    explicit gfnn_lines_t(const gfnn_grid_t &g)
        : pitch(static_cast<int>(g.pitch)), slab(static_cast<int>(g.slab)),
          origin(static_cast<int>(g.origin)), plane(g.plane)
    {
    }
    GFNN_METHOD int at(int i, int j, int k) const
    {
        return origin + k * slab + j * pitch + i;
    }
};

/* Chooses how many layers a block of threads climbs through, so that `tiles` columns of `layers` layers
 * keep the device busy: `resident` blocks run at once, and each costs `extra` layers more. Short chunks
 * repeat work where they meet; a last, half empty round of blocks costs as much as a full one. */
enum { GFNN_LEAST_LAYERS = 4 }; /* of a block, if there are as many */
struct gfnn_chunk_t {
    int layers;
    double cost; /* layers, one round after the other */
};
static inline gfnn_chunk_t gfnn_chunk(int64_t tiles, int layers, int64_t resident, double extra)
{
    gfnn_chunk_t best = {layers, 0};
    for (int chunks = 1; chunks == 1 || chunks <= layers / GFNN_LEAST_LAYERS; chunks++) {
        const int each = (layers + chunks - 1) / chunks;
        const int64_t blocks = tiles * ((layers + each - 1) / each);
        const int64_t rounds = (blocks + resident - 1) / resident;
        const double cost = static_cast<double>(rounds) * (each + extra);
        if (chunks == 1 || cost < best.cost)
            best = {each, cost};
    }
    return best;
}
#endif

/* Wraps a position around a periodic direction of n nodes; it is less than n away from them. */
GFNN_FN int gfnn_wrapped(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

/* Returns ghost number i of the 2 width before and after 0 .. n - 1. */
GFNN_FN int gfnn_beyond(int i, int width, int n)
{
    return i < width ? i - width : i - width + n;
}

/* --- the 3x3 diagonal blocks D --- */

enum { GFNN_BLOCK = 6 }; /* xx yy zz xy yz zx of a symmetric block */

#ifdef __cplusplus
/* Makes the cofactors of a block whose diagonal entries are d; returns its determinant. */
template <class T> GFNN_FN T gfnn_cofactors(T d, T xy, T yz, T zx, T (&of)[GFNN_BLOCK])
{
    of[0] = d * d - yz * yz;
    of[3] = yz * zx - xy * d;
    of[5] = xy * yz - d * zx;
    of[1] = d * d - zx * zx;
    of[4] = xy * zx - d * yz;
    of[2] = d * d - xy * xy;
    return d * of[0] + xy * of[3] + zx * of[5];
}
#endif

/* d = D^-1 s; inverse: [GFNN_BLOCK] planes of inverses. */
GFNN_FN void gfnn_times_inverse(const float *inverse, int64_t bare, float s0, float s1, float s2,
                                float *d0, float *d1, float *d2)
{
    const float xx = inverse[0], yy = inverse[bare], zz = inverse[2 * bare];
    const float xy = inverse[3 * bare], yz = inverse[4 * bare], zx = inverse[5 * bare];
    *d0 = xx * s0 + xy * s1 + zx * s2;
    *d1 = xy * s0 + yy * s1 + yz * s2;
    *d2 = zx * s0 + yz * s1 + zz * s2;
}

/* z = scale D^-1 r in FP32, r = (r0, r1, r2); returns z . r. */
GFNN_FN double gfnn_bj(const float *inverse, int64_t bare, double scale, double r0, double r1,
                       double r2, float *z, int64_t wide)
{
    float d0, d1, d2;
    gfnn_times_inverse(inverse, bare, (float)(scale * r0), (float)(scale * r1), (float)(scale * r2),
                       &d0, &d1, &d2);
    z[0] = d0;
    z[wide] = d1;
    z[2 * wide] = d2;
    return (double)d0 * r0 + (double)d1 * r1 + (double)d2 * r2;
}

/* z + a (z - old), at one value */
GFNN_FN float gfnn_from_to(bool with_z, const float *z, float a, bool with_old, const float *old)
{
    const float here = with_z ? *z : 0;
    return here + a * (here - (with_old ? *old : 0));
}

/* out = z + a (z - old) + omega D^-1 (r - y). out may be old: a value depends on the values of its
 * own node alone. Without z neither it nor y is read, and old only with_old. */
GFNN_FN void gfnn_smooth(bool with_z, bool with_old, const float *inverse, int64_t bare,
                         const float *z, float a, const float *old, float omega, const float *r,
                         const float *y, int64_t wide, float *out)
{
    const int64_t next = 2 * wide;
    const float s0 = gfnn_from_to(with_z, z, a, with_old, old);
    const float s1 = gfnn_from_to(with_z, z + wide, a, with_old, old + wide);
    const float s2 = gfnn_from_to(with_z, z + next, a, with_old, old + next);
    float d0, d1, d2;
    gfnn_times_inverse(inverse, bare, r[0] - (with_z ? y[0] : 0), r[wide] - (with_z ? y[wide] : 0),
                       r[next] - (with_z ? y[next] : 0), &d0, &d1, &d2);
    out[0] = s0 + omega * d0;
    out[wide] = s1 + omega * d1;
    out[next] = s2 + omega * d2;
}

#endif
