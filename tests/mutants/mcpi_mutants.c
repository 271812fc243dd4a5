/*
 * mcpi_mutants.c - wrong programs, each of which the verification must detect; see mutants.h.
 *
 * The wing is small, but has rows of all lengths, walls, and more colours than sweeps. Faults of a
 * solve go only into the timed solve, not into the kernel that is checked by itself, so that what
 * is left behind must reveal them. Faults of the problem go into the part or the system
 * that all rungs share, and are removed afterwards.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/fun3d-mcpi/mcpi.h"
#include "tests/mutants/mutants.h"

typedef enum {
    HONEST,
    /* O dQ of a row */
    TRANSPOSED,
    TRANSPOSED_ONE,
    BLOCK_DROPPED,
    FIRST_DROPPED,
    LAST_DROPPED,
    BLOCK_TWICE,
    COLUMN_OFF,
    TAIL_DROPPED,
    LANES_DROPPED,
    R_IGNORED,
    R_SIGN,
    O_ADDED,
    EXPONENT_R,
    EXPONENT_O,
    ORDER_VARIES,
    /* D^-1 */
    RECIPROCAL,
    UNIT_DIAGONAL,
    L_ONLY,
    U_ONLY,
    NEXT_FACTORS,
    /* precision */
    FP16_O,
    SHORT_O,
    BF16_O,
    BF16_SUM,
    FP16_DQ,
    FP32_O,
    FP32_SUM,
    FP32_DQ,
    FP32_SOLVE,
    /* rows of a colour */
    ROW_SKIPPED,
    ROW_HALF,
    ROW_WRONG_PLACE,
    RANGE_SHORT,
    RANGE_LATE,
    WRITES_BEYOND,
    WRITES_BEFORE,
    NAN_IN_DQ,
    /* sweeps */
    JACOBI,
    COLOUR_STALE,
    ONE_FEWER,
    ONE_MORE,
    REVERSED,
    LAST_COLOUR_SKIPPED,
    COLOUR_SKIPPED_ONCE,
    COLOURS_SWAPPED,
    ROW_SKIPPED_ONCE,
    ROW_STALE_ONCE,
    ROW_LATE,
    FP16_ONCE,
    /* sweeps in one call */
    CALL_FEWER,
    CALL_REVERSED,
    /* the solve */
    NOTHING,
    NOTHING_SECOND,
    NOT_ZEROED,
    SOLUTION,
    OWN_R,
    PREVIOUS_R,
    HALF_IN_WINDOWS,
    KEPT,
    KEPT_SCALED,
    KEPT_COMBINED,
    NAN_AFTER_SOLVE,
    ONE_VALUE_AFTER_SOLVE,
    /* the problem */
    ROW_WRONG_COLOUR,
    NO_PERMUTATION,
    FACTOR_CHANGED,
    O_CHANGED,
    R_CHANGED,
    /* messages, which of them by the variant */
    MESSAGE_DROPPED
} fault_t;

enum { PLAIN, FP64, FP16, WIDE, SPECIES, LONG, ONCE, PROBLEMS };
static const char *const settings[PROBLEMS] = {
    [PLAIN] = "surface=5 layers=7 sweeps=4",
    [FP64] = "surface=5 layers=6 sweeps=4 offdiagonal=fp64 dq=fp64 accumulate=fp64",
    [FP16] = "surface=5 layers=6 sweeps=3 offdiagonal=fp16",
    [WIDE] = "surface=4 layers=6 sweeps=3 block-size=7 offdiagonal=bf16 accumulate=fp64",
    [SPECIES] = "surface=3 layers=5 sweeps=3 block-size=15 offdiagonal=fp16",
    [LONG] = "surface=5 layers=6 sweeps=40 block-size=4 cfl=100 dq=fp64",
    [ONCE] = "surface=4 layers=5 sweeps=1 block-size=6"};

/* Variants: function tables, and what happens to a message. */
enum { TABLE, CALL /* all sweeps in one */, UNCLAIMED /* not reproducible */, LOSSY, STALE, NEVER };

