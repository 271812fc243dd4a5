/*
 * near.c - the lists behind a kernel that goes through all colours (near.h).
 *
 * They follow from the rows of this rank and from one exchange: an owner says for each row which
 * block updates it, and each rank that has that row as a ghost says where its copy is.
 */
#include "config.h"
#include "near.h"
#include "../mcpi.h"
#include <stdlib.h>
#include <string.h>

/* --- chunks --- */

mcpi_chunks_t mcpi_cut_rows(const mcpi_part_t *part, int64_t rows, int64_t blocks)
{
    const size_t colours = (size_t)part->colours, most = (size_t)part->rows + 1;
    mcpi_chunks_t k = {.first_row = RT_NEW(int32_t, most, RT_HOST),
                       .colour = RT_NEW(int32_t, colours + 1, RT_HOST),
                       .interior = RT_NEW(int32_t, colours, RT_HOST),
                       .order = RT_NEW(int32_t, most, RT_HOST),
                       .offset = RT_NEW(uint32_t, most, RT_HOST)};
    for (int c = 0; c < part->colours; c++) {
        const int64_t ends[2] = {part->boundary_end[c], part->colour_start[c + 1]};
        int64_t row = part->colour_start[c];
        k.colour[c] = k.chunks;
        for (int half = 0; half < 2; half++) {
            k.interior[c] = k.chunks; /* the second time it stays */
            while (row < ends[half]) {
                int64_t next = row;
                while (next < ends[half] && next - row < rows &&
                       part->start[next + 1] - part->start[row] <= blocks)
                    next++;
                RT_EXPECT(next > row, RT_ENVIRONMENT,
                          "row %lld has %lld neighbours, and a record of the staged rung takes "
                          "%lld: use --rung six-rows",
                          (long long)row, (long long)(part->start[row + 1] - part->start[row]),
                          (long long)blocks);
                k.order[k.chunks] = k.chunks;
                k.first_row[k.chunks++] = (int32_t)row;
                row = next;
            }
        }
    }
    k.colour[part->colours] = k.chunks;
    k.first_row[k.chunks] = (int32_t)part->rows;
    return k;
}

/* --- which rows a block updates --- */

/* From this many chunks per block and colour on it pays to cut the curve once for all colours: few
 * rows are awaited, and blocks that are late in one colour are early in another. */
enum { MANY = 100 };

/* Fills block[rows] for the chunks first .. end - 1: a chunk goes to the block on whose piece of the
 * curve its middle is. Pieces cost the same. */
static void cut_curve(const mcpi_part_t *part, const mcpi_chunks_t *chunks, int32_t first,
                      int32_t end, uint64_t blocks, uint16_t *block)
{
    const size_t all = (size_t)(part->rows + part->ghosts) + 1;
    const int32_t *row = chunks->first_row;
    uint64_t *before = RT_NEW(uint64_t, all, RT_HOST);
    rt_fill(before, RT_HOST, 0, all * sizeof *before);
    for (int32_t k = first; k < end; k++)
        before[part->along[row[k]] + 1] = chunks->offset[k + 1] - chunks->offset[k];
    for (size_t i = 1; i < all; i++)
        before[i] += before[i - 1];
    for (int32_t k = first; k < end; k++) {
        const uint64_t *at = before + part->along[row[k]];
        for (int32_t i = row[k]; i < row[k + 1]; i++)
            block[i] = (uint16_t)((at[0] + at[1]) * blocks / (2 * before[all - 1]));
    }
    RT_FREE(before, RT_HOST);
}

/* Returns whether rows of a chunk have neighbours that another block updates. */
static bool is_awaited(const mcpi_part_t *part, const mcpi_chunks_t *chunks, const uint16_t *block,
                       int32_t chunk)
{
    const int32_t *row = chunks->first_row + chunk;
    for (int64_t k = part->start[row[0]]; k < part->start[row[1]]; k++)
        if (part->column[k] >= part->rows || block[part->column[k]] != block[row[0]])
            return true;
    return false;
}

mcpi_share_t *mcpi_shares_new(const mcpi_part_t *part, const mcpi_chunks_t *chunks, int blocks,
                              uint16_t *block)
{
    const int colours = part->colours;
    const int32_t *row = chunks->first_row;
    mcpi_share_t *share = RT_NEW(mcpi_share_t, (size_t)blocks * (size_t)colours, RT_HOST);
    const int together = chunks->chunks < MANY * blocks * colours ? 1 : colours;
    for (int c = 0; c < colours; c += together)
        cut_curve(part, chunks, chunks->colour[c], chunks->colour[c + together], (uint64_t)blocks,
                  block);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < colours; c++) {
        int32_t boundary = chunks->colour[c], interior = chunks->interior[c];
        for (int b = 0; b < blocks; b++) {
            mcpi_share_t *s = &share[b * colours + c];
            *s = (mcpi_share_t){.boundary = boundary, .interior = interior};
            while (boundary < chunks->interior[c] && block[row[boundary]] == b)
                boundary++;
            while (interior < chunks->colour[c + 1] && block[row[interior]] == b)
                interior++;
            s->boundaries = boundary - s->boundary;
            s->chunks = s->boundaries + interior - s->interior;
            int32_t at = s->interior, end = interior; /* the others are stored from the end */
            for (int32_t k = s->interior; k < interior; k++)
                chunks->order[is_awaited(part, chunks, block, k) ? at++ : --end] = k;
            s->awaited = s->boundaries + at - s->interior;
        }
    }
    return share;
}

/* --- ghosts --- */

