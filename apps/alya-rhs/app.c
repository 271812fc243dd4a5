/*
 * app.c - alya-rhs as the driver sees it: options, sizes, and a table of functions.
 */
#include "config.h"
#include "alya.h"
#include <math.h>
#include <string.h>

static const char *const orders[] = {"natural", "hilbert", "random-all", NULL};
static const char *const reorders[] = {"auto", "no", "hilbert", NULL};
static const char *const forms[] = {"conv", "skew", "cons", "emac", NULL};

#define CONFIG alya_config_t
static const rt_opt_t options[] = {
    RT_TEXT(CONFIG, mesh, "mesh", "NAME", "hill",
            "mesh: hill (Bolund-like, 600 x 400 x 120 m), box (periodic, (2 pi)^3), or a file of "
            "tetrahedra (Gmsh 4.1, AFLR3)"),
    RT_EXTENTS(CONFIG, cells, "cells", "NXxNYxNZ", "48x40x28", 1, 1e6,
               "cells of the hill or box, six tetrahedra each; the paper's size is 480x400x28"),
    RT_REAL(CONFIG, growth, "growth", "X", "1.12", 0.5, 2,
            "for the hill: ratio of the heights of neighbouring layers, from the ground up"),
    RT_REAL(CONFIG, jitter, "jitter", "X", "0", 0, 0.15,
            "move the inner nodes at random by up to this fraction of a cell"),
    RT_CHOICE(CONFIG, order, "order", "NAME", "natural", orders,
              "order of the nodes and elements in the input mesh"),
    RT_CHOICE(
        CONFIG, reorder, "reorder", "NAME", "auto", reorders,
        "order of the nodes and elements after set-up; auto: hilbert if the input order has poor "
        "locality; no: keep the input order, to see what it costs"),
    RT_CHOICE(CONFIG, form, "form", "NAME", "cons", forms,
              "convective form; conv conserves nothing, skew energy, cons momentum and angular "
              "momentum, emac all three"),
    RT_REAL(CONFIG, vreman, "vreman", "C", "0.07", 0, 10,
            "constant of the subgrid model; 0: off; 0.1 in the paper's code"),
    RT_REAL(
        CONFIG, filter, "filter-width", "M", "0", 0, 1e6,
        "width of the subgrid model's filter in metres; 0: the cube root of each element's volume"),
    RT_REAL(CONFIG, rho, "rho", "X", "1.229", 1e-6, 1e6, "density, kg/m^3"),
    RT_REAL(CONFIG, mu, "mu", "X", "1.8e-5", 0, 1e6, "viscosity, Pa s"),
    RT_REAL(CONFIG, force_x, "force-x", "X", "0", -1e6, 1e6, "force per mass along x, m/s^2"),
    RT_REAL(CONFIG, force_y, "force-y", "X", "0", -1e6, 1e6, "force per mass along y, m/s^2"),
    RT_REAL(CONFIG, force_z, "force-z", "X", "0", -1e6, 1e6, "force per mass along z, m/s^2"),
    RT_INT(CONFIG, assemblies, "assemblies", "N", "3", 1, 3,
           "assemblies per solve; the paper times 3, which are one Runge-Kutta step"),
    RT_INT(CONFIG, steps, "steps", "N", "1", 1, 1000000,
           "time steps per solve of the ladder `step`"),
    RT_REAL(CONFIG, dt, "dt", "S", "0", 0, 1e6,
            "length of a time step, s; 0: half of what is stable for the first velocity"),
    RT_REAL(CONFIG, tolerance, "tolerance", "X", "1e-6", 1e-12, 0.1,
            "of the pressure: |L p - b| / |b|"),
};

/* --- sizes --- */

/* Fills in what follows from the options whatever the extents are. */
static void complete(alya_config_t *config)
{
    const bool shuffled = config->order == ALYA_RANDOM;
    config->is_hill = strcmp(config->mesh, "hill") == 0;
    config->from_file = !config->is_hill && strcmp(config->mesh, "box") != 0;
    config->counts = (alya_counts_t){.poor_order = config->reorder == ALYA_REORDER_NO &&
                                                   (config->from_file || shuffled)};
}

/* Counts the mesh and the largest part. Returns why a rank cannot have it, or NULL. */
static const char *count_box(alya_config_t *config, rt_text_t *why)
{
    const int64_t *n = config->cells;
    const alya_box_t box = alya_box(config);
    alya_counts_t *counts = &config->counts;
    const double nodes = (double)(n[0] + 1) * (double)(n[1] + 1) * (double)(n[2] + 1);
    counts->total_elements = 6;
    counts->total_nodes = 1;
    for (int d = 0; d < 3; d++) {
        counts->total_elements *= (double)n[d];
        counts->total_nodes *= (double)(n[d] + config->is_hill);
    }
    const double mine = counts->total_elements / rt_comm_size();
    if (mine > INT32_MAX - 6.0 || 8 * nodes > 0x1p60)
        return rt_text(why,
                       "%.3g tetrahedra per rank, and a rank can hold 2147483641: use fewer cells "
                       "or more ranks",
                       mine);
    const alya_parts_t parts = alya_box_count(&box, rt_comm_size());
    counts->elements = parts.elements;
    counts->nodes = parts.nodes;
    for (int d = 0; d < 3; d++)
        counts->cells[d] = parts.cells[d];
    return parts.least > 0
               ? NULL
               : rt_text(why, "too few cells for the %d ranks that run", rt_comm_size());
}

