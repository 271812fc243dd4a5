/*
 * test_mesh.c - generated meshes, Hilbert curve, orders, faults, boundary and distribution.
 *
 * Each is checked against what defines it. The parts of several ranks are made by one process,
 * since alya_box_new takes rank and ranks; alya_mesh_distribute is tried on as many ranks as the
 * test is started with.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/threads.h"
#include "base/hilbert.h"
#include "base/sort.h"
#include "apps/alya-rhs/alya.h"
#include "tests/common/app_test.h"

/* --- Hilbert curve --- */

static int distance(const uint32_t a[3], const uint32_t b[3])
{
    int sum = 0;
    for (int d = 0; d < 3; d++)
        sum += abs((int)a[d] - (int)b[d]);
    return sum;
}

/* Every step of the curve goes to a neighbour, key and point are inverse, and a coarser curve is
 * the same one seen from farther away (box.c needs that). */
static void check_hilbert(int bits)
{
    uint64_t keys = (uint64_t)1 << 3 * bits;
    int bad = 0;
    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t key = bits <= 4 ? i : rt_hash(i, 1) % keys;
        uint32_t at[3], next[3], coarse[3];
        if (key >= keys)
            break;
        rt_hilbert_point(key, bits, at);
        bad += rt_hilbert_key(at, bits) != key;
        bad += at[0] >> bits != 0 || at[1] >> bits != 0 || at[2] >> bits != 0;
        rt_hilbert_point(key / 8, bits - 1, coarse);
        for (int d = 0; d < 3; d++)
            bad += at[d] / 2 != coarse[d];
        if (key + 1 < keys) {
            rt_hilbert_point(key + 1, bits, next);
            bad += distance(at, next) != 1;
        }
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

/* Against qsort by (key, value): values ascend at first, so that is what stable means. */
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
    RT_FREE(key, RT_HOST);
    RT_FREE(value, RT_HOST);
    RT_FREE(want, RT_HOST);
}

/* --- the whole box --- */

static double det(const alya_mesh_t *mesh, int64_t e)
{
    const double *x[4];
    double v[3][3];
    for (int a = 0; a < 4; a++)
        x[a] = mesh->x + 3 * (int64_t)mesh->connectivity[4 * e + a];
    for (int a = 0; a < 3; a++)
        for (int d = 0; d < 3; d++)
            v[a][d] = x[a + 1][d] - x[0][d];
    double sum = 0;
    for (int d = 0; d < 3; d++)
        sum += v[0][d] *
               (v[1][(d + 1) % 3] * v[2][(d + 2) % 3] - v[1][(d + 2) % 3] * v[2][(d + 1) % 3]);
    return sum;
}

/* Of the box over the ground: prisms over the triangles that the faces of the cells make there. */
static double hill_volume(const alya_box_t *box)
{
    double dx = 600.0 / (double)box->cells[0], dy = 400.0 / (double)box->cells[1], sum = 0;
    for (int64_t i = 0; i < box->cells[0]; i++)
        for (int64_t j = 0; j < box->cells[1]; j++) {
            double x = -200 + dx * (double)i, y = -200 + dy * (double)j;
            double ends = alya_hill(x, y) + alya_hill(x + dx, y + dy);
            sum += dx * dy / 2 * (120 - (ends + alya_hill(x + dx, y)) / 3);
            sum += dx * dy / 2 * (120 - (ends + alya_hill(x, y + dy)) / 3);
        }
    return sum;
}

static void check_volume(const alya_box_t *box, const alya_mesh_t *mesh)
{
    double want = box->periodic_box ? pow(2 * acos(-1), 3) : hill_volume(box), sum = 0;
    int64_t bad = 0;
    char why[128] = "";
    for (int64_t e = 0; e < mesh->elements; e++) {
        sum += det(mesh, e) / 6;
        bad += !(det(mesh, e) > 0);
    }
    CHECK(bad == 0);
    CHECK(fabs(sum - want) < 1e-11 * want);
    CHECK(alya_mesh_check(mesh, why, sizeof why));
    CHECK_TEXT(why, "");
}

