/*
 * test_picture.c - --picture: a .vtu file read back. tests/common/test_vtk.c has what cannot be written.
 *
 * The mesh is the periodic box, in parts; the test may be run under mpirun. Fields are functions of
 * the position, so the value at a point follows from where it is.
 */
#include "config.h"
#include <math.h>
#include <unistd.h>
#include "alya_test.h"

enum { MOST = 1 << 20 };
static char file[MOST]; /* as text it ends with a zero */

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
    alya_solver_t *s = alya_solver_new(test.problem, rt_app_rung(&alya_app, "cpu-closed"));
    for (int64_t n = 0; n < mesh->nodes; n++) {
        velocity(mesh->x + 3 * n, s->u + s->u_stride * n);
        right_hand_side(mesh->x + 3 * n, s->r + s->kernels->r_stride * n);
    }
    return s;
}

/* --- .vtu --- */

/* Returns the number after `key` that follows `name` in the file. */
static long long number_after(const char *name, const char *key)
{
    const char *at = strstr(file, name);
    at = at ? strstr(at, key) : NULL;
    CHECK(at != NULL);
    return at ? atoll(at + strlen(key)) : 0;
}

/* Returns a copy of the values of an array, after checking their size; to be freed. */
static void *array(size_t bytes, const char *name, size_t want)
{
    const char *data = strstr(file, "encoding=\"raw\">\n_");
    const size_t at = (size_t)(data ? data - file : 0) + strlen("encoding=\"raw\">\n_") +
                      (size_t)number_after(name, "offset=\"");
    uint64_t size = 0;
    CHECK(data && at + sizeof size + want <= bytes);
    if (at + sizeof size + want > bytes)
        exit(check_done());
    memcpy(&size, file + at, sizeof size);
    CHECK(size == want);
    return memcpy(malloc(want), file + at + sizeof size, want);
}

static void check_arrays(size_t bytes, int64_t n, int64_t m)
{
    double *x = array(bytes, "\"Points\"", 24 * (size_t)n);
    double *u = array(bytes, "\"velocity\" Number", 24 * (size_t)n);
    double *r = array(bytes, "\"r\"", 24 * (size_t)n);
    int64_t *node = array(bytes, "\"connectivity\"", 32 * (size_t)m);
    int64_t *ends = array(bytes, "\"offsets\"", 8 * (size_t)m);
    unsigned char *type = array(bytes, "\"types\"", (size_t)m);
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

int main(int argc, char **argv)
{
    static const char path[] = "alya_picture.vtu";
    app_test_start("test_picture", &argc, &argv);
    alya_solver_t *s = solver_new();
    int64_t n = test.problem->mesh->nodes;
    rt_comm_sum_i64(&n, 1);
    alya_picture(s, path);
    if (rt_comm_rank() == 0) {
        FILE *f = fopen(path, "rb");
        CHECK(f != NULL);
        const size_t bytes = f ? fread(file, 1, MOST - 1, f) : 0;
        if (f)
            fclose(f);
        CHECK(number_after("<Piece", "NumberOfPoints=\"") == n);
        CHECK(number_after("<Piece", "NumberOfCells=\"") == ELEMENTS);
        check_arrays(bytes, n, ELEMENTS);
        unlink(path);
    }
    alya_solver_destroy(s);
    alya_test_destroy(&test);
    return app_test_stop(check_done());
}
