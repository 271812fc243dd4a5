/*
 * flow_mutants.c - wrong nonlinear steps of fun3d-mcpi, each of which the verification must detect;
 * see mutants.h.
 *
 * Faults of a phase are in this file's own loops over the nodes, which are flow_simd.c's without
 * them. Faults of a solve go only into the timed solve, so that what is left behind must reveal
 * them.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/fun3d-mcpi/flow/march.h"
#include "apps/fun3d-mcpi/flow/node.h"
#include "tests/mutants/mutants.h"

enum { NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q };

typedef enum {
    HONEST,
    /* slopes */
    SLOPES_ZERO,
    SLOPES_WEIGHTED,
    SLOPES_SHORT,
    SLOPES_FLOAT,
    SLOPES_SWAPPED,
    /* residual */
    FLUX_SIGN,
    FACE_DROPPED,
    FACE_TWICE,
    NO_DISSIPATION,
    FIRST_ORDER,
    NO_BOUNDARY,
    NO_FAR_FIELD,
    NO_WALL_PRESSURE,
    NO_FRICTION,
    FRICTION_SIGN,
    NO_HEAT,
    NOT_HELD,
    RATE_HALF,
    RESIDUAL_NAN,
    NORM_SHORT,
    /* Jacobian */
    WRONG_SIDE,
    DISSIPATION_SIGN,
    BLOCK_DROPPED,
    BLOCK_TRANSPOSED,
    NO_STEP,
    NO_BOUNDARY_IN_D,
    NO_CONDUCTION,
    ROW_NOT_HELD,
    O_FLOAT,
    O_HALF,
    O_TRUNCATED,
    NOT_SCALED,
    /* factors and right-hand side */
    LU_FLOAT,
    LU_NEXT_ROW,
    NO_RECIPROCALS,
    RIGHT_SIGN,
    RIGHT_NOT_SCALED,
    RIGHT_FLOAT,
    CHANGE_SHORT,
    /* update */
    UPDATE_SIGN,
    UPDATE_HALF,
    UPDATE_ROW_SKIPPED,
    UPDATE_UNGUARDED,
    UPDATE_NOT_COUNTED,
    /* the solve */
    JACOBIAN_STALE,
    SWEEP_FEWER,
    SWEEP_MORE,
    DQ_KEPT,
    COURANT_FIXED,
    STEP_FEWER,
    STEP_MORE,
    NOTHING,
    LEFT_OVER,
    KEPT,
    KEPT_SCALED,
    KEPT_COMBINED,
    HALF_OF_STEPS,
    ONE_VALUE,
    ONE_NAN,
    ENDS_EARLY,
    OTHER_FLOW,
    NEVER_CUT,
    BROKEN_KEPT,
    /* messages */
    MESSAGE_DROPPED
} fault_t;

enum { EULER, LAMINAR, DOUBLE, WHOLE, ROUGH, BFLOAT, PROBLEMS };
static const char *const settings[PROBLEMS] = {
    [EULER] = "surface=4 layers=6 sweeps=4 steps=2",
    [LAMINAR] = "surface=4 layers=6 sweeps=4 steps=2 flow-reynolds=500",
    [DOUBLE] = "surface=4 layers=6 sweeps=4 steps=3 offdiagonal=fp64 dq=fp64 accumulate=fp64",
    [WHOLE] = "surface=4 layers=6 steps=300 tolerance=1e-4",
    [ROUGH] = "surface=4 layers=6 steps=100 tolerance=1e-4 courant=1000", /* takes steps back */
    [BFLOAT] = "surface=4 layers=6 sweeps=4 steps=3 offdiagonal=bf16"};

