/*
 * staged_record.cuh - rung staged: the layout of a record, and sizes by types and block size.
 */
#ifndef MCPI_STAGED_RECORD_CUH
#define MCPI_STAGED_RECORD_CUH

#include "mcpi_cuda.cuh"

/* Its parts, each at a multiple of 16 bytes: head; where each row's blocks begin (uint16_t, rows +
 * 1); columns; O, block after block at a stride that is odd in banks; LU of all rows; R of all
 * rows. */
struct mcpi_record_head_t {
    int32_t row;
    uint16_t rows, blocks;
    int32_t copy, copies; /* of its rows on other GPUs: copy .. copy + copies - 1 of the list */
};

struct mcpi_record_layout_t {
    unsigned start, column, O, LU, R, end;
};

__host__ __device__ static constexpr unsigned round16(unsigned bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Returns the values from one block to the next: an odd number of banks (8 bytes wide for FP64,
 * else 4 bytes), except for 16 bits and odd nb, where blocks have no gap and two share a word. */
static constexpr unsigned stride_of(int nb, unsigned size)
{
    const unsigned n = static_cast<unsigned>(nb * nb);
    if (size == 2)
        return nb % 2 ? n : (n / 2 % 2 ? n : n + 2);
    return n % 2 ? n : n + 1;
}

__host__ __device__ static constexpr unsigned column_at(unsigned rows)
{
    return static_cast<unsigned>(sizeof(mcpi_record_head_t)) + round16(2 * (rows + 1));
}

__host__ __device__ static constexpr mcpi_record_layout_t
layout_of(int nb, unsigned size, unsigned stride, unsigned rows, unsigned blocks)
{
    mcpi_record_layout_t at = {};
    at.start = sizeof(mcpi_record_head_t);
    at.column = column_at(rows);
    at.O = at.column + round16(4 * blocks);
    at.LU = at.O + round16(size * stride * blocks);
    at.R = at.LU + static_cast<unsigned>(8 * nb * nb) * rows;
    at.end = round16(at.R + static_cast<unsigned>(8 * nb) * rows);
    return at;
}

template <class Form> struct staged_t : mcpi_group_t<Form, 32> {
    using Q = typename Form::X;
    using Sum = typename Form::A;
    using Form::nb, Form::nb2;
    /* A large block is shared by the lanes of a warp. A chunk is then one row, and its blocks may
     * take several records; the last of them has LU and R. */
    static constexpr bool split = nb > MCPI_FIXED_NB;
    static constexpr unsigned size = sizeof(typename Form::O),
                              stride = split ? nb2 : stride_of(nb, size);
    /* Bytes of O per record: 96 blocks of 5x5 in 16 bits, 64 in FP32, 40 in FP64, fewer if blocks
     * are larger, so that about 12 warps find room. Rows of meshes must fit: most have 15
     * neighbours or more. */
    static constexpr unsigned O_bytes = size == 2 ? 4800 : size == 4 ? 6400 : 8000;
    static constexpr unsigned least_blocks = split ? 1 : 32, most_blocks = split ? 20 : 96,
                              most_warps = split ? 20 : 12;
    /* More shared memory would take L1 from the gather, which large blocks have less of. */
    static constexpr unsigned most_shared = (split ? 220 : 190) * 1024;
    static constexpr unsigned fit = O_bytes / (size * stride), wanted = split ? fit : fit / 8 * 8;
    static constexpr unsigned blocks = wanted < least_blocks  ? least_blocks
                                       : wanted > most_blocks ? most_blocks
                                                              : wanted,
                              rows = split ? 1 : (blocks + 15) / 16;
    static constexpr unsigned record_bytes = layout_of(nb, size, stride, rows, blocks).end;
    /* Of a row that goes on, in units of 16 bytes; with the least last record it is more. */
    static constexpr unsigned part = layout_of(nb, size, stride, 0, blocks).end / 16;
    static constexpr unsigned ring = 2;                        /* records per warp */
    static constexpr unsigned loads = (blocks * nb + 31) / 32; /* of dQ per lane and record */
    /* dQ that lanes multiply a large block with, in the order of their passes. */
    using L = mcpi_lanes_t<mcpi_group_t<Form, 32>>;
    static constexpr int vector = 16 / sizeof(Sum), vectors = (L::passes + vector - 1) / vector;
    struct alignas(16) vector_t {
        Sum at[vector];
    };
    static constexpr unsigned x_stride = split ? L::columns * vectors * vector : nb;
    /* Returns where value t of a record's dQ is. */
    __device__ static int place(int t)
    {
        const int j = t % nb;
        return split ? (t / nb * L::columns + j % L::columns) * vectors * vector + j / L::columns
                     : t;
    }
    static constexpr unsigned product_bytes = round16(blocks * x_stride * sizeof(Sum)),
                              right_bytes = round16(rows * nb * 8),
                              warp_bytes = ring * record_bytes + product_bytes + right_bytes +
                                           round16(8 * ring);
    static constexpr unsigned fitting = most_shared / warp_bytes;
    static constexpr unsigned warps = fitting > most_warps ? most_warps : fitting;
    static constexpr unsigned shared_bytes = warps * warp_bytes;
    static_assert(warps >= 2 && warp_bytes % 16 == 0,
                  "a block has a few warps, copies are aligned");
};

#endif
