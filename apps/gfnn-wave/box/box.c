/*
 * box.c - which nodes a rank has, how its arrays lie in memory, and which rank needs which ghosts.
 *
 * The nodes of the whole box are cut along planes, independently in x, y and z. So a rank's part is
 * three ranges, and its surroundings follow from arithmetic, without messages. A ghost is
 * identified by the number of its node in the whole box, after wrapping. So rt_halo needs no notion
 * of neighbours: boxes may be thinner than the halo is deep, a ghost may come from two boxes away,
 * and a periodic box may be its own neighbour on every side.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "box.h"

/* --- arrays --- */

static int64_t round_up(int64_t n)
{
    return (n + GFNN_ROW_UNIT - 1) / GFNN_ROW_UNIT * GFNN_ROW_UNIT;
}

gfnn_grid_t gfnn_grid(const int64_t n[3], int64_t halo)
{
    gfnn_grid_t g = {.n = {n[0], n[1], n[2]}, .halo = halo};
    const int64_t left = round_up(halo);
    g.pitch = round_up(halo + n[0] + halo);
    g.slab = g.pitch * (n[1] + 2 * halo);
    g.plane = g.slab * (n[2] + 2 * halo) + left;
    g.origin = left + halo * g.pitch + halo * g.slab;
    return g;
}

rt_field_t gfnn_field(const gfnn_grid_t *grid, void *data, rt_type_t type)
{
    return (rt_field_t){data, type, 3, 1, grid->plane};
}

/* --- ranks --- */

/* Returns the first node of a box along a direction; the first nodes % ranks boxes have one more. */
static int64_t box_first(int64_t nodes, int64_t ranks, int64_t place)
{
    const int64_t more = nodes % ranks;
    return nodes / ranks * place + (place < more ? place : more);
}

gfnn_box_t gfnn_box(const gfnn_config_t *config, int rank)
{
    const int *r = config->n_ranks;
    gfnn_box_t box = {.faces = config->faces,
                      .place = {rank % r[0], rank / r[0] % r[1], rank / (r[0] * r[1])}};
    for (int d = 0; d < 3; d++) {
        box.ranks[d] = r[d];
        box.N[d] = config->n_nodes[d];
        box.E[d] = config->n_elements[d];
        box.first[d] = box_first(box.N[d], r[d], box.place[d]);
        box.n[d] = box_first(box.N[d], r[d], box.place[d] + 1) - box.first[d];
    }
    box.fine = gfnn_grid(box.n, 1);
    box.wide = gfnn_grid(box.n, config->reach + 1);
    box.bare = gfnn_grid(box.n, 0);
    return box;
}

int64_t gfnn_own_node(const gfnn_box_t *box, const gfnn_grid_t *g, const int64_t node[3])
{
    int64_t at[3];
    for (int d = 0; d < 3; d++) {
        at[d] = gfnn_wrap(box->faces, node[d], box->N[d]) - box->first[d];
        if (at[d] < 0 || at[d] >= box->n[d])
            return -1;
    }
    return gfnn_at(g, at[0], at[1], at[2]);
}

int64_t gfnn_distance(const gfnn_box_t *box, int64_t i, int64_t j, int64_t k, const int64_t node[3])
{
    const int64_t own[3] = {i, j, k};
    int64_t most = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t apart = llabs(box->first[d] + own[d] - node[d]), round = box->N[d] - apart;
        const int64_t least = box->faces == GFNN_PERIODIC && round < apart ? round : apart;
        most = least > most ? least : most;
    }
    return most;
}

void gfnn_box_count(gfnn_config_t *config)
{
    for (int d = 0; d < 3; d++)
        config->n_nodes[d] = config->n_elements[d] + (config->faces != GFNN_PERIODIC);
}

/* Sets n to the nodes per side of the largest box. */
static void largest(const gfnn_config_t *config, const int ranks[3], int64_t n[3])
{
    for (int d = 0; d < 3; d++)
        n[d] = (config->n_nodes[d] + ranks[d] - 1) / ranks[d];
}

