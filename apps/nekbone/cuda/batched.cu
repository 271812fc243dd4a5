/*
 * batched.cu - the operator as small matrix products, each a kernel over the whole mesh.
 *
 * Idea (CRESTA D3.5.2, sections 3.3 and 6): `vector` on a GPU. A derivative is the product of the
 * small matrix D with every line of points along one direction. One element is too little work for
 * a GPU, but all elements of the mesh at once are enough: three products with D, the factors, three
 * products with D transposed, seven kernels.
 *
 * Advantage: a product knows nothing about elements, so each can be exchanged: a library's batched
 * dgemm does as well. The three products with D are independent and can share the GPU. Threads and
 * elements per block, which the report tuned, are parameters of each product.
 *
 * Price: every kernel reads and writes arrays of the whole mesh. The operator moves 208 bytes per
 * point, where a kernel that keeps an element on chip moves 64.
 */
#include "config.h"
#include <cstddef>
#include <cstdlib>
#include "nek_cuda.cuh"
#include "machine/cublas.h"

/* Lines along i, j and k have strides 1, n and n^2. */
enum direction { ALONG_I, ALONG_J, ALONG_K };
enum version { LINES, LOOPS, DGEMM };

static const char *const versions[] = {"lines", "loops", "dgemm", nullptr};
static const char *const threads[] = {"auto", "64", "128", "256", "512", nullptr};
static const char *const elements[] = {"auto", "1", "2", "4", "8", nullptr};
static const char *const streams[] = {"1", "3", nullptr};
/* The first of three, one for each direction. */
enum { THREADS = 3, ELEMENTS = 6, STREAMS = 9, PARAMETERS };
static const rt_parameter_t parameters[PARAMETERS] = {
    {"mxm1", "products along i, [n^2 x n] [n x n]: a thread per line, per value, or cuBLAS",
     versions, 0},
    {"mxm2", "products along j, [n x n] [n x n], n times", versions, 0},
    {"mxm3", "products along k, [n x n] [n x n^2]", versions, 0},
    {"threads1", "threads per block, products along i; auto: 128, with a thread per value 256",
     threads, 0},
    {"threads2", "along j", threads, 0},
    {"threads3", "along k", threads, 0},
    {"elements1", "elements per block, products along i; auto: as its threads have", elements, 0},
    {"elements2", "along j", elements, 0},
    {"elements3", "along k", elements, 0},
    {"streams", "the three products with D one after the other, or at once", streams, 0}};
static const int initial[PARAMETERS] = {0};

/* out = M in on each line, or out += M in: M is D, or D transposed if `transposed`. */
typedef struct {
    direction along;
    bool transposed, add;
    const double *in;
    double *out;
} product_t;

/* The threads of a block, and the lines or values that it takes: one for each thread, or those of so
 * many elements, `per_element` each. */
typedef struct {
    unsigned threads, share;
} block_t;

static block_t block_of(const nek_view_t *view, int along, unsigned usual, int per_element)
{
    const int *choice = view->choice ? view->choice : initial;
    const int by = choice[THREADS + along], of = choice[ELEMENTS + along];
    block_t block = {by == 0 ? usual : static_cast<unsigned>(atoi(threads[by])), 0};
    block.share = of == 0 ? block.threads : static_cast<unsigned>(atoi(elements[of]) * per_element);
    return block;
}

/* ---- loops: a thread per value, one sum after the other, n known only at run time ---- */

enum { LOOPS_THREADS = 256, MOST_THREADS = 512 };

/* M(r, l) is M[r * row + l * column]. */
__global__ void __launch_bounds__(MOST_THREADS)
    loops(unsigned points, unsigned share, int n, int stride, const double *__restrict__ M, int row,
          int column, bool add, const double *__restrict__ in, double *__restrict__ out)
{
    const unsigned first = blockIdx.x * share, end = min(first + share, points);
    for (unsigned q = first + threadIdx.x; q < end; q += blockDim.x) {
        const int r = static_cast<int>(q / stride % n);
        const double *line = in + (static_cast<size_t>(q) - static_cast<size_t>(r) * stride);
        double sum = add ? out[q] : 0;
        for (int l = 0; l < n; l++)
            sum += M[r * row + l * column] * line[l * stride];
        out[q] = sum;
    }
}

