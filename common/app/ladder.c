/* app/ladder.c - which rungs can run here, and the list that --list prints. */
#include "config.h"
#include "app/ladder.h"
#include <string.h>
#include "machine/kokkos.h"

const char *rt_rung_why_not(const rt_rung_t *rung)
{
    switch (rung->kind) {
    case RT_CUDA:
        if (!rung->kernels && RT_HAVE_CUDA)
            return "this build has no NVRTC: it comes with the CUDA Toolkit from 12.8 on; run "
                   "configure again with --with-nvrtc, which says what is missing";
        if (!rung->kernels)
            return "this build has no CUDA: install the CUDA Toolkit and run configure again, or "
                   "give "
                   "--with-cuda=DIR";
        return rt_device_gpu() ? NULL : rt_device_why_not();
    case RT_KOKKOS:
        return rt_kokkos_why_not();
    case RT_CPU:
        break;
    }
    return NULL;
}

rt_space_t rt_rung_space(const rt_rung_t *rung)
{
    switch (rung->kind) {
    case RT_CUDA:
        return RT_DEVICE;
    case RT_KOKKOS:
        return rt_kokkos_space();
    case RT_CPU:
        break;
    }
    return RT_HOST;
}

const rt_rung_t *rt_ladder_find(const rt_rung_t *ladder, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ladder[i].name, name) == 0)
            return &ladder[i];
    return NULL;
}

static bool same_ladder(const rt_rung_t *a, const rt_rung_t *b)
{
    return a->ladder == b->ladder || (a->ladder && b->ladder && strcmp(a->ladder, b->ladder) == 0);
}

int rt_ladder_first(const rt_rung_t *ladder, int i)
{
    while (i > 0 && same_ladder(&ladder[i - 1], &ladder[i]))
        i--;
    return i;
}

void rt_ladder_print(const rt_rung_t *ladder, int n,
                     void (*more)(const void *context, const rt_rung_t *rung, FILE *out),
                     const void *context, FILE *out)
{
    for (int i = 0; i < n; i++) {
        const rt_rung_t *rung = &ladder[i];
        const char *why_not = rt_rung_why_not(rung);
        if (rung->ladder && rt_ladder_first(ladder, i) == i)
            fprintf(out, "%s%s:\n", i ? "\n" : "", rung->ladder);
        fprintf(out, "%-12s %-7s %s\n", rung->name, rt_kind_name(rung->kind), rung->idea);
        if (more)
            more(context, rung, out);
        if (why_not)
            fprintf(out, "%-20s absent: %s\n", "", why_not);
        else if (rung->kind == RT_KOKKOS)
            fprintf(out, "%-20s back-end here: Kokkos %s, %s\n", "", rt_kokkos_version(),
                    rt_kokkos_backend());
    }
}
