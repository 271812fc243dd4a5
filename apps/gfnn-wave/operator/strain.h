/*
 * strain.h - f = B^T D B u of one element, at its 2x2x2 Gauss points: one text for the C of the
 * host, for CUDA and for OpenACC.
 *
 * The values at the corners become displacements and their gradients at the points (B), these are
 * multiplied by density and elasticity (D), and forces and stresses go back to the corners (B^T).
 * The transform goes one direction after the other; and as u is linear in each direction, du/dx is
 * the same at both points along x: 4 values, not 8. 700 flops per element, where a product with its
 * 24x24 matrix has 1152.
 */
#ifndef GFNN_STRAIN_H
#define GFNN_STRAIN_H

#include "apps/gfnn-wave/loops/node.h"

#if defined(__CUDA_ARCH__) || defined(__clang__)
#define GFNN_STRAIN_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define GFNN_STRAIN_UNROLL
#else
#define GFNN_STRAIN_UNROLL _Pragma("GCC unroll 8")
#endif

/* The value at a Gauss point of an interval is NEAR times the near end plus FAR times the other. */
#define GFNN_NEAR 0.78867513459481288225
#define GFNN_FAR  0.21132486540518711775

/* A component of u at the points q = x + 2 y + 4 z, and its derivatives where they differ: d/dx at
 * (y, z), d/dy at (x, z), d/dz at (x, y), the first of a pair fastest. */
typedef struct {
    double u[8], dx[4], dy[4], dz[4];
} gfnn_component_t;

GFNN_FN void gfnn_interpolate(double lower, double upper, double *first, double *second)
{
    *first = GFNN_NEAR * lower + GFNN_FAR * upper;
    *second = GFNN_FAR * lower + GFNN_NEAR * upper;
}

/* Transforms corners to points. */
GFNN_FN void gfnn_to_points(const double corner[8], gfnn_component_t *p)
{
    double bx[8], dx[4];        /* along x: points at both ends of y and z */
    double bb[8], db[4], bd[4]; /* along x and y, at both ends of z */
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 4; q++) {
        gfnn_interpolate(corner[2 * q], corner[2 * q + 1], &bx[2 * q], &bx[2 * q + 1]);
        dx[q] = corner[2 * q + 1] - corner[2 * q];
    }
    GFNN_STRAIN_UNROLL
    for (int z = 0; z < 2; z++) {
        GFNN_STRAIN_UNROLL
        for (int x = 0; x < 2; x++) {
            gfnn_interpolate(bx[4 * z + x], bx[4 * z + 2 + x], &bb[4 * z + x], &bb[4 * z + 2 + x]);
            bd[2 * z + x] = bx[4 * z + 2 + x] - bx[4 * z + x];
        }
        gfnn_interpolate(dx[2 * z], dx[2 * z + 1], &db[2 * z], &db[2 * z + 1]);
    }
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 4; q++) {
        gfnn_interpolate(bb[q], bb[q + 4], &p->u[q], &p->u[q + 4]);
        p->dz[q] = bb[q + 4] - bb[q];
    }
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 2; q++) {
        gfnn_interpolate(db[q], db[q + 2], &p->dx[q], &p->dx[q + 2]);
        gfnn_interpolate(bd[q], bd[q + 2], &p->dy[q], &p->dy[q + 2]);
    }
}

/* The transpose: transforms forces and stresses at points to forces at corners. */
GFNN_FN void gfnn_to_corners(const gfnn_component_t *p, double corner[8])
{
    double bx[8], dx[4], bb[8], db[4], bd[4];
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 4; q++) {
        gfnn_interpolate(p->u[q], p->u[q + 4], &bb[q], &bb[q + 4]);
        bb[q] -= p->dz[q];
        bb[q + 4] += p->dz[q];
    }
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 2; q++) {
        gfnn_interpolate(p->dx[q], p->dx[q + 2], &db[q], &db[q + 2]);
        gfnn_interpolate(p->dy[q], p->dy[q + 2], &bd[q], &bd[q + 2]);
    }
    GFNN_STRAIN_UNROLL
    for (int z = 0; z < 2; z++) {
        GFNN_STRAIN_UNROLL
        for (int x = 0; x < 2; x++) {
            gfnn_interpolate(bb[4 * z + x], bb[4 * z + 2 + x], &bx[4 * z + x], &bx[4 * z + 2 + x]);
            bx[4 * z + x] -= bd[2 * z + x];
            bx[4 * z + 2 + x] += bd[2 * z + x];
        }
        gfnn_interpolate(db[2 * z], db[2 * z + 1], &dx[2 * z], &dx[2 * z + 1]);
    }
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 4; q++) {
        gfnn_interpolate(bx[2 * q], bx[2 * q + 1], &corner[2 * q], &corner[2 * q + 1]);
        corner[2 * q] -= dx[q];
        corner[2 * q + 1] += dx[q];
    }
}

