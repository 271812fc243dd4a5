/*
 * kernel.h - what a rung's file sees: the system it sweeps (view), and the table of functions it
 * fills.
 */
#ifndef MCPI_KERNEL_H
#define MCPI_KERNEL_H

#include "input/input.h"
#include "input/portable.h"

RT_C_BEGIN

/* The arrays are in the rung's space; a host rung gets the system's own. */
typedef struct {
    const mcpi_system_t *system; /* host memory, for set_up */
    int nb;
    mcpi_type_t offdiagonal, dq_type, accumulate;
    int64_t rows, ghosts;
    int colours;
    const int64_t *colour_start; /* host */
    /* Block CSR, unless the rung has own_layout. On a device `chunked` says how O lies. */
    const int32_t *start;  /* [rows + 1] */
    const int32_t *column; /* [blocks] */
    int longest;           /* blocks of the longest row */
    const void *O;         /* [blocks][nb*nb] column-major, of type offdiagonal; or in chunks */
    const double *LU;      /* [rows][nb*nb] column-major */
    double *R;             /* [rows][nb] */
    const int *choice;     /* the rung's parameters in force; zeros if it has none */
    /* For set_up. Several ranks: host halos of doubles if `sweeps` may exchange dQ itself after
     * each colour, by stores into other GPUs' memory; else NULL. */
    rt_halo_t *const *halo;
    void *data; /* what set_up made */
    void *dq;   /* [rows + ghosts][nb], made by set_up if `sweeps` does exchange; else NULL */
} mcpi_view_t;

/* Where a rung with a layout of its own keeps what it sweeps: bytes from base, for each row. The
 * blocks of a row lie one after the other, without gaps. All in the rung's space. */
typedef struct {
    unsigned char *base;
    size_t bytes;
    const uint64_t *O, *LU, *R; /* [rows] */
} mcpi_places_t;

typedef struct {
    rt_kernels_t rung; /* precision, reproducible, parameters, refuse */
    /* Updates dQ of local rows first .. last - 1, one at least: the boundary rows of one colour, its
     * others, or all: dr = R - O dQ, dQ = D^-1 dr. On the rung's stream. dq: [rows + ghosts][nb] of
     * dq_type. */
    void (*rows)(const mcpi_view_t *view, int64_t first, int64_t last, void *dq);
    /* Does all sweeps from the given dQ as one persistent kernel, on one rank, or on several if
     * set_up has made view->dq; then collective, and ghosts of dq need not be set. NULL: solve.c
     * calls `rows` colour by colour. */
    void (*sweeps)(const mcpi_view_t *view, int64_t sweeps, void *dq);
    void (*set_up)(mcpi_view_t *view);
    void (*tear_down)(mcpi_view_t *view);
    /* Takes R of the next solve, [rows][nb] host, scaled. Only with own_layout: solve.c copies R
     * for the other rungs. */
    void (*put_r)(const mcpi_view_t *view, const double *R);
    /* With own_layout: says where things are, so that others can fill them. NULL: no. The lists
     * live until tear_down. */
    mcpi_places_t (*places)(mcpi_view_t *view);
    /* Adds the most bytes that set_up keeps, and (in RT_HOST) needs on the way. */
    void (*memory)(const mcpi_config_t *config, double bytes[RT_SPACES]);
    /* A rung of the ladder "flow" has these (flow/flow.h), and none of the functions above. */
    const struct mcpi_phases *phases;
    bool own_layout;  /* set_up packs O, LU and R its own way */
    bool chunked;     /* on a device O is in chunks: see input/portable.h. Not with own_layout. */
    bool always_fp64; /* the oracle: dQ and sums are FP64 whatever the options say */
} RT_BY_NAME mcpi_kernels_t;

/* The precision of every rung except the oracle. */
#define MCPI_PRECISION "the types asked for, solves in FP64"
/* The same of the ladder flow. */
#define MCPI_FLOW_PRECISION "FP64, sweeps in the types asked for"
/* refuse of the rungs of the ladder flow: they need 5 unknowns, a mesh, and a wall. */
const char *mcpi_flow_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why);

/* cpu/cpu_simd.c. Updates these rows, of one colour, as vectors, in the thread that calls. */
void mcpi_simd_rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq);

/* cpu/reference.c: the oracle. Updates dQ (FP64) of local rows first .. last - 1 over the system's
 * rounded O. If `bound` is not NULL, fills bound[rows][nb] of these rows with |D^-1| (|R| + |O|
 * |dQ|), componentwise, where |D^-1| has the magnitudes of the inverse. */
void mcpi_reference_rows(const mcpi_system_t *system, const double *R, int64_t first, int64_t last,
                         double *dq, double *bound);
/* Computes bound = |D^-1| size of one row, with the inverse column by column. */
void mcpi_through_inverse(int nb, const double *LU, const double *size, double *bound);

RT_C_END
#endif
