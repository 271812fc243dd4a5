/*
 * predict_reference.c - the predictor by its definition: the 343 neighbours of every node (more if
 * --reach is above 3), one after the other, in double whatever r is. The oracle for all other
 * rungs.
 *
 * Advantage: it reads like the formula in kernel.h. Price: everything narrower than a double is
 * converted again and again, and nothing is a vector.
 */
#include "config.h"
#include <math.h>
#include "apps/gfnn-wave/loops/node.h"
#include "cpu.h"

typedef struct {
    const gfnn_grid_t *wide, *bare;
    const gfnn_network_t *network;
    const double *r; /* on wide */
    bool absolute;   /* each term as its magnitude */
} job_t;

static double term(const job_t *job, double value)
{
    return job->absolute ? fabs(value) : value;
}

/* Returns the weight of gf8, for i = j (c[0..3]) or i != j (c[4..7]): a + b.s/nd. */
static double weight(const job_t *job, const double *c, int x, int y, int z)
{
    const int nd = job->network->reach;
    return term(job, c[0]) + term(job, c[1] * x / nd) + term(job, c[2] * y / nd) +
           term(job, c[3] * z / nd);
}

/* sum[m][i] += row i of kernel m at s = (x, y, z) times the three r there. */
static void neighbour(const job_t *job, const double *c, int x, int y, int z, const double *r,
                      double sum[][3])
{
    const int nd = job->network->reach, width = 2 * nd + 1;
    const int64_t at = ((z + nd) * width + y + nd) * width + x + nd, taps = gfnn_stencil(nd);
    const bool gf8 = job->network->form == GFNN_GF8;
    const double same = gf8 ? weight(job, c, x, y, z) : 1;
    const double other = gf8 ? weight(job, c + 4, x, y, z) : 1;
    for (int m = 0; m < job->network->kernels; m++) {
        const float *K = job->network->K + m * 9 * taps + at;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum[m][i] +=
                    term(job, (double)K[(3 * i + j) * taps] * (i == j ? same : other) * r[j]);
    }
}

static void node(const job_t *job, int64_t i, int64_t j, int64_t k, double z[3])
{
    const gfnn_network_t *network = job->network;
    double c[GFNN_MAX_COEF], sum[GFNN_MAX_KERNELS][3] = {{0}};
    for (int q = 0; q < network->coefs; q++)
        c[q] = (double)network->c[q * job->bare->plane + gfnn_at(job->bare, i, j, k)];
    const int nd = network->reach;
    for (int dz = -nd; dz <= nd; dz++)
        for (int dy = -nd; dy <= nd; dy++)
            for (int dx = -nd; dx <= nd; dx++) {
                const double *from = job->r + gfnn_at(job->wide, i + dx, j + dy, k + dz);
                const double r[3] = {from[0], from[job->wide->plane], from[2 * job->wide->plane]};
                neighbour(job, c, dx, dy, dz, r, sum);
            }
    for (int l = 0; l < 3; l++)
        z[l] = 0;
    for (int m = 0; m < network->kernels; m++)
        for (int l = 0; l < 3; l++)
            z[l] += network->form == GFNN_GF8 ? sum[m][l] : term(job, c[m]) * sum[m][l];
}

void gfnn_predict_reference(const gfnn_box_t *box, const gfnn_network_t *network, bool absolute,
                            const double *r, double *z)
{
    const job_t job = {&box->wide, &box->bare, network, r, absolute};
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t k = 0; k < box->n[2]; k++)
        for (int64_t j = 0; j < box->n[1]; j++)
            for (int64_t i = 0; i < box->n[0]; i++) {
                double sum[3];
                node(&job, i, j, k, sum);
                for (int l = 0; l < 3; l++)
                    z[l * box->wide.plane + gfnn_at(&box->wide, i, j, k)] = sum[l];
            }
}

/* --- the rung: r and z in double --- */

/* to = from, ghosts too */
static void widen(const gfnn_box_t *box, const gfnn_network_t *network, const void *from,
                  double *to)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 3 * box->wide.plane; i++)
        to[i] = network->precision == GFNN_FP16
                    ? (double)gfnn_from_half(((const uint16_t *)from)[i])
                    : (double)((const float *)from)[i];
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_box_t *box = view->box;
    double *wide = view->data, *sum = wide + 3 * box->wide.plane;
    widen(box, network, r, wide);
    gfnn_predict_reference(box, network, false, wide, sum);
    for (int l = 0; l < 3; l++)
#pragma omp parallel for collapse(2) schedule(static)
        for (int64_t k = 0; k < box->n[2]; k++)
            for (int64_t j = 0; j < box->n[1]; j++) {
                const int64_t at = l * box->wide.plane + gfnn_at(&box->wide, 0, j, k);
                for (int64_t i = at; i < at + box->n[0]; i++)
                    z[i] = (float)sum[i];
            }
}

static void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    (void)network;
    view->data = RT_NEW(double, (size_t)(6 * view->box->wide.plane), RT_HOST);
}

static void tear_down(gfnn_view_t *view)
{
    RT_FREE(view->data, RT_HOST);
}

static double memory(const gfnn_config_t *config, const gfnn_box_t *box)
{
    (void)config;
    return 6.0 * (double)box->wide.plane * sizeof(double);
}

const gfnn_predictor_t gfnn_predictor_reference = {
    .apply = apply, .set_up = set_up, .tear_down = tear_down, .memory = memory};

const gfnn_kernels_t gfnn_net_reference = {
    .rung = {.precision = "FP64, r in FP32 or FP16", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {&gfnn_predictor_reference, &gfnn_predictor_reference},
};
