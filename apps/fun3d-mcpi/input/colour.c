/*
 * colour.c - few colours of equal size, such that no two neighbours have the same colour, by all
 * ranks together: the same on any number of ranks and threads.
 *
 * First colours (Jones and Plassmann): each vertex gets the lowest colour that no neighbour of
 * higher priority has, once those have theirs. On the wing, vertices in even layers from the wall
 * come first, and then a hash of the number decides: chains of vertices that wait for each other
 * are short, and ranks exchange some 15 times. Without the layers, greedy at random needs one or
 * two colours more, and what follows does not save them. Vertices of a file come in the order of
 * their numbers, which on a regular mesh is much better than at random (8 colours of a lattice, not
 * 14); the price is a wave that runs through the mesh, with an exchange wherever it changes ranks,
 * some hundreds.
 *
 * Then greedy runs again in an order in which the vertices of a colour follow each other
 * (Culberson's iterated greedy), the last colour first. That never needs more colours, and often
 * fewer, because those that were hardest to place now choose first. Vertices of a colour are not
 * neighbours, so all ranks work on a colour at once, and exchange after it.
 *
 * Few colours mean few barriers and messages per sweep. Greedy makes the first colours large and
 * the last ones tiny, which leaves a device idle. So vertices then move to smaller colours: colour
 * by colour, each vertex to the smallest that it may have. A histogram of hashes, summed over the
 * ranks, tells all of them which vertices move, from all over the mesh, so that every range of it
 * stays balanced too. Two rounds bring a mesh to within half a per cent. Price: a graph of two
 * colours, where no vertex can move alone, stays as it is.
 */
#include "config.h"
#include "input.h"
#include <inttypes.h>
#include <string.h>
#include "base/sort.h"

enum { NONE = MCPI_MAX_COLOURS };
enum { PRIORITY_STREAM = 1, MOVE_STREAM = 2 };

typedef struct {
    const mcpi_graph_t *graph;
    const mcpi_piece_t *piece;
    uint16_t *colour; /* [vertices] */
    int colours;
    int64_t size[MCPI_MAX_COLOURS], all; /* vertices of each colour, and of all */
} state_t;

/* --- ranks --- */

static void update(const state_t *s)
{
    mcpi_piece_update(s->piece, RT_F16, 1, s->colour); /* 16 bits each: copied as they are */
}

/* Sets the sizes, and the number of colours of all ranks. */
static void count_colours(state_t *s)
{
    double most = 0;
    memset(s->size, 0, sizeof s->size);
    for (int64_t v = 0; v < s->piece->vertices; v++)
        if (s->piece->own[v])
            s->size[s->colour[v]]++;
    rt_comm_sum_i64(s->size, MCPI_MAX_COLOURS);
    for (int c = 0; c < MCPI_MAX_COLOURS; c++)
        most = s->size[c] > 0 ? c + 1 : most;
    rt_comm_max(&most, 1);
    s->colours = (int)most;
}

/* --- one vertex --- */

/* Returns the set of the neighbours' colours: bit c is set if a neighbour has colour c. */
static inline uint64_t taken(const state_t *s, int64_t v)
{
    uint64_t set = 0;
    for (int64_t k = s->graph->start[v]; k < s->graph->start[v + 1]; k++) {
        const uint16_t c = s->colour[s->graph->neighbour[k]];
        set |= (uint64_t)(c < MCPI_MAX_COLOURS) << (c % MCPI_MAX_COLOURS);
    }
    return set;
}

/* Returns the lowest colour that is not in the set; NONE if all are. */
static inline uint16_t lowest(uint64_t set)
{
    return set == UINT64_MAX ? NONE : (uint16_t)__builtin_ctzll(~set);
}

/* --- first colours --- */

static bool comes_before(const uint64_t *key, int64_t a, int64_t b)
{
    return key[a] != key[b] ? key[a] < key[b] : a < b;
}

/* Returns whether all neighbours of higher priority have their colours. */
static bool is_ready(const state_t *s, const uint64_t *key, int64_t v)
{
    for (int64_t k = s->graph->start[v]; k < s->graph->start[v + 1]; k++) {
        const int32_t w = s->graph->neighbour[k];
        if (s->colour[w] == NONE && comes_before(key, w, v))
            return false;
    }
    return true;
}

