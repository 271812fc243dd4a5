/*
 * picture.c - --picture: the flow for ParaView (.vtu: density, velocity, pressure coefficient, Mach
 * number at all vertices), or an image of the pressure coefficient in the plane of symmetry and on
 * the walls as seen from above, with scales: lengths of the mesh (m), and a bar from -most to most.
 *
 * Ranks keep no mesh, so rank 0 makes or reads it again. It receives the states of all ranks and
 * writes. If that fails it prints one line at the end. The file is written whole or not at all.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "io/image.h"
#include "march.h"

const char *mcpi_picture_why_not(const char *path)
{
    if (rt_image_ends_with(path, ".vtu"))
        return NULL;
    return rt_image_why_not(path, "the name must end in .vtu (the flow, for ParaView), or in .ppm "
                                  "or .png (an image of the pressure coefficient)");
}

/* --- states by vertex, on rank 0 --- */

typedef struct {
    int64_t vertex;
    double w[MCPI_Q];
} item_t;

/* Returns [rows of all ranks][5] at scale 1 on rank 0, NULL elsewhere. Collective. */
static double *gather(const mcpi_march_t *m)
{
    const mcpi_problem_t *p = m->problem;
    const int64_t rows = m->field.rows;
    const size_t ranks = (size_t)rt_comm_size();
    double *w = RT_NEW(double, (size_t)(MCPI_Q * rows), RT_HOST), *all = NULL;
    item_t *item = RT_NEW(item_t, (size_t)rows, RT_HOST);
    int64_t *send = RT_NEW(int64_t, ranks, RT_HOST), *recv = RT_NEW(int64_t, ranks, RT_HOST);
    rt_copy(w, RT_HOST, m->field.w, m->space, (size_t)(MCPI_Q * rows) * sizeof *w);
    for (int64_t i = 0; i < rows; i++) {
        item[i].vertex = mcpi_vertex_of(p, i);
        memcpy(item[i].w, w + MCPI_Q * i, sizeof item[i].w);
        item[i].w[0] /= m->scale;
        item[i].w[4] /= m->scale;
    }
    memset(send, 0, ranks * sizeof *send);
    send[0] = rows;
    item_t *got = rt_comm_exchange(item, send, sizeof *item, recv);
    if (rt_comm_rank() == 0) {
        all = RT_NEW(double, (size_t)(MCPI_Q * p->counts.rows), RT_HOST);
        for (int64_t k = 0; k < p->counts.rows; k++)
            memcpy(all + MCPI_Q * got[k].vertex, got[k].w, sizeof got[k].w);
    }
    free(got);
    RT_FREE(w, RT_HOST);
    RT_FREE(item, RT_HOST);
    RT_FREE(send, RT_HOST);
    RT_FREE(recv, RT_HOST);
    return all;
}

/* Returns the pressure coefficient (p - p of the stream) / (rho u^2 / 2 of the stream). */
static double coefficient(double mach, double p)
{
    return (p - 1 / MCPI_GAMMA) / (mach * mach / 2);
}

/* --- .vtu --- */

enum { DENSITY, VELOCITY, CP, MACH, POINTS, CONNECTIVITY, OFFSETS, TYPES, ARRAYS };

