/*
 * kokkos.cpp - y = A x through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: the modes of parity.h. On a GPU a thread has a column of elements and climbs in z: the x-y
 * transform of a layer of nodes serves the elements below and above it, and what both give to the
 * layer is added before it is transformed back. Then, after a barrier, a node gathers from its four
 * columns, from the team's scratch memory. On a CPU each thread has a part of the region, by the
 * vectors of `cpu-simd`.
 * Advantage: portable, no atomics, equal bits from run to run, close to the least number of 187
 * operations per element. Price: a tile has a column and a row of elements, and a chunk of layers a
 * layer, that its neighbours have too; loads are in flight only while other teams work; and there
 * are two forms of one operator.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"
#include "../cpu/cpu.h"

#define GFNN_PARITY_T       double
#define GFNN_PARITY_S       double
#define GFNN_PARITY_NAME(f) f
#define GFNN_PARITY_FN      static KOKKOS_FORCEINLINE_FUNCTION
#include "apps/gfnn-wave/parity.h"
#define GFNN_PARITY_T       float
#define GFNN_PARITY_S       float
#define GFNN_PARITY_NAME(f) f
#define GFNN_PARITY_FN      static KOKKOS_FORCEINLINE_FUNCTION
#include "apps/gfnn-wave/parity.h"

namespace
{

using namespace gfnn_kokkos;

/* A team has up to ROWS rows of elements of up to COLUMNS each; for a narrow region more and shorter
 * ones. On a CPU, where the vectors of `cpu-simd` do the work unless a team of one thread is asked
 * for, that thread has all of them. */
enum {
    ROWS = 8,
    COLUMNS = 32,
    LEAST_COLUMNS = 8,
    THREADS = on_host ? 1 : ROWS * COLUMNS,
    STATES = on_host ? ROWS * COLUMNS : 1, /* of a thread */
    RESIDENT = on_host ? 1 : 2,            /* teams per multiprocessor, */
    MOST_THREADS = on_host ? 1 : 2048,     /* which can have that many threads */
    LEAST_LAYERS = 4
};
using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Kokkos::LaunchBounds<THREADS, RESIDENT>>;
using Member = Policy::member_type;

template <class T> struct material_t {
    T w, square;
};
struct Data {
    rt_space_t space; /* of the tables [GFNN_MAX_IDS] */
    material_t<double> *fp64;
    material_t<float> *fp32;
    double *dots; /* on a CPU: x . y of a row */
};

const material_t<double> *materials_of(const Data *data, double)
{
    return data->fp64;
}
const material_t<float> *materials_of(const Data *data, float)
{
    return data->fp32;
}

/* --- tiles --- */

/* The cut of a region: tiles of at most own[0] x own[1] nodes, chunks of own[2] layers. */
struct Cut {
    int columns, rows; /* of a team, including one of each that is not its own */
    int lo[3], hi[3], own[3], count[3];

    int teams() const
    {
        return count[0] * count[1] * count[2];
    }
};

int blocks(int n, int most)
{
    return (n + most - 1) / most;
}

/* Chooses how many layers a team climbs through, so that `tiles` columns of `layers` layers keep
 * the machine busy: each chunk costs a layer more, and a last, half empty round as much as a full
 * one. */
int chunk_of(int64_t tiles, int layers)
{
    const int64_t resident =
        static_cast<int64_t>(rt_kokkos::exec().concurrency()) / MOST_THREADS * RESIDENT;
    int best = layers;
    double least = 0;
    for (int chunks = 1; chunks == 1 || chunks <= layers / LEAST_LAYERS; chunks++) {
        const int each = blocks(layers, chunks);
        const int64_t rounds = (tiles * blocks(layers, each) + resident - 1) / resident;
        const double cost = static_cast<double>(rounds) * (each + 1.5);
        if (chunks == 1 || cost < least) {
            least = cost;
            best = each;
        }
    }
    return best;
}

