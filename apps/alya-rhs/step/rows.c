/*
 * rows.c - what a time step needs of the mesh: boundaries, the rows of L and G, masses, dt.
 */
#include "config.h"
#include "../alya.h"
#include <math.h>
#include <string.h>

static const double courant = 0.5;

void alya_sum_copies(const alya_problem_t *p, double *x)
{
    const rt_field_t field = rt_field_f64(x);
    if (p->halo)
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
}

/* Computes g_a of an element; returns V. */
static double gradients(const alya_mesh_t *mesh, int64_t e, double g[4][3])
{
    double edge[3][3];
    alya_edges(mesh, mesh->connectivity + 4 * e, edge);
    const double det = alya_determinant(edge);
    for (int i = 0; i < 3; i++) {
        const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        g[0][i] = 0;
        for (int k = 0; k < 3; k++) {
            const double *a = edge[(k + 1) % 3], *b = edge[(k + 2) % 3];
            g[k + 1][i] = (a[i1] * b[i2] - a[i2] * b[i1]) / det;
            g[0][i] -= g[k + 1][i];
        }
    }
    return det / 6;
}

/* --- boundaries --- */

/* Marks what is fixed at a node of the hill: id is ((i (ny+1)) + j) (nz+1) + k. */
static uint8_t fixed_on_hill(const alya_config_t *config, int64_t id)
{
    const int64_t *n = config->cells, k = id % (n[2] + 1), j = id / (n[2] + 1) % (n[1] + 1);
    const int64_t i = id / (n[2] + 1) / (n[1] + 1);
    if (k == 0 || i == 0) /* ground, inflow */
        return 7 | (i == n[0] ? ALYA_PRESSURE_FIXED : 0);
    return (uint8_t)((k == n[2] ? 4 : 0) | (j == 0 || j == n[1] ? 2 : 0) |
                     (i == n[0] ? ALYA_PRESSURE_FIXED : 0));
}

static void fix(const alya_problem_t *p, uint8_t *fixed)
{
    const alya_mesh_t *mesh = p->mesh;
    double largest_x = -1e300, any = 0;
    for (int64_t n = 0; n < mesh->nodes; n++)
        largest_x = fmax(largest_x, mesh->x[3 * n]);
    rt_comm_max(&largest_x, 1);
    for (int64_t n = 0; n < mesh->nodes; n++) {
        fixed[n] = 0;
        if (p->config->is_hill)
            fixed[n] = fixed_on_hill(p->config, mesh->node_id[n]);
        else if (mesh->flags[n] & ALYA_BOUNDARY)
            fixed[n] = mesh->x[3 * n] == largest_x ? ALYA_PRESSURE_FIXED : 7;
        any += (fixed[n] & ALYA_PRESSURE_FIXED) != 0;
    }
    rt_comm_sum(&any, 1);
    for (int64_t n = 0; n < mesh->nodes && any == 0; n++)
        if (mesh->node_id[n] == 0)
            fixed[n] |= ALYA_PRESSURE_FIXED;
}

/* Makes the velocity agree with the boundaries: over the hill the inflow is the logarithmic profile
 * alone, and nothing flows through top, sides and ground. */
static void apply_boundaries(const alya_problem_t *p, const uint8_t *fixed, double *u)
{
    for (int64_t n = 0; n < p->mesh->nodes && p->config->is_hill; n++) {
        const double *x = p->mesh->x + 3 * n;
        for (int i = 0; i < 3; i++)
            if (fixed[n] >> i & 1)
                u[3 * n + i] = 0;
        if ((fixed[n] & 7) == 7)
            u[3 * n] = alya_log_wind(fmax(0, x[2] - alya_hill(x[0], x[1])));
    }
}

/* --- rows --- */

/* The elements of each node: list[first[n] .. first[n + 1] - 1]. */
typedef struct {
    int64_t *first;
    int32_t *list;
} elements_of_t;

static elements_of_t find_elements(const alya_mesh_t *mesh)
{
    const size_t nodes = (size_t)mesh->nodes, entries = 4 * (size_t)mesh->elements;
    elements_of_t of = {RT_NEW(int64_t, nodes + 2, RT_HOST), RT_NEW(int32_t, entries, RT_HOST)};
    memset(of.first, 0, (nodes + 2) * sizeof *of.first);
    for (size_t k = 0; k < entries; k++)
        of.first[mesh->connectivity[k] + 2]++;
    for (size_t n = 2; n < nodes + 2; n++)
        of.first[n] += of.first[n - 1];
    for (size_t k = 0; k < entries; k++)
        of.list[of.first[mesh->connectivity[k] + 1]++] = (int32_t)(k / 4);
    return of;
}

