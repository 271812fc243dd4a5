/*
 * tune/tune.c - what is in force for each rung, and why: the default, what a tuning file says of
 * this device and point, or what --choose asks for. See tune/tune.h.
 *
 * All ranks have the same file, since rank 0 reads it for all, and the same device's name, so they
 * decide alike without a word.
 */
#include "config.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "app/context.h"
#include "io/inputs.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "tune/tuning.h"

enum {
    DEVICE = 256,
    NAME = 128,
    MOST_NOTES = 4,
    MOST_BYTES = 64 << 20, /* a tuning file of 100000 lines is half of that */
    MOST_DEFAULTS = 1 << 20
};

typedef enum { FROM_DEFAULT, FROM_FILE, FROM_NEAREST, FROM_OPTION, FROM_SEARCH } from_t;

/* What is in force for one rung. */
typedef struct force {
    struct force *next;
    const rt_rung_t *rung;
    const rt_parameter_t *parameter;
    int parameters;
    int choice[RT_TUNE_PARAMETERS], fallback[RT_TUNE_PARAMETERS];
    from_t from;
    const rt_tune_entry_t *entry; /* of FROM_FILE and FROM_NEAREST */
} force_t;

struct rt_tuning {
    force_t *first;
    rt_tune_file_t *file;  /* NULL: none */
    char path[PATH_MAX];   /* of the file; "": none */
    char target[PATH_MAX]; /* where --tune writes; "": nowhere */
    char device[2][DEVICE];
    int64_t threads;
    char file_note[PATH_MAX + 512]; /* why the file is not used, or "" */
    char note[MOST_NOTES][PATH_MAX + 512];
    int notes;
};

/* --- small things --- */

static void add_note(struct rt_tuning *t, const char *fmt, ...) RT_PRINTF(2, 3);
static void add_note(struct rt_tuning *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (t->notes < MOST_NOTES)
        vsnprintf(t->note[t->notes], sizeof t->note[0], fmt, args);
    va_end(args);
    t->notes++;
}

static int count_values(const rt_parameter_t *parameter)
{
    int n = 0;
    while (parameter->values[n])
        n++;
    return n;
}

static int find_value(const rt_parameter_t *parameter, const char *value)
{
    for (int v = 0; parameter->values[v]; v++)
        if (strcmp(parameter->values[v], value) == 0)
            return v;
    return -1;
}

static int find_parameter(const rt_parameter_t *parameter, int parameters, const char *name)
{
    for (int p = 0; p < parameters; p++)
        if (strcmp(parameter[p].name, name) == 0)
            return p;
    return -1;
}

static int point_of(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const rt_extras_t *extras = rt_app_extras(run->app);
    return extras->tune_point ? extras->tune_point(run, point) : 0;
}

/* --- defaults --- */

/* The allowed choice that differs from the initial one in the fewest parameters. Kernels are rarely
 * refused as they are, so that all combinations are gone through once in a while only. */
static void find_default(const rt_run_t *run, force_t *f)
{
    int values[RT_TUNE_PARAMETERS], choice[RT_TUNE_PARAMETERS] = {0}, least = INT_MAX;
    for (int p = 0; p < f->parameters; p++) {
        values[p] = count_values(&f->parameter[p]);
        f->fallback[p] = f->parameter[p].initial;
    }
    if (f->parameters == 0 || !rt_rung_refuse_choice(f->rung, run->config, f->fallback))
        return;
    for (int tried = 0, p = 0; tried < MOST_DEFAULTS && p < f->parameters; tried++) {
        int changes = 0;
        for (int q = 0; q < f->parameters; q++)
            changes += choice[q] != f->parameter[q].initial;
        if (changes < least && !rt_rung_refuse_choice(f->rung, run->config, choice)) {
            least = changes;
            memcpy(f->fallback, choice, sizeof choice);
        }
        for (p = 0; p < f->parameters && ++choice[p] == values[p]; p++)
            choice[p] = 0;
    }
}

static void set_default(const rt_run_t *run, force_t *f)
{
    memset(f->fallback, 0, sizeof f->fallback);
    f->parameter = rt_rung_parameters(f->rung, &f->parameters);
    find_default(run, f);
    memcpy(f->choice, f->fallback, sizeof f->choice);
    f->from = FROM_DEFAULT;
    f->entry = NULL;
}

