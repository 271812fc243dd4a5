/*
 * problem.c - the right-hand side, the weights, and the gather-scatter.
 *
 * Nothing here depends on the number of ranks: a point is known by its global index, and its data
 * is a function of that index.
 */
#include "config.h"
#include "precond/precond.h"
#include <math.h>
#include <string.h>

/* Returns whether coordinate i of an element at position `at` of `count` is on the boundary of the
 * box. */
static bool on_boundary(int64_t at, int64_t count, int i, int n)
{
    return (at == 0 && i == 0) || (at == count - 1 && i == n - 1);
}

static bool is_dirichlet(const nek_config_t *config, const int64_t at[3], const int l[3])
{
    return on_boundary(at[0], config->elements[0], l[0], config->n) ||
           on_boundary(at[1], config->elements[1], l[1], config->n) ||
           on_boundary(at[2], config->elements[2], l[2], config->n);
}

void nek_random_field(const nek_config_t *config, uint64_t seed, double *u)
{
    const int n = config->n, n3 = n * n * n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        nek_element_position(config, e, at);
        for (int q = 0; q < n3; q++) {
            const int l[3] = {q % n, q / n % n, q / (n * n)};
            const int64_t index = nek_global_index(config, e, l[0], l[1], l[2]);
            u[e * n3 + q] = is_dirichlet(config, at, l) ? 0 : rt_random((uint64_t)index, seed);
        }
    }
}

static void fill_geometry(nek_problem_t *p)
{
    const nek_config_t *config = p->config;
    int64_t n3 = (int64_t)config->n * config->n * config->n, folded = -1;
    double least = 1;
    if (config->deform == 0 && config->ripple == 0 && config->growth == 1) {
        /* all elements are the same cube */
        least = nek_geometry(config, 0, p->G, NULL, NULL);
#pragma omp parallel for schedule(static)
        for (int64_t e = 1; e < config->local_elements; e++)
            memcpy(p->G + e * 6 * n3, p->G, (size_t)(6 * n3) * sizeof(double));
    } else {
#pragma omp parallel for schedule(static) reduction(max : folded)
        for (int64_t e = 0; e < config->local_elements; e++)
            if (!(nek_geometry(config, e, p->G + e * 6 * n3, NULL, NULL) > 0))
                folded = e > folded ? e : folded;
    }
    double bad = folded >= 0 || !(least > 0);
    rt_comm_max(&bad, 1);
    if (bad > 0)
        rt_refuse(
            RT_USAGE,
            "--deform %g%s folds the mesh (an element has a Jacobian that is not positive): use a "
            "smaller value; a quarter of the shortest edge of the box divided by pi is safe, and "
            "--ripple 0.3 without --deform",
            config->deform, config->ripple != 0 ? " with --ripple" : "");
}

/* --- gather-scatter --- */

/* Returns whether another element shares coordinate i of an element at position `at` of `count`. */
static bool is_shared(int64_t at, int64_t count, int i, int n)
{
    return (i == 0 && at > 0) || (i == n - 1 && at < count - 1);
}

void nek_own_points(const nek_config_t *config, int64_t e, int from[3], int to[3])
{
    int64_t at[3];
    nek_element_position(config, e, at);
    for (int d = 0; d < 3; d++) {
        const int64_t next = config->first[d] + config->local[d];
        from[d] = at[d] == config->first[d] && at[d] > 0;
        to[d] = config->n - (at[d] == next - 1 && next < config->elements[d]);
    }
}

void nek_list_shared(const nek_config_t *config, bool outer, nek_index_fn *index,
                     rt_halo_list_t *list)
{
    const int n = config->n;
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        int from[3], to[3];
        nek_element_position(config, e, at);
        nek_own_points(config, e, from, to);
        for (int q = 0; q < n * n * n; q++) {
            const int l[3] = {q % n, q / n % n, q / (n * n)};
            bool shared = false, own = true, inside = true;
            for (int d = 0; d < 3; d++) {
                shared = shared || is_shared(at[d], config->elements[d], l[d], n);
                own = own && l[d] >= from[d] && l[d] < to[d];
                inside = inside && !on_boundary(at[d], config->elements[d], l[d], n);
            }
            if (outer ? inside && !own : shared)
                rt_halo_list_add(list, index(n, e, l),
                                 nek_global_index(config, e, l[0], l[1], l[2]), false);
        }
    }
}

void nek_shared_points(const nek_config_t *config, int64_t *on_rank_only, int64_t *with_ranks)
{
    /* Each of these is a product over directions. `all` counts all stored coordinates, `on_rank`
     * those that no other rank has, `alone` those that no other element has, and `with_others` all
     * of them, with those that another rank has counted once more. */
    int64_t all = 1, on_rank = 1, alone = 1, with_others = 1;
    for (int d = 0; d < 3; d++) {
        int64_t outer =
            (config->first[d] > 0) + (config->first[d] + config->local[d] < config->elements[d]);
        int64_t coordinates = config->local[d] * config->n;
        all *= coordinates;
        on_rank *= coordinates - outer;
        alone *= coordinates - outer - 2 * (config->local[d] - 1);
        with_others *= coordinates + outer;
    }
    *on_rank_only = on_rank - alone;
    *with_ranks = with_others - all;
}

