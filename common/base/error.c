/*
 * base/error.c - one line on stderr, then the end of all ranks.
 *
 * The line is built in a buffer on the stack and written with one system call. So it needs no
 * memory, which may be what has run out, and lines of several ranks do not mix. Whatever a message
 * quotes (say, a file name that contains a newline), it stays one line.
 */
#include "config.h"
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

typedef struct {
    char text[LINE_MAX_BYTES];
    size_t n;
} line_t;

static struct {
    char program[64];
    int rank, size;
    void (*end)(int status);
    void (*finish)(void);
    bool (*meet)(void);
    bool unwritten;
} self = {.program = "rooftop", .size = 1};

void rt_error_set_program(const char *name)
{
    snprintf(self.program, sizeof self.program, "%s", name);
    self.unwritten = false;
}

void rt_error_set_ranks(int rank, int size, void (*end)(int status), void (*finish)(void),
                        bool (*meet)(void))
{
    self.rank = rank;
    self.size = size;
    self.end = end;
    self.finish = finish;
    self.meet = meet;
}

static void line_vadd(line_t *line, const char *fmt, va_list args)
{
    size_t room = sizeof line->text - line->n;
    int length = vsnprintf(line->text + line->n, room, fmt, args);
    if (length > 0)
        line->n += (size_t)length < room ? (size_t)length : room - 1;
}

static void line_add(line_t *line, const char *fmt, ...) RT_PRINTF(2, 3);
static void line_add(line_t *line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    line_vadd(line, fmt, args);
    va_end(args);
}

static void line_write(line_t *line)
{
    for (size_t i = 0; i < line->n; i++)
        if ((unsigned char)line->text[i] < ' ' || line->text[i] == 127)
            line->text[i] = '?';
    if (line->n == sizeof line->text - 1)
        memcpy(line->text + line->n - 3, "...", 3);
    line->text[line->n++] = '\n'; /* overwrites the closing '\0' */

    fflush(stdout); /* what was printed before the fault comes before it */
    for (size_t done = 0; done < line->n;) {
        ssize_t written = write(STDERR_FILENO, line->text + done, line->n - done);
        if (written < 0 && errno != EINTR)
            return; /* nowhere left to report it */
        done += written > 0 ? (size_t)written : 0;
    }
}

void rt_refuse(rt_status_t status, const char *fmt, ...)
{
    const bool alone = self.size > 1 && self.meet && !self.meet();
    if (self.rank == 0 || alone) {
        line_t line = {.n = 0};
        va_list args;
        line_add(&line, "%s: ", self.program);
        if (alone)
            line_add(&line, "rank %d: ", self.rank);
        va_start(args, fmt);
        line_vadd(&line, fmt, args);
        va_end(args);
        line_write(&line);
    }
    if (alone && self.end)
        self.end(status);
    if (self.finish)
        self.finish();
    exit(status);
}

static void say(const char *fmt, va_list args)
{
    line_t line = {.n = 0};
    line_add(&line, "%s: ", self.program);
    line_vadd(&line, fmt, args);
    line_write(&line);
}

void rt_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

void rt_unwritten(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    self.unwritten = true;
}

bool rt_all_written(void)
{
    return !self.unwritten;
}

void rt_die_at(const char *file, int line_number, const char *expression, rt_status_t status,
               const char *fmt, ...)
{
    line_t line = {.n = 0};
    va_list args;
    line_add(&line, "%s: rank %d: %s:%d: ", self.program, self.rank, file, line_number);
    if (*expression)
        line_add(&line, "%s: ", expression);
    va_start(args, fmt);
    line_vadd(&line, fmt, args);
    va_end(args);
    line_write(&line);

    if (self.size > 1 && self.end)
        self.end(status);
    /* Not exit(): other threads still use what the exit handlers would take apart, and the other
     * ranks will not take part in the handlers. */
    _Exit(status);
}
