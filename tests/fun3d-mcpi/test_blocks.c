/*
 * test_blocks.c - where blocks come from: dual mesh, flux Jacobians, viscous terms, walls; and what
 * is made of them: scaled, rounded and factored rows.
 *
 * Wanted values come from the equations: derivatives of the flux itself, cells that close, volumes,
 * constant and linear fields. The meshes have all four element types, bent quads, and vertices
 * moved at random, so that nothing holds by symmetry.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "apps/fun3d-mcpi/input/flow.h"
#include "tests/common/check.h"

/* --- meshes --- */

static rt_mesh_t *mesh_new(int64_t vertices, int64_t most)
{
    rt_mesh_t *mesh = RT_NEW(rt_mesh_t, 1, RT_HOST);
    memset(mesh, 0, sizeof *mesh);
    mesh->vertices = vertices;
    mesh->x = RT_NEW(double, 3 * (size_t)vertices, RT_HOST);
    for (int t = 0; t < RT_ELEMENTS; t++)
        mesh->element[t] = RT_NEW(int32_t, (size_t)(8 * most), RT_HOST);
    for (int t = 0; t < RT_FACES; t++) {
        mesh->face[t] = RT_NEW(int32_t, (size_t)(4 * most), RT_HOST);
        mesh->tag[t] = RT_NEW(int32_t, (size_t)most, RT_HOST);
    }
    return mesh;
}

static void add(rt_mesh_t *mesh, rt_element_t type, const int32_t *vertex)
{
    const int size = rt_element_size(type);
    memcpy(mesh->element[type] + size * mesh->elements[type]++, vertex,
           (size_t)size * sizeof *vertex);
}

static void add_wall(rt_mesh_t *mesh, rt_face_t type, const int32_t *vertex)
{
    const int size = rt_face_size(type);
    mesh->tag[type][mesh->faces[type]] = MCPI_TAG_WALL;
    memcpy(mesh->face[type] + size * mesh->faces[type]++, vertex, (size_t)size * sizeof *vertex);
}