static void configure(rt_run_t *run)
{
    alya_config_t *config = run->config;
    const char *why;
    complete(config);
    rt_run_refuse_ignored(run, config->from_file, "cells jitter growth",
                          "no effect with --mesh FILE");
    rt_run_refuse_ignored(run, !config->is_hill, "growth", "for --mesh hill alone");
    rt_text_t text;
    if (!config->from_file && (why = count_box(config, &text)))
        rt_refuse(RT_USAGE, "--cells %lldx%lldx%lld is %s", (long long)config->cells[0],
                  (long long)config->cells[1], (long long)config->cells[2], why);
}

/*
 * The extents of scale k are those of the paper, 480x400x28, times s = k / 117600 on each rank. Fewer
 * layers make thinner cells, so below s = 1 z shrinks only with the square root of s. 117600 is a
 * common multiple for which every extent changes exactly at a whole k: 480 s = k / 245,
 * 400 s = k / 294, 28 s = k / 4200, and (28 sqrt(s))^2 = k / 150.
 */
enum { UNIT = 117600, LEAST_CELLS = 2 };
static bool extents(rt_run_t *run, int64_t scale)
{
    alya_config_t *config = run->config;
    complete(config);
    if (config->from_file)
        rt_refuse(RT_USAGE, "--size is for meshes that are made: %s has the size it has",
                  config->mesh);
    const double layers =
        scale < UNIT ? floor(sqrt((double)(scale / 150))) : (double)(scale / 4200);
    const double cells[3] = {(double)(scale / 245), (double)(scale / 294), layers};
    for (int d = 0; d < 3; d++)
        config->cells[d] = (int64_t)fmin(fmax(LEAST_CELLS, cells[d]), INT32_MAX);
    config->cells[0] *= rt_comm_size(); /* a block of that size for each rank */
    rt_text_t why;
    return !count_box(config, &why);
}

static void describe(const rt_run_t *run, FILE *out)
{
    const alya_config_t *config = run->config;
    const alya_counts_t *counts = alya_counts(run);
    fprintf(out, "problem       momentum right-hand side on ");
    if (config->from_file)
        fprintf(out, "%s", config->mesh);
    else
        fprintf(out, "a %s of %lldx%lldx%lld cells", config->mesh, (long long)config->cells[0],
                (long long)config->cells[1], (long long)config->cells[2]);
    fprintf(out, ": %.0f tetrahedra, %.0f nodes\n", counts->total_elements, counts->total_nodes);
    fprintf(out,
            "              form %s, Vreman c %g, filter %s, rho %g kg/m^3, mu %g Pa s, force %g %g "
            "%g m/s^2\n",
            forms[config->form], config->vreman, config->filter > 0 ? "of given width" : "V^(1/3)",
            config->rho, config->mu, config->force_x, config->force_y, config->force_z);
    fprintf(out, "              order %s, reorder %s, %lld assemblies per solve\n",
            orders[config->order], reorders[config->reorder], (long long)config->assemblies);
}

/* Those of the assembly, as measured (README.md). */
static const char *const *default_rungs(const rt_run_t *run, rt_kind_t kind, rt_text_t *why)
{
    static const char *const of_kind[][3] = {[RT_CPU] = {"cpu-closed", NULL},
                                             [RT_CUDA] = {"mixed", "patch", NULL},
                                             [RT_KOKKOS] = {"kokkos", NULL},
                                             [RT_OPENACC] = {"openacc-RSPR", NULL}};
    (void)run;
    rt_text(why, "the fastest assembly of its kind");
    return of_kind[kind];
}

static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    point[0] = (rt_coordinate_t){
        .name = "elements", .value = (double)alya_counts(run)->elements, .weight = 1};
    return 1;
}

static void result(const void *solver, rt_result_t *out)
{
    const alya_solver_t *s = solver;
    if (s->flow)
        alya_flow_result(s, out);
    if (!out->json)
        return;
    rt_json_real(out->json, "elements", s->problem->counts.total_elements);
    rt_json_real(out->json, "nodes", s->problem->counts.total_nodes);
}

static const rt_extras_t extras = {
    .result = result,
    .default_rungs = default_rungs,
    .tune_point = tune_point,
    .picture = alya_picture,
    .picture_ends = ".vtu",
    .dump = alya_dump,
    .compare = alya_compare,
    .roofline_settings = "assemblies=3",
};

#define RUNG(name, kind, after, ladder, table, idea) extern const alya_kernels_t table;
#include "ladder.def"
#undef RUNG
#define RUNG RT_RUNG_ON
static const rt_rung_t ladder[] = {
#include "ladder.def"
};
#undef RUNG

static const char *const examples[] = {"alya-rhs --list",
                                       "alya-rhs --cells 48x40x28 --ladder",
                                       "alya-rhs --mesh FILE.msh --order hilbert",
                                       "alya-rhs --cells 48x40x28 --picture hill.vtu",
                                       "mpirun -n 4 alya-rhs --cells 48x40x28",
                                       NULL};

const rt_app_t alya_app = {
    .name = "alya-rhs",
    .purpose = "finite-element assembly of the Navier-Stokes momentum right-hand side (Alya)",
    .examples = examples,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(alya_config_t),
    .ladder = ladder,
    .n_rungs = sizeof ladder / sizeof *ladder,
    .size_option = "cells",
    .extras = &extras,
    .configure = configure,
    .extents = extents,
    .describe = describe,
    .memory = alya_memory,
    .work = alya_work,
    .input_new = alya_input_new,
    .input_destroy = alya_input_destroy,
    .problem_new = alya_problem_new,
    .problem_destroy = alya_problem_destroy,
    .digest = alya_digest,
    .solver_new = alya_solver_new,
    .solver_destroy = alya_solver_destroy,
    .verify_before = alya_verify_before,
    .spoil = alya_spoil,
    .solve = alya_solve,
    .verify_after = alya_verify_after,
};
