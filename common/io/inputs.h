/* io/inputs.h - where the files are that ship with an app: cases, weights, tuned choices. */
#ifndef RT_INPUTS_H
#define RT_INPUTS_H

#include <limits.h>
#include "base/extern_c.h"

RT_C_BEGIN

enum { RT_INPUTS_FOLDERS = 3 };
typedef struct {
    char path[RT_INPUTS_FOLDERS][PATH_MAX];
    int n;
} rt_inputs_t;

/* Lists the folders to look in, in order: $ROOFTOP_INPUTS/APP; inputs/APP of the build that the
 * program is in, which is two folders above it; and the folder to which make install copies them. No
 * path of a source or build folder is compiled in, so that builds of the same source agree. */
void rt_inputs_folders(const char *app, rt_inputs_t *folders);

RT_C_END
#endif