/* Node numbers, ids and flags of the whole. */
static void check_nodes(const alya_box_t *box, const alya_mesh_t *mesh)
{
    int64_t bad = 0, n = 0;
    const int64_t *c = box->cells;
    for (int64_t i = 0; i <= c[0]; i++)
        for (int64_t j = 0; j <= c[1]; j++)
            for (int64_t k = 0; k <= c[2]; k++, n++) {
                bool surface = i == 0 || j == 0 || k == 0 || i == c[0] || j == c[1] || k == c[2];
                int64_t wrapped = ((i % c[0]) * (c[1] + 1) + j % c[1]) * (c[2] + 1) + k % c[2];
                int flag = box->periodic_box ? ALYA_SHARED : ALYA_BOUNDARY;
                bad += mesh->node_id[n] != (box->periodic_box ? wrapped : n);
                bad += mesh->flags[n] != (surface ? flag : 0);
            }
    CHECK(bad == 0);
    CHECK(n == mesh->nodes && 6 * c[0] * c[1] * c[2] == mesh->elements);
}

/* Faces fit together: what is found to be the boundary of the mesh is the surface of the box. */
static void check_boundary(alya_mesh_t *mesh)
{
    int64_t bad = 0;
    uint8_t *flags = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
    memcpy(flags, mesh->flags, (size_t)mesh->nodes);
    for (int64_t n = 0; n < mesh->nodes; n++)
        mesh->flags[n] &= (uint8_t)~ALYA_BOUNDARY;
    alya_mesh_find_boundary(mesh);
    for (int64_t n = 0; n < mesh->nodes; n++)
        bad += ((mesh->flags[n] & ALYA_BOUNDARY) != 0) != (flags[n] != 0);
    CHECK(bad == 0);
    memcpy(mesh->flags, flags, (size_t)mesh->nodes);
    RT_FREE(flags, RT_HOST);
}

/* Jitter moves inner nodes, images alike, and no node of the hill's surface. */
static void check_jitter(const alya_box_t *box, const alya_mesh_t *mesh)
{
    alya_box_t straight = *box;
    straight.jitter = 0;
    alya_mesh_t *still = alya_box_new(&straight, 0, 1);
    int64_t bad = 0;
    double *moved = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    memset(moved, 0, 3 * (size_t)mesh->nodes * sizeof *moved);
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int d = 0; d < 3; d++) {
            double by = mesh->x[3 * n + d] - still->x[3 * n + d];
            double *first = &moved[3 * mesh->node_id[n] + d];
            bool fixed = (mesh->flags[n] & ALYA_BOUNDARY) || box->jitter == 0;
            bad += (by == 0) != fixed;
            bad += *first != 0 && fabs(by - *first) > 1e-13;
            *first = by;
        }
    CHECK(bad == 0);
    RT_FREE(moved, RT_HOST);
    alya_mesh_destroy(still);
}

/* --- parts --- */

/* What is known of the whole while its parts are visited. */
typedef struct {
    const alya_box_t *box;
    const alya_mesh_t *whole;
    int8_t *seen;    /* [elements] parts that have it */
    int32_t *copies; /* [nodes] by id */
    int64_t bad;
} tally_t;

/* The number in the whole of element e of a part: its first node is the near corner of its cell,
 * and a cell has six elements in a row. */
static int64_t whole_number(const alya_box_t *box, const alya_mesh_t *part, int64_t e)
{
    const int64_t *c = box->cells;
    int64_t id = part->node_id[part->connectivity[4 * e]];
    int64_t k = id % (c[2] + 1), j = id / (c[2] + 1) % (c[1] + 1);
    int64_t i = id / (c[2] + 1) / (c[1] + 1);
    return 6 * ((i * c[1] + j) * c[2] + k) + e % 6;
}

static void visit_part(tally_t *t, const alya_mesh_t *part)
{
    int64_t before = -1;
    for (int64_t e = 0; e < part->elements; e++) {
        int64_t w = whole_number(t->box, part, e);
        t->bad += w <= before; /* natural order */
        before = w;
        t->seen[w]++;
        for (int a = 0; a < 4; a++) {
            int32_t n = part->connectivity[4 * e + a], m = t->whole->connectivity[4 * w + a];
            t->bad += n < 0 || n >= part->nodes;
            t->bad += part->node_id[n] != t->whole->node_id[m];
            t->bad += memcmp(part->x + 3 * n, t->whole->x + 3 * m, 3 * sizeof(double)) != 0;
            t->bad += (part->flags[n] ^ t->whole->flags[m]) & ALYA_BOUNDARY;
        }
    }
    for (int64_t n = 0; n < part->nodes; n++)
        t->copies[part->node_id[n]]++;
}

