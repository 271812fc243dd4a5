/*
 * app.c - gfnn-wave as the driver sees it: options, sizes, and a table of functions.
 */
#include "config.h"
#include "solver.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const faces[] = {"periodic", "free", "mirror", NULL};
static const char *const preconds[] = {"none", "bj", "cheb", "gf8", "gfm", NULL};
static const char *const coefs[] = {"const", "galerkin", "nn-reg", "nn-class", NULL};
static const char *const precisions[] = {"fp32", "fp16", NULL};
static const char *const sources[] = {"point", "plane", NULL};

#define AT(member) offsetof(gfnn_config_t, member)
static const rt_opt_t options[] = {
    {"elements", RT_OPT_EXTENTS, AT(n_elements), "NXxNYxNZ",
     "cubes of the box; the paper's size is 256x256x512 a GPU. A voxel file has its own",
     "48x48x48", 1, 65536, NULL},
    {"model", RT_OPT_STRING, AT(model), "NAME",
     "head (nested ellipsoids of eight tissues, made here), uniform, or a voxel file", "head", 0, 0,
     NULL},
    {"model-seed", RT_OPT_INT, AT(model_seed), "N",
     "head: 0 the nominal one, else one of its own proportions", "0", 0, 9e15, NULL},
    {"heads", RT_OPT_EXTENTS, AT(heads), "NXxNYxNZ",
     "head: so many side by side fill the box; for weak scaling 2x1x1, 2x2x1 and so on, with a box "
     "that grows as they do",
     "1x1x1", 1, 65536, NULL},
    {"vs", RT_OPT_REAL, AT(vs), "X", "uniform: speed of S waves, m/s", "80", 1e-3, 1e5, NULL},
    {"ds", RT_OPT_REAL, AT(ds), "X", "edge of an element, m", "1e-3", 1e-9, 1e6, NULL},
    {"dt", RT_OPT_REAL, AT(dt), "X", "time step, s", "20e-6", 1e-12, 1e6, NULL},
    {"vp", RT_OPT_REAL, AT(vp), "X", "speed of P waves, m/s", "200", 1e-3, 1e5, NULL},
    {"rho", RT_OPT_REAL, AT(rho), "X", "density, kg/m^3", "1000", 1e-3, 1e6, NULL},
    {"damping", RT_OPT_REAL, AT(damping), "X", "Rayleigh damping ratio h at both frequencies",
     "0.001", 0, 0.5, NULL},
    {"f1", RT_OPT_REAL, AT(f1), "X", "the lower of them, Hz", "500", 1e-6, 1e12, NULL},
    {"f2", RT_OPT_REAL, AT(f2), "X", "the upper of them, Hz", "5000", 1e-6, 1e12, NULL},
    {"faces", RT_OPT_CHOICE, AT(faces), NULL, "of the box; mirror: no displacement normal to them",
     "periodic", 0, 0, faces},
    {"precond", RT_OPT_CHOICE, AT(precond), NULL,
     "none; bj: inverses of 3x3 blocks (the paper's CGBJ); cheb: a Chebyshev polynomial over bj; "
     "gf8: the paper's network; gfm: that with M kernels",
     "gfm", 0, 0, preconds},
    {"coef", RT_OPT_CHOICE, AT(coef), NULL,
     "coefficients of gf8 and gfm: of Vs = 80 everywhere, by an energy fit at every node, by the "
     "network that learnt these, or by one that picks a class (the paper's)",
     "nn-reg", 0, 0, coefs},
    {"kernels", RT_OPT_INT, AT(kernels), "M", "gfm: kernels; shipped are 2, 4 and 8", "2", 1,
     GFNN_MAX_KERNELS, NULL},
    {"degree", RT_OPT_INT, AT(degree), "N", "of cheb", "5", 1, 64, NULL},
    {"smooth", RT_OPT_INT, AT(smooth), "N", "gf8, gfm: Jacobi sweeps before and after", "0", 0, 1,
     NULL},
    {"inner", RT_OPT_INT, AT(inner), "K",
     "FP32 iterations inside each iteration, with the same preconditioner", "0", 0, 64, NULL},
    {"precision", RT_OPT_CHOICE, AT(precision), NULL, "of r for gf8 and gfm; sums are fp32", "fp16",
     0, 0, precisions},
    {"weights", RT_OPT_STRING, AT(weights), "FILE",
     "trained network; shipped: that of inputs/gfnn-wave for this form, M and dt (20 or 15 us)",
     "shipped", 0, 0, NULL},
    {"tolerance", RT_OPT_REAL, AT(tolerance), "X", "a step ends at |A du - f| / |f| below it",
     "1e-8", 1e-14, 0.1, NULL},
    {"max-iterations", RT_OPT_INT, AT(max_iterations), "N", "of a step", "500", 1, 1000000, NULL},
    {"steps", RT_OPT_INT, AT(steps), "N", "time steps of a solve", "4", 1, 1000000, NULL},
    {"source", RT_OPT_CHOICE, AT(source), NULL,
     "point: a Ricker wavelet at one node; plane: an S wave along x that is there at the start, in "
     "a uniform periodic box",
     "point", 0, 0, sources},
    {"frequency", RT_OPT_REAL, AT(frequency), "X", "of the wavelet, Hz", "2000", 1e-6, 1e12, NULL},
    {"ranks", RT_OPT_STRING, AT(ranks), "PXxPYxPZ", "boxes of the ranks, or auto: least surface",
     "auto", 0, 0, NULL},
};

