/*
 * test_rows.c - graph, colours, order and parts of the rows.
 *
 * Each is checked against what defines it, on graphs small enough to look at all pairs, and on some
 * with a row of thousands of neighbours. The parts of several ranks are made by one process, since
 * mcpi_part_new takes a rank and sends nothing.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "base/threads.h"
#include "base/hilbert.h"
#include "base/sort.h"
#include "apps/fun3d-mcpi/mcpi.h"
#include "../common/check.h"

static bool same(const void *a, const void *b, int64_t n, size_t size)
{
    return n == 0 || memcmp(a, b, (size_t)n * size) == 0;
}

/* --- graphs to try --- */

/* Of pairs (a, b), a != b, in any order, also twice. Sorted by qsort, not by what is tested. */
static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static mcpi_graph_t *graph_of_pairs(int64_t rows, const int32_t (*pair)[2], int64_t pairs)
{
    mcpi_graph_t *graph = RT_NEW(mcpi_graph_t, 1, RT_HOST);
    uint64_t *key = RT_NEW(uint64_t, 2 * (size_t)pairs, RT_HOST);
    int64_t distinct = 0;
    for (int64_t i = 0; i < 2 * pairs; i++)
        key[i] = (uint64_t)pair[i / 2][i % 2] << 32 | (uint64_t)pair[i / 2][1 - i % 2];
    qsort(key, 2 * (size_t)pairs, sizeof *key, compare);
    for (int64_t i = 0; i < 2 * pairs; i++)
        if (i == 0 || key[i] != key[i - 1])
            key[distinct++] = key[i];
    graph->rows = rows;
    graph->start = RT_NEW(int64_t, (size_t)rows + 1, RT_HOST);
    graph->neighbour = RT_NEW(int32_t, (size_t)distinct, RT_HOST);
    memset(graph->start, 0, ((size_t)rows + 1) * sizeof *graph->start);
    for (int64_t i = 0; i < distinct; i++) {
        graph->start[(key[i] >> 32) + 1]++;
        graph->neighbour[i] = (int32_t)(key[i] & UINT32_MAX);
    }
    for (int64_t i = 0; i < rows; i++)
        graph->start[i + 1] += graph->start[i];
    RT_FREE(key, RT_HOST);
    return graph;
}

typedef struct {
    int32_t (*pair)[2];
    int64_t count;
} pairs_t;

static pairs_t pairs_new(int64_t most)
{
    return (pairs_t){rt_alloc((size_t)most, sizeof(int32_t[2]), RT_HOST), 0};
}

static void add(pairs_t *p, int64_t a, int64_t b)
{
    p->pair[p->count][0] = (int32_t)a;
    p->pair[p->count++][1] = (int32_t)b;
}

static mcpi_graph_t *graph_of(int64_t rows, pairs_t *p)
{
    mcpi_graph_t *graph = graph_of_pairs(rows, (const int32_t(*)[2])p->pair, p->count);
    RT_FREE(p->pair, RT_HOST);
    return graph;
}

/* A bijection: rows must not be a multiple of that prime. 0 comes from somewhere in the middle. */
static int64_t mixed(int64_t i, int64_t rows)
{
    return (i + rows / 3) * 7919 % rows;
}

static mcpi_graph_t *path(int64_t rows)
{
    pairs_t p = pairs_new(rows);
    for (int64_t i = 0; i + 1 < rows; i++)
        add(&p, mixed(i, rows), mixed(i + 1, rows));
    return graph_of(rows, &p);
}

/* `stars` hubs, numbered first, each with so many leaves. */
static mcpi_graph_t *stars(int64_t hubs, int64_t leaves)
{
    pairs_t p = pairs_new(hubs * leaves);
    for (int64_t i = 0; i < hubs * leaves; i++)
        add(&p, i / leaves, hubs + i);
    return graph_of(hubs * (leaves + 1), &p);
}

/* Of two colours, greedy gives leaves colour 1, but 0 to those of the star whose hub comes last. To
 * swap in the large star makes it worse, in the five small ones equal. */
