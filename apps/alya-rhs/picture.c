/*
 * picture.c - --picture: the mesh with its fields for ParaView, or an image of the speed in a
 * plane.
 *
 * No rank ever holds the whole mesh. A .vtu file has one place for each value of each array, so
 * rank 0 receives the parts one after the other and writes them there. For an image every rank
 * draws its own tetrahedra, and the largest value of each pixel is kept.
 *
 * Rank 0 writes. If that fails, rank 0 still takes part in the collective calls, and prints one
 * line at the end. The file is either complete or absent.
 */
#include "config.h"
#include "alya.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "io/image.h"

const char *alya_picture_why_not(const char *path)
{
    if (rt_image_ends_with(path, ".vtu"))
        return NULL;
    return rt_image_why_not(path, "the name must end in .vtu (the mesh, u and r, for ParaView), or "
                                  "in .ppm or .png (an image of the speed in the plane y = 0)");
}

/* --- .vtu: VTK's XML for unstructured grids, arrays as raw bytes after the text --- */

enum { VELOCITY, RHS, POINTS, CONNECTIVITY, OFFSETS, TYPES, ARRAYS };
enum { TETRAHEDRON = 10, BLOCK = 1 << 16 };

typedef struct {
    rt_draft_t draft;
    int64_t nodes, elements; /* of all ranks */
    int64_t at[ARRAYS];      /* where each array's values begin in the file */
} vtu_t;

