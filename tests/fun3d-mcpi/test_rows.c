/*
 * test_rows.c - order and parts of the rows, checked against what defines them.
 *
 * One process makes the parts of several ranks, since mcpi_part_new takes a rank and sends nothing.
 */
#include "config.h"
#include "graph_test.h"
#include "base/sort.h"

/* --- orders --- */

static void order_destroy_twice(mcpi_order_t *a, mcpi_order_t *b)
{
    mcpi_order_destroy(a);
    mcpi_order_destroy(b);
}

static bool same_orders(const mcpi_order_t *a, const mcpi_order_t *b)
{
    return same(a->vertex, b->vertex, a->rows, sizeof *a->vertex) &&
           same(a->row, b->row, a->rows, sizeof *a->row) &&
           same(a->colour_start, b->colour_start, a->colours + 1, sizeof *a->colour_start);
}

/* Makes an order. It must be bijective, with colours in their ranges, and the same on 1, 2, 3
 * threads. */
static mcpi_order_t *make_order(const mcpi_graph_t *graph, const uint8_t *colour, int colours,
                                mcpi_row_order_t order, const double *x, uint64_t seed)
{
    rt_threads_set(1);
    mcpi_order_t *o = mcpi_order_new(graph, colour, colours, order, x, seed);
    int64_t bad = 0;
    CHECK(o->rows == graph->rows && o->colours == colours);
    CHECK(o->colour_start[0] == 0 && o->colour_start[colours] == graph->rows);
    for (int64_t v = 0; v < graph->rows; v++)
        bad += o->row[v] < 0 || o->row[v] >= graph->rows || o->vertex[o->row[v]] != v;
    CHECK(bad == 0);
    for (int c = 0; c < colours; c++)
        for (int64_t i = o->colour_start[c]; i < o->colour_start[c + 1]; i++)
            bad += colour[o->vertex[i]] != c;
    CHECK(bad == 0);
    for (int threads = 2; threads <= 3; threads++) {
        rt_threads_set(threads);
        mcpi_order_t *again = mcpi_order_new(graph, colour, colours, order, x, seed);
        CHECK(same_orders(o, again));
        mcpi_order_destroy(again);
    }
    return o;
}

/* Counts steps inside a colour at which the vertex number falls. */
static int64_t falls(const mcpi_order_t *o)
{
    int64_t count = 0;
    for (int c = 0; c < o->colours; c++)
        for (int64_t i = o->colour_start[c] + 1; i < o->colour_start[c + 1]; i++)
            count += o->vertex[i] < o->vertex[i - 1];
    return count;
}

/* Returns the largest distance between neighbours' rows. */
static int64_t bandwidth(const mcpi_graph_t *graph, const mcpi_order_t *o)
{
    int64_t widest = 0;
    for (int64_t v = 0; v < graph->rows; v++)
        for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++) {
            int64_t distance = llabs((int64_t)o->row[v] - o->row[graph->neighbour[k]]);
            widest = distance > widest ? distance : widest;
        }
    return widest;
}

/* Gives all rows one colour, so that the whole order is visible. */
static void check_rcm(mcpi_graph_t *graph, int64_t widest)
{
    uint8_t *colour = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    memset(colour, 0, (size_t)graph->rows);
    mcpi_order_t *o = make_order(graph, colour, 1, MCPI_RCM, NULL, 0);
    CHECK(bandwidth(graph, o) <= widest);
    mcpi_order_destroy(o);
    RT_FREE(colour, RT_HOST);
    mcpi_graph_destroy(graph);
}

/* Worked out by hand: from an end (4), breadth first, rows with fewer neighbours first; then
 * reversed. */
static void check_small_rcm(void)
{
    const int32_t pair[][2] = {{2, 1}, {1, 0}, {1, 3}, {0, 4}, {0, 5}, {3, 6}};
    const int32_t want[] = {6, 3, 2, 1, 5, 0, 4};
    mcpi_graph_t *graph = graph_of_pairs(7, pair, 6);
    mcpi_order_t *o = make_order(graph, (uint8_t[7]){0}, 1, MCPI_RCM, NULL, 0);
    CHECK(same(o->vertex, want, 7, sizeof *want));
    mcpi_order_destroy(o);
    mcpi_graph_destroy(graph);
}

