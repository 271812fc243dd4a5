/*
 * machine/shared.h - files of all ranks, which only rank 0 touches: the folders of other hosts may
 * not have them. Everything here is collective.
 */
#ifndef RT_SHARED_H
#define RT_SHARED_H

#include <stddef.h>
#include "base/text.h"

RT_C_BEGIN

/* Loads a file as rt_file_load (base/file.h) does, on rank 0, and gives it to all ranks. Returns
 * NULL, and why, on all ranks if rank 0 cannot. */
char *rt_shared_load(const char *path, size_t most, size_t *bytes, rt_text_t *why);
/* Gives data[bytes] of rank 0, from malloc, to all ranks: returns it on rank 0 and a copy on the
 * others; NULL on all if it is NULL on rank 0. */
char *rt_shared_bytes(char *data, size_t *bytes);
/* Refuses (RT_USAGE), before a run, a path that rank 0 could not write after it: missing folder, a
 * folder, no permission. Leaves no file, and does not touch an existing one. `option` names it. */
void rt_shared_probe(const char *option, const char *path);

/* Returns whether two paths name one file, which need not be there. */
bool rt_shared_same(const char *one, const char *other);

RT_C_END
#endif
