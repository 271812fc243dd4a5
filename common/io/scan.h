/*
 * io/scan.h - reading a file that may be broken: a bounded scanner of text and of binary numbers.
 *
 * A file is taken whole into memory, then read front to back. The scanner never looks past `end`;
 * the bytes have no terminator. Every function returns false after writing one line into `why`; the
 * first failure stands, so callers just pass false on. Everything a file says is to be doubted: a
 * count is compared with the bytes that are left before anything is allocated for it.
 */
#ifndef RT_SCAN_H
#define RT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name;             /* of the file, for messages */
    const char *start, *at, *end; /* all of it, where we are, behind the last byte */
    int64_t line;                 /* of `at`, from 1; says nothing in a binary file */
    bool binary;                  /* messages give the byte instead of the line */
    bool failed;
    char *why;
    size_t len;
} rt_scan_t;

/* At the first of these bytes, which stay the caller's; why is emptied. */
rt_scan_t rt_scan_bytes(const char *name, const void *data, size_t bytes, char *why, size_t len);
/* The whole of a regular file that is not empty, for rt_free in RT_HOST; NULL, and why. */
char *rt_scan_load(const char *path, size_t *bytes, char *why, size_t len);

/* "NAME: line 3: MESSAGE" or "NAME: byte 99: MESSAGE"; always false. */
bool rt_scan_fail(rt_scan_t *s, const char *fmt, ...) RT_PRINTF(2, 3);
/* The same for another line than that of `at`. */
bool rt_scan_fail_line(rt_scan_t *s, int64_t line, const char *fmt, ...) RT_PRINTF(3, 4);
/* About the whole file: no line. */
bool rt_scan_fail_file(rt_scan_t *s, const char *fmt, ...) RT_PRINTF(2, 3);

static inline size_t rt_scan_left(const rt_scan_t *s)
{
    return (size_t)(s->end - s->at);
}

/* A line at a time. Numbers must stand in the line of `at`; `what` names them in messages. */
bool rt_scan_int(rt_scan_t *s, int64_t *value, const char *what);
bool rt_scan_real(rt_scan_t *s, double *value, const char *what);
/* Nothing but blanks may follow in this line; goes to the next. */
bool rt_scan_line_end(rt_scan_t *s);
void rt_scan_skip_line(rt_scan_t *s);   /* whatever follows */
void rt_scan_skip_blanks(rt_scan_t *s); /* spaces, tabs and carriage returns */
void rt_scan_skip_space(rt_scan_t *s);  /* the same and line ends */
/* Goes past this word if it stands at `at`, with a blank, a line end or nothing behind. */
bool rt_scan_word(rt_scan_t *s, const char *word);
/* The text up to the next blank, printable and cut to fit: for messages. */
const char *rt_scan_quote(const rt_scan_t *s, char *buf, size_t len);

/* CRC-32 (that of zip, PNG and Ethernet) of these bytes. */
uint32_t rt_scan_crc32(const void *data, size_t bytes);

/* Binary: n items of `size` bytes are there. `what` names them in the message. */
bool rt_scan_need(rt_scan_t *s, int64_t n, int64_t size, const char *what);
/* Copies bytes that are known to be there. */
void rt_scan_take(rt_scan_t *s, void *to, size_t bytes);

/* A count of entries of at least `least` bytes each: 1 .. 2^31 - 1, and no more than the rest of
 * the file can hold. What is allocated for them afterwards is a fixed multiple of the file. */
bool rt_scan_count(rt_scan_t *s, int64_t n, int64_t least, const char *what);
/* rt_try_alloc in RT_HOST, with a message. */
void *rt_scan_alloc(rt_scan_t *s, int64_t n, size_t size);
/* `array` of n items moved to a place with room for `room`, perhaps fewer: the new array. Failure:
 * the old one, as it was. */
void *rt_scan_resize(rt_scan_t *s, void *array, int64_t n, int64_t room, size_t size);

#ifdef __cplusplus
}
#endif
#endif
