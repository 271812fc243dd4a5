/*
 * tiles.c - cuts the rows of a rank into tiles, and copies what their faces have in its order.
 *
 * A tile grows from one node by the neighbour that brings the fewest new members; one whose other
 * neighbours have a tile already comes sooner, or it would be left over. A range of a curve through
 * space needs a third more members, because cells at a wall are thin.
 */
#include "config.h"
#include <string.h>
#include "node.h"

/* The tile that grows. */
typedef struct {
    mcpi_tiles_t *t;
    const mcpi_part_t *part;
    const mcpi_geometry_t *g;
    uint32_t *order;    /* [rows] own nodes, tile by tile */
    int32_t *member_of; /* [rows + ghosts] the last tile of which it is a member, or -1 */
    int32_t *own_of;    /* [rows + ghosts] its tile, or -1 */
    uint16_t *local;    /* [rows + ghosts] which member of that last tile */
    int32_t *scored;    /* [rows] the tile that fresh[] is of */
    int32_t *fresh;     /* [rows] members that it would bring; on several ranks an estimate */
    int32_t *settled;   /* [rows] neighbours that have a tile */
    uint32_t *place;    /* [rows] on the curve */
    /* of this tile */
    int32_t nodes, members, entries, faces;
    uint32_t member[MCPI_MEMBERS];
    uint32_t ends[MCPI_TILE_FACES];
    int64_t from[MCPI_TILE_FACES]; /* the entry that a face was made of */
} growing_t;

static bool is_own(const growing_t *now, int64_t j)
{
    return now->own_of[j] == now->t->tiles;
}

/* Returns whether the tile has room for row i. */
static bool has_room(const growing_t *now, int64_t i)
{
    const mcpi_part_t *part = now->part;
    int32_t members = now->members + (now->member_of[i] != now->t->tiles), faces = now->faces;
    for (int64_t k = part->start[i]; k < part->start[i + 1]; k++) {
        members += now->member_of[part->column[k]] != now->t->tiles;
        faces += mcpi_has_area(now->g->n + 3 * k) && !is_own(now, part->column[k]);
    }
    return now->nodes < MCPI_TILE && members <= MCPI_MEMBERS && faces <= MCPI_TILE_FACES &&
           now->entries + part->start[i + 1] - part->start[i] <= MCPI_TILE_ENTRIES;
}

/* Counts one more member among row i and its neighbours. */
static void note_member(growing_t *now, int64_t i)
{
    const int32_t tile = now->t->tiles;
    if (i >= now->part->rows)
        return;
    if (now->scored[i] != tile)
        now->fresh[i] = (int32_t)(now->part->start[i + 1] - now->part->start[i]) + 1;
    now->scored[i] = tile;
    now->fresh[i]--;
}

static void add_member(growing_t *now, int64_t j)
{
    const mcpi_part_t *part = now->part;
    if (now->member_of[j] == now->t->tiles)
        return;
    now->member_of[j] = now->t->tiles;
    now->member[now->members++] = (uint32_t)j;
    if (j >= part->rows) /* a ghost, whose neighbours are not known here */
        return;
    note_member(now, j);
    for (int64_t k = part->start[j]; k < part->start[j + 1]; k++)
        note_member(now, part->column[k]);
}

/* Makes row i a node of the tile. */
static void add_node(growing_t *now, int64_t i)
{
    const mcpi_part_t *part = now->part;
    now->order[now->t->first[now->t->tiles] + now->nodes++] = (uint32_t)i;
    now->own_of[i] = now->t->tiles;
    now->entries += (int32_t)(part->start[i + 1] - part->start[i]);
    add_member(now, i);
    for (int64_t k = part->start[i]; k < part->start[i + 1]; k++) {
        const int64_t j = part->column[k];
        now->faces += mcpi_has_area(now->g->n + 3 * k) && !is_own(now, j);
        add_member(now, j);
        if (j < part->rows)
            now->settled[j]++;
    }
}

/* Returns the member that should become the next node, or -1. */
static int64_t next_node(const growing_t *now)
{
    int64_t best = -1;
    int32_t least = INT32_MAX;
    for (int32_t m = 0; m < now->members; m++) {
        const int64_t i = now->member[m];
        if (i >= now->part->rows || now->own_of[i] >= 0)
            continue;
        const int32_t score = 2 * now->fresh[i] - now->settled[i];
        if (score < least || (score == least && now->place[i] < now->place[best])) {
            best = i;
            least = score;
        }
    }
    return best;
}

