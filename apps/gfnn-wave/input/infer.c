/*
 * infer.c - the networks: coefficients of every node from the Vs^2 of the 6^3 elements about it. They
 * have learnt the fit of least energy: c where sum_l (1/2 g_l^T A g_l - g_l^T e_l) is least, g_l being
 * row l of P at the node.
 *
 * Most of the work is the first layer, 216 inputs to 64. A model has few materials and large
 * regions of each. So the first layer starts from its result for a patch that is all of the node's
 * own material, computed once, and adds what the elements of other materials change: nothing in the
 * middle of a tissue, where the whole result is known, and a third of the inputs at a smooth
 * interface. The first layer is a vector loop over its outputs; the others are short.
 */
#include "config.h"
#include "input.h"
#include <string.h>
#include "base/threads.h"

enum { BEFORE = GFNN_PATCH / 2 }; /* elements of a patch before its node */

typedef struct {
    const gfnn_weights_t *weights;
    const gfnn_mlp_t *mlp;
    const gfnn_model_t *model;
    const gfnn_grid_t *wide;
    int width;                  /* of the widest layer */
    float *W;                   /* first layer [inputs][outputs] */
    float *uniform;             /* [id][outputs] its result for a patch of this material alone */
    float *known;               /* [id][coefs] and that of the whole network */
    float *of_class;            /* [classes][coefs]; NULL: regression */
    double input[GFNN_MAX_IDS]; /* of an element of this material */
} job_t;

/* c = mean + L^-T y */
static void unwhiten(const gfnn_weights_t *w, const float *y, float *c)
{
    double d[GFNN_MAX_COEF];
    for (int i = w->coefs - 1; i >= 0; i--) {
        d[i] = (double)y[i];
        for (int j = i + 1; j < w->coefs; j++)
            d[i] -= w->whiten[j][i] * d[j];
        d[i] /= w->whiten[i][i];
        c[i] = (float)(w->mean[i] + d[i]);
    }
}

/* Goes on from the first layer's sums in h; h and other: `width` values each, both are
 * overwritten. */
static void finish(const job_t *job, float *h, float *other, float *c)
{
    const gfnn_mlp_t *mlp = job->mlp;
    for (int l = 1; l < mlp->layers; l++) {
        const int in = mlp->width[l];
        for (int i = 0; i < in; i++)
            h[i] = h[i] > 0 ? h[i] : 0;
        for (int o = 0; o < mlp->width[l + 1]; o++) {
            const float *W = mlp->W[l] + (int64_t)o * in;
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < in; i++)
                sum += W[i] * h[i];
            other[o] = mlp->b[l][o] + sum;
        }
        float *swap = h;
        h = other;
        other = swap;
    }
    if (!job->of_class) {
        unwhiten(job->weights, h, c);
        return;
    }
    int best = 0;
    for (int k = 1; k < job->weights->classes; k++)
        best = h[k] > h[best] ? k : best;
    memcpy(c, job->of_class + best * job->weights->coefs, (size_t)job->weights->coefs * sizeof *c);
}

/* Computes c [coefs] of a node; work: 2 width values. */
static void node(const job_t *job, int64_t i, int64_t j, int64_t k, float *work, float *c)
{
    const int out = job->mlp->width[1], coefs = job->weights->coefs;
    const uint8_t own = job->model->id[gfnn_at(job->wide, i, j, k)];
    const double input = job->input[own];
    uint8_t same[GFNN_PATCH];
    bool uniform = true;
    float *h = work;
    memset(same, own, sizeof same);
    memcpy(h, job->uniform + own * out, (size_t)out * sizeof *h);
    for (int row = 0; row < GFNN_PATCH * GFNN_PATCH; row++) {
        const uint8_t *id =
            job->model->id + gfnn_at(job->wide, i - BEFORE, j - BEFORE + row % GFNN_PATCH,
                                     k - BEFORE + row / GFNN_PATCH);
        if (memcmp(id, same, sizeof same) == 0)
            continue;
        uniform = false;
        for (int x = 0; x < GFNN_PATCH; x++) {
            const float more = (float)(job->input[id[x]] - input);
            const float *W = job->W + (int64_t)(row * GFNN_PATCH + x) * out;
            if (id[x] == own)
                continue;
#pragma omp simd
            for (int o = 0; o < out; o++)
                h[o] += more * W[o];
        }
    }
    if (uniform)
        memcpy(c, job->known + own * coefs, (size_t)coefs * sizeof *c);
    else
        finish(job, h, h + job->width, c);
}

