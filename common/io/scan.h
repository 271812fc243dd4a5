/*
 * io/scan.h - reads a file that may be broken: a bounded scanner of text and of binary numbers.
 *
 * A file is loaded whole, then read from front to back. The scanner never looks past `end`; the
 * bytes have no terminator. A function that fails writes one line into `why` and returns false; the
 * first failure is kept, so callers just pass false on. Nothing that a file says is trusted: a
 * count is compared with the bytes that are left before anything is allocated for it.
 */
#ifndef RT_SCAN_H
#define RT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

RT_C_BEGIN

typedef struct {
    const char *name;             /* of the file, for messages */
    const char *start, *at, *end; /* first byte, current byte, one past the last */
    int64_t line;                 /* of `at`, from 1; meaningless in a binary file */
    bool binary;                  /* messages give the byte instead of the line */
    bool swap;                    /* binary numbers are in the other byte order */
    bool failed;
    char *why;
    size_t len;
} rt_scan_t;

/* Starts a scanner at the first of these bytes, which the caller keeps. Empties why. */
rt_scan_t rt_scan_bytes(const char *name, const void *data, size_t bytes, char *why, size_t len);
/* Loads a regular file that is not empty, and notes it (io/files.h); rt_free(.., RT_HOST) frees it.
 * Returns NULL, and why, on failure. */
char *rt_scan_load(const char *path, size_t *bytes, char *why, size_t len);

/* Writes "NAME: line 3: MESSAGE", where `line` may be that of `at` (in a binary file "byte 99"), or
 * none, for the whole file. Always returns false. */
enum { RT_SCAN_HERE = 0, RT_SCAN_NOWHERE = -1 };
bool rt_scan_fail_line(rt_scan_t *s, int64_t line, const char *fmt, ...) RT_PRINTF(3, 4);
#define rt_scan_fail(s, ...)      rt_scan_fail_line(s, RT_SCAN_HERE, __VA_ARGS__)
#define rt_scan_fail_file(s, ...) rt_scan_fail_line(s, RT_SCAN_NOWHERE, __VA_ARGS__)

static inline size_t rt_scan_left(const rt_scan_t *s)
{
    return (size_t)(s->end - s->at);
}

/* Reads a number, which must be in the line of `at`; `what` names it in messages. */
bool rt_scan_int(rt_scan_t *s, int64_t *value, const char *what);
/* Read a number in the form of the file: in a text as rt_scan_int does, else of 4 bytes with a sign or
 * of 8 without (what int64_t cannot hold becomes -1), or a double. */
bool rt_scan_whole(rt_scan_t *s, int64_t *value, int bytes, const char *what);
bool rt_scan_real(rt_scan_t *s, double *value, const char *what);
/* Goes to the next line; fails if anything but blanks is left in this one. */
bool rt_scan_line_end(rt_scan_t *s);
void rt_scan_skip_line(rt_scan_t *s);   /* to the next line, whatever is left in this one */
void rt_scan_skip_blanks(rt_scan_t *s); /* spaces, tabs and carriage returns */
void rt_scan_skip_space(rt_scan_t *s);  /* those and line ends */
/* Goes past this word if it is at `at`, followed by a blank, a line end or nothing. */
bool rt_scan_word(rt_scan_t *s, const char *word);
/* Copies the text up to the next blank, made printable and cut to fit, for messages. */
const char *rt_scan_quote(const rt_scan_t *s, char *buf, size_t len);

/* Returns the CRC-32 (that of zip, PNG and Ethernet) of these bytes. */
uint32_t rt_scan_crc32(const void *data, size_t bytes);

/* Binary: checks that n items of `size` bytes are left. `what` names them in the message. */
bool rt_scan_need(rt_scan_t *s, int64_t n, int64_t size, const char *what);
/* Binary: copies the bytes of a number that is known to be there, or of anything if not s->swap. */
void rt_scan_take(rt_scan_t *s, void *to, size_t bytes);

/* Checks a count of entries of at least `least` bytes each: 1 .. 2^31 - 1, and no more than the
 * rest of the file can hold. So what is allocated for them is a fixed multiple of the file. */
bool rt_scan_count(rt_scan_t *s, int64_t n, int64_t least, const char *what);
/* Calls rt_try_alloc in RT_HOST; writes a message on failure. */
void *rt_scan_alloc(rt_scan_t *s, int64_t n, size_t size);
/* Moves `array` of n items to a new one with room for `room`, which may be fewer, and returns it.
 * On failure returns the old one, unchanged. */
void *rt_scan_resize(rt_scan_t *s, void *array, int64_t n, int64_t room, size_t size);

RT_C_END
#endif
