/*
 * problem.c - the mesh as the rungs get it, the velocity of the timed runs.
 *
 * Apart from the mesh itself, nothing here depends on the number of ranks or on the order of the
 * nodes: a node is known by its global id, and its data is a function of that id or of its position.
 */
#include "config.h"
#include "alya.h"
#include <string.h>

/* --- the mesh --- */

static alya_physics_t physics_of(const alya_config_t *config)
{
    return (alya_physics_t){.rho = config->rho,
                            .mu = config->mu,
                            .vreman = config->vreman,
                            .filter = config->filter,
                            .force = {config->force_x, config->force_y, config->force_z},
                            .form = (alya_form_t)config->form};
}

/* Refuses a mesh with a fault: layers can be so thin that rounding makes them flat. */
static void check_mesh(const alya_mesh_t *mesh)
{
    char why[256] = "";
    alya_mesh_check(mesh, why, sizeof why);
    if (rt_comm_agree(why, sizeof why) >= 0)
        rt_refuse(RT_USAGE, "%s; use a --growth nearer to 1, fewer layers or less --jitter", why);
}

/* Puts the mesh in the order of --order, then in that of --reorder, which is set-up. */
static void order_mesh(alya_problem_t *p)
{
    const alya_config_t *config = p->config;
    const uint64_t seed = (uint64_t)p->run->opt.seed;
    if (config->order != ALYA_NATURAL)
        alya_mesh_reorder(p->mesh, (alya_order_t)config->order, seed);
    const double begin = rt_clock();
    p->spread = alya_mesh_spread(p->mesh);
    /* 0.5 nodes per element in a good order, up to 4 in a random one; but the order of a mesh that
     * fits into the caches does not matter, and a tiny one cannot do better */
    const double poor = 1 + 2048.0 / (double)p->mesh->elements;
    if (config->reorder == ALYA_REORDER_HILBERT ||
        (config->reorder == ALYA_REORDER_AUTO && p->spread > poor))
        alya_mesh_reorder(p->mesh, ALYA_HILBERT, seed);
    p->seconds_order = rt_clock() - begin;
}

rt_halo_t *alya_halo_new(const alya_mesh_t *mesh, const char *transport, rt_kind_t kind,
                         rt_space_t space, int r_stride)
{
    const int values = r_stride > 0 ? 3 : 1, stride = r_stride > 0 ? r_stride : 1;
    rt_halo_list_t list = {0};
    while (rt_halo_list_again(&list))
        for (int64_t i = 0; i < mesh->nodes; i++)
            for (int c = 0; c < values && (mesh->flags[i] & ALYA_SHARED); c++)
                rt_halo_list_add(&list, i * stride + c, mesh->node_id[i] * values + c, false);
    double any = (double)list.n;
    rt_comm_sum(&any, 1);
    if (any == 0) {
        rt_halo_list_destroy(&list);
        return NULL;
    }
    return rt_halo_of_list(
        &list, false,
        (rt_halo_desc_t){
            .max_components = 3 / values, .kind = kind, .space = space, .transport = transport});
}

/* Digests the elements by the ids of their nodes, and for a file also by their coordinates. The
 * coordinates of a generated mesh and the velocity come from sines and powers, which differ in their
 * last bits from library to library; they follow from the facts. */
void alya_digest(const void *problem, rt_digest_t *digest)
{
    const alya_problem_t *p = problem;
    const alya_config_t *config = p->config;
    const alya_mesh_t *mesh = p->mesh;
    const double physics[] = {config->rho,     config->mu,      config->vreman,  config->filter,
                              config->force_x, config->force_y, config->force_z, 0.5};
    rt_items_t elements = {0, {0}};
    rt_digest_text(digest, "mesh", config->from_file ? "file" : config->mesh);
    for (int d = 0; d < 3 && !config->from_file; d++)
        rt_digest_int(digest, "cells", config->cells[d]);
    rt_digest_real(digest, "growth", config->growth);
    rt_digest_real(digest, "jitter", config->jitter);
    rt_digest_int(digest, "form", config->form);
    rt_digest_int(digest, "steps", 0); /* and a Courant number: so have older results */
    for (size_t i = 0; i < sizeof physics / sizeof *physics; i++)
        rt_digest_real(digest, "physics", physics[i]);
#pragma omp parallel for schedule(static) reduction(rt_items : elements)
    for (int64_t e = 0; e < mesh->elements; e++) {
        uint64_t element[16];
        for (int a = 0; a < 4; a++) {
            const int32_t node = mesh->connectivity[4 * e + a];
            element[a] = (uint64_t)mesh->node_id[node];
            for (int d = 0; d < 3; d++)
                element[4 + 3 * a + d] = rt_items_word(mesh->x[3 * (int64_t)node + d]);
        }
        rt_items_add(&elements, element, config->from_file ? 16 : 4);
    }
    rt_digest_items(digest, "elements", &elements);
}

void *alya_problem_new(const rt_run_t *run, void *input)
{
    const alya_config_t *config = run->config;
    alya_input_t *in = input;
    alya_problem_t *p = RT_NEW(alya_problem_t, 1, RT_HOST);
    *p = (alya_problem_t){
        .run = run, .config = config, .counts = in->counts, .physics = physics_of(config)};
    const double begin = rt_clock();
    p->mesh = in->mesh;
    in->mesh = NULL;
    check_mesh(p->mesh);
    order_mesh(p);
    const double ordered = rt_clock();
    p->schedule = alya_schedule_new(p->mesh, ALYA_CHUNK);
    p->halo = alya_halo_new(p->mesh, "staged", RT_CPU, RT_HOST, 0); /* the judge's too */
    p->seconds_lists = rt_clock() - ordered;
    p->u = RT_NEW(double, 3 * (size_t)p->mesh->nodes, RT_HOST);
    alya_fill_velocity(p->mesh,
                       config->from_file ? ALYA_IN_FILE
                       : config->is_hill ? ALYA_OVER_HILL
                                         : ALYA_IN_BOX,
                       p->u);
    if (rt_comm_rank() == 0 && !run->opt.quiet)
        printf("set-up        mesh %.2f s, reordering %.2f s, colours and halo %.2f s; "
               "%.2f nodes per element in runs of 512 as handed in\n",
               in->seconds + ordered - begin - p->seconds_order, p->seconds_order, p->seconds_lists,
               p->spread);
    return p;
}

void alya_problem_destroy(void *problem)
{
    alya_problem_t *p = problem;
    alya_mesh_destroy(p->mesh);
    alya_schedule_destroy(p->schedule);
    rt_halo_destroy(p->halo);
    alya_flow_input_destroy(p->flow);
    RT_FREE_ALL(RT_HOST, p->u, p);
}