/* --- --choose --- */

/* The next NAME=VALUE of a list; false at its end. Refuses what is none. */
static bool next_pair(const char **at, char name[NAME], char value[NAME])
{
    if (!*at || **at == '\0')
        return false;
    const size_t n = strcspn(*at, "=,"), v = (*at)[n] == '=' ? strcspn(*at + n + 1, ",") : 0;
    if ((*at)[n] != '=' || n == 0 || v == 0 || n >= NAME || v >= NAME)
        rt_refuse(RT_USAGE, "--choose %.80s: not NAME=VALUE,NAME=VALUE", *at);
    snprintf(name, NAME, "%.*s", (int)n, *at);
    snprintf(value, NAME, "%.*s", (int)v, *at + n + 1);
    *at += n + 1 + v;
    *at += **at == ',';
    return true;
}

/* Adds to a list "a, b", unless the word is in it. */
static void append_once(rt_text_t *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list->text; (at = strstr(at, word)); at += n)
        if ((at == list->text || at[-1] == ' ') && (at[n] == ',' || at[n] == '\0'))
            return;
    rt_text_add(list, "%s%s", *list->text ? ", " : "", word);
}

/* A rung that --choose may mean has this parameter, with this value. */
static void check_pair(const rt_run_t *run, const char *name, const char *value)
{
    rt_text_t names = {""}, values = {""};
    for (int i = 0; i < run->app->n_rungs; i++) {
        int count;
        const rt_rung_t *rung = &run->app->ladder[i];
        const rt_parameter_t *parameter = rt_rung_parameters(rung, &count);
        if (!rt_run_wants(run, rung))
            continue;
        for (int p = 0; p < count; p++) {
            if (strcmp(parameter[p].name, name) != 0) {
                append_once(&names, parameter[p].name);
                continue;
            }
            if (find_value(&parameter[p], value) >= 0)
                return;
            for (int v = 0; parameter[p].values[v]; v++)
                append_once(&values, parameter[p].values[v]);
        }
    }
    if (*values.text)
        rt_refuse(RT_USAGE, "--choose %s=%s: there is no such value; known: %s", name, value,
                  values.text);
    rt_refuse(RT_USAGE, "--choose %s=%s: %s has no such parameter; known: %s", name, value,
              run->opt.rung ? run->opt.rung : run->app->name, *names.text ? names.text : "none");
}

void rt_tuning_check(const rt_run_t *run)
{
    const rt_options_t *opt = &run->opt;
    char name[NAME], value[NAME];
    if (opt->no_tuning && opt->tuning)
        rt_refuse(RT_USAGE, "--tuning %.400s and --no-tuning exclude each other", opt->tuning);
    if (opt->tuning && strlen(opt->tuning) >= PATH_MAX)
        rt_refuse(RT_USAGE, "--tuning: a path of more than %d bytes", PATH_MAX - 1);
    if (opt->isolated && !rt_app_extras(run->app)->isolated)
        rt_refuse(RT_USAGE, "--isolated: %s has no kernels to measure alone", run->app->name);
    if (opt->tune && opt->choose)
        rt_refuse(RT_USAGE, "--tune and --choose exclude each other: the tuner chooses");
    if (opt->tune && opt->roofline)
        rt_refuse(RT_USAGE, "--tune and --roofline exclude each other: tune for one problem");
    if (opt->tune && opt->seconds <= 0)
        rt_refuse(RT_USAGE, "--tune compares times: give --seconds more than 0");
    for (const char *at = opt->choose; next_pair(&at, name, value);)
        check_pair(run, name, value);
}

/* What --choose says, on top of what is in force. */
static void apply_option(const rt_run_t *run, force_t *f)
{
    char name[NAME], value[NAME];
    for (const char *at = run->opt.choose; next_pair(&at, name, value);) {
        const int p = find_parameter(f->parameter, f->parameters, name);
        const int v = p >= 0 ? find_value(&f->parameter[p], value) : -1;
        if (v < 0)
            continue;
        f->choice[p] = v;
        f->from = FROM_OPTION;
    }
}

/* --- entries --- */

