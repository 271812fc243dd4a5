/*
 * test_element.c - the element matrices against their definition: energies of displacements that
 * can be integrated by hand, rank, null space, and the cube's symmetry.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "gfnn_test.h"

enum { N = 24 };
typedef double matrix_t[N][N];

static double corner(int a, int d)
{
    return a >> d & 1;
}

/* u . A v */
static double product(double A[N][N], const double *u, const double *v)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += u[i] * A[i][j] * v[j];
    return sum;
}

/* Returns the rank of a symmetric positive semidefinite matrix, by Cholesky with pivoting. What
 * is left after the last pivot must be rounding. */
static int rank_of(double A[N][N], double *least_pivot, double *left)
{
    matrix_t R;
    memcpy(R, A, sizeof R);
    *least_pivot = INFINITY;
    for (int rank = 0;; rank++) {
        int p = 0;
        for (int i = 1; i < N; i++)
            if (R[i][i] > R[p][p])
                p = i;
        *left = R[p][p];
        if (R[p][p] < 1e-12 || rank == N)
            return rank;
        *least_pivot = fmin(*least_pivot, R[p][p]);
        const double pivot = R[p][p];
        double column[N];
        for (int i = 0; i < N; i++)
            column[i] = R[i][p];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                R[i][j] -= column[i] * column[j] / pivot;
    }
}

/* Catches a dropped Gauss point (rank 12 or less), and shear without its transposed part. */
static void test_rank(const gfnn_element_t *e)
{
    static const double lambda[] = {1, 0.3, 1000}, mu[] = {1, 5, 1};
    matrix_t K, M;
    double least, left;
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                K[i][j] = lambda[c] * e->KL[i][j] + mu[c] * e->KM[i][j];
        CHECK(rank_of(K, &least, &left) == 18);
        CHECK(least > 0.01 && fabs(left) < 1e-12);
    }
    memcpy(M, e->M, sizeof M);
    CHECK(rank_of(M, &least, &left) == N);
    CHECK(least > 1e-3); /* the smallest eigenvalue of M is 1/216 */
}

/* Rigid-body motions: three shifts and three turns, which strain nothing. */
static void test_null_space(const gfnn_element_t *e)
{
    for (int motion = 0; motion < 6; motion++) {
        double u[N] = {0};
        const int d = motion % 3, f = (d + 1) % 3, g = (d + 2) % 3;
        for (int a = 0; a < 8; a++)
            if (motion < 3) {
                u[3 * a + d] = 1;
            } else {
                u[3 * a + f] = -corner(a, g);
                u[3 * a + g] = corner(a, f);
            }
        double most = 0;
        for (int i = 0; i < N; i++) {
            double kl = 0, km = 0;
            for (int j = 0; j < N; j++) {
                kl += e->KL[i][j] * u[j];
                km += e->KM[i][j] * u[j];
            }
            most = fmax(most, fmax(fabs(kl), fabs(km)));
        }
        CHECK(most <= 24 * RT_EPS);
    }
}

/* Uniform strain: u_c = x_d has energy (integral of lambda div u div v + 2 mu e(u) : e(v)) of 0 or
 * 1 by hand. Catches the factor 2 of shear strains, and components swapped. */
static void test_strain(const gfnn_element_t *e)
{
    matrix_t KL, KM;
    memcpy(KL, e->KL, sizeof KL);
    memcpy(KM, e->KM, sizeof KM);
    for (int p = 0; p < 9; p++)
        for (int q = 0; q < 9; q++) {
            double u[N] = {0}, v[N] = {0};
            for (int a = 0; a < 8; a++) {
                u[3 * a + p / 3] = corner(a, p % 3);
                v[3 * a + q / 3] = corner(a, q % 3);
            }
            const int bulk = p / 3 == p % 3 && q / 3 == q % 3; /* both stretch */
            const int shear = (p == q) + (p / 3 == q % 3 && p % 3 == q / 3);
            CHECK(fabs(product(KL, u, v) - bulk) < 1e-14);
            CHECK(fabs(product(KM, u, v) - shear) < 1e-14);
        }
}

/* Mass adds up to 1 per component, and to 0 between components; the moment of x is 1/3. */
static void test_mass(const gfnn_element_t *e)
{
    matrix_t M;
    memcpy(M, e->M, sizeof M);
    for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++) {
            double u[N] = {0}, v[N] = {0}, x[N] = {0};
            for (int a = 0; a < 8; a++) {
                u[3 * a + c] = 1;
                v[3 * a + d] = 1;
                x[3 * a + c] = corner(a, d);
            }
            CHECK(fabs(product(M, u, v) - (c == d)) < 1e-15);
            CHECK(fabs(product(M, x, x) - 1 / 3.) < 1e-15);
        }
}

/* The cube is its own mirror image in each direction, and looks the same along x, y and z: equal
 * to the last bit, which kernels may rely on. Catches corners in another order than x + 2 y + 4
 * z. */
static void test_symmetry(const gfnn_element_t *e)
{
    const double(*all[])[N] = {e->M, e->KL, e->KM};
    for (int m = 0; m < 3; m++) {
        int transposed = 0, mirrored = 0, turned = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const int a = i / 3, b = j / 3, c = i % 3, d = j % 3;
                transposed += all[m][i][j] != all[m][j][i];
                for (int k = 0; k < 3; k++) {
                    const double sign = (c == k) != (d == k) ? -1 : 1;
                    const int ia = 3 * (a ^ 1 << k) + c, jb = 3 * (b ^ 1 << k) + d;
                    mirrored += all[m][i][j] != sign * all[m][ia][jb];
                }
                const int ia = 3 * ((a << 1 & 7) | a >> 2) + (c + 1) % 3;
                const int jb = 3 * ((b << 1 & 7) | b >> 2) + (d + 1) % 3;
                turned += all[m][i][j] != all[m][ia][jb];
            }
        CHECK(transposed == 0);
        CHECK(mirrored == 0);
        CHECK(turned == 0);
    }
}

/* Checks the form, term by term; an absent element is 0. */
static void test_form(const gfnn_element_t *e)
{
    const gfnn_form_t form = {1.5, 7, 0.25};
    matrix_t A, none;
    double most = 0, rest = 0;
    gfnn_element_matrix(&form, 1, 6400, A);
    gfnn_element_matrix(&form, 0, 0, none);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const double want =
                1.5 * e->M[i][j] + 7 * e->KL[i][j] + 1600 * e->KM[i][j] - 3200 * e->KL[i][j];
            most = fmax(most, fabs(A[i][j] - want));
            rest = fmax(rest, fabs(none[i][j]));
        }
    CHECK(most <= 1e-12);
    CHECK(rest == 0);
    gfnn_element_matrix(&form, 1, 0, A); /* a fluid: no K_M */
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            most = fmax(most, fabs(A[i][j] - 1.5 * e->M[i][j] - 7 * e->KL[i][j]));
    CHECK(most <= 1e-12);
}

int main(void)
{
    const gfnn_element_t *e = gfnn_element();
    CHECK(e == gfnn_element());
    test_rank(e);
    test_null_space(e);
    test_strain(e);
    test_mass(e);
    test_symmetry(e);
    test_form(e);
    return check_done();
}
