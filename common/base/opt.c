/*
 * base/opt.c - options as a table.
 *
 * The C library's getopt_long splits the command line. Everything it returns, and every line of a
 * case file, goes through one reader (option_read), so that a value means the same wherever it
 * stands and no range can be forgotten. A reader gives back false and says why in a few words; who
 * called it knows where the value came from and puts that before the words.
 */
#include "config.h"
#include "base/opt.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

enum {
    WHY_BYTES = 512,
    CASE_FILE_BYTES = 1 << 16, /* a case file is a page; what is larger was not meant */
    HELP_WIDTH = 88,
    HELP_COLUMN = 26
};

/* An option and the struct that it is read into. */
typedef struct {
    const rt_opt_t *option;
    void *target;
} slot_t;

static void *slot_member(slot_t slot)
{
    return (char *)slot.target + slot.option->offset;
}

/* ---- what outlives a call ----------------------------------------------------------------- */

/* Strings that options point to. They live as long as the program: a value from a case file has
 * no other home, and an options' struct is copied freely. */
typedef struct kept {
    struct kept *next;
    char text[];
} kept_t;
static kept_t *kept_strings;

static const char *keep(const char *text)
{
    for (kept_t *k = kept_strings; k; k = k->next)
        if (strcmp(k->text, text) == 0)
            return k->text;
    size_t size = strlen(text) + 1;
    kept_t *k = malloc(sizeof *k + size);
    RT_EXPECT(k != NULL, RT_MEMORY, "no memory for an option of %zu bytes", size);
    memcpy(k->text, text, size);
    k->next = kept_strings;
    kept_strings = k;
    return k->text;
}

/* The members that the user set. A member's address names it in every copy of the table. */
typedef struct given {
    struct given *next;
    const void *member;
} given_t;
static given_t *given_members;

static bool given_has(const void *member)
{
    for (const given_t *g = given_members; g; g = g->next)
        if (g->member == member)
            return true;
    return false;
}

static void given_add(const void *member)
{
    if (given_has(member))
        return;
    given_t *g = malloc(sizeof *g);
    RT_EXPECT(g != NULL, RT_MEMORY, "no memory for an option");
    *g = (given_t){given_members, member};
    given_members = g;
}

static void given_remove(const void *member)
{
    for (given_t **g = &given_members; *g; g = &(*g)->next)
        if ((*g)->member == member) {
            given_t *old = *g;
            *g = old->next;
            free(old);
            return;
        }
}

/* ---- reading one value -------------------------------------------------------------------- */

/* The range in words, "" if it excludes nothing that anybody would ask for. */
static void range_words(const rt_opt_t *o, char *buf, size_t len)
{
    const double huge =
        o->type == RT_OPT_REAL ? 1e300 : 9e15; /* 2^53: beyond, a bound is not exact */
    bool low = o->min > -huge, high = o->max < huge;
    char min[40], max[40];
    const char *format = o->type == RT_OPT_REAL ? "%.6g" : "%.0f";
    snprintf(min, sizeof min, format, low ? o->min : 0.0);
    snprintf(max, sizeof max, format, high ? o->max : 0.0);
    if (low && high)
        snprintf(buf, len, "%s to %s", min, max);
    else if (low || high)
        snprintf(buf, len, "%s %s", low ? "at least" : "at most", low ? min : max);
    else
        snprintf(buf, len, "%s", "");
}

static bool refuse_number(const rt_opt_t *o, const char *what, char *why)
{
    char range[96];
    range_words(o, range, sizeof range);
    snprintf(why, WHY_BYTES, "%s%s%s", what, *range ? "; give " : "", range);
    return false;
}

/* strtoll and strtod skip white space and read words such as "nan": ask for a digit first. */
static bool starts_number(const char *text, bool point)
{
    text += *text == '+' || *text == '-';
    text += point && *text == '.';
    return isdigit((unsigned char)*text);
}

static bool read_int(const rt_opt_t *o, const char *text, int64_t *out, char *why)
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

