/*
 * test_small.c - compares every version of the small products with plain loops: all cases, all n,
 * with and without C added.
 *
 * Other tests compare the rungs that use them with the reference, but only with the current choice.
 * This test finds a version that is wrong for one n or in one case, that ignores the old C, or that
 * writes beyond it.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/nekbone/cpu/small.h"
#include "nek_test.h"

enum { MOST = NEK_MAX_N3, GUARD = 16 };

/* C is surrounded by NaNs, which must not change. */
static double A[MOST], B[MOST], C[GUARD + MOST + GUARD], before[MOST];

static bool untouched(const double *from, int count)
{
    for (int i = 0; i < count; i++)
        if (rt_finite(from[i]))
            return false;
    return true;
}

/* Returns the largest error over all of C, in units of the rounding error of a sum; infinite if
 * anything outside C changed. */
static double error_of(const nek_small_t *version, nek_case_t which, int n, bool add)
{
    const int rows = which == NEK_TALL ? n * n : n, columns = which == NEK_LONG ? n * n : n;
    double *c = C + GUARD, most = 0;
    for (int i = 0; i < GUARD + MOST + GUARD; i++)
        C[i] = NAN;
    for (int i = 0; i < rows * n; i++)
        A[i] = rt_random((uint64_t)i, 1);
    for (int i = 0; i < n * columns; i++)
        B[i] = rt_random((uint64_t)i, 2);
    for (int i = 0; i < rows * columns && add; i++) /* otherwise C is NaN, and may not be read */
        c[i] = before[i] = rt_random((uint64_t)i, 3);
    const nek_product_t product = nek_product(version, which, n, add);
    product.run(&product, A, B, c);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < columns; k++) {
            long double sum = add ? before[r * columns + k] : 0, size = fabsl(sum);
            for (int l = 0; l < n; l++) {
                sum += (long double)A[r * n + l] * B[l * columns + k];
                size += fabsl((long double)A[r * n + l] * B[l * columns + k]);
            }
            double error = fabs(c[r * columns + k] - (double)sum) / (RT_EPS * (double)size);
            most = fmax(most, rt_finite(c[r * columns + k]) ? error : INFINITY);
        }
    bool whole = untouched(C, GUARD) && untouched(c + rows * columns, GUARD);
    return whole ? most : INFINITY;
}

static void check_versions(void)
{
    for (int v = -1; v < NEK_SMALL; v++) { /* -1: auto */
        const nek_small_t *version = v < 0 ? NULL : nek_small[v];
        const char *name = nek_small_parameters[0].values[v + 1];
        if (version && version->why_not) {
            printf("%s: %s\n", name, version->why_not);
            CHECK(strstr(version->why_not, "configure") != NULL);
            continue;
        }
        for (int n = NEK_MIN_N; n <= NEK_MAX_N; n++)
            for (nek_case_t which = 0; which < NEK_CASES; which++)
                for (int add = 0; add < 2; add++) {
                    double error = error_of(version, which, n, add);
                    CHECK(error <= n + 2);
                    if (error > n + 2)
                        printf("%s: case %d, n = %d%s: %g\n", name, which + 1, n,
                               add ? ", added" : "", error);
                }
    }
}

/* Checks that a version that this build lacks is refused with the reason. */
static void check_refusals(void)
{
    for (int v = 0; v < NEK_SMALL; v++) {
        const int choice[NEK_CASES] = {[NEK_SQUARE] = v + 1};
        CHECK_TEXT(nek_small_refuse(NULL, choice), nek_small[v]->why_not);
    }
}

int main(int argc, char **argv)
{
    app_test_start("test_small", &argc, &argv);
    check_versions();
    check_refusals();
    return app_test_stop(check_done());
}
