/*
 * patch_record.c - one patch: its elements and nodes, and the lists that its record holds.
 */
#include "config.h"
#include <string.h>
#include "patch_record.h"

enum {
    BANKS = ALYA_PATCH_BANKS, /* also the rows whose positions are read at once */
    NODE_BANKS = 8            /* also the elements whose nodes are read at once */
};

/* Returns the slot of this node, or the empty slot where it belongs. */
static inline uint32_t find(const alya_patch_t *p, uint32_t node)
{
    uint32_t s = (node * 2654435761u) >> (32 - ALYA_PATCH_SLOT_BITS);
    while (p->slot_stamp[s] == p->stamp && p->slot_node[s] != node)
        s = (s + 1) % ALYA_PATCH_SLOTS;
    return s;
}

static inline uint16_t place_of(alya_patch_t *p, uint32_t node)
{
    const uint32_t s = find(p, node);
    if (p->slot_stamp[s] != p->stamp) {
        p->slot_stamp[s] = p->stamp;
        p->slot_node[s] = node;
        p->slot_local[s] = (uint16_t)p->nodes;
        p->uses[p->nodes] = 0;
        p->node[p->nodes++] = node;
    }
    return p->slot_local[s];
}

/* Makes the patch that starts with element e. Nodes are numbered as they are met. */
void alya_patch_take(alya_patch_t *p, const alya_patch_shape_t *shape, const int32_t *connectivity,
                     int64_t e, int64_t end)
{
    const uint32_t most_nodes = (uint32_t)shape->nodes, most_elements = (uint32_t)shape->elements;
    p->stamp++;
    p->nodes = p->elements = 0;
    for (; e < end && p->elements < most_elements; e++, p->elements++) {
        const int32_t *c = connectivity + 4 * e;
        if (p->nodes + 4 > most_nodes) { /* near the limit: look before taking */
            uint32_t fresh = 0;
            for (int a = 0; a < 4; a++)
                fresh += p->slot_stamp[find(p, (uint32_t)c[a])] != p->stamp;
            if (p->nodes + fresh > most_nodes)
                break;
        }
        for (int a = 0; a < 4; a++) {
            const uint16_t at = place_of(p, (uint32_t)c[a]);
            p->uses[at]++;
            p->local[4 * p->elements + (uint32_t)a] = at;
        }
    }
}

/* Makes one pass of a stable sort of p->order by 8 bits of each node's number. */
static void sort_pass(alya_patch_t *p, int shift)
{
    uint32_t first[257] = {0};
    for (uint32_t n = 0; n < p->nodes; n++)
        first[(p->node[n] >> shift & 255) + 1]++;
    if (first[(p->node[0] >> shift & 255) + 1] == p->nodes)
        return; /* all the same: nothing would move */
    for (int d = 0; d < 256; d++)
        first[d + 1] += first[d];
    memcpy(p->spare_order, p->order, sizeof p->order[0] * p->nodes);
    for (uint32_t i = 0; i < p->nodes; i++) {
        const uint16_t n = p->spare_order[i];
        p->order[first[p->node[n] >> shift & 255]++] = n;
    }
}

/* Puts the nodes in ascending order, so that neighbours in memory are fetched together. */
static void sort_nodes(alya_patch_t *p)
{
    for (uint32_t n = 0; n < p->nodes; n++)
        p->order[n] = (uint16_t)n;
    for (int shift = 0; shift < 32; shift += 8)
        sort_pass(p, shift);
}

/* Fills p->position with the positions of each node: those of the i-th node of p->order are at
 * p->first[i] to p->first[i + 1] - 1. `most` elements are staged. */
static void list_positions(alya_patch_t *p, uint32_t most)
{
    uint16_t *next = p->spare_order; /* by node as met */
    uint32_t sum = 0;
    for (uint32_t i = 0; i < p->nodes; i++) {
        p->first[i] = next[p->order[i]] = (uint16_t)sum;
        sum += p->uses[p->order[i]];
    }
    p->first[p->nodes] = (uint16_t)sum;
    for (uint32_t k = 0; k < 4 * p->elements; k++)
        p->position[next[p->local[k]]++] = (uint16_t)(k % 4 * most + k / 4);
}

/* Gives each node its place. Each takes the bank in which the fewest of the reads it is part of
 * already have another node. Only the place modulo 8 matters, since 48 bytes are 3 reads of 16. */
static void place_nodes(alya_patch_t *p, uint32_t most)
{
    uint32_t next[NODE_BANKS];
    for (uint32_t b = 0; b < NODE_BANKS; b++)
        next[b] = b;
    memset(p->banks, 0, sizeof p->banks);
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t conflicts[NODE_BANKS] = {0}, best = NODE_BANKS;
        for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++) {
            const uint32_t e = p->position[k] % most, a = p->position[k] / most;
            const uint32_t taken = p->banks[e / NODE_BANKS * 4 + a];
            for (uint32_t b = 0; b < NODE_BANKS; b++)
                conflicts[b] += taken >> b & 1;
        }
        for (uint32_t b = 0; b < NODE_BANKS; b++)
            if (next[b] < p->nodes && (best == NODE_BANKS || conflicts[b] < conflicts[best] ||
                                       (conflicts[b] == conflicts[best] && next[b] < next[best])))
                best = b;
        for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++) {
            const uint32_t e = p->position[k] % most, a = p->position[k] / most;
            p->banks[e / NODE_BANKS * 4 + a] |= (uint8_t)(1u << best);
        }
        p->place[p->order[i]] = (uint16_t)next[best];
        next[best] += NODE_BANKS;
    }
}

