/*
 * predict_kokkos.cpp - z = P r through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU as in `unrolled`, a thread has B nodes above each other. For every (x, y) of the
 * stencil it reads a column of B + 2 nd values of r, which serve (2 nd + 1) B taps, and a value of K
 * serves B nodes. All sums are in registers: kernels come two at a time, so that they stay there,
 * and r is read again for the next two. Coefficients are applied where it is cheaper: gfm's after
 * the sums, gf8's as a weight per tap. On a CPU each thread has rows of nodes, by the vectors of
 * `predict-simd`. Advantage: portable, no scratch memory, every sum in one order. Price: all of r and
 * K comes through the first cache, 16-bit r is first converted to FP32, once, because all neighbours
 * read it, and there are two forms of one predictor.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"
#include "../cpu/cpu.h"

namespace
{

using namespace gfnn_kokkos;

enum {
    B = 4,
    PAIR = 2,
    TILE_X = 32,
    TILE_Y = 8,
    THREADS = on_host ? 1 : TILE_X * TILE_Y,
    RESIDENT = on_host ? 1 : 2
};
using Policy =
    Kokkos::MDRangePolicy<rt_kokkos::Exec,
                          Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                          Kokkos::IndexType<int>, Kokkos::LaunchBounds<THREADS, RESIDENT>>;

/* What is read of K together: row by row, for P kernels; and G xx yy zz yz zx xy. */
template <int P> struct alignas(P == 1 ? 4 : 8) Tap {
    float k[3][P]; /* column j of the kernels is that of the row in memory */
};
struct alignas(8) Tap8 {
    float diagonal[3], rest[3];
};

struct Data {
    rt_space_t space;
    float *K; /* gfm: kernels in pairs, the last alone if M is odd, [y][x][j][z][i][kernel];
               * gf8: [y][x][z][xx yy zz yz zx xy] */
    float *r; /* FP32 copy on box->wide; NULL: not needed */
};

/* --- B nodes above each other --- */

struct Job {
    gfnn_lines_t wide, bare;
    int n[3], kernels;
    const float *K, *c, *r;
    float *z;

    Job(const gfnn_view_t *view, const gfnn_network_t *network, const float *r_, float *z_)
        : wide(view->box->wide), bare(view->box->bare), kernels(network->kernels),
          K(static_cast<const Data *>(view->data)->K), c(network->c), r(r_), z(z_)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(view->box->n[d]);
    }
};

/* Where an index is. */
struct Place {
    int i, j, k;
    int last; /* of its nodes above each other: those beyond read what this one reads */

    KOKKOS_FORCEINLINE_FUNCTION Place(const Job &job, int i_, int j_, int block)
        : i(i_), j(j_), k(block * B), last(job.n[2] - 1 - k)
    {
        last = last < B ? last : B - 1;
    }
    KOKKOS_FORCEINLINE_FUNCTION int node(int n) const
    {
        return k + (n < last ? n : last);
    }
    KOKKOS_FORCEINLINE_FUNCTION float coefficient(const Job &job, int q, int n) const
    {
        return job.c[q * job.bare.plane + job.bare.at(i, j, node(n))];
    }
    /* Loads component c of r, from ND layers below the lowest node to ND above the highest. */
    template <int ND>
    KOKKOS_FORCEINLINE_FUNCTION void column(const Job &job, int dx, int dy, int c,
                                            float r[B + 2 * ND]) const
    {
        const float *bottom = job.r + c * job.wide.plane + job.wide.at(i + dx, j + dy, k - ND);
        GFNN_UNROLL
        for (int e = 0; e < B + 2 * ND; e++) {
            const int layer = e < last + 2 * ND ? e : last + 2 * ND;
            r[e] = bottom[layer * job.wide.slab];
        }
    }
    KOKKOS_FORCEINLINE_FUNCTION void put(const Job &job, const float z[3][B]) const
    {
        const int at = job.wide.at(i, j, k);
        GFNN_UNROLL
        for (int n = 0; n < B; n++)
            for (int c = 0; c < 3; c++)
                if (n <= last)
                    job.z[c * job.wide.plane + at + n * job.wide.slab] = z[c][n];
    }
};

