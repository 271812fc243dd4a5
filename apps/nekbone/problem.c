/*
 * problem.c - the mesh, its geometric factors, the right-hand side and the gather-scatter.
 *
 * Nothing here depends on the number of ranks: a point is known by its global index, and its data
 * is a function of that index. The box has elements of edge 2, so element (a, b, c) covers [2a,
 * 2a+2] x
 * ...; with --deform A a point moves by A sin(pi X/Lx) sin(pi Y/Ly) sin(pi Z/Lz) times (1, 1/2,
 * -3/4), which leaves the boundary where it is and makes all six geometric factors non-zero inside.
 */
#include "config.h"
#include "nekbone.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Legendre polynomials P_{m-1}(x), P_m(x), m >= 1, by their three-term recurrence. */
static void legendre(int m, double x, double *before, double *last)
{
    double p0 = 1, p1 = x;
    for (int k = 2; k <= m; k++) {
        double p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
        p0 = p1;
        p1 = p2;
    }
    *before = p0;
    *last = p1;
}

void nek_gll(int n, double *z, double *w, double *D)
{
    int m = n - 1; /* degree; the points are the roots of (1 - x^2) P'_m(x) */
    double p[NEK_MAX_N];
    for (int i = 0; i < n; i++) {
        double x = -cos(pi * i / m), before, last;
        for (int step = 0; step < 50 && i > 0 && i < m; step++) {
            /* Newton on x P_m - P_{m-1}, whose inner roots are those of P'_m */
            legendre(m, x, &before, &last);
            double dx = (x * last - before) / (n * last);
            x -= dx;
            if (fabs(dx) < 1e-16)
                break;
        }
        z[i] = x;
    }
    for (int i = 0; i < n; i++) { /* exactly symmetric, and 0 in the middle */
        double before;
        if (i < n / 2)
            z[n - 1 - i] = -z[i];
        else if (2 * i == m)
            z[i] = 0;
        legendre(m, z[i], &before, &p[i]);
        w[i] = 2 / (m * n * p[i] * p[i]);
    }
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            if (i != j)
                sum += D[i * n + j] = p[i] / (p[j] * (z[i] - z[j]));
        D[i * n + i] = -sum; /* so that constants have derivative zero to the last bit or so */
    }
}

/* Position of local element e in the whole mesh. */
static void element_position(const nek_config_t *cfg, int64_t e, int64_t at[3])
{
    at[0] = cfg->first[0] + e % cfg->local[0];
    at[1] = cfg->first[1] + e / cfg->local[0] % cfg->local[1];
    at[2] = cfg->first[2] + e / (cfg->local[0] * cfg->local[1]);
}

int64_t nek_global_index(const nek_config_t *cfg, int64_t e, int i, int j, int k)
{
    int64_t at[3], m = cfg->degree;
    element_position(cfg, e, at);
    int64_t nx = cfg->elements[0] * m + 1, ny = cfg->elements[1] * m + 1;
    return at[0] * m + i + nx * (at[1] * m + j + ny * (at[2] * m + k));
}

/* Is coordinate i of an element at position `at` of `count` on the boundary of the box? */
static bool on_boundary(int64_t at, int64_t count, int i, int n)
{
    return (at == 0 && i == 0) || (at == count - 1 && i == n - 1);
}

static bool is_dirichlet(const nek_config_t *cfg, const int64_t at[3], int i, int j, int k)
{
    return on_boundary(at[0], cfg->elements[0], i, cfg->n) ||
           on_boundary(at[1], cfg->elements[1], j, cfg->n) ||
           on_boundary(at[2], cfg->elements[2], k, cfg->n);
}

void nek_random_field(const nek_config_t *cfg, uint64_t seed, double *u)
{
    int n = cfg->n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        int64_t at[3];
        element_position(cfg, e, at);
        double *ue = u + e * n * n * n;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++)
                    *ue++ = is_dirichlet(cfg, at, i, j, k)
                                ? 0
                                : rt_random((uint64_t)nek_global_index(cfg, e, i, j, k), seed);
    }
}

/* --- geometry --- */

static void coordinates(const nek_config_t *cfg, int64_t e, const double *z, double *xyz)
{
    int64_t at[3];
    int n = cfg->n, n3 = n * n * n;
    element_position(cfg, e, at);
    for (int q = 0; q < n3; q++) {
        const int l[3] = {q % n, q / n % n, q / (n * n)};
        double X[3], bump = cfg->deform;
        for (int d = 0; d < 3; d++) {
            X[d] = (double)(2 * at[d]) + (1 + z[l[d]]);
            bump *= sin(pi * X[d] / (double)(2 * cfg->elements[d]));
        }
        xyz[q] = X[0] + bump;
        xyz[n3 + q] = X[1] + bump / 2;
        xyz[2 * n3 + q] = X[2] - bump * 3 / 4;
    }
}

