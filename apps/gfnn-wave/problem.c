/*
 * problem.c - a rank's part of the box: which material where, the coefficients of a time step, the
 * state that time begins with, and, if a network preconditions, its coefficients at every node.
 *
 * Nothing here depends on the number of ranks, and no rank ever holds the whole box (a voxel file
 * aside, which input/voxel.c reads). The judge's answer to all this is oracle.c's.
 */
#include "config.h"
#include "solver.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* --- a time step --- */

/*
 * h of a frequency w is (a / w + b w) / 2; it is the same h at both frequencies with
 *
 *     a = 2 h w1 w2 / (w1 + w2),    b = 2 h / (w1 + w2)
 */
gfnn_step_t gfnn_step(const gfnn_config_t *cfg)
{
    const double dt = cfg->dt, ds = cfg->ds, w1 = 2 * pi * cfg->f1, w2 = 2 * pi * cfg->f2;
    gfnn_step_t s;
    s.rayleigh_a = 2 * cfg->damping * w1 * w2 / (w1 + w2);
    s.rayleigh_b = 2 * cfg->damping / (w1 + w2);
    s.c0 = (4 / (dt * dt) + 2 * s.rayleigh_a / dt) * cfg->rho * ds * ds * ds;
    s.k = (1 + 2 * s.rayleigh_b / dt) * ds * cfg->rho / s.c0;
    s.A = (gfnn_form_t){1, s.k * cfg->vp * cfg->vp, s.k};
    s.M = (gfnn_form_t){1, 0, 0};
    s.K = (gfnn_form_t){0, cfg->vp * cfg->vp / (ds * ds), 1 / (ds * ds)};
    return s;
}

/* A Ricker wavelet of 1 N, at its peak after one period. A period has four steps at least (app.c),
 * so the first step's force is 0.001 to 0.04 of the peak: a soft start, and a right-hand side. */
gfnn_force_t gfnn_source(const gfnn_config_t *cfg, const gfnn_box_t *box, const gfnn_step_t *step,
                         double time)
{
    static const double place[3] = {0.6, 0.6, 0.55};
    gfnn_force_t force = {-1, 0};
    int64_t own[3];
    if (cfg->source != GFNN_POINT)
        return force;
    for (int d = 0; d < 3; d++) {
        own[d] = (int64_t)(place[d] * (double)box->E[d] + 0.5) - box->first[d];
        if (own[d] < 0 || own[d] >= box->n[d])
            return force;
    }
    const double phase = pi * (cfg->frequency * time - 1), square = phase * phase;
    force.at = 2 * box->fine.plane + gfnn_at(&box->fine, own[0], own[1], own[2]);
    force.value = (1 - 2 * square) * exp(-square) / step->c0;
    return force;
}

/* --- the state that time begins with --- */

/* Square of the frequency that elements of this Vs have for a plane S wave along x of wave number
 * kappa (rad/m), polarised in y: what the nodes' cosines leave of K over what they leave of M. */
static double shear_frequency_square(double vs, double vp, double ds, double kappa)
{
    const gfnn_element_t *e = gfnn_element();
    double stiffness = 0, mass = 0;
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            const double wave = cos(kappa * ds * ((a & 1) - (b & 1)));
            const double KL = e->KL[3 * a + 1][3 * b + 1], KM = e->KM[3 * a + 1][3 * b + 1];
            stiffness += wave * (vp * vp * KL + vs * vs * (KM - 2 * KL));
            mass += wave * e->M[3 * a + 1][3 * b + 1];
        }
    return stiffness / mass / (ds * ds);
}

/* As many whole waves as fit, of about 20 elements each: u = cos(kappa x - w t) in y, at t = 0.
 * With v and a of the elements' own frequency it is a solution of the discrete equations (h = 0).
 */
