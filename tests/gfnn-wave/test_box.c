/*
 * test_box.c - arrays, boxes and halos. One rank plays several where no message is needed; the
 * exchange itself runs on as many ranks as there are, so mpirun tests it too.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "gfnn_test.h"
#include "apps/gfnn-wave/box/ghosts.h"

static const int all_faces[] = {GFNN_PERIODIC, GFNN_FREE};

/* --- arrays --- */

/* Catches a pitch too short, so that a row's ghosts are the next one's, and a left margin below the
 * halo's depth. */
static void check_grid(const int64_t n[3], int64_t halo)
{
    const gfnn_grid_t g = gfnn_grid(n, halo);
    const int64_t unit = GFNN_ROW_UNIT, rows = (n[1] + 2 * halo) * (n[2] + 2 * halo);
    CHECK(g.pitch % unit == 0 && g.slab % unit == 0 && g.plane % unit == 0);
    CHECK(gfnn_at(&g, 0, 0, 0) % unit == 0 && gfnn_at(&g, 0, n[1] - 1, n[2] - 1) % unit == 0);
    CHECK(gfnn_at(&g, 1, 2, 3) == g.origin + 1 + 2 * g.pitch + 3 * g.slab);
    CHECK(g.halo == halo && memcmp(g.n, n, sizeof g.n) == 0);
    CHECK(g.plane <= (n[0] + 2 * halo + unit - 1) * rows + unit);
    uint8_t *seen = calloc((size_t)g.plane, 1);
    int64_t wrong = 0;
    for (int64_t k = -halo; k < n[2] + halo; k++)
        for (int64_t j = -halo; j < n[1] + halo; j++)
            for (int64_t i = -halo; i < n[0] + halo; i++) {
                const int64_t at = gfnn_at(&g, i, j, k);
                if (at < 0 || at >= g.plane || seen[at]++)
                    wrong++;
            }
    CHECK(wrong == 0);
    free(seen);
}

static void test_grids(void)
{
    for (int64_t n = 1; n <= 9; n++)
        for (int64_t halo = 0; halo <= GFNN_MAX_ND + 1; halo++) {
            check_grid((const int64_t[]){n, 5, 3}, halo);
            check_grid((const int64_t[]){7, n, 10 - n}, halo);
        }
}

/* --- boxes --- */

static int64_t product(const int64_t n[3])
{
    return n[0] * n[1] * n[2];
}

/* Every node belongs to one box; sides of boxes differ by one at most. */
static void check_boxes(const gfnn_config_t *config, int ranks)
{
    uint8_t *seen = calloc((size_t)product(config->n_nodes), 1);
    int64_t wrong = 0, least[3], most[3] = {0};
    memcpy(least, config->n_nodes, sizeof least);
    CHECK(config->n_ranks[0] * config->n_ranks[1] * config->n_ranks[2] == ranks);
    for (int rank = 0; rank < ranks; rank++) {
        const gfnn_box_t box = gfnn_box(config, rank);
        for (int d = 0; d < 3; d++) {
            least[d] = box.n[d] < least[d] ? box.n[d] : least[d];
            most[d] = box.n[d] > most[d] ? box.n[d] : most[d];
        }
        CHECK(box.fine.halo == 1 && box.wide.halo == GFNN_ND + 1 && box.bare.halo == 0);
        CHECK(memcmp(box.n, box.wide.n, sizeof box.n) == 0);
        CHECK(rank == box.place[0] + box.ranks[0] * (box.place[1] + box.ranks[1] * box.place[2]));
        for (int64_t k = box.first[2]; k < box.first[2] + box.n[2]; k++)
            for (int64_t j = box.first[1]; j < box.first[1] + box.n[1]; j++)
                for (int64_t i = box.first[0]; i < box.first[0] + box.n[0]; i++)
                    wrong += seen[i + box.N[0] * (j + box.N[1] * k)]++ != 0;
    }
    for (int64_t i = 0; i < product(config->n_nodes); i++)
        wrong += seen[i] != 1;
    CHECK(wrong == 0);
    for (int d = 0; d < 3; d++)
        CHECK(least[d] >= 1 && most[d] - least[d] <= 1);
    free(seen);
}

/* Returns the node of the whole box at a position of a box, or -1 beyond a face. */
static int64_t node_at(const gfnn_box_t *box, int64_t i, int64_t j, int64_t k)
{
    int64_t x[3] = {box->first[0] + i, box->first[1] + j, box->first[2] + k};
    for (int d = 0; d < 3; d++) {
        if (box->faces == GFNN_PERIODIC)
            x[d] = (x[d] + 9 * box->N[d]) % box->N[d];
        if (x[d] < 0 || x[d] >= box->N[d])
            return -1;
    }
    return x[0] + box->N[0] * (x[1] + box->N[1] * x[2]);
}

/* Stores what gfnn_ghosts_list tells each rank to store, as GPUs do, into the arrays of all ranks:
 * each ghost must get its node once, and nothing else may be written. */