/* One element, its corners as given or moved a little. */
static rt_mesh_t *one_element(rt_element_t type, double moved)
{
    static const double corner[RT_ELEMENTS][24] = {
        {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1},
        {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0.5, 0.5, 1},
        {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1},
        {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1}};
    static const int32_t own[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    rt_mesh_t *mesh = mesh_new(rt_element_size(type), 1);
    for (int k = 0; k < 3 * rt_element_size(type); k++)
        mesh->x[k] = corner[type][k] + moved * rt_random((uint64_t)k, 3);
    add(mesh, type, own);
    return mesh;
}

/* The cell whose first vertex is o: six tetrahedra, along all ways through it. */
static void add_tetrahedra(rt_mesh_t *mesh, int32_t o, const int step[3])
{
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                    {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int p = 0; p < 6; p++) {
        int32_t v[4] = {o};
        for (int m = 0; m < 3; m++)
            v[m + 1] = v[m] + step[order[p][m]];
        if (p >= 3) { /* odd permutations turn it inside out */
            const int32_t other = v[1];
            v[1] = v[2];
            v[2] = other;
        }
        add(mesh, RT_TETRAHEDRON, v);
    }
}

/* The cell of these corners: a vertex in its middle, and six pyramids whose bases face it. */
static void add_pyramids(rt_mesh_t *mesh, const int32_t h[8], double moved)
{
    static const int face[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                   {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
    const int32_t apex = (int32_t)mesh->vertices++;
    for (int d = 0; d < 3; d++) {
        mesh->x[3 * apex + d] = moved * rt_random((uint64_t)(3 * apex + d), 1);
        for (int m = 0; m < 8; m++)
            mesh->x[3 * apex + d] += mesh->x[3 * h[m] + d] / 8;
    }
    for (int f = 0; f < 6; f++) {
        const int32_t v[5] = {h[face[f][0]], h[face[f][3]], h[face[f][2]], h[face[f][1]], apex};
        add(mesh, RT_PYRAMID, v);
    }
}

/* Cells of a unit cube, n each way; vertices inside are moved. Of tetrahedra: six a cell. Mixed:
 * hexahedra, a stack of prisms, and a stack of cells that are six pyramids each. Bottom: wall. */
static rt_mesh_t *cube(int n, bool mixed)
{
    const int s = n + 1, step[3] = {1, s, s * s};
    rt_mesh_t *mesh = mesh_new(s * s * s + n, 6 * n * n * n);
    for (int v = 0; v < s * s * s; v++) {
        const int at[3] = {v % s, v / s % s, v / s / s};
        bool inside = true;
        for (int d = 0; d < 3; d++)
            inside &= at[d] > 0 && at[d] < n;
        for (int d = 0; d < 3; d++)
            mesh->x[3 * v + d] =
                (at[d] + (inside ? 0.2 * rt_random((uint64_t)(3 * v + d), 1) : 0)) / n;
    }
    mesh->vertices = s * s * s;
    for (int cell = 0; cell < n * n * n; cell++) {
        const int i = cell % n, j = cell / n % n, k = cell / n / n, o = i + j * s + k * s * s;
        const int32_t h[8] = {o,         o + 1,         o + 1 + s,         o + s,
                              o + s * s, o + 1 + s * s, o + 1 + s + s * s, o + s + s * s};
        if (!mixed) {
            add_tetrahedra(mesh, o, step);
        } else if (i == 0 && j == 0) {
            add_pyramids(mesh, h, 0.1 / n);
        } else if (i == 1 && j == 1) {
            const int32_t one[6] = {h[0], h[1], h[2], h[4], h[5], h[6]};
            const int32_t two[6] = {h[0], h[2], h[3], h[4], h[6], h[7]};
            add(mesh, RT_PRISM, one);
            add(mesh, RT_PRISM, two);
        } else {
            add(mesh, RT_HEXAHEDRON, h);
        }
        const int32_t bottom[4] = {h[0], h[3], h[2], h[1]};
        const int32_t halves[2][3] = {{h[0], h[2], h[1]}, {h[0], h[3], h[2]}};
        if (k == 0 && mixed && !(i == 1 && j == 1))
            add_wall(mesh, RT_QUAD, bottom);
        else if (k == 0)
            for (int half = 0; half < 2; half++)
                add_wall(mesh, RT_TRIANGLE, halves[half]);
    }
    return mesh;
}

static mcpi_source_t *flow_on(const rt_mesh_t *mesh, int nb, const char *walls)
{
    const mcpi_flow_t flow = {
        .nb = nb, .cfl = 10, .mach = 0.8, .reynolds = 100, .walls = walls, .seed = 1};
    return mcpi_flow_new(mesh, &flow);
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* --- dual mesh --- */

/* The largest violation of what holds on every mesh, relative to the sizes of what is added up. */
typedef struct {
    double open;      /* sum n_ij + n_b */
    double uneven;    /* n_ij + n_ji */
    double backward;  /* largest -n_ij . (x_j - x_i): faces look away from i */
    double inside;    /* |n_b| of vertices inside a cube */
    double L_sum;     /* sum_b L_ab + L_aa */
    double L_linear;  /* sum_b L_ab (x_b - x_a) + n_b: the gradient of x is 1 */
    double volume;    /* sum of the dual cells */
    double bottom;    /* sum of n_b over z = 0 */
    int64_t interior; /* vertices inside */
} dual_t;

static dual_t measure(const mcpi_source_t *source)
{
    const mcpi_graph_t *g = source->graph;
    const mcpi_flow_data_t *f = source->data;
    dual_t m = {0};
    for (int64_t v = 0; v < g->rows; v++) {
        const double *x = source->x + 3 * v, *left = f->boundary + 3 * v;
        double sum[3] = {left[0], left[1], left[2]}, linear[3] = {left[0], left[1], left[2]};
        double size = 0, L = f->diagonal[v], L_size = 0, lengths = 0;
        for (int64_t p = g->start[v]; p < g->start[v + 1]; p++) {
            const int64_t w = g->neighbour[p];
            const double *n = f->n + 3 * p;
            int64_t back = g->start[w];
            double step[3], twice = 0;
            while (g->neighbour[back] != v)
                back++;
            for (int d = 0; d < 3; d++) {
                step[d] = source->x[3 * w + d] - x[d];
                sum[d] += n[d];
                linear[d] += f->viscous[p] * step[d];
                twice = fmax(twice, fabs(n[d] + f->n[3 * back + d]));
            }
            const double area = sqrt(dot(n, n));
            size += area;
            L += f->viscous[p];
            L_size += fabs(f->viscous[p]);
            lengths += fabs(f->viscous[p]) * sqrt(dot(step, step));
            m.uneven = fmax(m.uneven, area > 0 ? twice / area : twice);
            m.backward = fmax(m.backward, -dot(n, step));
            m.volume += dot(n, step) / 6;
        }
        m.open = fmax(m.open, sqrt(dot(sum, sum)) / size);
        m.L_sum = fmax(m.L_sum, fabs(L) / L_size);
        m.L_linear = fmax(m.L_linear, sqrt(dot(linear, linear)) / (size + lengths));
        bool inside = true;
        for (int d = 0; d < 3; d++)
            inside &= x[d] > 1e-9 && x[d] < 1 - 1e-9;
        m.interior += inside;
        if (inside)
            m.inside = fmax(m.inside, sqrt(dot(left, left)));
        if (x[2] < 1e-9)
            m.bottom += left[2];
    }
    return m;
}

/* Catches: a face of an element the wrong way round, a wrong centroid or factor, a sum over the
 * wrong edges, a boundary where there is none. `inside` is the true check of closing: n_b is what
 * is left over. */
static void check_dual(const rt_mesh_t *mesh, double volume, double bottom, int64_t interior)
{
    mcpi_source_t *source = flow_on(mesh, 5, "1");
    const dual_t m = measure(source);
    CHECK(m.open < 1e-12);
    CHECK(m.uneven < 1e-10);
    CHECK(m.backward <= 0);
    CHECK(m.L_sum < 1e-12);
    CHECK(m.L_linear < 1e-12);
    if (volume > 0)
        CHECK(fabs(m.volume - volume) < 1e-13);
    if (interior >= 0) {
        CHECK(m.interior == interior);
        CHECK(m.inside == 0);
        CHECK(fabs(m.bottom - bottom) < 1e-13);
    }
    mcpi_source_destroy(source);
}

/* Volumes are those of geometry; the moved elements have bent quads, whose dual cells still fill
 * the element. */
static void check_elements(void)
{
    static const double volume[RT_ELEMENTS] = {1. / 6, 1. / 3, 0.5, 1};
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int moved = 0; moved < 2; moved++) {
            rt_mesh_t *mesh = one_element((rt_element_t)t, moved ? 0.1 : 0);
            double least = INFINITY, most = 0, gradient[9] = {0};
            for (int a = 0; a < rt_element_size((rt_element_t)t); a++) {
                mcpi_share_t share;
                mcpi_share(mesh, (rt_element_t)t, 0, a, &share);
                least = fmin(least, share.volume);
                most = fmax(most, share.volume);
                for (int k = 0; a == 0 && k < 9 * rt_element_size((rt_element_t)t); k++)
                    gradient[k % 9] +=
                        share.s[k / 9][k % 3] * mesh->x[3 * (k / 9) + k % 9 / 3] / share.volume;
            }
            CHECK(most - least < 1e-15);
            CHECK(moved || fabs(most - volume[t]) < 1e-15);
            double worst = 0;
            for (int k = 0; k < 9; k++) /* of x, y and z */
                worst = fmax(worst, fabs(gradient[k] - (k % 4 == 0)));
            CHECK(worst < 1e-14);
            check_dual(mesh, most, 0, -1);
            rt_mesh_destroy(mesh);
        }
}

/* --- flux Jacobians --- */

/* Flux through unit area, from the equations. */
static void flux(int nb, const double *q, const double n[3], double *F)
{
    if (nb == 4) {
        const double V = dot(q + 1, n);
        F[0] = V; /* times beta, 1 */
        for (int d = 0; d < 3; d++)
            F[1 + d] = q[1 + d] * V + q[0] * n[d];
        return;
    }
    const double V = dot(q + 1, n) / q[0], p = 0.4 * (q[4] - dot(q + 1, q + 1) / (2 * q[0]));
    for (int k = 0; k < nb; k++)
        F[k] = q[k] * V + (k >= 1 && k <= 3 ? p * n[k - 1] : k == 4 ? p * V : 0);
}

/* What viscous stress and conduction act on: velocity, u du + gamma/Pr de, scalars, as a change
 * from q0 to q. */
static void diffused(int nb, const double *q0, const double *q, double *w)
{
    if (nb == 4) {
        w[0] = 0;
        for (int d = 1; d < 4; d++)
            w[d] = q[d];
        return;
    }
    const double e = q[4] / q[0] - dot(q + 1, q + 1) / (2 * q[0] * q[0]);
    w[0] = 0;
    w[4] = 1.4 / 0.72 * e;
    for (int d = 0; d < 3; d++) {
        w[1 + d] = q[1 + d] / q[0];
        w[4] += q0[1 + d] / q0[0] * w[1 + d];
    }
    for (int k = 5; k < nb; k++)
        w[k] = q[k] / q[0];
}

static void random_state(int nb, uint64_t seed, double *q, double n[3])
{
    double length = 0;
    for (uint64_t k = 0; k < (uint64_t)nb; k++)
        q[k] = rt_random(k, seed);
    for (uint64_t d = 0; d < 3; d++) {
        n[d] = rt_random(10 + d, seed);
        length += n[d] * n[d];
    }
    for (int d = 0; d < 3; d++)
        n[d] /= sqrt(length);
    if (nb == 4)
        return;
    q[0] = 1.2 + 0.5 * q[0];
    q[4] = 2 + 0.5 * q[4] + dot(q + 1, q + 1) / (2 * q[0]);
}

/* Y = X Z */
static void multiply(int nb, const double *X, const double *Z, double *Y)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++) {
            double sum = 0;
            for (int k = 0; k < nb; k++)
                sum += X[k * nb + i] * Z[j * nb + k];
            Y[j * nb + i] = sum;
        }
}

/* Largest |x - factor y|. */
static double differ(int n, const double *x, double factor, const double *y)
{
    double most = 0;
    for (int k = 0; k < n; k++)
        most = fmax(most, fabs(x[k] - factor * y[k]));
    return most;
}

/* Any entry of A or K that is wrong or in the wrong place: central differences, whose error is
 * about step^2. */
static void check_derivatives(int nb, const double *q, const double n[3])
{
    const double step = 1e-5;
    double A[MCPI_MAX_NB2], K[MCPI_MAX_NB2], V, c, worst_A = 0, worst_K = 0, none = 0;
    const mcpi_state_t s = mcpi_state(nb, q);
    mcpi_jacobian(nb, &s, n, A, &V, &c);
    mcpi_viscous(nb, q, K);
    for (int j = 0; j < nb; j++) {
        double up[MCPI_MAX_NB], down[MCPI_MAX_NB], there[MCPI_MAX_NB];
        memcpy(there, q, (size_t)nb * sizeof *q);
        for (int viscous = 0; viscous < 2; viscous++) {
            for (int side = -1; side <= 1; side += 2) {
                there[j] = q[j] + side * step;
                if (viscous)
                    diffused(nb, q, there, side > 0 ? up : down);
                else
                    flux(nb, there, n, side > 0 ? up : down);
            }
            for (int i = 0; i < nb; i++) {
                const double slope = (up[i] - down[i]) / (2 * step);
                if (viscous)
                    worst_K = fmax(worst_K, fabs(K[j * nb + i] - slope));
                else
                    worst_A = fmax(worst_A, fabs(A[j * nb + i] - slope));
            }
        }
    }
    CHECK(worst_A < 1e-7);
    CHECK(worst_K < 1e-7);
    /* the same gas, only more of it: nothing diffuses */
    for (int i = 0; nb > 4 && i < nb; i++) {
        double sum = 0;
        for (int j = 0; j < nb; j++)
            sum += K[j * nb + i] * q[j];
        none = fmax(none, fabs(sum));
    }
    CHECK(none < 1e-13);
}

/* What makes a mean a Roe mean: A(mean) (b - a) = F(b) - F(a). Catches a mean that is none. */
static void check_mean(int nb, const double *a, const double *b, const double n[3])
{
    double A[MCPI_MAX_NB2], F_a[MCPI_MAX_NB], F_b[MCPI_MAX_NB], V, c, worst = 0;
    const mcpi_state_t at = mcpi_state(nb, a), there = mcpi_state(nb, b);
    const mcpi_state_t mean = mcpi_roe_mean(&at, &there);
    mcpi_jacobian(nb, &mean, n, A, &V, &c);
    flux(nb, a, n, F_a);
    flux(nb, b, n, F_b);
    for (int i = 0; i < nb; i++) {
        double left = F_b[i] - F_a[i];
        for (int j = 0; j < nb; j++)
            left -= A[j * nb + i] * (b[j] - a[j]);
        worst = fmax(worst, fabs(left));
    }
    CHECK(worst < 1e-13);
}

/* |A| has the square of A, and the sum of the |eigenvalues| for its trace (which A has not). */
static void check_magnitude(int nb, const double *q, const double n[3])
{
    const int nb2 = nb * nb;
    double A[MCPI_MAX_NB2], B[MCPI_MAX_NB2], M[MCPI_MAX_NB2], X[MCPI_MAX_NB2], Y[MCPI_MAX_NB2];
    double V, c;
    const mcpi_state_t s = mcpi_state(nb, q);
    mcpi_jacobian(nb, &s, n, A, &V, &c);
    memcpy(B, A, sizeof B);
    for (int i = 0; i < nb; i++)
        B[i * nb + i] -= V;
    multiply(nb, B, B, X);
    multiply(nb, X, B, Y);
    CHECK(differ(nb2, Y, c * c, B) < 1e-12);
    CHECK(c > 0.1);

    mcpi_magnitude(nb, A, V, c, 0, M);
    multiply(nb, M, M, X);
    multiply(nb, A, A, Y);
    CHECK(differ(nb2, X, 1, Y) < 1e-11);
    double trace = -(nb - 2) * fabs(V) - fabs(V + c) - fabs(V - c);
    for (int i = 0; i < nb; i++)
        trace += M[i * nb + i];
    CHECK(fabs(trace) < 1e-12);

    /* of a wave that stands still the fix leaves half of itself: here V is one */
    const double fix = 0.05 * (fabs(V) + c);
    for (int i = 0; i < nb; i++)
        A[i * nb + i] -= V;
    mcpi_magnitude(nb, A, 0, c, fix, M);
    trace = -(nb - 2) * fix / 2 - 2 * c;
    for (int i = 0; i < nb; i++)
        trace += M[i * nb + i];
    CHECK(fabs(trace) < 1e-12);
}

/* --- rows --- */

typedef struct {
    double *D, *O; /* all rows, as mcpi_matrix_t has them */
} rows_t;

static rows_t rows_new(const mcpi_source_t *source)
{
    const mcpi_graph_t *g = source->graph;
    const int nb2 = source->nb * source->nb;
    rows_t r = {RT_NEW(double, (size_t)(g->rows * nb2), RT_HOST),
                RT_NEW(double, (size_t)(g->start[g->rows] * nb2), RT_HOST)};
    rt_fill(r.O, RT_HOST, 0xff, (size_t)(g->start[g->rows] * nb2) * sizeof(double));
    rt_fill(r.D, RT_HOST, 0xff, (size_t)(g->rows * nb2) * sizeof(double));
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t v = 0; v < g->rows; v++)
        source->row(source, v, r.D + v * nb2, r.O + g->start[v] * nb2);
    return r;
}

