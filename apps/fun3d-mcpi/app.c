/*
 * app.c - fun3d-mcpi as the driver sees it: options, sizes, and a table of functions.
 */
#include "config.h"
#include "mcpi.h"
#include "peers/peers.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const types[] = {"fp64", "fp32", "fp16", "bf16", NULL};
static const char *const precisions[] = {"fp64", "fp32", NULL};
static const char *const orders[] = {"natural", "rcm", "hilbert", "random", NULL};
static const char *const colourings[] = {"global", "local", NULL};
static const char *const solutions[] = {"random", "constant", NULL};
static const char *const exchanges[] = {"colour", "sweep", NULL};

#define AT(member) offsetof(mcpi_config_t, member)
static const rt_opt_t options[] = {
    {"mesh", RT_OPT_STRING, AT(mesh), "NAME",
     "wing (a body with a wing-like bump, half of it, made here), a mesh file (AFLR3 .b8.ugrid or "
     ".lb8.ugrid, SU2, Gmsh 2.2 or 4.1), or a matrix (Matrix Market, .mtx)",
     "wing", 0, 0, NULL},
    {"surface", RT_OPT_INT, AT(surface), "N",
     "wing: 2N^2+2N+1 vertices on the surface; the paper's size is 104, with 51 layers", "29", 2,
     30000, NULL},
    {"layers", RT_OPT_INT, AT(layers), "N", "wing: layers of cells on it", "24", 2, 100000, NULL},
    {"walls", RT_OPT_STRING, AT(walls), "LIST",
     "tags of the boundary faces that are walls, or none; of the wing: 1", "1", 0, 0, NULL},
    {"block-size", RT_OPT_INT, AT(nb), "N",
     "unknowns a vertex: 5 compressible flow, 4 incompressible, 6 and 7 with turbulence", "5",
     MCPI_MIN_NB, MCPI_MAX_NB, NULL},
    {"offdiagonal", RT_OPT_CHOICE, AT(offdiagonal), NULL, "what O is stored in", "fp32", 0, 0,
     types},
    {"dq", RT_OPT_CHOICE, AT(dq), NULL, "what dQ is stored in", "fp32", 0, 0, precisions},
    {"accumulate", RT_OPT_CHOICE, AT(accumulate), NULL,
     "what O dQ is added up in; the triangular solves are always fp64", "fp32", 0, 0, precisions},
    {"order", RT_OPT_CHOICE, AT(order), NULL,
     "order of the rows of a colour; random: to see what an order is worth", "hilbert", 0, 0,
     orders},
    {"colouring", RT_OPT_CHOICE, AT(colouring), NULL,
     "global: of the whole graph, the result does not depend on the ranks; local: each rank its "
     "own, with an exchange after each sweep",
     "global", 0, 0, colourings},
    {"exchange", RT_OPT_CHOICE, AT(exchange), NULL,
     "dQ of other ranks' rows comes after every colour, or after every sweep: fewer messages, "
     "slower convergence",
     "colour", 0, 0, exchanges},
    {"sweeps", RT_OPT_INT, AT(sweeps), "N", "of a solve", "15", 1, 1e6, NULL},
    {"solution", RT_OPT_CHOICE, AT(solution), NULL,
     "the dQ behind R = A dQ; random: in (-1, 1) by vertex; constant: 1, which is slower to find",
     "random", 0, 0, solutions},
    {"cfl", RT_OPT_REAL, AT(cfl), "X",
     "Courant number of the pseudo-time step: larger is less diagonally dominant", "10", 1e-3, 1e6,
     NULL},
    {"mach", RT_OPT_REAL, AT(mach), "X", "Mach number of the flow that A is linearised about",
     "0.84", 1e-3, 5, NULL},
    {"reynolds", RT_OPT_REAL, AT(reynolds), "X", "its Reynolds number", "5e6", 1, 1e12, NULL},
};

/* --- sizes --- */

/* Of the wing of these extents; false if it is more than row numbers of 32 bits can hold. */
static bool count_wing(mcpi_config_t *cfg)
{
    const mcpi_wing_t wing = {.n = cfg->surface, .layers = cfg->layers, .first = 1e-4, .seed = 1};
    const double n = (double)cfg->surface;
    if (12 * n * n * (double)cfg->layers > INT32_MAX) /* tetrahedra, if all cells were split */
        return false;
    mcpi_wing_count(&wing, &cfg->rows, &cfg->blocks);
    mcpi_count_parts(cfg);
    return cfg->local_blocks < INT32_MAX;
}