static void check_patches(const gfnn_config_t *config, int ranks, bool wide, int width)
{
    enum { ROOM = 512, COMPONENTS = 3 };
    static gfnn_patch_t patch[ROOM];
    int32_t **stored = calloc((size_t)ranks, sizeof *stored);
    int64_t wrong = 0;
    for (int r = 0; r < ranks; r++) {
        const gfnn_box_t box = gfnn_box(config, r);
        stored[r] = calloc(COMPONENTS * (size_t)(wide ? box.wide : box.fine).plane, 4);
    }
    for (int me = 0; me < ranks; me++) {
        const gfnn_box_t box = gfnn_box(config, me);
        const gfnn_grid_t *g = wide ? &box.wide : &box.fine;
        const int count = gfnn_ghosts_list(config, me, wide, width, ROOM, patch);
        CHECK(count <= ROOM && count == gfnn_ghosts_list(config, me, wide, width, 0, NULL));
        for (int q = 0; q < count; q++) {
            const gfnn_patch_t *p = &patch[q];
            wrong += q > 0 && p->rank != me && p[-1].rank == me; /* other ranks come first */
            for (int c = 0; c < COMPONENTS; c++)
                for (int k = 0; k < p->n[2]; k++)
                    for (int j = 0; j < p->n[1]; j++)
                        for (int i = 0; i < p->n[0]; i++) {
                            const int64_t from =
                                p->from - g->origin + k * g->slab + j * g->pitch + i;
                            const int64_t z = from / g->slab, y = from % g->slab / g->pitch;
                            int32_t *to = stored[p->rank] + p->to + k * p->to_slab +
                                          j * p->to_pitch + i + c * p->to_plane;
                            wrong += *to != 0; /* twice */
                            *to = (int32_t)(1 + COMPONENTS * node_at(&box, from % g->pitch, y, z) +
                                            c);
                        }
        }
    }
    for (int r = 0; r < ranks; r++) {
        const gfnn_box_t b = gfnn_box(config, r);
        const gfnn_grid_t *g = wide ? &b.wide : &b.fine;
        for (int c = 0; c < COMPONENTS; c++)
            for (int64_t k = -g->halo; k < b.n[2] + g->halo; k++)
                for (int64_t j = -g->halo; j < b.n[1] + g->halo; j++)
                    for (int64_t i = -g->halo; i < b.n[0] + g->halo; i++) {
                        const bool own =
                            i >= 0 && i < b.n[0] && j >= 0 && j < b.n[1] && k >= 0 && k < b.n[2];
                        const bool out = i < -width || i >= b.n[0] + width || j < -width ||
                                         j >= b.n[1] + width || k < -width || k >= b.n[2] + width;
                        const int64_t node = own || out ? -1 : node_at(&b, i, j, k);
                        wrong += stored[r][c * g->plane + gfnn_at(g, i, j, k)] !=
                                 (node < 0 ? 0 : 1 + COMPONENTS * node + c);
                    }
        free(stored[r]);
    }
    CHECK(wrong == 0);
    free(stored);
}

static void test_boxes(void)
{
    static const int64_t sizes[][3] = {{8, 6, 5}, {3, 3, 3}, {16, 3, 4}, {5, 9, 7}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int f = 0; f < 2; f++) {
            const int64_t *e = sizes[s];
            gfnn_config_t config = gfnn_test_config(e[0], e[1], e[2], all_faces[f]);
            for (int ranks = 1; ranks <= 8; ranks++) {
                if (e[0] == 3 && (ranks == 5 || ranks == 7))
                    continue;
                gfnn_box_choose(&config, ranks);
                check_boxes(&config, ranks);
                check_patches(&config, ranks, false, 1);
                check_patches(&config, ranks, true, 1);
                check_patches(&config, ranks, true, 3);
            }
        }
}

