/*
 * velocity.c - velocities of a mesh: random ones, and that of the timed runs.
 *
 * A node's velocity is a function of its global id or of its position, so it depends neither on the
 * number of ranks nor on the order of the nodes.
 */
#include "config.h"
#include "input.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

void alya_random_field(const alya_mesh_t *mesh, uint64_t seed, double *u)
{
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int d = 0; d < 3; d++)
            u[3 * n + d] = rt_random(3 * (uint64_t)mesh->node_id[n] + (uint64_t)d, seed);
}

/* A wind that looks turbulent: divergence-free Fourier modes, u ~ k^(-5/6) each. */
enum { MODES = 16, MODES_SEED = 17 };
typedef struct {
    double k[MODES][3], a[MODES][3], phase[MODES];
} modes_t;

static void make_modes(modes_t *m, double shortest, double longest, bool whole_numbers)
{
    for (int i = 0; i < MODES; i++) {
        const uint64_t at = 8 * (uint64_t)i;
        double k = 2 * pi / longest * pow(longest / shortest, i / (MODES - 1.0));
        double direction[3], norm = 0, dot = 0;
        for (int d = 0; d < 3; d++) {
            direction[d] = rt_random(at + (uint64_t)d, MODES_SEED);
            norm += direction[d] * direction[d];
        }
        for (int d = 0; d < 3; d++) {
            m->k[i][d] = k * direction[d] / sqrt(norm);
            if (whole_numbers)
                m->k[i][d] = round(m->k[i][d]);
        }
        norm = 1e-30;
        for (int d = 0; d < 3; d++) {
            m->a[i][d] = rt_random(at + 3 + (uint64_t)d, MODES_SEED);
            dot += m->a[i][d] * m->k[i][d];
            norm += m->k[i][d] * m->k[i][d];
        }
        for (int d = 0; d < 3; d++) /* across k, or the mode would not be divergence-free */
            m->a[i][d] = (m->a[i][d] - dot / norm * m->k[i][d]) * pow(k * longest, -5. / 6);
        m->phase[i] = pi * rt_random(at + 6, MODES_SEED);
    }
}

double alya_log_wind(double above)
{
    return 0.4 / 0.41 * log(1 + above / 0.03);
}

void alya_fill_velocity(const alya_mesh_t *mesh, alya_velocity_t flow, double *velocity)
{
    const bool box = flow == ALYA_IN_BOX, hill = flow == ALYA_OVER_HILL;
    double extent[6] = {-1e300, -1e300, -1e300, -1e300, -1e300, -1e300}; /* max x, max -x */
    for (int64_t n = 0; n < mesh->nodes; n++)
        for (int d = 0; d < 3; d++) {
            extent[d] = fmax(extent[d], mesh->x[3 * n + d]);
            extent[3 + d] = fmax(extent[3 + d], -mesh->x[3 * n + d]);
        }
    rt_comm_max(extent, 6);
    const double height = extent[2] + extent[5], ground = -extent[5];
    modes_t modes;
    make_modes(&modes, box ? 2 * pi / 4 : height / 12, box ? 2 * pi : height, box);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++) {
        const double *x = mesh->x + 3 * n;
        double *u = velocity + 3 * n, share = 0.2;
        u[1] = u[2] = 0;
        if (box) {
            u[0] = sin(x[0]) * cos(x[1]) * cos(x[2]);
            u[1] = -cos(x[0]) * sin(x[1]) * cos(x[2]);
        } else {
            double above = fmax(0, x[2] - (hill ? alya_hill(x[0], x[1]) : ground));
            u[0] = alya_log_wind(above);
            share = 4 * above / (above + 0.1 * height);
        }
        for (int i = 0; i < MODES; i++) {
            double wave = share * cos(modes.k[i][0] * x[0] + modes.k[i][1] * x[1] +
                                      modes.k[i][2] * x[2] + modes.phase[i]);
            for (int d = 0; d < 3; d++)
                u[d] += wave * modes.a[i][d];
        }
    }
}