static void check_orders(void)
{
    enum { N = 16, ROWS = N * N * N };
    mcpi_graph_t *graph = lattice(N, 60);
    double *x = lattice_points(N);
    uint8_t colour[ROWS], zero[ROWS] = {0};
    const int colours = mcpi_colour(graph, colour);
    mcpi_order_t *natural = make_order(graph, colour, colours, MCPI_NATURAL, x, 1);
    mcpi_order_t *rcm = make_order(graph, colour, colours, MCPI_RCM, NULL, 1);
    CHECK(falls(natural) == 0);
    CHECK(!same_orders(natural, rcm));
    order_destroy_twice(natural, rcm);

    mcpi_order_t *one = make_order(graph, colour, colours, MCPI_RANDOM, NULL, 1);
    mcpi_order_t *two = make_order(graph, colour, colours, MCPI_RANDOM, NULL, 2);
    CHECK(falls(one) > ROWS / 3 && falls(two) > ROWS / 3);
    CHECK(!same_orders(one, two));
    order_destroy_twice(one, two);

    /* with one colour, each step along the curve of a 16^3 lattice goes to a neighbour */
    mcpi_order_t *hilbert = make_order(graph, zero, 1, MCPI_HILBERT, x, 1);
    int64_t steps = 0;
    for (int64_t i = 1; i < ROWS; i++)
        for (int d = 0; d < 3; d++)
            steps += llabs((int64_t)x[3 * hilbert->vertex[i] + d] -
                           (int64_t)x[3 * hilbert->vertex[i - 1] + d]);
    CHECK(steps == ROWS - 1);
    mcpi_order_destroy(hilbert);
    hilbert = make_order(graph, colour, colours, MCPI_HILBERT, x, 1);
    mcpi_order_destroy(hilbert);
    mcpi_order_destroy(NULL);
    RT_FREE(x, RT_HOST);
    mcpi_graph_destroy(graph);

    check_small_rcm();
    check_rcm(path(1000), 1);
    check_rcm(stars(5, 1), 1);
    check_rcm(stars(2, 100), 100); /* each hub at an end but one of its star */
    check_rcm(lattice(10, 0), 80); /* levels are planes x + y + z = const, of 75 rows at most */
}

/* --- parts --- */

static void check_partition(void)
{
    enum { N = 8, ROWS = N * N * N };
    mcpi_graph_t *graph = lattice(N, 60);
    double *x = lattice_points(N);
    int32_t owner[ROWS], again[ROWS];
    int64_t bad = 0, cut = 0, count[7] = {0};
    for (int threads = 1; threads <= 3; threads++) {
        rt_threads_set(threads);
        mcpi_partition(graph, x, 8, threads == 1 ? owner : again);
        CHECK(threads == 1 || same(owner, again, ROWS, sizeof *owner));
    }
    /* the eighths of the curve are the octants */
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < ROWS; j++) {
            bool octant = true;
            for (int d = 0; d < 3; d++)
                octant = octant && (x[3 * i + d] - x[d] < 4) == (x[3 * j + d] - x[d] < 4);
            bad += octant != (owner[i] == owner[j]);
        }
    CHECK(bad == 0);
    mcpi_partition(graph, x, 7, owner);
    for (int64_t i = 0; i < ROWS; i++)
        count[owner[i]]++;
    for (int p = 0; p < 7; p++)
        CHECK(count[p] == ROWS / 7 + (p < ROWS % 7));
    RT_FREE(x, RT_HOST);
    mcpi_graph_destroy(graph);

    mcpi_graph_t *line = path(ROWS);
    mcpi_partition(line, NULL, 4, owner);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = line->start[i]; k < line->start[i + 1]; k++)
            cut += owner[i] < owner[line->neighbour[k]];
    CHECK(cut == 3);
    mcpi_graph_destroy(line);

    mcpi_graph_t *few = path(3);
    mcpi_partition(few, NULL, 5, owner);
    CHECK(owner[0] + owner[1] + owner[2] == 3 && owner[0] != owner[1] && owner[1] != owner[2]);
    mcpi_graph_destroy(few);
}

