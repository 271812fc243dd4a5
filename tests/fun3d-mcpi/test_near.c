/*
 * test_near.c - the lists by which blocks of one kernel per rank go through colours together, and
 * the protocol that uses them (cuda/staged_steps.cuh), played through on the CPU.
 *
 * One process makes the parts of several ranks and plays their blocks in random order, each as far
 * as its flags let it. Every row counts its updates, so a read that is too early or too late shows.
 * On several ranks (mpi.sh) the lists that take messages are compared with those found by looking
 * at all parts.
 */
#include "config.h"
#include "graph_test.h"
#include "apps/fun3d-mcpi/mcpi.h"
#include "apps/fun3d-mcpi/cuda/near.h"

enum {
    RANKS = 3,
    MOST_BLOCKS = 7,
    LENGTH = 3 /* rows per chunk */,
    BLOCKS = 26,
    SWEEPS = 3,
    LAUNCHES = 3
};

/* A rank of the play, and one of its blocks. */
typedef struct {
    int step, place, launch; /* step: of all launches; place: next chunk of the step's share */
    bool waits;              /* for the step's flags */
} player_t;
typedef struct {
    mcpi_part_t *part;
    mcpi_chunks_t chunks;
    mcpi_share_t *share;
    uint16_t *block;
    mcpi_home_t *home;
    mcpi_near_t near;
    mcpi_sends_t sends;
    int blocks, ended_blocks;
    int *updates; /* [rows + ghosts] */
    int flag[RANKS * MOST_BLOCKS];
    player_t player[MOST_BLOCKS];
} rank_t;

/* What is left out, to show that the play notices. */
typedef enum { NOTHING, NEAR, FAR, BEGIN, ARRIVAL, FAULTS } omitted_t;

typedef struct {
    rank_t rank[RANKS];
    int32_t first[RANKS + 1];
    int colours;
    omitted_t omitted;
    int64_t wrong;
} play_t;

/* --- lists --- */

static mcpi_chunks_t cut(const mcpi_part_t *part)
{
    mcpi_chunks_t k = mcpi_cut_rows(part, LENGTH, LENGTH * BLOCKS);
    for (int i = 0; i <= k.chunks; i++)
        k.offset[i] = (uint32_t)part->start[k.first_row[i]] + (uint32_t)i;
    return k;
}

/* Finds where ghosts are rows by looking at the other parts. */
static mcpi_home_t *look_for_homes(const play_t *p, const mcpi_part_t *part)
{
    mcpi_home_t *home = RT_NEW(mcpi_home_t, (size_t)part->ghosts, RT_HOST);
    for (int64_t g = 0; g < part->ghosts; g++)
        for (int r = 0; r < RANKS; r++)
            for (int64_t i = 0; i < p->rank[r].part->rows; i++)
                if (p->rank[r].part->global[i] == part->global[part->rows + g])
                    home[g] = (mcpi_home_t){r, (int32_t)i, p->rank[r].block[i]};
    return home;
}

/* Numbers the rows of a whole graph, here alone: by colour, by rank, by vertex. */
static mcpi_order_t whole_order(const mcpi_graph_t *graph, const int32_t *owner,
                                const uint16_t *colour, int colours)
{
    mcpi_order_t o = {.colours = colours,
                      .colour = colour,
                      .start = RT_NEW(int64_t, (size_t)colours + 1, RT_HOST),
                      .row = RT_NEW(int64_t, (size_t)graph->rows, RT_HOST)};
    int64_t row = 0;
    for (int c = 0; c < colours; c++) {
        o.start[c] = row;
        for (int r = 0; r < RANKS; r++)
            for (int64_t v = 0; v < graph->rows; v++)
                if (colour[v] == c && owner[v] == r)
                    o.row[v] = row++;
    }
    o.start[colours] = row;
    return o;
}

static void open_play(play_t *p, const mcpi_graph_t *graph, const int32_t *owner)
{
    uint16_t *colour = RT_NEW(uint16_t, (size_t)graph->rows, RT_HOST);
    p->colours = colour_whole(graph, NULL, colour);
    mcpi_order_t o = whole_order(graph, owner, colour, p->colours);
    p->first[0] = 0;
    for (int r = 0; r < RANKS; r++) {
        rank_t *k = &p->rank[r];
        k->part = part_of(graph, &o, owner, r);
        k->blocks = MOST_BLOCKS - 2 * r;
        k->chunks = cut(k->part);
        k->share = mcpi_shares_new(k->part, &k->chunks, k->blocks);
        k->block = RT_NEW(uint16_t, (size_t)k->part->rows, RT_HOST);
        if (k->block)
            memset(k->block, 0xff, (size_t)k->part->rows * sizeof *k->block);
        mcpi_blocks_of_rows(k->part, &k->chunks, k->share, k->blocks, k->block);
        p->first[r + 1] = p->first[r] + k->blocks;
    }
    for (int r = 0; r < RANKS; r++) {
        rank_t *k = &p->rank[r];
        k->home = look_for_homes(p, k->part);
        k->near = mcpi_near_new(k->part, k->block, k->home, RANKS, r, p->first);
        k->updates = RT_NEW(int, (size_t)(k->part->rows + k->part->ghosts), RT_HOST);
    }
    RT_FREE(o.start, RT_HOST);
    RT_FREE(o.row, RT_HOST);
    RT_FREE(colour, RT_HOST);
}

