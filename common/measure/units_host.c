/*
 * measure/units_host.c - the caches of CPUs, and barriers of threads. Each thread reads a set of
 * its own in whole vectors and adds the words up: sums of integers are exact, and cost less than
 * the loads.
 */
#include "config.h"
#if RT_HAVE_HWLOC
#include <hwloc.h>
#endif
#include "base/mem.h"
#include "base/threads.h"
#include "machine/comm.h"
#include "measure/ceiling_loops.h"

/* Returns the bytes of a cache of that level for each of the threads that may share it; 0: unknown.
 * (sysconf may count the last level of a whole host.) */
static size_t cache_part(int level)
{
    size_t bytes = 0;
#if RT_HAVE_HWLOC
    hwloc_topology_t all;
    if (hwloc_topology_init(&all) != 0)
        return 0;
    if (hwloc_topology_load(all) == 0) {
        const int depth = hwloc_get_cache_type_depth(all, (unsigned)level, HWLOC_OBJ_CACHE_UNIFIED);
        const hwloc_obj_t at = hwloc_get_obj_by_depth(all, depth, 0);
        const int threads = rt_threads() * rt_comm_local_size();
        const int cores =
            at ? hwloc_get_nbobjs_inside_cpuset_by_type(all, at->cpuset, HWLOC_OBJ_CORE) : 0;
        if (cores > 0)
            bytes = at->attr->cache.size / (size_t)(cores < threads ? cores : threads);
    }
    hwloc_topology_destroy(all);
#endif
    return bytes;
}

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
typedef uint64_t vector_t __attribute__((vector_size(VECTOR)));
enum { CHAINS = 8, LANES = VECTOR / sizeof(uint64_t), READ = 64 << 20 };

static struct {
    vector_t *set;     /* of thread 0; those of the others follow */
    size_t n, steps;   /* vectors of a set, a multiple of CHAINS; a run reads about READ bytes */
    uint64_t of, sums; /* all sets; what was read */
} reads;

/* Returns the bytes of a thread's set: 16 KiB in L1, else half of its part of that level. One that
 * fits the level below shows nothing. */
static size_t set_of(int level)
{
    const size_t part = level == 1 ? 32 << 10 : cache_part(level);
    return level == 3 && part / 2 <= cache_part(2) ? 0 : (part ? part : 256 << 10) / 2;
}

static double reads_begin(int level)
{
    const size_t set = set_of(level);
    uint64_t sum = 0;
    if (set == 0)
        return 0;
    reads.n = set / (CHAINS * VECTOR) * CHAINS;
    reads.steps = 1 + READ / set;
    reads.set = rt_alloc((size_t)rt_threads() * reads.n, VECTOR, RT_HOST);
#pragma omp parallel reduction(+ : sum)
    {
        uint64_t *mine = (uint64_t *)(void *)(reads.set + (size_t)rt_thread() * reads.n);
        for (size_t i = 0; i < reads.n * LANES; i++)
            sum += mine[i] = rt_unit_word(i);
    }
    reads.of = sum;
    return (double)rt_threads() * (double)(reads.n * VECTOR) * (double)reads.steps;
}

static void reads_run(void *unused)
{
    uint64_t sums = 0;
    (void)unused;
#pragma omp parallel reduction(+ : sums)
    {
        const vector_t *set = reads.set + (size_t)rt_thread() * reads.n;
        const size_t n = reads.n;
        vector_t sum[CHAINS] = {{0}};
        for (size_t step = 0; step < reads.steps; step++) {
            __asm__ volatile("" ::: "memory"); /* else a compiler may read once and multiply */
            for (size_t i = 0; i < n; i += CHAINS)
                for (size_t j = 0; j < CHAINS; j++)
                    sum[j] += set[i + j];
        }
        for (int j = 0; j < CHAINS; j++)
            for (int lane = 0; lane < (int)LANES; lane++)
                sums += sum[j][lane];
    }
    reads.sums = sums;
}

static bool reads_right(void)
{
    return reads.sums == reads.of * reads.steps;
}

static void reads_end(void)
{
    RT_FREE(reads.set, RT_HOST);
}

/* In every LOOK-th step a thread leaves the number of the step before the barrier, and reads that
 * of its neighbour behind it. */
enum { BARRIERS = 64, LOOK = 8, LINE = 64 / sizeof(int) };
static int *step_of; /* [threads * LINE], counted on from run to run */
static int last, early;

static double barriers_begin(int unused)
{
    (void)unused;
    const size_t n = (size_t)rt_threads() * LINE;
    step_of = RT_NEW(int, n, RT_HOST);
    rt_fill(step_of, RT_HOST, 0, n * sizeof *step_of);
    last = early = 0;
    return rt_threads() > 1 ? BARRIERS : 0;
}

static void barriers_run(void *unused)
{
    int seen_early = 0;
    (void)unused;
#pragma omp parallel reduction(+ : seen_early)
    {
        const int me = rt_thread(), next = (me + 1) % rt_threads_here();
        for (int step = last + 1; step <= last + BARRIERS; step++) {
            int seen = step;
#pragma omp atomic write
            step_of[me * LINE] = step;
#pragma omp barrier
            if (step % LOOK == 0) {
#pragma omp atomic read
                seen = step_of[next * LINE];
            }
            seen_early += seen < step;
        }
    }
    last += BARRIERS;
    early += seen_early;
}

static bool barriers_right(void)
{
    return early == 0;
}

static void barriers_end(void)
{
    RT_FREE(step_of, RT_HOST);
}

const rt_unit_row_t rt_units_host[] = {
    {RT_UNIT_LLC, 3, reads_begin, reads_run, reads_right, reads_end},
    {RT_UNIT_L2, 2, reads_begin, reads_run, reads_right, reads_end},
    {RT_UNIT_L1, 1, reads_begin, reads_run, reads_right, reads_end},
    {RT_UNIT_THREAD_BARRIER, 0, barriers_begin, barriers_run, barriers_right, barriers_end},
    {RT_UNITS, 0, NULL, NULL, NULL, NULL}};
