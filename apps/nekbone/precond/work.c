/*
 * work.c - the flops, the least bytes and the memory of the preconditioner, for work.c of nekbone.
 *
 * A preconditioner's least work, in FP32, V_l being the points of a level's grid, E the elements,
 * and m = N_l + 3 the points of a patch along one direction:
 *
 *   patch           12 m^4 + m^3 flops; reads r (4 V) and S (12 m^2 + 12 m bytes an element);
 *                   writes boxes (4 m^3), which the sum reads; writes z (4 V)
 *   transfers       2 n^3 c + ... flops; read and write their grids
 *
 * Launches: on one rank the longest chain of a rung with its own cg (cuda/solve_cuda.cu). From level 0
 * one transfer; from others two kernels down and two up, but from the last with patches one each, as
 * its patches, like those of level 0, run beside; on degree 1 steps, at most three a kernel, and r.z.
 *
 * A rung with its own cg fuses CG's lines around it: an element pass (x, p, factors; v, p.v), and an
 * update that adds the copies of v as it reads them (V points of r, each once). The element pass
 * adds up z and never stores it; at degree 1, which has no patches, it reads z.
 */
#include "config.h"
#include "precond.h"
#include <math.h>

enum { VALUE = sizeof(double), SINGLE = sizeof(float) };

typedef struct {
    double flops, read, written, launches;
} cost_t;

static void add_cost(cost_t *cost, double times, double flops, double read, double written)
{
    cost->flops += times * flops;
    cost->read += times * read;
    cost->written += times * written;
}

/* Returns how often a solve in FP32 vectors replaces its residual. */
static double replacements(const nek_config_t *config)
{
    return fmax(0, ceil(log(1.5 * config->tolerance) / log(NEK_DROP)) - 1);
}

/* Adds CG's part of iterations whose lines are fused (cuda/solve_cg.cu), and if vectors are FP32 that of
 * the replacement: x += x of FP32, w = A x, r = b - Q^T w - lambda x. */
static void add_fused_lines(const nek_config_t *config, bool single, double iterations, double P,
                            bool has_z, rt_work_t *work)
{
    const double V = nek_single_points(config, (double)config->degree), n = config->n,
                 value = single ? SINGLE : VALUE, r = single ? SINGLE : VALUE + SINGLE;
    /* flops: operator 6 (n + 2) + 15; x and p 5, shift and mask 2, p.v 2 */
    const rt_arithmetic_t arithmetic = single ? RT_FMA32 : RT_FMA64;
    rt_work_add(work, "element", iterations, (6 * n + 36) * P, 8 * value * P + 4 * has_z * V,
                3 * value * P)
        ->arithmetic = arithmetic;
    rt_work_add(work, "update", iterations, P + 4 * V, value * (P + V), r * V)->arithmetic =
        arithmetic;
    if (single)
        rt_work_add(work, "replace", replacements(config), (6 * n + 31) * P + 5 * V,
                    (2 * SINGLE + 10 * VALUE) * P, 2 * VALUE * P + r * V);
}

/* Returns the least work of one application of the preconditioner. */
static cost_t precond_cost(const nek_config_t *config)
{
    enum { LEAST_ORDER = 8, STEPS = 3 };
    const double E =
        (double)config->elements[0] * (double)config->elements[1] * (double)config->elements[2];
    int degree[NEK_MOST_LEVELS];
    const int count = nek_level_degrees(config, degree);
    cost_t cost = {0, 0, 0, 0};
    for (int l = 0; l < count; l++) {
        const double N = degree[l], n = N + 1, m = N + 3, m3 = m * m * m;
        const double V = SINGLE * nek_single_points(config, N);
        if (l == count - 1) {
            add_cost(&cost, LEAST_ORDER, 2 * NEK_STENCIL * V / SINGLE, 2 * V, V);
            cost.launches += (LEAST_ORDER + STEPS - 1) / STEPS + 1;
            continue;
        }
        add_cost(&cost, 1, E * (12 * m * m3 + m3), V + SINGLE * E * (m3 + 3 * m * m + 3 * m),
                 V + SINGLE * E * m3);
        const double c = degree[l + 1] + 1.0, transfer = 2 * n * c * (n * n + n * c + c * c);
        add_cost(&cost, 1, 2 * E * transfer, 2 * V, V);
        cost.launches += l == 0 ? 1 : l == count - 2 ? 2 : 4;
    }
    return cost;
}

void nek_precond_work(const nek_config_t *config, const nek_kernels_t *kernels, double iterations,
                      double P, rt_work_t *work)
{
    const bool fused = kernels && kernels->cg, has_z = !fused || config->degree == 1;
    const cost_t cost = precond_cost(config);
    const double not_written =
        has_z ? 0 : SINGLE * nek_single_points(config, (double)config->degree);
    if (fused)
        add_fused_lines(config, kernels->roundoff > 0, iterations, P, has_z, work);
    rt_work_line_t *line = rt_work_add(work, "precondition", iterations, cost.flops, cost.read,
                                       cost.written - not_written);
    line->arithmetic = RT_FMA32;
    line->launches = fused ? cost.launches : 1;
    work->arithmetic = RT_MIXED;
}

/* What is FP64 on the host: the levels, and the fields of the judge's preconditioner, which a rung
 * without ops has as well; what is FP32: a rung's copy, its fields and boxes. */
double nek_precond_memory(const nek_config_t *config, const nek_kernels_t *kernels,
                          rt_space_t space, double bytes[RT_SPACES])
{
    const bool is_single = kernels->precond_ops != NULL;
    const double elements = (double)config->local_elements, references = is_single ? 1 : 2;
    double own[RT_SPACES] = {0}, doubles = 6 * (double)(config->max_iterations + 1), floats = 0;
    int degree[NEK_MOST_LEVELS];
    const bool schwarz = nek_precond(config, kernels) == NEK_SCHWARZ;
    const int count = schwarz ? nek_level_degrees(config, degree) : 0; /* doubles: two histories */
    for (int l = 0; l < count; l++) {
        const nek_grid_t g = nek_grid_of(config, degree[l]);
        const bool last = l == count - 1;
        const double nodes = (double)g.nodes, patch = g.patch,
                     level = last ? (NEK_STENCIL + 1) * nodes : elements * 3 * patch * (patch + 1);
        doubles += level + references * (last ? 4 : 2) * nodes;
        floats += level + (last ? 6 : 2) * nodes + (l < 2 ? elements * pow(patch, 3) : 0);
        if (rt_comm_size() == 1)
            continue;
        const int64_t shared = nek_grid_shared(config, &g);
        own[RT_HOST] += (double)rt_halo_predict(0, shared, 1, RT_HOST);
        if (is_single)
            own[space] += (double)rt_halo_predict(0, shared, 1, space);
        if (space == RT_DEVICE)
            own[RT_PINNED] += (double)rt_halo_predict(0, shared, 1, RT_PINNED);
    }
    if (schwarz) {
        doubles += references * (double)config->points;
        own[RT_HOST] += sizeof(nek_levels_t);
        if (kernels->preconditioner->memory)
            kernels->preconditioner->memory(config, space, own);
    }
    own[RT_HOST] += VALUE * doubles;
    own[space] += is_single ? SINGLE * floats : 0;
    bytes[RT_PINNED] += own[RT_PINNED];
    bytes[RT_DEVICE] += own[RT_DEVICE];
    return own[RT_HOST];
}
