/* base/opt.c - options as a table: the sets as one list, the command line, split by the C library's
 * getopt_long, case files, and --help. */
#include "config.h"
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/opt_slot.h"

enum { CASE_FILE_BYTES = 1 << 16 }; /* a case file is a page: a larger file is a mistake */

/* --- the sets as one list --- */

/* Finds option number i over all sets; returns false past the end. */
static bool slot_at(const rt_opt_set_t *sets, int n_sets, int i, rt_opt_slot_t *slot)
{
    for (int s = 0; s < n_sets; i -= sets[s++].n)
        if (i < sets[s].n) {
            *slot = (rt_opt_slot_t){&sets[s].options[i], &sets[s]};
            return true;
        }
    return false;
}

static bool slot_find(const rt_opt_set_t *sets, int n_sets, const char *name, rt_opt_slot_t *slot)
{
    for (int i = 0; slot_at(sets, n_sets, i, slot); i++)
        if (strcmp(slot->option->name, name) == 0)
            return true;
    return false;
}

/* Returns the least number of letters inserted, deleted or replaced that turn a into b
 * (Levenshtein). Only the first 63 letters of a name count. */
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

/* Keeps in *best the name nearest to `wrong` of those that it was called with. */
static void keep_nearer(const char *wrong, const char *name, const char **best)
{
    if (!*best || edit_distance(wrong, name) < edit_distance(wrong, *best))
        *best = name;
}

/* Finds faults of a table that would otherwise show as an option that cannot be set. */
static void check_tables(const rt_opt_set_t *sets, int n_sets)
{
    rt_opt_slot_t slot, same = {NULL, NULL};
    for (int i = 0; slot_at(sets, n_sets, i, &slot); i++) {
        const rt_opt_t *o = slot.option;
        bool number = o->type == RT_OPT_INT || o->type == RT_OPT_REAL || o->type == RT_OPT_EXTENTS;
        slot_find(sets, n_sets, o->name, &same);
        RT_EXPECT(same.option == o && same.set == slot.set, RT_INVALID,
                  "option '%s' is in the tables twice", o->name);
        RT_EXPECT(slot.set->n <= 64, RT_INVALID, "more than 64 options: %s", slot.set->title);
        RT_EXPECT(o->argument || o->type == RT_OPT_FLAG || o->type == RT_OPT_ACTION, RT_INVALID,
                  "option '%s' has no name for its value", o->name);
        RT_EXPECT(!number || o->min < o->max, RT_INVALID, "option '%s' has no range", o->name);
        RT_EXPECT(o->type != RT_OPT_CHOICE || (o->choices && o->choices[0]), RT_INVALID,
                  "option '%s' has no choices", o->name);
    }
}

/* --- the command line --- */

typedef struct {
    rt_opt_slot_t slot;
    const char *text;
} setting_t;

/* Makes the table of getopt_long for all sets, to be freed: each flag twice, as --name and as
 * --no-name. Option i is FIRST + 2 i, its negation one more, so that none is ':' or '?'. */
enum { FIRST = 256 };

static struct option *long_options(const rt_opt_set_t *sets, int n_sets)
{
    rt_opt_slot_t slot;
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
            list[k++] = (struct option){rt_opt_keep(negated), no_argument, NULL, FIRST + 2 * i + 1};
        }
    }
    return list;
}

/* Says what is wrong with a word that getopt_long would not take. */
RT_NORETURN static void refuse_word(const struct option *list, const char *word, bool takes_none)
{
    if (word[1] != '-')
        rt_refuse(RT_USAGE, "%.80s: options have two dashes and a name; --help lists them", word);
    int length = (int)strcspn(word + 2, "=");
    if (takes_none)
        rt_refuse(RT_USAGE, "%.80s: --%.*s takes no value", word, length, word + 2);

    char wrong[80];
    rt_text_t matching = {""};
    const char *nearest = NULL;
    snprintf(wrong, sizeof wrong, "%.*s", length, word + 2);
    for (const struct option *o = list; o->name; o++) {
        keep_nearer(wrong, o->name, &nearest);
        if (strncmp(o->name, wrong, strlen(wrong)) == 0)
            rt_text_add(&matching, " --%s", o->name);
    }
    if (*wrong && *matching.text)
        rt_refuse(RT_USAGE, "--%s: may mean any of%s; write more of it", wrong, matching.text);
    rt_refuse(RT_USAGE, "--%s: no such option; the nearest is --%s, and --help lists all", wrong,
              nearest ? nearest : "help");
}

