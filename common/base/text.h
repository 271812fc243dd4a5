/*
 * base/text.h - a line of text in the making: room that the caller owns, instead of a static buffer
 * and sums of what snprintf returned. What does not fit is cut off at the end.
 */
#ifndef RT_TEXT_H
#define RT_TEXT_H

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char text[512];
} rt_text_t;

/* Replaces the text; returns t->text. The arguments must not point into it. */
const char *rt_text(rt_text_t *t, const char *fmt, ...) RT_PRINTF(2, 3);
/* Appends to the text; returns t->text. Start with {""}. */
const char *rt_text_add(rt_text_t *t, const char *fmt, ...) RT_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
