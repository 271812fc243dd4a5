/* io/inputs.c - see io/inputs.h. */
#include "config.h"
#include "io/inputs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int rt_inputs_folders(const char *app, const char *folder[RT_INPUTS_FOLDERS])
{
    static char text[RT_INPUTS_FOLDERS][PATH_MAX];
    const char *const root[RT_INPUTS_FOLDERS] = {getenv("ROOFTOP_INPUTS"), RT_SRCDIR "/inputs",
                                                 RT_DATADIR "/inputs"};
    int n = 0;
    for (int k = 0; k < RT_INPUTS_FOLDERS; k++)
        if (root[k] && *root[k] &&
            snprintf(text[n], sizeof text[n], "%s/%s", root[k], app) < (int)sizeof text[n]) {
            folder[n] = text[n];
            n++;
        }
    return n;
}