static void rows_destroy(rows_t *r)
{
    RT_FREE(r->D, RT_HOST);
    RT_FREE(r->O, RT_HOST);
}

/* S/2 (|A| + sign A) through n, with the fix. */
static void through(int nb, const double *q, const double n[3], double sign, double *X)
{
    double A[MCPI_MAX_NB2], V, c, unit[3];
    const double S = sqrt(dot(n, n));
    memset(X, 0, (size_t)(nb * nb) * sizeof *X);
    if (S == 0)
        return;
    for (int d = 0; d < 3; d++)
        unit[d] = n[d] / S;
    const mcpi_state_t s = mcpi_state(nb, q);
    mcpi_jacobian(nb, &s, unit, A, &V, &c);
    mcpi_magnitude(nb, A, V, c, 0.05 * (fabs(V) + c), X);
    for (int k = 0; k < nb * nb; k++)
        X[k] = S / 2 * (X[k] + sign * A[k]);
}

/* In a uniform flow without viscosity and pseudo-time, row sums vanish inside (dual cells close,
 * what goes out of one cell goes into the next); on the boundary (|A| - A) / 2 through n_b is left,
 * at a wall, where nothing is added, -A. Catches a sign of O or D, |A| with one sign in both, a
 * boundary term that is not there. */
static void check_uniform(const rt_mesh_t *mesh, int nb)
{
    mcpi_source_t *source = flow_on(mesh, nb, "1");
    mcpi_flow_data_t *f = source->data;
    const mcpi_graph_t *g = source->graph;
    double q[MCPI_MAX_NB], n[3], worst = 0, inside = 0, biggest = 0;
    const int nb2 = nb * nb;
    random_state(nb, 5, q, n);
    for (int64_t k = 0; k < g->rows * nb; k++)
        f->q[k] = q[k % nb];
    f->mu = 0;
    f->cfl = INFINITY;
    rows_t r = rows_new(source);
    for (int64_t v = 0; v < g->rows; v++) {
        double sum[MCPI_MAX_NB2], left[MCPI_MAX_NB2];
        const double *n_b = f->boundary + 3 * v;
        memcpy(sum, r.D + v * nb2, (size_t)nb2 * sizeof *sum);
        for (int64_t p = g->start[v]; p < g->start[v + 1]; p++)
            for (int k = 0; k < nb2; k++)
                sum[k] += r.O[p * nb2 + k];
        through(nb, q, n_b, -1, left);
        if (f->wall[v]) {
            double plus[MCPI_MAX_NB2];
            through(nb, q, n_b, 1, plus);
            for (int k = 0; k < nb2; k++) /* momentum rows are another check's */
                left[k] = k % nb >= 1 && k % nb <= 3 ? sum[k] : left[k] - plus[k];
        }
        double *to = dot(n_b, n_b) == 0 ? &inside : &worst;
        *to = fmax(*to, differ(nb2, sum, 1, left));
        biggest = fmax(biggest, fabs(sum[0]));
    }
    CHECK(worst < 1e-13 && inside < 1e-13);
    CHECK(biggest > 1e-4);
    rows_destroy(&r);
    mcpi_source_destroy(source);
}

