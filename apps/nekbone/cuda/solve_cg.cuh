/*
 * solve_cg.cuh - preconditioned conjugate gradients whose scalars stay on the GPU: what the kernels
 * of solve_cg.cu see, and how the scalars follow from their sums.
 *
 * A kernel that has a sum ends with nek_end_sum: the block that is last adds the partial sums of all
 * blocks in order, so equal input gives equal bits, and forms the scalars that follow. When a solve
 * has ended, the kernels that change x, r and p do nothing. So the host may start iterations before
 * it knows whether they are needed.
 *
 * T is what vectors, factors and operator are in. In FP32 r drifts away from b - A x, by FP32's roundoff
 * of |A||x|. So when |r| has fallen by NEK_DROP the solve rests: x is added to an x in FP64 and becomes
 * 0, and b - A x in FP64 replaces r; p stays. Then x is what is left of it, 1e4 times less, and so is
 * the drift. Units of a power of two of about |b| give FP32 the range.
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
    NEK_UPDATED,        /* r.r */
    NEK_REPLACED        /* r.r of b - A x, which has replaced r */
};

/* Whether the kernels go on, as the host reads it in the last bits of nek_pcg_t's progress. */
enum { NEK_GOES_ON, NEK_ENDED, NEK_RESTS, NEK_PROGRESS };

/* What is kept of an iteration: |r| before it, alpha and beta. */
enum { NEK_TRACE_NORM, NEK_TRACE_ALPHA, NEK_TRACE_BETA, NEK_TRACED };

/* Scalars, on the device. */
typedef struct alignas(16) {
    double alpha, beta;
    double unit, scale;   /* of x, r, p, v in FP32, 1 in FP64; of r32 beyond that */
    int done, first;      /* iterations; of them those before x was last made 0 */
    int state;            /* NEK_GOES_ON, ... */
    unsigned ticket;      /* blocks that have left their sum; returns to 0 */
    double rz;            /* from here on only for nek_form */
    double target, level; /* |r| at which the solve ends; at which r is replaced, 0: never */
    double sum;           /* of this rank, where the host adds those of all ranks */
} nek_cg_t;

/* Where z is: the sum of level 0's boxes, which are complete but near other ranks, where z has their
 * sum, and J x of the next level. boxes NULL: z has all. */
typedef struct {
    const float *boxes, *J, *x;
    nek_grid_t next;
} nek_top_t;

/* What the kernels see. Arrays in element order, but r32 and z, which are on the grid of level 0. r
 * is kept at one of the copies of a point on this rank: that of the element after which there is
 * none, so at i < n - 1, but for the last element in a row; in FP32 it is r32. */
template <class T> constexpr bool nek_is_single = sizeof(T) == sizeof(float);
template <class T> struct nek_pcg_t {
    const T *G;
    T *x, *p, *v;
    double *x_end, *r; /* what a solve leaves; r is CG's own in FP64 */
    float *r32, *z;
    nek_top_t top;
    double *energy; /* [energies] what each block of the patches adds to r.z */
    int energies;
    void *shared; /* several ranks: v on the grid, at the points near others; else NULL */
    nek_grid_t grid;
    int elements, per_block;
    int outside[6]; /* this rank's sides x0 x1 y0 y1 z0 z1 are on the boundary of the box */
    double lambda, points, tolerance;
    int most_iterations;
    nek_cg_t *cg;
    double *partial;   /* [blocks] at most */
    double *trace;     /* page-locked: [most_iterations + 1][NEK_TRACED] of each iteration */
    int64_t *progress; /* page-locked: NEK_PROGRESS done + state, which the host watches */
    /* sums of several GPUs; NULL: one rank, or the host adds */
    struct rt_device_allreduce_t *allreduce;
    bool forms; /* the kernel that has a sum forms the scalars */
};

/* Returns |r| at which r is replaced next, after `level` and before it is `target`; 0: it is not. */
__host__ __device__ __forceinline__ double nek_next_level(double level, double target)
{
    const double next = NEK_DROP * level;
    return next > 1.5 * target ? next : 0; /* not right before the end */
}

/* Returns the largest power of two below 1 / x; 1 where there is none. */
__device__ __forceinline__ double nek_unit_scale(double x)
{
    int exponent = 0;
    if (x > 0 && x < 1e300)
        frexp(x, &exponent);
    return ldexp(1.0, -exponent);
}

/* Takes |r|, whose square is sum, and finds whether the solve goes on. */
template <class T>
static __device__ void nek_form_norm(const nek_pcg_t<T> &a, double *trace, double sum)
{
    nek_cg_t *cg = a.cg;
    const double norm = sqrt(sum) / cg->unit;
    const bool finite = norm - norm == 0;
    cg->state = norm <= cg->target || !finite || cg->done >= a.most_iterations ? NEK_ENDED
                : norm <= cg->level                                            ? NEK_RESTS
                                                                               : NEK_GOES_ON;
    trace[NEK_TRACE_NORM] = norm;
    __threadfence_system(); /* the host reads the norm once it has read what comes next */
    *static_cast<volatile int64_t *>(a.progress) =
        NEK_PROGRESS * static_cast<int64_t>(cg->done) + cg->state;
}