static bool same_device(const struct rt_tuning *t, rt_kind_t kind, const rt_tune_entry_t *e)
{
    return strcmp(e->device, t->device[kind]) == 0 &&
           e->threads == (kind == RT_CUDA ? 0 : t->threads);
}

static bool for_rung(const rt_run_t *run, const rt_rung_t *rung, const rt_tune_entry_t *e)
{
    return strcmp(e->program, run->app->name) == 0 && strcmp(e->rung, rung->name) == 0 &&
           e->isolated == run->opt.isolated && same_device(run->tuning, rt_rung_processor(rung), e);
}

/* Ranks are a coordinate too: the app's are of one rank. Infinite: not comparable. */
static double distance(const rt_run_t *run, const rt_tune_entry_t *e)
{
    rt_coordinate_t point[RT_TUNE_COORDINATES];
    const int n = point_of(run, point);
    double sum = fabs(log((double)rt_comm_size() / (double)e->ranks));
    if (n != e->coordinates)
        return INFINITY;
    for (int c = 0; c < n; c++) {
        if (strcmp(point[c].name, e->point[c].name) != 0)
            return INFINITY;
        if (point[c].value != e->point[c].value)
            sum += point[c].weight * fabs(log(point[c].value / e->point[c].value));
    }
    return sum;
}

/* The last of those that are nearest; NULL: there is none. */
static const rt_tune_entry_t *nearest(const rt_run_t *run, const rt_rung_t *rung)
{
    const rt_tune_file_t *file = run->tuning->file;
    const rt_tune_entry_t *best = NULL;
    double least = INFINITY;
    for (int64_t i = 0; file && i < file->entries; i++) {
        const double d =
            for_rung(run, rung, &file->entry[i]) ? distance(run, &file->entry[i]) : INFINITY;
        if (d <= least && d < INFINITY) {
            least = d;
            best = &file->entry[i];
        }
    }
    return best;
}

/* What the entry says in terms of the rung's parameters. False, and what is wrong with it. */
static bool translate(const rt_run_t *run, const force_t *f, const rt_tune_entry_t *e, int *choice,
                      char *why, size_t len)
{
    for (int p = 0; p < f->parameters; p++)
        choice[p] = -1;
    for (int k = 0; k < e->parameters; k++) {
        const int p = find_parameter(f->parameter, f->parameters, e->choice[k].name);
        if (p < 0) {
            snprintf(why, len, "%s has no parameter %.60s", e->rung, e->choice[k].name);
            return false;
        }
        choice[p] = find_value(&f->parameter[p], e->choice[k].value);
        if (choice[p] < 0) {
            snprintf(why, len, "%s of %s has no value %.60s", e->choice[k].name, e->rung,
                     e->choice[k].value);
            return false;
        }
    }
    for (int p = 0; p < f->parameters; p++)
        if (choice[p] < 0) {
            snprintf(why, len, "%s of %s is missing", f->parameter[p].name, e->rung);
            return false;
        }
    const char *no = f->parameters ? rt_rung_refuse_choice(f->rung, run->config, choice) : NULL;
    if (no)
        snprintf(why, len, "%s refuses it for this problem: %s", e->rung, no);
    return no == NULL;
}

static void apply_entry(rt_run_t *run, force_t *f)
{
    char why[256];
    int choice[RT_TUNE_PARAMETERS] = {0};
    const rt_tune_entry_t *e = nearest(run, f->rung);
    if (!e)
        return;
    if (!translate(run, f, e, choice, why, sizeof why)) {
        add_note(run->tuning, "%s: line %lld is not used: %s", run->tuning->path,
                 (long long)e->line, why);
        return;
    }
    memcpy(f->choice, choice, sizeof choice);
    f->from = distance(run, e) == 0 ? FROM_FILE : FROM_NEAREST;
    f->entry = e;
}

/* Entries for this machine that no rung asks for, and a file that has nothing for it. */
static void look_for_strangers(rt_run_t *run)
{
    struct rt_tuning *t = run->tuning;
    const rt_app_t *app = run->app;
    bool any = false;
    for (int64_t i = 0; i < t->file->entries; i++) {
        const rt_tune_entry_t *e = &t->file->entry[i];
        const bool here =
            same_device(t, RT_CPU, e) || (*t->device[1] && same_device(t, RT_CUDA, e));
        if (!here || strcmp(e->program, app->name) != 0)
            continue;
        any = true;
        if (!rt_ladder_find(app->ladder, app->n_rungs, e->rung))
            add_note(t, "%s: line %lld is not used: there is no rung %.60s", t->path,
                     (long long)e->line, e->rung);
    }
    if (!any)
        add_note(t, "%s has nothing of %s for this device (%s%s%s, %lld threads): defaults",
                 t->path, app->name, t->device[1], *t->device[1] ? "; " : "", t->device[0],
                 (long long)t->threads);
}

