/* base/file.c - see base/file.h. */
#include "config.h"
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the file without waiting for anybody, and finds out what it is. Returns -1, and why, on
 * failure. */
static int open_any(const char *path, struct stat *info, rt_text_t *why)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 && fstat(file, info) == 0)
        return file;
    rt_text(why, "%s", strerror(errno));
    if (file >= 0)
        close(file);
    return -1;
}

/* Closes the file, and says that it is of no kind that can be read. */
static int refuse_kind(int file, mode_t mode, rt_text_t *why)
{
    rt_text(why, "%s", S_ISDIR(mode) ? strerror(EISDIR) : "not a regular file");
    close(file);
    return -1;
}

int rt_file_open(const char *path, size_t *bytes, rt_text_t *why)
{
    struct stat info;
    const int file = open_any(path, &info, why);
    if (file < 0)
        return -1;
    if (!S_ISREG(info.st_mode))
        return refuse_kind(file, info.st_mode, why);
    *bytes = (size_t)info.st_size;
    return file;
}

/* Waits until there is something to read. */
static bool wait_for(int file, rt_text_t *why)
{
    struct pollfd one = {.fd = file, .events = POLLIN};
    if (poll(&one, 1, 1000 * RT_FILE_PATIENCE) != 0)
        return true; /* the next read says what happened */
    rt_text(why, "nothing has come out of it for %d s", RT_FILE_PATIENCE);
    return false;
}

bool rt_file_read(int file, void *data, size_t bytes, size_t *got, rt_text_t *why)
{
    for (*got = 0; *got < bytes;) {
        const ssize_t n = read(file, (char *)data + *got, bytes - *got);
        if (n == 0)
            break;
        if (n > 0)
            *got += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(file, why))
                return false;
        } else if (errno != EINTR) {
            rt_text(why, "%s", strerror(errno));
            return false;
        }
    }
    return true;
}

/* Reads the open file. One byte more than allowed tells that it is too large. */
static char *load(int file, size_t most, size_t *bytes, rt_text_t *why)
{
    char *data = malloc(most + 2);
    RT_EXPECT(data, RT_MEMORY, "no memory for a file of %zu bytes", most);
    bool good = rt_file_read(file, data, most + 1, bytes, why);
    if (good && *bytes > most) {
        rt_text(why, "larger than %zu KiB", most >> 10);
        good = false;
    }
    char *fitting = good ? realloc(data, *bytes + 1) : NULL;
    if (!fitting) {
        free(data);
        return NULL;
    }
    fitting[*bytes] = '\0';
    return fitting;
}

char *rt_file_load(const char *path, size_t most, size_t *bytes, rt_text_t *why)
{
    struct stat info;
    const int file = open_any(path, &info, why);
    if (file < 0)
        return NULL;
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
        refuse_kind(file, info.st_mode, why);
        return NULL;
    }
    const size_t growth = 4096; /* of a file that is being written */
    if (S_ISREG(info.st_mode) && (size_t)info.st_size + growth < most)
        most = (size_t)info.st_size + growth;
    /* Nobody may have opened the other end of a pipe yet, which looks like its end. */
    const bool ready = S_ISREG(info.st_mode) || wait_for(file, why);
    char *data = ready ? load(file, most, bytes, why) : NULL;
    close(file);
    return data;
}
