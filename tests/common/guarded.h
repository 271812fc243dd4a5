/*
 * guarded.h - memory that ends where an inaccessible page begins: a read past the end is a fault
 * without AddressSanitizer too. And files that are damaged, for tests of what reads them.
 */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

typedef struct {
    size_t shortest; /* in bytes, of the file's beginnings that were accepted */
    size_t refused;  /* of the files in which one bit was flipped */
} guarded_damage_t;

/* Gives `read` the file cut at each byte, and with each bit flipped. It returns whether it accepts these
 * bytes, and does its own checks. */
static inline guarded_damage_t guarded_damage(const char *file, size_t size,
                                              bool (*read)(const char *data, size_t n))
{
    guarded_damage_t damage = {size, 0};
    char *copy = malloc(size);
    if (!copy)
        perror("a damaged file"), exit(EXIT_FAILURE);
    for (size_t n = size; n-- > 0;) {
        memcpy(copy + size - n, file,
               n); /* to the end, beyond which AddressSanitizer sees a read */
        if (read(copy + size - n, n))
            damage.shortest = n;
    }
    memcpy(copy, file, size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        damage.refused += !read(copy, size);
        copy[bit / 8] = file[bit / 8];
    }
    free(copy);
    return damage;
}

#endif
