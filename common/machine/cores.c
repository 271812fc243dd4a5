/* machine/cores.c - affinity, the processor's name, and the number of threads. */
#define _GNU_SOURCE /* sched_getaffinity, CPU_* */
#include "config.h"
#include "machine/cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if RT_HAVE_OPENMP
#include <omp.h>
#endif
#include "base/error.h"
#include "machine/comm.h"

enum { HOST = 256, MAX_CPUS = 4096 };

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

typedef struct {
    char host[HOST];
    cores_t cores;
} place_t;

/* Returns how many ranks on this host were given exactly the same cores as this one, itself
 * included. A launcher that binds has divided the cores already; one that does not leaves that to
 * us. Collective. */
static int ranks_on_these_cores(const cores_t *cores)
{
    const size_t size = (size_t)rt_comm_size();
    place_t mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, sizeof mine.host, "%s", rt_comm_host());
    mine.cores = *cores;
    place_t *all = calloc(size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "out of memory for the places of %zu ranks", size);
    rt_comm_allgather(&mine, sizeof mine, all);
    int sharers = 0;
    for (size_t r = 0; r < size; r++)
        sharers += memcmp(&all[r], &mine, sizeof mine) == 0;
    free(all);
    return sharers;
}

void rt_cores_select(int threads)
{
    cores_t cores;
    cores_get(&cores);
    cpu_model(cpu.model, sizeof cpu.model);
    cores_format(&cores, cpu.core_set, sizeof cpu.core_set);
    cpu.cores = CPU_COUNT_S(sizeof cores, cores.part);
#if RT_HAVE_OPENMP
    const int fair = cpu.cores / ranks_on_these_cores(&cores);
    if (threads > 0)
        cpu.threads = threads;
    else if (getenv("OMP_NUM_THREADS"))
        cpu.threads = omp_get_max_threads();
    else
        cpu.threads = fair > 1 ? fair : 1;
    omp_set_num_threads(cpu.threads);
#else
    (void)ranks_on_these_cores;
    if (threads > 1)
        rt_refuse(RT_USAGE, "--threads %d: this build has no OpenMP, so one thread is all there is",
                  threads);
    cpu.threads = 1;
#endif
}