Cut cut_of(const gfnn_region_t *region)
{
    Cut cut;
    int n[3];
    for (int d = 0; d < 3; d++) {
        cut.lo[d] = static_cast<int>(region->lo[d]);
        cut.hi[d] = static_cast<int>(region->hi[d]);
        n[d] = cut.hi[d] > cut.lo[d] ? cut.hi[d] - cut.lo[d] : 0;
    }
    int columns = COLUMNS;
    while (columns > LEAST_COLUMNS && n[0] < columns / 2)
        columns /= 2;
    cut.columns = columns;
    cut.rows = ROWS * COLUMNS / columns;
    const int most[2] = {cut.columns - 1, cut.rows - 1};
    for (int d = 0; d < 2; d++) {
        cut.count[d] = blocks(n[d], most[d]);
        cut.own[d] = n[d] ? blocks(n[d], cut.count[d]) : 0;
    }
    cut.own[2] = n[2] ? chunk_of(static_cast<int64_t>(cut.count[0]) * cut.count[1], n[2]) : 1;
    cut.count[2] = blocks(n[2], cut.own[2]);
    return cut;
}

/* --- a team --- */

/* What a column keeps between two layers. */
template <class T> struct State {
    T node[3][4]; /* modes of the last layer of nodes */
    T sum[3][4];  /* what the elements below it gave to them */
};

