/*
 * gfnn_mutants.c - wrong programs, each of which the verification must detect; see mutants.h.
 *
 * Heads are small, but have several tissues, so that a wrong element shows. Operator and predictor
 * are written again here, node by node, with faults in them. A solve is the app's own conjugate
 * gradients over cpu-simd and predict-simd; its faults are in the timed solve only, not in the
 * kernels that are checked by themselves, so that only what is left behind can reveal them.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/gfnn-wave/cpu/cpu.h"
#include "apps/gfnn-wave/gfnn.h"
#include "apps/gfnn-wave/judge/judge.h"
#include "apps/gfnn-wave/node.h"
#include "tests/mutants/mutants.h"

typedef enum {
    HONEST,
    /* element matrices */
    SHEAR_SCALED,
    BULK_SHEAR_MIXED,
    MASS_CORNER,
    MASS_LUMPED,
    BLOCKS_TRANSPOSED,
    VS_NOT_SQUARED,
    FIRST_FORM,
    /* elements of a node */
    IDS_SHIFTED,
    ONE_ID,
    ELEMENT_DROPPED,
    COLOUR_SKIPPED,
    ADDITION_LOST,
    LAYER_TWICE,
    OUTSIDE_COUNTED,
    CORNERS_SWAPPED,
    COMPONENTS_SWAPPED,
    GHOSTS_IGNORED,
    /* y */
    ROW_SKIPPED,
    ADDS_TO_BEFORE,
    GHOST_WRITTEN,
    FLOAT_RESULT,
    FLOAT_SUM,
    ORDER_VARIES,
    NAN_IN_Y,
    /* p . q with it, and FP32 */
    DOT_SHORT,
    DOT_OF_FLOAT,
    DOT_ROW_SKIPPED,
    HALF_PRODUCT32,
    ROW_SKIPPED32,
    GHOSTS_IGNORED32,
    /* the predictor */
    MIRRORED,
    TRANSPOSED,
    TAP_DROPPED,
    CORNER_TAP_DROPPED,
    USUAL_REACH,
    NEXT_COEFFICIENTS,
    PLANE_ZERO,
    BF16_K,
    HALF_K,
    HALF_R,
    HALF_SUM,
    HALF_Z,
    GHOSTS_SHALLOW,
    NO_OFFDIAGONAL,
    Z_ROW_SKIPPED,
    Z_SCALED,
    SLOPE_SIGN,
    SLOPE_UNIT,
    DIAGONAL_FOR_ALL,
    /* what a ladder of single kernels leaves behind */
    NOTHING,
    NOTHING_SECOND,
    FIRST_ANSWER,
    PREVIOUS_INPUT,
    ONE_VALUE,
    FLOAT_IN_WINDOWS,
    HALF_IN_WINDOWS,
    /* what timed solves keep; the problem's own input is solved honestly */
    KEPT_WHOLE,
    KEPT_SCALED,
    KEPT_COMBINED,
    HALF_SOLVED,
    /* conjugate gradients in the timed solve */
    LOOSE,
    LOOSE_CLAIMED,
    LOOSE_BUT_LAST,
    STEP_LOOSE,
    ITERATION_FEWER,
    OPERATOR_OFF,
    STALE_GHOSTS,
    NOT_HELD,
    LAST_STEP_OF_X,
    ALPHA_BEFORE,
    NO_X,
    OLD_UNUSED,
    PRODUCT_UNUSED,
    /* its FP32 vectors */
    DOT_SHORT32,
    UNIT_KEPT,
    NOT_REPLACED,
    REPLACED_IN_FP32,
    X_KEPT,
    STEP_TWICE,
    P_DROPPED,
    DU_ROUNDED,
    /* time steps */
    STEP_FEWER,
    STEP_MORE,
    U_NOT_UPDATED,
    U_TWICE,
    V_OLD_SIGN,
    A_BEFORE,
    SOURCE_LATE,
    SOURCE_SIGN,
    NO_DAMPING,
    NO_DAMPING_IN_F,
    MASS_DAMPING_ONLY,
    NO_K_U,
    A_OUT_OF_F,
    DU_BEFORE,
    DU_LARGE,
    U_ROUNDED,
    ONE_VALUE_OF_V,
    NAN_AFTER_SOLVE,
    /* messages, and parts that exist only on several ranks */
    MESSAGE_DROPPED
} fault_t;

enum {
    BJ,
    FREE,
    MIRROR,
    DAMPED,
    COARSE,
    CHEB,
    FEW,
    GFM,
    HALF,
    GF8,
    FAR,
    HELD,
    SINGLE,
    AGAIN,
    SINGLE16,
    COARSE32,
    PROBLEMS
};
static const char *const settings[PROBLEMS] = {
    [BJ] = "vectors=fp64 elements=20x5x5 steps=2 precond=bj tolerance=1e-11",
    [FREE] = "vectors=fp64 elements=15x4x4 steps=2 precond=bj faces=free tolerance=1e-11",
    [MIRROR] = "vectors=fp64 elements=5x6x7 steps=2 precond=none faces=mirror tolerance=1e-11",
    [DAMPED] = "vectors=fp64 elements=6x5x6 steps=3 precond=bj damping=0.05 tolerance=1e-11",
    [COARSE] = "vectors=fp64 elements=6x6x5 steps=3 precond=bj tolerance=1e-9",
    [CHEB] = "vectors=fp64 elements=7x6x5 steps=2 precond=cheb degree=3 tolerance=1e-11",
    [FEW] =
        "vectors=fp64 elements=7x6x5 steps=2 precond=cheb degree=5 tolerance=1e-11 max-iterations=13",
    [GFM] = "vectors=fp64 elements=6x5x5 steps=2 precond=gfm precision=fp32 tolerance=1e-11",
    [HALF] =
        "vectors=fp64 elements=5x4x4 steps=2 precond=gfm precision=fp16 faces=free tolerance=1e-11",
    [GF8] =
        "vectors=fp64 elements=5x6x4 steps=1 precond=gf8 precision=fp32 faces=free tolerance=1e-11",
    [FAR] = "vectors=fp64 elements=6x6x6 steps=1 precond=gf8 precision=fp32 reach=6 tolerance=1e-6",
    [HELD] = "vectors=fp64 elements=6x5x4 steps=1 precond=gfm faces=mirror tolerance=1e-11",
    [SINGLE] = "vectors=fp32 elements=20x5x5 steps=2 precond=bj tolerance=1e-11",
    [AGAIN] = "vectors=fp32 elements=20x5x5 steps=2 precond=bj tolerance=1e-11 max-iterations=53",
    [SINGLE16] = "vectors=fp32 elements=6x5x4 steps=2 precond=gfm faces=free tolerance=1e-11",
    [COARSE32] = "vectors=fp32 elements=6x6x5 steps=3 precond=bj tolerance=1e-9"};

/* Variants: function tables; a boundary slab that is left out, which only several ranks have. */
enum { OPERATOR, UNCLAIMED /* not reproducible */, PREDICTOR, SOLVE, SLAB };

