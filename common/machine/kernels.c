/*
 * machine/kernels.c - records launches, and asks the runtime about their kernels.
 *
 * <<<>>> becomes a call of __cudaLaunchKernel (CUDA 12.8 and later) or of cudaLaunchKernel; a
 * launch with attributes calls cudaLaunchKernelExC. CUDA_WRAP (m4/rt_cuda.m4) makes the linker send
 * all of them here. The runtime is asked when the report is written, never in a launch, because
 * that is not allowed while a graph is captured.
 */
#include "config.h"
#include "machine/kernels.h"
#include <stdlib.h>
#include <string.h>
#include "machine/cuda.h"
#include "io/json.h"

enum { MOST = 64, NAME = 160 };

/* A kernel with one shape of block. */
typedef struct {
    const void *function; /* or a cudaKernel_t, which the runtime takes as well */
    int threads;
    size_t dynamic_shared;
    long long blocks; /* of the largest launch */
    int since;        /* the last mark before it was last seen */
} seen_t;

static struct {
    seen_t list[MOST];
    int n, marks;
} self;

void rt_kernels_clear(void)
{
    self.n = 0;
    self.marks = 0;
}

void rt_kernels_mark(void)
{
    self.marks++;
}

static bool is(const seen_t *s, const void *function, int threads, size_t shared)
{
    return s->function == function && s->threads == threads && s->dynamic_shared == shared;
}

static void note(const void *function, dim3 grid, dim3 block, size_t shared)
{
    const int threads = (int)(block.x * block.y * block.z);
    const long long blocks = (long long)grid.x * grid.y * grid.z;
    int i = 0;
    while (i < self.n && !is(&self.list[i], function, threads, shared))
        i++;
    if (i == MOST)
        return;
    seen_t *s = &self.list[i];
    if (i == self.n) {
        *s = (seen_t){.function = function, .threads = threads, .dynamic_shared = shared};
        self.n++;
    }
    s->blocks = blocks > s->blocks ? blocks : s->blocks;
    s->since = self.marks;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* These names are the linker's: calls of f go to __wrap_f, and f itself is called __real_f. */
cudaError_t __real_cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __real_cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t,
                                               cudaStream_t);
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t __wrap_cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t,
                                               cudaStream_t);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);

cudaError_t __wrap_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream)
{
    note(function, grid, block, shared);
    return __real_cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                      size_t shared, cudaStream_t stream)
{
    note((const void *)kernel, grid, block, shared);
    return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t __wrap_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                               void **arguments, size_t shared, cudaStream_t stream)
{
    note(function, grid, block, shared);
    return __real_cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, stream);
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                       void **arguments)
{
    note(function, config->gridDim, config->blockDim, config->dynamicSmemBytes);
    return __real_cudaLaunchKernelExC(config, function, arguments);
}

/* ---- the kernels ----------------------------------------------------------------------------- */

typedef struct {
    const seen_t *seen;
    char name[NAME];
    int registers, resident; /* per thread; blocks per multiprocessor */
    size_t local, shared;    /* bytes: spills and arrays per thread; static and dynamic per block */
    double occupancy;
} kernel_t;

/* From the C++ runtime, which CUDA's objects need anyway. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* Writes the name as in the source, without return type, arguments and anonymous namespaces. */
static void readable(const char *mangled, char name[NAME])
{
    static const char nameless[] = "(anonymous namespace)::";
    int status = 0, length = 0, depth = 0;
    char *whole = __cxa_demangle(mangled, NULL, NULL, &status);
    const char *from = whole ? whole : mangled;
    if (strncmp(from, "void ", 5) == 0)
        from += 5;
    for (; *from && length < NAME - 1; from++) {
        if (strncmp(from, nameless, sizeof nameless - 1) == 0) {
            from += sizeof nameless - 2;
            continue;
        }
        depth += (*from == '<') - (*from == '>');
        if (*from == '(' && depth == 0)
            break;
        name[length++] = *from;
    }
    name[length] = '\0';
    free(whole);
}

/* Returns false if the runtime does not know the kernel any more. */
static bool ask(const seen_t *seen, kernel_t *k)
{
    struct cudaFuncAttributes made;
    const char *mangled = "?";
    *k = (kernel_t){.seen = seen};
    if (cudaFuncGetAttributes(&made, seen->function) != cudaSuccess ||
        cudaFuncGetName(&mangled, seen->function) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&k->resident, seen->function, seen->threads,
                                                      seen->dynamic_shared) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    int most_threads;
    RT_CUDA(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor,
                                   rt_device_gpu()->ordinal));
    readable(mangled, k->name);
    k->registers = made.numRegs;
    k->local = made.localSizeBytes;
    k->shared = made.sharedSizeBytes + seen->dynamic_shared;
    k->occupancy = (double)(k->resident * ((seen->threads + 31) / 32 * 32)) / most_threads;
    return true;
}

/* Finds the next kernel to report, from *i on; returns false if there is none. */
static bool next(int *i, kernel_t *k)
{
    int newest = 0;
    for (int j = 0; j < self.n; j++)
        newest = self.list[j].since > newest ? self.list[j].since : newest;
    for (; *i < self.n; (*i)++)
        if (self.list[*i].since == newest && ask(&self.list[*i], k)) {
            (*i)++;
            return true;
        }
    return false;
}

void rt_kernels_json(json_t *row)
{
    kernel_t k;
    json_t *all = NULL;
    for (int i = 0; next(&i, &k);) {
        all = all ? all : rt_json_array(row, "kernels");
        json_t *o = rt_json_append_object(all);
        rt_json_text(o, "name", k.name);
        rt_json_int(o, "blocks", k.seen->blocks);
        rt_json_int(o, "threads", k.seen->threads);
        rt_json_int(o, "registers", k.registers);
        rt_json_int(o, "local_bytes", (long long)k.local);
        rt_json_int(o, "shared_bytes", (long long)k.shared);
        rt_json_int(o, "blocks_per_multiprocessor", k.resident);
        rt_json_real(o, "occupancy", k.occupancy);
    }
}

void rt_kernels_print(FILE *to)
{
    kernel_t k;
    bool any = false;
    for (int i = 0; next(&i, &k); any = true) {
        if (!any)
            fprintf(to, "%9s %8s %7s %9s %6s %7s %9s  kernel\n", "blocks", "threads", "a multi",
                    "registers", "local", "shared", "occupancy");
        fprintf(to, "%9lld %8d %7d %9d %6zu %7zu %7.0f %%  %s\n", k.seen->blocks, k.seen->threads,
                k.resident, k.registers, k.local, k.shared, 100 * k.occupancy, k.name);
    }
}
