/*
 * test_picture.c - --picture: .vtu files read back, and what cannot be written.
 *
 * The mesh is the periodic box, in parts; the test may be run under mpirun. Fields are functions of
 * the position, so the value at a point follows from where it is.
 */
#include "config.h"
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "tests/common/files.h"
#include "alya_test.h"

static char folder[] = "/tmp/alya_picture_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* Reads the whole file, zero-terminated; the caller frees it. */
static char *get_file(const char *path, size_t *bytes)
{
    struct stat info;
    FILE *f = fopen(path, "rb");
    *bytes = 0;
    CHECK(f != NULL);
    if (!f)
        return calloc(1, 1);
    fstat(fileno(f), &info);
    char *data = calloc((size_t)info.st_size + 1, 1);
    *bytes = fread(data, 1, (size_t)info.st_size, f);
    fclose(f);
    return data;
}

/* --- a solver whose fields are known --- */

static void velocity(const double *x, double u[3])
{
    u[0] = 0.6 * x[0];
    u[1] = -0.8 * x[0];
    u[2] = 0;
}

static void right_hand_side(const double *x, double r[3])
{
    r[0] = x[1] - x[2];
    r[1] = 3 + x[0];
    r[2] = 2 * x[2];
}

enum { ELEMENTS = 4 * 2 * 3 * 6 };
static alya_test_t test;

/* Makes a solver of a rung with records of 8 and r of 4 doubles per node. */
static alya_solver_t *solver_new(void)
{
    alya_test_new(&test, &alya_app, "mesh=box cells=4x2x3");
    const alya_mesh_t *mesh = test.problem->mesh;
    alya_solver_t *s =
        alya_solver_new(test.problem, rt_ladder_find(alya_ladder, ALYA_RUNGS, "cpu-closed"));
    for (int64_t n = 0; n < mesh->nodes; n++) {
        velocity(mesh->x + 3 * n, s->u + s->u_stride * n);
        right_hand_side(mesh->x + 3 * n, s->r + s->kernels->r_stride * n);
    }
    return s;
}

static void solver_destroy(alya_solver_t *s)
{
    alya_solver_destroy(s);
    alya_test_destroy(&test);
}

/* --- .vtu --- */

/* Returns the number after `key` that follows `name` in the text. */
static long long number_after(const char *text, const char *name, const char *key)
{
    const char *at = strstr(text, name);
    at = at ? strstr(at, key) : NULL;
    CHECK(at != NULL);
    return at ? atoll(at + strlen(key)) : 0;
}

/* Returns the values of an array, after checking their size. */
static void *array(const char *file, size_t bytes, const char *name, size_t want)
{
    const char *data = strstr(file, "encoding=\"raw\">\n_");
    CHECK(data != NULL);
    if (!data)
        exit(check_done());
    data += strlen("encoding=\"raw\">\n_");
    size_t at = (size_t)(data - file) + (size_t)number_after(file, name, "offset=\"");
    uint64_t size = 0;
    CHECK(at + sizeof size + want <= bytes);
    if (at + sizeof size + want > bytes)
        exit(check_done());
    memcpy(&size, file + at, sizeof size);
    CHECK(size == want);
    void *values = malloc(want);
    return memcpy(values, file + at + sizeof size, want);
}

static void check_vtu_arrays(const char *file, size_t bytes, int64_t n, int64_t m)
{
    double *x = array(file, bytes, "\"Points\"", 24 * (size_t)n);
    double *u = array(file, bytes, "\"velocity\" Number", 24 * (size_t)n);
    double *r = array(file, bytes, "\"r\"", 24 * (size_t)n);
    int64_t *node = array(file, bytes, "\"connectivity\"", 32 * (size_t)m);
    int64_t *ends = array(file, bytes, "\"offsets\"", 8 * (size_t)m);
    unsigned char *type = array(file, bytes, "\"types\"", (size_t)m);
    const alya_mesh_t mesh = {.x = x};
    double sum = 0, least = 1;
    bool fields = true, range = true, cells = true;
    for (int64_t i = 0; i < n; i++) {
        double want[6];
        velocity(x + 3 * i, want);
        right_hand_side(x + 3 * i, want + 3);
        fields = fields && memcmp(u + 3 * i, want, 24) == 0;
        fields = fields && memcmp(r + 3 * i, want + 3, 24) == 0;
    }
    for (int64_t e = 0; e < 4 * m; e++)
        range = range && node[e] >= 0 && node[e] < n;
    for (int64_t e = 0; e < m && range; e++) {
        const int32_t k[4] = {(int32_t)node[4 * e], (int32_t)node[4 * e + 1],
                              (int32_t)node[4 * e + 2], (int32_t)node[4 * e + 3]};
        double edge[3][3];
        alya_edges(&mesh, k, edge);
        const double v = alya_determinant(edge) / 6;
        sum += v;
        least = fmin(least, v);
        cells = cells && ends[e] == 4 * (e + 1) && type[e] == 10;
    }
    CHECK(fields);
    CHECK(range);
    CHECK(cells);
    CHECK(least > 0 && fabs(sum - pow(2 * acos(-1), 3)) < 1e-10);
    free(x);
    free(u);
    free(r);
    free(node);
    free(ends);
    free(type);
}

