/*
 * app.c - nekbone as the driver sees it: options, sizes, and a table of functions.
 */
#include "config.h"
#include "precond/precond.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

const char *const nek_precond_names[] = {
    [NEK_NONE] = "none", [NEK_SCHWARZ] = "schwarz", [NEK_AUTO] = "auto", NULL};
#define CONFIG nek_config_t
static const rt_opt_t options[] = {
    RT_EXTENTS(CONFIG, elements, "elements", "EXxEYxEZ", "8x8x8", 1, 1e9,
               "elements of the box in x, y and z"),
    RT_INT(CONFIG, degree, "degree", "N", "9", NEK_MIN_N - 1, NEK_MAX_N - 1,
           "polynomial degree; N + 1 points per direction"),
    RT_INT(CONFIG, iterations, "iterations", "N", "100", 1, 1e6,
           "CG iterations per solve, on the ladder iteration"),
    RT_REAL(CONFIG, lambda, "lambda", "X", "0.1", 0, 1e6,
            "shift added to the operator; 0.1 in Nekbone, 0 for the pure Poisson equation"),
    RT_REAL(CONFIG, deform, "deform", "A", "0", -1e6, 1e6,
            "bend the box by a smooth map of this amplitude (element edge 2), so that all six "
            "geometric factors are non-zero"),
    RT_REAL(CONFIG, ripple, "ripple", "A", "0", -0.6, 0.6,
            "bend every element by waves of this amplitude (in its edges) and four edges' length"),
    RT_REAL(CONFIG, stretch, "stretch", "R", "1", 1, 1000,
            "grade the layers in z: the first is R times thinner than their mean"),
    RT_CHOICE(
        CONFIG, precond, "precond", "NAME", "auto", nek_precond_names,
        "preconditioner of CG; schwarz: overlapping elements, solved by fast diagonalisation, on all levels at once; auto: "
        "none on the ladder iteration, schwarz on the ladder solve, the only one that has "
        "it"),
    RT_REAL(CONFIG, tolerance, "tolerance", "X", "1e-8", 1e-300, 1,
            "on the ladder solve: end when |r| is at most X |b|"),
    RT_INT(CONFIG, max_iterations, "max-iterations", "N", "20000", 1, 1e6,
           "on the ladder solve: the most iterations"),
    RT_EXTENTS(CONFIG, ranks, "ranks", "PXxPYxPZ", "0", 0, 1e6,
               "box of MPI ranks; 0: the box with the smallest surface"),
    RT_FLAG(
        CONFIG, communication, "communication", "yes",
        "do the gather-scatter between elements; --no-communication leaves it out, as Karp et al. "
        "did to compare with their measured roofline"),
};

/* --- ranks --- */

static bool divides(const int64_t p[3], const int64_t elements[3])
{
    return elements[0] % p[0] == 0 && elements[1] % p[1] == 0 && elements[2] % p[2] == 0;
}

/* Finds the box of `size` ranks that divides `elements` (if not NULL) and has the least surface. */
static bool factor(int64_t size, const int64_t *elements, int64_t best[3])
{
    static const int64_t cube[3] = {1, 1, 1};
    const int64_t *e = elements ? elements : cube;
    double least = INFINITY;
    for (int64_t px = 1; px <= size; px++)
        for (int64_t py = 1; size % px == 0 && py <= size / px; py++) {
            if (size / px % py != 0)
                continue;
            int64_t p[3] = {px, py, size / px / py};
            if (elements && !divides(p, elements))
                continue;
            double surface = (double)(e[0] * e[1]) / (double)(px * py) +
                             (double)(e[1] * e[2]) / (double)(py * p[2]) +
                             (double)(e[2] * e[0]) / (double)(p[2] * px);
            if (!elements) /* close to a cube; ties go to more ranks in x, then in y */
                surface = (double)(px + 2 * py + 3 * p[2]) * 1e-6 + (double)(px * px + py * py) +
                          (double)(p[2] * p[2]);
            if (surface < least) {
                least = surface;
                memcpy(best, p, sizeof p);
            }
        }
    return least < INFINITY;
}

static void choose_ranks(nek_config_t *config)
{
    int64_t size = rt_comm_size(), p[3];
    memcpy(p, config->ranks, sizeof p);
    if (p[0] != 0 || p[1] != 0 || p[2] != 0) {
        if ((double)p[0] * (double)p[1] * (double)p[2] != (double)size)
            rt_refuse(RT_USAGE, "--ranks %lldx%lldx%lld is not a box of the %lld ranks that run",
                      (long long)p[0], (long long)p[1], (long long)p[2], (long long)size);
        if (divides(p, config->elements))
            return;
    } else if (factor(size, config->elements, config->ranks)) {
        return;
    }
    char list[160] = "";
    size_t used = 0;
    for (int64_t s = 1, box[3]; s <= 4 * size && used < sizeof list - 16; s++)
        if (factor(s, config->elements, box))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%lld", used ? ", " : "",
                                     (long long)s);
    rt_refuse(
        RT_USAGE,
        "%lld ranks cannot share %lldx%lldx%lld elements in equal boxes: each extent must be a "
        "multiple of the ranks along it; these rank counts fit: %s",
        (long long)size, (long long)config->elements[0], (long long)config->elements[1],
        (long long)config->elements[2], list);
}

