/*
 * trace.c - what ranks tell each other in a sweep.
 *
 * The wing is made, cut as mcpi_partition cuts it, and each row that another rank reads is counted
 * once for that rank. For many ranks, of a wing of the same shape with fewer rows: the surface of a
 * part grows as the 2/3 power of its rows, and so do the bytes. docs/running.md says how good that
 * is.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "mcpi.h"

enum { MOST_ROWS = 4000000, MOST_READERS = 64 };

/* Makes the wing that has `rows` rows, or a few less, and the shape of `like`. */
static mcpi_wing_t scaled(const mcpi_config_t *like, double rows)
{
    const double larger = cbrt(rows / (double)like->counts.rows);
    mcpi_wing_t wing = mcpi_wing_of(like);
    wing.n = (int64_t)fmax(2, round(larger * (double)like->surface));
    wing.layers = (int64_t)fmax(2, round(larger * (double)like->layers));
    return wing;
}

/* Adds the messages of one row to the ranks that read it. */
static void add_row(const mcpi_graph_t *graph, const int32_t *owner, int64_t row, double bytes,
                    rt_trace_t *trace)
{
    int32_t reader[MOST_READERS];
    int readers = 0;
    for (int64_t k = graph->start[row]; k < graph->start[row + 1]; k++) {
        const int32_t rank = owner[graph->neighbour[k]];
        bool is_new = rank != owner[row];
        for (int i = 0; i < readers && is_new; i++)
            is_new = reader[i] != rank;
        if (!is_new || readers == MOST_READERS)
            continue;
        reader[readers++] = rank;
        rt_trace_message(trace, owner[row], rank, bytes);
    }
}

/* Returns the rank of each vertex if so many ranks shared them. RT_FREE it. */
static int32_t *owners_of(const mcpi_source_t *source, int ranks)
{
    const mcpi_graph_t *graph = source->graph;
    const size_t rows = (size_t)graph->rows;
    int32_t *owner = RT_NEW(int32_t, rows, RT_HOST), *blocks = RT_NEW(int32_t, rows, RT_HOST);
    uint64_t *key = RT_NEW(uint64_t, rows, RT_HOST);
    for (size_t v = 0; v < rows; v++)
        blocks[v] = (int32_t)(graph->start[v + 1] - graph->start[v]);
    mcpi_hilbert_keys(source->piece, source->x, key);
    mcpi_owners(key, source->piece->number, blocks, graph->rows, ranks, owner);
    RT_FREE(key, RT_HOST);
    RT_FREE(blocks, RT_HOST);
    return owner;
}

void mcpi_trace(const rt_run_t *run, const rt_rung_t *rung, rt_trace_t *trace)
{
    const mcpi_config_t *config = run->config;
    const int ranks = rt_trace_ranks(trace);
    if (config->from_file)
        rt_refuse(RT_USAGE, "--trace: for the wing, which can be made larger; leave --mesh out");
    const double all = (double)config->counts.rows * ranks;
    const mcpi_wing_t wing = scaled(config, fmin(all, MOST_ROWS));
    const mcpi_flow_t flow = mcpi_flow_of(config);
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
    if (mesh->vertices < ranks)
        rt_refuse(RT_USAGE, "--trace %d: a wing of %lld rows cannot be cut in so many parts", ranks,
                  (long long)mesh->vertices);
    mcpi_source_t *source =
        mcpi_flow_new(mesh, mcpi_piece_new(mesh->vertices, mesh->vertices), &flow);
    rt_mesh_destroy(mesh);
    const mcpi_graph_t *graph = source->graph;
    int32_t *owner = owners_of(source, ranks);
    uint16_t *colour = RT_NEW(uint16_t, (size_t)graph->rows, RT_HOST);
    const bool fp64 = config->dq == MCPI_FP64 || strcmp(rung->name, "reference") == 0;
    const double colours = mcpi_colour(graph, source->piece, source->odd, false, colour);
    const double larger = all / (double)graph->rows;
    const double value = (double)mcpi_type_size(fp64 ? MCPI_FP64 : MCPI_FP32);
    const double bytes = (double)config->nb * value * pow(larger, 2. / 3) / colours;
    rt_text(rt_trace_remark(trace), "a wing of surface %lld and %lld layers", (long long)wing.n,
            (long long)wing.layers);
    rt_text_add(rt_trace_remark(trace), ", %.0f rows per part; bytes times %.4g",
                (double)graph->rows / ranks, pow(larger, 2. / 3));
    rt_trace_exchange(trace, "halo", colours, 0); /* all colours are taken to be alike */
    for (int64_t row = 0; row < graph->rows; row++)
        add_row(graph, owner, row, bytes, trace);
    RT_FREE(colour, RT_HOST);
    RT_FREE(owner, RT_HOST);
    mcpi_source_destroy(source);
}
