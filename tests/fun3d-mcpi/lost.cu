/* lost.cu - fun3d-mcpi whose GPU is lost while it works. For gpu_lost.sh. */
#include "apps/fun3d-mcpi/mcpi.h"
#define RT_LOST_APP mcpi_app
#include "tests/common/lost.cuh"
