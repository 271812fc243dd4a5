/*
 * solve_cg.cu - preconditioned conjugate gradients in three passes over the mesh, without the host.
 *
 * Idea: as in `fused`, lines of the iteration that touch the same arrays are one kernel, and every
 * sum is formed where its terms are. p.v needs no assembly, so alpha is known before copies are
 * added. Then the sum of copies is needed once, for r, and is never stored. Nor is z: schwarz is a
 * sum over levels, so r.z is the sum of their r' F r, each known where its boxes are made, and beta
 * is known before z. The last column is bytes per stored point at degree 9, where the grid has 0.78
 * points for each.
 *
 *     element   x += alpha p (of the iteration before),  z = sum of boxes + J z of the next level,
 *               p = z + beta p,  v = D^T G D p + lambda p on the element,  p.v
 *                                                   read x p, 6 factors, boxes; write x p v   95
 *     update    r -= alpha Q^T v;  r.r;  r in FP32; J' r in boxes of the next level
 *                                                   read v r; write r, r32                   25
 *     patches   boxes = S (S' r32 / eigenvalues);  their part of r.z
 *                                                   read r32, S; write boxes (solve_cuda.cu)   12
 *
 * A pass with a sum has as many blocks as are resident, which take one element after another: each block
 * ends once, with one sum.
 *
 * The lower levels run beside the patches on the second stream. An iteration is one CUDA graph; the
 * host starts one while the one before it is under way, and waits only near the end.
 *
 * Advantage: 132 bytes per point instead of 270, with vectors in FP32 (solve-mixed) 73, and no time
 * between kernels.
 *
 * Price: an iteration whose kernels find that the solve has ended may be started in vain. r.z has the
 * rounding of FP32, which changes alpha and beta in the eighth digit; r and x still belong together.
 */
#include "config.h"
#include <cmath>
#include <vector>
#include "machine/replay.h"
#include "machine/streams.h"
#include "solve_passes.cuh"

/* --- the solve --- */

template <class T> struct data_t {
    nek_pcg_t<T> pcg;
    nek_launch_t launch;
    rt_replay_t replay;
    T *factors;      /* in FP32, the rung's own */
    bool on_stream;  /* an iteration needs no host */
    const int *near; /* [near_count] points of the grid near other ranks */
    int near_count;
};

template <class T> static data_t<T> *data_of(const nek_solver_t *s)
{
    return static_cast<data_t<T> *>(s->data);
}

template <class F> static void with_n(const nek_solver_t *s, F f)
{
    nek_fixed_n<NEK_FIXED_N>(s->view.n, f);
}

/* Launches as many blocks as can be resident; each takes one element after another. */
template <class Kernel, class... Arguments>
static void launch_resident(const nek_launch_t &launch, bool chained, Kernel *kernel, size_t bytes,
                            const Arguments &...arguments)
{
    rt_launch(chained, kernel, nek_resident_blocks(launch, kernel, bytes), launch.threads, bytes,
              arguments...);
}

/* Forms the scalars on the host's behalf, where the kernel could not. */
template <class T> static void settle(const nek_solver_t *s, nek_stage stage)
{
    const data_t<T> *d = data_of<T>(s);
    double sum;
    if (d->pcg.forms)
        return;
    rt_copy(&sum, RT_HOST, &d->pcg.cg->sum, s->space, sizeof sum);
    rt_comm_sum(&sum, 1);
    rt_launch(false, pcg_form<T>, 1, 1, 0, d->pcg, stage, sum);
}

template <class T, bool anew, class V>
static void update(nek_solver_t *s, nek_stage stage, const double *from, const V *v)
{
    const data_t<T> *d = data_of<T>(s);
    const auto *p = static_cast<const nek_single_t *>(s->precond);
    const int n2 = d->pcg.grid.n * d->pcg.grid.n;
    const nek_level_view_t *next = p->count > 1 ? &p->level[1].view : nullptr; /* restricts to it */
    const size_t bytes =
        next ? sizeof(float) * static_cast<size_t>(2 * next->grid.n * n2 * d->pcg.per_block) : 0;
    rt_timer_start("update", s->rung->kind);
    with_n(s, [&](auto n) {
        launch_resident(d->launch, !anew && !d->pcg.shared, pcg_update<n(), T, anew, V>, bytes,
                        d->pcg, stage, from, v, next ? next->J : nullptr, p->low);
    });
    settle<T>(s, stage);
    rt_timer_stop("update");
}