static mcpi_graph_t *uneven_stars(void)
{
    pairs_t p = pairs_new(85);
    for (int i = 0; i < 40; i++)
        add(&p, 0, 1 + i);
    for (int i = 0; i < 15; i++)
        add(&p, 41 + i / 3, 46 + i);
    for (int i = 0; i < 30; i++)
        add(&p, 91, 61 + i);
    return graph_of(92, &p);
}

static mcpi_graph_t *complete(int64_t rows)
{
    pairs_t p = pairs_new(rows * rows);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i; j++)
            add(&p, i, j);
    return graph_of(rows, &p);
}

static mcpi_graph_t *random_graph(int64_t rows, int64_t degree, uint64_t seed)
{
    pairs_t p = pairs_new(rows * (degree / 2 + 1));
    for (int64_t i = 0; i < rows; i++) {
        add(&p, i, (i + 1) % rows);
        for (int64_t k = 0; k < degree / 2; k++) {
            int64_t other =
                (int64_t)(rt_hash((uint64_t)(i * degree + k), seed) % (uint64_t)(rows - 1));
            add(&p, i, other + (other >= i));
        }
    }
    return graph_of(rows, &p);
}

/* 27-point lattice of n^3 of which this share of the diagonals (per cent) is left. */
static mcpi_graph_t *lattice(int n, unsigned percent)
{
    const int64_t rows = (int64_t)n * n * n;
    pairs_t p = pairs_new(13 * rows);
    for (int64_t v = 0; v < rows; v++)
        for (int d = 14; d < 27; d++) {
            int at[3] = {(int)(v / n / n), (int)(v / n % n), (int)(v % n)};
            int step[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
            bool inside = true;
            for (int a = 0; a < 3; a++)
                inside = inside && at[a] + step[a] >= 0 && at[a] + step[a] < n;
            bool axis = abs(step[0]) + abs(step[1]) + abs(step[2]) == 1;
            if (inside && (axis || rt_hash((uint64_t)(27 * v + d), 3) % 100 < percent))
                add(&p, v, v + ((int64_t)step[0] * n + step[1]) * n + step[2]);
        }
    return graph_of(rows, &p);
}

static double *lattice_points(int n)
{
    double *x = RT_NEW(double, 3 * (size_t)n * (size_t)n * (size_t)n, RT_HOST);
    for (int i = 0; i < n * n * n; i++) {
        x[3 * i] = 7 + i / n / n;
        x[3 * i + 1] = -3 + i / n % n;
        x[3 * i + 2] = i % n;
    }
    return x;
}

/* --- graphs of meshes --- */

static rt_mesh_t *mesh_new(int64_t vertices, const int64_t *elements)
{
    rt_mesh_t *mesh = RT_NEW(rt_mesh_t, 1, RT_HOST);
    memset(mesh, 0, sizeof *mesh);
    mesh->vertices = vertices;
    for (int t = 0; t < RT_ELEMENTS; t++)
        mesh->element[t] =
            RT_NEW(int32_t, (size_t)(elements[t] * rt_element_size((rt_element_t)t)), RT_HOST);
    return mesh;
}

/* Not rt_mesh_destroy: there are only elements here. */
static void mesh_destroy(rt_mesh_t *mesh)
{
    for (int t = 0; t < RT_ELEMENTS; t++)
        RT_FREE(mesh->element[t], RT_HOST);
    RT_FREE(mesh, RT_HOST);
}

static void put(rt_mesh_t *mesh, rt_element_t type, const int32_t *vertex)
{
    const int size = rt_element_size(type);
    memcpy(mesh->element[type] + size * mesh->elements[type]++, vertex,
           (size_t)size * sizeof *vertex);
}

/* n^3 cells, each two prisms (lower half) or six tetrahedra around a diagonal, or a pyramid or
 * hexahedron now and then; what is made need not fit together, and vertices are numbered wildly. */
static rt_mesh_t *make_cells(int n)
{
    static const int step[6][2] = {{1, 2}, {2, 1}, {1, 4}, {4, 1}, {2, 4}, {4, 2}};
    const int64_t cells = (int64_t)n * n * n, edge = n + 1, vertices = edge * edge * edge;
    rt_mesh_t *mesh = mesh_new(vertices, (int64_t[]){6 * cells, cells, 2 * cells, cells});
    for (int64_t c = 0; c < cells; c++) {
        int32_t v[8];
        int64_t base = ((c / n / n) * edge + c / n % n) * edge + c % n;
        for (int a = 0; a < 8; a++)
            v[a] = (int32_t)mixed(base + (a & 1) + (a >> 1 & 1) * edge + (a >> 2) * edge * edge,
                                  vertices);
        if (c % 11 == 3)
            put(mesh, RT_PYRAMID, (int32_t[]){v[0], v[1], v[3], v[2], v[7]});
        else if (c % 13 == 4)
            put(mesh, RT_HEXAHEDRON, (int32_t[]){v[0], v[1], v[3], v[2], v[4], v[5], v[7], v[6]});
        else if (c < cells / 2)
            for (int half = 1; half <= 2; half++)
                put(mesh, RT_PRISM, (int32_t[]){v[0], v[half], v[3], v[4], v[4 + half], v[7]});
        else
            for (int s = 0; s < 6; s++)
                put(mesh, RT_TETRAHEDRON,
                    (int32_t[]){v[0], v[step[s][0]], v[step[s][0] + step[s][1]], v[7]});
    }
    return mesh;
}

/* All pairs of each element. */
static mcpi_graph_t *graph_by_pairs(const rt_mesh_t *mesh)
{
    int64_t most = 0;
    for (int t = 0; t < RT_ELEMENTS; t++)
        most += 28 * mesh->elements[t];
    pairs_t p = pairs_new(most);
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t e = 0; e < mesh->elements[t]; e++) {
            const int size = rt_element_size((rt_element_t)t);
            const int32_t *v = mesh->element[t] + size * e;
            for (int a = 0; a < size; a++)
                for (int b = 0; b < a; b++)
                    add(&p, v[a], v[b]);
        }
    return graph_of(mesh->vertices, &p);
}

