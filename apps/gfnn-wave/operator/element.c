/*
 * element.c - the matrices of the unit cube, what they add to diagonal blocks, variables of elements.
 *
 * 2x2x2 Gauss points, which integrate products of trilinear functions and their derivatives
 * exactly. So the entries of K are multiples of 1/72, those of M of 1/216, and are rounded to them:
 * entries that mirror each other are then equal to the last bit, and a zero is 0. Kernels that rely
 * on that symmetry (parity, cpu-simd) lose nothing.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "strain.h"

/* Computes N and its gradient at x for the corners a = x + 2 y + 4 z. */
static void shape(const double x[3], double N[8], double dN[8][3])
{
    for (int a = 0; a < 8; a++) {
        double f[3], s[3]; /* the factor of each direction, and its slope */
        for (int d = 0; d < 3; d++) {
            const bool far = a >> d & 1;
            f[d] = far ? x[d] : 1 - x[d];
            s[d] = far ? 1 : -1;
        }
        N[a] = f[0] * f[1] * f[2];
        dN[a][0] = s[0] * f[1] * f[2];
        dN[a][1] = f[0] * s[1] * f[2];
        dN[a][2] = f[0] * f[1] * s[2];
    }
}

/* Adds weight times the integrands: the stress of lambda = 1 is the divergence on the diagonal,
 * that of mu = 1 twice the strain, so K_M[a c][b d] = d_d N_a d_c N_b + (grad N_a . grad N_b) if
 * c = d. */
static void add_point(const double N[8], double dN[8][3], double weight, gfnn_element_t *e)
{
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            const double dot = dN[a][0] * dN[b][0] + dN[a][1] * dN[b][1] + dN[a][2] * dN[b][2];
            for (int c = 0; c < 3; c++)
                for (int d = 0; d < 3; d++) {
                    const int row = 3 * a + c, column = 3 * b + d;
                    e->KL[row][column] += weight * dN[a][c] * dN[b][d];
                    e->KM[row][column] += weight * (dN[a][d] * dN[b][c] + (c == d ? dot : 0));
                    e->M[row][column] += c == d ? weight * N[a] * N[b] : 0;
                }
        }
}

static gfnn_element_t make_element(void)
{
    gfnn_element_t e = {0};
    const double gauss[2] = {0.5 - sqrt(1 / 12.), 0.5 + sqrt(1 / 12.)};
    for (int p = 0; p < 8; p++) {
        const double x[3] = {gauss[p & 1], gauss[p >> 1 & 1], gauss[p >> 2]};
        double N[8], dN[8][3];
        shape(x, N, dN);
        add_point(N, dN, 1 / 8., &e);
    }
    for (int i = 0; i < 24; i++)
        for (int j = 0; j < 24; j++) {
            e.M[i][j] = rint(216 * e.M[i][j]) / 216;
            e.KL[i][j] = rint(72 * e.KL[i][j]) / 72;
            e.KM[i][j] = rint(72 * e.KM[i][j]) / 72;
        }
    return e;
}

const gfnn_element_t *gfnn_element(void)
{
    static gfnn_element_t element;
    static bool made;
#pragma omp critical(gfnn_element)
    if (!made) {
        element = make_element();
        made = true;
    }
    return &element;
}

void gfnn_element_matrix(const gfnn_form_t *form, double w, double square, double A[24][24])
{
    const gfnn_element_t *e = gfnn_element();
    const double mass = w * form->mass, bulk = w * form->bulk, shear = square * form->shear;
    for (int i = 0; i < 24; i++)
        for (int j = 0; j < 24; j++)
            A[i][j] =
                mass * e->M[i][j] + bulk * e->KL[i][j] + shear * (e->KM[i][j] - 2 * e->KL[i][j]);
}

gfnn_entries_t *gfnn_entries_new(const gfnn_view_t *view, const gfnn_form_t *form)
{
    const gfnn_materials_t *materials = view->materials;
    gfnn_entries_t entries[GFNN_MAX_IDS];
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        double A[24][24];
        gfnn_element_matrix(form, materials->w[id], materials->square[id], A);
        entries[id] = (gfnn_entries_t){(float)A[0][0], (float)A[0][1]};
    }
    return rt_clone(entries, GFNN_MAX_IDS, sizeof *entries, view->space);
}

void gfnn_stored_set_up(gfnn_view_t *view)
{
    gfnn_stored_t *stored = RT_NEW(gfnn_stored_t, 1, RT_HOST);
    memset(stored, 0, sizeof *stored);
    view->data = stored;
}

void gfnn_stored_tear_down(gfnn_view_t *view)
{
    gfnn_stored_t *stored = view->data;
    RT_FREE(stored->variable, view->space);
    RT_FREE(view->data, RT_HOST);
}

double gfnn_stored_memory(const gfnn_config_t *config, const gfnn_box_t *box)
{
    (void)config;
    return GFNN_STORED * sizeof(double) * (double)box->wide.plane;
}

const double *gfnn_stored(const gfnn_view_t *view, gfnn_stored_t *stored, const gfnn_form_t *form)
{
    const gfnn_materials_t *materials = view->materials;
    const int64_t plane = view->box->wide.plane;
    if (stored->variable && memcmp(&stored->form, form, sizeof *form) == 0)
        return stored->variable;
    uint8_t *id = RT_NEW(uint8_t, (size_t)plane, RT_HOST);
    double *made = RT_NEW(double, (size_t)(GFNN_STORED * plane), RT_HOST);
    rt_copy(id, RT_HOST, view->id, view->space, (size_t)plane);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < plane; e++)
        gfnn_elasticity(form, materials->w[id[e]], materials->square[id[e]], made + e,
                        made + GFNN_LAMBDA * plane + e, made + GFNN_MU * plane + e);
    RT_FREE(stored->variable, view->space);
    stored->variable = rt_clone(made, (size_t)(GFNN_STORED * plane), sizeof *made, view->space);
    stored->form = *form;
    RT_FREE_ALL(RT_HOST, id, made);
    return stored->variable;
}
