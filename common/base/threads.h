/*
 * base/threads.h - the number of threads, and which one this is. Without OpenMP there is one
 * thread. Include config.h first.
 */
#ifndef RT_THREADS_H
#define RT_THREADS_H

#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
#include <omp.h>
#endif

/* Returns the number of threads of the next parallel region. */
static inline int rt_threads(void)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Sets the number of threads of later parallel regions. */
static inline void rt_threads_set(int threads)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

/* Return the number of threads of the current parallel region, and the number of this thread in
 * it. */
static inline int rt_threads_here(void)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    return omp_get_num_threads();
#else
    return 1;
#endif
}

static inline int rt_thread(void)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
