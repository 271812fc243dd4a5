/*
 * test_order.c - orders of elements and nodes, and what they are made with: the Hilbert curve and the
 * sort. Each is checked against its definition.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hilbert.h"
#include "base/sort.h"
#include "base/threads.h"
#include "apps/alya-rhs/input/input.h"
#include "tests/common/check.h"

/* --- Hilbert curve --- */

static int distance(const uint32_t a[3], const uint32_t b[3])
{
    int sum = 0;
    for (int d = 0; d < 3; d++)
        sum += abs((int)a[d] - (int)b[d]);
    return sum;
}

/* Checks that a coarser curve is the same curve at a lower resolution, and that every step of the
 * curve goes to a neighbour, in subcubes of 8^3 from all over the cube. */
static void check_hilbert(int bits)
{
    const int levels = bits < 3 ? bits : 3, edge = 1 << levels, points = edge * edge * edge;
    int bad = 0;
    for (uint64_t cube = 0; cube < 8; cube++) {
        uint32_t low[3], at_key[512][3];
        for (uint64_t d = 0; d < 3; d++)
            low[d] = (uint32_t)(rt_hash(3 * cube + d, 1) % (1U << bits) >> levels << levels);
        for (int p = 0; p < points; p++) {
            const uint32_t at[3] = {low[0] + (uint32_t)(p % edge),
                                    low[1] + (uint32_t)(p / edge % edge),
                                    low[2] + (uint32_t)(p / edge / edge)};
            const uint64_t key = rt_hilbert_key(at, bits);
            if (bits > 1)
                bad += rt_hilbert_key((const uint32_t[]){at[0] / 2, at[1] / 2, at[2] / 2},
                                      bits - 1) != key / 8;
            memcpy(at_key[key % (uint64_t)points], at, sizeof at);
        }
        for (int p = 1; p < points; p++)
            bad += distance(at_key[p - 1], at_key[p]) != 1;
    }
    CHECK(bad == 0);
}

/* --- sort --- */

typedef struct {
    uint64_t key;
    uint32_t value;
} pair_t;

static int compare_pairs(const void *a, const void *b)
{
    const pair_t *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Compares with qsort by (key, value): values ascend at first, so this is the stable order. */
static void check_sort(int64_t n, uint64_t mask)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
    uint32_t *value = RT_NEW(uint32_t, (size_t)n, RT_HOST);
    pair_t *want = RT_NEW(pair_t, (size_t)n, RT_HOST);
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        key[i] = (rt_hash((uint64_t)i, 5) & mask) | (0x1122334455667788U & ~mask);
        value[i] = (uint32_t)i;
        want[i] = (pair_t){key[i], value[i]};
    }
    if (n > 0)
        qsort(want, (size_t)n, sizeof *want, compare_pairs);
    rt_sort(key, value, n);
    for (int64_t i = 0; i < n; i++)
        bad += key[i] != want[i].key || value[i] != want[i].value;
    CHECK(bad == 0);
    RT_FREE_ALL(RT_HOST, key, value, want);
}

/* --- orders --- */

static uint64_t element_hash(const alya_mesh_t *mesh, int64_t e)
{
    uint64_t hash = 0; /* of the nodes in their order: another orientation is another hash */
    for (int a = 0; a < 4; a++)
        hash = rt_hash((uint64_t)mesh->node_id[mesh->connectivity[4 * e + a]], hash);
    return hash;
}

/* Returns the hashes of all elements, sorted. */
static uint64_t *sorted_hashes(const alya_mesh_t *mesh)
{
    uint64_t *hash = RT_NEW(uint64_t, (size_t)mesh->elements, RT_HOST);
    uint32_t *value = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    for (int64_t e = 0; e < mesh->elements; e++) {
        hash[e] = element_hash(mesh, e);
        value[e] = 0;
    }
    rt_sort(hash, value, mesh->elements);
    RT_FREE(value, RT_HOST);
    return hash;
}

/* Checks for the same elements and nodes as in `made`, whose nodes are in order of their ids. */
static void check_same(const alya_mesh_t *mesh, const alya_mesh_t *made)
{
    uint64_t *got = sorted_hashes(mesh), *want = sorted_hashes(made);
    uint8_t *seen = RT_NEW(uint8_t, (size_t)made->nodes, RT_HOST);
    int64_t bad = 0;
    memset(seen, 0, (size_t)made->nodes);
    CHECK(mesh->elements == made->elements && mesh->nodes == made->nodes);
    CHECK(memcmp(got, want, (size_t)made->elements * sizeof *got) == 0);
    for (int64_t n = 0; n < mesh->nodes; n++) {
        int64_t id = mesh->node_id[n];
        bad += seen[id]++ != 0 || mesh->flags[n] != made->flags[id] ||
               memcmp(mesh->x + 3 * n, made->x + 3 * id, 3 * sizeof(double)) != 0;
    }
    CHECK(bad == 0);
    RT_FREE_ALL(RT_HOST, got, want, seen);
}

