/*
 * hypre.c - hypre's BoomerAMG as the preconditioner of solve-cpu's conjugate gradients.
 *
 * Algebraic multigrid needs a matrix, and one of degree N has (2N + 1)^3 values in a row. So it is
 * given that of trilinear elements between the same points, as is usual (Orszag, J. Comput. Phys.
 * 37, 1980): the cells of the grid of points, integrated at their corners, at most 19 values in a
 * row. A V-cycle on it is linear, symmetric and positive; operator, vectors and stopping are those
 * of the rung.
 *
 * Only this file of nekbone sees mpi.h, because HYPRE.h includes it. If no launcher started this
 * process, MPI is not running, and it is started here, as one rank, and ended.
 */
#include "config.h"
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <math.h>
#include <string.h>
#include "base/stats.h"
#include "base/threads.h"
#include "../grid.h"
#include "../judge/judge.h"
#include "../precond.h"
#include "peers.h"

#define HYPRE(call) \
    RT_EXPECT((call) == 0, RT_ENVIRONMENT, "hypre: %s: error %d", #call, (int)HYPRE_GetError())

typedef struct {
    HYPRE_IJMatrix A;
    HYPRE_IJVector r, z;
    HYPRE_Solver amg;
    HYPRE_BigInt unknowns, *row; /* [unknowns] 0, 1, ... */
    int64_t *point;              /* [unknowns] a stored point of it */
    int64_t *unknown;            /* [points] -1 on the boundary */
    double *values;              /* [unknowns] */
} amg_t;

/* --- the matrix of the cells --- */

/* Computes A of a cell with these corners; corner q is at the upper end in the directions of its
 * bits. At a corner, the gradient is that of the three edges that meet there. */
static void cell_matrix(const double x[8][3], double A[8][8])
{
    memset(A, 0, 64 * sizeof(double));
    for (int q = 0; q < 8; q++) {
        double d[3][3], g[3][3];
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                d[a][c] = x[q ^ 1 << a][c] - x[q][c];
        for (int a = 0; a < 3; a++) {
            const double *u = d[(a + 1) % 3], *v = d[(a + 2) % 3];
            for (int c = 0; c < 3; c++)
                g[a][c] = u[(c + 1) % 3] * v[(c + 2) % 3] - u[(c + 2) % 3] * v[(c + 1) % 3];
        }
        const double det = d[0][0] * g[0][0] + d[0][1] * g[0][1] + d[0][2] * g[0][2];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                const int to = q ^ 1 << a, from = q ^ 1 << b;
                const double value =
                    (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]) / fabs(8 * det);
                A[to][from] += value;
                A[q][from] -= value;
                A[to][q] -= value;
                A[q][q] += value;
            }
    }
}

/* Adds the cells of element e, whose points are xyz[3][n^3], to stencil[27][nodes]. */
static void add_element(const nek_grid_t *grid, int64_t e, const double *xyz, double *stencil)
{
    const int n = grid->n, N = grid->degree, n3 = n * n * n;
    const int64_t origin = nek_grid_box(grid, e, NEK_OWN_BOX);
    for (int cell = 0; cell < N * N * N; cell++) {
        const int first = cell % N + n * (cell / N % N + n * (cell / (N * N)));
        double x[8][3], A[8][8];
        int at[8];
        for (int q = 0; q < 8; q++) {
            at[q] = first + (q & 1) + n * ((q >> 1 & 1) + n * (q >> 2));
            for (int c = 0; c < 3; c++)
                x[q][c] = xyz[c * n3 + at[q]];
        }
        cell_matrix(x, A);
        for (int q = 0; q < 8; q++)
            for (int r = 0; r < 8; r++) {
                const int s = (r & 1) - (q & 1) + 3 * ((r >> 1 & 1) - (q >> 1 & 1)) +
                              9 * ((r >> 2) - (q >> 2)) + NEK_STENCIL / 2;
                stencil[s * grid->nodes + origin + nek_grid_in_box(grid, n, at[q])] += A[q][r];
            }
    }
}

/* Numbers the points inside, and makes A from the stencils. number[nodes]: unknowns, -1: none. */
static void fill_matrix(const nek_config_t *config, const nek_grid_t *grid, amg_t *s,
                        const int64_t *number)
{
    const size_t values = NEK_STENCIL * (size_t)grid->nodes;
    const size_t n3 = (size_t)(grid->n * grid->n * grid->n);
    double *stencil = RT_NEW(double, values, RT_HOST);
    double *G = RT_NEW(double, 9 * n3, RT_HOST), *xyz = G + 6 * n3;
    const int64_t row = grid->points[0], plane = row * grid->points[1];
    memset(stencil, 0, values * sizeof *stencil);
    for (int64_t e = 0; e < config->local_elements; e++) {
        nek_geometry(config, e, G, NULL, xyz);
        add_element(grid, e, xyz, stencil);
    }
    for (int64_t q = 0; q < grid->nodes; q++) {
        HYPRE_BigInt column[NEK_STENCIL];
        double value[NEK_STENCIL];
        HYPRE_Int n = 0;
        for (int k = 0; k < NEK_STENCIL && number[q] >= 0; k++) {
            const int64_t to = q + k % 3 - 1 + (k / 3 % 3 - 1) * row + (k / 9 - 1) * plane;
            const bool own = k == NEK_STENCIL / 2;
            value[n] = stencil[k * grid->nodes + q] + (own ? config->lambda : 0);
            if (number[to] >= 0 && value[n] != 0)
                column[n++] = (HYPRE_BigInt)number[to];
        }
        const HYPRE_BigInt me = (HYPRE_BigInt)number[q];
        if (n > 0)
            HYPRE(HYPRE_IJMatrixSetValues(s->A, 1, &n, &me, column, value));
    }
    RT_FREE(G, RT_HOST);
    RT_FREE(stencil, RT_HOST);
    HYPRE(HYPRE_IJMatrixAssemble(s->A));
}

