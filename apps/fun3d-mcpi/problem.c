/*
 * problem.c - from a mesh or a matrix file to this rank's part of the system.
 *
 * Every rank makes the whole mesh, graph, colouring and order, which are the same everywhere, and
 * then only the blocks of its own rows: no message is needed, and nothing depends on the number of
 * ranks. Price: graph and flow, about 800 bytes a row, are on every rank while the problem is made.
 *
 * The answer dQ* is known, and a function of the vertex, so it is the same in any order of rows. R
 * = A dQ*, FP64, diagonal first, then the columns in their order.
 */
#include "config.h"
#include "mcpi.h"
#include <math.h>
#include <string.h>
#include "base/threads.h"

/* --- where blocks come from --- */

void mcpi_source_destroy(mcpi_source_t *source)
{
    if (!source)
        return;
    if (source->destroy)
        source->destroy(source);
    mcpi_graph_destroy(source->graph);
    RT_FREE(source->x, RT_HOST);
    RT_FREE(source, RT_HOST);
}

static mcpi_source_t *flow_on(const rt_mesh_t *mesh, const mcpi_config_t *cfg)
{
    mcpi_flow_t flow = {.nb = (int)cfg->nb,
                        .cfl = cfg->cfl,
                        .mach = cfg->mach,
                        .reynolds = cfg->reynolds,
                        .walls = cfg->walls,
                        .seed = 1};
    return mcpi_flow_new(mesh, &flow);
}

static mcpi_source_t *wing_source(const mcpi_config_t *cfg)
{
    mcpi_wing_t wing = {.n = cfg->surface, .layers = cfg->layers, .first = 1e-4, .seed = 1};
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
    char why[256];
    if (!mcpi_walls_check(mesh, cfg->walls, why, sizeof why))
        rt_refuse(RT_USAGE, "%s", why);
    mcpi_source_t *source = flow_on(mesh, cfg);
    rt_mesh_destroy(mesh);
    return source;
}

/* NULL and one line in why if the file cannot be used. */
static mcpi_source_t *file_source(const mcpi_config_t *cfg, char *why, size_t len)
{
    if (cfg->is_matrix)
        return mcpi_mtx_read(cfg->mesh, (int)cfg->nb, why, len);
    rt_mesh_t *mesh = rt_mesh_read(cfg->mesh, 0, why, len);
    if (!mesh)
        return NULL;
    char fault[256];
    mcpi_source_t *source = NULL;
    if (rt_mesh_check(mesh, fault, sizeof fault) &&
        mcpi_walls_check(mesh, cfg->walls, fault, sizeof fault))
        source = flow_on(mesh, cfg);
    else
        snprintf(why, len, "%.200s: %s", cfg->mesh, fault);
    rt_mesh_destroy(mesh);
    return source;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

void mcpi_file_count(mcpi_config_t *cfg)
{
    char why[512] = "";
    cfg->is_matrix = ends_in(cfg->mesh, ".mtx");
    if (cfg->is_matrix && cfg->order == MCPI_HILBERT)
        cfg->order = MCPI_RCM;               /* a matrix has no coordinates */
    if (!cfg->source && rt_comm_rank() == 0) /* configure may be called again */
        cfg->source = file_source(cfg, why, sizeof why);
    double ok = cfg->source != NULL;
    rt_comm_max(&ok, 1);
    rt_comm_bcast(why, sizeof why, 0);
    if (ok == 0)
        rt_refuse(RT_USAGE, "--mesh %s", why);
    if (!cfg->source) /* the others, now that the file is known to be good */
        cfg->source = file_source(cfg, why, sizeof why);
    if (!cfg->source)
        rt_die(RT_ENVIRONMENT, "rank 0 could read it, this rank on %s cannot: %s", rt_comm_host(),
               why);
    cfg->rows = cfg->source->graph->rows;
    cfg->blocks = cfg->source->graph->start[cfg->rows];
    mcpi_count_parts(cfg);
    if (cfg->local_blocks >= INT32_MAX)
        rt_refuse(RT_USAGE, "--mesh %s has %lld off-diagonal blocks, more than a rank can number",
                  cfg->mesh, (long long)cfg->blocks);
}

/*
 * Parts are equal in rows. Prisms at the wall have 20 blocks a row where tetrahedra have 14, so one
 * part may have more blocks than the mean; a part is no cube, and its surface two or three times
 * that of one.
 */
void mcpi_count_parts(mcpi_config_t *cfg)
{
    const int64_t ranks = rt_comm_size();
    cfg->local_rows = (cfg->rows + ranks - 1) / ranks;
    cfg->local_blocks = cfg->blocks;
    cfg->ghosts = 0;
    if (ranks == 1)
        return;
    cfg->local_blocks =
        (int64_t)fmin((double)cfg->blocks, 1.3 * (double)(cfg->blocks / ranks + 32));
    const double surface = 16 * pow((double)cfg->local_rows, 2. / 3) + 64;
    cfg->ghosts = (int64_t)fmin((double)(cfg->rows - cfg->rows / ranks), surface);
}

/* --- order and part --- */

static double since(double *begin)
{
    const double now = rt_clock(), seconds = now - *begin;
    *begin = now;
    return seconds;
}

static void make_order(mcpi_problem_t *p, const mcpi_source_t *source)
{
    const mcpi_config_t *cfg = p->config;
    const mcpi_graph_t *graph = source->graph;
    uint8_t *colour = RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST);
    int32_t *owner = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    if (rt_comm_size() > 1)
        mcpi_partition(graph, source->x, rt_comm_size(), owner);
    else
        memset(owner, 0, (size_t)graph->rows * sizeof *owner);
    const bool local = cfg->colouring == MCPI_COLOUR_LOCAL && rt_comm_size() > 1;
    const int colours =
        local ? mcpi_colour_local(graph, owner, colour) : mcpi_colour(graph, colour);
    p->imbalance = mcpi_colour_imbalance(graph, colour, colours);
    p->order = mcpi_order_new(graph, colour, colours, (mcpi_row_order_t)cfg->order, source->x,
                              (uint64_t)p->run->opt.seed);
    p->part = mcpi_part_new(graph, p->order, owner, rt_comm_rank());
    RT_FREE(owner, RT_HOST);
    RT_FREE(colour, RT_HOST);
}

