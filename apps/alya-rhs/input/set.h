/*
 * set.h - a set of points of a grid as a bitmap over its hull, and the points' numbers in natural
 * order (z fastest).
 */
#ifndef ALYA_SET_H
#define ALYA_SET_H

#include <string.h>
#include "input.h"

/* Below this many cells or nodes, starting threads takes longer than the work. */
enum { SERIAL = 16384 };

typedef struct {
    int64_t low[3], size[3]; /* of the hull */
    int64_t words;           /* of 64 points, in a column along z */
    uint64_t *bit;           /* [size[0]][size[1]][words] */
    int64_t *first;          /* members before this word */
    int64_t members;
} set_t;

static inline void set_new(set_t *set, const int64_t low[3], const int64_t size[3])
{
    memcpy(set->low, low, sizeof set->low);
    memcpy(set->size, size, sizeof set->size);
    set->words = (size[2] + 63) / 64;
    int64_t all = size[0] * size[1] * set->words;
    set->bit = RT_NEW(uint64_t, (size_t)all, RT_HOST);
    set->first = RT_NEW(int64_t, (size_t)all, RT_HOST);
#pragma omp parallel for schedule(static) if (all > SERIAL)
    for (int64_t w = 0; w < all; w++)
        set->bit[w] = 0;
}

static inline void set_destroy(set_t *set)
{
    RT_FREE(set->bit, RT_HOST);
    RT_FREE(set->first, RT_HOST);
}

/* Call it after the last bit was set. */
static inline void set_count(set_t *set)
{
    set->members = 0;
    for (int64_t w = 0; w < set->size[0] * set->size[1] * set->words; w++) {
        set->first[w] = set->members;
        set->members += __builtin_popcountll(set->bit[w]);
    }
}

/* Returns the first word of the column at (i, j). */
static inline int64_t set_column(const set_t *set, int64_t i, int64_t j)
{
    return ((i - set->low[0]) * set->size[1] + (j - set->low[1])) * set->words;
}

static inline bool set_has(const set_t *set, const int64_t at[3])
{
    for (int d = 0; d < 3; d++)
        if (at[d] < set->low[d] || at[d] >= set->low[d] + set->size[d])
            return false;
    int64_t k = at[2] - set->low[2];
    return set->bit[set_column(set, at[0], at[1]) + k / 64] >> (k % 64) & 1;
}

static inline int64_t set_number(const set_t *set, int64_t i, int64_t j, int64_t k)
{
    int64_t w = set_column(set, i, j) + (k - set->low[2]) / 64;
    uint64_t before = ((uint64_t)1 << ((k - set->low[2]) % 64)) - 1;
    return set->first[w] + __builtin_popcountll(set->bit[w] & before);
}

#endif
