/*
 * solve.c - Newmark's method and conjugate gradients over a rung's function tables.
 *
 * A time step, with f and A in units of c0 (gfnn.h):
 *
 *     x1 = a + (4/dt + ra) v,  x2 = rb v - u         newmark_before
 *     f = F + M x1 + K x2                            two products by elements: the internal forces
 *                                                    K u are not carried from step to step
 *     A du = f                                       conjugate gradients
 *     u += du, and v, a                              newmark_after
 *
 * and an iteration of conjugate gradients (work.c counts what it must move):
 *
 *     z = B r                                        precond.c
 *     z.r, z.q                                       dots
 *     x += alpha p, p = z + beta p                   direction
 *     q = A p, p.q                                   operator
 *     r -= alpha q, r.r, low = r                     update
 *
 * x is a step behind: its part of an iteration waits until the next one reads p anyway. With blocks
 * of the diagonal for B, z and z.r are part of the update (update_bj), so that this rival of the
 * networks is at its best: three passes an iteration. On one rank periodic ghosts are images of own
 * values, and no halo is made (wrap).
 *
 * A network is not symmetric, so beta is Polak's and Ribiere's, z.(r - r_old) / z_old.r_old. As
 * r - r_old = -alpha q, that is -alpha z.q / z_old.r_old: nothing has to be kept. B works on FP32
 * or on 16-bit floats, so it gets r scaled to about 1 by a power of two. This file never sees a
 * device: where the arrays live and who touches them is the tables' business.
 */
#include "config.h"
#include "solver.h"
#include <math.h>
#include <string.h>

enum { MOST_REGIONS = 7 }; /* the interior and six slabs around it */

const gfnn_vectors_t *gfnn_vectors_of(const gfnn_solver_t *s)
{
    if (s->kernels->vectors)
        return s->kernels->vectors;
#if RT_HAVE_CUDA
    if (s->space == RT_DEVICE)
        return &gfnn_vectors_cuda;
#endif
    return &gfnn_vectors_cpu;
}

static void start(const gfnn_solver_t *s, const char *name)
{
    rt_timer_start(name, s->rung->kind);
}

/* --- a rung's arrays --- */

static void *zeroed(size_t n, size_t size, rt_space_t space)
{
    void *x = rt_alloc(n, size, space);
    rt_fill(x, space, 0, n * size);
    return x;
}

static double *fine_new(const gfnn_solver_t *s)
{
    return zeroed(3 * (size_t)s->problem->box.fine.plane, sizeof(double), s->space);
}

static float *wide_new(const gfnn_solver_t *s)
{
    return zeroed(3 * (size_t)s->problem->box.wide.plane, sizeof(float), s->space);
}

static void *low_new(const gfnn_solver_t *s)
{
    const size_t values = 3 * (size_t)s->problem->box.wide.plane + GFNN_LOW_SKIP;
    return (uint16_t *)zeroed(values, sizeof(uint16_t), s->space) + GFNN_LOW_SKIP;
}

static rt_halo_t *halo_new(const gfnn_solver_t *s, const gfnn_grid_t *grid, int width)
{
    if (rt_comm_size() == 1)
        return NULL;
    return gfnn_halo_new(&s->problem->box, grid, width, s->problem->run->opt.transport,
                         s->rung->kind, s->space);
}

/* Input (f or s32 times `scale`) and output of the two ladders of single kernels. */
static void new_operator_arrays(gfnn_solver_t *s)
{
    double **const vectors[] = {&s->f, &s->x, &s->q};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = fine_new(s);
    s->halo_fine = halo_new(s, &s->problem->box.fine, 1);
}

static void new_predictor_arrays(gfnn_solver_t *s)
{
    s->s32 = wide_new(s);
    s->z = wide_new(s);
    if (gfnn_precision_of(s->kernels, s->problem->cfg) == GFNN_FP16)
        s->low = low_new(s);
    else
        s->r32 = wide_new(s);
}

