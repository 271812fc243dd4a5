/*
 * resident_exchange.cuh - how the blocks of `resident` exchange surfaces and sums (resident.cu).
 */
#ifndef NEK_RESIDENT_EXCHANGE_CUH
#define NEK_RESIDENT_EXCHANGE_CUH

#include "nek_gather.cuh"

/* Two words that are written and read as one: PTX guarantees that of .b128, but not of a vector of
 * two words. */
typedef struct {
    long long value, mark;
} pair_t;

static __device__ __forceinline__ void store_pair(pair_t *at, pair_t of)
{
    asm volatile("{\n\t.reg .b128 q;\n\tmov.b128 q, {%1, %2};\n\t"
                 "st.relaxed.gpu.global.b128 [%0], q;\n\t}" ::"l"(at),
                 "l"(of.value), "l"(of.mark)
                 : "memory");
}

static __device__ __forceinline__ pair_t load_pair(const pair_t *at)
{
    pair_t of;
    asm volatile("{\n\t.reg .b128 q;\n\tld.relaxed.gpu.global.b128 q, [%2];\n\t"
                 "mov.b128 {%0, %1}, q;\n\t}"
                 : "=l"(of.value), "=l"(of.mark)
                 : "l"(at)
                 : "memory");
    return of;
}

/* Hides where a value comes from. What follows from it is then computed where it is used, and does
 * not stay in registers through the operator. */
static __device__ __forceinline__ void hide(int &value)
{
    asm volatile("" : "+r"(value));
}

static __device__ __forceinline__ void hide(double &value)
{
    asm volatile("" : "+d"(value));
}

/* What all blocks see. */
typedef struct {
    const double *G, *b;
    double *x, *r;
    const nek_outside_t *outside;
    pair_t *surface;         /* [2][elements][surface]: value, epoch */
    pair_t *sums;            /* [2][elements]: gamma and delta of each element, see with_phase */
    int elements, stride[3]; /* from an element to the next in x, y, z */
    int iterations;
    bool alone; /* no gather-scatter */
    double lambda, half;
    long long first; /* epoch of iteration 0; epochs continue from one solve to the next */
    nek_scalars_t scalars;
} resident_t;

/* Marks a sum with its epoch. The two sums leave no room for a mark, so the last two bits of each
 * are the epoch modulo 4. A slot has either the epoch wanted or the one two before; at
 * the very start it has all ones, which is phase 3 and not wanted then. This costs four units in
 * the last place of a part. */
static __device__ __forceinline__ long long with_phase(double x, long long epoch)
{
    return (__double_as_longlong(x) & ~3LL) | (epoch & 3);
}

static __device__ __forceinline__ double without_phase(long long part)
{
    return __longlong_as_double(part & ~3LL);
}

static __device__ __forceinline__ bool has_phase(const pair_t &sums, long long epoch)
{
    return (((sums.value ^ epoch) | (sums.mark ^ epoch)) & 3) == 0;
}

/*
 * Where an element's neighbours keep the copies of its surface points: one copy of a point on a
 * face, three on an edge, seven at a corner; as positions in `surface`. Where there is no neighbour
 * the point is on the boundary, so all its copies are zero: the link then is the point's own
 * position, and needs no special case.
 */
