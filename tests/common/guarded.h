/*
 * guarded.h - memory that ends where an inaccessible page begins: a read past the end is a fault
 * without AddressSanitizer too.
 */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rounds up to whole pages. */
static inline size_t guarded_room(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static inline void guarded_protect(char *end, int protection)
{
    if (mprotect(end, (size_t)sysconf(_SC_PAGESIZE), protection) != 0)
        perror("a guarded page"), exit(EXIT_FAILURE);
}

static inline char *guarded_new(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = guarded_room(bytes);
    void *block = NULL;
    if (posix_memalign(&block, page, room + page) != 0)
        perror("a guarded page"), exit(EXIT_FAILURE);
    guarded_protect((char *)block + room, PROT_NONE);
    return (char *)block + room - bytes;
}

/* Makes the page readable again, because LeakSanitizer looks into all blocks. */
static inline void guarded_free(char *memory, size_t bytes)
{
    guarded_protect(memory + bytes, PROT_READ | PROT_WRITE);
    free(memory + bytes - guarded_room(bytes));
}

#endif
