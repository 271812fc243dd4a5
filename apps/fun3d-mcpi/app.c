/*
 * app.c - fun3d-mcpi as the driver sees it: options, extents, results, and a table of functions.
 */
#include "config.h"
#include "mcpi.h"
#include "flow/march.h"
#include "peers/peers.h"
#include <string.h>

static const char *const precisions[] = {"fp64", "fp32", NULL};
static const char *const solutions[] = {"random", "constant", NULL};

#define CONFIG mcpi_config_t
static const rt_opt_t options[] = {
    RT_TEXT(CONFIG, mesh, "mesh", "NAME", "wing",
            "mesh: wing (half of a body with a wing-like bump, generated) or a mesh file (AFLR3 "
            ".b8.ugrid or .lb8.ugrid, Gmsh 4.1)"),
    RT_INT(
        CONFIG, surface, "surface", "N", "29", 2, 30000,
        "for the wing: 2N^2+2N+1 vertices on the surface; the paper's size is 104, with 51 layers; "
        "20, with 17 layers, if --only flow is given without both"),
    RT_INT(CONFIG, layers, "layers", "N", "24", 2, 100000,
           "for the wing: layers of cells on the surface"),
    RT_TEXT(CONFIG, walls, "walls", "LIST", "1",
            "tags of the boundary faces that are walls, or none; the tag of the wing is 1"),
    RT_INT(CONFIG, nb, "block-size", "N", "5", MCPI_MIN_NB, MCPI_MAX_NB,
           "unknowns per vertex: 5 for compressible flow, 4 for incompressible flow, 6 and 7 with "
           "turbulence, 15 with 10 species"),
    RT_CHOICE(CONFIG, offdiagonal, "offdiagonal", "NAME", "fp32", mcpi_type_names,
              "number format in which the off-diagonal blocks O are stored"),
    RT_CHOICE(CONFIG, dq, "dq", "NAME", "fp32", precisions,
              "precision in which the update dQ is stored"),
    RT_CHOICE(CONFIG, accumulate, "accumulate", "NAME", "fp32", precisions,
              "precision in which O dQ is summed; the triangular solves are always fp64"),
    RT_INT(
        CONFIG, sweeps, "sweeps", "N", "15", 1, 1e6,
        "sweeps per solve; per step of the ladder flow, where they may grow to 60 with --tolerance"),
    RT_CHOICE(CONFIG, solution, "solution", "NAME", "random", solutions,
              "the dQ from which R = A dQ is made; random: in (-1, 1) at each vertex; constant: 1, "
              "which the sweeps find more slowly"),
    RT_REAL(
        CONFIG, cfl, "cfl", "X", "10", 1e-3, 1e6,
        "Courant number of the pseudo-time step; a larger one makes A less diagonally dominant"),
    RT_TEXT(CONFIG, symmetry, "symmetry", "LIST", "auto",
            "for the ladder flow: tags of the boundary faces that are planes of symmetry, or none; "
            "auto: 3 for the wing, none for a file"),
    RT_REAL(CONFIG, flow_mach, "flow-mach", "X", "0.5", 1e-2, 5,
            "for the ladder flow: Mach number of the stream"),
    RT_REAL(CONFIG, angle, "angle", "X", "3", -90, 90,
            "for the ladder flow: angle of attack in degrees"),
    RT_REAL(
        CONFIG, flow_reynolds, "flow-reynolds", "X", "0", 0, 1e9,
        "for the ladder flow: Reynolds number by the length of the walls, of a laminar flow with "
        "constant viscosity and no slip; 0: no viscosity, and walls slip"),
    RT_REAL(
        CONFIG, courant, "courant", "X", "2", 1e-3, 1e9,
        "for the ladder flow: Courant number of the first step; it grows as the residual falls"),
    RT_INT(CONFIG, steps, "steps", "N", "2", 1, 1e6,
           "for the ladder flow: steps per solve; with --tolerance the most, and 1000 by default"),
    RT_REAL(CONFIG, tolerance, "tolerance", "X", "0", 0, 0.5,
            "for the ladder flow: end a solve when the residual has fallen to X of the first one; "
            "0: after --steps"),
};

