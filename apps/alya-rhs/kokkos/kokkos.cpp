/*
 * kokkos.cpp - the patch rung, not pipelined, through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU one team per patch. Its nodes and the elements' results are in the team's scratch
 * memory; the gather lists make the sums, and only they go to r. A thread has an element, later a
 * row. On a CPU, chunk after chunk and colour after colour, the lanes of `cpu-closed`. Advantage:
 * portable; atomic additions remain only for nodes that several patches have, on a CPU there are
 * none. Price: a team waits for its nodes before it computes, and records are read from memory
 * twice; and there are two orders of the elements, because a CPU has its cache for a patch.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include <cstring>
#include "app/team.h"
#include "../form.hpp"
#include "../patches.h"

namespace
{

using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec>;
using Member = Policy::member_type;

/* 256 elements: results of 24 KB and nodes of up to 12 KB stay in a core's first- or second-level
 * cache, and several teams share a multiprocessor. Ids have 8 bits. */
constexpr alya_patch_shape_t shape = {256, 256, 1};
constexpr int STAGE = ALYA_PATCH_STAGE(shape.elements);
/* Doubles of a node's record, and of its row of r. */
constexpr int PACKED = rt_kokkos::on_host ? ALYA_RECORD : 6,
              ROW = rt_kokkos::on_host ? ALYA_ROW : 3;

/* --- one element; no branches and no library calls --- */