static const rt_mutant_t mutants[] = {
    {SHEAR_SCALED, "shear 1 + 1e-11 times as large", BJ, false, OPERATOR},
    {BULK_SHEAR_MIXED, "bulk and shear mixed up", BJ, false, OPERATOR},
    {MASS_CORNER, "mass left out at one corner", BJ, false, OPERATOR},
    {MASS_LUMPED, "mass of an element lumped", BJ, false, OPERATOR},
    {BLOCKS_TRANSPOSED, "3x3 blocks transposed", BJ, false, OPERATOR},
    {VS_NOT_SQUARED, "Vs in place of its square", BJ, false, OPERATOR},
    {FIRST_FORM, "coefficients of the first call for all", BJ, false, OPERATOR},
    {IDS_SHIFTED, "ids shifted by one element", BJ, false, OPERATOR},
    {ONE_ID, "one element of the wrong tissue", BJ, false, OPERATOR},
    {ELEMENT_DROPPED, "one element left out", BJ, false, OPERATOR},
    {COLOUR_SKIPPED, "one colour of elements left out", BJ, false, OPERATOR},
    {ADDITION_LOST, "one addition of an element lost", FREE, false, OPERATOR},
    {LAYER_TWICE, "one layer of elements added twice", BJ, false, OPERATOR},
    {OUTSIDE_COUNTED, "elements beyond a free face counted", FREE, false, OPERATOR},
    {OUTSIDE_COUNTED, "elements beyond a mirror face counted", MIRROR, false, OPERATOR},
    {CORNERS_SWAPPED, "corners in y and z swapped", BJ, false, OPERATOR},
    {COMPONENTS_SWAPPED, "components x and y swapped", BJ, false, OPERATOR},
    {GHOSTS_IGNORED, "ghosts of x taken as 0", BJ, false, OPERATOR},
    {ROW_SKIPPED, "one row of nodes not written", BJ, false, OPERATOR},
    {ROW_SKIPPED, "one row of nodes not written, mirror faces", MIRROR, false, OPERATOR},
    {ADDS_TO_BEFORE, "added to what y was", BJ, false, OPERATOR},
    {GHOST_WRITTEN, "a ghost of y written", BJ, false, OPERATOR},
    {GHOST_WRITTEN, "a ghost of y beyond a free face written", FREE, false, OPERATOR},
    {FLOAT_RESULT, "y rounded to FP32", BJ, false, OPERATOR},
    {FLOAT_SUM, "sums in FP32", FREE, false, OPERATOR},
    {ORDER_VARIES, "same bits claimed and not kept", BJ, false, OPERATOR},
    {NAN_IN_Y, "one NaN", BJ, false, OPERATOR},
    {DOT_SHORT, "dot product without the last row", BJ, false, OPERATOR},
    {DOT_OF_FLOAT, "dot product in FP32", BJ, false, OPERATOR},
    {DOT_ROW_SKIPPED, "row of y not written with a dot product", BJ, false, OPERATOR},
    {HALF_PRODUCT32, "FP32 product of FP16", CHEB, false, SOLVE},
    {ROW_SKIPPED32, "one row of the FP32 product not written", CHEB, false, SOLVE},
    {GHOSTS_IGNORED32, "ghosts of FP32 x taken as 0", CHEB, false, SOLVE},
    {MIRRORED, "taps mirrored in x", GFM, false, PREDICTOR},
    {MIRRORED, "taps mirrored in x, gf8", GF8, false, PREDICTOR},
    {TRANSPOSED, "i and j of kernels swapped", GFM, false, PREDICTOR},
    {TAP_DROPPED, "one tap left out", GFM, false, PREDICTOR},
    {TAP_DROPPED, "one tap left out, FP16", HALF, false, PREDICTOR},
    {TAP_DROPPED, "one tap left out, gf8", GF8, false, PREDICTOR},
    {CORNER_TAP_DROPPED, "taps of one corner left out", GFM, false, PREDICTOR},
    {CORNER_TAP_DROPPED, "taps of one corner left out, reach 6", FAR, false, PREDICTOR},
    {USUAL_REACH, "taps beyond a reach of 3 left out", FAR, false, PREDICTOR},
    {NEXT_COEFFICIENTS, "coefficients of the next node", GFM, false, PREDICTOR},
    {NEXT_COEFFICIENTS, "coefficients of the next node, gf8", GF8, false, PREDICTOR},
    {NEXT_COEFFICIENTS, "coefficients of the next node, FP16", HALF, false, PREDICTOR},
    {PLANE_ZERO, "one plane of coefficients 0", GFM, false, PREDICTOR},
    {PLANE_ZERO, "one plane of coefficients 0, gf8", GF8, false, PREDICTOR},
    {PLANE_ZERO, "one plane of coefficients 0, FP16", HALF, false, PREDICTOR},
    {BF16_K, "kernels rounded to BF16", GFM, false, PREDICTOR},
    {HALF_K, "kernels rounded to FP16 where FP32 was asked", GFM, false, PREDICTOR},
    {HALF_R, "r rounded to FP16 where FP32 was asked", GFM, false, PREDICTOR},
    {HALF_SUM, "sums in FP16 where FP32 was asked", GFM, false, PREDICTOR},
    {HALF_Z, "z rounded to FP16", GFM, false, PREDICTOR},
    {GHOSTS_SHALLOW, "ghosts of r only 2 deep", GFM, false, PREDICTOR},
    {GHOSTS_SHALLOW, "ghosts of r only 5 deep, reach 6", FAR, false, PREDICTOR},
    {NO_OFFDIAGONAL, "off-diagonal kernels left out", GFM, false, PREDICTOR},
    {NO_OFFDIAGONAL, "off-diagonal kernels left out, FP16", HALF, false, PREDICTOR},
    {NO_OFFDIAGONAL, "off-diagonal kernels left out, gf8", GF8, false, PREDICTOR},
    {Z_ROW_SKIPPED, "one row of nodes of z not written", GFM, false, PREDICTOR},
    {Z_ROW_SKIPPED, "one row of nodes of z not written, mirror faces", HELD, false, PREDICTOR},
    {Z_SCALED, "z 1 + 2e-4 times as large", GFM, false, PREDICTOR},
    {SLOPE_SIGN, "slopes of gf8 with the wrong sign", GF8, false, PREDICTOR},
    {SLOPE_UNIT, "slopes of gf8 in units of 3 nodes, reach 6", FAR, false, PREDICTOR},
    {DIAGONAL_FOR_ALL, "coefficients of i = j for i != j too", GF8, false, PREDICTOR},
    {NOTHING, "operator: nothing done", BJ, false, OPERATOR},
    {NOTHING_SECOND, "operator: nothing done from the second solve on", BJ, true, OPERATOR},
    {FIRST_ANSWER, "operator: answer of the first solve", BJ, true, OPERATOR},
    {PREVIOUS_INPUT, "operator: x of the solve before", BJ, true, OPERATOR},
    {ONE_VALUE, "operator: one value changed afterwards", BJ, false, OPERATOR},
    {FLOAT_IN_WINDOWS, "operator: FP32 in the timed solve", BJ, true, OPERATOR},
    {HALF_IN_WINDOWS, "operator: half of the nodes in the timed solve", BJ, true, OPERATOR},
    {NOTHING, "predictor: nothing done", GFM, false, PREDICTOR},
    {NOTHING_SECOND, "predictor: nothing done from the second solve on", GFM, true, PREDICTOR},
    {FIRST_ANSWER, "predictor: answer of the first solve", GFM, true, PREDICTOR},
    {FIRST_ANSWER, "predictor: answer of the first solve, FP16", HALF, true, PREDICTOR},
    {ONE_VALUE, "predictor: one value changed afterwards", GFM, false, PREDICTOR},
    {FLOAT_IN_WINDOWS, "predictor: FP16 in the timed solve", GFM, true, PREDICTOR},
    {HALF_IN_WINDOWS, "predictor: half of the nodes in the timed solve", HALF, true, PREDICTOR},
    {KEPT_WHOLE, "operator: a kept answer", BJ, true, OPERATOR},
    {KEPT_SCALED, "operator: a kept answer, scaled", BJ, true, OPERATOR},
    {KEPT_COMBINED, "operator: two kept answers, combined", BJ, true, OPERATOR},
    {HALF_SOLVED, "operator: half of the nodes, if timed", BJ, true, OPERATOR},
    {KEPT_WHOLE, "predictor: a kept answer", GFM, true, PREDICTOR},
    {KEPT_SCALED, "predictor: a kept answer, scaled", HALF, true, PREDICTOR},
    {KEPT_COMBINED, "predictor: two kept answers, combined", GFM, true, PREDICTOR},
    {HALF_SOLVED, "predictor: half of the nodes, if timed", HALF, true, PREDICTOR},
    {KEPT_WHOLE, "state of a timed solve kept", BJ, true, SOLVE},
    {KEPT_WHOLE, "state of a timed solve kept, network", GFM, true, SOLVE},
    {KEPT_SCALED, "state of a timed solve kept, scaled", MIRROR, true, SOLVE},
    {KEPT_SCALED, "state of a timed solve kept, scaled, one step", GF8, true, SOLVE},
    {KEPT_COMBINED, "states of two timed solves combined", DAMPED, true, SOLVE},
    {HALF_SOLVED, "half of the iterations, if timed", BJ, true, SOLVE},
    {HALF_SOLVED, "half of the iterations, if timed, network", GFM, true, SOLVE},
    {NOTHING, "no step done", BJ, false, SOLVE},
    {NOTHING_SECOND, "no step done from the second solve on", BJ, true, SOLVE},
    {FIRST_ANSWER, "state after the first solve", BJ, true, SOLVE},
    {FIRST_ANSWER, "state after the first solve, network", GFM, true, SOLVE},
    {LOOSE, "tolerance 100 times as large", BJ, false, SOLVE},
    {LOOSE_CLAIMED, "the same, and a small residual claimed", BJ, false, SOLVE},
    {LOOSE_CLAIMED, "the same with a network", HALF, false, SOLVE},
    {DU_LARGE, "the same, and a large du left behind", BJ, false, SOLVE},
    {LOOSE_BUT_LAST, "tolerance 1e4 times as large but in the last step", COARSE, false, SOLVE},
    {STEP_LOOSE, "a step in the middle at 4 times the tolerance", COARSE, false, SOLVE},
    {ITERATION_FEWER, "one iteration fewer, residual claimed", COARSE, false, SOLVE},
    {OPERATOR_OFF, "operator off by 1e-6 in the timed solve", BJ, false, SOLVE},
    {OPERATOR_OFF, "the same with a network", GFM, false, SOLVE},
    {STALE_GHOSTS, "ghosts of p not brought in one iteration", BJ, false, SOLVE},
    {STALE_GHOSTS, "the same with a network", GFM, false, SOLVE},
    {NOT_HELD, "mirror faces not held", MIRROR, false, SOLVE},
    {NOT_HELD, "mirror faces not held, network", HELD, false, SOLVE},
    {LAST_STEP_OF_X, "x without the last step along p", COARSE, false, SOLVE},
    {LAST_STEP_OF_X, "the same with a network", GFM, false, SOLVE},
    {ALPHA_BEFORE, "x goes the length of the iteration before", BJ, false, SOLVE},
    {ALPHA_BEFORE, "the same without a preconditioner", MIRROR, false, SOLVE},
    {NO_X, "x not moved in one iteration", CHEB, false, SOLVE},
    {OLD_UNUSED, "polynomial: z before left out", FEW, false, SOLVE},
    {PRODUCT_UNUSED, "polynomial: z in place of A z", FEW, false, SOLVE},
    {DOT_SHORT32, "FP32 vectors: p.q without one row", SINGLE, false, SOLVE},
    {OPERATOR_OFF, "FP32 vectors: FP64 operator off by 1e-6", SINGLE, false, SOLVE},
    {STALE_GHOSTS, "FP32 vectors: ghosts of p not brought after the last replacement", SINGLE,
     false, SOLVE},
    {UNIT_KEPT, "FP32 vectors: the scale of f left in du", SINGLE, false, SOLVE},
    {NOT_REPLACED, "FP32 vectors: residual never replaced", SINGLE, false, SOLVE},
    {NOT_REPLACED, "the same with a network", SINGLE16, false, SOLVE},
    {REPLACED_IN_FP32, "FP32 vectors: residual replaced by one of FP32", SINGLE, false, SOLVE},
    {X_KEPT, "FP32 vectors: x added to du twice", SINGLE, false, SOLVE},
    {STEP_TWICE, "FP32 vectors: the step before a replacement made twice", SINGLE, false, SOLVE},
    {P_DROPPED, "FP32 vectors: p thrown away at a replacement", AGAIN, false, SOLVE},
    {DU_ROUNDED, "FP32 vectors: du in FP32", SINGLE, false, SOLVE},
    {LAST_STEP_OF_X, "FP32 vectors: x without the last step along p", COARSE32, false, SOLVE},
    {LOOSE_CLAIMED, "FP32 vectors: tolerance 100 times as large, a small residual claimed", SINGLE,
     false, SOLVE},
    {STEP_FEWER, "one step fewer", BJ, false, SOLVE},
    {STEP_MORE, "one step more", BJ, false, SOLVE},
    {STEP_MORE, "two steps for one", GF8, false, SOLVE},
    {U_NOT_UPDATED, "u not updated in one step", BJ, false, SOLVE},
    {U_TWICE, "du added twice", FREE, false, SOLVE},
    {V_OLD_SIGN, "v with the sign it had", BJ, false, SOLVE},
    {A_BEFORE, "a of the step before", BJ, false, SOLVE},
    {SOURCE_LATE, "force of the step before", BJ, false, SOLVE},
    {SOURCE_SIGN, "force with the wrong sign", BJ, false, SOLVE},
    {NO_DAMPING, "damping forgotten", DAMPED, false, SOLVE},
    {NO_DAMPING_IN_F, "damping forgotten in f", DAMPED, false, SOLVE},
    {MASS_DAMPING_ONLY, "damping by K forgotten in f", DAMPED, false, SOLVE},
    {NO_K_U, "K u forgotten in f", BJ, false, SOLVE},
    {A_OUT_OF_F, "M a forgotten in f", BJ, false, SOLVE},
    {DU_BEFORE, "du left behind is that of the step before", BJ, false, SOLVE},
    {U_ROUNDED, "u kept in FP32", BJ, false, SOLVE},
    {ONE_VALUE_OF_V, "one value of v changed afterwards", BJ, false, SOLVE},
    {NAN_AFTER_SOLVE, "one NaN in a after the solve", BJ, false, SOLVE},
    {MESSAGE_DROPPED, "operator: message dropped", BJ, false, OPERATOR},
    {MESSAGE_DROPPED, "operator: slab next to another rank left out", BJ, false, SLAB},
    {MESSAGE_DROPPED, "operator: the same, free faces", FREE, false, SLAB},
    {MESSAGE_DROPPED, "predictor: message dropped", GFM, false, PREDICTOR},
    {MESSAGE_DROPPED, "predictor: message dropped, FP16", HALF, false, PREDICTOR},
    {MESSAGE_DROPPED, "message dropped in the timed solve", BJ, false, SOLVE},
    {MESSAGE_DROPPED, "message dropped in the timed solve, mirror faces", MIRROR, false, SOLVE},
};