static const rt_mutant_t mutants[] = {
    {.fault = TRANSPOSED, .name = "blocks transposed"},
    {.fault = TRANSPOSED_ONE, .name = "one block of one row transposed"},
    {.fault = TRANSPOSED_ONE, .name = "one block of one row transposed, 7x7", .problem = WIDE},
    {.fault = BLOCK_DROPPED, .name = "one block of one row dropped"},
    {.fault = FIRST_DROPPED, .name = "first block of each row dropped"},
    {.fault = LAST_DROPPED, .name = "last block of each row dropped", .problem = FP16},
    {.fault = BLOCK_TWICE, .name = "one block of one row counted twice"},
    {.fault = COLUMN_OFF, .name = "column of one block wrong by one"},
    {.fault = TAIL_DROPPED, .name = "last component of dQ left out"},
    {.fault = TAIL_DROPPED, .name = "last component of dQ left out, 7x7", .problem = WIDE},
    {.fault = TAIL_DROPPED, .name = "last component of dQ left out, 4x4", .problem = LONG},
    {.fault = TAIL_DROPPED, .name = "last component of dQ left out, 15x15", .problem = SPECIES},
    {.fault = LANES_DROPPED,
     .name = "rows of O beyond the 8th left out, 15x15",
     .problem = SPECIES},
    {.fault = R_IGNORED, .name = "R ignored"},
    {.fault = R_SIGN, .name = "O dQ - R in place of R - O dQ"},
    {.fault = O_ADDED, .name = "O dQ added"},
    {.fault = EXPONENT_R, .name = "R not scaled"},
    {.fault = EXPONENT_O, .name = "O not scaled", .problem = FP16},
    {.fault = ORDER_VARIES, .name = "same bits claimed and not kept"},
    {.fault = RECIPROCAL, .name = "divided by the reciprocals of U's diagonal"},
    {.fault = UNIT_DIAGONAL, .name = "diagonal of L not taken as 1"},
    {.fault = L_ONLY, .name = "only L solved"},
    {.fault = U_ONLY, .name = "only U solved"},
    {.fault = NEXT_FACTORS, .name = "one row with the factors of the next"},
    {.fault = FP16_O, .name = "O in FP16 where FP32 was asked"},
    {.fault = BF16_O, .name = "O in BF16 where FP16 was asked", .problem = FP16},
    {.fault = BF16_SUM, .name = "sums in BF16"},
    {.fault = FP16_DQ, .name = "dQ stored in FP16"},
    {.fault = FP32_O, .name = "O in FP32 where FP64 was asked", .problem = FP64},
    {.fault = FP32_SUM, .name = "sums in FP32 where FP64 was asked", .problem = FP64},
    {.fault = FP32_SUM, .name = "the same where dQ is FP32", .problem = WIDE},
    {.fault = FP32_DQ, .name = "dQ stored in FP32 where FP64 was asked", .problem = FP64},
    {.fault = FP32_SOLVE, .name = "triangular solves in FP32", .problem = FP64},
    {.fault = FP32_SOLVE, .name = "triangular solves in FP32, as dQ and sums"},
    {.fault = SHORT_O, .name = "O without its last two bits"},
    {.fault = ROW_SKIPPED, .name = "one row skipped"},
    {.fault = ROW_HALF, .name = "one row's last component not written"},
    {.fault = ROW_WRONG_PLACE, .name = "two rows in each other's place"},
    {.fault = RANGE_SHORT, .name = "last row of a range left out"},
    {.fault = RANGE_LATE, .name = "first row of a range left out", .problem = FP16},
    {.fault = WRITES_BEYOND, .name = "writes beyond the range"},
    {.fault = WRITES_BEFORE, .name = "writes before the range"},
    {.fault = NAN_IN_DQ, .name = "one NaN"},
    {.fault = JACOBI, .name = "Jacobi in place of Gauss-Seidel"},
    {.fault = JACOBI, .name = "Jacobi in place of Gauss-Seidel, FP64", .problem = FP64},
    {.fault = COLOUR_STALE, .name = "one colour seen as it was a sweep ago"},
    {.fault = ONE_FEWER, .name = "one sweep fewer"},
    {.fault = ONE_FEWER, .name = "one sweep fewer, FP16", .problem = FP16},
    {.fault = ONE_MORE, .name = "one sweep more"},
    {.fault = ONE_MORE, .name = "two sweeps for one", .problem = ONCE},
    {.fault = REVERSED, .name = "colours in reverse"},
    {.fault = REVERSED, .name = "colours in reverse, one sweep", .problem = ONCE},
    {.fault = LAST_COLOUR_SKIPPED, .name = "last colour skipped"},
    {.fault = COLOUR_SKIPPED_ONCE, .name = "one colour skipped in one sweep"},
    {.fault = COLOURS_SWAPPED, .name = "two colours swapped in one sweep"},
    {.fault = ROW_SKIPPED_ONCE, .name = "one row skipped in one sweep"},
    {.fault = ROW_STALE_ONCE, .name = "one row done again with what dQ was"},
    {.fault = ROW_LATE, .name = "one row updated with the colour after its own"},
    {.fault = FP16_ONCE, .name = "dQ through FP16 before the last sweep", .problem = FP64},
    {.fault = CALL_FEWER, .name = "sweeps in one call: one fewer", .variant = CALL},
    {.fault = CALL_REVERSED, .name = "sweeps in one call: colours in reverse", .variant = CALL},
    {.fault = NOTHING, .name = "nothing done"},
    {.fault = NOTHING_SECOND, .name = "nothing done from the second solve on", .timed = true},
    {.fault = NOT_ZEROED, .name = "starts from what the solve before left", .timed = true},
    {.fault = SOLUTION, .name = "the solution in place of the sweeps"},
    {.fault = OWN_R, .name = "the problem's R in place of the solve's", .timed = true},
    {.fault = PREVIOUS_R, .name = "R of the solve before", .timed = true},
    {.fault = HALF_IN_WINDOWS, .name = "half of the sweeps, but of the problem's R", .timed = true},
    {.fault = KEPT, .name = "an answer kept, whole", .timed = true},
    {.fault = KEPT_SCALED, .name = "an answer kept, and scaled", .timed = true},
    {.fault = KEPT_SCALED,
     .name = "an answer kept, and scaled, O in BF16",
     .problem = WIDE,
     .timed = true},
    {.fault = KEPT_COMBINED, .name = "answers kept, and combined", .timed = true},
    {.fault = KEPT_COMBINED,
     .name = "answers kept, and combined, one sweep",
     .problem = ONCE,
     .timed = true},
    {.fault = NAN_AFTER_SOLVE, .name = "one NaN after the solve"},
    {.fault = ONE_VALUE_AFTER_SOLVE, .name = "one value changed after the solve"},
    {.fault = ONE_VALUE_AFTER_SOLVE,
     .name = "one value changed after the solve, FP64",
     .problem = FP64},
    {.fault = ROW_WRONG_COLOUR, .name = "one row in the wrong colour"},
    {.fault = NO_PERMUTATION, .name = "one row twice in the order, another not at all"},
    {.fault = FACTOR_CHANGED, .name = "one factor of D changed in the 6th digit"},
    {.fault = O_CHANGED, .name = "one value of O not rounded to nearest"},
    {.fault = R_CHANGED, .name = "one value of R changed in the 6th digit"},
    {.fault = MESSAGE_DROPPED, .name = "message dropped", .variant = LOSSY},
    {.fault = MESSAGE_DROPPED, .name = "ghosts a sweep old", .variant = STALE},
    {.fault = MESSAGE_DROPPED, .name = "no exchange", .variant = NEVER},
};

