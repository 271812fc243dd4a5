/*
 * test_march.c - the nonlinear step: free stream, conservation, Jacobian, order of accuracy, and a
 * sheared layer with an exact solution.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/fun3d-mcpi/flow/tile.h"
#include "apps/fun3d-mcpi/flow/reference.h"
#include "tests/common/check.h"
#include "tests/fun3d-mcpi/flow_test.h"

enum { NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q };

/* --- a flow on one rank, with what a solver needs --- */

typedef struct {
    mcpi_source_t *source;
    uint16_t *colour;
    mcpi_order_t *order;
    mcpi_part_t *part;
    mcpi_geometry_t *geometry;
    mcpi_field_t f;
    int32_t *start;
    double *dq;
} flow_t;

static double *array(int64_t n)
{
    double *x = RT_NEW(double, (size_t)n, RT_HOST);
    memset(x, 0, (size_t)n * sizeof *x);
    return x;
}

static flow_t flow_new(const rt_mesh_t *mesh, const char *walls, const char *symmetry, double mu)
{
    const mcpi_flow_t made_up = {.nb = NB,
                                 .cfl = 10,
                                 .mach = 0.5,
                                 .reynolds = 100,
                                 .walls = walls,
                                 .symmetry = symmetry,
                                 .seed = 1};
    mcpi_piece_t *piece = mcpi_piece_new(mesh->vertices, mesh->vertices);
    flow_t t = {.source = mcpi_flow_new(mesh, piece, &made_up)};
    const int64_t rows = t.source->graph->rows;
    t.colour = RT_NEW(uint16_t, (size_t)rows, RT_HOST);
    const int colours = mcpi_colour(t.source->graph, piece, t.source->odd, false, t.colour);
    t.order =
        mcpi_order_new(t.source->graph, piece, t.colour, colours, MCPI_HILBERT, t.source->x, 1);
    t.part = mcpi_part_new(t.source->graph, piece, t.order);
    t.geometry = mcpi_geometry_new(t.source, t.part, mu > 0);
    t.start = RT_NEW(int32_t, (size_t)rows + 1, RT_HOST);
    for (int64_t i = 0; i <= rows; i++)
        t.start[i] = (int32_t)t.part->start[i];
    const mcpi_geometry_t *g = t.geometry;
    t.dq = array(NB * rows);
    t.f = (mcpi_field_t){.rows = rows,
                         .start = t.start,
                         .column = t.part->column,
                         .x = g->x,
                         .n = g->n,
                         .viscous = g->viscous,
                         .diagonal = g->diagonal,
                         .fit = g->fit,
                         .volume = g->volume,
                         .surface = g->surface,
                         .side_of = g->side_of,
                         .side = g->side,
                         .gas = {.stream = {1, 0.5, 0.1, -0.05, 1 / MCPI_GAMMA},
                                 .mu = mu,
                                 .eps2 = {-1, -1, -1, -1, -1},
                                 .second = true},
                         .w = array(NB * rows),
                         .gradient = array(3 * NB * rows),
                         .R = array(NB * rows),
                         .rate = array(rows),
                         .scale = array(rows),
                         .O = array(BLOCK * t.part->start[rows]),
                         .LU = array(BLOCK * rows),
                         .right = array(NB * rows),
                         .dq = t.dq};
    return t;
}

static void flow_destroy(flow_t *t)
{
    void *const arrays[] = {
        t->f.w,  t->f.gradient, t->f.R, t->f.rate, t->f.scale,          t->f.O,
        t->f.LU, t->f.right,    t->dq,  t->start,  (void *)t->f.source, (void *)t->f.outside};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        rt_free(arrays[k], RT_HOST);
    mcpi_geometry_destroy(t->geometry);
    mcpi_part_destroy(t->part);
    mcpi_order_destroy(t->order);
    RT_FREE(t->colour, RT_HOST);
    mcpi_source_destroy(t->source);
}

static const mcpi_phases_t *simd(void)
{
    return mcpi_flow_simd.phases;
}

static void set_stream(flow_t *t, double size)
{
    for (int64_t k = 0; k < NB * t->f.rows; k++) {
        const double stream = t->f.gas.stream[k % NB];
        const double random = size * rt_random((uint64_t)k, 5);
        t->f.w[k] = k % NB == 0 || k % NB == 4 ? stream * (1 + random) : stream + random;
    }
}

static void residual(flow_t *t)
{
    if (t->f.gas.second)
        simd()->gradient(&t->f);
    simd()->residual(&t->f);
}

/* --- free stream and conservation --- */

