/*
 * mtx.c - a block-sparse matrix from a Matrix Market file: any solver's matrix can be swept.
 *
 * The file lists entries (row, column, value), numbered from 1, in any order; they are sorted into
 * nb x nb blocks. A block with one entry is stored whole, because it is swept whole. Advantage:
 * this is exactly the matrix of an application. Price: there are no coordinates, hence no order
 * along a curve, and every rank reads all of it. Memory is at most 16 + 8 (nb^2 + 3) bytes per
 * entry, and no count of the file is trusted: see io/scan.h.
 */
#include "config.h"
#include "input.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "io/scan.h"

typedef struct {
    int32_t row, column; /* from 0 */
    double value;
} entry_t;

typedef struct {
    int nb;
    int64_t rows, entries; /* rows: of blocks */
    entry_t *entry;        /* [entries] by block row once sorted */
    int64_t *first;        /* [rows + 1] entries of each block row */
} mtx_t;

typedef struct {
    double *D; /* [rows][nb*nb] */
    double *O; /* [start[rows]][nb*nb] */
} blocks_t;

/* --- the file --- */

/* Reads the next word of the header, which must be `want` or `other`, in upper or lower case. */
static bool word(rt_scan_t *s, const char *want, const char *other, const char *what)
{
    char got[24];
    rt_scan_skip_blanks(s);
    rt_scan_quote(s, got, sizeof got);
    if (strcasecmp(got, want) != 0 && (!other || strcasecmp(got, other) != 0))
        return rt_scan_fail(s, "%s \"%s\": only %s%s%s can be read", what, got, want,
                            other ? " or " : "", other ? other : "");
    s->at += strlen(got);
    return true;
}

static bool banner(rt_scan_t *s)
{
    static const char start[] = "%%MatrixMarket";
    const size_t n = sizeof start - 1;
    if (s->at == s->end)
        return rt_scan_fail_file(s, "the file is empty");
    if (rt_scan_left(s) < n || strncasecmp(s->at, start, n) != 0)
        return rt_scan_fail_file(s, "not a Matrix Market file, which starts with %s", start);
    s->at += n;
    return word(s, "matrix", NULL, "object") && word(s, "coordinate", NULL, "format") &&
           word(s, "real", "integer", "field") && word(s, "general", NULL, "symmetry") &&
           rt_scan_line_end(s);
}

/* Skips to the next line that is not blank or a comment. */
static void next_line(rt_scan_t *s)
{
    rt_scan_skip_space(s);
    while (s->at < s->end && *s->at == '%') {
        rt_scan_skip_line(s);
        rt_scan_skip_space(s);
    }
}

/* Reads the line of sizes. Every block row needs an entry, so the file bounds the rows too. */
static bool sizes(rt_scan_t *s, mtx_t *m)
{
    int64_t rows, columns;
    next_line(s);
    const int64_t line = s->line;
    if (!rt_scan_int(s, &rows, "the number of rows") ||
        !rt_scan_int(s, &columns, "the number of columns") ||
        !rt_scan_int(s, &m->entries, "the number of entries"))
        return false;
    if (rows < 1 || rows > INT32_MAX)
        return rt_scan_fail(s, "%" PRId64 " rows: must be 1 to %d", rows, INT32_MAX);
    if (rows != columns)
        return rt_scan_fail(s, "%" PRId64 " rows and %" PRId64 " columns: must be square", rows,
                            columns);
    if (rows % m->nb != 0)
        return rt_scan_fail(s, "%" PRId64 " rows: not a multiple of the block size, %d", rows,
                            m->nb);
    if (!rt_scan_count(s, m->entries, 6, "entries") || !rt_scan_line_end(s))
        return false;
    m->rows = rows / m->nb;
    if (m->entries < m->rows)
        return rt_scan_fail_line(
            s, line, "%" PRId64 " entries cannot fill the %" PRId64 " blocks of the diagonal",
            m->entries, m->rows);
    return true;
}

static bool index_of(rt_scan_t *s, const mtx_t *m, int32_t *index, const char *what)
{
    int64_t value;
    if (!rt_scan_int(s, &value, what))
        return false;
    if (value < 1 || value > m->rows * m->nb)
        return rt_scan_fail(s, "%s %" PRId64 ": must be 1 to %" PRId64, what, value,
                            m->rows * m->nb);
    *index = (int32_t)(value - 1);
    return true;
}

static bool entries(rt_scan_t *s, mtx_t *m)
{
    char text[24];
    m->entry = rt_scan_alloc(s, m->entries, sizeof *m->entry);
    for (int64_t k = 0; m->entry && k < m->entries; k++) {
        entry_t *e = m->entry + k;
        next_line(s);
        if (!index_of(s, m, &e->row, "row") || !index_of(s, m, &e->column, "column") ||
            !rt_scan_real(s, &e->value, "the value of an entry"))
            return false;
        if (!rt_finite(e->value))
            return rt_scan_fail(s, "row %d, column %d: the value is not finite", e->row + 1,
                                e->column + 1);
        if (!rt_scan_line_end(s))
            return false;
    }
    if (!m->entry)
        return false;
    next_line(s);
    if (s->at < s->end)
        return rt_scan_fail(s, "\"%s\" follows on the last of %" PRId64 " entries",
                            rt_scan_quote(s, text, sizeof text), m->entries);
    return true;
}