static void vtu_begin(rt_draft_t *draft, const rt_mesh_t *mesh, const char *path,
                      int64_t at[ARRAYS])
{
    static const char text[] =
        "<UnstructuredGrid>\n<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n"
        "<PointData Scalars=\"Cp\" Vectors=\"velocity\">\n"
        "<DataArray type=\"Float32\" Name=\"density\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Float32\" Name=\"velocity\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Float32\" Name=\"Cp\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Float32\" Name=\"Mach\" format=\"appended\" offset=\"%lld\"/>\n"
        "</PointData>\n<Points>\n"
        "<DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n</Points>\n<Cells>\n"
        "<DataArray type=\"Int32\" Name=\"connectivity\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Int64\" Name=\"offsets\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"UInt8\" Name=\"types\" format=\"appended\" offset=\"%lld\"/>\n"
        "</Cells>\n</Piece>\n</UnstructuredGrid>\n";
    uint64_t cells = 0, corners = 0;
    for (int t = 0; t < RT_ELEMENTS; t++) {
        cells += (uint64_t)mesh->elements[t];
        corners += (uint64_t)(mesh->elements[t] * rt_element_size((rt_element_t)t));
    }
    const uint64_t n = (uint64_t)mesh->vertices;
    const uint64_t bytes[ARRAYS] = {4 * n,  12 * n,      4 * n,     4 * n,
                                    24 * n, 4 * corners, 8 * cells, cells};
    long long o[ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        o[i] = (long long)rt_vtk_offset(bytes, i);
    char body[sizeof text + 256];
    snprintf(body, sizeof body, text, (long long)n, (long long)cells, o[DENSITY], o[VELOCITY],
             o[CP], o[MACH], o[POINTS], o[CONNECTIVITY], o[OFFSETS], o[TYPES]);
    rt_vtk_begin(draft, path, "UnstructuredGrid", body, bytes, ARRAYS, at);
}

/* VTK has the vertices of these types in the order that the mesh has. */
static void vtu_cells(rt_draft_t *draft, const rt_mesh_t *mesh, const int64_t at[ARRAYS])
{
    static const unsigned char vtk[RT_ELEMENTS] = {
        [RT_TETRAHEDRON] = 10, [RT_PYRAMID] = 14, [RT_PRISM] = 13, [RT_HEXAHEDRON] = 12};
    int64_t cells = 0, corners = 0;
    for (int t = 0; t < RT_ELEMENTS; t++) {
        const int64_t n = mesh->elements[t], size = rt_element_size((rt_element_t)t);
        if (n == 0)
            continue;
        int64_t *end = RT_NEW(int64_t, (size_t)n, RT_HOST);
        unsigned char *type = RT_NEW(unsigned char, (size_t)n, RT_HOST);
        for (int64_t e = 0; e < n; e++)
            end[e] = corners + (e + 1) * size;
        memset(type, vtk[t], (size_t)n);
        rt_draft_put(draft, at[CONNECTIVITY] + 4 * corners, mesh->element[t],
                     (size_t)(4 * n * size));
        rt_draft_put(draft, at[OFFSETS] + 8 * cells, end, (size_t)n * sizeof *end);
        rt_draft_put(draft, at[TYPES] + cells, type, (size_t)n);
        RT_FREE(end, RT_HOST);
        RT_FREE(type, RT_HOST);
        cells += n;
        corners += n * size;
    }
}

static void write_vtu(const rt_mesh_t *mesh, const double *w, double mach, const char *path)
{
    const size_t n = (size_t)mesh->vertices;
    rt_draft_t draft;
    int64_t at[ARRAYS];
    float *field = RT_NEW(float, 6 * n, RT_HOST);
    for (size_t i = 0; i < n; i++) {
        const double *s = w + MCPI_Q * i;
        field[i] = (float)s[0];
        for (size_t d = 0; d < 3; d++)
            field[n + 3 * i + d] = (float)s[1 + d];
        field[4 * n + i] = (float)coefficient(mach, s[4]);
        field[5 * n + i] =
            (float)sqrt((s[1] * s[1] + s[2] * s[2] + s[3] * s[3]) * s[0] / (MCPI_GAMMA * s[4]));
    }
    vtu_begin(&draft, mesh, path, at);
    rt_draft_put(&draft, at[DENSITY], field, 4 * n);
    rt_draft_put(&draft, at[VELOCITY], field + n, 12 * n);
    rt_draft_put(&draft, at[CP], field + 4 * n, 4 * n);
    rt_draft_put(&draft, at[MACH], field + 5 * n, 4 * n);
    rt_draft_put(&draft, at[POINTS], mesh->x, 24 * n);
    vtu_cells(&draft, mesh, at);
    rt_image_end_file(&draft, path);
    RT_FREE(field, RT_HOST);
}

/* --- the image --- */

/* A rectangle of the image that shows coordinates a and b, what is nearest along `depth` in front. */
typedef struct {
    rt_image_t *image;
    int top, width, height, a, b, depth;
    double low[2], pixel; /* corner, and size of a pixel */
    double most;          /* of the colour scale */
    double *near;         /* [height][width] */
} panel_t;

static void paint_triangle(const panel_t *p, const double *x[3], const double cp[3])
{
    double at[3][2], box[2][2] = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    for (int k = 0; k < 3; k++) {
        at[k][0] = (x[k][p->a] - p->low[0]) / p->pixel;
        at[k][1] = p->height - (x[k][p->b] - p->low[1]) / p->pixel;
        for (int d = 0; d < 2; d++) {
            box[0][d] = fmin(box[0][d], at[k][d]);
            box[1][d] = fmax(box[1][d], at[k][d]);
        }
    }
    const double area = (at[1][0] - at[0][0]) * (at[2][1] - at[0][1]) -
                        (at[1][1] - at[0][1]) * (at[2][0] - at[0][0]);
    if (fabs(area) < 1e-12)
        return;
    const int last[2] = {(int)fmin(p->width - 1, box[1][0]), (int)fmin(p->height - 1, box[1][1])};
    for (int y = (int)fmax(0, box[0][1]); y <= last[1]; y++)
        for (int c = (int)fmax(0, box[0][0]); c <= last[0]; c++) {
            double share[3], value = 0, depth = 0;
            bool inside = true;
            for (int k = 0; k < 3; k++) {
                const double *q = at[(k + 1) % 3], *r = at[(k + 2) % 3];
                share[k] =
                    ((q[0] - c - 0.5) * (r[1] - y - 0.5) - (q[1] - y - 0.5) * (r[0] - c - 0.5)) /
                    area;
                inside = inside && share[k] >= -1e-9;
                value += share[k] * cp[k];
                depth += share[k] * x[k][p->depth];
            }
            double *near = p->near + (int64_t)y * p->width + c;
            if (!inside || depth < *near)
                continue;
            *near = depth;
            rt_image_colour(value / p->most,
                            p->image->rgb + 3 * ((int64_t)(p->top + y) * p->image->width + c));
        }
}

static void paint_faces(const panel_t *p, const rt_mesh_t *mesh, const char *tags, const double *w,
                        double mach)
{
    for (int64_t k = 0; k < (int64_t)p->width * p->height; k++)
        p->near[k] = -INFINITY;
    for (int t = 0; t < RT_FACES; t++) {
        const int size = rt_face_size((rt_face_t)t);
        for (int64_t f = 0; f < mesh->faces[t]; f++)
            for (int k = 2; k < size && mcpi_has_this_tag(tags, mesh->tag[t][f]); k++) {
                const int32_t *v = mesh->face[t] + size * f;
                const int64_t corner[3] = {v[0], v[k - 1], v[k]};
                const double *x[3];
                double cp[3];
                for (int c = 0; c < 3; c++) {
                    x[c] = mesh->x + 3 * corner[c];
                    cp[c] = coefficient(mach, w[MCPI_Q * corner[c] + 4]);
                }
                paint_triangle(p, x, cp);
            }
    }
}

/* Finds the box of the walls, and the largest |Cp| on them but for a few spikes. */
static double survey(const rt_mesh_t *mesh, const uint8_t *wall, const double *w, double mach,
                     double low[3], double high[3])
{
    double *size = RT_NEW(double, (size_t)mesh->vertices, RT_HOST);
    size_t n = 0;
    for (int d = 0; d < 3; d++) {
        low[d] = INFINITY;
        high[d] = -INFINITY;
    }
    for (int64_t v = 0; v < mesh->vertices; v++) {
        if (!wall[v])
            continue;
        size[n++] = fabs(coefficient(mach, w[MCPI_Q * v + 4]));
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], mesh->x[3 * v + d]);
            high[d] = fmax(high[d], mesh->x[3 * v + d]);
        }
    }
    const double most = rt_image_usual_most(size, n);
    RT_FREE(size, RT_HOST);
    return most > 0 ? most : 1;
}