/* Returns the nodes on those sides of the largest box that face other ranks. */
static double surface(const gfnn_config_t *config, const int ranks[3])
{
    int64_t n[3];
    double sum = 0;
    largest(config, ranks, n);
    for (int d = 0; d < 3; d++)
        if (ranks[d] > 1)
            sum += 2 * (double)n[(d + 1) % 3] * (double)n[(d + 2) % 3];
    return sum;
}

static bool fits(const gfnn_config_t *config, const int ranks[3])
{
    return ranks[0] <= config->n_nodes[0] && ranks[1] <= config->n_nodes[1] &&
           ranks[2] <= config->n_nodes[2];
}

/* Among equals, takes the one with the fewest cuts in x, then in y: rows stay long. */
static void choose(gfnn_config_t *config, int ranks)
{
    double least = INFINITY;
    for (int px = 1; px <= ranks; px++)
        for (int py = 1; ranks % px == 0 && py <= ranks / px; py++) {
            const int p[3] = {px, py, ranks / px / py};
            if (ranks / px % py != 0 || !fits(config, p) || !(surface(config, p) < least))
                continue;
            least = surface(config, p);
            memcpy(config->n_ranks, p, sizeof p);
        }
    if (isinf(least))
        rt_refuse(
            RT_USAGE,
            "%d ranks cannot share a box of %lldx%lldx%lld nodes so that each has at least one: "
            "use fewer ranks or more --elements",
            ranks, (long long)config->n_nodes[0], (long long)config->n_nodes[1],
            (long long)config->n_nodes[2]);
}

static void parse(gfnn_config_t *config, int ranks)
{
    int *p = config->n_ranks, end = 0;
    if (sscanf(config->ranks, "%6dx%6dx%6d%n", &p[0], &p[1], &p[2], &end) != 3 ||
        config->ranks[end] != '\0' || p[0] < 1 || p[1] < 1 || p[2] < 1)
        rt_refuse(RT_USAGE, "--ranks %s: must be auto, or boxes along x, y and z such as 2x2x1",
                  config->ranks);
    if ((double)p[0] * p[1] * p[2] != ranks)
        rt_refuse(RT_USAGE, "--ranks %s is %.0f boxes, and %d ranks run: each needs one",
                  config->ranks, (double)p[0] * p[1] * p[2], ranks);
    for (int d = 0; d < 3; d++)
        if (p[d] > config->n_nodes[d])
            rt_refuse(RT_USAGE,
                      "--ranks %s: %d ranks along %c cannot share %lld nodes, as each needs one at "
                      "least: use fewer there or more --elements",
                      config->ranks, p[d], "xyz"[d], (long long)config -> n_nodes[d]);
}

/* Checks the whole box. Along a periodic direction of one or two elements an element would meet
 * itself, or the same one on both sides, which is no longer the medium that was asked for; and
 * ghosts as deep as the reach are copied from the other side, once around. */
static void check_elements(const gfnn_config_t *config)
{
    const int64_t least = config->faces == GFNN_PERIODIC ? config->reach : 1;
    for (int d = 0; d < 3; d++)
        if (config->n_elements[d] < least)
            rt_refuse(RT_USAGE, "--elements %lldx%lldx%lld: %lld along %c, and %s",
                      (long long)config->n_elements[0], (long long)config->n_elements[1],
                      (long long)config->n_elements[2], (long long)config->n_elements[d], "xyz"[d],
                      least > GFNN_ND    ? "periodic faces need as many as --reach: use more, or a "
                                           "shorter reach"
                      : least == GFNN_ND ? "periodic faces need 3, or an element meets the same "
                                           "one on both sides: use more, or --faces free"
                                         : "there must be 1 at least");
}