/* --- the two ladders --- */

/* Returns whether the run is of the ladder solve. */
static bool solves(const rt_run_t *run)
{
    const nek_config_t *config = run->config;
    const rt_rung_t *rung = rt_run_asked(run);
    if (rung)
        return strcmp(rung->ladder, "solve") == 0;
    if (run->opt.ladder && run->opt.only)
        return strstr(run->opt.only, "solve") != NULL;
    return config->precond == NEK_SCHWARZ;
}

/* --- sizes --- */

static void share_elements(rt_run_t *run)
{
    nek_config_t *config = run->config;
    int64_t before = rt_comm_rank(); /* ranks in the directions from d on */
    config->n = (int)config->degree + 1;
    config->solves = solves(run);
    config->local_elements = 1;
    for (int d = 0; d < 3; before /= config->ranks[d++]) {
        config->local[d] = config->elements[d] / config->ranks[d];
        config->first[d] = config->local[d] * (before % config->ranks[d]);
        config->local_elements *= config->local[d];
    }
    config->points = config->local_elements * config->n * config->n * config->n;
    config->growth = config->stretch == 1 ? 1 : nek_growth(config->elements[2], config->stretch);
}

/* A rank numbers its points by 31 bits. */
static double points_per_rank(const nek_config_t *config)
{
    return (double)config->elements[0] * (double)config->elements[1] * (double)config->elements[2] *
           pow((double)config->degree + 1, 3) / rt_comm_size();
}

/* Gives each rank an equal box. Scale 1 is the smallest, one element, or 2x2x2 at degree 1 so that
 * a point is inside; each further scale adds one layer of elements to it, in x, y, z, x, ... The
 * box of ranks is the user's, or close to a cube. */
static bool extents(rt_run_t *run, int64_t scale)
{
    nek_config_t *config = run->config;
    const int64_t least = config->degree == 1 ? 2 : 1, layers = scale - 1;
    if (config->ranks[0] == 0)
        factor(rt_comm_size(), NULL, config->ranks);
    if (layers / 3 > INT32_MAX)
        return false;
    for (int d = 0; d < 3; d++)
        config->elements[d] = (least + (layers + 2 - d) / 3) * config->ranks[d];
    if (points_per_rank(config) > INT32_MAX)
        return false;
    share_elements(run);
    return true;
}

static void configure(rt_run_t *run)
{
    nek_config_t *config = run->config;
    if (config->stretch != 1 && config->elements[2] < 2)
        rt_refuse(RT_USAGE, "--stretch %g: one layer of elements in z cannot be graded; use more",
                  config->stretch);
    const long long E[] = {config->elements[0], config->elements[1], config->elements[2]};
    for (int d = 0; d < 3; d++)
        if (E[d] == 1 && config->degree == 1)
            rt_refuse(RT_USAGE,
                      "--elements %lldx%lldx%lld at degree 1 has no point inside: all are on "
                      "the boundary, where u = 0; use a higher degree or more elements",
                      E[0], E[1], E[2]);
    if (points_per_rank(config) > INT32_MAX)
        rt_refuse(
            RT_USAGE,
            "--elements %lldx%lldx%lld at degree %lld is %.3g points per rank, and a rank can "
            "hold 2147483647: use fewer elements or more ranks",
            E[0], E[1], E[2], (long long)config->degree, points_per_rank(config));
    choose_ranks(config);
    share_elements(run);
}

static void describe(const rt_run_t *run, FILE *out)
{
    const nek_config_t *config = run->config;
    const double unknowns = nek_single_points(config, (double)config->degree);
    fprintf(out,
            "problem       -div grad u + %g u = f on a box of %lldx%lldx%lld elements of edge 2",
            config->lambda, (long long)config->elements[0], (long long)config->elements[1],
            (long long)config->elements[2]);
    if (config->deform != 0)
        fprintf(out, ", bent by %g", config->deform);
    if (config->ripple != 0)
        fprintf(out, ", rippled by %g edges", config->ripple);
    if (config->stretch != 1)
        fprintf(out, ", graded %g-fold in z", config->stretch);
    fprintf(out, "\n              degree %lld (n = %d), %.0f unknowns, %.0f stored points, ",
            (long long)config->degree, config->n, unknowns,
            (double)config->points * (double)rt_comm_size());
    if (config->solves)
        fprintf(out, "CG in FP64 to %g |b|\n", config->tolerance);
    else
        fprintf(out, "%lld CG iterations in FP64\n", (long long)config->iterations);
    fprintf(out, "              ranks %lldx%lldx%lld, gather-scatter %s\n",
            (long long)config->ranks[0], (long long)config->ranks[1], (long long)config->ranks[2],
            config->communication ? "on" : "OFF");
}

