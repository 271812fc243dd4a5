/*
 * test_kernels.c - A x and P r of the CPU rungs where the programs' runs do not go: rows and layers about as
 * long as vectors, tiles and chunks, absent elements inside, 255 materials, kernels of any number and reach,
 * arrays that end where a page begins that must not be touched. The judge compares.
 */
#include "config.h"
#include <math.h>
#include "apps/gfnn-wave/loops/node.h"
#include "base/threads.h"
#include "gfnn_test.h"
#include "tests/common/guarded.h"

static const double MARK = -77;

typedef struct {
    gfnn_test_t test;
    gfnn_bench_t b; /* the judge's */
    rt_verdict_t verdict;
    size_t fine, wide;       /* values of a vector */
    double *x, *want, *size; /* on fine: A x by the definition, |A| |x| */
} case_t;

static void case_new(case_t *t, const int64_t E[3], const char *settings)
{
    rt_text_t text;
    gfnn_test_new(&t->test, rt_text(&text, "elements=%dx%dx%d %s", (int)E[0], (int)E[1], (int)E[2],
                                    settings));
    gfnn_problem_t *p = t->test.problem;
    t->b = (gfnn_bench_t){.p = p, .box = &p->box, .verdict = &t->verdict, .seed = 1};
    t->fine = 3 * (size_t)p->box.fine.plane;
    t->wide = 3 * (size_t)p->box.wide.plane;
    rt_verdict_clear(&t->verdict);
}

static void check_verdict(const case_t *t)
{
    CHECK(t->verdict.valid);
    if (!t->verdict.valid)
        rt_verdict_print(&t->verdict, stderr);
}

static void *guarded(size_t bytes)
{
    return memset(guarded_new(bytes), 0, bytes);
}

/* --- the operator --- */

/* Random materials, and rows of elements with and without absent ones. */
static void mix(const case_t *t, int ids)
{
    gfnn_model_t *model = (gfnn_model_t *)t->b.p->model;
    model->materials.ids = ids;
    for (int id = 0; id < ids; id++) {
        model->materials.vs[id] = 50 + 70 * fabs(rt_random((uint64_t)id, 1));
        model->materials.square[id] = model->materials.vs[id] * model->materials.vs[id];
        model->materials.w[id] = 1;
    }
    for (int64_t at = 0; at < t->b.box->wide.plane; at++) {
        const int id = (int)(rt_hash((uint64_t)at, 2) % (uint64_t)(ids + 1));
        const bool may = at / t->b.box->wide.pitch % 3 == 0;
        if (model->id[at] != GFNN_OUTSIDE)
            model->id[at] = (uint8_t)(id < ids ? id : may ? GFNN_OUTSIDE : 0);
    }
}

/* Checks A x, with x . A x or without: no ghost may be written. x is on `fine`. Returns a digest of
 * the bits. */
static uint64_t check_product(case_t *t, gfnn_type_t type, bool sums)
{
    const gfnn_solver_t *s = t->b.s;
    const gfnn_grid_t *fine = &t->b.box->fine, *g = type == GFNN_SINGLE ? &t->b.box->wide : fine;
    const rt_type_t value = type == GFNN_SINGLE ? RT_F32 : RT_F64;
    const double bound = 256 * (type == GFNN_SINGLE ? 0x1p-24 : RT_EPS);
    double *y = gfnn_judge_vector(g), dot = 0, want_dot = 0, size_dot = 0;
    gfnn_product_t product = {.form = &t->b.p->step.A,
                              .type = type,
                              .x = type == GFNN_SINGLE ? s->cg.p : s->x,
                              .y = type == GFNN_SINGLE ? s->cg.q : s->q,
                              .dot = sums ? &dot : NULL};
    for (int64_t v = 0; v < 3 * g->plane; v++)
        y[v] = MARK;
    gfnn_judge_put(s, g, value, y, product.y);
    s->kernels->op->apply(&s->view_op, &product);
    gfnn_judge_get(s, g, value, product.y, y);
    uint64_t digest = 0, bits;
    int64_t wrong = 0, h = g->halo;
    for (int c = 0; c < 3; c++)
        for (int64_t k = -h; k < g->n[2] + h; k++)
            for (int64_t j = -h; j < g->n[1] + h; j++)
                for (int64_t i = -h; i < g->n[0] + h; i++) {
                    const double got = y[c * g->plane + gfnn_at(g, i, j, k)];
                    const int64_t of = c * fine->plane + gfnn_at(fine, i, j, k);
                    memcpy(&bits, &got, sizeof bits);
                    digest = rt_hash(digest ^ bits, 1);
                    if (!gfnn_is_own(g, i, j, k)) {
                        wrong += got != MARK;
                        continue;
                    }
                    wrong += !(fabs(got - t->want[of]) <= bound * t->size[of]);
                    want_dot += t->x[of] * t->want[of];
                    size_dot += t->size[of];
                }
    CHECK(wrong == 0 && (!sums || fabs(dot - want_dot) <= bound * size_dot));
    RT_FREE(y, RT_HOST);
    memcpy(&bits, &dot, sizeof bits);
    return digest ^ bits;
}

