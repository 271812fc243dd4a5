/*
 * base/threads.h - the number of threads, and which one this is. Without OpenMP there is one
 * thread. Include config.h first.
 */
#ifndef RT_THREADS_H
#define RT_THREADS_H

#if defined(RT_HAVE_OPENMP) && RT_HAVE_OPENMP
#include <omp.h>
#else
#define omp_get_max_threads()  1
#define omp_set_num_threads(n) ((void)(n))
#define omp_get_num_threads()  1
#define omp_get_thread_num()   0
#endif

/* Returns the number of threads of the next parallel region. */
static inline int rt_threads(void)
{
    return omp_get_max_threads();
}

/* Sets the number of threads of later parallel regions. */
static inline void rt_threads_set(int threads)
{
    omp_set_num_threads(threads);
}

/* Return the number of threads of the current parallel region, and the number of this thread in
 * it. */
static inline int rt_threads_here(void)
{
    return omp_get_num_threads();
}

static inline int rt_thread(void)
{
    return omp_get_thread_num();
}

#endif
