/*
 * fuzz_weights.c - libFuzzer target: reads any bytes as a trained file of gfnn-wave. Nothing may be
 * read out of bounds, and an accepted file must have finite values and consistent sizes. The target
 * puts the correct CRC at the end, otherwise hardly any input would pass it. Run it by hand from
 * the root of the sources, with B a build folder of a configured tree:
 *
 *   clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=fuzzer,address,undefined -IB -I. \
 *       -Icommon '-DRT_DATADIR="."' tests/fuzz/fuzz_weights.c \
 *       apps/gfnn-wave/input/weights.c common/io/inputs.c common/io/scan.c -lm \
 *       common/base/{file,numbers,sha256,text}.c -o B/fuzz_weights
 *   mkdir B/corpus && cp inputs/gfnn-wave/gfm2*.gfnn B/corpus
 *   B/fuzz_weights -timeout=10 -rss_limit_mb=2048 -max_len=200000 -max_total_time=600 B/corpus
 *
 * Memory comes directly from malloc: see fuzz.h.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/gfnn-wave/input/input.h"
#include "tests/fuzz/fuzz.h"

void rt_refuse(rt_status_t status, const char *fmt, ...)
{
    (void)status, (void)fmt;
    abort();
}

int rt_comm_rank(void)
{
    return 0;
}

void rt_comm_bcast(void *data, size_t bytes, int root)
{
    (void)data, (void)bytes, (void)root;
}

/* Returns a copy of exactly that size, in which a correct CRC replaces the last four bytes. */
static uint8_t *copy(const uint8_t *data, size_t bytes)
{
    uint8_t *made = malloc(bytes);
    uint32_t crc = ~0u;
    expect(made != NULL);
    memcpy(made, data, bytes);
    for (size_t k = 0; k + 4 < bytes; k++) {
        crc ^= data[k];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    crc = ~crc;
    for (int k = 0; bytes > 4 && k < 4; k++)
        made[bytes - 4 + (size_t)k] = (uint8_t)(crc >> 8 * k);
    return made;
}

static void expect_finite(const float *values, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        expect(isfinite(values[k]));
}

static void expect_network(const gfnn_mlp_t *mlp, int outputs)
{
    expect(mlp->layers >= 1 && mlp->layers <= 4 && mlp->width[0] == GFNN_INPUTS);
    expect(mlp->width[mlp->layers] == outputs);
    for (int l = 0; l < mlp->layers; l++) {
        expect_finite(mlp->W[l], (int64_t)mlp->width[l] * mlp->width[l + 1]);
        expect_finite(mlp->b[l], mlp->width[l + 1]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char why[512];
    if (bytes == 0)
        return 0;
    uint8_t *made = copy(data, bytes);
    gfnn_weights_t *w = gfnn_weights_parse("fuzz", made, bytes, why, sizeof why);
    free(made);
    expect((w == NULL) == (why[0] != '\0') && strchr(why, '\n') == NULL);
    if (!w)
        return 0;
    expect(w->kernels >= 1 && w->kernels <= GFNN_MAX_KERNELS && w->coefs <= GFNN_MAX_COEF);
    expect(w->reach >= GFNN_ND && w->reach <= GFNN_MAX_ND);
    expect(w->form == GFNN_GF8 ? w->kernels == 1 && w->coefs == 8 : w->coefs == w->kernels);
    expect_finite(w->K, w->kernels * 9 * gfnn_stencil(w->reach));
    expect_network(&w->reg, w->coefs);
    expect_network(&w->cls, w->classes);
    expect_finite(w->centroid, (int64_t)w->classes * w->coefs);
    for (int i = 0; i < w->coefs; i++)
        expect(isfinite(w->mean[i]) && w->whiten[i][i] > 0);
    expect(w->vs_min < w->vs_max && w->dt > 0 && w->ds > 0 && w->vp > 0);
    gfnn_weights_free(w);
    return 0;
}
