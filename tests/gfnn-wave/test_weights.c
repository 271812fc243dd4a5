/*
 * test_weights.c - trained files and what is computed from them: shipped files, and these broken in
 * every way; files that are not for a run; networks against a plain loop, and on a GPU against the host's.
 */
#include "config.h"
#include <limits.h>
#include <math.h>
#include "base/file.h"
#include "gfnn_test.h"
#include "io/scan.h"
#include "tests/common/guarded.h"

static char why[512];

/* --- files --- */

/* Where the parts of a shipped file begin: both networks have the widths 216, 64, outputs. */
enum { SIZES = 4, PHYSICS = 60, K = PHYSICS + 9 * 8, HIDDEN = 64, CLASSES = 16 };
typedef struct {
    unsigned char *data;
    size_t size, mean, L, reg, cls, centroid;
} file_t;

static file_t load(const char *name, size_t M, size_t coefs, size_t width)
{
    rt_text_t path, fault;
    file_t f;
    f.data = (unsigned char *)rt_file_load(gfnn_test_input(name, &path), 1 << 24, &f.size, &fault);
    RT_EXPECT(f.data, RT_ENVIRONMENT, "%s: %s", path.text, fault.text);
    f.mean = K + 4 * 9 * M * width * width * width;
    f.L = f.mean + 8 * coefs;
    f.reg = f.L + 8 * coefs * coefs;
    f.cls = f.reg + 4 * (HIDDEN * (GFNN_INPUTS + 1) + coefs * (HIDDEN + 1));
    f.centroid = f.cls + 4 * (HIDDEN * (GFNN_INPUTS + 1) + CLASSES * (HIDDEN + 1));
    CHECK(f.centroid + 4 * CLASSES * coefs + 4 == f.size);
    return f;
}

static file_t gfm2(void)
{
    return load("gfm2-dt20us.gfnn", 2, 2, 7);
}

static file_t gf8(void)
{
    return load("gf8-dt20us.gfnn", 1, 8, 7);
}

/* Returns what is made of `size` bytes, behind which no access is allowed. */
static gfnn_weights_t *parse(const file_t *f, size_t size)
{
    const size_t before = rt_mem_used(RT_HOST);
    void *copy = guarded_new(size + 1);
    unsigned char *at = (unsigned char *)copy + 1;
    memcpy(at, f->data, size);
    gfnn_weights_t *w = gfnn_weights_parse("file", at, size, why, sizeof why);
    guarded_free(copy, size + 1);
    CHECK(w ||
          (rt_mem_used(RT_HOST) == before && strncmp(why, "file: ", 6) == 0 && !strchr(why, '\n')));
    return w;
}

static float float_at(const file_t *f, size_t at)
{
    float value;
    memcpy(&value, f->data + at, sizeof value);
    return value;
}

static void test_good(file_t f, int form, int M, int coefs, int reach)
{
    gfnn_weights_t *w = parse(&f, f.size);
    const int taps = (int)gfnn_stencil(reach);
    CHECK(w && w->form == form && w->kernels == M && w->coefs == coefs && w->reach == reach);
    CHECK(w->vp == 200 && w->ds == 1e-3 && w->dt == 2e-5 && w->rho == 1000 && w->damping == 1e-3 &&
          w->f1 == 500 && w->f2 == 5000 && w->vs_min == 50 && w->vs_max == 120);
    CHECK(w->K[0] == float_at(&f, K) && w->K[9 * M * taps - 1] == float_at(&f, f.mean - 4));
    CHECK(w->reg.layers == 2 && w->reg.width[1] == HIDDEN && w->reg.width[2] == coefs);
    CHECK(w->reg.W[0][1] == float_at(&f, f.reg + 4));
    CHECK(w->reg.b[1][coefs - 1] == float_at(&f, f.cls - 4));
    CHECK(w->cls.width[2] == CLASSES && w->cls.b[1][0] == float_at(&f, f.centroid - 4 * CLASSES));
    CHECK(w->centroid[CLASSES * coefs - 1] == float_at(&f, f.size - 8));
    gfnn_weights_free(w);
    free(f.data);
}

static void refused(const file_t *f, size_t size, const char *text)
{
    gfnn_weights_t *w = parse(f, size);
    if (w || !strstr(why, text))
        fprintf(stderr, "    got:  %s\n    want: %s\n", w ? "accepted" : why, text);
    CHECK(!w && strstr(why, text));
    gfnn_weights_free(w);
}

