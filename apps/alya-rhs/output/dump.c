/*
 * output/dump.c - --dump: mesh, velocity, and the assembled right-hand side, or what a time step started
 * from and left; ../kernel.h and ../step/step.h have the equations, and options have the physics. The last
 * assembly of a solve has these as they are.
 */
#include "config.h"
#include "../alya.h"

static void add_step(const alya_solver_t *s, rt_dump_t *dump)
{
    const int64_t nodes = s->view.nodes, vectors[] = {nodes, 3};
    double *p = RT_NEW(double, (size_t)nodes, RT_HOST);
    alya_flow_pressure(s, p);
    const rt_array_t arrays[] = {
        {"begin", "<f8", "node component", vectors, s->flow->view.begin, s->space, "m/s",
         "velocity before the last step"},
        {"p", "<f8", "node", vectors, p, RT_HOST, "Pa", "pressure of the last step"},
        {"fixed", "|u1", "node", vectors, s->problem->flow->rows.fixed, RT_HOST, "1",
         "bits 0 to 2: components of u that are fixed; 3: p is 0 (in the box: but for its mean)"},
    };
    rt_dump_add(dump, arrays, sizeof arrays / sizeof *arrays);
    rt_json_real(dump->index, "dt", s->flow->dt);
    rt_json_real(dump->index, "time", s->flow->dt * (double)s->flow->steps);
    RT_FREE(p, RT_HOST);
}

void alya_dump(const void *solver, rt_dump_t *dump)
{
    const alya_solver_t *s = solver;
    const alya_mesh_t *mesh = s->problem->mesh;
    const int64_t vectors[] = {mesh->nodes, 3}, elements[] = {mesh->elements, 4};
    double *u = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    double *r = s->flow ? NULL : RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    alya_get(s, s->u, s->u_stride, u);
    if (!s->flow)
        alya_get(s, s->r, s->kernels->r_stride, r);
    const rt_array_t arrays[] = {
        {"x", "<f8", "node component", vectors, mesh->x, RT_HOST, "m", "coordinates"},
        {"elements", "<i4", "element corner", elements, mesh->connectivity, RT_HOST, "1",
         "nodes of the tetrahedra, as rows of x; (x1 - x0) . (x2 - x0) x (x3 - x0) > 0"},
        {"id", "<i8", "node", vectors, mesh->node_id, RT_HOST, "1",
         "global ids: equal for periodic images, which have the sum of their r"},
        {"u", "<f8", "node component", vectors, u, RT_HOST, "m/s",
         "velocity that r is of, or after the last step; draw 0 is the problem's own, without the "
         "gusts of timed solves"},
        {"r", "<f8", "node component", vectors, r, RT_HOST, "N",
         "assembled right-hand side of the momentum equation"},
    };
    rt_dump_add(dump, arrays, sizeof arrays / sizeof *arrays - (s->flow != NULL)); /* steps: no r */
    if (s->flow)
        add_step(s, dump);
    rt_json_int(dump->index, "draw", (long long)s->draw);
    RT_FREE_ALL(RT_HOST, r, u);
}
