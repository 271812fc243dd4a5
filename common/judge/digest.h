/*
 * judge/digest.h - the digest of a problem's inputs: the same 64 digits on every machine, for any
 * number of ranks and threads and any order in which the values lie, and others for other inputs.
 *
 * A digest is made of facts, which every rank knows (a size, an option), and of sets of items,
 * which the ranks hold between them: an item is a few words, a global number and the values that go
 * with it. Facts go through SHA-256 in their order. A set goes in as its count and the sum, modulo
 * 2^64 in each of four lanes, of a 64-bit mix of each item: sums need no order and no gathering.
 *
 * What may go in: whole numbers, options, values read from a file, and what rt_random makes of
 * them, which are the same bits everywhere. Not what sin, a fused multiply-add or a sum in another
 * order would change in its last bit; rounding does not help, since of many values one always lies
 * at the edge. Those are functions of what did go in.
 *
 * What it shows: inputs that differ by accident (another seed, size, file or generator) have the
 * same digest with probability 2^-256 or so. It is no defence against who makes up inputs in order
 * to meet a given sum, nor against who prints a digest without having made the inputs: that another
 * program computes the same digest is evidence, not proof.
 */
#ifndef RT_DIGEST_H
#define RT_DIGEST_H

#include <stdint.h>
#include "base/sha256.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    rt_sha256_t hash;
} rt_digest_t;

enum { RT_DIGEST_LANES = 4 };
/* A set of items. Start with {0}; each thread may have its own. */
typedef struct {
    uint64_t count, sum[RT_DIGEST_LANES];
} rt_items_t;

void rt_items_add(rt_items_t *items, const uint64_t *word, int n);
void rt_items_merge(rt_items_t *items, const rt_items_t *other);
/* A value as a word; both zeros are the same. */
uint64_t rt_items_word(double value);

void rt_digest_begin(rt_digest_t *digest);
/* Facts: the same on all ranks. */
void rt_digest_text(rt_digest_t *digest, const char *name, const char *text);
void rt_digest_int(rt_digest_t *digest, const char *name, int64_t value);
void rt_digest_real(rt_digest_t *digest, const char *name, double value);
/* The items of all ranks, each of which is on one rank only. Collective. */
void rt_digest_items(rt_digest_t *digest, const char *name, const rt_items_t *items);
void rt_digest_end(rt_digest_t *digest, char hex[RT_SHA256_DIGITS + 1]);

/* --nonce: the first 8 bytes of SHA-256("rooftop:" nonce), big-endian, of which the lower 62 bits.
 */
int64_t rt_seed_of_nonce(const char *nonce);

#ifdef __cplusplus
}
#endif
#endif
