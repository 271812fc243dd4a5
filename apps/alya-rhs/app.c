/*
 * app.c - alya-rhs as the driver sees it: options, sizes, and a table of functions.
 */
#include "config.h"
#include "alya.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const orders[] = {"natural",         "hilbert",    "rcm",
                                     "random-elements", "random-all", NULL};
static const char *const reorders[] = {"auto", "no", "hilbert", "rcm", NULL};
static const char *const partitions[] = {"hilbert", "metis", NULL};
static const char *const forms[] = {"conv", "skew", "cons", "emac", NULL};

#define AT(member) offsetof(alya_config_t, member)
static const rt_opt_t options[] = {
    {"mesh", RT_OPT_STRING, AT(mesh), "NAME",
     "hill (Bolund-like, 600 x 400 x 120 m), box (periodic, (2 pi)^3), or a file of tetrahedra "
     "(Gmsh 2.2 or 4.1, SU2)",
     "hill", 0, 0, NULL},
    {"cells", RT_OPT_EXTENTS, AT(cells), "NXxNYxNZ",
     "cells of the hill or box, six tetrahedra each; the paper's size is 480x400x28", "48x40x28", 1,
     1e6, NULL},
    {"growth", RT_OPT_REAL, AT(growth), "X",
     "hill: ratio of the heights of neighbouring layers, from the ground up", "1.12", 0.5, 2, NULL},
    {"jitter", RT_OPT_REAL, AT(jitter), "X",
     "move the inner nodes at random by up to this share of a cell", "0", 0, 0.15, NULL},
    {"order", RT_OPT_CHOICE, AT(order), NULL,
     "order of nodes and elements as the mesh is handed in", "natural", 0, 0, orders},
    {"reorder", RT_OPT_CHOICE, AT(reorder), NULL,
     "what set-up makes of it: auto takes hilbert if the order handed in has poor locality; no: "
     "leave it, to see what an order costs",
     "auto", 0, 0, reorders},
    {"partition", RT_OPT_CHOICE, AT(partition), NULL,
     "elements to ranks: ranges along a Hilbert curve, or METIS", "hilbert", 0, 0, partitions},
    {"form", RT_OPT_CHOICE, AT(form), NULL,
     "convective form; conserves: conv nothing, skew energy, cons momentum and angular momentum, "
     "emac all three",
     "cons", 0, 0, forms},
    {"vreman", RT_OPT_REAL, AT(vreman), "C",
     "constant of the subgrid model, 0: off; the paper's code has 0.1", "0.07", 0, 10, NULL},
    {"filter-width", RT_OPT_REAL, AT(filter), "M",
     "width of the subgrid model's filter in metres; 0: cube root of each element's volume", "0", 0,
     1e6, NULL},
    {"rho", RT_OPT_REAL, AT(rho), "X", "density, kg/m^3", "1.229", 1e-6, 1e6, NULL},
    {"mu", RT_OPT_REAL, AT(mu), "X", "viscosity, Pa s", "1.8e-5", 0, 1e6, NULL},
    {"force-x", RT_OPT_REAL, AT(force_x), "X", "force a mass along x, m/s^2", "0", -1e6, 1e6, NULL},
    {"force-y", RT_OPT_REAL, AT(force_y), "X", "along y", "0", -1e6, 1e6, NULL},
    {"force-z", RT_OPT_REAL, AT(force_z), "X", "along z", "0", -1e6, 1e6, NULL},
    {"assemblies", RT_OPT_INT, AT(assemblies), "N",
     "assemblies of a solve; the paper times 3, one Runge-Kutta step", "3", 1, 1e6, NULL},
    {"steps", RT_OPT_INT, AT(steps), "N",
     "explicit Runge-Kutta steps of the momentum equation in place of bare assemblies (no "
     "pressure: for pictures, not for physics)",
     "0", 0, 1e6, NULL},
    {"courant", RT_OPT_REAL, AT(courant), "X", "Courant number of these steps", "0.5", 1e-6, 10,
     NULL},
};

/* --- sizes --- */

static void count_box(alya_config_t *cfg)
{
    const alya_box_t box = alya_box(cfg);
    const double n[3] = {(double)cfg->cells[0], (double)cfg->cells[1], (double)cfg->cells[2]};
    cfg->total_elements = 6 * n[0] * n[1] * n[2];
    cfg->total_nodes = box.periodic_box ? n[0] * n[1] * n[2] : (n[0] + 1) * (n[1] + 1) * (n[2] + 1);
    if (cfg->total_elements / 6 < rt_comm_size())
        rt_refuse(RT_USAGE, "--cells %lldx%lldx%lld is fewer cells than the %d ranks that run",
                  (long long)cfg->cells[0], (long long)cfg->cells[1], (long long)cfg->cells[2],
                  rt_comm_size());
    if (cfg->total_elements / rt_comm_size() > INT32_MAX - 6.0 ||
        8 * (n[0] + 1) * (n[1] + 1) * (n[2] + 1) > 0x1p60)
        rt_refuse(RT_USAGE,
                  "--cells %lldx%lldx%lld is %.3g tetrahedra a rank, and a rank can hold "
                  "2147483641: use fewer cells or more ranks",
                  (long long)cfg->cells[0], (long long)cfg->cells[1], (long long)cfg->cells[2],
                  cfg->total_elements / rt_comm_size());
    alya_box_count(&box, rt_comm_size(), &cfg->elements, &cfg->nodes);
}