static void launch_loops(const nek_view_t *view, const product_t &p, int stride,
                         cudaStream_t stream)
{
    const auto points = static_cast<size_t>(view->points);
    const int n3 = view->n * view->n * view->n;
    const block_t block = block_of(view, p.along, LOOPS_THREADS, n3);
    loops<<<rt_blocks(points, block.share), block.threads, 0, stream>>>(
        static_cast<unsigned>(points), block.share, view->n, stride, view->D,
        p.transposed ? 1 : view->n, p.transposed ? view->n : 1, p.add, p.in, p.out);
    RT_CUDA_LAUNCHED();
}

/* ---- lines: a thread per line of points, in registers; M in the constant bank ---- */

enum { LINES_THREADS = 128 };

template <int n>
__device__ __forceinline__ double row_times(const nek_matrix<n> &M, int r, const double (&line)[n],
                                            double sum)
{
#pragma unroll
    for (int l = 0; l < n; l++)
        sum += M.at[r * n + l] * line[l];
    return sum;
}

/* Lines along j or k: neighbouring threads have neighbouring lines, so what they read together is
 * contiguous. */
template <int n, direction along, bool add, bool usual>
__global__ void __launch_bounds__(usual ? LINES_THREADS : MOST_THREADS)
    lines(const __grid_constant__ nek_matrix<n> M, unsigned count, unsigned share,
          const double *__restrict__ in, double *__restrict__ out)
{
    constexpr unsigned stride = along == ALONG_J ? n : n * n;
    const unsigned first = blockIdx.x * (usual ? LINES_THREADS + 0u : share);
    const unsigned end = usual ? count : min(first + share, count);
    for (unsigned q = first + threadIdx.x; q < end; q += blockDim.x) {
        const size_t base = static_cast<size_t>(q / stride) * (stride * n) + q % stride;
        double line[n];
#pragma unroll
        for (int l = 0; l < n; l++)
            line[l] = in[base + l * stride];
#pragma unroll
        for (int r = 0; r < n; r++)
            out[base + r * stride] = row_times(M, r, line, add ? out[base + r * stride] : 0);
        if (usual)
            break;
    }
}

/* Lines along i: what neighbouring threads need is n values apart, so the lines of a block pass
 * through shared memory. An odd pitch keeps the threads in different banks. */
template <int n, bool usual>
__global__ void __launch_bounds__(usual ? LINES_THREADS : MOST_THREADS)
    lines_along_i(const __grid_constant__ nek_matrix<n> M, unsigned count, unsigned share,
                  const double *__restrict__ in, double *__restrict__ out)
{
    constexpr int pitch = n | 1;
    extern __shared__ double memory[]; /* [threads][pitch] */
    const unsigned width = usual ? LINES_THREADS + 0u : blockDim.x;
    const unsigned begin = blockIdx.x * (usual ? width : share);
    const unsigned end = usual ? count : min(begin + share, count);
    const int t = threadIdx.x;
    double *const own = memory + t * pitch;
    for (unsigned first = begin; first < end; first += width) {
        const int values = n * min(end - first, width);
        const size_t base = static_cast<size_t>(first) * n;
        double line[n];
        if (first > begin)
            __syncthreads(); /* the lines before have been written */
#pragma unroll
        for (int l = 0; l < n; l++)
            if (const int q = l * width + t; q < values)
                memory[q / n * pitch + q % n] = in[base + q];
        __syncthreads(); /* the lines are there */
#pragma unroll
        for (int l = 0; l < n; l++)
            line[l] = own[l];
#pragma unroll
        for (int r = 0; r < n; r++)
            own[r] = row_times(M, r, line, 0);
        __syncthreads(); /* their products are there */
#pragma unroll
        for (int l = 0; l < n; l++)
            if (const int q = l * width + t; q < values)
                out[base + q] = memory[q / n * pitch + q % n];
        if (usual)
            break;
    }
}

