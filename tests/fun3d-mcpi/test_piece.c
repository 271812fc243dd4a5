/*
 * test_piece.c - what ranks make by parts is what one rank makes of the whole, bit by bit: mesh,
 * graph, distances, partition, colours. mpi.sh runs it on several ranks.
 */
#include "config.h"
#include "graph_test.h"
#include <math.h>
#include "apps/fun3d-mcpi/input/blocks.h"

enum { SURFACE = 9, LAYERS = 11 };
static const mcpi_wing_t wing = {.n = SURFACE, .layers = LAYERS, .seed = 3};

/* --- one rank's mesh --- */

/* Lists vertices of the wing that are one rank's, ascending: a pattern that mixes ranks finely, or a
 * range of the numbers. */
static int64_t *list_own(int64_t all, int ranks, int rank, bool finely, int64_t *n)
{
    int64_t *own = RT_NEW(int64_t, (size_t)all, RT_HOST);
    *n = 0;
    for (int64_t v = 0; v < all; v++)
        if ((finely ? (int64_t)(rt_hash((uint64_t)(v / 5), 8) % (uint64_t)ranks)
                    : v * ranks / all) == rank)
            own[(*n)++] = v;
    return own;
}

static bool same_meshes(const rt_mesh_t *a, const rt_mesh_t *b)
{
    bool equal = a->vertices == b->vertices && same(a->x, b->x, 3 * a->vertices, sizeof *a->x);
    for (int t = 0; t < RT_ELEMENTS; t++)
        equal = equal && a->elements[t] == b->elements[t] &&
                same(a->element[t], b->element[t],
                     rt_element_size((rt_element_t)t) * a->elements[t], sizeof **a->element);
    for (int t = 0; t < RT_FACES; t++)
        equal = equal && a->faces[t] == b->faces[t] &&
                same(a->tag[t], b->tag[t], a->faces[t], sizeof **a->tag) &&
                same(a->face[t], b->face[t], rt_face_size((rt_face_t)t) * a->faces[t],
                     sizeof **a->face);
    return equal;
}

/* Parts that are made are the whole cut in parts; no ghost is there for nothing. */
static void check_meshes(int ranks, bool finely)
{
    rt_mesh_t *whole = mcpi_wing_new(&wing);
    mcpi_graph_t *graph = mcpi_graph_of_mesh(whole, NULL);
    for (int rank = 0; rank < ranks; rank++) {
        int64_t n;
        int64_t *own = list_own(whole->vertices, ranks, rank, finely, &n);
        mcpi_piece_t *made, *cut = mcpi_piece_new(whole->vertices, whole->vertices);
        mcpi_piece_t *linked = mcpi_piece_new(whole->vertices, whole->vertices);
        mcpi_piece_own(cut, own, n);
        mcpi_piece_own(linked, own, n);
        rt_mesh_t *part = mcpi_wing_part(&wing, own, n, &made);
        rt_mesh_t *of_whole = mcpi_mesh_cut(whole, cut);
        mcpi_graph_t *of_part = mcpi_graph_of_mesh(part, made->own);
        mcpi_graph_t *of_graph = cut_graph(graph, linked);
        CHECK(same_meshes(part, of_whole));
        CHECK(made->all == whole->vertices && made->owned == n);
        CHECK(made->vertices == cut->vertices && made->vertices == linked->vertices);
        CHECK(same(made->number, cut->number, made->vertices, sizeof *made->number));
        CHECK(same(made->own, cut->own, made->vertices, 1));
        CHECK(same(made->number, linked->number, made->vertices, sizeof *made->number));
        CHECK(same(of_part->start, of_graph->start, of_part->rows + 1, sizeof *of_part->start));
        CHECK(same(of_part->neighbour, of_graph->neighbour, of_part->start[of_part->rows],
                   sizeof *of_part->neighbour));
        rt_mesh_destroy(part);
        rt_mesh_destroy(of_whole);
        mcpi_graph_destroy(of_part);
        mcpi_graph_destroy(of_graph);
        mcpi_piece_destroy(made);
        mcpi_piece_destroy(cut);
        mcpi_piece_destroy(linked);
        RT_FREE(own, RT_HOST);
    }
    mcpi_graph_destroy(graph);
    rt_mesh_destroy(whole);
}

/* --- all ranks together --- */