static void check_flags(tally_t *t, const alya_mesh_t *part)
{
    for (int64_t n = 0; n < part->nodes; n++)
        t->bad += ((part->flags[n] & ALYA_SHARED) != 0) != (t->copies[part->node_id[n]] > 1);
}

static void check_parts(const alya_box_t *box, const alya_mesh_t *whole, int ranks)
{
    tally_t t = {.box = box,
                 .whole = whole,
                 .seen = RT_NEW(int8_t, (size_t)whole->elements, RT_HOST),
                 .copies = RT_NEW(int32_t, (size_t)whole->nodes, RT_HOST)};
    alya_mesh_t *part[64];
    int64_t elements, nodes, most_elements = 0, most_nodes = 0, wrong = 0;
    memset(t.seen, 0, (size_t)whole->elements);
    memset(t.copies, 0, (size_t)whole->nodes * sizeof *t.copies);
    for (int rank = 0; rank < ranks; rank++) {
        part[rank] = alya_box_new(box, rank, ranks);
        visit_part(&t, part[rank]);
        most_elements = part[rank]->elements > most_elements ? part[rank]->elements : most_elements;
        most_nodes = part[rank]->nodes > most_nodes ? part[rank]->nodes : most_nodes;
    }
    for (int rank = 0; rank < ranks; rank++) {
        check_flags(&t, part[rank]);
        alya_mesh_destroy(part[rank]);
    }
    for (int64_t e = 0; e < whole->elements; e++)
        wrong += t.seen[e] != 1;
    CHECK(t.bad == 0 && wrong == 0);
    alya_box_count(box, ranks, &elements, &nodes);
    CHECK(elements == most_elements);
    CHECK(nodes >= most_nodes && nodes <= whole->nodes && nodes < 2 * most_nodes);
    CHECK(ranks > 1 || nodes == most_nodes);
    RT_FREE(t.seen, RT_HOST);
    RT_FREE(t.copies, RT_HOST);
}

/* With as many ranks as cells, the cells come along the curve. */
static void check_part_order(void)
{
    alya_box_t box = {.cells = {8, 8, 8}, .growth = 1};
    int bad = 0;
    for (int rank = 0; rank < 512; rank++) {
        alya_mesh_t *part = alya_box_new(&box, rank, 512);
        uint32_t at[3];
        rt_hilbert_point((uint64_t)rank, 3, at);
        bad += part->elements != 6 || part->nodes != 8;
        bad += part->node_id[0] != (at[0] * 9 + at[1]) * 9 + at[2];
        alya_mesh_destroy(part);
    }
    CHECK(bad == 0);
}

static void check_box(alya_box_t box)
{
    static const int ranks[] = {1, 2, 3, 5, 64};
    alya_mesh_t *mesh = alya_box_new(&box, 0, 1);
    check_volume(&box, mesh);
    check_nodes(&box, mesh);
    check_boundary(mesh);
    check_jitter(&box, mesh);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        check_parts(&box, mesh, ranks[i]);
    alya_mesh_destroy(mesh);
}

/* Levels of the hill, from the formula in the specification. */
static void check_levels(void)
{
    alya_box_t box = {.cells = {3, 2, 5}, .growth = 1.3};
    alya_mesh_t *mesh = alya_box_new(&box, 0, 1);
    for (int64_t k = 0; k <= 5; k++) {
        const double *x = mesh->x + 3 * ((1 * 3 + 1) * 6 + k); /* x = 0, y = 0: on the hill */
        double z = alya_hill(0, 0) +
                   (120 - alya_hill(0, 0)) * (pow(1.3, (double)k) - 1) / (pow(1.3, 5) - 1);
        CHECK(fabs(x[0]) < 1e-12 && fabs(x[1]) < 1e-12 && fabs(x[2] - z) < 1e-12);
    }
    CHECK(alya_hill(0, 0) > 11.9 && alya_hill(0, 0) < 12);
    CHECK(fabs(alya_hill(-65, 0) - 6) < 0.01); /* half way up the cliff */
    CHECK(fabs(alya_hill(0, 37.5) - 6) < 0.01 && alya_hill(0, 20) == alya_hill(0, -20));
    alya_mesh_destroy(mesh);
}

