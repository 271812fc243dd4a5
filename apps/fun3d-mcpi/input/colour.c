/*
 * colour.c - few colours of equal size, such that no two neighbours have the same colour.
 *
 * Greedy: each row in turn gets the lowest colour that none of its neighbours has. Greedy runs
 * again in an order in which the rows of a colour follow each other (Culberson's iterated greedy).
 * That never needs more colours, and with the last colour first often fewer, because the rows that
 * were hardest to place now choose first. (Largest colour first is no better on meshes, and a
 * second such pass does nothing.) Rows of a colour are not neighbours, so all threads can work on
 * them at once, and the result is the same as with one thread.
 *
 * Few colours mean few barriers and messages per sweep. Greedy makes the first colours large and
 * the last ones tiny, which leaves a device idle. So rows then move to smaller colours: first one
 * by one, and when no more can move alone, together with the rows that block them. A component of
 * the graph of two colours (a Kempe chain) may always swap the two. The price is time, about as
 * much as making the graph takes.
 */
#include "config.h"
#include "input.h"
#include <inttypes.h>
#include <string.h>

enum { NONE = 255 };

/* --- greedy --- */

/* Returns the set of the neighbours' colours: bit c is set if a neighbour has colour c. */
static inline uint64_t taken(const mcpi_graph_t *graph, const uint8_t *colour, int64_t i)
{
    uint64_t set = 0;
    for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++) {
        uint8_t c = colour[graph->neighbour[k]];
        set |= (uint64_t)(c < MCPI_MAX_COLOURS) << (c % MCPI_MAX_COLOURS);
    }
    return set;
}

/* Returns the lowest colour that is not in the set; NONE if all are. */
static inline uint8_t lowest(uint64_t set)
{
    for (int c = 0; c < MCPI_MAX_COLOURS; c++)
        if ((set >> c & 1) == 0)
            return (uint8_t)c;
    return NONE;
}

/* name: what messages call each row; NULL: its number. */
static void greedy(const mcpi_graph_t *graph, const int32_t *name, uint8_t *colour)
{
    if (graph->rows > 0)
        memset(colour, NONE, (size_t)graph->rows);
    for (int64_t i = 0; i < graph->rows; i++) {
        colour[i] = lowest(taken(graph, colour, i));
        if (colour[i] == NONE)
            rt_refuse(RT_USAGE,
                      "row %" PRId64 " has neighbours of %d colours, and there are no more: the "
                      "matrix is too dense for sweeps by colour",
                      name ? name[i] : i, MCPI_MAX_COLOURS);
    }
}

/* --- iterated greedy --- */

/* Fills size[MCPI_MAX_COLOURS] and returns the number of colours. */
static int count_colours(const mcpi_graph_t *graph, const uint8_t *colour, int64_t *size)
{
    int colours = MCPI_MAX_COLOURS;
    memset(size, 0, MCPI_MAX_COLOURS * sizeof *size);
    for (int64_t i = 0; i < graph->rows; i++)
        size[colour[i]]++;
    while (colours > 0 && size[colours - 1] == 0)
        colours--;
    return colours;
}

/* Lists the rows by colour, the last colour first; the k-th colour's rows begin at first[k]. */
static void list_by_colour(const uint8_t *colour, int64_t rows, const int64_t *size, int colours,
                           int32_t *list, int64_t *first)
{
    int64_t next[MCPI_MAX_COLOURS];
    first[0] = 0;
    for (int k = 0; k < colours; k++) {
        next[colours - 1 - k] = first[k];
        first[k + 1] = first[k] + size[colours - 1 - k];
    }
    for (int64_t i = 0; i < rows; i++)
        list[next[colour[i]]++] = (int32_t)i;
}

static int iterate(const mcpi_graph_t *graph, int colours, uint8_t *colour, int32_t *list)
{
    int64_t size[MCPI_MAX_COLOURS], first[MCPI_MAX_COLOURS + 1];
    count_colours(graph, colour, size);
    list_by_colour(colour, graph->rows, size, colours, list, first);
    memset(colour, NONE, (size_t)graph->rows);
    for (int k = 0; k < colours; k++) {
#pragma omp parallel for schedule(static)
        for (int64_t j = first[k]; j < first[k + 1]; j++)
            colour[list[j]] = lowest(taken(graph, colour, list[j]));
    }
    return count_colours(graph, colour, size);
}

static int find_colours(const mcpi_graph_t *graph, const int32_t *name, uint8_t *colour,
                        int32_t *list)
{
    enum { PASSES = 6 };
    int64_t size[MCPI_MAX_COLOURS];
    greedy(graph, name, colour);
    int colours = count_colours(graph, colour, size);
    for (int pass = 0; pass < PASSES && colours > 2; pass++)
        colours = iterate(graph, colours, colour, list);
    return colours;
}