static bool given(const gfnn_config_t *cfg, const char *name)
{
    const rt_opt_set_t set = {"", options, (int)(sizeof options / sizeof *options), (void *)cfg};
    return rt_opt_given(&set, 1, name);
}

static bool from_file(const gfnn_config_t *cfg)
{
    return strcmp(cfg->model, "head") != 0 && strcmp(cfg->model, "uniform") != 0;
}

/* --- what does not go together --- */

static void check_solver(const gfnn_config_t *cfg)
{
    const char *precond = preconds[cfg->precond];
    const bool shipped = strcmp(cfg->weights, "shipped") == 0;
    if (cfg->precond == GFNN_GFM && shipped && cfg->kernels != 2 && cfg->kernels != 4 &&
        cfg->kernels != 8)
        rt_refuse(RT_USAGE,
                  "--kernels %lld: shipped are networks of 2, 4 and 8; or name a file with "
                  "--weights (tools/train-gfnn makes them)",
                  (long long)cfg->kernels);
    if (!shipped && !gfnn_has_network(cfg))
        rt_refuse(RT_USAGE, "--weights %s: --precond %s has no network; use gf8 or gfm",
                  cfg->weights, precond);
    if (cfg->smooth > 0 && !gfnn_has_network(cfg))
        rt_refuse(RT_USAGE,
                  "--smooth %lld: sweeps before and after a network, and --precond %s "
                  "has none; use gf8 or gfm",
                  (long long)cfg->smooth, precond);
    if (cfg->inner > 0 && cfg->precond == GFNN_NONE)
        rt_refuse(RT_USAGE,
                  "--inner %lld: inner iterations are those of a preconditioned method, and "
                  "--precond is none; use bj, cheb, gf8 or gfm",
                  (long long)cfg->inner);
}

static void check_physics(const gfnn_config_t *cfg)
{
    if (strcmp(cfg->model, "uniform") == 0 && cfg->vs > cfg->vp / sqrt(2))
        rt_refuse(RT_USAGE,
                  "--vs %g is above --vp %g / sqrt(2) = %.6g: Lame's lambda would be negative",
                  cfg->vs, cfg->vp, cfg->vp / sqrt(2));
    if (cfg->source == GFNN_PLANE &&
        (strcmp(cfg->model, "uniform") != 0 || cfg->faces != GFNN_PERIODIC))
        rt_refuse(RT_USAGE, "--source plane: such a wave lives in a uniform periodic box; add "
                            "--model uniform --faces periodic");
    if (cfg->source == GFNN_PLANE && cfg->n_elements[0] < 4)
        rt_refuse(RT_USAGE, "--source plane: a wave of 4 elements at least; the box has %lld in x",
                  (long long)cfg->n_elements[0]);
    if (cfg->source == GFNN_POINT && cfg->faces == GFNN_MIRROR && cfg->n_elements[2] < 2)
        rt_refuse(RT_USAGE, "--elements: with one element in z, mirror faces hold every node that "
                            "the source could move");
    if (cfg->source == GFNN_POINT && cfg->frequency * cfg->dt > 0.25)
        rt_refuse(RT_USAGE,
                  "--frequency %g: a period is %.3g time steps of --dt %g; 4 are the least",
                  cfg->frequency, 1 / (cfg->frequency * cfg->dt), cfg->dt);
}

