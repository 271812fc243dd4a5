/*
 * test_schedule.c - chunks of one colour have no node in common, and every element comes once.
 *
 * Both are judged against the connectivity, for natural and shuffled meshes, with chunks of one
 * element, of odd sizes, and larger than the mesh.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "apps/alya-rhs/judge/judge.h"
#include "../common/check.h"

/* n^3 cells of six tetrahedra (Kuhn); no coordinates: the schedule does not look at them. */
static alya_mesh_t box(int n)
{
    static const int path[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                   {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    alya_mesh_t m = {.elements = 6 * n * n * n, .nodes = (n + 1) * (n + 1) * (n + 1)};
    m.connectivity = RT_NEW(int32_t, 4 * m.elements, RT_HOST);
    for (int e = 0; e < m.elements; e++) {
        int cell = e / 6, at[3] = {cell / n / n, cell / n % n, cell % n};
        for (int a = 0; a < 4; a++) {
            m.connectivity[4 * e + a] = (at[0] * (n + 1) + at[1]) * (n + 1) + at[2];
            if (a < 3)
                at[path[e % 6][a]]++;
        }
    }
    return m;
}

static void shuffle(alya_mesh_t *m)
{
    uint64_t state = 1;
    for (int64_t e = m->elements - 1; e > 0; e--) {
        state = state * UINT64_C(6364136223846793005) + 1;
        int64_t f = (int64_t)((state >> 33) % (uint64_t)(e + 1));
        int32_t keep[4];
        memcpy(keep, m->connectivity + 4 * e, sizeof keep);
        memmove(m->connectivity + 4 * e, m->connectivity + 4 * f, sizeof keep);
        memcpy(m->connectivity + 4 * f, keep, sizeof keep);
    }
}

static void check_schedule(const alya_mesh_t *m, int64_t most)
{
    alya_schedule_t *s = alya_schedule_new(m, most);
    int64_t too_long = 0;
    CHECK(alya_schedule_is_right(m, s));
    for (int64_t k = 0; k < s->chunks; k++)
        too_long += s->first[k + 1] - s->first[k] > most || s->first[k + 1] <= s->first[k];
    CHECK(too_long == 0);
    if (s->colours > 1) { /* two colours in one are found out */
        s->colour[1] = s->colour[2];
        CHECK(!alya_schedule_is_right(m, s));
    }
    alya_schedule_destroy(s);
}

int main(void)
{
    static const int sizes[] = {1, 2, 5, 12};
    static const int64_t most[] = {1, 7, 16, 512, 1000000};
    for (int i = 0; i < 4; i++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            alya_mesh_t m = box(sizes[i]);
            if (shuffled)
                shuffle(&m);
            for (int k = 0; k < 5; k++)
                check_schedule(&m, most[k]);
            RT_FREE(m.connectivity, RT_HOST);
        }
    alya_mesh_t none = {0};
    check_schedule(&none, 512);
    alya_schedule_destroy(NULL);
    return check_done();
}
