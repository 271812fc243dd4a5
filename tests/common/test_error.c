/*
 * test_error.c - how a program ends: its status, one line, the rank that prints it, and what else
 * is called.
 */
#include "config.h"
#include "check.h"
#include <time.h>
#include "base/error.h"
#include "base/progress.h"

static void finish_loudly(void)
{
    fprintf(stderr, "finished\n");
}

static void end_with_offset(int status)
{
    _exit(100 + status);
}

static void end_never(int status)
{
    _exit(200 + status);
}

static void test_refuse(void)
{
    CHECK_DIES(RT_USAGE, "rooftop: no name yet", { rt_refuse(RT_USAGE, "no name yet"); });
    rt_error_set_program("nekbone");
    CHECK_DIES(RT_USAGE, "nekbone: 3 is no size", { rt_refuse(RT_USAGE, "%d is no size", 3); });
    CHECK_DIES(RT_MEMORY, "nekbone: too large", { rt_refuse(RT_MEMORY, "too large"); });
    CHECK_DIES(RT_SKIPPED, "no GPU", { rt_refuse(RT_SKIPPED, "no GPU"); });
    /* The name is copied, because it may come from a buffer that is reused. */
    CHECK_DIES(RT_USAGE, "alya: no", {
        char name[] = "alya";
        rt_error_set_program(name);
        memset(name, 'x', 4);
        rt_refuse(RT_USAGE, "no");
    });
}

static void test_refuse_on_many_ranks(void)
{
    /* The one line is that of finish: rank 1 prints nothing, and finishes MPI properly. */
    CHECK_DIES(RT_USAGE, "finished", {
        rt_error_set_ranks(1, 2, end_never, finish_loudly, NULL);
        rt_refuse(RT_USAGE, "said by rank 0 alone");
    });
    CHECK_DIES(RT_USAGE, "nekbone: said by rank 0 alone", {
        rt_error_set_ranks(0, 2, end_never, NULL, NULL);
        rt_refuse(RT_USAGE, "said by rank 0 alone");
    });
}

static void test_die(void)
{
    CHECK_DIES(RT_ENVIRONMENT, "nekbone: rank 0: x.c:12: a == b: no disk",
               { rt_die_at("x.c", 12, "a == b", RT_ENVIRONMENT, "no %s", "disk"); });
    CHECK_DIES(RT_INVALID, "nekbone: rank 0: x.c:12: worn out",
               { rt_die_at("x.c", 12, "", RT_INVALID, "worn out"); });
    CHECK_DIES(RT_MEMORY, "test_error.c:", { rt_die(RT_MEMORY, "full"); });
    /* Any rank may print; it ends all the others and does not wait for them. */
    CHECK_DIES(100 + RT_MEMORY, "rank 3: ", {
        rt_error_set_ranks(3, 4, end_with_offset, finish_loudly, NULL);
        rt_die(RT_MEMORY, "full");
    });
    CHECK_DIES(RT_MEMORY, "rank 0: ", {
        rt_error_set_ranks(0, 1, end_with_offset, finish_loudly, NULL);
        rt_die(RT_MEMORY, "full");
    });
}

static void test_expect(void)
{
    int calls = 0;
    RT_EXPECT(++calls == 1, RT_INVALID, "never printed");
    CHECK(calls == 1);
    CHECK_DIES(RT_INVALID, ": calls > 7: 1 is too few",
               { RT_EXPECT(calls > 7, RT_INVALID, "%d is too few", calls); });
}

/* Whatever a message quotes, it is one readable line. */
static void test_one_line(void)
{
    CHECK_DIES(RT_USAGE, "file a?b?c?.txt",
               { rt_refuse(RT_USAGE, "file %s", "a\nb\033c\177.txt"); });
    CHECK_DIES(RT_USAGE, "Zürich", { rt_refuse(RT_USAGE, "%s", "Zürich"); });
    char *book = malloc(100001);
    CHECK(book != NULL);
    if (!book)
        return;
    memset(book, 'w', 100000);
    book[100000] = '\0';
    CHECK_DIES(RT_USAGE, "nekbone: book wwwwww", { rt_refuse(RT_USAGE, "book %s", book); });
    CHECK_DIES(RT_USAGE, "www...\n", { rt_refuse(RT_USAGE, "book %s", book); });
    CHECK_DIES(RT_INVALID, "www...\n", { rt_die_at(book, 1, book, RT_INVALID, "%s", book); });
    free(book);
}

/* What was printed before the end is not lost, however the program ends, and comes first. */
static void test_flush(void)
{
    CHECK_DIES(RT_INVALID, "half a tablenekbone: rank 0: ", {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        printf("half a table");
        rt_die(RT_INVALID, "broke");
    });
    CHECK_DIES(RT_USAGE, "half a tablenekbone: no", {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        printf("half a table");
        rt_refuse(RT_USAGE, "no");
    });
}

/* Catches progress that is silent, that says too much, or that estimates from nothing. */
static void test_progress(void)
{
    CHECK_DIES(9, "nekbone: 1 s, rung 2 of 3: timing jammed; about ", {
        rt_progress_start(1);
        rt_progress_parts("rung", 0, 3);
        rt_progress("timing scalar");
        rt_progress_parts("rung", 1, 3);
        rt_progress("timing %s", "jammed");
        nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 500000000}, NULL);
        rt_progress_stop();
        exit(9);
    });
}

int main(void)
{
    test_refuse();
    test_refuse_on_many_ranks();
    test_die();
    test_expect();
    test_one_line();
    test_flush();
    test_progress();
    return check_done();
}