/* --- sizes --- */

static void configure(rt_run_t *run)
{
    enum { FLOW_SURFACE = 20, FLOW_LAYERS = 17 }; /* 10 s on a core: the oracle takes most of it */
    enum { MOST_STEPS = 1000 };                   /* of a flow that converges */
    mcpi_config_t *config = run->config;
    config->from_file = strcmp(config->mesh, "wing") != 0;
    if (run->opt.only && strcmp(run->opt.only, "flow") == 0 && !run->opt.size &&
        !rt_run_given(run, "surface") && !rt_run_given(run, "layers")) {
        config->surface = FLOW_SURFACE;
        config->layers = FLOW_LAYERS;
    }
    if (config->tolerance > 0 && !rt_run_given(run, "steps"))
        config->steps = MOST_STEPS;
    if (strcmp(config->symmetry, "auto") == 0)
        config->symmetry = config->from_file ? "none" : "3";
    rt_run_refuse_ignored(run, config->from_file, "surface layers", "no effect with --mesh FILE");
    if (config->from_file)
        return; /* mcpi_input_new reads and checks the file */
    if (!mcpi_count_wing(config))
        rt_refuse(RT_USAGE,
                  "--surface %lld --layers %lld is more than the rows and blocks that a rank can "
                  "number with 32 bits: use less of either, or more ranks",
                  (long long)config->surface, (long long)config->layers);
    const int64_t columns = config->counts.rows / (config->layers + 1);
    if (columns < rt_comm_size())
        rt_refuse(RT_USAGE, "--surface %lld has %lld vertices, fewer than the %d ranks that run",
                  (long long)config->surface, (long long)columns, rt_comm_size());
}

/* Makes a wing of the paper's proportions, from 4 and 6 up. Scale PAPER_SURFACE * PAPER_LAYERS is
 * the paper's; every step of either number is a scale of its own. */
static bool extents(rt_run_t *run, int64_t scale)
{
    enum { PAPER_SURFACE = 104, PAPER_LAYERS = 51, LEAST_SURFACE = 4, LEAST_LAYERS = 6 };
    mcpi_config_t *config = run->config;
    config->from_file = strcmp(config->mesh, "wing") != 0;
    if (config->from_file)
        rt_refuse(RT_USAGE, "--size is for meshes that are made: %s has the size it has",
                  config->mesh);
    const int64_t surface = scale / PAPER_LAYERS, layers = scale / PAPER_SURFACE;
    config->surface = surface > LEAST_SURFACE ? surface : LEAST_SURFACE;
    config->layers = layers > LEAST_LAYERS ? layers : LEAST_LAYERS;
    return mcpi_count_wing(config);
}

static void describe(const rt_run_t *run, FILE *out)
{
    const mcpi_config_t config = mcpi_counted(run);
    const mcpi_counts_t *counts = &config.counts;
    fprintf(out, "problem       %lld point-implicit sweeps, blocks %lldx%lld, on ",
            (long long)config.sweeps, (long long)config.nb, (long long)config.nb);
    if (config.from_file)
        fprintf(out, "%s: %lld rows, %lld off-diagonal blocks\n", config.mesh,
                (long long)counts->rows, (long long)counts->blocks);
    else
        fprintf(out, "a wing of surface %lld and %lld layers: %lld rows\n",
                (long long)config.surface, (long long)config.layers, (long long)counts->rows);
    fprintf(out, "              O %s, dQ %s, sums %s, D and R fp64; %s solution\n",
            mcpi_type_names[config.offdiagonal], precisions[config.dq],
            precisions[config.accumulate], solutions[config.solution]);
    fprintf(out, "              Courant number %g, Mach %g, Reynolds %g\n", config.cfl, MCPI_MACH,
            MCPI_REYNOLDS);
    if (mcpi_wants_flow(run)) {
        fprintf(out, "flow          %s, Mach %g, %g degrees",
                config.flow_reynolds > 0 ? "laminar" : "euler", config.flow_mach, config.angle);
        if (config.flow_reynolds > 0)
            fprintf(out, ", Reynolds %g", config.flow_reynolds);
        fprintf(out, "; Courant number from %g\n", config.courant);
    }
}

