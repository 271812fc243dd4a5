/*
 * base/table.h - tables of text for people: right-aligned numbers, left-aligned words, and columns
 * as wide as their content.
 */
#ifndef RT_TABLE_H
#define RT_TABLE_H

#include <stdio.h>
#include "base/error.h"

RT_C_BEGIN

typedef struct rt_table rt_table_t;
/* Starts a table. Headings are separated by '|'; a column whose heading starts with '<' is
 * left-aligned: rt_table_new("<rung|time us|GB/s"). */
rt_table_t *rt_table_new(const char *columns);
/* Adds the next cell of the current row, as printf does; "-" means "does not apply". */
void rt_table_cell(rt_table_t *t, const char *fmt, ...) RT_PRINTF(2, 3);
/* Ends the row; missing cells become empty. */
void rt_table_row(rt_table_t *t);
/* Prints the rows that were not printed yet; the first time the headings come first. The columns are
 * as wide as what there is so far: headings that are filled up with blanks keep later rows aligned. */
void rt_table_print(rt_table_t *t, FILE *out);
void rt_table_destroy(rt_table_t *t);

RT_C_END
#endif