struct Vec {
    double x, y, z;
};
KOKKOS_INLINE_FUNCTION Vec operator+(Vec a, Vec b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
KOKKOS_INLINE_FUNCTION Vec operator-(Vec a, Vec b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
KOKKOS_INLINE_FUNCTION Vec operator*(double s, Vec a)
{
    return {s * a.x, s * a.y, s * a.z};
}
KOKKOS_INLINE_FUNCTION double dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
KOKKOS_INLINE_FUNCTION Vec cross(Vec a, Vec b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* Returns x^(-1/3) for normal floats x > 0: a seed good to 4 % from the bits, then three steps of
 * third order, y (1 + d/3 + 2 d^2/9) with d = 1 - x y^3, to 1e-3, 1e-9 and all digits. */
KOKKOS_INLINE_FUNCTION double inverse_cbrt(double x)
{
    const float single = static_cast<float>(x);
    uint32_t bits;
    float seed;
    memcpy(&bits, &single, sizeof bits);
    bits = 0x54a232a3u - bits / 3;
    memcpy(&seed, &bits, sizeof seed);
    double y = static_cast<double>(seed), d = 1 - x * (y * y * y);
    y += y * d * (1.0 / 3 + d * (2.0 / 9));
    d = 1 - x * (y * y * y);
    y += y * d * (1.0 / 3 + d * (2.0 / 9));
    d = 1 - x * (y * y * y);
    return y + y * d * (1.0 / 3 + d * (2.0 / 9));
}

/* Returns sqrt(x), x >= 0, as x x^(-1/2) in the same way: std::sqrt would set errno. */
KOKKOS_INLINE_FUNCTION double root(double x)
{
    uint64_t bits;
    double y, d;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x5fe6eb50c7b537a9u - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    d = 1 - x * y * y;
    y += y * d * (0.5 + 0.375 * d);
    d = 1 - x * y * y;
    y += y * d * (0.5 + 0.375 * d);
    const double s = x * y;
    d = 1 - s * y;
    return s + s * d * (0.5 + 0.375 * d);
}

/* Constants of an assembly. */
struct Constants {
    double mu, eddy, rho, width; /* eddy: rho c; width: Delta^2, 0 if V^(2/3) */
    Vec force;                   /* rho f / 4 */
};

/* Computes r of one element in closed form (kernel.h), from its positions and velocities. */
template <int form>
KOKKOS_FORCEINLINE_FUNCTION void element(const Constants &p, const Vec x[4], const Vec u[4],
                                         Vec r[4])
{
    const Vec e1 = x[1] - x[0], e2 = x[2] - x[0], e3 = x[3] - x[0];
    const Vec w1 = u[1] - u[0], w2 = u[2] - u[0], w3 = u[3] - u[0];
    const Vec c1 = cross(e2, e3), c2 = cross(e3, e1), c3 = cross(e1, e2);
    const double det = dot(e1, c1), y = inverse_cbrt(det), V = det * (1.0 / 6), inverse = y * y * y;
    const Vec g1 = inverse * c1, g2 = inverse * c2, g3 = inverse * c3;

    /* rows of J */
    const Vec X = w1.x * g1 + w2.x * g2 + w3.x * g3;
    const Vec Y = w1.y * g1 + w2.y * g2 + w3.y * g3;
    const Vec Z = w1.z * g1 + w2.z * g2 + w3.z * g3;
    const Vec m1 = cross(Y, Z), m2 = cross(Z, X), m3 = cross(X, Y); /* its minors */
    const double B = dot(m1, m1) + dot(m2, m2) + dot(m3, m3);
    const double Q = dot(X, X) + dot(Y, Y) + dot(Z, Z);
    const double side = det * y * y * 0.5503212081491045; /* V^(1/3) = (det / 6)^(1/3) */
    const double width = p.width > 0 ? p.width : side * side;
    const double ratio = B / (Q > 0 ? Q : 1.0);
    const double viscous = V * (p.mu + p.eddy * width * root(ratio));

    /* rows of V mu_t (J + J^T) and of A */
    const double xy = X.y + Y.x, yz = Y.z + Z.y, zx = Z.x + X.z;
    const Vec S1 = viscous * Vec{2 * X.x, xy, zx}, S2 = viscous * Vec{xy, 2 * Y.y, yz},
              S3 = viscous * Vec{zx, yz, 2 * Z.z};
    constexpr double share = alya_divergence_share(form);
    const double div = share * (X.x + Y.y + Z.z);
    Vec A1 = X, A2 = Y, A3 = Z;
    if (form == ALYA_EMAC) {
        A1 = Vec{2 * X.x, xy, zx};
        A2 = Vec{xy, 2 * Y.y, yz};
        A3 = Vec{zx, yz, 2 * Z.z};
    }
    A1.x += div;
    A2.y += div;
    A3.z += div;

    const double k = p.rho * V * (-1.0 / 20);
    const Vec s = u[0] + u[1] + u[2] + u[3], F = V * p.force;
    const Vec g[4] = {Vec{0, 0, 0} - (g1 + g2 + g3), g1, g2, g3};
    for (int a = 0; a < 4; a++) {
        const Vec v = u[a] + s;
        r[a] = F + k * Vec{dot(A1, v), dot(A2, v), dot(A3, v)} -
               Vec{dot(S1, g[a]), dot(S2, g[a]), dot(S3, g[a])};
    }
}

/* --- a patch --- */

template <int form> struct Patch {
    Constants constants;
    const uint32_t *offset;
    const unsigned char *record;
    const double *packed; /* x y z u v w of each node, in records of PACKED */
    double *r;
    int first; /* patch on a CPU, where they come one by one: the same order every time */

    static KOKKOS_INLINE_FUNCTION size_t scratch()
    {
        return sizeof(double) * (6 * shape.nodes + 3 * STAGE);
    }

    KOKKOS_INLINE_FUNCTION void one(const unsigned char *local, const double *node, double *stage,
                                    int e) const
    {
        Vec x[4], u[4], v[4];
        for (int a = 0; a < 4; a++) {
            const double *at = node + 6 * local[4 * e + a];
            x[a] = {at[0], at[1], at[2]};
            u[a] = {at[3], at[4], at[5]};
        }
        element<form>(constants, x, u, v);
        for (int a = 0; a < 4; a++) {
            stage[a * shape.elements + e] = v[a].x;
            stage[STAGE + a * shape.elements + e] = v[a].y;
            stage[2 * STAGE + a * shape.elements + e] = v[a].z;
        }
    }

    /* Adds the sum of one row to r. Positions come in pairs, 32 pairs apart. */
    KOKKOS_INLINE_FUNCTION void gather(const uint16_t *list, int pairs, const double *stage,
                                       uint32_t id) const
    {
        double sum[3] = {0, 0, 0};
        for (int k = 0; k < 2 * pairs; k++)
            for (int c = 0; c < 3; c++)
                sum[c] += stage[list[k / 2 * 2 * ALYA_PATCH_SLICE + k % 2] + c * STAGE];
        double *to = r + ROW * static_cast<size_t>(id & ~ALYA_PATCH_ALONE);
        for (int c = 0; c < 3; c++) {
            if (id & ALYA_PATCH_ALONE)
                to[c] = sum[c];
            else
                Kokkos::atomic_add(to + c, sum[c]);
        }
    }

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        const unsigned char *at =
            record + ALYA_PATCH_UNIT * static_cast<size_t>(
                                           offset[rt_kokkos::on_host ? first : team.league_rank()]);
        const alya_patch_head_t head = *reinterpret_cast<const alya_patch_head_t *>(at);
        const alya_patch_layout_t part =
            alya_patch_layout(head.nodes, head.elements, head.rows, shape.id_bytes);
        const uint32_t *id = reinterpret_cast<const uint32_t *>(at + part.node);
        const uint16_t *row = reinterpret_cast<const uint16_t *>(at + part.row);
        const uint16_t *start = reinterpret_cast<const uint16_t *>(at + part.start);
        const uint16_t *list = reinterpret_cast<const uint16_t *>(at + part.list);
        const int nodes = static_cast<int>(head.nodes), elements = static_cast<int>(head.elements);
        double *node = static_cast<double *>(team.team_scratch(0).get_shmem(scratch()));
        double *stage = node + 6 * shape.nodes;
        const int rows = static_cast<int>(head.rows);

        /* Neighbouring threads read neighbouring doubles. */
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 6 * nodes), [&](int k) {
            const int c = k % 6, in_record = c < 3 ? c : c + PACKED / 2 - 3;
            node[k] =
                packed[PACKED * static_cast<size_t>(id[k / 6] & ~ALYA_PATCH_ALONE) + in_record];
        });
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 3 * ALYA_PATCH_BANKS), [&](int k) {
            stage[k / ALYA_PATCH_BANKS * STAGE + 4 * shape.elements + k % ALYA_PATCH_BANKS] = 0;
        });
        team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, elements),
                             [&](int e) { one(at + part.local, node, stage, e); });
        team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows), [&](int k) {
            const int slice = k / ALYA_PATCH_SLICE, lane = k % ALYA_PATCH_SLICE;
            gather(list + 2 * (start[slice] * ALYA_PATCH_SLICE + lane),
                   start[slice + 1] - start[slice], stage, id[row[k]]);
        });
    }
};

