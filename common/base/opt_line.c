/* base/opt_line.c - the command line, split by the C library's getopt_long. */
#include "config.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/opt_slot.h"

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
    for (int i = 0; rt_opt_slot_at(sets, n_sets, i, &slot); i++) {
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
        rt_opt_nearer(wrong, o->name, &nearest);
        if (strncmp(o->name, wrong, strlen(wrong)) == 0)
            rt_text_add(&matching, " --%s", o->name);
    }
    if (*wrong && *matching.text)
        rt_refuse(RT_USAGE, "--%s: may mean any of%s; write more of it", wrong, matching.text);
    rt_refuse(RT_USAGE, "--%s: no such option; the nearest is --%s, and --help lists all", wrong,
              nearest ? nearest : "help");
}

int rt_opt_split(const rt_opt_set_t *sets, int n_sets, int argc, char **argv,
                 rt_opt_setting_t *settings)
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
        rt_opt_slot_at(sets, n_sets, ((c == ':' ? optopt : c) - FIRST) / 2, &slot);
        const rt_opt_t *o = slot.option;
        if (c == ':')
            rt_refuse(RT_USAGE, "--%s: its value is missing; write --%s %s", o->name, o->name,
                      o->argument);
        if (optarg && optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0)
            rt_refuse(RT_USAGE, "--%s: its value is missing: %.80s is an option; write --%s %s",
                      o->name, optarg, o->name, o->argument);
        bool negated = (c - FIRST) % 2 == 1;
        settings[n++] = (rt_opt_setting_t){slot, optarg ? optarg : negated ? "no" : "yes"};
    }
    if (optind < argc)
        rt_refuse(RT_USAGE,
                  "'%.80s' is not an option; options begin with --, and --help lists them",
                  argv[optind]);
    free(list);
    return n;
}
