/*
 * work.c - what an assembly must do, counted before anything is measured, beside the paper's
 * counters.
 *
 * Every rung is credited with the same: the closed form's flops, CREDITED an element, and the least
 * bytes: connectivity once (16 an element), x and u once (48 a node), r zeroed once and read and
 * written once (72 a node); 37 bytes an element at 5.8 elements a node.
 *
 * What a rung does is counted in the source, an element: flops (a fused multiply-add is 2, a
 * division or square root 1), loads and stores of 8 bytes of the element routine, and the bytes
 * that must come from and go to main memory: on a GPU every value of a workspace in global memory
 * is written and read at least once (its threads together hold far more than the caches do; what a
 * thread reads again soon after may still be in L2); on a CPU the workspace of 16 elements stays in
 * L1 and L2.
 */
#include "config.h"
#include "alya.h"
#include <math.h>
#include <string.h>

enum { VALUE = sizeof(double), CREDITED = 376 };

typedef struct {
    const char *rung, *paper; /* paper: its name there; NULL: not in the paper */
    double flops;             /* an element */
    double global, local;     /* loads and stores of intermediates and fields, 8 bytes each */
    double streamed;          /* values of a workspace in main memory, written and read once */
    /* the paper's counters: floating point operations, global and local loads and stores, bytes
     * from DRAM, and milliseconds of three assemblies (A100; CPU: 71 cores) */
    double paper_flops, paper_global, paper_local, paper_dram, paper_ms;
} model_t;

static const model_t models[] = {
    {"reference", NULL, 1073, 0, 0, 0, 0, 0, 0, 0, 0},
    {"cpu-B", "B", 5900, 5600, 0, 0, 6316, 6055, 0, 261, 785},
    {"cpu-RS", "RS", 900, 900, 0, 0, 1760, 2516, 0, 218, 244},
    {"cpu-RSP", "RSP", 742, 40, 0, 0, 1249, 639, 0, 241, 122},
    {"cpu-closed", NULL, CREDITED, 40, 0, 0, 0, 0, 0, 0, 0},
    {"B", "B", 5600, 6604, 0, 380, 6293, 6218, 24, 23331, 3773},
    {"P", "P", 5600, 52, 6552, 380, 6148, 483, 2593, 18721, 1536},
    {"RS", "RS", 872, 912, 0, 98, 1663, 960, 0, 1170, 197},
    {"RSP", "RSP", 824, 37, 0, 0, 1391, 50, 71, 442, 68},
    {"RSPR", "RSPR", 824, 37, 0, 0, 1333, 71, 30, 150, 51},
    {"closed", NULL, CREDITED, 37, 0, 0, 0, 0, 0, 0, 0},
    {"coalesced", NULL, CREDITED, 29, 0, 0, 0, 0, 0, 0, 0},
    {"patch", NULL, CREDITED, 9, 0, 0, 0, 0, 0, 0, 0},
    {"mixed", NULL, CREDITED, 9, 0, 0, 0, 0, 0, 0, 0},
    {"kokkos", NULL, CREDITED, 9, 0, 0, 0, 0, 0, 0, 0},
};

/* Rungs that are not in the table (a mutant in a test) do what the reference does. */
static const model_t *model_of(const rt_rung_t *rung)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].rung, rung->name) == 0)
            return &models[i];
    return &models[0];
}

void alya_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const alya_config_t *cfg = run->config;
    const alya_kernels_t *kernels = rung->kernels;
    const model_t *m = model_of(rung);
    const double E = cfg->total_elements, N = cfg->total_nodes;
    const double assemblies = (double)(cfg->steps > 0 ? 3 * cfg->steps : cfg->assemblies);
    const double stride = kernels ? kernels->r_stride : 3, fields = kernels ? kernels->packed : 0;
    *work = (rt_work_t){.unit = "assembly",
                        .units = assemblies,
                        .flops = CREDITED * E,
                        .bytes = 16 * E + 15 * VALUE * N,
                        .points = E,
                        .point = "element",
                        .loads_and_stores = 5, /* as arrays [nodes][3]: x, u, r three times */
                        .distinct_arrays = 3,
                        .array_bytes = 3 * VALUE * (double)cfg->nodes};
    rt_work_add(work, "assemble", 1, m->flops * E,
                16 * E + VALUE * N * (fmax(6, fields) + stride) + VALUE * m->streamed * E,
                2 * VALUE * N * stride + VALUE * m->streamed * E);
    if (cfg->steps > 0)
        rt_work_add(work, "update", 1, 4 * 3 * N, VALUE * 10 * N, VALUE * 3 * N);
}

/*
 * Memory of one rank. The host has the mesh (connectivity 16 an element; x, id and flags 33 a
 * node), its schedule, u, and, while a rung is verified, nine values a node for the comparison and
 * one copy of a field on its way from the rung; a rung has its fields, and off the host the
 * connectivity. Ordering holds keys, values and a second copy of each, and the new connectivity.
 */
