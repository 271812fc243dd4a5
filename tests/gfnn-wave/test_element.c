/*
 * test_element.c - the element matrices against their definition, integrated with 3x3x3 Gauss
 * points; the cube's symmetry. That the definition is right, test_physics shows.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "gfnn_test.h"

enum { N = 24 };
typedef double matrix_t[N][N];

/* Adds a point to what M, K_L and K_M are defined as. */
static void add_point(const double at[3], double weight, gfnn_element_t *e)
{
    double f[8], d[8][3];
    for (int a = 0; a < 8; a++) {
        double side[3];
        for (int g = 0; g < 3; g++)
            side[g] = a >> g & 1 ? at[g] : 1 - at[g];
        f[a] = side[0] * side[1] * side[2];
        for (int g = 0; g < 3; g++)
            d[a][g] = (a >> g & 1 ? 1 : -1) * side[(g + 1) % 3] * side[(g + 2) % 3];
    }
    for (int r = 0; r < N; r++)
        for (int s = 0; s < N; s++) {
            const int a = r / 3, c = r % 3, b = s / 3, g = s % 3;
            const double grad = d[a][0] * d[b][0] + d[a][1] * d[b][1] + d[a][2] * d[b][2];
            e->M[r][s] += weight * (c == g ? f[a] * f[b] : 0);
            e->KL[r][s] += weight * d[a][c] * d[b][g];
            e->KM[r][s] += weight * ((c == g ? grad : 0) + d[a][g] * d[b][c]);
        }
}

static double apart(double a[N][N], double b[N][N])
{
    double most = 0;
    for (int q = 0; q < N * N; q++)
        most = fmax(most, fabs(a[q / N][q % N] - b[q / N][q % N]));
    return most;
}

static void test_definition(gfnn_element_t *e)
{
    static const double weight[3] = {5. / 18, 4. / 9, 5. / 18};
    const double at[3] = {0.5 - sqrt(0.15), 0.5, 0.5 + sqrt(0.15)};
    gfnn_element_t want;
    memset(&want, 0, sizeof want);
    for (int p = 0; p < 27; p++)
        add_point((double[3]){at[p % 3], at[p / 3 % 3], at[p / 9]},
                  weight[p % 3] * weight[p / 3 % 3] * weight[p / 9], &want);
    CHECK(apart(e->M, want.M) < 1e-15);
    CHECK(apart(e->KL, want.KL) < 1e-15);
    CHECK(apart(e->KM, want.KM) < 1e-15);
}

/* The cube is its own mirror image in each direction, and looks the same along x, y and z: equal
 * to the last bit, which kernels may rely on. Catches corners in another order than x + 2 y + 4
 * z. */
static void test_symmetry(gfnn_element_t *e)
{
    double(*all[])[N] = {e->M, e->KL, e->KM};
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
static void test_form(gfnn_element_t *e)
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
    gfnn_element_t e = *gfnn_element();
    test_definition(&e);
    test_symmetry(&e);
    test_form(&e);
    return check_done();
}
