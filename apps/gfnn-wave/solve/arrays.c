/*
 * arrays.c - a rung's arrays. On one rank periodic ghosts are copies of own values, and no halo is
 * made (wrap).
 */
#include "config.h"
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"
#include "apps/gfnn-wave/judge/judge.h"

static void *zeroed(const gfnn_solver_t *s, size_t n, size_t size)
{
    if (s->shared)
        return s->vectors->share(&s->view_vec, n * size);
    void *x = rt_alloc(n, size, s->space);
    rt_fill(x, s->space, 0, n * size);
    return x;
}

static void zeroed_free(const gfnn_solver_t *s, void *x)
{
    if (x && s->shared)
        s->vectors->unshare(&s->view_vec, x);
    else
        rt_free(x, s->space);
}

/* Returns a vector of doubles on `fine`, or of floats on `wide`. */
static void *vector_new(const gfnn_solver_t *s, gfnn_type_t type)
{
    const gfnn_box_t *box = &s->problem->box;
    return type == GFNN_DOUBLE ? zeroed(s, 3 * (size_t)box->fine.plane, sizeof(double))
                               : zeroed(s, 3 * (size_t)box->wide.plane, sizeof(float));
}

static void *low_new(const gfnn_solver_t *s)
{
    const size_t values = 3 * (size_t)s->problem->box.wide.plane + GFNN_LOW_SKIP;
    return (uint16_t *)zeroed(s, values, sizeof(uint16_t)) + GFNN_LOW_SKIP;
}

/* Makes a halo where one is needed. Where the first has transport peer, the vectors are shared
 * instead: their ghosts are written directly. */
static rt_halo_t *halo_new(gfnn_solver_t *s, const gfnn_grid_t *grid, int width)
{
    if (rt_comm_size() == 1 || s->shared)
        return NULL;
    rt_halo_t *halo = gfnn_halo_new(&s->problem->box, grid, width, s->problem->run->opt.transport,
                                    s->rung->kind, s->space);
    const bool is_first = halo && !s->transport;
    if (is_first)
        s->transport = rt_halo_info(halo).transport;
    s->shared = is_first && s->vectors->share && strcmp(s->transport, "peer") == 0;
    if (!s->shared)
        return halo;
    rt_halo_destroy(halo);
    return NULL;
}

/* Makes the scalars of a solve. */
static void new_scalars(gfnn_solver_t *s)
{
    const rt_halo_t *const halos[] = {s->halo_fine, s->halo_wide1, s->halo_wide3, s->halo_low};
    bool on_stream = true;
    for (size_t i = 0; i < sizeof halos / sizeof *halos; i++)
        on_stream = on_stream && (!halos[i] || rt_halo_on_stream(halos[i]));
    s->on_stream = s->vectors->scalars->on_device && on_stream;
    s->scalars = s->vectors->scalars->make(on_stream);
}

/* The ladders of single kernels have an input, which draws make of f or s32, and an output. */
static void new_operator_arrays(gfnn_solver_t *s)
{
    double **const vectors[] = {&s->f, &s->x, &s->q};
    s->halo_fine = halo_new(s, &s->problem->box.fine, 1);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = vector_new(s, GFNN_DOUBLE);
}

static void new_predictor_arrays(gfnn_solver_t *s)
{
    s->s32 = vector_new(s, GFNN_SINGLE);
    s->z = vector_new(s, GFNN_SINGLE);
    if (gfnn_precision_of(s->kernels, s->problem->config) == GFNN_FP16)
        s->low = low_new(s);
    else
        s->r32 = vector_new(s, GFNN_SINGLE);
}

