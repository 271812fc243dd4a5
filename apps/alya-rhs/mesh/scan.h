/*
 * scan.h - reading a mesh file that may be broken: a bounded scanner, and a mesh in the making.
 *
 * The scanner never looks past `end`; the bytes have no terminator. Every function returns false
 * after writing one line into `why`; the first failure stands, so callers just pass false on.
 */
#ifndef ALYA_SCAN_H
#define ALYA_SCAN_H

#include <stdio.h>
#include "../alya.h"

typedef struct {
    const char *name;             /* of the file, for messages */
    const char *start, *at, *end; /* all of it, where we are, behind the last byte */
    int64_t line;                 /* of `at`, from 1; says nothing in a binary file */
    bool binary;                  /* messages give the byte instead of the line */
    bool failed;
    char *why;
    size_t len;
} alya_scan_t;

/* "NAME: line 3: MESSAGE" or "NAME: byte 99: MESSAGE"; always false. */
bool alya_scan_fail(alya_scan_t *s, const char *fmt, ...) RT_PRINTF(2, 3);
/* The same for another line than that of `at`. */
bool alya_scan_fail_line(alya_scan_t *s, int64_t line, const char *fmt, ...) RT_PRINTF(3, 4);
/* About the whole file: no line. */
bool alya_scan_fail_file(alya_scan_t *s, const char *fmt, ...) RT_PRINTF(2, 3);

static inline size_t alya_scan_left(const alya_scan_t *s)
{
    return (size_t)(s->end - s->at);
}

/* A line at a time. Numbers must stand in the line of `at`; `what` names them in messages. */
bool alya_scan_int(alya_scan_t *s, int64_t *value, const char *what);
bool alya_scan_real(alya_scan_t *s, double *value, const char *what);
/* Nothing but blanks may follow in this line; goes to the next. */
bool alya_scan_line_end(alya_scan_t *s);
void alya_scan_skip_line(alya_scan_t *s);   /* whatever follows */
void alya_scan_skip_blanks(alya_scan_t *s); /* spaces, tabs and carriage returns */
void alya_scan_skip_space(alya_scan_t *s);  /* the same and line ends */
/* Goes past this word if it stands at `at`, with a blank, a line end or nothing behind. */
bool alya_scan_word(alya_scan_t *s, const char *word);
/* The text up to the next blank, printable and cut to fit: for messages. */
const char *alya_scan_quote(const alya_scan_t *s, char *buf, size_t len);

/* Binary: n items of `size` bytes are there. `what` names them in the message. */
bool alya_scan_need(alya_scan_t *s, int64_t n, int64_t size, const char *what);
/* Copies bytes that are known to be there. */
void alya_scan_take(alya_scan_t *s, void *to, size_t bytes);

/* A count of entries of at least `least` bytes each: 1 .. 2^31 - 1, and no more than the rest of
 * the file can hold. What is allocated for them afterwards is a fixed multiple of the file. */
bool alya_scan_count(alya_scan_t *s, int64_t n, int64_t least, const char *what);
/* rt_try_alloc in RT_HOST, with a message. */
void *alya_scan_alloc(alya_scan_t *s, int64_t n, size_t size);
/* Three coordinates of node `tag` are finite. */
bool alya_scan_finite(alya_scan_t *s, const double x[3], int64_t tag);

/* --- a mesh in the making --- */

typedef struct {
    int64_t nodes;         /* in the file */
    double *x;             /* [nodes][3] */
    int64_t room;          /* elements of any type that the file claims */
    int64_t elements;      /* tetrahedra so far, at most room */
    int32_t *connectivity; /* [room][4], numbers of nodes in the order of the file */
} alya_draft_t;

/* gmsh.c, su2.c: fill the draft; what was allocated in it stays there, also on failure. */
bool alya_gmsh_parse(alya_scan_t *s, alya_draft_t *draft);
bool alya_su2_parse(alya_scan_t *s, alya_draft_t *draft);

#endif
