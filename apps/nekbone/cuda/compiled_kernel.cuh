/*
 * compiled_kernel.cuh - the kernel that `compiled` gives to NVRTC when the problem is known.
 *
 * No file includes this for its kernel: make turns the text into a string, and compiled.cu gives it
 * to NVRTC with these macros defined, all of them numbers:
 *
 *   NEK_KNOWN       1: NEK_N points per direction, NEK_ELEMENTS elements; 0: both are arguments
 *   NEK_PER_BLOCK   elements per block; NEK_THREADS: threads of them all, n x n each
 *   NEK_BLOCKS      blocks that a multiprocessor must hold: the compiler's limit of registers
 *   NEK_LINES       0: columns, layer by layer, as in `layered`; 1: whole lines, as in `packed`
 *   NEK_UNROLL      layers that are unrolled at a time
 *   NEK_COLUMN      0: a thread's columns of u and w are in shared memory; 1: in registers
 *   NEK_ROWS        the same for row i and column i of D, which only threads with this i need
 *   NEK_MATRIX      0: D(k, l), equal for all threads, is in shared memory; 1: an argument
 *   NEK_FACTORS     how the factors are read; NEK_VECTORS: how the vectors are; values below
 *   NEK_PREFETCH    1: factors of the next layer are fetched while this layer is worked on
 *
 * A column in registers needs NEK_KNOWN and all layers unrolled: registers have no index.
 */
#ifndef __CUDACC_RTC__
/* For the host: returns the doubles of shared memory per block, as the kernels below divide
 * them. */
static inline size_t nek_compiled_doubles(size_t n, size_t per_block, bool lines, bool column,
                                          bool matrix)
{
    const size_t even = n + n % 2, odd = n | 1;
    if (lines)
        return (matrix ? 0 : n * n) + per_block * 2 * n * n * odd;
    return 2 * n * even + per_block * ((column ? 3 : 2 + 2 * n) * n * even);
}
#else

/* Like all other data; evict-first; through the path of constant data. */
enum { CACHED, STREAMED, READ_ONLY };

/* The sizes are constants, from which the compiler derives strides, trip counts and whether a block
 * can be incomplete; or they are two more arguments. */
#if NEK_KNOWN
constexpr int n = NEK_N, elements = NEK_ELEMENTS, most_n = n;
#define NEK_SIZES
#else
constexpr int most_n = 24;
#define NEK_SIZES , int n, int elements
#endif

/* D by value: arguments are in the constant bank, from which an instruction can take an operand. */
struct nek_matrix {
    double at[most_n * most_n];
};

template <int how> __device__ __forceinline__ double load(const double *from)
{
    return how == STREAMED ? __ldcs(from) : how == READ_ONLY ? __ldg(from) : *from;
}

__device__ __forceinline__ void store(double *to, double value)
{
    if (NEK_VECTORS == STREAMED)
        __stcs(to, value);
    else
        *to = value;
}

/* Loads the six factors of one point, which are n3 apart. */
__device__ __forceinline__ void load_factors(const double *G, int n3, double (&g)[6])
{
#pragma unroll
    for (int m = 0; m < 6; m++)
        g[m] = load<NEK_FACTORS>(G + m * n3);
}

#if !NEK_LINES
/* Makes `line` a line of n values that starts at an even position: in registers, read 16 bytes at a
 * time; or, where registers have no index, left in place. */
#if NEK_KNOWN
__device__ __forceinline__ void load_line(const double *from, double (&line)[n])
{
#pragma unroll
    for (int l = 0; l + 1 < n; l += 2) {
        const double2 two = *reinterpret_cast<const double2 *>(from + l);
        line[l] = two.x;
        line[l + 1] = two.y;
    }
    if (n % 2)
        line[n - 1] = from[n - 1];
}
#define LINE(line, from) \
    double line[n];      \
    load_line(from, line)
#else
#define LINE(line, from) const double *line = from
#endif

/* Columns: a thread has column (i, j) and climbs; all threads of the block are at the same layer k
 * (layered.cu). */