/* Fills the point: the bytes of a block depend on nb and the type of O; the number of rows decides
 * whether they stay in a cache. */
static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const mcpi_config_t config = mcpi_counted(run);
    const double bytes = (double)mcpi_type_size((mcpi_type_t)config.offdiagonal);
    const int64_t rows = config.counts.local_rows; /* 0: of a file that was not read yet */
    point[0] = (rt_coordinate_t){"nb", (double)config.nb, 4};
    point[1] = (rt_coordinate_t){"bytes", bytes, 4};
    point[2] = (rt_coordinate_t){"rows", rows > 0 ? (double)rows : 1, 1};
    return 3;
}

/* --- problem and result --- */

static void *problem_new(const rt_run_t *run, void *input)
{
    mcpi_problem_t *p = mcpi_problem_new(run, input);
    if (p->matrix)
        mcpi_convergence_find(p);
    return p;
}

static void sweeps_result(const void *solver, rt_result_t *out)
{
    const mcpi_solver_t *s = solver;
    const mcpi_problem_t *p = s->problem;
    const mcpi_convergence_t *c = &p->convergence;
    json_t *json = out->json;
    rt_text_t text;
    const char *own = s->rung->kernels->precision;
    if (own && strcmp(own, MCPI_PRECISION) == 0)
        rt_text(&out->precision, "O %s, dQ %s, sums %s, solves fp64",
                mcpi_type_names[p->config->offdiagonal], precisions[p->config->dq],
                precisions[p->config->accumulate]);
    const bool at_once = s->kernels->sweeps && (s->view.dq || !s->halo);
    out->work->line[0].launches = at_once ? 1 / out->work->units : p->part->colours;
    const uint64_t left = p->run->opt.json ? mcpi_fingerprint(s) : 0; /* collective */
    if (!json)
        return;
    rt_json_int(json, "rows", p->counts.rows);
    rt_json_int(json, "off_diagonal_blocks", p->counts.blocks);
    rt_json_int(json, "colours", p->part->colours);
    rt_json_real(json, "colour_imbalance", mcpi_part_imbalance(p->part));
    json_t *history = rt_json_array(json, "residuals");
    for (int i = 0; i < c->samples; i++)
        if (rt_finite(c->residual[i])) {
            json_t *o = rt_json_append_object(history);
            rt_json_int(o, "sweep", c->sweep[i]);
            rt_json_real(o, "residual", c->residual[i]);
        }
    rt_json_text(json, "dq_fingerprint",
                 rt_text(&text, "%012llx", (unsigned long long)c->fingerprint));
    rt_json_text(json, "dq_left", rt_text(&text, "%012llx", (unsigned long long)left));
    json_t *halo = rt_json_object(json, "halo");
    rt_json_int(halo, "ghost_rows", p->part->ghosts);
    if (p->halo)
        rt_json_text(halo, "transport", s->view.dq ? "peer" : rt_halo_info(s->halo[0]).transport);
}

/* --- two ladders --- */

/* Without --rung and --ladder: sweeps. */
static const char *const *default_rungs(const rt_run_t *run, rt_kind_t kind, rt_text_t *why)
{
    static const char *const cpu[] = {"cpu-simd", NULL},
                             *const cuda[] = {"staged", "six-rows", NULL},
                             *const kokkos[] = {"kokkos", NULL};
    (void)run;
    (void)why;
    return kind == RT_CUDA ? cuda : kind == RT_CPU ? cpu : kokkos;
}

static bool is_flow(const rt_rung_t *rung)
{
    return rung->ladder && strcmp(rung->ladder, "flow") == 0; /* none: a rung made by a test */
}

