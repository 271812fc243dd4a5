/*
 * nek_line.cuh - the operator of an element by lines, for the rungs from `packed` on.
 *
 * A thread has column (i, j) of the element in registers and multiplies whole lines. First come its
 * column (wt), then line t of those along i, then line t of those along j. The last two come from
 * shared memory, are multiplied in registers, and go back to the same place. So each product reads
 * a value from shared memory once instead of n times. D is the same for all threads at each step of
 * the unrolled code, so it is a kernel argument: an operand from the constant bank costs nothing.
 * An element takes four barriers, where `layered` has 2 n.
 *
 *   D by halves. The GLL points are symmetric, so D(n-1-i, n-1-l) = -D(i, l): the even half of a
 *   line has an odd derivative and vice versa. These are two products of half the size:
 *   n^2 / 2 multiplications per line instead of n^2, for 2 n additions.
 *
 *   Layouts without bank conflicts. Lines along i are `row` apart; lines along j start at
 *   j * plane + i. The two pitches are such that 16 lanes of 8 bytes, or 8 lanes of 16, always
 *   touch all 32 banks once.
 *
 *   Elements per block. n^2 threads rarely fill warps; several elements together do.
 */
#ifndef NEK_LINE_CUH
#define NEK_LINE_CUH

#include "nek_cuda.cuh"
#include "machine/async.cuh"

/* D in [0] and its transpose in [1], by halves: even(i, l) = (D(i, l) + D(i, n-1-l)) / 2, odd with
 * a minus. The middle of an odd n belongs to the even half of a line. */
template <int n> struct nek_halves {
    static constexpr int half = n / 2, most = (n + 1) / 2;
    double even[2][half * most], odd[2][most * half];
};

template <int n> nek_halves<n> nek_halve(const double *D)
{
    constexpr int half = n / 2, most = (n + 1) / 2;
    nek_halves<n> h;
    for (int t = 0; t < 2; t++) {
        auto at = [=](int i, int l) { return t ? D[l * n + i] : D[i * n + l]; };
        for (int i = 0; i < most; i++)
            for (int l = 0; l < most; l++) {
                if (i < half)
                    h.even[t][i * most + l] =
                        l == n - 1 - l ? at(i, l) : (at(i, l) + at(i, n - 1 - l)) / 2;
                if (l < half)
                    h.odd[t][i * half + l] = (at(i, l) - at(i, n - 1 - l)) / 2;
            }
    }
    return h;
}

/* b = D a, or b = D^T a */
template <int transposed, int n>
__device__ __forceinline__ void nek_line_product(const nek_halves<n> &D, const double (&a)[n],
                                                 double (&b)[n])
{
    constexpr int half = n / 2, most = (n + 1) / 2;
    double even[most], odd[half], from_even[half], from_odd[most];
#pragma unroll
    for (int l = 0; l < half; l++) {
        even[l] = a[l] + a[n - 1 - l];
        odd[l] = a[l] - a[n - 1 - l];
    }
    if constexpr (n % 2 == 1)
        even[half] = a[half];
#pragma unroll
    for (int i = 0; i < most; i++) {
        if (i < half)
            from_even[i] = 0;
        from_odd[i] = 0;
    }
#pragma unroll
    for (int l = 0; l < most; l++)
#pragma unroll
        for (int i = 0; i < most; i++) {
            if (i < half)
                from_even[i] += D.even[transposed][i * most + l] * even[l];
            if (l < half)
                from_odd[i] += D.odd[transposed][i * half + l] * odd[l];
        }
#pragma unroll
    for (int i = 0; i < half; i++) {
        b[i] = from_odd[i] + from_even[i];
        b[n - 1 - i] = from_odd[i] - from_even[i];
    }
    if constexpr (n % 2 == 1)
        b[half] = from_odd[half];
}

/* Returns the smallest number from `least` on that is `rest` modulo 16. */
constexpr int nek_pitch(int least, int rest)
{
    return least + ((rest - least) % 16 + 16) % 16;
}

constexpr int nek_whole_warps(int threads)
{
    return (threads + 31) / 32 * 32;
}

/* Threads per block that are aimed at. */
enum { NEK_LEAST_THREADS = 64, NEK_GOOD_THREADS = 128 };

template <int n> struct nek_shape {
    static constexpr int n2 = n * n, n3 = n2 * n;
    /* Lines along i: an odd number of 16-byte units; of 8-byte units if n is odd, since they are
     * read so then. */
    static constexpr int row = n % 4 == 0 ? n + 2 : n;
    /* 16 lanes with consecutive t find 16 banks at j * plane + i, as they do at t. */
    static constexpr int plane = nek_pitch(n2, n);
    static constexpr int rows = n2 * row, planes = nek_pitch(n * plane, n2);
    /* Threads per block that kernels are compiled for. */
    static constexpr int threads =
        n2 <= NEK_GOOD_THREADS ? static_cast<int>(NEK_GOOD_THREADS) : nek_whole_warps(n2);
};

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