/* --- balance: single rows --- */

typedef struct {
    const mcpi_graph_t *graph;
    uint8_t *colour;
    int colours;
    int64_t size[MCPI_MAX_COLOURS];
    int32_t *queue; /* [rows] */
    uint8_t *seen;  /* [rows] */
} balance_t;

/* Half a per cent of the mean; at least one row. */
static int64_t tolerance(const balance_t *b)
{
    int64_t mean = b->graph->rows / b->colours;
    return mean / 200 > 1 ? mean / 200 : 1;
}

static int extreme(const balance_t *b, bool largest)
{
    int best = 0;
    for (int c = 1; c < b->colours; c++)
        if (largest ? b->size[c] > b->size[best] : b->size[c] < b->size[best])
            best = c;
    return best;
}

static bool is_balanced(const balance_t *b)
{
    return b->size[extreme(b, true)] - b->size[extreme(b, false)] <= tolerance(b);
}

/* Moves row i to the smallest colour that it may have, if that is smaller than its own. */
static bool move(balance_t *b, int64_t i)
{
    const int own = b->colour[i];
    int best = own;
    if (b->size[own] * b->colours <= b->graph->rows)
        return false; /* not above the mean */
    uint64_t set = taken(b->graph, b->colour, i);
    for (int c = 0; c < b->colours; c++)
        if ((set >> c & 1) == 0 && b->size[c] < b->size[best])
            best = c;
    if (b->size[own] - b->size[best] < 2)
        return false;
    b->size[own]--;
    b->size[best]++;
    b->colour[i] = (uint8_t)best;
    return true;
}

/* Tries every row in each round, but in 16 passes of every 16th row (by a hash), so that the rows
 * that move are from all over the graph, and ranges of it stay balanced too. */
static void move_rows(balance_t *b)
{
    enum { ROUNDS = 8, PASSES = 16 };
    for (int round = 0; round < ROUNDS && !is_balanced(b); round++) {
        int64_t moved = 0;
        for (uint64_t pass = 0; pass < PASSES && !is_balanced(b); pass++)
            for (int64_t i = 0; i < b->graph->rows; i++)
                if (rt_hash((uint64_t)i, (uint64_t)round) % PASSES == pass)
                    moved += move(b, i);
        if (moved <= b->graph->rows / 1000)
            return;
    }
}

/* --- balance: chains --- */

/* Puts the rows that are connected with row i through colours `large` and `small` into the queue.
 * Returns how many there are; *excess: how many more are `large` than `small`. */
static int64_t find_chain(balance_t *b, int64_t i, int large, int small, int64_t *excess)
{
    const mcpi_graph_t *graph = b->graph;
    int64_t tail = 0;
    *excess = 0;
    b->queue[tail++] = (int32_t)i;
    b->seen[i] = 1;
    for (int64_t at = 0; at < tail; at++) {
        const int32_t v = b->queue[at];
        const int other = b->colour[v] == large ? small : large;
        *excess += b->colour[v] == large ? 1 : -1;
        for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++) {
            const int32_t w = graph->neighbour[k];
            if (b->colour[w] == other && !b->seen[w]) {
                b->seen[w] = 1;
                b->queue[tail++] = w;
            }
        }
    }
    return tail;
}

/* Swaps the colours of chains until the two are about equal. Returns how many rows that moved. */
static int64_t swap_chains(balance_t *b, int large, int small)
{
    const int64_t before = b->size[large];
    memset(b->seen, 0, (size_t)b->graph->rows);
    for (int64_t i = 0; i < b->graph->rows && b->size[large] - b->size[small] > 1; i++) {
        int64_t excess;
        if (b->colour[i] != large || b->seen[i])
            continue;
        int64_t n = find_chain(b, i, large, small, &excess);
        if (excess <= 0 || 2 * excess > b->size[large] - b->size[small])
            continue;
        for (int64_t k = 0; k < n; k++) {
            uint8_t *c = &b->colour[b->queue[k]];
            *c = (uint8_t)(*c == large ? small : large);
        }
        b->size[large] -= excess;
        b->size[small] += excess;
    }
    return before - b->size[large];
}

/* Lists the colours, largest first. */
static void list_by_size(const balance_t *b, int *order)
{
    for (int c = 0; c < b->colours; c++) {
        int at = c;
        for (; at > 0 && b->size[order[at - 1]] < b->size[c]; at--)
            order[at] = order[at - 1];
        order[at] = c;
    }
}

/* Tries the largest colour with the smallest, the next smallest ..., then the next largest. Returns
 * whether rows moved. */