/* Counts rows and ghosts that are not in their colour's range, ascending in each group, and owned
 * by the right rank. */
static int64_t bad_rows(const mcpi_part_t *p, const mcpi_order_t *o, const int32_t *owner, int rank)
{
    int64_t bad = p->colour_start[0] != 0 || p->colour_start[p->colours] != p->rows;
    bad += p->ghost_start[0] != p->rows || p->ghost_start[p->colours] != p->rows + p->ghosts;
    for (int c = 0; c < p->colours; c++) {
        bad += p->boundary_end[c] < p->colour_start[c];
        bad += p->boundary_end[c] > p->colour_start[c + 1];
        for (int64_t i = p->colour_start[c]; i < p->colour_start[c + 1]; i++) {
            bad += p->global[i] < o->colour_start[c] || p->global[i] >= o->colour_start[c + 1];
            bad += owner[o->vertex[p->global[i]]] != rank;
            if (i > p->colour_start[c] && i != p->boundary_end[c])
                bad += p->global[i] <= p->global[i - 1];
        }
        for (int64_t i = p->ghost_start[c]; i < p->ghost_start[c + 1]; i++) {
            bad += p->global[i] < o->colour_start[c] || p->global[i] >= o->colour_start[c + 1];
            bad += owner[o->vertex[p->global[i]]] == rank;
            bad += i > p->rows && p->global[i] <= p->global[i - 1];
        }
    }
    return bad;
}

/* Counts columns that are not the vertex's neighbours, once each, ascending in row number, with the
 * right place; and ghosts that are no row's column. */
static int64_t bad_columns(const mcpi_graph_t *graph, const mcpi_part_t *p, const mcpi_order_t *o)
{
    int64_t bad = p->start[0] != 0;
    uint8_t *used = RT_NEW(uint8_t, (size_t)(p->rows + p->ghosts), RT_HOST);
    if (used)
        memset(used, 0, (size_t)(p->rows + p->ghosts));
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t v = o->vertex[p->global[i]], degree = graph->start[v + 1] - graph->start[v];
        bad += p->start[i + 1] - p->start[i] != degree;
        for (int64_t k = p->start[i]; k < p->start[i] + degree; k++) {
            const int32_t column = p->column[k], place = p->place[k];
            if (column < 0 || column >= p->rows + p->ghosts || place < 0 || place >= degree) {
                bad++;
                continue;
            }
            used[column] = 1;
            bad += graph->neighbour[graph->start[v] + place] != o->vertex[p->global[column]];
            bad += k > p->start[i] && p->global[column] <= p->global[p->column[k - 1]];
        }
    }
    for (int64_t i = p->rows; i < p->rows + p->ghosts; i++)
        bad += !used[i];
    RT_FREE(used, RT_HOST);
    return bad;
}