/* Every file that was cut off, and one with a bit turned, is refused. */
static void test_broken(void)
{
    file_t f = gfm2();
    for (size_t n = 0; n < f.size; n += n < 200 ? 1 : 9973)
        refused(&f, n, "");
    refused(&f, f.size - 1, "bytes, but its sizes make");
    refused(&f, 20, "the file ends at byte 20, before the end of the sizes");
    for (size_t n = 0; n < f.size; n += n < PHYSICS + 80 ? 1 : 9973) {
        f.data[n] ^= (unsigned char)(1 << n % 8);
        refused(&f, f.size, n < PHYSICS ? "" : "damaged: its CRC is");
        f.data[n] ^= (unsigned char)(1 << n % 8);
    }
    free(f.data);
}

/* Checks a file that has a wrong value and the right CRC. bytes: 4 or 8, of a float or a double; 0:
 * of a number. */
static void wrong(file_t f, int bytes, size_t at, double value, const char *text)
{
    const uint32_t number = (uint32_t)value;
    const float single = (float)value;
    memcpy(f.data + at,
           bytes == 8   ? (const void *)&value
           : bytes == 4 ? (const void *)&single
                        : &number,
           bytes == 8 ? 8 : 4);
    const uint32_t crc = rt_scan_crc32((const char *)f.data, f.size - 4);
    memcpy(f.data + f.size - 4, &crc, 4);
    refused(&f, f.size, text);
    free(f.data);
}

static void test_values(void)
{
    const file_t f = gfm2();
    wrong(gfm2(), 0, 0, 0x12345678, "no file of tools/train-gfnn");
    wrong(gfm2(), 0, SIZES, 2, "version 2: must be 1");
    wrong(gfm2(), 0, SIZES + 4, 7, "reach 7: must be 3 to 6");
    wrong(gfm2(), 0, SIZES + 4, 4, "bytes, but its sizes make");
    wrong(gfm2(), 0, SIZES + 8, 5, "form 5: must be 3 to 4");
    wrong(gfm2(), 0, SIZES + 12, 9, "kernels 9: must be 1 to 8");
    wrong(gf8(), 0, SIZES + 12, 2, "kernels 2: must be 1");
    wrong(gfm2(), 0, SIZES + 16, 3, "coefficients 3: must be 2");
    wrong(gf8(), 0, SIZES + 16, 4, "coefficients 4: must be 8");
    wrong(gfm2(), 0, SIZES + 20, 5, "layers of the regression 5: must be 1 to 4");
    wrong(gfm2(), 0, SIZES + 24, 0, "layers of the classifier 0: must be 1 to 4");
    wrong(gfm2(), 0, SIZES + 28, 0xffffffff, "classes 4294967295: must be 1 to 4096");
    wrong(gfm2(), 0, SIZES + 32, 215, "width 0 of the regression 215: must be 216");
    wrong(gfm2(), 0, SIZES + 36, 0, "width 1 of the regression 0: must be 1 to 4096");
    wrong(gfm2(), 0, SIZES + 36, HIDDEN + 1, "bytes, but its sizes make");
    wrong(gfm2(), 0, SIZES + 52, CLASSES + 1, "width 2 of the classifier 17: must be 16");
    wrong(gfm2(), 8, PHYSICS, -200, "Vp -200, ds 0.001, dt 2e-05, rho 1000: must be positive");
    wrong(gfm2(), 8, PHYSICS + 16, NAN, "dt is not finite");
    wrong(gfm2(), 8, PHYSICS + 32, -1, "damping -1 at 500 and 5000 Hz");
    wrong(gfm2(), 8, PHYSICS + 56, 120, "Vs from 120 to 120 is no range");
    wrong(gfm2(), 8, f.mean, INFINITY, "a mean coefficient is not finite");
    wrong(gfm2(), 8, f.L + 8, 1e-9, "L[0][1] = 1e-09: must be lower triangular");
    wrong(gfm2(), 8, f.L + 24, 0, "L[1][1] = 0: must be positive");
    wrong(gfm2(), 4, K + 8, NAN, "K: value 2 is not finite");
    wrong(gfm2(), 4, f.reg, INFINITY, "the regression: value 0 is not finite");
    wrong(gfm2(), 4, f.centroid + 4, NAN, "the centroids: value 1 is not finite");
    wrong(gf8(), 4, K + 4 * (GFNN_STENCIL + 7), 3, "G[1][0] and G[0][1] differ at tap 7");
    free(f.data);
}

/* --- for this run? --- */

