/*
 * rows.h - rows of the box, as the loops of vectors.c, blocks.c and ghosts.c take them on the CPU.
 *
 * Threads share the rows (j, k) of the box. A thread takes its rows of all three components, as the
 * operators do, so it finds its layers in its own memory. A row is one vector loop over the
 * arithmetic of node.h. Each row of a component has its own partial sum, and these are added
 * pairwise: the result has the same bits for any number of threads.
 */
#ifndef GFNN_ROWS_H
#define GFNN_ROWS_H

#include "apps/gfnn-wave/loops/node.h"
#include "cpu.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    float *inverse; /* [GFNN_BLOCK][bare.plane], of blocks.c */
    double *sums;   /* [2][gfnn_lines] */
} gfnn_rows_data_t;

/* A row of a component. */
typedef struct {
    int64_t n, fine, wide; /* values, and where they begin on `fine` and on `wide` */
} gfnn_line_t;

INLINE int64_t gfnn_rows(const gfnn_box_t *box)
{
    return box->n[1] * box->n[2];
}

INLINE int64_t gfnn_lines(const gfnn_box_t *box)
{
    return 3 * gfnn_rows(box);
}

INLINE int64_t gfnn_row_at(const gfnn_grid_t *g, int64_t row)
{
    return gfnn_at(g, 0, row % g->n[1], row / g->n[1]);
}

/* Returns row number line / 3 of component line % 3. */
INLINE gfnn_line_t gfnn_line(const gfnn_box_t *box, int64_t line)
{
    const int64_t row = line / 3, c = line % 3;
    return (gfnn_line_t){.n = box->n[0],
                         .fine = gfnn_row_at(&box->fine, row) + c * box->fine.plane,
                         .wide = gfnn_row_at(&box->wide, row) + c * box->wide.plane};
}

/* vectors32.c */
extern const gfnn_loops_t gfnn_cpu_loops32;

/* blocks.c: as gfnn_vectors_t has them. gfnn_cpu_inverse_new returns the inverses of the blocks. */
void gfnn_cpu_smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                       float omega, const float *r, const float *y, float *out);
float *gfnn_cpu_inverse_new(const gfnn_view_t *view, const gfnn_form_t *form);

/* ghosts.c: as gfnn_vectors_t has them. */
void gfnn_cpu_hold(const gfnn_view_t *view, double *x, float *z);
void gfnn_cpu_wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x);

#endif