/* Draws x for both types, and does them by the definition. */
static void work_out(case_t *t)
{
    const gfnn_solver_t *s = t->b.s;
    const gfnn_grid_t *fine = &t->b.box->fine, *wide = &t->b.box->wide;
    double *x32 = gfnn_judge_scratch(&t->b.scratch, wide);
    t->x = gfnn_judge_scratch(&t->b.scratch, fine);
    t->want = gfnn_judge_scratch(&t->b.scratch, fine);
    t->size = gfnn_judge_scratch(&t->b.scratch, fine);
    gfnn_judge_draw(t->b.box, fine, 3, 1, 0, t->x);
    gfnn_judge_draw(t->b.box, wide, 3, 1, 0, x32);
    gfnn_judge_round(fine, RT_F32, t->x);
    gfnn_oracle_apply(t->b.p, &t->b.p->step.A, false, t->x, t->want);
    gfnn_oracle_apply(t->b.p, &t->b.p->step.A, true, t->x, t->size);
    gfnn_judge_put(s, fine, RT_F64, t->x, s->x);
    if (!s->cg.p)
        return;
    gfnn_judge_put(s, wide, RT_F32, x32, s->cg.p);
    if (t->b.box->faces == GFNN_PERIODIC)
        s->vectors->wrap(&s->view_vec, 1, RT_F32, s->cg.p);
}

/* The rung's vectors in guarded memory, FP32 too, as in a solve, where it has that. threads: on several
 * too, with the same bits if the rung claims that. */
static void check_operator(const rt_rung_t *rung, const int64_t E[3], const char *faces, int ids,
                           bool threads)
{
    case_t t;
    case_new(&t, E, faces);
    mix(&t, ids);
    gfnn_solver_t *s = t.b.s = gfnn_test_solver(&t.test, rung->name);
    const bool single = s->kernels->op->single;
    double *const x = s->x, *const q = s->q;
    s->x = guarded(t.fine * sizeof *x);
    s->q = guarded(t.fine * sizeof *q);
    if (single) {
        s->cg.p = s->z = guarded(t.wide * sizeof *s->z);
        s->cg.q = s->t32 = guarded(t.wide * sizeof *s->t32);
    }
    gfnn_verify_operator(&t.b);
    check_verdict(&t);
    work_out(&t);
    for (int way = 0; way < 4; way++) {
        const bool sums = way % 2;
        if ((way / 2 && !single) || (sums && !s->kernels->op->sums))
            continue;
        const uint64_t one = check_product(&t, way / 2, sums);
        for (int run = 0; run < 3 && threads; run++) {
            rt_threads_set((int[]){2, 3, 6}[run]);
            CHECK(check_product(&t, way / 2, sums) == one || !s->kernels->rung.reproducible);
        }
        rt_threads_set(1);
    }
    gfnn_judge_release(&t.b.scratch, 0);
    guarded_free((char *)s->x, t.fine * sizeof *x);
    guarded_free((char *)s->q, t.fine * sizeof *q);
    if (single) {
        guarded_free((char *)s->z, t.wide * sizeof *s->z);
        guarded_free((char *)s->t32, t.wide * sizeof *s->t32);
    }
    s->x = x;
    s->q = q;
    s->z = s->t32 = NULL;
    s->cg.p = s->cg.q = NULL;
    gfnn_test_destroy(&t.test);
}

