/*
 * work.c - what an assembly must do, counted before anything is measured. inputs/papers/alya.json has
 * it beside the paper's counters, with loads and stores counted in the same way.
 *
 * Every rung is credited with the same work: the closed form's flops, CREDITED per element, and the
 * least bytes: connectivity once (16 per element), x and u once (48 per node), r zeroed once and
 * read and written once (72 per node). That is 37 bytes per element at 5.8 elements per node.
 *
 * models[] has what each rung really does per element. Its bytes are those that must come from and
 * go to main memory. On a GPU every value of a workspace in global memory is written and read at
 * least once: the threads together hold far more than the caches do, although what a thread reads
 * again soon may still be in L2. On a CPU the workspace of 16 elements stays in L1 and L2.
 */
#include "config.h"
#include "alya.h"
#include "patches/patches.h"
#include <math.h>
#include <string.h>

enum { VALUE = sizeof(double), CREDITED = 376 };

/* What a rung does per element. */
typedef struct {
    const char *rung;
    double flops;
    double streamed; /* values of a workspace in main memory, each written and read once */
    rt_arithmetic_t arithmetic; /* that most flops are done in; FP64 unless said */
} model_t;

/*
 * Counted in the source, for the default options (form cons, Vreman, own width). A fused multiply-
 * add is two flops. A division or a root is one, whatever it takes; but the CPU's cube root is
 * written out, and counts as its arithmetic.
 *
 * reference, B, P, cpu-RS, RS: as written, checked with a type whose operators count. `a += b c` on values
 * in a workspace is two flops, three loads and a store. The compiler saves some: nvcc 13 for sm_90
 * compiles RS to 736 flops and 924 loads and stores.
 *
 * RSP and the rungs after it: an expression of scalars that occurs twice (the stress, at each
 * point) is computed once, but a product that two sums share is computed again in each fused
 * multiply-add. So these are the flops of the machine code, which is straight-line (sm_90; AVX-512
 * by gcc 12). RSP: 674, of 823 as written.
 *
 * Patches, at half a patch node per element: the sums are 12 flops. In mixed most flops are FP32.
 */
static const model_t models[] = {
    {.rung = "reference", .flops = 1961},
    {.rung = "cpu-B", .flops = 6413},
    {.rung = "cpu-RS", .flops = 812},
    {.rung = "cpu-RSP", .flops = 629},
    {.rung = "cpu-closed", .flops = 371},
    {.rung = "B", .flops = 6413, .streamed = 415},
    {.rung = "P", .flops = 6413, .streamed = 415},
    {.rung = "RS", .flops = 791, .streamed = 95},
    {.rung = "RSP", .flops = 674},
    {.rung = "RSPR", .flops = 674},
    {.rung = "closed", .flops = CREDITED},
    {.rung = "coalesced", .flops = CREDITED},
    {.rung = "patch", .flops = CREDITED + 12},
    {.rung = "mixed", .flops = 410, .arithmetic = RT_FMA32},
    {.rung = "kokkos", .flops = CREDITED + 12},
    {.rung = "openacc-B", .flops = 6413, .streamed = 415},
    {.rung = "openacc-RSPR", .flops = 674},
};

/* Returns the row of a rung, or NULL: on the ladder `step` that of the assembly. On a CPU Kokkos runs the
 * loops of cpu-closed. */
static const model_t *model_of(const rt_rung_t *rung)
{
    const bool vectors = rung->kind == RT_KOKKOS && !rt_kind_on_gpu(RT_KOKKOS);
    const char *own = rung->name + (alya_is_step(rung) ? strlen("step-") : 0);
    const char *name = vectors ? "cpu-closed" : own;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].rung, name) == 0)
            return &models[i];
    return NULL;
}

/* Entries of L per node: 15 where six tetrahedra fill a cell. A step reads three values and a column
 * of each, once for D and once for G. */
enum { ENTRIES = 15 };

/* A time step: its assemblies, and what follows from the mesh; without the iterations of the pressure,
 * which are the solver's affair, so they cost time and bring no credit. */
