/*
 * compiled.cu - the operator, compiled by NVRTC for exactly this problem and choice.
 *
 * Idea: `layered` is a template, so all that it could vary would have to be instantiated for each n
 * when the program is built: 2 layouts, 11 numbers of elements per block and 3 cache hints are
 * already 66 kernels per n. Here one kernel text (compiled_kernel.cuh) is compiled when the problem
 * is known, and the tuner has what the report (CRESTA D3.5.2) tuned: layout of the threads,
 * elements per block, unrolled layers, registers or shared memory, cache hints, limit of registers.
 * The number of elements and any n are constants.
 *
 * Advantage: only what is used is compiled, and large n are not at a disadvantage: `layered` passes
 * n > 16 as an argument, as sizes=argument does here to show what that costs.
 *
 * Price: 0.2 s (n = 3) to 3 s (n = 24) before the first iteration, a library of a hundred megabytes
 * where the program runs, and a kernel that is harder to read than the template.
 *
 * Without tuning it is `layered`: the same work in the same order, one element per block, and at n
 * = 10 the same 128 registers.
 */
#include "config.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include "../nekbone.h"
#include "compiled.h"
#include "nek_cuda.cuh"
#include "machine/nvrtc.h"
#include "compiled_kernel.cuh"

static const char text[] =
#include "apps/nekbone/cuda/compiled_text.inc"
    ;

/* --- what a tuner may choose --- */

static const char *const layouts[] = {"columns", "lines", nullptr};
static const char *const per_block[] = {"1", "2",  "3",  "4",  "5",  "6",
                                        "8", "12", "16", "24", "32", nullptr};
static const char *const sizes[] = {"compile", "argument", nullptr};
static const char *const unroll[] = {"auto", "all", "1", "2", "4", nullptr};
static const char *const places[] = {"auto", "registers", "shared", nullptr};
static const char *const matrices[] = {"argument", "shared", nullptr};
static const char *const hints[] = {"cached", "streamed", "read-only", nullptr};
static const char *const yes_no[] = {"yes", "no", nullptr};
static const char *const held[] = {"auto", "1", "2", "3", "4", "5", "6", "8", "12", "16", nullptr};

enum { LAYOUT, PER_BLOCK, SIZES, UNROLL, COLUMN, ROWS, MATRIX, FACTORS, VECTORS, PREFETCH, BLOCKS };
static const rt_parameter_t parameters[] = {
    {"layout",
     "n x n threads climb layer by layer, as in layered, or have whole lines, as in packed",
     layouts, 0},
    {"elements", "elements per block", per_block, 0},
    {"sizes", "n and the number of elements are compiled in, or passed as arguments", sizes, 0},
    {"unroll", "layers unrolled at a time; auto: all, if n is known", unroll, 0},
    {"column", "where a thread keeps its columns of u and w; auto: in registers if possible",
     places, 0},
    {"rows", "where it keeps its row and column of D; auto: in registers if they fit", places, 0},
    {"matrix", "where D(k, l) is, which is the same for all threads", matrices, 0},
    {"factors", "how they are read: like all other data, evict-first, or as constant data", hints,
     1},
    {"vectors", "how u is read and w written", hints, 2},
    {"prefetch", "fetch the factors of the next layer ahead", yes_no, 0},
    {"blocks", "least blocks per multiprocessor, which limits the registers; auto: by n", held, 0}};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };
static const int initial[PARAMETERS] = {0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0};

/* The values of the macros that compiled_kernel.cuh describes, and what the launch needs. */
typedef struct {
    int per_block, threads, blocks, unroll;
    bool lines, known, column, rows, matrix;
    size_t shared; /* bytes */
} variant_t;

/* Limits of a kernel, and the most blocks per multiprocessor that "auto" considers. */
static const int most_threads = 1024, most_registers = 255, most_blocks = 16;

/* Returns the 32-bit registers that a thread can have if a multiprocessor is to hold so many
 * blocks. */
static int registers(int threads, int blocks)
{
    const int warps = (threads + 31) / 32;
    const int most = NEK_REGISTERS / (32 * warps * blocks);
    return most < most_registers ? most : most_registers;
}

