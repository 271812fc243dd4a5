/*
 * petsc.c - PETSc's MatSOR: block Gauss-Seidel by rows, on A in block CSR (MATSEQBAIJ).
 *
 * Idea: with the rows in the order of the colours, forward sweeps with omega = 1 are our sweeps,
 * except for the order of additions: a row of a colour reads no other row of that colour. Every
 * sweep starts from the current dQ, as ours do; if PETSc were told that dQ is zero, it would leave
 * half of O out of the first sweep. PETSc inverts D once, before anything is timed.
 *
 * Only this file of fun3d-mcpi sees mpi.h, because petsc.h includes it. If no launcher started
 * this process, MPI is not running, and PETSc starts it, as one rank, and ends it; else PETSc uses
 * the running MPI and leaves it running. MPI cannot be started twice in a process, nor can PETSc.
 */
#include "config.h"
#include <petscmat.h>
#include <string.h>
#include "peers.h"

/* PETSc's own handler would print a traceback and return; nothing here could go on. */
#define PETSC(call)                                                                  \
    do {                                                                             \
        const PetscErrorCode status = (call);                                        \
        RT_EXPECT(status == 0, status == PETSC_ERR_MEM ? RT_MEMORY : RT_ENVIRONMENT, \
                  "PETSc: %s: error %d", #call, (int)status);                        \
    } while (0)

typedef struct {
    Mat A;
    Vec R, dq;
} petsc_t;

/* The blocks of a row follow each other, each by columns: PETSc's column-oriented row. */
static void fill(Mat A, const mcpi_matrix_t *matrix)
{
    const mcpi_part_t *part = matrix->part;
    const int64_t nb2 = (int64_t)matrix->nb * matrix->nb;
    PetscInt *column = RT_NEW(PetscInt, (size_t)part->longest + 1, RT_HOST);
    PETSC(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_FALSE));
    for (int64_t row = 0; row < part->rows; row++) {
        const PetscInt me = (PetscInt)row;
        PetscInt n = 0;
        for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
            column[n++] = part->column[k];
        PETSC(MatSetValuesBlocked(A, 1, &me, n, column, matrix->O + part->start[row] * nb2,
                                  INSERT_VALUES));
        PETSC(MatSetValuesBlocked(A, 1, &me, 1, &me, matrix->D + row * nb2, INSERT_VALUES));
    }
    RT_FREE(column, RT_HOST);
    PETSC(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PETSC(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

static Mat new_matrix(const mcpi_matrix_t *matrix)
{
    const mcpi_part_t *part = matrix->part;
    const PetscInt n = (PetscInt)(part->rows * matrix->nb);
    PetscInt *length = RT_NEW(PetscInt, (size_t)part->rows, RT_HOST);
    for (int64_t row = 0; row < part->rows; row++)
        length[row] = (PetscInt)(part->start[row + 1] - part->start[row] + 1);
    Mat A;
    PETSC(MatCreateSeqBAIJ(PETSC_COMM_SELF, matrix->nb, n, n, 0, length, &A));
    RT_FREE(length, RT_HOST);
    fill(A, matrix);
    return A;
}

static void *begin(const mcpi_problem_t *p, rt_text_t *why)
{
    PetscBool ended;
    PETSC(PetscFinalized(&ended));
    if (ended) {
        rt_text(why, "PETSc was ended in this process and cannot be started again");
        return NULL;
    }
    /* We report faults ourselves, and take no options meant for other programs. */
    PETSC(PetscOptionsSetValue(NULL, "-no_signal_handler", "true"));
    PETSC(PetscInitializeNoArguments());
    PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    petsc_t *s = RT_NEW(petsc_t, 1, RT_HOST);
    s->A = new_matrix(p->matrix);
    PETSC(MatCreateVecs(s->A, &s->dq, &s->R));
    PetscScalar *R;
    PETSC(VecGetArray(s->R, &R));
    memcpy(R, p->matrix->R, (size_t)(p->part->rows * p->nb) * sizeof *R);
    PETSC(VecRestoreArray(s->R, &R));
    return s;
}

static void run(void *state, int64_t sweeps)
{
    petsc_t *s = state;
    PETSC(VecSet(s->dq, 0));
    PETSC(MatSOR(s->A, s->R, 1, SOR_LOCAL_FORWARD_SWEEP, 0, (PetscInt)sweeps, 1, s->dq));
}

static void result(const void *state, double *values)
{
    const petsc_t *s = state;
    const PetscScalar *dq;
    PetscInt n;
    PETSC(VecGetLocalSize(s->dq, &n));
    PETSC(VecGetArrayRead(s->dq, &dq));
    memcpy(values, dq, (size_t)n * sizeof *values);
    PETSC(VecRestoreArrayRead(s->dq, &dq));
}

static void end(void *state)
{
    petsc_t *s = state;
    PETSC(VecDestroy(&s->R));
    PETSC(VecDestroy(&s->dq));
    PETSC(MatDestroy(&s->A));
    RT_FREE(s, RT_HOST);
    PETSC(PetscPopErrorHandler());
    PETSC(PetscFinalize());
}

const mcpi_peer_t mcpi_peer_petsc = {.name = "PETSc MatSOR",
                                     .job = "sweep, fp64, one core",
                                     .kind = RT_CPU,
                                     .allowed = 1e-10,
                                     .begin = begin,
                                     .run = run,
                                     .result = result,
                                     .end = end};