static bool same_graphs(const mcpi_graph_t *a, const mcpi_graph_t *b)
{
    return a->rows == b->rows && same(a->start, b->start, a->rows + 1, sizeof *a->start) &&
           same(a->neighbour, b->neighbour, a->start[a->rows], sizeof *a->neighbour);
}

/* The same as by all pairs, on 1, 2, 3 threads, and passes its check. */
static void check_mesh(rt_mesh_t *mesh)
{
    mcpi_graph_t *want = graph_by_pairs(mesh);
    char why[200];
    for (int threads = 1; threads <= 3; threads++) {
        rt_threads_set(threads);
        mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh);
        CHECK(same_graphs(graph, want));
        CHECK(mcpi_graph_check(graph, why, sizeof why));
        mcpi_graph_destroy(graph);
    }
    mcpi_graph_destroy(want);
    mesh_destroy(mesh);
}

/* Tetrahedra around the edge of vertices `hub` and hub + 1. */
static rt_mesh_t *make_fan(int64_t tetrahedra, int32_t hub)
{
    rt_mesh_t *mesh = mesh_new(tetrahedra + 3, (int64_t[]){tetrahedra, 0, 0, 0});
    for (int64_t e = 0; e < tetrahedra; e++) {
        int32_t a = (int32_t)e, b = a + 1;
        put(mesh, RT_TETRAHEDRON,
            (int32_t[]){hub, hub + 1, a < hub ? a : a + 2, b < hub ? b : b + 2});
    }
    mesh->faces[RT_TRIANGLE] = 2 * tetrahedra + 2;
    return mesh;
}

/* nnz_off of the specification's formula against the graph. */
static void check_expected(rt_mesh_t *mesh, int64_t triangles, int64_t quads)
{
    mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh);
    mesh->faces[RT_TRIANGLE] = triangles;
    mesh->faces[RT_QUAD] = quads;
    CHECK(mcpi_graph_expected(mesh) == graph->start[graph->rows]);
    mcpi_graph_destroy(graph);
    mesh_destroy(mesh);
}

static rt_mesh_t *one_element(rt_element_t type)
{
    int64_t elements[RT_ELEMENTS] = {0};
    elements[type] = 1;
    rt_mesh_t *mesh = mesh_new(rt_element_size(type), elements);
    put(mesh, type, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7});
    return mesh;
}

static rt_mesh_t *two_tetrahedra(void)
{
    rt_mesh_t *mesh = mesh_new(5, (int64_t[]){2, 0, 0, 0});
    put(mesh, RT_TETRAHEDRON, (int32_t[]){1, 4, 2, 0});
    put(mesh, RT_TETRAHEDRON, (int32_t[]){1, 2, 4, 3});
    return mesh;
}

