/*
 * patches.c - cuts a mesh into patches.
 *
 * Elements are taken in the mesh's order until a limit is reached, so any order works, and a bad
 * one only gives small patches. The mesh is first divided into pieces of a fixed size, each for one
 * thread: so the patches do not depend on the threads, at the price of one patch in many hundreds
 * that is not full. Two passes over the pieces: the first counts bytes and marks what nodes several
 * patches have, the second writes. The cut is made twice, which is faster than to keep it.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "patches.h"

/* Slots of the hash table that gives a node its place in the patch: a quarter full at most. */
enum { PIECE = 1 << 17, SLOT_BITS = 12, SLOTS = 1 << SLOT_BITS };
enum {
    MOST_ROWS = ALYA_PATCH_MOST_NODES + 4 * ALYA_PATCH_MOST_ELEMENTS / ALYA_PATCH_ROW,
    MOST_SLICES = MOST_ROWS / ALYA_PATCH_SLICE,
    BANKS = ALYA_PATCH_BANKS, /* and rows whose positions are read at once */
    NODE_BANKS = 8,           /* and elements whose nodes are */
    PAIR_BYTES = 2 * sizeof(uint16_t) * ALYA_PATCH_SLICE /* of two positions of each row */
};

/* Elements of a mesh that set-up leaves in any order. */
enum { SMALL = 1 << 11 };

/* A patch as it is made; one a thread. */
typedef struct {
    uint32_t stamp; /* a slot of another stamp is empty: saves clearing the table */
    uint32_t slot_stamp[SLOTS];
    uint32_t slot_node[SLOTS];
    uint16_t slot_local[SLOTS];
    uint32_t nodes, elements;
    uint32_t node[ALYA_PATCH_MOST_NODES];
    uint16_t uses[ALYA_PATCH_MOST_NODES], order[ALYA_PATCH_MOST_NODES];
    uint16_t spare_order[ALYA_PATCH_MOST_NODES], place[ALYA_PATCH_MOST_NODES];
    uint16_t local[4 * ALYA_PATCH_MOST_ELEMENTS];
    uint32_t rows, slices;
    uint16_t row_place[MOST_ROWS], row_length[MOST_ROWS], row_first[MOST_ROWS];
    uint16_t start[MOST_SLICES + 1];
    uint16_t position[4 * ALYA_PATCH_MOST_ELEMENTS]; /* node by node: of node i from first[i] on */
    uint16_t first[ALYA_PATCH_MOST_NODES + 1];
    uint8_t banks[ALYA_PATCH_MOST_ELEMENTS / 2 + 4]; /* taken, of the nodes read at once */
} patch_t;

/* The slot that has this node, or the empty one where it belongs. */
static inline uint32_t find(const patch_t *p, uint32_t node)
{
    uint32_t s = (node * 2654435761u) >> (32 - SLOT_BITS);
    while (p->slot_stamp[s] == p->stamp && p->slot_node[s] != node)
        s = (s + 1) % SLOTS;
    return s;
}

static inline uint16_t place_of(patch_t *p, uint32_t node)
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

