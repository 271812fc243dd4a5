/*
 * fuzz_mtx.c - libFuzzer target: reads any bytes as a Matrix Market file. Nothing may be read out
 * of bounds, and an accepted file must give a valid graph with a block for each neighbour. The last
 * byte is the block size. Run it by hand from the root of the sources, with B a build folder of a
 * configured tree:
 *
 *   clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=fuzzer,address,undefined -IB -I. \
 *       -Icommon tests/fuzz/fuzz_mtx.c apps/fun3d-mcpi/input/{mtx,graph}.c common/io/scan.c \
 *       common/base/{file,numbers,text}.c -o B/fuzz_mtx
 *   mkdir B/corpus && { cat inputs/fun3d-mcpi/ring.mtx; printf 1; } >B/corpus/ring
 *   B/fuzz_mtx -timeout=10 -rss_limit_mb=2048 -max_total_time=600 B/corpus
 *
 * Memory comes directly from malloc: see fuzz.h.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/fun3d-mcpi/input/input.h"
#include "tests/fuzz/fuzz.h"

void *rt_alloc_at(size_t n, size_t size, rt_space_t space, const char *file, int line)
{
    (void)file;
    (void)line;
    return rt_try_alloc(n, size, space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char why[512];
    if (bytes == 0)
        return 0;
    const int nb = MCPI_MIN_NB + (data[bytes - 1] & 3), nb2 = nb * nb;
    mcpi_source_t *source = mcpi_mtx_parse("fuzz", data, bytes - 1, nb, why, sizeof why);
    expect((source == NULL) == (why[0] != '\0') && strchr(why, '\n') == NULL);
    if (!source)
        return 0;
    const mcpi_graph_t *graph = source->graph;
    expect(graph->rows > 0 && source->nb == nb && mcpi_graph_check(graph, why, sizeof why));
    for (int64_t i = 0; i < graph->rows; i++) {
        const size_t n = (size_t)(graph->start[i + 1] - graph->start[i]) * (size_t)nb2;
        double D[MCPI_MAX_NB2], *O = malloc(n * sizeof *O); /* not one double too many */
        expect(O != NULL);
        source->row(source, i, D, O);
        for (int k = 0; k < nb2; k++)
            expect(isfinite(D[k]));
        for (size_t k = 0; k < n; k++)
            expect(isfinite(O[k]));
        free(O);
    }
    mcpi_source_destroy(source);
    return 0;
}