void rt_tuning_resolve(rt_run_t *run)
{
    struct rt_tuning *t = run->tuning;
    t->notes = 0;
    if (t->file)
        look_for_strangers(run);
    for (int i = 0; i < run->app->n_rungs; i++)
        rt_tune_choice(run, &run->app->ladder[i]); /* so that there is a record of it */
    for (force_t *f = t->first; f; f = f->next) {
        set_default(run, f);
        apply_entry(run, f);
        apply_option(run, f);
    }
}

static force_t *force_of(const rt_run_t *run, const rt_rung_t *rung)
{
    int count;
    struct rt_tuning *t = run->tuning;
    RT_EXPECT(t, RT_INVALID, "a run that nobody has set up");
    const rt_parameter_t *parameter = rt_rung_parameters(rung, &count);
    force_t *f = t->first;
    while (f && f->rung != rung)
        f = f->next;
    /* A rung that a test makes on the fly may stand where another has stood. */
    if (f && f->parameter == parameter && f->parameters == count)
        return f;
    if (!f) {
        f = calloc(1, sizeof *f);
        RT_EXPECT(f, RT_MEMORY, "no memory for the parameters of %s", rung->name);
        f->next = t->first;
        t->first = f;
        f->rung = rung;
    }
    set_default(run, f);
    apply_option(run, f);
    return f;
}

const int *rt_tune_choice(const rt_run_t *run, const rt_rung_t *rung)
{
    return force_of(run, rung)->choice;
}

void rt_tuning_default(const rt_run_t *run, const rt_rung_t *rung, int *choice)
{
    memcpy(choice, force_of(run, rung)->fallback, RT_TUNE_PARAMETERS * sizeof *choice);
}

void rt_tuning_force(const rt_run_t *run, const rt_rung_t *rung, const int *choice)
{
    force_t *f = force_of(run, rung);
    memcpy(f->choice, choice, sizeof f->choice);
    f->from = FROM_SEARCH;
}

const char *rt_tuning_obstacle(const rt_run_t *run, const rt_rung_t *rung, rt_text_t *why)
{
    rt_text_t choice;
    const force_t *f = force_of(run, rung);
    if (f->from != FROM_OPTION)
        return NULL;
    const char *refusal = rt_rung_refuse_choice(rung, run->config, f->choice);
    if (!refusal)
        return NULL;
    return rt_text(why, "%s: %s", rt_tuning_text(run, rung, f->choice, &choice), refusal);
}

/* --- the file --- */

void rt_tuning_new(rt_run_t *run)
{
    run->tuning = calloc(1, sizeof *run->tuning);
    RT_EXPECT(run->tuning, RT_MEMORY, "no memory for parameters");
}

void rt_tuning_destroy(rt_run_t *run)
{
    if (!run->tuning)
        return;
    for (force_t *f = run->tuning->first, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    rt_tune_file_free(run->tuning->file);
    free(run->tuning);
    run->tuning = NULL;
}

/* Of the user: the cache of XDG's specification. False: there is no home. */
static bool user_path(const rt_app_t *app, char *path, size_t len)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache && *cache == '/') /* another is to be ignored, says the specification */
        n = snprintf(path, len, "%s/rooftop/%s.tuning", cache, app->name);
    else if (home && *home)
        n = snprintf(path, len, "%s/.cache/rooftop/%s.tuning", home, app->name);
    return n > 0 && (size_t)n < len;
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* The file to read, "" if there is none. */
static void find_file(const rt_run_t *run, char *path, size_t len)
{
    const rt_options_t *opt = &run->opt;
    rt_inputs_t shipped;
    *path = '\0';
    if (opt->no_tuning || (opt->tuning && strcmp(opt->tuning, "none") == 0))
        return;
    if (opt->tuning) {
        snprintf(path, len, "%s", opt->tuning);
        if (opt->tune && !is_there(path))
            *path = '\0'; /* it is to be made */
        return;
    }
    if (user_path(run->app, path, len) && is_there(path))
        return;
    rt_inputs_folders(run->app->name, &shipped);
    for (int k = 0; k < shipped.n; k++)
        if ((size_t)snprintf(path, len, "%s/%s.tuning", shipped.path[k], run->app->name) < len &&
            is_there(path))
            return;
    *path = '\0';
}