static void new_solve_arrays(gfnn_solver_t *s)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    const bool apply32 = gfnn_needs_apply32(cfg), inner = cfg->inner > 0;
    double **const fine[] = {&s->u, &s->v, &s->a, &s->x, &s->r, &s->p, &s->q, &s->f};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        *fine[i] = fine_new(s);
    const struct {
        float **x;
        bool needed;
    } wide[] = {{&s->z, !gfnn_is_plain(cfg)},
                {&s->r32, gfnn_needs_r32(cfg)},
                {&s->other, gfnn_needs_other(cfg)},
                {&s->t32, apply32},
                {&s->s32, inner},
                {&s->p32, inner},
                {&s->q32, inner}};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (wide[i].needed)
            *wide[i].x = wide_new(s);
    if (gfnn_has_network(cfg) && cfg->precision == GFNN_FP16)
        s->low = low_new(s);
    if (s->kernels->op->apply_dot)
        s->dots = RT_NEW(double, MOST_REGIONS, s->space);
    s->halo_fine = halo_new(s, &s->problem->box.fine, 1);
    if (apply32)
        s->halo_wide1 = halo_new(s, &s->problem->box.wide, 1);
}

static void new_network(gfnn_solver_t *s)
{
    const gfnn_problem_t *p = s->problem;
    const gfnn_weights_t *weights = p->weights;
    const size_t values = (size_t)weights->coefs * (size_t)p->box.bare.plane;
    s->network = (gfnn_network_t){
        .form = weights->form,
        .kernels = weights->kernels,
        .coefs = weights->coefs,
        .K = weights->K,
        .c = s->space == RT_HOST ? p->coef : rt_clone(p->coef, values, sizeof(float), s->space),
        .precision = gfnn_precision_of(s->kernels, p->cfg)};
    const gfnn_predictor_t *predictor = s->kernels->predictor[s->network.precision];
    if (predictor->set_up)
        predictor->set_up(&s->view_net, &s->network);
    rt_halo_t **halo = s->network.precision == GFNN_FP16 ? &s->halo_low : &s->halo_wide3;
    *halo = halo_new(s, &p->box.wide, GFNN_ND);
}

void gfnn_input(const gfnn_solver_t *s, double *x)
{
    const gfnn_box_t *box = &s->problem->box;
    const bool fine = s->kernels->ladder == GFNN_LADDER_OPERATOR;
    const gfnn_grid_t *g = fine ? &box->fine : &box->wide;
    const uint64_t seed = (uint64_t)s->problem->run->opt.seed + 77;
    rt_fill(x, RT_HOST, 0, 3 * (size_t)g->plane * sizeof *x);
#pragma omp parallel for collapse(2) schedule(static)
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++) {
                    const int64_t row = (box->first[2] + k) * box->N[1] + box->first[1] + j;
                    const uint64_t node = (uint64_t)(row * box->N[0] + box->first[0] + i);
                    const int64_t at[3] = {i, j, k}, of_face = box->first[c] + at[c];
                    const bool held =
                        box->faces == GFNN_MIRROR && (of_face == 0 || of_face == box->N[c] - 1);
                    x[c * g->plane + gfnn_at(g, i, j, k)] =
                        held ? 0 : s->scale * rt_random(3 * node + (uint64_t)c, seed);
                }
}

/* The input times 1, in f or s32. */
static void first_input(gfnn_solver_t *s)
{
    const bool fine = s->kernels->ladder == GFNN_LADDER_OPERATOR;
    const gfnn_box_t *box = &s->problem->box;
    const size_t values = 3 * (size_t)(fine ? box->fine.plane : box->wide.plane);
    double *x = RT_NEW(double, values, RT_HOST);
    s->scale = 1;
    gfnn_input(s, x);
    if (fine) {
        rt_copy(s->f, s->space, x, RT_HOST, values * sizeof *x);
    } else {
        float *rounded = RT_NEW(float, values, RT_HOST);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < values; i++)
            rounded[i] = (float)x[i];
        rt_copy(s->s32, s->space, rounded, RT_HOST, values * sizeof *rounded);
        RT_FREE(rounded, RT_HOST);
    }
    RT_FREE(x, RT_HOST);
}

