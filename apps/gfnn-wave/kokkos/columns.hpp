/*
 * columns.hpp - the form of `kokkos` for GPUs: teams that climb through the layers of tiles.
 */
#ifndef GFNN_COLUMNS_HPP
#define GFNN_COLUMNS_HPP

#include "gfnn_kokkos.hpp"

#define GFNN_PARITY_T  double
#define GFNN_PARITY_S  double
#define GFNN_PARITY_FN static KOKKOS_FORCEINLINE_FUNCTION
#include "apps/gfnn-wave/operator/parity.h"
#define GFNN_PARITY_T  float
#define GFNN_PARITY_S  float
#define GFNN_PARITY_FN static KOKKOS_FORCEINLINE_FUNCTION
#include "apps/gfnn-wave/operator/parity.h"

namespace gfnn_kokkos
{

/* A team has up to ROWS rows of elements of up to COLUMNS each; for a narrow box more and shorter
 * ones. On a CPU, where the vectors of `cpu-simd` do the work unless a team of one thread is asked
 * for, that thread has all of them. */
enum {
    ROWS = 8,
    COLUMNS = 32,
    LEAST_COLUMNS = 8,
    THREADS = on_host ? 1 : ROWS * COLUMNS,
    STATES = on_host ? ROWS * COLUMNS : 1, /* of a thread */
    RIM = on_host ? 3 * (ROWS + COLUMNS + 1) : 1,
    LAYER = (ROWS + 1) * (COLUMNS + 1), /* most nodes of a team's layer, */
    STRIP = 15 * 15,                    /* and most that it gathers, in any shape */
    RESIDENT = on_host ? 1 : 2,         /* teams per multiprocessor, */
    MOST_THREADS = on_host ? 1 : 2048   /* which can have that many threads */
};
using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Kokkos::LaunchBounds<THREADS, RESIDENT>>;
using Member = Policy::member_type;

template <class T> struct material_t {
    T w, square;
};
struct OperatorData {
    rt_space_t space; /* of the tables [GFNN_MAX_IDS] */
    material_t<double> *fp64;
    material_t<float> *fp32;
    double *dots; /* on a CPU: x . y of a row */
};

inline const material_t<double> *materials_of(const OperatorData *data, double)
{
    return data->fp64;
}
inline const material_t<float> *materials_of(const OperatorData *data, float)
{
    return data->fp32;
}

/* --- tiles --- */

/* The cut of a box: tiles of at most own[0] x own[1] nodes, chunks of own[2] layers. */
struct Cut {
    int columns, rows; /* of a team, including one of each that is not its own */
    int n[3], own[3], count[3];

