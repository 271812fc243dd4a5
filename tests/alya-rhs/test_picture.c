/*
 * test_picture.c - --picture: .vtu files read back, and what cannot be written.
 *
 * The mesh is a box of cells, six tetrahedra each, dealt out to the ranks element by element, so
 * that every rank has some everywhere; it may be run under mpirun. Fields are linear in the
 * position, so the value at a point follows from where it is.
 */
#include "config.h"
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "tests/common/check.h"
#include "tests/common/files.h"
#include "apps/alya-rhs/alya.h"

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

/* --- a solver made by hand --- */

typedef struct {
    alya_mesh_t mesh;
    alya_config_t config;
    alya_problem_t problem;
    alya_kernels_t kernels;
    alya_solver_t solver;
} world_t;

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

/* Makes records of 8 and r of 4 doubles per node, as a packed rung has them. */
static world_t *world_new(const char *name, int64_t nodes, int64_t elements)
{
    world_t *w = calloc(1, sizeof *w);
    w->mesh.nodes = nodes;
    w->mesh.elements = elements;
    w->mesh.x = RT_NEW(double, 3 * (size_t)nodes, RT_HOST);
    w->mesh.connectivity = RT_NEW(int32_t, 4 * (size_t)elements, RT_HOST);
    w->config.is_hill = strcmp(name, "hill") == 0;
    w->problem.mesh = &w->mesh;
    w->problem.config = &w->config;
    w->kernels.packed = 8;
    w->kernels.r_stride = 4;
    w->solver.problem = &w->problem;
    w->solver.kernels = &w->kernels;
    w->solver.space = RT_HOST;
    w->solver.view.host = &w->mesh;
    w->solver.view.nodes = nodes;
    w->solver.view.elements = elements;
    w->solver.record = RT_NEW(double, 8 * (size_t)nodes, RT_HOST);
    w->solver.x = w->solver.record;
    w->solver.u = w->solver.record + 3;
    w->solver.u_stride = 8;
    w->solver.r = RT_NEW(double, 4 * (size_t)nodes, RT_HOST);
    return w;
}

static void world_fields(world_t *w)
{
    for (int64_t n = 0; n < w->mesh.nodes; n++) {
        velocity(w->mesh.x + 3 * n, w->solver.u + 8 * n);
        right_hand_side(w->mesh.x + 3 * n, w->solver.r + 4 * n);
    }
}

static void world_destroy(world_t *w)
{
    RT_FREE(w->mesh.x, RT_HOST);
    RT_FREE(w->mesh.connectivity, RT_HOST);
    RT_FREE(w->solver.record, RT_HOST);
    RT_FREE(w->solver.r, RT_HOST);
    free(w);
}

/* Makes the box low .. low + size, in so many cells. All nodes are on every rank, and elements with
 * e % ranks == rank. */
static world_t *box_world(const char *name, const int cells[3], const double low[3],
                          const double size[3])
{
    static const int walk[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                   {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    const int step[3] = {(cells[1] + 1) * (cells[2] + 1), cells[2] + 1, 1};
    const int all = 6 * cells[0] * cells[1] * cells[2], ranks = rt_comm_size();
    int mine = (all - rt_comm_rank() + ranks - 1) / ranks, made = 0;
    world_t *w = world_new(name, (int64_t)(cells[0] + 1) * step[0], mine);
    for (int n = 0; n < w->mesh.nodes; n++)
        for (int d = 0; d < 3; d++)
            w->mesh.x[3 * n + d] = low[d] + size[d] * (n / step[d] % (cells[d] + 1)) / cells[d];
    for (int e = rt_comm_rank(); e < all; e += ranks) {
        int cell = e / 6, node[4];
        node[0] = cell / (cells[1] * cells[2]) * step[0] + cell / cells[2] % cells[1] * step[1] +
                  cell % cells[2];
        for (int i = 0; i < 3; i++) /* along three edges to the opposite corner */
            node[i + 1] = node[i] + step[walk[e % 6][i]];
        bool odd = e % 6 >= 3;
        for (int a = 0; a < 4; a++)
            w->mesh.connectivity[4 * made + a] = node[odd && a >= 2 ? 5 - a : a];
        made++;
    }
    CHECK(made == mine);
    world_fields(w);
    return w;
}

static world_t *small_box(const char *name)
{
    return box_world(name, (const int[]){4, 2, 3}, (const double[]){0, -1, 0},
                     (const double[]){3, 2, 1});
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

static double volume(const double *a, const double *b, const double *c, const double *d)
{
    double e[3][3];
    for (int i = 0; i < 3; i++) {
        e[0][i] = b[i] - a[i];
        e[1][i] = c[i] - a[i];
        e[2][i] = d[i] - a[i];
    }
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) +
            e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

static void check_vtu_arrays(const char *file, size_t bytes, int64_t n, int64_t m)
{
    double *x = array(file, bytes, "\"Points\"", 24 * (size_t)n);
    double *u = array(file, bytes, "\"velocity\" Number", 24 * (size_t)n);
    double *r = array(file, bytes, "\"r\"", 24 * (size_t)n);
    int64_t *node = array(file, bytes, "\"connectivity\"", 32 * (size_t)m);
    int64_t *ends = array(file, bytes, "\"offsets\"", 8 * (size_t)m);
    unsigned char *type = array(file, bytes, "\"types\"", (size_t)m);
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
        const int64_t *k = node + 4 * e;
        double v = volume(x + 3 * k[0], x + 3 * k[1], x + 3 * k[2], x + 3 * k[3]);
        sum += v;
        least = fmin(least, v);
        cells = cells && ends[e] == 4 * (e + 1) && type[e] == 10;
    }
    CHECK(fields);
    CHECK(range);
    CHECK(cells);
    CHECK(least > 0 && fabs(sum - 6) < 1e-12);
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
    world_t *w = small_box("box");
    const char *path = in_folder("a.vtu");
    alya_picture(&w->solver, path);
    int64_t n = w->mesh.nodes * rt_comm_size(), m = 4 * 2 * 3 * 6;
    world_destroy(w);
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
    world_t *w = small_box("box");
    CHECK_DIES(RT_USAGE, "a.jpg: the name must end in .vtu",
               { alya_picture(&w->solver, in_folder("a.jpg")); });
    CHECK(test_files_in(folder) == 0);
    world_destroy(w);
}

/* Checks for one line that names the file and contains `cause`, and for `files` files
 * afterwards. */
static void check_fails(const world_t *w, const char *path, const char *cause, int files)
{
    char got[1024];
    FILE *log = tmpfile();
    int saved = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(log), STDERR_FILENO);
    alya_picture(&w->solver, path);
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
static void test_full(const world_t *w)
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
    check_fails(w, path, strerror(EFBIG), 1);
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
    world_t *w = small_box("box");
    check_fails(w, in_folder("nowhere/a.vtu"), "its folder is not there", 0);
    test_full(w);
    if (rt_comm_rank() == 0)
        mkdir(in_folder("b.vtu"), 0700);
    rt_comm_barrier();
    check_fails(w, in_folder("b.vtu"), "it is a folder", 1);
    rt_comm_barrier();
    if (rt_comm_rank() == 0)
        rmdir(in_folder("b.vtu"));
    world_destroy(w);
}

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    CHECK(rt_comm_rank() > 0 || mkdtemp(folder) != NULL);
    rt_comm_bcast(folder, sizeof folder, 0);
    test_ending();
    test_vtu();
    test_unwritable();
    rt_comm_barrier();
    CHECK(rt_comm_rank() > 0 || rmdir(folder) == 0);
    rt_comm_finish();
    return check_done();
}