/* sum = the sum of boxes on all ranks, at the points of the grid near other ranks. */
template <class T, class Value>
static void sum_near(const nek_solver_t *s, nek_box_t kind, const Value *boxes, Value *sum)
{
    const data_t<T> *d = data_of<T>(s);
    const auto *p = static_cast<const nek_single_t *>(s->precond);
    const rt_field_t field = {sum, nek_is_single<Value> ? RT_F32 : RT_F64, 1, 1, 0};
    each_point(d->near_count, nek_collect_points<Value>, d->pcg.grid, kind, boxes, d->near, sum);
    rt_halo_do(p->level[0].halo, RT_HALO_SUM, &field);
}

template <class T>
void nek_pcg<T>::top(nek_solver_t *s, const float *boxes, const nek_level_view_t *next,
                     const float *from, float *x)
{
    data_t<T> *d = data_of<T>(s);
    const auto *p = static_cast<const nek_single_t *>(s->precond);
    const nek_single_level_t &last = p->level[p->count - 1];
    d->pcg.top = {};
    rt_side_join();
    if (boxes)
        d->pcg.top = {boxes, next->J, from, next->grid};
    if (boxes && d->pcg.shared)
        sum_near<T>(s, NEK_PATCH, boxes, x);
    rt_launch(false, pcg_add_levels<T>, 1, 1024, 0, d->pcg, last.r, last.x,
              rt_comm_rank() == 0 ? static_cast<int>(last.view.grid.nodes) : 0);
    settle<T>(s, NEK_PRECONDITIONED);
}

/* v = A p before copies are added, and p.v. */
template <class T> static void element(nek_solver_t *s)
{
    const data_t<T> *d = data_of<T>(s);
    rt_timer_start("element", s->rung->kind);
    with_n(s, [&](auto N) {
        constexpr int n = N();
        const auto D = nek_halve<n, T>(s->view.D_host);
        const size_t bytes =
            nek_line_bytes<n, T>(d->launch.per_block, nek_factors_ahead<n, T>::shared, 0);
        launch_resident(d->launch, true, pcg_element<n, T>, bytes, D, d->pcg);
    });
    settle<T>(s, NEK_APPLIED);
    rt_timer_stop("element");
}

/* Adds the copies of v near other ranks, for the update that follows. */
template <class T, class V> static void exchange(const nek_solver_t *s, const V *v)
{
    const data_t<T> *d = data_of<T>(s);
    if (!d->pcg.shared)
        return;
    rt_timer_start("exchange", s->rung->kind);
    sum_near<T>(s, NEK_OWN_BOX, v, static_cast<V *>(d->pcg.shared));
    rt_timer_stop("exchange");
}

template <class T> static void iterate(void *work)
{
    auto *s = static_cast<nek_solver_t *>(work);
    const T *v = data_of<T>(s)->pcg.v;
    rt_timer_start("precondition", s->rung->kind);
    nek_single_levels(s);
    rt_timer_stop("precondition");
    element<T>(s);
    exchange<T>(s, v);
    update<T, false>(s, NEK_UPDATED, nullptr, v);
}

/* Waits until that many iterations have been done; returns whether the solve had ended, or rested, by
 * then, which is the same on all ranks. What kernels write is read while the stream is at work. Asking
 * the stream finds a GPU that is lost. */
template <class T> static bool has_stopped(const nek_pcg_t<T> &a, int64_t iterations)
{
    const volatile int64_t *progress = a.progress;
    cudaError_t status = cudaErrorNotReady;
    for (;;) {
        const int64_t now = *progress, done = now / NEK_PROGRESS;
        if (now % NEK_PROGRESS != NEK_GOES_ON)
            return done <= iterations;
        if (done >= iterations)
            return false;
        if (status != cudaErrorNotReady)
            RT_CUDA(status);
        RT_EXPECT(status == cudaErrorNotReady, RT_ENVIRONMENT,
                  "the GPU has reported %lld of %lld iterations", static_cast<long long>(done),
                  static_cast<long long>(iterations));
        status = cudaStreamQuery(rt_stream());
    }
}

/* Returns whether |r| is likely to reach `limit` of the first soon after k iterations, which have been
 * done: at the rate at which it has fallen, within two or three more. */
static bool is_near(const volatile double *trace, double limit, int k)
{
    const double spare = 10; /* the last iterations may be faster */
    const double first = trace[NEK_TRACE_NORM], norm = trace[NEK_TRACED * k + NEK_TRACE_NORM];
    const double rate = k > 0 ? pow(norm / first, 1.0 / k) : 1;
    return norm * rate * rate <= spare * limit * first;
}

/* Iterates from iteration `from` on until the solve ends, or rests, which it does at `limit`. Returns
 * whether it rests. */
