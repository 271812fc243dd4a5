/*
 * hypre.c - L p = b by hypre's conjugate gradients with its BoomerAMG: on CPUs, or on GPUs if hypre was
 * built for them.
 *
 * hypre numbers rows from rank to rank; a node's row is on the rank of its own copy, and hypre brings
 * the other ranks' parts of the matrix there. Set-up is done once: L never changes.
 */
#include "config.h"
#include "../alya.h"

#if RT_HAVE_HYPRE
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <stdlib.h>

#define HYPRE(call) RT_EXPECT((call) == 0, RT_ENVIRONMENT, "hypre failed: " #call)
enum { MOST_ITERATIONS = 1000 };

struct alya_amg {
    HYPRE_IJMatrix ij;
    HYPRE_IJVector ij_v[2];
    void *A, *v[2]; /* the same, as BoomerAMG wants them; v: b and p */
    HYPRE_Solver pcg, boomeramg;
    HYPRE_BigInt first; /* row of this rank */
    HYPRE_Int rows;
    int32_t *row; /* [nodes] in the rung's space, see alya_loops_t */
    double *x;    /* [rows] the same */
    rt_space_t space;
};

static void finish(void)
{
    int finished;
    MPI_Finalized(&finished);
    if (!finished)
        MPI_Finalize();
}

/* Starts hypre, which needs MPI even for one rank that no launcher started, and sets where it works. */
static bool start(rt_space_t space)
{
    int running;
#if defined(HYPRE_USING_GPU)
    const bool on_gpu = space != RT_HOST;
#else
    const bool on_gpu = false;
    if (space != RT_HOST)
        return false;
#endif
    MPI_Initialized(&running);
    if (!running) {
        MPI_Init(NULL, NULL);
        atexit(finish);
    }
    HYPRE(HYPRE_Init());
    HYPRE(HYPRE_SetMemoryLocation(on_gpu ? HYPRE_MEMORY_DEVICE : HYPRE_MEMORY_HOST));
    HYPRE(HYPRE_SetExecutionPolicy(on_gpu ? HYPRE_EXEC_DEVICE : HYPRE_EXEC_HOST));
    return true;
}

/* Numbers the rows: returns the global number of each node's row [nodes], as doubles. */
static double *number_rows(struct alya_amg *amg, const alya_problem_t *p, int32_t *row)
{
    const alya_rows_t *rows = &p->flow->rows;
    double *global = RT_NEW(double, (size_t)rows->nodes, RT_HOST);
    int64_t *counts = RT_NEW(int64_t, (size_t)rt_comm_size(), RT_HOST), mine = 0;
    for (int64_t n = 0; n < rows->nodes; n++)
        row[n] = rows->own[n] ? (int32_t)mine++ : -1;
    rt_comm_allgather(&mine, sizeof mine, counts);
    for (int r = 0; r < rt_comm_rank(); r++)
        amg->first += (HYPRE_BigInt)counts[r];
    amg->rows = (HYPRE_Int)mine;
    for (int64_t n = 0; n < rows->nodes; n++)
        global[n] = row[n] >= 0 ? (double)amg->first + row[n] : 0;
    alya_sum_copies(p, global);
    RT_FREE(counts, RT_HOST);
    return global;
}

/* Adds this rank's parts of the rows. Rows and columns of a fixed pressure have a diagonal alone. */
static void add_rows(struct alya_amg *amg, const alya_rows_t *rows, const double *global)
{
    for (int64_t n = 0; n < rows->nodes; n++) {
        const HYPRE_BigInt at = (HYPRE_BigInt)global[n];
        const bool fixed = rows->fixed[n] & ALYA_PRESSURE_FIXED;
        HYPRE_BigInt column[ALYA_MOST_NEIGHBOURS];
        double value[ALYA_MOST_NEIGHBOURS];
        HYPRE_Int m = 0;
        int64_t k = rows->slice[n / ALYA_SLICE] + n % ALYA_SLICE;
        for (; k < rows->slice[n / ALYA_SLICE + 1]; k += ALYA_SLICE) {
            const int32_t to = rows->column[k];
            if (rows->laplace[k] == 0 ||
                (to != n && (fixed || rows->fixed[to] & ALYA_PRESSURE_FIXED)))
                continue;
            column[m] = (HYPRE_BigInt)global[to];
            value[m++] = rows->laplace[k];
        }
        HYPRE(HYPRE_IJMatrixAddToValues(amg->ij, 1, &m, &at, column, value));
    }
}

static void make_matrix(struct alya_amg *amg, const alya_problem_t *p, const double *global)
{
    const HYPRE_BigInt last = amg->first + amg->rows - 1;
    HYPRE(HYPRE_IJMatrixCreate(MPI_COMM_WORLD, amg->first, last, amg->first, last, &amg->ij));
    HYPRE(HYPRE_IJMatrixSetObjectType(amg->ij, HYPRE_PARCSR));
    HYPRE(HYPRE_IJMatrixInitialize_v2(amg->ij, HYPRE_MEMORY_HOST));
    add_rows(amg, &p->flow->rows, global);
    HYPRE(HYPRE_IJMatrixAssemble(amg->ij));
#if defined(HYPRE_USING_GPU)
    if (amg->space != RT_HOST)
        HYPRE(HYPRE_IJMatrixMigrate(amg->ij, HYPRE_MEMORY_DEVICE));
#endif
    HYPRE(HYPRE_IJMatrixGetObject(amg->ij, &amg->A));
    for (int i = 0; i < 2; i++) {
        HYPRE(HYPRE_IJVectorCreate(MPI_COMM_WORLD, amg->first, last, &amg->ij_v[i]));
        HYPRE(HYPRE_IJVectorSetObjectType(amg->ij_v[i], HYPRE_PARCSR));
        HYPRE(HYPRE_IJVectorInitialize(amg->ij_v[i]));
        HYPRE(HYPRE_IJVectorAssemble(amg->ij_v[i]));
        HYPRE(HYPRE_IJVectorGetObject(amg->ij_v[i], &amg->v[i]));
    }
}

