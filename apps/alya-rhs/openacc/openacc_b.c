/*
 * openacc_b.c - the paper's baseline with OpenACC: the text of baseline.h once more.
 *
 * Idea: the lanes of the vectorised CPU code become the iterations of a parallel loop, and every
 * intermediate stays an array [value][lane] in device memory. Advantage: one source for CPUs and
 * GPUs, which is what the paper starts from. Price: 415 values per element go through memory.
 */
#include "config.h"
#include "openacc.h"

/* Value v of all lanes of the pass, then value v + 1. */
typedef struct {
    double *first; /* of this lane */
    int64_t stride;
} work_t;
#define AT(w, value, lane) (w).first[(value) * (w).stride]
#define LANES              /* an iteration is one lane */
#define FN                 _Pragma("acc routine seq") static inline
#include "../element/baseline.h"

static void assemble(const alya_view_t *view, const alya_physics_t *given, const double *u,
                     double *r)
{
    const alya_physics_t physics = *given;
    alya_element_type_t type;
    alya_baseline_tetrahedron(&type);
    const int64_t elements = view->elements, pass = view->pass;
    const int32_t *connectivity = view->connectivity;
    const double *x = view->x;
    double *workspace = view->data;
    alya_acc_clear(view, r);
    for (int64_t first = 0; first < elements; first += pass) {
        const int64_t count = first + pass < elements ? pass : elements - first;
#pragma acc parallel loop gang vector firstprivate(type, physics) \
    deviceptr(connectivity, x, u, r, workspace)
        for (int64_t t = 0; t < count; t++) {
            const work_t w = {workspace + t, pass};
            const int32_t *node = connectivity + 4 * (first + t);
            for (int a = 0; a < type.pnode; a++)
                for (int i = 0; i < type.ndime; i++) {
                    AT(w, EL_COORD + 3 * a + i, 0) = x[3 * (int64_t)node[a] + i];
                    AT(w, EL_VELOC + 3 * a + i, 0) = u[3 * (int64_t)node[a] + i];
                }
            element(w, &type, &physics);
            for (int a = 0; a < type.pnode; a++)
                for (int i = 0; i < type.ndime; i++) {
                    const double value = AT(w, EL_RHS + 3 * a + i, 0);
#pragma acc atomic update
                    r[3 * (int64_t)node[a] + i] += value;
                }
        }
    }
}

static void set_up(alya_view_t *view)
{
    view->data = RT_NEW(double, (size_t)(EL_VALUES * view->pass), rt_openacc_space());
}

static void tear_down(alya_view_t *view)
{
    RT_FREE(view->data, rt_openacc_space());
    view->data = NULL;
}

static void memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    bytes[rt_openacc_space()] += sizeof(double) * EL_VALUES * (double)counts->pass;
}

const alya_kernels_t alya_openacc_b = {
    .rung = {.precision = "FP64", .parameters = &alya_pass_only, .n_parameters = 1},
    .assemble = assemble,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = memory,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
