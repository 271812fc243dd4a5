/*
 * app.c - gfnn-wave as the driver sees it: options, sizes, and a table of functions.
 */
#include "config.h"
#include <string.h>
#include "gfnn.h"
#include "base/numbers.h"
#include "judge/judge.h"

static const char *const faces[] = {"periodic", "free", NULL};
static const char *const coefs[] = {"nn-reg", "nn-class", NULL};
static const char *const precisions[] = {"fp32", "fp16", NULL};
static const char *const types[] = {"fp64", "fp32", NULL};

#define CONFIG gfnn_config_t
static const rt_opt_t options[] = {
    RT_EXTENTS(
        CONFIG, n_elements, "elements", "NXxNYxNZ", "48x48x48", 1, 65536,
        "elements (cubes) of the box; the paper's size is 256x256x512 per GPU; a voxel file sets "
        "its own"),
    RT_TEXT(
        CONFIG, model, "model", "NAME", "head",
        "model: head (nested ellipsoids of eight tissues, generated), uniform (Vs 80 m/s, or VS by "
        "uniform:VS), or a voxel file"),
    RT_EXTENTS(
        CONFIG, heads, "heads", "NXxNYxNZ", "1x1x1", 1, 65536,
        "for the head: how many heads fill the box; for weak scaling use 2x1x1, 2x2x1 and so on, "
        "with a box that grows with them"),
    RT_REAL(CONFIG, dt, "dt", "X", "20e-6", 1e-12, 1e6, "time step, s"),
    RT_REAL(CONFIG, damping, "damping", "X", "0.001", 0, 0.5,
            "Rayleigh damping ratio h at 500 and 5000 Hz"),
    RT_CHOICE(CONFIG, faces, "faces", "NAME", "periodic", faces,
              "boundary condition on the faces of the box"),
    RT_TEXT(
        CONFIG, form, "precond", "NAME", "auto",
        "preconditioner of CG; bj: inverses of 3x3 blocks (the paper's CGBJ); chebN: a Chebyshev "
        "polynomial of degree N over bj (cheb: 7); gf8: the paper's network; gfmM: the same with M "
        "kernels, of which 2, 4 and 8 are shipped (gfm: 2); auto: the fastest known, which is gfm "
        "in CUDA, and cheb on CPUs and in Kokkos; gfm where a rung is run that applies a network, or "
        "an option of networks is given"),
    RT_CHOICE(CONFIG, coef, "coef", "NAME", "nn-reg", coefs,
              "coefficients of gf8 and gfm; nn-reg: by a network that learnt the fit of least "
              "energy at every node; nn-class: by a network that picks a class (the paper's)"),
    RT_INT(
        CONFIG, reach, "reach", "ND", "3", GFNN_ND, GFNN_MAX_ND,
        "for gf8 and gfm: nodes to each side that a kernel reads; networks of 3 are shipped, and "
        "of 6 for gf8 and two kernels at 20 us; tensor and OpenACC have 3 alone, so solve-cuda takes "
        "more with --precision fp32"),
    RT_CHOICE(CONFIG, precision, "precision", "NAME", "fp16", precisions,
              "for gf8 and gfm: precision of r; sums are in fp32"),
    RT_CHOICE(CONFIG, vectors, "vectors", "NAME", "fp32", types,
              "what conjugate gradients keep their vectors in; fp32: half the bytes, and the FP64 "
              "residual takes the place of theirs whenever it has fallen to 1e-4"),
    RT_TEXT(
        CONFIG, weights, "weights", "FILE", "shipped",
        "file of the trained network; shipped: the one in inputs/gfnn-wave for this form, M and "
        "dt (20 or 15 us)"),
    RT_REAL(CONFIG, tolerance, "tolerance", "X", "1e-8", 1e-14, 0.1,
            "end a time step when |A du - f| / |f| is below this"),
    RT_INT(CONFIG, max_iterations, "max-iterations", "N", "500", 1, 1000000,
           "maximum of iterations per time step"),
    RT_INT(CONFIG, steps, "steps", "N", "4", 1, 1000000, "time steps per solve"),
    RT_REAL(CONFIG, frequency, "frequency", "X", "2000", 1e-6, 1e12,
            "frequency of the source, a Ricker wavelet at one node, Hz"),
    RT_TEXT(CONFIG, ranks, "ranks", "PXxPYxPZ", "auto",
            "box of MPI ranks; auto: the box with the smallest surface"),
    RT_EXTENTS(
        CONFIG, green, "green", "XxYxZ", "-1", -1, 65536,
        "instead of a run: Green's functions of this node, columns of A^-1 by CG to 1e-12; their "
        "expansions by the network of --precond; and what these lack; --picture has them for a "
        "force along z; -1: a run"),
};

