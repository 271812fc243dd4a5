/*
 * fuzz_mesh.c - libFuzzer target: any bytes as a mesh file. Nothing may be read out of bounds, and
 * what is accepted must be a mesh whose numbers are in range. By hand, in a build folder B of a
 * configured tree, from the root of the sources:
 *
 *   clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -IB -I. -Icommon -Iapps/alya-rhs \
 *       tests/fuzz/fuzz_mesh.c apps/alya-rhs/mesh/{read,gmsh,su2}.c -o B/fuzz_mesh
 *   mkdir B/corpus && cp $(ls -d inputs/alya-rhs/cube* | grep -v py) B/corpus
 *   B/fuzz_mesh -timeout=10 -rss_limit_mb=2048 -max_total_time=600 B/corpus
 *
 * Memory comes straight from malloc here instead of from rt_mem.c, so that AddressSanitizer sees
 * the end of each array, and no other library is needed.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/alya-rhs/alya.h"

void *rt_try_alloc(size_t n, size_t size, rt_space_t space)
{
    (void)space;
    return n == 0 || size == 0 || n > SIZE_MAX / size ? NULL : malloc(n * size);
}

void rt_free(void *ptr, rt_space_t space)
{
    (void)space;
    free(ptr);
}

char *rt_mem_format(double bytes, char *buf, size_t len)
{
    snprintf(buf, len, "%.0f bytes", bytes);
    return buf;
}

void alya_mesh_destroy(alya_mesh_t *mesh)
{
    if (!mesh)
        return;
    free(mesh->connectivity);
    free(mesh->x);
    free(mesh->node_id);
    free(mesh->flags);
    free(mesh);
}

static void expect(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char why[512];
    alya_mesh_t *mesh = alya_mesh_parse("fuzz", data, bytes, why, sizeof why);
    expect((mesh == NULL) == (why[0] != '\0') && strchr(why, '\n') == NULL);
    if (!mesh)
        return 0;
    expect(mesh->elements > 0 && mesh->nodes > 0);
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        expect(mesh->connectivity[i] >= 0 && mesh->connectivity[i] < mesh->nodes);
    for (int64_t i = 0; i < 3 * mesh->nodes; i++)
        expect(isfinite(mesh->x[i]));
    for (int64_t n = 0; n < mesh->nodes; n++)
        expect(mesh->node_id[n] == n && mesh->flags[n] == 0);
    alya_mesh_destroy(mesh);
    return 0;
}
