/*
 * weights.c - reads trained kernels and networks from a file of tools/train-gfnn, and checks
 * whether they are for this run.
 *
 * The format is little endian without gaps: "GFNN", then 32-bit numbers: version 1, reach, form,
 * kernels, coefficients, layers of the regression, layers of the classifier, classes, and the
 * widths of both (layers + 1 each); doubles: Vp, ds, dt, rho, damping, f1, f2, least and largest
 * Vs; floats: K; doubles: mean and L of the coefficients; floats: W and b of each layer of the
 * regression, of the classifier, and the centroids; last the CRC-32 of all bytes before.
 *
 * The file is not trusted: its length follows from the sizes it names, which are bounded and
 * compared with it before anything is allocated; then the CRC and the values are checked. See
 * io/scan.h.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/sha256.h"
#include "io/inputs.h"
#include "io/scan.h"

enum {
    FILE_VERSION = 1,
    FORM_GF8 = 3, /* gfm: 4 */
    MAX_LAYERS = 4,
    NUMBERS = 8,
    DOUBLES = 9,
    CRC_BYTES = 4
};

/* --- numbers --- */

static uint32_t take_u32(rt_scan_t *s)
{
    uint32_t value;
    rt_scan_take(s, &value, sizeof value);
    return value;
}

static bool take_double(rt_scan_t *s, double *value, const char *what)
{
    rt_scan_take(s, value, sizeof *value);
    return rt_finite(*value) || rt_scan_fail(s, "%s is not finite", what);
}

static bool take_floats(rt_scan_t *s, int64_t n, float *to, const char *what)
{
    rt_scan_take(s, to, (size_t)n * sizeof *to);
    for (int64_t k = 0; k < n; k++)
        if (!rt_finite((double)to[k]))
            return rt_scan_fail(s, "%s: value %lld is not finite", what, (long long)k);
    return true;
}

/* --- sizes --- */

static bool in_range(rt_scan_t *s, const char *what, uint32_t value, uint32_t least, uint32_t most)
{
    if (value >= least && value <= most)
        return true;
    if (least == most)
        return rt_scan_fail_file(s, "%s %u: must be %u", what, value, least);
    return rt_scan_fail_file(s, "%s %u: must be %u to %u", what, value, least, most);
}

static bool start(rt_scan_t *s, gfnn_weights_t *w)
{
    static const char magic[4] = "GFNN";
    uint32_t n[NUMBERS];
    if (rt_scan_left(s) < sizeof magic || memcmp(s->at, magic, sizeof magic) != 0)
        return rt_scan_fail_file(s, "no file of tools/train-gfnn, which starts with GFNN");
    s->at += sizeof magic;
    if (!rt_scan_need(s, NUMBERS, 4, "the sizes"))
        return false;
    for (int k = 0; k < NUMBERS; k++)
        n[k] = take_u32(s);
    if (!in_range(s, "version", n[0], FILE_VERSION, FILE_VERSION) ||
        !in_range(s, "reach", n[1], GFNN_ND, GFNN_MAX_ND) ||
        !in_range(s, "form", n[2], FORM_GF8, FORM_GF8 + 1))
        return false;
    const bool gf8 = n[2] == FORM_GF8;
    if (!in_range(s, "kernels", n[3], 1, gf8 ? 1 : GFNN_MAX_KERNELS) ||
        !in_range(s, "coefficients", n[4], gf8 ? 8 : n[3], gf8 ? 8 : n[3]) ||
        !in_range(s, "layers of the regression", n[5], 1, MAX_LAYERS) ||
        !in_range(s, "layers of the classifier", n[6], 1, MAX_LAYERS) ||
        !in_range(s, "classes", n[7], 1, GFNN_MAX_WIDTH))
        return false;
    w->reach = (int)n[1];
    w->form = gf8 ? GFNN_GF8 : GFNN_GFM;
    w->kernels = (int)n[3];
    w->coefs = (int)n[4];
    w->reg.layers = (int)n[5];
    w->cls.layers = (int)n[6];
    w->classes = (int)n[7];
    return true;
}

static bool widths(rt_scan_t *s, gfnn_mlp_t *mlp, int outputs, const char *what)
{
    char name[64];
    if (!rt_scan_need(s, mlp->layers + 1, 4, "the widths of layers"))
        return false;
    for (int l = 0; l <= mlp->layers; l++) {
        const uint32_t width = take_u32(s), fixed = l == 0 ? GFNN_INPUTS : (uint32_t)outputs;
        const bool free = l > 0 && l < mlp->layers;
        snprintf(name, sizeof name, "width %d of the %s", l, what);
        if (!in_range(s, name, width, free ? 1 : fixed, free ? GFNN_MAX_WIDTH : fixed))
            return false;
        mlp->width[l] = (int)width;
    }
    return true;
}

static int64_t mlp_floats(const gfnn_mlp_t *mlp)
{
    int64_t n = 0;
    for (int l = 0; l < mlp->layers; l++)
        n += (int64_t)mlp->width[l + 1] * (mlp->width[l] + 1);
    return n;
}

