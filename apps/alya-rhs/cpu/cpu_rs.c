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

/* Arrays of the workspace, as in baseline.h. */
enum {
    COD = 0,             /* [a][i] position */
    VEL = COD + 12,      /* [a][i] velocity */
    EDGE = VEL + 12,     /* [k][i] */
    DET = EDGE + 9,      /* determinant */
    CAR = DET + 1,       /* [a][i] gradients */
    GVE = CAR + 12,      /* [i][j] gradient of the velocity */
    STRAIN = GVE + 9,    /* [i][j] J + J^T */
    CONVEC = STRAIN + 9, /* [i][j] A */
    NORM2 = CONVEC + 9,
    MINOR,
    VIS,                 /* mu + rho nu_t */
    GPVOL,               /* det / 24 */
    GPVEL,               /* [g][i] */
    GPSRC = GPVEL + 12,  /* [g][i] rho (f - A u) */
    STRESS = GPSRC + 12, /* [a][i] */
    RHS = STRESS + 12,   /* [a][i] */
    VALUES = RHS + 12
};
#define W(value) w[(value)*ALYA_VECTOR_DIM + lane]

/* Computes edges, determinant, and the gradients of the shape functions and of the velocity. */
static __attribute__((noinline)) void geometry(double *w)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            ALYA_LANES W(EDGE + 3 * k + i) = W(COD + 3 * (k + 1) + i) - W(COD + i);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            const int k1 = EDGE + (k + 1) % 3 * 3, k2 = EDGE + (k + 2) % 3 * 3;
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            ALYA_LANES W(CAR + 3 * (k + 1) + i) = W(k1 + i1) * W(k2 + i2) - W(k1 + i2) * W(k2 + i1);
        }
    ALYA_LANES W(DET) = W(EDGE) * W(CAR + 3) + W(EDGE + 1) * W(CAR + 4) + W(EDGE + 2) * W(CAR + 5);
    ALYA_LANES W(GPVOL) = W(DET) * (1.0 / 24);
    for (int i = 3; i < 12; i++)
        ALYA_LANES W(CAR + i) /= W(DET);
    for (int i = 0; i < 3; i++)
        ALYA_LANES W(CAR + i) = -(W(CAR + 3 + i) + W(CAR + 6 + i) + W(CAR + 9 + i));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            ALYA_LANES W(GVE + 3 * i + j) = W(VEL + i) * W(CAR + j);
            for (int a = 1; a < 4; a++)
                ALYA_LANES W(GVE + 3 * i + j) += W(VEL + 3 * a + i) * W(CAR + 3 * a + j);
        }
}

/* Computes mu + rho nu_t. */
ALYA_INLINE void viscosity(double *w, const alya_physics_t *physics, alya_model_t model)
{
    ALYA_LANES W(VIS) = physics->mu;
    if (model == ALYA_NO_MODEL)
        return;
    ALYA_LANES W(NORM2) = 0;
    ALYA_LANES W(MINOR) = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = GVE + (i + 1) % 3 * 3, i2 = GVE + (i + 2) % 3 * 3;
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            ALYA_LANES
            {
                double minor = W(i1 + j1) * W(i2 + j2) - W(i1 + j2) * W(i2 + j1);
                W(NORM2) += W(GVE + 3 * i + j) * W(GVE + 3 * i + j);
                W(MINOR) += minor * minor;
            }
        }
    ALYA_LANES
    {
        double volume = W(DET) * (1.0 / 6), norm2 = W(NORM2);
        double width2 = model == ALYA_GIVEN_WIDTH ? physics->filter * physics->filter
                                                  : volume * alya_rcbrt(volume);
        W(VIS) +=
            physics->rho * physics->vreman * width2 * sqrt(W(MINOR) / (norm2 > 0 ? norm2 : 1));
    }
}

