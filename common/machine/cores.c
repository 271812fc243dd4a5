/* machine/cores.c - affinity, the processor's name, and the number of threads. */
#define _GNU_SOURCE /* sched_getaffinity, CPU_* */
#include "config.h"
#include "machine/cores.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#if RT_HAVE_OPENMP
#include <ctype.h>
#include <omp.h>
#include <pthread.h>
#endif
#include "base/text.h"
#include "machine/comm.h"

enum { MAX_CPUS = 4096 };
/* Bytes of stack that our code may use in a thread. */
enum { STACK_NEEDED = 512 << 10, MAIN_STACK_NEEDED = 1 << 20 };

static rt_cpu_t cpu;

const rt_cpu_t *rt_device_cpu(void)
{
    return &cpu;
}

typedef struct {
    cpu_set_t part[MAX_CPUS / CPU_SETSIZE]; /* the CPU_*_S macros take it as one long mask */
} cores_t;

/* Finds the cores that this process may use. With OMP_PROC_BIND the OpenMP runtime has already
 * bound this thread to one place, and only the list of places still says what the process was
 * given. */
static void cores_get(cores_t *cores)
{
    memset(cores, 0, sizeof *cores);
    if (sched_getaffinity(0, sizeof *cores, cores->part) != 0)
        CPU_SET_S(0, sizeof *cores, cores->part); /* a machine larger than MAX_CPUS */
#if RT_HAVE_OPENMP
    if (omp_get_proc_bind() == omp_proc_bind_false)
        return;
    for (int place = 0; place < omp_get_num_places(); place++) {
        const int n = omp_get_place_num_procs(place);
        int *cpu = n > 0 ? malloc((size_t)n * sizeof *cpu) : NULL;
        if (!cpu)
            continue;
        omp_get_place_proc_ids(place, cpu);
        for (int i = 0; i < n; i++)
            if (cpu[i] >= 0 && cpu[i] < MAX_CPUS)
                CPU_SET_S((size_t)cpu[i], sizeof *cores, cores->part);
        free(cpu);
    }
#endif
}

static bool cores_has(const cores_t *cores, int cpu)
{
    return cpu < MAX_CPUS && CPU_ISSET_S((size_t)cpu, sizeof *cores, cores->part);
}

/* Writes "0-15,32"; ends in "..." if that does not fit. */
static void cores_format(const cores_t *cores, char *text, size_t len)
{
    size_t used = 0;
    text[0] = '\0';
    for (int first = 0; first < MAX_CPUS; first++) {
        if (!cores_has(cores, first))
            continue;
        int last = first;
        while (cores_has(cores, last + 1))
            last++;
        char range[32];
        const char *comma = used ? "," : "";
        if (last > first)
            snprintf(range, sizeof range, "%s%d-%d", comma, first, last);
        else
            snprintf(range, sizeof range, "%s%d", comma, first);
        if (used + strlen(range) + sizeof "..." > len) {
            strcpy(text + used, "...");
            return;
        }
        strcpy(text + used, range);
        used += strlen(range);
        first = last;
    }
}

/* Reads the line "model name : ..." of /proc/cpuinfo, which not every architecture has. */
static void cpu_model(char *model, size_t len)
{
    snprintf(model, len, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[4096]; /* the line of flags is long */
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(model, len, "%.*s", (int)len - 1, colon);
        break;
    }
    fclose(file);
}

/* Returns how many ranks on this node were given exactly the same cores as this one, itself
 * included. A launcher that binds has divided the cores already; one that does not leaves that to
 * us. Collective. */
static int ranks_on_these_cores(const cores_t *cores)
{
    const size_t size = (size_t)rt_comm_local_size();
    cores_t *all = calloc(size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "out of memory for the cores of %zu ranks", size);
    rt_comm_local_allgather(cores, sizeof *cores, all);
    int sharers = 0;
    for (size_t r = 0; r < size; r++)
        sharers += memcmp(&all[r], cores, sizeof *cores) == 0;
    free(all);
    return sharers;
}

/* --- can the threads be started? --- */

/* OpenMP ends the program, with a status that would mean a wrong result, or crashes when it cannot
 * start its threads. So as many are tried before it starts any, with the stack that it gives them. */

#if RT_HAVE_OPENMP