/* Derivative of f along direction d at point q: the same D as the operator's. */
static double derivative(int n, const double *D, const double *f, int q, int d)
{
    const int stride = d == 0 ? 1 : d == 1 ? n : n * n;
    const int row = q / stride % n, base = q - row * stride;
    double sum = 0;
    for (int l = 0; l < n; l++)
        sum += D[row * n + l] * f[base + l * stride];
    return sum;
}

double nek_geometry(const nek_config_t *cfg, int64_t e, double *G, double *mass, double *xyz_out)
{
    int n = cfg->n, n3 = n * n * n;
    double z[NEK_MAX_N], w[NEK_MAX_N], D[NEK_MAX_N * NEK_MAX_N];
    double own[3 * NEK_MAX_N3], *xyz = xyz_out ? xyz_out : own, least = INFINITY;
    nek_gll(n, z, w, D);
    coordinates(cfg, e, z, xyz);
    for (int q = 0; q < n3; q++) {
        double J[3][3], cof[3][3]; /* J[d][a] = dx_a/dr_d; rows of cof: det * dr_d/dx_a */
        for (int d = 0; d < 3; d++)
            for (int a = 0; a < 3; a++)
                J[d][a] = derivative(n, D, xyz + a * n3, q, d);
        for (int d = 0; d < 3; d++)
            for (int a = 0; a < 3; a++) {
                int d1 = (d + 1) % 3, d2 = (d + 2) % 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
                cof[d][a] = J[d1][a1] * J[d2][a2] - J[d1][a2] * J[d2][a1];
            }
        double det = J[0][0] * cof[0][0] + J[0][1] * cof[0][1] + J[0][2] * cof[0][2];
        double weight = w[q % n] * w[q / n % n] * w[q / (n * n)];
        for (int d = 0, m = 0; d < 3; d++) /* rr rs rt ss st tt */
            for (int f = d; f < 3; f++, m++)
                G[m * n3 + q] =
                    weight / det *
                    (cof[d][0] * cof[f][0] + cof[d][1] * cof[f][1] + cof[d][2] * cof[f][2]);
        if (mass)
            mass[q] = weight * det;
        least = fmin(least, det);
    }
    return least;
}

static void fill_geometry(nek_problem_t *p)
{
    const nek_config_t *cfg = p->config;
    int64_t n3 = (int64_t)cfg->n * cfg->n * cfg->n, folded = -1;
    double least = 1;
    if (cfg->deform == 0) { /* all elements are the same cube */
        least = nek_geometry(cfg, 0, p->G, NULL, NULL);
#pragma omp parallel for schedule(static)
        for (int64_t e = 1; e < cfg->local_elements; e++)
            memcpy(p->G + e * 6 * n3, p->G, (size_t)(6 * n3) * sizeof(double));
    } else {
#pragma omp parallel for schedule(static) reduction(max : folded)
        for (int64_t e = 0; e < cfg->local_elements; e++)
            if (!(nek_geometry(cfg, e, p->G + e * 6 * n3, NULL, NULL) > 0))
                folded = e > folded ? e : folded;
    }
    double bad = folded >= 0 || !(least > 0);
    rt_comm_max(&bad, 1);
    if (bad > 0)
        rt_refuse(
            RT_USAGE,
            "--deform %g folds the mesh (an element has a Jacobian that is not positive): use a "
            "smaller value; a quarter of the shortest edge of the box divided by pi is safe",
            cfg->deform);
}

/* --- gather-scatter --- */

/* Does another element share coordinate i of an element at `at` of `count`? */
static bool is_shared(int64_t at, int64_t count, int i, int n)
{
    return (i == 0 && at > 0) || (i == n - 1 && at < count - 1);
}

/* Calls for all points of the surface of local elements that other elements share. Fills index and
 * gid if not NULL; returns their number. */
static int64_t list_shared(const nek_config_t *cfg, int64_t *index, int64_t *gid)
{
    int n = cfg->n;
    int64_t count = 0;
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        int64_t at[3];
        element_position(cfg, e, at);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) {
                bool jk = is_shared(at[1], cfg->elements[1], j, n) ||
                          is_shared(at[2], cfg->elements[2], k, n);
                /* inside a face of i only the two ends can be shared */
                for (int i = 0; i < n; i += jk ? 1 : n - 1) {
                    if (!jk && !is_shared(at[0], cfg->elements[0], i, n))
                        continue;
                    if (index) {
                        index[count] = ((e * n + k) * n + j) * n + i;
                        gid[count] = nek_global_index(cfg, e, i, j, k);
                    }
                    count++;
                }
            }
    }
    return count;
}