/* One term after the other: rows with it less rows without it. Catches a wrong sign or variable of
 * the viscous term (diagonal: K of its own state), pseudo-time off the diagonal or from the wrong
 * speeds. */
static void check_terms(const rt_mesh_t *mesh, int nb)
{
    mcpi_source_t *source = flow_on(mesh, nb, "");
    mcpi_flow_data_t *f = source->data;
    const mcpi_graph_t *g = source->graph;
    const int nb2 = nb * nb;
    const double mu = f->mu;
    f->mu = 0;
    rows_t with_time = rows_new(source);
    f->cfl = INFINITY;
    rows_t bare = rows_new(source);
    f->mu = mu;
    rows_t viscous = rows_new(source);
    double wrong_D = 0, wrong_O = 0, wrong_time = 0, least = INFINITY;
    for (int64_t v = 0; v < g->rows; v++) {
        double K[MCPI_MAX_NB2], want[MCPI_MAX_NB2] = {0}, rate = 0;
        mcpi_viscous(nb, f->q + v * nb, K);
        least = fmin(least, -f->diagonal[v]);
        for (int k = 0; k < nb2; k++)
            wrong_D = fmax(wrong_D, fabs(viscous.D[v * nb2 + k] - bare.D[v * nb2 + k] +
                                         mu * f->diagonal[v] * K[k]));
        for (int64_t p = g->start[v]; p <= g->start[v + 1]; p++) {
            const bool edge = p < g->start[v + 1];
            const double *n = edge ? f->n + 3 * p : f->boundary + 3 * v;
            const double S = sqrt(dot(n, n));
            const int64_t w = edge ? g->neighbour[p] : v;
            const mcpi_state_t a = mcpi_state(nb, f->q + v * nb), b = mcpi_state(nb, f->q + w * nb);
            const mcpi_state_t mean = mcpi_roe_mean(&a, &b);
            double A[MCPI_MAX_NB2], V, c, unit[3];
            for (int d = 0; d < 3; d++)
                unit[d] = S > 0 ? n[d] / S : 0;
            mcpi_jacobian(nb, &mean, unit, A, &V, &c);
            rate += S / 2 * (fabs(V) + c);
            mcpi_viscous(nb, f->q + w * nb, K);
            for (int k = 0; edge && k < nb2; k++)
                wrong_O = fmax(wrong_O, fabs(viscous.O[p * nb2 + k] - bare.O[p * nb2 + k] +
                                             mu * f->viscous[p] * K[k]));
        }
        for (int i = 0; i < nb; i++)
            want[i * nb + i] = rate / 10;
        for (int k = 0; k < nb2; k++)
            wrong_time =
                fmax(wrong_time, fabs(with_time.D[v * nb2 + k] - bare.D[v * nb2 + k] - want[k]));
    }
    CHECK(wrong_D < 1e-14 && wrong_O < 1e-14 && mu > 1e-3);
    CHECK(wrong_time < 1e-14);
    CHECK(least > 0);
    rows_destroy(&with_time);
    rows_destroy(&bare);
    rows_destroy(&viscous);
    mcpi_source_destroy(source);
}