/* --- state of a run --- */

static fault_t fault;
static int variant;
static bool solving;
static bool remembers; /* the fault is about what an earlier solve left */
static bool own_R;     /* the solve's R is the problem's */
static mcpi_problem_t *current;
static int64_t asked, sweep, solves, calls;
static int64_t victim, victim_block; /* row and block that single faults go into */
static double *before;               /* [rows + ghosts][nb] dQ at the start of the sweep */
static double *this_R, *previous_R;  /* [rows][nb] */
static double *kept[2], *kept_R[2];  /* dQ and R of the problem, and of the first solve */

static bool in_solve(fault_t f)
{
    return solving && fault == f;
}

/* Returns whether this is the middle sweep of a solve with this fault. */
static bool once(fault_t f)
{
    return in_solve(f) && sweep == asked / 2;
}

static double load(const mcpi_view_t *view, const void *dq, int64_t v)
{
    return mcpi_value(dq, view->dq_type, v);
}

static void store(const mcpi_view_t *view, void *dq, int64_t v, double x)
{
    if (fault == FP16_DQ)
        x = mcpi_from_fp16(mcpi_to_fp16(x));
    if (fault == FP32_DQ)
        x = rt_rounded(x);
    if (view->dq_type == MCPI_FP64)
        ((double *)dq)[v] = x;
    else
        ((float *)dq)[v] = (float)x;
}

