/*
 * replay.c - judges many steps by repeating them.
 */
#include "config.h"
#include "judge.h"
#include <math.h>
#include <string.h>

enum { PICKS = 8, MOST_AROUND = ALYA_WATCHED * ALYA_WITNESSES };

/* The elements around a few nodes, as a mesh of its own; its first `picks` nodes are those. */
typedef struct {
    const alya_bench_t *t;
    uint64_t draw;
    alya_mesh_t mesh;
    alya_schedule_t *schedule;
    int picks;
    int64_t *node; /* [mesh.nodes] number in the whole mesh */
    double *u, *want, *size;
    double worst;
} patch_t;

static void patch_destroy(patch_t *patch)
{
    alya_schedule_destroy(patch->schedule);
    RT_FREE(patch->mesh.connectivity, RT_HOST);
    RT_FREE(patch->mesh.x, RT_HOST);
    RT_FREE(patch->node, RT_HOST);
    RT_FREE(patch->u, RT_HOST);
    RT_FREE(patch->want, RT_HOST);
    RT_FREE(patch->size, RT_HOST);
}

/* Picks up to `picks` random nodes that no other rank or image has, and numbers them from 0 on. */
static void pick_nodes(patch_t *patch, int picks, int32_t *local)
{
    const alya_mesh_t *mesh = patch->t->mesh;
    const uint64_t seed =
        rt_hash(patch->draw, (uint64_t)patch->t->p->run->opt.seed + ALYA_SEED_PICKS);
    patch->picks = 0;
    for (uint64_t i = 0; patch->picks < picks && i < 64 * (uint64_t)picks; i++) {
        const int64_t n = (int64_t)(rt_hash(i, seed) % (uint64_t)mesh->nodes);
        if (local[n] < 0 && !(mesh->flags[n] & ALYA_SHARED)) {
            patch->node[patch->picks] = n;
            local[n] = patch->picks++;
        }
    }
}

/* Takes all elements that have a picked node; false: they have too many nodes. */
static bool gather_elements(patch_t *patch, int32_t *local)
{
    const alya_mesh_t *mesh = patch->t->mesh;
    alya_mesh_t *part = &patch->mesh;
    part->nodes = patch->picks;
    part->elements = 0;
    for (int64_t e = 0; e < mesh->elements; e++) {
        const int32_t *node = mesh->connectivity + 4 * e;
        bool touches = false;
        for (int a = 0; a < 4; a++)
            touches = touches || (local[node[a]] >= 0 && local[node[a]] < patch->picks);
        if (!touches)
            continue;
        if (part->elements == 2 * MOST_AROUND || part->nodes + 4 > MOST_AROUND)
            return false;
        for (int a = 0; a < 4; a++) {
            if (local[node[a]] < 0) {
                patch->node[part->nodes] = node[a];
                local[node[a]] = (int32_t)part->nodes++;
            }
            part->connectivity[4 * part->elements + a] = local[node[a]];
        }
        part->elements++;
    }
    return true;
}

static void patch_new(const alya_bench_t *t, uint64_t draw, patch_t *patch)
{
    const size_t nodes = (size_t)t->mesh->nodes;
    *patch = (patch_t){.t = t, .draw = draw};
    patch->mesh.connectivity = RT_NEW(int32_t, 8 * MOST_AROUND, RT_HOST);
    patch->mesh.x = RT_NEW(double, 3 * MOST_AROUND, RT_HOST);
    patch->node = RT_NEW(int64_t, MOST_AROUND, RT_HOST);
    patch->u = RT_NEW(double, 3 * MOST_AROUND, RT_HOST);
    patch->want = RT_NEW(double, 3 * MOST_AROUND, RT_HOST);
    patch->size = RT_NEW(double, 2 * MOST_AROUND, RT_HOST);
    int32_t *local = RT_NEW(int32_t, nodes, RT_HOST);
    int picks = PICKS;
    do { /* a node of a poor mesh can have hundreds of neighbours: then take fewer nodes */
        memset(local, 0xff, nodes * sizeof *local);
        pick_nodes(patch, picks, local);
        picks /= 2;
    } while (!gather_elements(patch, local));
    RT_FREE(local, RT_HOST);
    for (int64_t n = 0; n < patch->mesh.nodes; n++)
        memcpy(patch->mesh.x + 3 * n, t->mesh->x + 3 * patch->node[n], 3 * sizeof(double));
    patch->schedule = alya_schedule_new(&patch->mesh, ALYA_CHUNK);
}