static void check_meshes(void)
{
    mcpi_graph_t *graph = NULL;
    rt_mesh_t *mesh = two_tetrahedra();
    const int64_t start[] = {0, 3, 7, 11, 14, 18};
    const int32_t neighbour[] = {1, 2, 4, 0, 2, 3, 4, 0, 1, 3, 4, 1, 2, 4, 0, 1, 2, 3};
    graph = mcpi_graph_of_mesh(mesh);
    CHECK(graph->rows == 5 && same(graph->start, start, 6, sizeof *start));
    CHECK(same(graph->neighbour, neighbour, 18, sizeof *neighbour));
    mcpi_graph_destroy(graph);
    mesh_destroy(mesh);
    check_mesh(make_cells(6));
    /* about the size of the hash table, beyond it, and hubs at the front, middle and end */
    for (int32_t tetrahedra = 509; tetrahedra <= 513; tetrahedra++)
        check_mesh(make_fan(tetrahedra, 200));
    check_mesh(make_fan(3000, 0));
    check_mesh(make_fan(3000, 3001));
    check_expected(two_tetrahedra(), 6, 0);
    check_expected(make_fan(700, 5), 1402, 0);
    check_expected(one_element(RT_TETRAHEDRON), 4, 0);
    check_expected(one_element(RT_PYRAMID), 4, 1);
    check_expected(one_element(RT_PRISM), 2, 3);
    mesh = one_element(RT_HEXAHEDRON);
    CHECK(mcpi_graph_expected(mesh) == -1);
    mesh_destroy(mesh);
    mcpi_graph_destroy(NULL);
}

/* --- what the check refuses --- */

static void check_refused(int64_t rows, const int64_t *start, const int32_t *neighbour,
                          const char *want)
{
    char why[200] = "";
    mcpi_graph_t graph = {rows, (int64_t *)start, (int32_t *)neighbour};
    CHECK(!mcpi_graph_check(&graph, why, sizeof why));
    CHECK_TEXT(why, want);
}

static void check_refusals(void)
{
    char why[200];
    const int64_t start[] = {0, 2, 4, 6, 8};
    mcpi_graph_t ring = {4, (int64_t *)start, (int32_t[]){1, 3, 0, 2, 1, 3, 0, 2}};
    CHECK(mcpi_graph_check(&ring, why, sizeof why));
    check_refused(4, (int64_t[]){0, 1, 3, 4, 4}, (int32_t[]){1, 0, 2, 1}, "row 3 has no neighbour");
    check_refused(4, start, (int32_t[]){1, 3, 0, 2, 1, 4, 0, 2},
                  "row 2 has neighbour 4, and rows are 0 to 3");
    check_refused(4, start, (int32_t[]){1, 3, 0, 2, -1, 3, 0, 2},
                  "row 2 has neighbour -1, and rows are 0 to 3");
    check_refused(4, start, (int32_t[]){1, 3, 0, 1, 1, 3, 0, 2},
                  "row 1 has itself for a neighbour");
    check_refused(4, start, (int32_t[]){1, 3, 0, 2, 1, 3, 2, 2}, "row 3 has neighbour 2 twice");
    check_refused(4, start, (int32_t[]){1, 3, 2, 0, 1, 3, 0, 2},
                  "row 1 has neighbour 0 after a larger one");
    check_refused(4, (int64_t[]){0, 2, 4, 5, 7}, (int32_t[]){1, 3, 0, 2, 1, 0, 2},
                  "row 3 has neighbour 2, which does not have it in return");
    /* of several the first; one that is in the lists themselves before one between them */
    check_refused(4, start, (int32_t[]){1, 3, 0, 3, 1, 1, 3, 0}, "row 2 has neighbour 1 twice");
    mcpi_graph_t *large = lattice(20, 100);
    large->neighbour[large->start[7001] - 1] = (int32_t)large->rows;
    large->neighbour[large->start[6001]] = (int32_t)large->rows;
    for (int threads = 1; threads <= 3; threads++) {
        rt_threads_set(threads);
        CHECK(!mcpi_graph_check(large, why, sizeof why));
        CHECK(strstr(why, "row 6001 ") == why);
    }
    mcpi_graph_destroy(large);
}

