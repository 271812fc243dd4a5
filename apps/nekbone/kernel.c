/* kernel.c - why a rung of nekbone cannot run a problem. */
#include "config.h"
#include "kernel.h"
#include "precond.h"

/* The least tolerance that a solve is asked for. */
#define NEK_LEAST_TOLERANCE 1e-13

const char *nek_refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const nek_config_t *config = options;
    const nek_kernels_t *kernels = (const nek_kernels_t *)self;
    if (kernels->max_n && config->n > kernels->max_n)
        return kernels->max_n_reason;
    const int precond = nek_precond(config, kernels);
    if (precond == NEK_SCHWARZ && !kernels->preconditioner)
        return "schwarz is a preconditioner of the ladder solve: use solve-cpu, or --ladder --only "
               "solve";
    if (kernels->preconditioner && !config->solves)
        return "on the ladder solve: add --only solve, or --rung NAME without --ladder";
    if (kernels->preconditioner && !config->communication)
        return "without the gather-scatter there is no system to solve";
    if (kernels->preconditioner && config->tolerance < NEK_LEAST_TOLERANCE)
        return rt_text(why, "FP64 does not reach --tolerance %g: give at least %g",
                       config->tolerance, NEK_LEAST_TOLERANCE);
    return NULL;
}