/* All of it, for free; NULL and why. */
static char *load(const char *path, size_t *bytes, char *why, size_t len)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    if (!file || fstat(fileno(file), &info) != 0)
        snprintf(why, len, "%s", strerror(errno));
    else if (!S_ISREG(info.st_mode))
        snprintf(why, len, "%s", S_ISDIR(info.st_mode) ? strerror(EISDIR) : "no regular file");
    else if (info.st_size > MOST_BYTES)
        snprintf(why, len, "larger than %d MiB", MOST_BYTES >> 20);
    else if (!(data = malloc((size_t)info.st_size + 1)))
        snprintf(why, len, "%s", strerror(ENOMEM));
    else
        *bytes = fread(data, 1, (size_t)info.st_size, file);
    if (file)
        fclose(file);
    return data;
}

/* What rank 0 has loaded, to all: bytes < 0: nothing, `why` says why. */
static char *share(char *data, int64_t *bytes, char *why, size_t len)
{
    rt_comm_bcast(bytes, sizeof *bytes, 0);
    rt_comm_bcast(why, len, 0);
    if (*bytes < 0)
        return NULL;
    if (!data)
        data = malloc((size_t)*bytes + 1);
    RT_EXPECT(data, RT_MEMORY, "no memory for a tuning file");
    rt_comm_bcast(data, (size_t)*bytes, 0);
    return data;
}

static void name_devices(struct rt_tuning *t)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    snprintf(t->device[0], DEVICE, "%s", rt_device_cpu()->model);
    snprintf(t->device[1], DEVICE, "%s", gpu ? gpu->name : "");
    t->threads = rt_device_cpu()->threads;
    rt_comm_bcast(t->device, sizeof t->device, 0);
    rt_comm_bcast(&t->threads, sizeof t->threads, 0);
}

void rt_tuning_read(rt_run_t *run)
{
    struct rt_tuning *t = run->tuning;
    char why[256] = "", *data = NULL;
    int64_t bytes = -1;
    size_t loaded = 0;
    name_devices(t);
    if (rt_comm_rank() == 0)
        find_file(run, t->path, sizeof t->path);
    rt_comm_bcast(t->path, sizeof t->path, 0);
    if (!*t->path)
        return;
    if (rt_comm_rank() == 0 && (data = load(t->path, &loaded, why, sizeof why)))
        bytes = (int64_t)loaded;
    data = share(data, &bytes, why, sizeof why);
    if (!data && run->opt.tuning)
        rt_refuse(RT_USAGE, "--tuning %.400s: %s; name a file that can be read", t->path, why);
    if (!data)
        snprintf(t->file_note, sizeof t->file_note, "%s: %s", t->path, why);
    else
        t->file =
            rt_tune_file_parse(t->path, data, (size_t)bytes, t->file_note, sizeof t->file_note);
    free(data);
}

/* --- what it says of itself --- */

const char *rt_tuning_text(const rt_run_t *run, const rt_rung_t *rung, const int *choice,
                           rt_text_t *text)
{
    const force_t *f = force_of(run, rung);
    rt_text(text, "%s", "");
    for (int p = 0; p < f->parameters; p++)
        rt_text_add(text, "%s%s=%s", p ? " " : "", f->parameter[p].name,
                    f->parameter[p].values[choice[p]]);
    return text->text;
}

/* Writes the point of the entry, or of this run if there is no entry. */
static const char *point_text(const rt_run_t *run, const rt_tune_entry_t *e, rt_text_t *text)
{
    rt_coordinate_t point[RT_TUNE_COORDINATES];
    const int n = e ? e->coordinates : point_of(run, point);
    rt_text(text, "%s", "");
    for (int c = 0; c < n; c++)
        rt_text_add(text, "%s%s=%.15g", c ? " " : "", e ? e->point[c].name : point[c].name,
                    e ? e->point[c].value : point[c].value);
    if (e && e->ranks != rt_comm_size())
        rt_text_add(text, "%sranks=%lld", *text->text ? " " : "", (long long)e->ranks);
    return text->text;
}

