/*
 * work.c - what a sweep must do, counted before anything is measured; memory.
 *
 * With N rows, B off-diagonal blocks, blocks of nb x nb, O in values of o bytes and dQ in values of
 * q bytes, one sweep reads and writes at least, in MB for the paper's mesh (N = 1,123,718, B =
 * 19,106,474, nb = 5, o = q = 4):
 *
 *     O               o nb^2 B      1910.6     every block once
 *     column index    4 B             76.4
 *     row pointers    4 N              4.5
 *     D               8 nb^2 N       224.7     factors, FP64
 *     R               8 nb N          44.9
 *     dQ            2 q nb N          44.9     read once and written once
 *                                   2306.2     15 sweeps: 34.59 GB, 48 ms at the paper's 716 GB/s
 *
 * and does 2 nb^2 flops per block, and as many per row: nb (nb - 1) forward, as many backward, nb
 * products with reciprocals, nb differences from R. Every rung is credited with that, for the types
 * of the run. dQ of neighbours is read B times in all and counted once: each colour touches most
 * rows, so if dQ does not stay in the last cache it is read again once per colour. The reference
 * sweeps FP64 dQ whatever was asked, and is credited like the others.
 */
#include "config.h"
#include "mcpi.h"
#include "flow/flow.h"
#include <math.h>
#include <string.h>

enum { VALUE = sizeof(double), INDEX = sizeof(int32_t) };
/* Bytes: blocks of one row per thread; what is small and not counted one by one. */
enum { ROW_SCRATCH = 262144, SMALL = 65536 };

/* What rows count: the system's rows and blocks, the flops of a sweep, and the bytes of O, D and R,
 * and of dQ in the run's type. */
enum { N, B, FLOPS, O, D, R, DQ };

#define ALL "cpu-simd naive warp-shared warp-shuffle six-rows staged kokkos"
/* rungs, kernel, {flops}, {bytes read}, {bytes written}, calls. A call of the timer `rows` is one
 * colour or all sweeps, so `sweep` is credited instead. */
static const rt_work_row_t rows[] = {
    {"reference", "sweep", {[FLOPS] = 1}, {INDEX, INDEX, 0, 1, 1, [R] = 2}, {[R] = 1}, 0},
    {ALL, "sweep", {[FLOPS] = 1}, {INDEX, INDEX, 0, 1, 1, 1, [DQ] = 1}, {[DQ] = 1}, 0},
};

static const mcpi_kernels_t *kernels_of(const rt_rung_t *rung)
{
    return (const mcpi_kernels_t *)(rung->kernels ? rung : mcpi_cpu_rung())->kernels;
}

void mcpi_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const mcpi_config_t counted = mcpi_counted(run), *config = &counted;
    const double n = (double)config->counts.rows, b = (double)config->counts.blocks;
    const double nb = (double)config->nb, flops = 2 * nb * nb * (b + n), once = 1;
    const double o = (double)mcpi_type_size((mcpi_type_t)config->offdiagonal);
    const double q = (double)mcpi_type_size((mcpi_type_t)config->dq);
    const bool single = config->accumulate == MCPI_FP32 && !kernels_of(rung)->always_fp64;
    const double count[RT_WORK_COUNTS] = {
        n, b, flops, o * nb * nb * b, VALUE * nb * nb * n, VALUE * nb * n, q * nb * n};
    const double bytes = INDEX * (n + b) + count[O] + count[D] + count[R] + 2 * count[DQ];
    /* --roofline copies half of what a sweep touches to the other half */
    *work = (rt_work_t){.unit = "sweep",
                        .units = (double)config->sweeps,
                        .arithmetic = single ? RT_FMA32 : RT_FMA64, /* of O dQ */
                        .flops = flops,
                        .bytes = bytes,
                        .points = n,
                        .point = "row",
                        .loads_and_stores = 2,
                        .distinct_arrays = 2,
                        .array_bytes = bytes / 2 / rt_comm_size()};
    rt_work_rows(rows, sizeof rows / sizeof *rows, rung->name, count, &once, work);
}

/* --- memory --- */

typedef struct {
    double n, b, g; /* of this rank: rows, blocks, ghosts */
    double N;       /* rows of all */
    double nb;
} counts_t;

/* Ghosts are received, and about as many boundary rows are sent; one halo per colour, about 16. */
static double halo_memory(const counts_t *c, rt_space_t space)
{
    enum { HALOS = 16 };
    const int64_t shared = (int64_t)(2.5 * c->g / HALOS) + 8;
    return c->g > 0 ? HALOS * (double)rt_halo_predict(0, shared, (int)c->nb, space) : 0;
}

static double halo_set_up(const counts_t *c)
{
    return c->g > 0 ? (double)rt_halo_predict_setup(0, (int64_t)c->g) + 34 * c->g : 0;
}

/* Returns the bytes of the piece and its graph (4 bytes per block), normals and viscous factors (32
 * bytes per block), flow, coordinates. */
