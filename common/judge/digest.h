/*
 * judge/digest.h - the digest of a problem's inputs: 64 digits that are the same on every machine,
 * for any number of ranks and threads and any order of the values, and different for other inputs.
 *
 * A digest is made of facts and of sets of items. A fact (a size, an option) is known to every
 * rank. A set is distributed over the ranks; an item is a few words: a global number and the values
 * that belong to it. Facts go through SHA-256 in their order. A set goes in as its count and, in
 * each of four lanes, the sum modulo 2^64 of a 64-bit mix of each item: sums need no order and no
 * gathering.
 *
 * What may go in: whole numbers, options, values read from a file, and what rt_random makes of
 * them. They are the same bits everywhere. What may not go in: anything whose last bit depends on
 * sin, on a fused multiply-add or on the order of a sum. Rounding does not help, since among many
 * values one always lies at the edge. Such values are functions of what did go in.
 *
 * What it shows: inputs that differ by accident (another seed, size, file or generator) have the
 * same digest with probability 2^-256 or so. It does not protect against someone who constructs
 * inputs to match a given digest, nor against someone who prints a digest without having made the
 * inputs: that another program computes the same digest is evidence, not proof.
 */
#ifndef RT_DIGEST_H
#define RT_DIGEST_H

#include <stdint.h>
#include "base/sha256.h"

RT_C_BEGIN

typedef struct {
    rt_sha256_t hash;
} rt_digest_t;

enum { RT_DIGEST_LANES = 4 };

/* A set of items. Start with {0}. */
typedef struct {
    uint64_t count, sum[RT_DIGEST_LANES];
} rt_items_t;

/* Adds one item of n words. */
void rt_items_add(rt_items_t *items, const uint64_t *word, int n);
/* Adds the items of `other`. */
void rt_items_merge(rt_items_t *items, const rt_items_t *other);
/* So each thread may have its own: #pragma omp parallel for reduction(rt_items : NAME). */
#if defined(_OPENMP) && !defined(__cplusplus)
#pragma omp declare reduction(rt_items:rt_items_t \
                              : rt_items_merge(&omp_out, &omp_in)) initializer(omp_priv = {0})
#endif
/* Returns a value as a word; both zeros give the same word. */
uint64_t rt_items_word(double value);

void rt_digest_begin(rt_digest_t *digest);
/* Add a fact, which must be the same on all ranks. */
void rt_digest_text(rt_digest_t *digest, const char *name, const char *text);
void rt_digest_int(rt_digest_t *digest, const char *name, int64_t value);
void rt_digest_real(rt_digest_t *digest, const char *name, double value);
/* Adds the items of all ranks. Each item must be on one rank only. Collective. */
void rt_digest_items(rt_digest_t *digest, const char *name, const rt_items_t *items);
void rt_digest_end(rt_digest_t *digest, char hex[RT_SHA256_DIGITS + 1]);

/* Returns the seed that --nonce stands for: the lower 62 bits of the first 8 bytes, big-endian, of
 * SHA-256("rooftop:" nonce). */
int64_t rt_seed_of_nonce(const char *nonce);

RT_C_END
#endif
