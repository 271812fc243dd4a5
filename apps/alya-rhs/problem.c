/*
 * problem.c - the mesh as the rungs get it, the velocity of the timed runs, and the time step.
 *
 * Nothing here depends on the number of ranks or on the order of nodes but the mesh itself: a node
 * is known by its global id, and its data is a function of that id or of its position.
 */
#include "config.h"
#include "alya.h"
#include "input/input.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

alya_physics_t alya_physics(const alya_config_t *cfg)
{
    alya_physics_t physics = {.rho = cfg->rho,
                              .mu = cfg->mu,
                              .vreman = cfg->vreman,
                              .filter = cfg->filter,
                              .force = {cfg->force_x, cfg->force_y, cfg->force_z},
                              .form = (alya_form_t)cfg->form};
    return physics;
}

alya_box_t alya_box(const alya_config_t *cfg)
{
    alya_box_t box = {.cells = {cfg->cells[0], cfg->cells[1], cfg->cells[2]},
                      .growth = cfg->growth,
                      .periodic_box = strcmp(cfg->mesh, "box") == 0,
                      .jitter = cfg->jitter,
                      .seed = 1};
    return box;
}

/* --- the mesh --- */

/* The file's mesh, on rank 0 (NULL elsewhere), checked. */
static alya_mesh_t *read_file(const alya_config_t *cfg)
{
    char why[512] = "";
    alya_mesh_t *mesh = NULL;
    if (rt_comm_rank() == 0) {
        mesh = alya_mesh_read(cfg->mesh, why, sizeof why);
        if (mesh && !(alya_mesh_check(mesh, why + 256, 256) &&
                      alya_mesh_check_twins(mesh, why + 256, 256))) {
            snprintf(why, 256, "%.100s: ", cfg->mesh);
            memmove(why + strlen(why), why + 256, strlen(why + 256) + 1);
            alya_mesh_destroy(mesh);
            mesh = NULL;
        }
    }
    double ok = mesh != NULL;
    rt_comm_max(&ok, 1);
    rt_comm_bcast(why, sizeof why, 0);
    if (ok == 0)
        rt_refuse(RT_USAGE, "--mesh %s", why);
    return mesh;
}

void alya_file_count(alya_config_t *cfg)
{
    if (!cfg->have_whole) /* configure may be called again */
        cfg->whole = read_file(cfg);
    cfg->have_whole = true;
    double count[2] = {0, 0};
    if (rt_comm_rank() == 0) {
        count[0] = (double)cfg->whole->elements;
        count[1] = (double)cfg->whole->nodes;
    }
    rt_comm_max(count, 2);
    if (count[0] < rt_comm_size())
        rt_refuse(RT_USAGE, "--mesh %s has %.0f tetrahedra, fewer than the %d ranks that run",
                  cfg->mesh, count[0], rt_comm_size());
    cfg->total_elements = count[0];
    cfg->total_nodes = count[1];
    /* METIS does not promise equal parts, and rank 0 has the whole mesh for a while anyway */
    cfg->elements = (int64_t)count[0];
    cfg->nodes = (int64_t)count[1];
}

static alya_mesh_t *whole_mesh(alya_config_t *cfg)
{
    alya_mesh_t *mesh = NULL;
    if (cfg->from_file) {
        alya_file_count(cfg); /* reads it again if an earlier problem took it */
        mesh = cfg->whole;
        cfg->whole = NULL;
        cfg->have_whole = false;
        if (mesh)
            alya_mesh_find_boundary(mesh);
    } else if (rt_comm_rank() == 0) {
        const alya_box_t box = alya_box(cfg);
        mesh = alya_box_new(&box, 0, 1);
    }
    return mesh;
}

/* Layers can be so thin that rounding makes them flat. A rank that finds one speaks for all. */
static void check_mesh(const alya_mesh_t *mesh)
{
    char why[256] = "";
    double first = alya_mesh_check(mesh, why, sizeof why) ? rt_comm_size() : rt_comm_rank();
    rt_comm_min(&first, 1);
    if (first == rt_comm_size())
        return;
    rt_comm_bcast(why, sizeof why, (int)first);
    rt_refuse(RT_USAGE, "%s; use a --growth nearer to 1, fewer layers or less --jitter", why);
}

