/*
 * baseline.cuh - shared by rungs B and P: a thread takes an element through the routine of
 * ../baseline.h. The rung first defines where the thread's values are (work_t, AT).
 */
#ifndef ALYA_BASELINE_CUH
#define ALYA_BASELINE_CUH

#define LANES /* a thread is one lane */
#define FN    static __device__ __forceinline__
#include "../element/baseline.h"

/* Gathers x and u of the element's nodes, and adds the element's r to them. */
FN void gather_assemble_scatter(work_t w, const int32_t *node, const double *x, const double *u,
                                double *r, const alya_element_type_t &type,
                                const alya_physics_t &physics)
{
    for (int a = 0; a < type.pnode; a++)
        for (int i = 0; i < type.ndime; i++) {
            AT(w, EL_COORD + 3 * a + i, 0) = x[3 * static_cast<int64_t>(node[a]) + i];
            AT(w, EL_VELOC + 3 * a + i, 0) = u[3 * static_cast<int64_t>(node[a]) + i];
        }
    element(w, &type, &physics);
    for (int a = 0; a < type.pnode; a++)
        for (int i = 0; i < type.ndime; i++)
            atomicAdd(r + 3 * static_cast<int64_t>(node[a]) + i, AT(w, EL_RHS + 3 * a + i, 0));
}

#endif