/* Entry 0 is the diagonal. */
typedef struct {
    int n;
    double volume; /* V_a */
    int32_t column[ALYA_MOST_NEIGHBOURS];
    double laplace[ALYA_MOST_NEIGHBOURS], gradient[ALYA_MOST_NEIGHBOURS][3];
} row_t;

static int find_column(row_t *row, int32_t column)
{
    for (int k = 0; k < row->n; k++)
        if (row->column[k] == column)
            return k;
    RT_EXPECT(row->n < ALYA_MOST_NEIGHBOURS, RT_USAGE, "a node with more than %d neighbours",
              ALYA_MOST_NEIGHBOURS);
    row->column[row->n] = column;
    row->laplace[row->n] = 0;
    memset(row->gradient[row->n], 0, sizeof row->gradient[0]);
    return row->n++;
}

static void make_row(const alya_mesh_t *mesh, const elements_of_t *of, int64_t n, row_t *row)
{
    row->n = 0;
    row->volume = 0;
    find_column(row, (int32_t)n);
    for (int64_t m = of->first[n]; m < of->first[n + 1]; m++) {
        const int32_t e = of->list[m], *node = mesh->connectivity + 4 * (int64_t)e;
        double g[4][3];
        const double V = gradients(mesh, e, g);
        int self = 0;
        row->volume += V / 4;
        while (node[self] != n)
            self++;
        for (int a = 0; a < 4; a++) {
            const int k = find_column(row, node[a]);
            for (int i = 0; i < 3; i++) {
                row->laplace[k] += V * g[self][i] * g[a][i];
                row->gradient[k][i] += V / 4 * g[a][i];
            }
        }
    }
}

/* Counts the entries of the slices. */
static void make_slices(const alya_mesh_t *mesh, const elements_of_t *of, alya_rows_t *rows)
{
    const int64_t slices = alya_slices(rows->nodes);
    rows->slice = RT_NEW(int64_t, (size_t)slices + 1, RT_HOST);
    rows->slice[0] = 0;
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < slices; s++) {
        row_t row;
        int width = 0;
        for (int64_t n = s * ALYA_SLICE; n < rows->nodes && n < (s + 1) * ALYA_SLICE; n++) {
            make_row(mesh, of, n, &row);
            width = row.n > width ? row.n : width;
        }
        rows->slice[s + 1] = (int64_t)width * ALYA_SLICE;
    }
    for (int64_t s = 0; s < slices; s++)
        rows->slice[s + 1] += rows->slice[s];
    rows->entries = rows->slice[slices];
}

/* Stores a row; what is left of its slice is padding. */
static void put_row(const row_t *row, int64_t n, alya_rows_t *rows)
{
    const int64_t end = rows->slice[n / ALYA_SLICE + 1];
    int64_t at = rows->slice[n / ALYA_SLICE] + n % ALYA_SLICE;
    for (int k = 0; at < end; k++, at += ALYA_SLICE) {
        const bool is_entry = k < row->n;
        rows->column[at] = is_entry ? row->column[k] : (int32_t)n;
        rows->laplace[at] = is_entry ? row->laplace[k] : 0;
        for (int i = 0; i < 3; i++)
            rows->gradient[i * rows->entries + at] = is_entry ? row->gradient[k][i] : 0;
    }
}

static void make_rows(const alya_problem_t *p, alya_rows_t *rows)
{
    const elements_of_t of = find_elements(p->mesh);
    make_slices(p->mesh, &of, rows);
    const size_t entries = (size_t)rows->entries;
    rows->column = RT_NEW(int32_t, entries, RT_HOST);
    rows->laplace = RT_NEW(double, entries, RT_HOST);
    rows->gradient = RT_NEW(double, 3 * entries, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < rows->nodes; n++) {
        row_t row;
        make_row(p->mesh, &of, n, &row);
        put_row(&row, n, rows);
        rows->per_volume[n] = row.volume;
        rows->per_diagonal[n] = row.laplace[0];
    }
    const row_t none = {.n = 0}; /* the last slice goes on after the last node */
    for (int64_t n = rows->nodes; n < alya_slices(rows->nodes) * ALYA_SLICE; n++)
        put_row(&none, n, rows);
    RT_FREE_ALL(RT_HOST, of.first, of.list);
    alya_sum_copies(p, rows->per_volume);
    alya_sum_copies(p, rows->per_diagonal);
    for (int64_t n = 0; n < rows->nodes; n++) {
        rows->per_volume[n] = 1 / rows->per_volume[n];
        rows->per_diagonal[n] =
            rows->fixed[n] & ALYA_PRESSURE_FIXED ? 0 : 1 / rows->per_diagonal[n];
    }
}

/* --- of whole nodes --- */

/* Finds the first copy of each node, ranks in order, then numbers: bit by bit of (rank, number), from
 * the highest, copies that have a 1 where another that is still left has a 0 are out. */