/* --- sizes --- */

static void count_nodes(gfnn_config_t *cfg)
{
    for (int d = 0; d < 3; d++)
        cfg->n_nodes[d] = cfg->n_elements[d] + (cfg->faces != GFNN_PERIODIC);
}

static void take_voxels(gfnn_config_t *cfg)
{
    int64_t E[3];
    double ds = cfg->ds;
    gfnn_voxel_extents(cfg->model, E, &ds);
    const int64_t *n = cfg->n_elements;
    if (given(cfg, "elements") && memcmp(E, n, sizeof E) != 0)
        rt_refuse(RT_USAGE, "--elements %lldx%lldx%lld: %s has %lldx%lldx%lld", (long long)n[0],
                  (long long)n[1], (long long)n[2], cfg->model, (long long)E[0], (long long)E[1],
                  (long long)E[2]);
    if (given(cfg, "ds") && fabs(ds - cfg->ds) > 1e-9 * ds)
        rt_refuse(RT_USAGE, "--ds %g: %s has a spacing of %g m", cfg->ds, cfg->model, ds);
    memcpy(cfg->n_elements, E, sizeof E);
    cfg->ds = ds;
}

static bool one_head(const gfnn_config_t *cfg)
{
    return cfg->heads[0] == 1 && cfg->heads[1] == 1 && cfg->heads[2] == 1;
}

static void check_heads(const gfnn_config_t *cfg)
{
    const int64_t *n = cfg->heads, *E = cfg->n_elements;
    if (one_head(cfg))
        return;
    if (strcmp(cfg->model, "head") != 0)
        rt_refuse(RT_USAGE, "--heads %lldx%lldx%lld: only --model head can be repeated, not %s",
                  (long long)n[0], (long long)n[1], (long long)n[2], cfg->model);
    for (int d = 0; d < 3; d++)
        if (E[d] % n[d] != 0)
            rt_refuse(RT_USAGE,
                      "--heads %lldx%lldx%lld: a box of %lldx%lldx%lld elements cannot be divided "
                      "so; change --elements",
                      (long long)n[0], (long long)n[1], (long long)n[2], (long long)E[0],
                      (long long)E[1], (long long)E[2]);
}

/* A cube for each rank, of the largest edge whose memory is below the target. */
static void choose_cubes(rt_run_t *run, double target)
{
    /* edges are multiples of STEP: rows without a rest; a rank cannot number more than MOST */
    enum { STEP = 4, LEAST = 2, USUAL = 256, MOST = 320 };
    gfnn_config_t *cfg = run->config;
    for (int d = 0; d < 3; d++)
        cfg->n_elements[d] = STEP * USUAL;
    count_nodes(cfg);
    gfnn_box_choose(cfg, rt_comm_size());
    int64_t low = LEAST, high = MOST;
    while (high - low > 1) {
        const int64_t edge = (low + high) / 2;
        for (int d = 0; d < 3; d++)
            cfg->n_elements[d] = STEP * edge * cfg->n_ranks[d];
        count_nodes(cfg);
        if (rt_run_most_memory(run) <= target)
            low = edge;
        else
            high = edge;
    }
    for (int d = 0; d < 3; d++)
        cfg->n_elements[d] = STEP * low * cfg->n_ranks[d];
}

static void check_picture(const rt_run_t *run)
{
    if (!run->opt.picture)
        return;
    const char *why = gfnn_picture_why_not(run->opt.picture);
    if (why)
        rt_refuse(RT_USAGE, "--picture %s: %s", run->opt.picture, why);
    const rt_rung_t *rung =
        run->opt.rung ? rt_ladder_find(gfnn_ladder, GFNN_RUNGS, run->opt.rung) : NULL;
    if (rung && strcmp(rung->ladder, "solve") != 0)
        rt_refuse(RT_USAGE, "--picture: --rung %s computes no wave; take one that solves",
                  rung->name);
}

static void configure(rt_run_t *run, double target)
{
    gfnn_config_t *cfg = run->config;
    check_picture(run);
    if (run->opt.roofline && !run->opt.rung)
        rt_refuse(RT_USAGE, "--roofline: each of the three ladders has one; say which rung's with "
                            "--rung");
    check_solver(cfg);
    if (from_file(cfg)) {
        if (target > 0)
            rt_refuse(RT_USAGE, "--size is for models that are made: %s has the size it has",
                      cfg->model);
        take_voxels(cfg);
    } else if (target > 0) {
        choose_cubes(run, target);
    }
    check_heads(cfg);
    check_physics(cfg);
    count_nodes(cfg);
    gfnn_box_choose(cfg, rt_comm_size());
}