/* --- what does not go together --- */

static void check_solver(const gfnn_config_t *config)
{
    const bool shipped = strcmp(config->weights, "shipped") == 0;
    if (config->precond == GFNN_GFM && shipped && config->kernels != 2 && config->kernels != 4 &&
        config->kernels != 8)
        rt_refuse(
            RT_USAGE,
            "--precond %s: networks of 2, 4 and 8 kernels are shipped; for others name a file "
            "with --weights (tools/train-gfnn makes them)",
            config->form);
    if (!shipped && !gfnn_has_network(config))
        rt_refuse(RT_USAGE, "--weights %s: --precond %s has no network; use gf8 or gfm",
                  config->weights, config->form);
}

static void check_source(const gfnn_config_t *config)
{
    if (config->frequency * config->dt > 0.25)
        rt_refuse(RT_USAGE,
                  "--frequency %g: a period is %.3g time steps of --dt %g; it needs at least 4",
                  config->frequency, 1 / (config->frequency * config->dt), config->dt);
}

/* --- the preconditioner --- */

/* Returns the preconditioner with which the rungs asked for make a time step fastest (README.md,
 * "Preconditioners"), or the one that options are given for. */
static int fastest_precond(const rt_run_t *run)
{
    static const char *const of_networks[] = {"coef", "reach", "precision", "weights", "green"};
    for (size_t i = 0; i < sizeof of_networks / sizeof *of_networks; i++)
        if (rt_run_given(run, of_networks[i]))
            return GFNN_GFM;
    const rt_rung_t *rung = rt_run_asked(run);
    const char *ladder = rung ? rung->ladder : run->opt.ladder ? run->opt.only : "solve";
    if (!ladder || strcmp(ladder, "solve") != 0)
        return GFNN_GFM;
    return (rung ? rung->kind == RT_CUDA : rt_device_stream() != NULL) ? GFNN_GFM : GFNN_CHEB;
}