/* The wing of the paper's proportions whose memory comes closest below the target, for each rank.
 */
static void choose_wing(rt_run_t *run, double target)
{
    mcpi_config_t *cfg = run->config;
    double low = 0, high = 64;
    for (int step = 0; step < 40; step++) {
        double scale = (low + high) / 2;
        cfg->surface = (int64_t)fmax(4, 104 * scale);
        cfg->layers = (int64_t)fmax(6, 51 * scale);
        if (count_wing(cfg) && rt_run_most_memory(run) <= target)
            low = scale;
        else
            high = scale;
    }
    cfg->surface = (int64_t)fmax(4, 104 * low);
    cfg->layers = (int64_t)fmax(6, 51 * low);
}

static void configure(rt_run_t *run, double target)
{
    mcpi_config_t *cfg = run->config;
    cfg->from_file = strcmp(cfg->mesh, "wing") != 0;
    if (cfg->from_file) {
        if (target > 0)
            rt_refuse(RT_USAGE, "--size is for meshes that are made: %s has the size it has",
                      cfg->mesh);
        mcpi_file_count(cfg);
    } else {
        if (target > 0)
            choose_wing(run, target);
        if (!count_wing(cfg))
            rt_refuse(RT_USAGE,
                      "--surface %lld --layers %lld is more than the rows and blocks that a rank "
                      "can number with 32 bits: use less of either, or more ranks",
                      (long long)cfg->surface, (long long)cfg->layers);
    }
    if (cfg->rows < rt_comm_size())
        rt_refuse(RT_USAGE, "--mesh %s has %lld vertices, fewer than the %d ranks that run",
                  cfg->mesh, (long long)cfg->rows, rt_comm_size());
}

static void describe(const rt_run_t *run, FILE *out)
{
    const mcpi_config_t *cfg = run->config;
    fprintf(out, "problem       %lld point-implicit sweeps, blocks %lldx%lld, on ",
            (long long)cfg->sweeps, (long long)cfg->nb, (long long)cfg->nb);
    if (cfg->from_file)
        fprintf(out, "%s: %lld rows, %lld off-diagonal blocks\n", cfg->mesh, (long long)cfg->rows,
                (long long)cfg->blocks);
    else
        fprintf(out, "a wing of surface %lld and %lld layers: %lld rows\n", (long long)cfg->surface,
                (long long)cfg->layers, (long long)cfg->rows);
    fprintf(out,
            "              O %s, dQ %s, sums %s, D and R fp64; rows in %s order; %s solution\n",
            types[cfg->offdiagonal], precisions[cfg->dq], precisions[cfg->accumulate],
            orders[cfg->order], solutions[cfg->solution]);
    if (!cfg->is_matrix)
        fprintf(out, "              Courant number %g, Mach %g, Reynolds %g\n", cfg->cfl, cfg->mach,
                cfg->reynolds);
    if (rt_comm_size() > 1)
        fprintf(out, "              %s colouring, exchange after every %s\n",
                colourings[cfg->colouring],
                cfg->colouring == MCPI_COLOUR_LOCAL ? "sweep" : exchanges[cfg->exchange]);
}

static const char *refuse(const rt_run_t *run, const rt_rung_t *rung)
{
    static char why[128];
    const mcpi_config_t *cfg = run->config;
    const mcpi_kernels_t *kernels = rung->kernels;
    if (!kernels || !kernels->types || kernels->types >> cfg->offdiagonal & 1)
        return NULL;
    int used = snprintf(why, sizeof why, "it takes --offdiagonal");
    const char *word = " ";
    for (int t = 0; t < MCPI_TYPES; t++)
        if (kernels->types >> t & 1) {
            used += snprintf(why + used, sizeof why - (size_t)used, "%s%s", word, types[t]);
            word = " or ";
        }
    return why;
}

static const char *note(const rt_rung_t *rung)
{
    const mcpi_kernels_t *kernels = rung->kernels;
    if (!kernels)
        return NULL;
    return kernels->reproducible ? "claims: the same bits from run to run, on any number of threads"
                                 : "the last bits vary from run to run";
}

static const rt_parameter_t *parameters(const rt_rung_t *rung, int *count)
{
    static const char *const blocks[] = {"64", "128", "256", "512", NULL};
    static const char *const small_blocks[] = {"64", "128", "256", NULL};
    static const rt_parameter_t threads = {"threads", "of a block", blocks, 1};
    static const rt_parameter_t few_threads = {"threads", "of a block", small_blocks, 1};
    const mcpi_kernels_t *kernels = rung->kernels;
    if (kernels == &mcpi_cpu_simd) {
        *count = MCPI_SIMD_PARAMETERS;
        return mcpi_simd_parameters;
    }
    *count = kernels && kernels->most_threads > 0;
    return *count && kernels->most_threads < 512 ? &few_threads : &threads;
}

