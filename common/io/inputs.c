/* io/inputs.c - see io/inputs.h. */
#include "config.h"
#include "io/inputs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes BUILD/inputs if this program is BUILD/apps/APP/APP, and BUILD has been configured; else
 * returns false. */
static bool find_inputs(char path[PATH_MAX])
{
    char build[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", build, sizeof build);
    if (n <= 0 || n >= (ssize_t)sizeof build)
        return false;
    build[n] = '\0';
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(build, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return snprintf(path, PATH_MAX, "%s/config.status", build) < PATH_MAX &&
           access(path, F_OK) == 0 && snprintf(path, PATH_MAX, "%s/inputs", build) < PATH_MAX;
}

void rt_inputs_folders(const char *app, rt_inputs_t *folders)
{
    char inputs[PATH_MAX];
    const char *const root[RT_INPUTS_FOLDERS] = {
        getenv("ROOFTOP_INPUTS"), find_inputs(inputs) ? inputs : NULL, RT_DATADIR "/inputs"};
    folders->n = 0;
    for (int k = 0; k < RT_INPUTS_FOLDERS; k++)
        if (root[k] && *root[k] &&
            snprintf(folders->path[folders->n], PATH_MAX, "%s/%s", root[k], app) < PATH_MAX)
            folders->n++;
}