static void find_own(const alya_problem_t *p, uint8_t *own)
{
    enum { NUMBER_BITS = 31 };
    const int64_t nodes = p->mesh->nodes;
    const uint64_t rank = (uint64_t)rt_comm_rank() << NUMBER_BITS;
    double *zeros = RT_NEW(double, (size_t)nodes, RT_HOST);
    int bit = NUMBER_BITS;
    memset(own, 1, (size_t)nodes);
    while (rt_comm_size() > 1 << (bit - NUMBER_BITS))
        bit++;
    while (p->halo && bit-- > 0) {
        for (int64_t n = 0; n < nodes; n++)
            zeros[n] = own[n] && !((rank | (uint64_t)n) >> bit & 1);
        alya_sum_copies(p, zeros);
        for (int64_t n = 0; n < nodes; n++)
            if ((rank | (uint64_t)n) >> bit & 1 && zeros[n] > 0)
                own[n] = 0;
    }
    RT_FREE(zeros, RT_HOST);
}

/* Returns the fastest rate of an element, 1/s: sum_a |g_a . u| of its fastest node, which is twice the
 * Courant number per time, and twice its diffusion. */
static double fastest_rate(const alya_problem_t *p, const double *u)
{
    const alya_physics_t *physics = &p->physics;
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t e = 0; e < p->mesh->elements; e++) {
        const int32_t *node = p->mesh->connectivity + 4 * e;
        double g[4][3], J[3][3] = {{0}}, convection = 0, squares = 0, B = 0, Q = 0;
        const double V = gradients(p->mesh, e, g);
        for (int a = 0; a < 4; a++) {
            const double *ua = u + 3 * (int64_t)node[a];
            double rate = 0;
            for (int b = 0; b < 4; b++)
                rate += fabs(g[b][0] * ua[0] + g[b][1] * ua[1] + g[b][2] * ua[2]);
            convection = fmax(convection, rate);
            for (int i = 0; i < 3; i++) {
                squares += g[a][i] * g[a][i];
                for (int j = 0; j < 3; j++)
                    J[i][j] += ua[i] * g[a][j];
            }
        }
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                B += pow(J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1], 2);
                Q += J[i][j] * J[i][j];
            }
        const double width = physics->filter > 0 ? physics->filter : cbrt(V);
        const double eddy = Q > 0 ? physics->vreman * width * width * sqrt(B / Q) : 0;
        most = fmax(most, convection + 2 * (physics->mu / physics->rho + 2 * eddy) * squares);
    }
    rt_comm_max(&most, 1);
    return most;
}

/* Inside a generated mesh a row has 15 entries. On average it has one more than twice the edges per
 * node, of which there are about 1 + elements per node; a slice is as wide as its longest row. */
double alya_rows_memory(const alya_counts_t *counts, double *making)
{
    const double N = (double)counts->nodes, E = (double)counts->elements;
    const double entries = (counts->cells[0] > 0 ? 15 : 1.7 * (3 + 2 * E / N)) * (N + ALYA_SLICE);
    *making = 4.0 * sizeof(int32_t) * E + sizeof(int64_t) * (N + 2);
    return entries * (4 * sizeof(double) + sizeof(int32_t)) + (2 * sizeof(double) + 2) * N +
           sizeof(int64_t) * ((double)alya_slices(counts->nodes) + 1);
}

alya_flow_input_t *alya_flow_input_new(const alya_problem_t *p)
{
    const size_t nodes = (size_t)p->mesh->nodes;
    const double begin = rt_clock();
    alya_flow_input_t *input = RT_NEW(alya_flow_input_t, 1, RT_HOST);
    alya_rows_t *rows = &input->rows;
    *rows = (alya_rows_t){.nodes = p->mesh->nodes,
                          .per_volume = RT_NEW(double, nodes, RT_HOST),
                          .per_diagonal = RT_NEW(double, nodes, RT_HOST),
                          .fixed = RT_NEW(uint8_t, nodes, RT_HOST),
                          .own = RT_NEW(uint8_t, nodes, RT_HOST)};
    fix(p, rows->fixed);
    find_own(p, rows->own);
    make_rows(p, rows);
    input->u = rt_clone(p->u, 3 * nodes, sizeof(double), RT_HOST);
    apply_boundaries(p, rows->fixed, input->u);
    input->dt = p->config->dt > 0 ? p->config->dt : 2 * courant / fastest_rate(p, input->u);
    input->seconds = rt_clock() - begin;
    return input;
}

void alya_flow_input_destroy(alya_flow_input_t *input)
{
    if (!input)
        return;
    const alya_rows_t *rows = &input->rows;
    RT_FREE_ALL(RT_HOST, rows->slice, rows->column, rows->laplace, rows->gradient, rows->per_volume,
                rows->per_diagonal, rows->fixed, rows->own, input->u, input);
}
