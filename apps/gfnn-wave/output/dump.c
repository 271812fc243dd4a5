/*
 * output/dump.c - --dump: materials, element matrices, and what a rung got and left, without ghosts.
 * gfnn.h says how A is made of them, kernel.h what P is.
 */
#include "config.h"
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"

/* Adds the own nodes of an array of n planes; nothing if the rung lacks it. */
static void add(rt_dump_t *dump, const gfnn_grid_t *g, int64_t planes, rt_array_t field)
{
    const int64_t shape[] = {planes, g->n[2], g->n[1], g->n[0]};
    const size_t size = (size_t)(field.type[2] - '0'), row = size * (size_t)g->n[0];
    if (!field.data)
        return;
    char *all = rt_alloc((size_t)(planes * g->plane), size, RT_HOST), *end = all;
    rt_copy(all, RT_HOST, field.data, field.space, (size_t)(planes * g->plane) * size);
    for (int64_t p = 0; p < planes; p++) /* rows move down: none is overwritten too early */
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++, end += row)
                memmove(end, all + (size_t)(p * g->plane + gfnn_at(g, 0, j, k)) * size, row);
    field.shape = shape;
    field.data = all;
    field.space = RT_HOST;
    rt_dump_add(dump, &field, 1);
    RT_FREE(all, RT_HOST);
}

static void add_problem(const gfnn_problem_t *p, rt_dump_t *dump)
{
    const gfnn_element_t *e = gfnn_element();
    const gfnn_step_t *s = &p->step;
    const int64_t ids[] = {p->model->materials.ids}, square[] = {24, 24};
    const rt_array_t arrays[] = {
        {"vs", "<f8", "id", ids, p->model->materials.vs, RT_HOST, "m/s", "speed of S waves"},
        {"M", "<f8", "row column", square, e->M, RT_HOST, "1",
         "mass of the unit cube for density 1; row 3 corner + component, corner x + 2 y + 4 z"},
        {"KL", "<f8", "row column", square, e->KL, RT_HOST, "1", "its stiffness for lambda = 1"},
        {"KM", "<f8", "row column", square, e->KM, RT_HOST, "1", "its stiffness for mu = 1"},
    };
    rt_dump_add(dump, arrays, sizeof arrays / sizeof *arrays);
    add(dump, &p->box.wide, 1,
        (rt_array_t){"id", "|u1", "plane z y x", NULL, p->model->id, RT_HOST, "1",
                     "material of the element above each node; 255: there is none"});
    json_object_set_new(dump->index, "constants",
                        json_pack("{sf sf sf sf sf sf sf sf sf}", "mass", s->A.mass, "bulk",
                                  s->A.bulk, "shear", s->A.shear, "c0", s->c0, "vp", GFNN_VP, "rho",
                                  GFNN_RHO, "ds", p->config->ds, "rayleigh_a", s->rayleigh_a,
                                  "rayleigh_b", s->rayleigh_b));
}

static void add_network(const gfnn_solver_t *s, rt_dump_t *dump)
{
    const gfnn_weights_t *w = s->problem->weights;
    const float *c = s->network.c ? s->network.c : gfnn_coefficients(s->problem);
    const int64_t width = 2 * w->reach + 1, kernels[] = {w->kernels, 3, 3, width, width, width};
    const rt_array_t K = {"kernels",
                          "<f4",
                          "kernel i j z y x",
                          kernels,
                          w->K,
                          RT_HOST,
                          "1",
                          "Green's functions of the network"};
    rt_dump_add(dump, &K, 1);
    add(dump, &s->problem->box.bare, w->coefs,
        (rt_array_t){"coefficients", "<f4", "coefficient z y x", NULL, c,
                     s->network.c ? s->space : RT_HOST, "1", "what the network gives every node"});
}

void gfnn_dump(const void *solver, rt_dump_t *dump)
{
    static const char axes[] = "component z y x";
    const gfnn_solver_t *s = solver;
    const gfnn_box_t *box = &s->problem->box;
    const bool solves = s->kernels->ladder == GFNN_LADDER_SOLVE;
    const bool predicts = s->kernels->ladder == GFNN_LADDER_PREDICTOR;
    const rt_space_t space = s->space;
    const rt_array_t fields[] = {
        {"u", "<f8", axes, NULL, s->u, space, "m", "displacement after all steps"},
        {"v", "<f8", axes, NULL, s->v, space, "m/s", "velocity then"},
        {"a", "<f8", axes, NULL, s->a, space, "m/s^2", "acceleration then"},
        {"du", "<f8", axes, NULL, solves ? s->x : NULL, space, "m", "A du = f, last step"},
        {"f", "<f8", axes, NULL, solves ? s->f : NULL, space, "m", "its f, over c0"},
        {"x", "<f8", axes, NULL, solves ? NULL : s->x, space, "m", "input of A x"},
        {"y", "<f8", axes, NULL, solves ? NULL : s->q, space, "m", "A x"},
        {"r", "<f4", axes, NULL, predicts ? s->r32 : NULL, space, "1", "input of P r"},
        {"r", "<f2", axes, NULL, predicts ? s->low : NULL, space, "1", "input of P r"},
        {"z", "<f4", axes, NULL, predicts ? s->z : NULL, space, "1", "P r"},
    };
    add_problem(s->problem, dump);
    if (s->problem->weights)
        add_network(s, dump);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        add(dump, predicts ? &box->wide : &box->fine, 3, fields[i]);
}
