/*
 * node.h - one node of each phase, gathered from its neighbours: one text for all back-ends.
 *
 * Idea: a node adds up what flows through all faces of its cell, so no two threads write to one
 * place, and a sum has the order of the row's columns on any number of threads and ranks.
 * Price: a flux is computed on both of its sides.
 */
#ifndef MCPI_NODE_H
#define MCPI_NODE_H

#include "flow.h"

/* --- places --- */

/* Returns the row that a thread takes at that place. */
MCPI_FN int64_t mcpi_row_of(const mcpi_field_t *f, int64_t place)
{
    return f->permutation ? (int64_t)f->permutation[place] : place;
}

/* Return where what the sweeps read of row i begins. */
MCPI_FN double *mcpi_LU_of(const mcpi_field_t *f, int64_t i)
{
    return (double *)(void *)((char *)f->LU + (f->LU_at ? (int64_t)f->LU_at[i] : 200 * i));
}

MCPI_FN double *mcpi_right_of(const mcpi_field_t *f, int64_t i)
{
    return (double *)(void *)((char *)f->right + (f->right_at ? (int64_t)f->right_at[i] : 40 * i));
}

/* size: of a value of O. */
MCPI_FN void *mcpi_O_of(const mcpi_field_t *f, int64_t i, int size)
{
    return (char *)f->O + (f->O_at ? (int64_t)f->O_at[i] : 25 * (int64_t)size * f->start[i]);
}

/* Takes row i of a dQ, that of the field or an earlier one. */
MCPI_FN void mcpi_take_dq(const mcpi_field_t *f, const void *from, int64_t i, double *dq)
{
    for (int v = 0; v < MCPI_Q; v++)
        dq[v] = f->dq_type == MCPI_FP64 ? ((const double *)from)[MCPI_Q * i + v]
                                        : (double)((const float *)from)[MCPI_Q * i + v];
}

/* What a node's neighbours see of it, in the field's arrays or in a tile's copy of them. */
typedef struct {
    const double *w, *x, *g; /* state, place, slopes */
} mcpi_node_t;

MCPI_FN mcpi_node_t mcpi_node(const mcpi_field_t *f, int64_t i)
{
    const mcpi_node_t node = {f->w + MCPI_Q * i, f->x + 3 * i, f->gradient + 3 * MCPI_Q * i};
    return node;
}

/* --- gradients --- */

/* Computes the slopes of all variables at node i by least squares, all neighbours with the same
 * weight (Anderson & Bonhaus, Computers & Fluids 23, 1994). Weights that fall with the distance
 * would follow a boundary layer more closely (Mavriplis, AIAA 2003-3986), but on a curved wall they
 * make the steps unstable: along it an edge dips below the thin cells, so differences across these
 * are extrapolated over many times their thickness. */

/* Adds what one neighbour says to sum[5][3]. */
MCPI_FN void mcpi_add_slopes(const mcpi_node_t *here, const mcpi_node_t *there, double *sum)
{
    double d[3];
    for (int c = 0; c < 3; c++)
        d[c] = there->x[c] - here->x[c];
    for (int v = 0; v < MCPI_Q; v++) {
        const double jump = there->w[v] - here->w[v];
        for (int c = 0; c < 3; c++)
            sum[3 * v + c] += jump * d[c];
    }
}

/* Computes the slopes g[5][3] of node i. */
MCPI_FN void mcpi_fit_slopes(const mcpi_field_t *f, int64_t i, const double *sum, double *g)
{
    const double *m = f->fit + 6 * i;
    for (int v = 0; v < MCPI_Q; v++) {
        const double *s = sum + 3 * v;
        g[3 * v] = m[0] * s[0] + m[1] * s[1] + m[2] * s[2];
        g[3 * v + 1] = m[1] * s[0] + m[3] * s[1] + m[4] * s[2];
        g[3 * v + 2] = m[2] * s[0] + m[4] * s[1] + m[5] * s[2];
    }
}

