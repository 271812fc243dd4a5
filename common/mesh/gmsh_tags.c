/*
 * mesh/gmsh_tags.c - tags of nodes and entities, which come in any order and with gaps.
 *
 * A tag becomes the position in the file by a table, or by binary search where tags are so sparse
 * that a table would be too large.
 */
#include "config.h"
#include "mesh/gmsh.h"
#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"

static int by_tag(const void *a, const void *b)
{
    const rt_gmsh_pair_t *p = a, *q = b;
    return p->tag != q->tag ? (p->tag > q->tag) - (p->tag < q->tag)
                            : (p->node > q->node) - (p->node < q->node);
}

static bool twice(rt_scan_t *s, const char *what, int64_t tag)
{
    return rt_scan_fail_file(s, "%s %" PRId64 " occurs twice", what, tag);
}

static bool make_table(rt_scan_t *s, rt_gmsh_tags_t *map, const int64_t *tag, const char *what)
{
    map->table = rt_scan_alloc(s, map->range, sizeof *map->table);
    if (!map->table)
        return false;
    for (int64_t i = 0; i < map->range; i++)
        map->table[i] = -1;
    for (int64_t n = 0; n < map->n; n++) {
        int32_t *entry = map->table + (tag[n] - map->least);
        if (*entry >= 0)
            return twice(s, what, tag[n]);
        *entry = (int32_t)n;
    }
    return true;
}

static bool make_pairs(rt_scan_t *s, rt_gmsh_tags_t *map, const int64_t *tag, const char *what)
{
    map->pairs = rt_scan_alloc(s, map->n, sizeof *map->pairs);
    if (!map->pairs)
        return false;
    for (int64_t n = 0; n < map->n; n++)
        map->pairs[n] = (rt_gmsh_pair_t){tag[n], (int32_t)n};
    qsort(map->pairs, (size_t)map->n, sizeof *map->pairs, by_tag);
    for (int64_t n = 1; n < map->n; n++)
        if (map->pairs[n].tag == map->pairs[n - 1].tag)
            return twice(s, what, map->pairs[n].tag);
    return true;
}

/* Tags are not negative, so the difference of two does not overflow. */
bool rt_gmsh_tags_make(rt_scan_t *s, rt_gmsh_tags_t *map, const int64_t *tag, int64_t n,
                       const char *what)
{
    int64_t least = INT64_MAX, most = 0;
    for (int64_t i = 0; i < n; i++) {
        least = tag[i] < least ? tag[i] : least;
        most = tag[i] > most ? tag[i] : most;
    }
    *map = (rt_gmsh_tags_t){.n = n, .least = least};
    if (most - least >= 4 * n) /* a table would take more than the pairs */
        return make_pairs(s, map, tag, what);
    map->range = most - least + 1;
    return make_table(s, map, tag, what);
}

void rt_gmsh_tags_free(rt_gmsh_tags_t *map)
{
    RT_FREE(map->table, RT_HOST);
    RT_FREE(map->pairs, RT_HOST);
}

int32_t rt_gmsh_tags_find(const rt_gmsh_tags_t *map, int64_t tag)
{
    if (map->table)
        return tag >= map->least && tag - map->least < map->range ? map->table[tag - map->least]
                                                                  : -1;
    int64_t low = 0, high = map->n; /* it is in [low, high) if anywhere */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (map->pairs[middle].tag == tag)
            return map->pairs[middle].node;
        if (map->pairs[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}