/* Exact counts, now that there is a mesh: the most of any rank. */
static void count_exactly(const mcpi_problem_t *p, mcpi_config_t *cfg)
{
    const mcpi_part_t *part = p->part;
    double most[3] = {(double)part->rows, (double)part->start[part->rows], (double)part->ghosts};
    rt_comm_max(most, 3);
    cfg->local_rows = (int64_t)most[0];
    cfg->local_blocks = (int64_t)most[1];
    cfg->ghosts = (int64_t)most[2];
    cfg->blocks = part->start[part->rows];
    rt_comm_sum_i64(&cfg->blocks, 1);
}

/* --- blocks and right-hand side --- */

static mcpi_matrix_t *new_matrix(mcpi_part_t *part, int nb, bool of_file)
{
    const size_t rows = (size_t)part->rows, blocks = (size_t)part->start[part->rows];
    mcpi_matrix_t *m = RT_NEW(mcpi_matrix_t, 1, RT_HOST);
    m->nb = nb;
    m->of_file = of_file;
    m->part = part;
    m->D = RT_NEW(double, rows *(size_t)(nb * nb), RT_HOST);
    m->O = RT_NEW(double, blocks *(size_t)(nb * nb), RT_HOST);
    m->R = RT_NEW(double, rows *(size_t)nb, RT_HOST);
    return m;
}

/* The blocks of local rows, whose columns have another order than the source's. */
static void fill_blocks(const mcpi_problem_t *p, const mcpi_source_t *source)
{
    const mcpi_part_t *part = p->part;
    const mcpi_graph_t *graph = source->graph;
    const int64_t nb2 = p->nb * p->nb;
    int64_t widest = 0;
    for (int64_t v = 0; v < graph->rows; v++)
        if (graph->start[v + 1] - graph->start[v] > widest)
            widest = graph->start[v + 1] - graph->start[v];
    const int threads = rt_threads();
    double *scratch = RT_NEW(double, (size_t)(threads * (widest + 1) * nb2), RT_HOST);
#pragma omp parallel num_threads(threads)
    {
        double *blocks = scratch + rt_thread() * (widest + 1) * nb2;
#pragma omp for schedule(dynamic, 256)
        for (int64_t row = 0; row < part->rows; row++) {
            const int64_t vertex = p->order->vertex[part->global[row]];
            source->row(source, vertex, p->matrix->D + row * nb2, blocks);
            for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
                memcpy(p->matrix->O + k * nb2, blocks + part->place[k] * nb2,
                       (size_t)nb2 * sizeof(double));
        }
    }
    RT_FREE(scratch, RT_HOST);
}