void *gfnn_solver_new(void *problem, const rt_rung_t *rung)
{
    gfnn_problem_t *p = problem;
    gfnn_solver_t *s = RT_NEW(gfnn_solver_t, 1, RT_HOST);
    memset(s, 0, sizeof *s);
    s->problem = p;
    s->rung = rung;
    s->kernels = rung->kernels;
    s->space = rt_rung_space(rung);
    const size_t elements = (size_t)p->box.wide.plane;
    s->id = s->space == RT_HOST ? p->model->id : rt_clone(p->model->id, elements, 1, s->space);
    int choices;
    gfnn_parameters(rung, &choices);
    const gfnn_view_t view = {.kind = rung->kind,
                              .space = s->space,
                              .box = &p->box,
                              .materials = &p->model->materials,
                              .id = s->id,
                              .choice = choices > 0 ? rt_tune_choice(p->run, rung) : NULL};
    s->view_op = s->view_net = s->view_vec = view;
    const gfnn_ladder_id_t ladder = s->kernels->ladder;
    gfnn_vectors_of(s)->set_up(&s->view_vec, &p->step.A);
    if (ladder != GFNN_LADDER_PREDICTOR && s->kernels->op->set_up)
        s->kernels->op->set_up(&s->view_op);
    if (ladder != GFNN_LADDER_OPERATOR && gfnn_has_network(p->cfg))
        new_network(s);
    if (ladder == GFNN_LADDER_OPERATOR)
        new_operator_arrays(s);
    else if (ladder == GFNN_LADDER_PREDICTOR)
        new_predictor_arrays(s);
    else
        new_solve_arrays(s);
    if (ladder != GFNN_LADDER_SOLVE)
        first_input(s);
    else if (p->cfg->precond == GFNN_CHEB)
        gfnn_spectrum(s);
    gfnn_spoil(s);
    rt_device_synchronize();
    return s;
}

void gfnn_solver_destroy(void *solver)
{
    gfnn_solver_t *s = solver;
    const gfnn_kernels_t *kernels = s->kernels;
    const gfnn_predictor_t *predictor = kernels->predictor[s->network.precision];
    gfnn_vectors_of(s)->tear_down(&s->view_vec);
    if (kernels->ladder != GFNN_LADDER_PREDICTOR && kernels->op->tear_down)
        kernels->op->tear_down(&s->view_op);
    if (s->network.K && predictor->tear_down)
        predictor->tear_down(&s->view_net);
    rt_halo_t *const halos[] = {s->halo_fine, s->halo_wide1, s->halo_wide3, s->halo_low};
    for (size_t i = 0; i < sizeof halos / sizeof *halos; i++)
        rt_halo_destroy(halos[i]);
    void *const arrays[] = {s->u, s->v,   s->a,   s->x,   s->r,     s->p,   s->q,   s->f,
                            s->z, s->r32, s->s32, s->t32, s->other, s->p32, s->q32, s->dots};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        rt_free(arrays[i], s->space);
    if (s->low)
        rt_free((uint16_t *)s->low - GFNN_LOW_SKIP, s->space);
    if (s->space != RT_HOST) {
        RT_FREE(s->network.c, s->space);
        RT_FREE(s->id, s->space);
    }
    RT_FREE(s, RT_HOST);
}

/* --- y = A x --- */

/* x and y in FP64, or in FP32. */
typedef struct {
    const gfnn_form_t *form;
    double *x, *y, *dots;
    float *x32, *y32;
} product_t;

static void on_region(const gfnn_solver_t *s, const product_t *a, const gfnn_region_t *region,
                      int number)
{
    const gfnn_operator_t *op = s->kernels->op;
    if (a->x32)
        op->apply32(&s->view_op, a->form, region, a->x32, a->y32);
    else if (a->dots)
        op->apply_dot(&s->view_op, a->form, region, a->x, a->y, a->dots + number);
    else
        op->apply(&s->view_op, a->form, region, a->x, a->y);
}

/* Nodes whose neighbours are no ghosts, nor anybody's: between begin and end of a halo these must
 * not even be read. False if there are none. */