/* Returns the own vertices in the order of priority, and their number in *n; key: of all. */
static uint32_t *list_by_priority(const state_t *s, const uint8_t *odd, uint64_t *key, int64_t *n)
{
    const mcpi_piece_t *piece = s->piece;
    uint64_t *own = RT_NEW(uint64_t, (size_t)piece->vertices, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)piece->vertices, RT_HOST);
    *n = 0;
    for (int64_t v = 0; v < piece->vertices; v++) {
        const uint64_t hash = rt_hash((uint64_t)piece->number[v], PRIORITY_STREAM);
        key[v] = odd ? (uint64_t)odd[v] << 63 | hash >> 1 : 0;
        if (!piece->own[v])
            continue;
        own[*n] = key[v];
        list[(*n)++] = (uint32_t)v;
    }
    rt_sort(own, list, *n); /* stable: equal keys in ascending number */
    RT_FREE(own, RT_HOST);
    return list;
}

/* Colours in rounds; in each, the list is gone through once, so that only vertices which wait for a
 * ghost are left. */
static void colour_first(state_t *s, const uint8_t *odd)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)s->piece->vertices, RT_HOST);
    int64_t n, left = 1;
    uint32_t *list = list_by_priority(s, odd, key, &n);
    char why[160] = "";
    for (int64_t v = 0; v < s->piece->vertices; v++)
        s->colour[v] = NONE;
    while (left > 0) {
        int64_t waiting = 0;
        for (int64_t i = 0; i < n && !why[0]; i++) {
            const uint32_t v = list[i];
            if (!is_ready(s, key, v)) {
                list[waiting++] = v;
                continue;
            }
            s->colour[v] = lowest(taken(s, v));
            if (s->colour[v] == NONE)
                snprintf(why, sizeof why,
                         "row %" PRId64 " has neighbours of %d colours, and there are no more: the "
                         "matrix is too dense for sweeps by colour",
                         s->piece->number[v], MCPI_MAX_COLOURS);
        }
        if (rt_comm_agree(why, sizeof why) >= 0)
            rt_refuse(RT_USAGE, "%s", why);
        left = n = waiting;
        rt_comm_sum_i64(&left, 1);
        update(s);
    }
    RT_FREE_ALL(RT_HOST, key, list);
}

/* --- iterated greedy --- */

/* Lists own vertices by colour; the c-th colour's begin at first[c]. */
static void list_by_colour(const state_t *s, int32_t *list, int64_t *first)
{
    int64_t next[MCPI_MAX_COLOURS + 1] = {0};
    for (int64_t v = 0; v < s->piece->vertices; v++)
        if (s->piece->own[v])
            next[s->colour[v] + 1]++;
    first[0] = 0;
    for (int c = 0; c < MCPI_MAX_COLOURS; c++)
        first[c + 1] = next[c + 1] += next[c];
    for (int64_t v = 0; v < s->piece->vertices; v++)
        if (s->piece->own[v])
            list[next[s->colour[v]]++] = (int32_t)v;
}

static void iterate(state_t *s, int32_t *list)
{
    int64_t first[MCPI_MAX_COLOURS + 1];
    list_by_colour(s, list, first);
    for (int64_t v = 0; v < s->piece->vertices; v++)
        s->colour[v] = NONE;
    for (int c = s->colours - 1; c >= 0; c--) {
#pragma omp parallel for schedule(static)
        for (int64_t j = first[c]; j < first[c + 1]; j++)
            s->colour[list[j]] = lowest(taken(s, list[j]));
        update(s);
    }
    count_colours(s);
}

/* --- balance --- */

enum { BINS = 256 };
static uint64_t bin_of(const state_t *s, int64_t v, int round)
{
    return rt_hash((uint64_t)s->piece->number[v] + ((uint64_t)round << 48), MOVE_STREAM) % BINS;
}

/* Lists the colours, largest first. */
static void list_by_size(const state_t *s, uint32_t *order)
{
    uint64_t key[MCPI_MAX_COLOURS];
    for (int c = 0; c < s->colours; c++) {
        key[c] = (uint64_t)(s->all - s->size[c]);
        order[c] = (uint32_t)c;
    }
    rt_sort(key, order, s->colours);
}