void rt_tuning_print(const rt_run_t *run, FILE *out)
{
    const struct rt_tuning *t = run->tuning;
    if (*t->file_note)
        fprintf(out, "tuning        not used: %s; the defaults are in force\n", t->file_note);
    for (int i = 0; i < t->notes && i < MOST_NOTES; i++)
        fprintf(out, "tuning        %s\n", t->note[i]);
    if (t->notes > MOST_NOTES)
        fprintf(out, "tuning        %s: %d lines more are not used\n", t->path,
                t->notes - MOST_NOTES);
}

static const char *const from_name[] = {[FROM_DEFAULT] = "default",
                                        [FROM_FILE] = "file",
                                        [FROM_NEAREST] = "nearest",
                                        [FROM_OPTION] = "option",
                                        [FROM_SEARCH] = "search"};

void rt_tuning_print_rung(const rt_run_t *run, const rt_rung_t *rung, bool brief, FILE *out)
{
    rt_text_t text, here, there;
    const force_t *f = force_of(run, rung);
    if (f->parameters == 0)
        return;
    if (f->from == FROM_NEAREST && !brief)
        fprintf(out, "tuning        %s: nearest tuned point is %s\n", point_text(run, NULL, &here),
                point_text(run, f->entry, &there));
    if (memcmp(f->choice, f->fallback, sizeof f->choice) == 0)
        return;
    fprintf(out, "tuning        %s: %s (%s%s)\n", rung->name,
            rt_tuning_text(run, rung, f->choice, &text),
            f->from == FROM_OPTION   ? "--choose"
            : f->from == FROM_SEARCH ? "tried now"
                                     : run->tuning->path,
            f->from == FROM_NEAREST ? ", the nearest point" : "");
}

void rt_tuning_json(const rt_run_t *run, const rt_rung_t *rung, json_t *row)
{
    const force_t *f = force_of(run, rung);
    if (f->parameters == 0)
        return;
    json_t *choice = rt_json_object(row, "choice");
    for (int p = 0; p < f->parameters; p++)
        rt_json_text(choice, f->parameter[p].name, f->parameter[p].values[f->choice[p]]);
    rt_json_text(row, "choice_from", from_name[f->from]);
}

/* --- the rung itself is a choice --- */

static bool same_point(const rt_tune_entry_t *a, const rt_tune_entry_t *b)
{
    bool same = a->ranks == b->ranks && a->coordinates == b->coordinates;
    for (int c = 0; same && c < a->coordinates; c++)
        same = a->point[c].value == b->point[c].value;
    return same;
}

/* Returns the entry of ladder[i], if it is able and on the ladder of `fallback`. A rung whose entry
 * was refused runs without the entry's choice, so the entry's time says nothing about it. */
static const rt_tune_entry_t *entry_in_force(const rt_run_t *run, int i, const bool *able,
                                             const rt_rung_t *fallback)
{
    const rt_rung_t *rung = &run->app->ladder[i];
    const bool same =
        rung->ladder == fallback->ladder || (rung->ladder && rt_rung_is_on(rung, fallback->ladder));
    return same && able[i] ? force_of(run, rung)->entry : NULL;
}

const rt_rung_t *rt_tuning_fastest(const rt_run_t *run, const bool *able, const rt_rung_t *fallback)
{
    const rt_app_t *app = run->app;
    const rt_tune_entry_t *near = NULL;
    const rt_rung_t *best = NULL;
    double seconds = INFINITY;
    int timed = 0;
    bool of_kind = false;
    if (run->opt.isolated) /* these are times of a kernel's calls, which do not compare rungs */
        return fallback;
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_tune_entry_t *e = entry_in_force(run, i, able, fallback);
        if (e && (!near || distance(run, e) < distance(run, near)))
            near = e;
    }
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_rung_t *rung = &app->ladder[i];
        const rt_tune_entry_t *e = entry_in_force(run, i, able, fallback);
        if (!e || !same_point(e, near))
            continue;
        timed++;
        of_kind = of_kind || rt_rung_processor(rung) == rt_rung_processor(fallback);
        if (e->seconds < seconds) {
            seconds = e->seconds;
            best = rung;
        }
    }
    return timed > 1 && of_kind ? best : fallback;
}

