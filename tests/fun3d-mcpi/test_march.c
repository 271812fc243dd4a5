/*
 * test_march.c - the phases of the nonlinear step: free stream, conservation, known values, Jacobian,
 * tiles.
 */
#include "config.h"
#include "march_test.h"
#include "apps/fun3d-mcpi/flow/march.h"

/* --- free stream and conservation --- */

/* A uniform flow through any mesh without walls stays as it is, but for the rounding of sums of
 * areas: a face counted with the wrong sign or left out is of the order of 1. */
static void test_free_stream(const rt_mesh_t *mesh, double mu)
{
    flow_t t = flow_new(mesh, "none", "none", mu);
    double most = 0;
    set_stream(&t, 0);
    residual(&t);
    for (int64_t k = 0; k < NB * t.f.rows; k++)
        most = fmax(most, fabs(t.f.R[k]) / t.f.surface[k / NB]);
    CHECK(most < 100 * RT_EPS);
    CHECK(t.f.rate[0] > 0);
    flow_destroy(&t);
}

/* What flows into all cells is what comes through the boundary. */
static void test_conservation(const rt_mesh_t *mesh, double mu)
{
    flow_t t = flow_new(mesh, "1", "none", mu);
    double sum[NB] = {0}, size = 0;
    for (int64_t s = 0; s < t.geometry->sides; s++)
        t.geometry->side[s].held = 0; /* a momentum row that is held conserves nothing */
    set_stream(&t, 0.1);
    residual(&t);
    for (int64_t i = 0; i < t.f.rows; i++) {
        double F[NB] = {0};
        if (t.f.side_of[i] >= 0)
            mcpi_side_flux(&t.f, i, F);
        for (int v = 0; v < NB; v++)
            sum[v] += t.f.R[NB * i + v] + F[v];
        size += t.f.surface[i];
    }
    for (int v = 0; v < NB; v++)
        CHECK(fabs(sum[v]) < 100 * RT_EPS * size);
    flow_destroy(&t);
}

/* --- known values: what rungs and judge have from one text --- */

/* At a sonic point |V - c| is half of the fix, which is 5 % of |V| + c, and at rest so is |V|. */
static void test_entropy_fix(void)
{
    const double sonic[NB] = {1, 1, 0, 0, 1 / MCPI_GAMMA}, n[3] = {1, 0, 0}; /* c = 1 */
    const mcpi_wave_t f = mcpi_wave(sonic, sonic, n);
    CHECK(fabs(f.still - 1) < 1e-14);
    CHECK(fabs(f.first + f.second * f.c2 + f.still - 2) < 1e-14);    /* V + c */
    CHECK(fabs(f.second * f.c2 - f.first + f.still - 0.05) < 1e-14); /* V - c */
    const double left[NB] = {1, 0, 0, 0, 1 / MCPI_GAMMA}, right[NB] = {2, 0, 0, 0, 1 / MCPI_GAMMA};
    double F[NB] = {0}; /* a contact at rest: it may leak by 0.025 c of its jump, and no more */
    mcpi_add_roe(left, right, n, F);
    const mcpi_wave_t rest = mcpi_wave(left, right, n);
    CHECK(fabs(rest.still - 0.025 * sqrt(rest.c2)) < 1e-14);
    CHECK(fabs(F[0] + 0.5 * rest.still) < 1e-14);
}

/* mu = rho U L / Re of the stream; a Courant number that is a tenth of the first at least, grows as
 * the residual falls, and stays below the most. */