/* The hill of the paper's proportions whose memory comes closest below the target. */
static void choose_cells(rt_run_t *run, double target)
{
    alya_config_t *cfg = run->config;
    double low = 0, high = 64;
    for (int step = 0; step < 40; step++) {
        double scale = (low + high) / 2;
        /* fewer layers make thinner cells, so z shrinks more slowly than x and y */
        cfg->cells[0] = (int64_t)fmax(2, 480 * scale);
        cfg->cells[1] = (int64_t)fmax(2, 400 * scale);
        cfg->cells[2] = (int64_t)fmax(2, 28 * sqrt(fmin(scale, 1)) * fmax(1, scale));
        bool small =
            6.0 * (double)cfg->cells[0] * (double)cfg->cells[1] * (double)cfg->cells[2] < INT32_MAX;
        /* the count of one rank: ranks are equal, and counting parts is dear */
        if (small) {
            cfg->elements = 6 * cfg->cells[0] * cfg->cells[1] * cfg->cells[2];
            cfg->nodes = (cfg->cells[0] + 1) * (cfg->cells[1] + 1) * (cfg->cells[2] + 1);
        }
        if (small && rt_run_most_memory(run) <= target)
            low = scale;
        else
            high = scale;
    }
    cfg->cells[0] = (int64_t)fmax(2, 480 * low) * rt_comm_size();
    cfg->cells[1] = (int64_t)fmax(2, 400 * low);
    cfg->cells[2] = (int64_t)fmax(2, 28 * sqrt(fmin(low, 1)) * fmax(1, low));
}

static void configure(rt_run_t *run, double target)
{
    alya_config_t *cfg = run->config;
    cfg->from_file = strcmp(cfg->mesh, "hill") != 0 && strcmp(cfg->mesh, "box") != 0;
    if (run->opt.picture) {
        const char *why = alya_picture_why_not(run->opt.picture);
        if (why)
            rt_refuse(RT_USAGE, "--picture %s: %s", run->opt.picture, why);
    }
    if (cfg->from_file) {
        if (target > 0)
            rt_refuse(RT_USAGE, "--size is for meshes that are made: %s has the size it has",
                      cfg->mesh);
        alya_file_count(cfg);
        return;
    }
    if (target > 0)
        choose_cells(run, target);
    count_box(cfg);
}

static void describe(const rt_run_t *run, FILE *out)
{
    const alya_config_t *cfg = run->config;
    fprintf(out, "problem       momentum right-hand side on ");
    if (cfg->from_file)
        fprintf(out, "%s", cfg->mesh);
    else
        fprintf(out, "a %s of %lldx%lldx%lld cells", cfg->mesh, (long long)cfg->cells[0],
                (long long)cfg->cells[1], (long long)cfg->cells[2]);
    fprintf(out, ": %.0f tetrahedra, %.0f nodes\n", cfg->total_elements, cfg->total_nodes);
    fprintf(out,
            "              form %s, Vreman c %g, filter %s, rho %g kg/m^3, mu %g Pa s, force %g %g "
            "%g m/s^2\n",
            forms[cfg->form], cfg->vreman, cfg->filter > 0 ? "of given width" : "V^(1/3)", cfg->rho,
            cfg->mu, cfg->force_x, cfg->force_y, cfg->force_z);
    fprintf(out, "              order %s, reorder %s, partition %s, ", orders[cfg->order],
            reorders[cfg->reorder], partitions[cfg->partition]);
    if (cfg->steps > 0)
        fprintf(out, "%lld Runge-Kutta steps without pressure\n", (long long)cfg->steps);
    else
        fprintf(out, "%lld assemblies a solve\n", (long long)cfg->assemblies);
}

static const char *note(const rt_rung_t *rung)
{
    const alya_kernels_t *kernels = rung->kernels;
    if (!kernels)
        return NULL;
    return kernels->reproducible ? "claims: the same bits from run to run, on any number of threads"
                                 : "sums by atomics: the last bits vary from run to run";
}

static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const alya_config_t *cfg = run->config;
    point[0] = (rt_coordinate_t){"elements", (double)cfg->elements, 1};
    return 1;
}

static void result(const void *solver, json_t *out)
{
    const alya_solver_t *s = solver;
    rt_json_real(out, "elements", s->problem->config->total_elements);
    rt_json_real(out, "nodes", s->problem->config->total_nodes);
    rt_json_real(out, "seconds_mesh", s->problem->seconds_mesh);
    rt_json_real(out, "seconds_order", s->problem->seconds_order);
    rt_json_real(out, "seconds_rung_set_up", s->seconds_set_up);
}

static const char *const roofline_cases[] = {"cells=48x40x28", "cells=120x100x28",
                                             "cells=240x200x28", "cells=480x400x28", NULL};

const rt_app_t alya_app = {
    .name = "alya-rhs",
    .purpose = "finite-element assembly of the Navier-Stokes momentum right-hand side (Alya)",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(alya_config_t),
    .ladder = alya_ladder,
    .n_rungs = ALYA_RUNGS,
    .size_option = "cells",
    .configure = configure,
    .describe = describe,
    .memory = alya_memory,
    .work = alya_work,
    .problem_new = alya_problem_new,
    .problem_destroy = alya_problem_destroy,
    .digest = alya_digest,
    .solver_new = alya_solver_new,
    .solver_destroy = alya_solver_destroy,
    .verify_before = alya_verify_before,
    .spoil = alya_spoil,
    .solve = alya_solve,
    .verify_after = alya_verify_after,
    .result = result,
    .picture = alya_picture,
    .note = note,
    .parameters = alya_parameters,
    .tune_point = tune_point,
    .compare = alya_compare,
    .roofline_cases = roofline_cases,
    .roofline_settings = "assemblies=3",
    .paper = alya_paper,
};