/* y -= B x, B column-major. */
static inline void subtract(int nb, const double *B, const double *x, double *y)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++)
            y[i] -= B[j * nb + i] * x[j];
}

/* R - A dQ of one row. */
static inline void row_residual(const mcpi_matrix_t *m, const double *R, const double *dq,
                                int64_t row, double *r)
{
    const int nb = m->nb;
    const mcpi_part_t *part = m->part;
    for (int i = 0; i < nb; i++)
        r[i] = R ? R[row * nb + i] : 0;
    subtract(nb, m->D + row * nb * nb, dq + row * nb, r);
    for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
        subtract(nb, m->O + k * nb * nb, dq + (int64_t)part->column[k] * nb, r);
}

static void fill_right_hand_side(mcpi_problem_t *p)
{
    const mcpi_part_t *part = p->part;
    const int nb = p->nb;
    const int64_t all = part->rows + part->ghosts;
    const uint64_t seed = (uint64_t)p->run->opt.seed + 31;
    const bool constant = p->config->solution == MCPI_SOLUTION_CONSTANT;
    double *x = RT_NEW(double, (size_t)(all * nb), RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < all; row++) {
        const uint64_t vertex = (uint64_t)p->order->vertex[part->global[row]];
        for (int i = 0; i < nb; i++)
            x[row * nb + i] = constant ? 1 : rt_random(vertex * (uint64_t)nb + (uint64_t)i, seed);
    }
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < part->rows; row++) {
        double r[MCPI_MAX_NB];
        row_residual(p->matrix, NULL, x, row, r);
        for (int i = 0; i < nb; i++)
            p->matrix->R[row * nb + i] = -r[i];
    }
    p->exact = RT_NEW(double, (size_t)(part->rows * nb), RT_HOST);
    memcpy(p->exact, x, (size_t)(part->rows * nb) * sizeof(double));
    RT_FREE(x, RT_HOST);
}

double mcpi_residual(const mcpi_matrix_t *matrix, const double *R, const double *dq)
{
    const int nb = matrix->nb;
    double rr = 0, bb = 0;
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
    for (int64_t row = 0; row < matrix->part->rows; row++) {
        double r[MCPI_MAX_NB];
        row_residual(matrix, R, dq, row, r);
        for (int i = 0; i < nb; i++) {
            rr += r[i] * r[i];
            bb += R[row * nb + i] * R[row * nb + i];
        }
    }
    double sums[2] = {rr, bb};
    rt_comm_sum(sums, 2);
    return sqrt(sums[0] / sums[1]);
}

/* A row that cannot be factored is refused in the words of the first rank that has one. */
static void make_system(mcpi_problem_t *p)
{
    char why[256] = "";
    p->system = mcpi_system_new(p->matrix, (mcpi_type_t)p->config->offdiagonal, p->order->vertex,
                                why, sizeof why);
    double rank = p->system ? rt_comm_size() : rt_comm_rank();
    rt_comm_min(&rank, 1);
    if (rank == rt_comm_size())
        return;
    rt_comm_bcast(why, sizeof why, (int)rank);
    rt_refuse(RT_USAGE, "--mesh %s: %s", p->config->mesh, why);
}

/* --- halo --- */