MCPI_FN void mcpi_node_gradient(const mcpi_field_t *f, int64_t i)
{
    const mcpi_node_t here = mcpi_node(f, i);
    double sum[3 * MCPI_Q];
    for (int k = 0; k < 3 * MCPI_Q; k++)
        sum[k] = 0;
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++) {
        const mcpi_node_t there = mcpi_node(f, f->column[k]);
        mcpi_add_slopes(&here, &there, sum);
    }
    mcpi_fit_slopes(f, i, sum, f->gradient + 3 * MCPI_Q * i);
}

/* --- residual --- */

/* Computes the state in the middle of an edge as the node at one of its ends sees it. d: along the
 * edge; way = 1 if it begins at the node, else -1. Where density or pressure would all but vanish,
 * it is the node's. */
MCPI_FN void mcpi_reconstruct(const mcpi_node_t *from, const double *d, double way, double *w)
{
    for (int v = 0; v < MCPI_Q; v++)
        w[v] = from->w[v] + way / 2 * mcpi_inner(from->g + 3 * v, d);
    if (!(w[0] > MCPI_LEAST_SHARE * from->w[0] && w[4] > MCPI_LEAST_SHARE * from->w[4]))
        for (int v = 0; v < MCPI_Q; v++)
            w[v] = from->w[v];
}

MCPI_FN bool mcpi_has_area(const double *n)
{
    return n[0] != 0 || n[1] != 0 || n[2] != 0;
}

/* Adds what flows out through a face of area n to F; returns its part of the rate. */
MCPI_FN double mcpi_face_flux(const mcpi_node_t *here, const mcpi_node_t *there, const double *n,
                              double *F)
{
    double d[3], left[MCPI_Q], right[MCPI_Q];
    for (int c = 0; c < 3; c++)
        d[c] = there->x[c] - here->x[c];
    mcpi_reconstruct(here, d, 1, left);
    mcpi_reconstruct(there, d, -1, right);
    return mcpi_add_roe(left, right, n, F);
}

/* Adds what friction and conduction take out along an edge. */
MCPI_FN void mcpi_edge_friction(const mcpi_gas_t *gas, const mcpi_node_t *here,
                                const mcpi_node_t *there, double viscous, double *F)
{
    const double of = gas->mu * viscous;
    for (int d = 1; d < 4; d++)
        F[d] -= of * (there->w[d] - here->w[d]);
    F[4] -= of * (mcpi_heat(there->w) - mcpi_heat(here->w));
}

/* Adds what flows out through the face of entry k to F; returns its part of the rate. */
MCPI_FN double mcpi_entry_flux(const mcpi_field_t *f, int64_t i, int32_t k, double *F)
{
    const mcpi_node_t here = mcpi_node(f, i), there = mcpi_node(f, f->column[k]);
    const double *n = f->n + 3 * (int64_t)k;
    double rate = 0;
    if (mcpi_has_area(n)) /* not so between opposite corners of a quadrilateral */
        rate = mcpi_face_flux(&here, &there, n, F);
    if (f->gas.mu > 0)
        mcpi_edge_friction(&f->gas, &here, &there, f->viscous[k], F);
    return rate;
}

/* Adds what flows out through the boundary; returns its part of the rate. */
MCPI_FN double mcpi_side_flux(const mcpi_field_t *f, int64_t i, double *F)
{
    const mcpi_side_t *side = f->side + f->side_of[i];
    const double *w = f->w + MCPI_Q * i;
    const double *beyond = f->outside ? f->outside + MCPI_Q * i : f->gas.stream;
    for (int d = 0; d < 3; d++)
        F[1 + d] += w[4] * (side->wall[d] + side->slip[d]);
    return mcpi_has_area(side->far) ? mcpi_add_roe(w, beyond, side->far, F) : 0;
}

MCPI_FN bool mcpi_is_held(const mcpi_field_t *f, int64_t i)
{
    return f->side_of[i] >= 0 && f->side[f->side_of[i]].held > 0;
}

/* Returns what diffusion adds to the rate. */
MCPI_FN double mcpi_diffusion(const mcpi_field_t *f, int64_t i)
{
    return f->gas.mu > 0
               ? f->gas.mu * fabs(f->diagonal[i]) * (MCPI_GAMMA / MCPI_PRANDTL) / f->w[MCPI_Q * i]
               : 0;
}