/* Writes the tile's members: its nodes first, in order. */
static void put_members(growing_t *now)
{
    mcpi_tiles_t *t = now->t;
    const int32_t tile = t->tiles;
    uint32_t *to = t->member + t->member_first[tile];
    uint16_t n = 0;
    for (; n < now->nodes; n++)
        to[n] = now->order[t->first[tile] + n];
    for (int32_t m = 0; m < now->members; m++)
        if (!is_own(now, now->member[m]))
            to[n++] = now->member[m];
    for (n = 0; n < now->members; n++)
        now->local[to[n]] = n;
    t->member_first[tile + 1] = t->member_first[tile] + now->members;
}

/* Puts faces in an order in which the ends of MCPI_BANKS of them, from `first` on, are in different
 * banks of fast memory, or are one member. ends: of `faces` faces. Fills order[]. */
static void spread(const uint32_t *ends, int32_t faces, uint16_t *order)
{
    enum { AHEAD = 64 };
    uint32_t at[2][MCPI_BANKS]; /* of either end, the member read from each bank, or MCPI_MEMBERS */
    for (int32_t k = 0; k < faces; k++)
        order[k] = (uint16_t)k;
    for (int32_t k = 0; k < faces; k++) {
        if (k % MCPI_BANKS == 0)
            for (int b = 0; b < 2 * MCPI_BANKS; b++)
                at[b / MCPI_BANKS][b % MCPI_BANKS] = MCPI_MEMBERS;
        int32_t found = k;
        for (int32_t q = k; q < faces && q < k + AHEAD; q++) {
            const uint32_t near = ends[order[q]] & 0xffff, far = ends[order[q]] >> 16;
            const uint32_t a = at[0][near % MCPI_BANKS], b = at[1][far % MCPI_BANKS];
            if ((a == MCPI_MEMBERS || a == near) && (b == MCPI_MEMBERS || b == far)) {
                found = q;
                break;
            }
        }
        const uint16_t face = order[found];
        memmove(order + k + 1, order + k, (size_t)(found - k) * sizeof *order);
        order[k] = face;
        at[0][(ends[face] & 0xffff) % MCPI_BANKS] = ends[face] & 0xffff;
        at[1][(ends[face] >> 16) % MCPI_BANKS] = ends[face] >> 16;
    }
}

/* Writes the tile's entries, and finds its faces. A face between two of its nodes is made by the
 * first, and found again by the second. */
static void put_entries(growing_t *now)
{
    mcpi_tiles_t *t = now->t;
    const mcpi_part_t *part = now->part;
    const int32_t first = t->first[t->tiles];
    int32_t made[MCPI_TILE + 1] = {0}, parts = t->part_first[first];
    for (int32_t n = 0; n < now->nodes; n++) {
        const int64_t i = now->order[first + n];
        int32_t entry = t->entry[first + n];
        made[n + 1] = made[n];
        for (int64_t k = part->start[i]; k < part->start[i + 1]; k++, entry++) {
            const uint16_t near = now->local[part->column[k]];
            t->near[entry] = near;
            t->viscous[entry] = now->g->viscous[k];
            if (!mcpi_has_area(now->g->n + 3 * k))
                continue;
            int32_t face = near < n ? made[near] : made[n + 1]++;
            while (near < n && now->ends[face] >> 16 != (uint32_t)n)
                face++;
            if (near >= n) {
                now->ends[face] = (uint32_t)n | (uint32_t)near << 16;
                now->from[face] = k;
            }
            t->part[parts++] = (uint16_t)(face << 1 | (near < n));
        }
        t->entry[first + n + 1] = entry;
        t->part_first[first + n + 1] = parts;
    }
}

/* Writes the tile's faces, in their order. */
static void put_faces(growing_t *now)
{
    mcpi_tiles_t *t = now->t;
    const int32_t base = t->face_first[t->tiles], first = t->first[t->tiles];
    uint16_t order[MCPI_TILE_FACES], slot[MCPI_TILE_FACES] = {0};
    spread(now->ends, now->faces, order);
    for (int32_t k = 0; k < now->faces; k++) {
        slot[order[k]] = (uint16_t)k;
        t->ends[base + k] = now->ends[order[k]];
        memcpy(t->area + 3 * (int64_t)(base + k), now->g->n + 3 * now->from[order[k]],
               3 * sizeof(double));
    }
    for (int32_t k = t->part_first[first]; k < t->part_first[first + now->nodes]; k++)
        t->part[k] = (uint16_t)(slot[t->part[k] >> 1] << 1 | (t->part[k] & 1));
    t->face_first[t->tiles + 1] = base + now->faces;
}

/* Grows all tiles. Returns -1, or a row that has more neighbours than a tile has room for. */
static int64_t grow(growing_t *now, const uint32_t *curve)
{
    mcpi_tiles_t *t = now->t;
    for (int64_t p = 0; p < now->part->rows; p++) {
        if (now->own_of[curve[p]] >= 0)
            continue;
        now->nodes = now->members = now->entries = now->faces = 0;
        if (!has_room(now, curve[p]))
            return curve[p];
        for (int64_t i = curve[p]; i >= 0 && has_room(now, i); i = next_node(now))
            add_node(now, i);
        put_members(now);
        put_entries(now);
        put_faces(now);
        t->first[t->tiles + 1] = t->first[t->tiles] + now->nodes;
        t->tiles++;
    }
    return -1;
}

