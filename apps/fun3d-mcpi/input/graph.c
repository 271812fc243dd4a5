/*
 * graph.c - the neighbours of each vertex, from the elements of a mesh.
 *
 * The elements of each vertex are listed. Then each vertex collects the vertices of its elements in
 * a small hash table, twice: once to count them, once to write and sort them. The table is private
 * to a thread and stays in its cache, so only the lists of elements are shared. Their order depends
 * on the threads, but neighbours are sorted, so it has no effect. The price: all elements are read
 * twice for each of their vertices. Pairs in one long array, sorted, would be read once, but take
 * four times the memory.
 */
#include "config.h"
#include "input.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- elements of each vertex --- */

typedef struct {
    const rt_mesh_t *mesh;
    int64_t base[RT_ELEMENTS + 1]; /* element e of type t is number base[t] + e */
    int64_t *first;                /* [vertices + 2]; vertex v has those from first[v] on */
    uint32_t *element;
} incidence_t;

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

static void enter_elements(incidence_t *in)
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

static incidence_t list_elements(const rt_mesh_t *mesh)
{
    incidence_t in = {.mesh = mesh};
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
    return in;
}

/* Returns the element's vertices, and how many there are. */
static const int32_t *vertices_of(const incidence_t *in, uint32_t element, int *size)
{
    int t = 0;
    while (element >= in->base[t + 1])
        t++;
    *size = rt_element_size(t);
    return in->mesh->element[t] + *size * (element - in->base[t]);
}

/* --- neighbours of one vertex --- */

enum { SLOTS = 1024, FULL = SLOTS / 2 };

/* Distinct vertices, in the order in which they were added. Empty slots: -1. */
typedef struct {
    int32_t slot[SLOTS], vertex[FULL];
    int used[FULL], count;
} set_t;

static void set_start(set_t *set)
{
    memset(set->slot, 0xff, sizeof set->slot);
    set->count = 0;
}

/* Takes time for what is in it, not for what it could hold. */
static void set_empty(set_t *set)
{
    for (int i = 0; i < set->count; i++)
        set->slot[set->used[i]] = -1;
    set->count = 0;
}

/* Returns false if the set is full. */
static bool set_add(set_t *set, int32_t vertex)
{
    uint32_t at = (uint32_t)vertex * 2654435769U >> 22;
    while (set->slot[at] >= 0 && set->slot[at] != vertex)
        at = (at + 1) % SLOTS;
    if (set->slot[at] == vertex)
        return true;
    if (set->count == FULL)
        return false;
    set->slot[at] = vertex;
    set->used[set->count] = (int)at;
    set->vertex[set->count++] = vertex;
    return true;
}

/* Returns how many neighbours v has; -1: too many for the set. */
static int collect(const incidence_t *in, int64_t v, set_t *set)
{
    set_empty(set);
    for (int64_t i = in->first[v]; i < in->first[v + 1]; i++) {
        int size;
        const int32_t *vertex = vertices_of(in, in->element[i], &size);
        for (int a = 0; a < size; a++)
            if (vertex[a] != v && !set_add(set, vertex[a]))
                return -1;
    }
    return set->count;
}

static int compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void put_sorted(const set_t *set, int32_t *to)
{
    for (int i = 0; i < set->count; i++) {
        int at = i;
        for (; at > 0 && to[at - 1] > set->vertex[i]; at--)
            to[at] = to[at - 1];
        to[at] = set->vertex[i];
    }
}

/* Lists the neighbours of a vertex that may have a million, such as the hub of a fan. *list is to
 * be freed. Returns how many there are. */
static int64_t collect_hub(const incidence_t *in, int64_t v, int32_t **list)
{
    int64_t count = 0, distinct = 0;
    int32_t *all = RT_NEW(int32_t, 8 * (size_t)(in->first[v + 1] - in->first[v]), RT_HOST);
    for (int64_t i = in->first[v]; i < in->first[v + 1]; i++) {
        int size;
        const int32_t *vertex = vertices_of(in, in->element[i], &size);
        for (int a = 0; a < size; a++)
            if (vertex[a] != v)
                all[count++] = vertex[a];
    }
    qsort(all, (size_t)count, sizeof *all, compare);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || all[i] != all[i - 1])
            all[distinct++] = all[i];
    *list = all;
    return distinct;
}

/* --- the graph --- */

/* Sets start, by the number of neighbours of each vertex. */
static void count_neighbours(const incidence_t *in, mcpi_graph_t *graph)
{
    graph->start[0] = 0;
#pragma omp parallel
    {
        set_t set;
        set_start(&set);
#pragma omp for schedule(dynamic, 1024)
        for (int64_t v = 0; v < graph->rows; v++)
            graph->start[v + 1] = collect(in, v, &set);
    }
    for (int64_t v = 0; v < graph->rows; v++) {
        if (graph->start[v + 1] < 0) {
            int32_t *list;
            graph->start[v + 1] = collect_hub(in, v, &list);
            RT_FREE(list, RT_HOST);
        }
        graph->start[v + 1] += graph->start[v];
    }
}

static void enter_neighbours(const incidence_t *in, mcpi_graph_t *graph)
{
    const int64_t *start = graph->start;
#pragma omp parallel
    {
        set_t set;
        set_start(&set);
#pragma omp for schedule(dynamic, 1024)
        for (int64_t v = 0; v < graph->rows; v++)
            if (start[v + 1] - start[v] <= FULL) {
                collect(in, v, &set);
                put_sorted(&set, graph->neighbour + start[v]);
            }
    }
    for (int64_t v = 0; v < graph->rows; v++)
        if (start[v + 1] - start[v] > FULL) {
            int32_t *list;
            int64_t count = collect_hub(in, v, &list);
            memcpy(graph->neighbour + start[v], list, (size_t)count * sizeof *list);
            RT_FREE(list, RT_HOST);
        }
}