/* Writes R and the rate from what flows out through all faces. */
MCPI_FN void mcpi_put_residual(const mcpi_field_t *f, int64_t i, double rate, double *F)
{
    if (f->side_of[i] >= 0)
        rate += mcpi_side_flux(f, i, F);
    const bool held = mcpi_is_held(f, i);
    for (int v = 0; v < MCPI_Q; v++)
        f->R[MCPI_Q * i + v] =
            held && v >= 1 && v < 4 ? 0 : (f->source ? f->source[MCPI_Q * i + v] : 0) - F[v];
    f->rate[i] = rate + mcpi_diffusion(f, i);
}

MCPI_FN void mcpi_node_residual(const mcpi_field_t *f, int64_t i)
{
    double F[MCPI_Q] = {0, 0, 0, 0, 0}, rate = 0;
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++)
        rate += mcpi_entry_flux(f, i, k, F);
    mcpi_put_residual(f, i, rate, F);
}

/* Returns the row's part of the squared norm: of R per area of the cell, in units of the stream; or,
 * if there is an earlier dQ, of what dQ has changed by. */
MCPI_FN double mcpi_node_square(const mcpi_field_t *f, const void *before, int64_t i)
{
    double sum = 0;
    if (before) {
        double now[MCPI_Q], then[MCPI_Q];
        mcpi_take_dq(f, f->dq, i, now);
        mcpi_take_dq(f, before, i, then);
        for (int v = 0; v < MCPI_Q; v++)
            sum += (now[v] - then[v]) * (now[v] - then[v]);
        return sum;
    }
    for (int v = 0; v < MCPI_Q; v++)
        sum += f->R[MCPI_Q * i + v] * f->R[MCPI_Q * i + v];
    const double unit = f->surface[i] * f->gas.stream[0];
    return sum / (unit * unit);
}

/* Returns how many chunks the norm has, and the sum of chunk k. */
MCPI_FN int64_t mcpi_chunks(const mcpi_field_t *f)
{
    return (f->rows + MCPI_NORM_CHUNK - 1) / MCPI_NORM_CHUNK;
}

MCPI_FN double mcpi_chunk_square(const mcpi_field_t *f, const void *before, int64_t k)
{
    const int64_t end = (k + 1) * MCPI_NORM_CHUNK;
    double sum = 0;
    for (int64_t i = k * MCPI_NORM_CHUNK; i < end && i < f->rows; i++)
        sum += mcpi_node_square(f, before, i);
    return sum;
}

/* --- Jacobian: column c of the blocks of a row --- */

/* Returns the waves through a face of area n between the nodes' own states, for the Jacobian is of
 * first order; their area is 0 if the face has none. */
MCPI_FN mcpi_wave_t mcpi_face_wave(const double *here, const double *there, const double *n)
{
    const mcpi_wave_t none = {{0, 0, 0}, 0, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0};
    return mcpi_has_area(n) ? mcpi_wave(here, there, n) : none;
}

/* Returns whether the block of entry k can be other than 0. */
MCPI_FN bool mcpi_has_block(const mcpi_field_t *f, int32_t k)
{
    return f->gas.mu > 0 || mcpi_has_area(f->n + 3 * (int64_t)k);
}

/* Returns what multiplies the conduction of entry k in A: 0 without viscosity. */
MCPI_FN double mcpi_conducts(const mcpi_field_t *f, int32_t k)
{
    return f->gas.mu > 0 ? -f->gas.mu * f->viscous[k] : 0;
}

/* Computes column c of O_ij, and adds the dissipation's part to that of D. there: the state of j;
 * n and wave: of the face; conducts: as above. */
MCPI_FN void mcpi_face_column(const mcpi_wave_t *wave, const double *there, const double *n,
                              double conducts, int c, double *O, double *D)
{
    double part[MCPI_Q];
    for (int v = 0; v < MCPI_Q; v++)
        O[v] = part[v] = 0;
    /* not if it has an area: what all columns need is then found for each of them */
    mcpi_add_magnitude_column(wave, wave->area / 2, c, part);
    mcpi_add_jacobian_column(there, n, 0.5, c, O);
    if (conducts != 0)
        mcpi_add_conduction_column(there, conducts, c, O);
    for (int v = 0; v < MCPI_Q; v++) {
        O[v] -= part[v];
        D[v] += part[v];
    }
}

