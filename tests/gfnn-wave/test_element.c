/*
 * test_element.c - the symmetry of the element matrices, and what is made of them. tests/dump.py has
 * their definition; that it is right, test_physics shows.
 */
#include "config.h"
#include <math.h>
#include "gfnn_test.h"

enum { N = 24 };

/* The cube is its own mirror image in each direction, and looks the same along x, y and z: equal to
 * the last bit, which kernels may rely on. Catches corners in another order than x + 2 y + 4 z. */
static void test_symmetry(gfnn_element_t *e)
{
    double(*all[])[N] = {e->M, e->KL, e->KM};
    for (int m = 0; m < 3; m++) {
        int transposed = 0, mirrored = 0, turned = 0;
        for (int q = 0; q < N * N; q++) {
            const int i = q / N, j = q % N, a = i / 3, b = j / 3, c = i % 3, d = j % 3;
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
        CHECK(transposed == 0 && mirrored == 0 && turned == 0);
    }
}

/* Checks the form, term by term; an absent element is 0. */
static void test_form(gfnn_element_t *e)
{
    const gfnn_form_t form = {1.5, 7, 0.25};
    double A[N][N], none[N][N], most = 0, rest = 0;
    gfnn_element_matrix(&form, 1, 6400, A);
    gfnn_element_matrix(&form, 0, 0, none);
    for (int q = 0; q < N * N; q++) {
        const double M = e->M[q / N][q % N], KL = e->KL[q / N][q % N], KM = e->KM[q / N][q % N];
        most = fmax(most, fabs(A[q / N][q % N] - (1.5 * M + 7 * KL + 1600 * KM - 3200 * KL)));
        rest = fmax(rest, fabs(none[q / N][q % N]));
    }
    CHECK(most <= 1e-12 && rest == 0);
}

int main(void)
{
    gfnn_element_t e = *gfnn_element();
    test_symmetry(&e);
    test_form(&e);
    return check_done();
}
