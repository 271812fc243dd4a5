/*
 * cpu_b.c - the paper's baseline: see baseline.h.
 *
 * Idea: one routine for all elements and terms. Counts are known at run time, each statement is a
 * loop over 16 elements, and every intermediate is an array [value][16]. Advantage: general, and
 * such loops vectorise in any compiler. Price: about 400 values per element go through the caches,
 * most of them more than once, and the element matrix is assembled only to be multiplied once.
 */
#include "config.h"
#include "lanes.h"

typedef double *work_t; /* [EL_VALUES][16] */
#define AT(w, value, lane) (w)[(value)*ALYA_VECTOR_DIM + (lane)]
#define LANES              ALYA_LANES
#define FN                 static __attribute__((noinline))
#include "../element/baseline.h"

static alya_element_type_t tetrahedron; /* written at run time, so it is no constant */

/* Doubles of a thread: whole pages. */
enum { LENGTH = (EL_VALUES * ALYA_VECTOR_DIM + 511) / 512 * 512 };

/* In view->data. */
typedef struct {
    int threads; /* that have a workspace */
    double *w;   /* [threads][LENGTH] */
} workspaces_t;

static void chunk(const alya_job_t *job, int64_t first, int64_t end)
{
    double *w = ((workspaces_t *)job->data)->w + (size_t)rt_thread() * LENGTH;
    for (int64_t p = first; p < end; p += ALYA_VECTOR_DIM) {
        const int32_t *node[ALYA_VECTOR_DIM];
        int count = alya_group(job, p, end, node);
        alya_gather(node, job->x, job->u, 3, (alya_nodes_out_t)&AT(w, EL_COORD, 0),
                    (alya_nodes_out_t)&AT(w, EL_VELOC, 0));
        element(w, &tetrahedron, &job->physics);
        alya_scatter(node, count, (alya_nodes_in_t)&AT(w, EL_RHS, 0), job->r, 3);
    }
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_run(view, physics, u, r, 3, ((workspaces_t *)view->data)->threads, chunk);
}

static void set_up(alya_view_t *view)
{
    alya_baseline_tetrahedron(&tetrahedron);
    workspaces_t *all = RT_NEW(workspaces_t, 1, RT_HOST);
    all->threads = rt_threads();
    const size_t values = (size_t)all->threads * LENGTH;
    all->w = RT_NEW(double, values, RT_HOST);
    memset(all->w, 0, values * sizeof *all->w);
    view->data = all;
}

static void tear_down(alya_view_t *view)
{
    workspaces_t *all = view->data;
    if (all)
        RT_FREE(all->w, RT_HOST);
    RT_FREE(view->data, RT_HOST);
}

static void memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    (void)counts;
    bytes[RT_HOST] += sizeof(workspaces_t) + (double)rt_threads() * LENGTH * sizeof(double);
}

const alya_kernels_t alya_cpu_b = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = &alya_chunk,
             .n_parameters = 1},
    .assemble = assemble,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = memory,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