/* hypre's defaults, but for a cycle that is symmetric, as conjugate gradients want it: l1-Jacobi on a
 * GPU, else Gauss-Seidel forth and back; and the PMIS of GPUs. */
static void make_solver(struct alya_amg *amg, double tolerance)
{
    const bool on_gpu = amg->space != RT_HOST;
    HYPRE(HYPRE_BoomerAMGCreate(&amg->boomeramg));
    HYPRE(HYPRE_BoomerAMGSetTol(amg->boomeramg, 0));
    HYPRE(HYPRE_BoomerAMGSetMaxIter(amg->boomeramg, 1));
    HYPRE(HYPRE_BoomerAMGSetPrintLevel(amg->boomeramg, 0));
    HYPRE(HYPRE_BoomerAMGSetRelaxType(amg->boomeramg, on_gpu ? 18 : 6));
    if (on_gpu) {
        HYPRE(HYPRE_BoomerAMGSetCoarsenType(amg->boomeramg, 8));
        HYPRE(HYPRE_BoomerAMGSetKeepTranspose(amg->boomeramg, 1));
    }
    HYPRE(HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &amg->pcg));
    HYPRE(HYPRE_PCGSetTol(amg->pcg, tolerance));
    HYPRE(HYPRE_PCGSetTwoNorm(amg->pcg, 1));
    HYPRE(HYPRE_PCGSetMaxIter(amg->pcg, MOST_ITERATIONS));
    HYPRE(HYPRE_PCGSetPrecond(amg->pcg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                              (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg->boomeramg));
    HYPRE(HYPRE_PCGSetup(amg->pcg, (HYPRE_Matrix)amg->A, (HYPRE_Vector)amg->v[0],
                         (HYPRE_Vector)amg->v[1]));
}

struct alya_amg *alya_amg_new(const alya_flow_t *flow, const alya_problem_t *p)
{
    const size_t nodes = (size_t)p->mesh->nodes;
    if (!start(flow->space))
        return NULL;
    struct alya_amg *amg = RT_NEW(struct alya_amg, 1, RT_HOST);
    int32_t *row = RT_NEW(int32_t, nodes, RT_HOST);
    *amg = (struct alya_amg){.space = flow->space};
    double *global = number_rows(amg, p, row);
    make_matrix(amg, p, global);
    amg->row = rt_clone(row, nodes, sizeof *row, flow->space);
    amg->x = RT_NEW(double, (size_t)amg->rows, flow->space);
    make_solver(amg, flow->tolerance);
    RT_FREE_ALL(RT_HOST, global, row);
    return amg;
}

void alya_amg_destroy(struct alya_amg *amg)
{
    if (!amg)
        return;
    HYPRE(HYPRE_ParCSRPCGDestroy(amg->pcg));
    HYPRE(HYPRE_BoomerAMGDestroy(amg->boomeramg));
    for (int i = 0; i < 2; i++)
        HYPRE(HYPRE_IJVectorDestroy(amg->ij_v[i]));
    HYPRE(HYPRE_IJMatrixDestroy(amg->ij));
    RT_FREE_ALL(amg->space, amg->row, amg->x);
    RT_FREE(amg, RT_HOST);
}

int64_t alya_amg_solve(struct alya_amg *amg, const alya_flow_t *flow)
{
    HYPRE_Int iterations = 0;
    flow->loops->to_rows(&flow->view, amg->row, amg->x);
    rt_device_synchronize(); /* hypre has a stream of its own */
#if defined(HYPRE_USING_GPU) /* there SetValues would wait for an assembly, which sorts */
    HYPRE(HYPRE_IJVectorUpdateValues(amg->ij_v[0], amg->rows, NULL, amg->x, 1));
#else
    HYPRE(HYPRE_IJVectorSetValues(amg->ij_v[0], amg->rows, NULL, amg->x));
#endif
    HYPRE(HYPRE_ParVectorSetConstantValues(amg->v[1], 0));
    HYPRE_PCGSolve(amg->pcg, (HYPRE_Matrix)amg->A, (HYPRE_Vector)amg->v[0],
                   (HYPRE_Vector)amg->v[1]);
    HYPRE_ClearAllErrors(); /* not converged: the judge says so */
    HYPRE(HYPRE_PCGGetNumIterations(amg->pcg, &iterations));
    HYPRE(HYPRE_IJVectorGetValues(amg->ij_v[1], amg->rows, NULL, amg->x));
    rt_device_synchronize();
    flow->loops->from_rows(&flow->view, amg->row, amg->x);
    alya_flow_sum(flow, flow->view.p);
    return iterations;
}
#else
struct alya_amg *alya_amg_new(const alya_flow_t *flow, const alya_problem_t *p)
{
    (void)flow;
    (void)p;
    return NULL;
}

void alya_amg_destroy(struct alya_amg *amg)
{
    (void)amg;
}

int64_t alya_amg_solve(struct alya_amg *amg, const alya_flow_t *flow)
{
    (void)amg;
    (void)flow;
    return 0;
}
#endif
