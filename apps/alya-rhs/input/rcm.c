/*
 * rcm.c - numbers nodes by reverse Cuthill-McKee.
 *
 * A breadth-first search from an end of the mesh, neighbours by rising degree, the result reversed:
 * the nodes of an element get numbers close to each other.
 */
#include "config.h"
#include "base/sort.h"
#include "input.h"
#include <string.h>

typedef struct {
    const alya_mesh_t *mesh;
    int64_t *first;   /* [nodes + 1] into element */
    int32_t *element; /* elements of each node, in ascending order */
    int32_t *degree;  /* [nodes] neighbours */
    int32_t *queue;   /* [nodes] nodes in the order of the search */
    uint8_t *seen;    /* [nodes] */
} graph_t;

static void list_elements(graph_t *g)
{
    const alya_mesh_t *mesh = g->mesh;
    memset(g->first, 0, ((size_t)mesh->nodes + 1) * sizeof *g->first);
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        g->first[mesh->connectivity[i] + 1]++;
    for (int64_t n = 0; n < mesh->nodes; n++)
        g->first[n + 1] += g->first[n];
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        g->element[g->first[mesh->connectivity[i]]++] = (int32_t)(i / 4);
    for (int64_t n = mesh->nodes; n > 0; n--) /* each has advanced to the start of the next */
        g->first[n] = g->first[n - 1];
    g->first[0] = 0;
}

/* Appends the unseen neighbours of n to the queue; returns its new end. */
static int64_t visit(graph_t *g, int32_t n, int64_t tail)
{
    for (int64_t i = g->first[n]; i < g->first[n + 1]; i++)
        for (int a = 0; a < 4; a++) {
            int32_t other = g->mesh->connectivity[4 * (int64_t)g->element[i] + a];
            if (!g->seen[other]) {
                g->seen[other] = 1;
                g->queue[tail++] = other;
            }
        }
    return tail;
}

/* Counts the neighbours of all nodes with the search itself, around each node separately. */
static void count_neighbours(graph_t *g)
{
    for (int32_t n = 0; n < g->mesh->nodes; n++) {
        g->seen[n] = 1;
        int64_t tail = visit(g, n, 0);
        g->degree[n] = (int32_t)tail;
        g->seen[n] = 0;
        for (int64_t i = 0; i < tail; i++)
            g->seen[g->queue[i]] = 0;
    }
}

/* Returns a node of least degree among those farthest from `start`. Leaves everything as it was
 * except the queue from `head` on. */
static int32_t farthest(graph_t *g, int32_t start, int64_t head, int64_t *depth)
{
    int64_t level = head, tail = head + 1, at = head;
    g->queue[head] = start;
    g->seen[start] = 1;
    *depth = 0;
    while (at < tail) {
        int64_t end = tail;
        level = at;
        for (; at < end; at++)
            tail = visit(g, g->queue[at], tail);
        *depth += tail > end;
    }
    int32_t best = g->queue[level];
    for (int64_t i = level; i < tail; i++)
        if (g->degree[g->queue[i]] < g->degree[best])
            best = g->queue[i];
    for (int64_t i = head; i < tail; i++)
        g->seen[g->queue[i]] = 0;
    return best;
}

/* Sorts queue[begin .. end-1] by degree, stable. */
static void sort_by_degree(graph_t *g, int64_t begin, int64_t end)
{
    if (end - begin > 64) { /* the hub of a fan may have a million neighbours */
        uint64_t *key = RT_NEW(uint64_t, (size_t)(end - begin), RT_HOST);
        uint32_t *node = RT_NEW(uint32_t, (size_t)(end - begin), RT_HOST);
        for (int64_t i = begin; i < end; i++) {
            node[i - begin] = (uint32_t)g->queue[i];
            key[i - begin] = (uint64_t)g->degree[g->queue[i]];
        }
        rt_sort(key, node, end - begin);
        for (int64_t i = begin; i < end; i++)
            g->queue[i] = (int32_t)node[i - begin];
        RT_FREE(key, RT_HOST);
        RT_FREE(node, RT_HOST);
        return;
    }
    for (int64_t i = begin + 1; i < end; i++) {
        int32_t node = g->queue[i];
        int64_t j = i;
        for (; j > begin && g->degree[g->queue[j - 1]] > g->degree[node]; j--)
            g->queue[j] = g->queue[j - 1];
        g->queue[j] = node;
    }
}

/* Puts the nodes in Cuthill-McKee order in g->queue; returns how many are in an element. */
static int64_t cuthill_mckee(graph_t *g)
{
    int64_t tail = 0;
    memset(g->seen, 0, (size_t)g->mesh->nodes);
    for (int32_t n = 0; n < g->mesh->nodes; n++) {
        if (g->seen[n] || g->first[n] == g->first[n + 1])
            continue;
        /* Starts at an end of this component: goes to the far end as long as that increases the
         * depth. */
        int64_t before, depth;
        int32_t start = n, far = farthest(g, start, tail, &before);
        for (int attempt = 0; attempt < 5; attempt++) {
            int32_t next = farthest(g, far, tail, &depth);
            start = far;
            if (depth <= before)
                break;
            before = depth;
            far = next;
        }
        int64_t at = tail;
        g->seen[start] = 1;
        g->queue[tail++] = start;
        for (; at < tail; at++) {
            int64_t end = visit(g, g->queue[at], tail);
            sort_by_degree(g, tail, end);
            tail = end;
        }
    }
    return tail;
}

void alya_rcm_number(const alya_mesh_t *mesh, int32_t *number)
{
    size_t nodes = (size_t)mesh->nodes;
    graph_t g = {.mesh = mesh,
                 .first = RT_NEW(int64_t, nodes + 1, RT_HOST),
                 .element = RT_NEW(int32_t, 4 * (size_t)mesh->elements, RT_HOST),
                 .degree = RT_NEW(int32_t, nodes, RT_HOST),
                 .queue = RT_NEW(int32_t, nodes, RT_HOST),
                 .seen = RT_NEW(uint8_t, nodes, RT_HOST)};
    list_elements(&g);
    memset(g.seen, 0, nodes);
    count_neighbours(&g);
    int64_t used = cuthill_mckee(&g), last = used;
    for (int64_t i = 0; i < used; i++)
        number[g.queue[i]] = (int32_t)(used - 1 - i);
    for (int64_t n = 0; n < mesh->nodes; n++)
        if (!g.seen[n])
            number[n] = (int32_t)last++;
    RT_FREE(g.first, RT_HOST);
    RT_FREE(g.element, RT_HOST);
    RT_FREE(g.degree, RT_HOST);
    RT_FREE(g.queue, RT_HOST);
    RT_FREE(g.seen, RT_HOST);
}
