/* machine/cublas.c - cuBLAS: one handle per lane, since streams that share one share its
 * workspace. */
#include "config.h"
#include "machine/cublas.h"
#include "base/error.h"

#if RT_HAVE_CUBLAS
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>

static struct {
    bool tried;
    char why_not[512]; /* "" if it can be used */
    cublasHandle_t handle[RT_CUBLAS_LANES];
    cublasStatus_t (*create)(cublasHandle_t *);
    cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const double *, const double *, int, long long, const double *, int,
                           long long, const double *, double *, int, long long, int);
} cublas;

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        snprintf(cublas.why_not, sizeof cublas.why_not, "cuBLAS has no %s", name);
    return found;
}

/* Loads the library of the CUDA version that this build was made with: as the system's loader finds
 * it, else from the toolkit of this build. Linking it would keep a program from starting on every
 * machine without the toolkit, and make all programs start more slowly. */
static void *load_library(void)
{
    char file[64], path[512];
    snprintf(file, sizeof file, "libcublas.so.%d", CUDART_VERSION / 1000);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    /* Quotes the loader on the first try: the second folder may be that of another machine. */
    snprintf(
        cublas.why_not, sizeof cublas.why_not,
        "cuBLAS cannot be loaded: %s (it comes with the CUDA toolkit; LD_LIBRARY_PATH may name "
        "its folder)",
        dlerror());
    snprintf(path, sizeof path, "%s/%s", RT_TOOLKIT_FOLDER, file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void load(void)
{
    void *library = load_library();
    if (!library)
        return;
    cublas.why_not[0] = 0;
    /* POSIX allows these casts: addresses of data and of functions are of one kind. */
    *(void **)&cublas.create = find(library, "cublasCreate_v2");
    *(void **)&cublas.set_stream = find(library, "cublasSetStream_v2");
    *(void **)&cublas.gemm = find(library, "cublasDgemmStridedBatched");
}

const char *rt_cublas_why_not(void)
{
    if (!cublas.tried) {
        cublas.tried = true;
        load();
    }
    return cublas.why_not[0] ? cublas.why_not : NULL;
}

static void check(cublasStatus_t status, const char *call)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        rt_die(RT_ENVIRONMENT, "cuBLAS: %s ended with status %d", call, (int)status);
}

void rt_cublas_products(int lane, void *stream, int m, int n, int k, int count,
                        rt_cublas_matrix_t A, rt_cublas_matrix_t B, bool add, double *C)
{
    const double one = 1, beta = add ? 1 : 0;
    RT_EXPECT(!rt_cublas_why_not(), RT_USAGE, "%s", rt_cublas_why_not());
    cublasHandle_t *handle = &cublas.handle[lane];
    if (!*handle)
        check(cublas.create(handle), "cublasCreate");
    check(cublas.set_stream(*handle, (cudaStream_t)stream), "cublasSetStream");
    check(cublas.gemm(*handle, A.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                      B.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &one, A.at,
                      A.transposed ? k : m, A.stride, B.at, B.transposed ? n : k, B.stride, &beta,
                      C, m, (long long)m * n, count),
          "cublasDgemmStridedBatched");
}

#else

const char *rt_cublas_why_not(void)
{
    return "this build has no cuBLAS: run configure again with --with-cublas, which says what is "
           "missing";
}

void rt_cublas_products(int lane, void *stream, int m, int n, int k, int count,
                        rt_cublas_matrix_t A, rt_cublas_matrix_t B, bool add, double *C)
{
    (void)lane, (void)stream, (void)m, (void)n, (void)k, (void)count, (void)A, (void)B, (void)add;
    (void)C;
    RT_EXPECT(false, RT_USAGE, "%s", rt_cublas_why_not());
}

#endif