static const rt_mutant_t mutants[] = {
    {.fault = SLOPES_ZERO, .name = "slopes 0"},
    {.fault = SLOPES_WEIGHTED, .name = "slopes weighted by distance"},
    {.fault = SLOPES_SHORT, .name = "slopes without the last neighbour of one row"},
    {.fault = SLOPES_FLOAT, .name = "slopes in FP32"},
    {.fault = SLOPES_SWAPPED, .name = "slopes along y and z swapped in one row"},
    {.fault = FLUX_SIGN, .name = "one flux with the wrong sign"},
    {.fault = FACE_DROPPED, .name = "one face left out"},
    {.fault = FACE_TWICE, .name = "one face counted twice", .problem = BFLOAT},
    {.fault = NO_DISSIPATION, .name = "central flux in place of Roe's"},
    {.fault = FIRST_ORDER, .name = "first order"},
    {.fault = NO_BOUNDARY, .name = "boundary flux missing"},
    {.fault = NO_FAR_FIELD, .name = "far field missing"},
    {.fault = NO_WALL_PRESSURE, .name = "pressure on the wall missing"},
    {.fault = NO_FRICTION, .name = "viscous flux missing", .problem = LAMINAR},
    {.fault = FRICTION_SIGN, .name = "viscous flux with the wrong sign", .problem = LAMINAR},
    {.fault = NO_HEAT, .name = "no viscous flux of energy", .problem = LAMINAR},
    {.fault = NOT_HELD, .name = "velocity not held at the wall", .problem = LAMINAR},
    {.fault = RATE_HALF, .name = "rate of half the size"},
    {.fault = RESIDUAL_NAN, .name = "one NaN in R"},
    {.fault = NORM_SHORT, .name = "norm without one row"},
    {.fault = WRONG_SIDE, .name = "O from the row's own state"},
    {.fault = DISSIPATION_SIGN, .name = "|A| with the wrong sign in O"},
    {.fault = BLOCK_DROPPED, .name = "one block 0"},
    {.fault = BLOCK_TRANSPOSED, .name = "one block transposed", .problem = BFLOAT},
    {.fault = NO_STEP, .name = "no pseudo-time step in D"},
    {.fault = NO_BOUNDARY_IN_D, .name = "boundary missing in D"},
    {.fault = NO_CONDUCTION, .name = "viscous terms missing in A", .problem = LAMINAR},
    {.fault = ROW_NOT_HELD, .name = "momentum rows of the wall not held", .problem = LAMINAR},
    {.fault = O_FLOAT, .name = "O in FP32 where FP64 was asked", .problem = DOUBLE},
    {.fault = O_HALF, .name = "O in FP16 where FP32 was asked"},
    {.fault = O_TRUNCATED, .name = "O truncated, not rounded to nearest"},
    {.fault = NOT_SCALED, .name = "rows not scaled"},
    {.fault = LU_FLOAT, .name = "LU in FP32"},
    {.fault = LU_FLOAT, .name = "LU in FP32, O in BF16", .problem = BFLOAT},
    {.fault = LU_NEXT_ROW, .name = "one row with the factors of the next"},
    {.fault = NO_RECIPROCALS, .name = "diagonal of U in place of its reciprocals"},
    {.fault = RIGHT_SIGN, .name = "right-hand side with the wrong sign"},
    {.fault = RIGHT_NOT_SCALED, .name = "right-hand side not scaled"},
    {.fault = RIGHT_FLOAT, .name = "right-hand side in FP32"},
    {.fault = CHANGE_SHORT, .name = "change of dQ without one row"},
    {.fault = UPDATE_SIGN, .name = "dQ subtracted"},
    {.fault = UPDATE_HALF, .name = "half of dQ added"},
    {.fault = UPDATE_ROW_SKIPPED, .name = "one row not updated"},
    {.fault = UPDATE_UNGUARDED, .name = "positivity not kept"},
    {.fault = UPDATE_NOT_COUNTED, .name = "scaled rows not counted"},
    {.fault = JACOBIAN_STALE, .name = "stale Jacobian used as new"},
    {.fault = JACOBIAN_STALE, .name = "stale Jacobian used as new, FP64", .problem = DOUBLE},
    {.fault = SWEEP_FEWER, .name = "a sweep less in each step"},
    {.fault = SWEEP_FEWER, .name = "a sweep less in each step, FP64", .problem = DOUBLE},
    {.fault = SWEEP_MORE, .name = "a sweep more in each step"},
    {.fault = DQ_KEPT, .name = "sweeps begin with dQ of the step before"},
    {.fault = COURANT_FIXED, .name = "Courant number stays at the first"},
    {.fault = STEP_FEWER, .name = "one step fewer"},
    {.fault = STEP_FEWER, .name = "one step fewer, O in BF16", .problem = BFLOAT},
    {.fault = STEP_MORE, .name = "one step more"},
    {.fault = NOTHING, .name = "nothing done"},
    {.fault = NOTHING, .name = "nothing done, converged at once", .problem = WHOLE},
    {.fault = LEFT_OVER, .name = "starts from what the solve before left", .timed = true},
    {.fault = KEPT, .name = "an answer kept, whole", .timed = true},
    {.fault = KEPT, .name = "an answer kept, whole, converged", .problem = WHOLE, .timed = true},
    {.fault = KEPT_SCALED, .name = "an answer kept, and scaled", .timed = true},
    {.fault = KEPT_SCALED,
     .name = "an answer kept, and scaled, converged",
     .problem = WHOLE,
     .timed = true},
    {.fault = KEPT_COMBINED, .name = "answers kept, and combined", .timed = true},
    {.fault = KEPT_COMBINED,
     .name = "answers kept, and combined, converged",
     .problem = WHOLE,
     .timed = true},
    {.fault = HALF_OF_STEPS, .name = "half of the steps, but of the problem's", .timed = true},
    {.fault = HALF_OF_STEPS,
     .name = "half of the orders, but of the problem's",
     .problem = WHOLE,
     .timed = true},
    {.fault = ONE_VALUE, .name = "one value changed after the solve"},
    {.fault = ONE_VALUE, .name = "one value changed, converged", .problem = WHOLE},
    {.fault = ONE_NAN, .name = "one NaN after the solve"},
    {.fault = ENDS_EARLY, .name = "ends at a hundred times the tolerance", .problem = WHOLE},
    {.fault = OTHER_FLOW, .name = "converged at another angle", .problem = WHOLE},
    {.fault = NEVER_CUT, .name = "Courant number never cut", .problem = ROUGH},
    {.fault = BROKEN_KEPT, .name = "broken state kept, its step taken back", .problem = ROUGH},
    {.fault = MESSAGE_DROPPED, .name = "ghosts of the state never updated"},
};

