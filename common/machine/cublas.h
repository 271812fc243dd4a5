/*
 * machine/cublas.h - batches of small products by NVIDIA's cuBLAS, which is loaded on first use. Not
 * for several host threads at once.
 */
#ifndef RT_CUBLAS_H
#define RT_CUBLAS_H

#include <stdbool.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Returns NULL if cuBLAS is in this build and can be loaded, else one line of why not. */
const char *rt_cublas_why_not(void);

/* A matrix of each member of a batch, column-major and without gaps; member i begins at
 * at + i * stride, so a stride of 0 means one matrix for all. */
typedef struct {
    const double *at; /* in device memory */
    long long stride;
    bool transposed;
} rt_cublas_matrix_t;

enum { RT_CUBLAS_LANES = 3 }; /* streams that may have products under way at once */

/* Computes C(i) = A(i) B(i), or C(i) += A(i) B(i) if add, i < count, on `stream` (a cudaStream_t):
 * A [m][k], B [k][n] after transposition, C [m][n], whose members are m n apart. C overlaps neither
 * A nor B. Products on different streams need different lanes. Ends the program if cuBLAS fails. */
void rt_cublas_products(int lane, void *stream, int m, int n, int k, int count,
                        rt_cublas_matrix_t A, rt_cublas_matrix_t B, bool add, double *C);

RT_C_END
#endif