static bool interior(const gfnn_box_t *box, gfnn_region_t *inner)
{
    const bool wraps = box->faces == GFNN_PERIODIC;
    bool any = true;
    for (int d = 0; d < 3; d++) {
        inner->lo[d] = wraps || box->place[d] > 0 ? 2 : 0;
        inner->hi[d] = box->n[d] - (wraps || box->place[d] < box->ranks[d] - 1 ? 2 : 0);
        any = any && inner->lo[d] < inner->hi[d];
    }
    return any;
}

/* What is left of `all` around the interior, slab by slab; returns the number of regions so far. */
static int boundary(const gfnn_solver_t *s, const product_t *a, const gfnn_region_t *inner,
                    gfnn_region_t all, int regions)
{
    for (int d = 2; d >= 0; d--) {
        gfnn_region_t low = all, high = all;
        low.hi[d] = all.lo[d] = inner->lo[d];
        high.lo[d] = all.hi[d] = inner->hi[d];
        if (low.lo[d] < low.hi[d])
            on_region(s, a, &low, regions++);
        if (high.lo[d] < high.hi[d])
            on_region(s, a, &high, regions++);
    }
    return regions;
}

/* A vector whose ghosts are wanted, `width` deep. */
typedef struct {
    rt_halo_t *halo; /* NULL on one rank */
    int width;
    rt_field_t field;
} ghosts_t;

static void bring(const gfnn_solver_t *s, const ghosts_t *g)
{
    if (!g->halo && s->problem->box.faces != GFNN_PERIODIC)
        return;
    start(s, "halo");
    if (g->halo)
        rt_halo_do(g->halo, RT_HALO_COPY, &g->field);
    else
        gfnn_vectors_of(s)->wrap(&s->view_vec, g->width, g->field.type, g->field.data);
    rt_timer_stop("halo");
}

/* Messages by way of the host travel while the interior is worked on. Those that GPUs send on their
 * streams come first: they take 30 us for a box of 104^3, and six slabs around the interior, each a
 * kernel of few nodes, 80. One rank has none. Returns the number of regions. */
static int product(gfnn_solver_t *s, const product_t *a)
{
    const gfnn_box_t *box = &s->problem->box;
    const gfnn_region_t all = {{0, 0, 0}, {box->n[0], box->n[1], box->n[2]}};
    const ghosts_t ghosts =
        a->x32 ? (ghosts_t){s->halo_wide1, 1, gfnn_field(&box->wide, a->x32, RT_F32)}
               : (ghosts_t){s->halo_fine, 1, gfnn_field(&box->fine, a->x, RT_F64)};
    const char *name = a->x32 ? "operator FP32" : "operator";
    gfnn_region_t inner;
    int regions = 1;
    if (!ghosts.halo || rt_halo_on_stream(ghosts.halo) || s->kernels->op->whole ||
        !interior(box, &inner)) {
        bring(s, &ghosts);
        start(s, name);
        on_region(s, a, &all, 0);
        rt_timer_stop(name);
    } else {
        start(s, name);
        rt_halo_begin(ghosts.halo, RT_HALO_COPY, &ghosts.field);
        on_region(s, a, &inner, 0);
        start(s, "halo");
        rt_halo_end(ghosts.halo);
        rt_timer_stop("halo");
        regions = boundary(s, a, &inner, all, 1);
        rt_timer_stop(name);
    }
    gfnn_vectors_of(s)->hold(&s->view_vec, a->y, a->y32);
    return regions;
}

void gfnn_apply(gfnn_solver_t *s, const gfnn_form_t *form, double *x, double *y)
{
    product(s, &(product_t){.form = form, .x = x, .y = y});
}

void gfnn_apply32(gfnn_solver_t *s, const gfnn_form_t *form, float *x, float *y)
{
    product(s, &(product_t){.form = form, .x32 = x, .y32 = y});
}

