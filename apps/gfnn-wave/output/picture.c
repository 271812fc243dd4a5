/*
 * picture.c - --picture: u, the residual of the last step over |f| (or what green.c shows) and the
 * materials of all nodes, for ParaView and `rooftop picture`.
 *
 * No rank ever holds the whole box. A .vti file has a place for each value, so rank 0 receives the
 * layers of one rank after the other and puts their rows there.
 *
 * Rank 0 writes. If it fails, it still takes part in everything collective and prints one line at
 * the end. The file is written whole or not at all.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"
#include "io/vtk.h"

/* Returns the material that a node is shown with: that of the element above it in x, y and z, or
 * the last one. */
static uint8_t material(const gfnn_problem_t *p, int64_t i, int64_t j, int64_t k)
{
    int64_t at[3] = {i, j, k};
    for (int d = 0; d < 3; d++)
        at[d] -= p->box.first[d] + at[d] == p->box.E[d];
    return p->model->id[gfnn_at(&p->box.wide, at[0], at[1], at[2])];
}

/* --- .vti --- */

enum { VECTOR = 3 * sizeof(float) }; /* bytes of a node */

static void vti_begin(rt_vtk_t *vtk, const gfnn_problem_t *p, const char *const names[],
                      const int64_t source[3], const char *path)
{
    rt_vtk_array_t arrays[GFNN_MOST_SHOWN + 2] = {{NULL, NULL, 0}};
    const double ds = p->config->ds;
    rt_text_t facts;
    int n = 0;
    for (; names[n]; n++)
        arrays[n] = (rt_vtk_array_t){names[n], "Float32", 3};
    arrays[n] = (rt_vtk_array_t){"material", "UInt8", 1};
    rt_text(&facts,
            "<FieldData>\n<DataArray type=\"Float64\" Name=\"source\" NumberOfTuples=\"1\" "
            "NumberOfComponents=\"3\" format=\"ascii\">%.9g %.9g %.9g</DataArray>\n"
            "</FieldData>\n",
            ds * (double)source[0], ds * (double)source[1], ds * (double)source[2]);
    rt_vtk_box_begin(vtk, path, p->box.N, ds, facts.text, arrays);
}

static void pack_vectors(const gfnn_grid_t *g, const double *from, int64_t k, unsigned char *to)
{
    for (int64_t j = 0; j < g->n[1]; j++)
        for (int64_t i = 0; i < g->n[0]; i++, to += VECTOR) {
            const int64_t at = gfnn_at(g, i, j, k);
            const float value[3] = {(float)from[at], (float)from[g->plane + at],
                                    (float)from[2 * g->plane + at]};
            memcpy(to, value, sizeof value);
        }
}

/* Packs layer k of this rank: n vectors of all its nodes, one after the other, then the materials. */
static void pack_layer(const gfnn_problem_t *p, int n, const double *const vectors[], int64_t k,
                       unsigned char *layer)
{
    const gfnn_grid_t *g = &p->box.fine;
    const int64_t nodes = g->n[0] * g->n[1];
    for (int v = 0; v < n; v++)
        pack_vectors(g, vectors[v], k, layer + v * VECTOR * nodes);
    for (int64_t at = 0; at < nodes; at++)
        layer[n * VECTOR * nodes + at] = material(p, at % g->n[0], at / g->n[0], k);
}

static void put_layer(rt_vtk_t *vtk, int vectors, const gfnn_box_t *from, int64_t k,
                      const unsigned char *layer)
{
    const int64_t *n = from->n, *N = from->N, nodes = n[0] * n[1];
    for (int64_t j = 0; j < n[1]; j++) {
        const int64_t node =
            ((from->first[2] + k) * N[1] + from->first[1] + j) * N[0] + from->first[0];
        for (int v = 0; v < vectors; v++)
            rt_vtk_put(vtk, v, node, layer + VECTOR * (v * nodes + j * n[0]), n[0]);
        rt_vtk_put(vtk, vectors, node, layer + vectors * VECTOR * nodes + j * n[0], n[0]);
    }
}

void gfnn_write_vti(const gfnn_problem_t *p, const char *const names[],
                    const double *const vectors[], const int64_t source[3], const char *path)
{
    const bool writer = rt_comm_rank() == 0;
    int shown = 0;
    while (names[shown])
        shown++;
    const int64_t bytes = (shown * (int64_t)VECTOR + 1) * p->box.n[0] * p->box.n[1];
    unsigned char *layer = RT_NEW(unsigned char, (size_t)bytes, RT_HOST);
    int64_t n;
    rt_vtk_t *vtk = RT_NEW(rt_vtk_t, 1, RT_HOST);
    if (writer)
        vti_begin(vtk, p, names, source, path);
    for (int rank = 0; rank < rt_comm_size(); rank++) {
        const gfnn_box_t from = gfnn_box(p->config, rank);
        const bool mine = rt_comm_rank() == rank;
        for (int64_t k = 0; k < from.n[2]; k++) {
            if (mine)
                pack_layer(p, shown, vectors, k, layer);
            void *got = rt_comm_gather(layer, mine ? bytes : 0, 1, &n);
            if (writer)
                put_layer(vtk, shown, &from, k, got);
            free(got);
        }
    }
    if (writer)
        rt_vtk_end(vtk, path);
    RT_FREE(vtk, RT_HOST);
    RT_FREE(layer, RT_HOST);
}

/* Makes q = f - A du of the last step; returns |f| over all ranks. */
static double make_residual(gfnn_solver_t *s)
{
    double square = s->vectors->dot(&s->view_vec, GFNN_DOUBLE, s->f, s->f);
    rt_comm_sum(&square, 1);
    gfnn_apply(s, &s->problem->step.A, s->x, s->q);
    s->vectors->axpby(&s->view_vec, 1, s->f, -1, s->q);
    return sqrt(square);
}

void gfnn_picture(const void *solver, const char *path)
{
    gfnn_solver_t *s = (gfnn_solver_t *)solver; /* whose q is scratch between solves */
    const gfnn_problem_t *p = s->problem;
    const size_t values = 3 * (size_t)p->box.fine.plane;
    if (s->kernels->ladder != GFNN_LADDER_SOLVE)
        return;
    double *u = RT_NEW(double, values, RT_HOST), *r = RT_NEW(double, values, RT_HOST);
    const double norm = make_residual(s);
    rt_copy(u, RT_HOST, s->u, s->space, values * sizeof *u);
    rt_copy(r, RT_HOST, s->q, s->space, values * sizeof *r);
    for (size_t i = 0; i < values && norm > 0; i++)
        r[i] /= norm;
    int64_t source[3];
    gfnn_source_node(&p->box, source);
    gfnn_write_vti(p, (const char *[]){"u", "residual", NULL}, (const double *[]){u, r}, source,
                   path);
    RT_FREE(r, RT_HOST);
    RT_FREE(u, RT_HOST);
}
