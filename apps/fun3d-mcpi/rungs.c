/* rungs.c - ladder.def as a table that the driver reads. */
#include "config.h"
#include "mcpi.h"

#define RUNG(name, kind, after, table, idea) \
    {#name, RT_##kind, after, idea, RT_TABLE_##kind(table), NULL},
const rt_rung_t mcpi_ladder[MCPI_RUNGS] = {
#include "ladder.def"
};
#undef RUNG