static void describe(const rt_run_t *run, FILE *out)
{
    const gfnn_config_t *cfg = run->config;
    const int64_t *E = cfg->n_elements, *N = cfg->n_nodes;
    const long long steps = (long long)cfg->steps;
    fprintf(out, "problem       %lld implicit time step%s of elastic waves, ", steps,
            steps > 1 ? "s" : "");
    if (!one_head(cfg))
        fprintf(out, "%lldx%lldx%lld times ", (long long)cfg->heads[0], (long long)cfg->heads[1],
                (long long)cfg->heads[2]);
    if (strcmp(cfg->model, "uniform") == 0)
        fprintf(out, "uniform, Vs %g m/s", cfg->vs);
    else if (cfg->model_seed && !from_file(cfg))
        fprintf(out, "%s number %lld", cfg->model, (long long)cfg->model_seed);
    else
        fprintf(out, "%s", cfg->model);
    fprintf(out, ": %lldx%lldx%lld elements of %g m, %.0f nodes, %s faces\n", (long long)E[0],
            (long long)E[1], (long long)E[2], cfg->ds, (double)N[0] * (double)N[1] * (double)N[2],
            faces[cfg->faces]);
    fprintf(out,
            "              dt %g s, Vp %g m/s, Vp dt/ds %g, rho %g kg/m^3, damping %g at %g and %g "
            "Hz\n",
            cfg->dt, cfg->vp, cfg->vp * cfg->dt / cfg->ds, cfg->rho, cfg->damping, cfg->f1,
            cfg->f2);
    fprintf(out, "              CG to %g, preconditioner ", cfg->tolerance);
    if (cfg->inner > 0)
        fprintf(out, "%lld FP32 iterations with ", (long long)cfg->inner);
    fprintf(out, "%s", preconds[cfg->precond]);
    if (cfg->precond == GFNN_CHEB)
        fprintf(out, " of degree %lld", (long long)cfg->degree);
    if (cfg->precond == GFNN_GFM)
        fprintf(out, " of %lld kernels", (long long)cfg->kernels);
    if (gfnn_has_network(cfg))
        fprintf(out, ", coefficients %s, r in %s%s", coefs[cfg->coef], precisions[cfg->precision],
                cfg->smooth ? ", Jacobi before and after" : "");
    if (cfg->source == GFNN_POINT)
        fprintf(out, "; point source of %g Hz\n", cfg->frequency);
    else
        fprintf(out, "; plane S wave\n");
    if (rt_comm_size() > 1)
        fprintf(out, "              boxes of the ranks %dx%dx%d\n", cfg->n_ranks[0],
                cfg->n_ranks[1], cfg->n_ranks[2]);
}

/* --- rungs --- */

static const gfnn_predictor_t *predictor_of(const gfnn_kernels_t *kernels, const gfnn_config_t *cfg)
{
    return kernels->predictor[gfnn_precision_of(kernels, cfg)];
}

static const char *refuse(const rt_run_t *run, const rt_rung_t *rung)
{
    static char why[128];
    const gfnn_config_t *cfg = run->config;
    const gfnn_kernels_t *kernels = rung->kernels;
    if (!kernels || kernels->ladder == GFNN_LADDER_OPERATOR)
        return NULL;
    const bool solve = kernels->ladder == GFNN_LADDER_SOLVE;
    if (solve && gfnn_needs_apply32(cfg) && !kernels->op->apply32)
        return "its operator has no FP32, which cheb, --smooth and --inner take";
    if (!gfnn_has_network(cfg))
        return solve ? NULL : "it applies a network, and --precond has none; use gf8 or gfm";
    const gfnn_predictor_t *predictor = predictor_of(kernels, cfg);
    if (!predictor || !(predictor->precisions >> gfnn_precision_of(kernels, cfg) & 1)) {
        snprintf(why, sizeof why, "it takes no --precision %s", precisions[cfg->precision]);
        return why;
    }
    if (!(predictor->forms >> cfg->precond & 1)) {
        snprintf(why, sizeof why, "it takes no --precond %s", preconds[cfg->precond]);
        return why;
    }
    return NULL;
}

