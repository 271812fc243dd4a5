/*
 * nek_line.cuh - the operator of an element by lines, for the rungs from `packed` on.
 *
 * A thread has column (i, j) of the element in registers and multiplies whole lines. First come its
 * column (wt), then line t of those along i, then line t of those along j. The last two come from
 * shared memory, are multiplied in registers, and go back to the same place (line.hpp). So each
 * product reads a value from shared memory once instead of n times. An element takes four barriers,
 * where `layered` has 2 n.
 *
 *   Elements per block. n^2 threads rarely fill warps; several elements together do.
 */
#ifndef NEK_LINE_CUH
#define NEK_LINE_CUH

#include "nek_cuda.cuh"
#include "machine/async.cuh"
#include "line.hpp"

/* Returns the elements per block: 64 to 128 threads with most lanes in use, and the fewest elements
 * of equally good numbers. */
constexpr int nek_elements_a_block(int n)
{
    int best = 1;
    for (int count = 1; count * n * n <= NEK_GOOD_THREADS; count++) {
        const int threads = nek_whole_warps(count * n * n), most = nek_whole_warps(best * n * n);
        if (most < NEK_LEAST_THREADS ||
            (threads <= NEK_GOOD_THREADS && count * most > best * threads))
            best = count;
    }
    return best;
}

/* Returns the blocks of so many threads that the registers of a multiprocessor hold, at `registers`
 * per thread. */
constexpr int nek_blocks_of(int threads, int registers)
{
    const int blocks = NEK_REGISTERS / (threads * registers);
    return blocks > 0 ? blocks : 1;
}

/* The sides of an element that are on the boundary of the box, one bit each: x0 x1 y0 y1 z0 z1. */
typedef uint8_t nek_outside_t;

/* Where a thread works. Idle threads have active = false and the place of another thread. */
template <int n, class T = double> struct nek_place {
    int e, i, j, t;
    int own; /* number of e among the elements of the block */
    bool active;
    T *rows, *planes; /* of this element */

    /* first: element of the block. `memory`: rows, then planes, of `per_block` elements */
    __device__ __forceinline__ nek_place(int first, int elements, int per_block, T *memory)
    {
        using shape = nek_shape<n, T>;
        constexpr bool one = shape::threads > NEK_GOOD_THREADS; /* element per block */
        own = one ? 0 : threadIdx.x / shape::n2;
        e = first + own;
        active = (one ? threadIdx.x < shape::n2 : own < per_block) && e < elements;
        t = threadIdx.x - own * shape::n2;
        if (!active) {
            t = own = 0;
            e = first;
        }
        i = t % n;
        j = t / n;
        rows = memory + own * shape::rows;
        planes = memory + per_block * shape::rows + own * shape::planes;
    }
    __device__ __forceinline__ nek_place(int elements, int per_block, T *memory)
        : nek_place(blockIdx.x * per_block, elements, per_block, memory)
    {
    }
};

/* Applies G at point k of the column; factors.load(k, g) gives rr rs rt ss st tt. */
template <class Factors, class T>
__device__ __forceinline__ void nek_apply(const Factors &factors, int k, T &r, T &s, T &t)
{
    T g[6];
    factors.load(k, g);
    const T wr = r, ws = s;
    r = g[0] * wr + g[1] * ws + g[2] * t;
    s = g[1] * wr + g[3] * ws + g[4] * t;
    t = g[2] * wr + g[4] * ws + g[5] * t;
}

/* Computes w = D^T G D u on the columns of a block's elements. All threads must call it.
 * factors.wait() is called before the first nek_apply(factors, ...), factors.used() after the last
 * of all threads. The shared memory may be used again after a barrier. early: the products along the
 * column are formed while other warps wait for their factors, which takes registers, not while the
 * next turn's are fetched. */
template <int n, bool early = false, class T, class Factors>
__device__ __forceinline__ void nek_line_operator(const nek_halves<n, T> &D,
                                                  const nek_place<n, T> &at, Factors &factors,
                                                  const T (&u)[n], T (&w)[n])
{
    using shape = nek_shape<n, T>;
    T *const row = at.rows + at.t * shape::row;
    T *const plane = at.planes + at.j * shape::plane + at.i;
    T *const r = at.rows + at.j * shape::row + at.i, *const s = at.planes + at.t;
    constexpr int r_step = n * shape::row, s_step = shape::plane;
    constexpr bool early_first = early && n < 14; /* a longer line spills registers */
    T wt[n];
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++)
            r[k * r_step] = s[k * s_step] = u[k];
    }
    __syncthreads(); /* u is there, as rows and as planes */
    if (at.active) {
        nek_row_in_place<0>(D, row);
        nek_column_in_place<0, n>(D, plane);
        if constexpr (early_first)
            nek_line_product<0>(D, u, wt);
    }
    if constexpr (!early_first)
        nek_line_product<0>(D, u, wt);
    __syncthreads(); /* wr and ws are there */
    factors.wait();
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++)
            nek_apply(factors, k, r[k * r_step], s[k * s_step], wt[k]);
        if constexpr (early)
            nek_line_product<1>(D, wt, w);
    }
    __syncthreads(); /* ur and us are there, and all have read the factors */
    factors.used();
    if constexpr (!early)
        nek_line_product<1>(D, wt, w);
    if (at.active) {
        nek_row_in_place<1>(D, row);
        nek_column_in_place<1, n>(D, plane);
    }
    __syncthreads(); /* D^T ur and D^T us are there */
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++)
            w[k] += r[k * r_step] + s[k * s_step];
    }
}

/* --- where the factors come from --- */