/* --- what a run keeps --- */

/* Vectors: the first answer (of a solve: u, v, a, du); du of the step before the last; x of the
 * previous solve or product; inputs and answers of the first two timed solves. */
enum { ANSWER, BEFORE = 4, X_BEFORE, FIRST, SECOND = FIRST + 5, KEPT = SECOND + 5 };

static fault_t fault;
static int variant;
static bool solving;          /* in a timed solve */
static bool timed;            /* its input is not the problem's own */
static bool last_step;        /* the last time step has begun */
static int64_t solves, calls; /* timed solves; calls of the operator in this one */
static int64_t directions;    /* in this step */
static double alpha_before;   /* of the direction before */
static bool replaced;         /* the residual, since the direction before */
static int64_t renewals;      /* how often in this step, and 3 after a fault */
static const double *du;      /* the solver's x */
static int64_t victim;        /* element, in the grid `wide` */
static const gfnn_box_t *box; /* of the problem */
static double *kept[KEPT];
static double matrix[GFNN_MAX_IDS][24][24];
static bool has_form;
static gfnn_form_t first_form;

static bool in_solve(fault_t f)
{
    return solving && fault == f;
}

/* Is this fault in force, from the second solve on? */
static bool later(fault_t f)
{
    return in_solve(f) && solves > 1;
}