static const char *note(const rt_rung_t *rung)
{
    const gfnn_kernels_t *kernels = rung->kernels;
    if (!kernels)
        return NULL;
    bool same = !kernels->op || kernels->op->reproducible;
    for (int i = 0; i < GFNN_PRECISIONS; i++)
        same = same && (!kernels->predictor[i] || kernels->predictor[i]->reproducible);
    return same ? "claims: the same bits from run to run, on any number of threads"
                : "the last bits vary from run to run";
}

const rt_parameter_t *gfnn_parameters(const rt_rung_t *rung, int *count)
{
    const gfnn_kernels_t *kernels = rung->kernels;
    const gfnn_operator_t *op = kernels ? kernels->op : NULL;
    *count = op ? op->n_parameters : 0;
    return op ? op->parameters : NULL;
}

/* Rows that a tile is cut from, and what there is to be kept in a cache. */
static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const gfnn_config_t *cfg = run->config;
    double nodes = 1;
    for (int d = 0; d < 3; d++)
        nodes *= (double)cfg->n_nodes[d] / cfg->n_ranks[d];
    point[0] = (rt_coordinate_t){"x", (double)cfg->n_nodes[0] / cfg->n_ranks[0], 1};
    point[1] = (rt_coordinate_t){"nodes", nodes, 1};
    return 2;
}

/* --- result --- */

static void result(const void *solver, json_t *out)
{
    const gfnn_solver_t *s = solver;
    const gfnn_problem_t *p = s->problem;
    const gfnn_config_t *cfg = p->cfg;
    const int64_t *N = cfg->n_nodes, *E = cfg->n_elements;
    rt_json_int(out, "nodes", N[0] * N[1] * N[2]);
    rt_json_int(out, "elements", E[0] * E[1] * E[2]);
    rt_json_text(out, "ladder", s->rung->ladder);
    rt_json_real(out, "seconds_model", p->seconds_model);
    rt_json_real(out, "seconds_coefficients", p->seconds_coef);
    if (s->halo_fine)
        rt_json_text(out, "transport", rt_halo_info(s->halo_fine).transport);
    if (s->kernels->ladder != GFNN_LADDER_SOLVE)
        return;
    rt_json_text(out, "preconditioner", preconds[cfg->precond]);
    json_t *history = rt_json_array(out, "iterations");
    for (int64_t i = 0; i < s->steps && i < GFNN_MAX_HISTORY; i++)
        json_array_append_new(history, json_integer((json_int_t)s->history[i]));
    if (rt_finite(s->residual))
        rt_json_real(out, "residual", s->residual);
    if (!p->oracle)
        return;
    rt_json_int(out, "iterations_cgbj", p->oracle->iterations_bj);
    rt_json_real(out, "norm_du", p->oracle->norm); /* the judge's own; the same on any ranks */
    rt_json_real(out, "norm_u", p->oracle->end_norm[0]);
}

/* The last is the paper's size a GPU. */
static const char *const roofline_cases[] = {"elements=48x48x48", "elements=128x128x128",
                                             "elements=256x256x256", "elements=256x256x512", NULL};

const rt_app_t gfnn_app = {
    .name = "gfnn-wave",
    .purpose = "implicit elastic waves in a voxel model, preconditioned by a Green's-function "
               "network",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(gfnn_config_t),
    .ladder = gfnn_ladder,
    .n_rungs = GFNN_RUNGS,
    .size_option = "elements",
    .configure = configure,
    .describe = describe,
    .refuse = refuse,
    .memory = gfnn_memory,
    .work = gfnn_work,
    .problem_new = gfnn_problem_new,
    .problem_destroy = gfnn_problem_destroy,
    .digest = gfnn_digest,
    .solver_new = gfnn_solver_new,
    .solver_destroy = gfnn_solver_destroy,
    .verify_before = gfnn_verify_before,
    .spoil = gfnn_spoil,
    .solve = gfnn_solve,
    .verify_after = gfnn_verify_after,
    .work_done = gfnn_work_done,
    .result = result,
    .picture = gfnn_picture,
    .note = note,
    .parameters = gfnn_parameters,
    .tune_point = tune_point,
    .compare = gfnn_compare,
    .roofline_cases = roofline_cases,
    .roofline_settings = "steps=1",
    .paper = gfnn_paper,
};
