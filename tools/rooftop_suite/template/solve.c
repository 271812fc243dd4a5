/* solve.c - sweeps through a rung's function table: no device is named here. */
#include <stdlib.h>
#include "jacobi.h"
#include "base/draw.h"

int64_t jacobi_point(const jacobi_config_t *config, size_t i)
{
    const int64_t n = config->n, row = n + 2, at = (int64_t)i;
    const int64_t x = at % row - 1, y = at / row % row - 1, z = config->first + at / row / row - 1;
    const bool inside = x >= 0 && x < n && y >= 0 && y < n && z >= 0 && z < n;
    return inside ? (z * n + y) * n + x : -1;
}

/* Makes b for draw 0. f is between 1 and 3, so that u grows from sweep to sweep. */
static double *base_new(const rt_run_t *run, size_t values, rt_space_t space)
{
    const jacobi_config_t *config = run->config;
    const double h = 1 / (double)(config->n + 1);
    double *base = RT_NEW(double, values, RT_HOST);
    for (size_t i = 0; i < values; i++) {
        const int64_t point = jacobi_point(config, i);
        const double f = 2 + rt_random((uint64_t)point, (uint64_t)run->opt.seed);
        base[i] = point < 0 ? 0 : h * h * f;
    }
    double *there = rt_clone(base, values, sizeof(double), space);
    RT_FREE(base, RT_HOST);
    return there;
}

/* A layer next to another rank's is copied into that rank's ghost layer. */
static rt_halo_t *halo_new(const jacobi_solver_t *s)
{
    const int64_t plane = s->view.plane, layers = s->view.layers;
    rt_halo_list_t list = {0};
    while (rt_halo_list_again(&list))
        for (int64_t i = 0; i < (int64_t)s->view.values; i++) {
            const int64_t z = i / plane, point = jacobi_point(s->run->config, (size_t)i);
            if (point >= 0 && (z <= 1 || z >= layers))
                rt_halo_list_add(&list, i, point, z >= 1 && z <= layers);
        }
    return rt_halo_of_list(&list, true,
                           (rt_halo_desc_t){.max_components = 1,
                                            .kind = s->kind,
                                            .space = s->space,
                                            .transport = s->run->opt.transport});
}

void *jacobi_solver_new(void *problem, const rt_rung_t *rung)
{
    jacobi_solver_t *s = calloc(1, sizeof *s);
    RT_EXPECT(s, RT_MEMORY, "no memory for a solver");
    s->run = problem;
    const jacobi_config_t *config = s->run->config;
    s->view = (jacobi_view_t){.n = config->n, .layers = config->layers, .row = config->n + 2};
    s->view.plane = s->view.row * s->view.row;
    s->view.values = (size_t)(s->view.plane * (s->view.layers + 2));
    s->kernels = (const jacobi_kernels_t *)rung->kernels;
    s->kind = rung->kind;
    s->space = rt_rung_space(rung);
    s->base = base_new(s->run, s->view.values, s->space);
    s->view.b = RT_NEW(double, s->view.values, s->space);
    s->view.u = RT_NEW(double, s->view.values, s->space);
    s->view.v = RT_NEW(double, s->view.values, s->space);
    s->halo = halo_new(s);
    return s;
}

void jacobi_solver_destroy(void *solver)
{
    jacobi_solver_t *s = solver;
    rt_halo_destroy(s->halo);
    RT_FREE(s->base, s->space);
    RT_FREE(s->view.b, s->space);
    RT_FREE(s->view.u, s->space);
    RT_FREE(s->view.v, s->space);
    for (int k = 0; k < RT_KEEPS; k++)
        RT_FREE(s->kept[k], RT_HOST);
    free(s);
}

void jacobi_exchange(jacobi_solver_t *s)
{
    const rt_field_t u = rt_field_f64(s->view.u);
    rt_halo_do(s->halo, RT_HALO_COPY, &u);
}

void jacobi_keep(jacobi_solver_t *s, rt_keep_t keep)
{
    RT_FREE(s->kept[keep], RT_HOST);
    s->kept[keep] = RT_NEW(double, s->view.values, RT_HOST);
    rt_copy(s->kept[keep], RT_HOST, s->view.u, s->space, s->view.values * sizeof(double));
    s->draw[keep] = s->draw[RT_KEEP_NOTHING];
}

void jacobi_spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    jacobi_solver_t *s = solver;
    const size_t bytes = s->view.values * sizeof(double);
    if (keep != RT_KEEP_NOTHING)
        jacobi_keep(s, keep);
    rt_fill(s->view.u, s->space, 0xff, bytes); /* NaN */
    rt_fill(s->view.v, s->space, 0xff, bytes);
    rt_draw(s->view.b, s->space, s->base, s->view.values, sizeof(double),
            (rt_draw_t){.draw = draw, .mean = 1, .range = draw ? 0.5 : 0});
    s->draw[RT_KEEP_NOTHING] = draw;
}

void jacobi_solve(void *solver)
{
    jacobi_solver_t *s = solver;
    const int64_t iterations = ((const jacobi_config_t *)s->run->config)->iterations;
    rt_fill(s->view.u, s->space, 0, s->view.values * sizeof(double));
    rt_fill(s->view.v, s->space, 0, s->view.values * sizeof(double));
    for (int64_t k = 0; k < iterations; k++) {
        jacobi_exchange(s);
        rt_timer_start("sweep", s->kind);
        s->kernels->sweep(&s->view);
        rt_timer_stop("sweep");
        double *made = s->view.v;
        s->view.v = s->view.u;
        s->view.u = made;
    }
}
