/*
 * reference.c - the right-hand side as its definition states it.
 *
 * Idea: none; this is the definition: one element at a time, four Gauss points, every term written
 * as in kernel.h. Advantage: can be checked against the formulas by eye, and is the oracle for
 * every other rung, with which it shares no code. Price: nothing is done sixteen elements at a
 * time, and everything is computed again at each Gauss point.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "../kernel.h"

typedef struct {
    double x[4][3], u[4][3];
    double g[4][3], J[3][3], det, mu; /* mu_t */
    double r[4][3];
} element_t;

static void cross(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* Computes det, the gradients of the shape functions, and the gradient of the velocity. */
static void gradients(element_t *el)
{
    double e[3][3], c[3][3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            e[k][i] = el->x[k + 1][i] - el->x[0][i];
    for (int k = 0; k < 3; k++)
        cross(e[(k + 1) % 3], e[(k + 2) % 3], c[k]);
    el->det = e[0][0] * c[0][0] + e[0][1] * c[0][1] + e[0][2] * c[0][2];
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < 3; k++)
            el->g[k + 1][j] = c[k][j] / el->det;
        el->g[0][j] = -(el->g[1][j] + el->g[2][j] + el->g[3][j]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            el->J[i][j] = 0;
            for (int k = 1; k < 4; k++)
                el->J[i][j] += (el->u[k][i] - el->u[0][i]) * el->g[k][j];
        }
}

/* Returns mu + rho nu_t. */
static double viscosity(const alya_physics_t *physics, double det, double J[3][3])
{
    double norm2 = 0, B = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            double minor = J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1];
            norm2 += J[i][j] * J[i][j];
            B += minor * minor;
        }
    double width = physics->filter > 0 ? physics->filter : cbrt(det / 6);
    double nu = norm2 > 0 ? physics->vreman * width * width * sqrt(B / norm2) : 0;
    return physics->mu + physics->rho * nu;
}

static void convective_matrix(alya_form_t form, double J[3][3], double A[3][3])
{
    double div = J[0][0] + J[1][1] + J[2][2];
    double share = form == ALYA_SKEW ? 0.5 : form == ALYA_CONV ? 0 : 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[i][j] = J[i][j] + (form == ALYA_EMAC ? J[j][i] : 0) + (i == j ? share * div : 0);
}

static void element(const alya_physics_t *physics, element_t *el)
{
    double A[3][3];
    gradients(el);
    convective_matrix(physics->form, el->J, A);
    memset(el->r, 0, sizeof el->r);
    const double weight = el->det / 24;
    el->mu = viscosity(physics, el->det, el->J);

    for (int q = 0; q < 4; q++) {
        double N[4], u[3] = {0, 0, 0};
        for (int a = 0; a < 4; a++) {
            N[a] = a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR;
            for (int i = 0; i < 3; i++)
                u[i] += N[a] * el->u[a][i];
        }
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                double sum = weight * physics->rho * N[a] * physics->force[i];
                for (int j = 0; j < 3; j++) {
                    sum -= weight * physics->rho * N[a] * A[i][j] * u[j];
                    sum -= weight * el->mu * (el->J[i][j] + el->J[j][i]) * el->g[a][j];
                }
                el->r[a][i] += sum;
            }
    }
}

/*
 * Computes the magnitude of r_a if nothing in it cancelled, from the edges on. Rounding errors
 * scale with this and not with r. In a sheared cell the terms of J cancel, and what is left of them
 * is small and no more exact. The same holds for the differences u_k - u_0 of a smooth velocity: B
 * and RS add up u_a g_a over all four nodes, B even in (u . g_a) u_a and (g_b . g_a) u_a. So D, the
 * magnitude of J, is made of |u| and not of differences. The viscosity is different: nu_t is at
 * most c Delta^2 |J|, and its error c Delta^2 eps D. So the subgrid stress gets the product rule,
 * |J| D + D |J|, not D D. Finally, det is a difference of products, and on a slope in a thin
 * element this cancellation is by far the strongest of all. It drops out of the convective term;
 * force and stress scale with it, so the cancellation in V counts for them.
 */
