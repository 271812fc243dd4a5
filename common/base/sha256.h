/*
 * base/sha256.h - SHA-256 (FIPS 180-4): a digest for which no second text can be constructed.
 */
#ifndef RT_SHA256_H
#define RT_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include "base/extern_c.h"

RT_C_BEGIN

enum { RT_SHA256_BYTES = 32, RT_SHA256_DIGITS = 64, RT_SHA256_BLOCK = 64 };

typedef struct {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[RT_SHA256_BLOCK];
} rt_sha256_t;

void rt_sha256_begin(rt_sha256_t *hash);
void rt_sha256_add(rt_sha256_t *hash, const void *data, size_t bytes);
/* Ends the hash. To use it again, begin it again. */
void rt_sha256_end(rt_sha256_t *hash, unsigned char digest[RT_SHA256_BYTES]);
/* Does the same with hexadecimal digits. */
void rt_sha256_end_hex(rt_sha256_t *hash, char hex[RT_SHA256_DIGITS + 1]);

RT_C_END
#endif
