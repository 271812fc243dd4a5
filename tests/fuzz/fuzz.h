/*
 * fuzz.h - what a libFuzzer target uses instead of the runtime's library: memory directly from
 * malloc, not from base/mem.c, so that AddressSanitizer sees the end of each array. One file of a
 * program includes it.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include "base/error.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "io/files.h"

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

#endif