template <int n> struct links {
    using split = nek_split<n>;
    static constexpr int count = split::edges + 3 * 12 * split::m + 7 * 8;

    /* Returns where the links of surface point q begin. */
    static __device__ __forceinline__ int first(int q)
    {
        return q < split::edges     ? q
               : q < split::corners ? split::edges + 3 * (q - split::edges)
                                    : split::edges + 3 * 12 * split::m + 7 * (q - split::corners);
    }

    /* Fills link[count] of this block's element. All threads call it. */
    static __device__ void fill(const resident_t &a, unsigned outside, unsigned *link)
    {
        constexpr int m = split::m > 0 ? split::m : 1, face = split::face > 0 ? split::face : 1;
        for (int q = threadIdx.x; q < split::surface; q += blockDim.x) {
            unsigned *const to = link + first(q);
            if (q < split::edges) {
                const int side = q / face;
                to[0] = at(a, outside, 1 << side / 2, side % 2 ? 7 : 0, q,
                           q + (side % 2 ? -split::face : split::face));
            } else if (q < split::corners) {
                /* edges along z, x, y; then the two other directions in cyclic order */
                const int edge = (q - split::edges) / m, d = (edge / 4 + 2) % 3;
                const int d1 = (d + 1) % 3, d2 = (d + 2) % 3, first = q - edge % 4 * m;
                const int high = (edge & 1) << d1 | (edge >> 1 & 1) << d2;
                for (int c = 1; c < 4; c++)
                    to[c - 1] = at(a, outside, (c & 1) << d1 | c >> 1 << d2, high, q,
                                   first + (edge % 4 ^ c) * m);
            } else {
                const int high = q - split::corners;
                for (int c = 1; c < 8; c++)
                    to[c - 1] = at(a, outside, c, high, q, split::corners + (high ^ c));
            }
        }
    }

  private:
    /* Returns position `to` of the neighbour across the directions in `across` (bits x y z), which
     * is on the side of higher coordinate where `high` has the bit set; without such a neighbour,
     * position `from` of this element. */
    static __device__ unsigned at(const resident_t &a, unsigned outside, int across, int high,
                                  int from, int to)
    {
        int there = blockIdx.x;
        for (int d = 0; d < 3; d++)
            if (across >> d & 1) {
                const int up = high >> d & 1;
                if (outside >> (2 * d + up) & 1)
                    return blockIdx.x * split::surface + from;
                there += up ? a.stride[d] : -a.stride[d];
            }
        return there * split::surface + to;
    }
};

/* Returns the bytes of shared memory per block: doubles, and the links. */
template <int n> constexpr size_t resident_bytes(int doubles)
{
    return sizeof(double) * doubles + sizeof(unsigned) * links<n>::count;
}

/* Sums over the block in two steps, put and get, with one barrier of the caller between them. The
 * first `adding` warps have terms. */
template <int adding> struct block_sums {
    double2 of_warp[adding];
    __device__ __forceinline__ void put(double a, double b)
    {
        a = rt_warp_sum(a);
        b = rt_warp_sum(b);
        if (threadIdx.x % 32 == 0)
            of_warp[threadIdx.x / 32] = make_double2(a, b);
    }
    /* Adds in up to four chains, since an addition takes long and the next one waits for it. */
    __device__ __forceinline__ void get(double &a, double &b) const
    {
        constexpr int chains = adding < 4 ? adding : 4;
        double2 sum[chains];
#pragma unroll
        for (int w = 0; w < adding; w++) {
            const double2 part = of_warp[w];
            double2 &to = sum[w % chains];
            to = w < chains ? part : make_double2(to.x + part.x, to.y + part.y);
        }
        a = sum[0].x;
        b = sum[0].y;
#pragma unroll
        for (int c = 1; c < chains; c++) {
            a += sum[c].x;
            b += sum[c].y;
        }
    }
};

/* NOTHING: a gamma that is zero but for underflow. LEAST_DOWN: p.Ap as a share of r.Ar that is only
 * rounding error; after convergence to the last bit the recurrence starts again from p = r. */
static constexpr double NOTHING = 1e-290, LEAST_DOWN = 1e-6;

/* The coefficients, the same bits in every thread of every block. With p'.Ap' known, beta gamma /
 * alpha' is beta^2 p'.Ap'; and with 1 / gamma' known too, only one division has to wait for the
 * sums. */
struct coefficients {
    double alpha = 0, beta = 0;
    double before = 0, inverse = 0, down = 0; /* gamma', 1 / gamma', p'.Ap' */