static double half(double x)
{
    return (double)gfnn_from_half(gfnn_to_half((float)x));
}

static double bf16(double x)
{
    const uint32_t bits = gfnn_bits_of((float)x);
    return (double)gfnn_float_of((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

/* --- the operator --- */

static void make_matrix(gfnn_form_t form, double w, double square, double A[24][24])
{
    const gfnn_element_t *e = gfnn_element();
    const double mass = w * form.mass, bulk = w * form.bulk;
    const double shear = square * form.shear * (fault == SHEAR_SCALED ? 1 + 1e-11 : 1);
    const bool mixed = fault == BULK_SHEAR_MIXED;
    for (int r = 0; r < 24; r++)
        for (int s = 0; s < 24; s++) {
            const bool swap = fault == BLOCKS_TRANSPOSED;
            const int i = swap ? r - r % 3 + s % 3 : r, j = swap ? s - s % 3 + r % 3 : s;
            const double L = mixed ? e->KM[i][j] : e->KL[i][j];
            const double M = mixed ? e->KL[i][j] : e->KM[i][j];
            double of_mass = fault == MASS_CORNER && i / 3 == 5 ? 0 : e->M[i][j];
            if (fault == MASS_LUMPED)
                of_mass = i == j ? 1 / 8. : 0;
            A[r][s] = mass * of_mass + bulk * L + shear * (M - 2 * L);
        }
}

static void make_matrices(const gfnn_materials_t *materials, const gfnn_form_t *form)
{
    if (!has_form)
        first_form = *form;
    has_form = true;
    for (int m = 0; m <= materials->ids; m++) {
        const int id = m < materials->ids ? m : GFNN_OUTSIDE;
        const int as = id == GFNN_OUTSIDE && fault == OUTSIDE_COUNTED ? 0 : id;
        const double square = fault == VS_NOT_SQUARED ? materials->vs[as] : materials->square[as];
        make_matrix(fault == FIRST_FORM ? first_form : *form, materials->w[as], square, matrix[id]);
    }
}

/* Returns component c of x at corner q of the element (i, j, k). */
static double corner(const double *x, int64_t i, int64_t j, int64_t k, int q, int c)
{
    const gfnn_grid_t *g = &box->fine;
    const bool swap = fault == CORNERS_SWAPPED;
    const int64_t at[3] = {i + (q & 1), j + (q >> (swap ? 2 : 1) & 1),
                           k + (q >> (swap ? 1 : 2) & 1)};
    if (fault == GHOSTS_IGNORED)
        for (int d = 0; d < 3; d++)
            if (at[d] < 0 || at[d] >= box->n[d])
                return 0;
    if (fault == COMPONENTS_SWAPPED && c < 2)
        c = 1 - c;
    return x[c * g->plane + gfnn_at(g, at[0], at[1], at[2])];
}

/* Adds the contribution of the element whose corner a the node is. */
static void add_element(const gfnn_view_t *view, const double *x, const int64_t node[3], int a,
                        double sum[3])
{
    const int64_t i = node[0] - (a & 1), j = node[1] - (a >> 1 & 1), k = node[2] - (a >> 2);
    const int64_t at = gfnn_at(&box->wide, i, j, k);
    const bool one = at == victim;
    const int id = view->id[at + (fault == IDS_SHIFTED || (fault == ONE_ID && one))];
    double xe[24];
    for (int q = 0; q < 24; q++)
        xe[q] = corner(x, i, j, k, q / 3, q % 3);
    for (int c = 0; c < 3; c++) {
        double part = 0;
        for (int q = 0; q < 24; q++) {
            part += matrix[id][3 * a + c][q] * xe[q];
            if (fault == FLOAT_SUM)
                part = rt_rounded(part);
        }
        if ((fault == ELEMENT_DROPPED && one) || (fault == COLOUR_SKIPPED && i & j & k & 1) ||
            (fault == ADDITION_LOST && one && a == 0 && c == 0))
            part = 0;
        sum[c] += fault == LAYER_TWICE && k == 1 ? 2 * part : part;
    }
}

static void own_node(const gfnn_view_t *view, const double *x, const int64_t node[3], double sum[3])
{
    const bool backwards = fault == ORDER_VARIES && calls % 2;
    memset(sum, 0, 3 * sizeof *sum);
    for (int a = 0; a < 8; a++)
        add_element(view, x, node, backwards ? 7 - a : a, sum);
    for (int c = 0; c < 3; c++)
        if (fault == FLOAT_RESULT || later(FLOAT_IN_WINDOWS))
            sum[c] = rt_rounded(sum[c]);
}

static bool is_forgotten(fault_t skipped, int64_t j, int64_t k)
{
    return (fault == skipped && j == 1 && k == 1) ||
           ((later(HALF_IN_WINDOWS) || (in_solve(HALF_SOLVED) && timed)) && j % 2);
}

/* Is the region the nodes next to the upper face of the box? */
static bool is_upper_slab(const gfnn_region_t *r)
{
    bool is = false;
    for (int d = 0; d < 3; d++)
        is = is || (r->lo[d] > 0 && r->hi[d] == box->n[d] && r->hi[d] - r->lo[d] <= 2);
    return is;
}

static void apply(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                  const double *x, double *y)
{
    const gfnn_grid_t *g = &view->box->fine;
    const gfnn_region_t *r = region;
    calls++;
    make_matrices(view->materials, form);
    if (fault == MESSAGE_DROPPED && variant == SLAB && is_upper_slab(region))
        return;
    int64_t at[3];
    for (at[2] = r->lo[2]; at[2] < r->hi[2]; at[2]++)
        for (at[1] = r->lo[1]; at[1] < r->hi[1]; at[1]++)
            for (at[0] = r->lo[0]; at[0] < r->hi[0]; at[0]++) {
                double sum[3];
                if (is_forgotten(ROW_SKIPPED, at[1], at[2]))
                    continue;
                own_node(view, x, at, sum);
                for (int c = 0; c < 3; c++) {
                    double *to = y + c * g->plane + gfnn_at(g, at[0], at[1], at[2]);
                    *to = fault == ADDS_TO_BEFORE ? *to + sum[c] : sum[c];
                }
            }
    if (fault == GHOST_WRITTEN)
        y[gfnn_at(g, box->n[0], 1, 1)] = 0;
    if (fault == NAN_IN_Y)
        y[gfnn_at(g, 1, 1, 1)] = NAN;
}

static void apply_dot(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                      const double *x, double *y, double *dot)
{
    const gfnn_grid_t *g = &view->box->fine;
    const gfnn_region_t *r = region;
    double row[64];
    *dot = 0;
    memcpy(row, y + gfnn_at(g, 0, 1, 1), (size_t)box->n[0] * sizeof *row);
    apply(view, form, region, x, y);
    if (fault == DOT_ROW_SKIPPED)
        memcpy(y + gfnn_at(g, 0, 1, 1), row, (size_t)box->n[0] * sizeof *row);
    for (int c = 0; c < 3; c++)
        for (int64_t k = r->lo[2]; k < r->hi[2]; k++)
            for (int64_t j = r->lo[1]; j < r->hi[1] - (fault == DOT_SHORT && k == 1); j++)
                for (int64_t i = r->lo[0]; i < r->hi[0]; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    *dot += fault == DOT_OF_FLOAT ? rt_rounded(x[at]) * rt_rounded(y[at])
                                                  : x[at] * y[at];
                }
}

/* --- the predictor --- */

/* Returns K_m[i][j][s], for taps s = (x, y, z) from -nd on. */
static double tap(const gfnn_network_t *network, int m, int i, int j, int x, int y, int z)
{
    const int sign = fault == MIRRORED ? -1 : 1; /* in x only: kernels are even */
    const int nd = network->reach, width = 2 * nd + 1;
    const int at = ((z + nd) * width + y + nd) * width + sign * x + nd;
    const int first = fault == TRANSPOSED ? j : i, second = fault == TRANSPOSED ? i : j;
    const double K = (double)network->K[((m * 3 + first) * 3 + second) * gfnn_stencil(nd) + at];
    if ((fault == NO_OFFDIAGONAL && i != j) ||
        (fault == TAP_DROPPED && m == 0 && i == 0 && j == 0 && x == 1 && y == 0 && z == 0) ||
        (fault == CORNER_TAP_DROPPED && x == nd && y == nd && z == nd) ||
        (fault == USUAL_REACH && (abs(x) > GFNN_ND || abs(y) > GFNN_ND || abs(z) > GFNN_ND)))
        return 0;
    return fault == BF16_K ? bf16(K) : fault == HALF_K ? half(K) : K;
}

/* Returns the weight of gf8: a + b . s/nd. */
static double weight(const double *c, int nd, int x, int y, int z)
{
    const double unit = fault == SLOPE_UNIT ? GFNN_ND : nd;
    const double slope = (c[1] * x + c[2] * y + c[3] * z) / unit;
    return c[0] + (fault == SLOPE_SIGN ? -slope : slope);
}

static double input(const gfnn_network_t *network, const void *r, int j, const int64_t node[3])
{
    const int64_t at = j * box->wide.plane + gfnn_at(&box->wide, node[0], node[1], node[2]);
    const bool low = network->precision == GFNN_FP16;
    const double value =
        low ? (double)gfnn_from_half(((const uint16_t *)r)[at]) : (double)((const float *)r)[at];
    if (fault == GHOSTS_SHALLOW)
        for (int d = 0; d < 3; d++)
            if (node[d] <= -network->reach || node[d] >= box->n[d] - 1 + network->reach)
                return 0;
    return fault == HALF_R || later(FLOAT_IN_WINDOWS) ? half(value) : value;
}

static void add_neighbour(const gfnn_network_t *network, const double *c, const void *r,
                          const int64_t node[3], const int s[3], double z[3])
{
    const bool gf8 = network->form == GFNN_GF8;
    const int64_t at[3] = {node[0] + s[0], node[1] + s[1], node[2] + s[2]};
    for (int j = 0; j < 3; j++) {
        const double value = input(network, r, j, at);
        for (int i = 0; i < 3; i++) {
            const double *of = c + (i == j || fault == DIAGONAL_FOR_ALL ? 0 : 4);
            const double factor = gf8 ? weight(of, network->reach, s[0], s[1], s[2]) : 1;
            for (int m = 0; m < network->kernels; m++)
                z[i] += tap(network, m, i, j, s[0], s[1], s[2]) * (gf8 ? factor : c[m]) * value;
            if (fault == HALF_SUM)
                z[i] = half(z[i]);
        }
    }
}

static void predict_node(const gfnn_network_t *network, const void *r, const int64_t node[3],
                         double z[3])
{
    const gfnn_grid_t *bare = &box->bare;
    const int64_t next = fault == NEXT_COEFFICIENTS && node[0] + 1 < box->n[0];
    double c[GFNN_MAX_COEF];
    for (int q = 0; q < network->coefs; q++)
        c[q] =
            (double)network->c[q * bare->plane + gfnn_at(bare, node[0] + next, node[1], node[2])];
    if (fault == PLANE_ZERO)
        c[network->coefs - 1] = 0;
    memset(z, 0, 3 * sizeof *z);
    const int nd = network->reach;
    int s[3];
    for (s[2] = -nd; s[2] <= nd; s[2]++)
        for (s[1] = -nd; s[1] <= nd; s[1]++)
            for (s[0] = -nd; s[0] <= nd; s[0]++)
                add_neighbour(network, c, r, node, s, z);
}

static void predict(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_grid_t *g = &view->box->wide;
    int64_t at[3];
    for (at[2] = 0; at[2] < box->n[2]; at[2]++)
        for (at[1] = 0; at[1] < box->n[1]; at[1]++)
            for (at[0] = 0; at[0] < box->n[0]; at[0]++) {
                double sum[3];
                if (is_forgotten(Z_ROW_SKIPPED, at[1], at[2]))
                    continue;
                predict_node(network, r, at, sum);
                for (int i = 0; i < 3; i++) {
                    const double value = fault == Z_SCALED ? sum[i] * (1 + 2e-4) : sum[i];
                    z[i * g->plane + gfnn_at(g, at[0], at[1], at[2])] =
                        (float)(fault == HALF_Z ? half(value) : value);
                }
            }
}

/* --- tables of a solve: cpu-simd, with what happens in the timed solve only --- */

/* Returns x; in the sixth product of a solve its ghosts are those of the fifth. */
static const double *with_stale_ghosts(const double *x)
{
    const gfnn_grid_t *g = &box->fine;
    const size_t bytes = 3 * (size_t)g->plane * sizeof *x;
    double *stale = kept[X_BEFORE];
    if (calls == 6)
        for (int c = 0; c < 3; c++)
            for (int64_t k = 0; k < g->n[2]; k++)
                for (int64_t j = 0; j < g->n[1]; j++) {
                    const int64_t at = c * g->plane + gfnn_at(g, 0, j, k);
                    memcpy(stale + at, x + at, (size_t)g->n[0] * sizeof *x);
                }
    else
        memcpy(stale, x, bytes);
    return stale;
}

static void solve_apply(const gfnn_view_t *view, const gfnn_form_t *form,
                        const gfnn_region_t *region, const double *x, double *y)
{
    gfnn_form_t off = *form;
    calls++;
    if (in_solve(OPERATOR_OFF))
        off.shear *= 1 + 1e-6;
    gfnn_operator_simd.apply(view, &off, region, in_solve(STALE_GHOSTS) ? with_stale_ghosts(x) : x,
                             y);
}

/* Copies x without its ghosts. */
static void copy_own(const float *x, float *to)
{
    const gfnn_grid_t *g = &box->wide;
    memset(to, 0, 3 * (size_t)g->plane * sizeof *to);
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++) {
                const int64_t at = c * g->plane + gfnn_at(g, 0, j, k);
                memcpy(to + at, x + at, (size_t)g->n[0] * sizeof *x);
            }
}

static void solve_apply32(const gfnn_view_t *view, const gfnn_form_t *form,
                          const gfnn_region_t *region, const float *x, float *y)
{
    const int64_t values = 3 * box->wide.plane, row = gfnn_at(&box->wide, 0, 1, 1);
    const size_t bytes = (size_t)box->n[0] * sizeof *y;
    const bool low = fault == HALF_PRODUCT32;
    float *seen = RT_NEW(float, (size_t)values, RT_HOST), before[64];
    memcpy(before, y + row, bytes);
    const bool stale = in_solve(STALE_GHOSTS) && renewals == 2;
    renewals += stale;
    if (fault == GHOSTS_IGNORED32 || stale)
        copy_own(x, seen);
    else
        memcpy(seen, x, (size_t)values * sizeof *seen);
    for (int64_t v = 0; low && v < values; v++)
        seen[v] = (float)half((double)seen[v]);
    gfnn_operator_simd.apply32(view, form, region, seen, y);
    for (int64_t v = 0; low && v < values; v++)
        y[v] = (float)half((double)y[v]);
    if (fault == ROW_SKIPPED32)
        memcpy(y + row, before, bytes);
    RT_FREE(seen, RT_HOST);
}

/* For one fault alone: otherwise every FP32 product is solve_apply32. */
static void dot_short32(const gfnn_view_t *view, const gfnn_form_t *form,
                        const gfnn_region_t *region, const float *x, float *y, double *dot)
{
    const int64_t row = gfnn_at(&box->wide, 0, 1, 1);
    gfnn_operator_simd.apply_dot32(view, form, region, x, y, dot);
    for (int64_t at = row; at < row + box->n[0]; at++)
        *dot -= (double)x[at] * (double)y[at];
}

static const gfnn_loops_t *of_type(const gfnn_view_t *view)
{
    return gfnn_vectors_cpu.loops[view->config->vectors];
}

/* Makes the step of x that the last iteration left. */
static void solve_arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
                         const void *p, double *to)
{
    gfnn_cg_t faulty = *cg;
    if (in_solve(UNIT_KEPT))
        faulty.unit = 1;
    if (in_solve(LAST_STEP_OF_X))
        faulty.due = 0;
    of_type(view)->arrive(view, &faulty, first, x, p, to);
    for (int64_t i = 0; in_solve(DU_ROUNDED) && i < 3 * box->fine.plane; i++)
        to[i] = rt_rounded(to[i]);
}

/* Keeps what an honest replacement does not. */
static void solve_renew(const gfnn_view_t *view, gfnn_cg_t *cg, const double *f, const double *y,
                        void *r, void *x, int precision, void *low)
{
    const size_t values = 3 * (size_t)box->wide.plane;
    const bool replaces = y && solving, keeps = replaces && fault == NOT_REPLACED;
    float *before = RT_NEW(float, values, RT_HOST);
    double *other = RT_NEW(double, values, RT_HOST);
    memcpy(before, keeps ? r : x, keeps || replaces ? values * sizeof *before : 0);
    for (int64_t i = 0; replaces && i < 3 * box->fine.plane; i++)
        other[i] = fault == REPLACED_IN_FP32 ? rt_rounded(y[i]) : y[i];
    of_type(view)->renew(view, cg, f, replaces ? other : y, r, x, precision, low);
    if (keeps) {
        memcpy(r, before, values * sizeof *before);
        cg->sums[0] = gfnn_vectors_cpu.dot32(view, r, r);
    }
    if (replaces && fault == X_KEPT)
        memcpy(x, before, values * sizeof *before);
    replaced = replaces;
    renewals += replaces;
    RT_FREE(before, RT_HOST);
    RT_FREE(other, RT_HOST);
}

/* Returns the scalars with what is due to x; the fourth of each step is that of the third
 * iteration. */
static gfnn_cg_t faulty_alpha(const gfnn_cg_t *cg)
{
    gfnn_cg_t faulty = *cg;
    directions++;
    if (in_solve(ALPHA_BEFORE) && alpha_before != 0)
        faulty.due = alpha_before;
    else if (in_solve(NO_X) && directions == 4)
        faulty.due = 0;
    else if (in_solve(STEP_TWICE) && replaced)
        faulty.due = cg->alpha;
    else if (in_solve(P_DROPPED) && replaced)
        faulty.beta = 0;
    alpha_before = cg->alpha;
    replaced = false;
    return faulty;
}

static void solve_direction(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                            const float *z, void *p)
{
    const gfnn_cg_t faulty = faulty_alpha(cg);
    of_type(view)->direction(view, &faulty, first, x, z, p);
}

static void solve_direction_plain(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                                  const void *r, void *p)
{
    const gfnn_cg_t faulty = faulty_alpha(cg);
    of_type(view)->direction_plain(view, &faulty, first, x, r, p);
}

/* A wrong polynomial finds x too, only later than an honest one may. */
static void solve_smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                           float omega, const float *r, const float *y, float *out)
{
    gfnn_vectors_cpu.smooth32(view, z, in_solve(OLD_UNUSED) ? 0 : a, old, omega, r,
                              in_solve(PRODUCT_UNUSED) && z ? z : y, out);
}