/* Returns the bytes of shared memory of a block of lines_along_i. */
static size_t shared_of(int n, unsigned threads_)
{
    return sizeof(double) * threads_ * static_cast<size_t>(n | 1);
}

/* usual: a line per thread, in blocks of LINES_THREADS, which the compiler then knows. */
template <bool usual>
static void launch_lines_by(const nek_view_t *view, const product_t &p, const block_t &block,
                            cudaStream_t stream)
{
    nek_fixed_n<NEK_MAX_N>(view->n, [&](auto N) {
        constexpr int n = N();
        const auto count = static_cast<unsigned>(view->points / n);
        const unsigned blocks = rt_blocks(count, block.share);
        const size_t shared = p.along == ALONG_I ? shared_of(n, block.threads) : 0;
        nek_matrix<n> M;
        for (int r = 0; r < n; r++)
            for (int l = 0; l < n; l++)
                M.at[r * n + l] = view->D_host[p.transposed ? l * n + r : r * n + l];
        const auto launch = [&](auto *kernel) {
            nek_allow_shared(kernel, shared);
            kernel<<<blocks, block.threads, shared, stream>>>(M, count, block.share, p.in, p.out);
        };
        if (p.along == ALONG_I)
            launch(lines_along_i<n, usual>);
        else if (p.along == ALONG_J)
            launch(p.add ? lines<n, ALONG_J, true, usual> : lines<n, ALONG_J, false, usual>);
        else
            launch(p.add ? lines<n, ALONG_K, true, usual> : lines<n, ALONG_K, false, usual>);
    });
    RT_CUDA_LAUNCHED();
}

static void launch_lines(const nek_view_t *view, const product_t &p, cudaStream_t stream)
{
    const block_t block = block_of(view, p.along, LINES_THREADS, view->n * view->n);
    if (block.threads == LINES_THREADS && block.share == LINES_THREADS)
        launch_lines_by<true>(view, p, block, stream);
    else
        launch_lines_by<false>(view, p, block, stream);
}

/* ---- dgemm: cuBLAS ---- */

/* BLAS has columns where we have rows: a field is a matrix [n] x all lines along i, a batch of
 * matrices [n][n] whose columns are the layers' lines, or a batch of [n^2][n]; D becomes its
 * transpose. Along i that is one product for the whole mesh. */
static void launch_dgemm(const nek_view_t *view, const product_t &p, int lane, cudaStream_t stream)
{
    const int n = view->n, m = p.along == ALONG_K ? n * n : n;
    const auto members = static_cast<int>(view->points / (m * n));
    const rt_cublas_matrix_t fields = {p.in, static_cast<long long>(m) * n, false};
    if (p.along == ALONG_I)
        rt_cublas_products(lane, stream, n, static_cast<int>(view->points / n), n, 1,
                           {view->D, 0, !p.transposed}, fields, p.add, p.out);
    else
        rt_cublas_products(lane, stream, m, n, n, members, fields, {view->D, 0, p.transposed},
                           p.add, p.out);
}

/* ---- the operator ---- */

enum { FACTORS_THREADS = 256 };

/* Applies the geometric factors: (ur, us, ut) = G (ur, us, ut). */
__global__ void __launch_bounds__(FACTORS_THREADS)
    factors(unsigned points, int n3, const double *__restrict__ G, double *__restrict__ ur,
            double *__restrict__ us, double *__restrict__ ut)
{
    const unsigned q = blockIdx.x * FACTORS_THREADS + threadIdx.x;
    if (q >= points)
        return;
    G += static_cast<size_t>(q / n3) * 6 * n3 + q % n3;
    const double wr = ur[q], ws = us[q], wt = ut[q];
    const double rs = G[n3], rt = G[2 * n3], st = G[4 * n3];
    ur[q] = G[0] * wr + rs * ws + rt * wt;
    us[q] = rs * wr + G[3 * n3] * ws + st * wt;
    ut[q] = rt * wr + st * ws + G[5 * n3] * wt;
}