/* Adds the boundary to column c of D. The fluxes of the node's own state through all faces add up
 * to minus that through the boundary, because the cell is closed. */
MCPI_FN void mcpi_side_column(const mcpi_field_t *f, int64_t i, int c, double *D)
{
    const mcpi_side_t *side = f->side + f->side_of[i];
    const double *w = f->w + MCPI_Q * i;
    const double *beyond = f->outside ? f->outside + MCPI_Q * i : f->gas.stream;
    double closed[3], r, s;
    for (int d = 0; d < 3; d++)
        closed[d] = side->wall[d] + side->slip[d];
    mcpi_add_jacobian_column(w, closed, -0.5, c, D);
    mcpi_unit_waves(w + 1, mcpi_inner(w + 1, w + 1) / 2, closed, 0, c, &r, &s);
    for (int d = 0; d < 3; d++)
        D[1 + d] += s * closed[d];
    if (mcpi_has_area(side->far)) { /* -1/2 of A to close, and 1/2 of the flux between two states */
        const mcpi_wave_t wave = mcpi_wave(w, beyond, side->far);
        mcpi_add_magnitude_column(&wave, wave.area / 2, c, D);
    }
}

/* Adds what does not come from a face to column c of D. */
MCPI_FN void mcpi_own_column(const mcpi_field_t *f, int64_t i, int c, double *D)
{
    if (f->side_of[i] >= 0)
        mcpi_side_column(f, i, c, D);
    if (f->gas.mu > 0)
        mcpi_add_conduction_column(f->w + MCPI_Q * i, -f->gas.mu * f->diagonal[i], c, D);
    for (int v = 0; v < MCPI_Q; v++) /* no D[c]: arrays stay in registers */
        D[v] += v == c ? f->rate[i] / f->cfl : 0;
}

/* Holds the velocity at a no-slip wall: the momentum's rows say that dQ is 0, with entries as large
 * as the others of the row. */
MCPI_FN void mcpi_hold_column(double size, int c, double *column)
{
    for (int v = 1; v < 4; v++)
        column[v] = v == c ? size : 0;
}

/* Returns the power of two that brings the rate, which is about the largest entry of D, into
 * [1, 2): exact, and no value of O leaves the range of FP16. */
MCPI_FN double mcpi_scale_of(double rate)
{
    int exponent;
    frexp(rate, &exponent);
    return ldexp(1.0, 1 - exponent);
}

/* --- factors of D --- */

/* Factors D, column-major, in place without pivoting; leaves the reciprocals of U's diagonal. */
MCPI_FN void mcpi_factor_block(double *D)
{
    MCPI_UNROLL
    for (int k = 0; k < MCPI_Q; k++) {
        const double reciprocal = 1 / D[k * MCPI_Q + k];
        MCPI_UNROLL
        for (int i = k + 1; i < MCPI_Q; i++)
            D[k * MCPI_Q + i] *= reciprocal;
        MCPI_UNROLL
        for (int j = k + 1; j < MCPI_Q; j++) {
            MCPI_UNROLL
            for (int i = k + 1; i < MCPI_Q; i++)
                D[j * MCPI_Q + i] -= D[k * MCPI_Q + i] * D[j * MCPI_Q + k];
        }
        D[k * MCPI_Q + k] = reciprocal;
    }
}

/* --- right-hand side and update --- */

/* Writes value v of row i of the right-hand side. */
MCPI_FN void mcpi_put_right(const mcpi_field_t *f, int64_t i, int v)
{
    mcpi_right_of(f, i)[v] = f->scale[i] * f->R[MCPI_Q * i + v];
}

/* Moves the state of node i by dQ, or by a half, a quarter ... of it. Returns the halvings;
 * MCPI_HALVINGS: it did not move. */
MCPI_FN int mcpi_node_update(const mcpi_field_t *f, int64_t i, const double *dq)
{
    double share = 1;
    for (int halvings = 0; halvings < MCPI_HALVINGS; halvings++) {
        if (mcpi_move(f->w + MCPI_Q * i, dq, share, MCPI_LEAST_SHARE))
            return halvings;
        share /= 2;
    }
    return MCPI_HALVINGS;
}

#endif