static void check_operators(const rt_rung_t *rung)
{
    static const int64_t E[8][3] = {{3, 3, 3},   {4, 5, 3},  {7, 3, 4},   {8, 4, 3},
                                    {15, 29, 7}, {17, 3, 9}, {33, 51, 3}, {530, 3, 3}};
    for (int b = 0; b < 8; b++) {
        check_operator(rung, E[b], "precond=bj faces=periodic", b == 4 ? 255 : 6, b == 4);
        check_operator(rung, E[b], "precond=bj faces=free", b == 4 ? 255 : 6, b == 4);
    }
}

/* --- the predictor --- */

/* Gives the rung random coefficients and kernels, so many; 0: gf8. */
static void other_network(case_t *t, int reach, int kernels)
{
    static float K[GFNN_MAX_KERNELS * 9 * 13 * 13 * 13];
    gfnn_solver_t *s = t->b.s;
    gfnn_network_t *network = &s->network;
    const gfnn_predictor_t *predictor = s->kernels->predictor[network->precision];
    const int64_t taps = gfnn_stencil(reach);
    for (int64_t v = 0; v < network->coefs * t->b.box->bare.plane; v++)
        t->b.p->coef[v] = (float)rt_random((uint64_t)v, 2);
    for (int64_t v = 0; v < (kernels ? kernels : 1) * 9 * taps; v++)
        K[v] = (float)rt_random((uint64_t)v, 1);
    for (int row = 0; kernels == 0 && row < 3; row++) /* symmetric */
        for (int column = 0; column < row; column++)
            memcpy(&K[(3 * row + column) * taps], &K[(3 * column + row) * taps],
                   (size_t)taps * sizeof *K);
    if (predictor->tear_down)
        predictor->tear_down(&s->view_net);
    network->K = K;
    network->reach = reach;
    if (kernels > 0) {
        network->form = GFNN_GFM;
        network->kernels = network->coefs = kernels;
    }
    if (predictor->set_up)
        predictor->set_up(&s->view_net, network);
}

/* The same bits on any number of threads, and no ghost of z touched. */
static void check_again(case_t *t)
{
    gfnn_solver_t *s = t->b.s;
    const int64_t *n = t->b.box->n;
    float *one = RT_NEW(float, t->wide, RT_HOST);
    for (int run = 0; run < 2; run++) {
        int64_t written = 0;
        rt_threads_set(run ? 4 : 1);
        for (size_t v = 0; v < t->wide; v++)
            s->z[v] = (float)MARK;
        gfnn_predict(s, false);
        for (size_t v = 0; v < t->wide; v++)
            written += s->z[v] != (float)MARK;
        CHECK(written == 3 * n[0] * n[1] * n[2]);
        if (run == 0)
            memcpy(one, s->z, t->wide * sizeof *one);
        CHECK(s->kernels->rung.reproducible && !memcmp(one, s->z, t->wide * sizeof *one));
    }
    rt_threads_set(1);
    RT_FREE(one, RT_HOST);
}