/* Computes A of the form, J + J^T, and the stress times grad N_a. */
ALYA_INLINE void matrices(double *w, alya_form_t form)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            ALYA_LANES W(STRAIN + 3 * i + j) = W(GVE + 3 * i + j) + W(GVE + 3 * j + i);
            const int from = (form == ALYA_EMAC ? STRAIN : GVE) + 3 * i + j;
            ALYA_LANES W(CONVEC + 3 * i + j) = W(from);
        }
    if (form != ALYA_CONV)
        for (int i = 0; i < 3; i++)
            ALYA_LANES W(CONVEC + 4 * i) +=
                (form == ALYA_SKEW ? 0.5 : 1.0) * (W(GVE) + W(GVE + 4) + W(GVE + 8));
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) {
            ALYA_LANES W(STRESS + 3 * a + i) = 0;
            for (int j = 0; j < 3; j++)
                ALYA_LANES W(STRESS + 3 * a + i) +=
                    W(VIS) * W(STRAIN + 3 * i + j) * W(CAR + 3 * a + j);
        }
}

/* Adds each Gauss point to r. */
static __attribute__((noinline)) void integrate(double *w, const alya_physics_t *physics)
{
    const double rho = physics->rho;
    for (int g = 0; g < 4; g++)
        for (int i = 0; i < 3; i++) {
            ALYA_LANES W(GPVEL + 3 * g + i) = 0;
            for (int a = 0; a < 4; a++) {
                const double N = a == g ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR;
                ALYA_LANES W(GPVEL + 3 * g + i) += N * W(VEL + 3 * a + i);
            }
        }
    for (int g = 0; g < 4; g++)
        for (int i = 0; i < 3; i++) {
            const double force = rho * physics->force[i];
            ALYA_LANES W(GPSRC + 3 * g + i) = force;
            for (int j = 0; j < 3; j++)
                ALYA_LANES W(GPSRC + 3 * g + i) -=
                    rho * W(CONVEC + 3 * i + j) * W(GPVEL + 3 * g + j);
        }
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) {
            ALYA_LANES W(RHS + 3 * a + i) = 0;
            for (int g = 0; g < 4; g++) {
                const double N = a == g ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR;
                ALYA_LANES W(RHS + 3 * a + i) +=
                    W(GPVOL) * (N * W(GPSRC + 3 * g + i) - W(STRESS + 3 * a + i));
            }
        }
}

ALYA_INLINE void chunk(const alya_job_t *job, double *w, int64_t first, int64_t end,
                       alya_form_t form, alya_model_t model)
{
    for (int64_t p = first; p < end; p += ALYA_VECTOR_DIM) {
        const int32_t *node[ALYA_VECTOR_DIM];
        int count = alya_group(job, p, end, node);
        alya_gather(node, job->x, job->u, 3, (alya_nodes_out_t)(w + COD * ALYA_VECTOR_DIM),
                    (alya_nodes_out_t)(w + VEL * ALYA_VECTOR_DIM));
        geometry(w);
        viscosity(w, &job->physics, model);
        matrices(w, form);
        integrate(w, &job->physics);
        alya_scatter(node, count, (alya_nodes_in_t)(w + RHS * ALYA_VECTOR_DIM), job->r, 3);
    }
}

ALYA_DEFINE_VARIANTS

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_job_t job = alya_job(view, physics, u, r);
    alya_run(view, &job, 3, view->data, chunk_of[physics->form][alya_model_of(physics)]);
}

static void set_up(alya_view_t *view)
{
    alya_workspaces_new(view, VALUES);
}

static void memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    (void)counts;
    alya_workspaces_memory(VALUES, bytes);
}

const alya_kernels_t alya_cpu_rs = {
    .rung = {.precision = "FP64", .reproducible = true, .parameters = &alya_chunk, .n_parameters = 1},
    .assemble = assemble,
    .set_up = set_up,
    .tear_down = alya_workspaces_destroy,
    .memory = memory,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
