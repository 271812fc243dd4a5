/*
 * cutlass.cu - the network of rung `tensor` as a 3-D convolution of CUTLASS, FP16 with FP32 sums.
 *
 * A program: cutlass [N], for N^3 nodes (256). The network is a linear layer of 7^3 taps, from 3
 * components of r to 3 M sums per node. It is timed alone, the most that the library can do: r and
 * K are laid out before, and sums go to FP16. The rung reads r in place, and adds the sums times
 * coefficients over M. As it is, the layer has too few channels: 3 are padded to 8. Folded forms
 * use the rung's idea: SX x SY x SZ nodes are one position, their sums its channels; those of the
 * input are two rows of SX + 6 nodes, each padded to 32. No taps in x are left; filters have zeros.
 */
#include <algorithm>
#include <cmath>
#include <cute/tensor.hpp>
#include <cutlass/kernel_hardware_info.hpp>
#include <thrust/device_vector.h>
#include <thrust/tabulate.h>

#include <cutlass/conv/collective/collective_builder.hpp> /* these need those */
#include <cutlass/conv/device/conv_universal_adapter.hpp>
#include <cutlass/conv/kernel/conv_universal.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>

using namespace cutlass::conv;
using fp16 = cutlass::half_t;
using shape_t = ConvProblemShape<Operator::kFprop, 3>;
enum { RUNS = 11, CHECKED = 1000 };

/* Returns component a of r at a node, counted from the lowest ghost; or from a = 3 on a tap of a
 * kernel: multiples of 2^-11 from -1 to 1, which FP16 has exactly. */
static __host__ __device__ float drawn(int a, int x, int y, int z)
{
    unsigned n = ((z * 1024u + y) * 1024u + x) ^ a * 2654435761u;
    n = (n ^ n >> 16) * 0x7feb352du;
    n = (n ^ n >> 15) * 0x846ca68bu;
    return static_cast<float>((n ^ n >> 16) >> 20) / 2048 - 1;
}

/* The layer: NDHWC input and output, KTRSC filters. SX = 1: as it is. */
template <int M_, int SX_, int SY_, int SZ_> struct layer_t {
    static constexpr int M = M_, SX = SX_, SY = SY_, SZ = SZ_, nodes = SX * SY * SZ;
    static constexpr int rows = SX > 1 ? 2 : 1, row = SX > 1 ? 32 : 8, C = rows * row;
    static constexpr int used = SX > 1 ? 3 * (SX + 6) : 3, K = (3 * M * nodes + 7) / 8 * 8;
    static constexpr int T = SZ + 6, R = (SY + 6) / rows, S = SX > 1 ? 1 : 7;
    int n, D = n + 6, H = (n + 6) / rows, W = SX > 1 ? n / SX : n + 6;
    __device__ fp16 input(int e) const
    {
        const int c = e % C, at = c % row, w = e / C % W, h = e / C / W % H, d = e / C / W / H;
        return fp16(at < used ? drawn(at % 3, w * SX + at / 3, h * rows + c / row, d) : 0);
    }
    __device__ fp16 filter(int e) const
    {
        const int c = e % C, at = c % row, tap = e / C % (T * R * S), k = e / C / (T * R * S);
        const unsigned node = k / (3 * M), dx = tap % S + at / 3 - node % SX;
        const unsigned dy = tap / S % R * rows + c / row - node / SX % SY;
        const unsigned dz = tap / S / R - node / SX / SY; /* huge if negative */
        const bool has = node < nodes && at < used && max(dx, max(dy, dz)) < 7;
        return fp16(has ? drawn(3 + k % (3 * M) * 3 + at % 3, dx, dy, dz) : 0);
    }
};

/* Returns the largest error of some of the sums, relative to them or to 1. */
template <class L> static double error_of(const L &l, const thrust::device_vector<fp16> &sums)
{
    double error = 0;
    for (unsigned s = 0; s < CHECKED; s++) {
        const int w = s * 2654435761u >> 2, n = l.n, q = s % L::M, i = s / L::M % 3;
        const int x = w % n, y = w / n % n, z = w / 4096 % n;
        double want = 0;
        for (int e = 0; e < 3 * 343; e++) {
            const int j = e % 3, dx = e / 3 % 7, dy = e / 21 % 7, dz = e / 147;
            const double K = drawn(3 + (q * 3 + i) * 3 + j, dx, dy, dz);
            want += K * drawn(j, x + dx, y + dy, z + dz);
        }
        const int node = (z % L::SZ * L::SY + y % L::SY) * L::SX + x % L::SX;
        const size_t at = ((z / L::SZ) * (n / L::SY) + y / L::SY) * (n / L::SX) + x / L::SX;
        const fp16 have = sums[at * L::K + (node * L::M + q) * 3 + i];
        const double d = fabs(double(have) - want) / std::max(1.0, fabs(want));
        error = d > error || std::isnan(d) ? d : error; /* a NaN stays */
    }
    return error;
}