/* q = A p; returns p . q over all ranks. */
static double apply_dot(gfnn_solver_t *s)
{
    const product_t a = {.form = &s->problem->step.A, .x = s->p, .y = s->q, .dots = s->dots};
    const int regions = product(s, &a);
    double sum = 0;
    if (s->dots) {
        double dots[MOST_REGIONS];
        rt_copy(dots, RT_HOST, s->dots, s->space, (size_t)regions * sizeof *dots);
        for (int i = 0; i < regions; i++)
            sum += dots[i];
    } else {
        start(s, "vectors");
        sum = gfnn_vectors_of(s)->dot(&s->view_vec, s->p, s->q);
        rt_timer_stop("vectors");
    }
    rt_comm_sum(&sum, 1);
    return sum;
}

void gfnn_predict_from(gfnn_solver_t *s, void *r, float *z)
{
    const gfnn_grid_t *wide = &s->problem->box.wide;
    const bool half = s->network.precision == GFNN_FP16;
    const ghosts_t ghosts = {half ? s->halo_low : s->halo_wide3, GFNN_ND,
                             gfnn_field(wide, r, half ? RT_F16 : RT_F32)};
    bring(s, &ghosts);
    start(s, "predictor");
    s->kernels->predictor[s->network.precision]->apply(&s->view_net, &s->network, r, z);
    rt_timer_stop("predictor");
    gfnn_vectors_of(s)->hold(&s->view_vec, NULL, z);
}

void gfnn_predict(gfnn_solver_t *s)
{
    gfnn_predict_from(s, s->network.precision == GFNN_FP16 ? s->low : (void *)s->r32, s->z);
}

/* --- conjugate gradients --- */

/* The power of two next to 1 / x from below. */
static double unit_scale(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, -exponent);
}

typedef struct {
    void *low; /* what the preconditioner gets; NULL: nothing */
    int precision;
    bool plain, fused;      /* B = 1; z comes with the update */
    bool flexible;          /* beta */
    double scale, most;     /* of low or z; of f the largest value, if fused the norm */
    double ff, rr;          /* f . f, r . r */
    double zr, zq;          /* of z as it is, scaled */
    double alpha, beta, rz; /* rz: z . r */
} cg_t;

/* r follows the step along p; r . r, and what z is made from, or z itself and z . r. */
static void update(gfnn_solver_t *s, cg_t *cg)
{
    const gfnn_vectors_t *v = gfnn_vectors_of(s);
    double sums[2] = {0};
    start(s, "update");
    if (!cg->plain) /* the largest |r| is taken to have fallen as the norm */
        cg->scale = unit_scale(cg->most * sqrt(cg->rr / cg->ff));
    if (cg->fused)
        v->update_bj(&s->view_vec, cg->alpha, s->q, s->r, cg->scale, s->z, sums);
    else
        sums[0] = v->update(&s->view_vec, cg->alpha, s->q, s->r, cg->scale, cg->precision, cg->low);
    rt_comm_sum(sums, cg->fused ? 2 : 1);
    cg->rr = sums[0];
    cg->zr = sums[1];
    rt_timer_stop("update");
}

/* x = 0, r = f, and what z is made from. */
static void begin(gfnn_solver_t *s, cg_t *cg)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    const gfnn_vectors_t *v = gfnn_vectors_of(s);
    const gfnn_view_t *view = &s->view_vec;
    const size_t bytes = 3 * (size_t)s->problem->box.fine.plane * sizeof(double);
    *cg = (cg_t){.low = gfnn_reads_low(cfg) ? s->low : (void *)s->r32,
                 .precision = gfnn_reads_low(cfg) ? GFNN_FP16 : GFNN_FP32,
                 .plain = gfnn_is_plain(cfg),
                 .fused = gfnn_is_fused(cfg),
                 .flexible = gfnn_has_network(cfg) || cfg->inner > 0,
                 .scale = 1};
    start(s, "vectors");
    rt_copy(s->r, s->space, s->f, s->space, bytes);
    v->fill(view, 0, s->x);
    cg->ff = v->dot(view, s->r, s->r);
    rt_comm_sum(&cg->ff, 1);
    cg->rr = cg->ff;
    if (cg->low && cg->ff > 0) {
        cg->most = v->pack(view, s->r, 1, cg->precision, cg->low);
        rt_comm_max(&cg->most, 1);
        cg->scale = unit_scale(cg->most);
        v->pack(view, s->r, cg->scale, cg->precision, cg->low);
    }
    rt_timer_stop("vectors");
    if (cg->fused && cg->ff > 0) {
        cg->most = sqrt(cg->ff);
        update(s, cg); /* by 0: z alone */
    }
}