static void magnitudes(const alya_physics_t *physics, const element_t *el, double m[4][3])
{
    double e[3][3], g[4][3] = {{0}}, D[3][3] = {{0}}, J[3][3] = {{0}}, A[3][3], s[3] = {0};
    double J2 = 0, D2 = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            e[k][i] = fabs(el->x[k + 1][i] - el->x[0][i]);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            const double *a = e[(k + 1) % 3], *b = e[(k + 2) % 3];
            g[k + 1][j] =
                (a[(j + 1) % 3] * b[(j + 2) % 3] + a[(j + 2) % 3] * b[(j + 1) % 3]) / el->det;
            g[0][j] += g[k + 1][j];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            for (int k = 1; k < 4; k++) {
                D[i][j] += (fabs(el->u[k][i]) + fabs(el->u[0][i])) * g[k][j];
                J[i][j] += fabs(el->u[k][i] - el->u[0][i]) * g[k][j];
            }
            D2 += D[i][j] * D[i][j];
            J2 += J[i][j] * J[i][j];
        }
    convective_matrix(physics->form, D, A);
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++)
            s[i] += fabs(el->u[a][i]);
    const double V = el->det / 6, width = physics->filter > 0 ? physics->filter : cbrt(V);
    double lost = -V; /* of V: how much more it would be if nothing cancelled */
    for (int i = 0; i < 3; i++)
        lost += e[0][i] * g[1][i] * V;
    const double subgrid = physics->rho * physics->vreman * width * width;
    const double mu = physics->mu + subgrid * sqrt(J2), mu_D = subgrid * sqrt(D2);
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) {
            double stress = 0;
            m[a][i] = (V + lost) / 4 * physics->rho * fabs(physics->force[i]);
            for (int j = 0; j < 3; j++) {
                stress += (el->J[i][j] + el->J[j][i]) * el->g[a][j];
                m[a][i] += physics->rho * V / 20 * A[i][j] * (fabs(el->u[a][j]) + s[j]) +
                           V * (mu * (D[i][j] + D[j][i]) + mu_D * (J[i][j] + J[j][i])) * g[a][j];
            }
            m[a][i] += lost * el->mu * fabs(stress);
        }
}

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

typedef struct {
    const int32_t *connectivity, *list;
    const double *x, *u, *wanted; /* NULL: r is wanted at all nodes */
    int x_stride, u_stride;
    double *r, *size;
} arrays_t;

static bool is_wanted(const double *wanted, const int32_t node[4])
{
    return !wanted || wanted[node[0]] + wanted[node[1]] + wanted[node[2]] + wanted[node[3]] > 0;
}

static void chunk(const arrays_t *arrays, const alya_physics_t *physics, int64_t first, int64_t end)
{
    for (int64_t p = first; p < end; p++) {
        const int32_t *node = arrays->connectivity + 4 * (arrays->list ? arrays->list[p] : p);
        element_t el;
        if (!is_wanted(arrays->wanted, node))
            continue;
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                el.x[a][i] = arrays->x[(int64_t)node[a] * arrays->x_stride + i];
                el.u[a][i] = arrays->u[(int64_t)node[a] * arrays->u_stride + i];
            }
        element(physics, &el);
        double m[4][3];
        if (arrays->size)
            magnitudes(physics, &el, m);
        for (int a = 0; a < 4; a++) {
            for (int i = 0; i < 3; i++)
                arrays->r[3 * (int64_t)node[a] + i] += el.r[a][i];
            if (!arrays->size)
                continue;
            arrays->size[2 * (int64_t)node[a]] += norm(el.r[a]);
            arrays->size[2 * (int64_t)node[a] + 1] += norm(m[a]);
        }
    }
}

static void assemble_all(const alya_schedule_t *s, const alya_physics_t *physics, int64_t nodes,
                         const arrays_t *arrays)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < nodes; n++) {
            for (int i = 0; i < 3; i++)
                arrays->r[3 * n + i] = 0;
            if (arrays->size)
                arrays->size[2 * n] = arrays->size[2 * n + 1] = 0;
        }
        for (int32_t c = 0; c < s->colours; c++) {
#pragma omp for schedule(static)
            for (int64_t k = s->colour[c]; k < s->colour[c + 1]; k++)
                chunk(arrays, physics, s->first[k], s->first[k + 1]);
        }
    }
}

void alya_reference_assemble(const alya_mesh_t *mesh, const alya_schedule_t *schedule,
                             const alya_physics_t *physics, const double *u, const double *wanted,
                             double *r, double *size)
{
    arrays_t arrays = {mesh->connectivity, schedule->list, mesh->x, u, wanted, 3, 3, r, size};
    assemble_all(schedule, physics, mesh->nodes, &arrays);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    arrays_t arrays = {
        view->connectivity, view->schedule->list, view->x, u, NULL, view->x_stride, 3, r, NULL};
    assemble_all(view->schedule, physics, view->nodes, &arrays);
}

const alya_kernels_t alya_reference = {
    .rung = {.precision = "FP64", .reproducible = true},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