/* --- entries to blocks --- */

/* Orders entries of one block row by block, and inside a block by column and row. qsort does not
 * know nb, but ascending columns are in the order of blocks too. */
static int by_column(const void *a, const void *b)
{
    const entry_t *p = a, *q = b;
    return p->column != q->column ? (p->column > q->column) - (p->column < q->column)
                                  : (p->row > q->row) - (p->row < q->row);
}

static bool sort(rt_scan_t *s, mtx_t *m)
{
    entry_t *sorted = rt_scan_alloc(s, m->entries, sizeof *sorted);
    m->first = sorted ? rt_scan_alloc(s, m->rows + 2, sizeof *m->first) : NULL;
    if (!m->first) {
        RT_FREE(sorted, RT_HOST);
        return false;
    }
    /* first[i + 1] is the place of the next entry of i, and in the end that of the first of i +
     * 1 */
    memset(m->first, 0, (size_t)(m->rows + 2) * sizeof *m->first);
    for (int64_t k = 0; k < m->entries; k++)
        m->first[m->entry[k].row / m->nb + 2]++;
    for (int64_t i = 0; i < m->rows; i++)
        m->first[i + 2] += m->first[i + 1];
    for (int64_t k = 0; k < m->entries; k++)
        sorted[m->first[m->entry[k].row / m->nb + 1]++] = m->entry[k];
    RT_FREE(m->entry, RT_HOST);
    m->entry = sorted;
    for (int64_t i = 0; i < m->rows; i++)
        qsort(sorted + m->first[i], (size_t)(m->first[i + 1] - m->first[i]), sizeof *sorted,
              by_column);
    for (int64_t k = 1; k < m->entries; k++)
        if (sorted[k].row == sorted[k - 1].row && sorted[k].column == sorted[k - 1].column)
            return rt_scan_fail_file(s, "row %d, column %d is listed twice", sorted[k].row + 1,
                                     sorted[k].column + 1);
    return true;
}

/* Counts the off-diagonal blocks of block row i, and writes their columns to `neighbour` unless it
 * is NULL. */
static int64_t neighbours_of(const mtx_t *m, int64_t i, int32_t *neighbour, bool *diagonal)
{
    int64_t n = 0;
    int32_t last = -1;
    *diagonal = false;
    for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
        const int32_t column = m->entry[k].column / m->nb;
        *diagonal = *diagonal || column == i;
        if (column == i || column == last)
            continue;
        last = column;
        if (neighbour)
            neighbour[n] = column;
        n++;
    }
    return n;
}

static bool make_graph(rt_scan_t *s, const mtx_t *m, mcpi_graph_t *graph)
{
    char why[256];
    bool diagonal;
    graph->rows = m->rows;
    graph->start = rt_scan_alloc(s, m->rows + 1, sizeof *graph->start);
    if (!graph->start)
        return false;
    graph->start[0] = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        graph->start[i + 1] = graph->start[i] + neighbours_of(m, i, NULL, &diagonal);
        if (!diagonal)
            return rt_scan_fail_file(
                s, "block row %" PRId64 " (rows %" PRId64 " to %" PRId64 ") has no diagonal block",
                i, i * m->nb + 1, (i + 1) * m->nb);
    }
    if (graph->start[m->rows] == 0)
        return rt_scan_fail_file(s, "there are no blocks off the diagonal");
    graph->neighbour = rt_scan_alloc(s, graph->start[m->rows], sizeof *graph->neighbour);
    if (!graph->neighbour)
        return false;
    for (int64_t i = 0; i < m->rows; i++)
        neighbours_of(m, i, graph->neighbour + graph->start[i], &diagonal);
    return mcpi_graph_check(graph, why, sizeof why) ||
           rt_scan_fail_file(s, "in blocks from 0, %s", why);
}

static bool make_blocks(rt_scan_t *s, const mtx_t *m, const mcpi_graph_t *graph, blocks_t *blocks)
{
    const int nb = m->nb;
    const size_t block = (size_t)(nb * nb) * sizeof(double);
    blocks->D = rt_scan_alloc(s, m->rows, block);
    blocks->O = blocks->D ? rt_scan_alloc(s, graph->start[m->rows], block) : NULL;
    if (!blocks->O)
        return false;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m->rows; i++) {
        double *D = blocks->D + i * nb * nb, *O = blocks->O + graph->start[i] * nb * nb;
        int64_t place = graph->start[i]; /* lists ascend, and so do the entries' columns */
        memset(D, 0, block);
        memset(O, 0, (size_t)(graph->start[i + 1] - graph->start[i]) * block);
        for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
            const entry_t *e = m->entry + k;
            const int32_t column = e->column / nb;
            double *to = D;
            if (column != i) {
                while (graph->neighbour[place] != column)
                    place++;
                to = blocks->O + place * nb * nb;
            }
            to[e->column % nb * nb + e->row % nb] = e->value;
        }
    }
    return true;
}