static bool same_parts(const mcpi_part_t *a, const mcpi_part_t *b)
{
    const int c = a->colours;
    return a->rows == b->rows && a->ghosts == b->ghosts && c == b->colours &&
           a->global_rows == b->global_rows &&
           same(a->colour_start, b->colour_start, c + 1, sizeof *a->colour_start) &&
           same(a->boundary_end, b->boundary_end, c, sizeof *a->boundary_end) &&
           same(a->ghost_start, b->ghost_start, c + 1, sizeof *a->ghost_start) &&
           same(a->start, b->start, a->rows + 1, sizeof *a->start) &&
           same(a->column, b->column, a->start[a->rows], sizeof *a->column) &&
           same(a->place, b->place, a->start[a->rows], sizeof *a->place) &&
           same(a->global, b->global, a->rows + a->ghosts, sizeof *a->global);
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

/* Checks all ranks' parts of the graph; given NULL: owners by mcpi_partition. Returns the number of
 * all ghosts. */
static int64_t check_parts(const mcpi_graph_t *graph, mcpi_row_order_t order, int ranks,
                           const int32_t *given)
{
    enum { MOST = 8 };
    uint8_t *colour = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    const int colours = mcpi_colour(graph, colour);
    mcpi_order_t *o = mcpi_order_new(graph, colour, colours, order, NULL, 4);
    mcpi_part_t *part[MOST];
    int64_t ghosts = 0;
    if (given)
        memcpy(owner, given, (size_t)graph->rows * sizeof *owner);
    else
        mcpi_partition(graph, NULL, ranks, owner);
    for (int rank = 0; rank < ranks; rank++) {
        rt_threads_set(1);
        part[rank] = mcpi_part_new(graph, o, owner, rank);
        CHECK(bad_rows(part[rank], o, owner, rank) == 0);
        CHECK(bad_columns(graph, part[rank], o) == 0);
        for (int threads = 2; threads <= 3; threads++) {
            rt_threads_set(threads);
            mcpi_part_t *again = mcpi_part_new(graph, o, owner, rank);
            CHECK(same_parts(part[rank], again));
            mcpi_part_destroy(again);
        }
        ghosts += part[rank]->ghosts;
    }
    CHECK(bad_between(part, ranks, graph->rows) == 0);
    for (int rank = 0; rank < ranks; rank++)
        mcpi_part_destroy(part[rank]);
    mcpi_order_destroy(o);
    RT_FREE(colour, RT_HOST);
    RT_FREE(owner, RT_HOST);
    return ghosts;
}

static void check_all_parts(mcpi_graph_t *graph)
{
    CHECK(check_parts(graph, MCPI_NATURAL, 1, NULL) == 0);
    CHECK(check_parts(graph, MCPI_RCM, 2, NULL) > 0);
    CHECK(check_parts(graph, MCPI_RANDOM, 4, NULL) > 0);
    mcpi_graph_destroy(graph);
}

static void check_special_parts(void)
{
    /* a rank without rows, and ranks that need nothing of each other: no colour has a boundary */
    mcpi_graph_t *graph = stars(4, 5);
    int32_t owner[24];
    for (int i = 0; i < 24; i++)
        owner[i] = i < 4 ? i % 2 : (i - 4) / 5 % 2;
    CHECK(check_parts(graph, MCPI_RANDOM, 3, owner) == 0);
    /* hubs on the other rank: all leaves and all hubs are boundary rows */
    for (int i = 0; i < 24; i++)
        owner[i] = i < 4;
    CHECK(check_parts(graph, MCPI_NATURAL, 2, owner) == 24);
    mcpi_graph_destroy(graph);
    /* a path in two: each rank has one boundary row, so one colour has none */
    graph = path(10);
    CHECK(check_parts(graph, MCPI_NATURAL, 2, NULL) == 2);
    mcpi_graph_destroy(graph);
    mcpi_part_destroy(NULL);
}

/* --- memory of rt_sort --- */

static void check_sort_memory(void)
{
    enum { N = 100000 };
    uint64_t *key = RT_NEW(uint64_t, N, RT_HOST);
    uint32_t *value = RT_NEW(uint32_t, N, RT_HOST);
    for (uint64_t i = 0; i < N; i++) {
        key[i] = rt_hash(i, 1);
        value[i] = (uint32_t)i;
    }
    const size_t before = rt_mem_used(RT_HOST);
    rt_mem_reset_high_water();
    rt_sort(key, value, N);
    const double took = (double)(rt_mem_high_water(RT_HOST) - before);
    CHECK(took <= 1.01 * rt_sort_memory(N) && took >= 0.9 * rt_sort_memory(N));
    RT_FREE(key, RT_HOST);
    RT_FREE(value, RT_HOST);
}

int main(void)
{
    check_orders();
    check_partition();
    check_all_parts(lattice(9, 60));
    check_all_parts(random_graph(500, 6, 9));
    check_all_parts(path(101));
    check_all_parts(stars(1, 2500));
    check_special_parts();
    check_sort_memory();
    CHECK(rt_mem_used(RT_HOST) == 0);
    return check_done();
}
