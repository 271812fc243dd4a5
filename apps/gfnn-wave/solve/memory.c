/*
 * memory.c - the memory that a run will take, before it takes any: what is allocated by problem.c,
 * arrays.c, the kernels and the judge, each when the others are there.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"

enum { DOUBLES = 3 * sizeof(double), FLOATS = 3 * sizeof(float), HALVES = 3 * sizeof(uint16_t) };

/* Bytes of this rank's arrays. */
typedef struct {
    gfnn_box_t box;
    double fine, wide, low;   /* a vector of doubles, floats, 16-bit floats */
    double ids, coefs, model; /* materials; coefficients; a voxel file while it is read */
} arrays_t;

/* Returns those of the rank that has most. */
static arrays_t arrays(const gfnn_config_t *config)
{
    arrays_t a = {.box = gfnn_box(config, 0)}; /* which has as many nodes as any */
    const double plane = (double)a.box.wide.plane;
    a.fine = DOUBLES * (double)a.box.fine.plane;
    a.wide = FLOATS * plane;
    a.low = HALVES * plane + GFNN_LOW_SKIP * sizeof(uint16_t);
    a.ids = plane;
    a.coefs = gfnn_has_network(config) ? 4 * (double)(gfnn_coefs(config) * a.box.bare.plane) : 0;
    if (gfnn_is_file(config->model))
        a.model = (double)config->n_elements[0] * (double)config->n_elements[1] *
                  (double)config->n_elements[2];
    return a;
}

/* Counts the entries of a halo, for rt_halo_predict: own or ghost values whose group is on this rank
 * alone, and those shared with others, once for each other rank. As if there were neighbours on all
 * sides where the box is cut, none of them thinner than twice the width: the counts are products,
 * because the box is one. */
static void halo_count(const gfnn_box_t *box, int width, int64_t *local, int64_t *shared)
{
    int64_t alone = 1, closed = 1, nodes = 1, copies = 1;
    for (int d = 0; d < 3; d++) {
        const bool cut = box->ranks[d] > 1, open = cut || box->faces == GFNN_PERIODIC;
        const int64_t n = box->n[d], ghosts = open ? 2 * width : 0, inner = n - ghosts;
        closed *= inner > 0 ? inner : 0;
        alone *= !cut ? n + ghosts : inner > 0 ? inner : 0;
        nodes *= n + ghosts;
        copies *= n + ghosts + (cut ? 4 * width : 0);
    }
    *local = alone - closed;
    *shared = copies - nodes;
}

/* Returns the bytes of a halo, and those of the lists that are needed while it is made. */
static double halo_memory(const arrays_t *a, int width, rt_space_t space)
{
    int64_t local, shared;
    halo_count(&a->box, width, &local, &shared);
    return local + shared > 0 ? (double)rt_halo_predict(local, shared, 3, space) : 0;
}

static double halo_set_up(const arrays_t *a, int width)
{
    int64_t local, shared;
    halo_count(&a->box, width, &local, &shared);
    return width > 0 && local + shared > 0
               ? (double)rt_halo_predict_setup(local, shared) + 17 * (double)(local + shared)
               : 0;
}

/* Returns what solve.c allocates in the rung's space, without halos. */
static double solver_memory(const gfnn_config_t *config, const rt_rung_t *rung, const arrays_t *a,
                            rt_space_t space)
{
    const bool network = gfnn_has_network(config),
               half = gfnn_precision_of((const gfnn_kernels_t *)rung->kernels, config) == GFNN_FP16;
    const double copied = space == RT_HOST ? 0 : a->ids + a->coefs;
    const double low = half ? a->low : a->wide;
    if (strcmp(rung->ladder, "operator") == 0)
        return copied - (space == RT_HOST ? 0 : a->coefs) + 3 * a->fine;
    if (strcmp(rung->ladder, "predictor") == 0)
        return copied + 2 * a->wide + low;
    const int wide = 1 + 2 * (config->precond == GFNN_CHEB) + gfnn_needs_r32(config) +
                     (gfnn_is_single(config) ? 4 : 0);
    const int fine = (gfnn_is_single(config) ? 6 : 8) + (space == RT_DEVICE); /* noise */
    return copied + fine * a->fine + wide * a->wide + (network && half ? a->low : 0);
}