/* Describes the point that tuning measures: a choice depends on n, and on what fits into the
 * caches. */
static int tune_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const nek_config_t *config = run->config;
    point[0] = (rt_coordinate_t){"n", config->n, 8};
    point[1] = (rt_coordinate_t){"elements", (double)config->local_elements, 1};
    if (config->precond == NEK_NONE || config->precond == NEK_AUTO)
        return 2;
    point[2] = (rt_coordinate_t){nek_precond_names[config->precond], 1,
                                 1}; /* other times, so a different point */
    return 3;
}

/*
 * Chooses by the number of points per rank, as measured on an H200 at degree 9 (docs/measured): it
 * determines what fits on chip and what a pass moves, at other degrees too. `trilinear` solves another
 * class of problems, `mixed` has another class of error: they are never a default.
 * On a CPU no rung came near `cpu-fused`. The driver skips rungs that cannot run here (resident:
 * with several ranks, or if the problem is too large for this GPU).
 */
static const char *const *default_rungs(const rt_run_t *run, rt_kind_t kind, rt_text_t *why)
{
    enum { MOST_ON_CHIP = 512 * 1000 };
    static const char *const gpu[] = {"resident", "onepass", "fused", "packed", "layered", NULL};
    static const char *const cpu[] = {"cpu-fused", "jammed", NULL};
    static const char *const portable[] = {"kokkos-fused", "kokkos", NULL};
    const nek_config_t *config = run->config;
    if (config->solves) {
        static const char *const of_kind[][3] = {[RT_CPU] = {"solve-cpu", NULL},
                                                 [RT_CUDA] = {"solve-mixed", "solve-cuda", NULL},
                                                 [RT_KOKKOS] = {"solve-kokkos", NULL}};
        rt_text(why, "the fastest of its kind with --precond %s",
                nek_precond_names[config->precond]);
        return of_kind[kind];
    }
    if (kind == RT_KOKKOS)
        return portable;
    rt_text(why,
            "%lld points per rank: the fastest that can run this, as measured at degree 9 on %s",
            (long long)config->points, kind == RT_CUDA ? "an H200" : "Zen 4");
    return kind == RT_CPU ? cpu : config->points <= MOST_ON_CHIP ? gpu : gpu + 1;
}

/* Times Ax alone, on the data that the last solve left. */
static double isolated(void *solver, int calls)
{
    nek_solver_t *s = solver;
    const double begin = rt_window_begin();
    for (int k = 0; k < calls; k++)
        s->kernels->ax(&s->view, s->p, s->w);
    return rt_window_end(begin);
}

#define RUNG(name, kind, after, ladder, table, idea) extern const nek_kernels_t table;
#include "ladder.def"
#undef RUNG
#define RUNG RT_RUNG_ON
static const rt_rung_t ladder[] = {
#include "ladder.def"
};
#undef RUNG

static const rt_extras_t extras = {
    .result = nek_result,
    .default_rungs = default_rungs,
    .tune_point = tune_point,
    .isolated = isolated,
    .dump = nek_dump,
    .roofline_settings = "communication=no",
};

static const char *const examples[] = {
    "nekbone --list",
    "nekbone --elements 8x8x8 --degree 9 --ladder",
    "nekbone --size small --warm-up 3 --windows 5 --window 10 --nonce WORD --json result.json",
    "nekbone --elements 8x8x8 --tune-seconds 30",
    "mpirun -n 4 nekbone --elements 16x16x16",
    NULL};

const rt_app_t nek_app = {
    .name = "nekbone",
    .purpose = "conjugate gradients for the spectral-element Poisson operator (Nekbone)",
    .examples = examples,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .config_size = sizeof(nek_config_t),
    .ladder = ladder,
    .n_rungs = sizeof ladder / sizeof *ladder,
    .size_option = "elements",
    .extras = &extras,
    .configure = configure,
    .extents = extents,
    .describe = describe,
    .memory = nek_memory,
    .work = nek_work,
    .problem_new = nek_problem_new,
    .problem_destroy = nek_problem_destroy,
    .digest = nek_digest,
    .solver_new = nek_solver_new,
    .solver_destroy = nek_solver_destroy,
    .verify_before = nek_verify_before,
    .spoil = nek_spoil,
    .solve = nek_solve,
    .verify_after = nek_verify_after,
};
