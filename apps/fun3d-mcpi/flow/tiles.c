/*
 * tiles.c - cuts the curve through space into tiles, and copies what their faces have in its order.
 */
#include "config.h"
#include <string.h>
#include "flow.h"

/* The tile that grows: tile_of[j] = tile says that j is a member, place[j] which one. */
typedef struct {
    int32_t *tile_of;
    uint16_t *place;
    mcpi_tiles_t *t;
    const mcpi_part_t *part;
    const mcpi_geometry_t *g;
} growing_t;

/* Returns how many members row i would add to the last tile. */
static int32_t fresh(const growing_t *now, int64_t i)
{
    const mcpi_part_t *part = now->part;
    const int32_t tile = now->t->tiles - 1;
    int32_t n = now->tile_of[i] != tile;
    for (int64_t k = part->start[i]; k < part->start[i + 1]; k++)
        n += now->tile_of[part->column[k]] != tile;
    return n;
}

static void add_member(growing_t *now, int64_t j)
{
    mcpi_tiles_t *t = now->t;
    const int32_t tile = t->tiles - 1;
    if (now->tile_of[j] == tile)
        return;
    now->tile_of[j] = tile;
    now->place[j] = (uint16_t)(t->member_first[t->tiles] - t->member_first[tile]);
    t->member[t->member_first[t->tiles]++] = (uint32_t)j;
}

/* Adds the entries and faces of row i, which with its neighbours is a member. */
static void add_entries(const growing_t *now, int64_t i, int32_t *entry, int32_t *face)
{
    mcpi_tiles_t *t = now->t;
    for (int64_t k = now->part->start[i]; k < now->part->start[i + 1]; k++) {
        const double *n = now->g->n + 3 * k;
        const uint16_t near = now->place[now->part->column[k]];
        t->viscous[*entry] = now->g->viscous[k];
        t->near[(*entry)++] = near;
        if (n[0] == 0 && n[1] == 0 && n[2] == 0)
            continue;
        t->ends[*face] = now->place[i] | (uint32_t)near << 16;
        memcpy(t->area + 3 * (int64_t)(*face)++, n, 3 * sizeof *n);
    }
}

/* Returns whether the last tile has room for row i. */
static bool has_room(const growing_t *now, int64_t place, int64_t i, int32_t entry)
{
    const mcpi_tiles_t *t = now->t;
    const int32_t last = t->tiles - 1, first = t->first[last];
    const int64_t entries = entry - t->entry[first] + now->part->start[i + 1] - now->part->start[i];
    return place - first < MCPI_TILE && entries <= MCPI_TILE_ENTRIES &&
           t->member_first[last + 1] - t->member_first[last] + fresh(now, i) <= MCPI_MEMBERS;
}

/* Fills the tiles; false if a row has more neighbours than a tile has room for. */
static bool grow(growing_t *now, const uint32_t *turn)
{
    mcpi_tiles_t *t = now->t;
    const mcpi_part_t *part = now->part;
    int32_t entry = 0, face = 0;
    for (int64_t p = 0; p < part->rows; p++) {
        const int64_t i = turn[p];
        t->entry[p] = entry;
        t->face[p] = face;
        if (p == 0 || !has_room(now, p, i, entry)) {
            t->first[t->tiles++] = (int32_t)p;
            t->member_first[t->tiles] = t->member_first[t->tiles - 1];
        }
        if (!has_room(now, p, i, entry))
            return false;
        add_member(now, i);
        for (int64_t k = part->start[i]; k < part->start[i + 1]; k++)
            add_member(now, part->column[k]);
        t->own[p] = now->place[i];
        add_entries(now, i, &entry, &face);
    }
    t->first[t->tiles] = (int32_t)part->rows;
    t->entry[part->rows] = entry;
    t->face[part->rows] = face;
    return true;
}

static void *moved(void *host, int64_t n, size_t size, rt_space_t space)
{
    void *there = rt_clone(host, (size_t)n, size, space);
    rt_free(host, RT_HOST);
    return there;
}

bool mcpi_tiles_new(const mcpi_part_t *part, const mcpi_geometry_t *g, const uint32_t *turn,
                    rt_space_t space, mcpi_tiles_t *tiles)
{
    const int64_t rows = part->rows, entries = part->start[rows], all = rows + part->ghosts;
    mcpi_tiles_t t = {.first = RT_NEW(int32_t, (size_t)rows + 1, RT_HOST),
                      .member_first = RT_NEW(int32_t, (size_t)rows + 1, RT_HOST),
                      .member = RT_NEW(uint32_t, (size_t)(rows + entries), RT_HOST),
                      .own = RT_NEW(uint16_t, (size_t)rows, RT_HOST),
                      .entry = RT_NEW(int32_t, (size_t)rows + 1, RT_HOST),
                      .face = RT_NEW(int32_t, (size_t)rows + 1, RT_HOST),
                      .near = RT_NEW(uint16_t, (size_t)entries, RT_HOST),
                      .viscous = RT_NEW(double, (size_t)entries, RT_HOST),
                      .ends = RT_NEW(uint32_t, (size_t)entries, RT_HOST),
                      .area = RT_NEW(double, 3 * (size_t)entries, RT_HOST)};
    growing_t now = {.tile_of = RT_NEW(int32_t, (size_t)all, RT_HOST),
                     .place = RT_NEW(uint16_t, (size_t)all, RT_HOST),
                     .t = &t,
                     .part = part,
                     .g = g};
    memset(now.tile_of, 0xff, (size_t)all * sizeof *now.tile_of);
    t.member_first[0] = 0;
    const bool fits = grow(&now, turn);
    RT_FREE(now.tile_of, RT_HOST);
    RT_FREE(now.place, RT_HOST);
    if (!fits) {
        mcpi_tiles_destroy(&t, RT_HOST);
        return false;
    }
    const int64_t faces = t.face[rows], members = t.member_first[t.tiles];
    *tiles = (mcpi_tiles_t){.tiles = t.tiles,
                            .first = moved(t.first, t.tiles + 1, sizeof *t.first, space),
                            .member_first =
                                moved(t.member_first, t.tiles + 1, sizeof *t.member_first, space),
                            .member = moved(t.member, members, sizeof *t.member, space),
                            .own = moved(t.own, rows, sizeof *t.own, space),
                            .entry = moved(t.entry, rows + 1, sizeof *t.entry, space),
                            .face = moved(t.face, rows + 1, sizeof *t.face, space),
                            .near = moved(t.near, entries, sizeof *t.near, space),
                            .viscous = moved(t.viscous, entries, sizeof *t.viscous, space),
                            .ends = moved(t.ends, faces, sizeof *t.ends, space),
                            .area = moved(t.area, 3 * faces, sizeof *t.area, space)};
    return true;
}

/* Members are at most rows and entries. */
double mcpi_tiles_memory(const mcpi_counts_t *c)
{
    const double of_row = 5 * sizeof(int32_t) + sizeof(uint32_t) + sizeof(uint16_t);
    const double of_entry = 2 * sizeof(uint32_t) + sizeof(uint16_t) + 4 * sizeof(double);
    return of_row * (double)c->local_rows + of_entry * (double)c->local_blocks;
}

void mcpi_tiles_destroy(mcpi_tiles_t *t, rt_space_t space)
{
    void *const arrays[] = {t->first, t->member_first, t->member,  t->own,  t->entry,
                            t->face,  t->near,         t->viscous, t->ends, t->area};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        rt_free(arrays[k], space);
}
