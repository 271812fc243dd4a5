/*
 * picture.c - --picture: u and the materials of all nodes for ParaView, or an image of the
 * plane of the source (y): uz, the displacement along the force, or the residual there (--show),
 * with the outlines of the tissues and scales.
 *
 * No rank ever holds the whole box. A .vti file has a place for each value, so rank 0 receives the
 * layers of one rank after the other and puts their rows there. For an image every rank has its own
 * nodes, and the picture takes the largest value of each.
 *
 * Rank 0 writes. If it fails, it still takes part in everything collective and prints one line at
 * the end. The file is written whole or not at all.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gfnn.h"
#include "io/image.h"

const char *gfnn_picture_why_not(const char *path)
{
    if (rt_image_ends_with(path, ".vti") || rt_image_ends_with(path, ".csv"))
        return NULL;
    return rt_image_why_not(path,
                            "the name must end in .vti (u and the materials, for ParaView), in "
                            ".ppm or .png (an image of the plane of the source), or in "
                            ".csv (u at --receivers over time)");
}

/* Returns the material that a node is shown with: that of the element above it in x, y and z, or
 * the last one. */
static uint8_t material(const gfnn_problem_t *p, int64_t i, int64_t j, int64_t k)
{
    int64_t at[3] = {i, j, k};
    for (int d = 0; d < 3; d++)
        at[d] -= p->box.first[d] + at[d] == p->box.E[d];
    return p->model->id[gfnn_at(&p->box.wide, at[0], at[1], at[2])];
}

/* --- .vti: VTK's XML for images, arrays as raw bytes after the text --- */

enum {
    VECTOR = 3 * sizeof(float),
    VALUES = VECTOR + 1
}; /* bytes per node of u, and of u with the material */

typedef struct {
    rt_draft_t draft;
    int64_t at[2]; /* where the values of u and of the materials begin in the file */
} vti_t;

static void vti_begin(vti_t *v, const gfnn_problem_t *p, const char *path)
{
    static const char text[] =
        "<ImageData WholeExtent=\"0 %lld 0 %lld 0 %lld\" Origin=\"0 0 0\" "
        "Spacing=\"%.9g %.9g %.9g\">\n"
        "<Piece Extent=\"0 %lld 0 %lld 0 %lld\">\n"
        "<PointData Vectors=\"u\" Scalars=\"material\">\n"
        "<DataArray type=\"Float32\" Name=\"u\" NumberOfComponents=\"3\" format=\"appended\" "
        "offset=\"%lld\"/>\n"
        "<DataArray type=\"UInt8\" Name=\"material\" format=\"appended\" offset=\"%lld\"/>\n"
        "</PointData>\n</Piece>\n</ImageData>\n";
    const int64_t *N = p->box.N;
    const uint64_t nodes = (uint64_t)(N[0] * N[1] * N[2]), bytes[2] = {VECTOR * nodes, nodes};
    const long long x = N[0] - 1, y = N[1] - 1, z = N[2] - 1;
    const double ds = p->config->ds;
    char body[sizeof text + 256];
    snprintf(body, sizeof body, text, x, y, z, ds, ds, ds, x, y, z,
             (long long)rt_vtk_offset(bytes, 0), (long long)rt_vtk_offset(bytes, 1));
    rt_vtk_begin(&v->draft, path, "ImageData", body, bytes, 2, v->at);
}

/* Packs layer k of this rank: u of all its nodes, then their materials. */
static void pack_layer(const gfnn_problem_t *p, const double *u, int64_t k, unsigned char *layer)
{
    const gfnn_grid_t *g = &p->box.fine;
    unsigned char *ids = layer + VECTOR * g->n[0] * g->n[1];
    for (int64_t j = 0; j < g->n[1]; j++)
        for (int64_t i = 0; i < g->n[0]; i++) {
            const int64_t at = gfnn_at(g, i, j, k), node = j * g->n[0] + i;
            const float value[3] = {(float)u[at], (float)u[g->plane + at],
                                    (float)u[2 * g->plane + at]};
            memcpy(layer + VECTOR * node, value, sizeof value);
            ids[node] = material(p, i, j, k);
        }
}