template <class T> struct Apply {
    Cut cut;
    gfnn_lines_t nodes, elements;
    const uint8_t *id;
    const material_t<T> *material;
    T mass, bulk, shear; /* as parity.h scales them */
    const T *x;
    T *y;

    Apply(const gfnn_view_t *view, const gfnn_grid_t &grid, const gfnn_form_t *form,
          const gfnn_region_t *region, const T *x_, T *y_)
        : cut(cut_of(region)), nodes(grid), elements(view->box->wide), id(view->id),
          material(materials_of(static_cast<const Data *>(view->data), T())),
          mass(static_cast<T>(form->mass / GFNN_PARITY_MASS)),
          bulk(static_cast<T>(form->bulk / GFNN_PARITY_STIFF)),
          shear(static_cast<T>(form->shear / GFNN_PARITY_STIFF)), x(x_), y(y_)
    {
    }

    /* Scratch memory has, by rows of elements, what corners 0, 2 and 3 of three components get: all
     * rows of two layers, so that one barrier per layer is enough. */
    KOKKOS_FORCEINLINE_FUNCTION int strip(int row, int k, int corner, int c) const
    {
        const int number = (k & 1) * cut.rows + row;
        return ((number * 3 + c) * 3 + (corner ? corner - 1 : 0)) * (cut.columns + 1);
    }

    KOKKOS_FORCEINLINE_FUNCTION size_t scratch() const
    {
        return sizeof(T) * static_cast<size_t>(18 * cut.rows * (cut.columns + 1));
    }

    /* Computes the modes of the square of nodes whose lower left one is (i, j, k). */
    KOKKOS_FORCEINLINE_FUNCTION void square(int i, int j, int k, T mode[3][4]) const
    {
        const int at = nodes.at(i, j, k);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++) {
            const T *before = x + c * nodes.plane + at, *behind = before + nodes.pitch;
            const T corner[4] = {before[0], before[1], behind[0], behind[1]};
            gfnn_parity_layer(corner, mode[c]);
        }
    }

    /* Computes m, k and g of element (i, j, k). */
    KOKKOS_FORCEINLINE_FUNCTION void factors(int i, int j, int k, T element[3]) const
    {
        const material_t<T> here = material[id[elements.at(i, j, k)]];
        element[0] = here.w * mass;
        element[1] = here.w * bulk;
        element[2] = here.square * shear;
    }

    /* Goes through the element between layers k and k + 1 of nodes. corner: the complete sums of
     * layer k. */
    KOKKOS_FORCEINLINE_FUNCTION void climb(int i, int j, int k, State<T> *state,
                                           T corner[3][4]) const
    {
        T above[3][4], U[3][8], Y[3][8], element[3];
        square(i, j, k + 1, above);
        factors(i, j, k, element);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++)
            gfnn_parity_join(state->node[c], above[c], U[c]);
        gfnn_parity_product(element, U, Y);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++) {
            T lower[4], upper[4], done[4];
            gfnn_parity_part(Y[c], lower, upper);
            GFNN_UNROLL
            for (int q = 0; q < 4; q++) {
                done[q] = state->sum[c][q] + lower[q];
                state->sum[c][q] = upper[q];
                state->node[c][q] = above[c][q];
            }
            gfnn_parity_layer_back(done, corner[c]);
        }
    }

    /* Sums up y of node (i + 1, j, k): it is corner 1 of the column's element, and corners 0, 3 and 2
     * of those to the right, of the row before, and of both. Returns x . y. */
    template <bool with_dot>
    KOKKOS_FORCEINLINE_FUNCTION double gather(int i, int j, int k, int row, int column,
                                              const T *strips, const T corner[3][4]) const
    {
        const int at = nodes.at(i + 1, j, k);
        double sum = 0;
        GFNN_UNROLL
        for (int c = 0; c < 3; c++) {
            const T right = strips[strip(row, k, 0, c) + column + 1];
            const T before = strips[strip(row - 1, k, 3, c) + column];
            const T both = strips[strip(row - 1, k, 2, c) + column + 1];
            const T value = (corner[c][1] + right) + (before + both);
            y[c * nodes.plane + at] = value;
            if (with_dot)
                sum += static_cast<double>(x[c * nodes.plane + at] * value);
        }
        return sum;
    }

    struct Tile {
        int first[3], last[3]; /* own nodes */
    };

    KOKKOS_FORCEINLINE_FUNCTION Tile tile_of(int number) const
    {
        Tile tile;
        for (int d = 0; d < 3; d++) {
            const int first = cut.lo[d] + number % cut.count[d] * cut.own[d];
            tile.first[d] = first;
            tile.last[d] = first + cut.own[d] < cut.hi[d] ? first + cut.own[d] : cut.hi[d];
            number /= cut.count[d];
        }
        return tile;
    }

    /* Calls body(row, column, state) for this thread's columns of elements: on a CPU all, rows
     * upwards and columns right to left, so that what a node gathers was put before. A thread of a
     * GPU has one, needed or not. */
    template <class Body>
    KOKKOS_FORCEINLINE_FUNCTION void each(const Member &team, const Tile &tile, State<T> *states,
                                          Body body) const
    {
        if (on_host) {
            for (int row = 0; row <= tile.last[1] - tile.first[1]; row++)
                for (int column = tile.last[0] - tile.first[0]; column >= 0; column--)
                    body(row, column, states + row * cut.columns + column);
        } else {
            const int rank = team.team_rank();
            body(rank / cut.columns, rank % cut.columns, states);
        }
    }

    template <bool with_dot> KOKKOS_FORCEINLINE_FUNCTION double climb_all(const Member &team) const
    {
        State<T> states[STATES];
        const Tile tile = tile_of(team.league_rank());
        const int *first = tile.first, *last = tile.last;
        T *strips = static_cast<T *>(team.team_scratch(0).get_shmem(scratch()));
        double sum = 0;
        /* Lower corner of an element; those that are not needed read what others read. */
        const auto element = [&](int d, int at) {
            const int e = first[d] - 1 + at;
            return e < last[d] ? e : last[d] - 1;
        };
        each(team, tile, states, [&](int row, int column, State<T> *state) {
            square(element(0, column), element(1, row), first[2] - 1, state->node);
            for (int q = 0; q < 12; q++)
                state->sum[q / 4][q % 4] = 0;
        });
        for (int k = first[2] - 1; k < last[2]; k++)
            each(team, tile, states, [&](int row, int column, State<T> *state) {
                const int i = element(0, column), j = element(1, row);
                T corner[3][4];
                climb(i, j, k, state, corner);
                GFNN_UNROLL
                for (int c = 0; c < 3; c++) {
                    strips[strip(row, k, 0, c) + column] = corner[c][0];
                    strips[strip(row, k, 2, c) + column] = corner[c][2];
                    strips[strip(row, k, 3, c) + column] = corner[c][3];
                }
                if (!on_host)
                    team.team_barrier();
                if (k >= first[2] && row > 0 && row <= last[1] - first[1] &&
                    column < last[0] - first[0])
                    sum += gather<with_dot>(i, j, k, row, column, strips, corner);
            });
        return sum;
    }
};