static void make_mesh(alya_problem_t *p, alya_config_t *cfg)
{
    const bool metis = cfg->partition == ALYA_PARTITION_METIS;
    if (cfg->from_file || metis) {
        p->mesh = alya_mesh_distribute(whole_mesh(cfg), metis);
    } else {
        const alya_box_t box = alya_box(cfg);
        p->mesh = alya_box_new(&box, rt_comm_rank(), rt_comm_size());
    }
    check_mesh(p->mesh);
}

static void order_mesh(alya_problem_t *p, const alya_config_t *cfg)
{
    const uint64_t seed = (uint64_t)p->run->opt.seed;
    if (cfg->order != ALYA_NATURAL)
        alya_mesh_reorder(p->mesh, (alya_order_t)cfg->order, seed);
    double begin = rt_clock();
    p->spread = alya_mesh_spread(p->mesh);
    /* 0.5 nodes an element in a good order, up to 4 in a random one; but a mesh that is all in the
     * caches does not care, and a tiny one cannot do better */
    const double poor = 1 + 2048.0 / (double)p->mesh->elements;
    if (cfg->reorder == ALYA_REORDER_HILBERT ||
        (cfg->reorder == ALYA_REORDER_AUTO && p->spread > poor))
        alya_mesh_reorder(p->mesh, ALYA_HILBERT, seed);
    else if (cfg->reorder == ALYA_REORDER_RCM)
        alya_mesh_reorder(p->mesh, ALYA_RCM, seed);
    p->seconds_order = rt_clock() - begin;
}

rt_halo_t *alya_halo_new(const alya_mesh_t *mesh, const char *transport, rt_kind_t kind,
                         rt_space_t space)
{
    int64_t n = 0;
    for (int64_t i = 0; i < mesh->nodes; i++)
        n += (mesh->flags[i] & ALYA_SHARED) != 0;
    double any = (double)n;
    rt_comm_sum(&any, 1);
    if (any == 0)
        return NULL;
    int64_t *index = RT_NEW(int64_t, (size_t)n, RT_HOST);
    int64_t *gid = RT_NEW(int64_t, (size_t)n, RT_HOST);
    n = 0;
    for (int64_t i = 0; i < mesh->nodes; i++)
        if (mesh->flags[i] & ALYA_SHARED) {
            index[n] = i;
            gid[n++] = mesh->node_id[i];
        }
    rt_halo_desc_t desc = {.n = n,
                           .index = index,
                           .gid = gid,
                           .max_components = 3,
                           .kind = kind,
                           .space = space,
                           .transport = transport};
    rt_halo_t *halo = rt_halo_new(&desc);
    RT_FREE(index, RT_HOST);
    RT_FREE(gid, RT_HOST);
    return halo;
}

/* --- velocity --- */

void alya_random_field(const alya_mesh_t *mesh, uint64_t seed, double *u)
{
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int d = 0; d < 3; d++)
            u[3 * n + d] = rt_random(3 * (uint64_t)mesh->node_id[n] + (uint64_t)d, seed);
}

/* A wind that looks turbulent: divergence-free Fourier modes, u ~ k^(-5/6) each. */
enum { MODES = 16 };
typedef struct {
    double k[MODES][3], a[MODES][3], phase[MODES];
} modes_t;

static void make_modes(modes_t *m, double shortest, double longest, bool whole_numbers)
{
    for (int i = 0; i < MODES; i++) {
        const uint64_t at = 8 * (uint64_t)i;
        double k = 2 * pi / longest * pow(longest / shortest, i / (MODES - 1.0));
        double direction[3], norm = 0, dot = 0;
        for (int d = 0; d < 3; d++) {
            direction[d] = rt_random(at + (uint64_t)d, 17);
            norm += direction[d] * direction[d];
        }
        for (int d = 0; d < 3; d++) {
            m->k[i][d] = k * direction[d] / sqrt(norm);
            if (whole_numbers)
                m->k[i][d] = round(m->k[i][d]);
        }
        norm = 1e-30;
        for (int d = 0; d < 3; d++) {
            m->a[i][d] = rt_random(at + 3 + (uint64_t)d, 17);
            dot += m->a[i][d] * m->k[i][d];
            norm += m->k[i][d] * m->k[i][d];
        }
        for (int d = 0; d < 3; d++) /* across k, or the mode would not be divergence-free */
            m->a[i][d] = (m->a[i][d] - dot / norm * m->k[i][d]) * pow(k * longest, -5. / 6);
        m->phase[i] = pi * rt_random(at + 6, 17);
    }
}