static fault_t fault;
static bool solving;
static int64_t victim, forms, solves;
static double *kept[2], kept_mach[2]; /* at scale 1: of the problem, and of the first solve */
static mcpi_march_t *march;           /* that is solving */

/* --- slopes --- */

static void gradient_of(const mcpi_field_t *f, int64_t i)
{
    double *g = f->gradient + 3 * NB * i;
    mcpi_node_gradient(f, i);
    for (int k = 0; k < 3 * NB; k++) {
        if (fault == SLOPES_ZERO)
            g[k] = 0;
        if (fault == SLOPES_FLOAT)
            g[k] = rt_rounded(g[k]);
    }
    for (int v = 0; v < NB && fault == SLOPES_SWAPPED && i == victim; v++) {
        const double y = g[3 * v + 1];
        g[3 * v + 1] = g[3 * v + 2];
        g[3 * v + 2] = y;
    }
    if (fault != SLOPES_WEIGHTED && (fault != SLOPES_SHORT || i != victim))
        return;
    double M[3][3] = {{0}}, b[NB][3] = {{0}};
    for (int32_t k = f->start[i]; k < f->start[i + 1] - (fault == SLOPES_SHORT); k++) {
        double d[3];
        for (int c = 0; c < 3; c++)
            d[c] = f->x[3 * f->column[k] + c] - f->x[3 * i + c];
        const double weight = fault == SLOPES_WEIGHTED ? 1 / mcpi_inner(d, d) : 1;
        for (int c = 0; c < 3; c++) {
            for (int e = 0; e < 3; e++)
                M[c][e] += weight * d[c] * d[e];
            for (int v = 0; v < NB; v++)
                b[v][c] += weight * d[c] * (f->w[NB * f->column[k] + v] - f->w[NB * i + v]);
        }
    }
    for (int v = 0; v < NB; v++) {
        double A[3][4]; /* by elimination */
        for (int c = 0; c < 3; c++) {
            memcpy(A[c], M[c], sizeof M[c]);
            A[c][3] = b[v][c];
        }
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                for (int e = 3; e >= c && r != c; e--)
                    A[r][e] -= A[r][c] / A[c][c] * A[c][e];
        for (int c = 0; c < 3; c++)
            g[3 * v + c] = A[c][3] / A[c][c];
    }
}

static void gradient(const mcpi_field_t *f)
{
    for (int64_t i = 0; i < f->rows; i++)
        gradient_of(f, i);
}

/* --- residual --- */

