/*
 * cpu_closed.c - the integrals in closed form, and rows of nodes.
 *
 * Idea: on linear tetrahedra all gradients are constant and int N_a N_b = V (1 + delta_ab) / 20, so
 * the four Gauss points fold into r_a = (V/4) rho f - (rho V/20) A (u_a + s) - V mu_t (J + J^T)
 * g_a. With c_k = det g_k and K = det J the volume cancels from the convective term, and the stress
 * needs one factor mu_t / (6 det). As u_a = u_0 + w_a, the nodes have all but A w_a in common. The
 * stress comes last, since its factor has the longest chain (cube root, square root, division)
 * before it.
 *
 * With so little arithmetic, cpu-RSP's copies to and from the nodes would take most of the time. So
 * x and u of a node are a record of 64 bytes, one cache line, and r has rows of four: both are
 * moved as vectors (lanes.h).
 *
 * Advantage: three fifths of the quadrature's operations, one division, one square root, one cube
 * root, and a third of the loads and stores of the nodes. Price: valid for this element, constant
 * properties and these terms only; a quarter of each record is padding.
 */
#include "config.h"
#include "arithmetic.h"

ALYA_INLINE void element(alya_nodes_in_t x, alya_nodes_in_t u, alya_nodes_out_t r, int lane,
                         const alya_physics_t *physics, alya_form_t form, alya_model_t model)
{
    alya_simplex_t t = alya_simplex(x, u, lane);
    alya_mat_t K = alya_gradient(&t, t.c1, t.c2, t.c3);
    alya_mat_t S = alya_sum(K, alya_transposed(K));

    double viscosity = physics->mu, inverse;
    const double scale = physics->rho * physics->vreman;
    if (model == ALYA_OWN_WIDTH) {                /* Delta^2 / det = (det / 6)^(2/3) / det */
        const double sixth = 0.30285343213868998; /* 6^(-2/3) */
        double root = alya_rcbrt(t.det);
        inverse = root * root * root;
        viscosity += scale * sixth * root * alya_vreman(K);
    } else {
        inverse = 1 / t.det;
        if (model == ALYA_GIVEN_WIDTH)
            viscosity += scale * physics->filter * physics->filter * inverse * alya_vreman(K);
    }
    double stress = viscosity * inverse * (-1.0 / 6);

    alya_mat_t A = alya_scaled(-physics->rho / 120, alya_convective(form, K, S));
    double weight = t.det * (physics->rho / 24);
    alya_vec_t f = {weight * physics->force[0], weight * physics->force[1],
                    weight * physics->force[2]};
    alya_vec_t s0 = alya_add(alya_add(alya_times(2, t.u0), t.u1), alya_add(t.u2, t.u3));
    alya_vec_t common = alya_add(f, alya_apply(A, s0)); /* s0 = u_0 + s */
    alya_vec_t S1 = alya_apply(S, t.c1), S2 = alya_apply(S, t.c2), S3 = alya_apply(S, t.c3);
    alya_vec_t r1 = alya_add(common, alya_apply(A, t.w1));
    alya_vec_t r2 = alya_add(common, alya_apply(A, t.w2));
    alya_vec_t r3 = alya_add(common, alya_apply(A, t.w3));
    alya_store(r, 0, lane, alya_add(common, alya_times(stress, alya_minus_sum(S1, S2, S3))));
    alya_store(r, 1, lane, alya_add(r1, alya_times(stress, S1)));
    alya_store(r, 2, lane, alya_add(r2, alya_times(stress, S2)));
    alya_store(r, 3, lane, alya_add(r3, alya_times(stress, S3)));
}

ALYA_INLINE void chunk(const alya_job_t *job, int64_t first, int64_t end, alya_form_t form,
                       alya_model_t model)
{
    alya_groups(job, first, end, true, element, form, model);
}

ALYA_DEFINE_ASSEMBLE(ALYA_ROW)

void alya_closed_chunk(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                       double *r, int64_t k)
{
    const alya_job_t job = alya_job(view, physics, u, r);
    const int64_t *first = view->schedule->first + k;
    chunk_of[physics->form][alya_model_of(physics)](&job, first[0], first[1]);
}

const alya_kernels_t alya_cpu_closed = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = &alya_chunk,
             .n_parameters = 1},
    .assemble = assemble,
    .packed = ALYA_RECORD,
    .r_stride = ALYA_ROW,
    .tolerance = ALYA_TOLERANCE,
};
