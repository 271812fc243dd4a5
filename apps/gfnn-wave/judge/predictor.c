/*
 * predictor.c - what the predictor of a rung must show: z = P r on random r, rounded as the rung gets
 * it, against the definition in double.
 *
 * Bounds. The predictor sums 1029 products per kernel in FP32; with FP16 kernels each product has a
 * relative error of up to 2^-11, and r is the same for both. In addition, the worst value may be off
 * by 1e-5 (FP32; more if --reach is above 3) or 5e-3 (FP16) of the largest, as a yes-or-no check,
 * because honest errors come within a factor of 7; and P r as a whole by that share of |P r|.
 */
#include "config.h"
#include <math.h>
#include "judge.h"

static const double SINGLE = 1e-5, HALF = 5e-3; /* of |z|, by precision of r */
enum { SALT_R = 41 };

static rt_type_t type_of_r(const gfnn_bench_t *b)
{
    return b->s->network.precision == GFNN_FP16 ? RT_F16 : RT_F32;
}

/* z = P r by the rung; rounds r as the rung gets it. */
static void rung_predict(gfnn_bench_t *b, double *r, double *z)
{
    gfnn_solver_t *s = b->s;
    const gfnn_grid_t *g = &b->box->wide;
    const rt_type_t type = type_of_r(b);
    gfnn_judge_put(s, g, type, r, type == RT_F16 ? s->low : (void *)s->r32);
    rt_fill(s->z, s->space, 0xff, 3 * (size_t)g->plane * sizeof *s->z);
    gfnn_predict(s, false);
    gfnn_judge_get(s, g, RT_F32, s->z, z);
}

/* Brings the ghosts of a host array on `wide`. */
static void bring_wide(const gfnn_bench_t *b, double *r)
{
    rt_halo_t *halo =
        gfnn_halo_new(b->box, &b->box->wide, b->s->network.reach, "staged", RT_CPU, RT_HOST);
    if (!halo)
        return;
    const rt_field_t field = gfnn_field(&b->box->wide, r, RT_F64);
    rt_halo_do(halo, RT_HALO_COPY, &field);
    rt_halo_destroy(halo);
}

/* Returns the share of |z| that honest rungs stay below. Roundings of longer kernels have random
 * signs too, so they grow like the square root of the number of terms. */
static double share_of_z(const gfnn_network_t *network)
{
    const double longer = sqrt((double)gfnn_stencil(network->reach) / GFNN_STENCIL);
    return network->precision == GFNN_FP16 ? HALF : SINGLE * longer;
}

/* Checks got = P r by the definition, for r as the rung got it: as a whole, by its worst value and, if
 * it has a name, by the rounding bound. Brings r's ghosts; want is scratch. */
static void check_z(gfnn_bench_t *b, double *r, const double *got, const char *rounding,
                    const char *whole, const char *worst, double *want)
{
    const gfnn_grid_t *g = &b->box->wide;
    gfnn_network_t host = b->s->network;
    /* K in 16 bits: half a unit of 11 digits, and as much again for values below 2^-14 of the
     * largest, which have fewer */
    const double roundings = ((double)gfnn_stencil(host.reach) * 3 + 16) * 0x1p-24 +
                             (host.precision == GFNN_FP16 ? 0x1p-10 : 0);
    const double share = share_of_z(&host);
    double *bound = gfnn_judge_scratch(&b->scratch, g);
    host.c = gfnn_coefficients(b->p);
    bring_wide(b, r);
    gfnn_predict_reference(b->box, &host, false, r, want);
    if (rounding)
        gfnn_predict_reference(b->box, &host, true, r, bound);
    const gfnn_judged_t t = gfnn_judge_compare(g, want, g, got, rounding ? bound : NULL, roundings);
    if (rounding)
        rt_verdict_check(b->verdict, rounding, t.worst, 1);
    rt_verdict_check(b->verdict, whole,
                     gfnn_judge_apart(g, got, want, bound) / gfnn_judge_norm(g, want), share);
    rt_verdict_true(b->verdict, worst, t.difference <= share * t.largest);
}

void gfnn_verify_predictor(gfnn_bench_t *b)
{
    gfnn_solver_t *s = b->s;
    const gfnn_grid_t *g = &b->box->wide;
    double *r = gfnn_judge_scratch(&b->scratch, g), *got = gfnn_judge_scratch(&b->scratch, g),
           *want = gfnn_judge_scratch(&b->scratch, g);
    gfnn_judge_draw(b->box, g, b->seed + SALT_R, 1, NAN, r);
    rung_predict(b, r, got);
    check_z(b, r, got, "P r (of its rounding bound)", "P r (of |P r|)",
            "P r, one value (of the largest)", want);
    if (s->kernels->rung.reproducible) {
        rung_predict(b, r, want);
        rt_verdict_true(b->verdict, "the same bits twice, as it claims",
                        gfnn_judge_compare(g, got, g, want, NULL, 0).difference == 0);
    }
    rt_fill(s->z, s->space, 0, 3 * (size_t)g->plane * sizeof *s->z);
    gfnn_judge_release(&b->scratch, 0);
}

/* h has to give what P does to a random r. */
void gfnn_verify_green(gfnn_bench_t *b, const int64_t node[3], int l, double *g, const double *h)
{
    const gfnn_grid_t *fine = &b->box->fine, *wide = &b->box->wide;
    const int64_t at = gfnn_own_node(b->box, fine, node), there = gfnn_own_node(b->box, wide, node);
    const int left = b->scratch.n;
    double *e = gfnn_judge_scratch(&b->scratch, fine), *own = gfnn_judge_scratch(&b->scratch, fine),
           *r = gfnn_judge_scratch(&b->scratch, wide), *z = gfnn_judge_scratch(&b->scratch, wide);
    gfnn_judge_draw(b->box, wide, b->seed + SALT_R, 1, NAN, r);
    gfnn_judge_draw(b->box, fine, b->seed + SALT_R, 1, 0, own);
    bring_wide(b, r);
    gfnn_predict_reference(b->box, &b->s->network, false, r, z);
    double want = at < 0 ? 0 : z[l * wide->plane + there];
    rt_comm_sum(&want, 1);
    rt_verdict_check(b->verdict, "the expansion . r = P r at the node (of its |h| |r|)",
                     fabs(gfnn_judge_dot(fine, h, own) - want) /
                         (gfnn_judge_norm(fine, h) * gfnn_judge_norm(fine, own)),
                     1e-12);
    if (at >= 0)
        e[l * fine->plane + at] = 1;
    rt_verdict_check(b->verdict, "A g = a unit force, by the definition (of the force)",
                     gfnn_oracle_residual(b->p, e, g, own), 10 * b->p->config->tolerance);
    gfnn_judge_release(&b->scratch, left);
}

void gfnn_verify_predictor_left(gfnn_bench_t *b, const gfnn_kept_t *kept)
{
    const gfnn_grid_t *g = &b->box->wide;
    double *r = gfnn_judge_scratch(&b->scratch, g), *got = gfnn_judge_scratch(&b->scratch, g);
    const float *z = kept->left[0];
    gfnn_input(b->s, kept->draw, r);
    gfnn_judge_round(g, type_of_r(b), r);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 3 * g->plane; i++)
        got[i] = z[i];
    check_z(b, r, got, NULL, "P r left behind (of |P r|)",
            "P r left behind, one value (of the largest)", gfnn_judge_scratch(&b->scratch, g));
    gfnn_judge_release(&b->scratch, 0);
}