static void close_play(play_t *p)
{
    for (int r = 0; r < RANKS; r++) {
        rank_t *k = &p->rank[r];
        RT_FREE(k->chunks.first_row, RT_HOST);
        RT_FREE(k->chunks.colour, RT_HOST);
        RT_FREE(k->chunks.interior, RT_HOST);
        RT_FREE(k->chunks.offset, RT_HOST);
        RT_FREE(k->share, RT_HOST);
        RT_FREE(k->block, RT_HOST);
        RT_FREE(k->home, RT_HOST);
        RT_FREE(k->updates, RT_HOST);
        mcpi_near_destroy(&k->near);
        mcpi_part_destroy(k->part);
    }
}

/* Every row belongs to one block; no block costs much more than its share; nearness is mutual. */
static void check_lists(const play_t *p)
{
    enum { ALL = RANKS * MOST_BLOCKS };
    uint8_t is_near[ALL][ALL] = {{0}};
    int64_t bad = 0;
    for (int r = 0; r < RANKS; r++) {
        const rank_t *k = &p->rank[r];
        for (int64_t i = 0; i < k->part->rows; i++)
            bad += k->block[i] >= k->blocks;
        for (int b = 0; b < k->blocks; b++) {
            for (int c = 0; c < p->colours; c++) {
                const int32_t n = k->chunks.colour[c + 1] - k->chunks.colour[c];
                bad += k->share[b * p->colours + c].chunks > n / k->blocks + 2;
            }
            for (int32_t i = k->near.start[b]; i < k->near.start[b + 1]; i++) {
                const int32_t other = k->near.near[i];
                is_near[p->first[r] + b][other] = 1;
                bad += (other < p->first[r] || other >= p->first[r + 1]) != (i >= k->near.far[b]);
            }
        }
    }
    for (int a = 0; a < ALL; a++)
        for (int b = 0; b < ALL; b++)
            bad += is_near[a][b] != is_near[b][a] || (a == b && is_near[a][b]);
    CHECK(bad == 0);
}

/* --- the play --- */

static int colour_of(const mcpi_part_t *part, int64_t i)
{
    const int64_t *start = i < part->rows ? part->colour_start : part->ghost_start;
    int c = 0;
    while (i >= start[c + 1])
        c++;
    return c;
}

/* Updates a row in this step of its launch, and its ghosts. */
static void update(play_t *p, int r, int64_t row, int step)
{
    rank_t *k = &p->rank[r];
    const int c = step % p->colours, sweep = step / p->colours;
    for (int64_t i = k->part->start[row]; i < k->part->start[row + 1]; i++) {
        const int32_t column = k->part->column[i];
        p->wrong += k->updates[column] != sweep + (colour_of(k->part, column) < c);
    }
    p->wrong += k->updates[row]++ != sweep;
    for (int other = 0; other < RANKS; other++)
        for (int64_t g = 0; g < p->rank[other].part->ghosts; g++)
            if (p->rank[other].home[g].rank == r && p->rank[other].home[g].row == row)
                p->rank[other].updates[p->rank[other].part->rows + g] = sweep + 1;
}

static void raise_flags(play_t *p, int r, int b, int number)
{
    const mcpi_near_t *near = &p->rank[r].near;
    for (int32_t i = near->far[b]; i < near->start[b + 1]; i++)
        for (int other = 0; other < RANKS; other++)
            if (near->near[i] >= p->first[other] && near->near[i] < p->first[other + 1])
                p->rank[other].flag[p->first[r] + b] = number;
}

static bool may_go_on(const play_t *p, int r, int b, int number, bool only_far)
{
    const rank_t *k = &p->rank[r];
    for (int32_t i = only_far ? k->near.far[b] : k->near.start[b]; i < k->near.start[b + 1]; i++) {
        const omitted_t which = i >= k->near.far[b] ? FAR : NEAR;
        if (p->omitted != which && k->flag[k->near.near[i]] < number)
            return false;
    }
    return true;
}

/* The last block of a launch: the host looks at the ghosts, and begins the next launch at once. */
static void end_launch(play_t *p, int r)
{
    rank_t *k = &p->rank[r];
    if (++k->ended_blocks < k->blocks)
        return;
    for (int64_t i = 0; i < k->part->rows + k->part->ghosts; i++)
        p->wrong += k->updates[i] != SWEEPS;
    k->ended_blocks = 0;
    memset(k->updates, 0, (size_t)(k->part->rows + k->part->ghosts) * sizeof(int));
    for (int b = 0; b < k->blocks; b++)
        k->player[b] = (player_t){.step = -1, .launch = k->player[b].launch + 1, .waits = true};
}

/* Does the next thing that block b of rank r can do; returns false if it has to wait. Numbers are
 * those of staged_sweeps. */
