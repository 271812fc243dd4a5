/*
 * base/hilbert.c - the Hilbert curve through a cube, after Skilling ("Programming the Hilbert
 * curve", AIP Conf. Proc. 707, 2004).
 */
#include "config.h"
#include "base/hilbert.h"

/* Moves bit b of x to bit 3 b. */
static uint64_t spread_bits(uint64_t x)
{
    x = (x | x << 32) & 0x001f00000000ffffU;
    x = (x | x << 16) & 0x001f0000ff0000ffU;
    x = (x | x << 8) & 0x100f00f00f00f00fU;
    x = (x | x << 4) & 0x10c30c30c30c30c3U;
    return (x | x << 2) & 0x1249249249249249U;
}

/* If bit `bit` of x[d] is set, inverts the lower bits of x[0], else swaps them with those of x[d].
 * It has no branches, because they would be taken at random. */
static inline void turn(uint32_t x[3], int d, int bit)
{
    uint32_t lower = (1U << bit) - 1, set = 0U - (x[d] >> bit & 1U);
    uint32_t differ = (x[0] ^ x[d]) & lower & ~set;
    x[0] ^= (lower & set) | differ;
    x[d] ^= differ; /* 0 if d = 0 */
}

uint64_t rt_hilbert_key(const uint32_t at[3], int bits)
{
    uint32_t x[3] = {at[0], at[1], at[2]}, gray = 0;
    for (int bit = bits - 1; bit > 0; bit--)
        for (int d = 0; d < 3; d++)
            turn(x, d, bit);
    x[1] ^= x[0];
    x[2] ^= x[1];
    for (int bit = bits - 1; bit > 0; bit--)
        gray ^= ((1U << bit) - 1) & (0U - (x[2] >> bit & 1U));
    return spread_bits(x[0] ^ gray) << 2 | spread_bits(x[1] ^ gray) << 1 | spread_bits(x[2] ^ gray);
}
