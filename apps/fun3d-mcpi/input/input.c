/*
 * input.c - from a mesh or a matrix file to this rank's part of the rows.
 *
 * Every rank makes the whole mesh, graph, colouring and order, which are the same everywhere, and
 * from them its own part: no message is needed, and nothing depends on the number of ranks. Price:
 * graph and flow, about 800 bytes per row of the whole system, are on every rank until the problem
 * has its blocks.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <string.h>

enum { MESH_SEED = 1, FLOW_SEED = 1 }; /* the mesh and the flow are the same for every --seed */

/* --- counts --- */

/* Returns upper bounds for one rank. Parts are equal in rows. Prisms at the wall have 20 blocks per
 * row where tetrahedra have 14, so one part may have more blocks than the mean. A part is no cube,
 * and its surface is two or three times that of one. */
static mcpi_counts_t estimate(int64_t rows, int64_t blocks)
{
    static const double over_mean = 1.3, surface = 16;
    enum { MORE_BLOCKS = 32, MORE_GHOSTS = 64 }; /* where parts are tiny */
    const int64_t ranks = rt_comm_size();
    mcpi_counts_t c = {.rows = rows, .blocks = blocks, .local_blocks = blocks};
    c.local_rows = (rows + ranks - 1) / ranks;
    if (ranks == 1)
        return c;
    const double share = over_mean * (double)(blocks / ranks + MORE_BLOCKS);
    c.local_blocks = (int64_t)fmin((double)blocks, share);
    const double shell = surface * pow((double)c.local_rows, 2. / 3) + MORE_GHOSTS;
    c.ghosts = (int64_t)fmin((double)(rows - rows / ranks), shell);
    return c;
}

static mcpi_wing_t wing_of(const mcpi_config_t *config)
{
    return (mcpi_wing_t){
        .n = config->surface, .layers = config->layers, .first = 1e-4, .seed = MESH_SEED};
}

bool mcpi_count_wing(mcpi_config_t *config)
{
    const mcpi_wing_t wing = wing_of(config);
    const double n = (double)config->surface;
    int64_t rows, blocks;
    if (12 * n * n * (double)config->layers > INT32_MAX) /* tetrahedra, if all cells were split */
        return false;
    mcpi_wing_count(&wing, &rows, &blocks);
    config->counts = estimate(rows, blocks);
    return config->counts.local_blocks < INT32_MAX;
}

static mcpi_counts_t count(const mcpi_part_t *part)
{
    double most[3] = {(double)part->rows, (double)part->start[part->rows], (double)part->ghosts};
    int64_t blocks = part->start[part->rows];
    rt_comm_max(most, 3);
    rt_comm_sum_i64(&blocks, 1);
    return (mcpi_counts_t){.rows = part->global_rows,
                           .blocks = blocks,
                           .local_rows = (int64_t)most[0],
                           .local_blocks = (int64_t)most[1],
                           .ghosts = (int64_t)most[2]};
}

mcpi_config_t mcpi_counted(const rt_run_t *run)
{
    mcpi_config_t config = *(const mcpi_config_t *)run->config;
    if (run->input)
        config.counts = ((const mcpi_input_t *)run->input)->counts;
    return config;
}

/* --- where blocks come from --- */

static mcpi_source_t *flow_on(const rt_mesh_t *mesh, const mcpi_config_t *config)
{
    const mcpi_flow_t flow = {.nb = (int)config->nb,
                              .cfl = config->cfl,
                              .mach = config->mach,
                              .reynolds = config->reynolds,
                              .walls = config->walls,
                              .symmetry = config->symmetry,
                              .seed = FLOW_SEED};
    return mcpi_flow_new(mesh, &flow);
}

static mcpi_source_t *wing_source(const mcpi_config_t *config)
{
    const mcpi_wing_t wing = wing_of(config);
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
    char why[256];
    if (!mcpi_walls_check(mesh, config->walls, why, sizeof why) ||
        !mcpi_tags_check(mesh, "symmetry", config->symmetry, why, sizeof why))
        rt_refuse(RT_USAGE, "%s", why);
    mcpi_source_t *source = flow_on(mesh, config);
    rt_mesh_destroy(mesh);
    return source;
}

