/* vectors.c - what is done to vectors with OpenACC: an iteration per node and component. */
#include "config.h"
#include "openacc.h"

static void copy(int64_t nodes, const double *from, int from_stride, double *to, int to_stride)
{
    rt_openacc_begin();
#pragma acc parallel loop gang vector collapse(2) deviceptr(from, to)
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++)
            to[n * to_stride + i] = from[n * from_stride + i];
}

const alya_vectors_t alya_vectors_openacc = {.copy = copy};