static uint32_t rows_of(uint32_t uses)
{
    return (uses + ALYA_PATCH_ROW - 1) / ALYA_PATCH_ROW;
}

/* Returns the length of part j of a node's rows; the parts differ by at most one. */
static uint32_t row_part(uint32_t uses, uint32_t j)
{
    const uint32_t rows = rows_of(uses);
    return uses / rows + (j < uses % rows);
}

/* Counts the rows, and the length of each slice in pairs of positions. */
static void measure_rows(alya_patch_t *p, uint32_t count[ALYA_PATCH_ROW + 1])
{
    memset(count, 0, (ALYA_PATCH_ROW + 1) * sizeof *count);
    p->rows = 0;
    for (uint32_t n = 0; n < p->nodes; n++)
        for (uint32_t j = 0; j < rows_of(p->uses[n]); j++, p->rows++)
            count[row_part(p->uses[n], j)]++;
    p->slices = alya_patch_slices(p->rows);
    uint32_t length = ALYA_PATCH_ROW, before = 0; /* rows longer than this */
    p->start[0] = 0;
    for (uint32_t s = 0; s < p->slices; s++) {
        while (before + count[length] <= s * ALYA_PATCH_SLICE)
            before += count[length--];
        p->start[s + 1] = (uint16_t)(p->start[s] + (length + 1) / 2);
    }
}

static alya_patch_layout_t layout_of(const alya_patch_t *p, const alya_patch_shape_t *shape)
{
    return alya_patch_layout(p->nodes, p->elements, p->rows, (uint32_t)shape->id_bytes);
}

static uint32_t record_bytes(const alya_patch_t *p, const alya_patch_shape_t *shape)
{
    return layout_of(p, shape).list + ALYA_PATCH_PAIR_BYTES * p->start[p->slices];
}

uint32_t alya_patch_measure(alya_patch_t *p, const alya_patch_shape_t *shape)
{
    uint32_t lengths[ALYA_PATCH_ROW + 1];
    measure_rows(p, lengths);
    return record_bytes(p, shape);
}

/* Sorts the rows by falling length, and rows of equal length by node. */
static void sort_rows(alya_patch_t *p)
{
    uint32_t next[ALYA_PATCH_ROW + 1];
    measure_rows(p, next);
    uint32_t before = 0;
    for (int length = ALYA_PATCH_ROW; length >= 0; length--) {
        const uint32_t count = next[length];
        next[length] = before;
        before += count;
    }
    for (uint32_t i = 0; i < p->nodes; i++) {
        const uint32_t uses = p->uses[p->order[i]];
        uint32_t position = p->first[i];
        for (uint32_t j = 0; j < rows_of(uses); j++) {
            const uint32_t length = row_part(uses, j), row = next[length]++;
            p->row_place[row] = p->place[p->order[i]];
            p->row_first[row] = (uint16_t)position;
            p->row_length[row] = (uint16_t)length;
            position += length;
        }
    }
}

/* What neighbouring rows still have to give, step by step. */
typedef struct {
    uint16_t position[BANKS][ALYA_PATCH_ROW]; /* of each row, sorted by bank */
    uint8_t first[BANKS][BANKS + 1];          /* a row's first position in a bank; `taken` of
                                               * them are gone */
    uint8_t taken[BANKS][BANKS];
    uint32_t in[BANKS];                      /* banks in which the row has positions, one bit
                                              * each */
    int rows_left[BANKS], banks_left[BANKS]; /* positions */
    int owner[BANKS];                        /* of the bank in this step: a row, or -1 */
    int bank_order[BANKS];                   /* fullest first */
} step_t;

static void step_begin(step_t *s, const alya_patch_t *p, uint32_t row, uint32_t rows)
{
    memset(s, 0, sizeof *s);
    for (uint32_t l = 0; l < rows; l++) {
        const uint16_t *from = p->position + p->row_first[row + l];
        const uint32_t n = p->row_length[row + l];
        uint8_t next[BANKS] = {0};
        for (uint32_t k = 0; k < n; k++) {
            next[from[k] % BANKS]++;
            s->banks_left[from[k] % BANKS]++;
        }
        for (uint32_t b = 0; b < BANKS; b++) {
            s->first[l][b + 1] = (uint8_t)(s->first[l][b] + next[b]);
            s->in[l] |= next[b] ? 1u << b : 0;
            next[b] = s->first[l][b];
        }
        for (uint32_t k = 0; k < n; k++)
            s->position[l][next[from[k] % BANKS]++] = from[k];
        s->rows_left[l] = (int)n;
    }
}

