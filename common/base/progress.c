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
    pthread_t thread;
    int every;             /* seconds */
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t ended;
    bool running;
    double begin, parts_begin;
    rt_text_t doing;
    const char *kind; /* of parts; NULL: there are none */
    int done, total;
    double share; /* of the parts that is finished */
} self = {.mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void say(void)
{
    const double now = seconds_now();
    rt_text_t line;
    if (!*self.doing.text)
        return;
    rt_text(&line, "%.0f s", now - self.begin);
    if (self.kind)
        rt_text_add(&line, ", %s %d of %d", self.kind, self.done + 1, self.total);
    rt_text_add(&line, ": %.300s", self.doing.text);
    if (self.kind && self.share > 0)
        rt_text_add(&line, "; about %.0f s left",
                    (now - self.parts_begin) * (1 - self.share) / self.share);
    rt_say("%s", line.text);
}

static void *talk(void *data)
{
    const int every = *(const int *)data;
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&self.mutex);
    while (self.running) {
        next.tv_sec += every;
        while (self.running && pthread_cond_timedwait(&self.ended, &self.mutex, &next) == 0)
            ;
        if (self.running)
            say();
    }
    pthread_mutex_unlock(&self.mutex);
    return NULL;
}

/* A signal is for the main thread. Without a thread nothing is said. */
void rt_progress_start(int every)
{
    sigset_t all, before;
    if (self.running)
        return;
    self.every = every > 0 ? every : isatty(STDERR_FILENO) ? 5 : 10;
    self.begin = seconds_now();
    self.kind = NULL;
    *self.doing.text = '\0';
    self.running = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&self.mutex); /* the thread reads what is set here */
    self.running = pthread_create(&self.thread, NULL, talk, &self.every) == 0;
    pthread_mutex_unlock(&self.mutex);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void rt_progress_stop(void)
{
    pthread_mutex_lock(&self.mutex);
    const bool was_running = self.running;
    self.running = false;
    pthread_cond_signal(&self.ended);
    pthread_mutex_unlock(&self.mutex);
    if (was_running)
        pthread_join(self.thread, NULL);
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
