/* machine/traffic.h - the bytes that this rank has sent to other ranks, as halos count them. */
#ifndef RT_TRAFFIC_H
#define RT_TRAFFIC_H

#include "base/extern_c.h"

RT_C_BEGIN

typedef struct {
    double within, between; /* bytes to ranks of this node, and to those of other nodes */
} rt_traffic_t;

void rt_traffic_add(rt_traffic_t bytes);
/* Returns what was added since the last call. */
rt_traffic_t rt_traffic_take(void);

RT_C_END
#endif
