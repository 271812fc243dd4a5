/*
 * test_image.c - images that are read back pixel by pixel, scales, the frame of VTK files, and
 * files that cannot be written.
 */
#include "config.h"
#include <math.h>
#include <sys/stat.h>
#include "rt.h"
#include "io/image.h"
#include "tests/common/check.h"
#include "tests/common/files.h"

static char folder[] = "/tmp/rt_image_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Reads the file, at most `room` bytes of it, and removes it. */
static size_t take_file(const char *path, void *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    if (!f)
        return 0;
    const size_t n = fread(data, 1, room, f);
    fclose(f);
    CHECK(unlink(path) == 0 && test_files_in(folder) == 0);
    return n;
}

static bool is_grey(const rt_image_t *image, int x, int y, int grey)
{
    const unsigned char *rgb = image->rgb + 3 * (y * image->width + x);
    return rgb[0] == grey && rgb[1] == grey && rgb[2] == grey;
}

/* Catches rows that are upside down, width and height mixed up, a header of another length. */
static void test_ppm(void)
{
    static const char head[] = "P6\n3 2\n255\n";
    unsigned char file[64];
    rt_image_t image = rt_image_new(3, 2, 7);
    for (int i = 0; i < 18; i++)
        image.rgb[i] = image.rgb[i] == 7 ? (unsigned char)(200 + i) : 0;
    rt_image_write(&image, in_folder("a.ppm"));
    const size_t n = take_file(in_folder("a.ppm"), file, sizeof file), start = strlen(head);
    CHECK(n == start + 18 && memcmp(file, head, start) == 0);
    CHECK(memcmp(file + start, image.rgb, 18) == 0);
    rt_image_free(&image);
}

static void test_png(void)
{
#if defined(RT_HAVE_PNG) && RT_HAVE_PNG
    unsigned char file[4096];
    rt_image_t image = rt_image_new(300, 2, 128);
    CHECK(rt_image_why_not("a.png", "another") == NULL);
    rt_image_write(&image, in_folder("a.png"));
    const size_t n = take_file(in_folder("a.png"), file, sizeof file);
    CHECK(n > 50 && memcmp(file, "\x89PNG\r\n\x1a\n", 8) == 0);
    CHECK(memcmp(file + 16, "\0\0\x01\x2c\0\0\0\x02\x08\x02", 10) == 0); /* 300 2 8 RGB */
    CHECK(memcmp(file + n - 8, "IEND", 4) == 0);
    rt_image_free(&image);
#else
    CHECK_TEXT(rt_image_why_not("a.png", "another"), "this build has no libpng; use .ppm");
#endif
}

static void test_names(void)
{
    static const char *const wrong[] = {"a.jpg", ".ppm", ".png", "a.ppm.gz", "", "a.PPM", "ppm"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_TEXT(rt_image_why_not(wrong[i], "another"), "another");
    CHECK(rt_image_why_not("b/a.ppm", "another") == NULL);
    CHECK(rt_image_ends_with("a.vtu", ".vtu") && !rt_image_ends_with(".vtu", ".vtu"));
}

/* --- drawing --- */

/* Catches a row or column too many or too few, and bytes written outside the image. */
static void test_fill(void)
{
    enum { WIDTH = 9, HEIGHT = 7 };
    static const struct {
        int left, top, width, height;
    } list[] = {{2, 1, 4, 3},    {-3, -2, 5, 4}, {7, 5, 10, 10},
                {-5, 3, 100, 1}, {20, 2, 3, 3},  {0, 0, 0, 5}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        rt_image_t whole = rt_image_new(WIDTH, HEIGHT + 2, 255); /* a row above, and one below */
        rt_image_t image = {WIDTH, HEIGHT, whole.rgb + 3 * WIDTH};
        const int left = list[i].left, top = list[i].top;
        rt_image_fill(&image, left, top, list[i].width, list[i].height, 30);
        int wrong = 0;
        for (int y = -1; y <= HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const bool inside = x >= left && x < left + list[i].width && y >= 0 && y < HEIGHT &&
                                    y >= top && y < top + list[i].height;
                wrong += !is_grey(&whole, x, y + 1, inside ? 30 : 255);
            }
        CHECK(wrong == 0);
        rt_image_free(&whole);
    }
}

/* Compares an image with text: a letter stands for a dot of 2 x 2 equal pixels. */
static void check_dots(const rt_image_t *image, const char *const *want)
{
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++)
            if (!is_grey(image, x, y, want[y / 2][x / 2] == '#' ? 0 : 255)) {
                fprintf(stderr, "    pixel %d, %d\n", x, y);
                CHECK(!"every pixel is as wanted");
                return;
            }
    CHECK(true);
}