/* Makes the patch that starts with element e. Nodes come in the order in which they are met. */
static void take(patch_t *p, const alya_patch_shape_t *shape, const int32_t *connectivity,
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

/* One pass of a stable sort of p->order by 8 bits of each node's number. */
static void sort_pass(patch_t *p, int shift)
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

/* Puts the nodes in ascending order: neighbours in memory are fetched together. */
static void sort_nodes(patch_t *p)
{
    for (uint32_t n = 0; n < p->nodes; n++)
        p->order[n] = (uint16_t)n;
    for (int shift = 0; shift < 32; shift += 8)
        sort_pass(p, shift);
}

/* Fills p->position with the positions that each node has, of the i-th node of p->order from
 * p->first[i] to p->first[i + 1]; `most` elements are staged. */
static void list_positions(patch_t *p, uint32_t most)
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

/* Gives each node its place, by the bank that fewest of the reads it is part of have another node
 * in: place modulo 8 decides on it, since 48 bytes are 3 reads of 16. */
static void place_nodes(patch_t *p, uint32_t most)
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

/* Length of part j of the rows of a node: they differ by one at most. */
static uint32_t row_part(uint32_t uses, uint32_t j)
{
    const uint32_t rows = rows_of(uses);
    return uses / rows + (j < uses % rows);
}

/* How many rows there are, and how long each slice is, in pairs of positions. */
static void measure_rows(patch_t *p, uint32_t count[ALYA_PATCH_ROW + 1])
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

static alya_patch_layout_t layout_of(const patch_t *p, const alya_patch_shape_t *shape)
{
    return alya_patch_layout(p->nodes, p->elements, p->rows, (uint32_t)shape->id_bytes);
}

static uint32_t record_bytes(const patch_t *p, const alya_patch_shape_t *shape)
{
    return layout_of(p, shape).list + PAIR_BYTES * p->start[p->slices];
}

/* The rows, longest first, and in the order of the nodes where they are as long. */
static void sort_rows(patch_t *p)
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

/* What rows next to each other have left to give, as step follows step. */
typedef struct {
    uint16_t position[BANKS][ALYA_PATCH_ROW]; /* of each row, sorted by bank */
    uint8_t first[BANKS][BANKS + 1];          /* row's positions in a bank, while `taken` fewer */
    uint8_t taken[BANKS][BANKS];
    uint32_t in[BANKS];                      /* banks that the row has positions in, one bit each */
    int rows_left[BANKS], banks_left[BANKS]; /* positions */
    int owner[BANKS];                        /* of the bank in this step: row, or -1 */
    int bank_order[BANKS];                   /* fullest first */
} step_t;

static void step_begin(step_t *s, const patch_t *p, uint32_t row, uint32_t rows)
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

/* Finds row l a bank, and other rows another one if need be (an augmenting path). */
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

/* Numbers 0 .. BANKS - 1 by falling value. */
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
 * The list of up to 16 rows next to each other, from `row` on, in so many steps. In each, as many
 * rows as can be get banks of their own; the others wait, unless they must give a position in each
 * step that is left. Lanes without one read a zero in a bank that is free.
 */
static void schedule_rows(const patch_t *p, uint32_t row, uint32_t rows, int steps, uint32_t most,
                          uint16_t *list)
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
            if (b < 0 && s.rows_left[l] == steps - step) /* must, whatever it costs */
                for (b = 0; !(s.in[l] >> b & 1);)
                    b++;
            list[step / 2 * 2 * ALYA_PATCH_SLICE + 2 * l + step % 2] =
                b < 0 ? (uint16_t)(4 * (int)most + idle % BANKS) : step_take(&s, l, b);
        }
    }
}

/* several[n] != 0: more than one patch has node n. */
static void write_record(patch_t *p, const alya_patch_shape_t *shape, const uint8_t *several,
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
}

/* What the first pass finds out about a piece. */
typedef struct {
    int64_t patches, patch_nodes, units;
} piece_t;

/* First pass. touched[n], if not NULL: bit 0, a patch has node n; bit 1, another one has it too. */
static piece_t count_piece(patch_t *p, const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                           int64_t e, uint8_t *touched)
{
    const int64_t end = e + PIECE < mesh->elements ? e + PIECE : mesh->elements;
    piece_t count = {0, 0, 0};
    uint32_t lengths[ALYA_PATCH_ROW + 1];
    while (e < end) {
        take(p, shape, mesh->connectivity, e, end);
        e += p->elements;
        count.patches++;
        count.patch_nodes += p->nodes;
        measure_rows(p, lengths);
        count.units += record_bytes(p, shape) / ALYA_PATCH_UNIT;
        for (uint32_t n = 0; touched && n < p->nodes; n++) {
            uint8_t *mine = touched + p->node[n], before;
#pragma omp atomic capture
            {
                before = *mine;
                *mine |= 1;
            }
            if (before == 1) { /* who comes third need not say it again */
#pragma omp atomic
                *mine |= 2;
            }
        }
    }
    return count;
}

static size_t pieces_of(int64_t elements)
{
    return (size_t)(elements + PIECE - 1) / PIECE;
}

/* Counts of all pieces, and each piece's sum over those before it. */
static piece_t count_pieces(const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                            uint8_t *touched, piece_t *before)
{
    const int64_t pieces = (int64_t)pieces_of(mesh->elements);
#pragma omp parallel
    {
        patch_t patch;
        memset(&patch, 0, sizeof patch);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < pieces; i++)
            before[i] = count_piece(&patch, mesh, shape, i * PIECE, touched);
    }
    piece_t sum = {0, 0, 0};
    for (int64_t i = 0; i < pieces; i++) {
        const piece_t one = before[i];
        before[i] = sum;
        sum.patches += one.patches;
        sum.patch_nodes += one.patch_nodes;
        sum.units += one.units;
    }
    return sum;
}

static void check_shape(const alya_patch_shape_t *s)
{
    RT_EXPECT(s->elements >= 1 && s->elements <= ALYA_PATCH_MOST_ELEMENTS, RT_ENVIRONMENT,
              "a patch of %d elements", s->elements);
    RT_EXPECT(s->nodes >= 4 && s->nodes <= ALYA_PATCH_MOST_NODES, RT_ENVIRONMENT,
              "a patch of %d nodes", s->nodes);
    RT_EXPECT(s->id_bytes == 2 || (s->id_bytes == 1 && s->nodes <= 256), RT_ENVIRONMENT,
              "ids of %d bytes", s->id_bytes);
}