/* Returns the registers that a thread needs: `layered` counts four lines of doubles, `packed`
 * three. */
static int wanted(int n, const variant_t &v)
{
    return v.lines ? 6 * n + 52 : 48 + (v.column ? 4 * n : 16) + (v.rows ? 4 * n : 0);
}

static variant_t variant(int n, const int *choice)
{
    variant_t v;
    v.lines = choice[LAYOUT] == 1;
    v.per_block = atoi(per_block[choice[PER_BLOCK]]);
    v.threads = v.per_block * n * n;
    v.known = choice[SIZES] == 0;
    v.matrix = choice[MATRIX] == 0;
    const bool all = v.known && choice[UNROLL] <= 1 && choice[COLUMN] != 2;
    v.unroll = choice[UNROLL] >= 2 ? atoi(unroll[choice[UNROLL]]) : v.known ? n : 1;
    v.column = choice[COLUMN] == 1 || (choice[COLUMN] == 0 && all);
    v.rows = v.known;
    if (choice[ROWS] == 0)
        v.rows = v.known && wanted(n, v) <= registers(v.threads, 1);
    else
        v.rows = choice[ROWS] == 1;
    v.blocks = choice[BLOCKS] == 0 ? 1 : atoi(held[choice[BLOCKS]]);
    while (choice[BLOCKS] == 0 && v.blocks < most_blocks &&
           (v.blocks + 1) * v.threads <= NEK_THREADS_RESIDENT &&
           registers(v.threads, v.blocks + 1) >= wanted(n, v))
        v.blocks++;
    v.shared = sizeof(double) * nek_compiled_doubles(static_cast<size_t>(n),
                                                     static_cast<size_t>(v.per_block), v.lines,
                                                     v.column, v.matrix);
    return v;
}

static const char *refuse_choice(const void *options, const int *choice)
{
    const nek_config_t *config = static_cast<const nek_config_t *>(options);
    const variant_t v = variant(config->n, choice);
    if (v.lines && (!v.known || choice[UNROLL] > 1 || choice[COLUMN] == 2 || choice[ROWS] != 0))
        return "lines are in registers, unrolled for a known n: sizes, unroll, column and rows "
               "cannot be chosen";
    if (v.column && (!v.known || v.unroll != config->n))
        return "registers have no index: a column in registers needs known sizes and all layers "
               "unrolled";
    if (v.rows && !v.known)
        return "registers have no index: rows in registers need known sizes";
    if (!v.known && choice[UNROLL] == 1)
        return "all layers cannot be unrolled when sizes are passed: their number is not known";
    if (v.threads > most_threads)
        return "so many elements need more threads than a block can have, 1024";
    if (v.blocks * v.threads > NEK_THREADS_RESIDENT)
        return "a multiprocessor holds 2048 threads, and so many blocks have more";
    return v.shared > nek_most_shared() ? "a block cannot have so much shared memory" : nullptr;
}

/* --- compiling --- */

static std::vector<std::string> macros(int n, int64_t elements, const int *choice)
{
    const variant_t v = variant(n, choice);
    std::vector<std::string> all = {"--std=c++17"};
    const auto define = [&](const char *name, int64_t value) {
        all.push_back("-DNEK_" + std::string(name) + "=" + std::to_string(value));
    };
    define("KNOWN", v.known);
    if (v.known) {
        define("N", n);
        define("ELEMENTS", elements);
    }
    define("PER_BLOCK", v.per_block);
    define("THREADS", v.threads);
    define("BLOCKS", v.blocks);
    define("LINES", v.lines);
    define("UNROLL", v.unroll);
    define("COLUMN", v.column);
    define("ROWS", v.rows);
    define("MATRIX", v.matrix);
    define("FACTORS", choice[FACTORS]);
    define("VECTORS", choice[VECTORS]);
    define("PREFETCH", choice[PREFETCH] == 0);
    return all;
}