/* Entries of colour c: rows that other ranks need, then ghosts. */
static rt_halo_t *halo_of_colour(const mcpi_part_t *part, int c, int nb, rt_halo_desc_t desc)
{
    const int64_t own = part->boundary_end[c] - part->colour_start[c];
    const int64_t n = own + part->ghost_start[c + 1] - part->ghost_start[c];
    int64_t *index = RT_NEW(int64_t, (size_t)n, RT_HOST);
    int64_t *gid = RT_NEW(int64_t, (size_t)n, RT_HOST);
    uint8_t *owner = RT_NEW(uint8_t, (size_t)n, RT_HOST);
    for (int64_t i = 0; i < n; i++) {
        index[i] = i < own ? part->colour_start[c] + i : part->ghost_start[c] + i - own;
        gid[i] = part->global[index[i]];
        owner[i] = i < own;
    }
    desc.n = n;
    desc.index = index;
    desc.gid = gid;
    desc.owner = owner;
    desc.max_components = nb;
    rt_halo_t *halo = rt_halo_new(&desc);
    RT_FREE(index, RT_HOST);
    RT_FREE(gid, RT_HOST);
    RT_FREE(owner, RT_HOST);
    return halo;
}

rt_halo_t **mcpi_halo_new(const mcpi_part_t *part, int nb, const char *transport, rt_kind_t kind,
                          rt_space_t space)
{
    if (rt_comm_size() == 1)
        return NULL;
    const rt_halo_desc_t desc = {.kind = kind, .space = space, .transport = transport};
    rt_halo_t **halo = RT_NEW(rt_halo_t *, (size_t)part->colours, RT_HOST);
    for (int c = 0; c < part->colours; c++)
        halo[c] = halo_of_colour(part, c, nb, desc);
    return halo;
}

void mcpi_halo_destroy(rt_halo_t **halo, int colours)
{
    for (int c = 0; halo && c < colours; c++)
        rt_halo_destroy(halo[c]);
    RT_FREE(halo, RT_HOST);
}

/* --- digest --- */

/* Coordinates of the vertices of a mesh file, of this rank's rows: they are not kept. */
static void take_vertices(mcpi_problem_t *p, const mcpi_source_t *source)
{
    if (!p->config->from_file || !source->x)
        return;
    for (int64_t row = 0; row < p->part->rows; row++) {
        const int64_t vertex = p->order->vertex[p->part->global[row]];
        const uint64_t item[] = {(uint64_t)vertex, rt_items_word(source->x[3 * vertex]),
                                 rt_items_word(source->x[3 * vertex + 1]),
                                 rt_items_word(source->x[3 * vertex + 2])};
        rt_items_add(&p->vertices, item, 4);
    }
}

/* A block of a matrix file, row and column by their vertices. */
static void add_block(rt_items_t *items, uint64_t row, uint64_t column, int values, const double *B)
{
    uint64_t item[2 + MCPI_MAX_NB2] = {row, column};
    for (int i = 0; i < values; i++)
        item[2 + i] = rt_items_word(B[i]);
    rt_items_add(items, item, 2 + values);
}

/* Graph and answer by vertex, and the blocks of a matrix file. Those of a flow come from roots and
 * exponentials, and R is a sum of products: both may differ in their last bits from machine to
 * machine, and follow from the rest. */
void mcpi_digest(const void *problem, rt_digest_t *digest)
{
    const mcpi_problem_t *p = problem;
    const mcpi_config_t *cfg = p->config;
    const mcpi_part_t *part = p->part;
    const int nb = p->nb, values = cfg->is_matrix ? nb * nb : 0;
    rt_items_t blocks = {0, {0}}, answer = {0, {0}};
    rt_digest_text(digest, "mesh", cfg->from_file ? "file" : cfg->mesh);
    if (!cfg->from_file) {
        rt_digest_int(digest, "surface", cfg->surface);
        rt_digest_int(digest, "layers", cfg->layers);
    }
    rt_digest_text(digest, "walls", cfg->walls);
    rt_digest_int(digest, "nb", cfg->nb);
    rt_digest_real(digest, "cfl", cfg->cfl);
    rt_digest_real(digest, "mach", cfg->mach);
    rt_digest_real(digest, "reynolds", cfg->reynolds);
    rt_digest_items(digest, "vertices", &p->vertices);
#pragma omp parallel
    {
        rt_items_t mine = {0, {0}}, dq = {0, {0}};
#pragma omp for schedule(static)
        for (int64_t row = 0; row < part->rows; row++) {
            const uint64_t vertex = (uint64_t)p->order->vertex[part->global[row]];
            uint64_t item[1 + MCPI_MAX_NB] = {vertex};
            for (int i = 0; i < nb; i++)
                item[1 + i] = rt_items_word(p->exact[row * nb + i]);
            rt_items_add(&dq, item, 1 + nb);
            add_block(&mine, vertex, vertex, values, p->matrix->D + row * nb * nb);
            for (int64_t k = part->start[row]; k < part->start[row + 1]; k++) {
                const int64_t column = part->global[part->column[k]];
                add_block(&mine, vertex, (uint64_t)p->order->vertex[column], values,
                          p->matrix->O + k * nb * nb);
            }
        }
#pragma omp critical
        {
            rt_items_merge(&blocks, &mine);
            rt_items_merge(&answer, &dq);
        }
    }
    rt_digest_items(digest, "blocks", &blocks);
    rt_digest_items(digest, "answer", &answer);
}