/* What a block's bytes depend on, and how many of them there are to be kept in a cache. */
static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const mcpi_config_t *cfg = run->config;
    point[0] = (rt_coordinate_t){"nb", (double)cfg->nb, 4};
    point[1] = (rt_coordinate_t){"bytes", (double)mcpi_type_size((mcpi_type_t)cfg->offdiagonal), 4};
    point[2] = (rt_coordinate_t){"rows", (double)cfg->local_rows, 1};
    return 3;
}

/* --- result --- */

static void halo_result(const mcpi_problem_t *p, const mcpi_solver_t *s, json_t *out)
{
    json_t *halo = rt_json_object(out, "halo");
    int64_t values = 0, neighbours = 0;
    for (int c = 0; p->halo && c < p->part->colours; c++) {
        const rt_halo_info_t info = rt_halo_info(s->halo[c]);
        values += info.send_values;
        neighbours = info.neighbours > neighbours ? info.neighbours : neighbours;
    }
    rt_json_int(halo, "ghost_rows", p->part->ghosts);
    rt_json_int(halo, "rows_sent", values);
    rt_json_int(halo, "neighbours", neighbours);
    if (p->halo)
        rt_json_text(halo, "transport", rt_halo_info(s->halo[0]).transport);
    if (p->price_asked > 0 && rt_finite(p->price_asked) && rt_finite(p->price_default)) {
        rt_json_real(halo, "residual_with_default", p->price_default);
        rt_json_real(halo, "residual_as_asked", p->price_asked);
    }
}

static void result(const void *solver, json_t *out)
{
    const mcpi_solver_t *s = solver;
    const mcpi_problem_t *p = s->problem;
    rt_json_int(out, "rows", p->config->rows);
    rt_json_int(out, "off_diagonal_blocks", p->config->blocks);
    rt_json_int(out, "colours", p->part->colours);
    rt_json_real(out, "colour_imbalance", p->imbalance);
    json_t *history = rt_json_array(out, "residuals");
    for (int i = 0; i < p->samples; i++)
        if (rt_finite(p->sample_residual[i])) {
            json_t *o = rt_json_append_object(history);
            rt_json_int(o, "sweep", p->sample_sweep[i]);
            rt_json_real(o, "residual", p->sample_residual[i]);
        }
    char text[16];
    snprintf(text, sizeof text, "%012llx", (unsigned long long)p->fingerprint);
    rt_json_text(out, "dq_fingerprint", text);
    halo_result(p, s, out);
    rt_json_real(out, "seconds_mesh", p->seconds_mesh);
    rt_json_real(out, "seconds_colour", p->seconds_colour);
    rt_json_real(out, "seconds_blocks", p->seconds_blocks);
    rt_json_real(out, "seconds_factor", p->seconds_factor);
    rt_json_real(out, "seconds_rung_set_up", s->seconds_set_up);
}

static void compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    mcpi_compare(run, outcomes, out);
    mcpi_peers_compare(run, outcomes, out);
}

/* The last is the paper's size. */
static const char *const roofline_cases[] = {"surface=29 layers=24", "surface=52 layers=26",
                                             "surface=74 layers=40", "surface=104 layers=51", NULL};

const rt_app_t mcpi_app = {
    .name = "fun3d-mcpi",
    .purpose = "multicolour point-implicit sweeps of a block-sparse linear system (FUN3D)",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(mcpi_config_t),
    .ladder = mcpi_ladder,
    .n_rungs = MCPI_RUNGS,
    .size_option = "surface",
    .configure = configure,
    .describe = describe,
    .refuse = refuse,
    .memory = mcpi_memory,
    .work = mcpi_work,
    .problem_new = mcpi_problem_new,
    .problem_destroy = mcpi_problem_destroy,
    .digest = mcpi_digest,
    .solver_new = mcpi_solver_new,
    .solver_destroy = mcpi_solver_destroy,
    .verify_before = mcpi_verify_before,
    .spoil = mcpi_spoil,
    .solve = mcpi_solve,
    .verify_after = mcpi_verify_after,
    .result = result,
    .note = note,
    .parameters = parameters,
    .tune_point = tune_point,
    .compare = compare,
    .roofline_cases = roofline_cases,
    .roofline_settings = "sweeps=15",
    .paper = mcpi_paper,
};
