/* io/scan.c - see io/scan.h. */
#include "config.h"
#include "io/scan.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/mem.h"
#include "io/files.h"

/* --- messages --- */

bool rt_scan_fail_line(rt_scan_t *s, int64_t line, const char *fmt, ...)
{
    char where[40] = "";
    va_list args;
    const bool first = !s->failed && s->len > 0;
    s->failed = true;
    if (!first)
        return false;
    if (line == RT_SCAN_HERE && s->binary)
        snprintf(where, sizeof where, "byte %td: ", s->at - s->start);
    else if (line != RT_SCAN_NOWHERE)
        snprintf(where, sizeof where, "line %" PRId64 ": ", line == RT_SCAN_HERE ? s->line : line);
    const int n = snprintf(s->why, s->len, "%s: %s", s->name, where);
    va_start(args, fmt);
    if (n >= 0 && (size_t)n < s->len)
        vsnprintf(s->why + n, s->len - (size_t)n, fmt, args);
    va_end(args);
    return false;
}

/* --- text --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_space(char c)
{
    return is_blank(c) || c == '\n';
}

void rt_scan_skip_blanks(rt_scan_t *s)
{
    while (s->at < s->end && is_blank(*s->at))
        s->at++;
}

void rt_scan_skip_space(rt_scan_t *s)
{
    for (; s->at < s->end && is_space(*s->at); s->at++)
        s->line += *s->at == '\n';
}

void rt_scan_skip_line(rt_scan_t *s)
{
    const char *newline = s->at < s->end ? memchr(s->at, '\n', rt_scan_left(s)) : NULL;
    s->line += newline != NULL;
    s->at = newline ? newline + 1 : s->end;
}

/* Returns the bytes up to the next white space or the end. */
static size_t token(const rt_scan_t *s)
{
    const char *p = s->at;
    while (p < s->end && !is_space(*p))
        p++;
    return (size_t)(p - s->at);
}

