/*
 * solve_reference.c - the preconditioners as they are defined, level by level, in FP64.
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

/* --- the preconditioners --- */

/* Returns what the level's smoother makes of field r, in field t. */
static const double *smooth_once(const nek_level_t *level, const nek_ref_fields_t *f)
{
    const nek_ref_job_t job = {.level = level, .in = f->r};
    if (!level->inverse) {
        nek_ref_add_boxes(level, NEK_PATCH, level->grid.patch, nek_ref_patch, &job, f->t);
        return f->t;
    }
    for (int64_t q = 0; q < level->grid.nodes; q++)
        f->t[q] = level->inverse[q] * f->r[q];
    return f->t;
}

/* r -= A d */
static void subtract(const nek_level_t *level, const nek_ref_fields_t *f)
{
    const nek_ref_job_t job = {.level = level, .in = f->d};
    nek_ref_add_boxes(level, NEK_OWN_BOX, level->grid.n, nek_ref_apply, &job, f->t);
    for (int64_t q = 0; q < level->grid.nodes; q++)
        f->r[q] -= f->t[q];
}

/* x += Chebyshev's polynomial of the smoother, applied to r; r becomes the residual, less the last
 * step d. */
static void smooth(const nek_config_t *config, const nek_level_t *level, const nek_ref_fields_t *f)
{
    const double most = 1.1 * level->largest, least = level->largest / config->interval;
    const double middle = (most + least) / 2, half = (most - least) / 2;
    double rho = half / middle;
    for (int k = 0; k < config->order; k++) {
        const double next = 1 / (2 * middle / half - rho);
        if (k > 0)
            subtract(level, f);
        const double *t = smooth_once(level, f);
        for (int64_t q = 0; q < level->grid.nodes; q++) {
            f->d[q] = k == 0 ? t[q] / middle : next * rho * f->d[q] + 2 * next / half * t[q];
            f->x[q] += f->d[q];
        }
        rho = k == 0 ? rho : next;
    }
}

static void restrict_to_next(const nek_ref_data_t *data, int l)
{
    const nek_level_t *level = &data->levels->level[l];
    const nek_ref_job_t job = {.level = level, .other = level + 1, .in = data->field[l].r};
    nek_ref_add_boxes(level + 1, NEK_OWN_BOX, level[1].grid.n, nek_ref_restrict, &job,
                      data->field[l + 1].r);
}

/* x = the sum over this level and all below, of r */
static void add_levels(const nek_ref_data_t *data, int l)
{
    const nek_level_t *level = &data->levels->level[l];
    const nek_ref_fields_t *f = &data->field[l];
    if (l == data->levels->count - 1) {
        nek_ref_coarse(data, f->r, f->x);
        return;
    }
    const nek_ref_job_t job = {.level = level, .in = f->r};
    restrict_to_next(data, l);
    nek_ref_add_boxes(level, NEK_PATCH, level->grid.patch, nek_ref_patch, &job, f->x);
    add_levels(data, l + 1);
    nek_ref_prolong(level + 1, level, f[1].x, f->x);
}

/* x = a V-cycle of r */
static void cycle(const nek_ref_data_t *data, int l)
{
    const nek_levels_t *levels = data->levels;
    const nek_level_t *level = &levels->level[l];
    const nek_ref_fields_t *f = &data->field[l];
    const size_t bytes = (size_t)level->grid.nodes * sizeof(double);
    if (l == levels->count - 1) {
        nek_ref_coarse(data, f->r, f->x);
        return;
    }
    memset(f->x, 0, bytes);
    smooth(levels->config, level, f);
    subtract(level, f);
    restrict_to_next(data, l);
    cycle(data, l + 1);
    memset(f->d, 0, bytes);
    nek_ref_prolong(level + 1, level, f[1].x, f->d);
    for (int64_t q = 0; q < level->grid.nodes; q++)
        f->x[q] += f->d[q];
    subtract(level, f);
    smooth(levels->config, level, f);
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
    if (data->levels->precond == NEK_MULTIGRID)
        cycle(data, 0);
    else
        add_levels(data, 0);
    for (int64_t q = 0; q < s->view.points; q++)
        z[q] = f->x[nek_grid_at_point(&level->grid, q)];
    return s->kernels->vector->dot(&s->view, r, z);
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
        double **const each[] = {&f->r, &f->x, &f->d, &f->t};
        const size_t nodes = (size_t)levels->level[l].grid.nodes;
        for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
            *each[i] = RT_NEW(double, nodes, RT_HOST);
            memset(*each[i], 0, nodes * sizeof(double));
        }
    }
    data->coarse = RT_NEW(double, 2 * (size_t)levels->level[levels->count - 1].grid.nodes, RT_HOST);
}