extern "C" __global__ void __launch_bounds__(NEK_THREADS, NEK_BLOCKS)
    nek_element(const __grid_constant__ nek_matrix Dk, const double *D, const double *G,
                const double *u, double *w NEK_SIZES)
{
    extern __shared__ __align__(16) double memory[];
    const int n2 = n * n, n3 = n2 * n, pitch = n + n % 2, plane = n * pitch;
    const int slot = threadIdx.x / n2, t = threadIdx.x % n2, i = t % n, j = t / n;
    const int at = j * pitch + i;
    double *sD = memory, *sDt = sD + plane;
    double *sr = sDt + plane + slot * (NEK_COLUMN ? 3 : 2 + 2 * n) * plane, *ss = sr + plane;
    double *su = ss + plane; /* one layer of u; or all layers, followed by w */
    const int wanted = blockIdx.x * NEK_PER_BLOCK + slot;
    const bool active = wanted < elements; /* the last block may have fewer */
    const size_t e = active ? wanted : elements - 1;
    u += e * n3 + t;
    w += e * n3 + t;
    G += e * 6 * n3 + t;

    double g[6], next[6];
    if (NEK_PREFETCH)
        load_factors(G, n3, next);
#if NEK_COLUMN
    double ru[n], rw[n];
#define U(k) ru[k]
#define W(k) rw[k]
#else
    double *sw = su + n * plane;
#define U(k) su[(k)*plane + at]
#define W(k) sw[(k)*plane + at]
#endif
#pragma unroll NEK_UNROLL
    for (int k = 0; k < n; k++) {
        U(k) = load<NEK_VECTORS>(u + k * n2);
        W(k) = 0;
    }
    for (int q = threadIdx.x; q < n2; q += NEK_PER_BLOCK * n2) {
        const int row = q / n, l = q % n;
        sD[row * pitch + l] = sDt[l * pitch + row] = D[q];
    }
#if NEK_ROWS
    double Di[n], Dti[n]; /* D(i, l) and D(l, i) */
    __syncthreads();      /* sD and sDt are complete */
#pragma unroll
    for (int l = 0; l < n; l++) {
        Di[l] = sDt[l * pitch + i];
        Dti[l] = sD[l * pitch + i];
    }
#define ROW(l)    Di[l]
#define ROW_OF(l) Dti[l]
#else
#define ROW(l)    sDt[(l)*pitch + i]
#define ROW_OF(l) sD[(l)*pitch + i]
#endif

#pragma unroll NEK_UNROLL
    for (int k = 0; k < n; k++) {
        const double *layer = NEK_COLUMN ? su : su + k * plane;
        if (NEK_COLUMN)
            su[at] = U(k);
        if (NEK_PREFETCH) {
#pragma unroll
            for (int m = 0; m < 6; m++)
                g[m] = next[m];
            if (k + 1 < n)
                load_factors(G + (k + 1) * n2, n3, next);
        }
        __syncthreads(); /* the layer (and, at k = 0, D) is there, and all have read sr and ss of
                          * the layer before */
        if (!NEK_PREFETCH)
            load_factors(G + k * n2, n3, g);
        double wr = 0, ws = 0, wt = 0;
        LINE(uj, layer + j * pitch);
        LINE(Dj, sD + j * pitch);
#pragma unroll
        for (int l = 0; l < n; l++) {
            wr += ROW(l) * uj[l];
            ws += Dj[l] * layer[l * pitch + i];
            wt += (NEK_MATRIX ? Dk.at[k * n + l] : sD[k * pitch + l]) * U(l);
        }
        sr[at] = g[0] * wr + g[1] * ws + g[2] * wt;
        ss[at] = g[1] * wr + g[3] * ws + g[4] * wt;
        const double ut = g[2] * wr + g[4] * ws + g[5] * wt;
        __syncthreads(); /* sr and ss are there, and all have read this layer of u, which the next
                          * one overwrites */
        double sum = 0;
        LINE(rj, sr + j * pitch);
        LINE(Dtj, sDt + j * pitch);
#pragma unroll
        for (int l = 0; l < n; l++) {
            sum += ROW_OF(l) * rj[l];
            sum += Dtj[l] * ss[l * pitch + i];
            W(l) += (NEK_MATRIX ? Dk.at[k * n + l] : sD[k * pitch + l]) * ut;
        }
        W(k) += sum;
    }
#pragma unroll NEK_UNROLL
    for (int k = 0; k < n; k++)
        if (active)
            store(w + k * n2, W(k));
}

#else
/* out = D in, or D^T in if transposed. */
template <bool transposed, class Matrix>
__device__ __forceinline__ void product(Matrix matrix, const double (&in)[n], double (&out)[n])
{
#pragma unroll
    for (int a = 0; a < n; a++) {
        double sum = 0;
#pragma unroll
        for (int l = 0; l < n; l++)
            sum += (transposed ? matrix(l, a) : matrix(a, l)) * in[l];
        out[a] = sum;
    }
}

