/*
 * hypre.c - hypre's BoomerAMG as the preconditioner of solve-cpu's conjugate gradients.
 *
 * Algebraic multigrid needs a matrix, and one of degree N has (2N + 1)^3 values in a row. So it is
 * given that of trilinear elements between the same points, as is usual (Orszag, J. Comput. Phys.
 * 37, 1980): the cells of the grid of points, integrated at their corners. A V-cycle on it is
 * linear, symmetric and positive; operator, vectors and stopping are those of the rung.
 */
#include "config.h"
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <math.h>
#include "base/threads.h"
#include "../judge/judge.h"
#include "../precond/precond.h"

#define HYPRE(call) RT_EXPECT((call) == 0, RT_ENVIRONMENT, "hypre failed: " #call)

typedef struct {
    HYPRE_IJMatrix ij;
    HYPRE_IJVector ij_v[2];
    void *A, *v[2]; /* the same, as BoomerAMG wants them; v: r and z */
    HYPRE_Solver amg;
    HYPRE_Int rows;    /* one for each point; those of the boundary have a diagonal alone */
    HYPRE_BigInt *row; /* [points] */
    double *values;    /* [rows] */
    double seconds;    /* of BoomerAMG's set-up, without the matrix */
} amg_t;

/* Adds the cells of an element to the matrix. xyz[3][n^3], row and c: its points. */
static void add_element(amg_t *s, int n, const double *xyz, const HYPRE_BigInt *row,
                        const double *c)
{
    const int N = n - 1;
    double z[2], w[2], D[4], x[24], G[48], A[64], value[64];
    HYPRE_BigInt at[8], column[64];
    nek_gll(2, z, w, D);
    for (int cell = 0; cell < N * N * N; cell++) {
        const int first = cell % N + n * (cell / N % N + n * (cell / (N * N)));
        int point[8], m = 0;
        HYPRE_Int columns[8] = {0};
        for (int q = 0; q < 8; q++) {
            point[q] = first + (q & 1) + n * ((q >> 1 & 1) + n * (q >> 2));
            at[q] = row[point[q]];
            for (int d = 0; d < 3; d++)
                x[8 * d + q] = xyz[d * n * n * n + point[q]];
        }
        nek_geometry_at(2, w, D, x, G, NULL);
        nek_corner_matrix(D, G, A);
        for (int k = 0; k < 64; k++)
            if (A[k] != 0 && c[point[k / 8]] != 0 && c[point[k % 8]] != 0) {
                columns[k / 8]++;
                column[m] = at[k % 8];
                value[m++] = A[k];
            }
        HYPRE(HYPRE_IJMatrixAddToValues(s->ij, 8, columns, at, column, value));
    }
}

static void make_matrix(const nek_problem_t *p, amg_t *s)
{
    const nek_config_t *config = p->config;
    const int n = config->n, n3 = n * n * n;
    double *G = RT_NEW(double, 9 * (size_t)n3, RT_HOST), *xyz = G + 6 * n3;
    HYPRE(HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, s->rows - 1, 0, s->rows - 1, &s->ij));
    HYPRE(HYPRE_IJMatrixSetObjectType(s->ij, HYPRE_PARCSR));
    HYPRE(HYPRE_IJMatrixInitialize(s->ij));
    for (int64_t e = 0; e < config->local_elements; e++) {
        HYPRE_BigInt *row = s->row + e * n3;
        const double *c = p->c + e * n3;
        nek_geometry(config, e, G, NULL, xyz);
        for (int q = 0; q < n3; q++) {
            const double diagonal = c[q] != 0 ? c[q] * config->lambda : 1; /* of this copy */
            HYPRE_Int one = 1;
            row[q] = (HYPRE_BigInt)nek_global_index(config, e, q % n, q / n % n, q / (n * n));
            HYPRE(HYPRE_IJMatrixAddToValues(s->ij, 1, &one, row + q, row + q, &diagonal));
        }
        add_element(s, n, xyz, row, c);
    }
    RT_FREE(G, RT_HOST);
    HYPRE(HYPRE_IJMatrixAssemble(s->ij));
    HYPRE(HYPRE_IJMatrixGetObject(s->ij, &s->A));
}