/*
 * Hill and files: the logarithmic wind profile over the ground with roughness 3 cm and friction
 * velocity 0.4 m/s, plus modes that vanish at the ground; box: the Taylor-Green vortex plus modes.
 */
static void fill_velocity(alya_problem_t *p, const alya_config_t *cfg)
{
    const bool box = strcmp(cfg->mesh, "box") == 0, hill = strcmp(cfg->mesh, "hill") == 0;
    const alya_mesh_t *mesh = p->mesh;
    double extent[6] = {-1e300, -1e300, -1e300, -1e300, -1e300, -1e300}; /* max x, max -x */
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int d = 0; d < 3; d++) {
            extent[d] = fmax(extent[d], mesh->x[3 * n + d]);
            extent[3 + d] = fmax(extent[3 + d], -mesh->x[3 * n + d]);
        }
    rt_comm_max(extent, 6);
    const double height = extent[2] + extent[5], ground = -extent[5];
    modes_t modes;
    make_modes(&modes, box ? 2 * pi / 4 : height / 12, box ? 2 * pi : height, box);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++) {
        const double *x = mesh->x + 3 * n;
        double *u = p->u + 3 * n, share = 0.2;
        u[1] = u[2] = 0;
        if (box) {
            u[0] = sin(x[0]) * cos(x[1]) * cos(x[2]);
            u[1] = -cos(x[0]) * sin(x[1]) * cos(x[2]);
        } else {
            double above = fmax(0, x[2] - (hill ? alya_hill(x[0], x[1]) : ground));
            u[0] = 0.4 / 0.41 * log(1 + above / 0.03);
            share = 4 * above / (above + 0.1 * height);
        }
        for (int i = 0; i < MODES; i++) {
            double wave = share * cos(modes.k[i][0] * x[0] + modes.k[i][1] * x[1] +
                                      modes.k[i][2] * x[2] + modes.phase[i]);
            for (int d = 0; d < 3; d++)
                u[d] += wave * modes.a[i][d];
        }
    }
}

/* --- the time step --- */

/* dt = Courant number times the least time in which the wind crosses an element's shortest height,
 * and no more than diffusion allows. */
