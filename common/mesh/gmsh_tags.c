/*
 * mesh/gmsh_tags.c - tags of nodes and entities, which come in any order and with gaps: sorted, so
 * that a tag is found by binary search, or at once where there are no gaps.
 */
#include "config.h"
#include "mesh/gmsh.h"
#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"

static int by_tag(const void *a, const void *b)
{
    const rt_gmsh_pair_t *p = a, *q = b;
    return (p->tag > q->tag) - (p->tag < q->tag);
}

bool rt_gmsh_tags_make(rt_scan_t *s, rt_gmsh_tags_t *map, const int64_t *tag, int64_t n,
                       const char *what)
{
    *map = (rt_gmsh_tags_t){.n = n, .pairs = rt_scan_alloc(s, n, sizeof *map->pairs)};
    if (!map->pairs)
        return false;
    for (int64_t i = 0; i < n; i++)
        map->pairs[i] = (rt_gmsh_pair_t){tag[i], (int32_t)i};
    qsort(map->pairs, (size_t)n, sizeof *map->pairs, by_tag);
    for (int64_t i = 1; i < n; i++)
        if (map->pairs[i].tag == map->pairs[i - 1].tag)
            return rt_scan_fail_file(s, "%s %" PRId64 " occurs twice", what, map->pairs[i].tag);
    return true;
}

void rt_gmsh_tags_free(rt_gmsh_tags_t *map)
{
    RT_FREE(map->pairs, RT_HOST);
}

int32_t rt_gmsh_tags_find(const rt_gmsh_tags_t *map, int64_t tag)
{
    const rt_gmsh_pair_t wanted = {.tag = tag}, *first = map->pairs;
    if (map->n == 0)
        return -1;
    if (tag >= first->tag && tag - first->tag < map->n && first[tag - first->tag].tag == tag)
        return first[tag - first->tag].node;
    const rt_gmsh_pair_t *found = bsearch(&wanted, first, (size_t)map->n, sizeof *first, by_tag);
    return found ? found->node : -1;
}
