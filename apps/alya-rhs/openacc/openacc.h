/*
 * openacc.h - shared by the OpenACC rungs of alya-rhs. Files that include it are compiled as
 * OpenACC.
 */
#ifndef ALYA_OPENACC_H
#define ALYA_OPENACC_H

#include "machine/openacc.h"
#include "../kernel.h"

/* Sets r [nodes][3] = 0. Loops that follow only add. */
static inline void alya_acc_clear(const alya_view_t *view, double *r)
{
    const int64_t values = 3 * view->nodes;
    rt_openacc_begin();
#pragma acc parallel loop gang vector deviceptr(r)
    for (int64_t k = 0; k < values; k++)
        r[k] = 0;
}

#endif
