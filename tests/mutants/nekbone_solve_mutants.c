/*
 * nekbone_solve_mutants.c - wrong programs of the ladder `solve`, each of which the verification
 * must detect; see mutants.h.
 *
 * A mutant is solve-cpu with one kernel of its preconditioner, or one line of its solve, gone wrong.
 * Most of the wrong preconditioners would still lead to the right answer, in more iterations: those
 * are detected before the timed solve, against the reference preconditioner; and those that are
 * wrong in the timed solve only, by the number of iterations.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nekbone/cpu/tiles.h"
#include "apps/nekbone/grid.h"
#include "tests/mutants/mutants.h"

typedef enum {
    HONEST,
    /* kernels of the preconditioner */
    WEIGHT_MISSING,
    OVERLAP_MISSING,
    EIGEN_MISSING,
    LAST_ELEMENT,
    STALE_BOXES,
    LEVEL_SKIPPED,
    COARSE_SKIPPED,
    COARSE_SHORT,
    COARSE_INTERVAL,
    SHARE_MISSING,
    TRANSFER_REVERSED,
    TRANSFER_NOT_TRANSPOSED,
    PROLONG_SET,
    HALF_PRECISION,
    SCALE_LOST,
    WEIGHTS_IN_RZ,
    NOT_SYMMETRIC,
    MESSAGE_DROPPED,
    /* r.z as the sum over the levels, which only rungs on a GPU have */
    RZ_LEVEL_MISSING,
    RZ_LEVEL_TWICE,
    RZ_ELEMENT_MISSING,
    RZ_STALE,
    /* the timed solve alone */
    TIMED_PLAIN,
    TIMED_ONE_LEVEL,
    TIMED_BETA_ZERO,
    ONE_FEWER,
    ONE_MORE,
    LOOSE,
    X_STALE,
    LEFT_OVER,
    KEPT,
    KEPT_SCALED,
    KEPT_COMBINED,
    NOTHING,
    NAN_IN_X,
    HISTORY_OF_JUDGE
} fault_t;

/* CG without a preconditioner, which the judge needs, takes up to 170 iterations; with an honest one
 * at most 25. With a wrong one it need not end: those whose kernels are wrong may try twice as long. */
#define LIMIT "max-iterations=250 "
enum { ENOUGH = 50 };
enum { SCHWARZ, GRADED, PROBLEMS };
static const char *const settings[PROBLEMS] = {
    [SCHWARZ] = LIMIT "elements=4x2x3 degree=6 ripple=0.3 lambda=0 precond=schwarz",
    [GRADED] = LIMIT "elements=4x2x3 degree=5 stretch=4 precond=schwarz"};

/* Variants: LEVELS sums r.z over the levels. */
enum { POINTS, LEVELS };

