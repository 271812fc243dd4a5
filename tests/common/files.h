/*
 * files.h - counts the files in the folder of a test: one more than expected is a temporary file
 * that was left behind.
 */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include <dirent.h>
#include <string.h>

static inline int test_files_in(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return n;
}

#endif
