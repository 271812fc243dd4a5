/*
 * test_operator.c - y = A x of the CPU rungs, against a sum over all elements that is independent
 * of ghosts and parity: the matrices of element.c (test_element.c), nodes wrapped by %.
 *
 * Boxes have extents about those of vectors, tiles and chunks, so that each left-over lane, row and
 * chunk occurs. Elements inside are absent too (at free faces only those outside are). y begins as
 * NaN, which must not come through, and nothing outside the region may be written.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/threads.h"
#include "apps/gfnn-wave/judge/judge.h"
#include "apps/gfnn-wave/cpu/cpu.h"
#include "tests/common/check.h"

/* --- a box with random materials and vectors --- */

typedef struct {
    gfnn_box_t box;
    gfnn_materials_t materials;
    uint8_t *id, *element; /* on box.wide; [E[2]][E[1]][E[0]] */
    double *x, *y, *want, *size;
    float *x32, *y32;
    size_t values, values32;
    gfnn_view_t view;
} case_t;

static int64_t wrapped(int64_t i, int64_t n)
{
    return (i % n + n) % n;
}

static void fill_ids(case_t *t, uint64_t seed)
{
    const gfnn_grid_t *g = &t->box.wide;
    const int64_t *E = t->box.E;
    for (int64_t e = 0; e < E[0] * E[1] * E[2]; e++) {
        const int id = (int)(rt_hash((uint64_t)e, seed) % (uint64_t)(t->materials.ids + 1));
        /* whole rows without an absent one, too */
        const bool may = e / E[0] % 3 == 0;
        t->element[e] = (uint8_t)(id < t->materials.ids ? id : may ? GFNN_OUTSIDE : 0);
    }
    const bool periodic = t->box.faces == GFNN_PERIODIC;
    for (int64_t k = -3; k < g->n[2] + 3; k++)
        for (int64_t j = -3; j < g->n[1] + 3; j++)
            for (int64_t i = -3; i < g->n[0] + 3; i++) {
                const int64_t a = wrapped(i, E[0]), b = wrapped(j, E[1]), c = wrapped(k, E[2]);
                const bool there = periodic || (a == i && b == j && c == k);
                t->id[gfnn_at(g, i, j, k)] =
                    there ? t->element[(c * E[1] + b) * E[0] + a] : GFNN_OUTSIDE;
            }
}

/* Random own values that are exact in FP32, with their ghosts. */
static void fill_x(case_t *t, uint64_t seed)
{
    const gfnn_grid_t *fine = &t->box.fine, *wide = &t->box.wide;
    gfnn_judge_draw(&t->box, fine, seed, 1, 0, t->x);
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < fine->n[2]; k++)
            for (int64_t j = 0; j < fine->n[1]; j++)
                for (int64_t i = 0; i < fine->n[0]; i++) {
                    double *x = &t->x[c * fine->plane + gfnn_at(fine, i, j, k)];
                    *x = t->x32[c * wide->plane + gfnn_at(wide, i, j, k)] = (float)*x;
                }
    if (t->box.faces != GFNN_PERIODIC)
        return;
    gfnn_vectors_cpu.wrap(&t->view, 1, RT_F64, t->x);
    gfnn_vectors_cpu.wrap(&t->view, 1, RT_F32, t->x32);
}

