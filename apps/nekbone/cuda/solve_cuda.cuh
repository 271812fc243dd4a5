/*
 * solve_cuda.cuh - the kernels of the preconditioners on a GPU: the text of boxes.h, an element per
 * group of threads, a point of the grid per thread.
 *
 * A patch of m^3 points has m^2 lines along each direction. A thread takes a line into registers,
 * multiplies it by a matrix from shared memory, and puts it back: five sweeps, since the two along z
 * follow each other in registers. Small patches share a block.
 */
#ifndef NEK_SOLVE_CUDA_CUH
#define NEK_SOLVE_CUDA_CUH

#include "nek_cuda.cuh"
#include "../boxes.h"

/* Threads of a kernel over points, and those that a block of elements has at least. */
enum { NEK_POINT_THREADS = 256, NEK_TEAM_THREADS = 128 };

/* The threads of a block that work on one element. */
struct nek_team {
    int id, of;
    __device__ __forceinline__ int member() const
    {
        return id;
    }
    __device__ __forceinline__ int size() const
    {
        return of;
    }
    __device__ __forceinline__ void barrier() const
    {
        __syncthreads();
    }
};

/* The threads per element of the patch kernel: one per line. */
constexpr int nek_patch_threads(int P)
{
    return P * P < NEK_TEAM_THREADS ? NEK_TEAM_THREADS : (P * P + 31) / 32 * 32;
}

extern const nek_precond_ops_t nek_precond_ops_cuda;

#endif
