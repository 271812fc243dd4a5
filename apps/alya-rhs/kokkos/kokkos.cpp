/*
 * kokkos.cpp - the patch rung, not pipelined, through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU one team per patch. Its record, its nodes and the elements' results are in the
 * team's scratch memory, so it waits for memory three times: for the place of the record, the
 * record, and the nodes. The gather lists make the sums, and only they go to r. A thread has an
 * element, later a row. On a CPU, chunk after chunk and colour after colour, the lanes of
 * `cpu-closed`. Advantage: portable; atomic additions remain only for nodes that several patches
 * have, on a CPU there are none. Price: while a team waits, only other teams compute, and scratch
 * memory has room for five; and there are two orders of the elements, because a CPU has its cache
 * for a patch.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "app/team.h"
#include "../element/form.hpp"
#include "../patches/patches.h"
#define ALYA_ELEMENT KOKKOS_FORCEINLINE_FUNCTION
#include "../cuda/element.cuh"

namespace
{

/* 96 registers. */
using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Kokkos::LaunchBounds<320, 2>>;
using Member = Policy::member_type;

/* 256 elements: results of 24 KB, nodes of up to 9 KB and records of up to 7 KB, so that several
 * teams share a multiprocessor. Ids have 8 bits. */
constexpr alya_patch_shape_t shape = {256, 192, 1};
constexpr uint32_t RECORD_BYTES = alya_patch_most_bytes(shape);
constexpr int STAGE = ALYA_PATCH_STAGE(shape.elements);
/* Doubles of a node's record, and of its row of r. */
constexpr int PACKED = rt_kokkos::on_host ? ALYA_RECORD : 6,
              ROW = rt_kokkos::on_host ? ALYA_ROW : 3;

/* --- a patch --- */

using Unit = rt_kokkos::Pack<uint32_t, ALYA_PATCH_UNIT / 4>;
using Two = rt_kokkos::Pack<double, 2>;

template <int form> struct Patch {
    alya_closed_t<double> constants;
    const uint32_t *offset;
    const unsigned char *record;
    const double *packed; /* x y z u v w of each node, in records of PACKED */
    double *r;
    int first; /* patch on a CPU, where they come one by one: the same order every time */

    static KOKKOS_INLINE_FUNCTION size_t scratch()
    {
        return sizeof(double) * (6 * shape.nodes + 3 * STAGE) + RECORD_BYTES;
    }

    KOKKOS_INLINE_FUNCTION void one(const unsigned char *local, const double *node, double *stage,
                                    int e) const
    {
        const auto id = reinterpret_cast<const rt_kokkos::Pack<unsigned char, 4> *>(local)[e];
        double x[4][3], u[4][3], v[4][3];
        RT_UNROLL
        for (int a = 0; a < 4; a++) {
            const Two *at = reinterpret_cast<const Two *>(node + 6 * id.at[a]);
            const Two p = at[0], q = at[1], s = at[2];
            x[a][0] = p.at[0], x[a][1] = p.at[1], x[a][2] = q.at[0];
            u[a][0] = q.at[1], u[a][1] = s.at[0], u[a][2] = s.at[1];
        }
        alya_element_closed<form, double>(x, u, constants, v);
        RT_UNROLL
        for (int a = 0; a < 4; a++) {
            RT_UNROLL
            for (int c = 0; c < 3; c++)
                stage[c * STAGE + a * shape.elements + e] = v[a][c];
        }
    }

    /* Adds the sum of one row to r. Positions come in pairs, 32 pairs apart. */
    KOKKOS_INLINE_FUNCTION void gather(const uint16_t *list, int pairs, const double *stage,
                                       uint32_t id) const
    {
        double even[3] = {0, 0, 0}, odd[3] = {0, 0, 0};
        for (int k = 0; k < pairs; k++, list += 2 * ALYA_PATCH_SLICE) {
            const double *one = stage + list[0], *other = stage + list[1];
            RT_UNROLL
            for (int c = 0; c < 3; c++) {
                even[c] += one[c * STAGE];
                odd[c] += other[c * STAGE];
            }
        }
        double *to = r + ROW * static_cast<size_t>(id & ~ALYA_PATCH_ALONE);
        RT_UNROLL
        for (int c = 0; c < 3; c++) {
            if (id & ALYA_PATCH_ALONE)
                to[c] = even[c] + odd[c];
            else
                Kokkos::atomic_add(to + c, even[c] + odd[c]);
        }
    }

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        const int patch = rt_kokkos::on_host ? first : team.league_rank();
        const uint32_t from = offset[patch];
        const int units = static_cast<int>(offset[patch + 1] - from);
        double *node = static_cast<double *>(team.team_scratch(0).get_shmem_aligned(scratch(), 16));
        double *stage = node + 6 * shape.nodes;
        unsigned char *at = reinterpret_cast<unsigned char *>(stage + 3 * STAGE);
        const Unit *source = reinterpret_cast<const Unit *>(record) + from;
        rt_kokkos::bring<3>(
            team, units, [&](int k) { return rt_kokkos::once(source + k); },
            [&](int k, Unit unit) { reinterpret_cast<Unit *>(at)[k] = unit; });
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 3 * ALYA_PATCH_BANKS), [&](int k) {
            stage[k / ALYA_PATCH_BANKS * STAGE + 4 * shape.elements + k % ALYA_PATCH_BANKS] = 0;
        });
        team.team_barrier();

        const alya_patch_head_t head = *reinterpret_cast<const alya_patch_head_t *>(at);
        const alya_patch_layout_t part =
            alya_patch_layout(head.nodes, head.elements, head.rows, shape.id_bytes);
        const uint32_t *id = reinterpret_cast<const uint32_t *>(at + part.node);
        const uint16_t *row = reinterpret_cast<const uint16_t *>(at + part.row);
        const uint16_t *start = reinterpret_cast<const uint16_t *>(at + part.start);
        const uint16_t *list = reinterpret_cast<const uint16_t *>(at + part.list);
        const int nodes = static_cast<int>(head.nodes), rows = static_cast<int>(head.rows);

        /* Neighbouring threads read neighbouring doubles. */
        rt_kokkos::bring<6>(
            team, 6 * nodes,
            [&](int k) {
                const int c = k % 6, in_record = c < 3 ? c : c + PACKED / 2 - 3;
                return packed[PACKED * static_cast<size_t>(id[k / 6] & ~ALYA_PATCH_ALONE) +
                              in_record];
            },
            [&](int k, double x) { node[k] = x; });
        team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, static_cast<int>(head.elements)),
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
    Patch<form> patch{
        alya_closed_constants<double>(*p), data->lists.offset, data->lists.record, view->x, r, 0};
    const int patches = static_cast<int>(data->lists.patches);
    const auto bytes = Kokkos::PerTeam(static_cast<int>(Patch<form>::scratch()) + 16);
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
