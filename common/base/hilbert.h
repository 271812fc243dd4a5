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

/* Returns the position along the curve of a position in a cube of 2^bits cells per edge, 1 <= bits <=
 * 21 (Skilling's transform). Coarser curves are the same curve with less detail: the key of at / 2
 * with bits - 1 is key >> 3. */
uint64_t rt_hilbert_key(const uint32_t at[3], int bits);

RT_C_END
#endif