/* The elements that one launch works on: those at first .. end - 1 of `order`. */
typedef struct {
    const int *order; /* of all elements; NULL: in their own order */
    int first, end;
    int first_block; /* number of its first block among the blocks of all launches */
    unsigned blocks; /* of this launch */
} nek_part_t;

/* The sides of an element that are on the boundary of the box, one bit each: x0 x1 y0 y1 z0 z1. */
typedef uint8_t nek_outside_t;

/* Where a thread works. Idle threads have active = false and the place of another thread. */
template <int n> struct nek_place {
    int e, i, j, t;
    int own; /* number of e among the elements of the block */
    bool active;
    double *rows, *planes; /* of this element */

    /* `memory`: rows, then planes, of `per_block` elements */
    __device__ __forceinline__ nek_place(const nek_part_t &part, int per_block, double *memory)
    {
        using shape = nek_shape<n>;
        own = threadIdx.x / shape::n2;
        e = part.first + blockIdx.x * per_block + own;
        active = own < per_block && e < part.end;
        t = threadIdx.x - own * shape::n2;
        if (!active) {
            t = own = 0;
            e = part.first + blockIdx.x * per_block;
        }
        if (part.order)
            e = __ldg(part.order + e);
        i = t % n;
        j = t / n;
        rows = memory + own * shape::rows;
        planes = memory + per_block * shape::rows + own * shape::planes;
    }
    __device__ __forceinline__ nek_place(int elements, int per_block, double *memory)
        : nek_place(nek_part_t{nullptr, 0, elements, 0, 0}, per_block, memory)
    {
    }
};

/* Multiplies a line by D or D^T, in place. */
template <int transposed, int n>
__device__ __forceinline__ void nek_row_in_place(const nek_halves<n> &D, double *line)
{
    double a[n], b[n];
    if constexpr (n % 2 == 0) {
        double2 *two = reinterpret_cast<double2 *>(line);
#pragma unroll
        for (int l = 0; l < n; l += 2) {
            const double2 pair = two[l / 2];
            a[l] = pair.x;
            a[l + 1] = pair.y;
        }
        nek_line_product<transposed>(D, a, b);
#pragma unroll
        for (int l = 0; l < n; l += 2)
            two[l / 2] = make_double2(b[l], b[l + 1]);
    } else {
#pragma unroll
        for (int l = 0; l < n; l++)
            a[l] = line[l];
        nek_line_product<transposed>(D, a, b);
#pragma unroll
        for (int l = 0; l < n; l++)
            line[l] = b[l];
    }
}

template <int transposed, int step, int n>
__device__ __forceinline__ void nek_column_in_place(const nek_halves<n> &D, double *line)
{
    double a[n], b[n];
#pragma unroll
    for (int l = 0; l < n; l++)
        a[l] = line[l * step];
    nek_line_product<transposed>(D, a, b);
#pragma unroll
    for (int l = 0; l < n; l++)
        line[l * step] = b[l];
}

/* Computes w = D^T G D u on the columns of a block's elements. All threads must call it.
 * factors.wait() is called before the first factors.load(k, g), which gives rr rs rt ss st tt of
 * point k of the column; factors.used() is called after the last load of all threads. The shared
 * memory may be used again after a barrier. */
template <int n, class Factors>
__device__ __forceinline__ void nek_line_operator(const nek_halves<n> &D, const nek_place<n> &at,
                                                  Factors &factors, const double (&u)[n],
                                                  double (&w)[n])
{
    using shape = nek_shape<n>;
    double *const row = at.rows + at.t * shape::row;
    double *const plane = at.planes + at.j * shape::plane + at.i;
    double *const r = at.rows + at.j * shape::row + at.i, *const s = at.planes + at.t;
    constexpr int r_step = n * shape::row, s_step = shape::plane;
    double wt[n];
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++)
            r[k * r_step] = s[k * s_step] = u[k];
    }
    __syncthreads(); /* u is there, as rows and as planes */
    if (at.active) {
        nek_row_in_place<0>(D, row);
        nek_column_in_place<0, n>(D, plane);
    }
    nek_line_product<0>(D, u, wt);
    __syncthreads(); /* wr and ws are there */
    factors.wait();
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            double g[6];
            factors.load(k, g);
            const double wr = r[k * r_step], ws = s[k * s_step];
            r[k * r_step] = g[0] * wr + g[1] * ws + g[2] * wt[k];
            s[k * s_step] = g[1] * wr + g[3] * ws + g[4] * wt[k];
            wt[k] = g[2] * wr + g[4] * ws + g[5] * wt[k];
        }
    }
    __syncthreads(); /* ur and us are there, and all have read the factors */
    factors.used();
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
template <bool once> __device__ __forceinline__ double nek_load(const double *p)
{
    if constexpr (once)
        return __ldcs(p);
    else
        return *p;
}

