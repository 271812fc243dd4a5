/*
 * chunks.h - where O lies for a rung with `chunked` (kernel.h): one text for the C of the host and
 * for Kokkos.
 *
 * The entries of component i in a row, block after block and column after column, are a stream. It
 * is cut into chunks of 16 bytes, `width` entries each, and those of all nb components lie side by
 * side: threads that have a component each read neighbouring chunks. The stream of a row ends with
 * zeros. Rows begin so that width - 1 entries per row and component are enough for that, whatever
 * the lengths are, and no list of their places is needed.
 */
#ifndef MCPI_CHUNKS_H
#define MCPI_CHUNKS_H

#include <stdint.h>

#if defined(KOKKOS_FORCEINLINE_FUNCTION)
#define MCPI_CHUNKS_FN static KOKKOS_FORCEINLINE_FUNCTION
#else
#define MCPI_CHUNKS_FN static inline
#endif

/* Bytes: of a chunk, and of those that the host makes at once. */
enum { MCPI_CHUNK = 16, MCPI_CHUNKS_MADE = 64 << 20 };

/* Returns the chunk with which a component's stream begins in this row, whose first block is number
 * `start`. */
MCPI_CHUNKS_FN int64_t mcpi_first_chunk(int nb, int width, int64_t start, int64_t row)
{
    return (nb * start + (width - 1) * row) / width;
}

/* Returns the place in O of entry (i, j) of the row's block b. */
MCPI_CHUNKS_FN int64_t mcpi_chunked_entry(int nb, int width, int64_t first_chunk, int64_t b, int j,
                                          int i)
{
    const int64_t at = b * nb + j;
    return ((first_chunk + at / width) * nb + i) * width + at % width;
}

#endif
