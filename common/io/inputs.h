/* io/inputs.h - where the files are that ship with an app: cases, weights, tuned choices. */
#ifndef RT_INPUTS_H
#define RT_INPUTS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_INPUTS_FOLDERS = 3 };
/* The folders to look in, in order: $ROOFTOP_INPUTS/APP, inputs/APP beside the sources that the
 * program was built from, and where make install put it. Returns how many. The names are good until
 * the next call. */
int rt_inputs_folders(const char *app, const char *folder[RT_INPUTS_FOLDERS]);

#ifdef __cplusplus
}
#endif
#endif
