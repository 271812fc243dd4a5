/*
 * solve.c - assemblies through a rung's function table.
 *
 * A solve is --assemblies right-hand sides of one velocity or, on the ladder `step`, --steps time steps
 * (step/). This file never sees a device: the tables know where the arrays are and who touches them.
 *
 * Assemblies of one velocity overwrite each other, so the result of a solve would be right even if
 * only the last one had been made. Therefore each has its own density, viscosity and subgrid
 * constant, which costs nothing, and r of a few nodes is kept after two of the earlier ones: a copy
 * of 6 KiB each, where an assembly moves megabytes. r is linear in these three and in the force, so
 * a fourth assembly could be combined from three of one velocity: there are at most three.
 */
#include "config.h"
#include "alya.h"
#include <string.h>
#include "base/draw.h"

/* --- fields to and from the rung's arrays --- */

void alya_put_velocity(alya_solver_t *s, const double *u)
{
    const size_t bytes = 3 * (size_t)s->view.nodes * sizeof(double);
    if (!s->kernels->packed) {
        rt_copy(s->u, s->space, u, RT_HOST, bytes);
        return;
    }
    /* r is about to be overwritten anyway, so it carries u to the records */
    rt_copy(s->r, s->space, u, RT_HOST, bytes);
    s->vectors->copy(s->view.nodes, s->r, 3, s->u, s->u_stride);
    alya_erase_r(s);
}

void alya_erase_r(alya_solver_t *s)
{
    rt_fill(s->r, s->space, 0xff, s->r_bytes);
}

void alya_get(const alya_solver_t *s, const double *array, int stride, double *host)
{
    const int64_t nodes = s->view.nodes;
    if (nodes == 0)
        return;
    if (stride == 3) {
        rt_copy(host, RT_HOST, array, s->space, 3 * (size_t)nodes * sizeof(double));
        return;
    }
    const size_t values = (size_t)((nodes - 1) * stride + 3);
    double *all = RT_NEW(double, values, RT_HOST);
    rt_copy(all, RT_HOST, array, s->space, values * sizeof(double));
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < nodes; n++)
        for (int d = 0; d < 3; d++)
            host[3 * n + d] = all[n * stride + d];
    RT_FREE(all, RT_HOST);
}

/* --- a rung's arrays --- */

/* What all rungs of a kind have: a kind that was not built has no rungs. */
static const struct {
    const alya_vectors_t *vectors;
    const alya_loops_t *loops; /* of a time step */
} of_kind[] = {[RT_CPU] = {&alya_vectors_cpu, &alya_loops_cpu},
#if RT_HAVE_CUDA
               [RT_CUDA] = {&alya_vectors_cuda, &alya_loops_cuda},
#endif
#if RT_HAVE_KOKKOS
               [RT_KOKKOS] = {&alya_vectors_kokkos, &alya_loops_kokkos},
#endif
#if RT_HAVE_OPENACC
               [RT_OPENACC] = {&alya_vectors_openacc, NULL}
#endif
};

/* Makes records: x and u of a node together are in one or two sectors of memory, in two arrays in
 * four. */
static void new_records(alya_solver_t *s)
{
    const alya_mesh_t *mesh = s->problem->mesh;
    const int packed = s->kernels->packed;
    const size_t values = (size_t)mesh->nodes * (size_t)packed;
    double *host = RT_NEW(double, values, RT_HOST);
    memset(host, 0, values * sizeof(double));
    const int offset = packed == 8 ? 4 : 3; /* of u: halves of 32 bytes, or packed as tightly as
                                             * possible */
    for (int64_t n = 0; n < mesh->nodes; n++)
        memcpy(host + n * packed, mesh->x + 3 * n, 3 * sizeof(double));
    if (s->space == RT_HOST) {
        s->record = host;
    } else {
        s->record = rt_clone(host, values, sizeof(double), s->space);
        RT_FREE(host, RT_HOST);
    }
    s->x = s->record;
    s->u = s->record + offset;
    s->u_stride = packed;
    s->view.x_stride = packed;
}

