/*
 * input/input.h - what makes or reads the problem: materials by element, trained networks, and the
 * coefficients that these give every node.
 */
#ifndef GFNN_INPUT_H
#define GFNN_INPUT_H

#include "apps/gfnn-wave/kernel.h"
#include "base/sha256.h"

RT_C_BEGIN

/* --- model.c, head.c, voxel.c: which material is where --- */

typedef struct {
    gfnn_materials_t materials;
    /* on box->wide: own elements and as many to each side as its halo has, wrapped or OUTSIDE */
    uint8_t *id;
    rt_text_t text; /* one line that says what it is */
} gfnn_model_t;
/* Makes the box's part of config->model. Refuses Vs above Vp / sqrt(2) (lambda would be negative),
 * an id without Vs, and sizes that differ from --elements. Collective. */
gfnn_model_t *gfnn_model_new(const gfnn_config_t *config, const gfnn_box_t *box);
void gfnn_model_destroy(gfnn_model_t *model);
/* Returns whether a model is a file: neither "head" nor "uniform" nor "uniform:VS". Refuses a VS that
 * is no number above 0. */
bool gfnn_is_file(const char *model);
/* Reads the extents of a voxel file, for configure, which sets E and ds from it. Refuses what it
 * cannot read. Collective. */
void gfnn_voxel_extents(const char *path, int64_t E[3], double *ds);

typedef struct {
    int64_t E[3];
    double ds;
    gfnn_materials_t materials;
    uint8_t *id; /* [E[2]][E[1]][E[0]], x fastest */
} gfnn_voxels_t;
/* Reads the bytes of a voxel file. Returns false, and one line in why, if it cannot. */
bool gfnn_voxel_parse(const char *name, const void *data, size_t bytes, bool header_only,
                      gfnn_voxels_t *voxels, char *why, size_t len);
void gfnn_voxel_free(gfnn_voxels_t *voxels);
/* Returns the tissue at point (x, y, z) in (-1, 1)^3 of a generated head: nested ellipsoids. */
int gfnn_head_id(double x, double y, double z);

/* --- weights.c: trained files --- */

enum { GFNN_MAX_WIDTH = 4096 };
typedef struct {
    int layers;        /* of weights; 2: 216 -> 64 -> outputs */
    int width[5];      /* width[0] inputs .. width[layers] outputs */
    const float *W[4]; /* [width[l+1]][width[l]] row major */
    const float *b[4];
} gfnn_mlp_t;
/* A trained file; little endian, see weights.c and tools/train-gfnn/README.md. */
typedef struct {
    int form, kernels, coefs, reach;
    double vp, ds, dt, rho, damping, f1, f2, vs_min, vs_max;
    float *K;                                    /* [kernels][3][3][W][W][W], W = 2 reach + 1 */
    double whiten[GFNN_MAX_COEF][GFNN_MAX_COEF]; /* L: c = L^-T y + mean */
    double mean[GFNN_MAX_COEF];
    gfnn_mlp_t reg, cls; /* cls: outputs are scores of classes */
    int classes;
    float *centroid;                   /* [classes][coefs], whitened */
    char digest[RT_SHA256_DIGITS + 1]; /* of the whole file */
    void *memory;
} gfnn_weights_t;
/* Reads the bytes of a file. Returns NULL, and one line in why, if it is truncated or of another
 * version, if its CRC is wrong, its sizes do not fit together, or values are not finite. */
gfnn_weights_t *gfnn_weights_parse(const char *path, const void *data, size_t bytes, char *why,
                                   size_t len);
void gfnn_weights_free(gfnn_weights_t *weights);
/* Refuses, with both values, a file that is not for this run: form, M, reach, ds, dt, Vp, damping,
 * range of Vs. */
void gfnn_weights_match(const gfnn_weights_t *weights, const gfnn_config_t *config,
                        const gfnn_materials_t *materials, const char *path);
/* Finds the file of --weights shipped, where io/inputs.h says, as rank 0 sees it. Collective. */
void gfnn_weights_path(const gfnn_config_t *config, char *path, size_t len);

/* --- infer.c, cuda/infer.cu: coefficients of every own node, c [coefs][box->bare.plane] --- */

/* What of a network does not depend on the node: where in a table of doubles it begins. */
typedef struct {
    int layers, width[5], widest, coefs, classes; /* classes 0: regression */
    int64_t W[4], b[4];                           /* of a layer, [inputs][outputs] and [outputs] */
    int64_t input;                                /* [id] of an element of this material */
    int64_t uniform;  /* [id][outputs of the first layer] sums for a patch of it alone */
    int64_t known;    /* [id][coefs] and what becomes of them */
    int64_t of_class; /* [classes][coefs] */
    int64_t size;
} gfnn_infer_t;
/* Returns the sizes, and the table in host memory. RT_FREE it. */
gfnn_infer_t gfnn_infer_new(const gfnn_weights_t *weights, int coef,
                            const gfnn_materials_t *materials, double **table);

/* By the network: reg or class, by coef. Its input is Vs^2 of the 6^3 elements about the node (z
 * slowest, x fastest), scaled by the file's range: (Vs^2 - vs_min^2) / (vs_max^2 - vs_min^2); an
 * absent element counts as vs_min. */
void gfnn_infer(const gfnn_weights_t *weights, int coef, const gfnn_box_t *box,
                const gfnn_model_t *model, float *c);
/* Returns the same, made on the GPU of view->space. RT_FREE it. */
float *gfnn_infer_cuda(const gfnn_weights_t *weights, const gfnn_view_t *view);

/* --- input.c: what input_new of rt_app_t makes --- */

typedef struct {
    gfnn_model_t *model;
    gfnn_weights_t *weights; /* NULL unless --precond has a network */
    double seconds;          /* of the slowest rank */
} gfnn_input_t;
void *gfnn_input_new(const rt_run_t *run);
void gfnn_input_destroy(void *input);

RT_C_END

#endif
