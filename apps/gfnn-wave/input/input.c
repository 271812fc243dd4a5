/*
 * input.c - what is read or generated before there is a problem: materials and, if a network
 * preconditions, its weights.
 */
#include "config.h"
#include <limits.h>
#include <string.h>
#include "input.h"

/* Refuses in the words of the first rank that cannot read the file. */
static gfnn_weights_t *read_weights(const char *path)
{
    char why[512] = "";
    gfnn_weights_t *weights = gfnn_weights_read(path, why, sizeof why);
    double rank = weights ? rt_comm_size() : rt_comm_rank();
    rt_comm_min(&rank, 1);
    if (rank == rt_comm_size())
        return weights;
    rt_comm_bcast(why, sizeof why, (int)rank);
    rt_refuse(RT_USAGE, "--weights %s", why);
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
