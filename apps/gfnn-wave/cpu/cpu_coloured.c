/*
 * cpu_coloured.c - the paper's first form: B^T D B, with variables of every element that are
 * computed in advance, colour after colour.
 *
 * Idea: elements of one colour, which have the same parities of i, j and k, share no node. So
 * threads and vector lanes may add at the same time, and the eight colours follow one after the
 * other. Advantage: no atomics, equal bits on any number of threads, and no material is looked up.
 * Price: 24 bytes of mass, lambda and mu per element; neighbouring lanes are two elements apart, so
 * that half of each line that is read serves another colour, and x and y are traversed eight times.
 */
#include "config.h"
#include "strain_rows.h"

typedef struct {
    const gfnn_grid_t *fine, *wide;
    const double *variable, *x;
    double *y;
} job_t;

/* Adds element i of a row; checked: some corners may be ghosts. */
GFNN_FN void element(const job_t *job, bool checked, int64_t i, int64_t j, int64_t k)
{
    const gfnn_grid_t *g = job->fine;
    const int64_t at = gfnn_at(g, i, j, k), plane = job->wide->plane;
    const double *variable = job->variable + gfnn_at(job->wide, i, j, k);
    double f[24], *y = job->y + at;
    gfnn_strain_product(job->x + at, g->plane, g->slab, g->pitch, variable[GFNN_MASS * plane],
                        variable[GFNN_LAMBDA * plane], variable[GFNN_MU * plane], f);
    GFNN_STRAIN_UNROLL
    for (int a = 0; a < 8; a++) {
        if (checked && !gfnn_strain_own(g, i, j, k, a))
            continue;
        GFNN_STRAIN_UNROLL
        for (int c = 0; c < 3; c++)
            y[c * g->plane + (a >> 2) * g->slab + (a >> 1 & 1) * g->pitch + (a & 1)] +=
                f[3 * a + c];
    }
}

/* Adds every second element of a row, from `first` on: those with ghosts as corners with a check,
 * the others as vectors. */
static void row(const job_t *job, int64_t first, int64_t j, int64_t k)
{
    const int64_t *n = job->fine->n;
    const bool inner = j >= 0 && j + 1 < n[1] && k >= 0 && k + 1 < n[2];
    int64_t i = first;
    for (; i < n[0] && (i < 0 || !inner); i += 2)
        element(job, true, i, j, k);
#pragma omp simd
    for (int64_t s = i; s < n[0] - 1; s += 2)
        element(job, false, s, j, k);
    if (inner && (n[0] - 1 - first) % 2 == 0)
        element(job, true, n[0] - 1, j, k);
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const int64_t *n = view->box->n;
    const job_t job = {&view->box->fine, &view->box->wide, gfnn_stored(view, view->data, a->form),
                       a->x, a->y};
#pragma omp parallel
    {
        gfnn_strain_clear(job.fine, job.y);
        for (int colour = 0; colour < 8; colour++)
#pragma omp for collapse(2) schedule(static)
            for (int64_t k = (colour >> 2) - 1; k < n[2]; k += 2)
                for (int64_t j = (colour >> 1 & 1) - 1; j < n[1]; j += 2)
                    row(&job, (colour & 1) - 1, j, k);
    }
}

GFNN_KEEPS_VARIABLES(gfnn_op_cpu_coloured, true);
