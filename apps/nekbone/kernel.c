/* kernel.c - why a rung of nekbone cannot run a problem. */
#include "config.h"
#include "kernel.h"
#include "nekbone.h"

const char *nek_refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const nek_config_t *config = options;
    const nek_kernels_t *kernels = (const nek_kernels_t *)self;
    if (kernels->max_n && config->n > kernels->max_n)
        return kernels->max_n_reason;
    if (kernels->cg && config->precond != NEK_NONE)
        return rt_text(why, "it fuses the sums of CG without a preconditioner; use %s",
                       kernels->use_with_precond);
    return NULL;
}