void nek_shared_points(const nek_config_t *cfg, int64_t *on_rank_only, int64_t *with_ranks)
{
    /* Products over directions: stored coordinates, those that no other rank has, those that no
     * other element has, and those that other ranks have counted once for each of them. */
    int64_t all = 1, on_rank = 1, alone = 1, with_others = 1;
    for (int d = 0; d < 3; d++) {
        int64_t outer = (cfg->first[d] > 0) + (cfg->first[d] + cfg->local[d] < cfg->elements[d]);
        int64_t coordinates = cfg->local[d] * cfg->n;
        all *= coordinates;
        on_rank *= coordinates - outer;
        alone *= coordinates - outer - 2 * (cfg->local[d] - 1);
        with_others *= coordinates + outer;
    }
    *on_rank_only = on_rank - alone;
    *with_ranks = with_others - all;
}

rt_halo_t *nek_halo_new(const nek_config_t *cfg, const char *transport, rt_kind_t kind,
                        rt_space_t space)
{
    if (!cfg->communication)
        return NULL;
    int64_t n = list_shared(cfg, NULL, NULL);
    int64_t *index = RT_NEW(int64_t, (size_t)n, RT_HOST);
    int64_t *gid = RT_NEW(int64_t, (size_t)n, RT_HOST);
    list_shared(cfg, index, gid);
    rt_halo_desc_t desc = {.n = n,
                           .index = index,
                           .gid = gid,
                           .max_components = 1,
                           .kind = kind,
                           .space = space,
                           .transport = transport};
    rt_halo_t *halo = rt_halo_new(&desc);
    RT_FREE(index, RT_HOST);
    RT_FREE(gid, RT_HOST);
    return halo;
}

/* c = 1 / copies: a point on a face, edge or corner between elements has 2, 4 or 8. */
static void fill_weights(nek_problem_t *p)
{
    const nek_config_t *cfg = p->config;
    int n = cfg->n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        int64_t at[3];
        double *c = p->c + e * n * n * n;
        element_position(cfg, e, at);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++, c++) {
                    *c = is_dirichlet(cfg, at, i, j, k) ? 0 : 1;
                    if (!cfg->communication)
                        continue; /* every element stands alone: each point is its own unknown */
                    const int l[3] = {i, j, k};
                    for (int d = 0; d < 3; d++)
                        if (is_shared(at[d], cfg->elements[d], l[d], n))
                            *c /= 2;
                }
    }
}

/* --- the diagonal of A, for --precond jacobi --- */

/*
 * (D^T G D)_qq = e_q . D^T G D e_q, and the gradient of e_q lives on the three lines through
 * q = (i, j, k): D(l, i) at (l, j, k) along r, and so on. Off q only one of its components is not
 * zero, so only the factors of the diagonal are met there:
 *
 *     sum_l  G_rr(l,j,k) D(l,i)^2 + G_ss(i,l,k) D(l,j)^2 + G_tt(i,j,l) D(l,k)^2
 *
 * At q itself all three are: D(i,i), D(j,j), D(k,k), so that the other factors come in, twice each:
 *
 *     + 2 (G_rs D(i,i) D(j,j) + G_rt D(i,i) D(k,k) + G_st D(j,j) D(k,k))  at q
 *
 * D(i,i) = 0 at GLL points inside and not at the two ends, so this counts on edges and corners of
 * an element, and is not small there once it is bent. Of the elements around an edge the signs
 * differ, so that in the assembled diagonal little is left of it as long as the factors are
 * continuous from one element to the next, as with --deform they almost are.
 */
void nek_element_diagonal(int n, const double *D, const double *G, double *diag)
{
    const int n2 = n * n, n3 = n2 * n;
    const double *rr = G, *rs = rr + n3, *rt = rs + n3, *ss = rt + n3, *st = ss + n3, *tt = st + n3;
    for (int q = 0; q < n3; q++) {
        const int i = q % n, j = q / n % n, k = q / n2;
        const double Di = D[i * n + i], Dj = D[j * n + j], Dk = D[k * n + k];
        double sum = 2 * (rs[q] * Di * Dj + rt[q] * Di * Dk + st[q] * Dj * Dk);
        for (int l = 0; l < n; l++) {
            const double dr = D[l * n + i], ds = D[l * n + j], dt = D[l * n + k];
            sum += rr[q + l - i] * dr * dr + ss[q + (l - j) * n] * ds * ds +
                   tt[q + (l - k) * n2] * dt * dt;
        }
        diag[q] = sum;
    }
}