static void step_work(const rt_run_t *run, rt_work_t *work)
{
    const alya_config_t *config = run->config;
    const double N = alya_counts(run)->total_nodes, entries = ENTRIES * N;
    const double rows = (3 * VALUE + sizeof(int32_t)) * entries;
    work->unit = "time step";
    work->units = (double)config->steps;
    work->flops = 3 * work->flops + 12 * entries + 4 * 24 * N;
    work->bytes = 3 * work->bytes + 2 * rows + VALUE * N * (4 * (4 + 12) + 8);
    for (int i = 0; i < work->n; i++)
        work->line[i].calls *= 3;
    rt_work_add(work, "advance", 4, 24 * N, VALUE * N * 10, VALUE * N * 3);
    rt_work_add(work, "divergence", 1, 6 * entries, rows + VALUE * N * 3, VALUE * N);
    rt_work_add(work, "gradient", 1, 6 * entries, rows + VALUE * N, VALUE * N * 3);
}

void alya_work_pressure(const rt_run_t *run, double iterations, rt_work_t *work)
{
    const double N = alya_counts(run)->total_nodes, entries = ENTRIES * N;
    rt_work_add(work, "pressure", iterations, 2 * entries + 12 * N,
                (VALUE + sizeof(int32_t)) * entries + VALUE * N * 8, VALUE * N * 4);
}

void alya_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const alya_config_t *config = run->config;
    const alya_counts_t *counts = alya_counts(run);
    const alya_kernels_t *kernels = alya_kernels(rung);
    const model_t *m = model_of(rung);
    const double E = counts->total_elements, N = counts->total_nodes;
    const double stride = kernels ? kernels->r_stride : 3, fields = kernels ? kernels->packed : 0;
    *work = (rt_work_t){.unit = "assembly",
                        .units = (double)config->assemblies,
                        .flops = CREDITED * E,
                        .bytes = 16 * E + 15 * VALUE * N,
                        .points = E,
                        .point = "element",
                        .loads_and_stores = 5, /* as arrays [nodes][3]: x, u, r three times */
                        .distinct_arrays = 3,
                        .array_bytes = 3 * VALUE * (double)counts->nodes};
    if (!m)
        return;
    work->arithmetic = m->arithmetic;
    const bool clears = rt_kind_on_gpu(rung->kind); /* by a launch of its own */
    rt_work_add(work, "assemble", 1, m->flops * E,
                16 * E + VALUE * N * (fmax(6, fields) + stride) + VALUE * m->streamed * E,
                (clears ? 1 : 2) * VALUE * N * stride + VALUE * m->streamed * E);
    if (clears)
        rt_work_add(work, "clear", 1, 0, 0, VALUE * N * stride);
    if (alya_is_step(rung))
        step_work(run, work);
}

/* --- memory --- */

/* Returns the number of a part's nodes on its faces to other parts, or on those of the periodic box.
 * A part of a file is taken for a cube. */
static double nodes_on_faces(const alya_config_t *config, const alya_counts_t *counts)
{
    const bool periodic = !config->from_file && !config->is_hill;
    double edge[3], sum = 0;
    for (int d = 0; d < 3; d++)
        edge[d] = config->from_file ? cbrt((double)counts->elements / 6) : (double)counts->cells[d];
    for (int d = 0; d < 3; d++)
        if (periodic ||
            (config->from_file ? rt_comm_size() > 1 : edge[d] < (double)config->cells[d]))
            sum += 2 * (edge[(d + 1) % 3] + 1) * (edge[(d + 2) % 3] + 1);
    return sum;
}

/* What rt_halo_predict needs. The faces of a file's part are up to twice as large as a cube's, and a
 * node on an edge is on several other ranks. */
typedef struct {
    int64_t local, shared;
} entries_t;

static entries_t halo_entries(const alya_config_t *config, const alya_counts_t *counts)
{
    const double faces = nodes_on_faces(config, counts);
    if (rt_comm_size() == 1)
        return (entries_t){(int64_t)faces, 0};
    return (entries_t){(int64_t)fmin((double)counts->nodes, faces), (int64_t)(2.5 * faces)};
}