static void vtu_begin(vtu_t *v, const char *path)
{
    static const char text[] =
        "<UnstructuredGrid>\n<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n"
        "<PointData Vectors=\"velocity\">\n"
        "<DataArray type=\"Float64\" Name=\"velocity\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Float64\" Name=\"r\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n</PointData>\n<Points>\n"
        "<DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n</Points>\n<Cells>\n"
        "<DataArray type=\"Int64\" Name=\"connectivity\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Int64\" Name=\"offsets\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"UInt8\" Name=\"types\" format=\"appended\" offset=\"%lld\"/>\n"
        "</Cells>\n</Piece>\n</UnstructuredGrid>\n";
    const uint64_t field = (uint64_t)v->nodes * 3 * sizeof(double);
    const uint64_t elements = (uint64_t)v->elements;
    const uint64_t bytes[ARRAYS] = {field, field, field, 32 * elements, 8 * elements, elements};
    char body[sizeof text + 256];
    long long offset[ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        offset[i] = (long long)rt_vtk_offset(bytes, i);
    snprintf(body, sizeof body, text, (long long)v->nodes, (long long)v->elements, offset[0],
             offset[1], offset[2], offset[3], offset[4], offset[5]);
    rt_vtk_begin(&v->draft, path, "UnstructuredGrid", body, bytes, ARRAYS, v->at);
}

/* Writes where each cell's nodes end, and what each cell is: known without the mesh. */
static void vtu_cells(vtu_t *v)
{
    int64_t *ends = RT_NEW(int64_t, BLOCK, RT_HOST);
    unsigned char *types = RT_NEW(unsigned char, BLOCK, RT_HOST);
    memset(types, TETRAHEDRON, BLOCK);
    for (int64_t first = 0; first < v->elements; first += BLOCK) {
        int64_t n = v->elements - first < BLOCK ? v->elements - first : BLOCK;
        for (int64_t i = 0; i < n; i++)
            ends[i] = 4 * (first + i + 1);
        rt_draft_put(&v->draft, v->at[OFFSETS] + 8 * first, ends, (size_t)n * sizeof *ends);
        rt_draft_put(&v->draft, v->at[TYPES] + first, types, (size_t)n);
    }
    RT_FREE(ends, RT_HOST);
    RT_FREE(types, RT_HOST);
}

/* Writes n elements of a part. The first is element `first` of the file, and the part's node 0 is
 * node `node` of the file. */
static void vtu_connectivity(vtu_t *v, int64_t first, int64_t node, const int32_t *part, int64_t n)
{
    int64_t *wide = RT_NEW(int64_t, (size_t)4 * BLOCK, RT_HOST);
    for (int64_t begin = 0; begin < 4 * n; begin += 4 * BLOCK) {
        int64_t count = 4 * n - begin < 4 * BLOCK ? 4 * n - begin : 4 * BLOCK;
        for (int64_t i = 0; i < count; i++)
            wide[i] = node + part[begin + i];
        rt_draft_put(&v->draft, v->at[CONNECTIVITY] + 32 * first + 8 * begin, wide,
                     (size_t)count * sizeof *wide);
    }
    RT_FREE(wide, RT_HOST);
}

/* Sends n items of rank `from` to rank 0, which gets them (the caller frees them) and their number.
 * Returns NULL on all other ranks. Collective. */
static void *part_of(int from, const void *mine, int64_t n, size_t unit, int64_t *got)
{
    size_t ranks = (size_t)rt_comm_size();
    int64_t *send = RT_NEW(int64_t, ranks, RT_HOST);
    int64_t *recv = RT_NEW(int64_t, ranks, RT_HOST);
    memset(send, 0, ranks * sizeof *send);
    send[0] = rt_comm_rank() == from ? n : 0;
    void *part = rt_comm_exchange(mine, send, unit, recv);
    *got = recv[from];
    RT_FREE(send, RT_HOST);
    RT_FREE(recv, RT_HOST);
    return part;
}

static void write_vtu(const alya_mesh_t *mesh, const double *u, const double *r, const char *path)
{
    const double *const field[3] = {[VELOCITY] = u, [RHS] = r, [POINTS] = mesh->x};
    const bool writer = rt_comm_rank() == 0;
    int64_t total[2] = {mesh->nodes, mesh->elements}, nodes = 0, elements = 0, n = 0;
    rt_comm_sum_i64(total, 2);
    vtu_t *v = RT_NEW(vtu_t, 1, RT_HOST);
    v->nodes = total[0];
    v->elements = total[1];
    if (writer) {
        vtu_begin(v, path);
        vtu_cells(v);
    }
    for (int from = 0; from < rt_comm_size(); from++) {
        /* Elements first: their nodes are numbered after the nodes of the ranks before. */
        void *part = part_of(from, mesh->connectivity, mesh->elements, 4 * sizeof(int32_t), &n);
        if (writer)
            vtu_connectivity(v, elements, nodes, part, n);
        elements += n;
        free(part);
        for (int i = VELOCITY; i <= POINTS; i++) {
            part = part_of(from, field[i], mesh->nodes, 3 * sizeof(double), &n);
            if (writer)
                rt_draft_put(&v->draft, v->at[i] + 24 * nodes, part, (size_t)n * 24);
            free(part);
        }
        nodes += n;
    }
    if (writer)
        rt_image_end_file(&v->draft, path);
    RT_FREE(v, RT_HOST);
}

/* --- the speed in a vertical plane, one value per pixel --- */

/* Pixels; 1248 x 424 with the scales. */
enum { LONG_SIDE = 1104, SHORT_SIDE = 400, BAR = 144, FOOT = 24 };
#define HILL_TOP 60.0 /* m, five times the height of the hill */

typedef struct {
    int width, height;
    double plane;             /* y, m */
    double low[2], pixels[2]; /* x and z: origin of the image, m; pixels per metre */
    bool ground;              /* there is ground below the mesh */
    double *speed;            /* [height][width] from the bottom up, m/s; -1 outside the mesh */
} slice_t;

/* A point where the plane cuts an edge. */
typedef struct {
    double at[2]; /* pixels; whole numbers are pixel centres */
    double u[3];
} cut_t;

static void slice_place(slice_t *s, const alya_mesh_t *mesh, bool hill)
{
    double box[6]; /* least coordinates, and minus the largest ones */
    for (int i = 0; i < 6; i++)
        box[i] = INFINITY;
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int i = 0; i < 3; i++) {
            box[i] = fmin(box[i], mesh->x[3 * n + i]);
            box[3 + i] = fmin(box[3 + i], -mesh->x[3 * n + i]);
        }
    rt_comm_min(box, 6);
    double width = -box[3] - box[0], height = -box[5] - box[2];
    s->plane = box[1] < 0 && box[4] < 0 ? 0 : (box[1] - box[4]) / 2;
    s->low[0] = box[0];
    s->low[1] = box[2];
    s->ground = hill;
    if (hill) {
        height = fmin(height, HILL_TOP);
        s->low[1] -= height / 20; /* or the ground in front of the hill would not be visible */
        height += height / 20;
    }
    /* True to scale, unless that would be very flat or narrow. */
    double share = fmin(width, height) / fmax(width, height);
    int shorter = (int)fmax(SHORT_SIDE, round(LONG_SIDE * share));
    s->width = width >= height ? LONG_SIDE : shorter;
    s->height = width >= height ? shorter : LONG_SIDE;
    s->pixels[0] = s->width / width;
    s->pixels[1] = s->height / height;
}