/* Returns the average number of distinct nodes in runs of `run` elements. */
static double nodes_a_run(const alya_mesh_t *mesh, int64_t run)
{
    int64_t *last = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST), distinct = 0;
    for (int64_t n = 0; n < mesh->nodes; n++)
        last[n] = -1;
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int64_t *l = &last[mesh->connectivity[4 * e + a]];
            distinct += *l != e / run;
            *l = e / run;
        }
    RT_FREE(last, RT_HOST);
    return (double)distinct * (double)run / (double)mesh->elements;
}

static void check_by_first_use(const alya_mesh_t *mesh)
{
    int32_t next = 0;
    int64_t bad = 0;
    for (int64_t i = 0; i < 4 * mesh->elements; i++) {
        bad += mesh->connectivity[i] > next;
        next += mesh->connectivity[i] == next;
    }
    CHECK(bad == 0);
}

static alya_mesh_t *ordered(const alya_box_t *box, alya_order_t order, uint64_t seed)
{
    alya_mesh_t *mesh = alya_box_new(box, 0, 1);
    alya_mesh_reorder(mesh, order, seed);
    return mesh;
}

static bool equal(const alya_mesh_t *a, const alya_mesh_t *b)
{
    return memcmp(a->connectivity, b->connectivity, 16 * (size_t)a->elements) == 0 &&
           memcmp(a->node_id, b->node_id, 8 * (size_t)a->nodes) == 0;
}

/* Checks what each order promises in addition to being a permutation. */
static void check_order(const alya_box_t *box, const alya_mesh_t *made, alya_order_t order)
{
    static const double most[ALYA_ORDERS] = {0.6, 0.42, 4}, random_least = 3.5;
    alya_mesh_t *mesh = ordered(box, order, 7), *other;
    double spread = alya_mesh_spread(mesh);
    check_same(mesh, made);
    CHECK(equal(mesh, made) == (order == ALYA_NATURAL));
    CHECK(fabs(spread - nodes_a_run(mesh, 512) / 512) < 1e-12);
    CHECK(spread < most[order] && spread > (order == ALYA_RANDOM ? random_least : 0.25));
    if (order == ALYA_HILBERT) {
        check_by_first_use(mesh);
        CHECK(nodes_a_run(mesh, 192) < 92); /* what a patch of 96 nodes can take, with room */
    }
    if (order == ALYA_RANDOM) {
        other = ordered(box, order, 8);
        CHECK(!equal(mesh, other)); /* another seed */
        CHECK(memcmp(mesh->node_id, other->node_id, 8 * (size_t)mesh->nodes) != 0);
        alya_mesh_destroy(other);
    }
    rt_threads_set(3);
    other = ordered(box, order, 7);
    CHECK(equal(mesh, other)); /* other threads */
    rt_threads_set(1);
    alya_mesh_destroy(other);
    alya_mesh_destroy(mesh);
}

static void check_orders(void)
{
    alya_box_t box = {.cells = {60, 50, 14}, .growth = 1.15, .jitter = 0, .seed = 3};
    alya_mesh_t *made = alya_box_new(&box, 0, 1);
    for (int order = 0; order < ALYA_ORDERS; order++)
        check_order(&box, made, (alya_order_t)order);
    alya_mesh_destroy(made);
}

/* Checks that patches stay small where cells are five times as long as high. */
static void check_flat_cells(void)
{
    alya_box_t box = {.cells = {40, 40, 40}, .growth = 1};
    alya_mesh_t *mesh = ordered(&box, ALYA_HILBERT, 0);
    CHECK(nodes_a_run(mesh, 192) < 88);
    alya_mesh_destroy(mesh);
}

/* Checks that nodes which no element has come last, in a mesh of two pieces. */
static void check_unused_nodes(void)
{
    alya_box_t box = {.cells = {40, 4, 4}, .growth = 1};
    alya_mesh_t *mesh = alya_box_new(&box, 0, 1);
    int64_t kept = 0;
    for (int64_t e = 0; e < mesh->elements; e++) { /* without cells 20 and 21 along x */
        int64_t i = mesh->connectivity[4 * e] / 25;
        if (i == 20 || i == 21)
            continue;
        memmove(mesh->connectivity + 4 * kept++, mesh->connectivity + 4 * e, 16);
    }
    mesh->elements = kept;
    alya_mesh_reorder(mesh, ALYA_RANDOM, 1);
    alya_mesh_reorder(mesh, ALYA_HILBERT, 1);
    check_by_first_use(mesh);
    for (int64_t n = mesh->nodes - 25; n < mesh->nodes; n++)
        CHECK(mesh->node_id[n] / 25 == 21); /* nodes between the pieces */
    alya_mesh_destroy(mesh);
}

int main(void)
{
    for (int bits = 1; bits <= 21; bits++)
        check_hilbert(bits);
    for (int64_t n = 0; n <= 200000; n = 7 * n + 1) {
        check_sort(n, UINT64_MAX);
        check_sort(n, 0xff00ff);
        check_sort(n, 0x3f);
        check_sort(n, 0);
    }
    check_orders();
    check_flat_cells();
    check_unused_nodes();
    return check_done();
}
