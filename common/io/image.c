/* io/image.c - images with scales, and VTK files. */
#include "config.h"
#include "io/image.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(RT_HAVE_PNG) && RT_HAVE_PNG
#include <png.h>
#endif
#include "base/mem.h"
#include "base/stats.h"
#include "base/numbers.h"

/* ---- files -------------------------------------------------------------------------------- */

bool rt_image_ends_with(const char *path, const char *ending)
{
    return strlen(path) > strlen(ending) && rt_ends_with(path, ending);
}

const char *rt_image_why_not(const char *path, const char *wanted)
{
    if (rt_image_ends_with(path, ".ppm"))
        return NULL;
    if (!rt_image_ends_with(path, ".png"))
        return wanted;
#if defined(RT_HAVE_PNG) && RT_HAVE_PNG
    return NULL;
#else
    return "this build has no libpng; use .ppm";
#endif
}

void rt_image_end_file(rt_draft_t *draft, const char *path)
{
    const int error = rt_draft_end(draft);
    if (error)
        rt_unwritten("cannot write '%.400s': %s (nothing was written)", path,
                     rt_draft_cause(error));
}

static size_t size_of(const rt_image_t *image)
{
    return (size_t)3 * (size_t)image->width * (size_t)image->height;
}

#if defined(RT_HAVE_PNG) && RT_HAVE_PNG
static void write_png(const rt_image_t *image, rt_draft_t *draft)
{
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    png.width = (png_uint_32)image->width;
    png.height = (png_uint_32)image->height;
    png.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
    unsigned char *file = RT_NEW(unsigned char, bytes, RT_HOST);
    if (png_image_write_to_memory(&png, file, &bytes, 0, image->rgb, 0, NULL))
        rt_draft_put(draft, 0, file, bytes);
    else if (!draft->error)
        draft->error = ENOMEM; /* writing to memory cannot fail in another way */
    RT_FREE(file, RT_HOST);
}
#endif

static void write_ppm(const rt_image_t *image, rt_draft_t *draft)
{
    char head[64];
    const int length = snprintf(head, sizeof head, "P6\n%d %d\n255\n", image->width, image->height);
    rt_draft_put(draft, 0, head, (size_t)length);
    rt_draft_put(draft, length, image->rgb, size_of(image));
}

void rt_image_write(const rt_image_t *image, const char *path)
{
    rt_draft_t draft;
    rt_draft_begin(&draft, path);
#if defined(RT_HAVE_PNG) && RT_HAVE_PNG
    if (rt_image_ends_with(path, ".png"))
        write_png(image, &draft);
    else
#endif
        write_ppm(image, &draft);
    rt_image_end_file(&draft, path);
}

/* ---- images ------------------------------------------------------------------------------- */

rt_image_t rt_image_new(int width, int height, unsigned char grey)
{
    rt_image_t image = {width, height, NULL};
    image.rgb = RT_NEW(unsigned char, size_of(&image), RT_HOST);
    memset(image.rgb, grey, size_of(&image));
    return image;
}

void rt_image_free(rt_image_t *image)
{
    RT_FREE(image->rgb, RT_HOST);
}

double rt_image_usual_most(double *value, size_t n)
{
    rt_sort_values(value, n);
    return n > 0 ? value[n - 1 - n / 200] : 0;
}

static bool is_inside(const rt_image_t *image, int x, int y)
{
    return x >= 0 && x < image->width && y >= 0 && y < image->height;
}

static unsigned char *pixel(rt_image_t *image, int x, int y)
{
    return image->rgb + 3 * ((int64_t)y * image->width + x);
}

void rt_image_fill(rt_image_t *image, int left, int top, int width, int height, unsigned char grey)
{
    for (int y = top; y < top + height; y++)
        for (int x = left; x < left + width; x++)
            if (is_inside(image, x, y))
                memset(pixel(image, x, y), grey, 3);
}

/* Letters have 3 x 5 dots of 2 x 2 pixels. There are only those that %.3g, names and units need. */
void rt_image_text(rt_image_t *image, int left, int top, const char *text)
{
    static const char letters[] = "0123456789.+-e/msCpunkzr";
    static const char dots[][16] = {
        "111101101101111", "010110010010111", "111001111100111", "111001111001111",
        "101101111001001", "111100111001111", "111100111101111", "111001010010010",
        "111101111101111", "111101111001111", "000000000000010", "000010111010000",
        "000000111000000", "000111111100111", "001001010100100", "000111111101101",
        "011100010001110", "011100100100011", "000111101111100", "000101101101111",
        "000111101101101", "100101110110101", "000111001010111", "000111100100100"};
    for (; *text; text++, left += 8) {
        const char *found = strchr(letters, *text);
        for (int i = 0; found && i < 15; i++)
            if (dots[found - letters][i] == '1')
                rt_image_fill(image, left + 2 * (i % 3), top + 2 * (i / 3), 2, 2, 0);
    }
}