/* Gets `count` nodes of the patch from one of the rung's fields; from a GPU through the
 * witnesses. */
static void patch_get(patch_t *patch, const double *field, int stride, int64_t count)
{
    const alya_solver_t *s = patch->t->s;
    for (int64_t n = 0; n < count; n++) {
        const double *from = field + patch->node[n] * stride;
        if (s->space == RT_HOST)
            memcpy(patch->u + 3 * n, from, 3 * sizeof *from);
        else
            s->vectors->scale(1, 1, from, stride, s->witness + 3 * n, 3);
    }
    if (s->space != RT_HOST)
        rt_copy(patch->u, RT_HOST, s->witness, s->space, 3 * (size_t)count * sizeof(double));
}

/* Before an assembly: computes what the patch should give, and erases the last r so that it cannot
 * be taken for the new one. After it: compares. */
static void look(alya_solver_t *s, bool is_done)
{
    patch_t *patch = s->look_data;
    if (is_done) {
        patch_get(patch, s->r, s->kernels->r_stride, patch->picks);
        for (int n = 0; n < patch->picks; n++)
            patch->worst = fmax(patch->worst, alya_node_error(patch->u + 3 * n, patch->want + 3 * n,
                                                              patch->size + 2 * n));
        return;
    }
    patch_get(patch, s->u, s->u_stride, patch->mesh.nodes);
    alya_reference_assemble(&patch->mesh, patch->schedule, &s->physics, patch->u, patch->want,
                            patch->size);
    alya_erase_r(s);
}

/* Repeats the rung's steps from a velocity that differs by 1e-9; where they end goes to t->u. */
static const double change = 1e-9;
static void disturbed_steps(const alya_bench_t *t, uint64_t draw)
{
    alya_solver_t *s = t->s;
    alya_random_field(t->mesh, draw, t->got);
    alya_draw(t->p, draw, t->u);
    for (int64_t v = 0; v < 3 * t->mesh->nodes; v++)
        t->u[v] *= 1 + change * t->got[v];
    alya_put_velocity(s, t->u);
    for (int64_t k = 0; k < t->p->config->steps; k++)
        alya_step(s);
    alya_get(s, s->u, s->u_stride, t->u);
}

/*
 * The reference is too slow for many steps, and the last one shows nothing of those before it. So
 * the rung repeats them, untimed, and every assembly is judged at nodes that the rung cannot know;
 * then the timed run must have ended at the same velocity. A rung that claims the same bits must
 * match exactly; another may differ by what the steps make of its rounding errors, which is
 * measured. Not proved: that no element is missing that touches none of those nodes, in a step
 * other than the last, if it is missing in the replay and in the timed run alike.
 */
void alya_check_replay(alya_bench_t *t, const alya_left_t *left)
{
    alya_solver_t *s = t->s;
    patch_t patch;
    t->got = RT_NEW(double, 3 * (size_t)t->mesh->nodes, RT_HOST);
    if (!s->kernels->rung.reproducible)
        disturbed_steps(t, left->draw);
    patch_new(t, left->draw, &patch);
    alya_draw(t->p, left->draw, t->want);
    alya_put_velocity(s, t->want);
    s->look_data = &patch;
    s->look = look;
    for (int64_t k = 0; k < t->p->config->steps; k++)
        alya_step(s);
    s->look = NULL;
    rt_comm_max(&patch.worst, 1);
    rt_verdict_check(t->verdict,
                     "every assembly of a replay = quadrature at some nodes (sum |r_e|)",
                     patch.worst, s->kernels->tolerance);
    alya_get(s, s->u, s->u_stride, t->got);
    const double error = alya_velocity_error(t, left->u, t->got);
    if (s->kernels->rung.reproducible)
        rt_verdict_true(t->verdict, "the timed steps end where the replay does, bit for bit",
                        error == 0);
    else
        rt_verdict_check(t->verdict, "the timed steps end where the replay does (max |u|)", error,
                         (double)t->p->config->steps * alya_step_bound(t) *
                             fmax(1, alya_velocity_error(t, t->u, t->got) / change));
    patch_destroy(&patch);
    RT_FREE(t->got, RT_HOST);
}
