/*
 * tune/tune_file.c - see tune/tune_file.h.
 *
 * Every line ends with a checksum, so a line is checked before anything in it is believed. The last
 * line counts the others, so a file that was cut off between two lines is detected too. The reader
 * takes exactly what the writer writes: fields in one order, one blank between them.
 */
#include "config.h"
#include "tune/tune_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "io/draft.h"
#include "base/error.h"
#include "io/scan.h"

static const char magic[] = "rooftop-tuning ";
enum { CHECK_BYTES = 13, MOST_ENTRIES = 100000 }; /* " crc=01234567" */

/* --- reading --- */

/* A line: its text without line end, which the reader cuts into words. */
typedef struct {
    rt_scan_t *scan;
    int64_t line;
    char *at;
} words_t;

static bool line_fail(words_t *w, const char *what)
{
    return rt_scan_fail_line(w->scan, w->line, "%s", what);
}

/* Verifies the checksum at the end of the line, and cuts it off. */
static bool checked(words_t *w, size_t length)
{
    unsigned got = 0;
    int used = 0;
    char *check = w->at + length - CHECK_BYTES;
    if (length <= CHECK_BYTES || strncmp(check, " crc=", 5) != 0 ||
        strspn(check + 5, "0123456789abcdef") != 8 || sscanf(check + 5, "%8x%n", &got, &used) != 1)
        return line_fail(w, "the check at its end is missing; the file is damaged");
    *check = '\0';
    if (got != rt_scan_crc32(w->at, length - CHECK_BYTES))
        return line_fail(w, "the check at its end is wrong; the file is damaged, or was edited");
    return true;
}

/* Returns the value of the next word, which must be key=value. */
static bool next_word(words_t *w, const char *key, char **value)
{
    const size_t n = strlen(key);
    char *word = w->at, *blank = word ? strchr(word, ' ') : NULL;
    if (!word || strncmp(word, key, n) != 0 || word[n] != '=' || word[n + 1] == '\0' ||
        word[n + 1] == ' ')
        return rt_scan_fail_line(w->scan, w->line, "%s=... is not where it should be", key);
    if (blank)
        *blank++ = '\0';
    w->at = blank;
    *value = word + n + 1;
    return true;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes %XX, in place. */
static bool decode(words_t *w, char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        *to = *from;
        if (*from == '%') {
            const int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
            const int byte = 16 * high + low;
            if (low < 0 || byte < ' ' || byte > '~')
                return line_fail(w, "a % without two digits of a printable character after it");
            *to = (char)byte;
            from += 2;
        }
        to++;
    }
    *to = '\0';
    return true;
}

static bool text_word(words_t *w, const char *key, const char **text)
{
    char *value = NULL;
    *text = "";
    if (!next_word(w, key, &value) || !decode(w, value))
        return false;
    *text = value;
    return true;
}

static bool count_word(words_t *w, const char *key, int64_t *count)
{
    char *value = NULL;
    if (!next_word(w, key, &value))
        return false;
    const size_t digits = strspn(value, "0123456789");
    if (digits == 0 || digits > 15 || value[digits] != '\0')
        return rt_scan_fail_line(w->scan, w->line, "%s=%.24s is not a count", key, value);
    *count = strtoll(value, NULL, 10);
    return true;
}

/* Reads a positive, finite number: nothing else can have been measured. */
static bool positive(words_t *w, const char *what, const char *text, double *value)
{
    char why[160] = "";
    rt_scan_t scan = rt_scan_bytes("", text, strlen(text), why, sizeof why);
    if (*text == ' ' || !rt_scan_real(&scan, value, what) || scan.at != scan.end ||
        !isfinite(*value) || *value <= 0)
        return rt_scan_fail_line(w->scan, w->line, "%s: \"%.24s\" is not a positive number", what,
                                 text);
    return true;
}