static void test_text(void)
{
    static const char *const want[] = {"............", "......#.###.", "......#.#...",
                                       "###...#.###.", "......#...#.", "......#.###."};
    rt_image_t image = rt_image_new(18, 9, 255);
    rt_image_text(&image, -2, 2, "-15e7"); /* cut off on three sides */
    CHECK(is_grey(&image, 3, 6, 0) && is_grey(&image, 4, 6, 255));
    CHECK(is_grey(&image, 6, 2, 255) && is_grey(&image, 8, 2, 0) && is_grey(&image, 17, 2, 0));
    rt_image_free(&image);
    image = rt_image_new(24, 12, 255);
    rt_image_text(&image, 0, 2, "-?5"); /* a character without a letter is a gap */
    rt_image_fill(&image, 12, 2, 2, 10, 0);
    check_dots(&image, want);
    rt_image_free(&image);
}

/* A number has three digits and a unit; 0 has no sign. */
static void test_number(void)
{
    static const struct {
        double value;
        const char *unit, *text;
    } list[] = {{-0.0, "", "0"}, {1234.5, " m", "1.23e+03 m"}, {-0.5, "", "-0.5"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        rt_image_t a = rt_image_new(96, 12, 255), b = rt_image_new(96, 12, 255);
        rt_image_number(&a, 1, 1, list[i].value, list[i].unit);
        rt_image_text(&b, 1, 1, list[i].text);
        CHECK(memcmp(a.rgb, b.rgb, 96 * 12 * 3) == 0);
        rt_image_free(&a);
        rt_image_free(&b);
    }
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * b;
}

static void test_step(void)
{
    CHECK(near(rt_image_step(8, 8), 1) && near(rt_image_step(8.1, 8), 2));
    CHECK(near(rt_image_step(17, 8), 5) && near(rt_image_step(41, 8), 10));
    CHECK(near(rt_image_step(3e-5, 6), 5e-6) && near(rt_image_step(0.7, 8), 0.1));
}

/* --- colours --- */

static void test_usual_most(void)
{
    double value[400];
    for (int i = 0; i < 400; i++) /* 0 .. 399, mixed */
        value[i] = i * 271 % 400;
    CHECK(rt_image_usual_most(value, 400) == 397);
    CHECK(value[0] == 0 && value[1] == 1 && value[399] == 399);
    CHECK(rt_image_usual_most(value, 199) == 198);
    CHECK(rt_image_usual_most(value, 1) == 0 && rt_image_usual_most(value, 0) == 0);
}

static void blue(double share, unsigned char rgb[3])
{
    rgb[0] = rgb[1] = 40;
    rgb[2] = (unsigned char)(100 + 100 * share + 0.5);
}

/* Catches axes that are upside down or not at their marks, and a unit that is missing. */
static void test_axes(void)
{
    enum { WIDTH = 180, HEIGHT = 124, IN_X = 100, IN_Y = 100 };
    rt_image_t image = rt_image_new(WIDTH, HEIGHT, 255), text = rt_image_new(WIDTH, HEIGHT, 255);
    rt_image_axes(&image, IN_X, IN_Y, (double[]){-10, 0}, (double[]){20, 50}, "mm");
    for (int k = 0; k <= 4; k++) { /* x: -10, -5, .. 10; z: 0, 10, .. 50 */
        const int at = k < 4 ? 25 * k : IN_X - 1;
        CHECK(is_grey(&image, at, IN_Y, 0) && is_grey(&image, at, IN_Y + 4, 0));
        CHECK(is_grey(&image, IN_X, IN_Y - 1 - 20 * k, 0));
    }
    CHECK(is_grey(&image, 12, IN_Y, 255) && is_grey(&image, IN_X, IN_Y - 11, 255));
    rt_image_number(&text, IN_X + 9, 0, 50, " mm");
    for (int y = 0; y < 10; y++)
        CHECK(memcmp(image.rgb + 3 * (y * WIDTH + IN_X + 9), text.rgb + 3 * (y * WIDTH + IN_X + 9),
                     (size_t)3 * (WIDTH - IN_X - 9)) == 0);
    rt_image_free(&image);
    rt_image_free(&text);
}

/* Catches a bar that is upside down, and marks that are not at their colour. */
static void test_bar(void)
{
    enum { WIDTH = 90, HEIGHT = 130, LEFT = 10, TOP = 24, BOTTOM = 125 };
    rt_image_t image = rt_image_new(WIDTH, HEIGHT, 255), text = rt_image_new(WIDTH, HEIGHT, 255);
    rt_image_bar(&image, LEFT, TOP, BOTTOM, 4, "m/s", blue);
    rt_image_text(&text, LEFT, TOP - 20, "m/s");
    CHECK(memcmp(image.rgb, text.rgb, 3 * WIDTH * 14) == 0);
    for (int k = -4; k <= 4; k++) { /* marks at -4, -3, .. 4: 12.5 rows each */
        const int y = TOP + (25 * (4 - k) + 1) / 2;
        unsigned char want[3];
        blue(k / 4., want);
        const unsigned char *rgb = image.rgb + 3 * (y * WIDTH + LEFT + 15);
        for (int c = 0; c < 3; c++)
            CHECK(abs(rgb[c] - want[c]) <= 8);
        CHECK(is_grey(&image, LEFT + 16, y, 0) && is_grey(&image, LEFT + 19, y, 0));
        CHECK(is_grey(&image, LEFT + 20, y, 255) && is_grey(&image, LEFT + 16, y - 1, 255));
    }
    rt_image_number(&text, LEFT + 24, TOP - 5, 4, "");
    CHECK(memcmp(image.rgb + 3 * ((TOP - 5) * WIDTH + LEFT + 24),
                 text.rgb + 3 * ((TOP - 5) * WIDTH + LEFT + 24), 3 * 40) == 0);
    rt_image_free(&image);
    image = rt_image_new(WIDTH, HEIGHT, 255);
    rt_image_bar(&image, LEFT, TOP, BOTTOM, 0, "", blue); /* one mark, at 0 */
    CHECK(is_grey(&image, LEFT + 16, (TOP + BOTTOM) / 2, 0) &&
          is_grey(&image, LEFT + 16, TOP, 255));
    rt_image_free(&image);
    rt_image_free(&text);
}

/* Catches a scale whose ends are swapped, and a prefix of the wrong thousand. */
static void test_scale(void)
{
    static const struct {
        double most;
        const char *prefix;
        double shown;
    } list[] = {{1.4e-6, "u", 1.4}, {0.5, "m", 500},     {20, "", 20},
                {4e6, "k", 4e3},    {999e-12, "p", 999}, {0, "p", 0}};
    unsigned char rgb[3];
    rt_image_colour(-1, rgb);
    CHECK(rgb[0] == 33 && rgb[2] == 172);
    rt_image_colour(5, rgb);
    CHECK(rgb[0] == 178 && rgb[2] == 43);
    rt_image_colour(0, rgb);
    CHECK(rgb[0] == 247 && rgb[1] == 247 && rgb[2] == 247);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        double factor;
        CHECK_TEXT(rt_image_prefix(list[i].most, &factor), list[i].prefix);
        CHECK(fabs(list[i].most * factor - list[i].shown) <= 1e-9 * list[i].shown);
    }
}

