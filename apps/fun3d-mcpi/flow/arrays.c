/*
 * arrays.c - the arrays of a march, in the space of its rung: geometry, state, and the empty system
 * whose O, factors and right-hand side the Jacobian fills for the sweeps.
 */
#include "config.h"
#include "march.h"

static const void *there(const mcpi_march_t *m, const void *host, size_t n, size_t size)
{
    return m->space == RT_HOST ? host : rt_clone(host, n, size, m->space);
}

/* Gives the sweeps a system that is empty: its arrays are what the Jacobian fills. */
static void make_sweeper(mcpi_march_t *m)
{
    const mcpi_part_t *part = m->problem->part;
    const size_t rows = (size_t)part->rows, entries = (size_t)part->start[rows];
    const mcpi_type_t type = (mcpi_type_t)m->problem->config->offdiagonal;
    mcpi_system_t *system = RT_NEW(mcpi_system_t, 1, RT_HOST);
    const size_t bytes = entries * MCPI_Q * MCPI_Q * mcpi_type_size(type);
    *system = (mcpi_system_t){.nb = MCPI_Q,
                              .type = type,
                              .part = part,
                              .exponent = RT_NEW(int, rows, RT_HOST),
                              .O = rt_alloc(1, bytes, RT_HOST),
                              .LU = RT_NEW(double, rows *MCPI_Q *MCPI_Q, RT_HOST),
                              .R = RT_NEW(double, rows *MCPI_Q, RT_HOST)};
    rt_fill(system->exponent, RT_HOST, 0, rows * sizeof(int));
    rt_fill(system->O, RT_HOST, 0, bytes);
    rt_fill(system->LU, RT_HOST, 0, rows * MCPI_Q * MCPI_Q * sizeof(double));
    rt_fill(system->R, RT_HOST, 0, rows * MCPI_Q * sizeof(double));
    m->shadow = *m->problem;
    m->shadow.system = system;
    m->shadow.seconds_system = 0; /* of another system */
    const rt_rung_t *rung = rt_app_rung(&mcpi_app, m->phases->sweeps);
    m->sweeper = mcpi_solver_new(&m->shadow, rung);
    /* a kernel that exchanges dQ itself leaves the sweeper with the host's halo */
    m->own_halo = m->problem->halo && m->sweeper->view.dq;
    m->halo = m->own_halo ? mcpi_halo_new(part, MCPI_Q, m->problem->run->opt.transport,
                                          m->rung->kind, m->space)
                          : m->sweeper->halo;
}

/* Finds the places where a rung with its own layout keeps A and R. */
static void take_places(mcpi_march_t *m)
{
    const mcpi_part_t *part = m->problem->part;
    const size_t rows = (size_t)part->rows;
    mcpi_field_t *f = &m->field;
    m->places = m->sweeper->kernels->places(&m->sweeper->view);
    f->O = f->LU = f->right = m->places.base;
    f->O_at = m->places.O;
    f->LU_at = m->places.LU;
    f->right_at = m->places.R;
    f->start = rt_clone(part->short_start, rows + 1, sizeof(int32_t), m->space);
    f->column = rt_clone(part->column, (size_t)part->start[rows], sizeof(int32_t), m->space);
}

/* Rows of one colour are not neighbours, so threads of a GPU take the rows along a curve or tile by
 * tile: what they gather is then in a cache. */
static void take_order(mcpi_march_t *m)
{
    const size_t rows = (size_t)m->field.rows;
    uint32_t *order = RT_NEW(uint32_t, rows, RT_HOST);
    mcpi_hilbert_order(m->field.rows, NULL, m->problem->geometry->x, order);
    if (m->phases->tiled) {
        const int64_t row = mcpi_tiles_new(m->problem->part, m->problem->geometry, order, m->space,
                                           &m->field.tiles);
        if (row >= 0)
            rt_refuse(RT_USAGE,
                      "--mesh %s: vertex %lld has more than %d neighbours, for which %s has no "
                      "room; use another rung, such as flow-kokkos",
                      m->problem->config->mesh, (long long)m->problem->part->vertex[row],
                      MCPI_MEMBERS - 1, m->rung->name);
    }
    m->field.permutation = rt_clone(order, rows, sizeof *order, m->space);
    RT_FREE(order, RT_HOST);
}