/* Checks for least surface; among equals, long rows. */
static void test_choice(void)
{
    static const struct {
        int64_t e[3];
        int ranks, want[3];
    } cases[] = {{{48, 48, 48}, 1, {1, 1, 1}},    {{48, 48, 48}, 2, {1, 1, 2}},
                 {{48, 48, 48}, 4, {1, 1, 4}},    {{48, 48, 48}, 8, {1, 2, 4}},
                 {{256, 256, 512}, 2, {1, 1, 2}}, {{512, 256, 256}, 2, {2, 1, 1}},
                 {{256, 512, 256}, 3, {1, 3, 1}}, {{256, 256, 512}, 8, {1, 1, 8}},
                 {{1024, 16, 16}, 8, {8, 1, 1}},  {{3, 3, 100}, 50, {1, 1, 50}},
                 {{200, 200, 200}, 30, {2, 3, 5}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t *e = cases[c].e;
        gfnn_config_t config = gfnn_test_config(e[0], e[1], e[2], GFNN_PERIODIC);
        gfnn_box_choose(&config, cases[c].ranks);
        CHECK(memcmp(config.n_ranks, cases[c].want, sizeof config.n_ranks) == 0);
    }
    gfnn_config_t config = gfnn_test_config(48, 48, 48, GFNN_PERIODIC);
    config.ranks = "4x1x3";
    gfnn_box_choose(&config, 12);
    CHECK(config.n_ranks[0] == 4 && config.n_ranks[1] == 1 && config.n_ranks[2] == 3);
}

/* --- the exchange --- */

enum { UNTOUCHED = 29999 };

static void put(rt_type_t type, void *data, int64_t at, int value)
{
    if (type == RT_F64)
        ((double *)data)[at] = value;
    else if (type == RT_F32)
        ((float *)data)[at] = (float)value;
    else
        ((uint16_t *)data)[at] = (uint16_t)value; /* bits: a copy changes none */
}

static int get(rt_type_t type, const void *data, int64_t at)
{
    return type == RT_F64   ? (int)((const double *)data)[at]
           : type == RT_F32 ? (int)((const float *)data)[at]
                            : ((const uint16_t *)data)[at];
}

/* Returns a value for component c of a node. */
static int figure(int64_t node, int c)
{
    return (int)((3 * node + c) % UNTOUCHED);
}

/* Checks that own values are there and everything else is UNTOUCHED; after a copy, that `width`
 * layers have the values of their nodes, and nothing else has changed: ghosts further out,
 * ghosts that are no nodes, padding. */
static void check_exchange(const gfnn_box_t *box, const gfnn_grid_t *grid, int width,
                           rt_type_t type)
{
    static const size_t bytes[] = {[RT_F64] = 8, [RT_F32] = 4, [RT_F16] = 2};
    const int64_t plane = grid->plane, *n = box->n;
    void *data = rt_alloc(3 * (size_t)plane, bytes[type], RT_HOST);
    int64_t *node = malloc((size_t)plane * sizeof *node), wrong = 0;
    for (int64_t at = 0; at < plane; at++)
        node[at] = -1;
    for (int64_t at = 0; at < 3 * plane; at++)
        put(type, data, at, UNTOUCHED);
    for (int64_t k = -width; k < n[2] + width; k++)
        for (int64_t j = -width; j < n[1] + width; j++)
            for (int64_t i = -width; i < n[0] + width; i++) {
                const int64_t at = gfnn_at(grid, i, j, k);
                node[at] = node_at(box, i, j, k);
                if (i >= 0 && i < n[0] && j >= 0 && j < n[1] && k >= 0 && k < n[2])
                    for (int c = 0; c < 3; c++)
                        put(type, data, c * plane + at, figure(node[at], c));
            }
    rt_halo_t *halo = gfnn_halo_new(box, grid, width, "auto", RT_CPU, RT_HOST);
    CHECK((halo == NULL) == (rt_comm_size() == 1 && box->faces != GFNN_PERIODIC));
    if (halo) {
        const rt_field_t field = gfnn_field(grid, data, type);
        rt_halo_do(halo, RT_HALO_COPY, &field);
    }
    for (int64_t at = 0; at < plane; at++)
        for (int c = 0; c < 3; c++) {
            const int want = node[at] < 0 ? UNTOUCHED : figure(node[at], c);
            wrong += get(type, data, c * plane + at) != want;
        }
    CHECK(wrong == 0);
    rt_halo_destroy(halo);
    RT_FREE(data, RT_HOST);
    free(node);
}

/* Thin boxes: ghosts of width 3 come from two boxes away, or are own nodes several times. */
static void test_exchange(void)
{
    static const int64_t sizes[][3] = {{9, 6, 5}, {3, 3, 3}, {4, 3, 8}, {20, 17, 24}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int f = 0; f < 2; f++) {
            const int64_t *e = sizes[s];
            gfnn_config_t config = gfnn_test_config(8, 8, 8, all_faces[f]);
            char ranks[32];
            for (int d = 0; d < 3; d++) {
                config.n_elements[d] = e[d];
                config.n_nodes[d] = e[d] + (all_faces[f] != GFNN_PERIODIC);
            }
            snprintf(ranks, sizeof ranks, "1x1x%d", rt_comm_size());
            config.ranks = s == 2 && rt_comm_size() <= e[2] ? ranks : "auto";
            gfnn_box_choose(&config, rt_comm_size());
            const gfnn_box_t box = gfnn_box(&config, rt_comm_rank());
            check_exchange(&box, &box.fine, 1, RT_F64);
            check_exchange(&box, &box.wide, 1, RT_F32);
            check_exchange(&box, &box.wide, 3, RT_F32);
            check_exchange(&box, &box.wide, 3, RT_F16);
        }
    const gfnn_config_t config = gfnn_test_config(8, 8, 8, GFNN_PERIODIC);
    const gfnn_box_t box = gfnn_box(&config, rt_comm_rank());
    if (rt_comm_size() == 1)
        CHECK_DIES(RT_USAGE, "3 deep in arrays of halo 1",
                   { gfnn_halo_new(&box, &box.fine, 3, "auto", RT_CPU, RT_HOST); });
}

int main(int argc, char **argv)
{
    app_test_start("test_box", &argc, &argv);
    if (rt_comm_size() == 1) {
        test_grids();
        test_boxes();
        test_choice();
    }
    test_exchange();
    CHECK(rt_mem_used(RT_HOST) == 0);
    return app_test_stop(check_done());
}