static void new_arrays(alya_solver_t *s)
{
    const alya_mesh_t *mesh = s->problem->mesh;
    const size_t nodes = (size_t)mesh->nodes;
    if (s->kernels->packed) {
        new_records(s);
    } else {
        s->x = mesh->x;
        if (s->space != RT_HOST)
            s->x = rt_clone(mesh->x, 3 * nodes, sizeof(double), s->space);
        s->u = RT_NEW(double, 3 * nodes, s->space);
        s->u_stride = 3;
        s->view.x_stride = 3;
    }
    s->view.x = s->x;
    s->view.connectivity = mesh->connectivity;
    if (s->space != RT_HOST)
        s->view.connectivity =
            rt_clone(mesh->connectivity, 4 * (size_t)mesh->elements, sizeof(int32_t), s->space);
    const size_t r_values = nodes * (size_t)s->kernels->r_stride;
    s->r = RT_NEW(double, r_values, s->space);
    s->r_bytes = r_values * sizeof(double);
    s->u0 =
        rt_clone(alya_base(s->problem, alya_is_step(s->rung)), 3 * nodes, sizeof(double), s->space);
    s->witness = RT_NEW(double, 3 * ALYA_WATCHED * ALYA_WITNESSES, s->space);
}

/* Makes a halo of the rung's own. Where its transport is peer, a kernel of the app takes it over,
 * with an entry per value; it does not know nodes that are copies of each other on one rank. */
static void new_halo(alya_solver_t *s)
{
    const alya_problem_t *p = s->problem;
    s->own_halo = true;
    s->halo = alya_halo_new(p->mesh, p->run->opt.transport, s->rung->kind, s->space, 0);
    const rt_halo_info_t info = rt_halo_info(s->halo);
    double local = (double)info.local_entries;
    rt_comm_max(&local, 1);
    if (!s->vectors->exchange_new || strcmp(info.transport, "peer") != 0 || local > 0)
        return;
    rt_halo_destroy(s->halo);
    s->halo = alya_halo_new(p->mesh, "peer", s->rung->kind, s->space, s->kernels->r_stride);
    s->exchange = s->vectors->exchange_new(s->halo);
}

void *alya_solver_new(void *problem, const rt_rung_t *rung)
{
    alya_problem_t *p = problem;
    alya_solver_t *s = RT_NEW(alya_solver_t, 1, RT_HOST);
    memset(s, 0, sizeof *s);
    rt_setup_charge(alya_is_step(rung) && p->flow ? p->flow->seconds : 0);
    if (alya_is_step(rung) && !p->flow)
        p->flow = alya_flow_input_new(p);
    s->problem = p;
    s->rung = rung;
    s->kernels = alya_kernels(rung);
    s->vectors = of_kind[rung->kind].vectors;
    s->space = rt_rung_space(rung);
    s->physics = p->physics;
    rt_setup_charge(p->seconds_order + (s->space == RT_HOST ? p->seconds_lists : 0));
    s->view = (alya_view_t){.host = p->mesh,
                            .elements = p->mesh->elements,
                            .nodes = p->mesh->nodes,
                            .schedule = rt_kind_on_gpu(rung->kind) ? NULL : p->schedule};
    const int *choice = rt_tune_choice(p->run, rung);
    s->view.threads = alya_block_threads(rung, choice);
    s->view.pass = alya_pass_elements(rung, choice, p->mesh->elements);
    const int64_t chunk = alya_chunk_elements(rung, choice);
    if (chunk != ALYA_CHUNK)
        s->view.schedule = s->own_schedule = alya_schedule_new(p->mesh, chunk);
    new_arrays(s);
    if (s->kernels->set_up)
        s->kernels->set_up(&s->view);
    s->halo = p->halo;
    if (p->halo && (s->space != RT_HOST || rt_halo_is_cut(p->run->opt.transport)))
        new_halo(s);
    if (alya_is_step(rung))
        s->flow = alya_flow_new(s, of_kind[rung->kind].loops);
    rt_device_synchronize();
    return s;
}