bool rt_scan_word(rt_scan_t *s, const char *word)
{
    size_t n = strlen(word);
    if (token(s) != n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

const char *rt_scan_quote(const rt_scan_t *s, char *buf, size_t len)
{
    size_t n = token(s), i = 0;
    for (; i < n && i + 1 < len; i++)
        buf[i] = s->at[i] > ' ' && s->at[i] < 127 ? s->at[i] : '?';
    if (i < n && len > 4)
        memcpy(buf + i - 3, "...", 3);
    buf[i] = '\0';
    return buf;
}

bool rt_scan_line_end(rt_scan_t *s)
{
    char word[24];
    rt_scan_skip_blanks(s);
    if (s->at < s->end && *s->at != '\n')
        return rt_scan_fail(s, "the line should end before \"%s\"",
                            rt_scan_quote(s, word, sizeof word));
    rt_scan_skip_line(s);
    return true;
}

/* Goes to the next number in this line; fails if there is none. */
static bool find_number(rt_scan_t *s, const char *what)
{
    rt_scan_skip_blanks(s);
    if (s->at == s->end)
        return rt_scan_fail(s, "the file ends here, where %s should follow", what);
    if (*s->at == '\n')
        return rt_scan_fail(s, "%s is missing", what);
    return true;
}

bool rt_scan_int(rt_scan_t *s, int64_t *value, const char *what)
{
    char word[24];
    if (!find_number(s, what))
        return false;
    const char *p = s->at;
    bool minus = *p == '-', good;
    uint64_t sum = 0;
    p += *p == '-' || *p == '+';
    const char *digits = p;
    for (; p < s->end && *p >= '0' && *p <= '9'; p++)
        if (sum <= (uint64_t)INT64_MAX) /* otherwise it is too large already */
            sum = sum > (INT64_MAX - 9) / 10 ? UINT64_MAX : sum * 10 + (uint64_t)(*p - '0');
    good = p > digits && (p == s->end || is_space(*p)) && sum <= (uint64_t)INT64_MAX;
    if (!good)
        return rt_scan_fail(s, "\"%s\" is not a whole number%s (%s)",
                            rt_scan_quote(s, word, sizeof word),
                            sum > (uint64_t)INT64_MAX ? " in range" : "", what);
    *value = minus ? -(int64_t)sum : (int64_t)sum;
    s->at = p;
    return true;
}

/* strtod needs a terminator, and accepts hexadecimal numbers. Programs of ours are in the C locale. */
bool rt_scan_real(rt_scan_t *s, double *value, const char *what)
{
    char copy[160], word[24], *stop = copy;
    if (s->binary) {
        if (rt_scan_need(s, 1, sizeof *value, what))
            rt_scan_take(s, value, sizeof *value);
        return !s->failed;
    }
    if (!find_number(s, what))
        return false;
    const size_t n = token(s);
    const bool fits = n < sizeof copy;
    memcpy(copy, s->at, fits ? n : 0);
    copy[fits ? n : 0] = '\0';
    const double read = strtod(copy, &stop);
    if (!fits || stop != copy + n || strpbrk(copy, "xX"))
        return rt_scan_fail(s, "\"%s\" is not a number (%s)", rt_scan_quote(s, word, sizeof word),
                            what);
    *value = read;
    s->at += n;
    return true;
}

/* --- binary --- */

bool rt_scan_need(rt_scan_t *s, int64_t n, int64_t size, const char *what)
{
    if (n >= 0 && size > 0 && (uint64_t)n <= rt_scan_left(s) / (uint64_t)size)
        return true;
    return rt_scan_fail(s, "the file ends at byte %td, before the end of %s", s->end - s->start,
                        what);
}

void rt_scan_take(rt_scan_t *s, void *to, size_t bytes)
{
    char *byte = memcpy(to, s->at, bytes);
    for (size_t i = 0; s->swap && i < bytes; i++)
        byte[i] = s->at[bytes - 1 - i];
    s->at += bytes;
}

bool rt_scan_whole(rt_scan_t *s, int64_t *value, int bytes, const char *what)
{
    int32_t narrow;
    uint64_t wide;
    if (!s->binary)
        return rt_scan_int(s, value, what);
    if (!rt_scan_need(s, 1, bytes, what))
        return false;
    if (bytes == sizeof narrow) {
        rt_scan_take(s, &narrow, sizeof narrow);
        *value = narrow;
    } else {
        rt_scan_take(s, &wide, sizeof wide);
        *value = wide > INT64_MAX ? -1 : (int64_t)wide;
    }
    return true;
}

/* --- counts, memory --- */

bool rt_scan_count(rt_scan_t *s, int64_t n, int64_t least, const char *what)
{
    if (n <= 0 || n > INT32_MAX)
        return rt_scan_fail(s, "%" PRId64 " %s: must be 1 to %d", n, what, INT32_MAX);
    /* + 1, because the last may lack its line end */
    if ((uint64_t)n > rt_scan_left(s) / (uint64_t)least + 1)
        return rt_scan_fail(s, "%" PRId64 " %s do not fit in the %zu bytes that follow", n, what,
                            rt_scan_left(s));
    return true;
}

void *rt_scan_alloc(rt_scan_t *s, int64_t n, size_t size)
{
    char text[16];
    void *array = rt_try_alloc((size_t)n, size, RT_HOST);
    if (!array)
        rt_scan_fail_file(s, "not enough memory: %s asked for",
                          rt_mem_format((double)n * (double)size, text, sizeof text));
    return array;
}

void *rt_scan_resize(rt_scan_t *s, void *array, int64_t n, int64_t room, size_t size)
{
    void *moved = room > 0 ? rt_scan_alloc(s, room, size) : NULL;
    if (room > 0 && !moved)
        return array;
    if (n > 0 && room > 0)
        memcpy(moved, array, (size_t)(n < room ? n : room) * size);
    rt_free(array, RT_HOST);
    return moved;
}

/* --- files --- */

rt_scan_t rt_scan_bytes(const char *name, const void *data, size_t bytes, char *why, size_t len)
{
    /* an empty range may be NULL, on which arithmetic is not allowed */
    const char *start = bytes > 0 ? data : "";
    if (len > 0)
        why[0] = '\0';
    return (rt_scan_t){.name = name,
                       .start = start,
                       .at = start,
                       .end = start + bytes,
                       .line = 1,
                       .why = why,
                       .len = len};
}

char *rt_scan_load(const char *path, size_t *bytes, char *why, size_t len)
{
    rt_scan_t s = rt_scan_bytes(path, NULL, 0, why, len);
    rt_text_t fault;
    size_t got = 0;
    char *data = NULL;
    const int file = rt_file_open(path, bytes, &fault);
    if (file < 0)
        rt_scan_fail_file(&s, "%s", fault.text);
    else if (*bytes == 0)
        rt_scan_fail_file(&s, "the file is empty");
    else
        data = rt_scan_alloc(&s, (int64_t)*bytes, 1);
    if (data && !rt_file_read(file, data, *bytes, &got, &fault))
        rt_scan_fail_file(&s, "could not be read: %s", fault.text);
    else if (data && got != *bytes)
        rt_scan_fail_file(&s, "could not be read: it became shorter");
    if (file >= 0)
        close(file);
    if (s.failed)
        RT_FREE(data, RT_HOST);
    else
        rt_files_note(path, data, *bytes);
    return data;
}

uint32_t rt_scan_crc32(const void *data, size_t bytes)
{
    /* remainders of four bits */
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *byte = data;
    uint32_t crc = ~UINT32_C(0);
    for (size_t k = 0; k < bytes; k++) {
        crc ^= byte[k];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