static bool compile(const std::vector<std::string> &options, int capability, void **image,
                    size_t *bytes, char *why, size_t len)
{
    std::vector<const char *> words;
    for (const std::string &option : options)
        words.push_back(option.c_str());
    return rt_nvrtc_compile(text, "compiled_kernel.cuh", capability, words.data(),
                            static_cast<int>(words.size()), image, bytes, why, len);
}

bool nek_compile(int n, int64_t elements, const int *choice, int capability, void **image,
                 size_t *bytes, char *why, size_t len)
{
    return compile(macros(n, elements, choice), capability, image, bytes, why, len);
}

/* Programs compiled so far in this process, since a tuner comes back to the same point. Each takes
 * some tens of kilobytes; they stay until the end. */
typedef struct {
    std::vector<std::string> options;
    const void *kernel;
} program_t;
static std::vector<program_t> programs;

/* Returns the kernel for these options, compiled now if need be. Ends the program, with NVRTC's
 * first error, if it cannot be compiled. */
static const void *find_kernel(const std::vector<std::string> &options)
{
    for (const program_t &p : programs)
        if (p.options == options)
            return p.kernel;
    const rt_gpu_t *gpu = rt_device_gpu();
    void *image;
    size_t bytes;
    char why[512];
    if (!compile(options, 10 * gpu->major + gpu->minor, &image, &bytes, why, sizeof why))
        rt_refuse(RT_ENVIRONMENT, "--rung compiled cannot run here: %s", why);
    cudaLibrary_t library;
    cudaKernel_t kernel;
    RT_CUDA(cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    RT_CUDA(cudaLibraryGetKernel(&kernel, library, "nek_element"));
    free(image);
    programs.push_back({options, reinterpret_cast<const void *>(kernel)});
    return programs.back().kernel;
}

/* --- running --- */

/* The launch of the last call, because finding one takes longer than a small kernel. */
static struct {
    int n, choice[PARAMETERS];
    int64_t elements;
    variant_t variant;
    const void *kernel;
    double D[NEK_MAX_N * NEK_MAX_N]; /* as large as the argument is if n is not known */
} last;

static void find_launch(const nek_view_t *view)
{
    const int *choice = view->choice ? view->choice : initial;
    if (last.n == view->n && last.elements == view->elements &&
        memcmp(last.choice, choice, sizeof last.choice) == 0)
        return;
    last.n = 0; /* not valid if the compilation below ends the program */
    last.variant = variant(view->n, choice);
    last.kernel = find_kernel(macros(view->n, view->elements, choice));
    nek_allow_shared(last.kernel, last.variant.shared);
    memcpy(last.D, view->D_host, sizeof(double) * static_cast<size_t>(view->n * view->n));
    memcpy(last.choice, choice, sizeof last.choice);
    last.elements = view->elements;
    last.n = view->n;
}

/* w = D^T G D u on each element. */
static void compiled_ax(const nek_view_t *view, const double *u, double *w)
{
    find_launch(view);
    const variant_t &v = last.variant;
    const unsigned blocks =
        rt_blocks(static_cast<size_t>(view->elements), static_cast<unsigned>(v.per_block));
    int n = view->n,
        elements = static_cast<int>(view->elements); /* ignored if they are compiled in */
    const double *D = view->D, *G = view->G;
    void *arguments[] = {last.D, &D, &G, &u, &w, &n, &elements};
    RT_CUDA(cudaLaunchKernel(last.kernel, dim3(blocks), dim3(static_cast<unsigned>(v.threads)),
                             arguments, v.shared, rt_stream()));
}

/* Compiles now, so that no iteration has to wait for it. */
static void set_up(nek_solver_t *s)
{
    find_launch(&s->view);
}

static const char *refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const char *reason = nek_refuse(self, options, why);
    if (reason)
        return reason;
    return rt_device_gpu() ? rt_nvrtc_why_not() : nullptr; /* without: the driver says so */
}

extern "C" const nek_kernels_t nek_compiled = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = PARAMETERS,
             .refuse = refuse,
             .refuse_choice = refuse_choice},
    .ax = compiled_ax,
    .vector = &nek_vector_cuda,
    .set_up = set_up,
};
