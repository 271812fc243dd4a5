/*
 * infer.h - a network at a node: one text for the host and for CUDA, where the lanes of a warp share
 * the outputs of a layer. A thread of the host is one lane of one.
 *
 * Sums are in double, so that all come to the same floats, and to the same class.
 */
#ifndef GFNN_INFER_H
#define GFNN_INFER_H

#include "apps/gfnn-wave/loops/node.h"
#include "input.h"

/* Returns whether a row of a patch is all of one material. */
GFNN_FN bool gfnn_infer_same(const uint8_t *id, int own)
{
    int others = 0;
    GFNN_UNROLL
    for (int x = 0; x < GFNN_PATCH; x++)
        others |= id[x] ^ own;
    return others == 0;
}

/* Returns where row 0 .. 35 of a node's patch begins. */
GFNN_FN const uint8_t *gfnn_infer_row(const uint8_t *id, int row, int64_t pitch, int64_t slab)
{
    const int before = GFNN_PATCH / 2;
    return id + (row / GFNN_PATCH - before) * slab + (row % GFNN_PATCH - before) * pitch - before;
}

/* If a node's patch is all of one material, writes its coefficients, `plane` apart, and returns
 * true. id: the node's own. */
GFNN_FN bool gfnn_infer_known(const gfnn_infer_t *net, const double *table, const uint8_t *id,
                              int64_t pitch, int64_t slab, float *c, int64_t plane)
{
    for (int row = 0; row < GFNN_PATCH * GFNN_PATCH; row++)
        if (!gfnn_infer_same(gfnn_infer_row(id, row, pitch, slab), *id))
            return false;
    for (int q = 0; q < net->coefs; q++)
        c[q * plane] = (float)table[net->known + *id * net->coefs + q];
    return true;
}

/* Lets lanes read what others wrote. */
GFNN_FN void gfnn_infer_wait(void)
{
#if defined(__CUDA_ARCH__)
    __syncwarp();
#endif
}

/* Goes on from the first layer's sums in h, and writes the coefficients. other: room for as many. */
GFNN_FN void gfnn_infer_finish(const gfnn_infer_t *net, const double *table, int lane, int lanes,
                               double *h, double *other, float *c, int64_t plane)
{
    for (int l = 1; l < net->layers; l++) {
        const int out = net->width[l + 1];
        for (int o = lane; o < out; o += lanes) {
            double sum = table[net->b[l] + o];
            for (int i = 0; i < net->width[l]; i++)
                sum += table[net->W[l] + i * out + o] * (h[i] > 0 ? h[i] : 0);
            other[o] = sum;
        }
        gfnn_infer_wait();
        double *const swap = h;
        h = other;
        other = swap;
    }
    int best = 0;
    for (int k = 1; k < net->classes; k++)
        best = h[k] > h[best] ? k : best;
    const double *from = net->classes ? table + net->of_class + best * net->coefs : h;
    for (int q = lane; q < net->coefs; q += lanes)
        c[q * plane] = (float)from[q];
    gfnn_infer_wait();
}

/* Writes the coefficients of any node; work: 2 widest values, which the lanes share. The first layer
 * starts from the sums for a patch of the node's own material, and adds what others change. */
GFNN_FN void gfnn_infer_node(const gfnn_infer_t *net, const double *table, const uint8_t *id,
                             int64_t pitch, int64_t slab, int lane, int lanes, double *work,
                             float *c, int64_t plane)
{
    const int out = net->width[1];
    const double *input = table + net->input;
    for (int o = lane; o < out; o += lanes)
        work[o] = table[net->uniform + *id * out + o];
    for (int row = 0; row < GFNN_PATCH * GFNN_PATCH; row++) {
        const uint8_t *of = gfnn_infer_row(id, row, pitch, slab);
        if (gfnn_infer_same(of, *id))
            continue;
        for (int x = 0; x < GFNN_PATCH; x++) {
            const double more = input[of[x]] - input[*id];
            const double *W = table + net->W[0] + (row * GFNN_PATCH + x) * out;
            for (int o = lane; more != 0 && o < out; o += lanes)
                work[o] += more * W[o];
        }
    }
    gfnn_infer_wait();
    gfnn_infer_finish(net, table, lane, lanes, work, work + net->widest, c, plane);
}

#endif