/* --- all of it --- */

static void print_set_up(const mcpi_problem_t *p)
{
    if (rt_comm_rank() != 0 || p->run->opt.quiet)
        return;
    printf(
        "set-up        mesh and flow %.2f s, colours and order %.2f s, blocks %.2f s, factors and "
        "halo %.2f s\n",
        p->seconds_mesh, p->seconds_colour, p->seconds_blocks, p->seconds_factor);
    printf(
        "              %lld off-diagonal blocks, %.2f a row; %d colours, the largest %.3f of the "
        "mean\n",
        (long long)p->config->blocks, (double)p->config->blocks / (double)p->config->rows,
        p->part->colours, p->imbalance);
    printf("residual      |R - A dQ| / |R| ");
    for (int i = 0; i < p->samples; i++)
        printf("%s%lld: %.3g", i ? ", " : "after sweep ", (long long)p->sample_sweep[i],
               p->sample_residual[i]);
    printf("; dQ is %012llx\n", (unsigned long long)p->fingerprint);
    if (p->price_asked > 0)
        printf("price         residual after %lld sweeps %.4g with global colouring and exchange "
               "after every colour, %.4g as asked\n",
               (long long)p->config->sweeps, p->price_default, p->price_asked);
    fflush(stdout);
}

void *mcpi_problem_new(const rt_run_t *run)
{
    mcpi_config_t *cfg = run->config;
    mcpi_problem_t *p = RT_NEW(mcpi_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = run;
    p->config = cfg;
    p->nb = (int)cfg->nb;
    double begin = rt_clock();
    if (cfg->from_file)
        mcpi_file_count(cfg); /* reads it again if an earlier problem took it */
    mcpi_source_t *source = cfg->from_file ? cfg->source : wing_source(cfg);
    cfg->source = NULL;
    p->seconds_mesh = since(&begin);
    make_order(p, source);
    count_exactly(p, cfg);
    p->seconds_colour = since(&begin);
    p->matrix = new_matrix(p->part, p->nb, cfg->is_matrix);
    fill_blocks(p, source);
    take_vertices(p, source);
    mcpi_source_destroy(source);
    fill_right_hand_side(p);
    p->seconds_blocks = since(&begin);
    make_system(p);
    p->halo = mcpi_halo_new(p->part, p->nb, run->opt.transport, RT_CPU, RT_HOST);
    p->seconds_factor = since(&begin);
    if (!run->opt.quiet || run->opt.json)
        mcpi_history(p);
    mcpi_price(p);
    print_set_up(p);
    return p;
}

void mcpi_problem_destroy(void *problem)
{
    mcpi_problem_t *p = problem;
    mcpi_halo_destroy(p->halo, p->part->colours);
    mcpi_system_destroy(p->system);
    RT_FREE(p->matrix->D, RT_HOST);
    RT_FREE(p->matrix->O, RT_HOST);
    RT_FREE(p->matrix->R, RT_HOST);
    RT_FREE(p->matrix, RT_HOST);
    RT_FREE(p->exact, RT_HOST);
    mcpi_part_destroy(p->part);
    mcpi_order_destroy(p->order);
    RT_FREE(p->oracle, RT_HOST);
    RT_FREE(p, RT_HOST);
}