static const rt_mutant_t mutants[] = {
    {WEIGHT_MISSING, "no weights for points that several patches have", SCHWARZ, false, 0},
    {OVERLAP_MISSING, "patches without overlap", SCHWARZ, false, 0},
    {EIGEN_MISSING, "eigenvalues along z left out", SCHWARZ, false, 0},
    {LAST_ELEMENT, "last element has no patch", SCHWARZ, false, 0},
    {STALE_BOXES, "patches of the application before", SCHWARZ, false, 0},
    {LEVEL_SKIPPED, "the level between skipped", SCHWARZ, false, 0},
    {COARSE_SKIPPED, "no level of degree 1", SCHWARZ, false, 0},
    {COARSE_SHORT, "Chebyshev's polynomial one order short", SCHWARZ, false, 0},
    {COARSE_INTERVAL, "Chebyshev's interval ends too early", SCHWARZ, false, 0},
    {SHARE_MISSING, "shared points restricted once a copy", SCHWARZ, false, 0},
    {TRANSFER_REVERSED, "interpolation in reverse order of points", SCHWARZ, false, 0},
    {TRANSFER_NOT_TRANSPOSED, "restriction that takes every other value", SCHWARZ, false, 0},
    {PROLONG_SET, "what is interpolated overwrites the level", SCHWARZ, false, 0},
    {HALF_PRECISION, "residual rounded to 10 bits", SCHWARZ, false, 0},
    {SCALE_LOST, "z not scaled back", SCHWARZ, false, 0},
    {WEIGHTS_IN_RZ, "r.z counts shared points once a copy", SCHWARZ, false, 0},
    {NOT_SYMMETRIC, "weights after the patches only", SCHWARZ, false, 0},
    {COARSE_SKIPPED, "graded: no level of degree 1", GRADED, false, 0},
    {LEVEL_SKIPPED, "graded: the level between skipped", GRADED, false, 0},
    {MESSAGE_DROPPED, "a message between grids dropped", SCHWARZ, false, 0},
    {RZ_LEVEL_MISSING, "r.z without degree 1", SCHWARZ, false, LEVELS},
    {RZ_LEVEL_TWICE, "r.z with the level between twice", SCHWARZ, false, LEVELS},
    {RZ_LEVEL_TWICE, "graded: r.z with the level between twice", GRADED, false, LEVELS},
    {RZ_ELEMENT_MISSING, "r.z without one element's patch", SCHWARZ, false, LEVELS},
    {RZ_STALE, "r.z of the application before", SCHWARZ, false, LEVELS},
    {TIMED_PLAIN, "no preconditioner once it is timed", SCHWARZ, false, 0},
    {TIMED_ONE_LEVEL, "the first level alone once it is timed", SCHWARZ, false, 0},
    {TIMED_BETA_ZERO, "steepest descent once it is timed", SCHWARZ, false, 0},
    {ONE_FEWER, "one iteration fewer, history completed by heart", SCHWARZ, false, 0},
    {ONE_MORE, "goes on for an iteration", SCHWARZ, false, 0},
    {LOOSE, "ten times the tolerance", SCHWARZ, false, 0},
    {X_STALE, "x misses the last step", SCHWARZ, false, 0},
    {LEFT_OVER, "x left over from the judge", SCHWARZ, false, 0},
    {KEPT, "answer kept from the first solve", SCHWARZ, true, 0},
    {KEPT_SCALED, "answer kept from the first solve, scaled", SCHWARZ, true, 0},
    {KEPT_COMBINED, "answers kept from two solves, combined", SCHWARZ, true, 0},
    {NOTHING, "does nothing", SCHWARZ, false, 0},
    {NAN_IN_X, "NaN in one point of x", SCHWARZ, false, 0},
    {HISTORY_OF_JUDGE, "fewer iterations by scaling the history", SCHWARZ, false, 0},
};

static fault_t fault;
static bool timed; /* the solve that counts */
static const nek_precond_ops_t *real;
static float *boxes_before;
static size_t boxes_kept;
static struct {
    bool wanted;
    double scale, sum, before; /* of r; r.z of this application, and of that before */
} by_level;

/* Returns whether this is the level between the first and the last. */
static bool between(const nek_level_view_t *level)
{
    return level->grid.degree > 1 && level->J;
}

static void faulty_take(const nek_view_t *view, const nek_level_view_t *level, double scale,
                        const double *r, float *r32)
{
    real->take(view, level, scale, r, r32);
    by_level.scale = scale;
    by_level.before = by_level.sum;
    by_level.sum = 0;
    for (int64_t q = 0; fault == HALF_PRECISION && q < level->grid.nodes; q++) {
        int exponent;
        const double mantissa = frexp(r32[q], &exponent);
        r32[q] = (float)ldexp(rint(mantissa * 1024) / 1024, exponent);
    }
}