/* z += sum over kernels m .. m + P - 1. */
template <int ND, int P>
KOKKOS_FORCEINLINE_FUNCTION void gfm_pass(const Job &job, const Place &at, int m, float z[3][B])
{
    const Tap<P> *tap = reinterpret_cast<const Tap<P> *>(job.K + m * 9 * (2 * ND + 1) *
                                                                     (2 * ND + 1) * (2 * ND + 1));
    float sum[P][3][B] = {};
    for (int dy = -ND; dy <= ND; dy++)
        for (int dx = -ND; dx <= ND; dx++)
            for (int j = 0; j < 3; j++, tap += 2 * ND + 1) {
                float r[B + 2 * ND];
                at.column<ND>(job, dx, dy, j, r);
                GFNN_UNROLL
                for (int dz = 0; dz < 2 * ND + 1; dz++) {
                    const Tap<P> here = tap[dz];
                    GFNN_UNROLL
                    for (int e = 0; e < 3 * P; e++)
                        GFNN_UNROLL
                    for (int n = 0; n < B; n++)
                        sum[e % P][e / P][n] += here.k[e / P][e % P] * r[n + dz];
                }
            }
    GFNN_UNROLL
    for (int e = 0; e < P * B; e++) {
        const float c = at.coefficient(job, m + e % P, e / P);
        GFNN_UNROLL
        for (int i = 0; i < 3; i++)
            z[i][e / P] += c * sum[e % P][i][e / P];
    }
}

template <int ND> struct Gfm : Job {
    using Job::Job;

    KOKKOS_FORCEINLINE_FUNCTION void nodes(const Place &at) const
    {
        float z[3][B] = {};
        int m = 0;
        for (; m + PAIR <= kernels; m += PAIR)
            gfm_pass<ND, PAIR>(*this, at, m, z);
        if (m < kernels)
            gfm_pass<ND, 1>(*this, at, m, z);
        at.put(*this, z);
    }
};

template <int ND> struct Gf8 : Job {
    using Job::Job;

    KOKKOS_FORCEINLINE_FUNCTION void nodes(const Place &at) const
    {
        const Tap8 *tap = reinterpret_cast<const Tap8 *>(K);
        float c[B][8], z[3][B] = {};
        GFNN_UNROLL
        for (int e = 0; e < 8 * B; e++) {
            c[e / 8][e % 8] = at.coefficient(*this, e % 8, e / 8);
            if (e % 4 > 0)
                c[e / 8][e % 8] *= 1.0f / ND;
        }
        for (int dy = -ND; dy <= ND; dy++)
            for (int dx = -ND; dx <= ND; dx++, tap += 2 * ND + 1)
                line(at, dx, dy, tap, c, z);
        at.put(*this, z);
    }

    /* Weights grow by the same amount from tap to tap. */
    KOKKOS_FORCEINLINE_FUNCTION void line(const Place &at, int dx, int dy, const Tap8 *tap,
                                          const float c[B][8], float z[3][B]) const
    {
        float r[3][B + 2 * ND], same[B], other[B];
        for (int l = 0; l < 3; l++)
            at.template column<ND>(*this, dx, dy, l, r[l]);
        const float x = static_cast<float>(dx), y = static_cast<float>(dy), first = -ND;
        GFNN_UNROLL
        for (int n = 0; n < B; n++) {
            same[n] = c[n][0] + c[n][1] * x + c[n][2] * y + c[n][3] * first;
            other[n] = c[n][4] + c[n][5] * x + c[n][6] * y + c[n][7] * first;
        }
        GFNN_UNROLL
        for (int dz = 0; dz < 2 * ND + 1; dz++) {
            const Tap8 g = tap[dz];
            GFNN_UNROLL
            for (int n = 0; n < B; n++) {
                const float rx = other[n] * r[0][n + dz], ry = other[n] * r[1][n + dz];
                const float rz = other[n] * r[2][n + dz];
                /* One statement per product: each becomes one fused operation. */
                z[0][n] += g.diagonal[0] * (same[n] * r[0][n + dz]);
                z[0][n] += g.rest[2] * ry;
                z[0][n] += g.rest[1] * rz;
                z[1][n] += g.diagonal[1] * (same[n] * r[1][n + dz]);
                z[1][n] += g.rest[2] * rx;
                z[1][n] += g.rest[0] * rz;
                z[2][n] += g.diagonal[2] * (same[n] * r[2][n + dz]);
                z[2][n] += g.rest[1] * rx;
                z[2][n] += g.rest[0] * ry;
                same[n] += c[n][3];
                other[n] += c[n][7];
            }
        }
    }
};