/* Connectivity: 16 per element. x, id and flags: 33 per node. */
static double mesh_memory(double elements, double nodes)
{
    return 16 * elements + (3 * VALUE + sizeof(int64_t) + 1) * nodes;
}

/* Returns the memory needed until this rank has its part of the mesh, in its order. */
static double making_mesh(const alya_config_t *config, const alya_counts_t *counts)
{
    const double E = (double)counts->elements, N = (double)counts->nodes;
    const double all_elements = counts->total_elements, all_nodes = counts->total_nodes;
    const double whole = mesh_memory(all_elements, all_nodes);
    double most = mesh_memory(E, N) + alya_reorder_memory(E, N);
    if (config->from_file)
        most = fmax(most, whole + alya_boundary_memory(all_elements));
    if (config->from_file && rt_comm_size() > 1)
        most = fmax(most, whole + alya_share_memory(all_elements, all_nodes));
    return most;
}

/* Returns what the rung's solver holds in the rung's space, without its halo. */
static double solver_memory(const alya_counts_t *counts, const alya_kernels_t *kernels,
                            bool on_host)
{
    const double E = (double)counts->elements, N = (double)counts->nodes, field = 3 * VALUE * N;
    double sum = field + VALUE * N * kernels->r_stride; /* u0, r */
    sum += kernels->packed ? VALUE * N * kernels->packed : on_host ? field : 2 * field;
    return on_host ? sum : sum + 16 * E;
}

/* Adds what the ladder `step` needs; returns the host bytes of the problem. Judging a step takes 16
 * values per node, and what two solves left 14 (or, before timing, that of one). */
static double step_memory(const alya_counts_t *counts, rt_space_t space, double *setting_up,
                          double *verifying, double bytes[RT_SPACES])
{
    const double N = (double)counts->nodes, values = 7 * VALUE * N;
    const double sums = 2 * VALUE * (double)alya_partial_sums(counts->nodes);
    double making;
    const double rows = alya_rows_memory(counts, &making);
    bytes[space] += values + (space == RT_HOST ? 0 : rows);
    bytes[space == RT_HOST ? RT_HOST : RT_PINNED] += sums;
    *setting_up = fmax(*setting_up, making);
    *verifying = fmax(*verifying, 30 * VALUE * N);
#if RT_HAVE_HYPRE
    bytes[space] += 200 * VALUE * N; /* BoomerAMG's, which is not ours to count */
#endif
    return rows + 3 * VALUE * N;
}

/*
 * Predicts the memory of one rank. The host has the mesh, its schedule, its halo and u; while a
 * rung is verified, also eleven values per node for the comparison and one copy of a field on its
 * way from the rung, which is more than a picture takes. After timing it is eight values, and six
 * that two solves left, which are freed before the last one's are copied. The maximum of that and the
 * making of the mesh counts. A rung off the host has its arrays, the connectivity and a halo of its own there, and
 * makes its records and lists in host memory before it is verified.
 */
