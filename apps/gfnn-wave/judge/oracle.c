/*
 * oracle.c - the judge's own solution: Newmark and conjugate gradients on the host, in double,
 * plain, and independent of solve.c, step.c and cg.c.
 *
 * The definition of the operator (cpu/reference.c) takes 1152 multiplications and additions per
 * element, and a step applies it 40 times and more. So the rung cpu-simd replaces it, after it has
 * agreed with the definition in this run, on two random vectors and this very model; how well it
 * agrees is one of the checks (operator_error). The preconditioner is the exact inverse of the 3x3
 * diagonal blocks, assembled from the element matrices.
 *
 * It solves the problem itself. Other starts are judged by what its steps are transposed: they are
 * linear, so a start of v + w in place of v makes another end, by L w, and a functional g of that end
 * differs by g . L w = (L^T g) . w. One run backwards gives L^T g for every w. If du is wrong by e in
 * some steps, g, which is random, is wrong by about |e|.
 */
#include "config.h"
#include <math.h>
#include "apps/gfnn-wave/cpu/cpu.h"
#include "judge.h"

enum { BLOCK = 6 }; /* xx yy zz xy yz zx of a symmetric 3x3 block */
static const double TOLERANCE = 1e-11;
/* Seeds of the two random vectors, and the most iterations. */
enum { SEED = 77, SAMPLES = 2, MOST_ITERATIONS = 10000 };

typedef struct {
    const gfnn_problem_t *p;
    const gfnn_grid_t *g;
    gfnn_view_t view; /* of cpu-simd */
    double *inverse;  /* [BLOCK][plane] of the diagonal blocks of A */
    double *f, *r, *z, *q, *d, *x1;
    size_t values; /* of a vector */
    gfnn_scratch_t scratch;
} oracle_t;

/* y = a x + b y, ghosts too */
static void axpby(const oracle_t *o, double a, const double *x, double b, double *y)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < o->values; i++)
        y[i] = a * x[i] + b * y[i];
}

/* --- faces and operators --- */

static void make_ready(const gfnn_problem_t *p, double *x)
{
    if (p->halo_fine) {
        const rt_field_t field = gfnn_field(&p->box.fine, x, RT_F64);
        rt_halo_do(p->halo_fine, RT_HALO_COPY, &field);
    }
}

void gfnn_oracle_apply(const gfnn_problem_t *p, const gfnn_form_t *form, bool absolute, double *x,
                       double *y)
{
    make_ready(p, x);
    gfnn_apply_reference(&p->box, &p->model->materials, p->model->id, form, absolute, x, y);
}

double gfnn_oracle_residual(const gfnn_problem_t *p, const double *f, double *du, double *t)
{
    gfnn_oracle_apply(p, &p->step.A, false, du, t);
    return gfnn_judge_apart(&p->box.fine, f, t, t) / gfnn_judge_norm(&p->box.fine, f);
}

/* Applies A by cpu-simd. */
static void apply(const oracle_t *o, const gfnn_form_t *form, double *x, double *y)
{
    const gfnn_product_t product = {.form = form, .x = x, .y = y};
    make_ready(o->p, x);
    gfnn_operator_simd.apply(&o->view, &product);
}

/* Returns the largest difference between cpu-simd and the reference, over 256 unit roundoffs of
 * |A| |x|, which is more than any order of the sums of 192 products can lose. */
static double compare_operator(const oracle_t *o)
{
    double worst = 0, *bound = o->f, *want = o->r, *got = o->q, *x = o->d;
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        gfnn_judge_draw(&o->p->box, o->g, sample + SEED, 1, NAN, x);
        gfnn_oracle_apply(o->p, &o->p->step.A, true, x, bound);
        gfnn_oracle_apply(o->p, &o->p->step.A, false, x, want);
        apply(o, &o->p->step.A, x, got);
        worst = fmax(worst, gfnn_judge_compare(o->g, want, o->g, got, bound, 256 * RT_EPS).worst);
    }
    return worst;
}

/* --- exact diagonal blocks --- */