/* Returns the smallest colour that v may have and that is smaller than its own; NONE if none is. */
static uint16_t smallest(const state_t *s, int64_t v)
{
    const uint64_t set = taken(s, v);
    int best = s->colour[v];
    for (int c = 0; c < s->colours; c++)
        if ((set >> c & 1) == 0 && s->size[c] < s->size[best])
            best = c;
    return s->size[s->colour[v]] - s->size[best] < 2 ? NONE : (uint16_t)best;
}

/* Decides how many of the wishes for each colour come true: cut[t] bins. Returns how many vertices
 * move, and corrects the sizes. */
static int64_t grant(state_t *s, uint32_t from, int64_t (*wish)[BINS], const uint32_t *order,
                     int *cut)
{
    const int64_t mean = s->all / s->colours;
    int64_t excess = s->size[from] - mean, moved = 0;
    for (int k = s->colours - 1; k >= 0; k--) {
        const uint32_t to = order[k];
        const int64_t half = (s->size[from] - s->size[to]) / 2, room = mean - s->size[to];
        int64_t quota = room > 0 && room < half ? room : half, count = 0;
        quota = quota > excess ? excess : quota;
        cut[to] = 0;
        while (cut[to] < BINS && count + wish[to][cut[to]] <= quota)
            count += wish[to][cut[to]++];
        s->size[to] += count;
        s->size[from] -= count;
        excess -= count;
        moved += count;
    }
    return moved;
}

/* Moves vertices of a colour that is above the mean. They are no neighbours, so the wishes do not
 * depend on each other. */
static int64_t shed(state_t *s, uint32_t from, const uint32_t *order, int round, uint16_t *wanted)
{
    int64_t(*wish)[BINS] = rt_alloc(MCPI_MAX_COLOURS, sizeof *wish, RT_HOST);
    int cut[MCPI_MAX_COLOURS];
    memset(wish, 0, MCPI_MAX_COLOURS * sizeof *wish);
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < s->piece->vertices; v++)
        wanted[v] = s->piece->own[v] && s->colour[v] == from ? smallest(s, v) : NONE;
    for (int64_t v = 0; v < s->piece->vertices; v++)
        if (wanted[v] != NONE)
            wish[wanted[v]][bin_of(s, v, round)]++;
    rt_comm_sum_i64(wish[0], s->colours * BINS);
    const int64_t moved = grant(s, from, wish, order, cut);
    for (int64_t v = 0; v < s->piece->vertices; v++)
        if (wanted[v] != NONE && bin_of(s, v, round) < (uint64_t)cut[wanted[v]])
            s->colour[v] = wanted[v];
    update(s);
    RT_FREE(wish, RT_HOST);
    return moved;
}

/* Balances to half a per cent of the mean, at least one vertex, or until nothing moves. */
static void balance(state_t *s)
{
    enum { ROUNDS = 16 };
    if (s->colours < 2)
        return;
    const int64_t mean = s->all / s->colours, tolerance = mean / 200 > 1 ? mean / 200 : 1;
    uint16_t *wanted = RT_NEW(uint16_t, (size_t)s->piece->vertices, RT_HOST);
    int64_t moved = 1;
    for (int round = 0; round < ROUNDS && moved > 0; round++) {
        uint32_t order[MCPI_MAX_COLOURS];
        list_by_size(s, order);
        if (s->size[order[0]] - s->size[order[s->colours - 1]] <= tolerance)
            break;
        moved = 0;
        for (int k = 0; k < s->colours; k++)
            if (s->size[order[k]] > mean)
                moved += shed(s, order[k], order, round, wanted);
    }
    RT_FREE(wanted, RT_HOST);
}

/* --- all of it --- */

int mcpi_colour(const mcpi_graph_t *graph, const mcpi_piece_t *piece, const uint8_t *odd,
                uint16_t *colour)
{
    enum { PASSES = 6 };
    state_t s = {.graph = graph, .piece = piece, .colour = colour, .all = piece->owned};
    int32_t *list = RT_NEW(int32_t, (size_t)piece->owned, RT_HOST);
    rt_comm_sum_i64(&s.all, 1);
    colour_first(&s, odd);
    count_colours(&s);
    for (int pass = 0; pass < PASSES && s.colours > 2; pass++)
        iterate(&s, list);
    RT_FREE(list, RT_HOST);
    balance(&s);
    return s.colours;
}
