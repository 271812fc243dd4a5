/*
 * tune/store.c - the tuning file of a run: which file, what it has for this machine and point, and
 * adding to it. Rank 0 reads and writes; all ranks have the same text.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "app/context.h"
#include "base/file.h"
#include "io/files.h"
#include "io/draft.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "machine/shared.h"
#include "tune/force.h"

enum { MOST_BYTES = 64 << 20 }; /* a tuning file of 100000 lines is half of that */

void rt_store_note(struct rt_tuning *t, const char *words)
{
    if (t->notes++ >= RT_TUNE_NOTES)
        return;
    rt_text_t *note = &t->note[t->notes - 1];
    rt_text(note, "%.150s%s", t->path, words);
    rt_tune_printable(note);
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

static int point_of(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const rt_extras_t *extras = rt_app_extras(run->app);
    return extras->tune_point ? extras->tune_point(run, point) : 0;
}

json_t *rt_store_point(const rt_run_t *run)
{
    rt_coordinate_t point[RT_TUNE_COORDINATES];
    json_t *object = json_object();
    RT_EXPECT(object, RT_MEMORY, "no memory for a point");
    for (int c = 0, n = point_of(run, point); c < n; c++)
        rt_json_real(object, point[c].name, point[c].value);
    return object;
}

/* The number of ranks is a coordinate too: the app's coordinates are those of one rank. */
double rt_store_distance(const rt_run_t *run, const rt_tune_entry_t *e)
{
    rt_coordinate_t point[RT_TUNE_COORDINATES];
    const int n = point_of(run, point);
    double sum = fabs(log((double)rt_comm_size() / (double)e->ranks));
    if (json_object_size(e->point) != (size_t)n)
        return INFINITY;
    for (int c = 0; c < n; c++) {
        const double there = json_number_value(json_object_get(e->point, point[c].name));
        if (there == 0) /* it has no such coordinate */
            return INFINITY;
        if (point[c].value != there)
            sum += point[c].weight * fabs(log(point[c].value / there));
    }
    return sum;
}

const rt_tune_entry_t *rt_store_nearest(const rt_run_t *run, const rt_rung_t *rung)
{
    const rt_tune_file_t *file = run->tuning->file;
    const rt_tune_entry_t *best = NULL;
    double least = INFINITY;
    for (int i = 0; file && i < file->entries; i++) {
        const double d = for_rung(run, rung, &file->entry[i])
                             ? rt_store_distance(run, &file->entry[i])
                             : INFINITY;
        if (d <= least && d < INFINITY) {
            least = d;
            best = &file->entry[i];
        }
    }
    return best;
}

void rt_store_look(rt_run_t *run)
{
    struct rt_tuning *t = run->tuning;
    const rt_app_t *app = run->app;
    rt_text_t words;
    bool any = false;
    for (int i = 0; i < t->file->entries; i++) {
        const rt_tune_entry_t *e = &t->file->entry[i];
        const bool here =
            same_device(t, RT_CPU, e) || (*t->device[1] && same_device(t, RT_CUDA, e));
        if (!here || strcmp(e->program, app->name) != 0)
            continue;
        any = true;
        if (!rt_app_rung(app, e->rung))
            rt_store_note(t, rt_text(&words, ": entry %d is not used: there is no rung %.60s",
                                     e->number, e->rung));
    }
    if (!any)
        rt_store_note(t, rt_text(&words,
                                 " has nothing for %s on this device (%s%s%s, %lld threads): the "
                                 "defaults are used",
                                 app->name, t->device[1], *t->device[1] ? "; " : "", t->device[0],
                                 (long long)t->threads));
}

/* --- reading --- */

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* Writes the path that --tuning names, or else that of the user's own file, in XDG's cache folder; ""
 * if there is to be none, or no home folder. */
static void own_path(const rt_run_t *run, char path[PATH_MAX])
{
    const rt_options_t *opt = &run->opt;
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *app = run->app->name;
    int n = 0;
    if (opt->no_tuning || (opt->tuning && strcmp(opt->tuning, "none") == 0))
        n = -1;
    else if (opt->tuning)
        n = snprintf(path, PATH_MAX, "%s", opt->tuning);
    else if (cache && *cache == '/') /* XDG: a relative path is to be ignored */
        n = snprintf(path, PATH_MAX, "%s/rooftop/%s.tuning", cache, app);
    else if (home && *home)
        n = snprintf(path, PATH_MAX, "%s/.cache/rooftop/%s.tuning", home, app);
    if (n <= 0 || n >= PATH_MAX)
        *path = '\0';
}

static void name_devices(struct rt_tuning *t)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    snprintf(t->device[0], RT_TUNE_DEVICE, "%s", rt_device_cpu()->model);
    snprintf(t->device[1], RT_TUNE_DEVICE, "%s", gpu ? gpu->name : "");
    t->threads = rt_device_cpu()->threads;
    rt_comm_bcast(t->device, sizeof t->device, 0);
    rt_comm_bcast(&t->threads, sizeof t->threads, 0);
}