/* --- colours --- */

static int64_t edges_inside(const mcpi_graph_t *graph, const uint8_t *colour, const int32_t *owner)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < graph->rows; i++)
        for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++) {
            int32_t j = graph->neighbour[k];
            bad += colour[i] == colour[j] && (!owner || owner[i] == owner[j]);
        }
    return bad;
}

static int first_greedy(const mcpi_graph_t *graph)
{
    int colours = 0, *colour = RT_NEW(int, (size_t)graph->rows, RT_HOST);
    for (int64_t i = 0; i < graph->rows; i++) {
        bool found = false;
        for (colour[i] = 0; !found; colour[i] += !found) {
            found = true;
            for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++)
                found =
                    found && !(graph->neighbour[k] < i && colour[graph->neighbour[k]] == colour[i]);
        }
        colours = colour[i] >= colours ? colour[i] + 1 : colours;
    }
    RT_FREE(colour, RT_HOST);
    return colours;
}

/* Sound, the same on 1, 2, 3 threads, at most so many colours, as well balanced; frees the graph.
 */
static int check_colours(mcpi_graph_t *graph, int most, double imbalance)
{
    uint8_t *colour = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    uint8_t *again = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    rt_threads_set(1);
    const int colours = mcpi_colour(graph, colour);
    bool used[MCPI_MAX_COLOURS] = {false}, all = true;
    int64_t outside = 0;
    for (int64_t i = 0; i < graph->rows; i++) {
        outside += colour[i] >= colours;
        used[colour[i] % MCPI_MAX_COLOURS] = true;
    }
    for (int c = 0; c < colours; c++)
        all = all && used[c];
    CHECK(colours <= most);
    CHECK(outside == 0 && all);
    CHECK(edges_inside(graph, colour, NULL) == 0);
    CHECK(mcpi_colour_imbalance(graph, colour, colours) <= imbalance);
    for (int threads = 2; threads <= 3; threads++) {
        rt_threads_set(threads);
        CHECK(mcpi_colour(graph, again) == colours);
        CHECK(same(colour, again, graph->rows, 1));
    }
    RT_FREE(colour, RT_HOST);
    RT_FREE(again, RT_HOST);
    mcpi_graph_destroy(graph);
    return colours;
}

static void check_colourings(void)
{
    check_colours(path(1000), 3, 1.01);
    check_colours(path(2), 2, 1);
    check_colours(complete(10), 10, 1);
    check_colours(complete(64), 64, 1);
    check_colours(stars(1, 3000), 2, 2);
    check_colours(stars(1000, 3), 2, 1.01); /* only chains help: no leaf can move by itself */
    check_colours(uneven_stars(), 2, 1);
    check_colours(lattice(16, 100), 8, 1.01);
    check_colours(random_graph(2000, 8, 1), 7, 1.01);
    check_colours(random_graph(3000, 17, 2), 9, 1.01);
    mcpi_graph_t *thinned = lattice(24, 60);
    const int greedy = first_greedy(thinned), found = check_colours(thinned, 64, 1.01);
    CHECK(found < greedy); /* or the passes after the first do nothing */
    mcpi_graph_t *dense = complete(65);
    uint8_t colour[65];
    CHECK_DIES(RT_USAGE, "row 64 has neighbours of 64 colours", { mcpi_colour(dense, colour); });
    mcpi_graph_destroy(dense);
    mcpi_graph_t *four = path(8);
    CHECK(mcpi_colour_imbalance(four, (uint8_t[]){0, 1, 2, 0, 1, 0, 0, 3}, 4) == 2);
    CHECK(mcpi_colour_imbalance(four, (uint8_t[]){0, 1, 2, 3, 0, 1, 2, 3}, 4) == 1);
    mcpi_graph_destroy(four);
}