static bool play(play_t *p, int r, int b)
{
    rank_t *k = &p->rank[r];
    player_t *at = &k->player[b];
    const int steps = SWEEPS * p->colours, begin = 1 + at->launch * (steps + 1);
    const mcpi_share_t *share =
        &k->share[b * p->colours + (at->step < 0 ? 0 : at->step % p->colours)];
    if (at->launch == LAUNCHES || (at->step == steps && !at->waits))
        return false;
    if (at->step < 0) { /* begins */
        raise_flags(p, r, b, begin);
        at->step = 0;
        return true;
    }
    if (at->waits) {
        const bool skip =
            (at->step == 0 && p->omitted == BEGIN) || (at->step == steps && p->omitted == ARRIVAL);
        const bool only_far = at->step == 0 || at->step == steps;
        if (!skip && !may_go_on(p, r, b, begin + at->step, only_far))
            return false;
        at->waits = false;
        at->place = 0;
        if (at->step == steps)
            end_launch(p, r);
        else if (share->boundaries == 0)
            raise_flags(p, r, b, begin + at->step + 1);
        return true;
    }
    if (at->place < share->chunks) {
        const int chunk = at->place < share->boundaries
                              ? share->boundary + at->place
                              : share->interior + at->place - share->boundaries;
        for (int32_t i = k->chunks.first_row[chunk]; i < k->chunks.first_row[chunk + 1]; i++)
            update(p, r, i, at->step);
        if (++at->place == share->boundaries)
            raise_flags(p, r, b, begin + at->step + 1);
        return true;
    }
    at->step++;
    at->waits = true;
    if (at->step < steps)
        k->flag[p->first[r] + b] = begin + at->step;
    return true;
}

/* Plays all launches. In each round a block, drawn at random, goes on for some while, so that
 * blocks and ranks run ahead of each other as far as they may. */
static void check_play(play_t *p, omitted_t omitted, uint64_t seed)
{
    enum { ROUNDS = 200000 };
    uint64_t drawn = 0;
    int left = 1;
    p->omitted = omitted;
    p->wrong = 0;
    for (int r = 0; r < RANKS; r++) {
        rank_t *k = &p->rank[r];
        k->ended_blocks = 0;
        memset(k->flag, 0, sizeof k->flag);
        memset(k->updates, 0, (size_t)(k->part->rows + k->part->ghosts) * sizeof(int));
        for (int b = 0; b < k->blocks; b++)
            k->player[b] = (player_t){.step = -1, .waits = true};
    }
    for (int round = 0; round < ROUNDS && left > 0; round++) {
        const uint64_t h = rt_hash(drawn++, seed);
        const int r = (int)(h % RANKS), b = (int)(h / RANKS % (uint64_t)p->rank[r].blocks);
        for (int far = (int)(h >> 32 & 63); far >= 0 && play(p, r, b); far--)
            ;
        left = 0;
        for (int k = 0; k < RANKS; k++)
            left += p->rank[k].player[0].launch < LAUNCHES;
    }
    CHECK(left == 0); /* else some block waits for ever */
    CHECK((p->wrong == 0) == (omitted == NOTHING));
}

/* --- messages --- */

/* With RANKS ranks: what is found by messages is what looking at all parts finds. */
static void check_messages(const play_t *p)
{
    const rank_t *k = &p->rank[rt_comm_rank()];
    rt_halo_t **halo = mcpi_halo_new(k->part, MCPI_MIN_NB, "auto", RT_CPU, RT_HOST);
    mcpi_home_t *home = mcpi_homes_new(k->part, halo, k->block);
    CHECK(same(home, k->home, k->part->ghosts, sizeof *home));
    mcpi_sends_t sends = mcpi_sends_new(k->part, home);
    int64_t bad = 0, expected = 0;
    for (int64_t i = 0; i < k->part->rows; i++)
        for (int32_t s = sends.start[i]; s < sends.start[i + 1]; s++)
            bad +=
                p->rank[sends.to[s].rank].part->global[sends.to[s].ghost] != k->part->global[i] ||
                sends.to[s].rank == rt_comm_rank();
    for (int r = 0; r < RANKS; r++)
        for (int64_t g = 0; g < p->rank[r].part->ghosts; g++)
            expected += p->rank[r].home[g].rank == rt_comm_rank();
    CHECK(bad == 0 && sends.start[k->part->rows] == expected);
    mcpi_sends_destroy(&sends);
    RT_FREE(home, RT_HOST);
    mcpi_halo_destroy(halo, k->part->colours);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    mcpi_graph_t *graph = lattice(8, 60);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    static play_t p;
    divide(graph, RANKS, owner);
    open_play(&p, graph, owner);
    if (rt_comm_size() == RANKS)
        check_messages(&p);
    check_lists(&p);
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int omitted = NOTHING; omitted < FAULTS; omitted++)
            if (rt_comm_size() == 1)
                check_play(&p, (omitted_t)omitted, seed);
    close_play(&p);
    RT_FREE(owner, RT_HOST);
    mcpi_graph_destroy(graph);
    CHECK(rt_mem_used(RT_HOST) == 0);
    rt_comm_finish();
    return check_done();
}
