/* measure/steady.c - was the machine left alone while a rung was timed? */
#include "config.h"
#include "measure/steady.h"
#include "measure/plausible.h"

int rt_unrest_said(const rt_unrest_t *u, rt_text_t said[RT_UNRESTS])
{
    int n = 0;
    if (u->spread > RT_MOST_SPREAD)
        rt_text(&said[n++], "windows differ by %.1f %%", 100 * u->spread);
    if (u->waited > RT_MOST_WAITED)
        rt_text(&said[n++], "other programs held a thread's core for %.1f %% of the time",
                100 * u->waited);
    if (u->stolen > RT_MOST_STOLEN)
        rt_text(&said[n++], "the hypervisor took %.1f %% of the cores' time", 100 * u->stolen);
    if (u->slowed > RT_MOST_SLOWED)
        rt_text(&said[n++], "the ceilings were %.0f %% below those of the rest of this job",
                100 * u->slowed);
    if (u->share > RT_MOST_SHARE)
        rt_text(&said[n++], "faster than the ceilings, which were not steady either");
    return n;
}

bool rt_steady(const rt_unrest_t *u)
{
    rt_text_t said[RT_UNRESTS];
    return rt_unrest_said(u, said) == 0;
}