/* Cuts the edge from node a before the plane to node b in or behind it. */
static cut_t cut_edge(const slice_t *s, const double *x, const double *u, int32_t a, int32_t b)
{
    const double *xa = x + 3 * (int64_t)a, *xb = x + 3 * (int64_t)b;
    const double *ua = u + 3 * (int64_t)a, *ub = u + 3 * (int64_t)b;
    double t = (s->plane - xa[1]) / (xb[1] - xa[1]);
    cut_t c;
    for (int i = 0; i < 2; i++) /* x and z */
        c.at[i] = ((1 - t) * xa[2 * i] + t * xb[2 * i] - s->low[i]) * s->pixels[i] - 0.5;
    for (int i = 0; i < 3; i++)
        c.u[i] = (1 - t) * ua[i] + t * ub[i];
    return c;
}

/* Returns twice the area of the triangle p, a, b. */
static double area(const double p[2], const double a[2], const double b[2])
{
    return (a[0] - p[0]) * (b[1] - p[1]) - (a[1] - p[1]) * (b[0] - p[0]);
}

/* Draws one triangle. The largest value of a pixel is kept, so the image does not depend on the
 * order. */
static void draw_triangle(slice_t *s, const cut_t *a, const cut_t *b, const cut_t *c)
{
    static const double edge = -1e-9; /* a centre on an edge is in both triangles, never in
                                       * neither */
    const double whole = area(a->at, b->at, c->at);
    const int size[2] = {s->width, s->height};
    int from[2], to[2];
    for (int i = 0; i < 2; i++) {
        double least = fmin(a->at[i], fmin(b->at[i], c->at[i]));
        double most = fmax(a->at[i], fmax(b->at[i], c->at[i]));
        from[i] = (int)fmin(fmax(ceil(least - 1e-6), 0), size[i]);
        to[i] = (int)fmin(fmax(floor(most + 1e-6), -1), size[i] - 1);
    }
    for (int j = from[1]; j <= to[1]; j++)
        for (int i = from[0]; i <= to[0]; i++) {
            const double p[2] = {i, j};
            double la = area(p, b->at, c->at) / whole, lb = area(p, c->at, a->at) / whole;
            double lc = 1 - la - lb, square = 0;
            if (!(la >= edge && lb >= edge && lc >= edge)) /* nor if there is no area */
                continue;
            for (int d = 0; d < 3; d++) {
                double v = la * a->u[d] + lb * b->u[d] + lc * c->u[d];
                square += v * v;
            }
            double *pixel = &s->speed[(int64_t)j * s->width + i];
            if (sqrt(square) > *pixel) /* false for NaN: such a pixel stays empty */
                *pixel = sqrt(square);
        }
}

/* Draws all elements. A node in the plane counts as behind it, so of two elements with a common
 * face in the plane one is drawn, and no pixel is left out. */
static void draw_elements(slice_t *s, const alya_mesh_t *mesh, const double *u)
{
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < mesh->elements; e++) {
        const int32_t *node = mesh->connectivity + 4 * e;
        int32_t before[4] = {0}, behind[4] = {0};
        int n = 0, m = 0;
        for (int a = 0; a < 4; a++)
            if (mesh->x[3 * (int64_t)node[a] + 1] < s->plane)
                before[n++] = node[a];
            else
                behind[m++] = node[a];
        if (n == 0 || m == 0)
            continue;
        cut_t c[4]; /* a triangle, or a quadrilateral in order around it */
        for (int i = 0; i < 4; i++) {
            int p = n == 2 ? i / 2 : n == 1 ? 0 : i % 3;
            int q = n == 2 ? (i == 1 || i == 2) : n == 1 ? i % 3 : 0;
            c[i] = cut_edge(s, mesh->x, u, before[p], behind[q]);
        }
#pragma omp critical(alya_picture) /* few elements get here: those that the plane cuts */
        {
            draw_triangle(s, &c[0], &c[1], &c[2]);
            if (n == 2)
                draw_triangle(s, &c[0], &c[2], &c[3]);
        }
    }
}

/* --- the image --- */

static void paint(const slice_t *s, double most, rt_image_t *image)
{
    static const unsigned char ground[3] = {128, 128, 128}, outside[3] = {236, 236, 236};
    for (int i = 0; i < s->width; i++) {
        int first = 0; /* lowest pixel of this column that is in the mesh */
        while (first < s->height && s->speed[(int64_t)first * s->width + i] < 0)
            first++;
        for (int j = 0; j < s->height; j++) {
            double v = s->speed[(int64_t)j * s->width + i];
            unsigned char *rgb = image->rgb + 3 * ((int64_t)(s->height - 1 - j) * image->width + i);
            if (v >= 0)
                rt_image_viridis(most > 0 ? v / most : 0, rgb);
            else
                memcpy(rgb, s->ground && j < first && first < s->height ? ground : outside, 3);
        }
    }
}