static void new_solve_arrays(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    const bool cheb = config->precond == GFNN_CHEB, single = gfnn_is_single(config);
    double **const fine[] = {&s->u, &s->v, &s->a, &s->x, &s->q, &s->f};
    const double *noise = s->problem->noise;
    const size_t values = 3 * (size_t)s->problem->box.fine.plane;
    s->halo_fine = halo_new(s, &s->problem->box.fine, 1);
    if (cheb || single)
        s->halo_wide1 = halo_new(s, &s->problem->box.wide, 1);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        *fine[i] = vector_new(s, GFNN_DOUBLE);
    s->noise = s->space == RT_HOST ? noise : rt_clone(noise, values, sizeof *noise, s->space);
    s->cg.x = single ? vector_new(s, GFNN_SINGLE) : s->x;
    s->cg.q = single ? vector_new(s, GFNN_SINGLE) : s->q;
    s->cg.r = vector_new(s, (gfnn_type_t)config->vectors);
    s->cg.p = vector_new(s, (gfnn_type_t)config->vectors);
    s->z = vector_new(s, GFNN_SINGLE);
    if (gfnn_needs_r32(config))
        s->r32 = vector_new(s, GFNN_SINGLE);
    if (cheb) {
        s->other = vector_new(s, GFNN_SINGLE);
        s->t32 = vector_new(s, GFNN_SINGLE);
    }
    if (gfnn_reads_r32(config) && !s->r32)
        s->r32 = s->cg.r;
    if (gfnn_reads_low(config))
        s->low = low_new(s);
    if (s->kernels->op->sums)
        s->dot = RT_NEW(double, 1, s->space);
    new_scalars(s);
}

/* Evaluates the network in the solver's space, if CUDA can. */
static const float *coefficients(const gfnn_solver_t *s)
{
    gfnn_problem_t *p = s->problem;
    const size_t values = (size_t)p->weights->coefs * (size_t)p->box.bare.plane;
#if RT_HAVE_CUDA
    if (s->space == RT_DEVICE && !rt_mem_device_is_emulated())
        return gfnn_infer_cuda(p->weights, &s->view_net);
#endif
    const float *c = gfnn_coefficients(p);
    return s->space == RT_HOST ? c : rt_clone(c, values, sizeof *c, s->space);
}

static void new_network(gfnn_solver_t *s)
{
    const gfnn_problem_t *p = s->problem;
    const gfnn_weights_t *weights = p->weights;
    s->network = (gfnn_network_t){.form = weights->form,
                                  .kernels = weights->kernels,
                                  .coefs = weights->coefs,
                                  .K = weights->K,
                                  .c = coefficients(s),
                                  .precision = gfnn_precision_of(s->kernels, p->config),
                                  .reach = weights->reach};
    const gfnn_predictor_t *predictor = s->kernels->predictor[s->network.precision];
    if (predictor->set_up)
        predictor->set_up(&s->view_net, &s->network);
    rt_halo_t **halo = s->network.precision == GFNN_FP16 ? &s->halo_low : &s->halo_wide3;
    *halo = halo_new(s, &p->box.wide, weights->reach);
}

void gfnn_input(const gfnn_solver_t *s, uint64_t draw, double *x)
{
    const gfnn_box_t *box = &s->problem->box;
    const bool fine = s->kernels->ladder == GFNN_LADDER_OPERATOR;
    const gfnn_grid_t *grid = fine ? &box->fine : &box->wide;
    const rt_type_t type = fine ? RT_F64 : RT_F32;
    gfnn_judge_draw(box, grid, (uint64_t)s->problem->run->opt.seed + GFNN_SEED_INPUT, 1, 0, x);
    gfnn_judge_round(grid, type, x);
    rt_draw(x, RT_HOST, x, 3 * (size_t)grid->plane, sizeof *x, gfnn_draw(draw));
    gfnn_judge_round(grid, type, x);
}

/* Puts the base of all inputs into f or s32. */
static void input_base(gfnn_solver_t *s)
{
    const bool fine = s->kernels->ladder == GFNN_LADDER_OPERATOR;
    const gfnn_grid_t *grid = fine ? &s->problem->box.fine : &s->problem->box.wide;
    const double begin = rt_window_begin();
    double *x = gfnn_judge_vector(grid);
    gfnn_input(s, 0, x);
    gfnn_judge_put(s, grid, fine ? RT_F64 : RT_F32, x, fine ? (void *)s->f : s->s32);
    RT_FREE(x, RT_HOST);
    rt_setup_charge(-rt_window_end(begin)); /* it is no set-up */
}