/* z = B r, z . r and z . q. */
static void precondition(gfnn_solver_t *s, cg_t *cg, bool first)
{
    double sums[2];
    gfnn_precondition(s);
    start(s, "dots");
    gfnn_vectors_of(s)->dots(&s->view_vec, s->z, s->r, cg->flexible && !first ? s->q : NULL, sums);
    rt_comm_sum(sums, 2);
    cg->zr = sums[0];
    cg->zq = sums[1];
    rt_timer_stop("dots");
}

/* x += alpha p of the iteration before, p = z + beta p. */
static void turn(gfnn_solver_t *s, cg_t *cg, bool first)
{
    const gfnn_vectors_t *v = gfnn_vectors_of(s);
    const double before = cg->rz;
    if (cg->plain)
        cg->zr = cg->rr;
    else if (!cg->fused)
        precondition(s, cg, first);
    cg->rz = cg->zr / cg->scale;
    cg->beta = (cg->flexible ? -cg->alpha * cg->zq / cg->scale : cg->rz) / before;
    if (first)
        cg->beta = 0;
    start(s, "direction");
    if (cg->plain)
        v->direction_plain(&s->view_vec, cg->alpha, s->x, s->r, cg->beta, s->p);
    else
        v->direction(&s->view_vec, cg->alpha, s->x, 1 / cg->scale, s->z, cg->beta, s->p);
    rt_timer_stop("direction");
}

/* Along p to the least error; x does not follow yet. */
static void move(gfnn_solver_t *s, cg_t *cg)
{
    cg->alpha = cg->rz / apply_dot(s);
    update(s, cg);
    s->residual = sqrt(cg->rr / cg->ff);
}

/* The step that x has not done. */
static void arrive(gfnn_solver_t *s, const cg_t *cg)
{
    start(s, "direction");
    gfnn_vectors_of(s)->axpby(&s->view_vec, cg->alpha, s->p, 1, s->x);
    rt_timer_stop("direction");
}

int64_t gfnn_cg(gfnn_solver_t *s)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    int64_t iteration = 0;
    cg_t cg;
    begin(s, &cg);
    s->residual = cg.ff == 0 ? 0 : 1;
    if (cg.ff == 0)
        return 0;
    do {
        turn(s, &cg, iteration == 0);
        move(s, &cg);
        iteration++;
    } while (iteration < cfg->max_iterations && !(s->residual < cfg->tolerance) &&
             rt_finite(s->residual));
    arrive(s, &cg);
    return s->residual < cfg->tolerance ? iteration : cfg->max_iterations;
}

/* --- time steps --- */

static void add_force(gfnn_solver_t *s, double time)
{
    const gfnn_problem_t *p = s->problem;
    const gfnn_force_t force = gfnn_source(p->cfg, &p->box, &p->step, time);
    double value;
    if (force.at < 0)
        return;
    rt_copy(&value, RT_HOST, s->f + force.at, s->space, sizeof value);
    value += s->scale * force.value;
    rt_copy(s->f + force.at, s->space, &value, RT_HOST, sizeof value);
}

/* f, by way of r, p and q. */
static void right_hand_side(gfnn_solver_t *s, double time)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    const gfnn_step_t *step = &s->problem->step;
    const gfnn_vectors_t *v = gfnn_vectors_of(s);
    const double unit = cfg->rho * cfg->ds * cfg->ds * cfg->ds / step->c0;
    start(s, "newmark before");
    v->newmark_before(&s->view_vec, cfg->dt, step->rayleigh_a, step->rayleigh_b, s->u, s->v, s->a,
                      s->p, s->r);
    rt_timer_stop("newmark before");
    gfnn_apply(s, &step->M, s->p, s->f);
    gfnn_apply(s, &step->K, s->r, s->q);
    start(s, "force");
    v->axpby(&s->view_vec, unit, s->q, unit, s->f);
    add_force(s, time);
    v->hold(&s->view_vec, s->f, NULL);
    rt_timer_stop("force");
}