static void apply_factors(const nek_view_t *view, double *ur)
{
    const auto points = static_cast<size_t>(view->points);
    const int n3 = view->n * view->n * view->n;
    rt_timer_start("factors", RT_CUDA);
    factors<<<rt_blocks(points, FACTORS_THREADS), FACTORS_THREADS, 0, rt_stream()>>>(
        static_cast<unsigned>(points), n3, view->G, ur, ur + points, ur + 2 * points);
    RT_CUDA_LAUNCHED();
    rt_timer_stop("factors");
}

static void launch(const nek_view_t *view, const product_t &p, int lane, cudaStream_t stream)
{
    const int which = (view->choice ? view->choice : initial)[p.along];
    const int stride = p.along == ALONG_I ? 1 : p.along == ALONG_J ? view->n : view->n * view->n;
    if (which == DGEMM)
        launch_dgemm(view, p, lane, stream);
    else if (which == LOOPS)
        launch_loops(view, p, stride, stream);
    else
        launch_lines(view, p, stream);
}

/* Three products one after the other, each with its own timer. */
static void one_by_one(const nek_view_t *view, const product_t (&products)[3])
{
    for (const product_t &p : products) {
        rt_timer_start(parameters[p.along].name, RT_CUDA);
        launch(view, p, 0, rt_stream());
        rt_timer_stop(parameters[p.along].name);
    }
}

/* Three products that do not need each other, on three streams: they begin after what is in the
 * main stream, and what comes later there waits for them. */
static void at_once(const nek_view_t *view, const product_t (&products)[3])
{
    static cudaStream_t side[3]; /* [0] is not used: the main stream */
    static cudaEvent_t forked, joined[3];
    if (!forked) {
        RT_CUDA(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
        for (int i = 1; i < 3; i++) {
            RT_CUDA(cudaStreamCreateWithFlags(&side[i], cudaStreamNonBlocking));
            RT_CUDA(cudaEventCreateWithFlags(&joined[i], cudaEventDisableTiming));
        }
    }
    rt_timer_start("mxm", RT_CUDA);
    RT_CUDA(cudaEventRecord(forked, rt_stream()));
    for (int i = 1; i < 3; i++) {
        RT_CUDA(cudaStreamWaitEvent(side[i], forked, 0));
        launch(view, products[i], i, side[i]);
        RT_CUDA(cudaEventRecord(joined[i], side[i]));
    }
    launch(view, products[0], 0, rt_stream());
    for (int i = 1; i < 3; i++)
        RT_CUDA(cudaStreamWaitEvent(rt_stream(), joined[i], 0));
    rt_timer_stop("mxm");
}

static void batched_ax(const nek_view_t *view, const double *u, double *w)
{
    double *ur = view->scratch, *us = ur + view->points, *ut = us + view->points;
    const product_t derivatives[3] = {{ALONG_I, false, false, u, ur},
                                      {ALONG_J, false, false, u, us},
                                      {ALONG_K, false, false, u, ut}},
                    transposed[3] = {{ALONG_I, true, false, ur, w},
                                     {ALONG_J, true, true, us, w},
                                     {ALONG_K, true, true, ut, w}};
    if (view->choice && view->choice[STREAMS] == 1)
        at_once(view, derivatives);
    else
        one_by_one(view, derivatives);
    apply_factors(view, ur);
    one_by_one(view, transposed); /* all add to w */
}

static const char *refuse_choice(const void *options, const int *choice)
{
    const int n = static_cast<const nek_config_t *>(options)->n;
    for (int p = 0; p < 3; p++) {
        const int by = choice[THREADS + p];
        if (choice[p] == DGEMM && rt_cublas_why_not())
            return rt_cublas_why_not();
        if (choice[p] == DGEMM && (by || choice[ELEMENTS + p]))
            return "cuBLAS chooses its blocks: threads and elements of that product are auto";
        if (p == ALONG_I && choice[p] == LINES && by &&
            shared_of(n, static_cast<unsigned>(atoi(threads[by]))) > nek_most_shared())
            return "a block cannot have so much shared memory";
    }
    return nullptr;
}

extern "C" const nek_kernels_t nek_batched = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = PARAMETERS,
             .refuse = nek_refuse,
             .refuse_choice = refuse_choice},
    .ax = batched_ax,
    .vector = &nek_vector_cuda,
    .scratch_arrays = 3,
};