/* Returns the rung of a solver of either ladder: they begin alike. */
static bool is_march(const void *solver)
{
    return is_flow(((const mcpi_solver_t *)solver)->rung);
}

/* Defines a hook that calls one of two functions, by the ladder. */
#define EITHER(is_flow_, name_, of_flow_, of_sweeps_, parameters_, ...) \
    static void name_ parameters_                                       \
    {                                                                   \
        (is_flow_ ? of_flow_ : of_sweeps_)(__VA_ARGS__);                \
    }
EITHER(is_flow(rung), work, mcpi_march_work, mcpi_work,
       (const rt_run_t *run, const rt_rung_t *rung, rt_work_t *out), run, rung, out)
EITHER(is_flow(rung), memory, mcpi_march_memory, mcpi_memory,
       (const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]), run, rung, bytes)
EITHER(is_march(solver), solver_destroy, mcpi_march_destroy, mcpi_solver_destroy, (void *solver),
       solver)
EITHER(is_march(solver), verify_before, mcpi_march_verify_before, mcpi_verify_before,
       (void *solver, uint64_t seed, rt_verdict_t *verdict), solver, seed, verdict)
EITHER(is_march(solver), verify_after, mcpi_march_verify_after, mcpi_verify_after,
       (void *solver, rt_verdict_t *verdict), solver, verdict)
EITHER(is_march(solver), spoil, mcpi_march_spoil, mcpi_spoil,
       (void *solver, uint64_t draw, rt_keep_t keep), solver, draw, keep)
EITHER(is_march(solver), solve, mcpi_march_solve, mcpi_solve, (void *solver), solver)
EITHER(is_march(solver), result, mcpi_march_result, sweeps_result,
       (const void *solver, rt_result_t *out), solver, out)

static void *solver_new(void *problem, const rt_rung_t *rung)
{
    return (is_flow(rung) ? mcpi_march_new : mcpi_solver_new)(problem, rung);
}

/* A rung of sweeps has no flow to show, and writes nothing. */
static void picture(const void *solver, const char *path)
{
    if (is_march(solver))
        mcpi_march_picture(solver, path);
}

/* --- the app --- */

#define RUNG(name, kind, after, ladder, table, idea) extern const mcpi_kernels_t table;
#include "ladder.def"
#undef RUNG
#define RUNG RT_RUNG_ON
static const rt_rung_t ladder[] = {
#include "ladder.def"
};
#undef RUNG

static const rt_extras_t extras = {.result = result,
                                   .default_rungs = default_rungs,
                                   .tune_point = tune_point,
                                   .picture = picture,
                                   .picture_ends = ".vtu",
                                   .dump = mcpi_dump,
                                   .compare = mcpi_peers_compare,
                                   .roofline_settings = "sweeps=15"};

static const char *const examples[] = {"fun3d-mcpi --list", "fun3d-mcpi --ladder",
                                       "fun3d-mcpi --mesh FILE.lb8.ugrid --offdiagonal fp16",
                                       "mpirun -n 4 fun3d-mcpi --size small", NULL};

const rt_app_t mcpi_app = {
    .name = "fun3d-mcpi",
    .purpose = "multicolour point-implicit sweeps of a block-sparse linear system (FUN3D)",
    .examples = examples,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(mcpi_config_t),
    .ladder = ladder,
    .n_rungs = sizeof ladder / sizeof *ladder,
    .size_option = "surface",
    .extras = &extras,
    .configure = configure,
    .extents = extents,
    .describe = describe,
    .memory = memory,
    .work = work,
    .input_new = mcpi_input_new,
    .input_destroy = mcpi_input_destroy,
    .problem_new = problem_new,
    .problem_destroy = mcpi_problem_destroy,
    .digest = mcpi_digest,
    .solver_new = solver_new,
    .solver_destroy = solver_destroy,
    .verify_before = verify_before,
    .spoil = spoil,
    .solve = solve,
    .verify_after = verify_after,
};
