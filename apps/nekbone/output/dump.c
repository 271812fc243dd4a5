/*
 * output/dump.c - --dump: what A x = b is made of, the answer, and A b by the rung's own kernels.
 *
 * A p = M (Q Q^T D^T G D p + lambda p); nekbone.h has the equations. lambda is an option.
 */
#include "config.h"
#include "../nekbone.h"

/* Returns the global index of every stored point. */
static int64_t *global_ids(const nek_config_t *config)
{
    const int n = config->n, n3 = n * n * n;
    int64_t *id = RT_NEW(int64_t, (size_t)config->points, RT_HOST);
    for (int64_t q = 0; q < config->points; q++)
        id[q] = nek_global_index(config, q / n3, (int)(q % n), (int)(q / n % n),
                                 (int)(q / (n * n) % n));
    return id;
}

void nek_dump(const void *solver, rt_dump_t *dump)
{
    nek_solver_t *s = (nek_solver_t *)solver; /* whose w is scratch between solves */
    const nek_view_t *v = &s->view;
    const int64_t n = v->n, e = v->elements;
    int64_t *id = global_ids(s->problem->config);
    if (dump->folder)
        nek_apply(s, s->b, s->w);
    const int64_t points[] = {e, n, n, n}, square[] = {n, n}, factors[] = {e, 6, n, n, n},
                  solves[] = {s->done + 1};
    const rt_space_t space = s->space;
    const rt_array_t arrays[] = {
        {"id", "<i8", "element k j i", points, id, RT_HOST, "1",
         "global index: equal for copies of a point"},
        {"D", "<f8", "i l", square, v->D, space, "1",
         "derivative of Lagrange polynomial l at GLL point i of [-1, 1]"},
        {"G", "<f8", "element factor k j i", factors, v->G, space, "1",
         "geometric factors rr, rs, rt, ss, st, tt, with quadrature weights"},
        {"c", "<f8", "element k j i", points, v->c, space, "1",
         "1 / copies of the point, 0 on the Dirichlet boundary: weight of inner products, and mask"},
        {"b", "<f8", "element k j i", points, s->b, space, "1", "right-hand side"},
        {"x", "<f8", "element k j i", points, s->x, space, "1", "what CG made of it from x = 0"},
        {"r", "<f8", "element k j i", points, s->r, space, "1", "residual of the recurrence"},
        {"Ab", "<f8", "element k j i", points, s->w, space, "1", "A b, by the rung's kernels"},
        {"history", "<f8", "iteration", solves, s->history, RT_HOST, "1",
         "|r| = sqrt(sum c r r) after 0, 1, 2 .. iterations"},
    };
    rt_dump_add(dump, arrays, sizeof arrays / sizeof *arrays);
    RT_FREE(id, RT_HOST);
}
