/*
 * flow_oracle.c - the oracle's steps, and how far roundings may take a rung from them.
 *
 * The oracle marches by the rung flow-reference, FP64 throughout over an O of the same type, from
 * the input of the solve that is judged. A rung rounds dQ and the sums of O dQ to unit u. What that
 * does to the state after all steps is measured: the oracle marches again with every component of dQ
 * off by a random share of up to 8 u, the roundings of a sum of some twenty blocks whose signs are
 * random. That is done for u of FP32; so small an effect is proportional to u. A rung may differ by
 * mcpi_flow_sample times the largest effect. Inputs of other draws are so near the problem's own that
 * the effect is measured for that one alone.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge.h"

enum { ROUNDINGS = 8, DISTURBANCE_SEED = 17 };
#define DISTURBANCE 0x1p-24

/* Copies what each row i has to to + first[i] * unit, or if first is NULL to to + i * unit: from x in
 * order, or from the places at[]. */
static void take_rows(const mcpi_march_t *m, const void *x, const uint64_t *at,
                      const int64_t *first, size_t unit, unsigned char *to)
{
    const size_t rows = (size_t)m->field.rows;
    if (!at) {
        rt_copy(to, RT_HOST, x, m->space, (first ? (size_t)first[rows] : rows) * unit);
        return;
    }
    unsigned char *all = RT_NEW(unsigned char, m->places.bytes, RT_HOST);
    uint64_t *place = RT_NEW(uint64_t, rows, RT_HOST);
    rt_copy(all, RT_HOST, x, m->space, m->places.bytes);
    rt_copy(place, RT_HOST, at, m->space, rows * sizeof *place);
    for (size_t i = 0; i < rows; i++)
        memcpy(to + (first ? (size_t)first[i] : i) * unit, all + place[i],
               (first ? (size_t)(first[i + 1] - first[i]) : 1) * unit);
    RT_FREE_ALL(RT_HOST, place, all);
}

/* Puts what chunks hold into the blocks of O. */
static void take_chunks(const mcpi_march_t *m, size_t size, unsigned char *O)
{
    const mcpi_system_t *system = m->shadow.system;
    const int64_t *start = system->part->start, rows = system->part->rows;
    const size_t bytes = mcpi_chunk_bytes(system, 0, rows);
    const int width = MCPI_CHUNK / (int)size;
    unsigned char *chunks = rt_alloc(bytes, 1, RT_HOST);
    rt_copy(chunks, RT_HOST, m->field.O, m->space, bytes);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t first = mcpi_first_chunk(MCPI_Q, width, start[row], row);
        for (int64_t b = 0; b < start[row + 1] - start[row]; b++)
            for (int e = 0; e < MCPI_Q * MCPI_Q; e++, O += size)
                memcpy(O,
                       chunks + (size_t)mcpi_chunked_entry(MCPI_Q, width, first, b, e / MCPI_Q,
                                                           e % MCPI_Q) *
                                    size,
                       size);
    }
    RT_FREE(chunks, RT_HOST);
}

void *mcpi_flow_take_O(const mcpi_march_t *m)
{
    const int64_t *start = m->problem->part->start;
    const size_t size = mcpi_type_size(m->field.offdiagonal), unit = MCPI_Q * MCPI_Q * size;
    void *O = rt_alloc((size_t)start[m->field.rows], unit, RT_HOST);
    if (m->field.chunked)
        take_chunks(m, size, O);
    else
        take_rows(m, m->field.O, m->field.O_at, start, unit, O);
    return O;
}

double *mcpi_flow_take_rows(const mcpi_march_t *m, const void *x, const uint64_t *at, size_t values)
{
    double *to = RT_NEW(double, (size_t)m->field.rows *values, RT_HOST);
    take_rows(m, x, at, NULL, values * sizeof *to, (unsigned char *)to);
    return to;
}

double mcpi_flow_difference(int64_t rows, const double *a, const double *b, double scale)
{
    double most = 0;
    for (int64_t k = 0; k < MCPI_Q * rows; k++) {
        const bool scaled = k % MCPI_Q == 0 || k % MCPI_Q == MCPI_Q - 1;
        const double d = fabs(a[k] - b[k]) / (scaled ? scale : 1);
        most = rt_finite(d) ? fmax(most, d) : INFINITY;
    }
    rt_comm_max(&most, 1);
    return most;
}

double mcpi_flow_unit(const mcpi_march_t *m)
{
    const mcpi_config_t *c = m->problem->config;
    const bool fp64 = m->kernels->always_fp64 || (c->dq == MCPI_FP64 && c->accumulate == MCPI_FP64);
    return fp64 ? RT_EPS : 0x1p-24;
}

/* Steps; u > 0: disturbed. Fills norm[] of the first steps, over the first. */
static void march(mcpi_march_t *ref, uint64_t draw, double u, double *norm)
{
    const mcpi_config_t *config = ref->problem->config;
    const mcpi_part_t *part = ref->problem->part;
    double *dq = ref->sweeper->dq, first = 0;
    mcpi_march_spoil(ref, draw, RT_KEEP_NOTHING);
    for (int64_t k = 0; k < config->steps; k++) {
        mcpi_march_residual(ref);
        const double now = mcpi_march_norm(ref);
        first = k == 0 ? now : first;
        if (k < MCPI_JUDGED_STEPS)
            norm[k] = now / first;
        ref->field.cfl = mcpi_march_courant(config, now / first);
        mcpi_march_left(ref);
        mcpi_march_sweeps(ref);
        for (int64_t v = 0; u > 0 && v < MCPI_Q * part->rows; v++) {
            const uint64_t at = (uint64_t)(part->global[v / MCPI_Q] * MCPI_Q + v % MCPI_Q);
            dq[v] *= 1 + ROUNDINGS * u * rt_random(at, DISTURBANCE_SEED + (uint64_t)k);
        }
        ref->phases->update(&ref->field);
        mcpi_march_ghosts(ref);
    }
}

const mcpi_flow_oracle_t *mcpi_flow_oracle_get(mcpi_march_t *ref, uint64_t draw, void **known)
{
    const int64_t rows = ref->field.rows;
    const size_t bytes = (size_t)(MCPI_Q * rows) * sizeof(double);
    if (*known)
        return *known;
    mcpi_flow_oracle_t *o = rt_alloc(1, sizeof *o + bytes, RT_HOST);
    memset(o, 0, sizeof *o);
    march(ref, draw, 0, o->norm);
    memcpy(o->state, ref->field.w, bytes);
    if (draw == 0) {
        double norm[MCPI_JUDGED_STEPS];
        march(ref, 0, DISTURBANCE, norm);
        o->effect = mcpi_flow_difference(rows, ref->field.w, o->state, 1) / DISTURBANCE;
    }
    *known = o;
    return o;
}
