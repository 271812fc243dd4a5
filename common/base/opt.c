/* base/opt.c - options as a table: the sets as one list, case files, and the interface. */
#include "config.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/opt_slot.h"

enum { CASE_FILE_BYTES = 1 << 16 }; /* a case file is a page: a larger file is a mistake */

/* Finds faults of a table that would otherwise show as an option that cannot be set. */
static void check_tables(const rt_opt_set_t *sets, int n_sets)
{
    rt_opt_slot_t slot, same = {NULL, NULL};
    for (int i = 0; rt_opt_slot_at(sets, n_sets, i, &slot); i++) {
        const rt_opt_t *o = slot.option;
        bool number = o->type == RT_OPT_INT || o->type == RT_OPT_REAL || o->type == RT_OPT_EXTENTS;
        rt_opt_slot_find(sets, n_sets, o->name, &same);
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

static void command_line_apply(const rt_opt_setting_t *setting)
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
    rt_opt_setting_t *settings = calloc((size_t)argc + 1, sizeof *settings);
    RT_EXPECT(settings != NULL, RT_MEMORY, "no memory for %d options", argc);
    int n = rt_opt_split(sets, n_sets, argc, argv, settings);

    rt_opt_slot_t slot;
    for (int i = 0; rt_opt_slot_at(sets, n_sets, i, &slot); i++)
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
    if (!rt_opt_slot_find(sets, n_sets, name, &slot)) {
        const char *nearest = NULL;
        for (int i = 0; rt_opt_slot_at(sets, n_sets, i, &slot); i++)
            if (in_case_file(slot.option))
                rt_opt_nearer(name, slot.option->name, &nearest);
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
    bool known = rt_opt_slot_find(sets, n_sets, name, &slot);
    RT_EXPECT(known, RT_INVALID, "no option '%s'", name);
    return rt_opt_was_given(slot);
}
