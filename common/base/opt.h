/*
 * base/opt.h - options as a table. The same table reads the command line, reads a case file, prints
 * --help and checks ranges, so the four programs cannot differ in any of them.
 */
#ifndef RT_OPT_H
#define RT_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/by_name.h"
#include "base/text.h"

RT_C_BEGIN

typedef enum {
    RT_OPT_FLAG,    /* bool; --name, or name = yes|no in a case file; --no-name clears it */
    RT_OPT_INT,     /* int64_t within [min, max] */
    RT_OPT_REAL,    /* double within [min, max]; finite */
    RT_OPT_STRING,  /* const char *, not empty */
    RT_OPT_CHOICE,  /* int: index into `choices` (NULL-terminated) */
    RT_OPT_EXTENTS, /* int64_t[3]: "16x8x4", or "16" for 16x16x16; each within [min, max] */
    RT_OPT_ACTION   /* bool; command line only, not in a case file: --list, --version */
} rt_opt_type_t;

typedef struct {
    const char *name; /* without dashes; also the key in a case file */
    rt_opt_type_t type;
    size_t offset;        /* of the member in the options' struct */
    const char *argument; /* "N" in "--degree N"; NULL for flags and actions */
    const char *help;     /* one line or a few, wrapped by --help */
    const char *fallback; /* default, as the user would write it; NULL: zero, false, NULL */
    double min, max;      /* INT, REAL, EXTENTS */
    const char *const *choices;
} RT_BY_NAME rt_opt_t;

/*
 * Rows of an option table, by the kind of the option:
 *
 *     RT_INT(nek_config_t, degree, "degree", "N", "9", 1, 23, "polynomial degree; ..."),
 *
 * The compiler refuses a member whose type is not that of the kind. The name is what the user
 * writes; `argument` and `fallback` are as in rt_opt_t and may be NULL.
 */
#define RT_FLAG(type_, member_, name_, fallback_, help_) \
    RT_OPTION(type_, member_, bool, FLAG, name_, help_, .fallback = fallback_)
#define RT_ACTION(type_, member_, name_, help_) \
    RT_OPTION(type_, member_, bool, ACTION, name_, help_, .fallback = NULL)
#define RT_TEXT(type_, member_, name_, argument_, fallback_, help_)                      \
    RT_OPTION(type_, member_, const char *, STRING, name_, help_, .argument = argument_, \
              .fallback = fallback_)
#define RT_INT(type_, member_, name_, argument_, fallback_, min_, max_, help_)   \
    RT_OPTION(type_, member_, int64_t, INT, name_, help_, .argument = argument_, \
              .fallback = fallback_, .min = min_, .max = max_)
#define RT_REAL(type_, member_, name_, argument_, fallback_, min_, max_, help_)  \
    RT_OPTION(type_, member_, double, REAL, name_, help_, .argument = argument_, \
              .fallback = fallback_, .min = min_, .max = max_)
#define RT_EXTENTS(type_, member_, name_, argument_, fallback_, min_, max_, help_)        \
    RT_OPTION(type_, member_, rt_extents_t, EXTENTS, name_, help_, .argument = argument_, \
              .fallback = fallback_, .min = min_, .max = max_)
#define RT_CHOICE(type_, member_, name_, argument_, fallback_, choices_, help_) \
    RT_OPTION(type_, member_, int, CHOICE, name_, help_, .argument = argument_, \
              .fallback = fallback_, .choices = choices_)

typedef int64_t rt_extents_t[3];
/* Makes one row. The sizeof is there for its _Generic, which accepts one type only. */
#define RT_OPTION(type_, member_, ctype_, kind_, name_, help_, ...)                                \
    {                                                                                              \
        .name = name_, .type = RT_OPT_##kind_,                                                     \
        .offset =                                                                                  \
            offsetof(type_, member_) + 0 * sizeof(_Generic(&((type_ *)0)->member_, ctype_ * : 0)), \
        .help = help_, __VA_ARGS__                                                                 \
    }

/* One struct that options are read into. A program has two: the driver's and the app's. */
typedef struct {
    const char *title; /* heading in --help */
    const rt_opt_t *options;
    int n; /* at most 64 */
    void *target;
    uint64_t *given; /* bit i: the user gave option i */
} rt_opt_set_t;

/* Loads a whole file, as rt_file_load (base/file.h) does: for all ranks, if there are several. */
typedef char *rt_opt_load_t(const char *path, size_t most, size_t *bytes, rt_text_t *why);

/* Writes the defaults, then the case file named by `--case FILE` (if there is such an option), then
 * the command line, which wins. On a wrong name, value or file, or an operand that is no option:
 * rt_refuse(RT_USAGE) with one line that names the option (for a case file also file and line) and
 * what would be right; an unknown name lists the nearest known one. */
void rt_opt_parse(const rt_opt_set_t *sets, int n_sets, int argc, char **argv, rt_opt_load_t *load);

/* Sets one option as a line "name = value" of a case file would; messages begin with `where`. */
void rt_opt_assign(const rt_opt_set_t *sets, int n_sets, const char *name, const char *value,
                   const char *where);
/* Returns whether the user gave it (case file, command line or rt_opt_assign). */
bool rt_opt_given(const rt_opt_set_t *sets, int n_sets, const char *name);

/* What --help says besides the options. The lists end with NULL. */
typedef struct {
    const char *program, *purpose;
    const char *const *examples; /* command lines; NULL: none */
    const char *const *absent;   /* options in the sets that this program does not have; may be
                                    NULL */
} rt_opt_page_t;
/* Prints --help: usage line, purpose, each set with its options, defaults and ranges, examples. */
void rt_opt_help(FILE *out, const rt_opt_page_t *page, const rt_opt_set_t *sets, int n_sets);
/* Writes the present value as text that the same option would read back ("8x8x8"). */
void rt_opt_value(const rt_opt_t *option, const void *target, char *buf, size_t len);

RT_C_END
#endif