static void invert_block(double b[BLOCK])
{
    const double xx = b[0], yy = b[1], zz = b[2], xy = b[3], yz = b[4], zx = b[5];
    const double c0 = yy * zz - yz * yz, c1 = yz * zx - xy * zz, c2 = xy * yz - yy * zx;
    const double det = xx * c0 + xy * c1 + zx * c2;
    b[0] = c0 / det;
    b[1] = (xx * zz - zx * zx) / det;
    b[2] = (xx * yy - xy * xy) / det;
    b[3] = c1 / det;
    b[4] = (xy * zx - xx * yz) / det;
    b[5] = c2 / det;
}

static void make_blocks(oracle_t *o)
{
    const gfnn_grid_t *g = o->g, *wide = &o->p->box.wide;
    const gfnn_materials_t *materials = &o->p->model->materials;
    static const int row[BLOCK] = {0, 1, 2, 0, 1, 2}, column[BLOCK] = {0, 1, 2, 1, 2, 0};
    double(*part)[8][BLOCK] = rt_alloc(GFNN_MAX_IDS, sizeof *part, RT_HOST);
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        double A[24][24];
        gfnn_element_matrix(&o->p->step.A, materials->w[id], materials->square[id], A);
        for (int a = 0; a < 8; a++)
            for (int t = 0; t < BLOCK; t++)
                part[id][a][t] = A[3 * a + row[t]][3 * a + column[t]];
    }
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++)
            for (int64_t i = 0; i < g->n[0]; i++) {
                double b[BLOCK] = {0};
                for (int a = 0; a < 8; a++) { /* the element whose corner a the node is */
                    const int64_t at = gfnn_at(wide, i - (a & 1), j - (a >> 1 & 1), k - (a >> 2));
                    for (int t = 0; t < BLOCK; t++)
                        b[t] += part[o->p->model->id[at]][a][t];
                }
                invert_block(b);
                for (int t = 0; t < BLOCK; t++)
                    o->inverse[t * g->plane + gfnn_at(g, i, j, k)] = b[t];
            }
    RT_FREE(part, RT_HOST);
}

/* z = D^-1 r */
static void precondition(const oracle_t *o, const double *r, double *z)
{
    const int64_t n = o->g->plane;
    const double *b = o->inverse;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double x = r[i], y = r[n + i], w = r[2 * n + i];
        z[i] = b[i] * x + b[3 * n + i] * y + b[5 * n + i] * w;
        z[n + i] = b[3 * n + i] * x + b[n + i] * y + b[4 * n + i] * w;
        z[2 * n + i] = b[5 * n + i] * x + b[4 * n + i] * y + b[2 * n + i] * w;
    }
}

/* --- solve --- */

/* Solves A x = o->f to TOLERANCE, or to the run's own if that is less. Returns the iterations to
 * the run's own tolerance. */
static int64_t solve(const oracle_t *o, double *x)
{
    const double limit = gfnn_judge_norm(o->g, o->f), asked = o->p->config->tolerance;
    const double least = fmin(TOLERANCE, asked);
    int64_t iterations = 0, counted = 0;
    rt_fill(x, RT_HOST, 0, o->values * sizeof *x);
    rt_copy(o->r, RT_HOST, o->f, RT_HOST, o->values * sizeof *o->r);
    precondition(o, o->r, o->z);
    rt_copy(o->d, RT_HOST, o->z, RT_HOST, o->values * sizeof *o->d);
    double rz = gfnn_judge_dot(o->g, o->r, o->z), left = limit;
    while (left > least * limit && iterations < MOST_ITERATIONS) {
        apply(o, &o->p->step.A, o->d, o->q);
        const double alpha = rz / gfnn_judge_dot(o->g, o->d, o->q);
        axpby(o, alpha, o->d, 1, x);
        axpby(o, -alpha, o->q, 1, o->r);
        left = gfnn_judge_norm(o->g, o->r);
        iterations++;
        if (counted == 0 && left < asked * limit)
            counted = iterations;
        precondition(o, o->r, o->z);
        const double next = gfnn_judge_dot(o->g, o->r, o->z);
        axpby(o, 1, o->z, next / rz, o->d);
        rz = next;
    }
    return counted;
}

