/*
 * cpu_rs.c - restructured and specialised.
 *
 * Idea: the counts (4 nodes, 4 Gauss points) and the properties are constants, gradients are
 * computed once per element, and each Gauss point adds to r directly: no element matrix.
 * Intermediates are still arrays [value][16] in a workspace. Advantage: an eighth of the baseline's
 * operations, and unrolled loops. Price: no other element or property; and each statement still
 * loads its operands from memory and stores its result.
 */
#include "config.h"
#include "arithmetic.h"

typedef double *work_t; /* [VALUES][16] */
#define W(value) w[(value)*ALYA_VECTOR_DIM + lane]
#define LANES    ALYA_LANES
#define UNROLL   _Pragma("GCC unroll 4")
#define FN       static __attribute__((noinline))
#include "../element/restructured.h"

ALYA_INLINE void viscosity(double *w, const alya_physics_t *physics, alya_model_t model)
{
    ALYA_LANES
    {
        const double volume = W(DET) * (1.0 / 6), norm2 = W(NORM);
        const double width2 = model == ALYA_GIVEN_WIDTH ? physics->filter * physics->filter
                                                        : volume * alya_rcbrt(volume);
        const double ratio = W(MINORS) / (norm2 > 0 ? norm2 : 1); /* 0 / 1 */
        const double eddy = model == ALYA_NO_MODEL ? 0 : physics->vreman * width2 * sqrt(ratio);
        W(MU) = physics->mu + physics->rho * eddy;
    }
}

ALYA_INLINE void chunk(const alya_job_t *job, int64_t first, int64_t end, alya_form_t form,
                       alya_model_t model)
{
    double w[VALUES * ALYA_VECTOR_DIM] __attribute__((aligned(64)));
    for (int64_t p = first; p < end; p += ALYA_VECTOR_DIM) {
        const int32_t *node[ALYA_VECTOR_DIM];
        int count = alya_group(job, p, end, node);
        alya_gather(node, job->x, job->u, 3, (alya_nodes_out_t)(w + X * ALYA_VECTOR_DIM),
                    (alya_nodes_out_t)(w + U * ALYA_VECTOR_DIM));
        geometry(w);
        gradient(w);
        viscosity(w, &job->physics, model);
        points(w, form);
        result(w, &job->physics);
        alya_scatter(node, count, (alya_nodes_in_t)(w + RESULT * ALYA_VECTOR_DIM), job->r, 3);
    }
}

ALYA_DEFINE_ASSEMBLE(3)

const alya_kernels_t alya_cpu_rs = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = &alya_chunk,
             .n_parameters = 1},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
