/*
 * levels.c - the levels of the preconditioner: degrees, grids, transfers, and the operator of
 * degree 1. Setup only, in FP64 on the host.
 */
#include "config.h"
#include "grid.h"
#include <math.h>
#include <string.h>
#include "machine/timer.h"

int nek_precond(const nek_config_t *config, const nek_kernels_t *kernels)
{
    if (config->precond != NEK_AUTO)
        return config->precond;
    return kernels && kernels->preconditioner ? NEK_SCHWARZ : NEK_NONE;
}

int nek_level_degrees(const nek_config_t *config, int degree[NEK_MOST_LEVELS])
{
    int count = 0;
    for (int N = (int)config->degree; N > 1; N = (N + 1) / 3)
        degree[count++] = N;
    degree[count++] = 1;
    return count;
}

/* --- grids --- */

nek_grid_t nek_grid_of(const nek_config_t *config, int degree)
{
    nek_grid_t grid = {.degree = degree, .n = degree + 1, .patch = degree + 3, .nodes = 1};
    for (int d = 0; d < 3; d++) {
        const int64_t elements = config->elements[d], first = config->first[d];
        const bool whole = degree == 1;
        const int64_t held = whole ? elements : config->local[d];
        grid.local[d] = (int)config->local[d];
        grid.origin[d] = whole ? (int)first : 0;
        grid.points[d] = (int)(held * degree + 3);
        grid.low[d] = whole || first == 0;
        grid.high[d] = whole || first + config->local[d] == elements;
        grid.nodes *= grid.points[d];
    }
    return grid;
}

void nek_grid_list(const nek_config_t *config, const nek_grid_t *grid, rt_halo_list_t *list)
{
    const int N = grid->degree;
    const bool whole = N == 1;
    for (int64_t q = 0; q < grid->nodes; q++) {
        const int64_t in[3] = {q % grid->points[0], q / grid->points[0] % grid->points[1],
                               q / ((int64_t)grid->points[0] * grid->points[1])};
        int64_t id = 0, stride = 1;
        bool near = whole, inside = true, own = true;
        for (int d = 0; d < 3; d++) {
            const int64_t first = whole ? 0 : config->first[d];
            const int64_t g = first * N + in[d] - 1, extent = config->elements[d] * N + 1;
            int64_t element = g / N;
            inside = inside && g >= 0 && g < extent;
            near = near || (in[d] < 3 && !grid->low[d]) ||
                   (in[d] >= grid->points[d] - 3 && !grid->high[d]);
            element = element >= config->elements[d] ? config->elements[d] - 1 : element;
            own = own && g >= 0 && element >= config->first[d] &&
                  element < config->first[d] + config->local[d];
            id += stride * g;
            stride *= extent;
        }
        if (near && inside)
            rt_halo_list_add(list, q, id, own);
    }
}

int64_t nek_grid_shared(const nek_config_t *config, const nek_grid_t *grid)
{
    rt_halo_list_t list = {0};
    nek_grid_list(config, grid, &list);
    return list.n;
}

rt_halo_t *nek_grid_halo(const nek_config_t *config, const nek_grid_t *grid, const char *transport,
                         rt_kind_t kind, rt_space_t space)
{
    if (rt_comm_size() == 1)
        return NULL;
    rt_halo_list_t list = {0};
    while (rt_halo_list_again(&list))
        nek_grid_list(config, grid, &list);
    return rt_halo_of_list(
        &list, true,
        (rt_halo_desc_t){
            .max_components = 1, .kind = kind, .space = space, .transport = transport});
}

/* --- transfers and operators --- */

/* Fills J[fine][coarse]: the Lagrange polynomials of the coarse points at the fine ones. */
static void fill_interpolation(int fine, int coarse, double *J)
{
    double y[NEK_MAX_N], x[NEK_MAX_N], w[NEK_MAX_N], D[NEK_MAX_N * NEK_MAX_N];
    nek_gll(fine, y, w, D);
    nek_gll(coarse, x, w, D);
    for (int a = 0; a < fine; a++)
        for (int i = 0; i < coarse; i++) {
            double product = 1;
            for (int k = 0; k < coarse; k++)
                if (k != i)
                    product *= (y[a] - x[k]) / (x[i] - x[k]);
            J[a * coarse + i] = product;
        }
}

/* --- degree 1 --- */

/* Returns the geometric factors of degree 1, whose elements are those through their corners. */
static double *corner_factors(const nek_config_t *config)
{
    nek_config_t level = *config;
    level.degree = 1;
    level.n = 2;
    double *G = RT_NEW(double, 6 * 8 * (size_t)config->local_elements, RT_HOST), folded = 0;
#pragma omp parallel for schedule(static) reduction(max : folded)
    for (int64_t e = 0; e < config->local_elements; e++)
        if (!(nek_geometry(&level, e, G + e * 6 * 8, NULL, NULL) > 0))
            folded = 1;
    rt_comm_max(&folded, 1);
    if (folded > 0)
        rt_refuse(RT_USAGE, "--precond schwarz: an element folds if its shape is taken at its "
                            "corners only: bend the mesh less");
    return G;
}

void nek_corner_matrix(const double *D, const double *G, double *A)
{
    const nek_view_t one = {.n = 2, .elements = 1, .points = 8, .D = D, .G = G};
    for (int q = 0; q < 8; q++) {
        double unit[8] = {0};
        unit[q] = 1;
        nek_reference.ax(&one, unit, A + 8 * q);
    }
}

