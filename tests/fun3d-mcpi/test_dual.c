/*
 * test_dual.c - the median dual of a mesh, and lists of walls: cells that close, volumes, constant
 * and linear fields.
 */
#include "config.h"
#include "flow_test.h"

/* --- dual mesh --- */

/* The largest violation of what holds on every mesh, relative to the size of the terms. */
typedef struct {
    double open;      /* sum n_ij + n_b */
    double uneven;    /* n_ij + n_ji */
    double backward;  /* largest -n_ij . (x_j - x_i): faces point away from i */
    double inside;    /* |n_b| of vertices inside a cube */
    double L_sum;     /* sum_b L_ab + L_aa */
    double L_linear;  /* sum_b L_ab (x_b - x_a) + n_b: the gradient of x is 1 */
    double volume;    /* sum of the dual cells */
    double bottom;    /* sum of n_b over z = 0 */
    int64_t interior; /* vertices inside */
} dual_t;

static dual_t measure(const mcpi_source_t *source)
{
    const mcpi_graph_t *g = source->graph;
    const mcpi_source_t *f = source;
    dual_t m = {0};
    for (int64_t v = 0; v < g->rows; v++) {
        const double *x = source->x + 3 * v, *left = f->boundary + 3 * v;
        double sum[3] = {left[0], left[1], left[2]}, linear[3] = {left[0], left[1], left[2]};
        double size = 0, L = f->diagonal[v], L_size = 0, lengths = 0;
        for (int64_t p = g->start[v]; p < g->start[v + 1]; p++) {
            const int64_t w = g->neighbour[p];
            const double *n = f->n + 3 * p;
            int64_t back = g->start[w];
            double step[3], twice = 0;
            while (g->neighbour[back] != v)
                back++;
            for (int d = 0; d < 3; d++) {
                step[d] = source->x[3 * w + d] - x[d];
                sum[d] += n[d];
                linear[d] += f->viscous[p] * step[d];
                twice = fmax(twice, fabs(n[d] + f->n[3 * back + d]));
            }
            const double area = sqrt(mcpi_dot(n, n));
            size += area;
            L += f->viscous[p];
            L_size += fabs(f->viscous[p]);
            lengths += fabs(f->viscous[p]) * sqrt(mcpi_dot(step, step));
            m.uneven = fmax(m.uneven, area > 0 ? twice / area : twice);
            m.backward = fmax(m.backward, -mcpi_dot(n, step));
            m.volume += mcpi_dot(n, step) / 6;
        }
        m.open = fmax(m.open, sqrt(mcpi_dot(sum, sum)) / size);
        m.L_sum = fmax(m.L_sum, fabs(L) / L_size);
        m.L_linear = fmax(m.L_linear, sqrt(mcpi_dot(linear, linear)) / (size + lengths));
        bool inside = true;
        for (int d = 0; d < 3; d++)
            inside &= x[d] > 1e-9 && x[d] < 1 - 1e-9;
        m.interior += inside;
        if (inside)
            m.inside = fmax(m.inside, sqrt(mcpi_dot(left, left)));
        if (x[2] < 1e-9)
            m.bottom += left[2];
    }
    return m;
}

/* Catches a face of an element the wrong way round, a wrong centroid or factor, a sum over the
 * wrong edges, a boundary where there is none. `inside` is the real check that cells close: n_b is
 * what is left over. */
static void check_dual(const rt_mesh_t *mesh, double volume, double bottom, int64_t interior)
{
    mcpi_source_t *source = flow_on(mesh, 5, "1");
    const dual_t m = measure(source);
    CHECK(m.open < 1e-12);
    CHECK(m.uneven < 1e-10);
    CHECK(m.backward <= 0);
    CHECK(m.L_sum < 1e-12);
    CHECK(m.L_linear < 1e-12);
    if (volume > 0)
        CHECK(fabs(m.volume - volume) < 1e-13);
    if (interior >= 0) {
        CHECK(m.interior == interior);
        CHECK(m.inside == 0);
        CHECK(fabs(m.bottom - bottom) < 1e-13);
    }
    mcpi_source_destroy(source);
}

/* Volumes are known from geometry. The moved elements have bent quads, whose dual cells still fill
 * the element. */
static void check_elements(void)
{
    static const double volume[RT_ELEMENTS] = {1. / 6, 1. / 3, 0.5, 1};
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int moved = 0; moved < 2; moved++) {
            rt_mesh_t *mesh = one_element((rt_element_t)t, moved ? 0.1 : 0);
            double least = INFINITY, most = 0, gradient[9] = {0};
            for (int a = 0; a < rt_element_size((rt_element_t)t); a++) {
                mcpi_share_t share;
                mcpi_share(mesh, (rt_element_t)t, mesh->element[t], a, &share);
                least = fmin(least, share.volume);
                most = fmax(most, share.volume);
                for (int k = 0; a == 0 && k < 9 * rt_element_size((rt_element_t)t); k++)
                    gradient[k % 9] +=
                        share.s[k / 9][k % 3] * mesh->x[3 * (k / 9) + k % 9 / 3] / share.volume;
            }
            CHECK(most - least < 1e-15);
            CHECK(moved || fabs(most - volume[t]) < 1e-15);
            double worst = 0;
            for (int k = 0; k < 9; k++) /* of x, y and z */
                worst = fmax(worst, fabs(gradient[k] - (k % 4 == 0)));
            CHECK(worst < 1e-14);
            check_dual(mesh, most, 0, -1);
            rt_mesh_destroy(mesh);
        }
}

/* --- walls --- */

static void check_lists(const rt_mesh_t *mesh)
{
    static const char *const good[] = {"1", "1,1", "none"};
    static const char *const bad[] = {"1,x", "1,", "x", "none,1", "-1,x", "1 2", "1;2"};
    char why[256] = "";
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(mcpi_tags_check(mesh, "walls", good[i], why, sizeof why) && why[0] == '\0');
    CHECK(mcpi_tags_check(mesh, "walls", NULL, why, sizeof why) && why[0] == '\0');
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!mcpi_tags_check(mesh, "walls", bad[i], why, sizeof why));
        CHECK(strstr(why, bad[i]) && strchr(why, '\n') == NULL);
    }
    CHECK(!mcpi_tags_check(mesh, "walls", "1,12", why, sizeof why));
    CHECK(strstr(why, "none has the tag 12"));
}

int main(void)
{
    const mcpi_wing_t wing = {.n = 6, .layers = 51, .seed = 1};
    rt_mesh_t *tets = cube(3, false), *mixed = cube(3, true),
              *body = mcpi_wing_new(&wing, 0, 1, NULL);
    check_lists(tets);
    check_elements();
    check_dual(tets, 1, -1, 8);
    check_dual(mixed, 1, -1, 8 + 3);
    CHECK(body->elements[RT_TETRAHEDRON] > 0 && body->elements[RT_PRISM] > 0);
    check_dual(body, 0, 0, -1);
    rt_mesh_destroy(tets);
    rt_mesh_destroy(mixed);
    rt_mesh_destroy(body);
    return check_done();
}
