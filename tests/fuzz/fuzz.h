/*
 * fuzz.h - what a libFuzzer target has in place of the runtime's library: memory that comes
 * straight from malloc instead of from base/mem.c, so that AddressSanitizer sees the end of each
 * array. To be included by one file of a program.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "judge/verify.h"

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

bool rt_finite(double x)
{
    return isfinite(x);
}

static void expect(bool held)
{
    if (!held)
        abort();
}

#endif