/* Momentum rows of walls say dQ = 0, all else is as without walls' rows; no other row is touched.
 */
static void check_walls(const rt_mesh_t *mesh, int nb)
{
    mcpi_source_t *source = flow_on(mesh, nb, "7,1");
    const mcpi_flow_data_t *f = source->data;
    const mcpi_graph_t *g = source->graph;
    const int nb2 = nb * nb;
    rows_t r = rows_new(source);
    int wrong = 0, walls = 0, moving = 0;
    for (int64_t v = 0; v < g->rows; v++) {
        const double *D = r.D + v * nb2, *O = r.O + g->start[v] * nb2;
        const bool wall = source->x[3 * v + 2] < 1e-9;
        walls += wall;
        wrong += f->wall[v] != wall;
        bool still = true, alone = true;
        for (int i = 1; i < 4; i++) {
            still &= f->q[v * nb + i] == 0;
            for (int j = 0; j < nb; j++)
                alone &= (D[j * nb + i] != 0) == (i == j) && D[i * nb + i] == D[nb + 1];
            for (int64_t k = 0; k < (g->start[v + 1] - g->start[v]) * nb; k++)
                alone &= O[k * nb + i] == 0;
        }
        moving += still != wall;
        wrong += alone != wall || D[nb + 1] <= 0;
        double rest = 0;
        for (int64_t k = 0; k < (g->start[v + 1] - g->start[v]) * nb; k++)
            rest += fabs(O[k * nb]);
        wrong += rest == 0;
    }
    CHECK(wrong == 0);
    CHECK(moving == 0);
    CHECK(walls == 16);
    rows_destroy(&r);
    mcpi_source_destroy(source);
}

static bool same(const void *a, const void *b, int64_t doubles)
{
    return memcmp(a, b, (size_t)doubles * sizeof(double)) == 0;
}

