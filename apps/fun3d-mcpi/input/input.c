/*
 * input.c - from a mesh to this rank's part of the rows.
 *
 * Every rank makes its part of the wing, or reads the file and cuts its part out before anything else
 * is made of it. What a rank holds of a wing, and how long that takes, does not grow with the number
 * of ranks, apart from its surface, 250 bytes per vertex on it, while the mesh is made. Price of a
 * file: the mesh, some 130 bytes per vertex of the whole, is on every rank until it is cut.
 */
#include "config.h"
#include "blocks.h"
#include <math.h>

enum { MESH_SEED = 1 }; /* the mesh is the same for every --seed */

/* --- counts --- */

/* Returns upper bounds for one rank. Parts are columns of vertices, equal in blocks to about a column.
 * Prisms at the wall have 20 per row where tetrahedra have 14, so one part may have more rows than the
 * mean. The columns around a part of N are fewer than those around twice a square. */
static mcpi_counts_t estimate(int64_t rows, int64_t blocks, int64_t levels)
{
    static const double over_mean = 1.05, around = 8;
    enum { BLOCKS = 24, MORE_COLUMNS = 12 }; /* of a row; where parts are tiny */
    const int64_t ranks = rt_comm_size();
    mcpi_counts_t c = {.rows = rows, .blocks = blocks, .local_blocks = blocks};
    c.local_rows = rows;
    if (ranks == 1)
        return c;
    const double more_rows = over_mean * (double)(rows / ranks) + 2 * (double)levels;
    const double more_blocks = over_mean * (double)(blocks / ranks) + BLOCKS * (double)levels;
    c.local_rows = (int64_t)fmin((double)rows, more_rows);
    c.local_blocks = (int64_t)fmin((double)blocks, more_blocks);
    const double columns = around * sqrt((double)(c.local_rows / levels)) + MORE_COLUMNS;
    c.ghosts = (int64_t)fmin((double)rows, columns * (double)levels);
    return c;
}

/* Returns the wing of these extents. */
static mcpi_wing_t wing_of(const mcpi_config_t *config)
{
    return (mcpi_wing_t){.n = config->surface, .layers = config->layers, .seed = MESH_SEED};
}