static double face(const mcpi_field_t *f, int64_t i, int32_t k, double *F)
{
    double part[NB] = {0};
    double rate = mcpi_entry_flux(f, i, k, part);
    const bool one = i == victim && k == f->start[i];
    if (fault == NO_DISSIPATION && mcpi_has_area(f->n + 3 * (int64_t)k)) {
        memset(part, 0, sizeof part);
        mcpi_add_flux(f->w + NB * i, f->n + 3 * (int64_t)k, 0.5, part);
        mcpi_add_flux(f->w + NB * f->column[k], f->n + 3 * (int64_t)k, 0.5, part);
    }
    if (fault == NO_HEAT)
        part[4] += f->gas.mu * f->viscous[k] *
                   (mcpi_heat(f->w + NB * f->column[k]) - mcpi_heat(f->w + NB * i));
    const double times = fault == FLUX_SIGN && one      ? -1
                         : fault == FACE_DROPPED && one ? 0
                         : fault == FACE_TWICE && one   ? 2
                                                        : 1;
    for (int v = 0; v < NB; v++)
        F[v] += times * part[v];
    return rate;
}

static void residual_of(const mcpi_field_t *f, int64_t i)
{
    double F[NB] = {0}, rate = 0;
    mcpi_side_t none = {.held = 0};
    mcpi_field_t changed = *f;
    int32_t *no_side = NULL;
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++)
        rate += face(f, i, k, F);
    if (f->side_of[i] >= 0) {
        none = f->side[f->side_of[i]];
        if (fault == NO_BOUNDARY || fault == NO_FAR_FIELD)
            memset(none.far, 0, sizeof none.far);
        if (fault == NO_BOUNDARY || fault == NO_WALL_PRESSURE)
            memset(none.wall, 0, sizeof none.wall);
        if (fault == NO_BOUNDARY)
            memset(none.slip, 0, sizeof none.slip);
        if (fault == NOT_HELD)
            none.held = 0;
        no_side = RT_NEW(int32_t, (size_t)f->rows, RT_HOST);
        no_side[i] = 0;
        changed.side_of = no_side;
        changed.side = &none;
    }
    mcpi_put_residual(&changed, i, rate, F);
    rt_free(no_side, RT_HOST);
    if (fault == RATE_HALF)
        f->rate[i] /= 2;
    if (fault == RESIDUAL_NAN && i == victim)
        f->R[NB * i] = NAN;
}

static void residual(const mcpi_field_t *f)
{
    const size_t values = (size_t)(3 * NB * (f->rows + f->ghosts));
    double *slopes = RT_NEW(double, values, RT_HOST);
    mcpi_field_t changed = *f;
    rt_fill(slopes, RT_HOST, 0, values * sizeof *slopes);
    if (fault == NEVER_CUT && solving)
        march->share = 1;
    if (fault == FIRST_ORDER)
        changed.gradient = slopes;
    if (fault == NO_FRICTION)
        for (int64_t i = 0; i < f->rows; i++)
            changed.gas.mu = 1e-300;
    if (fault == FRICTION_SIGN)
        changed.viscous = RT_NEW(double, (size_t)f->start[f->rows], RT_HOST);
    for (int32_t k = 0; k < f->start[f->rows] && fault == FRICTION_SIGN; k++)
        ((double *)changed.viscous)[k] = -f->viscous[k];
    for (int64_t i = 0; i < f->rows; i++)
        residual_of(&changed, i);
    if (fault == FRICTION_SIGN)
        rt_free((void *)changed.viscous, RT_HOST);
    RT_FREE(slopes, RT_HOST);
}

static double norm(const mcpi_field_t *f, const void *before)
{
    const bool is_short = fault == (before ? CHANGE_SHORT : NORM_SHORT);
    return mcpi_flow_simd.phases->norm(f, before) -
           (is_short ? mcpi_node_square(f, before, victim) : 0);
}

/* --- A --- */

static double value(const mcpi_field_t *f, int64_t at)
{
    return mcpi_value(f->O, f->offdiagonal, at);
}

static void put_value(const mcpi_field_t *f, int64_t at, double x)
{
    if (f->offdiagonal == MCPI_FP64)
        ((double *)f->O)[at] = x;
    else if (f->offdiagonal == MCPI_FP32)
        ((float *)f->O)[at] = (float)x;
    else
        ((uint16_t *)f->O)[at] = mcpi_to_bf16(x);
}