void alya_solver_destroy(void *solver)
{
    alya_solver_t *s = solver;
    if (s->kernels->tear_down)
        s->kernels->tear_down(&s->view);
    alya_flow_destroy(s->flow);
    if (s->exchange)
        s->vectors->exchange_destroy(s->exchange);
    if (s->own_halo)
        rt_halo_destroy(s->halo);
    if (s->kernels->packed) {
        RT_FREE(s->record, s->space);
    } else {
        if (s->space != RT_HOST)
            RT_FREE(s->x, s->space);
        RT_FREE(s->u, s->space);
    }
    if (s->space != RT_HOST)
        RT_FREE(s->view.connectivity, s->space);
    RT_FREE_ALL(s->space, s->r, s->u0, s->witness);
    for (int k = 0; k < RT_KEEPS; k++)
        alya_left_destroy(&s->kept[k]);
    alya_schedule_destroy(s->own_schedule);
    RT_FREE(s, RT_HOST);
}

/* --- the job --- */

void alya_sum_r(alya_solver_t *s)
{
    const rt_field_t field = {s->r, RT_F64, 3, s->kernels->r_stride, 1};
    if (!s->halo)
        return;
    rt_timer_start("halo", s->rung->kind);
    if (s->exchange)
        s->vectors->exchange(s->exchange, s->r);
    else
        rt_halo_do(s->halo, RT_HALO_SUM, &field);
    rt_timer_stop("halo");
}

void alya_assemble(alya_solver_t *s)
{
    s->assembled++;
    rt_timer_start("assemble", s->rung->kind);
    s->kernels->assemble(&s->view, &s->physics, s->u, s->r);
    rt_timer_stop("assemble");
    alya_sum_r(s);
}

/* Returns a seed for what is drawn for a solve. */
static uint64_t seed_of(const alya_solver_t *s, uint64_t draw, uint64_t stream)
{
    return rt_hash(draw, (uint64_t)s->problem->run->opt.seed + stream);
}

alya_physics_t alya_physics(const alya_solver_t *s, uint64_t draw, int64_t k)
{
    const uint64_t seed = seed_of(s, draw, ALYA_SEED_PHYSICS), at = 3 * (uint64_t)k;
    alya_physics_t physics = s->physics;
    if (k == s->problem->config->assemblies - 1)
        return physics;
    physics.rho *= 1.25 + 0.125 * rt_random(at, seed);
    physics.mu *= 1.25 + 0.125 * rt_random(at + 1, seed);
    physics.vreman *= 1.25 + 0.125 * rt_random(at + 2, seed);
    return physics;
}

alya_watch_t alya_watch(const alya_solver_t *s, uint64_t draw)
{
    const alya_config_t *config = s->problem->config;
    const uint64_t seed = seed_of(s, draw, ALYA_SEED_WITNESSES);
    const int64_t earlier = config->assemblies - 1;
    alya_watch_t watch = {.assembly = {-1, -1}};
    if (earlier > 0)
        watch.assembly[0] = (int64_t)(rt_hash(0, seed) % (uint64_t)earlier);
    if (earlier > 1) /* another one */
        watch.assembly[1] =
            (watch.assembly[0] + 1 + (int64_t)(rt_hash(1, seed) % (uint64_t)(earlier - 1))) %
            earlier;
    watch.jump = (s->view.nodes + ALYA_WITNESSES - 1) / ALYA_WITNESSES;
    watch.first = (int64_t)(rt_hash(2, seed) % (uint64_t)watch.jump);
    watch.count = (s->view.nodes - watch.first + watch.jump - 1) / watch.jump;
    return watch;
}