/* Splits the command line into settings[0..n-1], of which there are at most argc. Returns n. */
static int split(const rt_opt_set_t *sets, int n_sets, int argc, char **argv, setting_t *settings)
{
    struct option *list = long_options(sets, n_sets);
    int n = 0;
    opterr = 0;
    optind = 0;        /* start afresh, also in glibc's and musl's hidden state */
    while (argc > 0) { /* 0: no words, argv may be NULL */
        const char *word = argc > 1 ? argv[optind > 1 ? optind : 1] : NULL;
        /* '+': stop at the first operand; ':': tell a missing value from an unknown option. */
        int c = getopt_long(argc, argv, "+:", list, NULL);
        if (c == -1)
            break;
        if (c == '?')
            refuse_word(list, word, optopt >= FIRST);
        rt_opt_slot_t slot;
        slot_at(sets, n_sets, ((c == ':' ? optopt : c) - FIRST) / 2, &slot);
        const rt_opt_t *o = slot.option;
        if (c == ':')
            rt_refuse(RT_USAGE, "--%s: its value is missing; write --%s %s", o->name, o->name,
                      o->argument);
        if (optarg && optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0)
            rt_refuse(RT_USAGE, "--%s: its value is missing: %.80s is an option; write --%s %s",
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

/* --- case files --- */

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* Cuts a comment off. It begins with a '#' that starts the line or follows white space:
 * "mesh#2.txt" has none. */
static void cut_comment(char *line)
{
    for (char *c = line; *c; c++)
        if (*c == '#' && (c == line || isspace((unsigned char)c[-1]))) {
            *c = '\0';
            return;
        }
}

/* Returns whether the option may be in a case file: not if it asks for something other than a run,
 * nor if it names another case file. */
static bool in_case_file(const rt_opt_t *o)
{
    return o->type != RT_OPT_ACTION && strcmp(o->name, "case") != 0;
}

/* Reads one line; returns whether it set something. */
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

static void case_file_read(const rt_opt_set_t *sets, int n_sets, const char *path,
                           rt_opt_load_t *load)
{
    bool any = false;
    int number = 1;
    size_t bytes = 0;
    rt_text_t why;
    char *text = load(path, CASE_FILE_BYTES, &bytes, &why);
    if (!text)
        rt_refuse(RT_USAGE, "--case %.400s: %s; name a file that can be read", path, why.text);
    if (memchr(text, '\0', bytes))
        rt_refuse(RT_USAGE, "--case %.400s: a binary file; name a text of lines key = value", path);
    for (char *line = text; line; number++) {
        char where[440];
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        snprintf(where, sizeof where, "%.400s:%d", path, number);
        any = case_line(sets, n_sets, line, where) || any;
        line = next;
    }
    free(text);
    if (!any)
        rt_refuse(RT_USAGE, "--case %.400s: sets nothing; give it lines key = value", path);
}

/* --- interface --- */

static void command_line_apply(const setting_t *setting)
{
    const rt_opt_t *o = setting->slot.option;
    rt_text_t why;
    if (!rt_opt_read(setting->slot, setting->text, &why))
        rt_refuse(RT_USAGE, "--%s %.80s: %s", o->name, setting->text, why.text);
    rt_opt_note_given(setting->slot);
}

void rt_opt_parse(const rt_opt_set_t *sets, int n_sets, int argc, char **argv, rt_opt_load_t *load)
{
    check_tables(sets, n_sets);
    setting_t *settings = calloc((size_t)argc + 1, sizeof *settings);
    RT_EXPECT(settings != NULL, RT_MEMORY, "no memory for %d options", argc);
    int n = split(sets, n_sets, argc, argv, settings);

    rt_opt_slot_t slot;
    for (int i = 0; slot_at(sets, n_sets, i, &slot); i++)
        rt_opt_reset(slot);
    const char *case_file = NULL;
    for (int i = 0; i < n; i++)
        if (strcmp(settings[i].slot.option->name, "case") == 0)
            case_file = settings[i].text;
    if (case_file)
        case_file_read(sets, n_sets, case_file, load);
    for (int i = 0; i < n; i++)
        command_line_apply(&settings[i]);
    free(settings);
}

void rt_opt_assign(const rt_opt_set_t *sets, int n_sets, const char *name, const char *value,
                   const char *where)
{
    rt_text_t why;
    rt_opt_slot_t slot;
    if (!slot_find(sets, n_sets, name, &slot)) {
        const char *nearest = NULL;
        for (int i = 0; slot_at(sets, n_sets, i, &slot); i++)
            if (in_case_file(slot.option))
                keep_nearer(name, slot.option->name, &nearest);
        rt_refuse(RT_USAGE, "%s: no such key: %.80s; the nearest is %s, and --help lists all",
                  where, name, nearest ? nearest : "--help");
    }
    if (!in_case_file(slot.option))
        rt_refuse(RT_USAGE, "%s: %s belongs on the command line; remove it here", where, name);
    if (!rt_opt_read(slot, value, &why))
        rt_refuse(RT_USAGE, "%s: %s = %.80s: %s", where, name, value, why.text);
    rt_opt_note_given(slot);
}

bool rt_opt_given(const rt_opt_set_t *sets, int n_sets, const char *name)
{
    rt_opt_slot_t slot;
    bool known = slot_find(sets, n_sets, name, &slot);
    RT_EXPECT(known, RT_INVALID, "no option '%s'", name);
    return rt_opt_was_given(slot);
}

/* --- help --- */

enum { HELP_COLUMN = 26 };

/* Writes " [1 to 15; default 9]", or nothing. */
static void limits_words(const rt_opt_t *o, rt_text_t *words)
{
    rt_text_t limits = {""};
    if (o->type == RT_OPT_CHOICE)
        rt_opt_choices(o, &limits);
    else if (o->type == RT_OPT_INT || o->type == RT_OPT_REAL || o->type == RT_OPT_EXTENTS)
        rt_opt_range(o, &limits);
    const char *fallback = o->fallback ? o->fallback : "";
    const char *separator = *limits.text && *fallback ? "; " : "";
    rt_text(words, "%s", "");
    if (*limits.text || *fallback)
        rt_text(words, " [%.400s%s%s%s]", limits.text, separator, *fallback ? "default " : "",
                fallback);
}

static void print_option(FILE *out, const rt_opt_t *o)
{
    char text[2048];
    rt_text_t limits;
    int column = fprintf(out, "  --%s%s%s%s", o->type == RT_OPT_FLAG ? "[no-]" : "", o->name,
                         o->argument ? " " : "", o->argument ? o->argument : "");
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    limits_words(o, &limits);
    snprintf(text, sizeof text, "%s%s", o->help, limits.text);
    rt_print_wrapped(out, column, HELP_COLUMN, text);
}

static bool is_in(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

void rt_opt_help(FILE *out, const rt_opt_page_t *page, const rt_opt_set_t *sets, int n_sets)
{
    fprintf(out, "Usage: %s [--option value | --option=value] ...\n", page->program);
    rt_print_wrapped(out, 0, 0, page->purpose);
    for (int s = 0; s < n_sets; s++) {
        fprintf(out, "\n%s:\n", sets[s].title);
        for (int i = 0; i < sets[s].n; i++)
            if (!is_in(page->absent, sets[s].options[i].name))
                print_option(out, &sets[s].options[i]);
    }
    const char *const *example = page->examples;
    for (fputs(example ? "\nExamples:\n" : "", out); example && *example; example++)
        fprintf(out, "  %s\n", *example);
}
