/*
 * check.c - is a mesh fit for use, and where is its boundary? And its end.
 */
#include "config.h"
#include "rt_sort.h"
#include "mesh.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void alya_mesh_destroy(alya_mesh_t *mesh)
{
    if (!mesh)
        return;
    RT_FREE(mesh->connectivity, RT_HOST);
    RT_FREE(mesh->x, RT_HOST);
    RT_FREE(mesh->node_id, RT_HOST);
    RT_FREE(mesh->flags, RT_HOST);
    RT_FREE(mesh, RT_HOST);
}

/* --- faults --- */

static const double flat = 1e-13, least_volume = 1e-30, most_volume = 1e30;

static bool has_finite_coordinates(const alya_mesh_t *mesh, int64_t n)
{
    return rt_finite(mesh->x[3 * n]) && rt_finite(mesh->x[3 * n + 1]) &&
           rt_finite(mesh->x[3 * n + 2]);
}

static double longest_edge(const alya_mesh_t *mesh, const int32_t *node)
{
    double square = 0;
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++) {
            double sum = 0;
            for (int d = 0; d < 3; d++) {
                double edge = mesh->x[3 * (int64_t)node[b] + d] - mesh->x[3 * (int64_t)node[a] + d];
                sum += edge * edge;
            }
            square = fmax(square, sum);
        }
    return sqrt(square);
}

typedef enum { SOUND, OUT_OF_RANGE, TWICE, INVERTED, FLAT, VOLUME } fault_t;

/* What is wrong with element e, and the node or the figure that shows it. */
static fault_t element_fault(const alya_mesh_t *mesh, int64_t e, double *figure)
{
    const int32_t *node = mesh->connectivity + 4 * e;
    for (int a = 0; a < 4; a++) {
        *figure = node[a];
        if (node[a] < 0 || node[a] >= mesh->nodes)
            return OUT_OF_RANGE;
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++) {
            *figure = node[a];
            if (node[a] == node[b])
                return TWICE;
        }
    double edge[3][3];
    alya_edges(mesh, node, edge);
    const double det = alya_determinant(edge), longest = longest_edge(mesh, node);
    *figure = det / 6;
    if (!rt_finite(det)) /* of finite coordinates: too large */
        return VOLUME;
    if (fabs(det) < flat * longest * longest * longest)
        return FLAT;
    if (det < 0)
        return INVERTED;
    return *figure < least_volume || *figure > most_volume ? VOLUME : SOUND;
}

static void describe(const alya_mesh_t *mesh, int64_t e, char *why, size_t len)
{
    double figure = 0;
    switch (element_fault(mesh, e, &figure)) {
    case OUT_OF_RANGE:
        snprintf(why, len, "element %" PRId64 " has node %.0f, and nodes are 0 to %" PRId64, e,
                 figure, mesh->nodes - 1);
        break;
    case TWICE:
        snprintf(why, len, "element %" PRId64 " has node %.0f twice", e, figure);
        break;
    case INVERTED:
        snprintf(why, len, "element %" PRId64 " is inverted: its volume is %g m^3", e, figure);
        break;
    case FLAT:
        snprintf(why, len, "element %" PRId64 " is flat: its volume is %g m^3", e, figure);
        break;
    default:
        snprintf(why, len, "element %" PRId64 " has a volume of %g m^3, outside %g to %g", e,
                 figure, least_volume, most_volume);
        break;
    }
}

bool alya_mesh_check(const alya_mesh_t *mesh, char *why, size_t len)
{
    int64_t first = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : first)
    for (int64_t n = 0; n < mesh->nodes; n++)
        if (n < first && !has_finite_coordinates(mesh, n))
            first = n;
    if (first < INT64_MAX) {
        snprintf(why, len, "node %" PRId64 " has a coordinate that is not finite", first);
        return false;
    }
#pragma omp parallel for schedule(static) reduction(min : first)
    for (int64_t e = 0; e < mesh->elements; e++) {
        double figure;
        if (e < first && element_fault(mesh, e, &figure) != SOUND)
            first = e;
    }
    if (first == INT64_MAX)
        return true;
    describe(mesh, first, why, len);
    return false;
}

/* --- twins --- */

/* The same for the same nodes in any order. */
static uint64_t hash_of_nodes(const int32_t *node)
{
    uint64_t sum = 0;
    for (int a = 0; a < 4; a++)
        sum += rt_hash((uint64_t)node[a], 4);
    return sum;
}

