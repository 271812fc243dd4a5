/*
 * work.c - what a nonlinear step must do, counted before anything is measured; and memory.
 *
 * With N rows, B off-diagonal blocks, E of which belong to faces with an area, O in values of o
 * bytes and dQ in values of q bytes, a step in gathering order reads and writes at
 * least, in bytes:
 *
 *     slopes     read  w 40 N, x 24 N, inverses 48 N, lists 4 N + 4 B       write  120 N
 *     residual   read  w 40 N, x 24 N, slopes 120 N, boundary 4 N,
 *                      lists 4 N + 4 B, areas 24 E                          write  R 40 N, rate 8 N
 *     norm       read  R 40 N, areas 8 N
 *     Jacobian   read  w 40 N, rate 8 N, boundary 4 N, lists 4 N + 4 B,
 *                      areas 24 E                                           write  O 25 o B, D 200 N, scale 8 N
 *     LU         read  200 N                                                write  200 N
 *     right      read  R 40 N, scale 8 N                                    write  40 N
 *     sweeps     as in ../work.c, for each
 *     update     read  w 40 N, dQ 5 q N                                     write  40 N
 *
 * Viscosity adds 8 B + 8 N to the residual and to the Jacobian. The slides' mesh (N = 1,123,718,
 * B = 19,106,474, and if E is 0.63 B as on the wing), O in FP32: slopes 342 MB, residual 635 MB, Jacobian 2,573 MB, LU 449 MB,
 * 15 sweeps 34,593 MB: 90 % of a step's bytes are those of the sweeps.
 *
 * Flops, each +, -, *, / and root, from physics.h and node.h, of one side of a face. E counts both sides,
 * also for a rung that computes a face once: slopes 38 per block and 75 per row; a state in the
 * middle of an edge 35, two per face, and Roe's flux 196; per block of the Jacobian 60 for the
 * waves, and per column 29 for |A|, 22 for A and 10 to add them up; LU 75 per row.
 */
#include "config.h"
#include "march.h"

enum { SLOPE = 38, SLOPES = 75, MIDDLE = 35, ROE = 196, WAVE = 60, COLUMN = 61, FACTOR = 75 };
enum {
    FACE = ROE + 2 * MIDDLE,
    BLOCK = WAVE + 5 * COLUMN,
    UPDATE = 40,
    FRICTION = 40,
    HEAT = 5 * 30
};

/* What rows count: N, B and E; bytes of O and of dQ; with viscosity, B and N + B again. */
enum { N, B, E, O, Q, VB, V };
enum { STEP, SWEEP }; /* calls */

#define ALL "flow-reference flow-simd flow-cuda flow-kokkos"
/* rungs, kernel, {flops}, {bytes read}, {bytes written}, calls */
static const rt_work_row_t rows[] = {
    {ALL, "slopes", {SLOPES, SLOPE}, {116, 4}, {120}, STEP},
    {ALL, "residual", {[E] = FACE, [VB] = FRICTION}, {192, 4, 24, [V] = 8}, {48}, STEP},
    {ALL, "norm", {11}, {48}, {0}, STEP},
    {ALL, "Jacobian", {[E] = BLOCK, [V] = HEAT}, {56, 4, 24, [V] = 8}, {208, [O] = 1}, STEP},
    {ALL, "LU", {FACTOR}, {200}, {200}, STEP},
    {ALL, "right", {5}, {48}, {40}, STEP},
    {ALL, "sweep", {50, 50}, {244, 4, [O] = 1, [Q] = 1}, {[Q] = 1}, SWEEP | RT_IN_FP32},
    {ALL, "update", {UPDATE}, {40, [Q] = 1}, {40}, STEP},
};

/* Counts `steps` steps with `sweeps` sweeps in all as one unit. */
static void count(const mcpi_config_t *c, const rt_rung_t *rung, double faces, double steps,
                  double sweeps, rt_work_t *work)
{
    const double n = (double)c->counts.rows, b = (double)c->counts.blocks,
                 calls[] = {steps, sweeps};
    const double o = (double)mcpi_type_size((mcpi_type_t)c->offdiagonal);
    const double q = (double)mcpi_type_size((mcpi_type_t)c->dq);
    const bool viscous = c->flow_reynolds > 0;
    const double number[RT_WORK_COUNTS] = {
        n, b, faces, 25 * o * b, 5 * q * n, viscous ? b : 0, viscous ? n + b : 0};
    work->n = 0;
    rt_work_rows(rows, sizeof rows / sizeof *rows, rung->name, number, calls, work);
    work->flops = rt_work_flops(work);
    work->bytes = rt_work_bytes(work);
}

void mcpi_march_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const mcpi_config_t c = mcpi_counted(run);
    const bool whole = c.tolerance > 0;
    *work = (rt_work_t){.unit = whole ? "solve" : "step",
                        .units = whole ? 1 : (double)c.steps,
                        .arithmetic = c.accumulate == MCPI_FP64 ? RT_FMA64 : RT_MIXED,
                        .points = (double)c.counts.rows,
                        .point = "row",
                        .loads_and_stores = 2,
                        .distinct_arrays = 2};
    count(&c, rung, (double)c.counts.blocks, 1, (double)c.sweeps, work);
    work->array_bytes = work->bytes / (double)c.sweeps / 2 / rt_comm_size();
}

void mcpi_march_work_done(const mcpi_march_t *m, rt_work_t *work)
{
    mcpi_config_t c = *m->problem->config;
    c.counts = m->problem->counts;
    double steps = 1, sweeps = (double)c.sweeps;
    if (c.tolerance > 0 && m->steps > 0) {
        steps = (double)m->steps;
        sweeps = (double)mcpi_march_tally(m).sweeps;
    }
    count(&c, m->rung, (double)m->problem->geometry->faces, steps, sweeps, work);
}

/* On top of a rung of sweeps with its problem and its judge's fields, which are here states that
 * solves left, and the oracles': the empty system that the Jacobian fills, fields, and what the judge
 * copies: O, D, its factors, and a reference march with all of these. */
void mcpi_march_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const mcpi_config_t c = mcpi_counted(run);
    const mcpi_kernels_t *kernels = (const mcpi_kernels_t *)rung->kernels;
    const rt_rung_t *sweeps =
        kernels ? rt_app_rung(&mcpi_app, kernels->phases->sweeps) : mcpi_cpu_rung();
    const double n = (double)c.counts.local_rows, all = n + (double)c.counts.ghosts;
    const double b = (double)c.counts.local_blocks;
    const double o = (double)mcpi_type_size((mcpi_type_t)c.offdiagonal);
    const double O = 25 * o * b, system = O + (200 + 40 + 4) * n;
    const double q = 5 * (double)mcpi_type_size((mcpi_type_t)c.dq);
    const double field = ((c.tolerance > 0 ? 200 : 160) + q) * all + 96 * n,
                 copies = O + 1000 * n + 400 * all;
    const rt_space_t space = rt_rung_space(rung);
    mcpi_memory(run, sweeps, bytes);
    bytes[RT_HOST] += 2 * system + field + 40 * all + copies;
    bytes[space] += field;
    if (space != RT_HOST)
        bytes[space] += mcpi_geometry_memory(&c.counts);
    if (kernels && kernels->phases->tiled) { /* made on the host */
        bytes[space] += mcpi_tiles_memory(&c.counts);
        bytes[RT_HOST] += mcpi_tiles_memory(&c.counts);
    }
}