template <class T> static bool run_on(nek_solver_t *s, int from, double limit)
{
    data_t<T> *d = data_of<T>(s);
    const bool replays = d->on_stream && !rt_timer_enabled();
    int k = from;
    for (; k < s->iterations; k++) {
        /* One iteration is under way while the next is started, so the GPU does not wait for the
         * host. Near the end the host waits, so that none is started in vain. */
        if (replays && k > from && has_stopped(d->pcg, k - 1))
            break;
        if ((!replays || k == from || is_near(d->pcg.trace, limit, k - 1)) &&
            has_stopped(d->pcg, k))
            break;
        if (replays)
            rt_replay(&d->replay, 0, iterate<T>, s);
        else
            iterate<T>(s);
    }
    return k < s->iterations && *d->pcg.progress % NEK_PROGRESS == NEK_RESTS;
}

/* Adds x to the solve's, and if it ends makes its r. */
template <class T> static void finish(const nek_solver_t *s, bool ends)
{
    const data_t<T> *d = data_of<T>(s);
    with_n(s, [&](auto n) {
        rt_launch(false, pcg_finish<n(), T>, d->launch.blocks, d->launch.threads, 0, d->pcg, ends);
    });
}

/* Makes r = b - A x in FP64. Returns the iterations so far. */
template <class T> static int replace_residual(nek_solver_t *s)
{
    const data_t<T> *d = data_of<T>(s);
    const int64_t done = *d->pcg.progress / NEK_PROGRESS;
    rt_timer_start("replace", s->rung->kind);
    finish<T>(s, false);
    s->kernels->ax(&s->view, s->x, s->w);
    rt_timer_stop("replace");
    *d->pcg.progress = NEK_PROGRESS * done + NEK_GOES_ON; /* while it rests no kernel writes it */
    exchange<T>(s, s->w);
    update<T, true>(s, NEK_REPLACED, s->b, s->w);
    return static_cast<int>(done);
}

template <class T> void nek_pcg<T>::cg(nek_solver_t *s)
{
    if (!s->precond) {
        nek_solve_by_lines(s);
        return;
    }
    nek_pcg_t<T> &a = data_of<T>(s)->pcg;
    const double *none = nullptr;
    double level = nek_is_single<T> ? nek_next_level(1, s->tolerance) : 0;
    a.lambda = s->lambda;
    a.tolerance = s->tolerance; /* which only the start of a solve reads, not the record */
    *a.progress = 0;
    update<T, true>(s, NEK_MEASURED, s->b, none);
    update<T, true>(s, NEK_TAKEN, s->b, none);
    for (int k = 0; run_on<T>(s, k, fmax(level, s->tolerance));) {
        k = replace_residual<T>(s);
        level = nek_next_level(level, s->tolerance);
    }
    finish<T>(s, true);
    RT_CUDA(cudaStreamSynchronize(rt_stream())); /* the last iteration may still be under way */
    s->done = static_cast<int>(*a.progress / NEK_PROGRESS);
    for (int k = 0; k <= s->done; k++) {
        const double *of = a.trace + NEK_TRACED * k;
        s->history[k] = of[NEK_TRACE_NORM];
        if (k < s->done) {
            s->alpha[k] = of[NEK_TRACE_ALPHA];
            s->beta[k] = of[NEK_TRACE_BETA];
        }
    }
}

/* --- set-up --- */

/* Returns the points of the grid near other ranks, on the device. */
static const int *near_points(const nek_solver_t *s, const nek_grid_t *grid, int *count)
{
    const nek_config_t *config = s->problem->config;
    rt_halo_list_t list = {};
    while (rt_halo_list_again(&list))
        nek_grid_list(config, grid, &list);
    const std::vector<int> index(list.index, list.index + list.n);
    rt_halo_list_destroy(&list);
    *count = static_cast<int>(index.size());
    return static_cast<const int *>(rt_clone(index.data(), index.size(), sizeof(int), s->space));
}

/* Returns whether all halos of the preconditioner only put work on the stream. */
static bool all_on_stream(const nek_single_t *p)
{
    for (int l = 0; l < p->count; l++)
        if (p->level[l].halo && !rt_halo_on_stream(p->level[l].halo))
            return false;
    return true;
}

/* Points to CG's vectors and factors: the solver's, or in FP32 two vectors in one of the solver's. */
template <class T> static void set_vectors(const nek_solver_t *s, data_t<T> *d)
{
    nek_pcg_t<T> &a = d->pcg;
    a.x_end = s->x;
    a.r = s->r;
    if constexpr (nek_is_single<T>) {
        a.p = reinterpret_cast<T *>(s->p);
        a.x = a.p + s->view.points;
        a.v = reinterpret_cast<T *>(s->r);
        a.G = d->factors = RT_NEW(T, 6 * static_cast<size_t>(s->view.points), s->space);
        each_point(6 * s->view.points, pcg_round, s->view.G, d->factors);
    } else {
        a.p = s->p;
        a.x = s->x;
        a.v = s->w;
        a.G = s->view.G;
    }
}