static double summed(const mcpi_view_t *view, double x)
{
    if (fault == BF16_SUM)
        return mcpi_from_bf16(mcpi_to_bf16(x));
    return view->accumulate == MCPI_FP32 || fault == FP32_SUM ? rt_rounded(x) : x;
}

/* --- a row --- */

static double element(const mcpi_view_t *view, int64_t i, int64_t b, int j, int k)
{
    const int nb = view->nb;
    const bool swap = fault == TRANSPOSED || (fault == TRANSPOSED_ONE && b == victim_block);
    double o =
        mcpi_value(view->O, view->offdiagonal, b * nb * nb + (swap ? k * nb + j : j * nb + k));
    if (fault == FP16_O)
        o = mcpi_from_fp16(mcpi_to_fp16(o));
    if (fault == SHORT_O && o != 0) /* 22 of 24 bits */
        o = ldexp(rint(ldexp(o, 21 - ilogb(o))), ilogb(o) - 21);
    if (fault == BF16_O)
        o = mcpi_from_bf16(mcpi_to_bf16(o));
    if (fault == FP32_O)
        o = rt_rounded(o);
    return fault == EXPONENT_O ? ldexp(o, view->system->exponent[i]) : o;
}

/* Computes sum += O dQ of block b of row i; stale: with dQ of the start of the sweep. */
static void add_block(const mcpi_view_t *view, int64_t i, int64_t b, const void *dq, bool stale,
                      double *sum)
{
    const int nb = view->nb;
    const bool one = b == victim_block;
    int64_t column = view->column[b];
    if ((fault == BLOCK_DROPPED && one) || (fault == FIRST_DROPPED && b == view->start[i]) ||
        (fault == LAST_DROPPED && b == view->start[i + 1] - 1))
        return;
    if (fault == COLUMN_OFF && one)
        column = column > 0 ? column - 1 : 1;
    if (in_solve(COLOUR_STALE))
        stale = column < view->colour_start[1];
    for (int j = 0; j < nb - (fault == TAIL_DROPPED); j++) {
        const double x = stale ? before[column * nb + j] : load(view, dq, column * nb + j);
        for (int k = 0; k < (fault == LANES_DROPPED ? 8 : nb); k++) {
            const double o = element(view, i, b, j, k);
            sum[k] = summed(view, sum[k] + o * x);
            if (fault == BLOCK_TWICE && one)
                sum[k] = summed(view, sum[k] + o * x);
        }
    }
}

static double solved(double x)
{
    return fault == FP32_SOLVE ? rt_rounded(x) : x;
}

/* Computes x = D^-1 x. */
static void solve_block(int nb, const double *LU, double *x)
{
    for (int k = 0; fault != U_ONLY && k < nb; k++) {
        if (fault == UNIT_DIAGONAL)
            x[k] *= LU[k * nb + k];
        for (int i = k + 1; i < nb; i++)
            x[i] = solved(x[i] - LU[k * nb + i] * x[k]);
    }
    for (int k = nb - 1; fault != L_ONLY && k >= 0; k--) {
        x[k] = fault == RECIPROCAL ? x[k] / LU[k * nb + k] : solved(x[k] * LU[k * nb + k]);
        for (int i = 0; i < k; i++)
            x[i] = solved(x[i] - LU[k * nb + i] * x[k]);
    }
}

