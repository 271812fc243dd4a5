/*
 * cpu_closed.c - the integrals in closed form.
 *
 * Idea: on linear tetrahedra all gradients are constant and int N_a N_b = V (1 + delta_ab) / 20, so
 * the four Gauss points fold into r_a = (V/4) rho f - (rho V/20) A (u_a + s) - V mu_t (J + J^T)
 * g_a. And nothing is divided until the end: with c_k = det g_k and K = det J the volume cancels
 * from the convective term, and the stress needs one factor mu_t / (6 det). Advantage: a third of
 * the operations of the quadrature, one division, one square root, one cube root. Price: holds for
 * this element, constant properties and these terms only.
 */
#include "config.h"
#include "lanes.h"

enum { R_STRIDE = 3 };

ALYA_INLINE void element(alya_nodes_in_t x, alya_nodes_in_t u, alya_nodes_out_t r, int lane,
                         const alya_physics_t *physics, alya_form_t form, alya_model_t model)
{
    alya_vec_t x0 = alya_load(x, 0, lane), u0 = alya_load(u, 0, lane);
    alya_vec_t u1 = alya_load(u, 1, lane), u2 = alya_load(u, 2, lane), u3 = alya_load(u, 3, lane);
    alya_vec_t e1 = alya_sub(alya_load(x, 1, lane), x0), e2 = alya_sub(alya_load(x, 2, lane), x0);
    alya_vec_t e3 = alya_sub(alya_load(x, 3, lane), x0);
    alya_vec_t c1 = alya_cross(e2, e3), c2 = alya_cross(e3, e1), c3 = alya_cross(e1, e2);
    double det = alya_dot(e1, c1);

    alya_vec_t w1 = alya_sub(u1, u0), w2 = alya_sub(u2, u0), w3 = alya_sub(u3, u0);
    alya_mat_t W = {{w1.x, w2.x, w3.x}, {w1.y, w2.y, w3.y}, {w1.z, w2.z, w3.z}};
    alya_mat_t Ct = {{c1.x, c2.x, c3.x}, {c1.y, c2.y, c3.y}, {c1.z, c2.z, c3.z}};
    alya_mat_t K = {alya_apply(Ct, W.x), alya_apply(Ct, W.y), alya_apply(Ct, W.z)};
    alya_mat_t S = alya_sum(K, alya_transposed(K));

    double viscosity = physics->mu, inverse = 1 / det;
    if (model != ALYA_NO_MODEL) {
        double scale = physics->rho * physics->vreman, nu = alya_vreman(K);
        if (model == ALYA_GIVEN_WIDTH) {
            viscosity += scale * physics->filter * physics->filter * inverse * nu;
        } else {                                      /* Delta^2 / det = (det / 6)^(2/3) / det */
            const double sixth = 0.30285343213868998; /* 6^(-2/3) */
            viscosity += scale * sixth * alya_rcbrt(det) * nu;
        }
    }
    double convection = -physics->rho / 120, stress = -viscosity * inverse / 6;
    double weight = det * (physics->rho / 24);
    alya_vec_t f = {weight * physics->force[0], weight * physics->force[1],
                    weight * physics->force[2]};
    alya_mat_t A = alya_scaled(convection, alya_convective(form, K, S));
    alya_mat_t T = alya_scaled(stress, S);
    alya_vec_t s = alya_add(alya_add(u0, u1), alya_add(u2, u3));
    alya_vec_t c0 = {-(c1.x + c2.x + c3.x), -(c1.y + c2.y + c3.y), -(c1.z + c2.z + c3.z)};
    alya_vec_t c[4] = {c0, c1, c2, c3}, v[4] = {u0, u1, u2, u3};
#pragma GCC unroll 4
    for (int a = 0; a < 4; a++) {
        alya_vec_t z = alya_add(v[a], s);
        r[a][0][lane] = f.x + alya_dot(A.x, z) + alya_dot(T.x, c[a]);
        r[a][1][lane] = f.y + alya_dot(A.y, z) + alya_dot(T.y, c[a]);
        r[a][2][lane] = f.z + alya_dot(A.z, z) + alya_dot(T.z, c[a]);
    }
}

ALYA_INLINE void chunk(const alya_job_t *job, double *w, int64_t first, int64_t end,
                       alya_form_t form, alya_model_t model)
{
    (void)w;
    const alya_physics_t physics = job->physics;
    for (int64_t p = first; p < end; p += ALYA_VECTOR_DIM) {
        const int32_t *node[ALYA_VECTOR_DIM];
        double x[4][3][ALYA_VECTOR_DIM] __attribute__((aligned(64)));
        double u[4][3][ALYA_VECTOR_DIM] __attribute__((aligned(64)));
        double r[4][3][ALYA_VECTOR_DIM] __attribute__((aligned(64)));
        int count = alya_group(job, p, end, node);
        alya_gather(node, job->x, job->u, 3, x, u);
        ALYA_LANES
        element((alya_nodes_in_t)x, (alya_nodes_in_t)u, r, lane, &physics, form, model);
        alya_scatter(node, count, (alya_nodes_in_t)r, job->r, R_STRIDE);
    }
}

ALYA_DEFINE_VARIANTS

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_job_t job = alya_job(view, physics, u, r);
    alya_run(view, &job, R_STRIDE, NULL, chunk_of[physics->form][alya_model_of(physics)]);
}

const alya_kernels_t alya_cpu_closed = {.assemble = assemble,
                                        .packed = 0,
                                        .r_stride = R_STRIDE,
                                        .reproducible = true,
                                        .tolerance = ALYA_TOLERANCE};
