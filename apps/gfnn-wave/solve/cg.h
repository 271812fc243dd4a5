/*
 * cg.h - the scalars of conjugate gradients, and how they follow from sums: one text for the host
 * and for CUDA.
 *
 * A loop over vectors reads its factors from these scalars and leaves its sums in them. When the
 * sums are those of all ranks, gfnn_form does the rest of that stage. In CUDA the scalars are in
 * device memory, and a kernel that has sums ends with gfnn_form: the host takes no part in an
 * iteration. Equal sums give equal scalars, so all ranks end after the same iteration.
 *
 * When the solve has ended, gfnn_form and the loops that change r, x and p do nothing. So a host may
 * start iterations before it knows whether they are needed. A solve in FP32 vectors also rests so
 * where its residual must be computed anew in FP64 (cg.c).
 */
#ifndef GFNN_CG_H
#define GFNN_CG_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define GFNN_CG_FN static __host__ __device__ inline
#else
#define GFNN_CG_FN static inline
#endif

/* What has just been summed. */
typedef enum {
    GFNN_STARTED,        /* f . f, and the largest |f| instead of a sum */
    GFNN_BEGUN,          /* r . r, z . r of a new r, where z comes with the update */
    GFNN_PRECONDITIONED, /* z . r, z . q */
    GFNN_APPLIED,        /* p . q */
    GFNN_UPDATED,        /* r . r, z . r if z comes with the update */
    GFNN_RENEWED         /* r . r of the true residual, which has replaced r */
} gfnn_stage_t;

/* A true residual replaces that of FP32 vectors when |r| has fallen by this. FP32 ends near 1e-7, so
 * three digits of r are still right. */
#define GFNN_DROP 1e-4

/* What the app asks for. */
typedef struct {
    bool fused;    /* z comes with the update (bj) */
    bool flexible; /* beta is Polak's and Ribiere's */
    bool single;   /* x, r, p and q are FP32 */
    bool unscaled; /* B gets r as it is */
    double drop;   /* GFNN_DROP; 0: never */
    double tolerance;
    int64_t most_iterations;
} gfnn_method_t;

typedef struct {
    double residual;  /* of the recurrence: |r| / |f| */
    int64_t progress; /* twice the iterations, and 1 more if the solve has ended or rests; -1:
                         nothing yet */
} gfnn_status_t;

struct rt_device_allreduce_t;
enum { GFNN_MOST_RESIDUALS = 1024 };
typedef struct {
    gfnn_method_t method;
    double sums[2]; /* of this rank, and then of all */
    double unit;    /* r, x and p are those of A x = unit f: a power of two, 1 in FP64 */
    double ff, rr;  /* f . f, r . r */
    double most;    /* the largest |f|; if fused, the norm */
    double scale;   /* of the preconditioner's input, and so of z */
    double rz;      /* r . z */
    double alpha, beta;
    double due;   /* the step along p that x has still to make: alpha, or 0 */
    double level; /* of |r| / |f|, at which the true residual replaces r */
    gfnn_status_t status;
    double *history; /* [GFNN_MOST_RESIDUALS], where the host can read it: the residual after each
                        iteration, from 0 on; NULL: not kept */
    /* CUDA: where the host reads it; the sums of several GPUs (NULL: one rank, or the host adds) */
    gfnn_status_t *host;
    struct rt_device_allreduce_t *allreduce;
    bool forms; /* the kernel that has the sums forms the scalars */
} gfnn_cg_t;

GFNN_CG_FN bool gfnn_cg_has_ended(const gfnn_status_t *status)
{
    return status->progress >= 0 && (status->progress & 1) != 0;
}

/* Tells whether a solve that has ended only rests, until its residual has been replaced. */
GFNN_CG_FN bool gfnn_cg_rests(const gfnn_status_t *status, const gfnn_method_t *method)
{
    return gfnn_cg_has_ended(status) && status->residual >= method->tolerance &&
           status->residual - status->residual == 0 &&
           status->progress / 2 < method->most_iterations;
}

/* Returns the largest power of two below 1 / x. */
GFNN_CG_FN double gfnn_unit_scale(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1.0, -exponent);
}

