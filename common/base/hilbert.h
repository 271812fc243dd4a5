/*
 * base/hilbert.h - the Hilbert curve through a cube.
 *
 * What is near along the curve is near in space, so ranges of it make compact parts, and orders
 * along it keep neighbours' data near each other in memory.
 */
#ifndef RT_HILBERT_H
#define RT_HILBERT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Position along the curve through a cube of 2^bits cells an edge (Skilling's transform), 1 <= bits
 * <= 21, and back. Coarser curves are the same one seen from farther away: the key of at / 2 with
 * bits - 1 is key >> 3. */
uint64_t rt_hilbert_key(const uint32_t at[3], int bits);
void rt_hilbert_point(uint64_t key, int bits, uint32_t at[3]);

#ifdef __cplusplus
}
#endif
#endif
