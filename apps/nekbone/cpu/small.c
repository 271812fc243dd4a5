/*
 * small.c - the list of versions of the small products, and the choice between them.
 *
 * The first two versions are here: plain loops over an n that is known at run time only. They
 * differ only in the order of the loops. `loops` computes one sum after another: it reads B down
 * its columns, and a compiler that may not reorder sums cannot use vectors. `rows` adds whole rows
 * of B, which are contiguous, but loads and stores C for every l.
 */
#include "config.h"
#include "small.h"

static void loops(const nek_product_t *p, const double *restrict A, const double *restrict B,
                  double *restrict C)
{
    for (int r = 0; r < p->rows; r++)
        for (int c = 0; c < p->columns; c++) {
            double sum = p->add ? C[r * p->columns + c] : 0;
            for (int l = 0; l < p->n; l++)
                sum += A[r * p->n + l] * B[l * p->columns + c];
            C[r * p->columns + c] = sum;
        }
}

static void rows(const nek_product_t *p, const double *restrict A, const double *restrict B,
                 double *restrict C)
{
    for (int r = 0; r < p->rows; r++) {
        double *restrict row = C + r * p->columns;
        for (int c = 0; c < p->columns && !p->add; c++)
            row[c] = 0;
        for (int l = 0; l < p->n; l++) {
            double a = A[r * p->n + l];
#pragma omp simd
            for (int c = 0; c < p->columns; c++)
                row[c] += a * B[l * p->columns + c];
        }
    }
}

const nek_small_t nek_small_loops = {.run = loops};
const nek_small_t nek_small_rows = {.run = rows};

/* The versions by name. */
/* clang-format off */
#define EACH_VERSION(X) \
    X("loops", loops) X("rows", rows) X("rows-n", rows_n) X("sums-n", sums_n) \
    X("tiles-n", tiles_n) X("dgemm", dgemm) X("xsmm", xsmm)
/* clang-format on */
#define TABLE(name, version) &nek_small_##version,
#define NAME(name, version)  name,
const nek_small_t *const nek_small[NEK_SMALL] = {EACH_VERSION(TABLE)};
static const char *const values[] = {"auto", EACH_VERSION(NAME) NULL};

/* Returns the fastest version on a Zen 4 core among those that every build has. A row shorter than
 * half a vector gains nothing from registers, and a row of 9 is one vector and one more value. */
static const nek_small_t *automatic(nek_case_t which, int n)
{
    bool sums = n <= 4 || (n == 9 && which != NEK_LONG);
    return sums ? &nek_small_sums_n : &nek_small_tiles_n;
}

nek_product_t nek_product(const nek_small_t *version, nek_case_t which, int n, bool add)
{
    nek_product_t product = {.n = n,
                             .rows = which == NEK_TALL ? n * n : n,
                             .columns = which == NEK_LONG ? n * n : n,
                             .add = add};
    if (!version)
        version = automatic(which, n);
    if (version->prepare)
        version->prepare(&product, which);
    else
        product.run = version->run ? version->run : version->of[product.n][which][product.add];
    return product;
}

const rt_parameter_t nek_small_parameters[NEK_CASES] = {
    {"mxm1", "product [n^2 x n] [n x n]", values, 0},
    {"mxm2", "product [n x n] [n x n], n times", values, 0},
    {"mxm3", "product [n x n] [n x n^2]", values, 0},
};

/* Returns the version for a parameter's value; NULL means auto. */
static const nek_small_t *version_of(int value)
{
    return value == 0 ? NULL : nek_small[value - 1];
}

const char *nek_small_refuse(const void *options, const int *choice)
{
    (void)options;
    for (int i = 0; i < NEK_CASES; i++) {
        const nek_small_t *version = version_of(choice[i]);
        if (version && version->why_not)
            return version->why_not;
    }
    return NULL;
}

static nek_product_t chosen(const nek_view_t *view, nek_case_t which, bool add)
{
    int value = view->choice ? view->choice[which] : 0;
    return nek_product(version_of(value), which, view->n, add);
}

nek_products_t nek_products_chosen(const nek_view_t *view)
{
    return (nek_products_t){.along_i = chosen(view, NEK_TALL, false),
                            .along_j = chosen(view, NEK_SQUARE, false),
                            .along_k = chosen(view, NEK_LONG, false),
                            .add_j = chosen(view, NEK_SQUARE, true),
                            .add_k = chosen(view, NEK_LONG, true)};
}
