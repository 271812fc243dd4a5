/*
 * input.c - what is read or generated before there is a problem: materials and, if a network
 * preconditions, its weights.
 */
#include "config.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "io/files.h"
#include "machine/shared.h"
#include "input.h"

enum { MOST_BYTES = 16 << 20 }; /* of a network; those that ship have 200 KB */

/* Reads the file on rank 0, for all ranks. */
static gfnn_weights_t *read_weights(const char *path)
{
    char why[512] = "";
    rt_text_t fault;
    size_t bytes;
    char *data = rt_shared_load(path, MOST_BYTES, &bytes, &fault);
    if (!data)
        rt_refuse(RT_USAGE, "--weights %.400s: %s", path, fault.text);
    rt_files_note(path, data, bytes);
    gfnn_weights_t *weights = gfnn_weights_parse(path, data, bytes, why, sizeof why);
    free(data);
    if (!weights)
        rt_refuse(RT_USAGE, "--weights %s", why);
    return weights;
}

void *gfnn_input_new(const rt_run_t *run)
{
    const gfnn_config_t *config = run->config;
    const gfnn_box_t box = gfnn_box(config, rt_comm_rank());
    gfnn_input_t *input = RT_NEW(gfnn_input_t, 1, RT_HOST);
    const double begin = rt_clock();
    memset(input, 0, sizeof *input);
    input->model = gfnn_model_new(config, &box);
    if (gfnn_has_network(config)) {
        char path[PATH_MAX];
        gfnn_weights_path(config, path, sizeof path);
        rt_comm_bcast(path, sizeof path, 0);
        input->weights = read_weights(path);
        gfnn_weights_match(input->weights, config, &input->model->materials, path);
    }
    input->seconds = rt_clock() - begin;
    rt_comm_max(&input->seconds, 1);
    return input;
}

void gfnn_input_destroy(void *input)
{
    gfnn_input_t *i = input;
    gfnn_model_destroy(i->model);
    gfnn_weights_free(i->weights);
    RT_FREE(i, RT_HOST);
}
