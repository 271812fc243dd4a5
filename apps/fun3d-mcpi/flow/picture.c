/*
 * picture.c - --picture: the flow for ParaView and `rooftop picture` (.vtu): density, velocity,
 * pressure coefficient, Mach number at all vertices, and the faces of walls and of the plane of
 * symmetry among the cells.
 *
 * Ranks keep no mesh, so rank 0 makes or reads it again. It receives the states of all ranks and
 * writes. If that fails it prints one line at the end. The file is written whole or not at all.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "io/vtk.h"
#include "march.h"

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
    double *w = mcpi_march_take(m, m->field.w, MCPI_Q * rows), *all = NULL;
    item_t *item = RT_NEW(item_t, (size_t)rows, RT_HOST);
    int64_t n;
    for (int64_t i = 0; i < rows; i++) {
        item[i].vertex = p->part->vertex[i];
        memcpy(item[i].w, w + MCPI_Q * i, sizeof item[i].w);
        item[i].w[0] /= m->scale;
        item[i].w[4] /= m->scale;
    }
    item_t *got = rt_comm_gather(item, rows, sizeof *item, &n);
    if (got)
        all = RT_NEW(double, (size_t)(MCPI_Q * n), RT_HOST);
    for (int64_t k = 0; k < n; k++)
        memcpy(all + MCPI_Q * got[k].vertex, got[k].w, sizeof got[k].w);
    free(got);
    RT_FREE_ALL(RT_HOST, w, item);
    return all;
}

/* --- .vtu --- */

/* What VTK calls elements and faces; both have their vertices in the order that the mesh has. */
static const int element_types[RT_ELEMENTS] = {
    [RT_TETRAHEDRON] = 10, [RT_PYRAMID] = 14, [RT_PRISM] = 13, [RT_HEXAHEDRON] = 12};
static const int face_types[RT_FACES] = {[RT_TRIANGLE] = 5, [RT_QUAD] = 9};

/* What a cell of the file is. */
enum { VOLUME, WALL, SYMMETRY, FAR };

/* Writes elements, then the faces at the boundary, and which boundary each of the cells is of. */
static void add_cells(rt_vtk_t *vtk, int boundary, const rt_mesh_t *mesh,
                      const mcpi_config_t *config, int64_t cells)
{
    uint8_t *of = RT_NEW(uint8_t, (size_t)cells, RT_HOST);
    memset(of, VOLUME, (size_t)cells);
    for (int t = 0; t < RT_ELEMENTS; t++)
        rt_vtk_add_cells(vtk, element_types[t], rt_element_size((rt_element_t)t), 0,
                         mesh->element[t], mesh->elements[t]);
    for (int t = 0; t < RT_FACES; t++) {
        for (int64_t f = 0; f < mesh->faces[t]; f++)
            of[vtk->cells + f] = mcpi_has_this_tag(config->walls, mesh->tag[t][f])      ? WALL
                                 : mcpi_has_this_tag(config->symmetry, mesh->tag[t][f]) ? SYMMETRY
                                                                                        : FAR;
        rt_vtk_add_cells(vtk, face_types[t], rt_face_size((rt_face_t)t), 0, mesh->face[t],
                         mesh->faces[t]);
    }
    rt_vtk_put(vtk, boundary, 0, of, cells);
    RT_FREE(of, RT_HOST);
}

static void write_vtu(const rt_mesh_t *mesh, const mcpi_config_t *config, const double *w,
                      const char *path)
{
    enum { DENSITY, VELOCITY, CP, MACH, BOUNDARY };
    static const rt_vtk_array_t of_points[] = {{"density", "Float32", 1},
                                               {"velocity", "Float32", 3},
                                               {"Cp", "Float32", 1},
                                               {"Mach", "Float32", 1},
                                               {NULL, NULL, 0}};
    static const rt_vtk_array_t of_cells[] = {{"boundary", "UInt8", 1}, {NULL, NULL, 0}};
    const size_t n = (size_t)mesh->vertices;
    const double mach = config->flow_mach; /* Cp: (p - p of the stream) / (rho u^2 / 2 of it) */
    rt_vtk_mesh_t whole = {mesh->vertices, 0, 0, of_points, of_cells, NULL};
    rt_vtk_t vtk;
    float *field = RT_NEW(float, 6 * n, RT_HOST);
    for (size_t i = 0; i < n; i++) {
        const double *s = w + MCPI_Q * i;
        field[i] = (float)s[0];
        for (size_t d = 0; d < 3; d++)
            field[n + 3 * i + d] = (float)s[1 + d];
        field[4 * n + i] = (float)((s[4] - 1 / MCPI_GAMMA) / (mach * mach / 2));
        field[5 * n + i] =
            (float)sqrt((s[1] * s[1] + s[2] * s[2] + s[3] * s[3]) * s[0] / (MCPI_GAMMA * s[4]));
    }
    for (int t = 0; t < RT_ELEMENTS; t++) {
        whole.cells += mesh->elements[t];
        whole.corners += mesh->elements[t] * rt_element_size((rt_element_t)t);
    }
    for (int t = 0; t < RT_FACES; t++) {
        whole.cells += mesh->faces[t];
        whole.corners += mesh->faces[t] * rt_face_size((rt_face_t)t);
    }
    rt_vtk_mesh_begin(&vtk, path, &whole);
    rt_vtk_put(&vtk, DENSITY, 0, field, mesh->vertices);
    rt_vtk_put(&vtk, VELOCITY, 0, field + n, mesh->vertices);
    rt_vtk_put(&vtk, CP, 0, field + 4 * n, mesh->vertices);
    rt_vtk_put(&vtk, MACH, 0, field + 5 * n, mesh->vertices);
    rt_vtk_put(&vtk, vtk.coordinates, 0, mesh->x, mesh->vertices);
    add_cells(&vtk, BOUNDARY, mesh, config, whole.cells);
    rt_vtk_end(&vtk, path);
    RT_FREE(field, RT_HOST);
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
    write_vtu(mesh, config, w, path);
    rt_mesh_destroy(mesh);
    RT_FREE(w, RT_HOST);
}
