/*
 * schedule.c - judges which elements may be assembled at the same time.
 */
#include "config.h"
#include "judge.h"
#include <string.h>

bool alya_schedule_is_right(const alya_mesh_t *mesh, const alya_schedule_t *s)
{
    int64_t *chunk_of = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST); /* the last one */
    uint8_t *times = RT_NEW(uint8_t, (size_t)mesh->elements, RT_HOST);
    bool right = s->first[0] == 0 && s->first[s->chunks] == mesh->elements && s->colour[0] == 0 &&
                 s->colour[s->colours] == s->chunks;
    if (mesh->elements > 0)
        memset(times, 0, (size_t)mesh->elements);
    for (int64_t n = 0; n < mesh->nodes; n++)
        chunk_of[n] = -1;
    for (int32_t c = 0; right && c < s->colours; c++)
        for (int64_t k = s->colour[c]; right && k < s->colour[c + 1]; k++)
            for (int64_t p = s->first[k]; right && p < s->first[k + 1]; p++) {
                const int64_t e = s->list ? s->list[p] : p;
                right = e >= 0 && e < mesh->elements && times[e]++ == 0;
                for (int a = 0; right && a < 4; a++) {
                    int64_t *last = chunk_of + mesh->connectivity[4 * e + a];
                    right = *last < s->colour[c] || *last == k;
                    *last = k;
                }
            }
    RT_FREE(chunk_of, RT_HOST);
    RT_FREE(times, RT_HOST);
    return right;
}