void rt_image_number(rt_image_t *image, int left, int top, double value, const char *unit)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g%s", value == 0 ? 0 : value, unit); /* not -0 */
    rt_image_text(image, left, top, text);
}

double rt_image_step(double extent, int most)
{
    double step = pow(10, floor(log10(extent / most)));
    for (int i = 0; step * most < extent * (1 - 1e-9); i++)
        step *= i % 3 == 1 ? 2.5 : 2; /* 1, 2, 5, 10 */
    return step;
}

void rt_image_axes(rt_image_t *image, int width, int height, const double low[2],
                   const double extent[2], const char *unit)
{
    for (int d = 0; d < 2; d++) {
        const int size = d == 0 ? width : height;
        const double step = rt_image_step(extent[d], 8 - 2 * d);
        const int last = (int)floor((low[d] + extent[d]) / step + 1e-9);
        for (int k = (int)ceil(low[d] / step - 1e-9); k <= last; k++) {
            const int to = (int)((k * step - low[d]) / extent[d] * size);
            const int at = to < size ? to : size - 1;
            char text[16];
            snprintf(text, sizeof text, "%s%s", k == last ? " " : "", k == last ? unit : "");
            if (d == 0) {
                rt_image_fill(image, at, height, 1, 5, 0);
                rt_image_number(image, at < 12 ? 0 : at - 12, height + 9, k * step, text);
            } else {
                rt_image_fill(image, width, height - 1 - at, 5, 1, 0);
                rt_image_number(image, width + 9, at > height - 6 ? 0 : height - 6 - at, k * step,
                                text);
            }
        }
    }
}

void rt_image_colour(double share, unsigned char rgb[3])
{
    static const double cold[3] = {33, 102, 172}, hot[3] = {178, 24, 43};
    const double *end = share < 0 ? cold : hot;
    const double strength = fmin(1, fabs(share));
    for (int i = 0; i < 3; i++)
        rgb[i] = (unsigned char)(247 + (end[i] - 247) * strength + 0.5);
}

void rt_image_bar(rt_image_t *image, int left, int top, int bottom, double most, const char *name,
                  void (*colour)(double share, unsigned char rgb[3]))
{
    const int rows = bottom - 1 - top;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < left + 16; x++)
            if (is_inside(image, x, y))
                colour(1 - 2.0 * (y - top) / rows, pixel(image, x, y));
    const double step = most > 0 ? rt_image_step(2 * most, 10) : 1;
    const int marks = most > 0 ? (int)floor(most / step + 1e-9) : 0;
    for (int k = -marks; k <= marks; k++) {
        const double share = most > 0 ? k * step / most : 0;
        const int y = top + (int)(rows * (1 - share) / 2 + 0.5);
        rt_image_fill(image, left + 16, y, 4, 1, 0);
        rt_image_number(image, left + 24, y - 5, k * step, "");
    }
    rt_image_text(image, left, top - 20, name);
}

const char *rt_image_prefix(double most, double *factor)
{
    static const char prefix[][2] = {"p", "n", "u", "m", "", "k"};
    int k = 0;
    *factor = 1e12;
    while (k < 5 && most * *factor >= 1000) {
        *factor /= 1000;
        k++;
    }
    return prefix[k];
}

/* ---- VTK's XML ---------------------------------------------------------------------------- */

int64_t rt_vtk_offset(const uint64_t *bytes, int i)
{
    int64_t offset = 0;
    for (int before = 0; before < i; before++)
        offset += (int64_t)(sizeof *bytes + bytes[before]);
    return offset;
}

void rt_vtk_begin(rt_draft_t *draft, const char *path, const char *type, const char *body,
                  const uint64_t *bytes, int n, int64_t *at)
{
    static const char first[] = "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" "
                                "byte_order=\"%s\" header_type=\"UInt64\">\n";
    static const char data[] = "<AppendedData encoding=\"raw\">\n_";
    static const char last[] = "\n</AppendedData>\n</VTKFile>\n";
    const uint16_t one = 1;
    const char *order = *(const unsigned char *)&one ? "LittleEndian" : "BigEndian";
    char head[256];
    const int length = snprintf(head, sizeof head, first, type, order);
    const int64_t text = length + (int64_t)strlen(body), raw = text + (int64_t)sizeof data - 1;
    rt_draft_begin(draft, path);
    rt_draft_put(draft, 0, head, (size_t)length);
    rt_draft_put(draft, length, body, strlen(body));
    rt_draft_put(draft, text, data, sizeof data - 1);
    for (int i = 0; i < n; i++) {
        const int64_t begin = raw + rt_vtk_offset(bytes, i);
        rt_draft_put(draft, begin, &bytes[i], sizeof bytes[i]);
        at[i] = begin + (int64_t)sizeof bytes[i];
    }
    rt_draft_put(draft, raw + rt_vtk_offset(bytes, n), last, sizeof last - 1);
}