static void check_predictor(const rt_rung_t *rung, const int64_t n[3], int reach, int kernels,
                            int more, const char *precision)
{
    case_t t;
    rt_text_t text;
    rt_text(&text, "precond=gf8 reach=%d faces=%s precision=%s",
            reach == GFNN_ND ? reach : GFNN_MAX_ND, more ? "free" : "periodic", precision);
    case_new(&t, (int64_t[]){n[0] - more, n[1] - more, n[2] - more}, text.text);
    gfnn_solver_t *s = t.b.s = gfnn_test_solver(&t.test, rung->name);
    void *const r32 = s->r32, *const low = s->low;
    const size_t bytes = t.wide * (low ? sizeof(uint16_t) : sizeof(float));
    char *r = guarded(bytes);
    other_network(&t, reach, kernels);
    if (low)
        s->low = r;
    else
        s->r32 = (float *)r;
    gfnn_verify_predictor(&t.b);
    check_verdict(&t);
    check_again(&t);
    guarded_free(r, bytes);
    s->r32 = r32;
    s->low = low;
    gfnn_test_destroy(&t.test);
}

/* Rows shorter than a vector, of one, with a remainder, of several blocks. */
static void check_predictors(const rt_rung_t *rung)
{
    static const struct {
        int64_t n[3]; /* nodes */
        int reach, kernels;
    } cases[] = {{{3, 4, 5}, 3, 1},  {{16, 3, 4}, 3, 2}, {{37, 5, 3}, 3, 2},  {{17, 3, 3}, 3, 3},
                 {{9, 4, 3}, 3, 4},  {{33, 3, 3}, 3, 8}, {{131, 3, 3}, 3, 1}, {{5, 3, 4}, 3, 0},
                 {{53, 4, 3}, 3, 0}, {{64, 3, 3}, 3, 0}, {{17, 6, 6}, 4, 3},  {{3, 2, 3}, 4, 1},
                 {{21, 6, 6}, 5, 0}, {{3, 2, 3}, 5, 1},  {{17, 6, 6}, 6, 3},  {{3, 2, 3}, 6, 1},
                 {{16, 6, 6}, 6, 0}, {{21, 3, 2}, 4, 0}, {{17, 6, 6}, 5, 3}};
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++)
        for (int precision = 0; precision < GFNN_PRECISIONS; precision++)
            check_predictor(rung, cases[c].n, cases[c].reach, cases[c].kernels, c % 2,
                            precision == GFNN_FP16 ? "fp16" : "fp32");
}

static void halves(void)
{
    bool good = true;
    for (uint32_t h = 0; h < 0x8000; h++) {
        const int exponent = (int)(h >> 10), fraction = (int)(h & 0x3ff);
        const double want = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        const float got = gfnn_from_half((uint16_t)h),
                    minus = gfnn_from_half((uint16_t)(h | 0x8000));
        if (exponent == 31) {
            good = good && (fraction ? isnan(got) : isinf(got) && got > 0);
        } else {
            const double next = (double)gfnn_from_half((uint16_t)(h + 1));
            const float middle = (float)(want + (h == 0x7bff ? 16 : (next - want) / 2));
            good = good && (double)got == want && (double)minus == -want;
            good = good && gfnn_to_half(got) == h && gfnn_to_half(minus) == (h | 0x8000);
            good = good && gfnn_to_half(middle) == h + (h & 1); /* ties to even */
            good = good && gfnn_to_half(nextafterf(middle, 0)) == h;
            good = good && gfnn_to_half(nextafterf(middle, INFINITY)) == h + 1;
        }
    }
    CHECK(good);
    CHECK(gfnn_to_half(INFINITY) == 0x7c00 && gfnn_to_half(1e30f) == 0x7c00);
    CHECK(isnan(gfnn_from_half(gfnn_to_half(NAN))));
}

int main(int argc, char **argv)
{
    app_test_start_on(1, "test_kernels", &argc, &argv);
    for (int r = 0; r < gfnn_app.n_rungs; r++) {
        const rt_rung_t *rung = &gfnn_app.ladder[r];
        const gfnn_kernels_t *kernels = (const gfnn_kernels_t *)rung->kernels;
        if (rung->kind == RT_CPU && kernels->ladder == GFNN_LADDER_OPERATOR)
            check_operators(rung);
        else if (rung->kind == RT_CPU && kernels->ladder == GFNN_LADDER_PREDICTOR)
            check_predictors(rung);
    }
    halves();
    return app_test_stop(check_done());
}
