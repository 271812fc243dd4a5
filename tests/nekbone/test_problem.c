/*
 * test_problem.c - mesh, geometry, numbering, right-hand side and weights.
 *
 * Each is checked against its definition, not against stored values. One process plays several
 * ranks: nothing in problem.c asks for their number, since all of it is in the configuration.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "nek_test.h"

/* --- points, weights and derivative on [-1, 1] --- */

/* Checks that n points integrate x^p exactly up to p = 2n - 3, and no further. Catches a root that
 * Newton's method has not found to the last digit, and weights of another family (Gauss,
 * Chebyshev). */
static void check_quadrature(int n, const double *z, const double *w)
{
    for (int power = 0; power <= 2 * n - 2; power++) {
        double sum = 0, exact = power % 2 ? 0 : 2.0 / (power + 1);
        for (int i = 0; i < n; i++)
            sum += w[i] * pow(z[i], power);
        if (power <= 2 * n - 3)
            CHECK(fabs(sum - exact) <= 4 * n * RT_EPS);
        else if (n < 10) /* the error is 1e-12 at n = 20 */
            CHECK(fabs(sum - exact) > 1e-6);
    }
}

/* Checks that D is exact for x^p up to p = n - 1. Catches a transposed D (which differentiates
 * nothing). */
static void check_derivative(int n, const double *z, const double *D)
{
    for (int power = 0; power < n; power++)
        for (int i = 0; i < n; i++) {
            double sum = 0, size = 0, exact = power ? power * pow(z[i], power - 1) : 0;
            for (int l = 0; l < n; l++) {
                sum += D[i * n + l] * pow(z[l], power);
                size += fabs(D[i * n + l]);
            }
            CHECK(fabs(sum - exact) <= 4 * n * RT_EPS * size);
        }
}

static void check_gll(int n)
{
    double z[NEK_MAX_N], w[NEK_MAX_N], D[NEK_MAX_N * NEK_MAX_N];
    nek_gll(n, z, w, D);
    CHECK(z[0] == -1 && z[n - 1] == 1);
    check_quadrature(n, z, w);
    check_derivative(n, z, D);
    for (int i = 0; i < n; i++) {
        double sum = 0, size = 0;
        CHECK(i == 0 || z[i] > z[i - 1]);
        CHECK(z[i] == -z[n - 1 - i]); /* mirrored to the bit, for exact symmetry */
        CHECK(w[i] > 0 && fabs(w[i] - w[n - 1 - i]) <= 4 * RT_EPS);
        for (int l = 0; l < n; l++) {
            double mirrored = D[(n - 1 - i) * n + n - 1 - l];
            CHECK(fabs(D[i * n + l] + mirrored) <= 4 * n * RT_EPS * (1 + fabs(mirrored)));
            sum += D[i * n + l];
            size += fabs(D[i * n + l]);
        }
        CHECK(fabs(sum) <= n * RT_EPS * size); /* constants are the null space of the operator */
    }
}

/* --- geometry; G itself is in tests/dump.py --- */

/* Checks that the mass adds up to the volume of the box. Bending the box does not change its
 * volume: moving points inside it moves volume from one element to another, and none is lost.
 * Catches weights in the wrong place and a wrong power of the Jacobian. */
static void check_geometry(const char *settings)
{
    static double G[6 * NEK_MAX_N3], mass[NEK_MAX_N3];
    rt_run_t run;
    rt_run_init(&run, &nek_app, settings);
    const nek_config_t *cfg = run.config;
    int n3 = cfg->n * cfg->n * cfg->n;
    double volume = 0, box = 8 * (double)cfg->local_elements, nonzero[6] = {0};
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        CHECK(nek_geometry(cfg, e, G, mass, NULL) > 0);
        for (int q = 0; q < n3; q++)
            volume += mass[q];
        for (int m = 0; m < 6; m++)
            for (int q = 0; q < n3; q++)
                nonzero[m] += fabs(G[m * n3 + q]) > 1e-6 * G[q];
    }
    CHECK(fabs(volume - box) <= 1e-13 * box);
    for (int m = 0; m < 6 && cfg->deform != 0; m++) /* except on some planes of symmetry */
        CHECK(nonzero[m] > 0.5 * (double)cfg->points);
    rt_run_destroy(&run);
}