/* Finds a bank for row l, moving other rows to another bank if necessary (an augmenting path). */
static bool step_match(step_t *s, int l, uint32_t *seen)
{
    for (int i = 0; i < BANKS; i++) {
        const int b = s->bank_order[i];
        if ((s->in[l] & ~*seen) >> b & 1) {
            *seen |= 1u << b;
            if (s->owner[b] < 0 || step_match(s, s->owner[b], seen)) {
                s->owner[b] = l;
                return true;
            }
        }
    }
    return false;
}

static uint16_t step_take(step_t *s, int l, int b)
{
    const int at = s->first[l][b] + s->taken[l][b]++;
    s->rows_left[l]--;
    s->banks_left[b]--;
    if (at + 1 == s->first[l][b + 1])
        s->in[l] &= ~(1u << b);
    return s->position[l][at];
}

/* Sorts the numbers 0 to BANKS - 1 by falling value. */
static void sort_falling(const int *value, int *order)
{
    for (int i = 0; i < BANKS; i++) {
        int j = i;
        for (; j > 0 && value[order[j - 1]] < value[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

/*
 * Writes the list of up to 16 neighbouring rows, from `row` on, in the given number of steps. In
 * each step, as many rows as possible get a bank of their own. The others wait, unless they must
 * give a position in every remaining step. Lanes without a position read a zero in a free bank.
 */
static void schedule_rows(const alya_patch_t *p, uint32_t row, uint32_t rows, int steps,
                          uint32_t most, uint16_t *list)
{
    step_t s;
    step_begin(&s, p, row, rows);
    for (int step = 0; step < steps; step++) {
        int row_order[BANKS], bank_of[BANKS];
        uint32_t used = 0;
        sort_falling(s.rows_left, row_order);
        sort_falling(s.banks_left, s.bank_order);
        for (int b = 0; b < BANKS; b++)
            s.owner[b] = bank_of[b] = -1;
        for (int i = 0; i < BANKS && s.rows_left[row_order[i]] > 0; i++) {
            uint32_t seen = 0;
            step_match(&s, row_order[i], &seen);
        }
        for (int b = 0; b < BANKS; b++)
            if (s.owner[b] >= 0) {
                bank_of[s.owner[b]] = b;
                used |= 1u << b;
            }
        const int idle = (int)__builtin_ctz(~used);
        for (int l = 0; l < BANKS; l++) {
            int b = bank_of[l];
            if (b < 0 && s.rows_left[l] == steps - step) /* it must, at any cost */
                for (b = 0; !(s.in[l] >> b & 1);)
                    b++;
            list[step / 2 * 2 * ALYA_PATCH_SLICE + 2 * l + step % 2] =
                b < 0 ? (uint16_t)(4 * (int)most + idle % BANKS) : step_take(&s, l, b);
        }
    }
}

uint32_t alya_patch_write(alya_patch_t *p, const alya_patch_shape_t *shape, const uint8_t *several,
                          uint32_t first, unsigned char *record)
{
    const uint32_t most = (uint32_t)shape->elements;
    sort_nodes(p);
    list_positions(p, most);
    place_nodes(p, most);
    sort_rows(p);
    const alya_patch_layout_t at = layout_of(p, shape);
    const alya_patch_head_t head = {p->nodes, p->elements, first, p->rows};
    uint32_t *node = (uint32_t *)(record + at.node);
    uint16_t *list = (uint16_t *)(record + at.list);

    memset(record, 0, at.list);
    memcpy(record, &head, sizeof head);
    memcpy(record + at.row, p->row_place, sizeof *p->row_place * p->rows);
    memcpy(record + at.start, p->start, sizeof *p->start * (p->slices + 1));
    for (uint32_t n = 0; n < p->nodes; n++) {
        const bool alone = !several[p->node[n]] && rows_of(p->uses[n]) == 1;
        node[p->place[n]] = p->node[n] | (alone ? ALYA_PATCH_ALONE : 0);
    }
    for (uint32_t k = 0; k < 4 * p->elements; k++) {
        const uint16_t i = p->place[p->local[k]];
        if (shape->id_bytes == 1)
            record[at.local + k] = (uint8_t)i;
        else
            ((uint16_t *)(record + at.local))[k] = i;
    }
    for (uint32_t row = 0; row < p->slices * ALYA_PATCH_SLICE; row += BANKS) {
        const uint32_t rows = row >= p->rows ? 0 : p->rows - row < BANKS ? p->rows - row : BANKS;
        const uint32_t slice = row / ALYA_PATCH_SLICE, lane = row % ALYA_PATCH_SLICE;
        schedule_rows(p, row, rows, 2 * (p->start[slice + 1] - p->start[slice]), most,
                      list + 2 * (ALYA_PATCH_SLICE * p->start[slice] + lane));
    }
    return record_bytes(p, shape);
}
