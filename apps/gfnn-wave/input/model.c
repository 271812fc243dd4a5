/*
 * model.c - which material where: the head, one material, or what a voxel file says.
 *
 * Every rank fills its own elements and those up to 4 around them, so ids are never exchanged. While a
 * voxel file is read each rank holds all of it: a byte per element of the whole box.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "machine/shared.h"

/* Returns Vs of a model "uniform" (80 m/s) or "uniform:VS"; 0: it is another one. */
static double uniform_vs(const char *model)
{
    static const char name[] = "uniform";
    const char *rest = model + strlen(name);
    char *end;
    if (strncmp(model, name, strlen(name)) != 0 || (*rest != '\0' && *rest != ':'))
        return 0;
    const double vs = *rest == ':' ? strtod(rest + 1, &end) : 80;
    if (*rest == ':' && (end == rest + 1 || *end != '\0' || !(vs > 0)))
        rt_refuse(RT_USAGE, "--model %s: must be uniform:VS with VS above 0, in m/s", model);
    return vs;
}

bool gfnn_is_file(const char *model)
{
    return strcmp(model, "head") != 0 && uniform_vs(model) == 0;
}

/* --- materials --- */

static void set_material(gfnn_materials_t *m, double vs)
{
    const int id = m->ids++;
    m->vs[id] = vs;
    m->w[id] = 1;
    m->square[id] = vs * vs;
}

/* void, scalp, skull, fluid, grey and white matter, ventricle, stem */
static void head_materials(gfnn_materials_t *m)
{
    static const double vs[] = {50, 70, 120, 50, 80, 100, 55, 90};
    for (size_t i = 0; i < sizeof vs / sizeof *vs; i++)
        set_material(m, vs[i]);
}

static void check_materials(const gfnn_config_t *config, const gfnn_materials_t *m)
{
    for (int i = 0; i < m->ids; i++)
        if (!(m->vs[i] > 0 && 2 * m->square[i] <= GFNN_VP * GFNN_VP))
            rt_refuse(RT_USAGE,
                      "--model %s: Vs %g m/s must be above 0 and at most Vp / sqrt(2) = %.4g "
                      "(beyond it lambda is negative): change it",
                      config->model, m->vs[i], GFNN_VP * sqrt(0.5));
}

static void describe(const gfnn_config_t *config, gfnn_model_t *model)
{
    const gfnn_materials_t *m = &model->materials;
    double least = INFINITY, most = 0;
    for (int i = 0; i < m->ids; i++) {
        least = fmin(least, m->vs[i]);
        most = fmax(most, m->vs[i]);
    }
    rt_text(&model->text, "%.400s", config->model);
    if (m->ids == 1)
        rt_text_add(&model->text, ", Vs %g m/s", most);
    else
        rt_text_add(&model->text, ", %d materials, Vs %g to %g m/s", m->ids, least, most);
}

/* --- elements --- */

/* Returns the element of the whole box at a position along direction d, after wrapping; -1: absent. */
static int64_t element_at(const gfnn_box_t *box, int d, int64_t i)
{
    return gfnn_wrap(box->faces, box->first[d] + i, box->E[d]);
}

/* Returns the position of the middle of element e of E, in (-1, 1) of the head that it is in. */
static double middle(int64_t e, int64_t E, int64_t heads)
{
    const int64_t each = E / heads;
    return ((double)(e % each) + 0.5) / (double)each * 2 - 1;
}

static int head_id(const gfnn_config_t *config, int64_t ex, int64_t ey, int64_t ez)
{
    const int64_t *E = config->n_elements, *n = config->heads;
    return gfnn_head_id(middle(ex, E[0], n[0]), middle(ey, E[1], n[1]), middle(ez, E[2], n[2]));
}

/* voxels: [E[2]][E[1]][E[0]]; NULL: the head, if it is that, or the one material. */
static void fill(const gfnn_config_t *config, const gfnn_box_t *box, const uint8_t *voxels,
                 gfnn_model_t *model)
{
    const bool head = strcmp(config->model, "head") == 0;
    check_materials(config, &model->materials);
    const int64_t h = box->wide.halo, *n = box->n;
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
    for (int64_t k = -h; k < n[2] + h; k++)
        for (int64_t j = -h; j < n[1] + h; j++) {
            const int64_t ey = element_at(box, 1, j), ez = element_at(box, 2, k);
            uint8_t *row = model->id + gfnn_at(&box->wide, 0, j, k);
            for (int64_t i = -h; ey >= 0 && ez >= 0 && i < n[0] + h; i++) {
                const int64_t ex = element_at(box, 0, i);
                if (ex >= 0)
                    row[i] = voxels ? voxels[(ez * box->E[1] + ey) * box->E[0] + ex]
                             : head ? (uint8_t)head_id(config, ex, ey, ez)
                                    : 0;
            }
        }
}

/* --- a file --- */

static void read_voxels(const char *path, bool header_only, gfnn_voxels_t *voxels)
{
    enum { WHY = 512 };
    const size_t most = (size_t)1 << 33; /* 2048^3 elements */
    char why[WHY];
    rt_text_t fault;
    size_t bytes;
    char *data = rt_shared_load(path, most, &bytes, &fault);
    if (!data)
        rt_refuse(RT_USAGE, "--model %.400s: must be head, uniform, or a file: %s", path,
                  fault.text);
    const bool good = gfnn_voxel_parse(path, data, bytes, header_only, voxels, why, WHY);
    free(data);
    if (!good)
        rt_refuse(RT_USAGE, "--model %s", why);
}

void gfnn_voxel_extents(const char *path, int64_t E[3], double *ds)
{
    gfnn_voxels_t voxels;
    read_voxels(path, true, &voxels);
    memcpy(E, voxels.E, sizeof voxels.E);
    *ds = voxels.ds;
    gfnn_voxel_free(&voxels);
}

static void from_file(const gfnn_config_t *config, const gfnn_box_t *box, gfnn_model_t *model)
{
    gfnn_voxels_t voxels;
    read_voxels(config->model, false, &voxels);
    const int64_t *E = voxels.E, *asked = config->n_elements;
    if (memcmp(E, asked, sizeof voxels.E) != 0)
        rt_refuse(RT_USAGE,
                  "--model %s has %lldx%lldx%lld voxels, not %lldx%lldx%lld: leave --elements out",
                  config->model, (long long)E[0], (long long)E[1], (long long)E[2],
                  (long long)asked[0], (long long)asked[1], (long long)asked[2]);
    model->materials = voxels.materials;
    fill(config, box, voxels.id, model);
    gfnn_voxel_free(&voxels);
}

gfnn_model_t *gfnn_model_new(const gfnn_config_t *config, const gfnn_box_t *box)
{
    gfnn_model_t *model = RT_NEW(gfnn_model_t, 1, RT_HOST);
    const size_t n = (size_t)box->wide.plane;
    memset(model, 0, sizeof *model);
    model->id = RT_NEW(uint8_t, n, RT_HOST);
    memset(model->id, GFNN_OUTSIDE, n);
    if (gfnn_is_file(config->model)) {
        from_file(config, box, model);
    } else {
        if (strcmp(config->model, "head") == 0)
            head_materials(&model->materials);
        else
            set_material(&model->materials, uniform_vs(config->model));
        fill(config, box, NULL, model);
    }
    describe(config, model);
    return model;
}

void gfnn_model_destroy(gfnn_model_t *model)
{
    if (!model)
        return;
    RT_FREE(model->id, RT_HOST);
    RT_FREE(model, RT_HOST);
}