static double right_hand_side(const mcpi_view_t *view, int64_t v)
{
    if (fault == R_IGNORED)
        return 0;
    if (in_solve(OWN_R))
        return view->system->R[v];
    if (in_solve(PREVIOUS_R) && solves > 1)
        return previous_R[v];
    return fault == EXPONENT_R ? ldexp(view->R[v], view->system->exponent[v / view->nb])
                               : view->R[v];
}

static void one_row(const mcpi_view_t *view, int64_t i, bool stale, void *dq)
{
    const int nb = view->nb;
    const int64_t begin = view->start[i], end = view->start[i + 1];
    const bool backwards = fault == ORDER_VARIES && calls % 2;
    double sum[MCPI_MAX_NB] = {0}, dr[MCPI_MAX_NB];
    for (int64_t b = begin; b < end; b++)
        add_block(view, i, backwards ? begin + end - 1 - b : b, dq, stale, sum);
    for (int k = 0; k < nb; k++) {
        dr[k] = right_hand_side(view, i * nb + k) + (fault == O_ADDED ? sum[k] : -sum[k]);
        if (fault == R_SIGN)
            dr[k] = -dr[k];
    }
    const int64_t of = fault == NEXT_FACTORS && i == victim ? i + 1 : i;
    solve_block(nb, view->LU + of * nb * nb, dr);
    if (fault == NAN_IN_DQ && i == victim)
        dr[nb - 1] = NAN;
    for (int k = 0; k < nb - (fault == ROW_HALF && i == victim); k++)
        store(view, dq, i * nb + k, dr[k]);
}

/* --- a colour --- */

static void swap_rows(const mcpi_view_t *view, int64_t i, int64_t j, void *dq)
{
    for (int k = 0; k < view->nb; k++) {
        const double x = load(view, dq, i * view->nb + k);
        store(view, dq, i * view->nb + k, load(view, dq, j * view->nb + k));
        store(view, dq, j * view->nb + k, x);
    }
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const bool has_victim = victim >= first && victim < last;
    const bool skips = fault == ROW_SKIPPED || once(ROW_SKIPPED_ONCE) || in_solve(ROW_LATE);
    calls += first == 0;
    for (int64_t i = first + (fault == RANGE_LATE); i < last - (fault == RANGE_SHORT); i++)
        if (!skips || i != victim)
            one_row(view, i, in_solve(JACOBI), dq);
    if (fault == WRITES_BEFORE && first > 0)
        one_row(view, first - 1, false, dq);
    if (fault == WRITES_BEYOND && last < view->rows)
        one_row(view, last, false, dq);
    if (fault == ROW_WRONG_PLACE && has_victim)
        swap_rows(view, victim, victim > first ? victim - 1 : last - 1, dq);
    if (in_solve(ROW_STALE_ONCE) && sweep == asked - 1 && has_victim)
        one_row(view, victim, true, dq);
    if (in_solve(ROW_LATE) && first == view->colour_start[view->colours - 1])
        one_row(view, victim, false, dq);
}

/* --- sweeps --- */

static void all_colours(const mcpi_view_t *view, bool reversed, void *dq)
{
    for (int c = 0; c < view->colours; c++) {
        const int at = reversed ? view->colours - 1 - c : c;
        rows(view, view->colour_start[at], view->colour_start[at + 1], dq);
    }
}

static void sweeps_in_one(const mcpi_view_t *view, int64_t sweeps, void *dq)
{
    for (int64_t k = 0; k < sweeps - (fault == CALL_FEWER); k++)
        all_colours(view, fault == CALL_REVERSED, dq);
}

static void exchange(mcpi_solver_t *s, int colour)
{
    const int nb = s->view.nb;
    const rt_field_t field = {.data = s->dq,
                              .type = s->view.dq_type == MCPI_FP64 ? RT_F64 : RT_F32,
                              .components = nb,
                              .entry_stride = nb,
                              .component_stride = 1};
    const bool lost = fault == MESSAGE_DROPPED && variant == NEVER;
    if (s->halo && !lost)
        rt_halo_do(s->halo[colour], RT_HALO_COPY, &field);
}