static case_t *case_new(const int64_t E[3], int faces, int ids, uint64_t seed)
{
    gfnn_config_t config = {.faces = faces, .reach = GFNN_ND, .n_ranks = {1, 1, 1}};
    case_t *t = RT_NEW(case_t, 1, RT_HOST);
    memset(t, 0, sizeof *t);
    for (int d = 0; d < 3; d++) {
        config.n_elements[d] = E[d];
        config.n_nodes[d] = E[d] + (faces != GFNN_PERIODIC);
    }
    t->box = gfnn_box(&config, 0);
    t->materials.ids = ids;
    for (int id = 0; id < ids; id++) {
        t->materials.vs[id] = 50 + 70 * fabs(rt_random((uint64_t)id, seed));
        t->materials.square[id] = t->materials.vs[id] * t->materials.vs[id];
        t->materials.w[id] = 1;
    }
    t->values = 3 * (size_t)t->box.fine.plane;
    t->values32 = 3 * (size_t)t->box.wide.plane;
    t->id = RT_NEW(uint8_t, (size_t)t->box.wide.plane, RT_HOST);
    t->element = RT_NEW(uint8_t, (size_t)(E[0] * E[1] * E[2]), RT_HOST);
    t->x = RT_NEW(double, t->values, RT_HOST);
    t->y = RT_NEW(double, t->values, RT_HOST);
    t->want = RT_NEW(double, t->values, RT_HOST);
    t->size = RT_NEW(double, t->values, RT_HOST);
    t->x32 = RT_NEW(float, t->values32, RT_HOST);
    t->y32 = RT_NEW(float, t->values32, RT_HOST);
    memset(t->id, GFNN_OUTSIDE, (size_t)t->box.wide.plane);
    memset(t->x32, 0, t->values32 * sizeof *t->x32);
    fill_ids(t, seed);
    t->view = (gfnn_view_t){
        .space = RT_HOST, .box = &t->box, .materials = &t->materials, .id = t->id, .data = NULL};
    fill_x(t, seed);
    return t;
}

static void case_destroy(case_t *t)
{
    RT_FREE(t->id, RT_HOST);
    RT_FREE(t->element, RT_HOST);
    RT_FREE(t->x, RT_HOST);
    RT_FREE(t->y, RT_HOST);
    RT_FREE(t->want, RT_HOST);
    RT_FREE(t->size, RT_HOST);
    RT_FREE(t->x32, RT_HOST);
    RT_FREE(t->y32, RT_HOST);
    RT_FREE(t, RT_HOST);
}

/* want = A x and size = |A| |x|, element after element of the whole box. */
static void work_out(case_t *t, const gfnn_form_t *form)
{
    static double A[GFNN_MAX_IDS][24][24];
    const int64_t *E = t->box.E, *N = t->box.N;
    for (int id = 0; id < t->materials.ids; id++)
        gfnn_element_matrix(form, 1, t->materials.square[id], A[id]);
    memset(t->want, 0, t->values * sizeof *t->want);
    memset(t->size, 0, t->values * sizeof *t->size);
    for (int64_t e = 0; e < E[0] * E[1] * E[2]; e++) {
        const int id = t->element[e];
        int64_t at[24];
        for (int r = 0; r < 24; r++)
            at[r] = r % 3 * t->box.fine.plane + gfnn_at(&t->box.fine, (e % E[0] + r / 3 % 2) % N[0],
                                                        (e / E[0] % E[1] + r / 6 % 2) % N[1],
                                                        (e / (E[0] * E[1]) + r / 12) % N[2]);
        for (int r = 0; id != GFNN_OUTSIDE && r < 24; r++)
            for (int s = 0; s < 24; s++) {
                t->want[at[r]] += A[id][r][s] * t->x[at[s]];
                t->size[at[r]] += fabs(A[id][r][s] * t->x[at[s]]);
            }
    }
}

/* --- comparing --- */

static bool inside(const gfnn_region_t *r, int64_t i, int64_t j, int64_t k)
{
    return i >= r->lo[0] && i < r->hi[0] && j >= r->lo[1] && j < r->hi[1] && k >= r->lo[2] &&
           k < r->hi[2];
}

static gfnn_region_t whole(const gfnn_box_t *box)
{
    return (gfnn_region_t){{0, 0, 0}, {box->n[0], box->n[1], box->n[2]}};
}

static const double STALE = 12345;

/* Sets y: NaN in the region, STALE elsewhere. */
static void forget(case_t *t, const gfnn_region_t *region)
{
    const int64_t *n = t->box.n;
    for (size_t v = 0; v < t->values; v++)
        t->y[v] = STALE;
    for (size_t v = 0; v < t->values32; v++)
        t->y32[v] = (float)STALE;
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < n[2]; k++)
            for (int64_t j = 0; j < n[1]; j++)
                for (int64_t i = 0; i < n[0]; i++)
                    if (inside(region, i, j, k)) {
                        t->y[c * t->box.fine.plane + gfnn_at(&t->box.fine, i, j, k)] = NAN;
                        t->y32[c * t->box.wide.plane + gfnn_at(&t->box.wide, i, j, k)] = NAN;
                    }
}