/* Prepares what does not depend on the node. */
static void prepare(job_t *job, float *work)
{
    const gfnn_weights_t *w = job->weights;
    const gfnn_materials_t *materials = &job->model->materials;
    const gfnn_mlp_t *mlp = job->mlp;
    const int out = mlp->width[1];
    const double least = w->vs_min * w->vs_min, range = w->vs_max * w->vs_max - least;
    for (int k = 0; job->of_class && k < w->classes; k++)
        unwhiten(w, w->centroid + k * w->coefs, job->of_class + k * w->coefs);
    for (int o = 0; o < out; o++)
        for (int e = 0; e < GFNN_INPUTS; e++)
            job->W[e * out + o] = mlp->W[0][o * GFNN_INPUTS + e];
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        const bool there = materials->w[id] != 0 && id < materials->ids;
        job->input[id] = there ? (materials->square[id] - least) / range : 0;
    }
    for (int o = 0; o < out; o++) {
        double sum = 0;
        for (int e = 0; e < GFNN_INPUTS; e++)
            sum += (double)mlp->W[0][o * GFNN_INPUTS + e];
        for (int id = 0; id < GFNN_MAX_IDS; id++)
            job->uniform[id * out + o] = (float)((double)mlp->b[0][o] + job->input[id] * sum);
    }
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        memcpy(work, job->uniform + id * out, (size_t)out * sizeof *work);
        finish(job, work, work + job->width, job->known + id * w->coefs);
    }
}

void gfnn_infer(const gfnn_weights_t *weights, int coef, const gfnn_box_t *box,
                const gfnn_model_t *model, float *c)
{
    const bool classes = coef == GFNN_COEF_NN_CLASS;
    const int coefs = weights->coefs;
    job_t job = {.weights = weights,
                 .mlp = classes ? &weights->cls : &weights->reg,
                 .model = model,
                 .wide = &box->wide};
    for (int l = 1; l <= job.mlp->layers; l++)
        job.width = job.mlp->width[l] > job.width ? job.mlp->width[l] : job.width;
    const size_t out = (size_t)job.mlp->width[1], work_size = 2 * (size_t)job.width;
    float *works = RT_NEW(float, (size_t)rt_threads() * work_size, RT_HOST);
    job.W = RT_NEW(float, GFNN_INPUTS *out, RT_HOST);
    job.uniform = RT_NEW(float, GFNN_MAX_IDS *out, RT_HOST);
    job.known = RT_NEW(float, GFNN_MAX_IDS *(size_t)coefs, RT_HOST);
    job.of_class = classes ? RT_NEW(float, (size_t)(weights->classes * coefs), RT_HOST) : NULL;
    prepare(&job, works);
#pragma omp parallel
    {
        float *work = works + (size_t)rt_thread() * work_size, got[GFNN_MAX_COEF];
#pragma omp for collapse(2) schedule(dynamic, 8)
        for (int64_t k = 0; k < box->n[2]; k++)
            for (int64_t j = 0; j < box->n[1]; j++)
                for (int64_t i = 0; i < box->n[0]; i++) {
                    node(&job, i, j, k, work, got);
                    for (int q = 0; q < coefs; q++)
                        c[q * box->bare.plane + gfnn_at(&box->bare, i, j, k)] = got[q];
                }
    }
    RT_FREE(works, RT_HOST);
    RT_FREE(job.W, RT_HOST);
    RT_FREE(job.uniform, RT_HOST);
    RT_FREE(job.known, RT_HOST);
    RT_FREE(job.of_class, RT_HOST);
}
