/*
 * dual.c - the median dual of a mesh: areas between neighbours, and the coefficients of the viscous
 * flux.
 *
 * Each vertex adds up over its own elements. An element is worked on once for each of its vertices,
 * but threads share nothing, and sums have the same order on any number of threads.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "blocks.h"

/* Computes sum += factor a x b. */
static void add_cross(double factor, const double a[3], const double b[3], double sum[3])
{
    sum[0] += factor * (a[1] * b[2] - a[2] * b[1]);
    sum[1] += factor * (a[2] * b[0] - a[0] * b[2]);
    sum[2] += factor * (a[0] * b[1] - a[1] * b[0]);
}

static void add_scaled(double factor, const double a[3], double sum[3])
{
    for (int d = 0; d < 3; d++)
        sum[d] += factor * a[d];
}

/* --- elements --- */

/* Faces, counter-clockwise as seen from outside; -1: a triangle. */
typedef struct {
    int faces, face[6][4];
} shape_t;
static const shape_t shapes[RT_ELEMENTS] = {
    {4, {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {2, 0, 3, -1}}},
    {5, {{0, 3, 2, 1}, {0, 1, 4, -1}, {1, 2, 4, -1}, {2, 3, 4, -1}, {3, 0, 4, -1}}},
    {5, {{0, 2, 1, -1}, {3, 4, 5, -1}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}}},
    {6, {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}}}};

/* Copies the corners relative to the element's centre, so that its size, not its position,
 * determines the rounding. */
static void corners(const rt_mesh_t *mesh, int size, const int32_t *vertex, double x[8][3])
{
    double centre[3] = {0, 0, 0};
    for (int b = 0; b < size; b++)
        add_scaled(1.0 / size, mesh->x + 3 * (int64_t)vertex[b], centre);
    for (int b = 0; b < size; b++)
        for (int d = 0; d < 3; d++)
            x[b][d] = mesh->x[3 * (int64_t)vertex[b] + d] - centre[d];
}

/* A face is the triangles between its edges and its centroid, whose value is the mean of the
 * corners'. So elements close, however bent their quads are, and linear fields are exact. The dual
 * face of an edge is two triangles, from its middle to the centre of the element (the origin) and
 * the centroids of the faces on either side. */
void mcpi_share(const rt_mesh_t *mesh, rt_element_t type, const int32_t *vertex, int a,
                mcpi_share_t *share)
{
    double x[8][3];
    corners(mesh, rt_element_size(type), vertex, x);
    memset(share, 0, sizeof *share);
    for (int f = 0; f < shapes[type].faces; f++) {
        const int *face = shapes[type].face[f];
        const int k = face[3] < 0 ? 3 : 4;
        double centroid[3] = {0, 0, 0}, whole[3] = {0, 0, 0};
        for (int i = 0; i < k; i++)
            add_scaled(1.0 / k, x[face[i]], centroid);
        for (int i = 0; i < k; i++) {
            const int p = face[i], q = face[(i + 1) % k];
            double to_p[3], to_q[3], middle[3], area[3] = {0, 0, 0};
            for (int d = 0; d < 3; d++) {
                to_p[d] = x[p][d] - centroid[d];
                to_q[d] = x[q][d] - centroid[d];
                middle[d] = (x[p][d] + x[q][d]) / 2;
            }
            add_cross(0.5, to_p, to_q, area);
            add_scaled(1.0 / 3, area, share->s[p]);
            add_scaled(1.0 / 3, area, share->s[q]);
            add_scaled(1, area, whole);
            /* from p to q: (0 - middle) x (centroid - middle) / 2 */
            if (p == a)
                add_cross(-0.5, middle, centroid, share->n[q]);
            else if (q == a)
                add_cross(0.5, middle, centroid, share->n[p]);
        }
        for (int i = 0; i < k; i++)
            add_scaled(1.0 / (3 * k), whole, share->s[face[i]]);
        share->volume += mcpi_dot(centroid, whole) / 3;
    }
}

/* --- dual mesh --- */

/* Adds one element to the dual cell of its vertex a. The viscous flux out of a's part goes through
 * all its dual faces, with the element's gradient: L_ab = sum_c (n_ac . s_b) / volume. */
static void add_element(const mcpi_incidence_t *in, int64_t place, int32_t vertex,
                        mcpi_source_t *source)
{
    rt_element_t type;
    const int32_t *of = mcpi_incidence_get(in, place, &type);
    const int size = rt_element_size(type);
    int a = 0;
    while (of[a] != vertex)
        a++;
    mcpi_share_t share;
    mcpi_share(in->mesh, type, of, a, &share);
    double out[3] = {0, 0, 0};
    for (int b = 0; b < size; b++)
        add_scaled(1, share.n[b], out);
    for (int b = 0; b < size; b++) {
        const double L = mcpi_dot(out, share.s[b]) / share.volume;
        if (b == a) {
            source->diagonal[vertex] += L;
            continue;
        }
        const int64_t entry = mcpi_graph_find(source->graph, vertex, of[b]);
        add_scaled(1, share.n[b], source->n + 3 * entry);
        source->viscous[entry] += L;
    }
    add_scaled(-1, out, source->boundary + 3 * (int64_t)vertex);
}

/* Clears the boundary of vertices inside: their dual cells close except for rounding. */
static void clear_inside(const mcpi_source_t *source)
{
    const mcpi_graph_t *graph = source->graph;
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < graph->rows; v++) {
        double *left = source->boundary + 3 * v, sum = 0;
        for (int64_t p = graph->start[v]; p < graph->start[v + 1]; p++)
            sum += sqrt(mcpi_dot(source->n + 3 * p, source->n + 3 * p));
        if (sqrt(mcpi_dot(left, left)) < 1e-12 * sum)
            memset(left, 0, 3 * sizeof *left);
    }
}

/* Returns whether the vertex has its list of neighbours, which a ghost has not. */
static bool is_own(const mcpi_graph_t *graph, int64_t v)
{
    return graph->start[v + 1] > graph->start[v];
}

static double *zeros(int64_t n)
{
    double *x = RT_NEW(double, (size_t)n, RT_HOST);
    memset(x, 0, (size_t)n * sizeof *x);
    return x;
}

void mcpi_make_dual(const mcpi_incidence_t *in, mcpi_source_t *source)
{
    const mcpi_graph_t *graph = source->graph;
    const int64_t rows = graph->rows;
    source->n = zeros(3 * graph->start[rows]);
    source->viscous = zeros(graph->start[rows]);
    source->boundary = zeros(3 * rows);
    source->diagonal = zeros(rows);
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < rows; v++)
        for (int64_t k = in->first[v]; is_own(graph, v) && k < in->first[v + 1]; k++)
            add_element(in, k, (int32_t)v, source);
    clear_inside(source);
}