/* Returns the largest |y - want| in units of the largest size; INFINITY if a node of the region
 * has no value, or one outside it, ghosts included, has got one. */
static double error_of(const case_t *t, const gfnn_region_t *region, bool single)
{
    const gfnn_grid_t *fine = &t->box.fine, *g = single ? &t->box.wide : fine;
    const int64_t h = g->halo;
    double error = 0, size = 0;
    for (int c = 0; c < 3; c++)
        for (int64_t k = -h; k < g->n[2] + h; k++)
            for (int64_t j = -h; j < g->n[1] + h; j++)
                for (int64_t i = -h; i < g->n[0] + h; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    const int64_t of = c * fine->plane + gfnn_at(fine, i, j, k);
                    const double y = single ? (double)t->y32[at] : t->y[at];
                    if (inside(region, i, j, k) ? !rt_finite(y) : y != STALE)
                        return INFINITY;
                    if (!inside(region, i, j, k))
                        continue;
                    error = fmax(error, fabs(y - t->want[of]));
                    size = fmax(size, t->size[of]);
                }
    return size > 0 ? error / size : error;
}

static double dot_of(const case_t *t, const gfnn_region_t *region, const double *x, const double *y)
{
    double sum = 0;
    for (int c = 0; c < 3; c++)
        for (int64_t k = region->lo[2]; k < region->hi[2]; k++)
            for (int64_t j = region->lo[1]; j < region->hi[1]; j++)
                for (int64_t i = region->lo[0]; i < region->hi[0]; i++) {
                    const int64_t at = c * t->box.fine.plane + gfnn_at(&t->box.fine, i, j, k);
                    sum += x[at] * y[at];
                }
    return sum;
}

/* Sums of 8 elements with 24 terms each have at most 192 roundings, one after the other; those of
 * random signs stay far below. */
static const double BOUND = 16 * RT_EPS, BOUND32 = 16 * 0x1p-24;

static double worst, worst32;

/* Makes a product of the case's x; dot NULL: without x . y. */
static void apply(const case_t *t, const gfnn_operator_t *op, const gfnn_form_t *form,
                  const gfnn_region_t *region, gfnn_type_t type, double *dot)
{
    const bool single = type == GFNN_SINGLE;
    op->apply(&t->view, &(gfnn_product_t){.form = form,
                                          .region = *region,
                                          .type = type,
                                          .x = single ? (void *)t->x32 : t->x,
                                          .y = single ? (void *)t->y32 : t->y,
                                          .dot = dot});
}

static void check_region(case_t *t, const gfnn_operator_t *op, const gfnn_form_t *form,
                         const gfnn_region_t *region)
{
    forget(t, region);
    apply(t, op, form, region, GFNN_DOUBLE, NULL);
    const double error = error_of(t, region, false);
    CHECK(error <= BOUND);
    worst = fmax(worst, error);
    if (op->single) {
        apply(t, op, form, region, GFNN_SINGLE, NULL);
        const double error32 = error_of(t, region, true);
        CHECK(error32 <= BOUND32);
        worst32 = fmax(worst32, error32);
    }
    if (!op->sums)
        return;
    forget(t, region);
    double dot = NAN, size = 0;
    apply(t, op, form, region, GFNN_DOUBLE, &dot);
    CHECK(error_of(t, region, false) <= BOUND);
    for (size_t v = 0; v < t->values; v++)
        size += t->size[v];
    CHECK(fabs(dot - dot_of(t, region, t->x, t->want)) <= BOUND * size);
}

/* Applies to the whole box, and in parts as a solve does: inner nodes, then layers at the faces. */
static void check_regions(case_t *t, const gfnn_operator_t *op, const gfnn_form_t *form)
{
    gfnn_region_t all = whole(&t->box);
    check_region(t, op, form, &all);
    for (int d = 0; d < 3; d++) {
        gfnn_region_t part = all;
        part.hi[d] = all.lo[d] + 1;
        check_region(t, op, form, &part);
        part.lo[d] = all.hi[d] - 1;
        part.hi[d] = all.hi[d];
        check_region(t, op, form, &part);
        all.lo[d]++;
        all.hi[d]--;
        check_region(t, op, form, &all);
    }
    all.hi[1] = all.lo[1];
    check_region(t, op, form, &all); /* empty */
}