template <class Form> struct Predict {
    Form form;

    KOKKOS_INLINE_FUNCTION void operator()(int i, int j, int block) const
    {
        form.nodes(Place(form, i, j, block));
    }
};

/* --- r in 16 bits --- */

struct Widen {
    const uint16_t *from;
    float *to;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t at) const
    {
        to[at] = gfnn_from_half(from[at]);
    }
};

/* --- the rung --- */

template <class Form>
void run(const gfnn_view_t *view, const gfnn_network_t *network, const float *r, float *z)
{
    const int64_t *n = view->box->n;
    const Policy policy(
        rt_kokkos::exec(), {0, 0, 0},
        {static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>((n[2] + B - 1) / B)},
        {TILE_X, TILE_Y, 1});
    Kokkos::parallel_for("gfnn predictor", policy, Predict<Form>{Form(view, network, r, z)});
}

template <int ND>
void run_reach(const gfnn_view_t *view, const gfnn_network_t *network, const float *r, float *z)
{
    if (network->form == GFNN_GF8)
        run<Gf8<ND>>(view, network, r, z);
    else
        run<Gfm<ND>>(view, network, r, z);
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
    static_assert(GFNN_ND == 3 && GFNN_MAX_ND == 6, "a copy for each reach");
    static void (*const of[])(const gfnn_view_t *, const gfnn_network_t *, const float *,
                              float *) = {run_reach<3>, run_reach<4>, run_reach<5>, run_reach<6>};
    using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;
    const Data *data = static_cast<const Data *>(view->data);
    const float *from = data->r ? data->r : static_cast<const float *>(r);
    if (data->r)
        Kokkos::parallel_for("gfnn widen", Range(rt_kokkos::exec(), 0, 3 * view->box->wide.plane),
                             Widen{static_cast<const uint16_t *>(r), data->r});
    of[network->reach - GFNN_ND](view, network, from, z);
}

/* Returns [i][j] of kernel m at (x, y, z) of the stencil. */
float entry(const gfnn_network_t *network, int m, int i, int j, int x, int y, int z)
{
    const int width = 2 * network->reach + 1;
    return network->K[(((m * 3 + i) * 3 + j) * width + z) * width * width + y * width + x];
}

void pack_gfm(const gfnn_network_t *network, float *to)
{
    const int width = 2 * network->reach + 1;
    for (int m = 0; m < network->kernels; m += PAIR) {
        const int kernels = network->kernels - m < PAIR ? 1 : PAIR;
        for (int row = 0; row < width * width; row++)
            for (int j = 0; j < 3; j++)
                for (int z = 0; z < width; z++)
                    for (int e = 0; e < 3 * kernels; e++)
                        *to++ = entry(network, m + e % kernels, e / kernels, j, row % width,
                                      row / width, z);
    }
}

void pack_gf8(const gfnn_network_t *network, float *to)
{
    static const int i[6] = {0, 1, 2, 1, 2, 0}, j[6] = {0, 1, 2, 2, 0, 1};
    const int width = 2 * network->reach + 1;
    for (int row = 0; row < width * width; row++)
        for (int z = 0; z < width; z++)
            for (int e = 0; e < 6; e++)
                *to++ = entry(network, 0, i[e], j[e], row % width, row / width, z);
}

size_t floats_of(int form, int64_t kernels, int64_t reach)
{
    return static_cast<size_t>(gfnn_stencil(reach) * (form == GFNN_GF8 ? 6 : 9 * kernels));
}

void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    if (is_vector(view))
        return gfnn_predictor_simd.set_up(view, network);
    Data *data = RT_NEW(Data, 1, RT_HOST);
    const size_t floats = floats_of(network->form, network->kernels, network->reach);
    float *K = RT_NEW(float, floats, RT_HOST);
    if (network->form == GFNN_GF8)
        pack_gf8(network, K);
    else
        pack_gfm(network, K);
    data->space = rt_kokkos_space();
    data->K = static_cast<float *>(rt_clone(K, floats, sizeof *K, data->space));
    data->r = network->precision == GFNN_FP16
                  ? RT_NEW(float, 3 * static_cast<size_t>(view->box->wide.plane), data->space)
                  : nullptr;
    RT_FREE(K, RT_HOST);
    view->data = data;
}

void tear_down(gfnn_view_t *view)
{
    if (is_vector(view))
        return gfnn_predictor_simd.tear_down(view);
    Data *data = static_cast<Data *>(view->data);
    if (!data)
        return;
    RT_FREE(data->K, data->space);
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