/* f / c0 of the step that ends at `time`: F / c0 + rho ds^3 / c0 (M x1 + K x2), where the element
 * matrices are of the unit cube and K's form has the 1/ds^2. */
static void force(const gfnn_problem_t *p, const gfnn_state_t *state, double time,
                  void (*operate)(const void *with, const gfnn_form_t *form, double *x, double *y),
                  const void *with, double *x, double *y, double *f)
{
    const gfnn_config_t *config = p->config;
    const gfnn_step_t *step = &p->step;
    const size_t values = 3 * (size_t)p->box.fine.plane;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < values; i++)
        x[i] = state->a[i] + (4 / config->dt + step->rayleigh_a) * state->v[i];
    operate(with, &step->M, x, f);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < values; i++)
        x[i] = step->rayleigh_b * state->v[i] - state->u[i];
    operate(with, &step->K, x, y);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < values; i++)
        f[i] = step->unit * (f[i] + y[i]);
    const gfnn_force_t source = gfnn_source(config, &p->box, step, time);
    if (source.at >= 0)
        f[source.at] += source.value;
}

static void by_reference(const void *with, const gfnn_form_t *form, double *x, double *y)
{
    gfnn_oracle_apply(with, form, false, x, y);
}

static void by_simd(const void *with, const gfnn_form_t *form, double *x, double *y)
{
    apply(with, form, x, y);
}

void gfnn_oracle_force(const gfnn_problem_t *p, const gfnn_state_t *state, double time, double *f)
{
    double *x = gfnn_judge_vector(&p->box.fine), *y = gfnn_judge_vector(&p->box.fine);
    force(p, state, time, by_reference, p, x, y, f);
    RT_FREE(x, RT_HOST);
    RT_FREE(y, RT_HOST);
}

static void advance(const oracle_t *o, const double *du, gfnn_state_t *s)
{
    const double dt = o->p->config->dt;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < o->values; i++) {
        s->a[i] = -s->a[i] - 4 * s->v[i] / dt + 4 * du[i] / (dt * dt);
        s->v[i] = -s->v[i] + 2 * du[i] / dt;
        s->u[i] += du[i];
    }
}

static void work_new(oracle_t *o)
{
    const gfnn_box_t *box = &o->p->box;
    o->view = (gfnn_view_t){
        .space = RT_HOST, .box = box, .materials = &o->p->model->materials, .id = o->p->model->id};
    gfnn_operator_simd.set_up(&o->view);
    double **each[] = {&o->f, &o->r, &o->z, &o->q, &o->d, &o->x1};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        *each[i] = gfnn_judge_scratch(&o->scratch, o->g);
    o->inverse = RT_NEW(double, BLOCK *(size_t)o->g->plane, RT_HOST);
    rt_fill(o->inverse, RT_HOST, 0, BLOCK * (size_t)o->g->plane * sizeof(double));
}

static void work_destroy(oracle_t *o)
{
    gfnn_judge_release(&o->scratch, 0);
    RT_FREE(o->inverse, RT_HOST);
    gfnn_operator_simd.tear_down(&o->view);
}

gfnn_oracle_t *gfnn_oracle_new(const gfnn_problem_t *p)
{
    oracle_t o = {.p = p, .g = &p->box.fine, .values = 3 * (size_t)p->box.fine.plane};
    gfnn_oracle_t *made = RT_NEW(gfnn_oracle_t, 1, RT_HOST);
    work_new(&o);
    *made = (gfnn_oracle_t){.operator_error = compare_operator(&o)};
    double **clean[] = {&o.f, &o.r, &o.q, &o.d}; /* ghosts that the comparison left behind */
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        rt_fill(*clean[i], RT_HOST, 0, o.values * sizeof(double));
    make_blocks(&o);
    double **const zero[] = {&made->end.u, &made->end.v, &made->end.a, &made->du, &made->last};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) /* at rest */
        *zero[i] = gfnn_judge_vector(o.g);
    for (int64_t step = 0; step < p->config->steps; step++) {
        force(p, &made->end, (double)(step + 1) * p->config->dt, by_simd, &o, o.x1, o.q, o.f);
        const int64_t iterations = solve(&o, made->last);
        if (step == 0) {
            rt_copy(made->du, RT_HOST, made->last, RT_HOST, o.values * sizeof *made->du);
            made->iterations_bj = iterations;
        }
        if (iterations > made->most_iterations)
            made->most_iterations = iterations;
        advance(&o, made->last, &made->end);
        made->most_u = fmax(made->most_u, gfnn_judge_norm(o.g, made->end.u));
        made->most_du = fmax(made->most_du, gfnn_judge_norm(o.g, made->last));
    }
    made->norm = gfnn_judge_norm(o.g, made->du);
    made->norm_u = gfnn_judge_norm(o.g, made->end.u);
    work_destroy(&o);
    return made;
}

