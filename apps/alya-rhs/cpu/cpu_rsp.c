/*
 * cpu_rsp.c - restructured, specialised and privatised.
 *
 * Idea: the quadrature of cpu-RS with every intermediate a scalar of the loop over 16 elements. The
 * loop is one vector loop over the whole element routine, so an intermediate is a vector register,
 * or at worst a spilled one, and not an array. Advantage: memory sees the gathered nodes and the
 * results, nothing else. Price: the routine must be one piece of straight-line code, with counts,
 * form and model known to the compiler: twelve copies of it.
 */
#include "config.h"
#include "lanes.h"

ALYA_INLINE void element(alya_nodes_in_t x, alya_nodes_in_t u, alya_nodes_out_t r, int lane,
                         const alya_physics_t *physics, alya_form_t form, alya_model_t model)
{
    alya_vec_t x0 = alya_load(x, 0, lane), u0 = alya_load(u, 0, lane);
    alya_vec_t u1 = alya_load(u, 1, lane), u2 = alya_load(u, 2, lane), u3 = alya_load(u, 3, lane);
    alya_vec_t e1 = alya_sub(alya_load(x, 1, lane), x0), e2 = alya_sub(alya_load(x, 2, lane), x0);
    alya_vec_t e3 = alya_sub(alya_load(x, 3, lane), x0);
    alya_vec_t c1 = alya_cross(e2, e3), c2 = alya_cross(e3, e1), c3 = alya_cross(e1, e2);
    double det = alya_dot(e1, c1), inverse = 1 / det;
    alya_vec_t g1 = alya_times(inverse, c1), g2 = alya_times(inverse, c2);
    alya_vec_t g3 = alya_times(inverse, c3);
    alya_vec_t g0 = {-(g1.x + g2.x + g3.x), -(g1.y + g2.y + g3.y), -(g1.z + g2.z + g3.z)};

    alya_vec_t w1 = alya_sub(u1, u0), w2 = alya_sub(u2, u0), w3 = alya_sub(u3, u0);
    alya_mat_t W = {{w1.x, w2.x, w3.x}, {w1.y, w2.y, w3.y}, {w1.z, w2.z, w3.z}};
    alya_mat_t Gt = {{g1.x, g2.x, g3.x}, {g1.y, g2.y, g3.y}, {g1.z, g2.z, g3.z}};
    alya_mat_t J = {alya_apply(Gt, W.x), alya_apply(Gt, W.y), alya_apply(Gt, W.z)};
    alya_mat_t S = alya_sum(J, alya_transposed(J)), A = alya_convective(form, J, S);

    double viscosity = physics->mu;
    if (model == ALYA_GIVEN_WIDTH) {
        viscosity +=
            physics->rho * physics->vreman * physics->filter * physics->filter * alya_vreman(J);
    } else if (model == ALYA_OWN_WIDTH) {
        double volume = det * (1.0 / 6); /* V^(2/3) = V V^(-1/3) */
        viscosity += physics->rho * physics->vreman * volume * alya_rcbrt(volume) * alya_vreman(J);
    }

    const double near = ALYA_GAUSS_NEAR, far = ALYA_GAUSS_FAR;
    double weight = det * (1.0 / 24);
    alya_vec_t g[4] = {g0, g1, g2, g3}, v[4] = {u0, u1, u2, u3};
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
    for (int a = 0; a < 4; a++) {
        r[a][0][lane] = sum[a].x;
        r[a][1][lane] = sum[a].y;
        r[a][2][lane] = sum[a].z;
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
        alya_scatter(node, count, (alya_nodes_in_t)r, job->r, 3);
    }
}

ALYA_DEFINE_VARIANTS

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_job_t job = alya_job(view, physics, u, r);
    alya_run(view, &job, 3, NULL, chunk_of[physics->form][alya_model_of(physics)]);
}

const alya_kernels_t alya_cpu_rsp = {.assemble = assemble,
                                     .packed = 0,
                                     .r_stride = 3,
                                     .reproducible = true,
                                     .tolerance = ALYA_TOLERANCE};