    /* Computes what is known before the sums are. */
    __device__ __forceinline__ void prepare()
    {
        inverse = before > NOTHING && alpha > 0 ? 1 / before : 0;
    }
    /* Forms the coefficients of iteration it; the first thread of the grid stores them. */
    __device__ __forceinline__ void next(const resident_t &a, int it, double gamma, double delta)
    {
        beta = gamma > NOTHING ? gamma * inverse : 0;
        down = delta - beta * beta * down;
        if (!(down > LEAST_DOWN * delta)) {
            beta = 0;
            down = delta;
        }
        alpha = gamma > NOTHING && down > 0 ? gamma / down : 0;
        before = gamma;
        if (blockIdx.x > 0 || threadIdx.x > 0)
            return;
        double *const to = a.scalars.device + it;
        to[NEK_RR * (a.iterations + 1)] = gamma;
        to[NEK_ALPHA * (a.iterations + 1)] = alpha;
        to[NEK_BETA * (a.iterations + 1)] = beta;
    }
    /* Called after the last iteration: copies them to the host, which is too far away for every
     * iteration. */
    static __device__ void publish(const resident_t &a)
    {
        __syncthreads(); /* the last ones are stored */
        if (blockIdx.x == 0)
            for (int q = threadIdx.x; q < NEK_SCALARS * (a.iterations + 1); q += blockDim.x)
                a.scalars.host[q] = a.scalars.device[q];
    }
};

/* Number of warps that add the sums of all elements. */
template <int threads> constexpr int adding_warps = threads / 32 < 4 ? threads / 32 : 4;

/* Waits for the sums of all elements, of which number e is at sums(e), and adds them to `all`. The
 * first `adding` threads call it, after they have requested the first SUMS sums each. */
template <int adding, int SUMS, class Sums>
__device__ __forceinline__ void wait_for_sums(const resident_t &a, const Sums &sums,
                                              const long long &epoch, const int &id,
                                              pair_t (&part)[SUMS], block_sums<adding / 32> &all)
{
    double gamma = 0, delta = 0;
    auto poll = [&](pair_t &got, int of) {
        const bool late = of < a.elements && !has_phase(got, epoch);
        if (late)
            got = load_pair(sums(of));
        return late;
    };
    auto add = [&](const pair_t &got, int of) {
        if (of < a.elements) {
            gamma += without_phase(got.value);
            delta += without_phase(got.mark);
        }
    };
    bool late;
    do {
        late = false;
#pragma unroll
        for (int c = 0; c < SUMS; c++)
            late |= poll(part[c], id + c * adding);
    } while (__any_sync(~0u, late));
#pragma unroll
    for (int c = 0; c < SUMS; c++)
        add(part[c], id + c * adding);
#pragma unroll 1
    for (int first = SUMS * adding; first < a.elements; first += adding) {
        pair_t got = first + id < a.elements ? load_pair(sums(first + id)) : pair_t{};
        while (__any_sync(~0u, poll(got, first + id)))
            ;
        add(got, first + id);
    }
    all.put(gamma, delta);
}

/*
 * Exchanges surfaces and sums of iteration `it`: `surface`, in shared memory, becomes Q Q^T of it,
 * and `by` what follows from the sums over all elements. Before the call the element's surface has
 * been stored, its terms of the sums are in `own`, and the caller has passed a barrier. All that is
 * wanted is requested before any of it is waited for; of the sums, SUMS per thread. Passes a
 * barrier.
 *
 * A warp waits as one, until all its lanes have what they want: if each lane continued by itself,
 * the warp would be in pieces when its lanes add their parts, and that costs more than the waiting.
 */