void gfnn_box_choose(gfnn_config_t *config, int ranks)
{
    int64_t n[3];
    check_elements(config);
    if (strcmp(config->ranks, "auto") == 0)
        choose(config, ranks);
    else
        parse(config, ranks);
    largest(config, config->n_ranks, n);
    /* rt_halo and kernels number the values of a component with 32 bits */
    const double values = (double)gfnn_grid(n, config->reach + 1).plane;
    if (values > INT32_MAX)
        rt_refuse(
            RT_USAGE,
            "--elements %lldx%lldx%lld is up to %.3g nodes a rank with its ghosts, and a rank "
            "can number 2147483647: use fewer elements or more ranks",
            (long long)config->n_elements[0], (long long)config->n_elements[1],
            (long long)config->n_elements[2], values);
}

/* --- halo --- */

/* A box along one direction: position -width .. n + width - 1 is entry [position + width]. */
typedef struct {
    int64_t length;
    int64_t *node; /* in the whole box, after wrapping; -1: beyond a face, where there is no node */
    bool *open;    /* a ghost here, or own here and a ghost elsewhere */
} line_t;

static line_t line_new(const gfnn_box_t *box, int d, int width)
{
    const size_t length = (size_t)(box->n[d] + 2 * width);
    const bool periodic = box->faces == GFNN_PERIODIC, below = periodic || box->place[d] > 0,
               above = periodic || box->place[d] < box->ranks[d] - 1;
    line_t line = {.length = (int64_t)length,
                   .node = RT_NEW(int64_t, length, RT_HOST),
                   .open = RT_NEW(bool, length, RT_HOST)};
    for (int64_t i = 0; i < line.length; i++) {
        const int64_t node = gfnn_wrap(box->faces, box->first[d] + i - width, box->N[d]);
        line.node[i] = node;
        line.open[i] = node >= 0 && ((below && i < 2 * width) || (above && i >= box->n[d]));
    }
    return line;
}

static void line_destroy(line_t *line)
{
    RT_FREE(line->node, RT_HOST);
    RT_FREE(line->open, RT_HOST);
}

/* A position is an entry if it has a node and is open along any direction: own nodes that are closed
 * along all three are ghosts nowhere. */
static void list_row(const gfnn_box_t *box, const gfnn_grid_t *grid, int width, const line_t *line,
                     int64_t j, int64_t k, rt_halo_list_t *list)
{
    const bool open = line[1].open[j] || line[2].open[k];
    const bool own = j >= width && j < width + box->n[1] && k >= width && k < width + box->n[2];
    const int64_t at = gfnn_at(grid, -width, j - width, k - width);
    const int64_t gid = box->N[0] * (line[1].node[j] + box->N[1] * line[2].node[k]);
    for (int64_t i = 0; i < line[0].length; i++)
        if (line[0].node[i] >= 0 && (open || line[0].open[i]))
            rt_halo_list_add(list, at + i, gid + line[0].node[i],
                             own && i >= width && i < width + box->n[0]);
}

rt_halo_t *gfnn_halo_new(const gfnn_box_t *box, const gfnn_grid_t *grid, int width,
                         const char *transport, rt_kind_t kind, rt_space_t space)
{
    RT_EXPECT(width >= 1 && width <= grid->halo, RT_USAGE, "%d deep in arrays of halo %lld", width,
              (long long)grid->halo);
    if (box->faces != GFNN_PERIODIC && box->ranks[0] * box->ranks[1] * box->ranks[2] == 1)
        return NULL;
    line_t line[3];
    for (int d = 0; d < 3; d++)
        line[d] = line_new(box, d, width);
    rt_halo_list_t list = {0};
    while (rt_halo_list_again(&list))
        for (int64_t k = 0; k < line[2].length; k++)
            for (int64_t j = 0; j < line[1].length; j++)
                if (line[1].node[j] >= 0 && line[2].node[k] >= 0)
                    list_row(box, grid, width, line, j, k, &list);
    rt_halo_t *halo = rt_halo_of_list(
        &list, true,
        (rt_halo_desc_t){
            .max_components = 3, .kind = kind, .space = space, .transport = transport});
    for (int d = 0; d < 3; d++)
        line_destroy(&line[d]);
    return halo;
}
