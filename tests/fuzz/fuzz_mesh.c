/*
 * fuzz_mesh.c - libFuzzer target: reads any bytes as a mesh file. Nothing may be read out of
 * bounds, and an accepted mesh must have numbers in range. The last byte says which element types
 * are allowed, and whether the name is that of an AFLR3 file. Run it by hand from the root of the
 * sources, with B a build folder of a configured tree:
 *
 *   clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=fuzzer,address,undefined -IB -I. \
 *       -Icommon tests/fuzz/fuzz_mesh.c common/io/scan.c common/base/{file,numbers,text}.c \
 *       common/mesh/{builder,gmsh,read,ugrid}.c -lm \
 *       -o B/fuzz_mesh
 *   mkdir B/corpus && cp inputs/alya-rhs/cube*[^y] inputs/fun3d-mcpi/mixed* B/corpus
 *   RT_CORPUS=B/corpus B/tests/common/test_mesh
 *   B/fuzz_mesh -timeout=10 -rss_limit_mb=2048 -max_total_time=600 B/corpus
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "mesh/mesh.h"
#include "base/numbers.h"
#include "tests/fuzz/fuzz.h"

static volatile int32_t tags_sum; /* makes the compiler read all tags */

static void check(const rt_mesh_t *mesh, unsigned types)
{
    char why[512];
    int64_t elements = 0;
    expect(mesh->vertices > 0 && rt_count_nonfinite(mesh->x, 3 * (size_t)mesh->vertices) == 0);
    for (int t = 0; t < RT_ELEMENTS; t++) {
        elements += mesh->elements[t];
        expect(mesh->elements[t] == 0 || types == 0 || (types >> t & 1) != 0);
        for (int64_t i = 0; i < rt_element_size(t) * mesh->elements[t]; i++)
            expect(mesh->element[t][i] >= 0 && mesh->element[t][i] < mesh->vertices);
    }
    for (int t = 0; t < RT_FACES; t++) {
        for (int64_t i = 0; i < rt_face_size(t) * mesh->faces[t]; i++)
            expect(mesh->face[t][i] >= 0 && mesh->face[t][i] < mesh->vertices);
        for (int64_t f = 0; f < mesh->faces[t]; f++)
            tags_sum ^= mesh->tag[t][f];
    }
    expect(elements > 0);
    rt_mesh_check(mesh, why, sizeof why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = {"fuzz", "fuzz.b8.ugrid", "fuzz.lb8.ugrid", "fuzz"};
    char why[512];
    if (bytes == 0)
        return 0;
    const unsigned choice = data[bytes - 1], types = choice & 15;
    rt_mesh_t *mesh =
        rt_mesh_parse(names[choice >> 4 & 3], data, bytes - 1, types, why, sizeof why);
    expect((mesh == NULL) == (why[0] != '\0') && strchr(why, '\n') == NULL);
    if (mesh)
        check(mesh, types);
    rt_mesh_destroy(mesh);
    return 0;
}