/* --- the source --- */

static void row(const mcpi_source_t *source, int64_t vertex, double *D, double *O)
{
    const blocks_t *blocks = source->data;
    const mcpi_graph_t *graph = source->graph;
    const int64_t nb2 = source->nb * source->nb, first = graph->start[vertex];
    memcpy(D, blocks->D + vertex * nb2, (size_t)nb2 * sizeof *D);
    memcpy(O, blocks->O + first * nb2,
           (size_t)((graph->start[vertex + 1] - first) * nb2) * sizeof *O);
}

static void destroy(mcpi_source_t *source)
{
    blocks_t *blocks = source->data;
    if (!blocks)
        return;
    RT_FREE(blocks->D, RT_HOST);
    RT_FREE(blocks->O, RT_HOST);
    RT_FREE(source->data, RT_HOST);
}

static bool fill(rt_scan_t *s, const mtx_t *m, mcpi_source_t *source)
{
    blocks_t *blocks = rt_scan_alloc(s, 1, sizeof *blocks);
    source->data = blocks;
    if (!blocks)
        return false;
    *blocks = (blocks_t){0};
    source->graph = rt_scan_alloc(s, 1, sizeof *source->graph);
    if (!source->graph)
        return false;
    *source->graph = (mcpi_graph_t){0};
    if (!make_graph(s, m, source->graph) || !make_blocks(s, m, source->graph, blocks))
        return false;
    source->piece = mcpi_piece_new(m->rows, m->rows);
    return true;
}

void mcpi_mtx_cut(mcpi_source_t *source, const int64_t *own, int64_t n)
{
    blocks_t *blocks = source->data, whole = *blocks;
    mcpi_graph_t *graph = source->graph;
    const int64_t nb2 = source->nb * source->nb;
    mcpi_piece_own(source->piece, own, n);
    mcpi_graph_t *cut = mcpi_graph_cut(graph, source->piece);
    blocks->D = RT_NEW(double, (size_t)(cut->rows * nb2), RT_HOST);
    blocks->O = RT_NEW(double, (size_t)(cut->start[cut->rows] * nb2), RT_HOST);
    for (int64_t v = 0; v < cut->rows; v++) {
        const int64_t first = cut->start[v], at = source->piece->number[v];
        memcpy(blocks->D + v * nb2, whole.D + at * nb2, (size_t)nb2 * sizeof *whole.D);
        memcpy(blocks->O + first * nb2, whole.O + graph->start[at] * nb2,
               (size_t)((cut->start[v + 1] - first) * nb2) * sizeof *whole.O);
    }
    RT_FREE(whole.D, RT_HOST);
    RT_FREE(whole.O, RT_HOST);
    mcpi_graph_destroy(graph);
    source->graph = cut;
    mcpi_piece_link(source->piece, cut);
}

void mcpi_source_destroy(mcpi_source_t *source)
{
    if (!source)
        return;
    if (source->destroy)
        source->destroy(source);
    mcpi_graph_destroy(source->graph);
    mcpi_piece_destroy(source->piece);
    RT_FREE(source->x, RT_HOST);
    RT_FREE(source->odd, RT_HOST);
    RT_FREE(source, RT_HOST);
}

mcpi_source_t *mcpi_mtx_parse(const char *name, const void *data, size_t bytes, int nb, char *why,
                              size_t len)
{
    rt_scan_t s = rt_scan_bytes(name, data, bytes, why, len);
    mtx_t m = {.nb = nb};
    mcpi_source_t *source = NULL;
    if (banner(&s) && sizes(&s, &m) && entries(&s, &m) && sort(&s, &m))
        source = rt_scan_alloc(&s, 1, sizeof *source);
    if (source) {
        *source = (mcpi_source_t){.nb = nb, .row = row, .destroy = destroy};
        if (!fill(&s, &m, source)) {
            mcpi_source_destroy(source);
            source = NULL;
        }
    }
    RT_FREE(m.entry, RT_HOST);
    RT_FREE(m.first, RT_HOST);
    return source;
}

mcpi_source_t *mcpi_mtx_read(const char *path, int nb, char *why, size_t len)
{
    size_t bytes;
    char *data = rt_scan_load(path, &bytes, why, len);
    mcpi_source_t *source = data ? mcpi_mtx_parse(path, data, bytes, nb, why, len) : NULL;
    RT_FREE(data, RT_HOST);
    return source;
}