template <bool once> __device__ __forceinline__ void nek_store(double *p, double value)
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
template <int n, nek_source source> struct nek_factors : nek_no_turns {
    using from_t = const double *;
    static constexpr bool once = source != NEK_CACHED;
    static constexpr int shared = 0;    /* doubles per element */
    static constexpr int registers = 0; /* in addition to those of vectors */
    static constexpr bool spares_registers = true;
    const double *G;
    __device__ __forceinline__ nek_factors(from_t all, const nek_place<n> &at, int, int, double *)
        : G(all + static_cast<size_t>(at.e) * 6 * nek_shape<n>::n3 + at.t)
    {
    }
    __device__ __forceinline__ void wait() const
    {
    }
    __device__ __forceinline__ void load(int k, double (&g)[6]) const
    {
#pragma unroll
        for (int m = 0; m < 6; m++)
            g[m] = nek_load<once>(G + m * nek_shape<n>::n3 + k * nek_shape<n>::n2);
    }
};

/*
 * Factors that one copy fetches into shared memory for the whole block. The copy is under way while
 * the first products are formed, and takes no registers: much data is in flight with few blocks.
 *
 *   Elements in turn. A block of one large element has the multiprocessor for itself, and what it
 *   computes after its last factor would leave the memory idle. So as many blocks are started as
 *   fit on the GPU. Each goes from element to element, and fetches the next element's factors as
 *   soon as all its threads have used the present ones.
 *
 *   As many of the six factors as fit are held; for the largest elements, the others are read where
 *   they are used.
 */
template <int n> struct nek_factors<n, NEK_BULK> {
    using from_t = const double *;
    using shape = nek_shape<n>;
    static constexpr bool once = true, takes_turns = shape::threads > 128;
    static constexpr int fit =
        (NEK_BLOCK_SHARED / static_cast<int>(sizeof(double)) - shape::rows - shape::planes) /
        shape::n3;
    static constexpr int held = fit < 6 ? fit : 6, shared = held * shape::n3, registers = 0;
    static constexpr bool spares_registers = true;
    const double *const all;
    double *const memory;
    const double *const G; /* of this column: the factors that are held, */
    const double *others;  /* and all of them */
    uint64_t *barrier;
    int next = -1; /* element of the next turn; -1: none */
    unsigned parity = 0;

    __device__ __forceinline__ nek_factors(from_t from, const nek_place<n> &at, int elements,
                                           int per_block, double *held_memory)
        : all(from), memory(held_memory), G(held_memory + at.own * shared + at.t),
          others(all + static_cast<size_t>(at.e) * 6 * shape::n3 + at.t)
    {
        __shared__ uint64_t arrived;
        barrier = &arrived;
        const int first = at.e - at.own; /* the elements of a block are consecutive */
        if (threadIdx.x >= 32)
            return;
        if (threadIdx.x == 0) {
            rt_barrier_init(barrier, RT_BULK_ARRIVALS);
            rt_barriers_made();
        }
        __syncwarp(); /* the barrier is there before the first warp uses it */
        fetch(first, elements - first < per_block ? elements - first : per_block);
    }
    /* Called by the first warp. Several elements (count > 1) only where all six factors are
     * held. */
    __device__ __forceinline__ void fetch(int first, int count) const
    {
        const double *from = all + static_cast<size_t>(first) * 6 * shape::n3;
        rt_bulk_copy<true>(memory, reinterpret_cast<const unsigned char *>(from),
                           count * shared * static_cast<int>(sizeof(double)), barrier, threadIdx.x);
    }
    __device__ __forceinline__ void wait() const
    {
        rt_barrier_wait(barrier, parity);
    }
    __device__ __forceinline__ void load(int k, double (&g)[6]) const
    {
#pragma unroll
        for (int m = 0; m < 6; m++)
            g[m] = m < held ? G[m * shape::n3 + k * shape::n2]
                            : nek_load<once>(others + m * shape::n3 + k * shape::n2);
    }
    __device__ __forceinline__ void used() const
    {
        if (takes_turns && next >= 0 && threadIdx.x < 32)
            fetch(next, 1);
    }
    __device__ __forceinline__ void go_on()
    {
        parity ^= 1;
        others = all + static_cast<size_t>(next) * 6 * shape::n3 + (G - memory);
    }
};

/* Returns the element that a block takes in turn number `turn`, from 0 on; -1: none is left. */
__device__ __forceinline__ int nek_element_of_turn(const nek_part_t &part, int turn)
{
    const int place = part.first + static_cast<int>(blockIdx.x + turn * gridDim.x);
    return place >= part.end ? -1 : part.order ? __ldg(part.order + place) : place;
}

#endif