template <class T> void nek_pcg<T>::set_up(nek_solver_t *s)
{
    nek_single_set_up(s);
    const nek_config_t *config = s->problem->config;
    auto *p = static_cast<nek_single_t *>(s->precond);
    auto *d = new data_t<T>();
    nek_pcg_t<T> &a = d->pcg;
    s->data = d;
    set_vectors(s, d);
    nek_view_t automatic = s->view;
    automatic.choice = nullptr;
    d->launch = nek_make_launch(&automatic, false, NEK_CACHED);
    a.r32 = p->level[0].r;
    a.z = p->level[0].x;
    a.grid = p->level[0].view.grid;
    a.elements = static_cast<int>(s->view.elements);
    a.per_block = d->launch.per_block;
    for (int side = 0; side < 6; side++) {
        const int dim = side / 2;
        a.outside[side] = side % 2 == 0
                              ? config->first[dim] == 0
                              : config->first[dim] + config->local[dim] == config->elements[dim];
    }
    a.points = static_cast<double>(s->view.points) * rt_comm_size();
    a.most_iterations = s->iterations;
    a.tolerance = s->tolerance;
    const size_t traced = NEK_TRACED * (static_cast<size_t>(s->iterations) + 1);
    a.trace = RT_NEW(double, traced, RT_PINNED);
    rt_fill(a.trace, RT_PINNED, 0, traced * sizeof *a.trace); /* the last has no alpha and beta */
    a.progress = RT_NEW(int64_t, 1, RT_PINNED);
    a.partial = RT_NEW(double, d->launch.blocks, s->space);
    if (p->count > 1) {
        for (int l = 0; l < p->count - 1; l++)
            a.energies += nek_patch_blocks(&s->view, &p->level[l].view);
        double *of = a.energy = RT_NEW(double, static_cast<size_t>(a.energies), s->space);
        for (int l = 0; l < p->count - 1; of += nek_patch_blocks(&s->view, &p->level[l++].view))
            p->level[l].view.energy = of;
    }
    a.cg = RT_NEW(nek_cg_t, 1, s->space);
    rt_fill(a.cg, s->space, 0, sizeof *a.cg);
    d->on_stream = all_on_stream(p);
    a.allreduce = d->on_stream && rt_comm_size() > 1 ? rt_device_allreduce_get() : nullptr;
    a.forms = rt_comm_size() == 1 || a.allreduce;
    d->on_stream = d->on_stream && a.forms;
    if (p->level[0].halo) {
        const size_t nodes = static_cast<size_t>(a.grid.nodes);
        a.shared = RT_NEW(double, nodes, s->space);
        rt_fill(a.shared, s->space, 0, nodes * sizeof(double));
        d->near = near_points(s, &a.grid, &d->near_count);
    }
}

template <class T> void nek_pcg<T>::tear_down(nek_solver_t *s)
{
    data_t<T> *d = data_of<T>(s);
    rt_replay_drop(&d->replay);
    RT_FREE_ALL(RT_PINNED, d->pcg.progress, d->pcg.trace);
    RT_FREE_ALL(s->space, d->pcg.partial, d->pcg.energy, d->pcg.cg, d->pcg.shared, d->near,
                d->factors);
    delete d;
    nek_single_tear_down(s);
}

template <class T>
void nek_pcg<T>::memory(const nek_config_t *config, rt_space_t space, double bytes[RT_SPACES])
{
    const nek_grid_t g = nek_grid_of(config, static_cast<int>(config->degree));
    bytes[RT_PINNED] +=
        sizeof(double) * NEK_TRACED * static_cast<double>(config->max_iterations + 1);
    bytes[space] += sizeof(double) * static_cast<double>(config->local_elements) *
                    (1.0 / nek_elements_a_block(config->n) + double{NEK_MOST_LEVELS - 1});
    if (rt_comm_size() > 1)
        bytes[space] += sizeof(double) * static_cast<double>(g.nodes) +
                        sizeof(int) * static_cast<double>(nek_grid_shared(config, &g));
    if (nek_is_single<T>)
        bytes[space] += 6 * sizeof(T) * static_cast<double>(config->points);
}

template struct nek_pcg<double>;
template struct nek_pcg<float>;