static bool read_real(const rt_opt_t *o, const char *text, double *out, char *why)
{
    char *end;
    if (!starts_number(text, true))
        return refuse_number(o, "not a finite number", why);
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

static bool read_extents(const rt_opt_t *o, const char *text, int64_t out[3], char *why)
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

static bool read_yes_no(const char *text, bool *out, char *why)
{
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0) {
        snprintf(why, WHY_BYTES, "give yes or no");
        return false;
    }
    *out = yes;
    return true;
}

/* "auto, staged or none" */
static void choice_words(const rt_opt_t *o, char *buf, size_t len)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; o->choices[i] && used < len; i++) {
        const char *between = i == 0 ? "" : o->choices[i + 1] ? ", " : " or ";
        used += (size_t)snprintf(buf + used, len - used, "%s%s", between, o->choices[i]);
    }
}

static bool read_choice(const rt_opt_t *o, const char *text, int *out, char *why)
{
    for (int i = 0; o->choices[i]; i++)
        if (strcmp(o->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    char words[WHY_BYTES - 8];
    choice_words(o, words, sizeof words);
    snprintf(why, WHY_BYTES, "give %s", words);
    return false;
}

static bool read_string(const char *text, const char **out, char *why)
{
    if (*text == '\0') {
        snprintf(why, WHY_BYTES, "must not be empty");
        return false;
    }
    *out = keep(text);
    return true;
}

/* Sets the member, or leaves it as it is and says why not in `why` (WHY_BYTES). */
static bool option_read(slot_t slot, const char *text, char *why)
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

static void option_reset(slot_t slot)
{
    static const size_t size[] = {
        [RT_OPT_FLAG] = sizeof(bool),   [RT_OPT_INT] = sizeof(int64_t),
        [RT_OPT_REAL] = sizeof(double), [RT_OPT_STRING] = sizeof(const char *),
        [RT_OPT_CHOICE] = sizeof(int),  [RT_OPT_EXTENTS] = 3 * sizeof(int64_t),
        [RT_OPT_ACTION] = sizeof(bool),
    };
    const rt_opt_t *o = slot.option;
    char why[WHY_BYTES];
    memset(slot_member(slot), 0, size[o->type]);
    given_remove(slot_member(slot));
    if (o->fallback && !option_read(slot, o->fallback, why))
        rt_die(RT_INVALID, "default '%s' of option '%s': %s", o->fallback, o->name, why);
}

/* ---- the sets as one list ----------------------------------------------------------------- */

/* Option number i over all sets; false past the end. */
static bool slot_at(const rt_opt_set_t *sets, int n_sets, int i, slot_t *slot)
{
    for (int s = 0; s < n_sets; i -= sets[s++].n)
        if (i < sets[s].n) {
            *slot = (slot_t){&sets[s].options[i], sets[s].target};
            return true;
        }
    return false;
}

static bool slot_find(const rt_opt_set_t *sets, int n_sets, const char *name, slot_t *slot)
{
    for (int i = 0; slot_at(sets, n_sets, i, slot); i++)
        if (strcmp(slot->option->name, name) == 0)
            return true;
    return false;
}

/* Faults of a table that would otherwise show as an option that cannot be set. */
static void check_tables(const rt_opt_set_t *sets, int n_sets)
{
    slot_t slot, same = {NULL, NULL};
    for (int i = 0; slot_at(sets, n_sets, i, &slot); i++) {
        const rt_opt_t *o = slot.option;
        bool number = o->type == RT_OPT_INT || o->type == RT_OPT_REAL || o->type == RT_OPT_EXTENTS;
        slot_find(sets, n_sets, o->name, &same);
        RT_EXPECT(same.option == o && same.target == slot.target, RT_INVALID,
                  "option '%s' stands in the tables twice", o->name);
        RT_EXPECT(!number || o->min < o->max, RT_INVALID, "option '%s' has no range", o->name);
        RT_EXPECT(o->type != RT_OPT_CHOICE || (o->choices && o->choices[0]), RT_INVALID,
                  "option '%s' has no choices", o->name);
    }
}

/* ---- unknown names ------------------------------------------------------------------------ */

/* Least number of letters inserted, deleted or replaced that turn a into b (Levenshtein); of names
 * beyond 63 letters, the first 63. */
static int edit_distance(const char *a, const char *b)
{
    int row[64];
    int n = (int)strnlen(b, 63);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; i < 64 && a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int replaced = diagonal + (a[i - 1] != b[j - 1]);
            int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[n];
}

/* Keeps in *best the name nearest to `wrong` of those it was called with. */
static void nearer(const char *wrong, const char *name, const char **best)
{
    if (!*best || edit_distance(wrong, name) < edit_distance(wrong, *best))
        *best = name;
}

/* ---- the command line --------------------------------------------------------------------- */

/* What getopt_long needs for all sets: each flag twice, as --name and as --no-name. Option i is
 * FIRST + 2 i, its negation one more, so that none is ':' or '?'. Free it. */
enum { FIRST = 256 };

static struct option *long_options(const rt_opt_set_t *sets, int n_sets)
{
    slot_t slot;
    int n = 0, k = 0;
    for (int s = 0; s < n_sets; s++)
        n += sets[s].n;
    struct option *list = calloc(2 * (size_t)n + 1, sizeof *list);
    RT_EXPECT(list != NULL, RT_MEMORY, "no memory for %d options", n);
    for (int i = 0; slot_at(sets, n_sets, i, &slot); i++) {
        const rt_opt_t *o = slot.option;
        int argument = o->type == RT_OPT_ACTION ? no_argument
                       : o->type == RT_OPT_FLAG ? optional_argument
                                                : required_argument;
        list[k++] = (struct option){o->name, argument, NULL, FIRST + 2 * i};
        if (o->type == RT_OPT_FLAG) {
            char negated[128];
            snprintf(negated, sizeof negated, "no-%s", o->name);
            list[k++] = (struct option){keep(negated), no_argument, NULL, FIRST + 2 * i + 1};
        }
    }
    return list;
}

/* getopt_long would not take the word: say what is wrong with it. */
RT_NORETURN static void refuse_word(const struct option *list, const char *word, bool takes_none)
{
    if (word[1] != '-')
        rt_refuse(RT_USAGE, "%.80s: options have two dashes and a name; --help lists them", word);
    int length = (int)strcspn(word + 2, "=");
    if (takes_none)
        rt_refuse(RT_USAGE, "%.80s: --%.*s takes no value", word, length, word + 2);

    char wrong[80], matching[256] = "";
    const char *nearest = NULL;
    size_t used = 0;
    snprintf(wrong, sizeof wrong, "%.*s", length, word + 2);
    for (const struct option *o = list; o->name; o++) {
        nearer(wrong, o->name, &nearest);
        if (strncmp(o->name, wrong, strlen(wrong)) == 0 && used < sizeof matching)
            used += (size_t)snprintf(matching + used, sizeof matching - used, " --%s", o->name);
    }
    if (*wrong && *matching)
        rt_refuse(RT_USAGE, "--%s: may mean any of%s; write more of it", wrong, matching);
    rt_refuse(RT_USAGE, "--%s: no such option; the nearest is --%s, and --help lists all", wrong,
              nearest ? nearest : "help");
}

typedef struct {
    slot_t slot;
    const char *text;
} setting_t;

/* Splits the command line into settings[0..n-1], of which there can be no more than argc. */
static int command_line_split(const rt_opt_set_t *sets, int n_sets, int argc, char **argv,
                              setting_t *settings)
{
    struct option *list = long_options(sets, n_sets);
    int n = 0;
    opterr = 0;
    optind = 0; /* start afresh, also in glibc's and musl's hidden state */
    for (;;) {
        const char *word = argc > 1 ? argv[optind > 1 ? optind : 1] : NULL;
        /* '+': stop at the first operand; ':': tell a missing value from an unknown option. */
        int c = getopt_long(argc, argv, "+:", list, NULL);
        if (c == -1)
            break;
        if (c == '?')
            refuse_word(list, word, optopt >= FIRST);
        slot_t slot;
        slot_at(sets, n_sets, ((c == ':' ? optopt : c) - FIRST) / 2, &slot);
        const rt_opt_t *o = slot.option;
        if (c == ':')
            rt_refuse(RT_USAGE, "--%s: its value is missing; write --%s %s", o->name, o->name,
                      o->argument);
        if (optarg && optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0)
            rt_refuse(RT_USAGE, "--%s: its value is missing, for %.80s is an option; write --%s %s",
                      o->name, optarg, o->name, o->argument);
        bool negated = (c - FIRST) % 2 == 1;
        settings[n++] = (setting_t){slot, optarg ? optarg : negated ? "no" : "yes"};
    }
    if (optind < argc)
        rt_refuse(RT_USAGE,
                  "'%.80s' is not an option; options begin with --, and --help lists them",
                  argv[optind]);
    free(list);
    return n;
}

static void command_line_apply(const setting_t *setting)
{
    const rt_opt_t *o = setting->slot.option;
    char why[WHY_BYTES];
    if (!option_read(setting->slot, setting->text, why))
        rt_refuse(RT_USAGE, "--%s %.80s: %s", o->name, setting->text, why);
    given_add(slot_member(setting->slot));
}

/* ---- case files --------------------------------------------------------------------------- */

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* A comment begins with a '#' that starts the line or follows white space: "mesh#2.txt" has none.
 */
static void cut_comment(char *line)
{
    for (char *c = line; *c; c++)
        if (*c == '#' && (c == line || isspace((unsigned char)c[-1]))) {
            *c = '\0';
            return;
        }
}

/* Not what asks for something other than a run, and not the name of another case file. */
static bool in_case_file(const rt_opt_t *o)
{
    return o->type != RT_OPT_ACTION && strcmp(o->name, "case") != 0;
}

/* True if the line set something. */
static bool case_line(const rt_opt_set_t *sets, int n_sets, char *line, const char *where)
{
    cut_comment(line);
    char *key = trim(line);
    if (*key == '\0')
        return false;
    char *equals = strchr(key, '=');
    if (!equals || equals == key)
        rt_refuse(RT_USAGE, "%s: '%.80s' is not of the form key = value", where, key);
    *equals = '\0';
    rt_opt_assign(sets, n_sets, trim(key), trim(equals + 1), where);
    return true;
}

/* The file's text, in memory that the next call uses again. */
static char *case_file_load(const char *path)
{
    static char text[CASE_FILE_BYTES + 1];
    FILE *file = fopen(path, "r");
    if (!file)
        rt_refuse(RT_USAGE, "--case %.400s: %s; name a file that can be read", path,
                  strerror(errno));
    size_t n = fread(text, 1, sizeof text, file);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (error)
        rt_refuse(RT_USAGE, "--case %.400s: %s; name a file that can be read", path,
                  strerror(error));
    if (memchr(text, '\0', n))
        rt_refuse(RT_USAGE, "--case %.400s: a binary file; name a text of lines key = value", path);
    if (n > CASE_FILE_BYTES)
        rt_refuse(RT_USAGE, "--case %.400s: larger than %d KiB; name a text of lines key = value",
                  path, CASE_FILE_BYTES / 1024);
    text[n] = '\0';
    return text;
}

static void case_file_read(const rt_opt_set_t *sets, int n_sets, const char *path)
{
    bool any = false;
    int number = 1;
    for (char *line = case_file_load(path); line; number++) {
        char where[440];
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        snprintf(where, sizeof where, "%.400s:%d", path, number);
        any = case_line(sets, n_sets, line, where) || any;
        line = next;
    }
    if (!any)
        rt_refuse(RT_USAGE, "--case %.400s: sets nothing; give it lines key = value", path);
}

/* ---- interface ---------------------------------------------------------------------------- */

void rt_opt_parse(const rt_opt_set_t *sets, int n_sets, int argc, char **argv)
{
    check_tables(sets, n_sets);
    setting_t *settings = calloc((size_t)argc + 1, sizeof *settings);
    RT_EXPECT(settings != NULL, RT_MEMORY, "no memory for %d options", argc);
    int n = command_line_split(sets, n_sets, argc, argv, settings);

    slot_t slot;
    for (int i = 0; slot_at(sets, n_sets, i, &slot); i++)
        option_reset(slot);
    const char *case_file = NULL;
    for (int i = 0; i < n; i++)
        if (strcmp(settings[i].slot.option->name, "case") == 0)
            case_file = settings[i].text;
    if (case_file)
        case_file_read(sets, n_sets, case_file);
    for (int i = 0; i < n; i++)
        command_line_apply(&settings[i]);
    free(settings);
}

void rt_opt_assign(const rt_opt_set_t *sets, int n_sets, const char *name, const char *value,
                   const char *where)
{
    char why[WHY_BYTES];
    slot_t slot;
    if (!slot_find(sets, n_sets, name, &slot)) {
        const char *nearest = NULL;
        for (int i = 0; slot_at(sets, n_sets, i, &slot); i++)
            if (in_case_file(slot.option))
                nearer(name, slot.option->name, &nearest);
        rt_refuse(RT_USAGE, "%s: no such key: %.80s; the nearest is %s, and --help lists all",
                  where, name, nearest ? nearest : "--help");
    }
    if (!in_case_file(slot.option))
        rt_refuse(RT_USAGE, "%s: %s belongs on the command line; remove it here", where, name);
    if (!option_read(slot, value, why))
        rt_refuse(RT_USAGE, "%s: %s = %.80s: %s", where, name, value, why);
    given_add(slot_member(slot));
}

bool rt_opt_given(const rt_opt_set_t *sets, int n_sets, const char *name)
{
    slot_t slot;
    bool known = slot_find(sets, n_sets, name, &slot);
    RT_EXPECT(known, RT_INVALID, "no option '%s'", name);
    return given_has(slot_member(slot));
}

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

/* ---- help --------------------------------------------------------------------------------- */

/* Prints words from `column` on, and goes on at column `indent` of the next line when HELP_WIDTH is
 * reached. Ends the line. */
static void print_wrapped(FILE *out, int column, int indent, const char *text)
{
    const char *space = " \n\t";
    for (text += strspn(text, space); *text; text += strspn(text, space)) {
        int length = (int)strcspn(text, space);
        bool begins = column <= indent;
        if (!begins && column + 1 + length > HELP_WIDTH) {
            fputc('\n', out);
            column = 0;
            begins = true;
        }
        int gap = begins ? indent - column : 1;
        fprintf(out, "%*s%.*s", gap, "", length, text);
        column += gap + length;
        text += length;
    }
    fputc('\n', out);
}

/* " [1 to 15; default 9]", or nothing. */
static void limits_words(const rt_opt_t *o, char *buf, size_t len)
{
    char limits[WHY_BYTES] = "";
    if (o->type == RT_OPT_CHOICE)
        choice_words(o, limits, sizeof limits);
    else if (o->type == RT_OPT_INT || o->type == RT_OPT_REAL || o->type == RT_OPT_EXTENTS)
        range_words(o, limits, sizeof limits);
    const char *fallback = o->fallback ? o->fallback : "";
    const char *separator = *limits && *fallback ? "; " : "";
    const char *word = *fallback ? "default " : "";
    if (*limits || *fallback)
        snprintf(buf, len, " [%s%s%s%s]", limits, separator, word, fallback);
    else
        snprintf(buf, len, "%s", "");
}

static void print_option(FILE *out, const rt_opt_t *o)
{
    char text[2048], limits[WHY_BYTES + 128];
    int column = fprintf(out, "  --%s%s%s%s", o->type == RT_OPT_FLAG ? "[no-]" : "", o->name,
                         o->argument ? " " : "", o->argument ? o->argument : "");
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    limits_words(o, limits, sizeof limits);
    snprintf(text, sizeof text, "%s%s", o->help, limits);
    print_wrapped(out, column, HELP_COLUMN, text);
}

void rt_opt_help(FILE *out, const char *program, const char *purpose, const rt_opt_set_t *sets,
                 int n_sets)
{
    fprintf(out, "Usage: %s [--option value | --option=value] ...\n", program);
    print_wrapped(out, 0, 0, purpose);
    for (int s = 0; s < n_sets; s++) {
        fprintf(out, "\n%s:\n", sets[s].title);
        for (int i = 0; i < sets[s].n; i++)
            print_option(out, &sets[s].options[i]);
    }
}