template <int n, int threads, int SUMS>
__device__ __forceinline__ void exchange(const resident_t &a, int it, const unsigned *link,
                                         double *surface, const block_sums<threads / 32> &own,
                                         block_sums<adding_warps<threads>> &all, coefficients &by)
{
    using split = nek_split<n>;
    constexpr int FACES = (split::edges + threads - 1) / threads,
                  adding = 32 * adding_warps<threads>;
    int id = threadIdx.x;
    hide(id);
    const long long epoch = a.first + it;
    const unsigned slot = static_cast<unsigned>(epoch & 1) * a.elements; /* first of the epoch */
    const unsigned surface_slot = slot * split::surface;
    auto theirs = [&](unsigned at) { return a.surface + (surface_slot + at); };
    auto sums = [&](int of) { return a.sums + (slot + of); };
    const bool surfaces = it < a.iterations && !a.alone; /* none the last time */
    /* from zero: else what a thread does not request is kept in registers for the next epoch */
    pair_t face[FACES > 0 ? FACES : 1] = {}, copy[7] = {}, part[SUMS] = {};
    unsigned other[FACES > 0 ? FACES : 1] = {}, others[7] = {}; /* where they are */

    /* Returns whether this thread has one of the pieces in round c. */
    auto has = [&](int c, int pieces) {
        return (c + 1) * threads <= pieces || id + c * threads < pieces;
    };
    /* Returns the number of copies of a point on an edge or at a corner. */
    auto copies = [&](int q) { return q < split::corners ? 3 : q < split::surface ? 7 : 0; };
    auto request = [&](int q) {
        const unsigned *to = link + links<n>::first(q);
#pragma unroll
        for (int c = 0; c < 7; c++)
            if (c < copies(q))
                others[c] = to[c];
#pragma unroll
        for (int c = 0; c < 7; c++)
            if (c < copies(q))
                copy[c] = load_pair(theirs(others[c]));
    };
    /* Loads again if the epoch is not the one wanted; returns whether that was so. */
    auto poll = [&](pair_t &got, unsigned at) {
        const bool late = got.mark != epoch;
        if (late)
            got = load_pair(theirs(at));
        return late;
    };
    auto wait_for_copies = [&](int q) {
        bool late;
        do {
            late = false;
#pragma unroll
            for (int c = 0; c < 7; c++)
                if (c < copies(q))
                    late |= poll(copy[c], others[c]);
        } while (__any_sync(~0u, late));
    };
    /* in the same order for all that share the point: pairs across one direction first */
    auto add = [&](int q) {
        auto of = [&](int c) { return __longlong_as_double(copy[c].value); };
        if (q >= split::surface)
            return;
        double sum = (surface[q] + of(0)) + (of(1) + of(2));
        if (q >= split::corners)
            sum += (of(3) + of(4)) + (of(5) + of(6));
        surface[q] = sum;
    };
    /* edges and corners, from the last thread on: the first ones have the sums */
    const int rest = split::edges + threads - 1 - id;

    if (id == 0) {
        double gamma, delta;
        own.get(gamma, delta);
        store_pair(sums(blockIdx.x), {with_phase(gamma, epoch), with_phase(delta, epoch)});
    }
    if (surfaces) {
#pragma unroll
        for (int c = 0; c < FACES; c++)
            if (has(c, split::edges))
                other[c] = link[id + c * threads];
#pragma unroll
        for (int c = 0; c < FACES; c++)
            if (has(c, split::edges))
                face[c] = load_pair(theirs(other[c]));
        request(rest);
    }
    if (id < adding)
#pragma unroll
        for (int c = 0; c < SUMS; c++)
            if (id + c * adding < a.elements)
                part[c] = load_pair(sums(id + c * adding));
    by.prepare();
    if (surfaces) {
        bool late;
        do {
            late = false;
#pragma unroll
            for (int c = 0; c < FACES; c++)
                if (has(c, split::edges))
                    late |= poll(face[c], other[c]);
        } while (__any_sync(~0u, late));
#pragma unroll
        for (int c = 0; c < FACES; c++)
            if (has(c, split::edges))
                surface[id + c * threads] += __longlong_as_double(face[c].value);
        wait_for_copies(rest);
        add(rest);
#pragma unroll 1
        for (int more = threads; more < split::surface - split::edges; more += threads) {
            request(rest + more);
            wait_for_copies(rest + more);
            add(rest + more);
        }
    }
    if (id < adding)
        wait_for_sums<adding>(a, sums, epoch, id, part, all);
    __syncthreads(); /* `all` and `surface` are complete */
    double gamma, delta;
    all.get(gamma, delta);
    by.next(a, it, gamma, delta);
}

#endif
