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

static void write_vtu(const alya_mesh_t *mesh, const double *u, const double *r, const char *path)
{
    enum { TETRAHEDRON = 10 };
    static const rt_vtk_array_t fields[] = {
        {"velocity", "Float64", 3}, {"r", "Float64", 3}, {NULL, NULL, 0}};
    const bool writer = rt_comm_rank() == 0;
    int64_t total[2] = {mesh->nodes, mesh->elements}, nodes = 0, n = 0;
    rt_comm_sum_i64(total, 2);
    const rt_vtk_mesh_t whole = {total[0], total[1], 4 * total[1], fields, NULL};
    rt_vtk_t *v = RT_NEW(rt_vtk_t, 1, RT_HOST);
    if (writer)
        rt_vtk_mesh_begin(v, path, &whole);
    const double *const field[3] = {u, r, mesh->x};
    for (int from = 0; from < rt_comm_size(); from++) {
        const bool mine = rt_comm_rank() == from;
        /* Elements first: their nodes are numbered after the nodes of the ranks before. */
        void *part =
            rt_comm_gather(mesh->connectivity, mine ? mesh->elements : 0, 4 * sizeof(int32_t), &n);
        if (writer)
            rt_vtk_add_cells(v, TETRAHEDRON, 4, nodes, part, n);
        free(part);
        for (int i = 0; i < 3; i++) {
            part = rt_comm_gather(field[i], mine ? mesh->nodes : 0, 3 * sizeof(double), &n);
            if (writer)
                rt_vtk_put(v, i < 2 ? i : v->coordinates, nodes, part, n);
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
    double *r = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    alya_get(s, s->u, s->u_stride, u);
    alya_get(s, s->r, s->kernels->r_stride, r);
    write_vtu(mesh, u, r, path);
    RT_FREE_ALL(RT_HOST, r, u);
}
