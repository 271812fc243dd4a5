/* base/opt_help.c - --help, from the option tables. */
#include "config.h"
#include <string.h>
#include "base/opt_slot.h"

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
