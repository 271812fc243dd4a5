/*
 * small.h - the small matrix products in an element's operator, in several versions.
 *
 * There are six products per element, two of each case (CRESTA D3.5.2, section 3). All matrices are
 * dense and row-major, as fields are (i fastest), so u of an element is a matrix [n^2][n] of lines,
 * n matrices [n][n] of layers, and a matrix [n][n^2]:
 *
 *   NEK_TALL    C[n^2][n] = A[n^2][n] B[n][n]     along i: fields times D transposed
 *   NEK_SQUARE  C[n][n]   = A[n][n]   B[n][n]     along j: D times a layer, n times
 *   NEK_LONG    C[n][n^2] = A[n][n]   B[n][n^2]   along k: D times fields
 *
 * No version is the fastest for every n, case and machine. `auto` is a good choice for each n, and
 * the tuner may find a better one.
 */
#ifndef NEK_SMALL_H
#define NEK_SMALL_H

#include "../kernel.h"

typedef enum { NEK_TALL, NEK_SQUARE, NEK_LONG, NEK_CASES } nek_case_t;

/* A product of one case and n, ready to run from any thread: product.run(&product, A, B, C)
 * computes C = A B, or C += A B if add. C does not overlap A or B. */
typedef struct nek_product nek_product_t;
typedef void nek_product_fn(const nek_product_t *product, const double *A, const double *B,
                            double *C);
struct nek_product {
    nek_product_fn *run;
    int n, rows, columns; /* C[rows][columns]; sums of n products */
    bool add;
    void (*code)(void); /* of a kernel that is generated at run time */
};

/* A version of all products: one function, or one for each n, case and add, or one that sets run (and
 * code) of a product whose other members are set. */
typedef struct {
    nek_product_fn *run;
    nek_product_fn *const (*of)[NEK_CASES][2];
    void (*prepare)(nek_product_t *product, nek_case_t which);
    const char *why_not; /* this build does not have it; else NULL */
} RT_BY_NAME nek_small_t;

enum { NEK_SMALL = 7 }; /* versions */
extern const nek_small_t *const nek_small[NEK_SMALL];
extern const nek_small_t nek_small_loops, nek_small_rows, nek_small_rows_n, nek_small_sums_n,
    nek_small_tiles_n, nek_small_dgemm, nek_small_xsmm;

/* Returns the product by `version`; NULL: by the version that `auto` chooses for this n. */
nek_product_t nek_product(const nek_small_t *version, nek_case_t which, int n, bool add);

/* The parameters of a rung that uses these products: a version for each case. */
extern const rt_parameter_t nek_small_parameters[NEK_CASES];
const char *nek_small_refuse(const void *options, const int *choice);
/* The products of an element: with D along i, j, k; and those along j and k that are added. */
typedef struct {
    nek_product_t along_i, along_j, along_k, add_j, add_k;
} nek_products_t;
/* Returns them by the choice in force; view->choice may be NULL: the choice without tuning. */
nek_products_t nek_products_chosen(const nek_view_t *view);

#endif
