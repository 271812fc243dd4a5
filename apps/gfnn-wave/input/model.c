/*
 * model.c - which material where: the head, one material, or what a voxel file says.
 *
 * Every rank fills its own elements and those up to 4 around them, so ids are never exchanged. Only
 * rank 0 holds a whole file; it sends the voxels layer by layer, and the other ranks hold one
 * layer.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 32 };

/* A model, and what its pointers point to. */
typedef struct {
    gfnn_model_t model;
    char text[512];
    char names[GFNN_MAX_IDS][NAME];
} whole_t;

/* --- materials --- */

static void add_material(whole_t *w, double vs, const char *name)
{
    gfnn_materials_t *m = &w->model.materials;
    const int id = m->ids++;
    m->vs[id] = vs;
    m->w[id] = 1;
    m->square[id] = vs * vs;
    if (!name || !name[0])
        return;
    snprintf(w->names[id], NAME, "%s", name);
    m->name[id] = w->names[id];
}

static void head_materials(whole_t *w)
{
    static const struct {
        double vs;
        const char *name;
    } tissue[] = {{50, "void"}, {70, "scalp"},  {120, "skull"},    {50, "fluid"},
                  {80, "grey"}, {100, "white"}, {55, "ventricle"}, {90, "stem"}};
    for (size_t i = 0; i < sizeof tissue / sizeof *tissue; i++)
        add_material(w, tissue[i].vs, tissue[i].name);
}

static void check_materials(const gfnn_config_t *config, const gfnn_materials_t *m)
{
    for (int i = 0; i < m->ids; i++)
        if (!(m->vs[i] > 0 && 2 * m->square[i] <= GFNN_VP * GFNN_VP))
            rt_refuse(RT_USAGE,
                      "--model %s: Vs %g m/s%s%s must be above 0 and at most Vp / sqrt(2) = %.4g "
                      "(beyond it lambda is negative): change it",
                      config->model, m->vs[i], m->name[i] ? " of the " : "",
                      m->name[i] ? m->name[i] : "", GFNN_VP * sqrt(0.5));
}

static void describe(const gfnn_config_t *config, whole_t *w)
{
    const gfnn_materials_t *m = &w->model.materials;
    double least = INFINITY, most = 0;
    for (int i = 0; i < m->ids; i++) {
        least = fmin(least, m->vs[i]);
        most = fmax(most, m->vs[i]);
    }
    const int n = snprintf(w->text, sizeof w->text, "%.400s", config->model);
    char *end = w->text + n;
    const size_t room = sizeof w->text - (size_t)n;
    if (m->ids == 1)
        snprintf(end, room, ", Vs %g m/s", most);
    else
        snprintf(end, room, ", %d materials, Vs %g to %g m/s", m->ids, least, most);
    w->model.text = w->text;
}

/* --- a file --- */

/* What all ranks must know about it. */
typedef struct {
    bool good;
    char why[512];
    int64_t E[3];
    double ds;
    int ids;
    double vs[GFNN_MAX_IDS];
    char name[GFNN_MAX_IDS][NAME];
} facts_t;

/* Reads on rank 0, into `voxels`; refuses on all ranks if it cannot. */
static void read_file(const char *path, bool header_only, gfnn_voxels_t *voxels, facts_t *facts)
{
    memset(facts, 0, sizeof *facts);
    *voxels = (gfnn_voxels_t){0};
    if (rt_comm_rank() == 0) {
        facts->good = gfnn_voxel_read(path, header_only, voxels, facts->why, sizeof facts->why);
        if (!facts->good && access(path, F_OK) != 0)
            snprintf(facts->why, sizeof facts->why,
                     "%.400s: must be head, uniform, or a file; there is no such file", path);
        memcpy(facts->E, voxels->E, sizeof facts->E);
        facts->ds = voxels->ds;
        facts->ids = voxels->materials.ids;
        memcpy(facts->vs, voxels->materials.vs, sizeof facts->vs);
        for (int i = 0; i < facts->ids; i++)
            if (voxels->materials.name[i])
                snprintf(facts->name[i], NAME, "%s", voxels->materials.name[i]);
    }
    rt_comm_bcast(facts, sizeof *facts, 0);
    if (!facts->good)
        rt_refuse(RT_USAGE, "--model %s", facts->why);
}

void gfnn_voxel_extents(const char *path, int64_t E[3], double *ds)
{
    gfnn_voxels_t voxels;
    facts_t facts;
    read_file(path, true, &voxels, &facts);
    memcpy(E, facts.E, sizeof facts.E);
    *ds = facts.ds;
    gfnn_voxel_free(&voxels);
}

static void check_file(const gfnn_config_t *config, const facts_t *facts)
{
    const int64_t *E = facts->E, *asked = config->n_elements;
    if (memcmp(E, asked, sizeof facts->E) != 0)
        rt_refuse(RT_USAGE,
                  "--model %s has %lldx%lldx%lld voxels, not %lldx%lldx%lld: leave --elements out",
                  config->model, (long long)E[0], (long long)E[1], (long long)E[2],
                  (long long)asked[0], (long long)asked[1], (long long)asked[2]);
}