static void put_layer(vti_t *v, const gfnn_box_t *from, int64_t k, const unsigned char *layer)
{
    const int64_t *n = from->n, *N = from->N;
    const unsigned char *ids = layer + VECTOR * n[0] * n[1];
    for (int64_t j = 0; j < n[1]; j++) {
        const int64_t node =
            ((from->first[2] + k) * N[1] + from->first[1] + j) * N[0] + from->first[0];
        rt_draft_put(&v->draft, v->at[0] + VECTOR * node, layer + VECTOR * j * n[0],
                     (size_t)(VECTOR * n[0]));
        rt_draft_put(&v->draft, v->at[1] + node, ids + j * n[0], (size_t)n[0]);
    }
}

static void write_vti(const gfnn_problem_t *p, const double *u, const char *path)
{
    const bool writer = rt_comm_rank() == 0;
    const size_t ranks = (size_t)rt_comm_size();
    const int64_t mine = VALUES * p->box.n[0] * p->box.n[1];
    unsigned char *layer = RT_NEW(unsigned char, (size_t)mine, RT_HOST);
    int64_t *send = RT_NEW(int64_t, ranks, RT_HOST), *recv = RT_NEW(int64_t, ranks, RT_HOST);
    vti_t *v = RT_NEW(vti_t, 1, RT_HOST);
    memset(send, 0, ranks * sizeof *send);
    if (writer)
        vti_begin(v, p, path);
    for (int rank = 0; rank < rt_comm_size(); rank++) {
        const gfnn_box_t from = gfnn_box(p->config, rank);
        send[0] = rt_comm_rank() == rank ? mine : 0;
        for (int64_t k = 0; k < from.n[2]; k++) {
            if (send[0] > 0)
                pack_layer(p, u, k, layer);
            void *got = rt_comm_exchange(layer, send, 1, recv);
            if (writer)
                put_layer(v, &from, k, got);
            free(got);
        }
    }
    if (writer)
        rt_image_end_file(&v->draft, path);
    RT_FREE(v, RT_HOST);
    RT_FREE(send, RT_HOST);
    RT_FREE(recv, RT_HOST);
    RT_FREE(layer, RT_HOST);
}

/* --- the plane of the source, one value per node --- */

typedef struct {
    int64_t n[2];   /* nodes along x and z */
    double *u, *id; /* [z][x]: what is shown, and the material; -INFINITY, -1: not on this rank */
} slice_t;

static void take_slice(const gfnn_problem_t *p, const double *u, slice_t *s)
{
    const gfnn_grid_t *g = &p->box.fine;
    const int64_t j = gfnn_source_node(&p->box, 1) - p->box.first[1];
    if (j < 0 || j >= g->n[1])
        return;
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t i = 0; i < g->n[0]; i++) {
            const double value = u[2 * g->plane + gfnn_at(g, i, j, k)];
            const int64_t node = (p->box.first[2] + k) * s->n[0] + p->box.first[0] + i;
            s->u[node] = isnan(value) ? 0 : value;
            s->id[node] = material(p, i, j, k);
        }
}

/* Returns the size of the strongest colour: all but one in 200 nodes are below it. Next to the
 * source |uz| is far above the rest. */
static double top_of_scale(const slice_t *s)
{
    const size_t n = (size_t)(s->n[0] * s->n[1]);
    double *value = RT_NEW(double, n, RT_HOST);
    for (size_t i = 0; i < n; i++)
        value[i] = fabs(s->u[i]);
    const double top = rt_image_usual_most(value, n);
    RT_FREE(value, RT_HOST);
    return top;
}

/* The root makes a wave of a hundredth visible. */
static void colour(double share, unsigned char rgb[3])
{
    rt_image_colour(copysign(sqrt(fabs(share)), share), rgb);
}

/* Returns the value between the nodes around a place of the slice, in nodes, by bilinear interpolation. */
static double between(const slice_t *s, double x, double z)
{
    const int64_t i = x < (double)(s->n[0] - 1) ? (int64_t)x : s->n[0] - 2;
    const int64_t k = z < (double)(s->n[1] - 1) ? (int64_t)z : s->n[1] - 2;
    const double *low = s->u + k * s->n[0] + i, *high = low + s->n[0];
    const double dx = x - (double)i, dz = z - (double)k;
    return (1 - dz) * ((1 - dx) * low[0] + dx * low[1]) + dz * ((1 - dx) * high[0] + dx * high[1]);
}

/* Paints the slice with its scales. Values are interpolated between nodes; where an element and the one
 * to the right of it or above it are of two tissues, there is a line between them. */