/* Forms what follows from a sum over all ranks. For one thread. */
template <class T>
static __device__ void nek_form(const nek_pcg_t<T> &a, nek_stage stage, double sum)
{
    nek_cg_t *cg = a.cg;
    double *const trace = a.trace + NEK_TRACED * static_cast<int64_t>(cg->done);
    if (stage == NEK_MEASURED) {
        const double scale = nek_unit_scale(sqrt(sum / a.points));
        cg->unit = nek_is_single<T> ? scale : 1;
        cg->scale = nek_is_single<T> ? 1 : scale;
    } else if (stage == NEK_TAKEN) {
        const double norm = sqrt(sum) / cg->unit;
        cg->rz = cg->alpha = cg->beta = 0;
        cg->target = a.tolerance * norm * (nek_is_single<T> ? 1 - NEK_SINGLE_MARGIN : 1);
        cg->level = nek_is_single<T> ? nek_next_level(norm, cg->target) : 0;
        cg->done = cg->first = 0;
        cg->state = NEK_GOES_ON;
        a.trace[NEK_TRACE_NORM] = norm;
    } else if (stage == NEK_REPLACED) {
        cg->first = cg->done;
        cg->level = nek_next_level(cg->level, cg->target);
        nek_form_norm(a, trace, sum);
    } else if (stage == NEK_PRECONDITIONED) {
        if (cg->state != NEK_GOES_ON)
            return; /* an iteration started in vain: r.z of the r before stays */
        const double before = cg->rz, rz = sum / cg->scale;
        cg->rz = rz;
        cg->beta = before > 0 ? rz / before : 0; /* 0 in the first iteration */
        trace[NEK_TRACE_BETA] = cg->beta;
    } else if (stage == NEK_APPLIED) {
        /* After convergence to the last bit p may vanish; a step of zero keeps x. */
        cg->alpha = sum > 0 ? cg->rz / sum : 0;
        trace[NEK_TRACE_ALPHA] = cg->alpha;
    } else {
        cg->done++;
        nek_form_norm(a, trace + NEK_TRACED, sum);
    }
}

/* Adds sum over the grid, whose threads all call it; the last block forms the scalars, or leaves the
 * sum of this rank. Not inlined, so that it takes no registers from the loop before it. */
template <class T>
static __device__ __noinline__ void nek_end_sum(const nek_pcg_t<T> &a, nek_stage stage, double mine)
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

/* Returns the scalars before rz, for all threads of a kernel at its start: every warp of the GPU asks for
 * this one line of L2, so in few loads. */
static __device__ __forceinline__ nek_cg_t nek_read_cg(const nek_cg_t *cg)
{
    nek_cg_t scalars;
    uint4 words[offsetof(nek_cg_t, rz) / sizeof(uint4)];
#pragma unroll
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        words[w] = __ldcg(reinterpret_cast<const uint4 *>(cg) + w);
    memcpy(&scalars, words, sizeof words);
    return scalars;
}

/* --- points --- */

/* Returns the point of this thread. */
static __device__ __forceinline__ int64_t nek_point()
{
    return blockIdx.x * static_cast<int64_t>(NEK_POINT_THREADS) + threadIdx.x;
}

/* Launches a kernel with a thread for each point; the kernel's first argument is their number. */
template <class Kernel, class... Arguments>
static void each_point(int64_t count, Kernel *kernel, const Arguments &...arguments)
{
    rt_launch(false, kernel, rt_blocks(static_cast<size_t>(count), NEK_POINT_THREADS),
              NEK_POINT_THREADS, 0, count, arguments...);
}

/* sum = the sum of this rank's boxes, at the points of the list; NULL: at all. */
template <class Value>
__global__ void __launch_bounds__(NEK_POINT_THREADS)
    nek_collect_points(int64_t count, const nek_grid_t grid, nek_box_t kind, const Value *boxes,
                       const int *list, Value *sum)
{
    const int64_t q = nek_point(), at = q < count && list ? list[q] : q;
    if (q < count)
        sum[at] = nek_collect(&grid, kind, boxes, at);
}

/* --- what solve_cg.cu and solve_cuda.cu give each other --- */

/* Returns the blocks that solve the patches of a level: one entry of nek_level_view_t's energy
 * each. */
int nek_patch_blocks(const nek_view_t *view, const nek_level_view_t *level);
/* Members of nek_preconditioner_t, nek_precond_ops_t and nek_kernels_t, by what vectors are in; cg is
 * the whole solve. */
template <class T> struct nek_pcg {
    static void set_up(nek_solver_t *s);
    static void tear_down(nek_solver_t *s);
    static void memory(const nek_config_t *config, rt_space_t space, double bytes[RT_SPACES]);
    static void top(nek_solver_t *s, const float *boxes, const nek_level_view_t *next,
                    const float *from, float *x);
    static void cg(nek_solver_t *s);
};
/* Returns the table of the rung with such vectors. */
template <class T> nek_kernels_t nek_solve_table(const char *precision);

#endif