/* Ghosts get their owner's rank, row and block as they get its dQ; doubles hold them exactly. */
mcpi_home_t *mcpi_homes_new(const mcpi_part_t *part, rt_halo_t *const *halo, const uint16_t *block)
{
    enum { PARTS = 3 };
    const size_t ghosts = (size_t)part->ghosts, all = (size_t)part->rows + ghosts;
    double *x = RT_NEW(double, all *PARTS, RT_HOST);
    mcpi_home_t *home = RT_NEW(mcpi_home_t, ghosts, RT_HOST);
    for (int64_t i = 0; i < part->rows; i++) {
        x[i * PARTS] = rt_comm_rank();
        x[i * PARTS + 1] = (double)i;
        x[i * PARTS + 2] = block[i];
    }
    mcpi_halo_copy(halo, part->colours, -1, PARTS, x);
    for (size_t g = 0; g < ghosts; g++) {
        const double *of = x + ((size_t)part->rows + g) * PARTS;
        home[g] = (mcpi_home_t){(int32_t)of[0], (int32_t)of[1], (int32_t)of[2]};
    }
    RT_FREE(x, RT_HOST);
    return home;
}

/* --- which blocks a block waits for --- */

/* Fills is_near[blocks][all]: what blocks of this rank have neighbours in what blocks of all. */
static void find_near(const mcpi_part_t *part, const uint16_t *block, const mcpi_home_t *home,
                      const int32_t *first, int32_t own, size_t all, uint8_t *is_near)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < part->rows; i++)
        for (int64_t k = part->start[i]; k < part->start[i + 1]; k++) {
            const int64_t column = part->column[k];
            const mcpi_home_t *far = column < part->rows ? NULL : &home[column - part->rows];
            uint8_t *at = is_near + block[i] * all +
                          (far ? first[far->rank] + far->block : own + block[column]);
#pragma omp atomic write
            *at = 1;
        }
}

mcpi_near_t mcpi_near_new(const mcpi_part_t *part, const uint16_t *block, const mcpi_home_t *home,
                          int ranks, int rank, const int32_t *first)
{
    const int32_t own = first[rank], end = first[rank + 1];
    const size_t blocks = (size_t)(end - own), all = (size_t)first[ranks];
    uint8_t *is_near = RT_NEW(uint8_t, blocks * all, RT_HOST);
    mcpi_near_t lists = {.start = RT_NEW(int32_t, blocks + 1, RT_HOST),
                         .far = RT_NEW(int32_t, blocks, RT_HOST),
                         .near = RT_NEW(int32_t, blocks * all, RT_HOST)};
    int32_t n = 0;
    memset(is_near, 0, blocks * all);
    find_near(part, block, home, first, own, all, is_near);
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *of = is_near + b * all;
        lists.start[b] = n;
        for (int32_t other = own; other < end; other++)
            if (of[other] && other != own + (int32_t)b)
                lists.near[n++] = other;
        lists.far[b] = n;
        for (int32_t other = 0; other < (int32_t)all; other++)
            if ((other < own || other >= end) && of[other])
                lists.near[n++] = other;
    }
    lists.start[blocks] = n;
    RT_FREE(is_near, RT_HOST);
    return lists;
}

/* --- where boundary rows go --- */

/* To an owner: its row, and the sender's local number of that row. */
typedef struct {
    int32_t row, ghost;
} wish_t;

/* Returns what all ranks wish of this one, by rank; count[ranks]: of each. */
static wish_t *tell_wishes(const mcpi_part_t *part, const mcpi_home_t *home, int64_t *count)
{
    const int ranks = rt_comm_size();
    int64_t *sent = RT_NEW(int64_t, (size_t)ranks, RT_HOST);
    wish_t *wish = RT_NEW(wish_t, (size_t)part->ghosts, RT_HOST);
    int64_t n = 0;
    for (int r = 0; r < ranks; r++) {
        const int64_t before = n;
        for (int64_t g = 0; g < part->ghosts; g++)
            if (home[g].rank == r)
                wish[n++] = (wish_t){home[g].row, (int32_t)(part->rows + g)};
        sent[r] = n - before;
    }
    wish_t *heard = rt_comm_exchange(wish, sent, sizeof *wish, count);
    RT_FREE_ALL(RT_HOST, wish, sent);
    return heard;
}

mcpi_sends_t mcpi_sends_new(const mcpi_part_t *part, const mcpi_home_t *home)
{
    const int ranks = rt_comm_size();
    const size_t rows = (size_t)part->rows;
    int64_t *count = RT_NEW(int64_t, (size_t)ranks, RT_HOST), all = 0, n = 0;
    wish_t *wish = tell_wishes(part, home, count);
    mcpi_sends_t sends = {.start = RT_NEW(int32_t, rows + 2, RT_HOST)};
    for (int r = 0; r < ranks; r++)
        all += count[r];
    sends.to = RT_NEW(mcpi_send_t, (size_t)all, RT_HOST);
    memset(sends.start, 0, (rows + 2) * sizeof *sends.start);
    for (int64_t k = 0; k < all; k++)
        sends.start[wish[k].row + 2]++;
    for (size_t i = 0; i < rows; i++)
        sends.start[i + 2] += sends.start[i + 1];
    for (int r = 0; r < ranks; r++) /* the start of row + 1 moves from that of row to its own */
        for (int64_t end = n + count[r]; n < end; n++)
            sends.to[sends.start[wish[n].row + 1]++] = (mcpi_send_t){r, wish[n].ghost};
    free(wish);
    RT_FREE(count, RT_HOST);
    return sends;
}