/* A step that did not converge is the last. */
static void time_steps(gfnn_solver_t *s)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    s->steps = s->iterations = 0;
    while (s->steps < cfg->steps) {
        right_hand_side(s, (double)(s->steps + 1) * cfg->dt);
        s->last_iterations = gfnn_cg(s);
        start(s, "newmark after");
        gfnn_vectors_of(s)->newmark_after(&s->view_vec, cfg->dt, s->x, s->u, s->v, s->a);
        rt_timer_stop("newmark after");
        s->iterations += s->last_iterations;
        if (s->steps < GFNN_MAX_HISTORY)
            s->history[s->steps] = s->last_iterations;
        s->steps++;
        if (!(s->residual < cfg->tolerance))
            return;
    }
}

/* --- the job --- */

void gfnn_solve(void *solver)
{
    gfnn_solver_t *s = solver;
    const gfnn_ladder_id_t ladder = s->kernels->ladder;
    if (ladder == GFNN_LADDER_SOLVE) {
        time_steps(s);
        return;
    }
    for (s->steps = 0; s->steps < s->problem->cfg->steps; s->steps++) {
        if (ladder == GFNN_LADDER_OPERATOR)
            gfnn_apply(s, &s->problem->step.A, s->x, s->q);
        else
            gfnn_predict(s);
    }
}

/* Own nodes only: ghosts beyond faces stay 0. */
static void spoil_vectors(gfnn_solver_t *s)
{
    const gfnn_vectors_t *v = gfnn_vectors_of(s);
    const bool is_operator = s->kernels->ladder == GFNN_LADDER_OPERATOR;
    double *const fine[] = {s->q, s->r, s->p, is_operator ? NULL : s->x, is_operator ? NULL : s->f};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (fine[i])
            v->fill(&s->view_vec, NAN, fine[i]);
    if (s->z)
        v->fill32(&s->view_vec, NAN, s->z);
}

/* Every solve has an input of its own, a multiple that nobody can know beforehand, so that an
 * answer of an earlier one is wrong for it. */
static void new_input(gfnn_solver_t *s)
{
    const gfnn_vectors_t *v = gfnn_vectors_of(s);
    const double random = rt_random(s->solves++, (uint64_t)s->problem->run->opt.seed + 99);
    s->scale = (double)(float)exp2(random); /* exact in FP32 too */
    if (s->kernels->ladder == GFNN_LADDER_OPERATOR)
        v->axpby(&s->view_vec, s->scale, s->f, 0, s->x);
    else if (s->low)
        v->narrow(&s->view_vec, (float)s->scale, s->s32, NULL, s->low);
    else
        v->axpby32(&s->view_vec, (float)s->scale, s->s32, 0, s->r32);
}

/* The same for the state that time begins with, and the source. By a power of two: no bit of a
 * solve but its exponents depends on it, and no iteration. */
static void new_start(gfnn_solver_t *s)
{
    const gfnn_state_t *from = &s->problem->start;
    const size_t bytes = 3 * (size_t)s->problem->box.fine.plane * sizeof(double);
    const double *const start[] = {from->u, from->v, from->a};
    double *const state[] = {s->u, s->v, s->a};
    const double random = rt_random(s->solves++, (uint64_t)s->problem->run->opt.seed + 99);
    s->scale = exp2(round(30 * random));
    for (int i = 0; i < 3; i++) {
        rt_copy(s->p, s->space, start[i], RT_HOST, bytes);
        gfnn_vectors_of(s)->axpby(&s->view_vec, s->scale, s->p, 0, state[i]);
    }
}

void gfnn_spoil(void *solver)
{
    gfnn_solver_t *s = solver;
    if (s->kernels->ladder == GFNN_LADDER_SOLVE)
        new_start(s);
    else
        new_input(s);
    spoil_vectors(s);
    s->steps = s->iterations = s->last_iterations = 0;
    s->residual = NAN;
    for (int i = 0; i < GFNN_MAX_HISTORY; i++)
        s->history[i] = -1;
}
