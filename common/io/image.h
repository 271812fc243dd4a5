/*
 * io/image.h - what --picture writes: images with scales (.ppm, .png), and the frame of VTK's files
 * for ParaView.
 *
 * Pixels count from the left and from the top. What is drawn beyond an image's edge is cut off.
 * Files are there whole or not at all (io/draft.h); a failure is one line, not the end of a run.
 * Nothing is collective. Private to what writes pictures; apps include it there.
 */
#ifndef RT_IMAGE_H
#define RT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "io/draft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- files --- */

/* "a.ppm" ends with ".ppm"; ".ppm" has no name before it, and does not. */
bool rt_image_ends_with(const char *path, const char *ending);
/* Why no image can be written to a file of that name; NULL: it can. `wanted` is the answer for one
 * that ends neither in .ppm nor in .png. */
const char *rt_image_why_not(const char *path, const char *wanted);
/* rt_draft_end, and on stderr one line if it failed. */
void rt_image_end_file(rt_draft_t *draft, const char *path);

/* --- images --- */

typedef struct {
    int width, height;
    unsigned char *rgb; /* [height][width][3], from the top down; host */
} rt_image_t;

/* All of one grey, 0 to 255. */
rt_image_t rt_image_new(int width, int height, unsigned char grey);
void rt_image_free(rt_image_t *image);
/* A PNG if the name ends so, else a PPM. */
void rt_image_write(const rt_image_t *image, const char *path);

/* Viridis: equal steps of share, 0 to 1, look equal, and it can be read without colour. */
void rt_image_viridis(double share, unsigned char rgb[3]);
/* What a colour scale should end with: sorts the n values, least first, and returns the one that no
 * more than one in 200 are behind, so that a spike does not make all the rest dark. 0 of none. */
double rt_image_usual_most(double *value, size_t n);

void rt_image_fill(rt_image_t *image, int left, int top, int width, int height, unsigned char grey);
/* Black text from its upper left corner on, 8 pixels a letter and 10 high. There are letters for
 * numbers, m, s and /; others stay blank. */
void rt_image_text(rt_image_t *image, int left, int top, const char *text);
/* A number of three digits, and its unit. */
void rt_image_number(rt_image_t *image, int left, int top, double value, const char *unit);
/* Between two marks of a scale: the least of 1, 2 or 5 times a power of ten that makes at most
 * `most` parts of `extent`, which is above 0. */
double rt_image_step(double extent, int most);
/* What viridis means: rows top .. bottom - 1 from `most` down to 0, 16 pixels wide, marks and
 * numbers at the right, the unit above. */
void rt_image_bar(rt_image_t *image, int left, int top, int bottom, double most, const char *unit);

/* --- VTK's XML: text, then arrays as raw bytes, each behind its size (UInt64) --- */

/* `offset` that the text gives for array i, of arrays with so many bytes. */
int64_t rt_vtk_offset(const uint64_t *bytes, int i);
/* Begins a file of this type ("ImageData") with `body`, the element of that name, the sizes of the
 * n arrays, and the end. The values of array i are to be put at at[i]. */
void rt_vtk_begin(rt_draft_t *draft, const char *path, const char *type, const char *body,
                  const uint64_t *bytes, int n, int64_t *at);

#ifdef __cplusplus
}
#endif
#endif
