/*
 * graph.c - the neighbours of each vertex, from the elements of a mesh.
 *
 * The elements of each vertex are listed. Then each vertex collects the vertices of its elements in
 * a short sorted list, twice: once to count them, once to keep them. The list is private to a
 * thread and stays in its cache. The price: all elements are read twice for each of their vertices.
 * Pairs in one long array, sorted, would be read once, but take four times the memory. A hub of
 * thousands of elements, such as the middle of a fan, takes their square, in moves of memory.
 */
#include "config.h"
#include "input.h"
#include <string.h>
#include "base/threads.h"

/* --- elements of each vertex --- */

static void count_elements(const rt_mesh_t *mesh, int64_t *first)
{
    for (int t = 0; t < RT_ELEMENTS; t++) {
        const int64_t entries = mesh->elements[t] * rt_element_size(t);
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < entries; i++) {
#pragma omp atomic
            first[mesh->element[t][i] + 2]++;
        }
    }
}

static void enter_elements(mcpi_incidence_t *in)
{
    for (int t = 0; t < RT_ELEMENTS; t++) {
        const int size = rt_element_size(t);
        const int32_t *vertex = in->mesh->element[t];
#pragma omp parallel for schedule(static)
        for (int64_t e = 0; e < in->mesh->elements[t]; e++)
            for (int a = 0; a < size; a++) {
                int64_t at;
#pragma omp atomic capture
                at = in->first[vertex[size * e + a] + 1]++;
                in->element[at] = (uint32_t)(in->base[t] + e);
            }
    }
}

/* Inserts x into list[0 .. n-1], which ascends, unless it is there. Returns the new length. */
static int64_t insert(uint32_t *list, int64_t n, uint32_t x)
{
    int64_t at = n;
    while (at > 0 && list[at - 1] > x)
        at--;
    if (at > 0 && list[at - 1] == x)
        return n;
    memmove(list + at + 1, list + at, (size_t)(n - at) * sizeof *list);
    list[at] = x;
    return n + 1;
}

/* Threads have entered elements in any order. */
static void sort_elements(const mcpi_incidence_t *in)
{
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < in->mesh->vertices; v++) {
        uint32_t *list = in->element + in->first[v];
        for (int64_t i = 0; i < in->first[v + 1] - in->first[v]; i++)
            insert(list, i, list[i]);
    }
}

mcpi_incidence_t mcpi_incidence_new(const rt_mesh_t *mesh)
{
    mcpi_incidence_t in = {.mesh = mesh};
    for (int t = 0; t < RT_ELEMENTS; t++)
        in.base[t + 1] = in.base[t] + mesh->elements[t];
    RT_EXPECT(in.base[RT_ELEMENTS] <= UINT32_MAX, RT_USAGE, "a mesh of more than 2^32 elements");
    in.first = RT_NEW(int64_t, (size_t)mesh->vertices + 2, RT_HOST);
    memset(in.first, 0, ((size_t)mesh->vertices + 2) * sizeof *in.first);
    count_elements(mesh, in.first);
    /* from here on first[v + 1] is the place of v's next element, and in the end that of the first
     * of v + 1 */
    for (int64_t v = 0; v < mesh->vertices; v++)
        in.first[v + 2] += in.first[v + 1];
    in.element = RT_NEW(uint32_t, (size_t)in.first[mesh->vertices + 1], RT_HOST);
    enter_elements(&in);
    sort_elements(&in);
    return in;
}

/* --- neighbours of each vertex --- */

/* Lists the neighbours of v, ascending, and returns how many there are. list: room for the vertices
 * of all its elements. */
static int64_t collect(const mcpi_incidence_t *in, int64_t v, uint32_t *list)
{
    int64_t n = 0;
    for (int64_t i = in->first[v]; i < in->first[v + 1]; i++) {
        rt_element_t type;
        const int32_t *vertex = mcpi_incidence_get(in, i, &type);
        for (int a = 0; a < rt_element_size(type); a++)
            if (vertex[a] != v)
                n = insert(list, n, (uint32_t)vertex[a]);
    }
    return n;
}

/* Fills neighbour, or start[v + 1] with the number of neighbours if there is no neighbour yet. */
static void fill(const mcpi_incidence_t *in, const uint8_t *own, mcpi_graph_t *graph)
{
    int64_t most = 0;
    for (int64_t v = 0; v < graph->rows; v++)
        if (in->first[v + 1] - in->first[v] > most)
            most = in->first[v + 1] - in->first[v];
    const int threads = rt_threads();
    const int64_t room = 8 * most;
    uint32_t *scratch = RT_NEW(uint32_t, (size_t)(threads * room), RT_HOST);
#pragma omp parallel num_threads(threads)
    {
        uint32_t *list = scratch + rt_thread() * room;
#pragma omp for schedule(dynamic, 1024)
        for (int64_t v = 0; v < graph->rows; v++) {
            const int64_t n = !own || own[v] ? collect(in, v, list) : 0;
            if (graph->neighbour)
                memcpy(graph->neighbour + graph->start[v], list, (size_t)n * sizeof *list);
            else
                graph->start[v + 1] = n;
        }
    }
    RT_FREE(scratch, RT_HOST);
}

mcpi_graph_t *mcpi_graph_of_mesh(const rt_mesh_t *mesh, const uint8_t *own)
{
    mcpi_graph_t *graph = RT_NEW(mcpi_graph_t, 1, RT_HOST);
    mcpi_incidence_t in = mcpi_incidence_new(mesh);
    *graph = (mcpi_graph_t){.rows = mesh->vertices};
    graph->start = RT_NEW(int64_t, (size_t)graph->rows + 1, RT_HOST);
    graph->start[0] = 0;
    fill(&in, own, graph);
    for (int64_t v = 0; v < graph->rows; v++)
        graph->start[v + 1] += graph->start[v];
    graph->neighbour = RT_NEW(int32_t, (size_t)graph->start[graph->rows], RT_HOST);
    fill(&in, own, graph);
    RT_FREE_ALL(RT_HOST, in.first, in.element);
    return graph;
}

void mcpi_graph_destroy(mcpi_graph_t *graph)
{
    if (!graph)
        return;
    RT_FREE_ALL(RT_HOST, graph->start, graph->neighbour, graph);
}