/* once: the value is used once, so L2 may evict it first. */
template <bool once, class T> __device__ __forceinline__ T nek_load(const T *p)
{
    if constexpr (once)
        return __ldcs(p);
    else
        return *p;
}

template <bool once, class T> __device__ __forceinline__ void nek_store(T *p, T value)
{
    if constexpr (once)
        __stcs(p, value);
    else
        *p = value;
}

/* How a kernel reads: like all other data (NEK_CACHED); evict-first what an iteration reads once
 * (NEK_STREAMED); the same, and the factors by bulk copies (NEK_BULK). */
enum nek_source { NEK_CACHED, NEK_STREAMED, NEK_BULK };

/* Factors for blocks that work on one set of elements only. */
struct nek_no_turns {
    static constexpr bool takes_turns = false;
    __device__ __forceinline__ void used() const
    {
    }
};

/* Factors that are read where they are used. They are not `const __restrict__`, so they come
 * through L1, and in whole sectors all the same. */
template <int n, nek_source source, class T = double> struct nek_factors : nek_no_turns {
    using from_t = const T *;
    static constexpr bool once = source != NEK_CACHED;
    static constexpr int shared = 0;    /* values per element */
    static constexpr int registers = 0; /* in addition to those of vectors */
    static constexpr bool spares_registers = true;
    const T *G;
    __device__ __forceinline__ nek_factors(from_t all, const nek_place<n, T> &at, int, int, T *)
        : G(all + static_cast<size_t>(at.e) * 6 * nek_shape<n>::n3 + at.t)
    {
    }
    __device__ __forceinline__ void wait() const
    {
    }
    __device__ __forceinline__ void load(int k, T (&g)[6]) const
    {
#pragma unroll
        for (int m = 0; m < 6; m++)
            g[m] = nek_load<once>(G + m * nek_shape<n>::n3 + k * nek_shape<n>::n2);
    }
};

/*
 * Factors that one copy fetches into shared memory for the whole block. The copy is under way while
 * other work is done, and takes no registers: much data is in flight with few blocks. Of the six,
 * `held` are fetched; the others are read where they are used. Blocks of several elements hold all
 * or none, because one copy fetches them.
 *
 * If the block takes elements in turn, the factors of the next turn are fetched as soon as all threads
 * have used the present ones: else the memory would be idle while the rest is computed.
 */
template <int n, int held, bool turns, class T = double> struct nek_held_factors {
    using from_t = const T *;
    using shape = nek_shape<n, T>;
    static constexpr bool once = true, takes_turns = turns, spares_registers = true;
    static constexpr int shared = held * shape::n3, registers = 0;
    const T *const all;
    T *const memory;
    const int elements, per_block;
    const T *G, *others; /* of this column: the factors that are held, and all of them */
    uint64_t *barrier;
    int next; /* first element of the next turn; `elements`: these factors stay for the next product */
    unsigned parity = 0;

    /* first: element of the block */
    __device__ __forceinline__ nek_held_factors(from_t from, int first, int of_all, int of_block,
                                                T *held_memory)
        : all(from), memory(held_memory), elements(of_all), per_block(of_block), next(of_all)
    {
        __shared__ uint64_t arrived;
        barrier = &arrived;
        if (held == 0 || threadIdx.x >= 32)
            return;
        if (threadIdx.x == 0) {
            rt_barrier_init(barrier, RT_BULK_ARRIVALS);
            rt_barriers_made();
        }
        __syncwarp(); /* the barrier is there before the first warp uses it */
        fetch(first);
    }
    /* Called by the first warp. */
    __device__ __forceinline__ void fetch(int first) const
    {
        const T *from = all + static_cast<size_t>(first) * 6 * shape::n3;
        const int left = elements - first, count = left < per_block ? left : per_block;
        rt_bulk_copy<true>(memory, reinterpret_cast<const unsigned char *>(from),
                           count * shared * static_cast<int>(sizeof(T)), barrier, threadIdx.x);
    }
    __device__ __forceinline__ void begin_turn(const nek_place<n, T> &at)
    {
        G = memory + at.own * shared + at.t;
        others = all + static_cast<size_t>(at.e) * 6 * shape::n3 + at.t;
    }
    __device__ __forceinline__ void wait() const
    {
        if (held > 0)
            rt_barrier_wait(barrier, parity);
    }
    __device__ __forceinline__ void load(int k, T (&g)[6]) const
    {
#pragma unroll
        for (int m = 0; m < 6; m++)
            g[m] = m < held ? G[m * shape::n3 + k * shape::n2]
                            : nek_load<once>(others + m * shape::n3 + k * shape::n2);
    }
    __device__ __forceinline__ void used()
    {
        if (!turns || held == 0 || next >= elements)
            return;
        parity ^= 1;
        if (threadIdx.x < 32)
            fetch(next);
    }
};

/* Returns how many of the six factors fit into an array of `values` in shared memory. */
template <int n, class T = double> constexpr int nek_factors_that_fit(int values)
{
    using shape = nek_shape<n, T>;
    const int fit = (values - shape::rows - shape::planes) / shape::n3;
    return fit < 6 ? fit : 6;
}

/* A block of one large element has the multiprocessor for itself, so it takes turns: as many blocks
 * are started as fit on the GPU. */
template <int n, class T>
struct nek_factors<n, NEK_BULK, T>
    : nek_held_factors<n, nek_factors_that_fit<n, T>(NEK_BLOCK_SHARED / sizeof(T)),
                       (nek_shape<n>::threads > 128), T> {
    __device__ __forceinline__ nek_factors(const T *from, const nek_place<n, T> &at, int elements,
                                           int per_block, T *memory)
        : nek_factors::nek_held_factors(from, at.e - at.own, elements, per_block, memory)
    {
        this->begin_turn(at);
    }
};

#endif
