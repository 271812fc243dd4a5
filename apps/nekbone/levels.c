/*
 * levels.c - the levels of a preconditioner: degrees, grids, transfers, operators, and the solver of
 * degree 1. Setup only, in FP64 on the host.
 */
#include "config.h"
#include "grid.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "machine/timer.h"

int nek_precond(const nek_config_t *config, const nek_kernels_t *kernels)
{
    if (config->precond != NEK_AUTO)
        return config->precond;
    return kernels && kernels->preconditioner ? NEK_SCHWARZ : NEK_NONE;
}

/* --- degrees --- */

static int automatic_degrees(int first, int precond, int *degree)
{
    int count = 0;
    for (int N = first; N > 1;) {
        degree[count++] = N;
        N = precond == NEK_MULTIGRID ? N / 2 : (N + 1) / 3 < 1 ? 1 : (N + 1) / 3;
    }
    degree[count++] = 1;
    return count;
}

int nek_level_degrees(const nek_config_t *config, int precond, int degree[NEK_MOST_LEVELS],
                      rt_text_t *why)
{
    const char *text = config->levels;
    const int first = (int)config->degree;
    int count = 0, before = INT_MAX;
    if (strcmp(text, "auto") == 0)
        return automatic_degrees(first, precond, degree);
    for (const char *at = text;; at++) {
        char *end;
        const long N = strtol(at, &end, 10);
        if (end == at || (*end != '-' && *end != '\0') || *at < '0' || *at > '9') {
            rt_text(why, "not degrees as in %d-3-1", first);
            return 0;
        }
        if (N >= before || N < 1) {
            rt_text(why, "degrees must fall, down to 1");
            return 0;
        }
        if (count == 0 && N != first) {
            rt_text(why, "the first must be --degree, which is %d", first);
            return 0;
        }
        before = degree[count++] = (int)N;
        at = end;
        if (*at == '\0')
            break;
    }
    if (before != 1) {
        rt_text(why, "the last must be 1");
        return 0;
    }
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

int64_t nek_grid_shared(const nek_config_t *config, const nek_grid_t *grid, int64_t *index,
                        int64_t *gid, uint8_t *owner)
{
    const int N = grid->degree;
    const bool whole = N == 1;
    int64_t count = 0;
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
        if (!near || !inside)
            continue;
        if (index) {
            index[count] = q;
            gid[count] = id;
            owner[count] = own;
        }
        count++;
    }
    return count;
}