static int64_t kernel_floats(const gfnn_weights_t *w)
{
    return (int64_t)w->kernels * 9 * gfnn_stencil(w->reach);
}

static int64_t all_floats(const gfnn_weights_t *w)
{
    return kernel_floats(w) + mlp_floats(&w->reg) + mlp_floats(&w->cls) +
           (int64_t)w->classes * w->coefs;
}

/* Checks that the rest of the file is as long as its sizes say, and undamaged. */
static bool whole(rt_scan_t *s, const gfnn_weights_t *w)
{
    const int64_t doubles = DOUBLES + w->coefs + (int64_t)w->coefs * w->coefs;
    const int64_t bytes = 8 * doubles + 4 * all_floats(w) + CRC_BYTES;
    const size_t before = (size_t)(s->at - s->start);
    if ((uint64_t)bytes != rt_scan_left(s))
        return rt_scan_fail_file(s, "%zu bytes, but its sizes make %zu", before + rt_scan_left(s),
                                 before + (size_t)bytes);
    rt_scan_t last = *s;
    last.at = s->end - CRC_BYTES;
    const uint32_t want = take_u32(&last);
    const uint32_t got = rt_scan_crc32(s->start, (size_t)(s->end - s->start) - CRC_BYTES);
    return got == want || rt_scan_fail_file(s, "damaged: its CRC is %08x, and not %08x", got, want);
}

/* --- values --- */

static bool physics(rt_scan_t *s, gfnn_weights_t *w)
{
    if (!take_double(s, &w->vp, "Vp") || !take_double(s, &w->ds, "ds") ||
        !take_double(s, &w->dt, "dt") || !take_double(s, &w->rho, "rho") ||
        !take_double(s, &w->damping, "the damping") || !take_double(s, &w->f1, "f1") ||
        !take_double(s, &w->f2, "f2") || !take_double(s, &w->vs_min, "the least Vs") ||
        !take_double(s, &w->vs_max, "the largest Vs"))
        return false;
    if (!(w->vp > 0 && w->ds > 0 && w->dt > 0 && w->rho > 0))
        return rt_scan_fail_file(s, "Vp %g, ds %g, dt %g, rho %g: must be positive", w->vp, w->ds,
                                 w->dt, w->rho);
    if (!(w->damping >= 0) || (w->damping > 0 && !(w->f1 > 0 && w->f2 > 0)))
        return rt_scan_fail_file(s, "damping %g at %g and %g Hz makes no sense", w->damping, w->f1,
                                 w->f2);
    if (!(w->vs_min >= 0 && w->vs_min < w->vs_max))
        return rt_scan_fail_file(s, "Vs from %g to %g is no range", w->vs_min, w->vs_max);
    return true;
}

/* Checks that gf8 has G_ij = G_ji: kernels may read either. */
static bool symmetric(rt_scan_t *s, const gfnn_weights_t *w)
{
    const int taps = (int)gfnn_stencil(w->reach);
    for (int i = 0; w->form == GFNN_GF8 && i < 3; i++)
        for (int j = 0; j < i; j++)
            for (int k = 0; k < taps; k++)
                if (w->K[(3 * i + j) * taps + k] != w->K[(3 * j + i) * taps + k])
                    return rt_scan_fail_file(s, "gf8, but G[%d][%d] and G[%d][%d] differ at tap %d",
                                             i, j, j, i, k);
    return true;
}

static bool whitening(rt_scan_t *s, gfnn_weights_t *w)
{
    for (int i = 0; i < w->coefs; i++)
        if (!take_double(s, &w->mean[i], "a mean coefficient"))
            return false;
    for (int i = 0; i < w->coefs; i++)
        for (int j = 0; j < w->coefs; j++) {
            if (!take_double(s, &w->whiten[i][j], "a value of L"))
                return false;
            if (j > i && w->whiten[i][j] != 0)
                return rt_scan_fail_file(s, "L[%d][%d] = %g: must be lower triangular", i, j,
                                         w->whiten[i][j]);
            if (j == i && !(w->whiten[i][i] > 0))
                return rt_scan_fail_file(s, "L[%d][%d] = %g: must be positive", i, i,
                                         w->whiten[i][i]);
        }
    return true;
}

static bool layers(rt_scan_t *s, gfnn_mlp_t *mlp, float **to, const char *what)
{
    for (int l = 0; l < mlp->layers; l++) {
        const int64_t out = mlp->width[l + 1], in = mlp->width[l];
        mlp->W[l] = *to;
        mlp->b[l] = *to + out * in;
        if (!take_floats(s, out * (in + 1), *to, what))
            return false;
        *to += out * (in + 1);
    }
    return true;
}

static bool values(rt_scan_t *s, gfnn_weights_t *w)
{
    float *to = w->memory = rt_scan_alloc(s, all_floats(w), sizeof *to);
    if (!to || !physics(s, w))
        return false;
    w->K = to;
    to += kernel_floats(w);
    if (!take_floats(s, kernel_floats(w), w->K, "K") || !symmetric(s, w) || !whitening(s, w) ||
        !layers(s, &w->reg, &to, "the regression") || !layers(s, &w->cls, &to, "the classifier"))
        return false;
    w->centroid = to;
    return take_floats(s, (int64_t)w->classes * w->coefs, to, "the centroids");
}

