/*
 * test_weights.c - trained files and what is computed from them: a file is written here, read and
 * compared, then broken in every way; files that are not for a run; networks against a plain loop;
 * the energy fit against the gradient of the energy on a small box, element after element.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "apps/gfnn-wave/input/input.h"
#include "tests/common/check.h"

enum { MOST = 1 << 18, HIDDEN = 5, CLASSES = 4 };
static char inputs[] = "/tmp/test_weights.XXXXXX", folder[40];
static char path[64]; /* of the file under test */
static char why[512];

/* --- writing --- */

typedef struct {
    unsigned char data[MOST];
    size_t size;
    int form, M, coefs, reach;
    /* where things begin */
    size_t physics, K, mean, L, reg, cls, centroid;
} file_t;

static uint32_t crc_of(const unsigned char *data, size_t bytes)
{
    uint32_t crc = ~0u;
    for (size_t k = 0; k < bytes; k++) {
        crc ^= data[k];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static void put_u32_at(file_t *f, size_t at, uint32_t value)
{
    for (int k = 0; k < 4; k++)
        f->data[at + (size_t)k] = (unsigned char)(value >> 8 * k);
}

static void put_float_at(file_t *f, size_t at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32_at(f, at, bits);
}

static void put_double_at(file_t *f, size_t at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32_at(f, at, (uint32_t)bits);
    put_u32_at(f, at + 4, (uint32_t)(bits >> 32));
}

static void put_u32(file_t *f, uint32_t value)
{
    put_u32_at(f, f->size, value);
    f->size += 4;
}

static void put_double(file_t *f, double value)
{
    put_double_at(f, f->size, value);
    f->size += 8;
}

static void put_randoms(file_t *f, int n, double scale)
{
    for (int k = 0; k < n; k++, f->size += 4)
        put_float_at(f, f->size, (float)(scale * rt_random(f->size, 11)));
}

static void put_crc(file_t *f)
{
    put_u32_at(f, f->size - 4, crc_of(f->data, f->size - 4));
}

static void write_file(const file_t *f, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(f->data, 1, size, file) != size || fclose(file) != 0)
        perror(path), exit(EXIT_FAILURE);
}

/* Makes a file, gf8 if M is 0. Both networks have the widths 216, HIDDEN, outputs; the
 * classifier may have another HIDDEN. */
static void make_reach(file_t *f, int M, int cls_layers, int reach)
{
    static const double physics[] = {200, 1e-3, 2e-5, 1000, 1e-3, 500, 5000, 50, 120};
    const bool gf8 = M == 0;
    *f = (file_t){
        .form = gf8 ? GFNN_GF8 : GFNN_GFM, .M = gf8 ? 1 : M, .coefs = gf8 ? 8 : M, .reach = reach};
    const size_t taps = (size_t)gfnn_stencil(reach);
    const uint32_t n[] = {1, (uint32_t)reach,      gf8 ? 3 : 4, (uint32_t)f->M, (uint32_t)f->coefs,
                          2, (uint32_t)cls_layers, CLASSES};
    memcpy(f->data, "GFNN", 4);
    f->size = 4;
    for (int k = 0; k < 8; k++)
        put_u32(f, n[k]);
    put_u32(f, GFNN_INPUTS), put_u32(f, HIDDEN), put_u32(f, (uint32_t)f->coefs);
    for (int l = 0; l <= cls_layers; l++)
        put_u32(f, l == 0 ? GFNN_INPUTS : l < cls_layers ? HIDDEN : CLASSES);
    f->physics = f->size;
    for (int k = 0; k < 9; k++)
        put_double(f, physics[k]);
    f->K = f->size;
    put_randoms(f, f->M * 9 * (int)taps, 1);
    for (size_t i = 0; gf8 && i < 3; i++)
        for (size_t j = 0; j < i; j++)
            memcpy(f->data + f->K + (3 * i + j) * taps * 4, f->data + f->K + (3 * j + i) * taps * 4,
                   taps * 4);
    f->mean = f->size;
    for (int i = 0; i < f->coefs; i++)
        put_double(f, rt_random((uint64_t)i, 5));
    f->L = f->size;
    for (int i = 0; i < f->coefs; i++)
        for (int j = 0; j < f->coefs; j++)
            put_double(f, j > i ? 0 : j == i ? 1.5 + i : rt_random((uint64_t)(8 * i + j), 6));
    f->reg = f->size;
    put_randoms(f, HIDDEN * (GFNN_INPUTS + 1) + f->coefs * (HIDDEN + 1), 0.5);
    f->cls = f->size;
    for (int l = 0; l < cls_layers; l++)
        put_randoms(f,
                    (l + 1 < cls_layers ? HIDDEN : CLASSES) * ((l == 0 ? GFNN_INPUTS : HIDDEN) + 1),
                    0.5);
    f->centroid = f->size;
    put_randoms(f, CLASSES * f->coefs, 1);
    f->size += 4;
    put_crc(f);
}

static void make(file_t *f, int M, int cls_layers)
{
    make_reach(f, M, cls_layers, GFNN_ND);
}

static gfnn_weights_t *read_file(const file_t *f, size_t size)
{
    const size_t before = rt_mem_used(RT_HOST);
    write_file(f, size);
    gfnn_weights_t *w = gfnn_weights_read(path, why, sizeof why);
    if (!w && !(rt_mem_used(RT_HOST) == before && strncmp(why, path, strlen(path)) == 0 &&
                strlen(why) > strlen(path) + 2 && !strchr(why, '\n')))
        CHECK(!"a refusal frees all and has one line");
    return w;
}

static gfnn_weights_t *need(const file_t *f)
{
    gfnn_weights_t *w = read_file(f, f->size);
    CHECK(w != NULL);
    if (!w)
        fprintf(stderr, "    %s\n", why), exit(EXIT_FAILURE);
    return w;
}

/* --- reading --- */

static float float_at(const file_t *f, size_t at)
{
    float value;
    const unsigned char *d = f->data + at;
    const uint32_t bits =
        (uint32_t)d[3] << 24 | (uint32_t)d[2] << 16 | (uint32_t)d[1] << 8 | (uint32_t)d[0];
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool same_floats(const file_t *f, size_t at, const float *values, int n)
{
    bool same = true;
    for (int k = 0; k < n; k++)
        same = same && values[k] == float_at(f, at + 4 * (size_t)k);
    return same;
}

static void test_good(int M, int cls_layers, int reach)
{
    static file_t f;
    make_reach(&f, M, cls_layers, reach);
    gfnn_weights_t *w = need(&f);
    const int n = f.coefs;
    CHECK(why[0] == '\0');
    CHECK(w->form == f.form && w->kernels == f.M && w->coefs == n && w->classes == CLASSES &&
          w->reach == reach);
    CHECK(w->vp == 200 && w->ds == 1e-3 && w->dt == 2e-5 && w->rho == 1000 && w->damping == 1e-3 &&
          w->f1 == 500 && w->f2 == 5000 && w->vs_min == 50 && w->vs_max == 120);
    CHECK(same_floats(&f, f.K, w->K, f.M * 9 * (int)gfnn_stencil(reach)));
    CHECK(w->mean[n - 1] == rt_random((uint64_t)(n - 1), 5) && w->whiten[n - 1][n - 1] == 0.5 + n);
    CHECK(n < 2 || (w->whiten[n - 1][0] == rt_random((uint64_t)(8 * (n - 1)), 6) &&
                    w->whiten[0][n - 1] == 0));
    CHECK(w->reg.layers == 2 && w->reg.width[0] == GFNN_INPUTS && w->reg.width[1] == HIDDEN &&
          w->reg.width[2] == n);
    CHECK(w->cls.layers == cls_layers && w->cls.width[cls_layers] == CLASSES);
    CHECK(same_floats(&f, f.reg, w->reg.W[0], HIDDEN * GFNN_INPUTS));
    CHECK(same_floats(&f, f.reg + 4 * HIDDEN * GFNN_INPUTS, w->reg.b[0], HIDDEN));
    CHECK(same_floats(&f, f.cls - 4 * (size_t)n, w->reg.b[1], n));
    CHECK(same_floats(&f, f.cls, w->cls.W[0], CLASSES * GFNN_INPUTS));
    CHECK(same_floats(&f, f.centroid - 4 * CLASSES, w->cls.b[cls_layers - 1], CLASSES));
    CHECK(same_floats(&f, f.centroid, w->centroid, CLASSES * n));
    gfnn_weights_free(w);
}

static void refused(const file_t *f, size_t size, const char *text)
{
    gfnn_weights_t *w = read_file(f, size);
    if (w || !strstr(why, text))
        fprintf(stderr, "    got:  %s\n    want: %s\n", w ? "accepted" : why, text);
    CHECK(!w && strstr(why, text));
    gfnn_weights_free(w);
}

static void test_broken(void)
{
    static file_t f;
    make(&f, 2, 2);
    refused(&f, 0, "the file is empty");
    for (size_t n = 1; n < f.size; n += n < 200 ? 1 : 997) {
        gfnn_weights_t *w = read_file(&f, n);
        CHECK(!w);
        gfnn_weights_free(w);
    }
    refused(&f, f.size - 1, "bytes, but its sizes make");
    refused(&f, f.size + 1, "bytes, but its sizes make");
    refused(&f, 20, "the file ends at byte 20, before the end of the sizes");
    for (size_t n = 0; n < f.size; n += n < f.physics + 80 ? 1 : 373) {
        f.data[n] ^= (unsigned char)(1 << n % 8);
        gfnn_weights_t *w = read_file(&f, f.size);
        CHECK(!w && (n < f.physics || strstr(why, "damaged: its CRC is")));
        gfnn_weights_free(w);
        f.data[n] ^= (unsigned char)(1 << n % 8);
    }
    f.data[f.size - 1] ^= 1;
    refused(&f, f.size, "damaged: its CRC is");
    remove(path);
    CHECK(!gfnn_weights_read(path, why, sizeof why) && strstr(why, "No such file"));
    CHECK(!gfnn_weights_read(folder, why, sizeof why) && strstr(why, "Is a directory"));
}

/* Checks a file that has a wrong value and the right CRC. */
typedef enum { U32, F32, F64 } value_t;
static void wrong(int M, value_t type, size_t at, double value, const char *text)
{
    static file_t f;
    make(&f, M, 2);
    if (type == U32)
        put_u32_at(&f, at, (uint32_t)value);
    else if (type == F32)
        put_float_at(&f, at, (float)value);
    else
        put_double_at(&f, at, value);
    put_crc(&f);
    refused(&f, f.size, text);
}

static void test_messages(void)
{
    static file_t f;
    make(&f, 2, 2);
    wrong(2, U32, 0, 0x12345678, "no file of tools/train-gfnn");
    wrong(2, U32, 4, 2, "version 2: must be 1");
    wrong(2, U32, 8, 2, "reach 2: must be 3 to 6");
    wrong(2, U32, 8, 7, "reach 7: must be 3 to 6");
    wrong(2, U32, 8, 4, "bytes, but its sizes make");
    wrong(2, U32, 12, 5, "form 5: must be 3 to 4");
    wrong(2, U32, 16, 9, "kernels 9: must be 1 to 8");
    wrong(2, U32, 16, 0, "kernels 0: must be 1 to 8");
    wrong(0, U32, 16, 2, "kernels 2: must be 1");
    wrong(2, U32, 20, 3, "coefficients 3: must be 2");
    wrong(0, U32, 20, 4, "coefficients 4: must be 8");
    wrong(2, U32, 24, 5, "layers of the regression 5: must be 1 to 4");
    wrong(2, U32, 28, 0, "layers of the classifier 0: must be 1 to 4");
    wrong(2, U32, 32, 0xffffffff, "classes 4294967295: must be 1 to 4096");
    wrong(2, U32, 36, 215, "width 0 of the regression 215: must be 216");
    wrong(2, U32, 40, 0, "width 1 of the regression 0: must be 1 to 4096");
    wrong(2, U32, 40, HIDDEN + 1, "bytes, but its sizes make");
    wrong(2, U32, 44, 3, "width 2 of the regression 3: must be 2");
    wrong(2, U32, 56, CLASSES + 1, "width 2 of the classifier 5: must be 4");
    wrong(2, F64, f.physics, -200, "Vp -200, ds 0.001, dt 2e-05, rho 1000: must be positive");
    wrong(2, F64, f.physics + 16, 0, "dt 0");
    wrong(2, F64, f.physics + 16, NAN, "dt is not finite");
    wrong(2, F64, f.physics + 32, -1, "damping -1 at 500 and 5000 Hz");
    wrong(2, F64, f.physics + 40, 0, "damping 0.001 at 0 and 5000 Hz");
    wrong(2, F64, f.physics + 56, 120, "Vs from 120 to 120 is no range");
    wrong(2, F64, f.mean, INFINITY, "a mean coefficient is not finite");
    wrong(2, F64, f.L + 8, 1e-9, "L[0][1] = 1e-09: must be lower triangular");
    wrong(2, F64, f.L + 24, 0, "L[1][1] = 0: must be positive");
    wrong(2, F64, f.L + 16, -INFINITY, "a value of L is not finite");
    wrong(2, F32, f.K + 8, NAN, "K: value 2 is not finite");
    wrong(2, F32, f.reg, INFINITY, "the regression: value 0 is not finite");
    wrong(2, F32, f.centroid - 4, NAN, "the classifier: value");
    wrong(2, F32, f.centroid + 4, NAN, "the centroids: value 1 is not finite");
    make(&f, 0, 2);
    wrong(0, F32, f.K + 4 * (GFNN_STENCIL + 7), 3, "gf8, but G[1][0] and G[0][1] differ at tap 7");
}

/* --- for this run? --- */

static void test_match(void)
{
    static file_t f;
    static gfnn_materials_t materials = {.ids = 2, .vs = {50, 120}};
    make(&f, 2, 2);
    gfnn_weights_t *w = need(&f);
    const gfnn_config_t good = {.precond = GFNN_GFM,
                                .kernels = 2,
                                .reach = 3,
                                .ds = 1e-3,
                                .dt = 2e-5,
                                .damping = 1e-3,
                                .weights = "shipped"};
    gfnn_config_t c = good;
    c.dt *= 1 + 5e-7; /* what text makes of a number */
    gfnn_weights_match(w, &c, &materials, "w");
    w->damping = 0;
    w->f1 = 1; /* of no meaning then */
    c.damping = 0;
    gfnn_weights_match(w, &c, &materials, "w");
    w->damping = 1e-3;
    w->f1 = 500;
#define REFUSED(text, change) \
    c = good;                 \
    change;                   \
    CHECK_DIES(RT_USAGE, text, { gfnn_weights_match(w, &c, &materials, "w"); })
    REFUSED("w is for --precond gfm, and this run has gf8: train another", c.precond = GFNN_GF8);
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
    w->f1 = 500;
    REFUSED("w is for f2 = 6000 Hz, and this run has 5000 Hz", w->f2 = 6000);
#undef REFUSED
    gfnn_weights_free(w);
}

static void touch(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fclose(fopen(path, "wb"));
}

static void test_path(void)
{
    static const char *const shipped[] = {"gfm2-dt20us.gfnn", "gfm2-dt15us.gfnn",
                                          "gf8-dt12.5us.gfnn"};
    char got[128], want[128], small[8];
    gfnn_config_t c = {
        .precond = GFNN_GFM, .kernels = 2, .reach = 3, .dt = 2e-5, .weights = "a/b.gfnn"};
    gfnn_weights_path(&c, got, sizeof got);
    CHECK_TEXT(got, "a/b.gfnn");
    CHECK_DIES(RT_USAGE, "longer than 7 bytes", { gfnn_weights_path(&c, small, sizeof small); });
    c.weights = "shipped";
    setenv("ROOFTOP_INPUTS", inputs, 1);
    for (int i = 0; i < 3; i++)
        touch(shipped[i]);
    snprintf(want, sizeof want, "%s/gfm2-dt20us.gfnn", folder);
    gfnn_weights_path(&c, got, sizeof got);
    CHECK_TEXT(got, want);
    c.reach = 5;
    CHECK_DIES(RT_USAGE, "no gfm2-nd5-dt20us.gfnn ships",
               { gfnn_weights_path(&c, got, sizeof got); });
    c.reach = 3;
    c.dt = 1.7e-5;
    CHECK_DIES(RT_USAGE, "no gfm2-dt17us.gfnn ships", { gfnn_weights_path(&c, got, sizeof got); });
    CHECK_DIES(RT_USAGE, "but gfm2-dt15us.gfnn, gfm2-dt20us.gfnn (looked in /tmp",
               { gfnn_weights_path(&c, got, sizeof got); });
    c.precond = GFNN_GF8;
    c.dt = 1.25e-5;
    snprintf(want, sizeof want, "%s/gf8-dt12.5us.gfnn", folder);
    gfnn_weights_path(&c, got, sizeof got);
    CHECK_TEXT(got, want);
    for (int i = 0; i < 3; i++) {
        snprintf(want, sizeof want, "%s/%s", folder, shipped[i]);
        remove(want);
    }
    snprintf(path, sizeof path, "%s/w.gfnn", folder);
}

/* --- a box of materials --- */

typedef struct {
    gfnn_box_t box;
    gfnn_model_t model;
    float *c;
} place_t;

static void place_new(place_t *p, const int64_t n[3], int reach)
{
    *p = (place_t){
        .box = {.n = {n[0], n[1], n[2]}, .wide = gfnn_grid(n, reach + 1), .bare = gfnn_grid(n, 0)}};
    gfnn_materials_t *m = &p->model.materials;
    m->ids = 3;
    for (int id = 0; id < 3; id++) {
        m->vs[id] = id == 0 ? 50 : id == 1 ? 120 : 80;
        m->w[id] = 1;
        m->square[id] = m->vs[id] * m->vs[id];
    }
    p->model.id = RT_NEW(uint8_t, (size_t)p->box.wide.plane, RT_HOST);
    p->c = RT_NEW(float, (size_t)(GFNN_MAX_COEF * p->box.bare.plane), RT_HOST);
    memset(p->model.id, 0xaa, (size_t)p->box.wide.plane); /* a material that there is not */
}

static void place_destroy(place_t *p)
{
    RT_FREE(p->model.id, RT_HOST);
    RT_FREE(p->c, RT_HOST);
}

static uint8_t *id_at(const place_t *p, int64_t i, int64_t j, int64_t k)
{
    return &p->model.id[gfnn_at(&p->box.wide, i, j, k)];
}

static float c_at(const place_t *p, int q, int64_t i, int64_t j, int64_t k)
{
    return p->c[q * p->box.bare.plane + gfnn_at(&p->box.bare, i, j, k)];
}

/* Fills a periodic box: material 1 for large x, where there are uniform patches, else any;
 * beyond the last layer in z perhaps absent ones. */
static void fill(place_t *p, bool outside)
{
    const int64_t *n = p->box.n, b = p->box.wide.halo;
    for (int64_t k = -b; k < n[2] + b; k++)
        for (int64_t j = -b; j < n[1] + b; j++)
            for (int64_t i = -b; i < n[0] + b; i++) {
                const int64_t x = (i + n[0]) % n[0], y = (j + n[1]) % n[1], z = (k + n[2]) % n[2];
                const uint64_t at = (uint64_t)((z * 64 + y) * 64 + x);
                *id_at(p, i, j, k) = outside && z >= n[2] - 2 ? GFNN_OUTSIDE
                                     : x >= n[0] - 10         ? 1
                                                              : (uint8_t)(rt_hash(at, 1) % 3);
            }
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
static bool plain_node(const gfnn_weights_t *w, int coef, const place_t *p, int64_t i, int64_t j,
                       int64_t k, double *c)
{
    double input[GFNN_INPUTS], y[GFNN_INPUTS];
    bool clear = true;
    for (int64_t e = 0; e < GFNN_INPUTS; e++) {
        const uint8_t id = *id_at(p, i - 3 + e % 6, j - 3 + e / 6 % 6, k - 3 + e / 36);
        const double vs = id == GFNN_OUTSIDE ? w->vs_min : p->model.materials.vs[id];
        input[e] =
            (vs * vs - w->vs_min * w->vs_min) / (w->vs_max * w->vs_max - w->vs_min * w->vs_min);
    }
    if (coef == GFNN_COEF_NN_CLASS) {
        double score[GFNN_INPUTS];
        int best = 0;
        plain_mlp(&w->cls, input, score);
        for (int q = 1; q < w->classes; q++) {
            clear = clear && fabs(score[q] - score[best]) > 1e-4;
            best = score[q] > score[best] ? q : best;
        }
        for (int q = 0; q < w->coefs; q++)
            y[q] = (double)w->centroid[best * w->coefs + q];
    } else {
        plain_mlp(&w->reg, input, y);
    }
    for (int a = w->coefs - 1; a >= 0; a--) { /* L^T d = y */
        for (int b = a + 1; b < w->coefs; b++)
            y[a] -= w->whiten[b][a] * y[b];
        y[a] /= w->whiten[a][a];
    }
    for (int a = 0; a < w->coefs; a++)
        c[a] = w->mean[a] + y[a];
    return clear;
}

static void test_infer(int M, int cls_layers)
{
    static file_t f;
    place_t p;
    make(&f, M, cls_layers);
    gfnn_weights_t *w = need(&f);
    place_new(&p, (int64_t[]){17, 5, 6}, GFNN_ND);
    for (int run = 0; run < 4; run++) {
        const int coef = run % 2 ? GFNN_COEF_NN_CLASS : GFNN_COEF_NN_REG;
        double error = 0, want[GFNN_MAX_COEF];
        int close = 0;
        fill(&p, run >= 2);
        gfnn_infer(w, coef, &p.box, &p.model, p.c);
        for (int64_t k = 0; k < p.box.n[2]; k++)
            for (int64_t j = 0; j < p.box.n[1]; j++)
                for (int64_t i = 0; i < p.box.n[0]; i++) {
                    const bool clear = plain_node(w, coef, &p, i, j, k, want);
                    close += !clear;
                    for (int q = 0; clear && q < w->coefs; q++)
                        error = fmax(error, fabs((double)c_at(&p, q, i, j, k) - want[q]));
                }
        CHECK(error < 2e-5);
        CHECK(close < 10);
    }
    place_destroy(&p);
    gfnn_weights_free(w);
}

/* The first of the largest scores wins: 1 of {0, 2, 2, 1} whatever the inputs. */
static void test_ties(void)
{
    static file_t f;
    static const float score[CLASSES] = {0, 2, 2, 1};
    place_t p;
    make(&f, 1, 2);
    for (int q = 0; q < CLASSES; q++) {
        for (int i = 0; i < HIDDEN; i++)
            put_float_at(&f, f.centroid - 4 * (size_t)(CLASSES * (HIDDEN + 1) - q * HIDDEN - i), 0);
        put_float_at(&f, f.centroid - 4 * (size_t)(CLASSES - q), score[q]);
    }
    put_crc(&f);
    gfnn_weights_t *w = need(&f);
    place_new(&p, (int64_t[]){12, 3, 3}, GFNN_ND);
    fill(&p, false);
    gfnn_infer(w, GFNN_COEF_NN_CLASS, &p.box, &p.model, p.c);
    const double want = w->mean[0] + (double)w->centroid[1] / w->whiten[0][0];
    CHECK(fabs((double)c_at(&p, 0, 0, 0, 0) - want) < 1e-6);
    CHECK(fabs((double)c_at(&p, 0, 11, 2, 2) - want) < 1e-6);
    place_destroy(&p);
    gfnn_weights_free(w);
}

/* --- the energy fit --- */

static const gfnn_form_t form = {1, 400, 0.01};

/* Returns field p of row l about a node, on a whole periodic box: the value of component j. */
static double field(const gfnn_weights_t *w, int l, int p, int j, int x, int y, int z)
{
    const int nd = w->reach, width = 2 * nd + 1, taps = width * width * width;
    const int s = ((z + nd) * width + y + nd) * width + x + nd;
    if (w->form == GFNN_GFM)
        return (double)w->K[((p * 3 + l) * 3 + j) * taps + s];
    const double factor[] = {1, (double)x / nd, (double)y / nd, (double)z / nd};
    return (l == j) == (p < 4) ? factor[p % 4] * (double)w->K[(l * 3 + j) * taps + s] : 0;
}

/* y += A x over all elements of the box; nodes are numbered without ghosts, three values each. */
static void assemble(const place_t *p, const double *x, double *y)
{
    const int64_t *n = p->box.n;
    for (int64_t k = 0; k < n[2]; k++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[0]; i++) {
                static double A[GFNN_MAX_IDS][24][24];
                static bool made[GFNN_MAX_IDS];
                const gfnn_materials_t *m = &p->model.materials;
                const uint8_t id = *id_at(p, i, j, k);
                int64_t at[24];
                if (!made[id])
                    gfnn_element_matrix(&form, m->w[id], m->square[id], A[id]);
                made[id] = true;
                for (int a = 0; a < 8; a++)
                    for (int c = 0; c < 3; c++)
                        at[3 * a + c] =
                            3 * (((k + (a >> 2)) % n[2] * n[1] + (j + (a >> 1 & 1)) % n[1]) * n[0] +
                                 (i + (a & 1)) % n[0]) +
                            c;
                for (int r = 0; r < 24; r++)
                    for (int q = 0; q < 24; q++)
                        y[at[r]] += A[id][r][q] * x[at[q]];
            }
}

/* Returns the largest derivative of the energy at c, over the sum of the magnitudes of its
 * terms. */
static double gradient(const gfnn_weights_t *w, const place_t *p, const int64_t node[3])
{
    const int64_t *n = p->box.n;
    const int width = 2 * w->reach + 1;
    const size_t values = 3 * (size_t)(n[0] * n[1] * n[2]);
    double *B[GFNN_MAX_COEF], *AB = RT_NEW(double, values, RT_HOST);
    double sum[GFNN_MAX_COEF] = {0}, size[GFNN_MAX_COEF] = {0}, most = 0;
    for (int q = 0; q < w->coefs; q++)
        B[q] = RT_NEW(double, values, RT_HOST);
    for (int l = 0; l < 3; l++) {
        for (int q = 0; q < w->coefs; q++) {
            memset(B[q], 0, values * sizeof **B);
            for (int s = 0; s < width * width * width; s++) {
                const int x = s % width - w->reach, y = s / width % width - w->reach;
                const int z = s / width / width - w->reach;
                const int64_t i = (node[0] + x + n[0]) % n[0], j = (node[1] + y + n[1]) % n[1];
                const int64_t at = ((node[2] + z + n[2]) % n[2] * n[1] + j) * n[0] + i;
                for (int g = 0; g < 3; g++)
                    B[q][3 * at + g] = field(w, l, q, g, x, y, z);
            }
        }
        for (int q = 0; q < w->coefs; q++) {
            const double c = (double)c_at(p, q, node[0], node[1], node[2]);
            memset(AB, 0, values * sizeof *AB);
            assemble(p, B[q], AB);
            for (int a = 0; a < w->coefs; a++) {
                double dot = 0;
                for (size_t v = 0; v < values; v++)
                    dot += B[a][v] * AB[v];
                sum[a] += c * dot;
                size[a] += fabs(c * dot);
            }
            sum[q] -= field(w, l, q, l, 0, 0, 0);
        }
    }
    for (int q = 0; q < w->coefs; q++) {
        most = fmax(most, fabs(sum[q]) / size[q]);
        RT_FREE(B[q], RT_HOST);
    }
    RT_FREE(AB, RT_HOST);
    return most;
}

static void test_fit(int M, int reach)
{
    const int64_t edge = 2 * reach + 3; /* no field meets itself */
    static const int64_t nodes[][3] = {{0, 0, 0}, {3, 8, 1}, {16, 4, 4}, {9, 2, 8}};
    static file_t f;
    place_t p;
    make_reach(&f, M, 2, reach);
    gfnn_weights_t *w = need(&f);
    place_new(&p, (int64_t[]){19, edge, edge}, reach);
    for (int run = 0; run < 2; run++) {
        fill(&p, run == 1);
        gfnn_fit(w, &form, &p.box, &p.model, p.c);
        for (int k = 0; k < 4; k++) {
            if (run == 1 && k == 0)
                continue;
            CHECK(gradient(w, &p, nodes[k]) < 1e-6);
        }
    }
    /* and somewhere else it is not 0 */
    p.c[gfnn_at(&p.box.bare, 3, 8, 1)] *= 1.001f;
    CHECK(gradient(w, &p, nodes[1]) > 1e-5);

    float c[GFNN_MAX_COEF];
    bool same = true;
    memset(p.model.id, 2, (size_t)p.box.wide.plane);
    gfnn_fit(w, &form, &p.box, &p.model, p.c);
    gfnn_fit_uniform(w, &form, 80, c);
    for (int q = 0; q < w->coefs; q++)
        same = same && c_at(&p, q, 18, 0, 5) == c[q] && rt_finite((double)c[q]);
    CHECK(same);
    CHECK(gradient(w, &p, nodes[2]) < 1e-6);
    place_destroy(&p);
    gfnn_weights_free(w);
}

/* Kernels K and 2 K: any c_0 + 2 c_1 = b_0 / N_00 will do, and the ridge chooses c_0 = 2 c_1. */
static void test_alike(void)
{
    static file_t f;
    float alone, c[GFNN_MAX_COEF];
    make(&f, 2, 2);
    gfnn_weights_t *w = need(&f);
    for (int k = 0; k < 9 * GFNN_STENCIL; k++)
        w->K[9 * GFNN_STENCIL + k] = 2 * w->K[k];
    w->kernels = w->coefs = 1;
    gfnn_fit_uniform(w, &form, 60, &alone);
    w->kernels = w->coefs = 2;
    gfnn_fit_uniform(w, &form, 60, c);
    CHECK(rt_finite((double)c[0]) && rt_finite((double)c[1]));
    CHECK(fabsf(c[0] + 2 * c[1] - alone) < 1e-5f * fabsf(alone));
    CHECK(fabsf(c[0] - alone / 2) < 1e-3f * fabsf(alone));
    gfnn_weights_free(w);
}

int main(void)
{
    rt_error_set_program("test_weights");
    if (!mkdtemp(inputs))
        perror(inputs), exit(EXIT_FAILURE);
    snprintf(folder, sizeof folder, "%s/gfnn-wave", inputs);
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/w.gfnn", folder);
    CHECK(crc_of((const unsigned char *)"123456789", 9) == 0xcbf43926u);
    test_good(2, 2, 3);
    test_good(8, 1, 3);
    test_good(0, 4, 3);
    test_good(2, 1, 6);
    test_good(0, 2, 4);
    test_broken();
    test_messages();
    test_match();
    test_path();
    test_infer(2, 2);
    test_infer(0, 3);
    test_ties();
    test_fit(1, 3);
    test_fit(3, 3);
    test_fit(0, 3);
    test_fit(2, 6);
    test_fit(0, 4);
    test_alike();
    remove(path);
    rmdir(folder);
    rmdir(inputs);
    return check_done();
}