static void test_match(void)
{
    static gfnn_materials_t materials = {.ids = 2, .vs = {50, 120}};
    file_t f = gfm2();
    gfnn_weights_t *w = parse(&f, f.size);
    gfnn_config_t good = gfnn_test_config(8, 8, 8, GFNN_PERIODIC);
    good.precond = GFNN_GFM;
    gfnn_config_t c = good;
    c.dt *= 1 + 5e-7; /* what text makes of a number */
    gfnn_weights_match(w, &c, &materials, "w");
#define REFUSED(text, change) \
    c = good;                 \
    change;                   \
    CHECK_DIES(RT_USAGE, text, { gfnn_weights_match(w, &c, &materials, "w"); })
    c.form = "gf8";
    REFUSED("w is for --precond gfm, and this run has gf8: train another", c.precond = GFNN_GF8;
            c.form = "gf8");
    REFUSED("w is for M = 2 kernels, and this run has 4 kernels", c.kernels = 4);
    REFUSED("w is for a reach = 3 nodes, and this run has 6 nodes", c.reach = 6);
    REFUSED("w is for ds = 0.001 m, and this run has 0.002 m", c.ds = 2e-3);
    REFUSED("w is for dt = 2e-05 s, and this run has 1.5e-05 s", c.dt = 1.5e-5);
    REFUSED("w is for damping = 0.001, and this run has 0: train", c.damping = 0);
    REFUSED("for Vs from 50 to 120 m/s, and material 1 of this run has 121 m/s",
            materials.vs[1] = 121);
    REFUSED("material 1 of this run has 49 m/s", materials.vs[1] = 49);
    materials.vs[1] = 120;
    REFUSED("w is for Vp = 250 m/s, and this run has 200 m/s: train", w->vp = 250);
    w->vp = 200;
    REFUSED("w is for f1 = 400 Hz, and this run has 500 Hz", w->f1 = 400);
#undef REFUSED
    gfnn_weights_free(w);
    free(f.data);
}

static void test_path(void)
{
    char got[PATH_MAX], small[8];
    gfnn_config_t c = {
        .precond = GFNN_GFM, .form = "gfm2", .reach = 3, .dt = 2e-5, .weights = "a/b.gfnn"};
    gfnn_weights_path(&c, got, sizeof got);
    CHECK_TEXT(got, "a/b.gfnn");
    CHECK_DIES(RT_USAGE, "longer than 7 bytes", { gfnn_weights_path(&c, small, sizeof small); });
    c.weights = "shipped";
    gfnn_weights_path(&c, got, sizeof got);
    CHECK(strstr(got, "inputs/gfnn-wave/gfm2-dt20us.gfnn"));
    c.reach = 5;
    CHECK_DIES(RT_USAGE, "no gfm2-nd5-dt20us.gfnn ships with the program (looked in ",
               { gfnn_weights_path(&c, got, sizeof got); });
    c.reach = 3;
    c.dt = 1.25e-5;
    c.form = "gf8";
    CHECK_DIES(RT_USAGE, "no gf8-dt12.5us.gfnn ships", { gfnn_weights_path(&c, got, sizeof got); });
}

/* --- networks --- */

static void plain_mlp(const gfnn_mlp_t *mlp, const double *input, double *out)
{
    double h[GFNN_INPUTS], next[GFNN_INPUTS];
    memcpy(h, input, sizeof h);
    for (int l = 0; l < mlp->layers; l++) {
        for (int o = 0; o < mlp->width[l + 1]; o++) {
            next[o] = (double)mlp->b[l][o];
            for (int i = 0; i < mlp->width[l]; i++)
                next[o] += (double)mlp->W[l][o * mlp->width[l] + i] * h[i];
        }
        for (int o = 0; o < mlp->width[l + 1]; o++)
            h[o] = l + 1 < mlp->layers ? fmax(next[o], 0) : next[o];
    }
    memcpy(out, h, (size_t)mlp->width[mlp->layers] * sizeof *out);
}

/* Computes the wanted coefficients of a node; returns false if two classes are too close to
 * distinguish. */