/* Checks that the value that the message about a folded mesh calls safe is safe, for any shape of
 * box. */
static void check_safe_deformation(void)
{
    static const char *const shapes[] = {"1x1x1", "4x4x4", "1x5x9", "6x2x3", "9x1x1"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            char settings[128];
            rt_run_t run;
            snprintf(settings, sizeof settings, "elements=%s degree=7", shapes[i]);
            rt_run_init(&run, &nek_app, settings);
            nek_config_t *cfg = run.config;
            int64_t edge = cfg->elements[0];
            for (int d = 1; d < 3; d++)
                edge = cfg->elements[d] < edge ? cfg->elements[d] : edge;
            cfg->deform = sign * 0.25 * 2 * (double)edge / acos(-1);
            double G[6 * 512], least = INFINITY;
            for (int64_t e = 0; e < cfg->local_elements; e++)
                least = fmin(least, nek_geometry(cfg, e, G, NULL, NULL));
            CHECK(least > 0);
            rt_run_destroy(&run);
        }
}

/* --- numbering, right-hand side, weights; on one rank and on boxes of pretended ranks --- */

/* Turns the configuration into that of rank `rank` of px x py x pz. */
static void pretend(nek_config_t *cfg, const int64_t ranks[3], int rank)
{
    int64_t at = rank;
    cfg->local_elements = 1;
    for (int d = 0; d < 3; d++) {
        cfg->ranks[d] = ranks[d];
        cfg->local[d] = cfg->elements[d] / ranks[d];
        cfg->first[d] = cfg->local[d] * (at % ranks[d]);
        at /= ranks[d];
        cfg->local_elements *= cfg->local[d];
    }
    cfg->points = cfg->local_elements * cfg->n * cfg->n * cfg->n;
}

/* What is known about every global index after all ranks have been visited. */
typedef struct {
    double xyz[3], b, c_sum;
    int copies, ranks, last_rank;
} unique_t;

static void visit_element(const nek_problem_t *p, int64_t e, int rank, unique_t *all, int *bad)
{
    static double G[6 * NEK_MAX_N3], xyz[3 * NEK_MAX_N3];
    const nek_config_t *cfg = p->config;
    int n = cfg->n, n3 = n * n * n;
    nek_geometry(cfg, e, G, NULL, xyz);
    for (int q = 0; q < n3; q++) {
        unique_t *u = &all[nek_global_index(cfg, e, q % n, q / n % n, q / (n * n))];
        for (int d = 0; d < 3; d++) {
            *bad += u->copies > 0 && u->xyz[d] != xyz[d * n3 + q];
            u->xyz[d] = xyz[d * n3 + q];
        }
        *bad += u->copies > 0 && u->b != p->b[e * n3 + q];
        u->b = p->b[e * n3 + q];
        u->c_sum += p->c[e * n3 + q];
        u->copies++;
        u->ranks += u->last_rank != rank + 1;
        u->last_rank = rank + 1;
    }
}

/* Visits all points of all pretended ranks. */
static unique_t *visit(rt_run_t *run, const int64_t ranks[3], int64_t count)
{
    nek_config_t *cfg = run->config;
    unique_t *all = calloc((size_t)count, sizeof *all);
    int bad = 0;
    for (int rank = 0; all && rank < ranks[0] * ranks[1] * ranks[2]; rank++) {
        pretend(cfg, ranks, rank);
        nek_problem_t *p = nek_problem_new(run, NULL);
        for (int64_t e = 0; e < cfg->local_elements; e++)
            visit_element(p, e, rank, all, &bad);
        nek_problem_destroy(p);
    }
    CHECK(bad == 0); /* equal index: equal position and right-hand side, to the bit */
    return all;
}

/* Compares the counts of nek_shared_points with the list. Catches an edge or corner that is counted
 * wrongly, which would make the memory prediction wrong for some boxes of ranks only. */