static int64_t position(int n, int64_t e, const int l[3])
{
    return ((e * n + l[2]) * n + l[1]) * n + l[0];
}

rt_halo_t *nek_halo_new(const nek_config_t *config, bool outer, const char *transport,
                        rt_kind_t kind, rt_space_t space)
{
    if (!config->communication || (outer && rt_comm_size() == 1))
        return NULL;
    rt_halo_list_t list = {0};
    while (rt_halo_list_again(&list))
        nek_list_shared(config, outer, position, &list);
    return rt_halo_of_list(
        &list, false,
        (rt_halo_desc_t){
            .max_components = 1, .kind = kind, .space = space, .transport = transport});
}

/* Sets c to 1 / copies: a point on a face, edge or corner between elements has 2, 4 or 8. */
static void fill_weights(nek_problem_t *p)
{
    const nek_config_t *config = p->config;
    const int n = config->n, n3 = n * n * n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        nek_element_position(config, e, at);
        for (int q = 0; q < n3; q++) {
            const int l[3] = {q % n, q / n % n, q / (n * n)};
            double *c = p->c + e * n3 + q;
            *c = is_dirichlet(config, at, l) ? 0 : 1;
            /* without communication elements are not connected: each copy is an unknown */
            for (int d = 0; d < 3 && config->communication; d++)
                if (is_shared(at[d], config->elements[d], l[d], n))
                    *c /= 2;
        }
    }
}

/* Digests the options, the right-hand side and the weights, which show where the boundary is and
 * which points are shared; weights are powers of two, so their bits are the same everywhere. D and
 * G are left out: their last bits differ between machines, and they follow from the options. */
void nek_digest(const void *problem, rt_digest_t *digest)
{
    const nek_problem_t *p = problem;
    const nek_config_t *config = p->config;
    const int n = config->n;
    rt_items_t points = {0, {0}};
    rt_digest_int(digest, "degree", config->degree);
    rt_digest_real(digest, "deform", config->deform);
    rt_digest_real(digest, "lambda", config->lambda);
    if (config->stretch != 1) /* so that a digest of a plain box stays what it was */
        rt_digest_real(digest, "stretch", config->stretch);
    if (config->ripple != 0)
        rt_digest_real(digest, "ripple", config->ripple);
    for (int d = 0; d < 3; d++)
        rt_digest_int(digest, "elements", config->elements[d]);
#pragma omp parallel for schedule(static) reduction(rt_items : points)
    for (int64_t e = 0; e < config->local_elements; e++)
        for (int q = 0; q < n * n * n; q++) {
            const int64_t at = e * n * n * n + q;
            const uint64_t point[] = {
                (uint64_t)nek_global_index(config, e, q % n, q / n % n, q / (n * n)),
                rt_items_word(p->b[at]), rt_items_word(p->c[at])};
            rt_items_add(&points, point, 3);
        }
    rt_digest_items(digest, "points", &points);
}

void *nek_problem_new(const rt_run_t *run, void *input)
{
    (void)input; /* everything is made here */
    const nek_config_t *config = run->config;
    size_t points = (size_t)config->points, n = (size_t)config->n;
    nek_problem_t *p = RT_NEW(nek_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = run;
    p->config = config;
    p->D = RT_NEW(double, n *n, RT_HOST);
    p->G = RT_NEW(double, 6 * points, RT_HOST);
    p->c = RT_NEW(double, points, RT_HOST);
    p->b = RT_NEW(double, points, RT_HOST);
    double z[NEK_MAX_N], w[NEK_MAX_N];
    nek_gll(config->n, z, w, p->D);
    fill_geometry(p);
    fill_weights(p);
    nek_random_field(config, (uint64_t)run->opt.seed, p->b);
    const double begin = rt_clock();
    p->halo = nek_halo_new(config, false, "staged", RT_CPU, RT_HOST); /* the judge's too */
    p->halo_seconds = rt_clock() - begin;
    p->view = (nek_view_t){.n = config->n,
                           .elements = config->local_elements,
                           .points = config->points,
                           .D = p->D,
                           .D_host = p->D,
                           .G = p->G,
                           .c = p->c,
                           .partial = RT_NEW(double, (size_t)nek_blocks(config->points), RT_HOST)};
    return p;
}

void nek_reference_destroy(nek_reference_t *reference)
{
    RT_FREE_ALL(RT_HOST, reference->x, reference->history, reference->sensitivity);
}

void nek_problem_destroy(void *problem)
{
    nek_problem_t *p = problem;
    rt_halo_destroy(p->halo);
    nek_reference_destroy(&p->reference);
    nek_levels_destroy(p->levels);
    RT_FREE_ALL(RT_HOST, p->D, p->G, p->c, p->b, p->view.partial, p);
}
