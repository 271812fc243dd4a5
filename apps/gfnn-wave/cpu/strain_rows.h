/*
 * strain_rows.h - what cpu-coloured, cpu-atomic and cpu-recompute share: a pass over elements that
 * add B^T D B u to y (strain.h), and the variables of every element that the first two keep.
 */
#ifndef GFNN_STRAIN_ROWS_H
#define GFNN_STRAIN_ROWS_H

#include <string.h>
#include "apps/gfnn-wave/operator/strain.h"

enum { GFNN_MASS, GFNN_LAMBDA, GFNN_MU, GFNN_STORED };

/* The variables of all elements for one form: [GFNN_STORED] planes of box->wide. */
typedef struct {
    gfnn_form_t form; /* zeros at first */
    double *variable;
} gfnn_stored_t;

static inline void gfnn_stored_set_up(gfnn_view_t *view)
{
    gfnn_stored_t *stored = RT_NEW(gfnn_stored_t, 1, RT_HOST);
    memset(stored, 0, sizeof *stored);
    stored->variable = RT_NEW(double, (size_t)(GFNN_STORED * view->box->wide.plane), RT_HOST);
    view->data = stored;
}

static inline void gfnn_stored_tear_down(gfnn_view_t *view)
{
    gfnn_stored_t *stored = view->data;
    RT_FREE(stored->variable, RT_HOST);
    RT_FREE(stored, RT_HOST);
    view->data = NULL;
}

static inline double gfnn_stored_memory(const gfnn_config_t *config, const gfnn_box_t *box)
{
    (void)config;
    return GFNN_STORED * sizeof(double) * (double)box->wide.plane;
}

/* Computes the variables of every element, if they are those of another form. */
static inline const double *gfnn_stored(const gfnn_view_t *view, const gfnn_form_t *form)
{
    gfnn_stored_t *stored = view->data;
    const gfnn_materials_t *materials = view->materials;
    const gfnn_grid_t *g = &view->box->wide;
    if (memcmp(&stored->form, form, sizeof *form) == 0)
        return stored->variable;
    stored->form = *form;
#pragma omp parallel for schedule(static)
    for (int64_t k = -1; k < g->n[2]; k++)
        for (int64_t j = -1; j < g->n[1]; j++)
            for (int64_t i = -1; i < g->n[0]; i++) {
                const int64_t at = gfnn_at(g, i, j, k);
                const uint8_t id = view->id[at];
                double *variable = stored->variable + at;
                gfnn_elasticity(form, materials->w[id], materials->square[id],
                                variable + GFNN_MASS * g->plane, variable + GFNN_LAMBDA * g->plane,
                                variable + GFNN_MU * g->plane);
            }
    return stored->variable;
}

/* The table of a rung that keeps them. */
#define GFNN_KEEPS_VARIABLES(table_, reproducible_)                        \
    static const gfnn_operator_t op = {.apply = apply,                     \
                                       .set_up = gfnn_stored_set_up,       \
                                       .tear_down = gfnn_stored_tear_down, \
                                       .memory = gfnn_stored_memory};      \
    const gfnn_kernels_t table_ = {                                        \
        .rung = {.precision = "FP64", .reproducible = reproducible_},      \
        .ladder = GFNN_LADDER_OPERATOR,                                    \
        .op = &op,                                                         \
    }

/* y = 0 over the region. Called by all threads of a team, which wait for each other at its end. */
static inline void gfnn_strain_clear(const gfnn_grid_t *g, const gfnn_region_t *r, double *y)
{
#pragma omp for collapse(3) schedule(static)
    for (int c = 0; c < 3; c++)
        for (int64_t k = r->lo[2]; k < r->hi[2]; k++)
            for (int64_t j = r->lo[1]; j < r->hi[1]; j++)
                for (int64_t i = r->lo[0]; i < r->hi[0]; i++)
                    y[c * g->plane + gfnn_at(g, i, j, k)] = 0;
}

/* f = B^T D B u for the element whose lower corner is x[0]. */
GFNN_FN void gfnn_strain_product(const gfnn_grid_t *g, const double *x, double mass, double lambda,
                                 double mu, double f[24])
{
    gfnn_component_t p[3];
    double u[24];
    GFNN_STRAIN_UNROLL
    for (int a = 0; a < 8; a++) {
        GFNN_STRAIN_UNROLL
        for (int c = 0; c < 3; c++)
            u[3 * a + c] = x[c * g->plane + (a >> 2) * g->slab + (a >> 1 & 1) * g->pitch + (a & 1)];
    }
    gfnn_strain_points(u, p);
    gfnn_strain_corners(p, mass, lambda, mu, f);
}

/* Returns whether corner a of element (i, j, k) is a node of the region. */
GFNN_FN bool gfnn_strain_own(const gfnn_region_t *r, int64_t i, int64_t j, int64_t k, int a)
{
    return gfnn_is_inside(r, i + (a & 1), j + (a >> 1 & 1), k + (a >> 2));
}

/* Adds f to those corners of an element that are nodes of the region, while others do the same. */
GFNN_FN void gfnn_strain_add(const gfnn_grid_t *g, const gfnn_region_t *r, int64_t i, int64_t j,
                             int64_t k, const double f[24], double *y)
{
    double *corner = y + gfnn_at(g, i, j, k);
    GFNN_STRAIN_UNROLL
    for (int a = 0; a < 8; a++) {
        double *to = corner + (a >> 2) * g->slab + (a >> 1 & 1) * g->pitch + (a & 1);
        if (!gfnn_strain_own(r, i, j, k, a))
            continue;
        GFNN_STRAIN_UNROLL
        for (int c = 0; c < 3; c++) {
#pragma omp atomic
            to[c * g->plane] += f[3 * a + c];
        }
    }
}

#endif