/* --- the transposed steps --- */

/* Draws part t of g: for u, v or a. */
static void draw_functional(const gfnn_problem_t *p, uint64_t seed, int t, double *g)
{
    const double dt = p->config->dt, unit[3] = {1, dt / 2, dt * dt / 4};
    gfnn_judge_draw(&p->box, &p->box.fine, seed + (uint64_t)t, unit[t], 0, g);
}

double gfnn_oracle_functional(const gfnn_problem_t *p, uint64_t seed, const gfnn_state_t *state)
{
    const double *const of[3] = {state->u, state->v, state->a};
    double *g = gfnn_judge_vector(&p->box.fine), sum = 0;
    for (int t = 0; t < 3; t++) {
        draw_functional(p, seed, t, g);
        sum += gfnn_judge_dot(&p->box.fine, g, of[t]);
    }
    RT_FREE(g, RT_HOST);
    return sum;
}

/* Takes a functional of the state after a step to that of the state before it, which has the same
 * value but for the source. The step is that of force() and advance(); A, M and K are symmetric. */
static void go_back(const oracle_t *o, gfnn_state_t *g)
{
    const gfnn_config_t *config = o->p->config;
    const gfnn_step_t *step = &o->p->step;
    const double dt = config->dt, rb = step->rayleigh_b, c1 = 4 / dt + step->rayleigh_a;
    double *h = o->x1, *Mh = o->f, *Kh = o->q;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < o->values; i++)
        o->f[i] = g->u[i] + 2 * g->v[i] / dt + 4 * g->a[i] / (dt * dt);
    solve(o, h);
    apply(o, &step->M, h, Mh);
    apply(o, &step->K, h, Kh);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < o->values; i++) {
        g->u[i] -= step->unit * Kh[i];
        g->v[i] = -g->v[i] - 4 * g->a[i] / dt + step->unit * (c1 * Mh[i] + rb * Kh[i]);
        g->a[i] = -g->a[i] + step->unit * Mh[i];
    }
}

void gfnn_oracle_transpose(const gfnn_problem_t *p, uint64_t seed, gfnn_oracle_t *oracle)
{
    oracle_t o = {.p = p, .g = &p->box.fine, .values = 3 * (size_t)p->box.fine.plane};
    double *g[3];
    work_new(&o);
    make_blocks(&o);
    for (int i = 0; i < 3; i++) {
        g[i] = gfnn_judge_vector(o.g);
        draw_functional(p, seed, i, g[i]);
    }
    gfnn_state_t state = {g[0], g[1], g[2]};
    for (int64_t step = 0; step < p->config->steps; step++)
        go_back(&o, &state);
    oracle->seed = seed;
    oracle->per_v = state.v;
    RT_FREE(g[0], RT_HOST);
    RT_FREE(g[2], RT_HOST);
    work_destroy(&o);
}

void gfnn_oracle_destroy(gfnn_oracle_t *oracle)
{
    if (!oracle)
        return;
    RT_FREE(oracle->du, RT_HOST);
    RT_FREE(oracle->per_v, RT_HOST);
    RT_FREE(oracle->last, RT_HOST);
    RT_FREE(oracle->end.u, RT_HOST);
    RT_FREE(oracle->end.v, RT_HOST);
    RT_FREE(oracle->end.a, RT_HOST);
    RT_FREE(oracle, RT_HOST);
}