/* --- orders --- */

static uint64_t element_hash(const alya_mesh_t *mesh, int64_t e)
{
    uint64_t hash = 0; /* of the nodes in their order: another orientation is another hash */
    for (int a = 0; a < 4; a++)
        hash = rt_hash((uint64_t)mesh->node_id[mesh->connectivity[4 * e + a]], hash);
    return hash;
}

/* Hashes of all elements, sorted. */
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

/* The same elements and nodes as in `made`, whose nodes are in order of their ids. */
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
    RT_FREE(got, RT_HOST);
    RT_FREE(want, RT_HOST);
    RT_FREE(seen, RT_HOST);
}

/* Distinct nodes in runs of `run` elements, on average over whole runs. */
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

static int32_t least_node(const alya_mesh_t *mesh, int64_t e)
{
    int32_t least = INT32_MAX;
    for (int a = 0; a < 4; a++) {
        int32_t n = mesh->connectivity[4 * e + a];
        least = n < least ? n : least;
    }
    return least;
}

static int32_t bandwidth(const alya_mesh_t *mesh)
{
    int32_t most = 0;
    for (int64_t e = 0; e < mesh->elements; e++)
        for (int a = 0; a < 4; a++) {
            int32_t by = mesh->connectivity[4 * e + a] - least_node(mesh, e);
            most = by > most ? by : most;
        }
    return most;
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

/* What each order promises beside a permutation. */
static void check_order(const alya_box_t *box, const alya_mesh_t *made, alya_order_t order)
{
    static const double most[ALYA_ORDERS] = {0.6, 0.42, 0.7, 4, 4}, random_least = 3.5;
    alya_mesh_t *mesh = ordered(box, order, 7), *other;
    double spread = alya_mesh_spread(mesh);
    check_same(mesh, made);
    CHECK(equal(mesh, made) == (order == ALYA_NATURAL));
    CHECK(fabs(spread - nodes_a_run(mesh, 512) / 512) < 1e-12);
    CHECK(spread < most[order] && spread > (order >= ALYA_RANDOM_ELEMENTS ? random_least : 0.25));
    if (order == ALYA_HILBERT) {
        check_by_first_use(mesh);
        CHECK(nodes_a_run(mesh, 192) < 92); /* what a patch of 96 nodes can take, with room */
    }
    if (order == ALYA_RCM)
        for (int64_t e = 1; e < mesh->elements; e++)
            if (least_node(mesh, e - 1) > least_node(mesh, e))
                CHECK(!"elements by their least node");
    if (order == ALYA_RANDOM_ELEMENTS)
        CHECK(memcmp(mesh->node_id, made->node_id, 8 * (size_t)made->nodes) == 0);
    if (order >= ALYA_RANDOM_ELEMENTS) {
        other = ordered(box, order, 8);
        CHECK(!equal(mesh, other)); /* another seed */
        CHECK((memcmp(mesh->node_id, other->node_id, 8 * (size_t)mesh->nodes) == 0) ==
              (order == ALYA_RANDOM_ELEMENTS));
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

/* A search gives numbers to the neighbours of one node after those of the node before, and among
 * them by degree. So, reversed, the highest neighbour never falls from one node to the next, and
 * where it is the same the degree never grows. */
static void check_reverse_search(void)
{
    enum { NODES = 10 * 6 * 8 };
    static bool beside[NODES][NODES];
    alya_box_t box = {.cells = {9, 5, 7}, .growth = 1};
    alya_mesh_t *mesh = alya_box_new(&box, 0, 1);
    int highest[NODES] = {0}, degree[NODES] = {0}, bad = 0;
    alya_mesh_reorder(mesh, ALYA_RANDOM_ALL, 2);
    alya_mesh_reorder(mesh, ALYA_RCM, 0);
    for (int64_t i = 0; i < 16 * mesh->elements; i++)
        beside[mesh->connectivity[i / 4]][mesh->connectivity[i / 16 * 4 + i % 4]] = true;
    for (int n = 0; n < NODES; n++)
        for (int other = 0; other < NODES; other++)
            if (beside[n][other]) {
                highest[n] = other;
                degree[n]++;
            }
    for (int n = 1; n < NODES; n++) {
        bad += highest[n] < highest[n - 1];
        bad += n < NODES - 1 && highest[n] == highest[n - 1] && degree[n] > degree[n - 1];
    }
    CHECK(bad == 0);
    alya_mesh_destroy(mesh);
}

/* Patches stay small where cells are five times as long as high. */
static void check_flat_cells(void)
{
    alya_box_t box = {.cells = {40, 40, 40}, .growth = 1};
    alya_mesh_t *mesh = ordered(&box, ALYA_HILBERT, 0);
    CHECK(nodes_a_run(mesh, 192) < 88);
    alya_mesh_destroy(mesh);
}

/* From random numbers back to a band about as narrow as the box is: 5 x 5 nodes and a bit. Two
 * pieces, of which one comes after the other, and a node that no element has. */
static void check_rcm(void)
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
    alya_mesh_reorder(mesh, ALYA_RANDOM_ALL, 1);
    CHECK(bandwidth(mesh) > 500);
    alya_mesh_reorder(mesh, ALYA_RCM, 1);
    CHECK(bandwidth(mesh) < 80);
    for (int64_t n = mesh->nodes - 25; n < mesh->nodes; n++)
        CHECK(mesh->node_id[n] / 25 == 21); /* nodes between the pieces */
    alya_mesh_reorder(mesh, ALYA_HILBERT, 1);
    check_by_first_use(mesh);
    for (int64_t n = mesh->nodes - 25; n < mesh->nodes; n++)
        CHECK(mesh->node_id[n] / 25 == 21);
    alya_mesh_destroy(mesh);
}

/* --- faults --- */

static alya_mesh_t *small_box(void)
{
    alya_box_t box = {.cells = {3, 3, 3}, .growth = 1};
    return alya_box_new(&box, 0, 1);
}

static void expect_fault(alya_mesh_t *mesh, const char *want)
{
    char why[160] = "nothing";
    CHECK(!alya_mesh_check(mesh, why, sizeof why));
    CHECK(strncmp(why, want, strlen(want)) == 0 && strchr(why, '\n') == NULL);
    if (strncmp(why, want, strlen(want)) != 0)
        fprintf(stderr, "    got: %s\n", why);
    alya_mesh_destroy(mesh);
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t c = *a;
    *a = *b;
    *b = c;
}

static void scale_all(alya_mesh_t *mesh, double by)
{
    for (int64_t i = 0; i < 3 * mesh->nodes; i++)
        mesh->x[i] *= by;
}

static void check_faults(void)
{
    alya_mesh_t *m = small_box();
    m->connectivity[4 * 70 + 2] = 64;
    m->connectivity[4 * 71 + 2] = -1;
    expect_fault(m, "tetrahedron 70 has vertex 64, and vertices are 0 to 63");
    m = small_box();
    m->connectivity[4 * 161 + 3] = -1;
    expect_fault(m, "tetrahedron 161 has vertex -1,");
    m = small_box();
    m->connectivity[4 * 33] = m->connectivity[4 * 33 + 3];
    expect_fault(m, "tetrahedron 33 has vertex ");
    m = small_box();
    swap(&m->connectivity[4 * 20], &m->connectivity[4 * 20 + 1]);
    swap(&m->connectivity[4 * 19], &m->connectivity[4 * 19 + 1]);
    expect_fault(m, "tetrahedron 19 is inverted: its volume is -");
    m = small_box();
    m->connectivity[4 * 5 + 0] = 0; /* nodes 0 .. 3: a column */
    m->connectivity[4 * 5 + 1] = 1;
    m->connectivity[4 * 5 + 2] = 2;
    m->connectivity[4 * 5 + 3] = 16;
    expect_fault(m, "tetrahedron 5 is flat");
    m = small_box();
    m->x[3 * 40 + 1] = NAN;
    m->x[3 * 50 + 1] = NAN;
    swap(&m->connectivity[0], &m->connectivity[1]);
    expect_fault(m, "vertex 40 has a coordinate that is not finite");
    m = small_box();
    m->x[3 * 63 + 2] = -INFINITY;
    expect_fault(m, "vertex 63 has a coordinate that is not finite");
    m = small_box();
    scale_all(m, 1e-14);
    expect_fault(m, "tetrahedron 0: its volume is ");
    m = small_box();
    scale_all(m, 1e10);
    expect_fault(m, "tetrahedron 0: its volume is ");
    m = small_box();
    scale_all(m, 1e150);
    expect_fault(m, "tetrahedron 0: its volume is ");
    m = small_box();
    scale_all(m, 1e-11); /* small, and sound */
    CHECK(alya_mesh_check(m, NULL, 0));
    alya_mesh_destroy(m);
    alya_mesh_destroy(NULL);
}

/* The same four nodes again, in any order, are found; neighbours, which have three, are not. */
static void check_twins(void)
{
    static const int order[3][4] = {{0, 1, 2, 3}, {1, 2, 0, 3}, {3, 2, 1, 0}};
    char why[160] = "nothing";
    alya_mesh_t *m = small_box();
    CHECK(alya_mesh_check_twins(m, why, sizeof why));
    CHECK_TEXT(why, "nothing");
    for (int i = 0; i < 3; i++) { /* 150 and 90 are 30's, then 140 is 20's: the last that counts */
        static const int from[3] = {30, 30, 20}, to[3] = {150, 90, 140};
        for (int a = 0; a < 4; a++)
            m->connectivity[4 * to[i] + a] = m->connectivity[4 * from[i] + order[i][a]];
    }
    CHECK(!alya_mesh_check_twins(m, why, sizeof why));
    CHECK_TEXT(why, "element 90 has the same four nodes as element 30");
    m->connectivity[4 * 90] = m->connectivity[4 * 30 + 1] == 0 ? 1 : 0; /* one node differs */
    CHECK(!alya_mesh_check_twins(m, why, sizeof why));
    CHECK_TEXT(why, "element 140 has the same four nodes as element 20");
    alya_mesh_destroy(m);
}

/* A node in the middle of a double fan: it is the least of hundreds of faces, and inside. */
static void check_hub(void)
{
    enum { RING = 200 };
    static int32_t connectivity[2 * RING][4];
    static uint8_t flags[RING + 3];
    alya_mesh_t mesh = {
        .elements = 2 * RING, .nodes = RING + 3, .connectivity = connectivity[0], .flags = flags};
    for (int32_t i = 0; i < 2 * RING; i++) {
        const int32_t node[4] = {0, 1 + i / RING, 3 + i % RING, 3 + (i + 1) % RING};
        memcpy(connectivity[i], node, sizeof node);
    }
    flags[0] = ALYA_SHARED;
    alya_mesh_find_boundary(&mesh);
    CHECK(flags[0] == ALYA_SHARED);
    for (int i = 1; i < RING + 3; i++)
        CHECK(flags[i] == ALYA_BOUNDARY);
}

/* --- distribution --- */

/* On any number of ranks: each element on one, shared flags where several have a node. */
static void check_distribute(const alya_box_t *box, bool metis)
{
    alya_mesh_t *whole = alya_box_new(box, 0, 1);
    alya_mesh_t *given = rt_comm_rank() == 0 ? alya_box_new(box, 0, 1) : NULL;
    alya_mesh_t *mesh = alya_mesh_distribute(given, metis);
    CHECK(rt_comm_size() > 1 || mesh == given);
    int64_t sum[2] = {mesh->elements, 0}, want = 0, bad = 0;
    double *copies = RT_NEW(double, (size_t)whole->nodes, RT_HOST);
    memset(copies, 0, (size_t)whole->nodes * sizeof *copies);
    for (int64_t e = 0; e < mesh->elements; e++)
        sum[1] += (int64_t)(element_hash(mesh, e) >> 20);
    for (int64_t e = 0; e < whole->elements; e++)
        want += (int64_t)(element_hash(whole, e) >> 20);
    rt_comm_sum_i64(sum, 2);
    CHECK(sum[0] == whole->elements && sum[1] == want);
    for (int64_t n = 0; n < mesh->nodes; n++) {
        int64_t id = mesh->node_id[n];
        copies[id]++;
        bad += memcmp(mesh->x + 3 * n, whole->x + 3 * id, 3 * sizeof(double)) != 0;
        bad += n > 0 && id <= mesh->node_id[n - 1]; /* order of the whole */
    }
    rt_comm_sum(copies, (int)whole->nodes);
    for (int64_t n = 0; n < mesh->nodes; n++) {
        int64_t id = mesh->node_id[n];
        bad += mesh->flags[n] != (whole->flags[id] | (copies[id] > 1 ? ALYA_SHARED : 0));
    }
    CHECK(bad == 0);
    double even = (double)whole->elements / rt_comm_size();
    CHECK(fabs((double)mesh->elements - even) < (metis ? 0.1 * even + 2 : 1));
    RT_FREE(copies, RT_HOST);
    alya_mesh_destroy(mesh);
    alya_mesh_destroy(whole);
}

/* --- memory --- */

/* What the app says a run will need is what it takes at most, and little more; on several ranks
 * nodes are only bounded. */
static void check_memory(const char *settings)
{
    const double band = rt_comm_size() > 1 ? 1.5 : 1.25;
    for (int i = 0; i < ALYA_RUNGS; i++) {
        const rt_rung_t *rung = &alya_ladder[i];
        if (rung->kind != RT_CPU || rt_rung_why_not(rung))
            continue;
        app_test_t t;
        rt_outcome_t out;
        rt_mem_reset_high_water();
        const double before = (double)rt_mem_high_water(RT_HOST);
        app_test_new(&t, &alya_app, settings);
        rt_run_rung(&t.run, t.problem, rung, &out, NULL);
        app_test_destroy(&t);
        double used = out.high_water[RT_HOST] - before, said = out.predicted[RT_HOST];
        CHECK(out.verdict.valid);
        CHECK(used <= said && said <= band * used);
        if (!(used <= said && said <= band * used))
            fprintf(stderr, "    %s, %s: %.0f bytes said, %.0f used\n", settings, rung->name, said,
                    used);
    }
}

static void check_boxes(void)
{
    check_box((alya_box_t){.cells = {1, 1, 1}, .growth = 1});
    check_box((alya_box_t){.cells = {1, 1, 1}, .growth = 1, .periodic_box = true, .jitter = 0.1});
    check_box((alya_box_t){.cells = {1, 33, 1}, .growth = 1}); /* blocks of few cells */
    check_box((alya_box_t){.cells = {8, 8, 8}, .growth = 1, .periodic_box = true});
    check_box((alya_box_t){
        .cells = {7, 9, 5}, .growth = 1, .periodic_box = true, .jitter = 0.15, .seed = 4});
    check_box((alya_box_t){.cells = {24, 20, 6}, .growth = 1.2});
    check_box((alya_box_t){.cells = {3, 2, 130}, .growth = 1.01}); /* several words a column */
    check_box((alya_box_t){.cells = {60, 40, 12}, .growth = 1.3, .jitter = 0.15, .seed = 9});
    check_box((alya_box_t){.cells = {200, 20, 10}, .growth = 1.5, .jitter = 0.16, .seed = 2});
}

int main(int argc, char **argv)
{
    app_test_start("test_mesh", &argc, &argv);
    alya_box_t box = {.cells = {11, 9, 7}, .growth = 1.1, .jitter = 0.1, .seed = 1};
    /* one rank's mesh is only returned, whatever this was built with */
    for (int metis = 0; metis <= (RT_HAVE_METIS != 0 || rt_comm_size() == 1); metis++)
        check_distribute(&box, metis);
    /* where several ranks share many of its nodes, their bound of a small box is a loose one */
    check_memory(rt_comm_size() > 1 ? "cells=24x20x16" : "cells=14x12x10");
    if (rt_comm_rank() == 0) {
        for (int bits = 1; bits <= 21; bits++)
            check_hilbert(bits);
        for (int64_t n = 0; n <= 200000; n = 7 * n + 1) {
            check_sort(n, UINT64_MAX);
            check_sort(n, 0xff00ff);
            check_sort(n, 0x3f);
            check_sort(n, 0);
        }
        check_levels();
        check_boxes();
        check_part_order();
        check_orders();
        check_flat_cells();
        check_rcm();
        check_reverse_search();
        check_faults();
        check_twins();
        check_hub();
    }
    if (rt_comm_size() == 1) {
        if (getenv("RT_CHECK_LONG"))
            check_memory("cells=48x40x28");
        check_memory("cells=14x12x10 order=hilbert");
        check_memory("cells=14x12x10 order=random-all");
        check_memory("cells=14x12x10 order=random-all reorder=no");
        check_memory("cells=14x12x10 order=rcm");
        check_memory("cells=14x12x10 steps=1");
        check_memory("mesh=box cells=14x12x10");
    }
    return app_test_stop(check_done());
}