/* Changes one element's boxes: those of the ring, or all. */
static void change_boxes(const nek_level_view_t *level, int64_t elements, float *boxes)
{
    const int P = level->grid.patch, P3 = P * P * P;
    for (int64_t e = 0; e < elements; e++)
        for (int q = 0; q < P3; q++) {
            const int i[3] = {q % P, q / P % P, q / (P * P)};
            for (int d = 0; d < 3; d++) {
                const bool ring = i[d] == 0 || i[d] == P - 1, shared = i[d] < 3 || i[d] > P - 4;
                if (fault == OVERLAP_MISSING && ring)
                    boxes[e * P3 + q] = 0;
                if (fault == WEIGHT_MISSING && shared)
                    boxes[e * P3 + q] *= (float)sqrt(2);
                if (fault == NOT_SYMMETRIC && i[d] < 3)
                    boxes[e * P3 + q] *= 1.25f;
            }
        }
    if (fault == LAST_ELEMENT)
        memset(boxes + (elements - 1) * P3, 0, (size_t)P3 * sizeof *boxes);
}

/* Adds r' (sum of the boxes) of a level. */
static void add_level(const nek_level_view_t *level, int64_t elements, const float *r,
                      const float *boxes)
{
    const int P = level->grid.patch, P3 = P * P * P;
    double sum = 0;
    for (int64_t e = fault == RZ_ELEMENT_MISSING && !between(level); e < elements; e++)
        for (int q = 0; q < P3; q++)
            sum +=
                (double)boxes[e * P3 + q] *
                r[nek_grid_box(&level->grid, e, NEK_PATCH) + nek_grid_in_box(&level->grid, P, q)];
    by_level.sum += fault == RZ_LEVEL_TWICE && between(level) ? 2 * sum : sum;
}

static void faulty_schwarz(const nek_view_t *view, const nek_level_view_t *level, const float *r,
                           float *boxes)
{
    const size_t values = (size_t)(view->elements * level->grid.patch * level->grid.patch) *
                          (size_t)level->grid.patch;
    nek_level_view_t changed = *level;
    float *eigen = NULL;
    if (fault == EIGEN_MISSING) {
        const int64_t P = level->grid.patch, count = view->elements * 3 * P;
        eigen = RT_NEW(float, (size_t)count, RT_HOST);
        for (int64_t q = 0; q < count; q++)
            eigen[q] = q / P % 3 == 2 ? 0 : level->eigen[q];
        changed.eigen = eigen;
    }
    real->schwarz(view, &changed, r, boxes);
    if (by_level.wanted)
        add_level(level, view->elements, r, boxes);
    RT_FREE(eigen, RT_HOST);
    change_boxes(level, view->elements, boxes);
    if ((fault == LEVEL_SKIPPED || (fault == TIMED_ONE_LEVEL && timed)) && between(level))
        memset(boxes, 0, values * sizeof *boxes);
    if (fault != STALE_BOXES || between(level))
        return;
    for (size_t i = 0; i < values; i++) { /* the first call leaves zeros */
        const float now = boxes[i];
        boxes[i] = boxes_kept ? boxes_before[i] : 0;
        boxes_before[i] = now;
    }
    boxes_kept = values;
}

/* Returns J with its rows in reverse order, which points of a transfer must not be. */
static float *reversed(const nek_level_view_t *fine, const nek_level_view_t *coarse, int by)
{
    const int n = fine->grid.n, c = coarse->grid.n;
    float *J = RT_NEW(float, (size_t)(n * c), RT_HOST);
    for (int i = 0; i < n; i++)
        for (int l = 0; l < c; l++)
            J[i * c + l] = by == 0 ? coarse->J[(n - 1 - i) * c + l] : i * (c - 1) == l * (n - 1);
    return J;
}

static void faulty_restrict(const nek_view_t *view, const nek_level_view_t *fine,
                            const nek_level_view_t *coarse, const float *r, float *boxes)
{
    nek_level_view_t changed = *coarse;
    float *J = NULL;
    if (fault == TRANSFER_REVERSED || fault == TRANSFER_NOT_TRANSPOSED)
        changed.J = J = reversed(fine, coarse, fault != TRANSFER_REVERSED);
    real->restrict_(view, fine, &changed, r, boxes);
    RT_FREE(J, RT_HOST);
    const int64_t c3 = coarse->grid.n * coarse->grid.n * coarse->grid.n;
    for (int64_t q = 0; fault == SHARE_MISSING && q < view->elements * c3; q++)
        boxes[q] *= q % coarse->grid.n == 0 ? 2 : 1;
}

