/* base/progress.c - see base/progress.h. */
#include "config.h"
#include "base/progress.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/text.h"

static struct {
    timer_t timer; /* a thread of the C library's says something each time that it runs out */
    pthread_mutex_t mutex; /* of what follows */
    bool running;
    double begin, parts_begin;
    rt_text_t doing;
    const char *kind; /* of parts; NULL: there are none */
    int done, total;
    double share; /* of the parts that is finished */
} self = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void say(union sigval unused)
{
    rt_text_t line;
    (void)unused;
    pthread_mutex_lock(&self.mutex);
    const double now = seconds_now();
    rt_text(&line, "%.0f s", now - self.begin);
    if (self.kind)
        rt_text_add(&line, ", %s %d of %d", self.kind, self.done + 1, self.total);
    rt_text_add(&line, ": %.300s", self.doing.text);
    if (self.kind && self.share > 0)
        rt_text_add(&line, "; about %.0f s left",
                    (now - self.parts_begin) * (1 - self.share) / self.share);
    if (self.running && *self.doing.text)
        rt_say("%s", line.text);
    pthread_mutex_unlock(&self.mutex);
}

/* Without a timer nothing is said. */
void rt_progress_start(int every)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = say};
    const time_t period = every > 0 ? every : isatty(STDERR_FILENO) ? 5 : 10;
    const struct itimerspec at = {{period, 0}, {period, 0}};
    if (self.running)
        return;
    self.begin = seconds_now();
    self.kind = NULL;
    *self.doing.text = '\0';
    self.running = timer_create(CLOCK_MONOTONIC, &event, &self.timer) == 0;
    if (self.running)
        timer_settime(self.timer, 0, &at, NULL);
}

void rt_progress_stop(void)
{
    pthread_mutex_lock(&self.mutex);
    if (self.running)
        timer_delete(self.timer);
    self.running = false;
    pthread_mutex_unlock(&self.mutex);
}

void rt_progress(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&self.mutex);
    vsnprintf(self.doing.text, sizeof self.doing.text, fmt, args);
    pthread_mutex_unlock(&self.mutex);
    va_end(args);
}

void rt_progress_parts(const char *kind, int done, int total)
{
    pthread_mutex_lock(&self.mutex);
    if (done == 0)
        self.parts_begin = seconds_now();
    self.kind = done < total ? kind : NULL;
    self.done = done;
    self.total = total;
    self.share = (double)done / total;
    pthread_mutex_unlock(&self.mutex);
}

void rt_progress_share(double share)
{
    pthread_mutex_lock(&self.mutex);
    self.share = share;
    pthread_mutex_unlock(&self.mutex);
}