static void set_up(nek_solver_t *solver)
{
    const nek_config_t *config = solver->problem->config;
    amg_t *s = RT_NEW(amg_t, 1, RT_HOST);
    const int N = config->n - 1;
    s->rows = 1 + (HYPRE_Int)nek_global_index(config, config->local_elements - 1, N, N, N);
    s->row = RT_NEW(HYPRE_BigInt, (size_t)config->points, RT_HOST);
    s->values = RT_NEW(double, (size_t)s->rows, RT_HOST);
    solver->z = RT_NEW(double, (size_t)config->points, RT_HOST);
    solver->precond = s;
    make_matrix(solver->problem, s);
    for (int i = 0; i < 2; i++) {
        HYPRE(HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, s->rows - 1, &s->ij_v[i]));
        HYPRE(HYPRE_IJVectorSetObjectType(s->ij_v[i], HYPRE_PARCSR));
        HYPRE(HYPRE_IJVectorInitialize(s->ij_v[i]));
        HYPRE(HYPRE_IJVectorAssemble(s->ij_v[i]));
        HYPRE(HYPRE_IJVectorGetObject(s->ij_v[i], &s->v[i]));
    }
    /* hypre's defaults but for these: one V-cycle, and not a word */
    HYPRE(HYPRE_BoomerAMGCreate(&s->amg));
    HYPRE(HYPRE_BoomerAMGSetTol(s->amg, 0));
    HYPRE(HYPRE_BoomerAMGSetMaxIter(s->amg, 1));
    HYPRE(HYPRE_BoomerAMGSetPrintLevel(s->amg, 0));
    const double begun = rt_clock();
    HYPRE(HYPRE_BoomerAMGSetup(s->amg, s->A, s->v[0], s->v[1]));
    s->seconds = rt_clock() - begun;
}

static void tear_down(nek_solver_t *solver)
{
    amg_t *s = solver->precond;
    HYPRE(HYPRE_BoomerAMGDestroy(s->amg));
    for (int i = 0; i < 2; i++)
        HYPRE(HYPRE_IJVectorDestroy(s->ij_v[i]));
    HYPRE(HYPRE_IJMatrixDestroy(s->ij));
    RT_FREE_ALL(RT_HOST, solver->z, s->values, s->row, s);
}

static double apply(nek_solver_t *solver, double norm, const double *r)
{
    const amg_t *s = solver->precond;
    (void)norm;
    for (int64_t p = 0; p < solver->view.points; p++)
        s->values[s->row[p]] = r[p];
    HYPRE(HYPRE_IJVectorSetValues(s->ij_v[0], s->rows, NULL, s->values));
    HYPRE(HYPRE_ParVectorSetConstantValues(s->v[1], 0));
    HYPRE(HYPRE_BoomerAMGSolve(s->amg, s->A, s->v[0], s->v[1]));
    HYPRE(HYPRE_IJVectorGetValues(s->ij_v[1], s->rows, NULL, s->values));
    for (int64_t p = 0; p < solver->view.points; p++)
        solver->z[p] = s->values[s->row[p]];
    return nek_dot(&solver->view, r, solver->z);
}

static void print_row(FILE *out, const char *name, nek_solver_t *s, double solve, double setup)
{
    const double left = nek_true_residual(s->problem, s->problem->b, s->x, s->w) / s->history[0];
    fprintf(out, "%-16s %10d %12.2f %12.2f %10.1e  %s\n", name, s->done, solve, setup, left,
            left <= 1.01 * s->tolerance ? "converged" : "NOT CONVERGED");
}

/* Times solve-cpu and the peer alternately, and prints the best of each. */
static void alternate(const rt_run_t *run, nek_problem_t *p, FILE *out)
{
    static const nek_preconditioner_t boomeramg = {
        .set_up = set_up, .tear_down = tear_down, .apply = apply};
    const rt_rung_t *rung = rt_app_rung(&nek_app, "solve-cpu");
    nek_kernels_t kernels = *nek_kernels(rung);
    rt_rung_t peer = *rung;
    kernels.preconditioner = &boomeramg;
    peer.kernels = &kernels.rung;
    double best[2] = {INFINITY, INFINITY}, begun = rt_clock();
    nek_solver_t *solver[2] = {nek_solver_new(p, rung), NULL};
    const double setup = rt_clock() - begun;
    solver[1] = nek_solver_new(p, &peer);
    for (int k = 0; k < 2 * run->opt.windows; k++) {
        begun = rt_clock();
        nek_solve(solver[k & 1]);
        best[k & 1] = fmin(best[k & 1], rt_clock() - begun);
    }
    print_row(out, rung->name, solver[0], 1, setup / best[0]);
    print_row(out, "hypre BoomerAMG", solver[1], best[1] / best[0],
              ((const amg_t *)solver[1]->precond)->seconds / best[0]);
    nek_solver_destroy(solver[1]);
    nek_solver_destroy(solver[0]);
}

void nek_peers_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    int running;
    const rt_rung_t *ours = rt_app_rung(&nek_app, "solve-cpu");
    if (!outcomes[ours - nek_app.ladder].rung)
        return;
    MPI_Initialized(&running);
    if (!running || rt_comm_size() > 1 || run->opt.seconds <= 0 ||
        nek_precond(run->config, nek_kernels(ours)) != NEK_SCHWARZ) {
        fprintf(out, "\npeers: not run, they are for mpirun -n 1, --precond schwarz and a time\n");
        return;
    }
    fprintf(out, "\npeers, one core, in turn with ours; times over that of solve-cpu's solve\n\n"
                 "peer             iterations solve / ours setup / ours   residual\n");
    HYPRE(HYPRE_Init());
    rt_threads_set(1);
    nek_problem_t *p = nek_problem_new(run, NULL);
    alternate(run, p, out);
    nek_problem_destroy(p);
    rt_threads_set(rt_device_cpu()->threads);
    HYPRE(HYPRE_Finalize());
}
