/*
 * test_rows.c - order and parts of the rows, checked against what defines them.
 *
 * One process makes the parts of several ranks, since mcpi_part_new sends nothing.
 */
#include "config.h"
#include "graph_test.h"

/* --- orders --- */

/* An order of a whole graph. */
typedef struct {
    mcpi_order_t *o;
    uint16_t *colour; /* [rows] */
    int64_t *vertex;  /* [rows] vertex of each row */
    int64_t rows;
} order_t;

static order_t order_new(const mcpi_graph_t *graph, const uint16_t *colour, int colours,
                         const double *x)
{
    mcpi_piece_t *piece = mcpi_piece_new(graph->rows, graph->rows);
    order_t w = {.rows = graph->rows};
    w.colour = rt_clone(colour, (size_t)w.rows, sizeof *colour, RT_HOST);
    w.o = mcpi_order_new(piece, w.colour, colours, x);
    w.vertex = RT_NEW(int64_t, (size_t)w.rows, RT_HOST);
    memset(w.vertex, 0xff, (size_t)w.rows * sizeof *w.vertex);
    for (int64_t v = 0; v < w.rows; v++)
        if (w.o->row[v] >= 0 && w.o->row[v] < w.rows)
            w.vertex[w.o->row[v]] = v;
    mcpi_piece_destroy(piece);
    return w;
}

static void order_destroy(order_t *w)
{
    mcpi_order_destroy(w->o);
    RT_FREE(w->colour, RT_HOST);
    RT_FREE(w->vertex, RT_HOST);
}

/* Makes an order. It must be bijective, with colours in their ranges. */
static order_t make_order(const mcpi_graph_t *graph, const uint16_t *colour, int colours,
                          const double *x)
{
    order_t w = order_new(graph, colour, colours, x);
    int64_t bad = 0;
    CHECK(w.o->colours == colours && w.o->start[0] == 0 && w.o->start[colours] == graph->rows);
    for (int64_t i = 0; i < graph->rows; i++)
        bad += w.vertex[i] < 0;
    CHECK(bad == 0);
    for (int c = 0; c < colours && bad == 0; c++)
        for (int64_t i = w.o->start[c]; i < w.o->start[c + 1]; i++)
            bad += colour[w.vertex[i]] != c;
    CHECK(bad == 0);
    return w;
}

/* Counts steps inside a colour at which the vertex number falls. */
static int64_t falls(const order_t *w)
{
    int64_t count = 0;
    for (int c = 0; c < w->o->colours; c++)
        for (int64_t i = w->o->start[c] + 1; i < w->o->start[c + 1]; i++)
            count += w->vertex[i] < w->vertex[i - 1];
    return count;
}

static void check_orders(void)
{
    enum { N = 16, ROWS = N * N * N };
    static const double one_place[3 * ROWS] = {0};
    mcpi_graph_t *graph = lattice(N, 60);
    double *x = lattice_points(N);
    uint16_t colour[ROWS], zero[ROWS] = {0};
    const int colours = colour_whole(graph, NULL, colour);
    order_t natural = make_order(graph, colour, colours, one_place);
    CHECK(falls(&natural) == 0);
    order_destroy(&natural);

    /* with one colour, each step along the curve of a 16^3 lattice goes to a neighbour */
    order_t hilbert = make_order(graph, zero, 1, x);
    int64_t steps = 0;
    for (int64_t i = 1; i < ROWS; i++)
        for (int d = 0; d < 3; d++)
            steps += llabs((int64_t)x[3 * hilbert.vertex[i] + d] -
                           (int64_t)x[3 * hilbert.vertex[i - 1] + d]);
    CHECK(steps == ROWS - 1);
    order_destroy(&hilbert);
    hilbert = make_order(graph, colour, colours, x);
    order_destroy(&hilbert);
    mcpi_order_destroy(NULL);
    RT_FREE(x, RT_HOST);
    mcpi_graph_destroy(graph);
}

