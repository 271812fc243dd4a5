/*
 * ghosts.c - which boxes of own nodes are ghosts of which rank, from arithmetic alone: boxes are cut
 * along planes, so along each direction the ghosts of a box are a few runs of nodes of one owner.
 */
#include "config.h"
#include "ghosts.h"
#include "base/error.h"

/* Consecutive positions of another box that are consecutive own nodes. */
typedef struct {
    int64_t to, from, length;
    bool own; /* own nodes of that box too */
} run_t;

/* Runs begin where the owner may change: at most at each ghost, and at the first own node. */
enum { MOST_RUNS = 2 * GFNN_MAX_ND + 3 };

/* Lists the runs of positions -width .. n + width - 1 of box `there` that are nodes of `here`. */
static int list_runs(const gfnn_box_t *here, const gfnn_box_t *there, int d, int width,
                     run_t run[MOST_RUNS])
{
    const int64_t n = there->n[d];
    int runs = 0;
    for (int64_t i = -width; i < n + width; i++) {
        const bool own = i >= 0 && i < n;
        const int64_t node = gfnn_wrap(here->faces, there->first[d] + i, here->N[d]);
        const int64_t at = node - here->first[d];
        if (at < 0 || at >= here->n[d])
            continue;
        run_t *last = run + runs - 1;
        if (runs > 0 && last->own == own && last->to + last->length == i &&
            last->from + last->length == at) {
            last->length++;
            continue;
        }
        RT_EXPECT(runs < MOST_RUNS, RT_ENVIRONMENT, "more than %d runs of ghosts", MOST_RUNS);
        run[runs++] = (run_t){i, at, 1, own};
    }
    return runs;
}

typedef struct {
    int count, room;
    gfnn_patch_t *patches;
} list_t;

/* Lists what the first box writes into the second, which is that of `rank`. */
static void list_pair(const gfnn_box_t *here, const gfnn_box_t *there, int rank, bool wide,
                      int width, list_t *list)
{
    const gfnn_grid_t *mine = wide ? &here->wide : &here->fine;
    const gfnn_grid_t *other = wide ? &there->wide : &there->fine;
    run_t run[3][MOST_RUNS];
    int runs[3];
    for (int d = 0; d < 3; d++)
        runs[d] = list_runs(here, there, d, width, run[d]);
    for (int e = 0; e < runs[0] * runs[1] * runs[2]; e++) {
        const run_t *x = &run[0][e % runs[0]], *y = &run[1][e / runs[0] % runs[1]],
                    *z = &run[2][e / runs[0] / runs[1]];
        if (x->own && y->own && z->own) /* not ghosts: the two are the same box */
            continue;
        if (list->count++ >= list->room)
            continue;
        list->patches[list->count - 1] =
            (gfnn_patch_t){.rank = rank,
                           .n = {(int32_t)x->length, (int32_t)y->length, (int32_t)z->length},
                           .from = (int32_t)gfnn_at(mine, x->from, y->from, z->from),
                           .to = (int32_t)gfnn_at(other, x->to, y->to, z->to),
                           .to_pitch = (int32_t)other->pitch,
                           .to_slab = (int32_t)other->slab,
                           .to_plane = other->plane};
    }
}

int gfnn_ghosts_list(const gfnn_config_t *config, int me, bool wide, int width, int room,
                     gfnn_patch_t *patches)
{
    const int ranks = config->n_ranks[0] * config->n_ranks[1] * config->n_ranks[2];
    const gfnn_box_t here = gfnn_box(config, me);
    list_t list = {0, room, patches};
    for (int rank = 0; rank < ranks; rank++) {
        const gfnn_box_t there = gfnn_box(config, rank);
        if (rank != me)
            list_pair(&here, &there, rank, wide, width, &list);
    }
    list_pair(&here, &here, me, wide, width, &list);
    return list.count;
}