static double source_memory(const counts_t *c)
{
    const double m = c->n + c->g, exchanged = c->g > 0 ? 2.5 * c->g : 0;
    const double piece =
        (VALUE + 1) * m + VALUE * m + INDEX * c->b +
        (double)rt_halo_predict(0, (int64_t)exchanged, MCPI_PIECE_COMPONENTS, RT_HOST);
    return piece + 4 * VALUE * c->b + (c->nb + 8) * VALUE * m;
}

/* Returns the most that is there while the source is made. Vertices have x and up to 6 tetrahedra,
 * and elements have lists of about 24 per vertex. There is also the surface of the wing, or, on several
 * ranks, the whole file. */
static double making_source(const mcpi_config_t *config, const counts_t *c)
{
    enum { COLUMN = 256, SEARCH = 100 }; /* bytes of the surface, and of the distance */
    const double mesh = 3 * VALUE + 6 * 4 * INDEX, lists = 24 * INDEX + 2 * VALUE + SEARCH;
    const double m = c->n + c->g, source = source_memory(c);
    const double columns = config->from_file ? 0 : c->N / (double)(config->layers + 1);
    const double from = c->g > 0 && config->from_file ? c->N : 0;
    return source + mesh * (m + from) + lists * m + COLUMN * columns;
}

/* Returns the bytes of start, column, O, LU and R in the space of a rung off the host. Chunks take
 * more room: see input/portable.h. */
static double view_memory(const mcpi_config_t *config, const counts_t *c, bool chunked)
{
    const double o = (double)mcpi_type_size((mcpi_type_t)config->offdiagonal);
    return INDEX * (c->n + c->b) + o * c->nb * c->nb * c->b +
           (chunked ? (MCPI_CHUNK - o) * c->nb * c->n : 0) + VALUE * (c->nb * c->nb + c->nb) * c->n;
}

/* Returns the bytes of the problem as it is kept; *making: the most while it is made. */
static double problem_memory(const rt_run_t *run, const mcpi_config_t *config, const counts_t *c,
                             double *making)
{
    const bool sweeps = mcpi_wants_sweeps(run);
    const double o = (double)mcpi_type_size((mcpi_type_t)config->offdiagonal);
    const double nb2 = c->nb * c->nb, values = VALUE * c->nb * c->n;
    const double matrix = sweeps ? VALUE * nb2 * (c->b + c->n) + 2 * values : values;
    const double system = sweeps ? o * nb2 * c->b + VALUE * nb2 * c->n + values + INDEX * c->n : 0;
    const double source = source_memory(c);
    const double part =
        2 * INDEX * c->b + (VALUE + INDEX) * c->n + (2 * VALUE + INDEX) * (c->n + c->g);
    /* colours, keys and lists of the order, rows */
    const double ordering = source + part + 60 * (c->n + c->g);
    const double filling = source + part + matrix + ROW_SCRATCH;
    const double kept = part + matrix + system + halo_memory(c, RT_HOST);
    /* the right-hand side needs dQ* of ghosts too */
    *making = fmax(making_source(config, c), fmax(ordering, filling));
    *making = fmax(*making, kept + fmax(halo_set_up(c), VALUE * c->nb * (c->n + c->g)));
    return kept;
}

/* The host has the exact matrix (FP64), the system and its halos, and, while a rung is verified,
 * fields of dQ's size: five of the judge, three that solves left, and two oracles with their spread.
 * The most is either that, or graph and flow while the problem is made. A device rung has its copies
 * of the system on the device. */
void mcpi_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const mcpi_config_t counted = mcpi_counted(run), *config = &counted;
    const mcpi_kernels_t *kernels = kernels_of(rung);
    const rt_space_t space = rt_rung_space(rung);
    const mcpi_counts_t *counts = &config->counts;
    const counts_t c = {.n = (double)counts->local_rows,
                        .b = (double)counts->local_blocks,
                        .g = (double)counts->ghosts,
                        .N = (double)counts->rows,
                        .nb = (double)config->nb};
    const double field = VALUE * c.nb * (c.n + c.g);
    double lists[RT_SPACES] = {0}, making, kept = problem_memory(run, config, &c, &making);
    for (int s = 0; s < RT_SPACES; s++)
        bytes[s] = 0;
    if (kernels->memory)
        kernels->memory(config, lists);

    const double q = kernels->always_fp64 ? VALUE : (double)mcpi_type_size((mcpi_type_t)config->dq);
    bytes[space] += lists[space] + q * c.nb * (c.n + c.g);
    if (!kernels->own_layout && space != RT_HOST)
        bytes[space] += view_memory(config, &c, kernels->chunked);
    double setting_up = lists[RT_HOST] + (kernels->chunked ? MCPI_CHUNKS_MADE : 0);
    if (space != RT_HOST) {
        bytes[space] += halo_memory(&c, space);
        bytes[RT_PINNED] += halo_memory(&c, RT_PINNED);
        setting_up += halo_set_up(&c);
    }
    if (mcpi_wants_flow(run)) {
        const double geometry = mcpi_geometry_memory(&config->counts);
        kept += geometry;
        making += geometry;
    }
    kept += bytes[RT_HOST] + VALUE * c.nb * c.n + SMALL; /* s->R */
    bytes[RT_HOST] = fmax(making, kept + fmax(setting_up, 12 * field));
}
