/*
 * test_piece.c - what ranks make by parts is what one rank makes of the whole, bit by bit: mesh,
 * graph, distances, colours. mpi.sh runs it on several ranks.
 */
#include "config.h"
#include "graph_test.h"
#include "apps/fun3d-mcpi/input/blocks.h"

enum { SURFACE = 9, LAYERS = 11 };
static const mcpi_wing_t wing = {.n = SURFACE, .layers = LAYERS, .seed = 3};

/* --- one rank's mesh --- */

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

/* Makes a rank's part of the wing, or cuts it out of the whole as out of a file. */
static rt_mesh_t *part_of_rank(const rt_mesh_t *file, int rank, int ranks, mcpi_piece_t **piece)
{
    return file ? mcpi_mesh_share(file, rank, ranks, piece)
                : mcpi_wing_new(&wing, rank, ranks, piece);
}

/* Finds each vertex's rank. Each has one, and the ranks have about as many blocks. */
static int32_t *find_owners(const mcpi_graph_t *graph, const rt_mesh_t *file, int ranks)
{
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    int64_t owned = 0, most = 0;
    memset(owner, 0xff, (size_t)graph->rows * sizeof *owner);
    for (int rank = 0; rank < ranks; rank++) {
        mcpi_piece_t *piece;
        int64_t blocks = 0;
        rt_mesh_destroy(part_of_rank(file, rank, ranks, &piece));
        for (int64_t v = 0; v < piece->vertices; v++) {
            const int64_t w = piece->number[v];
            if (!piece->own[v])
                continue;
            CHECK(owner[w] < 0);
            owner[w] = rank;
            owned++;
            blocks += graph->start[w + 1] - graph->start[w] + 2;
        }
        most = blocks > most ? blocks : most;
        CHECK(piece->owned > 0);
        mcpi_piece_destroy(piece);
    }
    CHECK(owned == graph->rows);
    CHECK((double)most * ranks <= 1.05 * (double)(graph->start[graph->rows] + 2 * graph->rows));
    return owner;
}

/* Parts that are made are the whole cut in parts; no ghost is there for nothing. */
static void check_meshes(int ranks, bool from_file)
{
    rt_mesh_t *whole = mcpi_wing_new(&wing, 0, 1, NULL), *file = from_file ? whole : NULL;
    mcpi_graph_t *graph = mcpi_graph_of_mesh(whole, NULL);
    int32_t *owner = find_owners(graph, file, ranks);
    for (int rank = 0; rank < ranks; rank++) {
        mcpi_graph_t *of_graph;
        mcpi_piece_t *made, *cut = mcpi_piece_new(whole->vertices, whole->vertices);
        mcpi_piece_t *linked = piece_of(graph, owner, rank, &of_graph);
        mcpi_piece_own(cut, owner, 1, rank);
        rt_mesh_t *part = part_of_rank(file, rank, ranks, &made);
        rt_mesh_t *of_whole = mcpi_mesh_cut(whole, cut);
        mcpi_graph_t *of_part = mcpi_graph_of_mesh(part, made->own);
        CHECK(same_meshes(part, of_whole));
        CHECK(made->all == whole->vertices && made->owned == cut->owned);
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
    }
    RT_FREE(owner, RT_HOST);
    mcpi_graph_destroy(graph);
    rt_mesh_destroy(whole);
}

/* --- all ranks together --- */

/* Compares distances, layers and colours with those of the whole, of a wing or as of a file. */
static void check_together(bool from_file)
{
    rt_mesh_t *mesh = mcpi_wing_new(&wing, 0, 1, NULL);
    mcpi_piece_t *whole = mcpi_piece_new(mesh->vertices, mesh->vertices), *piece;
    mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh, NULL);
    int64_t differ = 0;
    rt_mesh_t *part = part_of_rank(from_file ? mesh : NULL, rt_comm_rank(), rt_comm_size(), &piece);
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
    const int colours[2] = {colour_whole(graph, from_file ? NULL : odd[0], colour[0]),
                            mcpi_colour(cut, piece, from_file ? NULL : odd[1], colour[1])};
    for (int64_t v = 0; v < piece->vertices; v++) {
        const int64_t w = piece->number[v];
        differ += far[0][w] != far[1][v] || odd[0][w] != odd[1][v] ||
                  colour[0][w] != colour[1][v] || odd[0][w] != w % (LAYERS + 1) % 2;
    }
    CHECK(differ == 0 && colours[0] == colours[1]);
    for (int k = 0; k < 2; k++) {
        RT_FREE_ALL(RT_HOST, far[k], odd[k], colour[k]);
    }
    rt_mesh_destroy(mesh);
    rt_mesh_destroy(part);
    mcpi_graph_destroy(graph);
    mcpi_graph_destroy(cut);
    mcpi_piece_destroy(whole);
    mcpi_piece_destroy(piece);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    if (rt_comm_size() == 1) {
        for (int ranks = 1; ranks <= 5; ranks += 2) {
            check_meshes(ranks, false);
            check_meshes(ranks, true);
        }
    }
    check_together(false);
    check_together(true);
    CHECK(rt_mem_used(RT_HOST) == 0);
    rt_comm_finish();
    return check_done();
}