/* A global colouring is balanced in each rank's rows too, about: what moved, moved everywhere. */
static void check_ranges(void)
{
    enum { N = 32, ROWS = N * N * N, RANKS = 4 };
    mcpi_graph_t *graph = lattice(N, 60);
    uint8_t *colour = RT_NEW(uint8_t, ROWS, RT_HOST);
    const int colours = mcpi_colour(graph, colour);
    for (int p = 0; p < RANKS; p++) {
        int64_t size[MCPI_MAX_COLOURS] = {0}, largest = 0;
        for (int64_t i = p * (ROWS / RANKS); i < (p + 1) * (ROWS / RANKS); i++)
            size[colour[i]]++;
        for (int c = 0; c < colours; c++)
            largest = size[c] > largest ? size[c] : largest;
        CHECK(largest * colours <= 110 * (ROWS / RANKS) / 100);
    }
    RT_FREE(colour, RT_HOST);
    mcpi_graph_destroy(graph);
}

/* Sound inside each rank, balanced there, and some neighbours on other ranks have the same. */
static void check_local(mcpi_graph_t *graph, int ranks, int most, bool shared)
{
    uint8_t *colour = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    uint8_t *again = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    mcpi_partition(graph, NULL, ranks, owner);
    rt_threads_set(1);
    const int colours = mcpi_colour_local(graph, owner, colour);
    CHECK(colours <= most);
    CHECK(edges_inside(graph, colour, owner) == 0);
    CHECK((edges_inside(graph, colour, NULL) > 0) == shared);
    for (int rank = 0; rank < ranks; rank++) {
        int64_t size[256] = {0}, rows = 0, largest = 0;
        for (int64_t i = 0; i < graph->rows; i++)
            if (owner[i] == rank) {
                rows++;
                size[colour[i]]++;
            }
        for (int c = 0; c < 256; c++) {
            largest = size[c] > largest ? size[c] : largest;
            CHECK(c < colours || size[c] == 0);
        }
        CHECK((double)largest * colours <= 1.01 * (double)rows + colours);
    }
    for (int threads = 2; threads <= 3; threads++) {
        rt_threads_set(threads);
        CHECK(mcpi_colour_local(graph, owner, again) == colours);
        CHECK(same(colour, again, graph->rows, 1));
    }
    RT_FREE(colour, RT_HOST);
    RT_FREE(again, RT_HOST);
    RT_FREE(owner, RT_HOST);
    mcpi_graph_destroy(graph);
}

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

/* Bijective, colours in their ranges; the same on 1, 2, 3 threads. */
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

/* Steps inside a colour at which the vertex number falls. */
static int64_t falls(const mcpi_order_t *o)
{
    int64_t count = 0;
    for (int c = 0; c < o->colours; c++)
        for (int64_t i = o->colour_start[c] + 1; i < o->colour_start[c + 1]; i++)
            count += o->vertex[i] < o->vertex[i - 1];
    return count;
}

/* Largest distance between neighbours' rows. */
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

/* All rows as one colour, so that the whole order shows. */
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

/* By hand: from an end (4), breadth first, neighbours of fewer neighbours first; then reversed. */
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

    /* as one colour, each step along the curve of a 16^3 lattice goes to a neighbour */
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

/* Rows of colour c are where they should be, ascending in each group, and owned. */
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

/* Columns are the vertex's neighbours, once each, ascending in row number; place finds them there;
 * every ghost is somebody's. */
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

/* Between ranks: every row is one rank's; it is a boundary row there if and only if some other rank
 * has it for a ghost. */
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

/* All ranks' parts of the graph; owner NULL: by mcpi_partition. Returns the ghosts of all. */
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
    /* hubs elsewhere: all leaves are boundary rows, and the hubs are too */
    for (int i = 0; i < 24; i++)
        owner[i] = i < 4;
    CHECK(check_parts(graph, MCPI_NATURAL, 2, owner) == 24);
    mcpi_graph_destroy(graph);
    /* a path in two: one row of each rank is at the boundary, the other's colour has none */
    graph = path(10);
    CHECK(check_parts(graph, MCPI_NATURAL, 2, NULL) == 2);
    mcpi_graph_destroy(graph);
    mcpi_part_destroy(NULL);
}

/* --- what rt_sort takes --- */

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
    check_meshes();
    check_refusals();
    check_colourings();
    check_ranges();
    check_local(lattice(16, 60), 4, 11, true);
    check_local(complete(10), 2, 5, true);
    check_local(path(300), 1, 3, false);
    check_local(complete(3), 5, 1, true);
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
