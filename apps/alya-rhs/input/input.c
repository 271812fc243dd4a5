/*
 * input.c - the mesh that a run is given: read from a file, or generated, a part on each rank.
 */
#include "config.h"
#include "../alya.h"

enum { JITTER_SEED = 1 };

alya_box_t alya_box(const alya_config_t *config)
{
    return (alya_box_t){.cells = {config->cells[0], config->cells[1], config->cells[2]},
                        .growth = config->growth,
                        .periodic_box = !config->is_hill,
                        .jitter = config->jitter,
                        .seed = JITTER_SEED};
}

static void input_from_file(alya_input_t *input, const alya_config_t *config)
{
    alya_mesh_t *mesh = input->mesh = alya_mesh_read(config->mesh);
    if (mesh->elements < rt_comm_size())
        rt_refuse(RT_USAGE, "--mesh %s has %lld tetrahedra, fewer than the %d ranks that run",
                  config->mesh, (long long)mesh->elements, rt_comm_size());
    input->counts = (alya_counts_t){.total_elements = (double)mesh->elements,
                                    .total_nodes = (double)mesh->nodes,
                                    .poor_order = config->counts.poor_order};
    if (rt_comm_size() > 1)
        alya_mesh_share(mesh, rt_comm_rank(), rt_comm_size());
    double most[2] = {(double)mesh->elements, (double)mesh->nodes};
    rt_comm_max(most, 2);
    input->counts.elements = (int64_t)most[0];
    input->counts.nodes = (int64_t)most[1];
}

void *alya_input_new(const rt_run_t *run)
{
    const alya_config_t *config = run->config;
    const double begin = rt_clock();
    alya_input_t *input = RT_NEW(alya_input_t, 1, RT_HOST);
    *input = (alya_input_t){.counts = config->counts};
    if (config->from_file) {
        input_from_file(input, config);
    } else {
        const alya_box_t box = alya_box(config);
        input->mesh = alya_box_new(&box, rt_comm_rank(), rt_comm_size());
    }
    input->seconds = rt_clock() - begin;
    return input;
}

void alya_input_destroy(void *input)
{
    alya_input_t *in = input;
    if (!in)
        return;
    alya_mesh_destroy(in->mesh);
    RT_FREE(in, RT_HOST);
}

const alya_counts_t *alya_counts(const rt_run_t *run)
{
    const alya_input_t *input = run->input;
    const alya_config_t *config = run->config;
    return input ? &input->counts : &config->counts;
}
