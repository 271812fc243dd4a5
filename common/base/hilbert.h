/*
 * base/hilbert.h - the Hilbert curve through a cube.
 *
 * Points that are near along the curve are near in space. So ranges of the curve make compact
 * parts, and data that is ordered along it keeps neighbours near each other in memory.
 */
#ifndef RT_HILBERT_H
#define RT_HILBERT_H

#include <stdint.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Convert a position in a cube of 2^bits cells per edge, 1 <= bits <= 21, to the position along the
 * curve and back (Skilling's transform). Coarser curves are the same curve with less detail: the
 * key of at / 2 with bits - 1 is key >> 3. */
uint64_t rt_hilbert_key(const uint32_t at[3], int bits);
void rt_hilbert_point(uint64_t key, int bits, uint32_t at[3]);

RT_C_END
#endif
