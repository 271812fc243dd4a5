/*
 * test_near.c - the lists by which blocks of one kernel per rank go through colours together
 * (cuda/near.h), against their definition.
 *
 * One process makes the parts of several ranks and looks at all of them. On several ranks (mpi.sh) the
 * lists that take messages are compared with those found in this way.
 */
#include "config.h"
#include "graph_test.h"
#include "apps/fun3d-mcpi/mcpi.h"
#include "apps/fun3d-mcpi/cuda/near.h"

enum { RANKS = 3, MOST_BLOCKS = 7, LENGTH = 3 /* rows per chunk */, BLOCKS = 26 };

typedef struct {
    mcpi_part_t *part;
    mcpi_chunks_t chunks;
    mcpi_share_t *share;
    uint16_t *block;
    mcpi_home_t *home;
    mcpi_near_t near;
    int blocks;
} rank_t;

typedef struct {
    rank_t rank[RANKS];
    int32_t first[RANKS + 1];
    int colours;
} ranks_t;

/* --- lists --- */

static mcpi_chunks_t cut(const mcpi_part_t *part)
{
    mcpi_chunks_t k = mcpi_cut_rows(part, LENGTH, LENGTH * BLOCKS);
    for (int i = 0; i <= k.chunks; i++)
        k.offset[i] = (uint32_t)part->start[k.first_row[i]] + (uint32_t)i;
    return k;
}

/* Finds where ghosts are rows by looking at the other parts. */
static mcpi_home_t *look_for_homes(const ranks_t *p, const mcpi_part_t *part)
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

static void open_ranks(ranks_t *p, const mcpi_graph_t *graph, const int32_t *owner)
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
        k->block = RT_NEW(uint16_t, (size_t)k->part->rows, RT_HOST);
        rt_fill(k->block, RT_HOST, 0xff, (size_t)k->part->rows * sizeof *k->block);
        k->share = mcpi_shares_new(k->part, &k->chunks, k->blocks, k->block);
        p->first[r + 1] = p->first[r] + k->blocks;
    }
    for (int r = 0; r < RANKS; r++) {
        rank_t *k = &p->rank[r];
        k->home = look_for_homes(p, k->part);
        k->near = mcpi_near_new(k->part, k->block, k->home, RANKS, r, p->first);
    }
    RT_FREE_ALL(RT_HOST, o.start, o.row, colour);
}

static void close_ranks(ranks_t *p)
{
    for (int r = 0; r < RANKS; r++) {
        rank_t *k = &p->rank[r];
        RT_FREE_ALL(RT_HOST, k->chunks.first_row, k->chunks.colour, k->chunks.interior,
                    k->chunks.order, k->chunks.offset, k->share, k->block, k->home);
        RT_FREE_ALL(RT_HOST, k->near.start, k->near.far, k->near.near);
        mcpi_part_destroy(k->part);
    }
}

/* Checks a block's share of a colour: whose its rows are, and which come first. Returns its cost. */
static uint32_t check_share(const rank_t *k, int colours, int b, int c)
{
    const mcpi_share_t *share = &k->share[b * colours + c];
    uint32_t bad = 0, all = 0;
    for (int32_t n = 0; n < share->chunks; n++) {
        const bool boundary = n < share->boundaries;
        const int32_t at = boundary ? share->boundary + n : share->interior + n - share->boundaries,
                      chunk = k->chunks.order[at], *row = &k->chunks.first_row[chunk];
        bool awaited = false;
        all += k->chunks.offset[chunk + 1] - k->chunks.offset[chunk];
        for (int32_t i = row[0]; i < row[1]; i++) {
            bool needed = false; /* by another rank: the graph is symmetric */
            for (int64_t e = k->part->start[i]; e < k->part->start[i + 1]; e++) {
                needed |= k->part->column[e] >= k->part->rows;
                awaited |= needed || k->block[k->part->column[e]] != b;
            }
            bad += k->block[i] != b || needed != boundary;
        }
        bad += awaited != (n < share->awaited);
    }
    CHECK(bad == 0);
    return all;
}

/* Every chunk is of one block, which waits for those that update neighbours of its rows alone. */
static void check_lists(const ranks_t *p)
{
    enum { ALL = RANKS * MOST_BLOCKS };
    uint8_t near[ALL][ALL] = {{0}}, wanted[ALL][ALL] = {{0}};
    int64_t bad = 0;
    for (int r = 0; r < RANKS; r++) {
        const rank_t *k = &p->rank[r];
        for (int64_t i = 0; i < k->part->rows; i++)
            for (int64_t e = k->part->start[i]; e < k->part->start[i + 1]; e++) {
                const int64_t column = k->part->column[e], ghost = column - k->part->rows;
                const int mine = p->first[r] + k->block[i];
                const int other = ghost < 0 ? p->first[r] + k->block[column]
                                            : p->first[k->home[ghost].rank] + k->home[ghost].block;
                wanted[mine][other] = mine != other;
            }
        uint32_t all = 0, whole = k->chunks.offset[k->chunks.chunks];
        for (int b = 0; b < k->blocks; b++) {
            const uint32_t before = all;
            for (int c = 0; c < p->colours; c++)
                all += check_share(k, p->colours, b, c);
            bad += all - before > whole / k->blocks + p->colours * LENGTH * BLOCKS;
            for (int32_t i = k->near.start[b]; i < k->near.start[b + 1]; i++) {
                const int32_t other = k->near.near[i];
                near[p->first[r] + b][other]++;
                bad += (other < p->first[r] || other >= p->first[r + 1]) != (i >= k->near.far[b]);
            }
        }
        CHECK(all == whole);
    }
    CHECK(bad == 0 && memcmp(near, wanted, sizeof near) == 0);
}

/* --- messages --- */

/* With RANKS ranks: what is found by messages is what looking at all parts finds. */
static void check_messages(const ranks_t *p)
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
    RT_FREE_ALL(RT_HOST, sends.start, sends.to, home);
    mcpi_halo_destroy(halo, k->part->colours);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    mcpi_graph_t *graph = lattice(8, 60);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    ranks_t p;
    divide(graph, RANKS, owner);
    open_ranks(&p, graph, owner);
    if (rt_comm_size() == RANKS)
        check_messages(&p);
    check_lists(&p);
    close_ranks(&p);
    RT_FREE(owner, RT_HOST);
    mcpi_graph_destroy(graph);
    CHECK(rt_mem_used(RT_HOST) == 0);
    rt_comm_finish();
    return check_done();
}