static void plane_wave(const gfnn_config_t *cfg, const gfnn_box_t *box, gfnn_state_t *s)
{
    const gfnn_grid_t *g = &box->fine;
    const double waves = fmax(1, round((double)box->E[0] / 20));
    const double kappa = 2 * pi * waves / ((double)box->E[0] * cfg->ds);
    const double square = shear_frequency_square(cfg->vs, cfg->vp, cfg->ds, kappa);
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++)
            for (int64_t i = 0; i < g->n[0]; i++) {
                const int64_t at = g->plane + gfnn_at(g, i, j, k);
                const double phase = kappa * cfg->ds * (double)(box->first[0] + i);
                s->u[at] = cos(phase);
                s->v[at] = sqrt(square) * sin(phase);
                s->a[at] = -square * cos(phase);
            }
}

static double *zeros(size_t n)
{
    double *x = RT_NEW(double, n, RT_HOST);
    rt_fill(x, RT_HOST, 0, n * sizeof *x);
    return x;
}

static gfnn_state_t start_new(const gfnn_config_t *cfg, const gfnn_box_t *box)
{
    const size_t values = 3 * (size_t)box->fine.plane;
    gfnn_state_t s = {zeros(values), zeros(values), zeros(values)};
    if (cfg->source == GFNN_PLANE)
        plane_wave(cfg, box, &s);
    return s;
}

/* --- the network --- */

/* In the words of the first rank that cannot read it. */
static gfnn_weights_t *read_weights(const char *path)
{
    char why[512] = "";
    gfnn_weights_t *weights = gfnn_weights_read(path, why, sizeof why);
    double rank = weights ? rt_comm_size() : rt_comm_rank();
    rt_comm_min(&rank, 1);
    if (rank == rt_comm_size())
        return weights;
    rt_comm_bcast(why, sizeof why, (int)rank);
    rt_refuse(RT_USAGE, "--weights %s", why);
}

static void make_coefficients(gfnn_problem_t *p)
{
    const gfnn_config_t *cfg = p->cfg;
    const size_t plane = (size_t)p->box.bare.plane;
    char path[PATH_MAX];
    gfnn_weights_path(cfg, path, sizeof path);
    p->weights = read_weights(path);
    gfnn_weights_match(p->weights, cfg, &p->model->materials, path);
    const size_t coefs = (size_t)p->weights->coefs;
    p->coef = RT_NEW(float, coefs *plane, RT_HOST);
    rt_fill(p->coef, RT_HOST, 0, coefs * plane * sizeof(float));
    if (cfg->coef == GFNN_COEF_GALERKIN)
        gfnn_fit(p->weights, &p->step.A, &p->box, p->model, p->coef);
    else if (cfg->coef != GFNN_COEF_CONST)
        gfnn_infer(p->weights, cfg->coef, &p->box, p->model, p->coef);
    else {
        float c[GFNN_MAX_COEF];
        gfnn_fit_uniform(p->weights, &p->step.A, 80, c);
        for (size_t i = 0; i < coefs * plane; i++)
            p->coef[i] = c[i / plane];
    }
}

/* --- digest --- */

static void add_floats(rt_digest_t *digest, const char *name, const float *x, int64_t n)
{
    rt_items_t items = {0, {0}};
    for (int64_t i = 0; i < n; i++) {
        const uint64_t item[] = {(uint64_t)i, rt_items_word(x[i])};
        rt_items_add(&items, item, 2);
    }
    if (rt_comm_rank() != 0) /* every rank has them all */
        items = (rt_items_t){0, {0}};
    rt_digest_items(digest, name, &items);
}

static void digest_network(const gfnn_config_t *cfg, const gfnn_weights_t *w, rt_digest_t *digest)
{
    const gfnn_mlp_t *mlp[] = {&w->reg, &w->cls};
    add_floats(digest, "kernels", w->K, (int64_t)w->kernels * 9 * GFNN_STENCIL);
    rt_digest_int(digest, "coefficients", cfg->coef);
    for (int m = 0; m < 2; m++)
        for (int l = 0; l < mlp[m]->layers; l++) {
            const int64_t to = mlp[m]->width[l + 1];
            add_floats(digest, "weights", mlp[m]->W[l], to * mlp[m]->width[l]);
            add_floats(digest, "biases", mlp[m]->b[l], to);
        }
}