bool mcpi_count_wing(mcpi_config_t *config)
{
    const mcpi_wing_t wing = wing_of(config);
    const double n = (double)config->surface;
    int64_t rows, blocks;
    /* tetrahedra, if all cells were split, and as many again between the ghosts */
    const double tetrahedra = 12 * n * n * (double)config->layers / rt_comm_size();
    if (n > MCPI_MAX_SURFACE || tetrahedra * (rt_comm_size() > 1 ? 2 : 1) > INT32_MAX)
        return false;
    mcpi_wing_count(&wing, &rows, &blocks);
    config->counts = estimate(rows, blocks, config->layers + 1);
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

/* --- geometry, then the flow --- */

mcpi_source_t *mcpi_flow_new(const rt_mesh_t *mesh, mcpi_piece_t *piece, const mcpi_flow_t *flow)
{
    const size_t rows = (size_t)mesh->vertices;
    mcpi_source_t *source = RT_NEW(mcpi_source_t, 1, RT_HOST);
    double *far = RT_NEW(double, rows, RT_HOST);
    *source = (mcpi_source_t){.piece = piece,
                              .graph = mcpi_graph_of_mesh(mesh, piece->own),
                              .x = rt_clone(mesh->x, 3 * rows, sizeof(double), RT_HOST),
                              .odd = RT_NEW(uint8_t, rows, RT_HOST),
                              .nb = flow->nb,
                              .cfl = flow->cfl,
                              .wall = RT_NEW(uint8_t, rows, RT_HOST),
                              .wall_area = RT_NEW(double, 3 * rows, RT_HOST),
                              .slip_area = RT_NEW(double, 3 * rows, RT_HOST)};
    mcpi_incidence_t in = mcpi_incidence_new(mesh);
    mcpi_make_dual(&in, source);
    mcpi_find_walls(mesh, flow->walls, source->wall);
    mcpi_find_areas(&in, flow->walls, piece->own, source->wall_area);
    mcpi_find_areas(&in, flow->symmetry, piece->own, source->slip_area);
    RT_FREE_ALL(RT_HOST, in.first, in.element);
    mcpi_piece_link(piece, source->graph);
    mcpi_find_distance(source->graph, piece, mesh->x, source->wall, far, source->odd);
    mcpi_flow_fill(source, flow, far);
    RT_FREE(far, RT_HOST);
    return source;
}

void mcpi_source_destroy(mcpi_source_t *source)
{
    if (!source)
        return;
    mcpi_graph_destroy(source->graph);
    mcpi_piece_destroy(source->piece);
    RT_FREE_ALL(RT_HOST, source->x, source->odd, source->n, source->viscous, source->boundary,
                source->diagonal, source->q, source->wall, source->wall_area, source->slip_area,
                source);
}

/* --- a mesh --- */

/* Takes mesh and piece over. */
static mcpi_source_t *flow_on(const mcpi_config_t *config, rt_mesh_t *mesh, mcpi_piece_t *piece)
{
    const mcpi_flow_t flow = {.nb = (int)config->nb,
                              .cfl = config->cfl,
                              .mach = MCPI_MACH,
                              .reynolds = MCPI_REYNOLDS,
                              .walls = config->walls,
                              .symmetry = config->symmetry};
    mcpi_source_t *source = mcpi_flow_new(mesh, piece, &flow);
    rt_mesh_destroy(mesh);
    return source;
}

static bool tags_check(const rt_mesh_t *mesh, const void *data, char *why, size_t len)
{
    const mcpi_config_t *config = data;
    return mcpi_tags_check(mesh, "walls", config->walls, why, len) &&
           mcpi_tags_check(mesh, "symmetry", config->symmetry, why, len);
}

static mcpi_source_t *wing_source(const mcpi_config_t *config)
{
    const mcpi_wing_t least = {.n = 2, .layers = 2, .seed = MESH_SEED}; /* has the tags of all */
    const mcpi_wing_t wing = wing_of(config);
    rt_mesh_t *mesh = mcpi_wing_new(&least, 0, 1, NULL);
    mcpi_piece_t *piece;
    char why[256];
    if (!tags_check(mesh, config, why, sizeof why))
        rt_refuse(RT_USAGE, "%s", why);
    rt_mesh_destroy(mesh);
    mesh = mcpi_wing_new(&wing, rt_comm_rank(), rt_comm_size(), &piece);
    return flow_on(config, mesh, piece);
}

rt_mesh_t *mcpi_mesh_again(const mcpi_config_t *config, char *why, size_t len)
{
    const mcpi_wing_t wing = wing_of(config);
    return config->from_file ? rt_mesh_read(config->mesh, 0, why, len)
                             : mcpi_wing_new(&wing, 0, 1, NULL);
}

/* --- a file --- */

static mcpi_source_t *file_source(const mcpi_config_t *config)
{
    rt_mesh_t *mesh = rt_mesh_read_all(config->mesh, 0, tags_check, config);
    const int64_t rows = mesh->vertices;
    mcpi_piece_t *piece;
    if (rows < rt_comm_size())
        rt_refuse(RT_USAGE, "--mesh %s has %lld vertices, fewer than the %d ranks that run",
                  config->mesh, (long long)rows, rt_comm_size());
    if (rt_comm_size() == 1)
        return flow_on(config, mesh, mcpi_piece_new(rows, rows));
    rt_mesh_t *part = mcpi_mesh_share(mesh, rt_comm_rank(), rt_comm_size(), &piece);
    rt_mesh_destroy(mesh);
    return flow_on(config, part, piece);
}

/* --- order and part --- */

static void make_part(mcpi_input_t *input, const mcpi_config_t *config)
{
    const mcpi_source_t *source = input->source;
    const mcpi_piece_t *piece = source->piece;
    uint16_t *colour = RT_NEW(uint16_t, (size_t)piece->vertices, RT_HOST);
    double blocks = (double)source->graph->start[piece->vertices];
    rt_comm_max(&blocks, 1);
    if (blocks >= INT32_MAX)
        rt_refuse(RT_USAGE,
                  "--mesh %s: a rank has %.0f off-diagonal blocks, more than it can number",
                  config->mesh, blocks);
    const int colours =
        mcpi_colour(source->graph, piece, config->from_file ? NULL : source->odd, colour);
    mcpi_order_t *order = mcpi_order_new(piece, colour, colours, source->x);
    input->part = mcpi_part_new(source->graph, piece, order);
    RT_FREE_ALL(RT_HOST, order->start, order->row, order->curve, order, colour);
}

void *mcpi_input_new(const rt_run_t *run)
{
    const mcpi_config_t *config = run->config;
    mcpi_input_t *input = RT_NEW(mcpi_input_t, 1, RT_HOST);
    const double begin = rt_clock();
    *input =
        (mcpi_input_t){.source = config->from_file ? file_source(config) : wing_source(config)};
    const double read = rt_clock();
    make_part(input, config);
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
    mcpi_part_destroy(in->part);
    RT_FREE(in, RT_HOST);
}