/* --- what the search hands over --- */

static const char *target_path(const rt_run_t *run, char *path, size_t len)
{
    *path = '\0';
    if (run->opt.no_tuning || (run->opt.tuning && strcmp(run->opt.tuning, "none") == 0))
        return path;
    if (run->opt.tuning)
        snprintf(path, len, "%s", run->opt.tuning);
    else if (!user_path(run->app, path, len))
        *path = '\0';
    return path;
}

/* Rank 0: what the target holds now, NULL if it is not there; or why it cannot be added to. */
static rt_tune_file_t *read_target(const char *path, char *why, size_t len)
{
    size_t bytes = 0;
    rt_tune_file_t *file = NULL;
    if (!*path || !is_there(path))
        return NULL;
    char *data = load(path, &bytes, why, len);
    if (data)
        file = rt_tune_file_parse(path, data, bytes, why, len);
    free(data);
    return file;
}

const char *rt_tuning_target(rt_run_t *run)
{
    char *path = run->tuning->target, why[PATH_MAX + 512] = "";
    if (rt_comm_rank() == 0)
        rt_tune_file_free(read_target(target_path(run, path, PATH_MAX), why, sizeof why));
    rt_comm_bcast(why, sizeof why, 0);
    rt_comm_bcast(path, PATH_MAX, 0);
    if (*why)
        rt_refuse(RT_USAGE,
                  "--tune cannot add to %.400s: %s; remove it, or name another with --tuning", path,
                  why);
    if (run->opt.tuning && *path) /* folders of the user's cache are made later */
        rt_report_probe(path);
    return path;
}

void rt_tuning_entry(const rt_run_t *run, const rt_rung_t *rung, rt_tune_entry_t *entry)
{
    rt_coordinate_t point[RT_TUNE_COORDINATES];
    const rt_kind_t kind = rt_rung_processor(rung);
    memset(entry, 0, sizeof *entry);
    entry->program = run->app->name;
    entry->version = rt_version();
    entry->device = run->tuning->device[kind];
    entry->threads = kind == RT_CUDA ? 0 : run->tuning->threads;
    entry->ranks = rt_comm_size();
    entry->rung = rung->name;
    entry->isolated = run->opt.isolated;
    entry->coordinates = point_of(run, point);
    for (int c = 0; c < entry->coordinates; c++) {
        entry->point[c].name = point[c].name;
        entry->point[c].value = point[c].value;
    }
}

bool rt_tuning_adopt(rt_run_t *run, const rt_tune_entry_t *fresh, int n)
{
    struct rt_tuning *t = run->tuning;
    char path[PATH_MAX] = "", why[PATH_MAX + 512] = "", *text = NULL;
    int64_t bytes = 0;
    int error = 0;
    if (rt_comm_rank() == 0) {
        size_t length;
        /* read again: another run may have added to it meanwhile */
        rt_tune_file_t *old = read_target(target_path(run, path, sizeof path), why, sizeof why);
        text = rt_tune_file_text(old, fresh, n, &length);
        rt_tune_file_free(old);
        bytes = (int64_t)length;
        error = *why ? EINVAL : *path ? rt_tune_file_write(path, text, length) : 0;
        if (error)
            fprintf(stderr, "%s: %s was not written: %s\n", run->app->name, path,
                    *why ? why : strerror(error));
    }
    text = share(text, &bytes, why, sizeof why);
    rt_comm_bcast(path, sizeof path, 0);
    rt_comm_bcast(&error, sizeof error, 0);
    rt_tune_file_free(t->file);
    snprintf(t->path, sizeof t->path, "%s", *path && !error ? path : "tuned now");
    *t->file_note = '\0';
    t->file = rt_tune_file_parse(t->path, text, (size_t)bytes, why, sizeof why);
    RT_EXPECT(t->file, RT_INVALID, "a tuning file that was just made: %s", why);
    free(text);
    rt_tuning_resolve(run);
    return error == 0;
}