/* --- parts --- */

/* Counts rows and ghosts that are not in their colour's range, ascending in each group, and owned
 * by the right rank. */
static int64_t bad_rows(const mcpi_part_t *p, const order_t *w, const int32_t *owner, int rank)
{
    int64_t bad = p->colour_start[0] != 0 || p->colour_start[p->colours] != p->rows;
    bad += p->ghost_start[0] != p->rows || p->ghost_start[p->colours] != p->rows + p->ghosts;
    for (int c = 0; c < p->colours; c++) {
        bad += p->boundary_end[c] < p->colour_start[c];
        bad += p->boundary_end[c] > p->colour_start[c + 1];
        for (int64_t i = p->colour_start[c]; i < p->colour_start[c + 1]; i++) {
            bad += p->global[i] < w->o->start[c] || p->global[i] >= w->o->start[c + 1];
            bad += owner[p->vertex[i]] != rank || w->vertex[p->global[i]] != p->vertex[i];
            if (i > p->colour_start[c] && i != p->boundary_end[c])
                bad += p->global[i] <= p->global[i - 1];
        }
        for (int64_t i = p->ghost_start[c]; i < p->ghost_start[c + 1]; i++) {
            bad += p->global[i] < w->o->start[c] || p->global[i] >= w->o->start[c + 1];
            bad += owner[p->vertex[i]] == rank || w->vertex[p->global[i]] != p->vertex[i];
            bad += i > p->rows && p->global[i] <= p->global[i - 1];
        }
    }
    return bad;
}

/* Counts columns that are not the vertex's neighbours, once each, ascending by colour and vertex, with
 * the right place; and ghosts that are no row's column. */
static int64_t bad_columns(const mcpi_graph_t *graph, const mcpi_part_t *p, const order_t *w)
{
    int64_t bad = p->start[0] != 0;
    uint8_t *used = RT_NEW(uint8_t, (size_t)(p->rows + p->ghosts), RT_HOST);
    if (used)
        memset(used, 0, (size_t)(p->rows + p->ghosts));
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t v = p->vertex[i], degree = graph->start[v + 1] - graph->start[v];
        bad += p->start[i + 1] - p->start[i] != degree;
        for (int64_t k = p->start[i]; k < p->start[i] + degree; k++) {
            const int32_t column = p->column[k], place = p->place[k];
            if (column < 0 || column >= p->rows + p->ghosts || place < 0 || place >= degree) {
                bad++;
                continue;
            }
            used[column] = 1;
            bad += graph->neighbour[graph->start[v] + place] != p->vertex[column];
            if (k > p->start[i]) {
                const int64_t now = p->vertex[column], last = p->vertex[p->column[k - 1]];
                const int above = w->colour[now] - w->colour[last];
                bad += above < 0 || (above == 0 && now <= last);
            }
        }
    }
    for (int64_t i = p->rows; i < p->rows + p->ghosts; i++)
        bad += !used[i];
    RT_FREE(used, RT_HOST);
    return bad;
}

/* Counts rows that are not just one rank's, or that are boundary rows there without being another
 * rank's ghost, or the reverse. */
static int64_t bad_between(mcpi_part_t *const *part, int ranks, int64_t rows)
{
    int64_t bad = 0;
    uint8_t *owned = RT_NEW(uint8_t, (size_t)rows, RT_HOST);
    uint8_t *wanted = RT_NEW(uint8_t, (size_t)rows, RT_HOST);
    memset(owned, 0, (size_t)rows);
    memset(wanted, 0, (size_t)rows);
    for (int r = 0; r < ranks; r++) {
        bad += part[r]->global_rows != rows;
        for (int64_t i = 0; i < part[r]->rows; i++)
            owned[part[r]->global[i]]++;
        for (int64_t i = part[r]->rows; i < part[r]->rows + part[r]->ghosts; i++)
            wanted[part[r]->global[i]] = 1;
    }
    for (int64_t i = 0; i < rows; i++)
        bad += owned[i] != 1;
    for (int r = 0; r < ranks; r++)
        for (int c = 0; c < part[r]->colours; c++)
            for (int64_t i = part[r]->colour_start[c]; i < part[r]->colour_start[c + 1]; i++)
                bad += wanted[part[r]->global[i]] != (i < part[r]->boundary_end[c]);
    RT_FREE(owned, RT_HOST);
    RT_FREE(wanted, RT_HOST);
    return bad;
}