    int teams() const
    {
        return count[0] * count[1] * count[2];
    }
};

inline int blocks(int n, int most)
{
    return (n + most - 1) / most;
}

/* Cuts a box. A team's rows of nodes begin and end within a sector of memory, which costs about a
 * node more. */
inline Cut cut_of(const gfnn_box_t *box)
{
    const int64_t resident =
        static_cast<int64_t>(rt_kokkos::exec().concurrency()) / MOST_THREADS * RESIDENT;
    Cut cut, best;
    double least = 0;
    for (int d = 0; d < 3; d++)
        cut.n[d] = static_cast<int>(box->n[d]);
    for (int columns = COLUMNS; columns >= LEAST_COLUMNS; columns /= 2) {
        cut.columns = columns;
        cut.rows = ROWS * COLUMNS / columns;
        const int most[2] = {cut.columns - 1, cut.rows - 1};
        for (int d = 0; d < 2; d++) {
            cut.count[d] = blocks(cut.n[d], most[d]);
            cut.own[d] = blocks(cut.n[d], cut.count[d]);
        }
        const gfnn_chunk_t chunk =
            gfnn_chunk(static_cast<int64_t>(cut.count[0]) * cut.count[1], cut.n[2], resident, 1.5);
        const double cost = chunk.cost * (1 + 1.0 / most[0]);
        cut.own[2] = chunk.layers;
        cut.count[2] = blocks(cut.n[2], chunk.layers);
        if (columns == COLUMNS || cost < least) {
            least = cost;
            best = cut;
        }
    }
    return best;
}

/* The vectors of `cpu-simd` read ghosts, and do A alone. */
inline bool wraps(const gfnn_view_t *view)
{
    return !is_vector(view) && gfnn_is_alone(view->box);
}

/* --- a team --- */

/* What a column of elements keeps between two layers. */
template <class T, class End> struct State {
    T node[3][4];              /* modes of the last layer of nodes */
    T sum[3][4];               /* what the elements below it gave to them */
    T next[3];                 /* of a node of its own, on the way to scratch memory */
    T corner[3];               /* the column's own share of the node that it gathers */
    typename End::Loads loads; /* for that node */
    bool gathers;              /* one at all */
    const T *from;             /* its own node in layer 0 */
    int id;                    /* of the next element */
};

template <class T, class End> struct Apply {
    using Column = State<T, End>;

    Cut cut;
    End end;
    int period[3]; /* nodes of a periodic box that is all here, 0: ghosts are read */
    gfnn_lines_t nodes, elements, bare;
    const uint8_t *id;
    const material_t<T> *material;
    T mass, bulk, shear; /* as parity.h scales them */
    const T *x;
    T *y;

    Apply(const gfnn_view_t *view, const gfnn_product_t *a, const End &end_)
        : cut(cut_of(view->box)), end(end_),
          nodes(sizeof(T) == sizeof(double) ? view->box->fine : view->box->wide),
          elements(view->box->wide), bare(view->box->bare), id(view->id),
          material(materials_of(static_cast<const OperatorData *>(view->data), T())),
          mass(static_cast<T>(a->form->mass / GFNN_PARITY_MASS)),
          bulk(static_cast<T>(a->form->bulk / GFNN_PARITY_STIFF)),
          shear(static_cast<T>(a->form->shear / GFNN_PARITY_STIFF)),
          x(static_cast<const T *>(a->x)), y(static_cast<T *>(a->y))
    {
        for (int d = 0; d < 3; d++)
            period[d] = wraps(view) ? static_cast<int>(view->box->n[d]) : 0;
    }

    /* Returns the own node that a ghost along direction d is a copy of. */
    KOKKOS_FORCEINLINE_FUNCTION int wrapped(int d, int i) const
    {
        return period[d] > 0 ? gfnn_wrapped(i, period[d]) : i;
    }

    /* Scratch memory has two layers of x, so that one is filled while the other is read; and for two
     * layers of y what corners 0, 2 and 3 give to the nodes that the team gathers: one barrier per
     * layer is enough. Distances are constants where they can be. */
    KOKKOS_FORCEINLINE_FUNCTION static constexpr int layer(int k)
    {
        return (k & 1) * 3 * LAYER;
    }
    KOKKOS_FORCEINLINE_FUNCTION int place(int row, int column) const
    {
        return row * (cut.columns + 1) + column;
    }
    /* Node (row, column) is corner 1 of the element of row + 1 in that column. */
    KOKKOS_FORCEINLINE_FUNCTION int strip(int k, int row, int column) const
    {
        return (k & 1) * 9 * STRIP + row * (cut.columns - 1) + column;
    }
    KOKKOS_FORCEINLINE_FUNCTION static constexpr size_t layers()
    {
        return sizeof(T) * 6 * LAYER;
    }
    KOKKOS_FORCEINLINE_FUNCTION static constexpr size_t strips()
    {
        return sizeof(T) * 18 * STRIP;
    }

    struct Tile {
        int first[3], last[3]; /* own nodes */
    };

    KOKKOS_FORCEINLINE_FUNCTION Tile tile_of(int number) const
    {
        Tile tile;
        for (int d = 0; d < 3; d++) {
            const int first = number % cut.count[d] * cut.own[d];
            tile.first[d] = first;
            tile.last[d] = first + cut.own[d] < cut.n[d] ? first + cut.own[d] : cut.n[d];
            number /= cut.count[d];
        }
        return tile;
    }

    /* Returns where component c of a node in layer 0 is in x. What is beyond the tile's last nodes
     * is not needed, and reads those. */
    KOKKOS_FORCEINLINE_FUNCTION int64_t node(const Tile &tile, int c, int row, int column) const
    {
        const int i = tile.first[0] - 1 + column, j = tile.first[1] - 1 + row;
        return c * nodes.plane + nodes.at(wrapped(0, i < tile.last[0] ? i : tile.last[0]),
                                          wrapped(1, j < tile.last[1] ? j : tile.last[1]), 0);
    }
    /* Returns where the id of the column's element in layer 0 is. */
    KOKKOS_FORCEINLINE_FUNCTION int element(const Tile &tile, int row, int column) const
    {
        const int i = tile.first[0] - 1 + column, j = tile.first[1] - 1 + row;
        return elements.at(i < tile.last[0] ? i : tile.last[0] - 1,
                           j < tile.last[1] ? j : tile.last[1] - 1, 0);
    }

    /* A value of the rim, which are the first node of every row and the last row of a layer. */
    struct Rim {
        const T *from; /* in layer 0; NULL: no value */
        int to;
        T next;
    };

    KOKKOS_FORCEINLINE_FUNCTION Rim rim_of(const Tile &tile, int number) const
    {
        const int rim = cut.rows + cut.columns + 1, c = number / rim, at = number % rim;
        const int row = at < cut.rows ? at : cut.rows, column = at < cut.rows ? 0 : at - cut.rows;
        return {c < 3 ? x + node(tile, c, row, column) : nullptr, c * LAYER + place(row, column),
                0};
    }

    /* Calls body(row, column, state) for this thread's columns of elements: on a CPU all. A thread
     * of a GPU has one, needed or not. */
    template <class Body>
    KOKKOS_FORCEINLINE_FUNCTION void each(const Member &team, Column *states, Body body) const
    {
        if (on_host) {
            for (int row = 0; row < cut.rows; row++)
                for (int column = 0; column < cut.columns; column++)
                    body(row, column, states + row * cut.columns + column);
        } else {
            const int rank = team.team_rank();
            body(rank / cut.columns, rank % cut.columns, states);
        }
    }

    /* Computes the modes of a square of nodes in scratch memory, whose lower left one is given. */
    KOKKOS_FORCEINLINE_FUNCTION void square(const T *at, T mode[3][4]) const
    {
        GFNN_UNROLL
        for (int c = 0; c < 3; c++) {
            const T *before = at + c * LAYER, *behind = before + cut.columns + 1;
            const T corner[4] = {before[0], before[1], behind[0], behind[1]};
            gfnn_parity_layer(corner, mode[c]);
        }
    }

    /* Goes through the element below the square. corner: the complete sums of the layer below. */
    KOKKOS_FORCEINLINE_FUNCTION void climb(const T *at, const T element[3], Column *state,
                                           T corner[3][4]) const
    {
        T above[3][4], U[3][8], Y[3][8], factors[GFNN_FACTORS];
        square(at, above);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++)
            gfnn_parity_join(state->node[c], above[c], U[c]);
        gfnn_parity_factors(element, factors);
        gfnn_parity_product(factors, U, Y);
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

    /* Hands on what a corner of a column gives to nodes of other columns. */
    KOKKOS_FORCEINLINE_FUNCTION void hand_on(const T corner[3][4], int number, T *to) const
    {
        GFNN_UNROLL
        for (int c = 0; c < 3; c++)
            to[c * 3 * STRIP] = corner[c][number];
    }

    KOKKOS_FORCEINLINE_FUNCTION double climb_all(const Member &team) const
    {
        Column states[STATES];
        Rim rim[RIM];
        const Tile tile = tile_of(team.league_rank());
        const int first = tile.first[2], last = tile.last[2];
        T *at_x = static_cast<T *>(team.team_scratch(0).get_shmem(layers()));
        T *at_y = static_cast<T *>(team.team_scratch(0).get_shmem(strips()));
        double sum = 0;
        each(team, states, [&](int row, int column, Column *state) {
            state->from = x + node(tile, 0, row, column + 1);
            state->gathers = row > 0 && column < cut.columns - 1 &&
                             tile.first[0] + column < tile.last[0] &&
                             tile.first[1] - 1 + row < tile.last[1];
            for (int q = 0; q < 12; q++)
                state->sum[q / 4][q % 4] = 0;
        });
        for (int u = 0; u < RIM; u++)
            rim[u] = rim_of(tile, team.team_rank() + u * THREADS);
        /* Loads layer k; stores it. */
        const auto fetch = [&](int k) {
            const int64_t at = static_cast<int64_t>(wrapped(2, k < last ? k : last)) * nodes.slab;
            each(team, states, [&](int, int, Column *state) {
                GFNN_UNROLL
                for (int c = 0; c < 3; c++)
                    state->next[c] = state->from[at + c * nodes.plane];
            });
            for (int u = 0; u < RIM; u++)
                if (rim[u].from)
                    rim[u].next = rim[u].from[at];
        };
        const auto store = [&](int k) {
            each(team, states, [&](int row, int column, Column *state) {
                T *to = at_x + layer(k) + place(row, column + 1);
                GFNN_UNROLL
                for (int c = 0; c < 3; c++)
                    to[c * LAYER] = state->next[c];
            });
            for (int u = 0; u < RIM; u++)
                if (rim[u].from)
                    at_x[layer(k) + rim[u].to] = rim[u].next;
        };
        /* Loads what its end needs; what is late has to be on its way without a branch. */
        const auto load = [&](int k, int row, int column, Column *state) {
            if (!End::early || (state->gathers && k >= first))
                end.load(state->from - x + static_cast<int64_t>(k) * nodes.slab, nodes.plane,
                         bare.at(tile.first[0] + column, tile.first[1] - 1 + row, k), bare.plane,
                         &state->loads);
        };
        fetch(first - 1);
        store(first - 1);
        fetch(first);
        store(first);
        fetch(first + 1);
        team.team_barrier();
        each(team, states, [&](int row, int column, Column *state) {
            square(at_x + layer(first - 1) + place(row, column), state->node);
            state->id = id[element(tile, row, column) + (first - 1) * elements.slab];
        });
        team.team_barrier();
        for (int k = first - 1; k < last; k++) {
            store(k + 2);
            fetch(k + 3);
            each(team, states, [&](int row, int column, Column *state) {
                T corner[3][4];
                if (End::early)
                    load(k, row, column, state);
                const material_t<T> here = material[state->id];
                const T factors[3] = {here.w * mass, here.w * bulk, here.square * shear};
                state->id = id[element(tile, row, column) + (k + 1) * elements.slab];
                climb(at_x + layer(k + 1) + place(row, column), factors, state, corner);
                T *to = at_y + strip(k, row, column);
                if (row > 0 && column > 0)
                    hand_on(corner, 0, to - cut.columns);
                if (row < cut.rows - 1 && column > 0)
                    hand_on(corner, 2, to + STRIP - 1);
                if (row < cut.rows - 1 && column < cut.columns - 1)
                    hand_on(corner, 3, to + 2 * STRIP);
                GFNN_UNROLL
                for (int c = 0; c < 3; c++)
                    state->corner[c] = corner[c][1];
                if (!End::early)
                    load(k, row, column, state);
            });
            team.team_barrier();
            each(team, states, [&](int row, int column, Column *state) {
                if (!state->gathers || k < first)
                    return;
                const T *at = at_y + strip(k, row - 1, column);
                T value[3];
                GFNN_UNROLL
                for (int c = 0; c < 3; c++) {
                    const T right = at[3 * c * STRIP], both = at[(3 * c + 1) * STRIP];
                    const T before = at[(3 * c + 2) * STRIP];
                    value[c] = (state->corner[c] + right) + (before + both);
                }
                sum += end.finish(state->from - x + static_cast<int64_t>(k) * nodes.slab,
                                  nodes.plane, y, value, state->loads);
            });
        }
        return sum;
    }
};

} // namespace gfnn_kokkos

#endif