static void change_row(const mcpi_field_t *f, int64_t i)
{
    for (int64_t at = BLOCK * (int64_t)f->start[i]; at < BLOCK * (int64_t)f->start[i + 1]; at++) {
        double x = value(f, at);
        if (fault == O_FLOAT)
            x = rt_rounded(x);
        if (fault == O_HALF)
            x = mcpi_from_fp16(mcpi_to_fp16(x));
        if (fault == O_TRUNCATED)
            x *= 1 - 0x1p-23;
        if (fault == NOT_SCALED)
            x /= f->scale[i];
        if (fault == BLOCK_DROPPED && i == victim && at < BLOCK * ((int64_t)f->start[i] + 1))
            x = 0;
        put_value(f, at, x);
    }
}

/* Forms the blocks again with a fault in them. */
static void form_row(const mcpi_field_t *f, int64_t i)
{
    const bool held = mcpi_is_held(f, i);
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++) {
        const double *n = f->n + 3 * (int64_t)k, *here = f->w + NB * i;
        const double *there = f->w + NB * f->column[k];
        const mcpi_wave_t wave = mcpi_face_wave(here, there, n);
        for (int c = 0; c < NB; c++) {
            double O[NB], D[NB] = {0};
            mcpi_face_column(&wave, there, n, mcpi_conducts(f, k), c, O, D);
            if (fault == WRONG_SIDE) {
                mcpi_add_jacobian_column(there, n, -0.5, c, O);
                mcpi_add_jacobian_column(here, n, 0.5, c, O);
            }
            for (int v = 0; v < NB && fault == DISSIPATION_SIGN; v++)
                O[v] += 2 * D[v];
            if (held)
                mcpi_hold_column(0, c, O);
            for (int v = 0; v < NB; v++)
                put_value(f, BLOCK * (int64_t)k + NB * c + v, f->scale[i] * O[v]);
        }
    }
}

static void transpose(const mcpi_field_t *f, int64_t at)
{
    for (int r = 0; r < NB; r++)
        for (int c = 0; c < r; c++) {
            const double x = value(f, at + NB * c + r);
            put_value(f, at + NB * c + r, value(f, at + NB * r + c));
            put_value(f, at + NB * r + c, x);
        }
}

static void jacobian(const mcpi_field_t *field)
{
    mcpi_field_t changed = *field;
    const mcpi_field_t *f = &changed;
    if (fault == JACOBIAN_STALE && solving && forms++ > 0)
        return;
    if (fault == NO_STEP)
        changed.cfl = 1e30;
    if (fault == COURANT_FIXED && solving)
        changed.cfl = march->problem->config->courant;
    if (fault == NO_CONDUCTION)
        changed.gas.mu = 0;
    mcpi_side_t *side = RT_NEW(mcpi_side_t, (size_t)f->rows, RT_HOST);
    int64_t sides = 0;
    for (int64_t i = 0; i < f->rows; i++)
        if (f->side_of[i] >= 0) {
            side[f->side_of[i]] = f->side[f->side_of[i]];
            if (fault == ROW_NOT_HELD)
                side[f->side_of[i]].held = 0;
            if (fault == NO_BOUNDARY_IN_D) {
                const double held = side[f->side_of[i]].held;
                side[f->side_of[i]] = (mcpi_side_t){.held = held};
            }
            sides++;
        }
    changed.side = side;
    mcpi_flow_simd.phases->jacobian(f);
    for (int64_t i = 0; i < f->rows; i++) {
        if (fault == WRONG_SIDE || fault == DISSIPATION_SIGN)
            form_row(f, i);
        change_row(f, i);
    }
    if (fault == BLOCK_TRANSPOSED)
        transpose(f, BLOCK * (int64_t)f->start[victim]);
    rt_free(side, RT_HOST);
}

static void factor(const mcpi_field_t *f)
{
    if (fault == JACOBIAN_STALE && solving && forms > 1)
        return;
    mcpi_flow_simd.phases->factor(f);
    double *LU = f->LU;
    for (int64_t k = 0; k < BLOCK * f->rows; k++) {
        if (fault == LU_FLOAT)
            LU[k] = rt_rounded(LU[k]);
        if (fault == NO_RECIPROCALS && k % BLOCK % (NB + 1) == 0)
            LU[k] = 1 / LU[k];
    }
    if (fault == LU_NEXT_ROW)
        memcpy(LU + BLOCK * victim, LU + BLOCK * (victim + 1), BLOCK * sizeof *LU);
}