static HYPRE_IJVector new_vector(HYPRE_BigInt n)
{
    HYPRE_IJVector v;
    HYPRE(HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, n - 1, &v));
    HYPRE(HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR));
    HYPRE(HYPRE_IJVectorInitialize(v));
    HYPRE(HYPRE_IJVectorAssemble(v));
    return v;
}

/* --- as a preconditioner of the ladder solve --- */

static void v_cycle(amg_t *s, bool set_up)
{
    void *A, *r, *z;
    HYPRE(HYPRE_IJMatrixGetObject(s->A, &A));
    HYPRE(HYPRE_IJVectorGetObject(s->r, &r));
    HYPRE(HYPRE_IJVectorGetObject(s->z, &z));
    if (set_up) {
        HYPRE(HYPRE_BoomerAMGSetup(s->amg, A, r, z));
        return;
    }
    HYPRE(HYPRE_ParVectorSetConstantValues(z, 0));
    HYPRE(HYPRE_BoomerAMGSolve(s->amg, A, r, z));
}

static void set_up(nek_solver_t *solver)
{
    const nek_config_t *config = solver->problem->config;
    const nek_grid_t grid = nek_grid_of(config, (int)config->degree);
    amg_t *s = RT_NEW(amg_t, 1, RT_HOST);
    int64_t *number = RT_NEW(int64_t, (size_t)grid.nodes, RT_HOST);
    s->unknowns = 0;
    for (int64_t q = 0; q < grid.nodes; q++)
        number[q] = nek_grid_is_inside(&grid, q) ? s->unknowns++ : -1;
    const size_t n = (size_t)s->unknowns;
    s->row = RT_NEW(HYPRE_BigInt, n, RT_HOST);
    s->point = RT_NEW(int64_t, n, RT_HOST);
    s->values = RT_NEW(double, n, RT_HOST);
    s->unknown = RT_NEW(int64_t, (size_t)config->points, RT_HOST);
    for (size_t k = 0; k < n; k++)
        s->row[k] = (HYPRE_BigInt)k;
    for (int64_t p = 0; p < config->points; p++) {
        s->unknown[p] = number[nek_grid_at_point(&grid, p)];
        if (s->unknown[p] >= 0)
            s->point[s->unknown[p]] = p;
    }
    solver->z = RT_NEW(double, (size_t)config->points, RT_HOST);
    HYPRE(HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, s->unknowns - 1, 0, s->unknowns - 1, &s->A));
    HYPRE(HYPRE_IJMatrixSetObjectType(s->A, HYPRE_PARCSR));
    HYPRE(HYPRE_IJMatrixInitialize(s->A));
    fill_matrix(config, &grid, s, number);
    RT_FREE(number, RT_HOST);
    s->r = new_vector(s->unknowns);
    s->z = new_vector(s->unknowns);
    /* hypre's defaults but for these: one V-cycle, and not a word */
    HYPRE(HYPRE_BoomerAMGCreate(&s->amg));
    HYPRE(HYPRE_BoomerAMGSetTol(s->amg, 0));
    HYPRE(HYPRE_BoomerAMGSetMaxIter(s->amg, 1));
    HYPRE(HYPRE_BoomerAMGSetPrintLevel(s->amg, 0));
    v_cycle(s, true);
    solver->precond = s;
}

static void tear_down(nek_solver_t *solver)
{
    amg_t *s = solver->precond;
    HYPRE(HYPRE_BoomerAMGDestroy(s->amg));
    HYPRE(HYPRE_IJVectorDestroy(s->z));
    HYPRE(HYPRE_IJVectorDestroy(s->r));
    HYPRE(HYPRE_IJMatrixDestroy(s->A));
    RT_FREE(solver->z, RT_HOST);
    RT_FREE(s->unknown, RT_HOST);
    RT_FREE(s->values, RT_HOST);
    RT_FREE(s->point, RT_HOST);
    RT_FREE(s->row, RT_HOST);
    RT_FREE(s, RT_HOST);
}

