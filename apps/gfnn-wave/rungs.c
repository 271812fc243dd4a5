/* rungs.c - ladder.def as a table that the driver reads. */
#include "config.h"
#include "gfnn.h"

#define RUNG(name, kind, after, ladder, table, idea) \
    {#name, RT_##kind, after, idea, RT_TABLE_##kind(table), ladder},
const rt_rung_t gfnn_ladder[GFNN_RUNGS] = {
#include "ladder.def"
};
#undef RUNG