static void solve_hold(const gfnn_view_t *view, double *x, float *z)
{
    if (!in_solve(NOT_HELD))
        gfnn_vectors_cpu.hold(view, x, z);
}

/* --- time steps --- */

static int64_t values_of(void)
{
    return 3 * box->fine.plane;
}

static void add_source(const gfnn_solver_t *s, double time)
{
    const gfnn_problem_t *p = s->problem;
    const double late = fault == SOURCE_LATE ? p->config->dt : 0;
    const gfnn_force_t force = gfnn_source(p->config, box, &p->step, time - late);
    if (force.at >= 0)
        s->f[force.at] += fault == SOURCE_SIGN ? -force.value : force.value;
}

/* Computes f; uses x and q. */
static void right_hand_side(gfnn_solver_t *s, double time)
{
    const gfnn_step_t *step = &s->problem->step;
    const gfnn_config_t *config = s->problem->config;
    const double unit = GFNN_RHO * config->ds * config->ds * config->ds / step->c0;
    const double ra = fault == NO_DAMPING_IN_F ? 0 : step->rayleigh_a;
    const double rb = fault == NO_DAMPING_IN_F || fault == MASS_DAMPING_ONLY ? 0 : step->rayleigh_b;
    const gfnn_vectors_t *v = s->kernels->vectors;
    for (int64_t i = 0; i < values_of(); i++) {
        s->x[i] = (fault == A_OUT_OF_F ? 0 : s->a[i]) + (4 / config->dt + ra) * s->v[i];
        s->q[i] = rb * s->v[i] - (fault == NO_K_U ? 0 : s->u[i]);
    }
    gfnn_apply(s, &step->M, s->x, s->f);
    gfnn_apply(s, &step->K, s->q, s->x);
    v->axpby(&s->view_vec, unit, s->x, unit, s->f);
    add_source(s, time);
    v->hold(&s->view_vec, s->f, NULL);
}