/* Cuts "a:x,b:y" into pairs; "-" is an empty list. Returns how many, or -1. */
static int pairs(words_t *w, char *list, int most, char *name[], char *value[])
{
    int n = 0;
    if (strcmp(list, "-") == 0)
        return 0;
    for (char *at = list; at; n++) {
        if (n == most)
            return line_fail(w, "more parameters or coordinates than this program knows"), -1;
        name[n] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
        value[n] = strchr(name[n], ':');
        if (value[n])
            *value[n]++ = '\0';
        if (!value[n] || !*name[n] || !*value[n])
            return line_fail(w, "a list that is not NAME:VALUE,NAME:VALUE"), -1;
        if (!decode(w, name[n]) || !decode(w, value[n]))
            return -1;
    }
    return n;
}

static bool point_word(words_t *w, rt_tune_entry_t *e)
{
    char *list, *name[RT_TUNE_COORDINATES], *value[RT_TUNE_COORDINATES];
    if (!next_word(w, "point", &list))
        return false;
    e->coordinates = pairs(w, list, RT_TUNE_COORDINATES, name, value);
    for (int c = 0; c < e->coordinates; c++) {
        e->point[c].name = name[c];
        if (!positive(w, name[c], value[c], &e->point[c].value))
            return false;
    }
    return e->coordinates >= 0;
}

static bool choice_word(words_t *w, rt_tune_entry_t *e)
{
    char *list, *name[RT_TUNE_PARAMETERS], *value[RT_TUNE_PARAMETERS];
    if (!next_word(w, "choice", &list))
        return false;
    e->parameters = pairs(w, list, RT_TUNE_PARAMETERS, name, value);
    for (int p = 0; p < e->parameters; p++) {
        e->choice[p].name = name[p];
        e->choice[p].value = value[p];
    }
    return e->parameters >= 0;
}

static bool read_entry(words_t *w, rt_tune_entry_t *e)
{
    int64_t format;
    const char *measured;
    char *seconds;
    e->line = w->line;
    if (!count_word(w, "format", &format))
        return false;
    if (format != RT_TUNE_FORMAT)
        return rt_scan_fail_line(w->scan, w->line,
                                 "is of format %" PRId64 ", and this program reads %d", format,
                                 RT_TUNE_FORMAT);
    if (!text_word(w, "program", &e->program) || !text_word(w, "version", &e->version) ||
        !text_word(w, "device", &e->device) || !count_word(w, "threads", &e->threads) ||
        !count_word(w, "ranks", &e->ranks) || !point_word(w, e) ||
        !text_word(w, "rung", &e->rung) || !choice_word(w, e) ||
        !text_word(w, "measured", &measured) || !next_word(w, "seconds", &seconds) ||
        !positive(w, "seconds", seconds, &e->seconds) || !text_word(w, "date", &e->date))
        return false;
    e->isolated = strcmp(measured, "isolated") == 0;
    if (!e->isolated && strcmp(measured, "inside") != 0)
        return line_fail(w, "measured= is neither inside nor isolated");
    if (e->ranks < 1)
        return line_fail(w, "ranks=0");
    return w->at ? line_fail(w, "has more after date=...") : true;
}

/* Reads the first line. It names the format, in words that a later format will keep. */
static bool read_header(words_t *w, size_t length)
{
    if (strncmp(w->at, magic, sizeof magic - 1) != 0)
        return line_fail(w, "this is not a tuning file: it should begin with \"rooftop-tuning\"");
    const char *number = w->at + sizeof magic - 1;
    const size_t digits = strspn(number, "0123456789");
    const bool ours = digits == 1 && number[0] == '0' + RT_TUNE_FORMAT;
    if (digits > 0 && !ours)
        return rt_scan_fail_line(w->scan, w->line, "is of format %.*s, and this program reads %d",
                                 (int)digits, number, RT_TUNE_FORMAT);
    if (!checked(w, length))
        return false;
    return number[digits] == '\0' && digits > 0 ? true : line_fail(w, "names no format");
}