static void test_vtu(void)
{
    static const char first[] = "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" ";
    static const char last[] = "\n</AppendedData>\n</VTKFile>\n";
    alya_solver_t *s = solver_new();
    const char *path = in_folder("a.vtu");
    alya_picture(s, path);
    int64_t n = test.problem->mesh->nodes, m = ELEMENTS;
    rt_comm_sum_i64(&n, 1);
    solver_destroy(s);
    if (rt_comm_rank() > 0)
        return;
    size_t bytes;
    char *file = get_file(path, &bytes);
    uint16_t one = 1;
    CHECK(strncmp(file, first, sizeof first - 1) == 0);
    CHECK(strstr(file, "header_type=\"UInt64\"") != NULL);
    CHECK(strstr(file, *(char *)&one ? "\"LittleEndian\"" : "\"BigEndian\"") != NULL);
    CHECK(number_after(file, "<Piece", "NumberOfPoints=\"") == n);
    CHECK(number_after(file, "<Piece", "NumberOfCells=\"") == m);
    check_vtu_arrays(file, bytes, n, m);
    size_t head = (size_t)(strstr(file, "\n_") + 2 - file);
    CHECK(bytes == head + 6 * 8 + (size_t)(72 * n + 41 * m) + sizeof last - 1);
    CHECK(strcmp(file + bytes - (sizeof last - 1), last) == 0);
    CHECK(test_files_in(folder) == 1);
    unlink(path);
    free(file);
}

/* --- what cannot be written --- */

static void test_ending(void)
{
    static const char *const wrong[] = {"a.jpg", "vtu", "a.vtu.gz", "", "a", "a.VTU", "a.ppm"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(alya_picture_why_not(wrong[i]) != NULL);
    CHECK(alya_picture_why_not("a.vtu") == NULL && alya_picture_why_not("b/a.vtu") == NULL);
    if (rt_comm_size() > 1)
        return; /* a process that is in MPI must not fork */
    alya_solver_t *s = solver_new();
    CHECK_DIES(RT_USAGE, "a.jpg: the name must end in .vtu",
               { alya_picture(s, in_folder("a.jpg")); });
    CHECK(test_files_in(folder) == 0);
    solver_destroy(s);
}

/* Checks for one line that names the file and contains `cause`, and for `files` files
 * afterwards. */
static void check_fails(const alya_solver_t *s, const char *path, const char *cause, int files)
{
    char got[1024];
    FILE *log = tmpfile();
    int saved = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(log), STDERR_FILENO);
    alya_picture(s, path);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(log);
    got[fread(got, 1, sizeof got - 1, log)] = '\0';
    fclose(log);
    if (rt_comm_rank() > 0) {
        CHECK(got[0] == '\0');
        return;
    }
    bool held = strstr(got, path) && strstr(got, cause) && strchr(got, '\n') == strrchr(got, '\n');
    CHECK(held);
    if (!held)
        fprintf(stderr, "    got: %s", got);
    CHECK(test_files_in(folder) == files);
}

/* A full disk: files may have 1000 bytes. The existing file of that name stays as it is. */
static void test_full(const alya_solver_t *s)
{
    const char *path = in_folder("a.vtu");
    struct rlimit old, tight;
    if (rt_comm_rank() == 0) {
        FILE *f = fopen(path, "w");
        CHECK(f && fputs("as it was", f) >= 0 && fclose(f) == 0);
    }
    rt_comm_barrier();
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    tight = old;
    tight.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &tight);
    check_fails(s, path, strerror(EFBIG), 1);
    setrlimit(RLIMIT_FSIZE, &old);
    if (rt_comm_rank() > 0)
        return;
    size_t bytes;
    char *file = get_file(path, &bytes);
    CHECK_TEXT(file, "as it was");
    unlink(path);
    free(file);
}

static void test_unwritable(void)
{
    alya_solver_t *s = solver_new();
    check_fails(s, in_folder("nowhere/a.vtu"), "its folder is not there", 0);
    test_full(s);
    if (rt_comm_rank() == 0)
        mkdir(in_folder("b.vtu"), 0700);
    rt_comm_barrier();
    check_fails(s, in_folder("b.vtu"), "it is a folder", 1);
    rt_comm_barrier();
    if (rt_comm_rank() == 0)
        rmdir(in_folder("b.vtu"));
    solver_destroy(s);
}

int main(int argc, char **argv)
{
    app_test_start("test_picture", &argc, &argv);
    CHECK(rt_comm_rank() > 0 || mkdtemp(folder) != NULL);
    rt_comm_bcast(folder, sizeof folder, 0);
    test_ending();
    test_vtu();
    test_unwritable();
    rt_comm_barrier();
    CHECK(rt_comm_rank() > 0 || rmdir(folder) == 0);
    return app_test_stop(check_done());
}