/* By gfnn_precond_t; cheb and gfm are followed by a number of at most `most`. */
static const struct {
    const char *name;
    int usual, most;
} forms[] = {[GFNN_BJ] = {"bj", 0, 0},
             [GFNN_CHEB] = {"cheb", 7, 64},
             [GFNN_GF8] = {"gf8", 0, 0},
             [GFNN_GFM] = {"gfm", 2, GFNN_MAX_KERNELS}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Sets precond, kernels and degree from what was asked for. The options of a run get the name of
 * what stands for auto. */
static void take_form(const rt_run_t *run)
{
    gfnn_config_t *config = run->config;
    if (config->form != config->form_text)
        config->form_asked = config->form;
    const char *asked = config->form_asked;
    int form = strcmp(asked, "auto") == 0 ? fastest_precond(run) : FORMS, number = 0, end;
    for (int f = 0; f < FORMS && form == FORMS; f++) {
        const size_t length = strlen(forms[f].name);
        if (strncmp(asked, forms[f].name, length) != 0)
            continue;
        if (asked[length] == '\0')
            form = f;
        else if (sscanf(asked + length, "%3d%n", &number, &end) == 1 &&
                 asked[length + (size_t)end] == '\0' && number >= 1 && number <= forms[f].most)
            form = f;
    }
    if (form == FORMS)
        rt_refuse(
            RT_USAGE,
            "--precond %s: must be bj, chebN with N from 1 to 64, gf8, gfmM with M from 1 to %d, "
            "or auto",
            asked, GFNN_MAX_KERNELS);
    number = number > 0 ? number : forms[form].usual;
    config->precond = form;
    config->kernels = form == GFNN_GFM ? number : forms[GFNN_GFM].usual;
    config->degree = form == GFNN_CHEB ? number : forms[GFNN_CHEB].usual;
    config->form = config->form_text;
    snprintf(config->form_text, sizeof config->form_text, number > 0 ? "%s%d" : "%s",
             forms[form].name, number);
}

/* --- sizes --- */

static void take_voxels(const rt_run_t *run)
{
    gfnn_config_t *config = run->config;
    int64_t E[3];
    gfnn_voxel_extents(config->model, E, &config->ds);
    const int64_t *n = config->n_elements;
    if (rt_run_given(run, "elements") && memcmp(E, n, sizeof E) != 0)
        rt_refuse(RT_USAGE, "--elements %lldx%lldx%lld: %s has %lldx%lldx%lld", (long long)n[0],
                  (long long)n[1], (long long)n[2], config->model, (long long)E[0], (long long)E[1],
                  (long long)E[2]);
    memcpy(config->n_elements, E, sizeof E);
}

static bool one_head(const gfnn_config_t *config)
{
    return config->heads[0] == 1 && config->heads[1] == 1 && config->heads[2] == 1;
}

static void check_heads(const gfnn_config_t *config)
{
    const int64_t *n = config->heads, *E = config->n_elements;
    if (one_head(config))
        return;
    if (strcmp(config->model, "head") != 0)
        rt_refuse(RT_USAGE, "--heads %lldx%lldx%lld: only --model head can be repeated, not %s",
                  (long long)n[0], (long long)n[1], (long long)n[2], config->model);
    for (int d = 0; d < 3; d++)
        if (E[d] % n[d] != 0)
            rt_refuse(RT_USAGE,
                      "--heads %lldx%lldx%lld: a box of %lldx%lldx%lld elements cannot be divided "
                      "so; change --elements",
                      (long long)n[0], (long long)n[1], (long long)n[2], (long long)E[0],
                      (long long)E[1], (long long)E[2]);
}

/* Edges of scale 1, 2, ... are 8, 12, ... elements per rank: rows without a remainder. A rank
 * cannot number more than MOST. */
enum { STEP = 4, MOST = 1280, USUAL = 1024 };

static void set_edges(gfnn_config_t *config, int64_t edge, const int ranks[3])
{
    for (int d = 0; d < 3; d++)
        config->n_elements[d] = edge * ranks[d];
    gfnn_box_count(config);
}

/* A cube for each rank. The ranks are arranged as in a large cube. */
static bool extents(rt_run_t *run, int64_t scale)
{
    static const int one[3] = {1, 1, 1};
    gfnn_config_t *config = run->config;
    if (gfnn_is_file(config->model))
        rt_refuse(RT_USAGE, "--size is for models that are generated: the size of %s is given",
                  config->model);
    if (scale >= MOST / STEP - 1)
        return false;
    take_form(run);
    config->precond = GFNN_GFM; /* a size is one problem, whatever preconditions it */
    set_edges(config, USUAL, one);
    gfnn_box_choose(config, rt_comm_size());
    set_edges(config, STEP * (scale + 1), config->n_ranks);
    return true;
}

static void check_picture(const rt_run_t *run)
{
    const rt_rung_t *rung = rt_run_asked(run);
    if (run->opt.picture && rung && strcmp(rung->ladder, "solve") != 0)
        rt_refuse(RT_USAGE, "--picture: --rung %s computes no wave; take one that solves",
                  rung->name);
}

/* --green is answered on the CPU, whatever rungs there are. */
static void take_green(const rt_run_t *run)
{
    gfnn_config_t *config = run->config;
    const rt_options_t *opt = &run->opt;
    const int64_t *at = config->green, *N = config->n_nodes;
    if (at[0] < 0)
        return;
    if (opt->rung || opt->ladder || opt->roofline || opt->tune || opt->json || opt->size)
        rt_refuse(RT_USAGE, "--green is answered instead of a run: leave out --rung, --ladder, "
                            "--roofline, --tune, --json and --size");
    if (!gfnn_has_network(config))
        rt_refuse(RT_USAGE, "--green: --precond %s has no network; use gf8 or gfm", config->form);
    for (int d = 0; d < 3; d++)
        if (at[d] < 0 || at[d] >= N[d])
            rt_refuse(RT_USAGE, "--green: no node has number %lld along %c; they have 0 to %lld",
                      (long long)at[d], "xyz"[d], (long long)N[d] - 1);
    config->tolerance = rt_run_given(run, "tolerance") ? config->tolerance : 1e-12;
    config->vectors = GFNN_DOUBLE;
}

static void configure(rt_run_t *run)
{
    gfnn_config_t *config = run->config;
    check_picture(run);
    if (run->opt.roofline && !run->opt.rung)
        rt_refuse(RT_USAGE, "--roofline: each of the three ladders has one; name a rung of it with "
                            "--rung");
    take_form(run);
    rt_run_refuse_ignored(run, !gfnn_has_network(config), "coef precision reach",
                          "for --precond gf8 and gfm alone");
    check_solver(config);
    config->ds = GFNN_DS;
    if (gfnn_is_file(config->model))
        take_voxels(run);
    check_heads(config);
    check_source(config);
    gfnn_box_count(config);
    gfnn_box_choose(config, rt_comm_size());
    take_green(run);
}

static void describe(const rt_run_t *run, FILE *out)
{
    const gfnn_config_t *config = run->config;
    const int64_t *E = config->n_elements, *N = config->n_nodes;
    const long long steps = (long long)config->steps;
    fprintf(out, "problem       %lld implicit time step%s of elastic waves, ", steps,
            steps > 1 ? "s" : "");
    if (!one_head(config))
        fprintf(out, "%lldx%lldx%lld times ", (long long)config->heads[0],
                (long long)config->heads[1], (long long)config->heads[2]);
    fprintf(out, "%s: %lldx%lldx%lld elements of %g m, %.0f nodes, %s faces\n", config->model,
            (long long)E[0], (long long)E[1], (long long)E[2], config->ds,
            (double)N[0] * (double)N[1] * (double)N[2], faces[config->faces]);
    fprintf(out,
            "              dt %g s, Vp %g m/s, Vp dt/ds %g, rho %g kg/m^3, damping %g at %g and %g "
            "Hz\n",
            config->dt, GFNN_VP, GFNN_VP * config->dt / config->ds, GFNN_RHO, config->damping,
            GFNN_F1, GFNN_F2);
    fprintf(out, "              CG to %g, vectors in %s, preconditioner ", config->tolerance,
            types[config->vectors]);
    fprintf(out, "%s", config->form);
    if (gfnn_has_network(config) && config->reach != GFNN_ND)
        fprintf(out, " of reach %lld", (long long)config->reach);
    if (gfnn_has_network(config))
        fprintf(out, ", coefficients %s, r in %s", coefs[config->coef],
                precisions[config->precision]);
    fprintf(out, "; source of %g Hz\n", config->frequency);
    if (rt_comm_size() > 1)
        fprintf(out, "              boxes of the ranks %dx%dx%d\n", config->n_ranks[0],
                config->n_ranks[1], config->n_ranks[2]);
}

/* The length of rows, which tiles are cut from, and what a cache would have to keep. */
static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const gfnn_config_t *config = run->config;
    double nodes = 1;
    for (int d = 0; d < 3; d++)
        nodes *= (double)config->n_nodes[d] / config->n_ranks[d];
    point[0] = (rt_coordinate_t){"x", (double)config->n_nodes[0] / config->n_ranks[0], 1};
    point[1] = (rt_coordinate_t){"nodes", nodes, 1};
    return 2;
}

