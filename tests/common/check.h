/*
 * check.h - the whole test framework.
 *
 *   int main(void)
 *   {
 *       CHECK(1 + 1 == 2);
 *       CHECK_TEXT(name, "host");
 *       CHECK_DIES(RT_USAGE, "not a whole number", { parse("12x"); });
 *       return check_done();
 *   }
 *
 * A failed check is printed and counted, and the test goes on. check_done prints one line and
 * returns the exit status: 0 if all checks held, 1 if some failed or none was made, which shows
 * nothing. check_skip ends the test with 77, Automake's number for "could not be run here".
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(expr)           check_that((expr) ? 1 : 0, #expr, __FILE__, __LINE__)
#define CHECK_TEXT(got, want) check_text(got, want, #got, __FILE__, __LINE__)

/* Runs the code in a child process, which must end itself with `status` after exactly one line on
 * stderr that contains `text`. `return` in the code is not allowed. */
#define CHECK_DIES(status, text, ...)                 \
    do {                                              \
        if (check_fork() == 0) {                      \
            __VA_ARGS__                               \
            check_survived();                         \
        }                                             \
        check_died(status, text, __FILE__, __LINE__); \
    } while (0)

/* A child that runs longer than this counts as hung. */
enum { CHECK_SECONDS = 120, CHECK_SURVIVED = 250 };

static struct {
    int made, failed;
    pid_t child;
    FILE *child_stderr;
} check_state;

#if defined(__SANITIZE_ADDRESS__)
#define CHECK_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_LEAKS 1
#endif
#endif
#ifdef CHECK_LEAKS
void __lsan_disable(void);
#endif

static inline void check_that(int held, const char *what, const char *file, int line)
{
    check_state.made++;
    if (held)
        return;
    check_state.failed++;
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

static inline void check_text(const char *got, const char *want, const char *what, const char *file,
                              int line)
{
    int same = got && want ? strcmp(got, want) == 0 : got == want;
    check_that(same, what, file, line);
    if (!same)
        fprintf(stderr, "    got:  %s\n    want: %s\n", got ? got : "NULL", want ? want : "NULL");
}

/* A child that exits must not run the exit handlers of its parent: libraries that hold a GPU cannot
 * release it in a child, and abort. */
#if defined(__GLIBC__)
extern int on_exit(void (*function)(int, void *), void *argument);
static inline void check_leave(int status, void *argument)
{
    (void)argument;
    fflush(NULL);
    _exit(status);
}
#endif

/* Returns 0 in the child, whose stderr goes to a file from now on. */
static inline pid_t check_fork(void)
{
    fflush(NULL); /* else the child would print the parent's buffers a second time */
    check_state.child_stderr = tmpfile();
    check_state.child = check_state.child_stderr ? fork() : -1;
    if (check_state.child < 0) {
        perror("check_fork");
        exit(EXIT_FAILURE);
    }
    if (check_state.child == 0) {
        dup2(fileno(check_state.child_stderr), STDERR_FILENO);
        alarm(CHECK_SECONDS);
#if defined(__GLIBC__)
        on_exit(check_leave, NULL); /* the handler registered last runs first */
#endif
#ifdef CHECK_LEAKS
        __lsan_disable(); /* a child that is made to die cannot free what it holds */
#endif
    }
    return check_state.child;
}

static inline void check_survived(void)
{
    _exit(CHECK_SURVIVED);
}

static inline void check_died(int status, const char *text, const char *file, int line)
{
    char got[8192];
    int wait_status = 0;
    int waited; /* a signal may interrupt the wait */
    do
        waited = waitpid(check_state.child, &wait_status, 0) == check_state.child;
    while (!waited && errno == EINTR);
    rewind(check_state.child_stderr);
    size_t n = fread(got, 1, sizeof got - 1, check_state.child_stderr);
    fclose(check_state.child_stderr);
    got[n] = '\0';

    const char *newline = strchr(got, '\n');
    int one_line = newline && newline != got && newline[1] == '\0' && strlen(got) == n;
    int exit_status = waited && WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    char what[512];
    snprintf(what, sizeof what, "ends with status %d and one line that says \"%s\"", status, text);
    int held = exit_status == status && one_line && strstr(got, text) != NULL;
    check_that(held, what, file, line);
    if (held)
        return;
    if (exit_status == CHECK_SURVIVED)
        fprintf(stderr, "    it did not end at all\n");
    else if (WIFSIGNALED(wait_status))
        fprintf(stderr, "    it was ended by signal %d\n", WTERMSIG(wait_status));
    else
        fprintf(stderr, "    it ended with status %d\n", exit_status);
    fprintf(stderr, "    stderr: %s%s", got, n > 0 && got[n - 1] == '\n' ? "" : "\n");
}

/* Returns what was written to a file of tmpfile(), and closes it; valid until the next call. */
static inline const char *check_written(FILE *file)
{
    static char text[1 << 16];
    if (!file)
        return NULL;
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static inline void check_skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(77);
}

static inline int check_done(void)
{
    printf("%d checks, %d failed\n", check_state.made, check_state.failed);
    return check_state.failed > 0 || check_state.made == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
