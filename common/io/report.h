/*
 * io/report.h - results: a table for people, JSON for programs.
 *
 * JSON goes through jansson. A file is written whole or not at all: to a temporary file beside
 * it, flushed to disk, then renamed. Numbers that are not finite cannot be written; they are a
 * failed verification, and meeting one here is a fault of the program.
 */
#ifndef RT_REPORT_H
#define RT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* object[key] = value; dies if value is not finite. */
void rt_json_real(json_t *object, const char *key, double value);
void rt_json_int(json_t *object, const char *key, long long value);
void rt_json_text(json_t *object, const char *key, const char *value);
void rt_json_bool(json_t *object, const char *key, bool value);
/* A new object or array under key, borrowed reference. */
json_t *rt_json_object(json_t *object, const char *key);
json_t *rt_json_array(json_t *object, const char *key);
json_t *rt_json_append_object(json_t *array);
void rt_json_append_real(json_t *array, double value);

/* Before a run: refuse (RT_USAGE) a path that could not be written after it: missing folder, a
 * folder, no permission. Leaves nothing behind and an existing file as it is. */
void rt_report_probe(const char *path);
/* Adds the seal as the last member of `root` and writes it: SHA-256 of the nonce, a newline, and
 * the bytes of the file with zeros for the seal's 64 digits. A file that was changed by hand
 * afterwards has the wrong one; who changes it with a program can make another, so it is no
 * signature. Rank 0 only. Returns 0, or -1 after one line on stderr (disk full, ...): then `path`
 * is what it was before, and no temporary file is left. */
int rt_report_write(const char *path, json_t *root, const char *nonce);

/* A table of text: right-aligned numbers, left-aligned words, widths from the content. */
typedef struct rt_table rt_table_t;
/* Columns separated by '|'; a column whose heading starts with '<' is left-aligned:
 * rt_table_new("<rung|time us|GB/s"). */
rt_table_t *rt_table_new(const char *columns);
/* The next cell of the present row, printf-like; "-" for what does not apply. */
void rt_table_cell(rt_table_t *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rt_table_row(rt_table_t *t); /* ends the row; missing cells become empty */
void rt_table_print(const rt_table_t *t, FILE *out);
void rt_table_destroy(rt_table_t *t);

#ifdef __cplusplus
}
#endif
#endif
