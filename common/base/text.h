/*
 * base/text.h - a line of text in the making: room that the caller owns, instead of a static buffer
 * and sums of what snprintf returned. What does not fit is cut off at the end. And text that is
 * wrapped for people.
 */
#ifndef RT_TEXT_H
#define RT_TEXT_H

#include <stdio.h>
#include "base/error.h"

RT_C_BEGIN

typedef struct {
    char text[512];
} rt_text_t;

/* Replaces the text; returns t->text. The arguments must not point into it. */
const char *rt_text(rt_text_t *t, const char *fmt, ...) RT_PRINTF(2, 3);
/* Appends to the text; returns t->text. Start with {""}. */
const char *rt_text_add(rt_text_t *t, const char *fmt, ...) RT_PRINTF(2, 3);

/* The column at which what follows a word such as "memory" begins in what programs print. */
enum { RT_INDENT = 14 };
/* Prints words from `column` on, of which as many are taken, and continues at column `indent` of
 * the next line where the width is reached. Ends the line. White space separates words. */
void rt_print_wrapped(FILE *out, int column, int indent, const char *text);

RT_C_END
#endif