static bool same_nodes(const int32_t *node, const int32_t *other)
{
    for (int a = 0; a < 4; a++) /* an element's nodes differ: so to look one way is enough */
        if (node[a] != other[0] && node[a] != other[1] && node[a] != other[2] &&
            node[a] != other[3])
            return false;
    return true;
}

bool alya_mesh_check_twins(const alya_mesh_t *mesh, char *why, size_t len)
{
    const int32_t *node = mesh->connectivity;
    uint64_t *key = RT_NEW(uint64_t, (size_t)mesh->elements, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    int64_t first = -1, twin = INT64_MAX;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++) {
        key[e] = hash_of_nodes(node + 4 * e);
        list[e] = (uint32_t)e;
    }
    rt_sort(key, list, mesh->elements);
    /* The sort is stable, so of an element's twins the next comes first. */
    for (int64_t i = 0; i < mesh->elements; i++)
        for (int64_t j = i + 1; j < mesh->elements && key[j] == key[i]; j++)
            if (same_nodes(node + 4 * (int64_t)list[i], node + 4 * (int64_t)list[j])) {
                if (list[j] < twin) {
                    first = list[i];
                    twin = list[j];
                }
                break;
            }
    RT_FREE(key, RT_HOST);
    RT_FREE(list, RT_HOST);
    if (first < 0)
        return true;
    snprintf(why, len, "element %" PRId64 " has the same four nodes as element %" PRId64, twin,
             first);
    return false;
}

/* --- boundary --- */

/* The three nodes of the face opposite to node a, ascending. */
static void face(const int32_t *node, int a, int32_t sorted[3])
{
    int n = 0;
    for (int b = 0; b < 4; b++) {
        if (b == a)
            continue;
        int at = n++;
        for (; at > 0 && sorted[at - 1] > node[b]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = node[b];
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_keys(uint64_t *key, int64_t n)
{
    if (n > 64) {
        qsort(key, (size_t)n, sizeof *key, compare);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        uint64_t own = key[i];
        int64_t at = i;
        for (; at > 0 && key[at - 1] > own; at--)
            key[at] = key[at - 1];
        key[at] = own;
    }
}

static inline void mark(alya_mesh_t *mesh, int64_t n)
{
#pragma omp atomic
    mesh->flags[n] |= ALYA_BOUNDARY;
}

/* key[first[n] .. first[n+1]-1]: of the faces whose least node is n, the other two nodes. In no
 * order within a node. */
static uint64_t *list_faces(const alya_mesh_t *mesh, int64_t *first)
{
    uint64_t *key = RT_NEW(uint64_t, 4 * (size_t)mesh->elements, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes + 2; n++)
        first[n] = 0;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t sorted[3];
            face(mesh->connectivity + 4 * e, a, sorted);
#pragma omp atomic
            first[sorted[0] + 2]++;
        }
    /* from here on first[n + 1] is the place of n's next face; at last, of the first of n + 1 */
    for (int64_t n = 0; n < mesh->nodes; n++)
        first[n + 2] += first[n + 1];
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t sorted[3];
            int64_t at;
            face(mesh->connectivity + 4 * e, a, sorted);
#pragma omp atomic capture
            at = first[sorted[0] + 1]++;
            key[at] = (uint64_t)sorted[1] << 32 | (uint64_t)sorted[2];
        }
    return key;
}

double alya_boundary_memory(double elements, double nodes)
{
    return 32 * elements + 8 * (nodes + 2);
}

void alya_mesh_find_boundary(alya_mesh_t *mesh)
{
    int64_t *first = RT_NEW(int64_t, (size_t)mesh->nodes + 2, RT_HOST);
    uint64_t *key = list_faces(mesh, first);
#pragma omp parallel for schedule(dynamic, 4096)
    for (int64_t n = 0; n < mesh->nodes; n++) {
        int64_t end = first[n + 1];
        sort_keys(key + first[n], end - first[n]);
        for (int64_t i = first[n], next; i < end; i = next) {
            for (next = i + 1; next < end && key[next] == key[i];)
                next++;
            if (next - i > 1)
                continue;
            mark(mesh, n);
            mark(mesh, (int64_t)(key[i] >> 32));
            mark(mesh, (int64_t)(key[i] & UINT32_MAX));
        }
    }
    RT_FREE(key, RT_HOST);
    RT_FREE(first, RT_HOST);
}
