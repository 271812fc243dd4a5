/*
 * march_test.h - a flow on one rank, with what the phases of a step need: for tests of the step.
 */
#ifndef MCPI_MARCH_TEST_H
#define MCPI_MARCH_TEST_H

#include <math.h>
#include <string.h>
#include "apps/fun3d-mcpi/mcpi.h"
#include "apps/fun3d-mcpi/flow/tile.h"
#include "tests/common/check.h"
#include "tests/fun3d-mcpi/flow_test.h"

enum { NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q };

typedef struct {
    mcpi_source_t *source;
    uint16_t *colour;
    mcpi_order_t *order;
    mcpi_part_t *part;
    mcpi_geometry_t *geometry;
    mcpi_field_t f;
    double *dq;
    bool first_order; /* the slopes stay 0 */
} flow_t;

static inline double *array(int64_t n)
{
    double *x = RT_NEW(double, (size_t)n, RT_HOST);
    memset(x, 0, (size_t)n * sizeof *x);
    return x;
}

static inline flow_t flow_new(const rt_mesh_t *mesh, const char *walls, const char *symmetry,
                              double mu)
{
    const mcpi_flow_t made_up = {
        .nb = NB, .cfl = 10, .mach = 0.5, .reynolds = 100, .walls = walls, .symmetry = symmetry};
    mcpi_piece_t *piece = mcpi_piece_new(mesh->vertices, mesh->vertices);
    flow_t t = {.source = mcpi_flow_new(mesh, piece, &made_up)};
    const int64_t rows = t.source->graph->rows;
    t.colour = RT_NEW(uint16_t, (size_t)rows, RT_HOST);
    const int colours = mcpi_colour(t.source->graph, piece, t.source->odd, t.colour);
    t.order = mcpi_order_new(piece, t.colour, colours, t.source->x);
    t.part = mcpi_part_new(t.source->graph, piece, t.order);
    t.geometry = mcpi_geometry_new(t.source, t.part, mu > 0);
    const mcpi_geometry_t *g = t.geometry;
    t.dq = array(NB * rows);
    t.f = (mcpi_field_t){.rows = rows,
                         .start = t.part->short_start,
                         .column = t.part->column,
                         .x = g->x,
                         .n = g->n,
                         .viscous = g->viscous,
                         .diagonal = g->diagonal,
                         .fit = g->fit,
                         .surface = g->surface,
                         .side_of = g->side_of,
                         .side = g->side,
                         .gas = {.stream = {1, 0.5, 0.1, -0.05, 1 / MCPI_GAMMA}, .mu = mu},
                         .w = array(NB * rows),
                         .gradient = array(3 * NB * rows),
                         .R = array(NB * rows),
                         .rate = array(rows),
                         .scale = array(rows),
                         .sums = array(rows / MCPI_NORM_CHUNK + 2),
                         .O = array(BLOCK * t.part->start[rows]),
                         .LU = array(BLOCK * rows),
                         .right = array(NB * rows),
                         .dq = t.dq};
    return t;
}

static inline void flow_destroy(flow_t *t)
{
    void *const arrays[] = {
        t->f.w, t->f.gradient, t->f.R,     t->f.rate, t->f.scale,          t->f.sums,
        t->f.O, t->f.LU,       t->f.right, t->dq,     (void *)t->f.source, (void *)t->f.outside};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        rt_free(arrays[k], RT_HOST);
    mcpi_geometry_destroy(t->geometry);
    mcpi_part_destroy(t->part);
    RT_FREE_ALL(RT_HOST, t->order->start, t->order->row, t->order->curve, t->order);
    RT_FREE(t->colour, RT_HOST);
    mcpi_source_destroy(t->source);
}

static inline const mcpi_phases_t *simd(void)
{
    return ((const mcpi_kernels_t *)rt_app_rung(&mcpi_app, "flow-simd")->kernels)->phases;
}

static inline void set_stream(flow_t *t, double size)
{
    for (int64_t k = 0; k < NB * t->f.rows; k++) {
        const double stream = t->f.gas.stream[k % NB];
        const double random = size * rt_random((uint64_t)k, 5);
        t->f.w[k] = k % NB == 0 || k % NB == 4 ? stream * (1 + random) : stream + random;
    }
}

static inline void residual(flow_t *t)
{
    if (!t->first_order)
        simd()->gradient(&t->f);
    simd()->residual(&t->f);
}

#endif