/* Returns the c-th colour of this sweep; -1: none. */
static int colour_at(int c, int colours)
{
    if (in_solve(REVERSED) || in_solve(CALL_REVERSED)) /* on several ranks there is no such call */
        return colours - 1 - c;
    if ((in_solve(LAST_COLOUR_SKIPPED) && c == colours - 1) ||
        (once(COLOUR_SKIPPED_ONCE) && c == colours / 2))
        return -1;
    if (once(COLOURS_SWAPPED) && (c == 1 || c == 2))
        return 3 - c;
    return c;
}

/* Does what mcpi_sweeps does, with faults. */
static void own_sweeps(mcpi_solver_t *s, int64_t sweeps)
{
    const bool stale = fault == MESSAGE_DROPPED && variant == STALE;
    for (sweep = 0; sweep < sweeps; sweep++) {
        mcpi_get_dq(s, before);
        if (in_solve(FP16_ONCE) && sweep == sweeps - 1)
            for (int64_t v = 0; v < s->view.rows * s->view.nb; v++)
                store(&s->view, s->dq, v, mcpi_from_fp16(mcpi_to_fp16(before[v])));
        for (int c = 0; c < s->view.colours; c++) {
            const int colour = colour_at(c, s->view.colours);
            if (colour < 0)
                continue;
            rows(&s->view, s->view.colour_start[colour], s->view.colour_start[colour + 1], s->dq);
            if (!stale)
                exchange(s, colour);
        }
        for (int c = 0; stale && c < s->view.colours; c++)
            exchange(s, c);
    }
}

/* --- the solve --- */

static void zero(mcpi_solver_t *s)
{
    const size_t values = (size_t)((s->view.rows + s->view.ghosts) * s->view.nb);
    rt_fill(s->dq, RT_HOST, 0, values * mcpi_type_size(s->view.dq_type));
}

static int64_t sweeps_done(void)
{
    if (fault == HALF_IN_WINDOWS && !own_R)
        return asked / 2;
    const bool fewer = fault == ONE_FEWER || (fault == CALL_FEWER && rt_comm_size() > 1);
    return asked - fewer + (fault == ONE_MORE);
}

/* Puts an answer in place of the sweeps. */
static void answer(mcpi_solver_t *s, const double *dq)
{
    for (int64_t v = 0; v < s->view.rows * s->view.nb; v++)
        store(&s->view, s->dq, v, dq[v]);
    for (int c = 0; c < s->view.colours; c++)
        exchange(s, c);
}

static void compute(mcpi_solver_t *s)
{
    solving = true;
    if (s->kernels->sweeps && !s->halo)
        mcpi_sweeps(s, sweeps_done());
    else
        own_sweeps(s, sweeps_done());
    solving = false;
}

/* Keeps what R makes, now the solve's or the problem's. */
static void keep(mcpi_solver_t *s, int k)
{
    memcpy(kept_R[k], s->R, (size_t)(s->view.rows * s->view.nb) * sizeof *s->R);
    zero(s);
    compute(s);
    mcpi_get_dq(s, kept[k]);
}

static double product(const double *x, const double *y)
{
    double sum = 0;
    for (int64_t v = 0; v < current->part->rows * current->nb; v++)
        sum += x[v] * y[v];
    return sum;
}

/* Answers by what was kept, times what makes the best of R by the R that were kept. */
static void remember(mcpi_solver_t *s)
{
    const double aa = product(kept_R[0], kept_R[0]), ab = product(kept_R[0], kept_R[1]);
    const double bb = product(kept_R[1], kept_R[1]);
    const double a = product(kept_R[0], s->R), b = product(kept_R[1], s->R);
    const double of_both = aa * bb - ab * ab;
    double share[2] = {0, 1};
    if (fault == KEPT_SCALED)
        share[1] = b / bb;
    if (fault == KEPT_COMBINED) {
        share[0] = (a * bb - b * ab) / of_both;
        share[1] = (b * aa - a * ab) / of_both;
    }
    for (int64_t v = 0; v < s->view.rows * s->view.nb; v++)
        before[v] = share[0] * kept[0][v] + share[1] * kept[1][v];
    answer(s, before);
}