/* The same bits on any number of threads; no two vertices alike; another seed, another flow. */
static void check_deterministic(const rt_mesh_t *mesh)
{
    mcpi_source_t *source[2];
    rows_t r[2];
    for (int k = 0; k < 2; k++) {
#ifdef _OPENMP
        omp_set_num_threads(k == 0 ? 1 : 3);
#endif
        source[k] = flow_on(mesh, 5, "1");
        r[k] = rows_new(source[k]);
    }
    const mcpi_graph_t *g = source[0]->graph;
    const double *q = ((mcpi_flow_data_t *)source[0]->data)->q;
    CHECK(same(r[0].D, r[1].D, g->rows * 25));
    CHECK(same(r[0].O, r[1].O, g->start[g->rows] * 25));
    CHECK(rt_count_nonfinite(r[0].D, (size_t)(g->rows * 25)) == 0);
    CHECK(rt_count_nonfinite(r[0].O, (size_t)(g->start[g->rows] * 25)) == 0);
    int twins = 0;
    for (int64_t v = 0; v < g->rows; v++)
        for (int64_t w = 0; w < v; w++)
            twins += fabs(q[5 * v] - q[5 * w]) + fabs(q[5 * v + 4] - q[5 * w + 4]) < 1e-12;
    CHECK(twins == 0);
    mcpi_flow_t other = {.nb = 5, .cfl = 10, .mach = 0.8, .reynolds = 100, .walls = "1", .seed = 2};
    mcpi_source_t *next = mcpi_flow_new(mesh, &other);
    CHECK(!same(q, ((mcpi_flow_data_t *)next->data)->q, g->rows * 5));
    mcpi_source_destroy(next);
    for (int k = 0; k < 2; k++) {
        rows_destroy(&r[k]);
        mcpi_source_destroy(source[k]);
    }
}

/* With a scalar carried along, the gas does what it does without: its 5 x 5 are the same, and it
 * does not feel the scalar. */
static void check_scalars(const rt_mesh_t *mesh)
{
    mcpi_source_t *source[2] = {flow_on(mesh, 5, "1"), flow_on(mesh, 7, "1")};
    rows_t r[2] = {rows_new(source[0]), rows_new(source[1])};
    const int64_t blocks = source[0]->graph->start[source[0]->graph->rows];
    double gas = 0, felt = 0, coupled = 0;
    for (int64_t b = 0; b < blocks; b++)
        for (int j = 0; j < 7; j++)
            for (int i = 0; i < 7; i++) {
                const double x = r[1].O[49 * b + 7 * j + i];
                if (i < 5 && j < 5)
                    gas = fmax(gas, fabs(x - r[0].O[25 * b + 5 * j + i]));
                else if (i < 5)
                    felt = fmax(felt, fabs(x));
                else if (i != j)
                    coupled = fmax(coupled, fabs(x));
            }
    CHECK(gas < 1e-15);
    CHECK(felt == 0);
    CHECK(coupled > 1e-3);
    for (int k = 0; k < 2; k++) {
        rows_destroy(&r[k]);
        mcpi_source_destroy(source[k]);
    }
}

/* --- 16 bits --- */

/* Every pattern there and back; between two neighbours the nearer one, halves to the even one. */
static void check_16_bits(uint16_t (*to)(double), double (*from)(uint16_t), uint16_t infinity,
                          double least)
{
    int back = 0, halves = 0, nan = 0, order = 0;
    for (uint32_t k = 0; k <= 0xffff; k++) {
        const uint16_t x = (uint16_t)k, magnitude = x & 0x7fff, sign = x & 0x8000;
        const double value = from(x);
        if (magnitude > infinity) {
            nan += value == value || (to(value) & 0x7fff) <= infinity;
            continue;
        }
        back += to(value) != x;
        if (magnitude >= infinity)
            continue;
        const uint16_t next = x + 1;
        /* what stands in infinity's place if exponents went on: overflow starts half way to it */
        const double far = magnitude + 1 < infinity ? from(next)
                           : infinity == 0x7c00     ? (sign ? -0x1p16 : 0x1p16)
                                                    : (sign ? -0x1p128 : 0x1p128);
        const double middle = (value + far) / 2;
        order += fabs(far) <= fabs(value);
        halves += to(middle) != (x & 1 ? next : x);
        halves += to(nextafter(middle, value)) != x || to(nextafter(middle, far)) != next;
    }
    CHECK(back == 0 && halves == 0 && nan == 0 && order == 0);
    CHECK(from(1) == least && from(0x8001) == -least);
    CHECK(from(infinity) == INFINITY && to(1e300) == infinity && to(-1e300) == (0x8000 | infinity));
    CHECK(to(1e-300) == 0 && to(-1e-300) == 0x8000 && to(5e-324) == 0);
    CHECK(to(1) == (infinity == 0x7c00 ? 0x3c00 : 0x3f80));
}

#if defined(__FLT16_MAX__) && (defined(__x86_64__) || defined(__aarch64__))
/* The compiler's own, where it has one. */
static void check_compiler(void)
{
    int wrong = 0;
    for (uint64_t k = 0; k < 200000; k++) {
        const double x = ldexp(rt_random(k, 9), (int)(rt_hash(k, 10) % 44) - 26);
        const _Float16 half = (_Float16)x;
        uint16_t bits;
        memcpy(&bits, &half, sizeof bits);
        wrong += mcpi_to_fp16(x) != bits || mcpi_from_fp16(bits) != (double)half;
    }
    CHECK(wrong == 0);
}
#else
static void check_compiler(void)
{
}
#endif

/* --- the system --- */

/* Rows stand in another order than vertices: row i is vertex rows - 1 - i. */
typedef struct {
    mcpi_matrix_t matrix;
    mcpi_part_t part;
    int32_t *vertex;
} host_t;

