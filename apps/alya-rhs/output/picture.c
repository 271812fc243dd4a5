/*
 * picture.c - --picture: the mesh with its fields for ParaView.
 *
 * No rank keeps the whole mesh. A .vtu file has one place for each value of each array, so
 * rank 0 receives the parts one after the other and writes them there.
 *
 * Rank 0 writes. If that fails, rank 0 still takes part in the collective calls, and prints one
 * line at the end. The file is either complete or absent.
 */
#include "config.h"
#include "../alya.h"
#include <stdlib.h>
#include "io/vtk.h"

/* A field of nodes. */
typedef struct {
    const char *name;
    int components;
    const double *values;
} field_t;
enum { FIELDS = 2 };

static void write_vtu(const alya_mesh_t *mesh, const field_t field[FIELDS + 1], const char *facts,
                      const char *path)
{
    enum { TETRAHEDRON = 10 };
    rt_vtk_array_t arrays[FIELDS + 1] = {{NULL, NULL, 0}};
    for (int i = 0; i < FIELDS; i++)
        arrays[i] = (rt_vtk_array_t){field[i].name, "Float64", field[i].components};
    const bool writer = rt_comm_rank() == 0;
    int64_t total[2] = {mesh->nodes, mesh->elements}, nodes = 0, n = 0;
    rt_comm_sum_i64(total, 2);
    const rt_vtk_mesh_t whole = {total[0], total[1], 4 * total[1], arrays, NULL, facts};
    rt_vtk_t *v = RT_NEW(rt_vtk_t, 1, RT_HOST);
    if (writer)
        rt_vtk_mesh_begin(v, path, &whole);
    for (int from = 0; from < rt_comm_size(); from++) {
        const bool mine = rt_comm_rank() == from;
        /* Elements first: their nodes are numbered after the nodes of the ranks before. */
        void *part =
            rt_comm_gather(mesh->connectivity, mine ? mesh->elements : 0, 4 * sizeof(int32_t), &n);
        if (writer)
            rt_vtk_add_cells(v, TETRAHEDRON, 4, nodes, part, n);
        free(part);
        for (int i = 0; i <= FIELDS; i++) {
            part = rt_comm_gather(field[i].values, mine ? mesh->nodes : 0,
                                  (size_t)field[i].components * sizeof(double), &n);
            if (writer)
                rt_vtk_put(v, i < FIELDS ? i : v->coordinates, nodes, part, n);
            free(part);
        }
        nodes += n;
    }
    if (writer)
        rt_vtk_end(v, path);
    RT_FREE(v, RT_HOST);
}

void alya_picture(const void *solver, const char *path)
{
    const alya_solver_t *s = solver;
    const alya_mesh_t *mesh = s->problem->mesh;
    double *u = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    double *other = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST); /* r, or p */
    field_t fields[FIELDS + 1] = {{"velocity", 3, u}, {"r", 3, other}, {"Points", 3, mesh->x}};
    rt_text_t facts = {""};
    alya_get(s, s->u, s->u_stride, u);
    if (s->flow) {
        fields[1] = (field_t){"pressure", 1, other};
        alya_flow_pressure(s, other);
        rt_text(&facts,
                "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
                "format=\"ascii\">%.17g</DataArray>\n<DataArray type=\"Float64\" Name=\"dt\" "
                "NumberOfTuples=\"1\" format=\"ascii\">%.17g</DataArray>\n</FieldData>\n",
                s->flow->dt * (double)s->flow->steps, s->flow->dt);
    } else {
        alya_get(s, s->r, s->kernels->r_stride, other);
    }
    write_vtu(mesh, fields, facts.text, path);
    RT_FREE_ALL(RT_HOST, other, u);
}