static double time_step(const alya_problem_t *p, const alya_config_t *cfg)
{
    const alya_mesh_t *mesh = p->mesh;
    double least = 1e300;
#pragma omp parallel for schedule(static) reduction(min : least)
    for (int64_t e = 0; e < mesh->elements; e++) {
        const int32_t *node = mesh->connectivity + 4 * e;
        double edge[3][3], c[4][3] = {{0}}, speed = 1e-30, area = 0;
        alya_edges(mesh, node, edge);
        for (int k = 0; k < 3; k++)
            for (int d = 0; d < 3; d++) {
                const double *a = edge[(k + 1) % 3], *b = edge[(k + 2) % 3];
                c[k + 1][d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
                c[0][d] -= c[k + 1][d];
            }
        for (int a = 0; a < 4; a++) {
            const double *u = p->u + 3 * (int64_t)node[a];
            speed = fmax(speed, sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
            area = fmax(area, sqrt(c[a][0] * c[a][0] + c[a][1] * c[a][1] + c[a][2] * c[a][2]));
        }
        double h = alya_determinant(edge) / area;
        least = fmin(least, fmin(h / speed, h * h * cfg->rho / (4 * cfg->mu + 1e-300)));
    }
    rt_comm_min(&least, 1);
    return cfg->courant * least;
}

/* dt / lumped mass M_a = sum rho V / 4; 0 on the boundary, where the velocity is held. */
static void fill_mass(alya_problem_t *p, const alya_config_t *cfg)
{
    const alya_mesh_t *mesh = p->mesh;
    p->dt = time_step(p, cfg);
    p->mass_step = RT_NEW(double, (size_t)mesh->nodes, RT_HOST);
    memset(p->mass_step, 0, (size_t)mesh->nodes * sizeof(double));
    for (int64_t e = 0; e < mesh->elements; e++) {
        const int32_t *node = mesh->connectivity + 4 * e;
        double edge[3][3];
        alya_edges(mesh, node, edge);
        const double det = alya_determinant(edge);
        for (int a = 0; a < 4; a++)
            p->mass_step[node[a]] += cfg->rho * det / 24;
    }
    if (p->halo) {
        rt_field_t field = rt_field_f64(p->mass_step);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    for (int64_t n = 0; n < mesh->nodes; n++)
        p->mass_step[n] = mesh->flags[n] & ALYA_BOUNDARY ? 0 : p->dt / p->mass_step[n];
}

/* The elements by the ids of their nodes; of a file, with their coordinates. Coordinates of a
 * generated mesh and the velocity come from sines and powers, which differ in their last bits from
 * library to library; they follow from the facts. */
void alya_digest(const void *problem, rt_digest_t *digest)
{
    const alya_problem_t *p = problem;
    const alya_config_t *cfg = p->config;
    const alya_mesh_t *mesh = p->mesh;
    const double physics[] = {cfg->rho,     cfg->mu,      cfg->vreman,  cfg->filter,
                              cfg->force_x, cfg->force_y, cfg->force_z, cfg->courant};
    rt_items_t elements = {0, {0}};
    rt_digest_text(digest, "mesh", cfg->from_file ? "file" : cfg->mesh);
    for (int d = 0; d < 3 && !cfg->from_file; d++)
        rt_digest_int(digest, "cells", cfg->cells[d]);
    rt_digest_real(digest, "growth", cfg->growth);
    rt_digest_real(digest, "jitter", cfg->jitter);
    rt_digest_int(digest, "form", cfg->form);
    rt_digest_int(digest, "steps", cfg->steps);
    for (size_t i = 0; i < sizeof physics / sizeof *physics; i++)
        rt_digest_real(digest, "physics", physics[i]);
#pragma omp parallel
    {
        rt_items_t mine = {0, {0}};
#pragma omp for schedule(static)
        for (int64_t e = 0; e < mesh->elements; e++) {
            uint64_t element[16];
            for (int a = 0; a < 4; a++) {
                const int32_t node = mesh->connectivity[4 * e + a];
                element[a] = (uint64_t)mesh->node_id[node];
                for (int d = 0; d < 3; d++)
                    element[4 + 3 * a + d] = rt_items_word(mesh->x[3 * (int64_t)node + d]);
            }
            rt_items_add(&mine, element, cfg->from_file ? 16 : 4);
        }
#pragma omp critical
        rt_items_merge(&elements, &mine);
    }
    rt_digest_items(digest, "elements", &elements);
}

void *alya_problem_new(const rt_run_t *run)
{
    alya_config_t *cfg = run->config;
    alya_problem_t *p = RT_NEW(alya_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = run;
    p->config = cfg;
    p->physics = alya_physics(cfg);
    double begin = rt_clock();
    make_mesh(p, cfg);
    p->seconds_mesh = rt_clock() - begin;
    order_mesh(p, cfg);
    begin = rt_clock();
    p->schedule = alya_schedule_new(p->mesh, ALYA_CHUNK);
    p->halo = alya_halo_new(p->mesh, run->opt.transport, RT_CPU, RT_HOST);
    p->u = RT_NEW(double, 3 * (size_t)p->mesh->nodes, RT_HOST);
    fill_velocity(p, cfg);
    if (cfg->steps > 0)
        fill_mass(p, cfg);
    p->seconds_rest = rt_clock() - begin;
    if (rt_comm_rank() == 0 && !run->opt.quiet)
        printf(
            "set-up        mesh %.2f s, reordering %.2f s, colours, halo and velocity %.2f s; %.2f "
            "nodes an element in runs of 512 as handed in\n",
            p->seconds_mesh, p->seconds_order, p->seconds_rest, p->spread);
    return p;
}

void alya_problem_destroy(void *problem)
{
    alya_problem_t *p = problem;
    alya_mesh_destroy(p->mesh);
    alya_schedule_destroy(p->schedule);
    rt_halo_destroy(p->halo);
    RT_FREE(p->u, RT_HOST);
    RT_FREE(p->mass_step, RT_HOST);
    RT_FREE(p, RT_HOST);
}
