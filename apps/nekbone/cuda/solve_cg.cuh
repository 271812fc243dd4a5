/*
 * solve_cg.cuh - preconditioned conjugate gradients whose scalars stay on the GPU: what the kernels
 * of solve_cg.cu see, and how the scalars follow from their sums.
 *
 * A kernel that has a sum ends with nek_end_sum: the block that is last adds the partial sums of all
 * blocks in order, so equal input gives equal bits, and forms the scalars that follow. When a solve
 * has ended, the kernels that change x, r and p do nothing. So the host may start iterations before
 * it knows whether they are needed.
 */
#ifndef NEK_SOLVE_CG_CUH
#define NEK_SOLVE_CG_CUH

#include "nek_scalars.cuh"
#include "nek_launch.cuh"
#include "../precond/boxes.h"

enum { NEK_POINT_THREADS = 256 }; /* of a kernel over points */

/* The threads of a block that work on one element. */
struct nek_team {
    int id, of;
    __device__ __forceinline__ int member() const
    {
        return id;
    }
    __device__ __forceinline__ int size() const
    {
        return of;
    }
    __device__ __forceinline__ void barrier() const
    {
        __syncthreads();
    }
};

/* What has just been summed. */
enum nek_stage {
    NEK_MEASURED,       /* b.b, for the first scale */
    NEK_TAKEN,          /* r.r of the first r */
    NEK_PRECONDITIONED, /* r.z, z as it is, scaled */
    NEK_APPLIED,        /* p.A p */
    NEK_UPDATED         /* r.r */
};

/* What is kept of an iteration: |r| before it, alpha and beta. */
enum { NEK_TRACE_NORM, NEK_TRACE_ALPHA, NEK_TRACE_BETA, NEK_TRACED };

/* Scalars, on the device. */
typedef struct {
    double rr, rz, alpha, beta;
    double scale, next_scale; /* of r as the preconditioner has it; of the r that is made next */
    double target;            /* |r| at which the solve ends */
    double sum;               /* of this rank, where the host adds those of all ranks */
    int done;                 /* iterations */
    int ended;
    unsigned ticket; /* blocks that have left their sum; returns to 0 */
} nek_cg_t;

/* Where z is: the sum of level 0's boxes, which are complete but near other ranks, where z has their
 * sum, and J x of the next level. boxes NULL: z has all. */
typedef struct {
    const float *boxes, *J, *x;
    nek_grid_t next;
} nek_top_t;

/* What the kernels see. Arrays in element order, but r32 and z, which are on the grid of level 0. r
 * is kept at one of the copies of a point on this rank: that of the element after which there is
 * none, so at i < n - 1, but for the last element in a row. */
typedef struct {
    const double *G;
    double *x, *r, *p, *v;
    float *r32, *z;
    nek_top_t top;
    double *energy; /* [energies] what each block of the patches adds to r.z */
    int energies;
    double *shared; /* several ranks: v on the grid, at the points near others; else NULL */
    nek_grid_t grid;
    int elements, per_block;
    int outside[6]; /* this rank's sides x0 x1 y0 y1 z0 z1 are on the boundary of the box */
    double lambda, points, tolerance;
    int most_iterations;
    nek_cg_t *cg;
    double *partial;   /* [blocks] at most */
    double *trace;     /* page-locked: [most_iterations + 1][NEK_TRACED] of each iteration */
    int64_t *progress; /* page-locked: 2 done + ended, which the host watches */
    /* sums of several GPUs; NULL: one rank, or the host adds */
    struct rt_device_allreduce_t *allreduce;
    bool forms; /* the kernel that has a sum forms the scalars */
} nek_pcg_t;

/* Returns the largest power of two below 1 / x; 1 where there is none. */
__device__ __forceinline__ double nek_unit_scale(double x)
{
    int exponent = 0;
    if (x > 0 && x < 1e300)
        frexp(x, &exponent);
    return ldexp(1.0, -exponent);
}