/* Returns the stack that the environment asks for in OpenMP's way, "512" KiB or "2M"; 0: none. */
static size_t stack_asked(void)
{
    const char *text = getenv("OMP_STACKSIZE"), *unit = "BKMG";
    char *end;
    if (!text && !(text = getenv("GOMP_STACKSIZE")))
        return 0;
    const unsigned long long number = strtoull(text, &end, 10);
    end += strspn(end, " \t");
    const char *found = *end ? strchr(unit, toupper((unsigned char)*end)) : unit + 1;
    return found ? (size_t)number << (10 * (found - unit)) : 0;
}

static void *wait_at_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Starts n threads, all there at once, and ends them. Returns 0, or the errno of why there were only
 * *started; EINVAL: their stack is too small. */
static int try_threads(int n, size_t stack, int *started)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t attributes;
    pthread_t *thread = malloc((size_t)n * sizeof *thread);
    int error = thread ? 0 : ENOMEM;
    pthread_attr_init(&attributes);
    if (stack > 0)
        (void)pthread_attr_setstacksize(&attributes, stack); /* too small: OpenMP ignores it too */
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < STACK_NEEDED)
        error = EINVAL;
    pthread_mutex_lock(&gate);
    for (*started = 0; !error && *started < n; *started += !error)
        error = pthread_create(&thread[*started], &attributes, wait_at_gate, &gate);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < *started; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attributes);
    free(thread);
    return error;
}

/* Says in *fault what is wrong with that number of threads on this rank. */
static void check_threads(long long n, rt_text_t *fault)
{
    const char *remedy = "use fewer (--threads), or raise the limits (ulimit -u, ulimit -v)";
    const size_t stack = stack_asked();
    int started = 0;
    if (n < 1 || n > RT_MAX_THREADS) {
        rt_text(fault, "%lld threads per rank: from 1 to %d are possible; set --threads", n,
                RT_MAX_THREADS);
        return;
    }
    if (n > omp_get_thread_limit()) {
        rt_text(fault, "%lld threads per rank: OMP_THREAD_LIMIT allows %d", n,
                omp_get_thread_limit());
        return;
    }
    const int error = n > 1 ? try_threads((int)n - 1, stack, &started) : 0;
    if (error == EINVAL)
        rt_text(fault, "the stack of OpenMP's threads is too small: set OMP_STACKSIZE=2M");
    else if (error)
        rt_text(fault, "%lld threads per rank: only %d can be started (%s); %s", n, started + 1,
                strerror(error), remedy);
}

static long long threads_wanted(int asked, int fair)
{
    if (asked > 0)
        return asked;
    const int most = getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : fair > 1 ? fair : 1;
    return most < omp_get_thread_limit() ? most : omp_get_thread_limit();
}

#endif

/* The main thread works too. Its stack grows up to a limit, and then the program crashes. */
static void check_main_stack(rt_text_t *fault)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < MAIN_STACK_NEEDED)
        rt_text(fault,
                "the limit of the stack is %lld KiB, and %d are needed: raise it (ulimit -s)",
                (long long)limit.rlim_cur >> 10, MAIN_STACK_NEEDED >> 10);
}

void rt_cores_select(int threads)
{
    cores_t cores;
    rt_text_t fault = {""};
    cores_get(&cores);
    cpu_model(cpu.model, sizeof cpu.model);
    cores_format(&cores, cpu.core_set, sizeof cpu.core_set);
    cpu.cores = CPU_COUNT_S(sizeof cores, cores.part);
    const int fair = cpu.cores / ranks_on_these_cores(&cores);
    check_main_stack(&fault);
#if RT_HAVE_OPENMP
    const long long wanted = threads_wanted(threads, fair);
    if (!*fault.text)
        check_threads(wanted, &fault);
#else
    (void)fair;
    const int wanted = 1;
    if (threads > 1)
        rt_text(&fault, "--threads %d: this build has no OpenMP, so one thread is all there is",
                threads);
#endif
    if (rt_comm_agree(fault.text, sizeof fault.text) >= 0)
        rt_refuse(RT_ENVIRONMENT, "%s", fault.text);
    cpu.threads = (int)wanted;
#if RT_HAVE_OPENMP
    omp_set_dynamic(0);
    omp_set_num_threads(cpu.threads);
#endif
}
