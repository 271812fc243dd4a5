/*
 * base/sort.c - a radix sort, least significant byte first, in blocks that do not depend on the
 * number of threads. Bytes that are the same in all keys cost nothing.
 */
#include "config.h"
#include "base/sort.h"
#include "base/mem.h"
#include <string.h>

enum { DIGIT = 256, BLOCKS = 64 };

static int64_t block_begin(int64_t n, int block, int blocks)
{
    return n / blocks * block + (n % blocks < block ? n % blocks : block);
}

/* Places of the digits in one block. */
typedef int64_t places_t[DIGIT];

/* Sorts by the byte at `shift`. One thread counts each block and later scatters it; a block's place
 * for a digit comes after those of all blocks before it. */
static void sort_pass(const uint64_t *key, const uint32_t *value, uint64_t *to_key,
                      uint32_t *to_value, int64_t n, int shift, places_t *place)
{
    int blocks = n < 65536 ? 1 : BLOCKS;
#pragma omp parallel for schedule(static) if (blocks > 1)
    for (int b = 0; b < blocks; b++) {
        memset(place[b], 0, sizeof place[b]);
        for (int64_t i = block_begin(n, b, blocks); i < block_begin(n, b + 1, blocks); i++)
            place[b][key[i] >> shift & (DIGIT - 1)]++;
    }
    int64_t sum = 0;
    for (int digit = 0; digit < DIGIT; digit++)
        for (int b = 0; b < blocks; b++) {
            int64_t count = place[b][digit];
            place[b][digit] = sum;
            sum += count;
        }
#pragma omp parallel for schedule(static) if (blocks > 1)
    for (int b = 0; b < blocks; b++)
        for (int64_t i = block_begin(n, b, blocks); i < block_begin(n, b + 1, blocks); i++) {
            int64_t to = place[b][key[i] >> shift & (DIGIT - 1)]++;
            to_key[to] = key[i];
            to_value[to] = value[i];
        }
}

void rt_sort(uint64_t *key, uint32_t *value, int64_t n)
{
    uint64_t differ = 0;
    if (n < 2)
        return;
#pragma omp parallel for schedule(static) reduction(| : differ) if (n >= 65536)
    for (int64_t i = 0; i < n; i++)
        differ |= key[i] ^ key[0];
    if (differ == 0)
        return;
    uint64_t *other_key = RT_NEW(uint64_t, (size_t)n, RT_HOST), *from_key = key;
    uint32_t *other_value = RT_NEW(uint32_t, (size_t)n, RT_HOST), *from_value = value;
    places_t *place = rt_alloc(BLOCKS, sizeof *place, RT_HOST);
    uint64_t *to_key = other_key;
    uint32_t *to_value = other_value;
    for (int shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & (DIGIT - 1)) == 0)
            continue; /* the same byte everywhere */
        sort_pass(from_key, from_value, to_key, to_value, n, shift, place);
        uint64_t *k = from_key;
        uint32_t *v = from_value;
        from_key = to_key;
        from_value = to_value;
        to_key = k;
        to_value = v;
    }
    if (from_key != key) {
        memcpy(key, from_key, (size_t)n * sizeof *key);
        memcpy(value, from_value, (size_t)n * sizeof *value);
    }
    rt_free(place, RT_HOST);
    RT_FREE(other_key, RT_HOST);
    RT_FREE(other_value, RT_HOST);
}

double rt_sort_memory(double n)
{
    return (sizeof(uint64_t) + sizeof(uint32_t)) * n + sizeof(int64_t) * BLOCKS * DIGIT;
}
