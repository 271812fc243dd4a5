/* base/table.c - tables of text. */
#include "config.h"
#include "base/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

struct rt_table {
    int columns;
    bool *left;  /* [columns] */
    char **cell; /* [n_cells], row by row; the first row holds the headings */
    size_t n_cells, room;
    size_t printed; /* cells that were printed */
    int filled;     /* cells in the current row */
};

/* Appends a cell; owns `text` from now on. */
static void table_push(rt_table_t *t, char *text)
{
    RT_EXPECT(text != NULL, RT_MEMORY, "no memory for a table");
    if (t->n_cells == t->room) {
        t->room = 2 * t->room + 16;
        t->cell = realloc(t->cell, t->room * sizeof *t->cell);
        RT_EXPECT(t->cell != NULL, RT_MEMORY, "no memory for a table");
    }
    t->cell[t->n_cells++] = text;
}

rt_table_t *rt_table_new(const char *columns)
{
    rt_table_t *t = calloc(1, sizeof *t);
    RT_EXPECT(t != NULL, RT_MEMORY, "no memory for a table");
    t->columns = 1;
    for (const char *c = columns; *c; c++)
        t->columns += *c == '|';
    t->left = calloc((size_t)t->columns, sizeof *t->left);
    RT_EXPECT(t->left != NULL, RT_MEMORY, "no memory for a table");
    for (int i = 0; i < t->columns; i++) {
        t->left[i] = *columns == '<';
        columns += t->left[i];
        size_t n = strcspn(columns, "|");
        table_push(t, strndup(columns, n));
        columns += n + 1; /* past the end after the last column, and then not used */
    }
    return t;
}

void rt_table_cell(rt_table_t *t, const char *fmt, ...)
{
    RT_EXPECT(t->filled < t->columns, RT_INVALID, "a row of more than %d cells", t->columns);
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    RT_EXPECT(length >= 0, RT_INVALID, "cell format '%s'", fmt);
    char *text = malloc((size_t)length + 1);
    RT_EXPECT(text != NULL, RT_MEMORY, "no memory for a table");
    va_start(args, fmt);
    vsnprintf(text, (size_t)length + 1, fmt, args);
    va_end(args);
    table_push(t, text);
    t->filled++;
}

void rt_table_row(rt_table_t *t)
{
    for (; t->filled < t->columns; t->filled++)
        table_push(t, strdup(""));
    t->filled = 0;
}

/* Returns the columns on a terminal: the bytes except those that continue a UTF-8 character. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Prints a row without blanks at the end of the line. */
static void print_row(const rt_table_t *t, size_t first, const int *width, FILE *out)
{
    int owed = 0; /* blanks to print before the next text */
    for (int i = 0; i < t->columns; i++) {
        size_t at = first + (size_t)i;
        const char *text = at < t->n_cells ? t->cell[at] : "";
        int pad = width[i] - text_width(text);
        owed += (i > 0 ? 2 : 0) + (t->left[i] ? 0 : pad);
        if (*text) {
            fprintf(out, "%*s%s", owed, "", text);
            owed = 0;
        }
        owed += t->left[i] ? pad : 0;
    }
    fputc('\n', out);
}

void rt_table_print(rt_table_t *t, FILE *out)
{
    const size_t columns = (size_t)t->columns;
    int *width = calloc(columns, sizeof *width);
    RT_EXPECT(width != NULL, RT_MEMORY, "no memory for a table");
    size_t first = t->printed;
    int line = 2 * (t->columns - 1);
    for (size_t i = 0; i < t->n_cells; i++) {
        int w = text_width(t->cell[i]);
        if (w > width[i % columns])
            width[i % columns] = w;
    }
    for (size_t i = 0; i < columns; i++)
        line += width[i];
    if (first == 0) {
        print_row(t, 0, width, out);
        first = columns;
        for (int i = 0; i < line; i++)
            fputc('-', out);
        fputc('\n', out);
    }
    for (; first < t->n_cells; first += columns)
        print_row(t, first, width, out);
    t->printed = t->n_cells;
    free(width);
}

void rt_table_destroy(rt_table_t *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t->left);
    free(t);
}