static void solve_wrongly(mcpi_solver_t *s)
{
    if (fault == NOTHING || (fault == NOTHING_SECOND && solves > 1))
        return;
    zero(s);
    if (fault == SOLUTION) {
        answer(s, s->problem->exact);
        return;
    }
    if (remembers && fault != NOT_ZEROED && solves > 1 && !own_R) {
        remember(s);
        return;
    }
    if (fault == NOT_ZEROED && solves > 1)
        answer(s, kept[1]);
    compute(s);
}

static void faulty_solve(void *solver)
{
    mcpi_solver_t *s = solver;
    const size_t bytes = (size_t)(s->view.rows * s->view.nb) * sizeof(double);
    solves++;
    remembers = fault == NOT_ZEROED || (fault >= KEPT && fault <= KEPT_COMBINED);
    own_R = memcmp(s->R, s->problem->system->R, bytes) == 0;
    memcpy(previous_R, this_R, bytes);
    memcpy(this_R, s->R, bytes);
    if (remembers && solves == 1) {
        memcpy(s->R, s->problem->system->R, bytes);
        keep(s, 0);
        memcpy(s->R, this_R, bytes);
        keep(s, 1);
    }
    solve_wrongly(s);
    s->swept = asked; /* else the number alone would reveal the fault */
    const int64_t v = victim * s->view.nb;
    if (fault == NAN_AFTER_SOLVE)
        store(&s->view, s->dq, v, NAN);
    if (fault == ONE_VALUE_AFTER_SOLVE)
        store(&s->view, s->dq, v,
              load(&s->view, s->dq, v) * (s->view.dq_type == MCPI_FP64 ? 1 + 1e-9 : 1.1));
}

static void *faulty_solver_new(void *problem, const rt_rung_t *rung)
{
    const bool lossy = fault == MESSAGE_DROPPED && variant == LOSSY;
    mcpi_solver_t *s = mcpi_solver_new(problem, rung);
    if (lossy && s->halo) {
        rt_halo_force_transport(&rt_transport_lossy);
        s->halo = mcpi_halo_new(s->problem->part, s->view.nb, "staged", RT_CPU, RT_HOST);
        rt_halo_force_transport(NULL);
        s->own_halo = true;
    }
    return s;
}

/* --- the suite --- */

static const rt_kernels_t *kernels(const rt_mutant_t *mutant)
{
    static const mcpi_kernels_t table[] = {
        [TABLE] = {.rung = {.reproducible = true}, .rows = rows},
        [CALL] = {.rung = {.reproducible = true}, .rows = rows, .sweeps = sweeps_in_one},
        [UNCLAIMED] = {.rows = rows}};
    return &table[mutant->variant <= UNCLAIMED ? mutant->variant : TABLE].rung;
}

/* Returns the row of the last colour but one that depends most on the last colour, and all of whose
 * components depend on others: no wall, where O is mostly 0. So every fault in it counts. */
static int64_t find_victim(const mcpi_system_t *system)
{
    const mcpi_part_t *part = system->part;
    const int nb = system->nb;
    const int64_t *colour = part->colour_start + part->colours - 2;
    int64_t at = colour[0];
    double most = -1;
    for (int64_t i = colour[0]; i < colour[1]; i++) {
        double sum[MCPI_MAX_NB] = {0}, least = 0;
        for (int64_t b = part->start[i]; b < part->start[i + 1]; b++)
            for (int v = 0; v < nb * nb; v++) {
                const double x = fabs(mcpi_value(system->O, system->type, b * nb * nb + v));
                sum[v % nb] += x;
                least += part->column[b] >= colour[1] && part->column[b] < part->rows ? x : 0;
            }
        for (int k = 0; k < nb; k++)
            least = fmin(least, sum[k]);
        if (least > most) {
            most = least;
            at = i;
        }
    }
    return at;
}

/* Returns the victim's largest block: where two vertices share elements but no edge, blocks are
 * tiny. */
static int64_t find_block(const mcpi_system_t *system)
{
    const int64_t nb2 = system->nb * system->nb, *start = system->part->start;
    int64_t at = start[victim];
    double most = -1;
    for (int64_t v = start[victim] * nb2; v < start[victim + 1] * nb2; v++) {
        const double x = fabs(mcpi_value(system->O, system->type, v));
        if (x > most) {
            most = x;
            at = v / nb2;
        }
    }
    return at;
}