/* Finds the bounds of cheb; the power iterations begin with a random vector. */
static void find_spectrum(gfnn_solver_t *s)
{
    const gfnn_grid_t *wide = &s->problem->box.wide;
    double *x = gfnn_judge_vector(wide);
    gfnn_judge_draw(&s->problem->box, wide, GFNN_SEED_SPECTRUM, 1, 0, x);
    gfnn_judge_put(s, wide, RT_F32, x, s->z);
    RT_FREE(x, RT_HOST);
    gfnn_spectrum(s);
}

void *gfnn_solver_new(void *problem, const rt_rung_t *rung)
{
    gfnn_problem_t *p = problem;
    gfnn_solver_t *s = RT_NEW(gfnn_solver_t, 1, RT_HOST);
    memset(s, 0, sizeof *s);
    s->problem = p;
    s->rung = rung;
    s->kernels = (const gfnn_kernels_t *)rung->kernels;
    s->space = rt_rung_space(rung);
    s->vectors = gfnn_vectors_of(s->kernels, s->space);
    const size_t elements = (size_t)p->box.wide.plane;
    s->id = s->space == RT_HOST ? p->model->id : rt_clone(p->model->id, elements, 1, s->space);
    const bool has_choice = s->kernels->rung.n_parameters > 0;
    const gfnn_view_t view = {.space = s->space,
                              .config = p->config,
                              .box = &p->box,
                              .materials = &p->model->materials,
                              .id = s->id,
                              .choice = has_choice ? rt_tune_choice(p->run, rung) : NULL};
    s->view_op = s->view_net = s->view_vec = view;
    const gfnn_ladder_id_t ladder = s->kernels->ladder;
    s->vectors->set_up(&s->view_vec, &p->step.A);
    if (ladder != GFNN_LADDER_PREDICTOR && s->kernels->op->set_up)
        s->kernels->op->set_up(&s->view_op);
    if (ladder != GFNN_LADDER_OPERATOR && gfnn_has_network(p->config))
        new_network(s);
    if (ladder == GFNN_LADDER_OPERATOR)
        new_operator_arrays(s);
    else if (ladder == GFNN_LADDER_PREDICTOR)
        new_predictor_arrays(s);
    else
        new_solve_arrays(s);
    if (ladder != GFNN_LADDER_SOLVE)
        input_base(s);
    else if (p->config->precond == GFNN_CHEB)
        find_spectrum(s);
    gfnn_spoil(s, 0, RT_KEEP_NOTHING);
    rt_device_synchronize();
    return s;
}

void gfnn_solver_destroy(void *solver)
{
    gfnn_solver_t *s = solver;
    const gfnn_kernels_t *kernels = s->kernels;
    const gfnn_predictor_t *predictor = kernels->predictor[s->network.precision];
    for (int i = 0; i < 2; i++)
        rt_replay_drop(&s->replay[i]);
    rt_halo_t *const halos[] = {s->halo_fine, s->halo_wide1, s->halo_wide3, s->halo_low};
    for (size_t i = 0; i < sizeof halos / sizeof *halos; i++)
        rt_halo_destroy(halos[i]);
    if (s->cg.x == s->x) /* in double */
        s->cg.x = s->cg.q = NULL;
    if (s->r32 == s->cg.r)
        s->r32 = NULL;
    void *const arrays[] = {s->u,    s->v,    s->a, s->x,   s->q,   s->f,   s->cg.x, s->cg.r,
                            s->cg.p, s->cg.q, s->z, s->r32, s->s32, s->t32, s->other};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        zeroed_free(s, arrays[i]);
    if (s->low)
        zeroed_free(s, (uint16_t *)s->low - GFNN_LOW_SKIP);
    rt_free(s->dot, s->space);
    for (int i = 0; i < RT_KEEPS; i++)
        gfnn_forget(&s->kept[i]);
    if (s->scalars.cg)
        s->vectors->scalars->destroy(&s->scalars);
    s->vectors->tear_down(&s->view_vec);
    if (kernels->ladder != GFNN_LADDER_PREDICTOR && kernels->op->tear_down)
        kernels->op->tear_down(&s->view_op);
    if (s->network.K && predictor->tear_down)
        predictor->tear_down(&s->view_net);
    if (s->space != RT_HOST) {
        RT_FREE(s->network.c, s->space);
        RT_FREE(s->noise, s->space);
        rt_free((uint8_t *)s->id, s->space);
    }
    RT_FREE(s, RT_HOST);
}
