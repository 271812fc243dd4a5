/*
 * machine/own_gpu.c - has every rank a GPU of its own? UUIDs are unique in the world, so hosts need
 * not be compared.
 */
#include "config.h"
#include "machine/own_gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "machine/comm.h"
#include "machine/device.h"

bool rt_own_gpu(char *text, size_t len)
{
    typedef char uuid_t[sizeof rt_device_gpu()->uuid];
    const int size = rt_comm_size(), me = rt_comm_rank();
    uuid_t mine = "", *all = calloc((size_t)size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "no memory for the GPUs of %d ranks", size);
    *text = '\0';
    if (rt_device_gpu())
        memcpy(mine, rt_device_gpu()->uuid, sizeof mine);
    else
        snprintf(text, len, "rank %d has no GPU", me);
    rt_comm_allgather(mine, sizeof mine, all);
    for (int r = me + 1; r < size && !text[0]; r++)
        if (strcmp(all[r], mine) == 0)
            snprintf(text, len, "ranks %d and %d use the same GPU, %s", me, r, mine);
    free(all);
    return rt_comm_agree(text, len) < 0;
}
