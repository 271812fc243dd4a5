/*
 * fuzz_voxel.c - libFuzzer target: reads any bytes as a voxel file. Nothing may be read out of
 * bounds, and in an accepted model every voxel must have a material. Run it by hand from the root
 * of the sources, with B a build folder of a configured tree:
 *
 *   clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=fuzzer,address,undefined -IB -I. \
 *       -Icommon tests/fuzz/fuzz_voxel.c apps/gfnn-wave/input/voxel.c common/io/scan.c \
 *       common/base/{file,numbers,text}.c -o B/fuzz_voxel
 *   mkdir B/corpus && cp inputs/gfnn-wave/ball.voxels B/corpus
 *   B/fuzz_voxel -timeout=10 -rss_limit_mb=2048 -max_total_time=600 B/corpus
 *
 * Memory comes directly from malloc: see fuzz.h.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/gfnn-wave/input/input.h"
#include "tests/fuzz/fuzz.h"

static void check_materials(const gfnn_materials_t *m)
{
    expect(m->ids > 0 && m->ids <= GFNN_OUTSIDE);
    for (int i = 0; i < m->ids; i++)
        expect(isfinite(m->vs[i]) && m->vs[i] > 0 && m->w[i] == 1);
    for (int i = m->ids; i < GFNN_MAX_IDS; i++)
        expect(m->vs[i] == 0 && m->w[i] == 0 && m->square[i] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char why[512];
    gfnn_voxels_t v, header;
    const bool good = gfnn_voxel_parse("fuzz", data, bytes, false, &v, why, sizeof why);
    expect(good == (why[0] == '\0') && strchr(why, '\n') == NULL);
    /* A header alone passes the same checks, except the one for ids without a material. */
    const bool short_good = gfnn_voxel_parse("fuzz", data, bytes, true, &header, why, sizeof why);
    expect(!header.id && (short_good || !good));
    if (good) {
        check_materials(&v.materials);
        expect(memcmp(v.E, header.E, sizeof v.E) == 0 && v.ds == header.ds && v.ds > 0);
        for (int64_t i = 0; i < v.E[0] * v.E[1] * v.E[2]; i++)
            expect(v.id[i] < v.materials.ids);
    }
    gfnn_voxel_free(&v);
    gfnn_voxel_free(&header);
    return 0;
}