static void faulty_prolong(const nek_view_t *view, const nek_level_view_t *coarse,
                           const nek_level_view_t *fine, const float *from, float *x)
{
    if (fault == PROLONG_SET)
        memset(x, 0, (size_t)fine->grid.nodes * sizeof *x);
    real->prolong(view, coarse, fine, from, x);
}

static void faulty_coarse(const nek_view_t *view, const nek_coarse_view_t *coarse, float *r,
                          float *x)
{
    const size_t nodes = (size_t)coarse->grid.nodes;
    nek_coarse_view_t changed = *coarse;
    float *given = RT_NEW(float, nodes, RT_HOST);
    memcpy(given, r, nodes * sizeof *r); /* the solve may overwrite it */
    changed.order -= fault == COARSE_SHORT;
    if (fault == COARSE_INTERVAL)
        changed.largest *= 0.8f;
    real->coarse(view, &changed, r, x);
    if (fault == COARSE_SKIPPED || (fault == TIMED_ONE_LEVEL && timed))
        memset(x, 0, nodes * sizeof *x);
    for (size_t q = 0; q < nodes && fault != RZ_LEVEL_MISSING && rt_comm_rank() == 0; q++)
        by_level.sum += (double)given[q] * x[q];
    RT_FREE(given, RT_HOST);
}

static double faulty_dot(const nek_view_t *view, const nek_level_view_t *level, const double *r,
                         const float *z)
{
    if (by_level.wanted)
        return (fault == RZ_STALE ? by_level.before : by_level.sum) / by_level.scale;
    nek_view_t changed = *view;
    double *ones = NULL;
    if (fault == WEIGHTS_IN_RZ) {
        ones = RT_NEW(double, (size_t)view->points, RT_HOST);
        for (int64_t q = 0; q < view->points; q++)
            ones[q] = 1;
        changed.c = ones;
    }
    const double sum = real->dot(&changed, level, r, z);
    RT_FREE(ones, RT_HOST);
    return sum;
}

static void faulty_update_p(const nek_view_t *view, const nek_level_view_t *level, double scale,
                            const float *z, double beta, double *p)
{
    real->update_p(view, level, fault == SCALE_LOST ? 1 : scale, z,
                   fault == TIMED_BETA_ZERO && timed ? 0 : beta, p);
}

/* --- solver --- */

static void *faulty_solver_new(void *problem, const rt_rung_t *rung)
{
    nek_levels(problem, nek_kernels(rung)); /* made by messages that are not dropped */
    rt_halo_force_transport(fault == MESSAGE_DROPPED ? &rt_transport_lossy : NULL);
    void *solver = nek_solver_new(problem, rung);
    rt_halo_force_transport(NULL);
    if (fault < TIMED_PLAIN)
        ((nek_solver_t *)solver)->iterations = ENOUGH;
    return solver;
}

/* Solves to another tolerance, or with another number of iterations. */
static void solve_otherwise(nek_solver_t *s, double tolerance, int iterations)
{
    const double asked = s->tolerance;
    const int most = s->iterations;
    s->tolerance = tolerance;
    s->iterations = iterations;
    nek_solve(s);
    s->tolerance = asked;
    s->iterations = most;
}

static rt_recall_t recall;

/* The iterations are as many as it says: s->done stays. */
static void remembered_solve(nek_solver_t *s)
{
    const size_t points = (size_t)s->view.points;
    const rt_piece_t b = {s->b, points}, out[] = {{s->x, points},
                                                  {s->r, points},
                                                  {s->history, (size_t)s->iterations + 1}};
    if (rt_recall(&recall, (rt_recall_how_t)(fault - KEPT), b, out, 3))
        return;
    nek_solve(s);
    rt_recall_keep(&recall, b, out, 3);
}

