/*
 * nek_launch.cuh - how kernels that use the operator by lines (nek_line.cuh) are launched: their
 * parameters, shared memory, blocks and threads.
 */
#ifndef NEK_LAUNCH_CUH
#define NEK_LAUNCH_CUH

#include "nek_line.cuh"

/* Returns the bytes of shared memory per block. Per element: `factors` values, rows and planes,
 * and `extra` values. */
template <int n, class T = double>
constexpr size_t nek_line_bytes(int per_block, int factors, int extra)
{
    using shape = nek_shape<n, T>;
    return sizeof(T) * per_block * (factors + shape::rows + shape::planes + extra);
}

typedef struct {
    nek_source source;
    int per_block;
    unsigned blocks, threads;
} nek_launch_t;

/* Parameters of a rung that uses this operator; the second only for rungs that read factors. */
static const char *const nek_per_block_values[] = {"auto", "1", "2",  "3",  "4",  "5",  "6",
                                                   "7",    "8", "14", "16", "24", "32", nullptr};
static const char *const nek_source_values[] = {"auto", "cached", "streamed", "bulk", nullptr};
static const rt_parameter_t nek_line_parameters[] = {
    {"elements", "elements per block", nek_per_block_values, 0},
    {"factors",
     "how they are read: like all other data, past the cache (evict-first), or by a bulk copy into "
     "shared memory",
     nek_source_values, 0}};
enum { NEK_PER_BLOCK, NEK_FACTORS, NEK_LINE_PARAMETERS };

static inline int nek_choice_per_block(int n, const int *choice)
{
    const int value = choice[NEK_PER_BLOCK];
    return value == 0 ? nek_elements_a_block(n) : atoi(nek_per_block_values[value]);
}

/* Returns why a block cannot have per_block elements, or NULL. extra(n): doubles per element beyond
 * the operator's. */
template <class Extra>
const char *nek_refuse_line_choice(const nek_config_t *config, int per_block, bool bulk,
                                   Extra extra)
{
    const char *reason = nullptr;
    nek_fixed_n<NEK_FIXED_N>(config->n, [&](auto N) {
        constexpr int n = N();
        if (per_block * n * n > nek_shape<n>::threads)
            reason = "that many elements need more threads than the block is compiled for";
        else if (nek_line_bytes<n>(per_block, bulk ? nek_factors<n, NEK_BULK>::shared : 0,
                                   extra(n)) > nek_most_shared())
            reason = "a block cannot have so much shared memory";
    });
    return reason;
}

/* Returns why even the default block does not fit, or NULL. */
template <class Extra> const char *nek_refuse_line(const nek_config_t *config, Extra extra)
{
    return config->n <= NEK_FIXED_N &&
                   nek_refuse_line_choice(config, nek_elements_a_block(config->n), false, extra)
               ? "an element of that degree does not fit into the shared memory of this GPU"
               : nullptr;
}

/* extra(n) of a rung that needs no more than the operator. */
inline constexpr int nek_no_extra(int)
{
    return 0;
}

template <int (*extra)(int)>
const char *nek_refuse_any_line(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const char *reason = nek_refuse(self, options, why);
    return reason ? reason : nek_refuse_line(static_cast<const nek_config_t *>(options), extra);
}

/* sources: the rung has a choice of how factors are read. */
template <int (*extra)(int), bool sources = true>
const char *nek_refuse_any_choice(const void *options, const int *choice)
{
    const nek_config_t *config = static_cast<const nek_config_t *>(options);
    return nek_refuse_line_choice(config, nek_choice_per_block(config->n, choice),
                                  sources && choice[NEK_FACTORS] == 1 + NEK_BULK, extra);
}

/* The member `rung` of a rung with all parameters of lines. */
#define NEK_LINE_RUNG(extra)                                                          \
    {                                                                                 \
        .precision = "FP64", .reproducible = true, .parameters = nek_line_parameters, \
        .n_parameters = NEK_LINE_PARAMETERS, .refuse = nek_refuse_any_line<extra>,    \
        .refuse_choice = nek_refuse_any_choice<extra>                                 \
    }

#define NEK_LINE_MAX_N_REASON                                                                 \
    "lines are kept in registers, and more than 16 points per direction do not fit: n <= 16 " \
    "(degree <= 15); use layered"

/* Makes the launch for a choice. source: how factors are read if the choice is "auto" or there is
 * none. */
static inline nek_launch_t nek_make_launch(const nek_view_t *view, bool sources, nek_source source)
{
    static const int automatic[NEK_LINE_PARAMETERS] = {0};
    const int *choice = view->choice ? view->choice : automatic;
    nek_launch_t l;
    l.per_block = nek_choice_per_block(view->n, choice);
    l.blocks = rt_blocks(static_cast<size_t>(view->elements), static_cast<unsigned>(l.per_block));
    l.threads = static_cast<unsigned>(nek_whole_warps(l.per_block * view->n * view->n));
    l.source = source;
    if (sources && choice[NEK_FACTORS] > 0)
        l.source = static_cast<nek_source>(choice[NEK_FACTORS] - 1);
    return l;
}

/* Returns the blocks of a kernel that a multiprocessor holds. */
template <class Kernel> int nek_fit(Kernel *kernel, int threads, size_t shared)
{
    int blocks = 0;
    if (shared > nek_most_shared())
        return 0;
    nek_allow_shared(kernel, shared);
    RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
    return blocks;
}

/* Returns the blocks of a launch, but no more than are resident at once; allows the kernel its shared
 * memory. */
template <class Kernel>
unsigned nek_resident_blocks(const nek_launch_t &l, Kernel *kernel, size_t shared)
{
    const int fit = nek_fit(kernel, static_cast<int>(l.threads), shared);
    const auto most = static_cast<unsigned>(fit * rt_device_gpu()->multiprocessors);
    return most < l.blocks ? most : l.blocks;
}

/* Returns what "auto" means for the factors in `fused` and `onepass`, whose kernel needs that much
 * shared memory per block with copies of the factors. The reasons are in those files. */
enum { NEK_BULK_FROM_N = 13 };
template <int n> nek_source nek_automatic_source(size_t bytes_of_bulk)
{
    return n >= NEK_BULK_FROM_N && bytes_of_bulk <= nek_most_shared() ? NEK_BULK : NEK_CACHED;
}

/* Calls f(std::integral_constant<nek_source, ...>()). */
template <class F> void nek_with_source(nek_source source, F f)
{
    if (source == NEK_CACHED)
        f(std::integral_constant<nek_source, NEK_CACHED>());
    else if (source == NEK_STREAMED)
        f(std::integral_constant<nek_source, NEK_STREAMED>());
    else
        f(std::integral_constant<nek_source, NEK_BULK>());
}

/* The operator alone (packed.cu). The later rungs are also checked with it. */
void nek_packed_ax(const nek_view_t *view, const double *u, double *w);
/* The same for a rung whose parameters are not nek_line_parameters: view->choice is ignored. */
void nek_packed_ax_auto(const nek_view_t *view, const double *u, double *w);

#endif
