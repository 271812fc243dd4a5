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
            const int64_t n = sizes[i];
            alya_mesh_t *m = alya_box_new(&(alya_box_t){.cells = {n, n, n}, .growth = 1}, 0, 1);
            if (shuffled)
                alya_mesh_reorder(m, ALYA_RANDOM_ELEMENTS, 1);
            for (int k = 0; k < 5; k++)
                check_schedule(m, most[k]);
            alya_mesh_destroy(m);
        }
    alya_mesh_t none = {0};
    check_schedule(&none, 512);
    alya_schedule_destroy(NULL);
    return check_done();
}