/* Forms beta from z . r and z . q of z as it is, scaled. */
GFNN_CG_FN void gfnn_form_beta(gfnn_cg_t *cg, double zr, double zq)
{
    const double before = cg->rz;
    cg->rz = zr / cg->scale;
    cg->beta = (cg->method.flexible ? -cg->alpha * zq / cg->scale : cg->rz) / before;
    if (cg->status.progress < 2) /* the first direction is z */
        cg->beta = 0;
}

GFNN_CG_FN void gfnn_keep_residual(const gfnn_cg_t *cg, int64_t iterations)
{
    if (cg->history && iterations < GFNN_MOST_RESIDUALS)
        cg->history[iterations] = cg->status.residual;
}

GFNN_CG_FN void gfnn_form_start(gfnn_cg_t *cg)
{
    const double norm = sqrt(cg->sums[0]);
    cg->unit = cg->method.single ? gfnn_unit_scale(norm) : 1;
    cg->ff = cg->rr = cg->sums[0] * cg->unit * cg->unit;
    cg->most = cg->unit * (cg->method.fused ? norm : cg->sums[1]);
    cg->scale = cg->method.unscaled ? 1 : gfnn_unit_scale(cg->most);
    cg->rz = cg->alpha = cg->beta = cg->due = 0;
    cg->level = cg->method.drop;
    cg->status.residual = cg->ff == 0 ? 0 : 1;
    cg->status.progress = cg->ff == 0;
    gfnn_keep_residual(cg, 0);
}

GFNN_CG_FN void gfnn_form_end(gfnn_cg_t *cg)
{
    const gfnn_method_t *method = &cg->method;
    const int64_t iterations = cg->status.progress / 2 + 1;
    cg->rr = cg->sums[0];
    cg->status.residual = sqrt(cg->rr / cg->ff);
    gfnn_keep_residual(cg, iterations);
    const bool finite = cg->status.residual - cg->status.residual == 0;
    cg->status.progress = 2 * iterations + (iterations >= method->most_iterations ||
                                            cg->status.residual < method->tolerance ||
                                            cg->status.residual < cg->level || !finite);
    if (method->fused)
        gfnn_form_beta(cg, cg->sums[1], 0);
}

/* Takes z . r of a new r, which is the first, or replaced the last. */
GFNN_CG_FN void gfnn_form_begun(gfnn_cg_t *cg, double zr)
{
    const double rz = zr / cg->scale;
    cg->beta = cg->status.progress < 2 ? 0 : cg->beta * rz / cg->rz;
    cg->rz = rz;
}

/* Goes on with the true residual: x has made its step, and p stays. */
GFNN_CG_FN void gfnn_form_renewed(gfnn_cg_t *cg)
{
    cg->rr = cg->sums[0];
    cg->status.residual = sqrt(cg->rr / cg->ff);
    gfnn_keep_residual(cg, cg->status.progress / 2);
    cg->level = cg->method.drop * cg->status.residual;
    cg->due = 0;
    if (!(cg->status.residual < cg->method.tolerance))
        cg->status.progress &= ~(int64_t)1;
}

/* Forms what follows from the sums of a stage. */
GFNN_CG_FN void gfnn_form(gfnn_cg_t *cg, gfnn_stage_t stage)
{
    if (stage == GFNN_STARTED) {
        gfnn_form_start(cg);
    } else if (stage == GFNN_RENEWED) {
        gfnn_form_renewed(cg);
    } else if (gfnn_cg_has_ended(&cg->status)) {
        return;
    } else if (stage == GFNN_BEGUN) {
        cg->rr = cg->sums[0];
        gfnn_form_begun(cg, cg->sums[1]);
    } else if (stage == GFNN_PRECONDITIONED) {
        gfnn_form_beta(cg, cg->sums[0], cg->sums[1]);
    } else if (stage == GFNN_APPLIED) {
        cg->alpha = cg->due = cg->rz / cg->sums[0];
        if (!cg->method.unscaled) /* the largest |r| is taken to have fallen as the norm */
            cg->scale = gfnn_unit_scale(cg->most * sqrt(cg->rr / cg->ff));
    } else {
        gfnn_form_end(cg);
    }
}

#endif