rt_halo_t *nek_grid_halo(const nek_config_t *config, const nek_grid_t *grid, const char *transport,
                         rt_kind_t kind, rt_space_t space)
{
    if (rt_comm_size() == 1)
        return NULL;
    const int64_t n = nek_grid_shared(config, grid, NULL, NULL, NULL);
    int64_t *index = RT_NEW(int64_t, (size_t)n, RT_HOST);
    int64_t *gid = RT_NEW(int64_t, (size_t)n, RT_HOST);
    uint8_t *owner = RT_NEW(uint8_t, (size_t)n, RT_HOST);
    nek_grid_shared(config, grid, index, gid, owner);
    const rt_halo_desc_t desc = {.n = n,
                                 .index = index,
                                 .gid = gid,
                                 .owner = owner,
                                 .max_components = 1,
                                 .kind = kind,
                                 .space = space,
                                 .transport = transport};
    rt_halo_t *halo = rt_halo_new(&desc);
    RT_FREE(index, RT_HOST);
    RT_FREE(gid, RT_HOST);
    RT_FREE(owner, RT_HOST);
    return halo;
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

/* Returns the geometric factors of a level, whose elements are those through its own points. */
static double *level_factors(const nek_config_t *config, int degree)
{
    nek_config_t level = *config;
    level.degree = degree;
    level.n = degree + 1;
    const int64_t n3 = (int64_t)level.n * level.n * level.n;
    double *G = RT_NEW(double, 6 * (size_t)(config->local_elements * n3), RT_HOST), folded = 0;
#pragma omp parallel for schedule(static) reduction(max : folded)
    for (int64_t e = 0; e < config->local_elements; e++)
        if (!(nek_geometry(&level, e, G + e * 6 * n3, NULL, NULL) > 0))
            folded = 1;
    rt_comm_max(&folded, 1);
    if (folded > 0)
        rt_refuse(RT_USAGE,
                  "--levels: an element folds if its shape is taken at the points of degree %d "
                  "only: %s",
                  degree,
                  degree == 1 ? "bend the mesh less, or take --precond jacobi"
                              : "leave that level out, or bend the mesh less");
    return G;
}

/* Sets inverse to 1 / diagonal of the level's operator on the grid, 0 on the boundary. */
static void fill_inverse(const nek_config_t *config, nek_level_t *level, const double *G)
{
    const nek_grid_t *grid = &level->grid;
    const int n = grid->n, n3 = n * n * n;
    level->inverse = RT_NEW(double, (size_t)grid->nodes, RT_HOST);
    memset(level->inverse, 0, (size_t)grid->nodes * sizeof(double));
    for (int64_t e = 0; e < config->local_elements; e++) {
        double diag[NEK_MAX_N3];
        const int64_t from = nek_grid_box(grid, e, NEK_OWN_BOX);
        nek_element_diagonal(n, level->D, G + e * 6 * n3, diag);
        for (int q = 0; q < n3; q++)
            level->inverse[from + nek_grid_in_box(grid, n, q)] +=
                diag[q] + level->lambda * nek_share(n, q % n) * nek_share(n, q / n % n) *
                              nek_share(n, q / (n * n));
    }
    if (level->halo) {
        rt_field_t field = rt_field_f64(level->inverse);
        rt_halo_do(level->halo, RT_HALO_SUM, &field);
    }
    for (int64_t q = 0; q < grid->nodes; q++)
        level->inverse[q] =
            nek_grid_is_inside(grid, q) && level->inverse[q] > 0 ? 1 / level->inverse[q] : 0;
}

/* --- degree 1 --- */

/* Adds the matrix of an element to the stencils; returns the largest eigenvalue of it with respect to
 * its diagonal. The largest of the mesh is no larger than that of all elements. */
static double add_element(const nek_config_t *config, nek_levels_t *levels, const double *D,
                          const double *G, int64_t e)
{
    const nek_grid_t *grid = &levels->level[levels->count - 1].grid;
    const int64_t from = nek_grid_box(grid, e, NEK_OWN_BOX);
    const nek_view_t one = {.n = 2, .elements = 1, .points = 8, .D = D, .G = G};
    const double share = config->lambda * pow((double)config->degree, 3) / 8;
    double A[64], eigen[8], V[64], most = 0;
    for (int q = 0; q < 8; q++) {
        double unit[8] = {0};
        unit[q] = 1;
        nek_reference.ax(&one, unit, A + 8 * q);
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
    const nek_level_t *level = &levels->level[levels->count - 1];
    const nek_grid_t *grid = &level->grid;
    const size_t values = NEK_STENCIL * (size_t)grid->nodes;
    double *G = level_factors(config, 1);
    levels->stencil = RT_NEW(double, values, RT_HOST);
    levels->coarse_inverse = RT_NEW(double, (size_t)grid->nodes, RT_HOST);
    memset(levels->stencil, 0, values * sizeof(double));
    for (int64_t e = 0; e < config->local_elements; e++)
        levels->coarse_largest =
            fmax(levels->coarse_largest, add_element(config, levels, level->D, G + e * 48, e));
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
    int64_t longest = 0;
    for (int d = 0; d < 3; d++)
        longest = config->elements[d] > longest ? config->elements[d] : longest;
    const int64_t fit = (2 * longest + 2) / 3;
    return (int)(config->coarse_order > 0 ? config->coarse_order : fit < LEAST ? LEAST : fit);
}

/* --- all --- */

static void fill_level(const nek_config_t *config, nek_levels_t *levels, int l, int degree,
                       const double *lengths, const char *transport)
{
    nek_level_t *level = &levels->level[l];
    const bool last = l == levels->count - 1, multigrid = levels->precond == NEK_MULTIGRID;
    const size_t n = (size_t)degree + 1;
    double z[NEK_MAX_N], w[NEK_MAX_N];
    level->grid = nek_grid_of(config, degree);
    level->halo = nek_grid_halo(config, &level->grid, transport, RT_CPU, RT_HOST);
    level->D = RT_NEW(double, n *n, RT_HOST);
    nek_gll((int)n, z, w, level->D);
    level->lambda = config->lambda * pow((double)config->degree / degree, 3);
    if (l > 0) {
        const int fine = levels->level[l - 1].grid.n;
        level->J = RT_NEW(double, (size_t)fine *n, RT_HOST);
        fill_interpolation(fine, (int)n, level->J);
    }
    if (last)
        return;
    if (multigrid && l > 0)
        level->G = level_factors(config, degree);
    if (multigrid && config->smoother == NEK_SMOOTH_JACOBI)
        fill_inverse(config, level, level->G);
    else
        nek_fill_patches(config, lengths, level);
}

nek_levels_t *nek_levels_new(const nek_config_t *config, int precond, double *G,
                             const char *transport)
{
    int degree[NEK_MOST_LEVELS];
    rt_text_t why;
    const double begin = rt_clock();
    nek_levels_t *levels = RT_NEW(nek_levels_t, 1, RT_HOST);
    memset(levels, 0, sizeof *levels);
    levels->config = config;
    levels->precond = precond;
    levels->count = nek_level_degrees(config, precond, degree, &why);
    levels->level[0].G = G;
    double *lengths = nek_edge_lengths(config);
    for (int l = 0; l < levels->count; l++)
        fill_level(config, levels, l, degree[l], lengths, transport);
    if (config->coarse == NEK_COARSE_TENSOR)
        nek_fill_modes(config, lengths, levels);
    else
        fill_stencil(config, levels);
    levels->coarse_order = coarse_order(config);
    RT_FREE(lengths, RT_HOST);
    if (precond == NEK_MULTIGRID)
        nek_find_largest(levels);
    levels->seconds = rt_clock() - begin;
    return levels;
}

void nek_levels_destroy(nek_levels_t *levels)
{
    if (!levels)
        return;
    levels->level[0].G = NULL; /* the problem's */
    for (int l = 0; l < levels->count; l++) {
        nek_level_t *level = &levels->level[l];
        double **const arrays[] = {&level->S, &level->eigen,   &level->D,
                                   &level->G, &level->inverse, &level->J};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            RT_FREE(*arrays[i], RT_HOST);
        rt_halo_destroy(level->halo);
    }
    RT_FREE(levels->stencil, RT_HOST);
    RT_FREE(levels->coarse_inverse, RT_HOST);
    for (int d = 0; d < 3; d++) {
        RT_FREE(levels->modes[d], RT_HOST);
        RT_FREE(levels->mode_eigen[d], RT_HOST);
    }
    RT_FREE(levels, RT_HOST);
}

double nek_levels_memory(const nek_config_t *config, int precond)
{
    int degree[NEK_MOST_LEVELS];
    rt_text_t why;
    const bool multigrid = precond == NEK_MULTIGRID;
    const bool jacobi = multigrid && config->smoother == NEK_SMOOTH_JACOBI;
    const int count = nek_level_degrees(config, precond, degree, &why);
    const double elements = (double)config->local_elements;
    double values = 0, halos = 0;
    for (int l = 0; l < count; l++) {
        const nek_grid_t g = nek_grid_of(config, degree[l]);
        const double n = g.n, patch = g.patch, nodes = (double)g.nodes;
        values += n * n;
        if (l == count - 1)
            values += config->coarse == NEK_COARSE_CHEBYSHEV ? (NEK_STENCIL + 1) * nodes : 0;
        else
            values += (jacobi ? nodes : elements * 3 * patch * (patch + 1)) +
                      (multigrid && l > 0 ? elements * 6 * n * n * n : 0);
        if (rt_comm_size() > 1)
            halos += (double)rt_halo_predict(0, nek_grid_shared(config, &g, NULL, NULL, NULL), 1,
                                             RT_HOST);
    }
    return sizeof(nek_levels_t) + sizeof(double) * values + halos;
}
