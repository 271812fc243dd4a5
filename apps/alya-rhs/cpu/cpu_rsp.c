/*
 * cpu_rsp.c - restructured, specialised and privatised.
 *
 * Idea: the quadrature of cpu-RS with every intermediate a scalar of the loop over 16 elements. The
 * loop is one vector loop over the whole element routine, so an intermediate is a vector register,
 * or at worst a spilled one, and not an array. Advantage: only the gathered nodes and the results
 * go through memory. Price: the routine must be one piece of straight-line code whose counts, form
 * and model the compiler knows: twelve copies of it.
 */
#include "config.h"
#include "arithmetic.h"

ALYA_INLINE void element(alya_nodes_in_t x, alya_nodes_in_t u, alya_nodes_out_t r, int lane,
                         const alya_physics_t *physics, alya_form_t form, alya_model_t model)
{
    alya_simplex_t t = alya_simplex(x, u, lane);
    double inverse = 1 / t.det;
    alya_vec_t g1 = alya_times(inverse, t.c1), g2 = alya_times(inverse, t.c2);
    alya_vec_t g3 = alya_times(inverse, t.c3), g0 = alya_minus_sum(g1, g2, g3);
    alya_mat_t J = alya_gradient(&t, g1, g2, g3);
    alya_mat_t S = alya_sum(J, alya_transposed(J)), A = alya_convective(form, J, S);

    double viscosity = physics->mu;
    if (model == ALYA_GIVEN_WIDTH) {
        viscosity +=
            physics->rho * physics->vreman * physics->filter * physics->filter * alya_vreman(J);
    } else if (model == ALYA_OWN_WIDTH) {
        double volume = t.det * (1.0 / 6); /* V^(2/3) = V V^(-1/3) */
        viscosity += physics->rho * physics->vreman * volume * alya_rcbrt(volume) * alya_vreman(J);
    }

    const double near = ALYA_GAUSS_NEAR, far = ALYA_GAUSS_FAR;
    double weight = t.det * (1.0 / 24);
    alya_vec_t g[4] = {g0, g1, g2, g3}, v[4] = {t.u0, t.u1, t.u2, t.u3};
    alya_vec_t sum[4] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
        alya_vec_t uq = {0, 0, 0};
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++)
            uq = alya_add(uq, alya_times(a == q ? near : far, v[a]));
        alya_vec_t au = alya_apply(A, uq), source;
        source.x = weight * (physics->rho * (physics->force[0] - au.x));
        source.y = weight * (physics->rho * (physics->force[1] - au.y));
        source.z = weight * (physics->rho * (physics->force[2] - au.z));
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) {
            alya_vec_t stress = alya_times(weight * viscosity, alya_apply(S, g[a]));
            sum[a] = alya_add(sum[a], alya_times(a == q ? near : far, source));
            sum[a] = alya_sub(sum[a], stress);
        }
    }
#pragma GCC unroll 4
    for (int a = 0; a < 4; a++)
        alya_store(r, a, lane, sum[a]);
}

ALYA_INLINE void chunk(const alya_job_t *job, int64_t first, int64_t end, alya_form_t form,
                       alya_model_t model)
{
    alya_groups(job, first, end, false, element, form, model);
}

ALYA_DEFINE_ASSEMBLE(3)

const alya_kernels_t alya_cpu_rsp = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = &alya_chunk,
             .n_parameters = 1},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