static void draw(const mcpi_config_t *config, const rt_mesh_t *mesh, const double *w,
                 const char *path)
{
    enum { WIDTH = 640, RIGHT = 150, GAP = 32, MOST_HEIGHT = 1200 };
    static const double around = 0.4; /* of the body's length, shown beyond it */
    uint8_t *wall = RT_NEW(uint8_t, (size_t)mesh->vertices, RT_HOST);
    double low[3], high[3];
    mcpi_find_walls(mesh, config->walls, wall);
    const double most = survey(mesh, wall, w, config->flow_mach, low, high);
    const double margin = around * (high[0] - low[0]);
    const double pixel = (high[0] - low[0] + 2 * margin) / WIDTH;
    /* the plane of symmetry from the side, the walls from above */
    const int of[2] = {2, 1};
    const double beyond[2] = {margin, 0.1 * margin};
    int height[2];
    for (int k = 0; k < 2; k++)
        height[k] =
            (int)fmin(MOST_HEIGHT, ceil((high[of[k]] - low[of[k]] + 2 * beyond[k]) / pixel) + 1);
    rt_image_t image = rt_image_new(WIDTH + RIGHT, height[0] + height[1] + 2 * GAP, 255);
    for (int k = 0; k < 2; k++) {
        panel_t panel = {.image = &image,
                         .top = k ? height[0] + GAP : 0,
                         .width = WIDTH,
                         .height = height[k],
                         .a = 0,
                         .b = of[k],
                         .depth = 3 - of[k],
                         .low = {low[0] - margin, low[of[k]] - beyond[k]},
                         .pixel = pixel,
                         .most = most};
        panel.near = RT_NEW(double, (size_t)WIDTH *(size_t)height[k], RT_HOST);
        paint_faces(&panel, mesh, k ? config->walls : config->symmetry, w, config->flow_mach);
        RT_FREE(panel.near, RT_HOST);
        rt_image_t part = {WIDTH + RIGHT, height[k] + GAP, image.rgb};
        part.rgb += 3 * (int64_t)panel.top * image.width;
        rt_image_axes(&part, WIDTH, height[k], panel.low,
                      (double[]){pixel * WIDTH, pixel * height[k]}, "m");
    }
    rt_image_bar(&image, WIDTH + 72, 24, height[0] - 12 > 60 ? height[0] - 12 : 60, most, "Cp",
                 rt_image_colour);
    rt_image_write(&image, path);
    rt_image_free(&image);
    RT_FREE(wall, RT_HOST);
}

void mcpi_march_picture(const mcpi_march_t *m, const char *path)
{
    const mcpi_config_t *config = m->problem->config;
    double *w = gather(m);
    if (rt_comm_rank() != 0)
        return;
    char why[512] = "";
    rt_mesh_t *mesh = mcpi_mesh_again(config, why, sizeof why);
    if (!mesh)
        rt_die(RT_ENVIRONMENT, "the mesh cannot be read again: %s", why);
    if (rt_image_ends_with(path, ".vtu"))
        write_vtu(mesh, w, config->flow_mach, path);
    else
        draw(config, mesh, w, path);
    rt_mesh_destroy(mesh);
    RT_FREE(w, RT_HOST);
}
