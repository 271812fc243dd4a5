/*
 * base/opt_value.c - one value of an option: reading it, its default, and its text.
 *
 * The command line and case files both go through rt_opt_read, so that a value means the same in
 * either and no range can be forgotten.
 */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/opt_slot.h"

static void *slot_member(rt_opt_slot_t slot)
{
    return (char *)slot.set->target + slot.option->offset;
}

/* --- what outlives a call --- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Strings that options point to live as long as the program: a value from a case file has no other
 * owner, and an options' struct is copied freely. */
const char *rt_opt_keep(const char *text)
{
    static void *kept;
    char *const *const known = tfind(text, &kept, compare_texts);
    if (known)
        return *known;
    char *copy = strdup(text);
    RT_EXPECT(copy && tsearch(copy, &kept, compare_texts), RT_MEMORY,
              "no memory for an option of %zu bytes", strlen(text) + 1);
    return copy;
}

static uint64_t given_bit(rt_opt_slot_t slot)
{
    return UINT64_C(1) << (slot.option - slot.set->options);
}

bool rt_opt_was_given(rt_opt_slot_t slot)
{
    return *slot.set->given & given_bit(slot);
}

void rt_opt_note_given(rt_opt_slot_t slot)
{
    *slot.set->given |= given_bit(slot);
}

/* --- reading --- */

void rt_opt_range(const rt_opt_t *o, rt_text_t *words)
{
    /* 2^53: beyond, a bound of whole numbers is not exact */
    const double huge = o->type == RT_OPT_REAL ? 1e300 : 9e15;
    const bool low = o->min > -huge, high = o->max < huge;
    char min[40], max[40];
    const char *format = o->type == RT_OPT_REAL ? "%.6g" : "%.0f";
    snprintf(min, sizeof min, format, low ? o->min : 0.0);
    snprintf(max, sizeof max, format, high ? o->max : 0.0);
    rt_text(words, "%s", "");
    if (low && high)
        rt_text(words, "%s to %s", min, max);
    else if (low || high)
        rt_text(words, "%s %s", low ? "at least" : "at most", low ? min : max);
}

static bool refuse_number(const rt_opt_t *o, const char *what, rt_text_t *why)
{
    rt_text_t range;
    rt_opt_range(o, &range);
    rt_text(why, "%s%s%.400s", what, *range.text ? "; give " : "", range.text);
    return false;
}

/* strtoll and strtod skip white space and read words such as "nan": ask for a digit first. */
static bool starts_number(const char *text, bool point)
{
    text += *text == '+' || *text == '-';
    text += point && *text == '.';
    return isdigit((unsigned char)*text);
}

static bool read_int(const rt_opt_t *o, const char *text, int64_t *out, rt_text_t *why)
{
    char *end;
    if (!starts_number(text, false))
        return refuse_number(o, "not a whole number", why);
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (*end != '\0')
        return refuse_number(o, "not a whole number", why);
    /* long double holds every int64_t, so 2^53 + 1 is not rounded down to a bound of 2^53. */
    if (errno == ERANGE || (long double)x < o->min || (long double)x > o->max)
        return refuse_number(o, "out of range", why);
    *out = x;
    return true;
}

static bool read_real(const rt_opt_t *o, const char *text, double *out, rt_text_t *why)
{
    char *end;
    if (!starts_number(text, true) || text[strspn(text, "+-.0123456789eE")] != '\0')
        return refuse_number(o, "not a finite number", why); /* not in hexadecimal either */
    errno = 0;
    double x = strtod(text, &end);
    if (*end != '\0')
        return refuse_number(o, "not a finite number", why);
    /* After a digit only overflow gives infinity; a result near zero is not what was written. */
    if (errno == ERANGE || x < o->min || x > o->max)
        return refuse_number(o, "out of range", why);
    *out = x;
    return true;
}

static bool read_extents(const rt_opt_t *o, const char *text, int64_t out[3], rt_text_t *why)
{
    const char *shape = "not three extents such as 16x16x8, or one for a cube";
    char copy[80];
    char *part[3];
    int64_t extent[3];
    int n = 0;
    if (strlen(text) >= sizeof copy)
        return refuse_number(o, shape, why);
    strcpy(copy, text);
    for (char *at = copy; at;) {
        if (n == 3)
            return refuse_number(o, shape, why);
        part[n++] = at;
        at = strchr(at, 'x');
        if (at)
            *at++ = '\0';
    }
    if (n == 2)
        return refuse_number(o, shape, why);
    for (int d = 0; d < n; d++)
        if (!read_int(o, part[d], &extent[d], why))
            return false;
    for (int d = 0; d < 3; d++)
        out[d] = extent[n == 3 ? d : 0];
    return true;
}

