/*
 * base/error.h - how a program of Rooftop ends when it cannot go on.
 *
 * There are two kinds of end, which are never mixed:
 *   rt_refuse  the user asked for something that cannot be done: one line that says what is wrong,
 *              where, and what to do. No source file, no stack.
 *   rt_die     the program or its environment is broken: rank, file, line and expression.
 */
#ifndef RT_ERROR_H
#define RT_ERROR_H

#include <stdbool.h>
#include "base/extern_c.h"

#if defined(__GNUC__) /* the form that static analysers know too */
#define RT_NORETURN __attribute__((noreturn))
#elif defined(__cplusplus)
#define RT_NORETURN [[noreturn]]
#else
#define RT_NORETURN _Noreturn
#endif

RT_C_BEGIN

#if defined(__GNUC__)
#define RT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RT_PRINTF(fmt, args)
#endif

/* Exit status of every program; scripts may rely on these numbers. */
typedef enum {
    RT_OK = 0,      /* ran, and every check held */
    RT_INVALID = 1, /* ran, and a check failed: its figures mean nothing */
    RT_USAGE = 2,   /* an option, file or size that makes no sense */
    RT_ENVIRONMENT =
        3,          /* device, driver, MPI, file system: the machine is not what was asked for */
    RT_MEMORY = 4,  /* does not fit */
    RT_SKIPPED = 77 /* nothing was run, for a reason that was printed (Automake's number) */
} rt_status_t;

/* Set the name in front of every message, and how to end all ranks. rt_comm_init sets rank, size,
 * end and finish; before that the process is rank 0 of 1 and ends alone. `end` must not return.
 * `meet` waits a while for all ranks to call it, and returns whether they did; NULL: they do. */
void rt_error_set_program(const char *name);
void rt_error_set_ranks(int rank, int size, void (*end)(int status), void (*finish)(void),
                        bool (*meet)(void));

/* Refuses the user's request. Collective: every rank calls it with the same message (all ranks
 * parse the same options); rank 0 prints `PROGRAM: message`, and all end with `status`. If the
 * other ranks do not come, say because only this one sees a broken file, it prints
 * `PROGRAM: rank R: message` and ends all of them. */
RT_NORETURN void rt_refuse(rt_status_t status, const char *fmt, ...) RT_PRINTF(2, 3);

/* Prints `PROGRAM: message`, one line, on stderr. Not collective. */
void rt_say(const char *fmt, ...) RT_PRINTF(1, 2);
/* Does the same about an output that could not be written, or a meter that could not be read, and
 * notes that there was one: the program goes on, and ends with RT_ENVIRONMENT if nothing worse
 * happens. Not collective. */
void rt_unwritten(const char *fmt, ...) RT_PRINTF(1, 2);
/* Returns whether rt_unwritten was not called since rt_error_set_program. */
bool rt_all_written(void);

/* Ends the program on an internal error. Not collective: any rank may call it alone, and it ends
 * all others too. Prints `PROGRAM: rank R: FILE:LINE: EXPRESSION: message`. Use the macros. */
RT_NORETURN void rt_die_at(const char *file, int line, const char *expression, rt_status_t status,
                           const char *fmt, ...) RT_PRINTF(5, 6);

#define rt_die(status, ...) rt_die_at(__FILE__, __LINE__, "", status, __VA_ARGS__)

/* Checks an expectation about our own code or the environment, in every build. */
#define RT_EXPECT(expr, status, ...)                                   \
    do {                                                               \
        if (!(expr))                                                   \
            rt_die_at(__FILE__, __LINE__, #expr, status, __VA_ARGS__); \
    } while (0)

RT_C_END
#endif