void rt_tuning_read(rt_run_t *run)
{
    struct rt_tuning *t = run->tuning;
    rt_text_t why;
    size_t bytes = 0;
    name_devices(t);
    if (rt_comm_rank() == 0)
        own_path(run, t->path);
    /* One that was named has to be there, unless the search will make it. */
    if (!is_there(t->path) && (!run->opt.tuning || run->opt.tune))
        *t->path = '\0';
    rt_comm_bcast(t->path, sizeof t->path, 0);
    if (!*t->path)
        return;
    char *data = rt_shared_load(t->path, MOST_BYTES, &bytes, &why);
    if (data)
        rt_files_note(t->path, data, bytes);
    if (!data && run->opt.tuning)
        rt_refuse(RT_USAGE, "--tuning %.400s: %s; name a file that can be read", t->path, why.text);
    if (!data)
        rt_text(&t->file_note, "%.200s: %.200s", t->path, why.text);
    else
        t->file = rt_tune_file_parse(t->path, data, bytes, &t->file_note);
    free(data);
}

/* --- writing --- */

/* Reads the target on rank 0. Returns NULL if it is not there, or if it cannot be added to: then
 * `why` says why. */
static rt_tune_file_t *read_target(const char *path, rt_text_t *why)
{
    size_t bytes = 0;
    if (!*path || !is_there(path))
        return NULL;
    char *data = rt_file_load(path, MOST_BYTES, &bytes, why);
    rt_tune_file_t *file = data ? rt_tune_file_parse(path, data, bytes, why) : NULL;
    free(data);
    return file;
}

const char *rt_tuning_target(rt_run_t *run)
{
    char *path = run->tuning->target;
    rt_text_t why = {""};
    if (rt_comm_rank() == 0) {
        own_path(run, path);
        rt_tune_file_free(read_target(path, &why));
    }
    rt_comm_bcast(&why, sizeof why, 0);
    rt_comm_bcast(path, PATH_MAX, 0);
    if (*why.text)
        rt_refuse(RT_USAGE,
                  "--tune cannot add to %.400s: %s; remove it, or name another with --tuning", path,
                  why.text);
    if (run->opt.tuning && *path) /* folders of the user's cache are made later */
        rt_shared_probe("tuning", path);
    return path;
}

json_t *rt_store_entry(const rt_run_t *run, const rt_rung_t *rung, const int *choice,
                       double seconds)
{
    char date[32];
    const time_t now = time(NULL);
    const rt_kind_t kind = rt_rung_processor(rung);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:I, s:i, s:o, s:s, s:o, s:s, s:f, s:s}", "program",
                  run->app->name, "version", rt_version(), "device", run->tuning->device[kind],
                  "threads", (json_int_t)(kind == RT_CUDA ? 0 : run->tuning->threads), "ranks",
                  rt_comm_size(), "point", rt_store_point(run), "rung", rung->name, "choice",
                  rt_force_json(rt_force_of(run, rung), choice), "measured",
                  run->opt.isolated ? "isolated" : "inside", "seconds", seconds, "date", date);
    RT_EXPECT(entry, RT_MEMORY, "no memory for an entry of tuning");
    return entry;
}

void rt_store_adopt(rt_run_t *run, json_t *fresh)
{
    struct rt_tuning *t = run->tuning;
    char *text = NULL, *path = t->target;
    rt_text_t why = {""};
    size_t bytes = 0;
    if (rt_comm_rank() == 0) {
        /* read again: another run may have added to it meanwhile */
        rt_tune_file_t *old = read_target(path, &why);
        text = rt_tune_file_text(old, fresh, &bytes);
        rt_tune_file_free(old);
        const int error = *path && !*why.text ? rt_tune_file_write(path, text, bytes) : 0;
        if (*why.text || error) {
            rt_unwritten("cannot write '%.400s': %s (what was tuned is used in this run only)",
                         path, *why.text ? why.text : rt_draft_cause(error));
            *path = '\0';
        }
    }
    text = rt_shared_bytes(text, &bytes);
    rt_comm_bcast(path, PATH_MAX, 0);
    rt_tune_file_free(t->file);
    snprintf(t->path, sizeof t->path, "%s", *path ? path : "tuned now");
    *t->file_note.text = '\0';
    t->file = rt_tune_file_parse(t->path, text, bytes, &why);
    RT_EXPECT(t->file, RT_INVALID, "a tuning file that was just made: %s", why.text);
    free(text);
}