static void newmark_row(gfnn_solver_t *s, int64_t at)
{
    const double dt = s->problem->config->dt;
    for (int64_t i = at; i < at + box->n[0]; i++) {
        const double v = s->v[i];
        const double times = fault == U_TWICE ? 2 : fault == U_NOT_UPDATED && last_step ? 0 : 1;
        s->u[i] += times * du[i];
        if (fault == U_ROUNDED)
            s->u[i] = rt_rounded(s->u[i]);
        s->v[i] = 2 * du[i] / dt + (fault == V_OLD_SIGN ? v : -v);
        if (fault != A_BEFORE || !last_step)
            s->a[i] = 4 * du[i] / (dt * dt) - 4 * v / dt - s->a[i];
    }
}

/* Ghosts stay 0. */
static void newmark(gfnn_solver_t *s)
{
    const gfnn_grid_t *g = &box->fine;
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                newmark_row(s, c * g->plane + gfnn_at(g, 0, j, k));
}

/* Calls gfnn_cg with looser settings, where a fault needs them. */
static void faulty_cg(gfnn_solver_t *s)
{
    const bool middle = fault == STEP_LOOSE && s->steps == 1, half = fault == HALF_SOLVED && timed;
    gfnn_problem_t *p = s->problem;
    const gfnn_config_t *asked = p->config;
    gfnn_config_t config = *asked;
    const bool claims = fault == LOOSE_CLAIMED || fault == DU_LARGE;
    if (fault == LOOSE || claims || (fault == LOOSE_BUT_LAST && !last_step))
        config.tolerance *= fault == LOOSE_BUT_LAST ? 1e4 : 100;
    if (middle)
        config.tolerance *= 4;
    p->config = &config;
    calls = directions = renewals = 0;
    alpha_before = 0;
    du = s->x;
    s->last_iterations = gfnn_cg(s);
    if (fault == ITERATION_FEWER || half) {
        config.max_iterations = half ? s->last_iterations / 2 : s->last_iterations - 1;
        gfnn_cg(s);
    }
    p->config = asked;
    if (claims || middle || (fault == LOOSE_BUT_LAST && !last_step) || fault == ITERATION_FEWER ||
        half)
        s->residual = asked->tolerance / 2;
}