gfnn_weights_t *gfnn_weights_parse(const char *path, const void *data, size_t bytes, char *why,
                                   size_t len)
{
    rt_scan_t s = rt_scan_bytes(path, data, bytes, why, len);
    s.binary = true;
    gfnn_weights_t *w = rt_scan_alloc(&s, 1, sizeof *w);
    if (w) {
        *w = (gfnn_weights_t){0};
        if (!start(&s, w) || !widths(&s, &w->reg, w->coefs, "regression") ||
            !widths(&s, &w->cls, w->classes, "classifier") || !whole(&s, w) || !values(&s, w)) {
            gfnn_weights_free(w);
            w = NULL;
        } else {
            rt_sha256_t hash;
            rt_sha256_begin(&hash);
            rt_sha256_add(&hash, data, bytes);
            rt_sha256_end_hex(&hash, w->digest);
        }
    }
    return w;
}

void gfnn_weights_free(gfnn_weights_t *weights)
{
    if (!weights)
        return;
    RT_FREE(weights->memory, RT_HOST);
    RT_FREE(weights, RT_HOST);
}

/* --- is it for this run? --- */

static const char remedy[] = "train another with tools/train-gfnn, or name one with --weights";

static void match(const char *path, const char *what, double theirs, double ours, const char *unit)
{
    if (!(fabs(theirs - ours) <= 1e-6 * fabs(ours)))
        rt_refuse(RT_USAGE, "%s is for %s = %g%s, and this run has %g%s: %s", path, what, theirs,
                  unit, ours, unit, remedy);
}

void gfnn_weights_match(const gfnn_weights_t *weights, const gfnn_config_t *config,
                        const gfnn_materials_t *materials, const char *path)
{
    if (weights->form != config->precond)
        rt_refuse(RT_USAGE, "%s is for --precond %s, and this run has %s: %s", path,
                  weights->form == GFNN_GF8 ? "gf8" : "gfm", config->form, remedy);
    if (weights->form == GFNN_GFM)
        match(path, "M", weights->kernels, (double)config->kernels, " kernels");
    match(path, "a reach", weights->reach, (double)config->reach, " nodes");
    match(path, "ds", weights->ds, config->ds, " m");
    match(path, "dt", weights->dt, config->dt, " s");
    match(path, "Vp", weights->vp, GFNN_VP, " m/s");
    match(path, "damping", weights->damping, config->damping, "");
    if (config->damping > 0) {
        match(path, "f1", weights->f1, GFNN_F1, " Hz");
        match(path, "f2", weights->f2, GFNN_F2, " Hz");
    }
    for (int id = 0; id < materials->ids; id++) {
        const double vs = materials->vs[id];
        if (vs < weights->vs_min * (1 - 1e-6) || vs > weights->vs_max * (1 + 1e-6))
            rt_refuse(RT_USAGE,
                      "%s is for Vs from %g to %g m/s, and material %d of this run has %g m/s: %s",
                      path, weights->vs_min, weights->vs_max, id, vs, remedy);
    }
}

/* --- the files that ship --- */

RT_NORETURN static void refuse_shipped(const char *wanted, const rt_inputs_t *folders)
{
    rt_text_t where = {""};
    for (int f = 0; f < folders->n; f++)
        rt_text_add(&where, "%s%s", f > 0 ? ", " : "", folders->path[f]);
    rt_refuse(RT_USAGE, "no %s ships with the program (looked in %s): %s", wanted, where.text,
              remedy);
}

/* Returns whether rank 0 can read the file. */
static bool is_there(const char *path)
{
    bool there = rt_comm_rank() == 0 && access(path, R_OK) == 0;
    rt_comm_bcast(&there, sizeof there, 0);
    return there;
}

void gfnn_weights_path(const gfnn_config_t *config, char *path, size_t len)
{
    rt_inputs_t shipped;
    rt_text_t name, reach = {""};
    size_t length = (size_t)snprintf(path, len, "%s", config->weights);
    if (strcmp(config->weights, "shipped") == 0) {
        bool found = false;
        rt_inputs_folders("gfnn-wave", &shipped);
        if (config->reach != GFNN_ND)
            rt_text(&reach, "-nd%lld", (long long)config->reach);
        rt_text(&name, "%s%s-dt%gus.gfnn", config->form, reach.text, 1e6 * config->dt);
        for (int f = 0; f < shipped.n && length < len && !found; f++) {
            length = (size_t)snprintf(path, len, "%s/%s", shipped.path[f], name.text);
            found = is_there(path);
        }
        if (length < len && !found)
            refuse_shipped(name.text, &shipped);
    }
    if (length >= len)
        rt_refuse(RT_USAGE, "the path of --weights is longer than %zu bytes", len - 1);
}
