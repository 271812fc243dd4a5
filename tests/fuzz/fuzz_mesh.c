/*
 * fuzz_mesh.c - libFuzzer target: reads any bytes as a mesh file. Nothing may be read out of
 * bounds, and an accepted mesh must have numbers in range. The last byte says which element types
 * are allowed, and whether the name is that of an AFLR3 file. mesh.sh builds and runs it. Memory
 * comes directly from malloc, not from base/mem.c, so that AddressSanitizer sees the end of each
 * array.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "io/files.h"
#include "mesh/mesh.h"

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

void rt_files_note(const char *path, const void *data, size_t bytes)
{
    (void)path, (void)data, (void)bytes;
}

void rt_die_at(const char *file, int line, const char *expression, rt_status_t status,
               const char *fmt, ...)
{
    (void)file, (void)line, (void)expression, (void)status, (void)fmt;
    abort();
}

static void expect(bool held)
{
    if (!held)
        abort();
}

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
