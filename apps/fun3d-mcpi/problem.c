/*
 * problem.c - from this rank's rows to the system: blocks, right-hand side, factors and halos.
 *
 * The answer dQ* is known. It is a function of the vertex, so it is the same in any order of rows.
 * R = A dQ*, FP64, diagonal first, then the columns in their order.
 */
#include "config.h"
#include "mcpi.h"
#include <string.h>
#include "flow/flow.h"

enum { SOLUTION_SEED = 31 }; /* added to --seed: dQ* */

/* --- right-hand side --- */

/* Makes the answer, which the digest has, and R if there is a matrix. */
static void fill_right_hand_side(mcpi_problem_t *p)
{
    const mcpi_part_t *part = p->part;
    const int nb = p->nb;
    const int64_t all = part->rows + part->ghosts;
    const uint64_t seed = (uint64_t)p->run->opt.seed + SOLUTION_SEED;
    const bool constant = p->config->solution == MCPI_SOLUTION_CONSTANT;
    double *x = RT_NEW(double, (size_t)(all * nb), RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < all; row++) {
        const uint64_t vertex = (uint64_t)part->vertex[row];
        for (int i = 0; i < nb; i++)
            x[row * nb + i] = constant ? 1 : rt_random(vertex * (uint64_t)nb + (uint64_t)i, seed);
    }
    if (p->matrix)
        mcpi_matrix_multiply(p->matrix, x);
    p->exact = RT_NEW(double, (size_t)(part->rows * nb), RT_HOST);
    memcpy(p->exact, x, (size_t)(part->rows * nb) * sizeof(double));
    RT_FREE(x, RT_HOST);
}

/* --- halo --- */

rt_halo_t **mcpi_halo_new(const mcpi_part_t *part, int nb, const char *transport, rt_kind_t kind,
                          rt_space_t space)
{
    if (rt_comm_size() == 1)
        return NULL;
    const rt_halo_desc_t desc = {
        .max_components = nb, .kind = kind, .space = space, .transport = transport};
    rt_halo_t **halo = RT_NEW(rt_halo_t *, (size_t)part->colours, RT_HOST);
    for (int c = 0; c < part->colours; c++) { /* the rows that other ranks need, then the ghosts */
        rt_halo_list_t list = {0};
        while (rt_halo_list_again(&list)) {
            for (int64_t i = part->colour_start[c]; i < part->boundary_end[c]; i++)
                rt_halo_list_add(&list, i, part->global[i], true);
            for (int64_t i = part->ghost_start[c]; i < part->ghost_start[c + 1]; i++)
                rt_halo_list_add(&list, i, part->global[i], false);
        }
        halo[c] = rt_halo_of_list(&list, true, desc);
    }
    return halo;
}

void mcpi_halo_copy(rt_halo_t *const *halo, int colours, int colour, int components, double *x)
{
    const rt_field_t field = {x, RT_F64, components, components, 1};
    for (int c = 0; halo && c < colours; c++)
        if (colour < 0 || c == colour)
            rt_halo_do(halo[c], RT_HALO_COPY, &field);
}

void mcpi_halo_destroy(rt_halo_t **halo, int colours)
{
    for (int c = 0; halo && c < colours; c++)
        rt_halo_destroy(halo[c]);
    RT_FREE(halo, RT_HOST);
}

/* --- digest --- */

/* Adds the coordinates of the vertices of a mesh file, for this rank's rows, to the digest: they
 * are not kept. */
static void take_vertices(mcpi_problem_t *p, const mcpi_source_t *source)
{
    if (!p->config->from_file)
        return;
    for (int64_t row = 0; row < p->part->rows; row++) {
        const int64_t vertex = p->part->vertex[row];
        const double *x = source->x + 3 * (int64_t)p->part->here[row];
        const uint64_t item[] = {(uint64_t)vertex, rt_items_word(x[0]), rt_items_word(x[1]),
                                 rt_items_word(x[2])};
        rt_items_add(&p->vertices, item, 4);
    }
}

/* Adds graph and answer by vertex. Blocks come from roots and exponentials, and R is a sum of
 * products: both follow from the rest, and may differ in their last bits from machine to machine. */
void mcpi_digest(const void *problem, rt_digest_t *digest)
{
    const mcpi_problem_t *p = problem;
    const mcpi_config_t *config = p->config;
    const mcpi_part_t *part = p->part;
    const int nb = p->nb;
    rt_items_t blocks = {0, {0}}, answer = {0, {0}};
    rt_digest_text(digest, "mesh", config->from_file ? "file" : config->mesh);
    if (!config->from_file) {
        rt_digest_int(digest, "surface", config->surface);
        rt_digest_int(digest, "layers", config->layers);
    }
    rt_digest_text(digest, "walls", config->walls);
    rt_digest_int(digest, "nb", config->nb);
    rt_digest_real(digest, "cfl", config->cfl);
    rt_digest_real(digest, "mach", MCPI_MACH);
    rt_digest_real(digest, "reynolds", MCPI_REYNOLDS);
    rt_digest_items(digest, "vertices", &p->vertices);
#pragma omp parallel for schedule(static) reduction(rt_items : blocks, answer)
    for (int64_t row = 0; row < part->rows; row++) {
        const uint64_t vertex = (uint64_t)part->vertex[row];
        uint64_t item[1 + MCPI_MAX_NB] = {vertex};
        for (int i = 0; i < nb; i++)
            item[1 + i] = rt_items_word(p->exact[row * nb + i]);
        rt_items_add(&answer, item, 1 + nb);
        rt_items_add(&blocks, (const uint64_t[]){vertex, vertex}, 2);
        for (int64_t k = part->start[row]; k < part->start[row + 1]; k++) {
            const uint64_t column = (uint64_t)part->vertex[part->column[k]];
            rt_items_add(&blocks, (const uint64_t[]){vertex, column}, 2);
        }
    }
    rt_digest_items(digest, "blocks", &blocks);
    rt_digest_items(digest, "answer", &answer);
}

