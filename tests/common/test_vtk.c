/*
 * test_vtk.c - VTK files that are read back byte by byte, and files that cannot be written. What the
 * apps write is in their own tests.
 */
#include "config.h"
#include "rt.h"
#include "io/vtk.h"
#include "tests/common/check.h"
#include "tests/common/files.h"

static char folder[] = "/tmp/rt_vtk_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Reads the file, which is text up to the arrays, and removes it. */
static size_t take_file(const char *path, char *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    const size_t n = f ? fread(data, 1, room - 1, f) : 0;
    if (f)
        fclose(f);
    data[n] = '\0';
    CHECK(unlink(path) == 0 && test_files_in(folder) == 0);
    return n;
}

/* Returns what follows a key. */
static const char *after(const char *file, const char *key)
{
    const char *at = strstr(file, key);
    CHECK(at != NULL);
    if (!at) {
        fprintf(stderr, "    no %s in: %s\n", key, file);
        exit(check_done());
    }
    return at + strlen(key);
}

/* Checks the size and the values of an array, found as VTK finds it: by its offset. */
static void check_array(const char *file, const char *name, const void *want, uint64_t bytes)
{
    char key[64];
    uint64_t size;
    snprintf(key, sizeof key, "Name=\"%s\"", name);
    const long long offset = atoll(after(after(file, key), "offset=\""));
    const char *at = after(file, "<AppendedData encoding=\"raw\">\n_") + offset;
    memcpy(&size, at, sizeof size);
    CHECK(size == bytes && memcmp(at + sizeof size, want, bytes) == 0);
}

static void check_end(const char *file, size_t n)
{
    static const char last[] = "\n</AppendedData>\n</VTKFile>\n";
    CHECK_TEXT(file + n - (sizeof last - 1), last);
}

static void test_box(void)
{
    static const rt_vtk_array_t arrays[] = {
        {"u", "Float32", 3}, {"id", "UInt8", 1}, {NULL, NULL, 0}};
    static const float u[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const uint16_t one = 1;
    rt_vtk_t vtk;
    char file[2048];
    rt_vtk_box_begin(&vtk, in_folder("a.vti"), (const int64_t[]){2, 1, 2}, 0.5, "<!-- fact -->\n",
                     arrays);
    rt_vtk_put(&vtk, 1, 0, "abcd", 4);
    rt_vtk_put(&vtk, 0, 2, u + 6, 2);
    rt_vtk_put(&vtk, 0, 0, u, 2);
    CHECK(test_files_in(folder) == 1);
    rt_vtk_end(&vtk, in_folder("a.vti"));
    const size_t n = take_file(in_folder("a.vti"), file, sizeof file);
    CHECK(strstr(file, "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" ") == file);
    CHECK(strstr(file, *(const char *)&one ? "\"LittleEndian\"" : "\"BigEndian\"") != NULL);
    after(file, "<ImageData WholeExtent=\"0 1 0 0 0 1\" Origin=\"0 0 0\" Spacing=\"0.5 0.5 0.5\">\n"
                "<!-- fact -->\n<Piece Extent=\"0 1 0 0 0 1\">\n<PointData Scalars=\"u\">\n"
                "<DataArray type=\"Float32\" Name=\"u\" NumberOfComponents=\"3\" ");
    check_array(file, "u", u, sizeof u);
    check_array(file, "id", "abcd", 4);
    check_end(file, n);
}

/* A tetrahedron and two triangles, one of which is added for another rank, so two nodes further on. */
static void test_mesh(void)
{
    static const rt_vtk_array_t of_points[] = {{"p", "Float64", 1}, {NULL, NULL, 0}};
    static const rt_vtk_array_t of_cells[] = {{"kind", "UInt8", 1}, {NULL, NULL, 0}};
    static const double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, p[4] = {1, 2, 3, 4};
    static const int32_t corner[] = {0, 1, 2, 3, 0, 1, 2}, further[] = {-2, 1, -1};
    static const int64_t connectivity[] = {0, 1, 2, 3, 0, 1, 2, 0, 3, 1}, ends[] = {4, 7, 10};
    const rt_vtk_mesh_t mesh = {4, 3, 10, of_points, of_cells, NULL};
    rt_vtk_t vtk;
    char file[2048];
    rt_vtk_mesh_begin(&vtk, in_folder("a.vtu"), &mesh);
    rt_vtk_put(&vtk, 0, 0, p, 4);
    rt_vtk_put(&vtk, 1, 0, "abc", 3);
    rt_vtk_put(&vtk, vtk.coordinates, 0, x, 4);
    rt_vtk_add_cells(&vtk, 10, 4, 0, corner, 1);
    rt_vtk_add_cells(&vtk, 5, 3, 0, corner + 4, 1);
    rt_vtk_add_cells(&vtk, 5, 3, 2, further, 1);
    rt_vtk_end(&vtk, in_folder("a.vtu"));
    const size_t n = take_file(in_folder("a.vtu"), file, sizeof file);
    after(file, "<Piece NumberOfPoints=\"4\" NumberOfCells=\"3\">\n");
    check_array(file, "p", p, sizeof p);
    check_array(file, "kind", "abc", 3);
    check_array(file, "Points", x, sizeof x);
    check_array(file, "connectivity", connectivity, sizeof connectivity);
    check_array(file, "offsets", ends, sizeof ends);
    check_array(file, "types", "\012\5\5", 3);
    check_end(file, n);
}

/* More cells than are written at a time. */
static void test_many(void)
{
    enum { CELLS = 2500 };
    static const rt_vtk_array_t none[] = {{"p", "UInt8", 1}, {NULL, NULL, 0}};
    static int32_t corner[3 * CELLS];
    static int64_t wide[3 * CELLS], ends[CELLS];
    static char file[256 * CELLS];
    const rt_vtk_mesh_t mesh = {3 * CELLS, CELLS, 3 * CELLS, none, NULL, NULL};
    rt_vtk_t vtk;
    for (int i = 0; i < 3 * CELLS; i++)
        wide[i] = corner[i] = 3 * CELLS - 1 - i;
    for (int i = 0; i < CELLS; i++)
        ends[i] = 3 * (i + 1);
    rt_vtk_mesh_begin(&vtk, in_folder("a.vtu"), &mesh);
    rt_vtk_add_cells(&vtk, 5, 3, 0, corner, CELLS);
    rt_vtk_end(&vtk, in_folder("a.vtu"));
    const size_t n = take_file(in_folder("a.vtu"), file, sizeof file);
    CHECK(n < sizeof file - 1);
    check_array(file, "connectivity", wide, sizeof wide);
    check_array(file, "offsets", ends, sizeof ends);
}

/* What cannot be written, and why, is test_report's; here that a failure does not end the run. */
static void test_unwritable(void)
{
    static const rt_vtk_array_t arrays[] = {{"id", "UInt8", 1}, {NULL, NULL, 0}};
    const char *path = in_folder("nowhere/a.vti");
    rt_vtk_t vtk;
    CHECK_DIES(9, "its folder is not there", {
        rt_vtk_box_begin(&vtk, path, (const int64_t[]){1, 1, 1}, 1, "", arrays);
        rt_vtk_end(&vtk, path);
        exit(9);
    });
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    test_box();
    test_mesh();
    test_many();
    test_unwritable();
    CHECK(rt_mem_used(RT_HOST) == 0);
    CHECK(rmdir(folder) == 0);
    return check_done();
}
