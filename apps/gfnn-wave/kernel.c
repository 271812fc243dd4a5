/* kernel.c - why a rung cannot run a problem. */
#include "config.h"
#include "kernel.h"

const char *gfnn_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why)
{
    const gfnn_kernels_t *kernels = (const gfnn_kernels_t *)self;
    const gfnn_config_t *asked = config;
    const bool solve = kernels->ladder == GFNN_LADDER_SOLVE;
    if (solve && asked->precond == GFNN_CHEB && !kernels->op->apply32)
        return "its operator has no FP32, which cheb needs";
    if (solve && !kernels->vectors->loops[asked->vectors])
        return "its vectors are FP64, and --vectors asks for FP32";
    if (!gfnn_has_network(asked))
        return solve ? NULL : "it applies a network, and --precond has none; use gf8 or gfm";
    const gfnn_predictor_t *predictor = kernels->predictor[gfnn_precision_of(kernels, asked)];
    if (!predictor)
        return rt_text(why, "it has no --precision %s",
                       asked->precision == GFNN_FP16 ? "fp16" : "fp32");
    if (asked->reach != GFNN_ND && predictor->only_usual)
        return rt_text(why, "with --reach %lld %s%s", (long long)asked->reach,
                       predictor->only_usual,
                       solve && asked->precision == GFNN_FP16 ? "; use --precision fp32" : "");
    return NULL;
}
