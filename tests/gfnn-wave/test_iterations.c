/*
 * test_iterations.c - how many iterations each preconditioner needs: a regression test, as
 * slightly wrong weights, kernels and coefficients still converge, only later.
 *
 * The head, which no network has seen, periodic, a random right-hand side, to 1e-8. The long form
 * (RT_CHECK_LONG=1) has 48^3 elements and both named time steps, within 2 of the expected table;
 * the short form has a smaller box, with the counts of the day when this was written.
 *
 * In a uniform medium gf8 takes as many as the exact kernel of its reach (docs/measured): so in the
 * parts of a model without interfaces the reach is the limit, not the network.
 */
#include "config.h"
#include "gfnn_test.h"

/* Counts of the expected table at Vp dt/ds = 4 and 3 (0: no such network ships), and of 20^3
 * elements at 4. */
typedef struct {
    const char *settings;
    int at_4, at_3, small;
} expected_t;
static const expected_t expected[] = {
    {"precond=bj", 42, 40, 42},
    {"precond=cheb3", 15, 14, 15},
    {"precond=cheb5", 9, 9, 9},
    {"precond=cheb7", 7, 7, 7},
    {"precond=gf8", 15, 13, 14},
    {"precond=gfm2", 13, 12, 14},
    {"precond=gfm2 precision=fp32", 13, 12, 14},
    {"precond=gfm2 coef=nn-class", 13, 12, 14},
    {"precond=gfm4", 12, 10, 13},
    {"precond=gfm8", 10, 9, 11},
    {"precond=gf8 reach=6", 13, 0, 13},
    {"precond=gfm2 reach=6", 13, 0, 14},
};

/* Counts of a uniform medium, 24^3 elements. */
static const struct {
    const char *settings;
    int count;
} uniform[] = {{"precond=bj", 37}, {"precond=gf8", 10}, {"precond=gf8 reach=6", 5}};

static void put_random(gfnn_solver_t *s)
{
    const gfnn_grid_t *g = &s->problem->box.fine;
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    s->f[at] = rt_random((uint64_t)at, 2021);
                }
}

static int64_t iterations(const char *settings)
{
    gfnn_test_t t;
    gfnn_test_new(&t, settings);
    put_random(gfnn_test_solver(&t, "solve-simd"));
    const int64_t n = gfnn_cg(t.s);
    gfnn_test_destroy(&t);
    return n;
}

static void check_case(const char *model, const char *settings, int count, int margin)
{
    char all[256];
    snprintf(all, sizeof all, "%s %s", model, settings);
    const int64_t got = iterations(all);
    const bool held = got >= count - margin && got <= count + margin;
    printf("%-90s %3lld iterations, %d expected%s\n", all, (long long)got, count,
           held ? "" : "  <--");
    CHECK(held);
}

int main(int argc, char **argv)
{
    const bool is_long = getenv("RT_CHECK_LONG") != NULL;
    app_test_start_on(is_long ? 0 : 1, "test_iterations", &argc, &argv);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const expected_t *e = &expected[i];
        if (!is_long)
            check_case("elements=20x20x20", e->settings, e->small, 1);
        else
            check_case("elements=48x48x48", e->settings, e->at_4, 2);
        if (is_long && e->at_3 > 0)
            check_case("elements=48x48x48 dt=15e-6", e->settings, e->at_3, 2);
    }
    for (size_t i = 0; i < sizeof uniform / sizeof *uniform; i++)
        check_case("elements=24x24x24 model=uniform", uniform[i].settings, uniform[i].count, 1);
    return app_test_stop(check_done());
}