template <class T> struct Plain {
    Apply<T> apply;

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        apply.template climb_all<false>(team);
    }
};

struct WithDot {
    Apply<double> apply;

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team, double &sum) const
    {
        sum += apply.climb_all<true>(team);
    }
};

/* --- the rung --- */

template <class T> Policy policy_of(const Apply<T> &apply)
{
    Policy policy(rt_kokkos::exec(), apply.cut.teams(), THREADS);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(apply.scratch())));
    return policy;
}

template <class T>
void run(const gfnn_view_t *view, const gfnn_grid_t &grid, const gfnn_form_t *form,
         const gfnn_region_t *region, const T *x, T *y)
{
    const Apply<T> apply(view, grid, form, region, x, y);
    if (apply.cut.teams() > 0)
        Kokkos::parallel_for("gfnn operator", policy_of(apply), Plain<T>{apply});
}

/* Calls body(view, part, parts) for each thread of a CPU. The view has none of this rung's
 * choices. */
template <class Body> void by_vectors(const gfnn_view_t *view, const Body &body)
{
    const int64_t parts = rt_kokkos::exec().concurrency();
    gfnn_view_t plain = *view;
    plain.choice = nullptr;
    rt_kokkos::host_for("gfnn operator", parts, [=](int64_t me) { body(&plain, me, parts); });
}

void apply(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
           const double *x, double *y)
{
    if (!is_vector(view))
        return run(view, view->box->fine, form, region, x, y);
    by_vectors(view, [=](const gfnn_view_t *v, int64_t me, int64_t parts) {
        gfnn_simd_part(v, form, region, me, parts, x, y, nullptr);
    });
}

void apply32(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
             const float *x, float *y)
{
    if (!is_vector(view))
        return run(view, view->box->wide, form, region, x, y);
    by_vectors(view, [=](const gfnn_view_t *v, int64_t me, int64_t parts) {
        gfnn_simd_part32(v, form, region, me, parts, x, y, nullptr);
    });
}

void apply_dot(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
               const double *x, double *y, double *dot)
{
    if (is_vector(view)) {
        double *dots = static_cast<const Data *>(view->data)->dots;
        by_vectors(view, [=](const gfnn_view_t *v, int64_t me, int64_t parts) {
            gfnn_simd_part(v, form, region, me, parts, x, y, dots);
        });
        *dot = gfnn_simd_sum(region, dots);
        return;
    }
    const Apply<double> apply(view, view->box->fine, form, region, x, y);
    if (apply.cut.teams() == 0)
        return rt_fill(dot, view->space, 0, sizeof *dot);
    const Kokkos::View<double, rt_kokkos::Memory, Kokkos::MemoryUnmanaged> result(dot);
    Kokkos::parallel_reduce("gfnn operator", policy_of(apply), WithDot{apply}, result);
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

size_t rows_of(const gfnn_box_t *box)
{
    return static_cast<size_t>(box->n[1] * box->n[2]);
}

void set_up(gfnn_view_t *view)
{
    Data *data = RT_NEW(Data, 1, RT_HOST);
    data->space = rt_kokkos_space();
    data->fp64 = materials_new<double>(view);
    data->fp32 = materials_new<float>(view);
    data->dots = on_host ? RT_NEW(double, rows_of(view->box), RT_HOST) : nullptr;
    view->data = data;
}

void tear_down(gfnn_view_t *view)
{
    Data *data = static_cast<Data *>(view->data);
    if (!data)
        return;
    RT_FREE(data->fp64, data->space);
    RT_FREE(data->fp32, data->space);
    RT_FREE(data->dots, RT_HOST);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

void memory(const gfnn_config_t *, const gfnn_box_t *box, double bytes[RT_SPACES])
{
    bytes[RT_HOST] += sizeof(Data) + (on_host ? sizeof(double) * rows_of(box) : 0);
    bytes[rt_kokkos_space()] +=
        GFNN_MAX_IDS * (sizeof(material_t<double>) + sizeof(material_t<float>));
}

constexpr gfnn_operator_t operators()
{
    gfnn_operator_t t = {};
    t.apply = apply;
    t.apply32 = apply32;
    t.apply_dot = apply_dot;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = memory;
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
