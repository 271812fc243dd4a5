/* rungs.c - ladder.def as a table that the driver reads. */
#include "config.h"
#include "alya.h"

#define RUNG(name, kind, after, table, idea) \
    {#name, RT_##kind, after, idea, RT_TABLE_##kind(table), NULL},
const rt_rung_t alya_ladder[ALYA_RUNGS] = {
#include "ladder.def"
};
#undef RUNG
