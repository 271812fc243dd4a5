/*
 * small_library.c - the small products by libraries: dgemm of BLAS, and libxsmm.
 *
 * BLAS is made for large matrices, and every call pays for that: it checks arguments and copies
 * blocks. Beyond n = 14 or so that no longer matters (CRESTA D3.5.2, section 4.4). libxsmm
 * generates the code for exactly this product on first use. A library that the build lacks stays in
 * the list, with the reason.
 */
#include "config.h"
#include "small.h"

#if RT_HAVE_BLAS
#include RT_BLAS_HEADER
#ifdef RT_BLAS_THREADS
void RT_BLAS_THREADS(RT_BLAS_INT);
#endif

static void dgemm(const nek_product_t *p, const double *A, const double *B, double *C)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->rows, p->columns, p->n, 1, A, p->n, B,
                p->columns, p->add ? 1 : 0, C, p->columns);
}

static void prepare_dgemm(nek_product_t *product, nek_case_t which)
{
    (void)which;
    /* We run one thread per product; threads inside BLAS would compete for the same cores. */
#ifdef RT_BLAS_THREADS
    RT_BLAS_THREADS(1);
#endif
    product->run = dgemm;
}

const nek_small_t nek_small_dgemm = {.prepare = prepare_dgemm};
#else
const nek_small_t nek_small_dgemm = {
    .why_not = "this build has no BLAS: install one with cblas.h (apt install libopenblas-dev) and "
               "run configure again, or give --with-blas=DIR"};
#endif

#if RT_HAVE_LIBXSMM
#include <libxsmm.h>

/* Calls libxsmm, whose matrices are column-major: C^T = B^T A^T. */
static void xsmm(const nek_product_t *p, const double *A, const double *B, double *C)
{
    ((libxsmm_dmmfunction)p->code)(B, A, C);
}

static void prepare_xsmm(nek_product_t *product, nek_case_t which)
{
    const libxsmm_blasint n = product->n, rows = product->rows, columns = product->columns;
    const double one = 1, beta = product->add ? 1 : 0;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    product->code = (void (*)(void))libxsmm_dmmdispatch(columns, rows, n, &columns, &n, &columns,
                                                        &one, &beta, &flags, &prefetch);
    product->run = xsmm;
    if (!product->code) /* libxsmm cannot generate code for this processor */
        *product = nek_product(&nek_small_rows_n, which, product->n, product->add);
}

const nek_small_t nek_small_xsmm = {.prepare = prepare_xsmm};
#else
const nek_small_t nek_small_xsmm = {
    .why_not = "this build has no libxsmm: install it (apt install libxsmm-dev) and run configure "
               "again, or give --with-libxsmm=DIR"};
#endif