/* A uniform flow through any mesh without walls stays as it is, but for the rounding of sums of
 * areas: a face counted with the wrong sign or left out is of the order of 1. */
static void test_free_stream(const rt_mesh_t *mesh, double mu)
{
    flow_t t = flow_new(mesh, "none", "none", mu);
    for (int second = 0; second < 2; second++) {
        double most = 0;
        t.f.gas.second = second;
        set_stream(&t, 0);
        residual(&t);
        for (int64_t k = 0; k < NB * t.f.rows; k++)
            most = fmax(most, fabs(t.f.R[k]) / t.f.surface[k / NB]);
        CHECK(most < 100 * RT_EPS);
        CHECK(t.f.rate[0] > 0);
    }
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

/* --- Jacobian --- */

/* Returns the largest |dR_i/dq_j + A_ij| over the rate, of all blocks of a few rows, in a state that
 * differs by `jump` from node to node. The difference quotient has an error of h^2 and eps / h. */
static double jacobian_error(flow_t *t, double jump)
{
    static const double h = 1e-5;
    double most = 0, O[64 * BLOCK], size_O[64 * BLOCK], D[BLOCK], size_D[BLOCK];
    t->f.gas.second = false;
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

/* The blocks of the fast text are those of dense algebra, entry by entry, and so are its residuals:
 * the judge's own check, here on meshes of all elements. */
static void test_blocks(const rt_mesh_t *mesh, double mu, double eps2)
{
    flow_t t = flow_new(mesh, "1", "none", mu);
    double worst[2] = {0, 0}, O[64 * BLOCK], size_O[64 * BLOCK], D[BLOCK], size_D[BLOCK];
    set_stream(&t, 0.1);
    t.f.cfl = 7;
    for (int v = 0; v < NB; v++)
        t.f.gas.eps2[v] = eps2;
    residual(&t);
    simd()->jacobian(&t.f);
    for (int64_t i = 0; i < t.f.rows; i++) {
        double R[NB], size[NB];
        mcpi_reference_residual(&t.f, i, R, size);
        for (int v = 0; v < NB; v++)
            worst[0] = fmax(worst[0], fabs(R[v] - t.f.R[NB * i + v]) / (RT_EPS * size[v] + 1e-300));
        mcpi_reference_row_blocks(&t.f, i, O, D, size_O, size_D);
        for (int64_t k = 0; k < (t.f.start[i + 1] - t.f.start[i]) * BLOCK; k++) {
            const double got = ((double *)t.f.O)[BLOCK * t.f.start[i] + k] / t.f.scale[i];
            worst[1] = fmax(worst[1], fabs(O[k] - got) / (RT_EPS * size_O[k] + 1e-300));
        }
    }
    CHECK(worst[0] < 32 && worst[1] < 32);
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

/* Slopes and residuals from tiles, with three lanes per node, are those of the plain loops but for
 * the order of sums. Rows are taken backwards, so that the order of the curve matters. */
static void test_tiles(const rt_mesh_t *mesh, double mu)
{
    static double copy[MCPI_MEMBERS * MCPI_LONG_SPOT];
    enum { LANES = 3 };
    flow_t t = flow_new(mesh, "1", "none", mu);
    const int64_t rows = t.f.rows;
    uint32_t *turn = RT_NEW(uint32_t, (size_t)rows, RT_HOST);
    int64_t seen = 0;
    for (int64_t i = 0; i < rows; i++)
        turn[i] = (uint32_t)(rows - 1 - i);
    set_stream(&t, 0.1);
    residual(&t);
    CHECK(mcpi_tiles_new(t.part, t.geometry, turn, RT_HOST, &t.f.tiles));
    const mcpi_tiles_t *tiles = &t.f.tiles;
    CHECK(tiles->tiles > 1 && tiles->face[rows] == t.geometry->faces);
    for (int32_t tile = 0; tile < tiles->tiles; tile++) {
        CHECK(tiles->member_first[tile + 1] - tiles->member_first[tile] <= MCPI_MEMBERS);
        CHECK(tiles->first[tile + 1] - tiles->first[tile] <= MCPI_TILE);
        for (int64_t place = tiles->first[tile]; place < tiles->first[tile + 1]; place++, seen++) {
            const int64_t i = turn[place];
            double sum[3 * NB] = {0}, F[NB] = {0}, rate = 0, kept[3 * NB], R[NB];
            copy_members(&t.f, tile, NB + 3, MCPI_SHORT_SPOT, copy);
            for (int lane = 0; lane < LANES; lane++)
                mcpi_tile_slopes(&t.f, copy, place, lane, LANES, sum);
            memcpy(kept, t.f.gradient + 3 * NB * i, sizeof kept);
            mcpi_put_slopes(&t.f, i, sum);
            CHECK(differ(3 * NB, kept, 1, t.f.gradient + 3 * NB * i) < 1e-12);
            memcpy(t.f.gradient + 3 * NB * i, kept, sizeof kept);

            copy_members(&t.f, tile, MCPI_LONG_SPOT, MCPI_LONG_SPOT, copy);
            for (int lane = 0; lane < LANES; lane++)
                rate += mcpi_tile_flux(&t.f, copy, place, lane, LANES, F);
            memcpy(R, t.f.R + NB * i, sizeof R);
            const double before = t.f.rate[i];
            mcpi_put_residual(&t.f, i, rate, F);
            CHECK(differ(NB, R, 1, t.f.R + NB * i) < 1e-13 * before);
            CHECK(fabs(t.f.rate[i] / before - 1) < 1e-14);
        }
    }
    CHECK(seen == rows);
    mcpi_tiles_destroy(&t.f.tiles, RT_HOST);
    RT_FREE(turn, RT_HOST);
    flow_destroy(&t);
}

/* --- solving --- */

/* Steps until the residual has fallen to `to`; returns the steps, or -1. */
static int solve(flow_t *t, double courant, double to)
{
    const mcpi_system_t system = {
        .nb = NB, .type = MCPI_FP64, .part = t->part, .O = t->f.O, .LU = t->f.LU, .R = t->f.right};
    double first = 0;
    for (int step = 0; step < 400; step++) {
        residual(t);
        const double norm = sqrt(simd()->norm(&t->f));
        first = step == 0 ? norm : first;
        if (norm <= to * first)
            return step;
        t->f.cfl = courant * first / norm;
        simd()->jacobian(&t->f);
        simd()->factor(&t->f);
        simd()->right(&t->f);
        memset(t->dq, 0, (size_t)(NB * t->f.rows) * sizeof(double));
        for (int sweep = 0; sweep < 10; sweep++)
            mcpi_reference_rows(&system, t->f.right, 0, t->f.rows, t->dq, NULL);
        simd()->update(&t->f);
    }
    return -1;
}

/* --- order of accuracy, by a manufactured solution --- */

static void exact(const double *x, double *w)
{
    const double s = sin(2 * x[0] + x[1] - 0.5 * x[2]), c = cos(x[0] - 1.5 * x[1] + x[2]);
    w[0] = 1 + 0.1 * s;
    w[1] = 0.4 + 0.05 * c;
    w[2] = 0.1 + 0.05 * s;
    w[3] = -0.1 + 0.04 * c * s;
    w[4] = (1 + 0.1 * c) / MCPI_GAMMA;
}

/* The divergence of the exact flux, by central differences of fourth order. */
static void divergence(const double *x, double *S)
{
    static const double h = 1e-2, weight[4] = {1. / 12, -2. / 3, 2. / 3, -1. / 12};
    static const int at[4] = {-2, -1, 1, 2};
    memset(S, 0, NB * sizeof *S);
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < 4; k++) {
            double y[3], w[NB], area[3] = {0};
            memcpy(y, x, sizeof y);
            y[d] += at[k] * h;
            area[d] = 1;
            exact(y, w);
            mcpi_add_flux(w, area, weight[k] / h, S);
        }
}

/* Returns the error of the density in the mean square, on a cube of n cells. */
static double manufactured(int n, bool second)
{
    rt_mesh_t *mesh = cube(n, false);
    flow_t t = flow_new(mesh, "none", "none", 0);
    double *source = array(NB * t.f.rows), *outside = array(NB * t.f.rows), sum = 0, volume = 0;
    t.f.gas.second = second;
    for (int64_t i = 0; i < t.f.rows; i++) {
        exact(t.f.x + 3 * i, outside + NB * i);
        divergence(t.f.x + 3 * i, source + NB * i);
        for (int v = 0; v < NB; v++)
            source[NB * i + v] *= t.f.volume[i];
    }
    t.f.source = source;
    t.f.outside = outside;
    set_stream(&t, 0);
    CHECK(solve(&t, 100, 1e-7) > 0);
    for (int64_t i = 0; i < t.f.rows; i++) {
        const double d = t.f.w[NB * i] - outside[NB * i];
        sum += t.f.volume[i] * d * d;
        volume += t.f.volume[i];
    }
    CHECK(fabs(volume - 1) < 1e-12);
    flow_destroy(&t);
    rt_mesh_destroy(mesh);
    return sqrt(sum);
}

static void test_order(void)
{
    enum { FINE = 16 };
    for (int second = 0; second < 2; second++) {
        const double coarse = manufactured(FINE / 2, second), better = manufactured(FINE, second);
        const double order = log2(coarse / better);
        printf("order of accuracy %d: %.3f (%.3g, %.3g)\n", 1 + second, order, coarse, better);
        CHECK(fabs(order - (1 + second)) < (second ? 0.1 : 0.25));
    }
}

/* --- a sheared layer --- */

/* Couette flow between a wall at rest and one that moves with speed U, no energy passing either of
 * them: u = U z, and the conducted |u|^2/2 + (gamma / Pr) e is the same everywhere. */
static void couette(const double *x, double *w)
{
    static const double U = 0.5;
    const double e0 = 1 / (MCPI_GAMMA * (MCPI_GAMMA - 1)), u = U * x[2];
    const double e = e0 + MCPI_PRANDTL / MCPI_GAMMA * (U * U - u * u) / 2;
    w[1] = u;
    w[2] = w[3] = 0;
    w[4] = 1 / MCPI_GAMMA;
    w[0] = w[4] / ((MCPI_GAMMA - 1) * e);
}

/* Returns the largest error of the velocity, and in *heat that of e over its variation, which a
 * wrong Prandtl number or friction without heat would make 1. */
static double sheared(int n, double *heat)
{
    rt_mesh_t *mesh = cube(n, false);
    flow_t t = flow_new(mesh, "none", "none", 0.1);
    double *outside = array(NB * t.f.rows), most[2] = {0, 0};
    for (int64_t i = 0; i < t.f.rows; i++) {
        const double z = t.f.x[3 * i + 2];
        couette(t.f.x + 3 * i, outside + NB * i);
        if (t.f.side_of[i] < 0)
            continue;
        mcpi_side_t *side = t.geometry->side + t.f.side_of[i];
        side->held = z < 1e-9 || z > 1 - 1e-9;
        side->wall[2] = z < 1e-9 || z > 1 - 1e-9 ? side->far[2] : 0;
        side->far[2] -= side->wall[2];
        side->slip[1] = side->far[1];
        side->far[1] = 0;
    }
    t.f.outside = outside;
    memcpy(t.f.w, outside, (size_t)(NB * t.f.rows) * sizeof(double));
    for (int64_t i = 0; i < t.f.rows; i++)
        if (!mcpi_is_held(&t.f, i)) { /* far from the solution, but at the walls */
            t.f.w[NB * i + 1] = 0.25;
            t.f.w[NB * i] = 1;
        }
    CHECK(solve(&t, 100, 1e-7) > 0);
    for (int64_t i = 0; i < t.f.rows; i++) {
        const double *w = t.f.w + NB * i, *want = outside + NB * i;
        const double e = w[4] / w[0] / (MCPI_GAMMA - 1),
                     e_want = want[4] / want[0] / (MCPI_GAMMA - 1);
        most[0] = fmax(most[0], fabs(w[1] - want[1]));
        most[1] = fmax(most[1], fabs(e - e_want));
    }
    *heat = most[1] / (MCPI_PRANDTL / MCPI_GAMMA * 0.125);
    flow_destroy(&t);
    rt_mesh_destroy(mesh);
    return most[0];
}

static void test_sheared(void)
{
    double heat[2], velocity[2];
    for (int k = 0; k < 2; k++) {
        velocity[k] = sheared(4 << k, heat + k);
        printf("Couette: velocity off by %.3g, heat by %.3g\n", velocity[k], heat[k]);
    }
    /* of first order where walls and side faces meet, so in the largest error */
    CHECK(velocity[1] < 0.02 && velocity[1] < velocity[0] / 1.5);
    CHECK(heat[1] < 0.15 && heat[1] < heat[0] / 1.5);
}

int main(void)
{
    rt_mesh_t *mixed = cube(3, true), *tets = cube(4, false);
    test_free_stream(mixed, 0);
    test_free_stream(mixed, 0.01);
    test_free_stream(tets, 0.01);
    test_conservation(mixed, 0);
    test_conservation(mixed, 0.01);
    test_jacobian(mixed, "none", 0);
    test_jacobian(mixed, "1", 0);
    test_jacobian(mixed, "none", 0.01);
    test_blocks(mixed, 0, -1);
    test_blocks(mixed, 0.01, -1);
    test_blocks(tets, 0, 0.1);
    test_tiles(mixed, 0.01);
    test_tiles(tets, 0);
    test_order();
    test_sheared();
    rt_mesh_destroy(mixed);
    rt_mesh_destroy(tets);
    return check_done();
}