static void make_field(mcpi_march_t *m)
{
    const mcpi_problem_t *p = m->problem;
    const mcpi_geometry_t *g = p->geometry;
    const mcpi_view_t *view = &m->sweeper->view;
    const size_t rows = (size_t)g->rows, all = (size_t)(g->rows + g->ghosts);
    const size_t entries = (size_t)p->part->start[rows];
    mcpi_field_t *f = &m->field;
    *f = (mcpi_field_t){.rows = g->rows,
                        .ghosts = g->ghosts,
                        .start = view->start,
                        .column = view->column,
                        .x = there(m, g->x, 3 * all, sizeof(double)),
                        .n = there(m, g->n, 3 * entries, sizeof(double)),
                        .viscous = there(m, g->viscous, entries, sizeof(double)),
                        .diagonal = there(m, g->diagonal, rows, sizeof(double)),
                        .fit = there(m, g->fit, 6 * rows, sizeof(double)),
                        .surface = there(m, g->surface, rows, sizeof(double)),
                        .side_of = there(m, g->side_of, rows, sizeof(int32_t)),
                        .side = there(m, g->side, (size_t)g->sides, sizeof(mcpi_side_t)),
                        .w = RT_NEW(double, MCPI_Q *all, m->space),
                        .R = RT_NEW(double, MCPI_Q *rows, m->space),
                        .rate = RT_NEW(double, rows, m->space),
                        .scale = RT_NEW(double, rows, m->space),
                        .offdiagonal = view->offdiagonal,
                        .dq_type = view->dq_type,
                        .O = (void *)view->O,
                        .chunked = m->space != RT_HOST && m->sweeper->kernels->chunked,
                        .LU = (void *)view->LU,
                        .right = (void *)view->R,
                        .dq = m->sweeper->dq};
    if (m->sweeper->kernels->own_layout)
        take_places(m);
    f->sums = RT_NEW(double, rows / MCPI_NORM_CHUNK + 2, m->space);
    f->outside = m->outside = RT_NEW(double, MCPI_Q *rows, m->space);
    if (m->space != RT_HOST)
        take_order(m);
    f->gradient = RT_NEW(double, 3 * MCPI_Q * all, m->space);
}

void *mcpi_march_new(void *problem, const rt_rung_t *rung)
{
    mcpi_march_t *m = RT_NEW(mcpi_march_t, 1, RT_HOST);
    *m = (mcpi_march_t){
        .problem = problem, .rung = rung, .kernels = (const mcpi_kernels_t *)rung->kernels};
    m->phases = m->kernels->phases;
    m->space = rt_rung_space(rung);
    make_sweeper(m);
    make_field(m);
    m->before = rt_alloc((size_t)(MCPI_Q * (m->field.rows + m->field.ghosts)),
                         mcpi_type_size(m->field.dq_type), m->space);
    if (m->problem->config->tolerance > 0)
        m->kept = RT_NEW(double, (size_t)(MCPI_Q * (m->field.rows + m->field.ghosts)), m->space);
    m->history = RT_NEW(mcpi_step_t, (size_t)m->problem->config->steps + 1, RT_HOST);
    mcpi_march_spoil(m, 0, RT_KEEP_NOTHING);
    rt_device_synchronize();
    return m;
}

void mcpi_march_destroy(void *march)
{
    mcpi_march_t *m = march;
    mcpi_field_t *f = &m->field;
    if (m->own_halo)
        mcpi_halo_destroy(m->halo, m->problem->part->colours);
    mcpi_solver_destroy(m->sweeper);
    mcpi_system_destroy(m->shadow.system);
    RT_FREE_ALL(m->space, f->w, f->R, f->rate, f->scale, f->gradient, f->sums, m->outside, m->kept,
                f->permutation, m->before);
    if (m->space != RT_HOST)
        RT_FREE_ALL(m->space, f->x, f->n, f->viscous, f->diagonal, f->fit, f->surface, f->side_of,
                    f->side);
    if (m->places.base)
        RT_FREE_ALL(m->space, f->start, f->column);
    mcpi_tiles_destroy(&f->tiles, m->space);
    for (int why = 0; why < RT_KEEPS; why++)
        rt_free(m->left[why].w, RT_HOST);
    RT_FREE_ALL(RT_HOST, m->history, m);
}

mcpi_tally_t mcpi_march_tally(const mcpi_march_t *m)
{
    mcpi_tally_t sum = {.cfl = {INFINITY, 0}};
    for (int64_t k = 0; k < m->steps; k++) {
        const mcpi_step_t *s = m->history + k;
        sum.sweeps += s->sweeps;
        sum.scaled += s->scaled;
        sum.back += s->back;
        sum.cfl[0] = fmin(sum.cfl[0], s->cfl);
        sum.cfl[1] = fmax(sum.cfl[1], s->cfl);
        sum.sweeps_most = s->sweeps > sum.sweeps_most ? s->sweeps : sum.sweeps_most;
    }
    return sum;
}
