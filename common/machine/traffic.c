/* machine/traffic.c - see machine/traffic.h. */
#include "config.h"
#include "machine/traffic.h"

static rt_traffic_t sum;

void rt_traffic_add(rt_traffic_t bytes)
{
    sum.within += bytes.within;
    sum.between += bytes.between;
}

rt_traffic_t rt_traffic_take(void)
{
    const rt_traffic_t taken = sum;
    sum = (rt_traffic_t){0, 0};
    return taken;
}
