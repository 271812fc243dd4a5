/*
 * test_graph.c - neighbours from meshes, against all pairs of each element.
 */
#include "config.h"
#include "flow_test.h"
#include "graph_test.h"

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
                    add_pair(&p, v[a], v[b]);
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
    rt_mesh_destroy(mesh);
}

/* Makes a cube whose vertices are numbered irregularly. */
static rt_mesh_t *scrambled(int n, bool mixed_elements)
{
    rt_mesh_t *mesh = cube(n, mixed_elements);
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t k = 0; k < mesh->elements[t] * rt_element_size((rt_element_t)t); k++)
            mesh->element[t][k] = (int32_t)mixed(mesh->element[t][k], mesh->vertices);
    return mesh;
}

/* Makes tetrahedra around the edge of vertices `hub` and hub + 1. */
static rt_mesh_t *make_fan(int64_t tetrahedra, int32_t hub)
{
    rt_mesh_t *mesh = mesh_new(tetrahedra + 3, tetrahedra);
    for (int64_t e = 0; e < tetrahedra; e++) {
        int32_t a = (int32_t)e, b = a + 1;
        add(mesh, RT_TETRAHEDRON,
            (int32_t[]){hub, hub + 1, a < hub ? a : a + 2, b < hub ? b : b + 2});
    }
    return mesh;
}

int main(void)
{
    check_mesh(scrambled(5, false));
    check_mesh(scrambled(6, true));
    check_mesh(make_fan(3000, 0)); /* hubs at the front, middle and end */
    check_mesh(make_fan(3000, 1500));
    check_mesh(make_fan(3000, 3001));
    mcpi_graph_destroy(NULL);
    CHECK(rt_mem_used(RT_HOST) == 0);
    return check_done();
}
