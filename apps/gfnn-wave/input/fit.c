/*
 * fit.c - coefficients by the energy fit: what the networks have learnt.
 *
 * Row l of P at a node is sum_p c_p B_lp, a field on the nodes about it; it should be column l
 * of A^-1, so c is where sum_l (1/2 g_l^T A g_l - g_l^T e_l), g_l = sum_p c_p B_lp, is least:
 *
 *     N c = b,   N_pq = sum_l B_lp^T A B_lq,   b_p = sum_l B_lp (component l at the node itself)
 *
 * A is a sum over the elements that the fields touch, and each is linear in w and Vs^2, so N is
 * a sum of tables: N = sum_e w_e Q0_e + Vs_e^2 Q1_e. As in infer.c, N starts from the sum for the
 * node's own material, computed once, and only elements of other materials are added, as
 * differences; in the middle of a material c is known.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <string.h>

enum {
    MOST_SIDE = 2 * (GFNN_MAX_ND + 1),
    PAIRS = GFNN_MAX_COEF * (GFNN_MAX_COEF + 1) / 2 /* (p, q <= p) at p (p + 1) / 2 + q */
};

typedef struct {
    int coefs, pairs;
    int side, back;        /* elements along x that a field touches; and those before the node */
    double (*Q)[2][PAIRS]; /* [side^3]: Q0, Q1 */
    double sum[2][PAIRS];  /* over all elements */
    double b[GFNN_MAX_COEF];
} tables_t;

/* --- tables --- */

/* Returns component j of B_ip at s. */
static double field(const gfnn_weights_t *w, int i, int p, int j, const int s[3])
{
    int64_t kernel = p;
    double factor = 1;
    const int nd = w->reach, width = 2 * nd + 1;
    for (int d = 0; d < 3; d++)
        if (s[d] < -nd || s[d] > nd)
            return 0;
    if (w->form == GFNN_GF8) {
        kernel = 0;
        if ((i == j) != (p < 4))
            return 0;
        factor = p % 4 == 0 ? 1 : (double)s[p % 4 - 1] / nd;
    }
    const int64_t at = ((s[2] + nd) * width + s[1] + nd) * width + s[0] + nd;
    return factor * (double)w->K[(kernel * 9 + 3 * i + j) * gfnn_stencil(nd) + at];
}

/* Computes B_ip for all p on the corners of the element whose lower corner is at s. */
static void corners(const gfnn_weights_t *w, int i, const int s[3], double B[GFNN_MAX_COEF][24])
{
    for (int p = 0; p < w->coefs; p++)
        for (int a = 0; a < 8; a++) {
            const int at[3] = {s[0] + (a & 1), s[1] + (a >> 1 & 1), s[2] + (a >> 2)};
            for (int j = 0; j < 3; j++)
                B[p][3 * a + j] = field(w, i, p, j, at);
        }
}

/* Q += B_p^T A B_q. */
static void add_energy(int coefs, double A[24][24], double B[GFNN_MAX_COEF][24], double *Q)
{
    for (int p = 0; p < coefs; p++) {
        double AB[24] = {0};
        for (int r = 0; r < 24; r++)
            for (int q = 0; q < 24; q++)
                AB[r] += A[r][q] * B[p][q];
        for (int q = 0; q <= p; q++)
            for (int r = 0; r < 24; r++)
                Q[p * (p + 1) / 2 + q] += B[q][r] * AB[r];
    }
}

static void tables_new(tables_t *t, const gfnn_weights_t *w, const gfnn_form_t *form)
{
    static const int here[3] = {0, 0, 0};
    double A0[24][24], A1[24][24], B[GFNN_MAX_COEF][24];
    *t = (tables_t){.coefs = w->coefs,
                    .pairs = w->coefs * (w->coefs + 1) / 2,
                    .side = 2 * (w->reach + 1),
                    .back = w->reach + 1};
    const int side = t->side, elements = side * side * side;
    t->Q = rt_alloc((size_t)elements, sizeof *t->Q, RT_HOST);
    memset(t->Q, 0, (size_t)elements * sizeof *t->Q);
    gfnn_element_matrix(form, 1, 0, A0);
    gfnn_element_matrix(form, 0, 1, A1);
    for (int e = 0; e < elements; e++) {
        const int s[3] = {e % side - t->back, e / side % side - t->back,
                          e / (side * side) - t->back};
        for (int i = 0; i < 3; i++) {
            corners(w, i, s, B);
            add_energy(w->coefs, A0, B, t->Q[e][0]);
            add_energy(w->coefs, A1, B, t->Q[e][1]);
        }
        for (int p = 0; p < t->pairs; p++) {
            t->sum[0][p] += t->Q[e][0][p];
            t->sum[1][p] += t->Q[e][1][p];
        }
    }
    for (int p = 0; p < w->coefs; p++)
        for (int i = 0; i < 3; i++)
            t->b[p] += field(w, i, p, i, here);
}

static void tables_destroy(tables_t *t)
{
    RT_FREE(t->Q, RT_HOST);
}

/* --- N c = b --- */

