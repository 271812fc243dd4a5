/*
 * io/image.h - what --picture writes: images with scales (.ppm, .png), and the frame of VTK files
 * for ParaView.
 *
 * Pixels count from the left and from the top. Drawing is clipped at the edges of an image. Files
 * are written whole or not at all (io/draft.h); a failure is noted (rt_unwritten), and the run goes on.
 * Nothing is collective. Apps include this where they write pictures.
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

/* True for a path that has a name before the ending: "a.ppm" ends with ".ppm", ".ppm" does not. */
bool rt_image_ends_with(const char *path, const char *ending);
/* Returns why no image can be written to a file of that name, or NULL if one can. A name that ends
 * neither in .ppm nor in .png gives `wanted`. */
const char *rt_image_why_not(const char *path, const char *wanted);
/* Calls rt_draft_end, and rt_unwritten if it failed. */
void rt_image_end_file(rt_draft_t *draft, const char *path);

/* --- images --- */

typedef struct {
    int width, height;
    unsigned char *rgb; /* [height][width][3], top row first; host */
} rt_image_t;

/* Makes an image of one grey, 0 to 255. */
rt_image_t rt_image_new(int width, int height, unsigned char grey);
void rt_image_free(rt_image_t *image);
/* Writes a PNG if the name ends in .png, else a PPM. */
void rt_image_write(const rt_image_t *image, const char *path);

/* Returns where a colour scale should end: the value that at most one in 200 exceed, so that a
 * spike does not make everything else dark; 0 if n is 0. Sorts the n values in ascending order. */
double rt_image_usual_most(double *value, size_t n);

void rt_image_fill(rt_image_t *image, int left, int top, int width, int height, unsigned char grey);
/* Draws black text from its upper left corner, 8 pixels per letter and 10 high. There are letters
 * for numbers, for the names and units of our scales; others stay blank. */
void rt_image_text(rt_image_t *image, int left, int top, const char *text);
/* Draws a number with three digits, and its unit. */
void rt_image_number(rt_image_t *image, int left, int top, double value, const char *unit);
/* Returns the distance between two marks of a scale: the smallest of 1, 2 or 5 times a power of ten
 * that divides `extent` (above 0) into at most `most` parts. */
double rt_image_step(double extent, int most);
/* Draws the scales of a picture that fills the upper left of the image: `extent` from `low` along x
 * below it, 24 pixels high, and upwards at its right, about 60 wide. */
void rt_image_axes(rt_image_t *image, int width, int height, const double low[2],
                   const double extent[2], const char *unit);
/* Gives the colour of a share from -1 to 1 of a scale with both signs: blue, white at 0, red. */
void rt_image_colour(double share, unsigned char rgb[3]);
/* Draws the colour scale from `most` in row top down to -most in row bottom - 1, 16 pixels wide,
 * with marks and numbers on the right, and on top what is shown: a name, or "name/unit". colour()
 * is rt_image_colour, or one that stretches its share first. */
void rt_image_bar(rt_image_t *image, int left, int top, int bottom, double most, const char *name,
                  void (*colour)(double share, unsigned char rgb[3]));
/* Returns the prefix of the unit (p, n, u, m or k, or none) in which `most` has one to three digits
 * before the point, and sets *factor to what values are multiplied by. */
const char *rt_image_prefix(double most, double *factor);

/* --- VTK's XML: text, then arrays as raw bytes, each after its size (UInt64) --- */

/* Returns the `offset` that the text must give for array i; bytes[] are the sizes of the arrays. */
int64_t rt_vtk_offset(const uint64_t *bytes, int i);
/* Begins a file of this type ("ImageData"): writes `body`, which is the element of that name, the
 * sizes of the n arrays, and the end. The caller then puts the values of array i at position
 * at[i]. */
void rt_vtk_begin(rt_draft_t *draft, const char *path, const char *type, const char *body,
                  const uint64_t *bytes, int n, int64_t *at);

#ifdef __cplusplus
}
#endif
#endif
