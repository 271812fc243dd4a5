/*
 * problem.c - what a rank solves: its part of the box, the coefficients of a time step, the initial
 * state, and, once a network is applied on the host, its coefficients at every node.
 *
 * Nothing here depends on the number of ranks, and no rank ever holds the whole box (except for a
 * voxel file, which input/voxel.c reads). The judge's answer to all this is judge/oracle.c.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gfnn.h"
#include "judge/judge.h"

/* --- the initial state --- */

/* Zeroes the nodes that are more than `reach` from the source. */
static void keep_near_source(const gfnn_box_t *box, int64_t reach, double *x)
{
    const gfnn_grid_t *g = &box->fine;
    int64_t source[3];
    gfnn_source_node(box, source);
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++)
                    if (gfnn_distance(box, i, j, k, source) > reach)
                        x[c * g->plane + gfnn_at(g, i, j, k)] = 0;
}

/* Returns the base of the velocities that draws start with: 1029 random values around the source,
 * more than a rung could keep answers for. A solve with them must be as hard as one without, to the
 * iteration, and is where they are near the source (in the whole box two kernels need 14 iterations
 * for 12) and their share of the first right-hand side is SHARE of the source's largest; of later
 * ones it is three times that, because `a` follows v. M makes sqrt(1/8) of such a v, as a row of it
 * has 1/6, 2/3, 1/6 in each direction, and a draw has a standard deviation of sqrt(1/3). */
static double *noise_new(const gfnn_problem_t *p)
{
    enum { REACH = 3 };
    static const double SHARE = 0.3;
    const gfnn_config_t *config = p->config;
    const gfnn_box_t *box = &p->box;
    const gfnn_grid_t *g = &box->fine;
    const size_t values = 3 * (size_t)g->plane;
    double force = 0, *noise = gfnn_judge_vector(g);
    for (int64_t i = 1; i <= config->steps; i++) {
        const double time = (double)i * config->dt;
        force = fmax(force, fabs(gfnn_source(config, box, &p->step, time).value));
    }
    rt_comm_max(&force, 1);
    const double v = force / p->step.unit / (4 / config->dt + p->step.rayleigh_a);
    gfnn_judge_draw(box, g, (uint64_t)p->run->opt.seed + GFNN_SEED_NOISE, 1, 0, noise);
    keep_near_source(box, REACH, noise);
    const double factor = SHARE * v * sqrt(8 * 3 / gfnn_judge_dot(g, noise, noise));
    for (size_t i = 0; i < values; i++)
        noise[i] *= factor;
    return noise;
}

/* --- the network --- */

const float *gfnn_coefficients(gfnn_problem_t *p)
{
    const size_t values = (size_t)p->weights->coefs * (size_t)p->box.bare.plane;
    if (p->coef) {
        rt_setup_charge(p->seconds_coef);
        return p->coef;
    }
    const double begin = rt_clock();
    p->coef = RT_NEW(float, values, RT_HOST);
    rt_fill(p->coef, RT_HOST, 0, values * sizeof *p->coef);
    gfnn_infer(p->weights, p->config->coef, &p->box, p->model, p->coef);
    p->seconds_coef = rt_clock() - begin;
    return p->coef;
}

/* --- digest --- */

static void digest_materials(const gfnn_materials_t *materials, rt_digest_t *digest)
{
    rt_digest_int(digest, "materials", materials->ids);
    for (int i = 0; i < materials->ids; i++)
        rt_digest_real(digest, "vs", materials->vs[i]);
}

/* Adds the materials by element, the medium, the source, and the network's whole file, from which the
 * coefficients follow. */
void gfnn_digest(const void *problem, rt_digest_t *digest)
{
    const gfnn_problem_t *p = problem;
    const gfnn_config_t *config = p->config;
    const gfnn_box_t *box = &p->box;
    const double medium[] = {config->ds,      config->dt, GFNN_VP, GFNN_RHO,
                             config->damping, GFNN_F1,    GFNN_F2, config->frequency};
    rt_items_t elements = {0, {0}};
    for (size_t i = 0; i < sizeof medium / sizeof *medium; i++)
        rt_digest_real(digest, "medium", medium[i]);
    rt_digest_int(digest, "faces", config->faces);
    rt_digest_int(digest, "source", 0); /* there was another: results of it have 1 */
    rt_digest_int(digest, "steps", config->steps);
    digest_materials(&p->model->materials, digest);
#pragma omp parallel for schedule(static) reduction(rt_items : elements)
    for (int64_t k = 0; k < box->n[2]; k++)
        for (int64_t j = 0; j < box->n[1]; j++)
            for (int64_t i = 0; i < box->n[0]; i++) {
                const uint8_t id = p->model->id[gfnn_at(&box->wide, i, j, k)];
                const uint64_t item[] = {(uint64_t)(box->first[0] + i),
                                         (uint64_t)(box->first[1] + j),
                                         (uint64_t)(box->first[2] + k), id};
                rt_items_add(&elements, item, 4);
            }
    rt_digest_items(digest, "elements", &elements);
    if (p->weights) {
        rt_digest_int(digest, "coefficients", 2 + config->coef);
        rt_digest_text(digest, "network", p->weights->digest);
    }
}

/* --- all of it --- */

void *gfnn_problem_new(const rt_run_t *run, void *input)
{
    const gfnn_input_t *made = input;
    const gfnn_config_t *config = run->config;
    gfnn_problem_t *p = RT_NEW(gfnn_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = run;
    p->config = config;
    p->box = gfnn_box(config, rt_comm_rank());
    p->step = gfnn_step(config);
    p->model = made->model;
    p->weights = made->weights;
    p->noise = noise_new(p);
    p->halo_fine = gfnn_halo_new(&p->box, &p->box.fine, 1, "staged", RT_CPU, RT_HOST);
    p->seconds_model = made->seconds;
    if (rt_comm_rank() == 0 && !run->opt.quiet)
        printf("model         %s\nset-up        model %.2f s\n", p->model->text.text,
               p->seconds_model);
    fflush(stdout);
    return p;
}

void gfnn_problem_destroy(void *problem)
{
    gfnn_problem_t *p = problem;
    gfnn_oracle_destroy(p->oracle);
    rt_halo_destroy(p->halo_fine);
    RT_FREE_ALL(RT_HOST, p->coef, p->noise, p);
}

/* --- why a rung cannot run a problem --- */

const char *gfnn_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why)
{
    const gfnn_kernels_t *kernels = (const gfnn_kernels_t *)self;
    const gfnn_config_t *asked = config;
    const bool solve = kernels->ladder == GFNN_LADDER_SOLVE;
    if (!gfnn_has_network(asked))
        return solve ? NULL : "it applies a network, and --precond has none; use gf8 or gfm";
    const gfnn_predictor_t *predictor = kernels->predictor[gfnn_precision_of(kernels, asked)];
    if (!predictor)
        return rt_text(why, "it has no --precision %s",
                       asked->precision == GFNN_FP16 ? "fp16" : "fp32");
    if (asked->reach != GFNN_ND && predictor->only_usual)
        return rt_text(why, "with --reach %lld %s%s", (long long)asked->reach,
                       predictor->only_usual,
                       solve && asked->precision == GFNN_FP16 ? "; use --precision fp32" : "");
    return NULL;
}
