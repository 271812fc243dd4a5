/*
 * test_reach.c - what the reach nd of a Green's-function kernel is worth: in a uniform medium, with
 * the exact kernel of each reach, the iterations of conjugate gradients fall with nd. So in the
 * parts of a model without interfaces the reach is the limit, not the network.
 *
 * The operator of a uniform medium is a stencil of 27 nodes. The best kernel on the (2 nd + 1)^3
 * nodes around a force, in the norm of the energy, is the solution with u = 0 outside them
 * (Galerkin). Vp dt/ds = 4, Vs = 80 m/s, no damping, FP64, a periodic box, a random right-hand side,
 * to 1e-8. The long form (RT_CHECK_LONG=1) has 24^3 nodes and a reach up to 6.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "gfnn_test.h"

typedef double block_t[3][3];

/* Nodes [n][n][n], 3 values each, x fastest. */
typedef struct {
    int n;
    bool periodic; /* else 0 beyond the faces */
} cube_t;

/* A kernel on (2 reach + 1)^3 offsets, x fastest. */
typedef struct {
    int reach;
    block_t *of;
} kernel_t;

static kernel_t kernel_new(int reach)
{
    const size_t edge = 2 * (size_t)reach + 1;
    kernel_t k = {reach, RT_NEW(block_t, edge * edge * edge, RT_HOST)};
    memset(k.of, 0, edge * edge * edge * sizeof *k.of);
    return k;
}

/* Computes y = sum over offsets d of K(d) x(node + d). */
static void apply(const cube_t *c, const kernel_t *k, const double *x, double *y)
{
    const int n = c->n, R = k->reach, edge = 2 * R + 1;
    for (int at = 0; at < n * n * n; at++) {
        const int place[3] = {at % n, at / n % n, at / n / n};
        double sum[3] = {0, 0, 0};
        for (int d = 0; d < edge * edge * edge; d++) {
            int to[3] = {place[0] + d % edge - R, place[1] + d / edge % edge - R,
                         place[2] + d / edge / edge - R};
            bool inside = true;
            for (int i = 0; i < 3; i++) {
                inside = inside && to[i] >= 0 && to[i] < n;
                to[i] = (to[i] + n) % n;
            }
            if (!inside && !c->periodic)
                continue;
            const double *u = x + 3 * ((to[2] * n + to[1]) * n + to[0]);
            for (int i = 0; i < 3; i++)
                sum[i] += k->of[d][i][0] * u[0] + k->of[d][i][1] * u[1] + k->of[d][i][2] * u[2];
        }
        memcpy(y + 3 * at, sum, sizeof sum);
    }
}

/* The stencil of A: for each pair of corners of the eight elements around a node. */
static kernel_t operator_new(void)
{
    const gfnn_config_t config = {
        .ds = 1e-3, .dt = 20e-6, .vp = 200, .rho = 1000, .f1 = 1, .f2 = 1};
    const gfnn_step_t step = gfnn_step(&config);
    kernel_t k = kernel_new(1);
    double A[24][24];
    gfnn_element_matrix(&step.A, 1, 80.0 * 80.0, A);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            int d[3];
            for (int i = 0; i < 3; i++)
                d[i] = (b >> i & 1) - (a >> i & 1) + 1;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    k.of[(d[2] * 3 + d[1]) * 3 + d[0]][i][j] += A[3 * a + i][3 * b + j];
        }
    return k;
}

static double dot(const double *x, const double *y, int values)
{
    double sum = 0;
    for (int i = 0; i < values; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Solves A x = f by conjugate gradients; returns the iterations. */
static int solve(const cube_t *c, const kernel_t *A, const kernel_t *B, const double *f,
                 double tolerance, double *x)
{
    enum { MOST = 500 };
    const int values = 3 * c->n * c->n * c->n;
    double *r = RT_NEW(double, 4 * (size_t)values, RT_HOST);
    double *z = r + values, *p = z + values, *q = p + values, rz = 1;
    memcpy(r, f, (size_t)values * sizeof *r);
    memset(x, 0, (size_t)values * sizeof *x);
    memset(p, 0, (size_t)values * sizeof *p);
    int k = 0;
    for (const double end = tolerance * sqrt(dot(f, f, values));
         k < MOST && !(sqrt(dot(r, r, values)) < end); k++) {
        apply(c, B, r, z);
        const double before = rz, beta = ((rz = dot(r, z, values)) / before) * (k > 0);
        for (int i = 0; i < values; i++)
            p[i] = z[i] + beta * p[i];
        apply(c, A, p, q);
        const double alpha = rz / dot(p, q, values);
        for (int i = 0; i < values; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
    }
    RT_FREE(r, RT_HOST);
    return k;
}

/* The inverse of the diagonal block, which is a multiple of 1 by the symmetries of the cube. */
static kernel_t jacobi_new(const kernel_t *A)
{
    kernel_t k = kernel_new(0);
    for (int i = 0; i < 3; i++)
        k.of[0][i][i] = 1 / A->of[13][i][i];
    return k;
}

/* The kernel of a reach: column by column, the answer to a force on the middle node. By symmetry
 * K(-d) = K(d), so that a convolution and a correlation are the same. */
static kernel_t green_new(const kernel_t *A, const kernel_t *bj, int reach)
{
    kernel_t k = kernel_new(reach);
    const cube_t c = {.n = 2 * reach + 1};
    const int nodes = c.n * c.n * c.n;
    double *f = RT_NEW(double, 6 * (size_t)nodes, RT_HOST), *x = f + 3 * nodes;
    for (int j = 0; j < 3; j++) {
        memset(f, 0, 3 * (size_t)nodes * sizeof *f);
        f[3 * (nodes / 2) + j] = 1;
        solve(&c, A, bj, f, 1e-12, x);
        for (int d = 0; d < nodes; d++)
            for (int i = 0; i < 3; i++)
                k.of[d][i][j] = x[3 * d + i];
    }
    RT_FREE(f, RT_HOST);
    return k;
}

static void check_reach(int n, int least, int most, const int *expected)
{
    const cube_t c = {n, true};
    const int values = 3 * n * n * n;
    kernel_t A = operator_new(), bj = jacobi_new(&A);
    double *f = RT_NEW(double, 2 * (size_t)values, RT_HOST);
    for (int i = 0; i < values; i++)
        f[i] = rt_random((uint64_t)i, 2021);
    printf("%d^3 nodes, bj: %d iterations\n", n, solve(&c, &A, &bj, f, 1e-8, f + values));
    for (int reach = least; reach <= most; reach++) {
        kernel_t B = green_new(&A, &bj, reach);
        const int got = solve(&c, &A, &B, f, 1e-8, f + values);
        printf("reach %d: %d iterations, %d expected\n", reach, got, expected[reach - least]);
        CHECK(got == expected[reach - least]);
        RT_FREE(B.of, RT_HOST);
    }
    RT_FREE(f, RT_HOST);
    RT_FREE(bj.of, RT_HOST);
    RT_FREE(A.of, RT_HOST);
}

int main(int argc, char **argv)
{
    rt_error_set_program("test_reach");
    rt_comm_init(&argc, &argv);
    rt_device_select("cpu", true, 1);
    if (getenv("RT_CHECK_LONG"))
        check_reach(24, 2, 6, (const int[]){13, 9, 7, 6, 5});
    else
        check_reach(12, 2, 3, (const int[]){12, 9});
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
