/*
 * test_graph.c - neighbours from meshes, against all pairs of each element, and unsound graphs.
 */
#include "config.h"
#include "graph_test.h"

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

/* Frees a mesh that has only elements, unlike rt_mesh_destroy. */
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

/* Makes n^3 cells, each two prisms (lower half) or six tetrahedra around a diagonal, with a pyramid
 * or hexahedron now and then. The cells need not fit together, and vertices are numbered
 * irregularly. */
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

/* Makes the graph from all pairs of each element. */
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

/* The graph is the same as from all pairs, on 1, 2, 3 threads. */
static void check_mesh(rt_mesh_t *mesh)
{
    mcpi_graph_t *want = graph_by_pairs(mesh);
    for (int threads = 1; threads <= 3; threads++) {
        rt_threads_set(threads);
        mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh, NULL);
        CHECK(same_graphs(graph, want));
        mcpi_graph_destroy(graph);
    }
    mcpi_graph_destroy(want);
    mesh_destroy(mesh);
}

/* Makes tetrahedra around the edge of vertices `hub` and hub + 1. */
static rt_mesh_t *make_fan(int64_t tetrahedra, int32_t hub)
{
    rt_mesh_t *mesh = mesh_new(tetrahedra + 3, (int64_t[]){tetrahedra, 0, 0, 0});
    for (int64_t e = 0; e < tetrahedra; e++) {
        int32_t a = (int32_t)e, b = a + 1;
        put(mesh, RT_TETRAHEDRON,
            (int32_t[]){hub, hub + 1, a < hub ? a : a + 2, b < hub ? b : b + 2});
    }
    return mesh;
}

static void check_meshes(void)
{
    rt_mesh_t *mesh = mesh_new(5, (int64_t[]){2, 0, 0, 0});
    const int64_t start[] = {0, 3, 7, 11, 14, 18};
    const int32_t neighbour[] = {1, 2, 4, 0, 2, 3, 4, 0, 1, 3, 4, 1, 2, 4, 0, 1, 2, 3};
    put(mesh, RT_TETRAHEDRON, (int32_t[]){1, 4, 2, 0});
    put(mesh, RT_TETRAHEDRON, (int32_t[]){1, 2, 4, 3});
    mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh, NULL);
    CHECK(graph->rows == 5 && same(graph->start, start, 6, sizeof *start));
    CHECK(same(graph->neighbour, neighbour, 18, sizeof *neighbour));
    mcpi_graph_destroy(graph);
    mesh_destroy(mesh);
    check_mesh(make_cells(6));
    check_mesh(make_fan(3000, 0)); /* hubs at the front, middle and end */
    check_mesh(make_fan(3000, 1500));
    check_mesh(make_fan(3000, 3001));
    mcpi_graph_destroy(NULL);
}

int main(void)
{
    check_meshes();
    CHECK(rt_mem_used(RT_HOST) == 0);
    return check_done();
}
