/* judge/digest.c - a digest that does not depend on the order of ranks, threads or values. */
#include "config.h"
#include "judge/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine/comm.h"
#include "base/error.h"
#include "base/numbers.h"

/* Mixes each word into what the words before it have left, so that their order counts. The lanes
 * differ in their start value. */
void rt_items_add(rt_items_t *items, const uint64_t *word, int n)
{
    for (int lane = 0; lane < RT_DIGEST_LANES; lane++) {
        uint64_t mixed = rt_hash((uint64_t)n, (uint64_t)lane + 1);
        for (int i = 0; i < n; i++)
            mixed = rt_hash(word[i], mixed);
        items->sum[lane] += mixed;
    }
    items->count++;
}

void rt_items_merge(rt_items_t *items, const rt_items_t *other)
{
    for (int lane = 0; lane < RT_DIGEST_LANES; lane++)
        items->sum[lane] += other->sum[lane];
    items->count += other->count;
}

uint64_t rt_items_word(double value)
{
    uint64_t word = 0;
    if (value != 0)
        memcpy(&word, &value, sizeof word);
    return word;
}

void rt_digest_begin(rt_digest_t *digest)
{
    rt_sha256_begin(&digest->hash);
}

/* Includes the zero at the end of each string, so that no two facts can run together into a
 * third. */
void rt_digest_text(rt_digest_t *digest, const char *name, const char *text)
{
    rt_sha256_add(&digest->hash, name, strlen(name) + 1);
    rt_sha256_add(&digest->hash, text, strlen(text) + 1);
}

void rt_digest_int(rt_digest_t *digest, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    rt_digest_text(digest, name, text);
}

void rt_digest_real(rt_digest_t *digest, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%016" PRIx64, rt_items_word(value));
    rt_digest_text(digest, name, text);
}

void rt_digest_items(rt_digest_t *digest, const char *name, const rt_items_t *items)
{
    rt_items_t *all = calloc((size_t)rt_comm_size(), sizeof *all), sum = {0, {0}};
    char text[128];
    RT_EXPECT(all, RT_MEMORY, "no memory for the digest of %d ranks", rt_comm_size());
    rt_comm_allgather(items, sizeof *items, all);
    for (int r = 0; r < rt_comm_size(); r++)
        rt_items_merge(&sum, &all[r]);
    free(all);
    snprintf(text, sizeof text,
             "%" PRIu64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64, sum.count,
             sum.sum[0], sum.sum[1], sum.sum[2], sum.sum[3]);
    rt_digest_text(digest, name, text);
}

void rt_digest_end(rt_digest_t *digest, char hex[RT_SHA256_DIGITS + 1])
{
    rt_sha256_end_hex(&digest->hash, hex);
}

int64_t rt_seed_of_nonce(const char *nonce)
{
    static const char prefix[] = "rooftop:";
    unsigned char digest[RT_SHA256_BYTES];
    rt_sha256_t hash;
    uint64_t seed = 0;
    rt_sha256_begin(&hash);
    rt_sha256_add(&hash, prefix, strlen(prefix));
    rt_sha256_add(&hash, nonce, strlen(nonce));
    rt_sha256_end(&hash, digest);
    for (int i = 0; i < 8; i++)
        seed = seed << 8 | digest[i];
    return (int64_t)(seed & ((UINT64_C(1) << 62) - 1));
}
