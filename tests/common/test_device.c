/*
 * test_device.c - the choice of cores and GPU, and the messages when it is impossible.
 *
 * Checks of programs that must die come first, because CUDA does not survive a fork.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "config.h"
#include "machine/device.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if RT_HAVE_OPENMP
#include <omp.h>
#endif

#include "check.h"
#include "machine/comm.h"
#include "base/error.h"
#include "machine/kokkos.h"

static void test_refusals(void)
{
    static const char *const nonsense[] = {
        "banana", "", "0,", ",0", "-1", "1,x", "0 1", "gpu", "99999999999999999999", "4294967296"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        CHECK_DIES(RT_USAGE, nonsense[i], { rt_device_select(nonsense[i], false, 0); });
        CHECK_DIES(RT_USAGE, "nor numbers of GPUs", { rt_device_select(nonsense[i], false, 0); });
    }
    /* No machine has a GPU 63; the cause that is given depends on the machine. */
    CHECK_DIES(RT_ENVIRONMENT, "--device 63: ", { rt_device_select("63", false, 0); });
    CHECK_DIES(RT_ENVIRONMENT,
               RT_HAVE_CUDA || rt_kokkos_gpus() >= 0 ? "use --device" : "this build has no CUDA",
               { rt_device_select("63", false, 0); });
#if !RT_HAVE_OPENMP
    CHECK_DIES(RT_USAGE, "no OpenMP", { rt_device_select("cpu", false, 2); });
#endif
}

/* Returns the number of cores in "0-3,8". */
static int count_cores(const char *set)
{
    int n = 0;
    while (*set) {
        char *end;
        const long first = strtol(set, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        n += (int)(last - first + 1);
        set = *end == ',' ? end + 1 : end + strlen(end);
    }
    return n;
}

/* An abort() that is not Kokkos's own, say of malloc about a damaged heap, must not pass for one. (That Kokkos's is one,
 * gpu_lost.sh shows.) */
static void test_abort(void)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = rt_kokkos_why_not() ? -1 : fork();
    if (child < 0)
        return;
    if (child == 0) {
        rt_kokkos_start(1, -1);
        abort();
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_cpu(void)
{
    rt_device_select("cpu", false, 1);
    const rt_cpu_t *cpu = rt_device_cpu();
    CHECK(rt_device_gpu() == NULL && rt_device_stream() == NULL);
    CHECK_TEXT(rt_device_why_not(), "--device cpu was given");
    CHECK(cpu->threads == 1);
    CHECK(cpu->cores >= 1);
    CHECK(strstr(cpu->core_set, "...") || count_cores(cpu->core_set) == cpu->cores);
    CHECK(strlen(cpu->model) > 0);
    rt_device_synchronize(); /* with nothing to wait for */
}

/* Returns what rt_device_print prints. */
static const char *printed(void)
{
    FILE *file = tmpfile();
    rt_device_print(file);
    return check_written(file);
}

#if RT_HAVE_OPENMP
static void test_threads(void)
{
    const int many = rt_device_cpu()->cores + 1;
    rt_device_select("cpu", false, many);
    CHECK(rt_device_cpu()->threads == many);
    CHECK(omp_get_max_threads() == many);
    CHECK(strstr(printed(), "(more than cores)") != NULL);
    rt_device_select("cpu", false, 1);
    CHECK(omp_get_max_threads() == 1);
    CHECK(strstr(printed(), "1 thread,") != NULL);

    /* Without --threads: the variable of OpenMP, else one thread per core. */
    omp_set_num_threads(3);
    setenv("OMP_NUM_THREADS", "3", 1);
    rt_device_select("cpu", false, 0);
    CHECK(rt_device_cpu()->threads == 3);
    unsetenv("OMP_NUM_THREADS");
    rt_device_select("cpu", false, 0);
    CHECK(rt_device_cpu()->threads == rt_device_cpu()->cores);
}
#endif

/* A launcher has given us only the last of our cores. */
static void test_affinity(void)
{
    cpu_set_t all, one;
    if (getenv("OMP_PROC_BIND") || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    int last = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &all) ? i : last;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    rt_device_select("cpu", false, 0);
    char want[16];
    snprintf(want, sizeof want, "%d", last);
    CHECK_TEXT(rt_device_cpu()->core_set, want);
    CHECK(rt_device_cpu()->cores == 1);
    CHECK(rt_device_cpu()->threads == 1);
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
}

static void test_print(void)
{
    const char *text = printed();
    CHECK(strncmp(text, "rank 0: ", 8) == 0);
    CHECK(strstr(text, rt_device_cpu()->core_set) != NULL);
    CHECK(strstr(text, rt_device_gpu() ? rt_device_gpu()->uuid : rt_device_why_not()) != NULL);
    CHECK(text[strlen(text) - 1] == '\n' && strchr(text, '\n') == text + strlen(text) - 1);
}

/* What CUDA says of its GPU. */
static void test_cuda(const rt_gpu_t *gpu)
{
    CHECK(rt_device_stream() != NULL);
    CHECK(strlen(gpu->uuid) == 40 && strncmp(gpu->uuid, "GPU-", 4) == 0 && gpu->uuid[12] == '-');
    CHECK(gpu->major >= 5 && gpu->l2 > 0);
    CHECK(gpu->driver >= 11000);
}

static void test_gpu(void)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    CHECK_TEXT(rt_device_why_not(), "");
    CHECK(strlen(gpu->name) > 0 && strlen(gpu->uuid) >= 10 && strlen(gpu->pci) >= 7);
    CHECK(gpu->multiprocessors > 0 && gpu->memory > (size_t)1 << 28);
    if (RT_HAVE_CUDA)
        test_cuda(gpu);
    rt_device_synchronize();
    rt_device_select("0", false, 0);
    CHECK(rt_device_gpu() && rt_device_gpu()->ordinal == 0);
    rt_device_select("cpu", false, 0); /* and back: nothing of the GPU may remain */
    CHECK(rt_device_gpu() == NULL && rt_device_stream() == NULL);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    CHECK_TEXT(rt_kind_name(RT_CPU), "cpu");
    CHECK_TEXT(rt_kind_name(RT_CUDA), "cuda");
    CHECK_TEXT(rt_kind_name(RT_KOKKOS), "kokkos");
    test_refusals();
    test_abort();
    test_cpu();
#if RT_HAVE_OPENMP
    test_threads();
#endif
    test_affinity();
    rt_device_select("auto", false, 0);
    test_print();
    if (rt_device_gpu()) {
        test_gpu();
    } else {
        CHECK(strlen(rt_device_why_not()) > 0 && rt_device_stream() == NULL);
        printf("not tested: a GPU (%s)\n", rt_device_why_not());
    }
    rt_device_release();
    CHECK(rt_device_gpu() == NULL);
    rt_comm_finish();
    return check_done();
}