/* The parts are the ranges of the curve: equal in blocks, none empty, each vertex in one. */
static int64_t *check_partition(const rt_mesh_t *mesh, const mcpi_graph_t *graph, int64_t *owned)
{
    const int64_t all = graph->rows, ranks = rt_comm_size(), rank = rt_comm_rank();
    mcpi_piece_t *piece = mcpi_piece_new(all, all);
    uint64_t *key = RT_NEW(uint64_t, (size_t)all, RT_HOST);
    int64_t weight[2] = {0, 0};
    mcpi_hilbert_keys(piece, mesh->x, key);
    piece->owned = 0;
    for (int64_t v = 0; v < all; v++) { /* every rank brings vertices from all over */
        piece->own[v] = v % ranks == rank;
        piece->owned += piece->own[v];
    }
    int64_t *own = mcpi_partition(piece, graph, key, owned);
    double first = INFINITY, last = -INFINITY, *ends = RT_NEW(double, 2 * (size_t)ranks, RT_HOST);
    for (int64_t i = 0; i < *owned; i++) {
        CHECK(i == 0 || own[i] > own[i - 1]);
        first = fmin(first, (double)key[own[i]]);
        last = fmax(last, (double)key[own[i]]);
        weight[0] += graph->start[own[i] + 1] - graph->start[own[i]] + 2;
    }
    rt_comm_allgather((double[]){first, last}, 2 * sizeof *ends, ends);
    for (int64_t p = 1; p < ranks; p++)
        CHECK(ends[2 * p - 1] <= ends[2 * p]);
    weight[1] = *owned;
    const int64_t mine = weight[0];
    rt_comm_sum_i64(weight, 2);
    CHECK(weight[1] == all && *owned > 0);
    CHECK(llabs(mine - weight[0] / ranks) <= 32); /* a row of the wing has 29 blocks at most */
    mcpi_piece_destroy(piece);
    RT_FREE(key, RT_HOST);
    RT_FREE(ends, RT_HOST);
    return own;
}

/* Compares distances, layers and colours with those of the whole. */
static void check_together(bool by_number)
{
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
    mcpi_piece_t *whole = mcpi_piece_new(mesh->vertices, mesh->vertices), *piece;
    mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh, NULL);
    int64_t owned, *own = check_partition(mesh, graph, &owned), differ = 0;
    rt_mesh_t *part = mcpi_wing_part(&wing, own, owned, &piece);
    mcpi_graph_t *cut = mcpi_graph_of_mesh(part, piece->own);
    const rt_mesh_t *meshes[2] = {mesh, part};
    const mcpi_graph_t *graphs[2] = {graph, cut};
    const mcpi_piece_t *pieces[2] = {whole, piece};
    double *far[2];
    uint8_t *odd[2];
    uint16_t *colour[2];
    mcpi_piece_link(piece, cut);
    for (int k = 0; k < 2; k++) {
        const size_t n = (size_t)pieces[k]->vertices;
        uint8_t *wall = RT_NEW(uint8_t, n, RT_HOST);
        far[k] = RT_NEW(double, n, RT_HOST);
        odd[k] = RT_NEW(uint8_t, n, RT_HOST);
        colour[k] = RT_NEW(uint16_t, n, RT_HOST);
        mcpi_find_walls(meshes[k], "1", wall);
        mcpi_find_distance(graphs[k], pieces[k], meshes[k]->x, wall, far[k], odd[k]);
        RT_FREE(wall, RT_HOST);
    }
    const int colours[2] = {colour_whole(graph, by_number ? NULL : odd[0], colour[0]),
                            mcpi_colour(cut, piece, by_number ? NULL : odd[1], colour[1])};
    for (int64_t v = 0; v < piece->vertices; v++) {
        const int64_t w = piece->number[v];
        differ += far[0][w] != far[1][v] || odd[0][w] != odd[1][v] ||
                  colour[0][w] != colour[1][v] || odd[0][w] != w % (LAYERS + 1) % 2;
    }
    CHECK(differ == 0 && colours[0] == colours[1]);
    for (int k = 0; k < 2; k++) {
        RT_FREE(far[k], RT_HOST);
        RT_FREE(odd[k], RT_HOST);
        RT_FREE(colour[k], RT_HOST);
    }
    rt_mesh_destroy(mesh);
    rt_mesh_destroy(part);
    mcpi_graph_destroy(graph);
    mcpi_graph_destroy(cut);
    mcpi_piece_destroy(whole);
    mcpi_piece_destroy(piece);
    RT_FREE(own, RT_HOST);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    if (rt_comm_size() == 1) {
        check_meshes(1, false);
        check_meshes(5, false);
        check_meshes(3, true);
    }
    check_together(false);
    check_together(true);
    CHECK(rt_mem_used(RT_HOST) == 0);
    rt_comm_finish();
    return check_done();
}