void alya_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const alya_config_t *config = run->config;
    const alya_counts_t *counts = alya_counts(run);
    const alya_kernels_t *kernels = rung->kernels ? alya_kernels(rung) : &alya_reference;
    const rt_space_t space = rt_rung_space(rung);
    const double E = (double)counts->elements, N = (double)counts->nodes;
    const entries_t n = halo_entries(config, counts);
    double lists[RT_SPACES] = {0}, scheduling;
    for (int s = 0; s < RT_SPACES; s++)
        bytes[s] = 0;
    if (kernels->memory) {
        alya_counts_t passes = *counts;
        passes.pass = alya_pass_elements(rung, rt_tune_choice(run, rung), counts->elements);
        passes.threads = alya_block_threads(rung, rt_tune_choice(run, rung));
        kernels->memory(&passes, lists);
    }

    double halo = 0, making_halo = 0;
    if (n.local + n.shared > 0) {
        halo = (double)rt_halo_predict(n.local, n.shared, 3, RT_HOST);
        making_halo = (double)rt_halo_predict_setup(n.local, n.shared) + 16.0 * (double)n.local;
        if (space != RT_HOST) { /* an entry per node, or (in CUDA) per value */
            const int values = rung->kind == RT_CUDA && rt_comm_size() > 1 ? 3 : 1;
            const int64_t local = values * n.local, shared = values * n.shared;
            bytes[space] += fmax((double)rt_halo_predict(n.local, n.shared, 3, space),
                                 (double)rt_halo_predict(local, shared, 3 / values, space));
            bytes[RT_PINNED] += (double)rt_halo_predict(n.local, n.shared, 3, RT_PINNED);
            making_halo = fmax(making_halo,
                               (double)rt_halo_predict_setup(local, shared) + 16.0 * (double)local);
        }
    }
    bytes[space] += solver_memory(counts, kernels, space == RT_HOST) + lists[space];

    const double schedule = alya_schedule_memory((int64_t)E, (int64_t)N, &scheduling);
    const bool own_schedule = alya_chunk_elements(rung, rt_tune_choice(run, rung)) != ALYA_CHUNK;
    bytes[RT_HOST] += own_schedule ? schedule : 0;
    double problem = mesh_memory(E, N) + schedule;
    const double making_problem = problem + fmax(scheduling, making_halo);
    problem += halo + 3 * VALUE * N;
    const double copied = kernels->r_stride > 3 ? kernels->r_stride : 0;
    const double compared = fmax(14, 11 + copied);
    double verifying = compared * VALUE * N;
    double setting_up = own_schedule ? bytes[RT_HOST] + scheduling : 0;
    if (space != RT_HOST)
        setting_up = fmax(fmax(VALUE * N * kernels->packed, lists[RT_HOST]), making_halo);
    if (alya_is_step(rung) && (run->opt.rung || run->opt.ladder)) /* else it is not run */
        problem += step_memory(counts, space, &setting_up, &verifying, bytes);
    problem += 65536; /* small things */
    if (space != RT_HOST)
        problem += 4.0 * (double)(n.local + n.shared);
    bytes[RT_HOST] = fmax(problem + fmax(verifying + bytes[RT_HOST], setting_up), making_problem);
    bytes[RT_HOST] = fmax(bytes[RT_HOST], making_mesh(config, counts));
}

/* --- how much of a step is assembly --- */

static void cell(rt_table_t *t, double value, const char *format)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    rt_table_cell(t, "%s", isfinite(value) && value > 0 ? text : "-");
}

void alya_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    rt_table_t *t = rt_table_new("<rung|ms per step|three assemblies|step-B / this|B / this");
    int rows = 0;
    for (int i = 0; i < alya_app.n_rungs; i++) {
        const rt_outcome_t *o = &outcomes[i], *b;
        if (!o->rung || !alya_is_step(o->rung) || !o->verdict.valid || o->seconds_per_unit <= 0)
            continue;
        b = &outcomes[rt_app_rung(&alya_app, o->rung->kind == RT_CPU ? "step-cpu-B" : "step-B") -
                      alya_app.ladder];
        rt_table_cell(t, "%s", o->rung->name);
        cell(t, 1e3 * o->seconds_per_unit, "%.4g");
        cell(t, 100 * o->kernel_seconds / o->seconds_per_unit, "%.0f %%");
        cell(t, b->verdict.valid ? b->seconds_per_unit / o->seconds_per_unit : 0, "%.2f");
        cell(t, b->kernel_seconds / o->kernel_seconds, "%.2f");
        rt_table_row(t);
        rows++;
    }
    (void)run;
    if (rows > 0) {
        fprintf(out,
                "\na time step: how much of it its three assemblies take (the paper: up to 80 %% "
                "in production), and what each rung is worth to a step and to an assembly\n\n");
        rt_table_print(t, out);
    }
    rt_table_destroy(t);
}
