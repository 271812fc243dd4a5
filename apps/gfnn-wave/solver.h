/*
 * solver.h - what solve.c and precond.c share.
 */
#ifndef GFNN_SOLVER_H
#define GFNN_SOLVER_H

#include "gfnn.h"

/* Does --precond have a network? */
static inline bool gfnn_has_network(const gfnn_config_t *cfg)
{
    return cfg->precond == GFNN_GF8 || cfg->precond == GFNN_GFM;
}

/* Does the preconditioner take A in FP32? */
static inline bool gfnn_needs_apply32(const gfnn_config_t *cfg)
{
    return cfg->precond == GFNN_CHEB || cfg->inner > 0 ||
           (gfnn_has_network(cfg) && cfg->smooth > 0);
}

/* Does it have a second z? */
static inline bool gfnn_needs_other(const gfnn_config_t *cfg)
{
    return cfg->precond == GFNN_CHEB || (gfnn_has_network(cfg) && cfg->smooth > 0);
}

/* What r is rounded to for a rung: as asked; on the ladder of predictors a rung that does not take
 * that shows what it takes, so that all stand side by side. */
static inline int gfnn_precision_of(const gfnn_kernels_t *kernels, const gfnn_config_t *cfg)
{
    const int other = cfg->precision == GFNN_FP16 ? GFNN_FP32 : GFNN_FP16;
    const bool stands_in = kernels && kernels->ladder == GFNN_LADDER_PREDICTOR &&
                           !kernels->predictor[cfg->precision] && kernels->predictor[other];
    return stands_in ? other : cfg->precision;
}

/* Is the residual itself what the network reads in 16 bits (s->low), and not s->r32? */
static inline bool gfnn_reads_low(const gfnn_config_t *cfg)
{
    return gfnn_has_network(cfg) && cfg->precision == GFNN_FP16 && cfg->smooth == 0 &&
           cfg->inner == 0;
}

/* Is B = 1? */
static inline bool gfnn_is_plain(const gfnn_config_t *cfg)
{
    return cfg->precond == GFNN_NONE;
}

/* Is B = D^-1 and nothing more, which update_bj does in passing? */
static inline bool gfnn_is_fused(const gfnn_config_t *cfg)
{
    return cfg->precond == GFNN_BJ && cfg->inner == 0;
}

/* Do conjugate gradients hand r to the preconditioner in FP32? */
static inline bool gfnn_needs_r32(const gfnn_config_t *cfg)
{
    return !gfnn_is_plain(cfg) && !gfnn_is_fused(cfg) && !gfnn_reads_low(cfg);
}

/* Vectors of a solver: a solve's own, else those of the space. */
const gfnn_vectors_t *gfnn_vectors_of(const gfnn_solver_t *s);

/* z = P r: r is s->low, or FP32, by the network's precision; brings the ghosts of r. */
void gfnn_predict_from(gfnn_solver_t *s, void *r, float *z);

#endif
