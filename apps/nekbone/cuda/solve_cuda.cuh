/*
 * solve_cuda.cuh - the kernels of the preconditioners on a GPU: the text of boxes.h, an element per
 * group of threads, a point of the grid per thread.
 *
 * A patch of m^3 points has m^2 lines along each direction. A thread takes a line into registers,
 * multiplies it by a matrix from shared memory, and puts it back: five sweeps, since the two along x
 * follow each other in registers. The first reads the grid, the last writes the box. Small patches
 * share a block.
 */
#ifndef NEK_SOLVE_CUDA_CUH
#define NEK_SOLVE_CUDA_CUH

#include "nek_cuda.cuh"
#include "../precond/boxes.h"

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

/* Threads that a block of the patch kernel has at least, if so many elements fit; and at most, unless
 * one element needs more. */
enum { NEK_LEAST_PATCH_THREADS = 64, NEK_MOST_PATCH_THREADS = 192 };

#endif