static void *filled(size_t n, size_t size, int byte)
{
    void *x = rt_alloc(n, size, RT_HOST);
    memset(x, byte, n * size);
    return x;
}

static void *moved(void *host, int64_t n, size_t size, rt_space_t space)
{
    void *there = rt_clone(host, (size_t)n, size, space);
    rt_free(host, RT_HOST);
    return there;
}

int64_t mcpi_tiles_new(const mcpi_part_t *part, const mcpi_geometry_t *g, uint32_t *order,
                       rt_space_t space, mcpi_tiles_t *tiles)
{
    const size_t rows = (size_t)part->rows, all = rows + (size_t)part->ghosts;
    const size_t entries = (size_t)part->start[rows];
    mcpi_tiles_t t = {.first = filled(rows + 1, sizeof *t.first, 0),
                      .member_first = filled(rows + 1, sizeof *t.member_first, 0),
                      .member = RT_NEW(uint32_t, rows + entries, RT_HOST),
                      .entry = filled(rows + 1, sizeof *t.entry, 0),
                      .near = RT_NEW(uint16_t, entries, RT_HOST),
                      .viscous = RT_NEW(double, entries, RT_HOST),
                      .face_first = filled(rows + 1, sizeof *t.face_first, 0),
                      .ends = RT_NEW(uint32_t, entries, RT_HOST),
                      .area = RT_NEW(double, 3 * entries, RT_HOST),
                      .part_first = filled(rows + 1, sizeof *t.part_first, 0),
                      .part = RT_NEW(uint16_t, entries, RT_HOST)};
    growing_t now = {.t = &t,
                     .part = part,
                     .g = g,
                     .order = RT_NEW(uint32_t, rows, RT_HOST),
                     .member_of = filled(all, sizeof *now.member_of, 0xff),
                     .own_of = filled(all, sizeof *now.own_of, 0xff),
                     .local = filled(all, sizeof *now.local, 0),
                     .scored = filled(rows, sizeof *now.scored, 0xff),
                     .fresh = filled(rows, sizeof *now.fresh, 0),
                     .settled = filled(rows, sizeof *now.settled, 0),
                     .place = RT_NEW(uint32_t, rows, RT_HOST)};
    for (size_t p = 0; p < rows; p++)
        now.place[order[p]] = (uint32_t)p;
    const int64_t without_room = grow(&now, order);
    if (without_room < 0)
        memcpy(order, now.order, rows * sizeof *order);
    RT_FREE_ALL(RT_HOST, now.order, now.member_of, now.own_of, now.local, now.scored, now.fresh,
                now.settled, now.place);
    if (without_room >= 0) {
        mcpi_tiles_destroy(&t, RT_HOST);
        return without_room;
    }
    const int64_t ends = t.tiles + 1, faces = t.face_first[t.tiles], n = part->rows + 1;
    const int64_t members = t.member_first[t.tiles], parts = t.part_first[rows];
    *tiles =
        (mcpi_tiles_t){.tiles = t.tiles,
                       .first = moved(t.first, ends, sizeof *t.first, space),
                       .member_first = moved(t.member_first, ends, sizeof *t.member_first, space),
                       .member = moved(t.member, members, sizeof *t.member, space),
                       .entry = moved(t.entry, n, sizeof *t.entry, space),
                       .near = moved(t.near, (int64_t)entries, sizeof *t.near, space),
                       .viscous = moved(t.viscous, (int64_t)entries, sizeof *t.viscous, space),
                       .face_first = moved(t.face_first, ends, sizeof *t.face_first, space),
                       .ends = moved(t.ends, faces, sizeof *t.ends, space),
                       .area = moved(t.area, 3 * faces, sizeof *t.area, space),
                       .part_first = moved(t.part_first, n, sizeof *t.part_first, space),
                       .part = moved(t.part, parts, sizeof *t.part, space)};
    return -1;
}

/* Members are at most rows and entries. */
double mcpi_tiles_memory(const mcpi_counts_t *c)
{
    const double of_row = 6 * sizeof(int32_t);
    const double of_entry = 2 * sizeof(uint32_t) + 2 * sizeof(uint16_t) + 4 * sizeof(double);
    return of_row * (double)c->local_rows + of_entry * (double)c->local_blocks;
}

void mcpi_tiles_destroy(mcpi_tiles_t *t, rt_space_t space)
{
    RT_FREE_ALL(space, t->first, t->member_first, t->member, t->entry, t->near, t->viscous,
                t->face_first, t->ends, t->area, t->part_first, t->part);
}