mcpi_graph_t *mcpi_graph_of_mesh(const rt_mesh_t *mesh)
{
    mcpi_graph_t *graph = RT_NEW(mcpi_graph_t, 1, RT_HOST);
    incidence_t in = list_elements(mesh);
    graph->rows = mesh->vertices;
    graph->start = RT_NEW(int64_t, (size_t)graph->rows + 1, RT_HOST);
    count_neighbours(&in, graph);
    graph->neighbour = RT_NEW(int32_t, (size_t)graph->start[graph->rows], RT_HOST);
    enter_neighbours(&in, graph);
    RT_FREE(in.first, RT_HOST);
    RT_FREE(in.element, RT_HOST);
    return graph;
}

void mcpi_graph_destroy(mcpi_graph_t *graph)
{
    if (!graph)
        return;
    RT_FREE(graph->start, RT_HOST);
    RT_FREE(graph->neighbour, RT_HOST);
    RT_FREE(graph, RT_HOST);
}

/* --- faults --- */

typedef enum { SOUND, ALONE, OUT_OF_RANGE, ITSELF, TWICE, DESCENDS, ONE_WAY } fault_t;

/* Returns what is wrong with the list of row i by itself, and the neighbour that shows it. */
static fault_t list_fault(const mcpi_graph_t *graph, int64_t i, int32_t *which)
{
    *which = -1;
    if (graph->start[i + 1] <= graph->start[i])
        return ALONE;
    for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++) {
        *which = graph->neighbour[k];
        if (*which < 0 || *which >= graph->rows)
            return OUT_OF_RANGE;
        if (*which == i)
            return ITSELF;
        if (k > graph->start[i] && *which <= graph->neighbour[k - 1])
            return *which == graph->neighbour[k - 1] ? TWICE : DESCENDS;
    }
    return SOUND;
}

int64_t mcpi_graph_find(const mcpi_graph_t *graph, int64_t row, int32_t neighbour)
{
    int64_t low = graph->start[row], high = graph->start[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph->neighbour[middle] < neighbour)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->start[row + 1] && graph->neighbour[low] == neighbour ? low : -1;
}

/* Requires that all lists ascend. */
static fault_t return_fault(const mcpi_graph_t *graph, int64_t i, int32_t *which)
{
    for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++) {
        *which = graph->neighbour[k];
        if (mcpi_graph_find(graph, *which, (int32_t)i) < 0)
            return ONE_WAY;
    }
    return SOUND;
}

static void describe(int64_t i, fault_t fault, int32_t which, int64_t rows, char *why, size_t len)
{
    switch (fault) {
    case ALONE:
        snprintf(why, len, "row %" PRId64 " has no neighbour", i);
        break;
    case OUT_OF_RANGE:
        snprintf(why, len, "row %" PRId64 " has neighbour %" PRId32 ", and rows are 0 to %" PRId64,
                 i, which, rows - 1);
        break;
    case ITSELF:
        snprintf(why, len, "row %" PRId64 " has itself for a neighbour", i);
        break;
    case TWICE:
        snprintf(why, len, "row %" PRId64 " has neighbour %" PRId32 " twice", i, which);
        break;
    case DESCENDS:
        snprintf(why, len, "row %" PRId64 " has neighbour %" PRId32 " after a larger one", i,
                 which);
        break;
    default:
        snprintf(why, len,
                 "row %" PRId64 " has neighbour %" PRId32 ", which does not have it in return", i,
                 which);
        break;
    }
}

bool mcpi_graph_check(const mcpi_graph_t *graph, char *why, size_t len)
{
    int64_t first = INT64_MAX;
    int32_t which = -1;
#pragma omp parallel for schedule(static) reduction(min : first) private(which)
    for (int64_t i = 0; i < graph->rows; i++)
        if (i < first && list_fault(graph, i, &which) != SOUND)
            first = i;
    if (first < INT64_MAX) {
        fault_t fault = list_fault(graph, first, &which);
        describe(first, fault, which, graph->rows, why, len);
        return false;
    }
#pragma omp parallel for schedule(static) reduction(min : first) private(which)
    for (int64_t i = 0; i < graph->rows; i++)
        if (i < first && return_fault(graph, i, &which) != SOUND)
            first = i;
    if (first == INT64_MAX)
        return true;
    fault_t fault = return_fault(graph, first, &which);
    describe(first, fault, which, graph->rows, why, len);
    return false;
}

/* An edge is a pair, and so is a diagonal of a quad; each counts twice. The number of edges follows
 * from Euler's formula for a ball, V - E + F - C = 1, with each inner face in two cells and each
 * boundary face in one. */
int64_t mcpi_graph_expected(const rt_mesh_t *mesh)
{
    if (mesh->elements[RT_HEXAHEDRON] > 0)
        return -1;
    return 2 * mesh->vertices + 2 * mesh->elements[RT_TETRAHEDRON] + 9 * mesh->elements[RT_PRISM] +
           5 * mesh->elements[RT_PYRAMID] - 2 + mesh->faces[RT_TRIANGLE] + 3 * mesh->faces[RT_QUAD];
}