/* Returns its halos in a space; *deepest: the width of the widest. One rank has none. */
static double solver_halos(const gfnn_config_t *config, const rt_rung_t *rung, const arrays_t *a,
                           rt_space_t space, int *deepest)
{
    const bool solve = strcmp(rung->ladder, "solve") == 0;
    const bool predicts = strcmp(rung->ladder, "operator") != 0 && gfnn_has_network(config);
    const int fine = strcmp(rung->ladder, "predictor") != 0;
    const int narrow = fine + (solve && (config->precond == GFNN_CHEB || gfnn_is_single(config)));
    *deepest = rt_comm_size() == 1 ? 0 : predicts ? (int)config->reach : 1;
    if (*deepest == 0)
        return 0;
    return narrow * halo_memory(a, 1, space) + predicts * halo_memory(a, (int)config->reach, space);
}

/* Returns what verify.c needs on the host. The oracle, once made, stays. What a sample of the timed
 * solves and the last of them left is kept until then, and so is what the solver holds. */
static double verify_memory(const gfnn_config_t *config, const rt_rung_t *rung, const arrays_t *a)
{
    enum { KEPT = 2 };
    const double wide = 2 * a->wide; /* in double */
    const double operate = 4 * a->fine;
    const double predict =
        gfnn_has_network(config) ? 4 * wide + fmax(a->wide, halo_set_up(a, (int)config->reach)) : 0;
    if (strcmp(rung->ladder, "operator") == 0)
        return KEPT * a->fine + operate;
    if (strcmp(rung->ladder, "predictor") == 0)
        return KEPT * a->wide + predict;
    enum { ORACLE = 6, LEFT = 4, MAKING = 11, LAST_STEP = 7 }; /* vectors */
    const double single = fmax(3 * a->fine + wide, 2 * wide) + a->wide;
    const double first = fmax(fmax(operate, predict), single);
    return ORACLE * a->fine + fmax(first, fmax(MAKING, KEPT * LEFT + LAST_STEP) * a->fine);
}

/* Returns what the kernels allocate for themselves, in the rung's space. What they do not say are
 * tables, of a network too, and a few sums for each row. */
static double kernels_memory(const gfnn_config_t *config, const gfnn_kernels_t *kernels,
                             rt_space_t space, const gfnn_box_t *box)
{
    enum { TABLES = 1 << 20, PER_ROW = 8 * sizeof(double) };
    double bytes = TABLES + PER_ROW * (double)(box->n[1] * box->n[2]);
    const gfnn_vectors_t *vectors = gfnn_vectors_of(kernels, space);
    const gfnn_predictor_t *predictor = kernels->predictor[gfnn_precision_of(kernels, config)];
    if (kernels->op && kernels->op->memory)
        bytes += kernels->op->memory(config, box);
    if (gfnn_has_network(config) && predictor && predictor->memory)
        bytes += predictor->memory(config, box);
    return bytes + (vectors->memory ? vectors->memory(config, box) : 0);
}

/* Returns the bytes of a network, of its file while it is read, and of everything else that does not
 * grow with the box. */
static double network_memory(const gfnn_config_t *config)
{
    enum { SMALL = 1 << 18, PER_TAP = 2 * 9 * sizeof(float) };
    const double stencil = (double)gfnn_stencil(config->reach);
    if (!gfnn_has_network(config))
        return SMALL;
    return SMALL + PER_TAP * stencil * (config->precond == GFNN_GFM ? (double)config->kernels : 1);
}

/*
 * Predicts the bytes of one rank. The host has the base of what solves start with, the
 * materials, the coefficients and the network, and a halo for the judge; while they are made, also a
 * voxel file, or the halo's lists. Then either the deepest halo of a rung is made, which takes many
 * lists, or the rung is judged, which takes up to 21 vectors.
 */
void gfnn_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const gfnn_config_t *config = run->config;
    const gfnn_kernels_t *kernels = (const gfnn_kernels_t *)rung->kernels;
    const rt_space_t space = rt_rung_space(rung);
    const arrays_t a = arrays(config);
    double own[RT_SPACES] = {0};
    int deepest;
    const double problem =
        a.fine + a.ids + a.coefs + halo_memory(&a, 1, RT_HOST) + network_memory(config);
    own[space] =
        solver_memory(config, rung, &a, space) + solver_halos(config, rung, &a, space, &deepest);
    if (space == RT_DEVICE)
        own[RT_PINNED] = solver_halos(config, rung, &a, RT_PINNED, &deepest);
    if (kernels)
        own[space] += kernels_memory(config, kernels, space, &a.box);
    const double kept = problem + own[RT_HOST];
    memcpy(bytes, own, sizeof own);
    const double making = fmax(a.model, halo_set_up(&a, 1));
    bytes[RT_HOST] = fmax(fmax(problem + making, kept + halo_set_up(&a, deepest)),
                          kept + verify_memory(config, rung, &a));
}