alya_patch_count_t alya_patches_count(const alya_mesh_t *mesh, const alya_patch_shape_t *shape)
{
    check_shape(shape);
    piece_t *before = RT_NEW(piece_t, pieces_of(mesh->elements), RT_HOST);
    const piece_t sum = count_pieces(mesh, shape, NULL, before);
    RT_FREE(before, RT_HOST);
    return (alya_patch_count_t){sum.patches, sum.patch_nodes};
}

/* Second pass. */
static void write_pieces(const alya_mesh_t *mesh, alya_patches_t *patches, const uint8_t *touched,
                         const piece_t *before)
{
    const int64_t pieces = (int64_t)pieces_of(mesh->elements);
#pragma omp parallel
    {
        patch_t patch;
        memset(&patch, 0, sizeof patch);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < pieces; i++) {
            int64_t number = before[i].patches, unit = before[i].units, e = i * PIECE;
            const int64_t end = e + PIECE < mesh->elements ? e + PIECE : mesh->elements;
            while (e < end) {
                take(&patch, &patches->shape, mesh->connectivity, e, end);
                patches->offset[number++] = (uint32_t)unit;
                write_record(&patch, &patches->shape, touched, (uint32_t)e,
                             patches->record + unit * ALYA_PATCH_UNIT);
                unit += record_bytes(&patch, &patches->shape) / ALYA_PATCH_UNIT;
                e += patch.elements;
            }
        }
    }
}

alya_patches_t *alya_patches_new(const alya_mesh_t *mesh, const alya_patch_shape_t *shape)
{
    check_shape(shape);
    alya_patches_t *patches = RT_NEW(alya_patches_t, 1, RT_HOST);
    piece_t *before = RT_NEW(piece_t, pieces_of(mesh->elements), RT_HOST);
    uint8_t *touched = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        touched[n] = 0;
    const piece_t sum = count_pieces(mesh, shape, touched, before);
    RT_EXPECT(sum.units <= UINT32_MAX, RT_MEMORY, "patches of %.3g GB: offsets end at 64 GiB",
              1e-9 * ALYA_PATCH_UNIT * (double)sum.units);
    *patches = (alya_patches_t){*shape,
                                {sum.patches, sum.patch_nodes},
                                RT_NEW(uint32_t, (size_t)sum.patches + 1, RT_HOST),
                                RT_NEW(unsigned char, ALYA_PATCH_UNIT *(size_t)sum.units, RT_HOST)};
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        touched[n] &= 2;
    write_pieces(mesh, patches, touched, before);
    patches->offset[sum.patches] = (uint32_t)sum.units;
    RT_FREE(touched, RT_HOST);
    RT_FREE(before, RT_HOST);
    return patches;
}

void alya_patches_destroy(alya_patches_t *patches)
{
    if (!patches)
        return;
    RT_FREE(patches->offset, RT_HOST);
    RT_FREE(patches->record, RT_HOST);
    RT_FREE(patches, RT_HOST);
}

/* Up to 3/4 of a node an element (0.35 to 0.68 in all orders of made meshes that set-up leaves as
 * they are), beside those of small meshes and of what is left over. Then the limit of nodes, or
 * that of elements, ends a patch. A patch with four nodes less than that can always take another
 * element, so only the last of each piece is smaller. */
double alya_patches_memory(int64_t elements, int64_t nodes, const alya_patch_shape_t *shape,
                           double *making)
{
    const double more = elements < SMALL ? 3 * (double)elements : 3 * (double)SMALL;
    const double patch_nodes = 0.75 * (double)elements + more;
    const double patches =
        fmax(patch_nodes / (shape->nodes - 3), ((double)elements + more) / shape->elements) +
        2 * (double)pieces_of(elements);
    /* bytes: ids and positions; a node, its row, and half a pair that is left over; and of a patch
     * besides, what fills up the first slices, if they are half as long as can be */
    const double element = 4 * shape->id_bytes + 4 * 2, node = 4 + 2 + 2 + 2. / ALYA_PATCH_SLICE;
    const double head = sizeof(alya_patch_head_t) + 4 + 2 * 2 + 4 * (ALYA_PATCH_UNIT - 1) +
                        PAIR_BYTES * (ALYA_PATCH_ROW + 2) / 4.;
    if (making)
        *making =
            (double)nodes + (double)pieces_of(elements) * sizeof(piece_t) + sizeof(alya_patches_t);
    return element * (double)elements + node * patch_nodes + head * patches + 4;
}