/* --- VTK --- */

static void test_vtk(void)
{
    static const char before[] = "<ImageData a=\"b\"/>\n<AppendedData encoding=\"raw\">\n_";
    static const char last[] = "\n</AppendedData>\n</VTKFile>\n";
    const uint64_t bytes[3] = {5, 0, 16};
    int64_t at[3];
    rt_draft_t draft;
    char file[1024];
    CHECK(rt_vtk_offset(bytes, 0) == 0 && rt_vtk_offset(bytes, 1) == 13);
    CHECK(rt_vtk_offset(bytes, 2) == 21 && rt_vtk_offset(bytes, 3) == 45);
    rt_vtk_begin(&draft, in_folder("a.vti"), "ImageData", "<ImageData a=\"b\"/>\n", bytes, 3, at);
    rt_draft_put(&draft, at[2], "0123456789abcdef", 16);
    rt_draft_put(&draft, at[0], "first", 5);
    CHECK(test_files_in(folder) == 1);
    rt_image_end_file(&draft, in_folder("a.vti"));
    const size_t n = take_file(in_folder("a.vti"), file, sizeof file - 1);
    file[n] = '\0';
    const uint16_t one = 1;
    CHECK(strstr(file, "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" ") == file);
    CHECK(strstr(file, *(const char *)&one ? "\"LittleEndian\"" : "\"BigEndian\"") != NULL);
    const char *data = strstr(file, before);
    CHECK(data != NULL);
    if (!data)
        return;
    data += sizeof before - 1;
    CHECK(n == (size_t)(data - file) + 45 + sizeof last - 1);
    for (int i = 0; i < 3; i++) {
        CHECK(memcmp(data + rt_vtk_offset(bytes, i), &bytes[i], sizeof bytes[i]) == 0);
        CHECK(file + at[i] == data + rt_vtk_offset(bytes, i) + sizeof bytes[i]);
    }
    CHECK(memcmp(file + at[0], "first", 5) == 0 &&
          memcmp(file + at[2], "0123456789abcdef", 16) == 0);
    CHECK_TEXT(data + 45, last);
}

/* --- what cannot be written --- */

static void check_fails(const char *path, const char *cause)
{
    const rt_image_t image = rt_image_new(4, 4, 0);
    CHECK_DIES(9, cause, {
        rt_image_write(&image, path);
        exit(9); /* a failure does not end the run */
    });
    rt_image_free((rt_image_t *)&image);
}

static void test_unwritable(void)
{
    check_fails(in_folder("nowhere/a.ppm"), "its folder is not there");
    check_fails("/dev/null",
                "cannot write '/dev/null': it is not an ordinary file; name one (nothing");
    mkdir(in_folder("b.ppm"), 0700);
    check_fails(in_folder("b.ppm"), "it is a folder");
    CHECK(test_files_in(folder) == 1 && rmdir(in_folder("b.ppm")) == 0);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    test_ppm();
    test_png();
    test_names();
    test_fill();
    test_text();
    test_number();
    test_step();
    test_usual_most();
    test_axes();
    test_bar();
    test_scale();
    test_vtk();
    test_unwritable();
    CHECK(rt_mem_used(RT_HOST) == 0);
    CHECK(rmdir(folder) == 0);
    return check_done();
}