/* Does what the app does, with faults. */
static void time_steps(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    const int64_t asked = config->steps;
    const int64_t steps = asked - (fault == STEP_FEWER) + (fault == STEP_MORE);
    double *before = kept[BEFORE];
    for (s->steps = 0; s->steps < steps;) {
        last_step = s->steps == steps - 1;
        if (last_step && s->steps > 0)
            memcpy(before, s->x, (size_t)values_of() * sizeof *before);
        right_hand_side(s, (double)(s->steps + 1) * config->dt);
        faulty_cg(s);
        newmark(s);
        gfnn_count_step(s);
    }
    for (int64_t i = 0; fault == DU_LARGE && i < values_of(); i++)
        s->x[i] *= 1000;
    if (fault == DU_BEFORE)
        memcpy(s->x, before, (size_t)values_of() * sizeof *before);
}

/* Steps without damping: everything has other coefficients, except the scale of the source. */
static void undamped_steps(gfnn_solver_t *s)
{
    const gfnn_step_t step = s->problem->step;
    gfnn_config_t config = *s->problem->config;
    config.damping = 0;
    s->problem->step = gfnn_step(&config);
    time_steps(s);
    s->problem->step = step;
}

/* --- the solve --- */

/* Keeps x the first time, and replaces x by it later. */
static void keep_or_answer(int which, void *x, size_t bytes)
{
    if (solves == 1)
        memcpy(kept[which], x, bytes);
    else
        memcpy(x, kept[which], bytes);
}

static void first_answer(gfnn_solver_t *s)
{
    static double residual;
    double *const state[] = {s->u, s->v, s->a, s->x};
    for (int i = 0; variant == SOLVE && i < 4; i++)
        keep_or_answer(ANSWER + i, state[i], (size_t)values_of() * sizeof(double));
    if (variant == OPERATOR)
        keep_or_answer(ANSWER, s->q, (size_t)values_of() * sizeof(double));
    if (variant == PREDICTOR)
        keep_or_answer(ANSWER, s->z, 3 * (size_t)box->wide.plane * sizeof(float));
    residual = solves == 1 ? s->residual : residual;
    s->residual = residual;
}

/* --- kept answers --- */

/* Copies a vector of the solver, whatever its type, to or from doubles. */
static void copy_values(void *x, bool floats, double *kept_x, bool back)
{
    const int64_t n = floats ? 3 * box->wide.plane : values_of();
    for (int64_t i = 0; i < n; i++)
        if (back && floats)
            ((float *)x)[i] = (float)kept_x[i];
        else if (back)
            ((double *)x)[i] = kept_x[i];
        else
            kept_x[i] = floats ? (double)((float *)x)[i] : ((double *)x)[i];
}

/* Writes the input to kept[to]: x, r, or the velocities at the start. */
static void keep_input(gfnn_solver_t *s, int to)
{
    if (variant == PREDICTOR && s->low)
        for (int64_t i = 0; i < 3 * box->wide.plane; i++)
            kept[to][i] = (double)gfnn_from_half(((uint16_t *)s->low)[i]);
    else
        copy_values(variant == PREDICTOR ? (void *)s->r32
                    : variant == SOLVE   ? s->v
                                         : s->x,
                    variant == PREDICTOR, kept[to], false);
}

/* Copies what a solve leaves from kept[at ..], or to it. */
static void copy_answer(gfnn_solver_t *s, int at, bool back)
{
    double *const state[] = {s->u, s->v, s->a, s->x};
    for (int i = 0; variant == SOLVE && i < 4; i++)
        copy_values(state[i], false, kept[at + i], back);
    if (variant != SOLVE)
        copy_values(variant == PREDICTOR ? (void *)s->z : s->q, variant == PREDICTOR, kept[at],
                    back);
}

static double own_dot(const double *x, const double *y)
{
    const gfnn_grid_t *g = variant == PREDICTOR ? &box->wide : &box->fine;
    return gfnn_judge_dot(g, x, y);
}

/* Answers with what the first timed solves left, as near as that can come to this input: whole, times
 * a factor, or with the two factors of least squares. */
static void answer_from_kept(gfnn_solver_t *s)
{
    double *x = kept[X_BEFORE], a = 1, b = 0;
    keep_input(s, X_BEFORE);
    const double xx = own_dot(kept[FIRST], kept[FIRST]), x1 = own_dot(kept[FIRST], x);
    if (fault != KEPT_WHOLE)
        a = x1 / xx;
    if (fault == KEPT_COMBINED) {
        const double xy = own_dot(kept[FIRST], kept[SECOND]);
        const double yy = own_dot(kept[SECOND], kept[SECOND]), y1 = own_dot(kept[SECOND], x);
        a = (x1 * yy - y1 * xy) / (xx * yy - xy * xy);
        b = (y1 * xx - x1 * xy) / (xx * yy - xy * xy);
    }
    for (int q = 1; q < 5; q++)
        for (int64_t i = 0; i < 3 * box->wide.plane; i++)
            kept[ANSWER + q - 1][i] = a * kept[FIRST + q][i] + b * kept[SECOND + q][i];
    copy_answer(s, ANSWER, true);
    s->residual = s->worst = s->problem->config->tolerance / 2;
    s->steps = s->problem->config->steps;
}

/* Solves, and keeps input and answer, or answers from what is kept. */
static void solve_or_remember(gfnn_solver_t *s, void (*solve)(gfnn_solver_t *s))
{
    const int needed = fault == KEPT_COMBINED ? 2 : 1, to = solves == 1 ? FIRST : SECOND;
    if (timed && solves > needed) {
        answer_from_kept(s);
        return;
    }
    if (timed)
        keep_input(s, to);
    solve(s);
    if (timed)
        copy_answer(s, to + 1, false);
}

static void solve_single(gfnn_solver_t *s)
{
    gfnn_solve(s);
}

/* Keeps x of this solve, and takes that of the one before. */
static void take_previous_input(gfnn_solver_t *s)
{
    for (int64_t i = 0; i < values_of(); i++) {
        const double x = s->x[i];
        s->x[i] = solves > 1 ? kept[X_BEFORE][i] : x;
        kept[X_BEFORE][i] = x;
    }
}

static float largest32(const float *z)
{
    float most = 0;
    for (int64_t v = 0; v < 3 * box->wide.plane; v++)
        most = fmaxf(most, fabsf(z[v]));
    return most;
}