static double apply(nek_solver_t *solver, double norm, const double *r)
{
    amg_t *s = solver->precond;
    const HYPRE_Int n = (HYPRE_Int)s->unknowns;
    (void)norm;
    for (HYPRE_Int k = 0; k < n; k++)
        s->values[k] = r[s->point[k]];
    HYPRE(HYPRE_IJVectorSetValues(s->r, n, s->row, s->values));
    v_cycle(s, false);
    HYPRE(HYPRE_IJVectorGetValues(s->z, n, s->row, s->values));
    for (int64_t p = 0; p < solver->view.points; p++)
        solver->z[p] = s->unknown[p] >= 0 ? s->values[s->unknown[p]] : 0;
    return solver->kernels->vector->dot(&solver->view, r, solver->z);
}

static void update_p(nek_solver_t *solver, double beta, double *p)
{
    solver->kernels->vector->update_p(&solver->view, beta, solver->z, p);
}

static const nek_preconditioner_t boomeramg = {
    .set_up = set_up, .tear_down = tear_down, .apply = apply, .update_p = update_p};

/* --- the comparison --- */

enum { MOST_WINDOWS = 64 };

typedef struct {
    nek_solver_t *solver;
    double set_up, seconds[MOST_WINDOWS], median;
} runner_t;

static void runner_begin(runner_t *r, nek_problem_t *p, const rt_rung_t *rung)
{
    const double begun = rt_clock();
    r->solver = nek_solver_new(p, rung);
    r->set_up = rt_clock() - begun;
}

static void time_once(runner_t *r, int window)
{
    nek_erase(r->solver);
    const double begun = rt_clock();
    nek_solve(r->solver);
    r->seconds[window] = rt_clock() - begun;
}

/* Prints a row; the unit is solve-cpu's solve. */
static void print_row(rt_table_t *t, const char *name, const runner_t *r, const runner_t *ours)
{
    nek_solver_t *s = r->solver;
    const double left = nek_true_residual(s->problem, s->problem->b, s->x, s->w) / s->history[0];
    rt_table_cell(t, "%s", name);
    rt_table_cell(t, "%d", s->done);
    rt_table_cell(t, "%.2f", r->median / ours->median);
    rt_table_cell(t, "%.2f", r->set_up / ours->median);
    rt_table_cell(t, "%.1e", left);
    rt_table_cell(t, "%s", left <= 1.01 * s->tolerance ? "converged" : "NOT CONVERGED");
    rt_table_row(t);
}

static void alternate(const rt_run_t *run, nek_problem_t *p, FILE *out)
{
    const int windows = (int)run->opt.windows;
    const rt_rung_t *rung = rt_ladder_find(nek_ladder, NEK_RUNGS, "solve-cpu");
    nek_kernels_t kernels = nek_solve_cpu;
    rt_rung_t peer = *rung;
    runner_t ours, theirs;
    kernels.preconditioner = &boomeramg;
    peer.kernels = &kernels.rung;
    rt_threads_set(1);
    runner_begin(&ours, p, rung);
    runner_begin(&theirs, p, &peer);
    for (int k = -1; k < windows; k++) { /* the first is not counted */
        time_once(&ours, k < 0 ? 0 : k);
        time_once(&theirs, k < 0 ? 0 : k);
    }
    rt_threads_set(rt_device_cpu()->threads);
    ours.median = rt_median(ours.seconds, windows);
    theirs.median = rt_median(theirs.seconds, windows);
    rt_table_t *table = rt_table_new("<peer|iterations|solve / ours|setup / ours|residual|<");
    print_row(table, "solve-cpu, one core", &ours, &ours);
    print_row(table, "hypre BoomerAMG, one core", &theirs, &ours);
    rt_table_print(table, out);
    rt_table_destroy(table);
    nek_solver_destroy(theirs.solver);
    nek_solver_destroy(ours.solver);
}

/* Returns why the peer cannot run, or NULL. */
static const char *obstacle(const rt_run_t *run)
{
    const nek_config_t *config = run->config;
    int ended;
    MPI_Finalized(&ended);
    if (rt_comm_size() > 1)
        return "they are for one rank";
    if (run->opt.seconds <= 0)
        return "nothing is timed with --seconds 0";
    if (nek_precond(config, &nek_solve_cpu) != NEK_SCHWARZ)
        return "they are compared with --precond schwarz";
    return ended ? "MPI was ended in this process and cannot be started again" : NULL;
}

void nek_peers_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    bool wanted = false;
    for (int i = 0; i < NEK_RUNGS; i++)
        wanted |= outcomes[i].rung && strcmp(outcomes[i].rung->name, "solve-cpu") == 0;
    if (!wanted)
        return;
    const char *why = obstacle(run);
    if (why) {
        fprintf(out, "\npeers: not run, %s\n", why);
        return;
    }
    fprintf(out, "\npeers, alternating with ours; times over that of solve-cpu's solve\n\n");
    fflush(out);
    int running;
    MPI_Initialized(&running);
    if (!running)
        MPI_Init(NULL, NULL);
    HYPRE(HYPRE_Init());
    nek_problem_t *p = nek_problem_new(run, NULL);
    alternate(run, p, out);
    nek_problem_destroy(p);
    HYPRE(HYPRE_Finalize());
    if (!running)
        MPI_Finalize();
}