static void right(const mcpi_field_t *f)
{
    mcpi_flow_simd.phases->right(f);
    double *R = f->right;
    for (int64_t k = 0; k < NB * f->rows; k++)
        R[k] = fault == RIGHT_SIGN         ? -R[k]
               : fault == RIGHT_NOT_SCALED ? R[k] / f->scale[k / NB]
               : fault == RIGHT_FLOAT      ? rt_rounded(R[k])
                                           : R[k];
}

/* --- update --- */

static mcpi_moved_t update(const mcpi_field_t *f)
{
    mcpi_moved_t moved = {.stopped = f->rows};
    for (int64_t i = 0; i < f->rows; i++) {
        double dq[NB];
        for (int v = 0; v < NB; v++) {
            dq[v] = mcpi_value(f->dq, f->dq_type, NB * i + v);
            dq[v] *= fault == UPDATE_SIGN ? -1 : fault == UPDATE_HALF ? 0.5 : 1;
        }
        if (fault == UPDATE_ROW_SKIPPED && i == victim)
            continue;
        if (fault == UPDATE_UNGUARDED) {
            mcpi_move(f->w + NB * i, dq, 1, -INFINITY);
            continue;
        }
        const int halvings = mcpi_node_update(f, i, dq);
        moved.scaled += halvings > 0 && fault != UPDATE_NOT_COUNTED;
        if (halvings == MCPI_HALVINGS && i < moved.stopped)
            moved.stopped = i;
    }
    if (fault == BROKEN_KEPT && solving)
        memcpy(march->kept, f->w, (size_t)(NB * f->rows) * sizeof(double));
    return moved;
}

static const mcpi_phases_t phases = {.sweeps = "cpu-simd",
                                     .gradient = gradient,
                                     .residual = residual,
                                     .norm = norm,
                                     .jacobian = jacobian,
                                     .factor = factor,
                                     .right = right,
                                     .update = update};
static const mcpi_kernels_t table = {
    .rung = {.precision = MCPI_FLOW_PRECISION, .reproducible = true}, .phases = &phases};

/* --- the solve --- */

/* Keeps what a solve left. */
static void keep(const mcpi_march_t *m, int at)
{
    kept_mach[at] = m->field.gas.stream[1];
    for (int64_t k = 0; k < NB * (m->field.rows + m->field.ghosts); k++)
        kept[at][k] = m->field.w[k] / (k % NB == 0 || k % NB == NB - 1 ? m->scale : 1);
}

static void change_after(mcpi_march_t *m)
{
    double *w = m->field.w;
    const size_t values = (size_t)(NB * (m->field.rows + m->field.ghosts));
    if (fault == ONE_VALUE)
        w[NB * victim] *= 1.01;
    if (fault == ONE_NAN)
        w[NB * victim + 4] = NAN;
    if (fault < KEPT || fault > KEPT_COMBINED || m->draw == 0)
        return;
    if (solves == 1)
        keep(m, 1);
    const double mach = m->field.gas.stream[1];
    const double share =
        fault == KEPT_COMBINED ? (mach - kept_mach[0]) / (kept_mach[1] - kept_mach[0]) : 1;
    for (size_t k = 0; solves > 1 && k < values; k++) {
        const bool scales = fault != KEPT && (k % NB == 0 || k % NB == NB - 1);
        w[k] = ((1 - share) * kept[0][k] + share * kept[1][k]) * (scales ? m->scale : 1);
    }
}