static host_t host_new(const mcpi_source_t *source)
{
    const int64_t rows = source->graph->rows;
    const int nb = source->nb;
    rows_t r = rows_new(source);
    host_t h = {.matrix = {.nb = nb, .D = r.D, .O = r.O}};
    h.part = (mcpi_part_t){.rows = rows,
                           .global_rows = rows,
                           .start = source->graph->start,
                           .global = RT_NEW(int64_t, (size_t)rows, RT_HOST)};
    h.vertex = RT_NEW(int32_t, (size_t)rows, RT_HOST);
    h.matrix.R = RT_NEW(double, (size_t)(rows * nb), RT_HOST);
    for (int64_t i = 0; i < rows; i++) {
        h.part.global[i] = i;
        h.vertex[i] = (int32_t)(rows - 1 - i);
    }
    for (int64_t k = 0; k < rows * nb; k++)
        h.matrix.R[k] = rt_random((uint64_t)k, 4);
    /* sizes that differ: entries of O that need the scaling to survive 16 bits */
    for (int64_t i = 0; i < rows; i++) {
        const double size = ldexp(1 + 0.3 * rt_random((uint64_t)i, 6), (int)(i % 90) - 60);
        for (int k = 0; k < nb * nb; k++)
            h.matrix.D[i * nb * nb + k] *= size;
        for (int k = 0; k < nb; k++)
            h.matrix.R[i * nb + k] *= size;
        for (int64_t k = h.part.start[i] * nb * nb; k < h.part.start[i + 1] * nb * nb; k++)
            h.matrix.O[k] *= size;
    }
    return h;
}

static void host_destroy(host_t *h)
{
    RT_FREE(h->matrix.D, RT_HOST);
    RT_FREE(h->matrix.O, RT_HOST);
    RT_FREE(h->matrix.R, RT_HOST);
    RT_FREE(h->part.global, RT_HOST);
    RT_FREE(h->vertex, RT_HOST);
}

static mcpi_system_t *system_of(host_t *h, mcpi_type_t type, char *why, size_t len)
{
    h->matrix.part = &h->part;
    return mcpi_system_new(&h->matrix, type, h->vertex, why, len);
}

/* L U is D, D^-1 D is 1; scaled by powers of two, so that the largest of D is in [1, 2). */
static void check_rows_of(const host_t *h, const mcpi_system_t *s)
{
    const int nb = s->nb, nb2 = nb * nb;
    double factors = 0, solved = 0;
    int scale = 0, inexact = 0;
    for (int64_t i = 0; i < h->part.rows; i++) {
        const double *D = h->matrix.D + i * nb2, *LU = s->LU + i * nb2;
        double L[MCPI_MAX_NB2] = {0}, U[MCPI_MAX_NB2] = {0}, product[MCPI_MAX_NB2], largest = 0;
        for (int k = 0; k < nb2; k++) {
            const int row = k % nb, column = k / nb;
            L[k] = row > column ? LU[k] : row == column;
            U[k] = row < column ? LU[k] : row == column ? 1 / LU[k] : 0;
            largest = fmax(largest, fabs(ldexp(D[k], -s->exponent[i])));
        }
        scale += !(largest >= 1 && largest < 2);
        multiply(nb, L, U, product);
        factors = fmax(factors, differ(nb2, product, ldexp(1, -s->exponent[i]), D));
        double b[MCPI_MAX_NB], x[MCPI_MAX_NB], back;
        for (int k = 0; k < nb; k++)
            inexact += ldexp(s->R[i * nb + k], s->exponent[i]) != h->matrix.R[i * nb + k];
        for (int k = 0; k < nb; k++) {
            b[k] = 0;
            for (int j = 0; j < nb; j++)
                b[k] += ldexp(D[j * nb + k], -s->exponent[i]) * (j + 1);
        }
        mcpi_solve_block(nb, LU, b, x);
        for (int j = 0; j < nb; j++) {
            back = fabs(x[j] - (j + 1));
            solved = fmax(solved, back);
        }
    }
    CHECK(factors < 1e-13);
    CHECK(solved < 1e-10); /* the condition of D comes in */
    CHECK(scale == 0 && inexact == 0);
}

static void check_system(const mcpi_source_t *source)
{
    host_t h = host_new(source);
    const int nb2 = source->nb * source->nb;
    for (int t = 0; t < MCPI_TYPES; t++) {
        const mcpi_type_t type = (mcpi_type_t)t;
        char why[256] = "";
        mcpi_system_t *s = system_of(&h, type, why, sizeof why);
        CHECK_TEXT(why, "");
        CHECK(s != NULL && s->type == type && s->nb == source->nb);
        if (s == NULL)
            continue;
        check_rows_of(&h, s);
        /* half a unit in the last place, or in the least denormal */
        static const double unit[MCPI_TYPES] = {0, 0x1p-24, 0x1p-11, 0x1p-8};
        static const double least[MCPI_TYPES] = {0, 0x1p-150, 0x1p-25, 0x1p-134};
        int wrong = 0, rounded = 0;
        for (int64_t i = 0; i < h.part.rows; i++)
            for (int64_t k = h.part.start[i] * nb2; k < h.part.start[i + 1] * nb2; k++) {
                const double want = ldexp(h.matrix.O[k], -s->exponent[i]);
                const double got = mcpi_value(s->O, type, k);
                wrong += !(fabs(got - want) <= fmax(unit[t] * fabs(want), least[t]));
                rounded += got != want;
            }
        CHECK(wrong == 0);
        CHECK((rounded > 0) == (type != MCPI_FP64));
        mcpi_system_destroy(s);
    }
    host_destroy(&h);
    mcpi_system_destroy(NULL);
    CHECK(mcpi_type_size(MCPI_FP64) == 8 && mcpi_type_size(MCPI_FP32) == 4);
    CHECK(mcpi_type_size(MCPI_FP16) == 2 && mcpi_type_size(MCPI_BF16) == 2);
    CHECK_TEXT(mcpi_type_name(MCPI_FP64), "fp64");
    CHECK_TEXT(mcpi_type_name(MCPI_BF16), "bf16");
}

