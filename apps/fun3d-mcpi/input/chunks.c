/*
 * chunks.c - puts O into chunks (chunks.h).
 */
#include "config.h"
#include <string.h>
#include "chunks.h"
#include "input.h"

static int64_t first_chunk(const mcpi_system_t *system, int64_t row)
{
    const int width = MCPI_CHUNK / (int)mcpi_type_size(system->type);
    return mcpi_first_chunk(system->nb, width, system->part->start[row], row);
}

size_t mcpi_chunk_bytes(const mcpi_system_t *system, int64_t first, int64_t last)
{
    return (size_t)(first_chunk(system, last) - first_chunk(system, first)) *
           (size_t)(system->nb * MCPI_CHUNK);
}

void mcpi_chunk_rows(const mcpi_system_t *system, int64_t first, int64_t last, void *to)
{
    const int64_t *start = system->part->start, base = first_chunk(system, first);
    const size_t size = mcpi_type_size(system->type);
    const int nb = system->nb, width = MCPI_CHUNK / (int)size;
    const unsigned char *O = system->O;
    unsigned char *chunks = to;
    memset(chunks, 0, mcpi_chunk_bytes(system, first, last));
#pragma omp parallel for schedule(static)
    for (int64_t row = first; row < last; row++) {
        const int64_t begin = first_chunk(system, row) - base;
        for (int64_t b = 0; b < start[row + 1] - start[row]; b++)
            for (int j = 0; j < nb; j++)
                for (int i = 0; i < nb; i++)
                    memcpy(chunks + (size_t)mcpi_chunked_entry(nb, width, begin, b, j, i) * size,
                           O + (size_t)(((start[row] + b) * nb + j) * nb + i) * size, size);
    }
}

/* They are made on the host, a few rows at a time. */
void *mcpi_chunks_new(const mcpi_system_t *system, rt_space_t space)
{
    const int64_t rows = system->part->rows;
    unsigned char *O = rt_alloc(mcpi_chunk_bytes(system, 0, rows), 1, space);
    for (int64_t first = 0, last; first < rows; first = last) {
        for (last = first + 1;
             last < rows && mcpi_chunk_bytes(system, first, last + 1) <= MCPI_CHUNKS_MADE;)
            last++;
        const size_t bytes = mcpi_chunk_bytes(system, first, last);
        void *chunks = rt_alloc(bytes, 1, RT_HOST);
        mcpi_chunk_rows(system, first, last, chunks);
        rt_copy(O + mcpi_chunk_bytes(system, 0, first), space, chunks, RT_HOST, bytes);
        RT_FREE(chunks, RT_HOST);
    }
    return O;
}
