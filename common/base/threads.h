/*
 * base/threads.h - how many threads there are and shall be, and which one this is; one without
 * OpenMP. Include config.h first.
 */
#ifndef RT_THREADS_H
#define RT_THREADS_H

#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
#include <omp.h>
#endif

/* Of the next parallel region. */
static inline int rt_threads(void)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* For those to come. */
static inline void rt_threads_set(int threads)
{
#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

/* Of the parallel region that this is called in, and this thread's number in it. */
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