/* --- tests --- */

static void test_boxes(const gfnn_operator_t *op)
{
    /* of the solve, mass alone, stiffness alone; squares are thousands */
    const gfnn_form_t form[3] = {{1, 4, 1e-4}, {1, 0, 0}, {0, 2, 3e-4}};
    const int64_t E[8][3] = {{3, 3, 3},  {4, 5, 3},  {7, 3, 4},   {8, 4, 3},
                             {15, 9, 3}, {17, 3, 9}, {33, 51, 3}, {530, 3, 3}};
    for (int b = 0; b < 8; b++)
        for (int faces = 0; faces < GFNN_FACES; faces++) {
            case_t *t = case_new(E[b], faces, b == 4 ? 255 : 6, (uint64_t)(10 * b + faces));
            if (op->set_up)
                op->set_up(&t->view);
            const gfnn_form_t *f = &form[(b + faces) % 3];
            work_out(t, f);
            check_regions(t, op, f);
            if (op->tear_down)
                op->tear_down(&t->view);
            case_destroy(t);
        }
}

/* The same bits on 1, 2, 3 and 6 threads, or the same result but for rounding. */
static void test_threads(const gfnn_operator_t *op, bool reproducible)
{
    const gfnn_form_t form = {1, 4, 1e-4};
    case_t *t = case_new((int64_t[3]){21, 29, 7}, GFNN_PERIODIC, 6, 99);
    const gfnn_region_t all = whole(&t->box);
    double dot[4] = {0};
    float *y32 = RT_NEW(float, t->values32, RT_HOST);
    op->set_up ? op->set_up(&t->view) : (void)0;
    work_out(t, &form); /* for the size of the terms */
    for (int run = 0; run < 4; run++) {
        rt_threads_set((int[4]){1, 2, 3, 6}[run]);
        forget(t, &all);
        apply(t, op, &form, &all, GFNN_DOUBLE, op->sums ? &dot[run] : NULL);
        if (op->single)
            apply(t, op, &form, &all, GFNN_SINGLE, NULL);
        if (run == 0) {
            memcpy(t->want, t->y, t->values * sizeof *t->y);
            memcpy(y32, t->y32, t->values32 * sizeof *y32);
        }
        CHECK(error_of(t, &all, false) <= (reproducible ? 0 : BOUND));
        CHECK(memcmp(y32, t->y32, t->values32 * sizeof *y32) == 0);
        CHECK(memcmp(&dot[0], &dot[run], sizeof *dot) == 0);
    }
    rt_threads_set(1);
    op->tear_down ? op->tear_down(&t->view) : (void)0;
    RT_FREE(y32, RT_HOST);
    case_destroy(t);
}

/* Checks the oracle's |A| |x|, of which bounds are made. */
static void test_absolute(void)
{
    const gfnn_form_t form = {1, 4, 1e-4};
    case_t *t = case_new((int64_t[3]){6, 5, 4}, GFNN_FREE, 6, 55);
    const gfnn_region_t all = whole(&t->box);
    work_out(t, &form);
    forget(t, &all);
    gfnn_apply_reference(&t->box, &t->materials, t->id, &form, false, t->x, t->y);
    CHECK(error_of(t, &all, false) <= BOUND);
    memcpy(t->want, t->size, t->values * sizeof *t->want);
    forget(t, &all);
    gfnn_apply_reference(&t->box, &t->materials, t->id, &form, true, t->x, t->y);
    CHECK(error_of(t, &all, false) <= BOUND);
    case_destroy(t);
}

int main(void)
{
    rt_threads_set(1); /* many small boxes: more threads would only wait for each other */
    test_absolute();
    for (int r = 0; r < gfnn_app.n_rungs; r++) {
        const gfnn_kernels_t *rung = (const gfnn_kernels_t *)gfnn_app.ladder[r].kernels;
        if (gfnn_app.ladder[r].kind != RT_CPU || rung->ladder != GFNN_LADDER_OPERATOR)
            continue;
        test_boxes(rung->op);
        test_threads(rung->op, rung->rung.reproducible);
    }
    printf("largest error: %.2g of %.2g, FP32 %.2g of %.2g\n", worst, BOUND, worst32, BOUND32);
    return check_done();
}
