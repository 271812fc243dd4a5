/*
 * fuzz_tuning.c - libFuzzer target: reads any bytes as a tuning file. Nothing may be read out of
 * bounds. An accepted file must have positive, finite numbers and stay the same when it is written
 * and read again. The target puts correct checks at the ends of lines, otherwise hardly any input
 * would pass them. Run it by hand from the root of the sources, with B a build folder of a
 * configured tree:
 *
 *   clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=fuzzer,address,undefined -IB -I. \
 *       -Icommon tests/fuzz/fuzz_tuning.c common/tune/tune_file.c common/io/scan.c \
 *       common/io/draft.c common/base/{file,numbers,text}.c -lm -o B/fuzz_tuning
 *   mkdir B/corpus && cp ~/.cache/rooftop/nekbone.tuning B/corpus
 *   B/fuzz_tuning -timeout=10 -rss_limit_mb=2048 -max_total_time=600 B/corpus
 *
 * Memory comes directly from malloc: see fuzz.h.
 */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "io/scan.h"
#include "tune/tune_file.h"
#include "tests/fuzz/fuzz.h"

static void check_file(const rt_tune_file_t *file)
{
    for (int64_t i = 0; i < file->entries; i++) {
        const rt_tune_entry_t *e = &file->entry[i];
        expect(*e->program && *e->version && *e->device && *e->rung && *e->date);
        expect(isfinite(e->seconds) && e->seconds > 0 && e->ranks > 0 && e->threads >= 0);
        expect(e->coordinates >= 0 && e->coordinates <= RT_TUNE_COORDINATES);
        expect(e->parameters >= 0 && e->parameters <= RT_TUNE_PARAMETERS);
        for (int c = 0; c < e->coordinates; c++)
            expect(isfinite(e->point[c].value) && e->point[c].value > 0);
        for (const char *c = e->device; *c; c++)
            expect(*c >= ' ' && *c <= '~');
        expect(rt_tune_entry_same(e, e));
    }
}

static void check_again(const rt_tune_file_t *file)
{
    char why[512];
    size_t bytes, more;
    char *text = rt_tune_file_text(file, NULL, 0, &bytes);
    rt_tune_file_t *again = rt_tune_file_parse("again", text, bytes, why, sizeof why);
    expect(again && again->entries == file->entries);
    char *same = rt_tune_file_text(again, NULL, 0, &more);
    expect(more == bytes && memcmp(same, text, bytes) == 0);
    rt_tune_file_free(again);
    free(same);
    free(text);
}

static void check_parse(const char *data, size_t bytes)
{
    char why[512] = "";
    rt_tune_file_t *file = rt_tune_file_parse("fuzz", data, bytes, why, sizeof why);
    expect((file != NULL) == (why[0] == '\0') && strchr(why, '\n') == NULL);
    if (!file)
        return;
    check_file(file);
    check_again(file);
    rt_tune_file_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_parse((const char *)data, bytes);
    /* The same with a correct check on each line. */
    char *mended = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&mended, &length);
    expect(out != NULL);
    for (size_t at = 0, end; at < bytes; at = end + 1) {
        for (end = at; end < bytes && data[end] != '\n'; end++)
            ;
        size_t n = end - at;
        if (n > 13 && memcmp(data + end - 13, " crc=", 5) == 0)
            n -= 13;
        fwrite(data + at, 1, n, out);
        fprintf(out, " crc=%08" PRIx32 "\n", rt_scan_crc32(data + at, n));
    }
    expect(fclose(out) == 0);
    check_parse(mended, length);
    free(mended);
    return 0;
}