/* Checks all ranks' parts of the graph; mixes: with rows in an order that has nothing to do with
 * their numbers; given NULL: owners by `divide`. Returns the number of all
 * ghosts. */
static int64_t check_parts(const mcpi_graph_t *graph, bool mixes, int ranks, const int32_t *given)
{
    enum { MOST = 8 };
    uint16_t *colour = RT_NEW(uint16_t, (size_t)graph->rows, RT_HOST);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    const int colours = colour_whole(graph, NULL, colour);
    double *x = RT_NEW(double, 3 * (size_t)graph->rows, RT_HOST);
    for (int64_t k = 0; k < 3 * graph->rows; k++)
        x[k] = mixes ? rt_random((uint64_t)k, 4) : 0;
    order_t w = order_new(graph, colour, colours, x);
    RT_FREE(x, RT_HOST);
    mcpi_part_t *part[MOST];
    int64_t ghosts = 0;
    if (given)
        memcpy(owner, given, (size_t)graph->rows * sizeof *owner);
    else
        divide(graph, ranks, owner);
    for (int rank = 0; rank < ranks; rank++) {
        part[rank] = part_of(graph, w.o, owner, rank);
        CHECK(bad_rows(part[rank], &w, owner, rank) == 0);
        CHECK(bad_columns(graph, part[rank], &w) == 0);
        ghosts += part[rank]->ghosts;
    }
    CHECK(bad_between(part, ranks, graph->rows) == 0);
    for (int rank = 0; rank < ranks; rank++)
        mcpi_part_destroy(part[rank]);
    order_destroy(&w);
    RT_FREE(colour, RT_HOST);
    RT_FREE(owner, RT_HOST);
    return ghosts;
}

static void check_all_parts(mcpi_graph_t *graph)
{
    CHECK(check_parts(graph, false, 1, NULL) == 0);
    CHECK(check_parts(graph, false, 2, NULL) > 0);
    CHECK(check_parts(graph, true, 4, NULL) > 0);
    mcpi_graph_destroy(graph);
}

static void check_special_parts(void)
{
    /* a rank without rows, and ranks that need nothing of each other: no colour has a boundary */
    mcpi_graph_t *graph = stars(4, 5);
    int32_t owner[24];
    for (int i = 0; i < 24; i++)
        owner[i] = i < 4 ? i % 2 : (i - 4) / 5 % 2;
    CHECK(check_parts(graph, true, 3, owner) == 0);
    /* hubs on the other rank: all leaves and all hubs are boundary rows */
    for (int i = 0; i < 24; i++)
        owner[i] = i < 4;
    CHECK(check_parts(graph, false, 2, owner) == 24);
    mcpi_graph_destroy(graph);
    /* a path in two: each rank has one boundary row, so one colour has none */
    graph = path(10);
    for (int i = 0; i < 10; i++)
        owner[mixed(i, 10)] = i / 5;
    CHECK(check_parts(graph, false, 2, owner) == 2);
    mcpi_graph_destroy(graph);
    mcpi_part_destroy(NULL);
}

int main(void)
{
    check_orders();
    check_all_parts(lattice(9, 60));
    check_all_parts(random_graph(500, 6, 9));
    check_all_parts(path(101));
    check_all_parts(stars(1, 2500));
    check_special_parts();
    CHECK(rt_mem_used(RT_HOST) == 0);
    return check_done();
}