static const rt_extras_t extras = {
    .result = gfnn_result,
    .tune_point = tune_point,
    .answer = gfnn_answer,
    .picture = gfnn_picture,
    .picture_ends = ".vti",
    .dump = gfnn_dump,
    .roofline_settings = "steps=1",
};

#define RUNG(name, kind, after, ladder, table, idea) extern const gfnn_kernels_t table;
#include "ladder.def"
#undef RUNG
#define RUNG RT_RUNG_ON
static const rt_rung_t ladder[] = {
#include "ladder.def"
};
#undef RUNG

static const char *const examples[] = {"gfnn-wave --list", "gfnn-wave --ladder --only operator",
                                       "gfnn-wave --frequency 5000 --steps 14 --picture wave.vti",
                                       "mpirun -n 2 gfnn-wave --heads 2x1x1 --elements 96x48x48",
                                       NULL};

const rt_app_t gfnn_app = {
    .name = "gfnn-wave",
    .purpose = "implicit elastic waves in a voxel model, preconditioned by a Green's-function "
               "network",
    .examples = examples,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(gfnn_config_t),
    .ladder = ladder,
    .n_rungs = sizeof ladder / sizeof *ladder,
    .size_option = "elements",
    .extras = &extras,
    .configure = configure,
    .extents = extents,
    .describe = describe,
    .memory = gfnn_memory,
    .work = gfnn_work,
    .input_new = gfnn_input_new,
    .input_destroy = gfnn_input_destroy,
    .problem_new = gfnn_problem_new,
    .problem_destroy = gfnn_problem_destroy,
    .digest = gfnn_digest,
    .solver_new = gfnn_solver_new,
    .solver_destroy = gfnn_solver_destroy,
    .verify_before = gfnn_verify_before,
    .spoil = gfnn_spoil,
    .solve = gfnn_solve,
    .verify_after = gfnn_verify_after,
};