/* Solves with a config or a start of its own; the run's config is as it was afterwards. */
static void faulty_solve(void *solver)
{
    mcpi_march_t *m = solver;
    mcpi_config_t *config = (mcpi_config_t *)m->problem->config, asked = *config;
    const size_t values = (size_t)(NB * (m->field.rows + m->field.ghosts));
    solves++;
    forms = 0;
    march = m;
    if (fault == KEPT_COMBINED && solves == 1) {
        const uint64_t draw = m->draw;
        mcpi_march_spoil(m, 0, RT_KEEP_NOTHING);
        mcpi_march_solve(m);
        keep(m, 0);
        mcpi_march_spoil(m, draw, RT_KEEP_NOTHING);
    }
    if (fault == HALF_OF_STEPS && m->draw != 0) {
        config->steps /= asked.tolerance > 0 ? 1 : 2;
        config->tolerance = sqrt(asked.tolerance);
    }
    solving = true;
    config->sweeps += fault == SWEEP_MORE ? 1 : fault == SWEEP_FEWER ? -1 : 0;
    config->steps += fault == STEP_MORE ? 1 : fault == STEP_FEWER ? -1 : 0;
    config->tolerance *= fault == ENDS_EARLY ? 100 : 1;
    if (fault == OTHER_FLOW) {
        config->angle += 1;
        mcpi_march_spoil(m, m->draw, RT_KEEP_NOTHING);
    }
    if (fault == LEFT_OVER && solves > 1)
        for (size_t k = 0; k < values; k++)
            m->field.w[k] = kept[0][k] * (k % NB == 0 || k % NB == 4 ? m->scale : 1);
    if (fault == DQ_KEPT) {
        config->steps = 1;
        mcpi_march_solve(m);
        config->steps = asked.steps;
        for (int64_t k = 1; k < asked.steps; k++) {
            mcpi_march_residual(m);
            m->field.cfl = mcpi_march_courant(config, mcpi_march_norm(m) / m->first_norm);
            m->history[k] = (mcpi_step_t){.norm = mcpi_march_norm(m) / m->first_norm};
            mcpi_march_left(m);
            m->phases->right(&m->field);
            mcpi_sweeps(m->sweeper, config->sweeps);
            m->phases->update(&m->field);
            mcpi_march_ghosts(m);
            m->steps++;
        }
    } else if (fault != NOTHING) {
        mcpi_march_solve(m);
    } else {
        m->steps = asked.steps;
        m->end = asked.tolerance > 0 ? MCPI_CONVERGED : MCPI_GOING;
        m->first_norm = 1;
        for (int64_t k = 0; k <= asked.steps; k++)
            m->history[k] = (mcpi_step_t){.norm = 1};
    }
    *config = asked;
    if (fault == STEP_FEWER || fault == STEP_MORE || (fault == HALF_OF_STEPS && !m->kept))
        m->steps = asked.steps; /* else the number alone would reveal the fault */
    if (fault == STEP_FEWER)
        m->history[asked.steps - 1] = m->history[asked.steps - 2];
    if (fault == LEFT_OVER)
        keep(m, 0);
    change_after(m);
    solving = false;
}

/* --- the suite --- */

static const rt_kernels_t *kernels(const rt_mutant_t *mutant)
{
    (void)mutant;
    return &table.rung;
}

static const char *ladder(const rt_mutant_t *mutant)
{
    (void)mutant;
    return "flow";
}

/* An inner row and its faces. */
static void begin(const rt_mutant_t *mutant, void *problem)
{
    const mcpi_problem_t *p = problem;
    fault = (fault_t)mutant->fault;
    solves = forms = 0;
    solving = false;
    for (int k = 0; k < 2; k++) {
        kept[k] = RT_NEW(double, (size_t)(NB * (p->part->rows + p->part->ghosts)), RT_HOST);
        rt_fill(kept[k], RT_HOST, 0,
                (size_t)(NB * (p->part->rows + p->part->ghosts)) * sizeof(double));
    }
    victim = 0; /* the first row with a volume above the mean: its dQ is not lost in others' */
    double mean = 0;
    for (int64_t i = 0; i < p->part->rows; i++)
        mean += p->geometry->volume[i] / (double)p->part->rows;
    while (victim + 2 < p->part->rows &&
           (p->geometry->side_of[victim] >= 0 || p->geometry->volume[victim] < 1e-3 * mean ||
            p->geometry->volume[victim] > mean))
        victim++;
}

static void end(void)
{
    fault = HONEST;
    for (int k = 0; k < 2; k++)
        RT_FREE(kept[k], RT_HOST);
}

static void *faulty_solver_new(void *problem, const rt_rung_t *rung)
{
    mcpi_march_t *m = mcpi_march_new(problem, rung);
    if (fault == MESSAGE_DROPPED && m->halo) {
        rt_halo_force_transport(&rt_transport_lossy);
        m->sweeper->halo = m->halo =
            mcpi_halo_new(m->problem->part, NB, "staged", rung->kind, m->space);
        rt_halo_force_transport(NULL);
        m->sweeper->own_halo = true;
    }
    return m;
}

static const rt_mutant_t honest[] = {
    {.fault = HONEST, .name = "mutants without a fault", .problem = RT_EVERY_PROBLEM},
    {.fault = HONEST, .name = "the same, in windows", .problem = RT_EVERY_PROBLEM, .timed = true}};

RT_MUTANTS_MAIN(mcpi_app, .ladder = ladder, .only = "flow")
