/*
 * infer.c - the networks: coefficients of every node from the Vs^2 of the 6^3 elements about it. They
 * have learnt the fit of least energy: c where sum_l (1/2 g_l^T A g_l - g_l^T e_l) is least, g_l being
 * row l of P at the node.
 *
 * Most of the work is the first layer, 216 inputs to 64. A model has few materials and large
 * regions of each. So the first layer starts from its result for a patch that is all of the node's
 * own material, computed once, and adds what the elements of other materials change: nothing in the
 * middle of a tissue, where the whole result is known, and a third of the inputs at a smooth
 * interface. The last layer of a regression makes the coefficients themselves, c = mean + L^-T y.
 */
#include "config.h"
#include "infer.h"

/* Takes room for n doubles in the table. */
static int64_t take(gfnn_infer_t *net, int64_t n)
{
    net->size += n;
    return net->size - n;
}

static gfnn_infer_t sizes(const gfnn_mlp_t *mlp, int coefs, int classes)
{
    gfnn_infer_t net = {.layers = mlp->layers, .coefs = coefs, .classes = classes};
    memcpy(net.width, mlp->width, sizeof net.width);
    for (int l = 0; l < mlp->layers; l++) {
        const int out = mlp->width[l + 1];
        net.widest = out > net.widest ? out : net.widest;
        net.W[l] = take(&net, (int64_t)mlp->width[l] * out);
        net.b[l] = take(&net, out);
    }
    net.input = take(&net, GFNN_MAX_IDS);
    net.uniform = take(&net, (int64_t)GFNN_MAX_IDS * mlp->width[1]);
    net.known = take(&net, (int64_t)GFNN_MAX_IDS * coefs);
    net.of_class = take(&net, (int64_t)classes * coefs);
    return net;
}

/* y = L^-T y, and the mean if it is to be added. */
static void unwhiten(const gfnn_weights_t *w, bool add_mean, double *y)
{
    for (int i = w->coefs - 1; i >= 0; i--) {
        for (int j = i + 1; j < w->coefs; j++)
            y[i] -= w->whiten[j][i] * y[j];
        y[i] /= w->whiten[i][i];
    }
    for (int i = 0; add_mean && i < w->coefs; i++)
        y[i] += w->mean[i];
}

static void fill_layers(const gfnn_weights_t *w, const gfnn_mlp_t *mlp, const gfnn_infer_t *net,
                        double *table)
{
    const int last = mlp->layers - 1, in_last = mlp->width[last];
    for (int l = 0; l < mlp->layers; l++) {
        const int in = mlp->width[l], out = mlp->width[l + 1];
        for (int o = 0; o < out; o++) {
            table[net->b[l] + o] = (double)mlp->b[l][o];
            for (int i = 0; i < in; i++)
                table[net->W[l] + i * out + o] = (double)mlp->W[l][o * in + i];
        }
    }
    for (int i = 0; !net->classes && i < in_last; i++)
        unwhiten(w, false, table + net->W[last] + i * w->coefs);
    if (!net->classes)
        unwhiten(w, true, table + net->b[last]);
    for (int k = 0; k < net->classes; k++) {
        double *c = table + net->of_class + k * w->coefs;
        for (int q = 0; q < w->coefs; q++)
            c[q] = (double)w->centroid[k * w->coefs + q];
        unwhiten(w, true, c);
    }
}

/* Fills what a patch of one material makes. */
static void fill_uniform(const gfnn_weights_t *w, const gfnn_materials_t *materials,
                         const gfnn_infer_t *net, double *table)
{
    const int out = net->width[1];
    const double least = w->vs_min * w->vs_min, range = w->vs_max * w->vs_max - least;
    double work[2 * GFNN_MAX_WIDTH];
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        const bool there = id < materials->ids && materials->w[id] != 0;
        const double input = there ? (materials->square[id] - least) / range : 0;
        double *sum = table + net->uniform + id * out;
        float c[GFNN_MAX_COEF];
        table[net->input + id] = input;
        memcpy(sum, table + net->b[0], (size_t)out * sizeof *sum);
        for (int e = 0; e < GFNN_INPUTS; e++)
            for (int o = 0; o < out; o++)
                sum[o] += input * table[net->W[0] + e * out + o];
        memcpy(work, sum, (size_t)out * sizeof *sum);
        gfnn_infer_finish(net, table, 0, 1, work, work + net->widest, c, 1);
        for (int q = 0; q < w->coefs; q++)
            table[net->known + id * w->coefs + q] = (double)c[q];
    }
}

gfnn_infer_t gfnn_infer_new(const gfnn_weights_t *w, int coef, const gfnn_materials_t *materials,
                            double **table)
{
    const bool classes = coef == GFNN_COEF_NN_CLASS;
    const gfnn_mlp_t *mlp = classes ? &w->cls : &w->reg;
    const gfnn_infer_t net = sizes(mlp, w->coefs, classes ? w->classes : 0);
    *table = RT_NEW(double, (size_t)net.size, RT_HOST);
    fill_layers(w, mlp, &net, *table);
    fill_uniform(w, materials, &net, *table);
    return net;
}

void gfnn_infer(const gfnn_weights_t *weights, int coef, const gfnn_box_t *box,
                const gfnn_model_t *model, float *c)
{
    const gfnn_grid_t *wide = &box->wide, *bare = &box->bare;
    double *table;
    const gfnn_infer_t net = gfnn_infer_new(weights, coef, &model->materials, &table);
#pragma omp parallel for collapse(2) schedule(dynamic, 8)
    for (int64_t k = 0; k < box->n[2]; k++)
        for (int64_t j = 0; j < box->n[1]; j++)
            for (int64_t i = 0; i < box->n[0]; i++) {
                const uint8_t *id = model->id + gfnn_at(wide, i, j, k);
                float *to = c + gfnn_at(bare, i, j, k);
                double work[2 * GFNN_MAX_WIDTH];
                if (!gfnn_infer_known(&net, table, id, wide->pitch, wide->slab, to, bare->plane))
                    gfnn_infer_node(&net, table, id, wide->pitch, wide->slab, 0, 1, work, to,
                                    bare->plane);
            }
    RT_FREE(table, RT_HOST);
}