static void free_fields(nek_ref_data_t *data)
{
    for (int l = 0; l < data->levels->count; l++) {
        nek_ref_fields_t *f = &data->field[l];
        double **const each[] = {&f->r, &f->x, &f->d, &f->t};
        for (size_t i = 0; i < sizeof each / sizeof *each; i++)
            RT_FREE(*each[i], RT_HOST);
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
    rt_text_t why;
    const int count =
        nek_level_degrees(config, nek_precond(config, &nek_solve_reference), degree, &why);
    bytes[RT_HOST] += (double)config->points * sizeof(double);
    for (int l = 0; l < count; l++)
        bytes[RT_HOST] += (l == count - 1 ? 6 : 4) * sizeof(double) *
                          (double)nek_grid_of(config, degree[l]).nodes;
}

/* --- the largest eigenvalue of a smoother --- */

static double grid_dot(const nek_level_t *level, const uint8_t *own, const double *x,
                       const double *y)
{
    double sum = 0;
    for (int64_t q = 0; q < level->grid.nodes; q++)
        sum += own[q] * x[q] * y[q];
    rt_comm_sum(&sum, 1);
    return sum;
}

/* Fills r with random values inside the box, the same on any ranks, and own with 1 where no other
 * rank counts the point. */
static void random_start(const nek_config_t *config, const nek_level_t *level, double *r,
                         uint8_t *own)
{
    const nek_grid_t *g = &level->grid;
    for (int64_t q = 0; q < g->nodes; q++) {
        const int64_t in[3] = {q % g->points[0], q / g->points[0] % g->points[1],
                               q / ((int64_t)g->points[0] * g->points[1])};
        uint64_t id = 0;
        own[q] = 1;
        for (int d = 2; d >= 0; d--) {
            const int64_t at = config->first[d] * g->degree + in[d] - 1;
            id = id * (uint64_t)(config->elements[d] * g->degree + 1) + (uint64_t)at;
            own[q] = own[q] && in[d] > 0 && in[d] < g->points[d] - (g->high[d] ? 1 : 2);
        }
        r[q] = nek_grid_is_inside(g, q) ? rt_random(id, 1) : 0;
    }
}

/* Estimates it by that many steps of CG, which are Lanczos's. */
static double largest_of(const nek_config_t *config, const nek_level_t *level,
                         const nek_ref_fields_t *f, uint8_t *own)
{
    enum { STEPS = 12 };
    double T[STEPS * STEPS] = {0}, eigen[STEPS], V[STEPS * STEPS], alpha = 0, beta = 0, rz = 0;
    int m = 0;
    random_start(config, level, f->r, own);
    for (; m < STEPS; m++) {
        const double *z = smooth_once(level, f), before = rz;
        rz = grid_dot(level, own, f->r, z);
        if (!(rz > 0))
            break;
        beta = m > 0 ? rz / before : 0;
        if (m > 0) {
            T[(m - 1) * (STEPS + 1) + 1] = T[m * STEPS + m - 1] = sqrt(beta) / alpha;
            T[m * (STEPS + 1)] = beta / alpha;
        }
        for (int64_t q = 0; q < level->grid.nodes; q++)
            f->d[q] = z[q] + beta * f->d[q] * (m > 0);
        const nek_ref_job_t job = {.level = level, .in = f->d};
        nek_ref_add_boxes(level, NEK_OWN_BOX, level->grid.n, nek_ref_apply, &job, f->t);
        alpha = rz / grid_dot(level, own, f->d, f->t);
        T[m * (STEPS + 1)] += 1 / alpha;
        for (int64_t q = 0; q < level->grid.nodes; q++)
            f->r[q] -= alpha * f->t[q];
    }
    double most = 0;
    for (int i = m; i < STEPS; i++) /* stopped early: no coupling to what was not reached */
        for (int j = 0; j < STEPS; j++)
            T[i * STEPS + j] = T[j * STEPS + i] = 0;
    nek_symmetric_eigen(STEPS, T, eigen, V);
    for (int i = 0; i < STEPS; i++)
        most = fmax(most, eigen[i]);
    return most;
}

void nek_find_largest(nek_levels_t *levels)
{
    nek_ref_data_t data = {0};
    new_fields(&data, levels);
    for (int l = 0; l < levels->count - 1; l++) {
        nek_level_t *level = &levels->level[l];
        uint8_t *own = RT_NEW(uint8_t, (size_t)level->grid.nodes, RT_HOST);
        level->largest = largest_of(levels->config, level, &data.field[l], own);
        RT_FREE(own, RT_HOST);
    }
    free_fields(&data);
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
