/*
 * solve_reference.c - the preconditioner as it is defined, level by level, in FP64.
 *
 * Idea: none; this is the definition (precond.h). For each element its box is taken from the grid,
 * worked on by plain loops, and added to the grid. Advantage: it can be checked against a textbook,
 * and it judges every other rung of the ladder `solve`; it shares with them the matrices of
 * levels.c and no loop. Price: FP64 where FP32 is enough, no loop bound that the compiler knows, and
 * boxes that wait for each other: layers of elements are added in three colours, so that the bits
 * do not depend on the threads.
 */
#include "config.h"
#include "boxes_reference.h"
#include <math.h>
#include <string.h>

/* --- the preconditioner --- */

static void restrict_to_next(const nek_ref_data_t *data, int l)
{
    const nek_level_t *level = &data->levels->level[l];
    const nek_ref_job_t job = {.level = level, .other = level + 1, .in = data->field[l].r};
    nek_ref_add_boxes(level + 1, NEK_OWN_BOX, level[1].grid.n, nek_ref_restrict, &job,
                      data->field[l + 1].r);
}

/* x of level 0 = the sum over the levels, of its r. */
static void add_levels(const nek_ref_data_t *data)
{
    const nek_levels_t *levels = data->levels;
    const int last = levels->count - 1;
    for (int l = 0; l < last; l++)
        restrict_to_next(data, l);
    nek_ref_coarse(data, data->field[last].r, data->field[last].x);
    for (int l = last - 1; l >= 0; l--) {
        const nek_level_t *level = &levels->level[l];
        const nek_ref_fields_t *f = &data->field[l];
        const nek_ref_job_t job = {.level = level, .in = f->r};
        nek_ref_add_boxes(level, NEK_PATCH, level->grid.patch, nek_ref_patch, &job, f->x);
        nek_ref_prolong(level + 1, level, f[1].x, f->x);
    }
}

/* --- what CG sees --- */

static double reference_apply(nek_solver_t *s, double norm, const double *r)
{
    const nek_ref_data_t *data = s->precond;
    const nek_level_t *level = data->levels->level;
    const nek_ref_fields_t *f = &data->field[0];
    double *z = s->z;
    (void)norm; /* FP64 needs no scale */
    memset(f->r, 0, (size_t)level->grid.nodes * sizeof *f->r);
    for (int64_t q = 0; q < s->view.points; q++)
        f->r[nek_grid_at_point(&level->grid, q)] = r[q];
    if (level->halo) {
        rt_field_t field = rt_field_f64(f->r);
        rt_halo_do(level->halo, RT_HALO_COPY, &field);
    }
    add_levels(data);
    for (int64_t q = 0; q < s->view.points; q++)
        z[q] = f->x[nek_grid_at_point(&level->grid, q)];
    return nek_dot(&s->view, r, z);
}

static void reference_update_p(nek_solver_t *s, double beta, double *p)
{
    s->kernels->vector->update_p(&s->view, beta, s->z, p);
}

static void new_fields(nek_ref_data_t *data, const nek_levels_t *levels)
{
    data->levels = levels;
    for (int l = 0; l < levels->count; l++) {
        nek_ref_fields_t *f = &data->field[l];
        const size_t nodes = (size_t)levels->level[l].grid.nodes;
        f->r = RT_NEW(double, nodes, RT_HOST);
        f->x = RT_NEW(double, nodes, RT_HOST);
        memset(f->r, 0, nodes * sizeof(double));
        memset(f->x, 0, nodes * sizeof(double));
    }
    data->coarse = RT_NEW(double, 2 * (size_t)levels->level[levels->count - 1].grid.nodes, RT_HOST);
}

static void free_fields(nek_ref_data_t *data)
{
    for (int l = 0; l < data->levels->count; l++) {
        RT_FREE(data->field[l].r, RT_HOST);
        RT_FREE(data->field[l].x, RT_HOST);
    }
    RT_FREE(data->coarse, RT_HOST);
}

static void set_up(nek_solver_t *s)
{
    nek_ref_data_t *data = s->precond = RT_NEW(nek_ref_data_t, 1, RT_HOST);
    memset(data, 0, sizeof *data);
    new_fields(data, nek_levels(s->problem, s->kernels));
    s->z = RT_NEW(double, (size_t)s->view.points, RT_HOST);
}

static void tear_down(nek_solver_t *s)
{
    free_fields(s->precond);
    RT_FREE(s->z, RT_HOST);
    RT_FREE(s->precond, RT_HOST);
}

static void memory(const nek_config_t *config, rt_space_t space, double bytes[RT_SPACES])
{
    int degree[NEK_MOST_LEVELS];
    (void)space;
    const int count = nek_level_degrees(config, degree);
    bytes[RT_HOST] += (double)config->points * sizeof(double);
    for (int l = 0; l < count; l++)
        bytes[RT_HOST] += (l == count - 1 ? 4 : 2) * sizeof(double) *
                          (double)nek_grid_of(config, degree[l]).nodes;
}

static void reference_ax(const nek_view_t *view, const double *u, double *w)
{
    nek_reference.ax(view, u, w);
}

const nek_preconditioner_t nek_precond_reference = {.set_up = set_up,
                                                    .tear_down = tear_down,
                                                    .memory = memory,
                                                    .apply = reference_apply,
                                                    .update_p = reference_update_p};

const nek_kernels_t nek_solve_reference = {
    .rung = {.precision = "FP64", .reproducible = true, .refuse = nek_refuse},
    .ax = reference_ax,
    .vector = &nek_vector_cpu,
    .preconditioner = &nek_precond_reference,
};