/* Forms what follows from a sum over all ranks. For one thread. */
static __device__ void nek_form(const nek_pcg_t &a, nek_stage stage, double sum)
{
    nek_cg_t *cg = a.cg;
    double *const trace = a.trace + NEK_TRACED * static_cast<int64_t>(cg->done);
    if (stage == NEK_MEASURED) {
        cg->next_scale = nek_unit_scale(sqrt(sum / a.points));
    } else if (stage == NEK_TAKEN) {
        cg->rr = sum;
        cg->rz = cg->alpha = cg->beta = 0;
        cg->scale = cg->next_scale;
        cg->target = a.tolerance * sqrt(sum);
        cg->done = cg->ended = 0;
        a.trace[NEK_TRACE_NORM] = sqrt(sum);
    } else if (stage == NEK_PRECONDITIONED) {
        const double before = cg->rz, rz = sum / cg->scale;
        cg->rz = rz;
        cg->beta = before > 0 ? rz / before : 0; /* 0 in the first iteration */
        trace[NEK_TRACE_BETA] = cg->beta;
    } else if (stage == NEK_APPLIED) {
        /* After convergence to the last bit p may vanish; a step of zero keeps x. */
        cg->alpha = sum > 0 ? cg->rz / sum : 0;
        trace[NEK_TRACE_ALPHA] = cg->alpha;
    } else {
        const double norm = sqrt(sum);
        const bool finite = norm - norm == 0;
        cg->rr = sum;
        cg->scale = cg->next_scale;
        cg->next_scale = nek_unit_scale(norm / sqrt(a.points));
        cg->done++;
        cg->ended = norm <= cg->target || !finite || cg->done >= a.most_iterations;
        trace[NEK_TRACED + NEK_TRACE_NORM] = norm;
        __threadfence_system(); /* the host reads the norm once it has read what comes next */
        *static_cast<volatile int64_t *>(a.progress) =
            2 * static_cast<int64_t>(cg->done) + cg->ended;
    }
}

/* Adds sum over the grid, whose threads all call it; the last block forms the scalars, or leaves the
 * sum of this rank. Not inlined, so that it takes no registers from the loop before it. */
static __device__ __noinline__ void nek_end_sum(const nek_pcg_t &a, nek_stage stage, double mine)
{
    double sum[1] = {mine};
    if (!nek_grid_sums(a.partial, 0, &a.cg->ticket, sum))
        return;
    if (a.allreduce)
        rt_device_allreduce(a.allreduce, sum);
    if (threadIdx.x != 0)
        return;
    if (a.forms)
        nek_form(a, stage, sum[0]);
    else
        a.cg->sum = sum[0];
}

/* Scalars that all threads of a kernel read at its start. */
struct nek_factors_of_cg {
    double alpha, beta, scale, next_scale;
    int done;
    bool ended;
    __device__ __forceinline__ explicit nek_factors_of_cg(const nek_cg_t *cg)
        : alpha(__ldcg(&cg->alpha)), beta(__ldcg(&cg->beta)), scale(__ldcg(&cg->scale)),
          next_scale(__ldcg(&cg->next_scale)), done(__ldcg(&cg->done)),
          ended(__ldcg(&cg->ended) != 0)
    {
    }
};

/* --- what solve_cuda.cu gives the preconditioners --- */

/* Returns the blocks that solve the patches of a level: one entry of nek_level_view_t's energy
 * each. */
typedef int nek_patch_blocks_t(const nek_view_t *view, const nek_level_view_t *level);
void nek_pcg_set_up(nek_solver_t *s, nek_patch_blocks_t *patch_blocks);
void nek_pcg_tear_down(nek_solver_t *s);
void nek_pcg_memory(const nek_config_t *config, rt_space_t space, double bytes[RT_SPACES]);
void nek_pcg_top(nek_solver_t *s, const float *boxes, const nek_level_view_t *next,
                 const float *from, float *x);
/* The whole solve. */
void nek_pcg(nek_solver_t *s);

#endif
