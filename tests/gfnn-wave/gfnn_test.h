/*
 * gfnn_test.h - what the tests of gfnn-wave share: a configuration without a command line, and
 * where the sample inputs are.
 */
#ifndef GFNN_TEST_H
#define GFNN_TEST_H

#include "apps/gfnn-wave/gfnn.h"
#include "tests/common/app_test.h"

/* The first named case (dt 20 us), one material of Vs = 80, on as many ranks as run. What a test
 * is about it sets itself. */
static inline gfnn_config_t gfnn_test_config(int64_t nx, int64_t ny, int64_t nz, int faces)
{
    const int64_t more = faces == GFNN_PERIODIC ? 0 : 1;
    gfnn_config_t cfg = {.model = "uniform",
                         .heads = {1, 1, 1},
                         .vs = 80,
                         .ds = 1e-3,
                         .dt = 20e-6,
                         .vp = 200,
                         .rho = 1000,
                         .damping = 1e-3,
                         .f1 = 500,
                         .f2 = 5000,
                         .faces = faces,
                         .precond = GFNN_BJ,
                         .coef = GFNN_COEF_GALERKIN,
                         .precision = GFNN_FP32,
                         .source = GFNN_POINT,
                         .kernels = 2,
                         .degree = 5,
                         .weights = "shipped",
                         .tolerance = 1e-8,
                         .max_iterations = 1000,
                         .steps = 1,
                         .frequency = 1000,
                         .ranks = "auto",
                         .n_elements = {nx, ny, nz},
                         .n_nodes = {nx + more, ny + more, nz + more}};
    gfnn_box_choose(&cfg, rt_comm_size());
    return cfg;
}

/* A file of inputs/gfnn-wave. */
static inline const char *gfnn_test_input(const char *name)
{
    static char path[1024];
    const char *root = getenv("abs_top_srcdir");
    snprintf(path, sizeof path, "%s/inputs/gfnn-wave/%s", root ? root : ".", name);
    return path;
}

#endif