static bool read_yes_no(const char *text, bool *out, rt_text_t *why)
{
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0) {
        rt_text(why, "give yes or no");
        return false;
    }
    *out = yes;
    return true;
}

void rt_opt_choices(const rt_opt_t *o, rt_text_t *words)
{
    rt_text(words, "%s", "");
    for (int i = 0; o->choices[i]; i++) {
        const char *between = i == 0 ? "" : o->choices[i + 1] ? ", " : " or ";
        rt_text_add(words, "%s%s", between, o->choices[i]);
    }
}

static bool read_choice(const rt_opt_t *o, const char *text, int *out, rt_text_t *why)
{
    for (int i = 0; o->choices[i]; i++)
        if (strcmp(o->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    rt_text_t words;
    rt_opt_choices(o, &words);
    rt_text(why, "give %.500s", words.text);
    return false;
}

/* Texts are printed as they are, so they must not end a line or steer a terminal. */
static bool read_string(const char *text, const char **out, rt_text_t *why)
{
    if (*text == '\0') {
        rt_text(why, "must not be empty");
        return false;
    }
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) {
            rt_text(why, "must not have control characters");
            return false;
        }
    *out = rt_opt_keep(text);
    return true;
}

bool rt_opt_read(rt_opt_slot_t slot, const char *text, rt_text_t *why)
{
    void *member = slot_member(slot);
    switch (slot.option->type) {
    case RT_OPT_FLAG:
    case RT_OPT_ACTION:
        return read_yes_no(text, member, why);
    case RT_OPT_INT:
        return read_int(slot.option, text, member, why);
    case RT_OPT_REAL:
        return read_real(slot.option, text, member, why);
    case RT_OPT_STRING:
        return read_string(text, member, why);
    case RT_OPT_CHOICE:
        return read_choice(slot.option, text, member, why);
    case RT_OPT_EXTENTS:
        return read_extents(slot.option, text, member, why);
    }
    rt_die(RT_INVALID, "option '%s' has no such type: %d", slot.option->name, slot.option->type);
}

void rt_opt_reset(rt_opt_slot_t slot)
{
    static const size_t size[] = {
        [RT_OPT_FLAG] = sizeof(bool),   [RT_OPT_INT] = sizeof(int64_t),
        [RT_OPT_REAL] = sizeof(double), [RT_OPT_STRING] = sizeof(const char *),
        [RT_OPT_CHOICE] = sizeof(int),  [RT_OPT_EXTENTS] = 3 * sizeof(int64_t),
        [RT_OPT_ACTION] = sizeof(bool),
    };
    const rt_opt_t *o = slot.option;
    rt_text_t why;
    memset(slot_member(slot), 0, size[o->type]);
    *slot.set->given &= ~given_bit(slot);
    if (o->fallback && !rt_opt_read(slot, o->fallback, &why))
        rt_die(RT_INVALID, "default '%s' of option '%s': %s", o->fallback, o->name, why.text);
}

/* --- writing --- */

void rt_opt_value(const rt_opt_t *option, const void *target, char *buf, size_t len)
{
    const void *member = (const char *)target + option->offset;
    const int64_t *whole = member;
    const char *const *text = member;
    switch (option->type) {
    case RT_OPT_FLAG:
    case RT_OPT_ACTION:
        snprintf(buf, len, "%s", *(const bool *)member ? "yes" : "no");
        return;
    case RT_OPT_INT:
        snprintf(buf, len, "%" PRId64, *whole);
        return;
    case RT_OPT_REAL:
        for (int digits = 15; digits <= 17; digits++) { /* 0.1, not 0.10000000000000001 */
            snprintf(buf, len, "%.*g", digits, *(const double *)member);
            if (strtod(buf, NULL) == *(const double *)member)
                return;
        }
        return;
    case RT_OPT_STRING:
        snprintf(buf, len, "%s", *text ? *text : "");
        return;
    case RT_OPT_CHOICE:
        snprintf(buf, len, "%s", option->choices[*(const int *)member]);
        return;
    case RT_OPT_EXTENTS:
        snprintf(buf, len, "%" PRId64 "x%" PRId64 "x%" PRId64, whole[0], whole[1], whole[2]);
        return;
    }
}