/* Paints x below the picture and z to its right, in metres. */
static void paint_axes(const slice_t *s, rt_image_t *image)
{
    const int size[2] = {s->width, s->height};
    for (int d = 0; d < 2; d++) {
        const double extent = size[d] / s->pixels[d], step = rt_image_step(extent, 8 - 2 * d);
        const double first = ceil(s->low[d] / step), last = floor((s->low[d] + extent) / step);
        for (double k = first; k <= last; k++) {
            const int at = (int)((k * step - s->low[d]) * s->pixels[d]);
            const char *unit = k == last ? " m" : "";
            if (d == 0) {
                const int x = at < s->width ? at : s->width - 1;
                rt_image_fill(image, x, s->height, 1, 5, 0);
                rt_image_number(image, x < 12 ? 0 : x - 12, s->height + 9, k * step, unit);
            } else {
                const int y = at < s->height ? s->height - 1 - at : 0;
                rt_image_fill(image, s->width, y, 5, 1, 0);
                rt_image_number(image, s->width + 9, y < 5 ? 0 : y - 5, k * step, unit);
            }
        }
    }
}

static void write_image(const slice_t *s, double most, const char *path)
{
    rt_image_t image = rt_image_new(s->width + BAR, s->height + FOOT, 255);
    paint(s, most, &image);
    paint_axes(s, &image);
    rt_image_bar(&image, s->width + 64, 24, s->height - 12, most, "m/s");
    rt_image_write(&image, path);
    rt_image_free(&image);
}

/* Returns the speed of the lightest colour: the largest speed, unless it is a spike, far above all
 * but one in 200 pixels; then theirs. */
static double top_of_scale(const slice_t *s)
{
    const int pixels = s->width * s->height;
    double *value = RT_NEW(double, (size_t)pixels, RT_HOST);
    size_t n = 0;
    for (int i = 0; i < pixels; i++)
        if (s->speed[i] >= 0)
            value[n++] = s->speed[i];
    const double usual = rt_image_usual_most(value, n), most = n > 0 ? value[n - 1] : 0;
    RT_FREE(value, RT_HOST);
    return most > 1.25 * usual && usual > 0 ? usual : most;
}

static void draw_slice(const alya_mesh_t *mesh, bool hill, const double *u, const char *path)
{
    slice_t s;
    slice_place(&s, mesh, hill);
    int pixels = s.width * s.height;
    s.speed = RT_NEW(double, (size_t)pixels, RT_HOST);
    for (int i = 0; i < pixels; i++)
        s.speed[i] = -1;
    draw_elements(&s, mesh, u);
    rt_comm_max(s.speed, pixels);
    if (rt_comm_rank() == 0)
        write_image(&s, top_of_scale(&s), path);
    RT_FREE(s.speed, RT_HOST);
}

/* For .vtu: u, and r or a copy of the records. For an image: u, the speed of each pixel, and a copy
 * that is sorted or becomes an image. The shape of a slice through a mesh file is not known in
 * advance. */
double alya_picture_memory(const alya_config_t *config, double nodes, const char *path)
{
    const double field = 3 * sizeof(double) * nodes;
    if (rt_image_ends_with(path, ".vtu"))
        return field + 8. / 3 * field + 4 * BLOCK * sizeof(int64_t) + sizeof(vtu_t);
    return field + 2 * sizeof(double) * LONG_SIDE * (config->is_hill ? SHORT_SIDE : LONG_SIDE);
}

void alya_picture(const void *solver, const char *path)
{
    const alya_solver_t *s = solver;
    const alya_mesh_t *mesh = s->problem->mesh;
    const alya_config_t *config = s->problem->config;
    const char *why = alya_picture_why_not(path);
    if (why)
        rt_refuse(RT_USAGE, "--picture %.400s: %s", path, why);
    double *u = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    alya_get(s, s->u, s->u_stride, u);
    if (rt_image_ends_with(path, ".vtu")) {
        double *r = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
        alya_get(s, s->r, s->kernels->r_stride, r);
        write_vtu(mesh, u, r, path);
        RT_FREE(r, RT_HOST);
    } else {
        draw_slice(mesh, config->is_hill, u, path);
    }
    RT_FREE(u, RT_HOST);
}