/* Reads all lines; cuts the text up. */
static bool read_lines(rt_tune_file_t *file, rt_scan_t *scan, size_t bytes)
{
    bool ended = false;
    char *at = file->text, *end = at + bytes;
    for (int64_t line = 1; at < end; line++) {
        words_t w = {scan, line, at};
        char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return line_fail(&w, "the file ends in the middle of it");
        const size_t length = (size_t)(newline - at);
        for (size_t k = 0; k < length; k++)
            if (at[k] < ' ' || at[k] > '~')
                return line_fail(&w, "has a byte that is not text; the file is damaged");
        *newline = '\0';
        if (line == 1) {
            if (!read_header(&w, length))
                return false;
        } else if (!checked(&w, length)) {
            return false;
        } else if (ended) {
            return line_fail(&w, "comes after the line that should be the last");
        } else if (strncmp(at, "entries=", 8) == 0) {
            int64_t count;
            if (!count_word(&w, "entries", &count))
                return false;
            if (w.at || count != file->entries)
                return line_fail(&w, "counts another number of entries than there are before it");
            ended = true;
        } else if (!read_entry(&w, &file->entry[file->entries++])) {
            return false;
        }
        at = newline + 1;
    }
    return ended ? true : rt_scan_fail_file(scan, "lines are missing at its end");
}

rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes, char *why,
                                   size_t len)
{
    rt_scan_t scan = rt_scan_bytes(name, data, bytes, why, len);
    int64_t lines = 0;
    for (size_t k = 0; k < bytes; k++)
        lines += ((const char *)data)[k] == '\n';
    if (lines > MOST_ENTRIES) {
        rt_scan_fail_file(&scan, "more than %d lines", MOST_ENTRIES);
        return NULL;
    }
    rt_tune_file_t *file = calloc(1, sizeof *file);
    RT_EXPECT(file, RT_MEMORY, "no memory for a tuning file");
    file->entry = calloc((size_t)lines + 1, sizeof *file->entry);
    file->text = malloc(bytes + 1);
    RT_EXPECT(file->entry && file->text, RT_MEMORY, "no memory for %zu bytes of tuning", bytes);
    if (bytes > 0)
        memcpy(file->text, data, bytes);
    file->text[bytes] = '\0';
    if (!read_lines(file, &scan, bytes)) {
        rt_tune_file_free(file);
        return NULL;
    }
    return file;
}

void rt_tune_file_free(rt_tune_file_t *file)
{
    if (!file)
        return;
    free(file->entry);
    free(file->text);
    free(file);
}

/* --- writing --- */

bool rt_tune_entry_same(const rt_tune_entry_t *a, const rt_tune_entry_t *b)
{
    if (strcmp(a->program, b->program) != 0 || strcmp(a->device, b->device) != 0 ||
        a->threads != b->threads || a->ranks != b->ranks || strcmp(a->rung, b->rung) != 0 ||
        a->isolated != b->isolated || a->coordinates != b->coordinates)
        return false;
    for (int c = 0; c < a->coordinates; c++)
        if (strcmp(a->point[c].name, b->point[c].name) != 0 ||
            a->point[c].value != b->point[c].value)
            return false;
    return true;
}

/* Writes text, with characters in `meaning` as %XX and unprintable ones as "?". */
static void put_text(FILE *out, const char *text, const char *meaning)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c > '~')
            fputc('?', out);
        else if (strchr(meaning, c))
            fprintf(out, "%%%02X", c);
        else
            fputc(c, out);
    }
}

/* Writes a number as the C locale does. */
static void put_real(FILE *out, const char *format, double x)
{
    char text[64];
    const char *point = localeconv()->decimal_point;
    snprintf(text, sizeof text, format, x);
    char *at = strstr(text, point);
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
    fputs(text, out);
}