static void test_options(void)
{
    const mcpi_geometry_t body = {.length = 2};
    mcpi_config_t config = {.flow_mach = 0.5, .flow_reynolds = 100, .courant = 10};
    const mcpi_gas_t laminar = mcpi_march_gas(&config, &body, 0); /* the problem itself */
    CHECK(fabs(laminar.mu - 0.5 * 2 / 100) < 1e-15);
    CHECK(laminar.stream[0] == 1 && laminar.stream[1] == 0.5 && laminar.stream[4] == 1 / 1.4);
    static const double known[][2] = {{1, 10},      {2, 5},         {1000, 1},
                                      {1. / 2, 20}, {1. / 16, 160}, {1e-9, 1e4}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        CHECK(fabs(mcpi_march_courant(&config, known[k][0]) / known[k][1] - 1) < 1e-12);
}

/* --- Jacobian --- */

/* Returns the largest |dR_i/dq_j + A_ij| over the rate, of all blocks of a few rows, in a state that
 * differs by `jump` from node to node. The difference quotient has an error of h^2 and eps / h. */
static double jacobian_error(flow_t *t, double jump)
{
    static const double h = 1e-5;
    double most = 0, O[64 * BLOCK], size_O[64 * BLOCK], D[BLOCK], size_D[BLOCK];
    t->first_order = true;
    t->f.cfl = 1e30; /* no part of the step */
    set_stream(t, jump);
    for (int64_t i = 0; i < t->f.rows; i++)
        if (mcpi_is_held(&t->f, i))
            memset(t->f.w + NB * i + 1, 0, 3 * sizeof(double));
    residual(t);
    for (int64_t i = 0; i < t->f.rows; i += 1 + t->f.rows / 20) {
        const int64_t n = t->f.start[i + 1] - t->f.start[i];
        mcpi_reference_row_blocks(&t->f, i, O, D, size_O, size_D);
        for (int64_t e = -1; e < n; e++)
            for (int c = 0; c < NB; c++) {
                const int64_t j = e < 0 ? i : t->f.column[t->f.start[i] + e];
                double kept[NB], q[NB], R[2][NB], unused[NB];
                memcpy(kept, t->f.w + NB * j, sizeof kept);
                for (int side = 0; side < 2; side++) {
                    memset(q, 0, sizeof q);
                    q[c] = side ? -h : h;
                    CHECK(mcpi_move(t->f.w + NB * j, q, 1, 0.1));
                    mcpi_reference_residual(&t->f, i, R[side], unused);
                    memcpy(t->f.w + NB * j, kept, sizeof kept);
                }
                const double *block = e < 0 ? D : O + BLOCK * e;
                for (int v = 0; v < NB; v++) {
                    const bool held = mcpi_is_held(&t->f, i) && v >= 1 && v < 4;
                    const double got = -(R[0][v] - R[1][v]) / (2 * h);
                    if (!held)
                        most = fmax(most, fabs(got - block[NB * c + v]) / t->f.rate[i]);
                }
            }
    }
    return most;
}

/* A leaves out how |A| changes with the state, which is multiplied by the jump across a face: in a
 * uniform state it is exact, and else its error is proportional to the jump. */
static void test_jacobian(const rt_mesh_t *mesh, const char *walls, double mu)
{
    flow_t t = flow_new(mesh, walls, "none", mu);
    if (mu == 0) /* else the fluid is held at the wall, and so not uniform */
        CHECK(jacobian_error(&t, 0) < 1e-9);
    const double small = jacobian_error(&t, 1e-3), large = jacobian_error(&t, 1e-2);
    CHECK(small > 0 && large / small > 5 && large / small < 20 && large < 0.1);
    flow_destroy(&t);
}

/* --- tiles --- */

static void copy_members(const mcpi_field_t *f, int32_t tile, int values, int stride, double *copy)
{
    const mcpi_tiles_t *t = &f->tiles;
    for (int32_t m = t->member_first[tile]; m < t->member_first[tile + 1]; m++)
        for (int v = 0; v < values; v++) {
            int apart;
            const double *source = mcpi_tile_source(f, v, &apart);
            copy[stride * (m - t->member_first[tile]) + v] = source[apart * t->member[m]];
        }
}

/* Computes what the threads of a block do: flux and rate of all nodes of a tile. */
static void tile_fluxes(const mcpi_tiles_t *t, int32_t tile, const double *copy,
                        double F[MCPI_TILE][MCPI_FACE_VALUES])
{
    static double values[MCPI_FACE_VALUES * (MCPI_TILE_FACES + 3)];
    memset(F, 0, MCPI_TILE * sizeof *F);
    for (int32_t k = t->face_first[tile]; k < t->face_first[tile + 1]; k++) {
        const mcpi_tile_face_t face = mcpi_tile_face(t, k);
        mcpi_tile_flux(copy, &face, k - t->face_first[tile], values);
    }
    for (int32_t p = t->first[tile]; p < t->first[tile + 1]; p++)
        for (int from = 0; from < MCPI_FACE_VALUES; from += 3)
            mcpi_tile_collect(t, values, p, from, F[p - t->first[tile]] + from);
}

/* Slopes and residuals from tiles are those of the plain loops but for the order of sums. Rows are
 * taken backwards, so that the order of the curve matters. */
static void test_tiles(const rt_mesh_t *mesh, double mu)
{
    static double copy[MCPI_MEMBERS * MCPI_LONG_NODE], F[MCPI_TILE][MCPI_FACE_VALUES];
    enum { LANES = 3 };
    flow_t t = flow_new(mesh, "1", "none", mu);
    const int64_t rows = t.f.rows;
    uint32_t *order = RT_NEW(uint32_t, (size_t)rows, RT_HOST);
    int64_t seen = 0;
    for (int64_t i = 0; i < rows; i++)
        order[i] = (uint32_t)(rows - 1 - i);
    set_stream(&t, 0.1);
    residual(&t);
    CHECK(mcpi_tiles_new(t.part, t.geometry, order, RT_HOST, &t.f.tiles) == -1);
    const mcpi_tiles_t *tiles = &t.f.tiles;
    CHECK(tiles->tiles > 1 && tiles->part_first[rows] == t.geometry->faces);
    for (int32_t tile = 0; tile < tiles->tiles; tile++) {
        const int32_t first = tiles->first[tile], end = tiles->first[tile + 1];
        CHECK(tiles->member_first[tile + 1] - tiles->member_first[tile] <= MCPI_MEMBERS);
        CHECK(end - first <= MCPI_TILE);
        CHECK(tiles->entry[end] - tiles->entry[first] <= MCPI_TILE_ENTRIES);
        CHECK(tiles->face_first[tile + 1] - tiles->face_first[tile] <= MCPI_TILE_FACES);
        copy_members(&t.f, tile, NB + 3, MCPI_SHORT_NODE, copy);
        for (int64_t place = first; place < end; place++, seen++) {
            double sum[3 * NB] = {0}, g[3 * NB];
            for (int lane = 0; lane < LANES; lane++)
                mcpi_tile_slopes(copy, (int)(place - first), tiles->near + tiles->entry[place],
                                 tiles->entry[place + 1] - tiles->entry[place], lane, LANES, sum);
            mcpi_fit_slopes(&t.f, order[place], sum, g);
            CHECK(differ(3 * NB, g, 1, t.f.gradient + 3 * NB * order[place]) < 1e-12);
        }
        copy_members(&t.f, tile, MCPI_LONG_NODE, MCPI_LONG_NODE, copy);
        tile_fluxes(tiles, tile, copy, F);
        for (int64_t place = first; place < end; place++) {
            const int64_t i = order[place];
            const double before = t.f.rate[i];
            double R[NB], *out = F[place - first];
            for (int lane = 0; lane < LANES && mu > 0; lane++)
                mcpi_tile_friction(&t.f, copy, (int)(place - first), place, lane, LANES, out);
            memcpy(R, t.f.R + NB * i, sizeof R);
            mcpi_put_residual(&t.f, i, out[NB], out);
            CHECK(differ(NB, R, 1, t.f.R + NB * i) < 1e-13 * before);
            CHECK(fabs(t.f.rate[i] / before - 1) < 1e-14);
        }
    }
    CHECK(seen == rows);
    mcpi_tiles_destroy(&t.f.tiles, RT_HOST);
    RT_FREE(order, RT_HOST);
    flow_destroy(&t);
}

/* Two vertices of a ring of tetrahedra around them have more neighbours than a tile has room for. */
static void test_no_room(void)
{
    enum { RING = MCPI_MEMBERS };
    rt_mesh_t *mesh = mesh_new(RING + 2, RING);
    for (int32_t k = 0; k < RING; k++) {
        const int32_t vertex[4] = {0, 1, 2 + k, 2 + (k + 1) % RING};
        const double angle = 2 * 3.14159265358979323846 * k / RING;
        const double x[3] = {cos(angle), sin(angle), 0.5};
        memcpy(mesh->x + 3 * (2 + k), x, sizeof x);
        add(mesh, RT_TETRAHEDRON, vertex);
    }
    memcpy(mesh->x, (const double[]){0, 0, 0, 0, 0, 1}, 6 * sizeof(double));
    flow_t t = flow_new(mesh, "none", "none", 0);
    uint32_t order[RING + 2];
    for (uint32_t i = 0; i < RING + 2; i++)
        order[i] = i;
    const int64_t row = mcpi_tiles_new(t.part, t.geometry, order, RT_HOST, &t.f.tiles);
    CHECK(row >= 0 && t.part->vertex[row] < 2);
    CHECK(t.f.tiles.tiles == 0);
    flow_destroy(&t);
    rt_mesh_destroy(mesh);
}

int main(void)
{
    rt_mesh_t *mixed = cube(3, true), *tets = cube(4, false);
    test_free_stream(mixed, 0);
    test_free_stream(mixed, 0.01);
    test_free_stream(tets, 0.01);
    test_conservation(mixed, 0);
    test_conservation(mixed, 0.01);
    test_entropy_fix();
    test_options();
    test_jacobian(mixed, "none", 0);
    test_jacobian(mixed, "1", 0);
    test_jacobian(mixed, "none", 0.01);
    test_tiles(mixed, 0.01);
    test_tiles(tets, 0);
    test_no_room();
    rt_mesh_destroy(mixed);
    rt_mesh_destroy(tets);
    return check_done();
}
