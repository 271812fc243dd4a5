/*
 * jammed.c - all loops of one element written out for a fixed n.
 *
 * Idea: the loops of Listing 1 are reordered so that i, the fastest index, is innermost and its
 * values are independent. One function is compiled once for each n = 2 .. 24. The compiler then
 * knows every trip count: it unrolls, keeps values in vector registers and drops the remainder
 * code. The k-derivative of the whole element is a product [n x n] [n x n^2] whose rows are n^2
 * long.
 *
 * There are two forms. `lines`, below, lets the compiler choose what stays in registers: at best a
 * line of n sums, so each multiply-add waits for one value of D from L1. `tiles` (tiles.h) keeps
 * several rows in registers. `any-n` is `lines` with n known at run time only, for comparison.
 *
 * Advantage: no strided access, no sum across a vector, every loaded value is used n times from L1.
 * Price: code for 23 element sizes in the binary; an n that is not a multiple of the vector length
 * wastes lanes at the end of each line.
 */
#include "config.h"
#include "../kernel.h"
#include "tiles.h"

/* Computes out[j][i] (+)= sum_l M[l][i] in[j][l] for `rows` lines j: the derivative along i. A line
 * of `out` stays in registers while the values of a line of `in` are broadcast. */
NEK_INLINE void along_i(const int n, const int rows, const double *restrict M,
                        const double *restrict in, double *restrict out, const int add)
{
    for (int j = 0; j < rows; j++) {
        double line[NEK_MAX_N];
        for (int i = 0; i < n; i++)
            line[i] = add ? out[j * n + i] : 0;
        for (int l = 0; l < n; l++)
            for (int i = 0; i < n; i++)
                line[i] += M[l * n + i] * in[j * n + l];
        for (int i = 0; i < n; i++)
            out[j * n + i] = line[i];
    }
}

/* Computes out[j][i] (+)= sum_l M[j][l] in[l][i] for lines of `length`: the derivative along j or
 * k. */
NEK_INLINE void along_rows(const int n, const int length, const double *restrict M,
                           const double *restrict in, double *restrict out, const int add)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < length; i++) {
            double sum = add ? out[j * length + i] : 0;
            for (int l = 0; l < n; l++)
                sum += M[j * n + l] * in[l * length + i];
            out[j * length + i] = sum;
        }
    }
}

NEK_INLINE void element(const int n, const nek_tiles_t *m, const double *restrict G,
                        const double *restrict u, double *restrict w)
{
    const double *restrict D = m->D, *restrict Dt = m->Dt;
    const int n2 = n * n, n3 = n2 * n;
    double ut[NEK_MAX_N3] __attribute__((aligned(64)));

    along_rows(n, n2, D, u, ut, 0);
    for (int k = 0; k < n; k++) { /* ur and us of one layer never leave L1 */
        double ur[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        double us[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        along_i(n, n, Dt, u + k * n2, ur, 0);
        along_rows(n, n, D, u + k * n2, us, 0);
        nek_apply_factors(n2, n3, G + k * n2, ur, us, ut + k * n2);
        along_rows(n, n, Dt, us, w + k * n2, 0);
        along_i(n, n, D, ur, w + k * n2, 1);
    }
    along_rows(n, n2, Dt, ut, w, 1);
}

/* There is one function for each n, so that the constant reaches every loop bound above, and one
 * for any n. */
typedef void element_fn(int n, const nek_tiles_t *m, const double *G, const double *u, double *w);

static void lines_any(int n, const nek_tiles_t *m, const double *G, const double *u, double *w)
{
    element(n, m, G, u, w);
}

#define DEFINE(N)                                                                        \
    static void lines_##N(int n, const nek_tiles_t *m, const double *G, const double *u, \
                          double *w)                                                     \
    {                                                                                    \
        (void)n;                                                                         \
        element(N, m, G, u, w);                                                          \
    }                                                                                    \
    static void tiles_##N(int n, const nek_tiles_t *m, const double *G, const double *u, \
                          double *w)                                                     \
    {                                                                                    \
        (void)n;                                                                         \
        nek_tiles_element(N, m, G, u, w, NULL);                                          \
    }
NEK_FOR_EACH_N(DEFINE)

enum { TILES, LINES, ANY_N };
#define ENTRY(N) [N] = {tiles_##N, lines_##N, lines_any},
static element_fn *const element_of[NEK_MAX_N + 1][3] = {NEK_FOR_EACH_N(ENTRY)};

/* The loop over elements calls through a pointer on purpose: inside an OpenMP region the compiler
 * would pass n in memory, where it is no longer a constant. */
static void every_element(const nek_view_t *view, element_fn *element_n, const double *u, double *w)
{
    const int n = view->n, n3 = n * n * n;
    nek_tiles_t m;
    nek_tiles_set(n, view->D, &m);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++)
        element_n(n, &m, view->G + e * 6 * n3, u + e * n3, w + e * n3);
}

void nek_tiles_ax(const nek_view_t *view, const double *u, double *w)
{
    every_element(view, element_of[view->n][TILES], u, w);
}

static void jammed_ax(const nek_view_t *view, const double *u, double *w)
{
    every_element(view, element_of[view->n][view->choice ? view->choice[0] : TILES], u, w);
}

static const char *const loops[] = {[TILES] = "tiles", [LINES] = "lines", [ANY_N] = "any-n", NULL};
static const rt_parameter_t parameters[] = {
    {"loops", "tiles of several rows, a line at a time, or that with n at run time", loops, TILES}};

const nek_kernels_t nek_jammed = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = sizeof parameters / sizeof *parameters,
             .refuse = nek_refuse},
    .ax = jammed_ax,
    .vector = &nek_vector_cpu,
};