static void put_word(FILE *out, const char *key, const char *text)
{
    fprintf(out, " %s=", key);
    put_text(out, *text ? text : "?", " %");
}

static void put_entry(FILE *out, const rt_tune_entry_t *e)
{
    fprintf(out, "format=%d", RT_TUNE_FORMAT);
    put_word(out, "program", e->program);
    put_word(out, "version", e->version);
    put_word(out, "device", e->device);
    fprintf(out, " threads=%" PRId64 " ranks=%" PRId64 " point=%s", e->threads, e->ranks,
            e->coordinates ? "" : "-");
    for (int c = 0; c < e->coordinates; c++) {
        fputs(c ? "," : "", out);
        put_text(out, e->point[c].name, " %,:");
        fputc(':', out);
        put_real(out, "%.17g", e->point[c].value);
    }
    put_word(out, "rung", e->rung);
    fprintf(out, " choice=%s", e->parameters ? "" : "-");
    for (int p = 0; p < e->parameters; p++) {
        fputs(p ? "," : "", out);
        put_text(out, e->choice[p].name, " %,:");
        fputc(':', out);
        put_text(out, e->choice[p].value, " %,:");
    }
    fprintf(out, " measured=%s seconds=", e->isolated ? "isolated" : "inside");
    put_real(out, "%.9g", e->seconds);
    put_word(out, "date", e->date);
}

typedef struct {
    FILE *out;
    char *text;
    size_t bytes;
} memory_t;

static void memory_open(memory_t *m)
{
    m->out = open_memstream(&m->text, &m->bytes);
    RT_EXPECT(m->out, RT_MEMORY, "no memory for a tuning file");
}

static void memory_close(memory_t *m)
{
    const bool good = !ferror(m->out);
    RT_EXPECT(fclose(m->out) == 0 && good, RT_MEMORY, "no memory for a tuning file");
}

/* Writes one line with its checksum: the entry, or `text` if there is none. */
static void put_line(FILE *out, const rt_tune_entry_t *e, const char *text)
{
    memory_t line;
    memory_open(&line);
    if (e)
        put_entry(line.out, e);
    else
        fputs(text, line.out);
    memory_close(&line);
    fprintf(out, "%s crc=%08" PRIx32 "\n", line.text, rt_scan_crc32(line.text, line.bytes));
    free(line.text);
}

char *rt_tune_file_text(const rt_tune_file_t *old, const rt_tune_entry_t *fresh, int n,
                        size_t *bytes)
{
    char text[64];
    int64_t entries = n;
    memory_t all;
    memory_open(&all);
    snprintf(text, sizeof text, "%s%d", magic, RT_TUNE_FORMAT);
    put_line(all.out, NULL, text);
    for (int64_t i = 0; old && i < old->entries; i++) {
        bool replaced = false;
        for (int k = 0; k < n; k++)
            replaced = replaced || rt_tune_entry_same(&old->entry[i], &fresh[k]);
        if (!replaced) {
            put_line(all.out, &old->entry[i], NULL);
            entries++;
        }
    }
    for (int k = 0; k < n; k++)
        put_line(all.out, &fresh[k], NULL);
    snprintf(text, sizeof text, "entries=%" PRId64, entries);
    put_line(all.out, NULL, text);
    memory_close(&all);
    *bytes = all.bytes;
    return all.text;
}

/* Makes the folders above `path` that are not there. A failure shows when the file is made. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof folder)
        return;
    strcpy(folder, path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
}

int rt_tune_file_write(const char *path, const char *text, size_t bytes)
{
    rt_draft_t *draft = malloc(sizeof *draft); /* two paths: large for a stack */
    RT_EXPECT(draft, RT_MEMORY, "no memory to write %s", path);
    make_folders(path);
    rt_draft_begin(draft, path);
    rt_draft_put(draft, 0, text, bytes);
    const int error = rt_draft_end(draft);
    free(draft);
    return error;
}