/* Solves N c = b by Cholesky. As kernels may be nearly alike, 1e-10 of the diagonal is added to it.
 * If N is not positive even so, only the first kernel is used. */
static void solve(const tables_t *t, const double *N, float *out)
{
    const int n = t->coefs;
    double L[GFNN_MAX_COEF][GFNN_MAX_COEF], c[GFNN_MAX_COEF];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = N[i * (i + 1) / 2 + j] * (i == j ? 1 + 1e-10 : 1);
            for (int k = 0; k < j; k++)
                sum -= L[i][k] * L[j][k];
            if (i == j && !(sum > 0)) {
                for (int p = 0; p < n; p++)
                    out[p] = p == 0 && N[0] > 0 ? (float)(t->b[0] / N[0]) : 0;
                return;
            }
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    }
    for (int i = 0; i < n; i++) {
        c[i] = t->b[i];
        for (int k = 0; k < i; k++)
            c[i] -= L[i][k] * c[k];
        c[i] /= L[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            c[i] -= L[k][i] * c[k];
        c[i] /= L[i][i];
        out[i] = (float)c[i];
    }
}

static void uniform(const tables_t *t, double w, double square, double *N)
{
    for (int p = 0; p < t->pairs; p++)
        N[p] = w * t->sum[0][p] + square * t->sum[1][p];
}

/* --- nodes --- */

typedef struct {
    const tables_t *tables;
    const gfnn_grid_t *wide;
    const gfnn_model_t *model;
    double N[GFNN_MAX_IDS][PAIRS];            /* of a patch of this material alone */
    float known[GFNN_MAX_IDS][GFNN_MAX_COEF]; /* and its coefficients */
} job_t;

/* Adds to N, for each element of a row that is not of material `own`, the difference to `own`. */
static void add_row(const job_t *job, const uint8_t *id, uint8_t own, double (*Q)[2][PAIRS],
                    double *N)
{
    const gfnn_materials_t *m = &job->model->materials;
    const int pairs = job->tables->pairs;
    for (int x = 0; x < job->tables->side; x++) {
        const double w = m->w[id[x]] - m->w[own], square = m->square[id[x]] - m->square[own];
        const double *Q0 = Q[x][0], *Q1 = Q[x][1];
        if (w != 0)
            for (int p = 0; p < pairs; p++)
                N[p] += w * Q0[p] + square * Q1[p];
        else if (square != 0)
            for (int p = 0; p < pairs; p++)
                N[p] += square * Q1[p];
    }
}

static void node(const job_t *job, int64_t i, int64_t j, int64_t k, float *c)
{
    const uint8_t own = job->model->id[gfnn_at(job->wide, i, j, k)];
    const int side = job->tables->side, back = job->tables->back;
    uint8_t same[MOST_SIDE];
    double N[PAIRS];
    bool is_uniform = true;
    memset(same, own, sizeof same);
    memcpy(N, job->N[own], sizeof N);
    for (int row = 0; row < side * side; row++) {
        const uint8_t *id = job->model->id + gfnn_at(job->wide, i - back, j - back + row % side,
                                                     k - back + row / side);
        if (memcmp(id, same, (size_t)side) != 0) {
            add_row(job, id, own, job->tables->Q + row * side, N);
            is_uniform = false;
        }
    }
    if (is_uniform)
        memcpy(c, job->known[own], sizeof job->known[own]);
    else
        solve(job->tables, N, c);
}

void gfnn_fit(const gfnn_weights_t *weights, const gfnn_form_t *form, const gfnn_box_t *box,
              const gfnn_model_t *model, float *c)
{
    tables_t tables;
    job_t *job = RT_NEW(job_t, 1, RT_HOST);
    RT_EXPECT(box->wide.halo > weights->reach, RT_ENVIRONMENT,
              "ids reach %d elements beyond the box", (int)box->wide.halo);
    tables_new(&tables, weights, form);
    job->tables = &tables;
    job->wide = &box->wide;
    job->model = model;
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        const bool given = id < model->materials.ids;
        uniform(&tables, given ? model->materials.w[id] : 0,
                given ? model->materials.square[id] : 0, job->N[id]);
        if (given)
            solve(&tables, job->N[id], job->known[id]);
    }
#pragma omp parallel for collapse(2) schedule(dynamic, 8)
    for (int64_t k = 0; k < box->n[2]; k++)
        for (int64_t j = 0; j < box->n[1]; j++)
            for (int64_t i = 0; i < box->n[0]; i++) {
                float got[GFNN_MAX_COEF];
                node(job, i, j, k, got);
                for (int q = 0; q < tables.coefs; q++)
                    c[q * box->bare.plane + gfnn_at(&box->bare, i, j, k)] = got[q];
            }
    tables_destroy(&tables);
    RT_FREE(job, RT_HOST);
}

void gfnn_fit_uniform(const gfnn_weights_t *weights, const gfnn_form_t *form, double vs, float *c)
{
    tables_t tables;
    double N[PAIRS];
    tables_new(&tables, weights, form);
    uniform(&tables, 1, vs * vs, N);
    solve(&tables, N, c);
    tables_destroy(&tables);
}
