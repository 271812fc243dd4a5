/* lost.cu - nekbone whose GPU is lost while it works. For gpu_lost.sh. */
#include "apps/nekbone/nekbone.h"
#define RT_LOST_APP nek_app
#include "tests/common/lost.cuh"