/* Spoils entries of two rows; the first of them is named, by its vertex. */
static void check_refused(const mcpi_source_t *source, mcpi_type_t type, char what, int64_t entry,
                          double value, const char *text)
{
    host_t h = host_new(source);
    const int64_t nb = source->nb, nb2 = nb * nb;
    const int64_t rows[2] = {40, 9};
    char why[256] = "", vertex[64];
    for (int k = 0; k < 2; k++) {
        const int64_t i = rows[k];
        const double size = ldexp(1, ilogb(h.matrix.D[i * nb2]));
        if (what == 'D' && entry < 0) /* all of it */
            for (int64_t m = 0; m < nb2; m++)
                h.matrix.D[i * nb2 + m] *= value;
        else if (what == 'D')
            h.matrix.D[i * nb2 + entry] = value;
        else if (what == 'O')
            h.matrix.O[h.part.start[i] * nb2 + entry] = value * size;
        else if (what == 'R')
            h.matrix.R[i * nb + entry] = value;
        else /* a row of D is another one, nearly */
            for (int64_t j = 0; j < nb; j++)
                h.matrix.D[i * nb2 + j * nb + 1] =
                    h.matrix.D[i * nb2 + j * nb] + (j == 1 ? value * size : 0);
    }
    mcpi_system_t *s = system_of(&h, type, why, sizeof why);
    CHECK(s == NULL);
    snprintf(vertex, sizeof vertex, "vertex %d:", (int)(h.part.rows - 1 - 9));
    CHECK(strstr(why, vertex) != NULL && strstr(why, text) != NULL && strchr(why, '\n') == NULL);
    if (!strstr(why, vertex) || !strstr(why, text))
        fprintf(stderr, "    got: %s\n", why);
    mcpi_system_destroy(s);
    host_destroy(&h);
}

static void check_refusals(const mcpi_source_t *source)
{
    check_refused(source, MCPI_FP64, 'D', -1, 0, "is zero");
    check_refused(source, MCPI_FP64, 'D', 3, NAN, "diagonal block is finite");
    check_refused(source, MCPI_FP64, 'D', 0, INFINITY, "diagonal block is finite");
    check_refused(source, MCPI_FP32, 'O', 7, -INFINITY, "off-diagonal blocks is finite");
    check_refused(source, MCPI_FP16, 'R', 4, NAN, "right-hand side is finite");
    check_refused(source, MCPI_FP64, 'D', 0, 0, "pivot 1");
    check_refused(source, MCPI_FP64, 'P', 0, 0, "pivot 2");
    check_refused(source, MCPI_FP64, 'P', 0, 1e-13, "pivot 2");
    check_refused(source, MCPI_FP16, 'O', 7, 0x1p24, "overflows fp16");
    check_refused(source, MCPI_BF16, 'O', 7, 0x1p136, "overflows bf16");
    check_refused(source, MCPI_FP32, 'O', 7, 0x1p136, "overflows fp32");
}

/* --- a wing --- */

static void check_wing(void)
{
    const mcpi_wing_t wing = {.n = 6, .layers = 51, .first = 1e-4, .seed = 1};
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
    CHECK(mesh->elements[RT_TETRAHEDRON] > 0 && mesh->elements[RT_PRISM] > 0);
    check_dual(mesh, 0, 0, -1);
    mcpi_source_t *source = flow_on(mesh, 5, "1");
    check_system(source);
    mcpi_source_destroy(source);
    rt_mesh_destroy(mesh);
}

static void check_lists(const rt_mesh_t *mesh)
{
    static const char *const good[] = {"1", "1,1", "none"};
    static const char *const bad[] = {"1,x", "1,", "x", "none,1", "-1,x", "1 2", "1;2"};
    char why[256] = "";
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(mcpi_walls_check(mesh, good[i], why, sizeof why) && why[0] == '\0');
    CHECK(mcpi_walls_check(mesh, NULL, why, sizeof why) && why[0] == '\0');
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!mcpi_walls_check(mesh, bad[i], why, sizeof why));
        CHECK(strstr(why, bad[i]) && strchr(why, '\n') == NULL);
    }
    CHECK(!mcpi_walls_check(mesh, "1,12", why, sizeof why));
    CHECK(strstr(why, "none has the tag 12"));
}

int main(void)
{
    rt_mesh_t *tets = cube(3, false), *mixed = cube(3, true);
    check_lists(tets);
    for (int nb = MCPI_MIN_NB; nb <= MCPI_MAX_NB; nb++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            double q[MCPI_MAX_NB], n[3];
            random_state(nb, seed, q, n);
            check_derivatives(nb, q, n);
            check_magnitude(nb, q, n);
            double other[MCPI_MAX_NB];
            random_state(nb, seed + 100, other, n);
            check_mean(nb, q, other, n);
        }
    check_elements();
    check_dual(tets, 1, -1, 8);
    check_dual(mixed, 1, -1, 8 + 3);
    check_deterministic(mixed);
    check_scalars(mixed);
    for (int nb = MCPI_MIN_NB; nb <= MCPI_MAX_NB; nb++) {
        check_uniform(mixed, nb);
        check_terms(mixed, nb);
        check_walls(mixed, nb);
        mcpi_source_t *source = flow_on(tets, nb, "1");
        check_system(source);
        mcpi_source_destroy(source);
    }
    mcpi_source_t *source = flow_on(tets, 5, "1");
    check_refusals(source);
    mcpi_source_destroy(source);
    rt_mesh_destroy(tets);
    rt_mesh_destroy(mixed);
    check_16_bits(mcpi_to_fp16, mcpi_from_fp16, 0x7c00, 0x1p-24);
    check_16_bits(mcpi_to_bf16, mcpi_from_bf16, 0x7f80, 0x1p-133);
    check_compiler();
    check_wing();
    return check_done();
}