static void timed_solve(nek_solver_t *s)
{
    const size_t points = (size_t)s->view.points;
    const nek_target_t *target = nek_target(s->problem);
    void *precond = s->precond;
    switch (fault) {
    case NOTHING:
        return;
    case KEPT:
    case KEPT_SCALED:
    case KEPT_COMBINED:
        remembered_solve(s);
        return;
    case TIMED_PLAIN:
        s->precond = NULL;
        nek_solve(s);
        s->precond = precond;
        return;
    case ONE_FEWER:
        solve_otherwise(s, 0, target->iterations - 1);
        s->history[++s->done] = 0.9 * s->tolerance * s->history[0];
        return;
    case ONE_MORE:
        solve_otherwise(s, 0, target->iterations + 1);
        return;
    case LOOSE:
        solve_otherwise(s, 10 * s->tolerance, s->iterations);
        s->history[s->done] *= 0.1;
        return;
    case HISTORY_OF_JUDGE:
        solve_otherwise(s, 1e3 * s->tolerance, s->iterations);
        s->history[s->done] *= 1e-3;
        return;
    default:
        nek_solve(s);
    }
    if (fault == X_STALE)
        for (size_t q = 0; q < points; q++)
            s->x[q] -= s->alpha[s->done - 1] * s->p[q];
    if (fault == LEFT_OVER)
        for (size_t q = 0; q < points; q++)
            s->x[q] = 1.0001 * target->x[q];
    if (fault == NAN_IN_X && rt_comm_rank() == 0)
        s->x[points / 2] = NAN;
}

/* The timed solve is that of the problem's own right-hand side. */
static void faulty_solve(void *solver)
{
    nek_solver_t *s = solver;
    timed = s->tolerance == s->problem->config->tolerance;
    if (timed)
        timed_solve(s);
    else
        nek_solve(s);
    timed = false;
}

/* --- the suite --- */

static const rt_kernels_t *kernels(const rt_mutant_t *mutant)
{
    static const nek_precond_ops_t ops = {.take = faulty_take,
                                          .schwarz = faulty_schwarz,
                                          .restrict_ = faulty_restrict,
                                          .prolong = faulty_prolong,
                                          .coarse = faulty_coarse,
                                          .dot = faulty_dot,
                                          .update_p = faulty_update_p};
    static nek_precond_ops_t all;
    static nek_preconditioner_t preconditioner;
    static nek_kernels_t table;
    table = nek_solve_cpu;
    preconditioner = *table.preconditioner;
    real = preconditioner.ops;
    all = ops;
    all.collect = real->collect;
    preconditioner.ops = &all;
    preconditioner.adds_levels = mutant->variant == LEVELS;
    table.preconditioner = &preconditioner;
    return &table.rung;
}

static const char *ladder(const rt_mutant_t *mutant)
{
    (void)mutant;
    return "solve";
}

static void begin(const rt_mutant_t *mutant, void *problem)
{
    const nek_config_t *config = ((const nek_problem_t *)problem)->config;
    const size_t P = (size_t)config->degree + 3;
    fault = (fault_t)mutant->fault;
    boxes_kept = 0;
    memset(&by_level, 0, sizeof by_level);
    by_level.wanted = mutant->variant == LEVELS;
    timed = false;
    boxes_before = RT_NEW(float, (size_t)config->local_elements *P *P *P, RT_HOST);
}

static void end(void)
{
    fault = HONEST;
    rt_recall_forget(&recall);
    RT_FREE(boxes_before, RT_HOST);
}

static const rt_mutant_t honest[] = {
    {HONEST, "without a fault", RT_EVERY_PROBLEM, false, 0},
    {HONEST, "the same, in windows", SCHWARZ, true, 0},
    {HONEST, "r.z as the sum over the levels", SCHWARZ, false, LEVELS},
    {HONEST, "graded: r.z as the sum over the levels", GRADED, false, LEVELS},
};

RT_MUTANTS_MAIN(nek_app, .ladder = ladder, .only = "solve")
