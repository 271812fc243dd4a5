/* base/text.c - a line of text in the making. */
#include "config.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *rt_text(rt_text_t *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->text, sizeof t->text, fmt, args);
    va_end(args);
    return t->text;
}

const char *rt_text_add(rt_text_t *t, const char *fmt, ...)
{
    const size_t used = strlen(t->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->text + used, sizeof t->text - used, fmt, args);
    va_end(args);
    return t->text;
}