/* --- elements --- */

/* The element of the whole box at each position -halo .. n + halo - 1 along each direction, after
 * wrapping; -1: absent. */
typedef struct {
    int64_t halo, length[3], *element[3];
} around_t;

static around_t around_new(const gfnn_box_t *box)
{
    around_t a = {.halo = box->wide.halo};
    for (int d = 0; d < 3; d++) {
        const int64_t E = box->E[d];
        a.length[d] = box->n[d] + 2 * a.halo;
        a.element[d] = RT_NEW(int64_t, (size_t)a.length[d], RT_HOST);
        for (int64_t i = 0; i < a.length[d]; i++) {
            const int64_t e = box->first[d] + i - a.halo;
            a.element[d][i] = box->faces == GFNN_PERIODIC ? (e % E + E) % E
                              : e >= 0 && e < E           ? e
                                                          : -1;
        }
    }
    return a;
}

static void around_destroy(around_t *a)
{
    for (int d = 0; d < 3; d++)
        RT_FREE(a->element[d], RT_HOST);
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

static void fill_made(const gfnn_config_t *config, const gfnn_box_t *box, const around_t *a,
                      uint8_t *id)
{
    const bool head = strcmp(config->model, "head") == 0;
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
    for (int64_t k = 0; k < a->length[2]; k++)
        for (int64_t j = 0; j < a->length[1]; j++) {
            const int64_t ey = a->element[1][j], ez = a->element[2][k];
            uint8_t *row = id + gfnn_at(&box->wide, -a->halo, j - a->halo, k - a->halo);
            for (int64_t i = 0; ey >= 0 && ez >= 0 && i < a->length[0]; i++) {
                const int64_t ex = a->element[0][i];
                if (ex >= 0)
                    row[i] = head ? (uint8_t)head_id(config, ex, ey, ez) : 0;
            }
        }
}

/* Copies from `layer`, the elements of the whole box in layer ez. */
static void fill_layer(const gfnn_box_t *box, const around_t *a, int64_t ez, const uint8_t *layer,
                       uint8_t *id)
{
    for (int64_t k = 0; k < a->length[2]; k++)
        for (int64_t j = 0; a->element[2][k] == ez && j < a->length[1]; j++) {
            const int64_t ey = a->element[1][j];
            uint8_t *row = id + gfnn_at(&box->wide, -a->halo, j - a->halo, k - a->halo);
            for (int64_t i = 0; ey >= 0 && i < a->length[0]; i++)
                if (a->element[0][i] >= 0)
                    row[i] = layer[ey * box->E[0] + a->element[0][i]];
        }
}

static void send_layers(const gfnn_box_t *box, const around_t *a, uint8_t *file, uint8_t *id)
{
    const size_t area = (size_t)(box->E[0] * box->E[1]);
    uint8_t *received = file ? NULL : RT_NEW(uint8_t, area, RT_HOST);
    for (int64_t ez = 0; ez < box->E[2]; ez++) {
        uint8_t *layer = file ? file + area * (size_t)ez : received;
        rt_comm_bcast(layer, area, 0);
        fill_layer(box, a, ez, layer, id);
    }
    RT_FREE(received, RT_HOST);
}

static void from_file(const gfnn_config_t *config, const gfnn_box_t *box, const around_t *a,
                      whole_t *w)
{
    gfnn_voxels_t voxels;
    facts_t facts;
    read_file(config->model, false, &voxels, &facts);
    check_file(config, &facts);
    for (int i = 0; i < facts.ids; i++)
        add_material(w, facts.vs[i], facts.name[i]);
    check_materials(config, &w->model.materials);
    send_layers(box, a, voxels.id, w->model.id);
    gfnn_voxel_free(&voxels);
}

gfnn_model_t *gfnn_model_new(const gfnn_config_t *config, const gfnn_box_t *box)
{
    whole_t *w = RT_NEW(whole_t, 1, RT_HOST);
    memset(w, 0, sizeof *w);
    const bool head = strcmp(config->model, "head") == 0;
    const size_t n = (size_t)box->wide.plane;
    w->model.id = RT_NEW(uint8_t, n, RT_HOST);
    memset(w->model.id, GFNN_OUTSIDE, n);
    around_t a = around_new(box);
    if (head || strcmp(config->model, "uniform") == 0) {
        if (head)
            head_materials(w);
        else
            add_material(w, config->vs, NULL);
        check_materials(config, &w->model.materials);
        fill_made(config, box, &a, w->model.id);
    } else {
        from_file(config, box, &a, w);
    }
    around_destroy(&a);
    describe(config, w);
    return &w->model;
}

void gfnn_model_destroy(gfnn_model_t *model)
{
    if (!model)
        return;
    whole_t *w = (whole_t *)model; /* its first member */
    RT_FREE(w->model.id, RT_HOST);
    RT_FREE(w, RT_HOST);
}