static void assemblies(alya_solver_t *s)
{
    const alya_physics_t own = s->physics;
    const alya_watch_t watch = alya_watch(s, s->draw);
    const int stride = s->kernels->r_stride;
    for (int64_t k = 0; k < s->problem->config->assemblies; k++) {
        s->physics = alya_physics(s, s->draw, k);
        alya_assemble(s);
        s->physics = own;
        for (int w = 0; w < ALYA_WATCHED; w++)
            if (k == watch.assembly[w])
                s->vectors->copy(watch.count, s->r + watch.first * stride, stride * (int)watch.jump,
                                 s->witness + (ptrdiff_t)w * ALYA_WITNESSES * 3, 3);
    }
}

void alya_solve(void *solver)
{
    alya_solver_t *s = solver;
    for (int64_t k = 0; s->flow && k < s->problem->config->steps; k++)
        alya_step(s);
    if (s->flow)
        return;
    assemblies(s);
}

/* --- between solves --- */

/* Gusts of an eighth: the velocity keeps its size. A time step would smear them in thin cells, and
 * might have to be shorter for that, so there they are small. */
static rt_draw_t gusts(bool steps, uint64_t draw)
{
    return (rt_draw_t){draw, 1, draw == 0 ? 0 : steps ? 0x1p-7 : 0.125};
}

bool alya_is_step(const rt_rung_t *rung)
{
    return rung->ladder && strcmp(rung->ladder, "step") == 0;
}

const double *alya_base(const alya_problem_t *p, bool steps)
{
    return steps ? p->flow->u : p->u;
}

void alya_draw(const alya_problem_t *p, bool steps, uint64_t draw, double *u)
{
    rt_draw(u, RT_HOST, alya_base(p, steps), 3 * (size_t)p->mesh->nodes, sizeof *u,
            gusts(steps, draw));
}

alya_left_t alya_left_new(const alya_solver_t *s)
{
    const size_t nodes = (size_t)s->view.nodes, values = 3 * nodes;
    const size_t watched = 3 * ALYA_WATCHED * ALYA_WITNESSES;
    alya_left_t left = {.draw = s->draw, .assembled = s->assembled};
    if (s->flow) {
        left.steps = s->flow->steps;
        left.begin = RT_NEW(double, values, RT_HOST);
        left.u = RT_NEW(double, values, RT_HOST);
        left.p = RT_NEW(double, nodes, RT_HOST);
        rt_copy(left.begin, RT_HOST, s->flow->view.begin, s->space, values * sizeof(double));
        rt_copy(left.p, RT_HOST, s->flow->view.p, s->space, nodes * sizeof(double));
        alya_get(s, s->u, s->u_stride, left.u);
        return left;
    }
    left.r = RT_NEW(double, values, RT_HOST);
    left.witness = RT_NEW(double, watched, RT_HOST);
    alya_get(s, s->r, s->kernels->r_stride, left.r);
    rt_copy(left.witness, RT_HOST, s->witness, s->space, watched * sizeof(double));
    return left;
}

void alya_left_destroy(alya_left_t *left)
{
    RT_FREE_ALL(RT_HOST, left->r, left->witness, left->begin, left->u, left->p);
}

void alya_spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    alya_solver_t *s = solver;
    const size_t values = 3 * (size_t)s->view.nodes;
    if (keep) {
        alya_left_destroy(&s->kept[keep]);
        s->kept[keep] = alya_left_new(s);
    }
    s->draw = draw;
    s->assembled = 0;
    /* r carries the velocity to the records, as in alya_put_velocity */
    rt_draw(s->r, s->space, s->u0, values, sizeof(double), gusts(s->flow != NULL, draw));
    s->vectors->copy(s->view.nodes, s->r, 3, s->u, s->u_stride);
    alya_erase_r(s);
    if (s->flow)
        alya_flow_spoil(s->flow);
    rt_fill(s->witness, s->space, 0xff, (size_t)3 * ALYA_WATCHED * ALYA_WITNESSES * sizeof(double));
}