static rt_image_t paint(const slice_t *s, double ds, bool of_u)
{
    enum { LONG_SIDE = 640, RIGHT = 150, FOOT = 24, LINE = 90 };
    const double nodes[2] = {(double)(s->n[0] - 1), (double)(s->n[1] - 1)};
    const double pixels = fmax(1, floor(LONG_SIDE / fmax(nodes[0], nodes[1])));
    const int width = (int)(pixels * nodes[0]), height = (int)(pixels * nodes[1]);
    rt_image_t image = rt_image_new(width + RIGHT, height + FOOT, 255);
    const double top = top_of_scale(s);
    for (int64_t at = 0; at < (int64_t)width * height; at++) {
        const int64_t column = at % width, row = at / width;
        const double x = ((double)column + 0.5) / pixels;
        const double z = nodes[1] - ((double)row + 0.5) / pixels;
        colour(top > 0 ? between(s, x, z) / top : 0, image.rgb + 3 * (row * image.width + column));
    }
    for (int64_t k = 0; k < s->n[1] - 1; k++)
        for (int64_t i = 0; i < s->n[0] - 1; i++) {
            const double *id = s->id + k * s->n[0] + i;
            const int size = (int)pixels, left = (int)i * size, over = height - (int)(k + 1) * size;
            if (i < s->n[0] - 2 && id[0] != id[1])
                rt_image_fill(&image, left + size - 1, over, 1, size, LINE);
            if (k < s->n[1] - 2 && id[0] != id[s->n[0]])
                rt_image_fill(&image, left, over, size, 1, LINE);
        }
    rt_image_axes(&image, width, height, (double[]){0, 0},
                  (double[]){1e3 * ds * nodes[0], 1e3 * ds * nodes[1]}, "mm");
    double factor = 1;
    char name[16] = "rz";
    if (of_u)
        snprintf(name, sizeof name, "uz/%sm", rt_image_prefix(top, &factor));
    rt_image_bar(&image, width + 72, 24, height - 12, factor * top, name, colour);
    return image;
}

static void draw_slice(const gfnn_problem_t *p, const double *u, const char *path)
{
    slice_t s = {.n = {p->box.N[0], p->box.N[2]}};
    const size_t nodes = (size_t)(s.n[0] * s.n[1]);
    s.u = RT_NEW(double, nodes, RT_HOST);
    s.id = RT_NEW(double, nodes, RT_HOST);
    for (size_t i = 0; i < nodes; i++) {
        s.u[i] = -INFINITY;
        s.id[i] = -1;
    }
    take_slice(p, u, &s);
    rt_comm_max(s.u, (int)nodes);
    rt_comm_max(s.id, (int)nodes);
    if (rt_comm_rank() == 0) {
        rt_image_t image = paint(&s, p->config->ds, p->config->show == GFNN_SHOW_UZ);
        rt_image_write(&image, path);
        rt_image_free(&image);
    }
    RT_FREE(s.u, RT_HOST);
    RT_FREE(s.id, RT_HOST);
}

/* Makes q = f - A du of the last step; returns |f| over all ranks. */
static double make_residual(gfnn_solver_t *s)
{
    double square = s->vectors->dot(&s->view_vec, s->f, s->f);
    rt_comm_sum(&square, 1);
    gfnn_apply(s, &s->problem->step.A, s->x, s->q);
    s->vectors->axpby(&s->view_vec, 1, s->f, -1, s->q);
    return sqrt(square);
}

void gfnn_picture(const void *solver, const char *path)
{
    gfnn_solver_t *s = (gfnn_solver_t *)solver; /* whose q is scratch between solves */
    const gfnn_problem_t *p = s->problem;
    const size_t values = 3 * (size_t)p->box.fine.plane;
    if (s->kernels->ladder != GFNN_LADDER_SOLVE)
        return;
    if (rt_image_ends_with(path, ".csv")) {
        gfnn_write_records(s, path);
        return;
    }
    const bool residual = p->config->show == GFNN_SHOW_RESIDUAL;
    double *u = RT_NEW(double, values, RT_HOST);
    const double unit = residual ? make_residual(s) : 1;
    rt_copy(u, RT_HOST, residual ? s->q : s->u, s->space, values * sizeof *u);
    for (size_t i = 0; i < values; i++)
        u[i] /= unit;
    if (rt_image_ends_with(path, ".vti"))
        write_vti(p, u, path);
    else
        draw_slice(p, u, path);
    RT_FREE(u, RT_HOST);
}