/* Replaces one value of O by a neighbouring one of its type. */
static void nudge(mcpi_system_t *system, int by)
{
    const int64_t v = victim_block * system->nb * system->nb;
    if (system->type == MCPI_FP32) {
        int32_t bits;
        memcpy(&bits, (float *)system->O + v, sizeof bits);
        bits += by;
        memcpy((float *)system->O + v, &bits, sizeof bits);
    }
}

/* Puts faults into the problem; back: removes them. */
static void change_problem(mcpi_problem_t *p, bool back)
{
    static double right;
    mcpi_system_t *system = p->system;
    const int nb = p->nb;
    double *value = fault == FACTOR_CHANGED ? system->LU + (victim * nb + 1) * nb
                    : fault == R_CHANGED    ? system->R + victim * nb
                                            : NULL;
    if (value && !back)
        right = *value;
    if (value)
        *value = back ? right : right * (1 + 1e-6);
    if (fault == O_CHANGED)
        nudge(system, back ? -1 : 1);
    if (fault == NO_PERMUTATION) { /* the missing vertex is restored later */
        static int64_t vertex;
        vertex = back ? vertex : p->part->vertex[0];
        p->part->vertex[0] = back ? vertex : p->part->vertex[1];
    }
    if (fault == ROW_WRONG_COLOUR) {
        p->part->colour_start[1] += back ? -1 : 1;
        p->part->boundary_end[1] += back ? -1 : 1;
    }
}

static void begin(const rt_mutant_t *mutant, void *problem)
{
    current = problem;
    const size_t values = (size_t)(current->part->rows * current->nb);
    const size_t all = values + (size_t)(current->part->ghosts * current->nb);
    before = RT_NEW(double, all, RT_HOST);
    for (int k = 0; k < 2; k++) {
        kept[k] = RT_NEW(double, all, RT_HOST);
        kept_R[k] = RT_NEW(double, values, RT_HOST);
    }
    this_R = RT_NEW(double, values, RT_HOST);
    previous_R = RT_NEW(double, values, RT_HOST);
    memset(this_R, 0, values * sizeof *this_R);
    memset(before, 0, all * sizeof *before);
    fault = (fault_t)mutant->fault;
    variant = mutant->variant;
    asked = current->config->sweeps;
    solves = calls = sweep = 0;
    victim = find_victim(current->system);
    victim_block = find_block(current->system);
    change_problem(current, false);
}

static void end(void)
{
    change_problem(current, true);
    fault = HONEST;
    RT_FREE(before, RT_HOST);
    for (int k = 0; k < 2; k++) {
        RT_FREE(kept[k], RT_HOST);
        RT_FREE(kept_R[k], RT_HOST);
    }
    RT_FREE(this_R, RT_HOST);
    RT_FREE(previous_R, RT_HOST);
}

static const rt_mutant_t honest[] = {
    {.fault = HONEST, .name = "mutant without a fault", .problem = RT_EVERY_PROBLEM},
    {.fault = HONEST, .name = "the same, in windows", .problem = RT_EVERY_PROBLEM, .timed = true},
    {.fault = HONEST,
     .name = "the same, sweeps in one call",
     .problem = RT_EVERY_PROBLEM,
     .timed = true,
     .variant = CALL},
    {.fault = ORDER_VARIES,
     .name = "the same bits neither kept nor claimed",
     .problem = RT_EVERY_PROBLEM,
     .timed = true,
     .variant = UNCLAIMED},
};

static const rt_mutants_t suite = {.app = &mcpi_app,
                                   .only = "sweeps",
                                   .settings = settings,
                                   .problems = PROBLEMS,
                                   .mutants = mutants,
                                   .n_mutants = sizeof mutants / sizeof *mutants,
                                   .honest = honest,
                                   .n_honest = sizeof honest / sizeof *honest,
                                   .lost_message = MESSAGE_DROPPED,
                                   .solver_new = faulty_solver_new,
                                   .solve = faulty_solve,
                                   .kernels = kernels,
                                   .begin = begin,
                                   .end = end};

int main(int argc, char **argv)
{
    return rt_mutants_main(&suite, argc, argv);
}
