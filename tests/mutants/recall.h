/*
 * recall.h - solvers that remember instead of computing, for mutants: included by a changed source.
 *
 * Such a solver answers with what its first solve left, or scales it, or combines two of them, as
 * fits the new input best (least squares).
 */
#ifndef RECALL_H
#define RECALL_H

#include <stdlib.h>
#include <string.h>
#include "rt.h"

typedef enum { RT_RECALL_WHOLE, RT_RECALL_SCALED, RT_RECALL_COMBINED } rt_recall_how_t;
typedef struct {
    double *array; /* host */
    size_t n;
} rt_piece_t;
enum { RT_RECALLED = 2, RT_PIECES = 4 };

static struct {
    int solves; /* that are kept */
    double *in[RT_RECALLED], *out[RT_RECALLED][RT_PIECES];
} rt_kept;

static double *rt_copy_of(rt_piece_t piece)
{
    double *copy = malloc(piece.n * sizeof *copy + 1);
    RT_EXPECT(copy, RT_MEMORY, "no memory for %zu values", piece.n);
    memcpy(copy, piece.array, piece.n * sizeof *copy);
    return copy;
}

/* Keeps what a solve has made of `in`. */
static void rt_recall_keep(rt_piece_t in, const rt_piece_t *out, int pieces)
{
    if (rt_kept.solves == RT_RECALLED)
        return;
    rt_kept.in[rt_kept.solves] = rt_copy_of(in);
    for (int i = 0; i < pieces; i++)
        rt_kept.out[rt_kept.solves][i] = rt_copy_of(out[i]);
    rt_kept.solves++;
}

static double rt_product(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    rt_comm_sum(&sum, 1);
    return sum;
}

/* Answers from memory, and returns true; false: too little is kept, so solve and then call
 * rt_recall_keep. Collective. */
static bool rt_recall(rt_recall_how_t how, rt_piece_t in, const rt_piece_t *out, int pieces)
{
    if (rt_kept.solves <= (how == RT_RECALL_COMBINED))
        return false;
    const double *a = rt_kept.in[0], *b = rt_kept.in[how == RT_RECALL_COMBINED];
    const double aa = rt_product(a, a, in.n), xa = rt_product(in.array, a, in.n);
    const double bb = rt_product(b, b, in.n), ab = rt_product(a, b, in.n);
    const double xb = rt_product(in.array, b, in.n), det = aa * bb - ab * ab;
    double factor[RT_RECALLED] = {how == RT_RECALL_WHOLE ? 1 : xa / aa, 0};
    if (how == RT_RECALL_COMBINED && det > 0) {
        factor[0] = (xa * bb - xb * ab) / det;
        factor[1] = (xb * aa - xa * ab) / det;
    }
    for (int i = 0; i < pieces; i++)
        for (size_t v = 0; v < out[i].n; v++)
            out[i].array[v] = factor[0] * rt_kept.out[0][i][v] +
                              (factor[1] != 0 ? factor[1] * rt_kept.out[1][i][v] : 0);
    return true;
}

#endif