static bool plain_node(const gfnn_weights_t *w, int coef, const gfnn_box_t *box,
                       const gfnn_model_t *model, const int64_t node[3], double *c)
{
    double input[GFNN_INPUTS], y[GFNN_INPUTS], score[GFNN_INPUTS];
    bool clear = true;
    for (int64_t e = 0; e < GFNN_INPUTS; e++) {
        const uint8_t id = model->id[gfnn_at(&box->wide, node[0] - 3 + e % 6,
                                             node[1] - 3 + e / 6 % 6, node[2] - 3 + e / 36)];
        const double vs = id == GFNN_OUTSIDE ? w->vs_min : model->materials.vs[id];
        input[e] =
            (vs * vs - w->vs_min * w->vs_min) / (w->vs_max * w->vs_max - w->vs_min * w->vs_min);
    }
    plain_mlp(&w->reg, input, y);
    if (coef == GFNN_COEF_NN_CLASS) {
        int best = 0;
        plain_mlp(&w->cls, input, score);
        for (int q = 1; q < w->classes; q++) {
            clear = clear && fabs(score[q] - score[best]) > 1e-4;
            best = score[q] > score[best] ? q : best;
        }
        for (int q = 0; q < w->coefs; q++)
            y[q] = (double)w->centroid[best * w->coefs + q];
    }
    for (int a = w->coefs - 1; a >= 0; a--) { /* L^T d = y */
        for (int b = a + 1; b < w->coefs; b++)
            y[a] -= w->whiten[b][a] * y[b];
        y[a] /= w->whiten[a][a];
        c[a] = w->mean[a] + y[a];
    }
    return clear;
}

/* Of a head, whose void has uniform patches, with and without absent elements beyond its faces. */
static void test_infer(file_t f, int coef, int faces)
{
    gfnn_weights_t *w = parse(&f, f.size);
    gfnn_config_t config = gfnn_test_config(17, 11, 12, faces);
    config.model = "head";
    config.coef = coef;
    const gfnn_box_t box = gfnn_box(&config, 0);
    gfnn_model_t *model = gfnn_model_new(&config, &box);
    const size_t values = (size_t)(w->coefs * box.bare.plane);
    float *c = RT_NEW(float, values, RT_HOST);
    rt_fill(c, RT_HOST, 0, values * sizeof *c);
    double error = 0, most = 0, want[GFNN_MAX_COEF];
    int close = 0;
    gfnn_infer(w, coef, &box, model, c);
    for (int64_t q = 0; q < box.n[0] * box.n[1] * box.n[2]; q++) {
        const int64_t node[] = {q % box.n[0], q / box.n[0] % box.n[1], q / box.n[0] / box.n[1]};
        const int64_t at = gfnn_at(&box.bare, node[0], node[1], node[2]);
        const bool clear = plain_node(w, coef, &box, model, node, want);
        close += !clear;
        for (int k = 0; clear && k < w->coefs; k++) {
            error = fmax(error, fabs((double)c[k * box.bare.plane + at] - want[k]));
            most = fmax(most, fabs(want[k]));
        }
    }
    CHECK(error < 2e-7 * most && close < 10);
#if RT_HAVE_CUDA
    if (rt_device_gpu()) { /* sums have another order: a last bit may differ */
        uint8_t *id = rt_clone(model->id, (size_t)box.wide.plane, 1, RT_DEVICE);
        float *gpu = gfnn_infer_cuda(
            w, &(gfnn_view_t){RT_DEVICE, &config, &box, &model->materials, id, NULL, NULL});
        float *got = RT_NEW(float, values, RT_HOST);
        rt_copy(got, RT_HOST, gpu, RT_DEVICE, values * sizeof *got);
        for (size_t v = 0; v < values; v++)
            CHECK(fabs((double)got[v] - (double)c[v]) <= 2e-7 * fmax(1, fabs((double)c[v])));
        RT_FREE(got, RT_HOST);
        RT_FREE_ALL(RT_DEVICE, id, gpu);
    }
#endif
    RT_FREE(c, RT_HOST);
    gfnn_model_destroy(model);
    gfnn_weights_free(w);
    free(f.data);
}

int main(int argc, char **argv)
{
    app_test_start("test_weights", &argc, &argv);
    CHECK(rt_scan_crc32("123456789", 9) == 0xcbf43926u);
    test_good(gfm2(), GFNN_GFM, 2, 2, 3);
    test_good(gf8(), GFNN_GF8, 1, 8, 3);
    test_good(load("gfm2-nd6-dt20us.gfnn", 2, 2, 13), GFNN_GFM, 2, 2, 6);
    test_broken();
    test_values();
    test_match();
    test_path();
    for (int faces = 0; faces < GFNN_FACES; faces++)
        for (int coef = GFNN_COEF_NN_REG; coef <= GFNN_COEF_NN_CLASS; coef++) {
            test_infer(gfm2(), coef, faces);
            test_infer(gf8(), coef, faces);
        }
    CHECK(rt_mem_used(RT_HOST) == 0);
    return app_test_stop(check_done());
}