static bool swap_any(balance_t *b)
{
    int order[MCPI_MAX_COLOURS];
    list_by_size(b, order);
    for (int l = 0; l < b->colours; l++)
        for (int s = b->colours - 1; s > l; s--)
            if (b->size[order[l]] - b->size[order[s]] > 1 && swap_chains(b, order[l], order[s]) > 0)
                return true;
    return false;
}

static void balance(const mcpi_graph_t *graph, uint8_t *colour, int colours, int32_t *queue)
{
    enum { SWAPS = 200 };
    balance_t b = {.graph = graph, .colour = colour, .colours = colours, .queue = queue};
    count_colours(graph, colour, b.size);
    if (colours < 2)
        return;
    move_rows(&b);
    b.seen = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    for (int swap = 0; swap < SWAPS && !is_balanced(&b); swap++)
        if (!swap_any(&b))
            break;
    RT_FREE(b.seen, RT_HOST);
}

int mcpi_colour(const mcpi_graph_t *graph, uint8_t *colour)
{
    int32_t *list = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    int colours = find_colours(graph, NULL, colour, list);
    balance(graph, colour, colours, list);
    RT_FREE(list, RT_HOST);
    return colours;
}

double mcpi_colour_imbalance(const mcpi_graph_t *graph, const uint8_t *colour, int colours)
{
    int64_t size[MCPI_MAX_COLOURS], largest = 0;
    count_colours(graph, colour, size);
    for (int c = 0; c < colours; c++)
        largest = size[c] > largest ? size[c] : largest;
    return graph->rows > 0 ? (double)largest * colours / (double)graph->rows : 1;
}

/* --- each rank separately --- */

/* Returns the graph of the listed rows, which are one rank's. number: scratch, [rows of the
 * whole]. */
static mcpi_graph_t *own_graph(const mcpi_graph_t *graph, const int32_t *owner, const int32_t *list,
                               int64_t rows, int32_t *number)
{
    mcpi_graph_t *own = RT_NEW(mcpi_graph_t, 1, RT_HOST);
    int64_t next = 0, bound = 0;
    for (int64_t i = 0; i < rows; i++) {
        number[list[i]] = (int32_t)i;
        bound += graph->start[list[i] + 1] - graph->start[list[i]];
    }
    own->rows = rows;
    own->start = RT_NEW(int64_t, (size_t)rows + 1, RT_HOST);
    own->neighbour = RT_NEW(int32_t, (size_t)bound, RT_HOST);
    for (int64_t i = 0; i < rows; i++) {
        own->start[i] = next;
        for (int64_t k = graph->start[list[i]]; k < graph->start[list[i] + 1]; k++)
            if (owner[graph->neighbour[k]] == owner[list[i]])
                own->neighbour[next++] = number[graph->neighbour[k]];
    }
    own->start[rows] = next;
    return own;
}

/* Colours one rank's rows. With `colours` > 0 they have colours already, and are balanced among
 * that many. Returns the number of colours. */
static int colour_own(const mcpi_graph_t *graph, const int32_t *owner, int rank, int colours,
                      uint8_t *colour, int32_t *list, int32_t *number)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < graph->rows; i++)
        if (owner[i] == rank)
            list[rows++] = (int32_t)i;
    if (rows == 0)
        return 0;
    mcpi_graph_t *own = own_graph(graph, owner, list, rows, number);
    uint8_t *own_colour = RT_NEW(uint8_t, (size_t)rows, RT_HOST);
    int32_t *scratch = RT_NEW(int32_t, (size_t)rows, RT_HOST);
    if (colours > 0) {
        for (int64_t i = 0; i < rows; i++)
            own_colour[i] = colour[list[i]];
        balance(own, own_colour, colours, scratch);
    } else {
        colours = find_colours(own, list, own_colour, scratch);
    }
    for (int64_t i = 0; i < rows; i++)
        colour[list[i]] = own_colour[i];
    RT_FREE(own_colour, RT_HOST);
    RT_FREE(scratch, RT_HOST);
    mcpi_graph_destroy(own);
    return colours;
}

/* In two passes: only when all ranks' colours are counted is the number known among which each rank
 * has to balance. */
int mcpi_colour_local(const mcpi_graph_t *graph, const int32_t *owner, uint8_t *colour)
{
    int32_t *list = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    int32_t *number = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    int ranks = 0, colours = 0;
    for (int64_t i = 0; i < graph->rows; i++)
        ranks = owner[i] >= ranks ? owner[i] + 1 : ranks;
    for (int rank = 0; rank < ranks; rank++) {
        int needed = colour_own(graph, owner, rank, 0, colour, list, number);
        colours = needed > colours ? needed : colours;
    }
    for (int rank = 0; rank < ranks; rank++)
        colour_own(graph, owner, rank, colours, colour, list, number);
    RT_FREE(list, RT_HOST);
    RT_FREE(number, RT_HOST);
    return colours;
}
