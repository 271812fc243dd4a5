/* io/inputs.c - see io/inputs.h. */
#include "config.h"
#include "io/inputs.h"

#include <stdio.h>
#include <stdlib.h>

void rt_inputs_folders(const char *app, rt_inputs_t *folders)
{
    const char *const root[RT_INPUTS_FOLDERS] = {getenv("ROOFTOP_INPUTS"), RT_SRCDIR "/inputs",
                                                 RT_DATADIR "/inputs"};
    folders->n = 0;
    for (int k = 0; k < RT_INPUTS_FOLDERS; k++)
        if (root[k] && *root[k] &&
            snprintf(folders->path[folders->n], PATH_MAX, "%s/%s", root[k], app) < PATH_MAX)
            folders->n++;
}