/* Turns displacements into forces and gradients into stresses, summed over the points that share a
 * derivative; mass, lambda and mu include the weight of a point, 1/8. */
GFNN_FN void gfnn_respond(gfnn_component_t p[3], double mass, double lambda, double mu)
{
    gfnn_component_t s[3] = {};
    GFNN_STRAIN_UNROLL
    for (int q = 0; q < 8; q++) {
        const int yz = q >> 1, xz = (q & 1) + (q >> 2) * 2, xy = q & 3;
        const double pressure = lambda * (p[0].dx[yz] + p[1].dy[xz] + p[2].dz[xy]);
        const double sxy = mu * (p[0].dy[xz] + p[1].dx[yz]);
        const double sxz = mu * (p[0].dz[xy] + p[2].dx[yz]);
        const double syz = mu * (p[1].dz[xy] + p[2].dy[xz]);
        s[0].dx[yz] += 2 * mu * p[0].dx[yz] + pressure;
        s[1].dy[xz] += 2 * mu * p[1].dy[xz] + pressure;
        s[2].dz[xy] += 2 * mu * p[2].dz[xy] + pressure;
        s[0].dy[xz] += sxy;
        s[1].dx[yz] += sxy;
        s[0].dz[xy] += sxz;
        s[2].dx[yz] += sxz;
        s[1].dz[xy] += syz;
        s[2].dy[xz] += syz;
        GFNN_STRAIN_UNROLL
        for (int c = 0; c < 3; c++)
            s[c].u[q] = mass * p[c].u[q];
    }
    GFNN_STRAIN_UNROLL
    for (int c = 0; c < 3; c++)
        p[c] = s[c];
}

/* f = B^T D B u of the element whose lower corner is x[0]: f[3 a + c] for component c at corner a. */
GFNN_FN void gfnn_strain_product(const double *x, int64_t plane, int64_t slab, int64_t pitch,
                                 double mass, double lambda, double mu, double f[24])
{
    gfnn_component_t p[3];
    double corner[8];
    GFNN_STRAIN_UNROLL
    for (int c = 0; c < 3; c++) {
        GFNN_STRAIN_UNROLL
        for (int a = 0; a < 8; a++)
            corner[a] = x[c * plane + (a >> 2) * slab + (a >> 1 & 1) * pitch + (a & 1)];
        gfnn_to_points(corner, &p[c]);
    }
    gfnn_respond(p, mass, lambda, mu);
    GFNN_STRAIN_UNROLL
    for (int c = 0; c < 3; c++) {
        gfnn_to_corners(&p[c], corner);
        GFNN_STRAIN_UNROLL
        for (int a = 0; a < 8; a++)
            f[3 * a + c] = corner[a];
    }
}

/* What an element of a material (w, Vs^2) is in D. */
GFNN_FN void gfnn_elasticity(const gfnn_form_t *form, double w, double square, double *mass,
                             double *lambda, double *mu)
{
    *mu = form->shear / 8 * square;
    *mass = form->mass / 8 * w;
    *lambda = form->bulk / 8 * w - 2 * *mu;
}

/* --- variables of every element, for the rungs that keep them --- */

RT_C_BEGIN

enum { GFNN_MASS, GFNN_LAMBDA, GFNN_MU, GFNN_STORED };
typedef struct {
    gfnn_form_t form; /* of which they are */
    double *variable; /* [GFNN_STORED] planes of box->wide, in view->space; NULL at first */
} gfnn_stored_t;
/* Returns those of a form, which the first call and one with another form compute. */
const double *gfnn_stored(const gfnn_view_t *view, gfnn_stored_t *stored, const gfnn_form_t *form);
/* Hooks of a rung whose view->data is a gfnn_stored_t; and what it takes, wherever that is. */
void gfnn_stored_set_up(gfnn_view_t *view);
void gfnn_stored_tear_down(gfnn_view_t *view);
double gfnn_stored_memory(const gfnn_config_t *config, const gfnn_box_t *box);

RT_C_END
#endif