/* --- the rung --- */

struct Data {
    alya_patch_lists_t lists;
    rt_space_t space;
};

template <int form> void run(const alya_view_t *view, const alya_physics_t *p, double *r)
{
    const Data *data = static_cast<const Data *>(view->data);
    const double f = p->rho / 4;
    const Constants constants = {p->mu,
                                 p->rho * p->vreman,
                                 p->rho,
                                 p->filter > 0 ? p->filter * p->filter : 0,
                                 {f * p->force[0], f * p->force[1], f * p->force[2]}};
    Patch<form> patch{constants, data->lists.offset, data->lists.record, view->x, r, 0};
    const int patches = static_cast<int>(data->lists.patches);
    const auto bytes = Kokkos::PerTeam(static_cast<int>(Patch<form>::scratch()));
    Policy policy(rt_kokkos::exec(), rt_kokkos::on_host ? 1 : patches, 1);
    policy.set_scratch_size(0, bytes);
    if (!rt_kokkos::on_host) { /* half as many threads as elements, if registers allow */
        const int most = policy.team_size_max(patch, Kokkos::ParallelForTag());
        const int wanted = view->threads ? static_cast<int>(view->threads) : shape.elements / 2;
        const int size = wanted < most ? wanted : most;
        policy = Policy(rt_kokkos::exec(), patches, size);
        policy.set_scratch_size(0, bytes);
    }
    for (int k = 0; k < (rt_kokkos::on_host ? patches : 1); k++) {
        patch.first = k;
        Kokkos::parallel_for("alya patch", policy, patch);
    }
}

struct Zero {
    double *r;
    KOKKOS_INLINE_FUNCTION void operator()(int64_t k) const
    {
        r[k] = 0;
    }
};

/* Returns whether the vector code of the CPU does the work. */
bool is_vector(unsigned threads)
{
    return rt_kokkos::on_host && threads == 0;
}

void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u, double *r)
{
    using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;
    Kokkos::parallel_for("alya zero", Range(rt_kokkos::exec(), 0, ROW * view->nodes), Zero{r});
    if (view->elements == 0)
        return;
    if (is_vector(view->threads)) {
        const alya_schedule_t *s = view->schedule;
        for (int32_t c = 0; c < s->colours; c++) {
            const int64_t from = s->colour[c];
            rt_kokkos::host_for("alya colour", s->colour[c + 1] - from, [=](int64_t k) {
                alya_closed_chunk(view, physics, u, r, from + k);
            });
        }
        return;
    }
    alya_fixed_form(physics->form, [&](auto form) { run<form()>(view, physics, r); });
}

void set_up(alya_view_t *view)
{
    if (is_vector(view->threads))
        return;
    Data *data = RT_NEW(Data, 1, RT_HOST);
    data->space = rt_kokkos_space();
    data->lists = alya_patch_lists_new(view->host, &shape, data->space);
    view->data = data;
}

void tear_down(alya_view_t *view)
{
    Data *data = static_cast<Data *>(view->data);
    if (!data)
        return;
    alya_patch_lists_destroy(&data->lists, data->space);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

/* Counts records twice: they are made in host memory, then copied. */
void memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    double making;
    if (is_vector(counts->threads))
        return;
    const double held = alya_patches_count_memory(counts, &shape, &making);
    bytes[rt_kokkos_space()] += held;
    bytes[RT_HOST] += held + making + sizeof(Data);
}

constexpr alya_kernels_t table()
{
    alya_kernels_t t = {};
    t.rung.precision = "FP64";
    t.rung.reproducible = rt_kokkos::on_host;
    t.rung.parameters = &rt_team_threads;
    t.rung.n_parameters = 1;
    t.rung.refuse_choice = rt_team_refuse;
    t.assemble = assemble;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = memory;
    t.packed = PACKED;
    t.r_stride = ROW;
    t.tolerance = ALYA_TOLERANCE;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(alya_kernels_t, alya_kokkos, table());