rt_mesh_t *mcpi_mesh_again(const mcpi_config_t *config, char *why, size_t len)
{
    const mcpi_wing_t wing = wing_of(config);
    return config->from_file ? rt_mesh_read(config->mesh, 0, why, len) : mcpi_wing_new(&wing);
}

/* Returns NULL and one line in why if the file cannot be used. */
static mcpi_source_t *read_source(const mcpi_config_t *config, char *why, size_t len)
{
    if (config->is_matrix)
        return mcpi_mtx_read(config->mesh, (int)config->nb, why, len);
    rt_mesh_t *mesh = rt_mesh_read(config->mesh, 0, why, len);
    if (!mesh)
        return NULL;
    char fault[256];
    mcpi_source_t *source = NULL;
    if (rt_mesh_check(mesh, fault, sizeof fault) &&
        mcpi_walls_check(mesh, config->walls, fault, sizeof fault) &&
        mcpi_tags_check(mesh, "symmetry", config->symmetry, fault, sizeof fault))
        source = flow_on(mesh, config);
    else
        snprintf(why, len, "%.200s: %s", config->mesh, fault);
    rt_mesh_destroy(mesh);
    return source;
}

/* Reads the file, on rank 0 first, so that a bad file is refused in one line. */
static mcpi_source_t *file_source(const mcpi_config_t *config)
{
    char why[512] = "";
    mcpi_source_t *source = rt_comm_rank() == 0 ? read_source(config, why, sizeof why) : NULL;
    if (rt_comm_agree(why, sizeof why) >= 0)
        rt_refuse(RT_USAGE, "--mesh %s", why);
    if (!source)
        source = read_source(config, why, sizeof why);
    if (!source)
        rt_die(RT_ENVIRONMENT, "rank 0 could read it, this rank on %s cannot: %s", rt_comm_host(),
               why);
    const int64_t rows = source->graph->rows, blocks = source->graph->start[rows];
    if (estimate(rows, blocks).local_blocks >= INT32_MAX)
        rt_refuse(RT_USAGE, "--mesh %s has %lld off-diagonal blocks, more than a rank can number",
                  config->mesh, (long long)blocks);
    if (rows < rt_comm_size())
        rt_refuse(RT_USAGE, "--mesh %s has %lld vertices, fewer than the %d ranks that run",
                  config->mesh, (long long)rows, rt_comm_size());
    return source;
}

/* --- order and part --- */

static void make_order(mcpi_input_t *input, const rt_run_t *run)
{
    const mcpi_config_t *config = run->config;
    const mcpi_graph_t *graph = input->source->graph;
    const double *x = input->source->x;
    const int ranks = rt_comm_size();
    uint8_t *colour = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    if (ranks > 1)
        mcpi_partition(graph, x, ranks, owner);
    else
        memset(owner, 0, (size_t)graph->rows * sizeof *owner);
    const int colours = config->colouring == MCPI_COLOUR_LOCAL && ranks > 1
                            ? mcpi_colour_local(graph, owner, colour)
                            : mcpi_colour(graph, colour);
    input->imbalance = mcpi_colour_imbalance(graph, colour, colours);
    input->order = mcpi_order_new(graph, colour, colours, (mcpi_row_order_t)config->order, x,
                                  (uint64_t)run->opt.seed);
    input->part = mcpi_part_new(graph, input->order, owner, rt_comm_rank());
    RT_FREE(owner, RT_HOST);
    RT_FREE(colour, RT_HOST);
}

void *mcpi_input_new(const rt_run_t *run)
{
    const mcpi_config_t *config = run->config;
    mcpi_input_t *input = RT_NEW(mcpi_input_t, 1, RT_HOST);
    const double begin = rt_clock();
    *input =
        (mcpi_input_t){.source = config->from_file ? file_source(config) : wing_source(config)};
    const double read = rt_clock();
    make_order(input, run);
    input->counts = count(input->part);
    input->seconds_mesh = read - begin;
    input->seconds_colour = rt_clock() - read;
    return input;
}

void mcpi_input_destroy(void *input)
{
    mcpi_input_t *in = input;
    if (!in)
        return;
    mcpi_source_destroy(in->source);
    mcpi_order_destroy(in->order);
    mcpi_part_destroy(in->part);
    RT_FREE(in, RT_HOST);
}
