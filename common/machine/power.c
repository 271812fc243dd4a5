/*
 * machine/power.c - the file of a power meter: its samples, integrated by trapezoids over the timed
 * windows. The meter may be writing it, so a last line without its end is left out, and the sample
 * that follows the windows is waited for.
 */
#define _GNU_SOURCE /* strptime, timegm */
#include "config.h"
#include "machine/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/file.h"
#include "base/numbers.h"
#include "io/scan.h"

/* Adds a sample, and the time since the one before, in which watts changed evenly. */
static void add(rt_energy_t *span, const double before[2], const double now[2])
{
    const double from = fmax(before[0], span->begin), to = fmin(now[0], span->end);
    if (now[0] >= span->begin && now[0] <= span->end) {
        span->lowest = span->samples ? fmin(span->lowest, now[1]) : now[1];
        span->highest = fmax(span->highest, now[1]);
        span->samples++;
    }
    if (from < to) {
        const double slope = (now[1] - before[1]) / (now[0] - before[0]);
        span->joules += (to - from) * (before[1] + slope * ((from + to) / 2 - before[0]));
        span->seconds += to - from;
        span->apart = fmax(span->apart, now[0] - before[0]);
    }
}

/* Reads 1795926259.5 or 2026-11-29T04:24:19.5+01:00. A NUL ends the bytes. */
static bool read_time(rt_scan_t *s, double *value)
{
    struct tm t = {0};
    char *fraction = strptime(s->at, "%Y-%m-%dT%H:%M:%S", &t);
    if (!fraction)
        return rt_scan_real(s, value, "seconds since 1970, or a time as 2026-11-29T04:24:19.5Z");
    const double part = *fraction == '.' ? strtod(fraction, &fraction) : 0;
    const char *rest = strptime(fraction, "%z", &t);
    if (!rest || rest > s->end)
        return rt_scan_fail(s, "the time lacks its zone: Z, or +01:00");
    const long east = t.tm_gmtoff; /* which timegm sets to 0 */
    *value = (double)(timegm(&t) - east) + part;
    s->at = rest;
    return true;
}

/* Adds all samples, of lines that are whole, to both spans. */
static bool read_samples(rt_scan_t *s, rt_energy_t spans[2])
{
    double before[2], now[2];
    bool any = false;
    while (s->end > s->start && s->end[-1] != '\n')
        s->end--;
    for (rt_scan_skip_space(s); s->at < s->end; rt_scan_skip_space(s)) {
        const int64_t line = s->line;
        if (*s->at == '#') {
            rt_scan_skip_line(s);
            continue;
        }
        if (!read_time(s, &now[0]) || !rt_scan_real(s, &now[1], "watts") || !rt_scan_line_end(s))
            return false;
        if (!rt_finite(now[0]) || !rt_finite(now[1]) || now[1] < 0)
            return rt_scan_fail_line(s, line, "a time and watts, of 0 or more, are wanted");
        if (any && now[0] <= before[0])
            return rt_scan_fail_line(s, line, "not later than the sample before");
        for (int i = 0; i < 2; i++)
            add(&spans[i], any ? before : now, now);
        memcpy(before, now, sizeof now);
        any = true;
    }
    return true;
}

static bool is_covered(const rt_energy_t *span)
{
    return span->samples > 0 && span->seconds > span->end - span->begin - 1e-3;
}

bool rt_power_read(const char *path, const rt_energy_t *when, rt_energy_t *out, rt_text_t *why)
{
    enum { PATIENCE = 3 }; /* seconds that a meter may take to write a sample */
    static const double most_apart =
        1.5; /* seconds: one per second, by a clock that is not exact */
    const double seconds = when->end - when->begin;
    rt_energy_t spans[2];
    for (;;) {
        rt_text_t fault;
        size_t bytes = 0;
        char *data = rt_file_load(path, (size_t)1 << 30, &bytes, &fault);
        for (char *c = data; c && c < data + bytes; c++)
            *c = *c == ',' ? ' ' : *c;
        spans[0] = (rt_energy_t){.begin = when->begin, .end = when->end, .source = "meter"};
        spans[1] = (rt_energy_t){.begin = when->idle_begin, .end = when->idle_end};
        rt_scan_t s = rt_scan_bytes(path, data, bytes, why->text, sizeof why->text);
        const bool good = data ? read_samples(&s, spans) : rt_scan_fail_file(&s, "%s", fault.text);
        free(data);
        if (!good || !out)
            return good;
        if (is_covered(&spans[0]) || (double)time(NULL) > when->end + PATIENCE)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    *out = spans[0];
    if (is_covered(&spans[1]))
        out->idle = spans[1].joules / spans[1].seconds;
    if (is_covered(out) && out->samples >= floor(seconds) && out->apart <= most_apart)
        return true;
    rt_text(why,
            "%.200s covers %.1f of the %.1f s of the timed windows, with %.0f samples, up to "
            "%.1f s apart; one per second is needed, from before the windows to after them",
            path, out->seconds, seconds, out->samples, out->apart);
    out->source = NULL;
    return false;
}