/* inverse = 1 / (Q Q^T diag(D^T G D) + lambda), 0 on the boundary. */
static void fill_inverse(nek_problem_t *p)
{
    const nek_config_t *cfg = p->config;
    const int64_t n3 = (int64_t)cfg->n * cfg->n * cfg->n;
    double least = INFINITY, most = 0;
    p->inverse = RT_NEW(double, (size_t)cfg->points, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < cfg->local_elements; e++)
        nek_element_diagonal(cfg->n, p->D, p->G + e * 6 * n3, p->inverse + e * n3);
    if (p->halo) {
        rt_field_t field = rt_field_f64(p->inverse);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    for (int64_t q = 0; q < cfg->points; q++) {
        const double diag = p->inverse[q] + cfg->lambda;
        p->inverse[q] = p->c[q] != 0 ? 1 / diag : 0;
        if (p->c[q] != 0) {
            least = fmin(least, diag);
            most = fmax(most, diag);
        }
    }
    rt_comm_min(&least, 1);
    rt_comm_max(&most, 1);
    p->diag_min = least;
    p->diag_max = most;
}

/* The right-hand side, and the weights, which say where the boundary is and who shares a point: a
 * power of two each, so that they are the same bits everywhere. D, G and the diagonal are not; they
 * follow from the facts. */
void nek_digest(const void *problem, rt_digest_t *digest)
{
    const nek_problem_t *p = problem;
    const nek_config_t *cfg = p->config;
    const int n = cfg->n;
    rt_items_t points = {0, {0}};
    rt_digest_int(digest, "degree", cfg->degree);
    rt_digest_real(digest, "deform", cfg->deform);
    rt_digest_real(digest, "lambda", cfg->lambda);
    for (int d = 0; d < 3; d++)
        rt_digest_int(digest, "elements", cfg->elements[d]);
#pragma omp parallel
    {
        rt_items_t mine = {0, {0}};
#pragma omp for schedule(static)
        for (int64_t e = 0; e < cfg->local_elements; e++)
            for (int q = 0; q < n * n * n; q++) {
                const int64_t at = e * n * n * n + q;
                const uint64_t point[] = {
                    (uint64_t)nek_global_index(cfg, e, q % n, q / n % n, q / (n * n)),
                    rt_items_word(p->b[at]), rt_items_word(p->c[at])};
                rt_items_add(&mine, point, 3);
            }
#pragma omp critical
        rt_items_merge(&points, &mine);
    }
    rt_digest_items(digest, "points", &points);
}

void *nek_problem_new(const rt_run_t *run, void *input)
{
    (void)input; /* everything is made here */
    const nek_config_t *cfg = run->config;
    size_t points = (size_t)cfg->points, n = (size_t)cfg->n;
    nek_problem_t *p = RT_NEW(nek_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = run;
    p->config = cfg;
    p->D = RT_NEW(double, n *n, RT_HOST);
    p->G = RT_NEW(double, 6 * points, RT_HOST);
    p->c = RT_NEW(double, points, RT_HOST);
    p->b = RT_NEW(double, points, RT_HOST);
    double z[NEK_MAX_N], w[NEK_MAX_N];
    nek_gll(cfg->n, z, w, p->D);
    fill_geometry(p);
    fill_weights(p);
    nek_random_field(cfg, (uint64_t)run->opt.seed, p->b);
    p->halo = nek_halo_new(cfg, run->opt.transport, RT_CPU, RT_HOST);
    p->diag_min = p->diag_max = 1;
    if (cfg->precond == NEK_JACOBI)
        fill_inverse(p);
    p->mesh = (nek_mesh_t){.n = cfg->n,
                           .elements = cfg->local_elements,
                           .points = cfg->points,
                           .D = p->D,
                           .D_host = p->D,
                           .G = p->G,
                           .c = p->c,
                           .inverse = p->inverse};
    return p;
}

void nek_problem_destroy(void *problem)
{
    nek_problem_t *p = problem;
    rt_halo_destroy(p->halo);
    RT_FREE(p->D, RT_HOST);
    RT_FREE(p->G, RT_HOST);
    RT_FREE(p->c, RT_HOST);
    RT_FREE(p->inverse, RT_HOST);
    RT_FREE(p->b, RT_HOST);
    RT_FREE(p->x_ref, RT_HOST);
    RT_FREE(p->history_ref, RT_HOST);
    RT_FREE(p->sensitivity, RT_HOST);
    RT_FREE(p, RT_HOST);
}
