/*
 * input.c - the mesh that a run is given: read from a file, or generated.
 *
 * A generated mesh is made in parts, each on its rank. A file, and a mesh that METIS is to
 * partition, are whole, on rank 0.
 */
#include "config.h"
#include "../alya.h"
#include <string.h>

enum { JITTER_SEED = 1 };

alya_box_t alya_box(const alya_config_t *config)
{
    return (alya_box_t){.cells = {config->cells[0], config->cells[1], config->cells[2]},
                        .growth = config->growth,
                        .periodic_box = !config->is_hill,
                        .jitter = config->jitter,
                        .seed = JITTER_SEED};
}

/* Reads and checks the file on rank 0; returns NULL and one line in why if it cannot be used. */
static alya_mesh_t *read_file(const char *path, char *why, size_t len)
{
    char fault[256];
    alya_mesh_t *mesh = alya_mesh_read(path, why, len);
    if (!mesh || (alya_mesh_check(mesh, fault, sizeof fault) &&
                  alya_mesh_check_twins(mesh, fault, sizeof fault)))
        return mesh;
    snprintf(why, len, "%.100s: %s", path, fault);
    alya_mesh_destroy(mesh);
    return NULL;
}

static void input_from_file(alya_input_t *input, const alya_config_t *config)
{
    char why[512] = "";
    double count[2] = {0, 0};
    if (rt_comm_rank() == 0)
        input->mesh = read_file(config->mesh, why, sizeof why);
    if (rt_comm_agree(why, sizeof why) >= 0)
        rt_refuse(RT_USAGE, "--mesh %s", why);
    if (input->mesh) {
        count[0] = (double)input->mesh->elements;
        count[1] = (double)input->mesh->nodes;
    }
    rt_comm_max(count, 2);
    if (count[0] < rt_comm_size())
        rt_refuse(RT_USAGE, "--mesh %s has %.0f tetrahedra, fewer than the %d ranks that run",
                  config->mesh, count[0], rt_comm_size());
    /* METIS does not promise equal parts, and rank 0 has the whole mesh for a while anyway */
    input->counts = (alya_counts_t){.elements = (int64_t)count[0],
                                    .nodes = (int64_t)count[1],
                                    .total_elements = count[0],
                                    .total_nodes = count[1],
                                    .poor_order = config->counts.poor_order};
    if (input->mesh)
        alya_mesh_find_boundary(input->mesh);
}

void *alya_input_new(const rt_run_t *run)
{
    const alya_config_t *config = run->config;
    const double begin = rt_clock();
    alya_input_t *input = RT_NEW(alya_input_t, 1, RT_HOST);
    *input = (alya_input_t){.counts = config->counts};
    input->is_whole = config->from_file || config->partition == ALYA_PARTITION_METIS;
    if (config->from_file) {
        input_from_file(input, config);
    } else {
        const alya_box_t box = alya_box(config);
        if (!input->is_whole)
            input->mesh = alya_box_new(&box, rt_comm_rank(), rt_comm_size());
        else if (rt_comm_rank() == 0)
            input->mesh = alya_box_new(&box, 0, 1);
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
