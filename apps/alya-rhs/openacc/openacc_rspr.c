/*
 * openacc_rspr.c - the paper's last step with OpenACC.
 *
 * Idea: RSPR in plain C. All sizes are known, intermediates are private to an iteration, and each
 * r_a is added to memory as soon as it is known. Advantage: one source for CPUs and GPUs, which is
 * the paper's point. Price: the 12 atomic additions per element, which are a GPU's limit here, cost
 * a CPU too; the compiler decides what stays in registers.
 */
#include "config.h"
#include "openacc.h"

#define FN _Pragma("acc routine seq") static inline
typedef struct {
    double *r;
    const int32_t *node;
} sums_t;
FN void add(sums_t sums, int a, const double r[3])
{
    for (int i = 0; i < 3; i++) {
#pragma acc atomic update
        sums.r[3 * (int64_t)sums.node[a] + i] += r[i];
    }
}
#include "../element/quadrature.h"

static void assemble(const alya_view_t *view, const alya_physics_t *given, const double *u,
                     double *r)
{
    const alya_physics_t physics = *given;
    const int64_t elements = view->elements;
    const int32_t *connectivity = view->connectivity;
    const double *x = view->x;
    alya_acc_clear(view, r);
#pragma acc parallel loop gang vector firstprivate(physics) deviceptr(connectivity, x, u, r)
    for (int64_t e = 0; e < elements; e++) {
        const int32_t *node = connectivity + 4 * e;
        double xe[4][3], ue[4][3];
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                xe[a][i] = x[3 * (int64_t)node[a] + i];
                ue[a][i] = u[3 * (int64_t)node[a] + i];
            }
        element(xe, ue, &physics, physics.form, (sums_t){r, node});
    }
}

const alya_kernels_t alya_openacc_rspr = {
    .rung = {.precision = "FP64"},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