static void change_afterwards(gfnn_solver_t *s)
{
    const int64_t at = gfnn_at(&box->fine, 1, 1, 1), wide = gfnn_at(&box->wide, 1, 1, 1);
    if (fault == ONE_VALUE && variant == OPERATOR)
        s->q[at] *= 1 + 1e-11;
    if (fault == ONE_VALUE && variant == PREDICTOR)
        s->z[wide] += 1e-3f * largest32(s->z);
    if (fault == NAN_AFTER_SOLVE)
        s->a[at] = NAN;
    if (fault == ONE_VALUE_OF_V) { /* the largest */
        int64_t most = at;
        for (int64_t i = 0; i < values_of(); i++)
            most = fabs(s->v[i]) > fabs(s->v[most]) ? i : most;
        s->v[most] *= 1 + 1e-4;
    }
}

static void swap_halos(gfnn_solver_t *s)
{
    rt_halo_force_transport(&rt_transport_lossy);
    const struct {
        rt_halo_t **halo;
        const gfnn_grid_t *grid;
        int width;
    } each[] = {{&s->halo_fine, &box->fine, 1},
                {&s->halo_wide3, &box->wide, (int)box->wide.halo},
                {&s->halo_low, &box->wide, (int)box->wide.halo}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (*each[i].halo) {
            rt_halo_destroy(*each[i].halo);
            *each[i].halo =
                gfnn_halo_new(box, each[i].grid, each[i].width, "staged", RT_CPU, RT_HOST);
        }
    rt_halo_force_transport(NULL);
}

static void solve_wrongly(gfnn_solver_t *s)
{
    if (fault == NOTHING || (fault == NOTHING_SECOND && solves > 1))
        return;
    if (fault == PREVIOUS_INPUT)
        take_previous_input(s);
    solving = true;
    timed = s->draw != 0;
    if (fault == KEPT_WHOLE || fault == KEPT_SCALED || fault == KEPT_COMBINED)
        solve_or_remember(s, variant == SOLVE ? time_steps : solve_single);
    else if (variant != SOLVE)
        gfnn_solve(s);
    else if (fault == NO_DAMPING)
        undamped_steps(s);
    else
        time_steps(s);
    solving = false;
    if (fault == FIRST_ANSWER)
        first_answer(s);
    change_afterwards(s);
}

static void faulty_solve(void *solver)
{
    gfnn_solver_t *s = solver;
    solves++;
    if (fault == MESSAGE_DROPPED && variant == SOLVE)
        swap_halos(s);
    solve_wrongly(s);
    s->steps = s->problem->config->steps; /* otherwise the number alone would give it away */
}

static void *faulty_solver_new(void *problem, const rt_rung_t *rung)
{
    gfnn_solver_t *s = gfnn_solver_new(problem, rung);
    if (fault == MESSAGE_DROPPED && (variant == OPERATOR || variant == PREDICTOR))
        swap_halos(s);
    return s;
}

/* --- the suite --- */

static const rt_kernels_t *kernels(const rt_mutant_t *mutant)
{
    static const gfnn_operator_t op = {.apply = apply, .apply_dot = apply_dot},
                                 unclaimed = {.apply = apply};
    static const gfnn_predictor_t net = {.apply = predict};
    static const gfnn_kernels_t of_operator = {.rung.reproducible = true,
                                               .ladder = GFNN_LADDER_OPERATOR,
                                               .op = &op},
                                of_unclaimed = {.ladder = GFNN_LADDER_OPERATOR, .op = &unclaimed},
                                of_predictor = {.rung.reproducible = true,
                                                .ladder = GFNN_LADDER_PREDICTOR,
                                                .predictor = {&net, &net}};
    static gfnn_operator_t solve_op;
    static gfnn_vectors_t vectors;
    static gfnn_loops_t loops[GFNN_TYPES];
    static gfnn_kernels_t of_solve;
    solve_op = gfnn_operator_simd;
    solve_op.apply = solve_apply;
    solve_op.apply32 = solve_apply32;
    solve_op.apply_dot = NULL; /* otherwise not every product would be solve_apply */
    solve_op.apply_dot32 = mutant->fault == DOT_SHORT32 ? dot_short32 : NULL;
    solve_op.whole = true;
    vectors = gfnn_vectors_cpu;
    vectors.hold = solve_hold;
    for (int type = 0; type < GFNN_TYPES; type++) {
        loops[type] = *gfnn_vectors_cpu.loops[type];
        loops[type].renew = solve_renew;
        loops[type].arrive = solve_arrive;
        loops[type].direction = solve_direction;
        loops[type].direction_plain = solve_direction_plain;
        vectors.loops[type] = &loops[type];
    }
    vectors.smooth32 = solve_smooth32;
    of_solve = gfnn_solve_simd;
    of_solve.op = &solve_op;
    of_solve.vectors = &vectors;
    const gfnn_kernels_t *const all[] = {[OPERATOR] = &of_operator,
                                         [UNCLAIMED] = &of_unclaimed,
                                         [PREDICTOR] = &of_predictor,
                                         [SOLVE] = &of_solve,
                                         [SLAB] = &of_operator};
    return &all[mutant->variant]->rung;
}

static const char *ladder(const rt_mutant_t *mutant)
{
    return mutant->variant == PREDICTOR ? "predictor"
           : mutant->variant == SOLVE   ? "solve"
                                        : "operator";
}

/* Returns the first element inside the box whose neighbour in x is of another tissue. */
static int64_t find_victim(const gfnn_model_t *model)
{
    const gfnn_materials_t *materials = &model->materials;
    for (int64_t k = 0; k + 1 < box->n[2]; k++)
        for (int64_t j = 0; j + 1 < box->n[1]; j++)
            for (int64_t i = 0; i + 2 < box->n[0]; i++) {
                const int64_t at = gfnn_at(&box->wide, i, j, k);
                if (materials->vs[model->id[at]] != materials->vs[model->id[at + 1]])
                    return at;
            }
    return -1;
}

static void begin(const rt_mutant_t *mutant, void *problem)
{
    const gfnn_problem_t *p = problem;
    box = &p->box;
    fault = (fault_t)mutant->fault;
    variant = mutant->variant;
    solves = calls = 0;
    solving = timed = has_form = last_step = false;
    victim = find_victim(p->model);
    const size_t values = 3 * (size_t)box->wide.plane;
    for (int i = 0; i < KEPT; i++) {
        kept[i] = RT_NEW(double, values, RT_HOST);
        memset(kept[i], 0, values * sizeof(double));
    }
}

static void end(void)
{
    fault = HONEST;
    variant = OPERATOR;
    for (int i = 0; i < KEPT; i++)
        RT_FREE(kept[i], RT_HOST);
}

static const rt_mutant_t honest[] = {
    {HONEST, "operator without a fault", RT_EVERY_PROBLEM, false, OPERATOR},
    {HONEST, "the same, in windows", BJ, true, OPERATOR},
    {ORDER_VARIES, "the same bits neither kept nor claimed", RT_EVERY_PROBLEM, true, UNCLAIMED},
    {HONEST, "predictor without a fault", GFM, true, PREDICTOR},
    {HONEST, "predictor without a fault", HALF, true, PREDICTOR},
    {HONEST, "predictor without a fault", GF8, false, PREDICTOR},
    {HONEST, "predictor without a fault", HELD, false, PREDICTOR},
    {HONEST, "steps without a fault", RT_EVERY_PROBLEM, false, SOLVE},
    {HONEST, "steps without a fault, in windows", FREE, true, SOLVE},
    {HONEST, "steps in FP32 vectors without a fault, in windows", SINGLE16, true, SOLVE},
};

RT_MUTANTS_MAIN(gfnn_app, .ladder = ladder)
