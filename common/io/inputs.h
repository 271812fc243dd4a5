/* io/inputs.h - where the files are that ship with an app: cases, weights, tuned choices. */
#ifndef RT_INPUTS_H
#define RT_INPUTS_H

#include <limits.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_INPUTS_FOLDERS = 3 };
typedef struct {
    char path[RT_INPUTS_FOLDERS][PATH_MAX];
    int n;
} rt_inputs_t;

/* Lists the folders to look in, in order: $ROOFTOP_INPUTS/APP, inputs/APP in the sources that the
 * program was built from, and the folder to which make install copies them. */
void rt_inputs_folders(const char *app, rt_inputs_t *folders);

#ifdef __cplusplus
}
#endif
#endif