__device__ __forceinline__ void get(const double *from, int stride, double (&line)[n])
{
#pragma unroll
    for (int l = 0; l < n; l++)
        line[l] = from[l * stride];
}

__device__ __forceinline__ void put(double *to, int stride, const double (&line)[n])
{
#pragma unroll
    for (int l = 0; l < n; l++)
        to[l * stride] = line[l];
}

/* Lines: a thread has column (i, j), then the line along j of (i = a, k = b), then the line along i
 * of (j = a, k = b). Each is read once and multiplied in registers. A holds u, then the terms along
 * i; B those along j. Lines along i start an odd pitch apart, so that neighbours are in different
 * banks. */
extern "C" __global__ void __launch_bounds__(NEK_THREADS, NEK_BLOCKS)
    nek_element(const __grid_constant__ nek_matrix Dk, const double *D, const double *G,
                const double *u, double *w)
{
    extern __shared__ __align__(16) double memory[];
    constexpr int n2 = n * n, n3 = n2 * n, pitch = n | 1, plane = n * pitch;
    const int slot = threadIdx.x / n2, t = threadIdx.x % n2, a = t % n, b = t / n;
    double *sD = memory, *A = sD + (NEK_MATRIX ? 0 : n2) + slot * 2 * n * plane, *B = A + n * plane;
    double *Ac = A + b * pitch + a, *Bc = B + b * pitch + a; /* column (i = a, j = b) */
    double *Aj = A + b * plane + a, *Bj = B + b * plane + a; /* along j, (i = a, k = b) */
    double *Ai = A + b * plane + a * pitch;                  /* along i, (j = a, k = b) */
    const int wanted = blockIdx.x * NEK_PER_BLOCK + slot;
    const bool active = wanted < elements;
    const size_t e = active ? wanted : elements - 1;
    u += e * n3 + t;
    w += e * n3 + t;
    G += e * 6 * n3 + t;
    const auto matrix = [&](int k, int l) { return NEK_MATRIX ? Dk.at[k * n + l] : sD[k * n + l]; };

    double g[6], next[6], column[n], line[n], result[n];
    if (NEK_PREFETCH)
        load_factors(G, n3, next);
#pragma unroll
    for (int k = 0; k < n; k++)
        column[k] = load<NEK_VECTORS>(u + k * n2);
    put(Ac, plane, column);
    for (int q = threadIdx.x; !NEK_MATRIX && q < n2; q += NEK_PER_BLOCK * n2)
        sD[q] = D[q];
    __syncthreads(); /* u and D are there */
    get(Aj, pitch, line);
    product<false>(matrix, line, result);
    put(Bj, pitch, result);
    get(Ai, 1, line);
    product<false>(matrix, line, result);
    __syncthreads(); /* all have read u from A */
    put(Ai, 1, result);
    product<false>(matrix, column, result);
    __syncthreads(); /* the derivatives along i and j are there */
#pragma unroll
    for (int k = 0; k < n; k++) {
        if (NEK_PREFETCH) {
#pragma unroll
            for (int m = 0; m < 6; m++)
                g[m] = next[m];
            if (k + 1 < n)
                load_factors(G + (k + 1) * n2, n3, next);
        } else {
            load_factors(G + k * n2, n3, g);
        }
        const double wr = Ac[k * plane], ws = Bc[k * plane], wt = result[k];
        Ac[k * plane] = g[0] * wr + g[1] * ws + g[2] * wt;
        Bc[k * plane] = g[1] * wr + g[3] * ws + g[4] * wt;
        column[k] = g[2] * wr + g[4] * ws + g[5] * wt;
    }
    __syncthreads(); /* A and B hold D u times G */
    get(Bj, pitch, line);
    product<true>(matrix, line, result);
    put(Bj, pitch, result);
    get(Ai, 1, line);
    product<true>(matrix, line, result);
    put(Ai, 1, result);
    product<true>(matrix, column, result);
    __syncthreads(); /* the terms along i and j are there */
#pragma unroll
    for (int k = 0; k < n; k++)
        if (active)
            store(w + k * n2, Ac[k * plane] + Bc[k * plane] + result[k]);
}
#endif
#endif