static void digest_materials(const gfnn_materials_t *materials, rt_digest_t *digest)
{
    rt_digest_int(digest, "materials", materials->ids);
    for (int i = 0; i < materials->ids; i++)
        rt_digest_real(digest, "vs", materials->vs[i]);
}

/* Materials by element, the medium, the source, and the network as it was read. What a plane wave
 * begins with is made of cosines, and the coefficients of sums: they follow from these. */
void gfnn_digest(const void *problem, rt_digest_t *digest)
{
    const gfnn_problem_t *p = problem;
    const gfnn_config_t *cfg = p->cfg;
    const gfnn_box_t *box = &p->box;
    const double medium[] = {cfg->ds,      cfg->dt, cfg->vp, cfg->rho,
                             cfg->damping, cfg->f1, cfg->f2, cfg->frequency};
    rt_items_t elements = {0, {0}};
    for (size_t i = 0; i < sizeof medium / sizeof *medium; i++)
        rt_digest_real(digest, "medium", medium[i]);
    rt_digest_int(digest, "faces", cfg->faces);
    rt_digest_int(digest, "source", cfg->source);
    rt_digest_int(digest, "steps", cfg->steps);
    digest_materials(&p->model->materials, digest);
#pragma omp parallel
    {
        rt_items_t mine = {0, {0}};
#pragma omp for schedule(static)
        for (int64_t k = 0; k < box->n[2]; k++)
            for (int64_t j = 0; j < box->n[1]; j++)
                for (int64_t i = 0; i < box->n[0]; i++) {
                    const uint8_t id = p->model->id[gfnn_at(&box->wide, i, j, k)];
                    const uint64_t item[] = {(uint64_t)(box->first[0] + i),
                                             (uint64_t)(box->first[1] + j),
                                             (uint64_t)(box->first[2] + k), id};
                    rt_items_add(&mine, item, 4);
                }
#pragma omp critical
        rt_items_merge(&elements, &mine);
    }
    rt_digest_items(digest, "elements", &elements);
    if (p->weights)
        digest_network(cfg, p->weights, digest);
}

/* --- all of it --- */

static double since(double *begin)
{
    const double now = rt_clock();
    double seconds = now - *begin;
    *begin = now;
    rt_comm_max(&seconds, 1);
    return seconds;
}

static void print_set_up(const gfnn_problem_t *p)
{
    if (rt_comm_rank() != 0 || p->run->opt.quiet)
        return;
    printf("model         %s\nset-up        model %.2f s", p->model->text, p->seconds_model);
    if (p->coef)
        printf(", %d coefficients of every node %.2f s", p->weights->coefs, p->seconds_coef);
    printf("\n");
    fflush(stdout);
}

void *gfnn_problem_new(const rt_run_t *run)
{
    const gfnn_config_t *cfg = run->config;
    gfnn_problem_t *p = RT_NEW(gfnn_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = run;
    p->cfg = cfg;
    double begin = rt_clock();
    p->box = gfnn_box(cfg, rt_comm_rank());
    p->step = gfnn_step(cfg);
    p->model = gfnn_model_new(cfg, &p->box);
    p->start = start_new(cfg, &p->box);
    p->halo_fine = gfnn_halo_new(&p->box, &p->box.fine, 1, run->opt.transport, RT_CPU, RT_HOST);
    p->seconds_model = since(&begin);
    if (gfnn_has_network(cfg))
        make_coefficients(p);
    p->seconds_coef = since(&begin);
    print_set_up(p);
    return p;
}

void gfnn_problem_destroy(void *problem)
{
    gfnn_problem_t *p = problem;
    gfnn_oracle_destroy(p->oracle);
    rt_halo_destroy(p->halo_fine);
    gfnn_weights_free(p->weights);
    RT_FREE(p->coef, RT_HOST);
    RT_FREE(p->start.u, RT_HOST);
    RT_FREE(p->start.v, RT_HOST);
    RT_FREE(p->start.a, RT_HOST);
    gfnn_model_destroy(p->model);
    RT_FREE(p, RT_HOST);
}