/* --- all of it --- */

const char *mcpi_flow_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why)
{
    const mcpi_config_t *c = config;
    (void)self;
    if (strcmp(c->walls, "none") == 0)
        return "a flow needs a body, and --walls none leaves it without";
    return c->nb == MCPI_Q
               ? NULL
               : rt_text(why, "a flow has 5 unknowns per vertex, and --block-size is %d",
                         (int)c->nb);
}

/* Returns whether rungs of a ladder may run; other: the other ladder. */
static bool wants(const rt_run_t *run, const char *ladder, const char *other)
{
    const rt_options_t *opt = &run->opt;
    const rt_rung_t *rung = rt_run_asked(run);
    return rung ? strcmp(rung->ladder, ladder) == 0 : !opt->only || !strstr(opt->only, other);
}

bool mcpi_wants_flow(const rt_run_t *run)
{
    rt_text_t why;
    return !mcpi_flow_refuse(NULL, run->config, &why) && wants(run, "flow", "sweeps");
}

bool mcpi_wants_sweeps(const rt_run_t *run)
{
    return wants(run, "sweeps", "flow");
}

static void print_set_up(const mcpi_problem_t *p, double mesh, double blocks)
{
    if (rt_comm_rank() != 0 || p->run->opt.quiet)
        return;
    printf("set-up        mesh and flow %.2f s, colours and order %.2f s, blocks %.2f s, factors "
           "and halo %.2f s\n",
           mesh, p->seconds_colour, blocks, p->seconds_system + p->seconds_halo);
    printf("              %lld off-diagonal blocks, %.2f a row; %d colours, the largest %.3f of "
           "the mean\n",
           (long long)p->counts.blocks, (double)p->counts.blocks / (double)p->counts.rows,
           p->part->colours, mcpi_part_imbalance(p->part));
    fflush(stdout);
}

void *mcpi_problem_new(const rt_run_t *run, void *input)
{
    mcpi_input_t *in = input;
    const mcpi_config_t *config = run->config;
    mcpi_problem_t *p = RT_NEW(mcpi_problem_t, 1, RT_HOST);
    RT_EXPECT(in->source, RT_INVALID, "one problem has taken this input's blocks already");
    *p = (mcpi_problem_t){.run = run,
                          .config = config,
                          .counts = in->counts,
                          .nb = (int)config->nb,
                          .part = in->part};
    char why[256] = "";
    const double begin = rt_clock();
    if (mcpi_wants_sweeps(run))
        p->matrix = mcpi_matrix_new(in->source, p->part);
    take_vertices(p, in->source);
    if (mcpi_wants_flow(run))
        p->geometry = mcpi_geometry_new(in->source, p->part, config->flow_reynolds > 0);
    mcpi_source_destroy(in->source);
    in->source = NULL;
    in->part = NULL;
    fill_right_hand_side(p);
    const double filled = rt_clock();
    if (p->matrix)
        p->system = mcpi_system_new(p->matrix, (mcpi_type_t)config->offdiagonal, why, sizeof why);
    if (rt_comm_agree(why, sizeof why) >= 0) /* a row that cannot be factored, of the first rank */
        rt_refuse(RT_USAGE, "--mesh %s: %s", config->mesh, why);
    const double factored = rt_clock();
    p->halo = mcpi_halo_new(p->part, p->nb, "staged", RT_CPU, RT_HOST); /* the judge's too */
    p->seconds_halo = rt_clock() - factored;
    p->seconds_system = factored - filled;
    p->seconds_colour = in->seconds_colour;
    print_set_up(p, in->seconds_mesh, filled - begin);
    return p;
}

void mcpi_problem_destroy(void *problem)
{
    mcpi_problem_t *p = problem;
    mcpi_halo_destroy(p->halo, p->part->colours);
    mcpi_system_destroy(p->system);
    if (p->matrix)
        RT_FREE_ALL(RT_HOST, p->matrix->D, p->matrix->O, p->matrix->R, p->matrix);
    mcpi_geometry_destroy(p->geometry);
    mcpi_part_destroy(p->part);
    RT_FREE_ALL(RT_HOST, p->exact, p->oracle, p->flow_oracle, p);
}
