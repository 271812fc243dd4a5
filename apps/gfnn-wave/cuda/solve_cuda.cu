/*
 * solve_cuda.cu - a whole time step on the GPU: parity for A, tensor cores for P if r is 16 bits
 * wide and tiled if not, fused vector loops between. Nothing but scalars comes to the host.
 */
#include "config.h"
#include "gfnn_net.cuh"

extern "C" const gfnn_kernels_t gfnn_solve_cuda = {
    GFNN_LADDER_SOLVE,
    &gfnn_operator_parity,
    {&gfnn_predictor_tiled[GFNN_FP32], &gfnn_predictor_tensor[GFNN_FP16]},
    &gfnn_vectors_cuda};
