/*
 * test_mesh.c - generated meshes, boundary, parts and predicted memory.
 *
 * Each is checked against its definition. One process makes the parts of several ranks, since
 * alya_box_new and alya_mesh_share take rank and ranks.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "alya_test.h"

/* --- the whole box --- */

static double det(const alya_mesh_t *mesh, int64_t e)
{
    double edge[3][3];
    alya_edges(mesh, mesh->connectivity + 4 * e, edge);
    return alya_determinant(edge);
}

/* Returns the volume of the box above the ground: prisms over the triangles that the faces of the
 * cells make there. */
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

/* Checks node numbers, ids and flags of the whole. */
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

/* Checks that faces fit together: the boundary found in the mesh is the surface of the box. */
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

/* Checks that jitter moves inner nodes, images alike, and no node of the hill's surface. */
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

static bool same_ids(const alya_mesh_t *a, int64_t e, const alya_mesh_t *b, int64_t f)
{
    bool same = true;
    for (int i = 0; i < 4; i++)
        same = same &&
               a->node_id[a->connectivity[4 * e + i]] == b->node_id[b->connectivity[4 * f + i]];
    return same;
}

/* Returns the number in the whole of element e of a part: its first node is the near corner of its
 * cell, and a cell has six elements in a row. */
static int64_t whole_number(const tally_t *t, const alya_mesh_t *part, int64_t e)
{
    const int64_t *c = t->box->cells, id = part->node_id[part->connectivity[4 * e]];
    const int64_t k = id % (c[2] + 1), j = id / (c[2] + 1) % (c[1] + 1);
    const int64_t i = id / (c[2] + 1) / (c[1] + 1), first = 6 * ((i * c[1] + j) * c[2] + k);
    int64_t of_cell = e % 6; /* where a part has whole cells */
    for (int tried = 0; tried < 5 && !same_ids(part, e, t->whole, first + of_cell); tried++)
        of_cell = (of_cell + 1) % 6;
    return first + of_cell;
}

static void visit_part(tally_t *t, const alya_mesh_t *part)
{
    int64_t before = -1;
    for (int64_t e = 0; e < part->elements; e++) {
        int64_t w = whole_number(t, part, e);
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

/* Makes a part, or takes a share of the whole as of a file. */
static alya_mesh_t *part_of(const alya_box_t *box, bool from_file, int rank, int ranks)
{
    alya_mesh_t *mesh = from_file ? alya_box_new(box, 0, 1) : alya_box_new(box, rank, ranks);
    if (from_file)
        alya_mesh_share(mesh, rank, ranks);
    return mesh;
}

static void check_parts(const alya_box_t *box, const alya_mesh_t *whole, bool from_file, int ranks)
{
    tally_t t = {.box = box,
                 .whole = whole,
                 .seen = RT_NEW(int8_t, (size_t)whole->elements, RT_HOST),
                 .copies = RT_NEW(int32_t, (size_t)whole->nodes, RT_HOST)};
    alya_mesh_t *part[64];
    const alya_parts_t said = alya_box_count(box, ranks);
    int64_t elements = 0, nodes = 0, least = INT64_MAX, wrong = 0;
    memset(t.seen, 0, (size_t)whole->elements);
    memset(t.copies, 0, (size_t)whole->nodes * sizeof *t.copies);
    for (int rank = 0; rank < ranks; rank++) {
        part[rank] = part_of(box, from_file, rank, ranks);
        visit_part(&t, part[rank]);
        elements = part[rank]->elements > elements ? part[rank]->elements : elements;
        nodes = part[rank]->nodes > nodes ? part[rank]->nodes : nodes;
        least = part[rank]->elements < least ? part[rank]->elements : least;
    }
    for (int rank = 0; rank < ranks; rank++) {
        check_flags(&t, part[rank]);
        alya_mesh_destroy(part[rank]);
    }
    for (int64_t e = 0; e < whole->elements; e++)
        wrong += t.seen[e] != 1;
    CHECK(t.bad == 0 && wrong == 0);
    if (from_file)
        CHECK(elements - least <= 1);
    else
        CHECK(said.elements == elements && said.nodes == nodes && said.least == least);
    RT_FREE_ALL(RT_HOST, t.seen, t.copies);
}

/* Blocks of a mesh of some size are equal, to a layer of cells. */
static void check_balance(void)
{
    const alya_box_t box = {.cells = {120, 100, 28}, .growth = 1};
    for (int ranks = 1; ranks <= 64; ranks++) {
        const alya_parts_t parts = alya_box_count(&box, ranks);
        CHECK((double)(parts.elements - parts.least) < 0.14 * (double)parts.elements);
    }
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
        for (int from_file = 0;
             from_file <= !box.periodic_box && alya_box_count(&box, ranks[i]).least > 0;
             from_file++)
            check_parts(&box, mesh, from_file, ranks[i]);
    alya_mesh_destroy(mesh);
}

/* Checks the levels of the hill against their formula. */
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

/* A node in the middle of a double fan is the least of hundreds of faces, and inside. */
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

/* --- memory --- */

/* Checks that the predicted memory is an upper bound, and a close one; on several ranks the number
 * of nodes is only bounded. only: the rung, or NULL for all. */
static void check_memory(const char *settings, const char *only)
{
    const double band = rt_comm_size() > 1 ? 1.5 : 1.25;
    for (int i = 0; i < alya_app.n_rungs; i++) {
        const rt_rung_t *rung = &alya_app.ladder[i];
        if (rung->kind != RT_CPU || rt_rung_why_not(rung) || (only && strcmp(only, rung->name)))
            continue;
        alya_test_t t;
        rt_outcome_t out;
        rt_mem_reset_high_water();
        const double before = (double)rt_mem_high_water(RT_HOST);
        alya_test_new(&t, &alya_app, settings);
        t.run.opt.seconds = 1e-3; /* one or two solves are put aside */
        t.run.opt.windows = 2;
        t.run.opt.ladder = true; /* --size without it is not for steps */
        rt_run_rung(&t.run, t.problem, rung, NULL, &out, NULL);
        alya_test_destroy(&t);
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
    check_box((alya_box_t){.cells = {30, 20, 12}, .growth = 1.3, .jitter = 0.15, .seed = 9});
    check_box((alya_box_t){.cells = {100, 10, 10}, .growth = 1.5, .jitter = 0.16, .seed = 2});
}

int main(int argc, char **argv)
{
    app_test_start("test_mesh", &argc, &argv);
    /* where several ranks share many of its nodes, their bound of a small box is a loose one */
    check_memory(rt_comm_size() > 1 ? "cells=24x20x16" : "cells=14x12x10", NULL);
    if (rt_comm_size() == 1) {
        check_levels();
        check_boxes();
        check_balance();
        check_hub();
        if (getenv("RT_CHECK_LONG"))
            check_memory("cells=48x40x28", NULL);
        /* an order takes memory before there is a rung */
        check_memory("cells=14x12x10 order=hilbert", "cpu-closed");
        check_memory("cells=14x12x10 order=random-all", "reference");
        check_memory("cells=14x12x10 order=random-all reorder=no", "step-cpu-closed");
        check_memory("mesh=box cells=14x12x10", NULL);
    }
    return app_test_stop(check_done());
}