/* Adds the matrix of an element to the stencils; returns the largest eigenvalue of it with respect to
 * its diagonal. The largest of the mesh is no larger than that of all elements. */
static double add_element(const nek_config_t *config, nek_levels_t *levels, const double *D,
                          const double *G, int64_t e)
{
    const nek_grid_t *grid = &levels->level[levels->count - 1].grid;
    const int64_t from = nek_grid_box(grid, e, NEK_OWN_BOX);
    const double share = config->lambda * pow((double)config->degree, 3) / 8;
    double A[64], eigen[8], V[64], most = 0;
    nek_corner_matrix(D, G, A);
    for (int q = 0; q < 8; q++) {
        A[9 * q] += share;
        for (int r = 0; r < 8; r++) {
            const int s = (r & 1) - (q & 1) + 3 * ((r >> 1 & 1) - (q >> 1 & 1)) +
                          9 * ((r >> 2) - (q >> 2)) + NEK_STENCIL / 2;
            levels->stencil[s * grid->nodes + from + nek_grid_in_box(grid, 2, q)] += A[8 * q + r];
        }
    }
    for (int q = 0; q < 64; q++)
        V[q] = A[q] / sqrt(A[9 * (q / 8)] * A[9 * (q % 8)]);
    memcpy(A, V, sizeof A);
    nek_symmetric_eigen(8, A, eigen, V);
    for (int q = 0; q < 8; q++)
        most = fmax(most, eigen[q]);
    return most;
}

static void fill_stencil(const nek_config_t *config, nek_levels_t *levels)
{
    const nek_grid_t *grid = &levels->level[levels->count - 1].grid;
    const size_t values = NEK_STENCIL * (size_t)grid->nodes;
    double z[2], w[2], D[4], *G = corner_factors(config);
    nek_gll(2, z, w, D);
    levels->stencil = RT_NEW(double, values, RT_HOST);
    levels->coarse_inverse = RT_NEW(double, (size_t)grid->nodes, RT_HOST);
    memset(levels->stencil, 0, values * sizeof(double));
    for (int64_t e = 0; e < config->local_elements; e++)
        levels->coarse_largest =
            fmax(levels->coarse_largest, add_element(config, levels, D, G + e * 48, e));
    RT_FREE(G, RT_HOST);
    rt_comm_max(&levels->coarse_largest, 1);
    for (int s = 0; s < NEK_STENCIL; s++)
        rt_comm_sum(levels->stencil + s * grid->nodes, (int)grid->nodes);
    const int64_t row = grid->points[0], plane = row * grid->points[1];
    for (int64_t q = 0; q < grid->nodes; q++) {
        for (int s = 0; s < NEK_STENCIL; s++) {
            const int64_t to = q + s % 3 - 1 + (s / 3 % 3 - 1) * row + (s / 9 - 1) * plane;
            if (!nek_grid_is_inside(grid, q) || !nek_grid_is_inside(grid, to))
                levels->stencil[s * grid->nodes + q] = 0;
        }
        const double diag = levels->stencil[NEK_STENCIL / 2 * grid->nodes + q];
        levels->coarse_inverse[q] = diag > 0 ? 1 / diag : 0;
    }
}

static int coarse_order(const nek_config_t *config)
{
    enum { LEAST = 8 };
    const int64_t *elements = config->elements;
    const double longest =
        fmax((double)elements[0], fmax((double)elements[1], (double)elements[2]));
    return (int)fmax(LEAST, ceil(2 * longest / 3));
}

/* --- all --- */

static void fill_level(const nek_config_t *config, nek_levels_t *levels, int l, int degree,
                       const double *lengths, const char *transport)
{
    nek_level_t *level = &levels->level[l];
    level->grid = nek_grid_of(config, degree);
    level->halo = nek_grid_halo(config, &level->grid, transport, RT_CPU, RT_HOST);
    if (l > 0) {
        const int fine = levels->level[l - 1].grid.n, n = degree + 1;
        level->J = RT_NEW(double, (size_t)(fine * n), RT_HOST);
        fill_interpolation(fine, n, level->J);
    }
    if (l < levels->count - 1)
        nek_fill_patches(config, lengths, level);
}

nek_levels_t *nek_levels(nek_problem_t *p, const nek_kernels_t *kernels)
{
    const nek_config_t *config = p->config;
    int degree[NEK_MOST_LEVELS];
    rt_setup_charge(p->levels ? p->levels->seconds : 0);
    if (p->levels || nek_precond(config, kernels) != NEK_SCHWARZ)
        return p->levels;
    const double begin = rt_clock();
    nek_levels_t *levels = p->levels = RT_NEW(nek_levels_t, 1, RT_HOST);
    memset(levels, 0, sizeof *levels);
    levels->count = nek_level_degrees(config, degree);
    double *lengths = nek_edge_lengths(config);
    for (int l = 0; l < levels->count; l++)
        fill_level(config, levels, l, degree[l], lengths, p->run->opt.transport);
    fill_stencil(config, levels);
    levels->coarse_order = coarse_order(config);
    RT_FREE(lengths, RT_HOST);
    levels->seconds = rt_clock() - begin;
    return levels;
}

void nek_levels_destroy(nek_levels_t *levels)
{
    if (!levels)
        return;
    for (int l = 0; l < levels->count; l++) {
        nek_level_t *level = &levels->level[l];
        RT_FREE_ALL(RT_HOST, level->S, level->eigen, level->J);
        rt_halo_destroy(level->halo);
    }
    RT_FREE_ALL(RT_HOST, levels->stencil, levels->coarse_inverse, levels);
}