/* CUTLASS's kernel for Hopper. */
template <class L> struct library_t {
    using arch_t = cutlass::arch::Sm90;
    using op_t = cutlass::arch::OpClassTensorOp;
    using ndhwc = cutlass::layout::TensorNDHWC;
    static constexpr int N = std::max(32, L::K), depth = std::max(16, L::C);
    using stages_t = cute::Int<(N > 96 ? 170 : 96) * 1024 / (2 * (128 + N) * depth)>; /* fit */
    using tile_t = cute::Shape<cute::_128, cute::Int<N>, cute::Shape<cute::Int<depth>>>;
    using pair_t = cute::Shape<cute::_2, cute::_1, cute::_1>; /* blocks that share filters */
    using store_t = typename cutlass::epilogue::collective::CollectiveBuilder<
        arch_t, op_t, tile_t, pair_t, cutlass::epilogue::collective::EpilogueTileAuto, float, float,
        void, ndhwc, 8, fp16, ndhwc, 8, cutlass::epilogue::TmaWarpSpecialized>::CollectiveOp;
    using multiply_t =
        typename collective::CollectiveBuilder<arch_t, op_t, shape_t::ConvOp, fp16, ndhwc, 8, fp16,
                                               ndhwc, 8, float, tile_t, pair_t, stages_t,
                                               collective::KernelScheduleAuto>::CollectiveOp;
    using conv_t =
        device::ConvUniversalAdapter<kernel::ConvUniversal<shape_t, multiply_t, store_t>>;
};

template <int M, int SX, int SY, int SZ> static bool measure(int n)
{
    using L = layer_t<M, SX, SY, SZ>;
    using conv_t = typename library_t<L>::conv_t;
    const L l{n};
    const size_t inputs = size_t(l.D) * l.H * l.W * L::C, all = size_t(n) * n * n;
    thrust::device_vector<fp16> r(inputs), K(L::K * L::T * L::R * L::S * L::C);
    thrust::device_vector<fp16> sums(all / L::nodes * L::K, fp16(NAN));
    thrust::tabulate(r.begin(), r.end(), [=] __device__(int e) { return l.input(e); });
    thrust::tabulate(K.begin(), K.end(), [=] __device__(int e) { return l.filter(e); });
    const shape_t shape(Mode::kCrossCorrelation, {1, l.D, l.H, l.W, L::C},
                        {L::K, L::T, L::R, L::S, L::C}, {0, 0, 0}, {0, 0, 0}, {SZ, SY / L::rows, 1},
                        {1, 1, 1}, 1);
    typename conv_t::Arguments arguments{
        shape, {r.data().get(), K.data().get()}, {{1, 0}, nullptr, {}, sums.data().get(), {}}};
    cute::for_each(cute::make_seq<4>{},
                   [&](auto i) { cute::get<0, i>(arguments.epilogue.dD) = shape.stride_C[3 - i]; });
    conv_t conv;
    float ms[RUNS] = {};
    cudaEvent_t event[RUNS + 1] = {};
    auto status = conv_t::can_implement(arguments);
    for (int i = 0; i <= RUNS && status == cutlass::Status::kSuccess; i++) {
        status = conv(arguments); /* the first warms up */
        cudaEventCreate(event + i);
        cudaEventRecord(event[i]);
    }
    const double error = error_of(l, sums); /* waits, and throws what went wrong */
    for (int i = 0; i < RUNS; i++)
        cudaEventElapsedTime(ms + i, event[i], event[i + 1]);
    std::sort(ms, ms + RUNS);
    const double us = 1e3 * ms[RUNS / 2];
    printf("gfm %d, %dx%dx%d nodes, %2d to %3d channels: %8.0f us, %5.1f TFlop/s, error %.1e, %s\n",
           M, SX, SY, SZ, L::C, L::K, us, 1e-6 * all * 18 * 343 * M / us, error,
           cutlassGetStatusString(status));
    return error < 1.0 / 1024; /* twice the rounding of FP16 */
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 256;
    if (n < 8 || n > 512 || n % 4 != 0)
        return fprintf(stderr, "cutlass: N is a multiple of 4 from 8 to 512\n"), 2;
    if (cudaFree(nullptr) != cudaSuccess)
        return fprintf(stderr, "cutlass: %s\n", cudaGetErrorString(cudaGetLastError())), 3;
    const bool valid[] = {measure<2, 4, 2, 2>(n), measure<2, 4, 4, 2>(n), measure<8, 4, 2, 1>(n),
                          measure<2, 1, 1, 1>(n), measure<8, 1, 1, 1>(n)};
    return std::count(std::begin(valid), std::end(valid), false) > 0;
}