void alya_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const alya_config_t *cfg = run->config;
    const alya_kernels_t *kernels = rung->kernels;
    const rt_space_t space = rt_rung_space(rung);
    const double E = (double)cfg->elements, N = (double)cfg->nodes, field = 3 * VALUE * N;
    const bool steps = cfg->steps > 0;
    double making_schedule, making[RT_SPACES] = {0};
    double mesh = 16 * E + (3 * VALUE + sizeof(int64_t) + 1) * N;
    double problem = mesh + alya_schedule_memory((int64_t)E, (int64_t)N, &making_schedule) + field +
                     (steps ? VALUE * N : 0) + 65536;
    double ordering = mesh + fmax(40 * E, 16 * E + 60 * E / 4 + field + 9 * N) + 20 * N;
    for (int s = 0; s < RT_SPACES; s++)
        bytes[s] = 0;
    bytes[RT_PINNED] = 3 * VALUE;
    double shared = 0; /* nodes that may be in a halo: copies of the box, or cut by the partition */
    if (rt_comm_size() > 1 || (!cfg->from_file && strcmp(cfg->mesh, "box") == 0))
        shared = fmin(N, 8 * pow(N, 2. / 3) * 3 + 64);
    const double halo = (double)rt_halo_predict((int64_t)shared, 7 * (int64_t)shared, 3, RT_HOST);
    problem += halo;
    double solver = field; /* u0 */
    if (kernels) {
        solver +=
            VALUE * N * kernels->r_stride + VALUE * N * (kernels->packed ? kernels->packed : 3);
        if (kernels->memory)
            kernels->memory((int64_t)E, (int64_t)N, making);
    }
    if (steps)
        solver += field + VALUE * N;
    bytes[space] += solver + making[space];
    if (space != RT_HOST) {
        bytes[space] += 16 * E + (kernels && kernels->packed ? 0 : field);
        if (shared > 0) {
            bytes[space] += (double)rt_halo_predict((int64_t)shared, 7 * (int64_t)shared, 3, space);
            bytes[RT_PINNED] +=
                (double)rt_halo_predict((int64_t)shared, 7 * (int64_t)shared, 3, RT_PINNED);
        }
        bytes[RT_HOST] += making[RT_HOST];
    }
    const double widest = kernels ? fmax(kernels->packed, kernels->r_stride) : 3;
    double verifying = (steps ? 14 : 11) * VALUE * N + (widest > 3 ? widest * VALUE * N : 0);
    double setting_up = kernels && kernels->packed ? kernels->packed * VALUE * N : 0;
    double halo_making =
        (double)rt_halo_predict_setup((int64_t)shared, 7 * (int64_t)shared) + 16 * shared;
    bytes[RT_HOST] += problem + fmax(verifying, setting_up);
    bytes[RT_HOST] = fmax(bytes[RT_HOST], fmax(ordering, problem + making_schedule + halo_making));
}

/* --- beside the paper --- */

const char *alya_paper(const rt_run_t *run, const rt_rung_t *rung)
{
    static char text[96];
    const model_t *m = model_of(rung);
    (void)run;
    if (!m->paper || m->paper_ms == 0)
        return "";
    snprintf(text, sizeof text, "%s: %.0f ms for 3 assemblies, %s", m->paper, m->paper_ms,
             rung->kind == RT_CPU ? "71 cores of Icelake" : "A100");
    return text;
}

static void cell(rt_table_t *t, double value, const char *format)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    rt_table_cell(t, "%s", value > 0 ? text : "-");
}

/* Seconds of the rung called B of the same kind, 0 if it did not run. */
static double seconds_of_b(const rt_outcome_t *outcomes, rt_kind_t kind)
{
    for (int i = 0; i < ALYA_RUNGS; i++)
        if (outcomes[i].rung && (outcomes[i].rung->kind == RT_CPU) == (kind == RT_CPU) &&
            model_of(outcomes[i].rung)->paper &&
            strcmp(model_of(outcomes[i].rung)->paper, "B") == 0)
            return outcomes[i].verdict.valid ? outcomes[i].seconds_per_unit : 0;
    return 0;
}

void alya_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    rt_table_t *t = rt_table_new("<rung|flop|paper|global ld/st|paper|local ld/st|paper|DRAM bytes|"
                                 "paper|B / this|paper|<paper's rung");
    const double E = ((const alya_config_t *)run->config)->total_elements;
    for (int i = 0; i < ALYA_RUNGS; i++) {
        const rt_outcome_t *o = &outcomes[i];
        if (!o->rung)
            continue;
        const model_t *m = model_of(o->rung);
        const double b = seconds_of_b(outcomes, o->rung->kind);
        const bool cpu = o->rung->kind == RT_CPU;
        rt_table_cell(t, "%s", m->rung);
        cell(t, m->flops, "%.0f");
        cell(t, m->paper_flops, "%.0f");
        cell(t, m->global, "%.0f");
        cell(t, m->paper_global, "%.0f");
        cell(t, m->local, "%.0f");
        cell(t, m->paper_local, "%.0f");
        cell(t, rt_work_bytes(&o->work) / E, "%.0f");
        cell(t, m->paper_dram, "%.0f");
        cell(t, o->verdict.valid && o->seconds_per_unit > 0 ? b / o->seconds_per_unit : 0, "%.2f");
        cell(t, m->paper_ms > 0 ? (cpu ? 785 : 3773) / m->paper_ms : 0, "%.2f");
        rt_table_cell(t, "%s", m->paper ? m->paper : "beyond the paper");
        rt_table_row(t);
    }
    fprintf(out,
            "\nan element, by our model and by the paper's counters (tables I and II); B / this: "
            "how many times as fast as B, here and there\n\n");
    rt_table_print(t, out);
    rt_table_destroy(t);
}
