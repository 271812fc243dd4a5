/* base/text.c - a line of text in the making. */
#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "config.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* Returns the columns of the terminal that this is, 60 to 120. If it is none: what COLUMNS in the
 * environment says, for programs that read what is printed, else 80. */
static int text_width(FILE *out)
{
    enum { USUAL = 80, LEAST = 60, MOST = 120 };
    struct winsize size;
    const int file = fileno(out);
    if (file < 0 || !isatty(file) || ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        const char *columns = getenv("COLUMNS");
        const long n = columns ? strtol(columns, NULL, 10) : 0;
        return n >= LEAST && n <= INT16_MAX ? (int)n : USUAL;
    }
    return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
}

void rt_print_wrapped(FILE *out, int column, int indent, const char *text)
{
    const char *space = " \n\t";
    const int width = text_width(out);
    for (text += strspn(text, space); *text; text += strspn(text, space)) {
        const int length = (int)strcspn(text, space);
        bool begins = column <= indent;
        if (!begins && column + 1 + length > width) {
            fputc('\n', out);
            column = 0;
            begins = true;
        }
        const int gap = begins ? indent - column : 1;
        fprintf(out, "%*s%.*s", gap, "", length, text);
        column += gap + length;
        text += length;
    }
    fputc('\n', out);
}
