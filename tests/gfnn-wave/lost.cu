/* lost.cu - gfnn-wave whose GPU is lost while it works. For gpu_lost.sh. */
#include "apps/gfnn-wave/gfnn.h"
#define RT_LOST_APP gfnn_app
#include "tests/common/lost.cuh"