static void check_shared(rt_run_t *run, const int64_t ranks[3], const unique_t *all)
{
    nek_config_t *cfg = run->config;
    int n = cfg->n, n3 = n * n * n;
    for (int rank = 0; rank < ranks[0] * ranks[1] * ranks[2]; rank++) {
        pretend(cfg, ranks, rank);
        int64_t on_rank = 0, with_ranks = 0, counted[2];
        for (int64_t e = 0; e < cfg->local_elements; e++)
            for (int q = 0; q < n3; q++) {
                const unique_t *u = &all[nek_global_index(cfg, e, q % n, q / n % n, q / (n * n))];
                on_rank += u->ranks == 1 && u->copies > 1;
                with_ranks += u->ranks - 1;
            }
        nek_shared_points(cfg, &counted[0], &counted[1]);
        CHECK(counted[0] == on_rank && counted[1] == with_ranks);
    }
}

static void check_numbering(const char *settings, const int64_t ranks[3])
{
    static const int64_t one[3] = {1, 1, 1};
    rt_run_t run;
    rt_run_init(&run, &nek_app, settings);
    const nek_config_t *cfg = run.config;
    int64_t count = 1, inside = 1, met = 0, found_inside = 0;
    for (int d = 0; d < 3; d++) {
        count *= cfg->elements[d] * cfg->degree + 1;
        inside *= cfg->elements[d] * cfg->degree - 1;
    }
    unique_t *serial = visit(&run, one, count), *boxes = visit(&run, ranks, count);
    double c_sum = 0;
    int bad = 0;
    for (int64_t g = 0; g < count; g++) {
        const unique_t *s = &serial[g], *b = &boxes[g];
        met += s->copies > 0;
        c_sum += s->c_sum;
        found_inside += s->c_sum == 1; /* powers of two, so exact */
        bad += s->c_sum != 0 && s->c_sum != 1;
        bad += (s->c_sum == 0) != (s->b == 0); /* on the boundary, and only there */
        /* Position, data and weight may not depend on which rank has the point. */
        bad += memcmp(s->xyz, b->xyz, sizeof s->xyz) != 0 || s->b != b->b || s->c_sum != b->c_sum ||
               s->copies != b->copies;
        /* Adjacent indices may not have the same position. */
        bad += g > 0 && memcmp(s->xyz, serial[g - 1].xyz, sizeof s->xyz) == 0;
    }
    CHECK(bad == 0);
    CHECK(met == count); /* every index belongs to a point: no gaps, so no two points share one */
    CHECK(found_inside == inside && c_sum == (double)inside);
    check_shared(&run, one, serial);
    check_shared(&run, ranks, boxes);
    free(serial);
    free(boxes);
    rt_run_destroy(&run);
}

/* Checks that the halo has as many points as the formula says, on a mesh that this rank holds
 * alone. */
static void check_halo(void)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, "elements=3x4x2 degree=4");
    int64_t on_rank, with_ranks;
    nek_shared_points(t.config, &on_rank, &with_ranks);
    rt_halo_info_t info = rt_halo_info(t.problem->halo);
    CHECK(info.local_entries == on_rank && with_ranks == 0 && info.shared_entries == 0);
    nek_test_destroy(&t);
    nek_test_new(&t, &nek_app, "elements=3x4x2 degree=4 communication=no");
    CHECK(t.problem->halo == NULL);
    for (int64_t q = 0; q < t.config->points; q++) /* every copy is an unknown */
        CHECK(t.problem->c[q] == 0 || t.problem->c[q] == 1);
    nek_test_destroy(&t);
}

int main(int argc, char **argv)
{
    app_test_start("test_problem", &argc, &argv);
    for (int n = NEK_MIN_N; n <= NEK_MAX_N; n++)
        check_gll(n);
    check_geometry("elements=2x3x4 degree=1");
    check_geometry("elements=2x3x4 degree=9");
    check_geometry("elements=1x1x2 degree=23");
    check_geometry("elements=3x2x3 degree=4 deform=0.3");
    check_geometry("elements=3x2x3 degree=9 deform=0.3");
    check_geometry("elements=3x2x3 degree=14 deform=-0.3");
    check_safe_deformation();
    check_numbering("elements=4x2x6 degree=3 deform=0.2", (const int64_t[]){2, 1, 3});
    check_numbering("elements=4x4x2 degree=1", (const int64_t[]){4, 2, 1});
    check_numbering("elements=2x2x2 degree=6", (const int64_t[]){2, 2, 2});
    check_numbering("elements=3x1x2 degree=2", (const int64_t[]){3, 1, 1});
    check_halo();
    return app_test_stop(check_done());
}
