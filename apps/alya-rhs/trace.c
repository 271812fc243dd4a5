/*
 * trace.c - what ranks tell each other in an assembly, or in a Runge-Kutta step.
 *
 * Parts of a Hilbert curve have no regular neighbours, so all parts are made, one after the other,
 * and the nodes that several of them have are found by their ids. For many ranks, of a box with the
 * same shape and fewer cells: the surface of a part grows as the 2/3 power of its cells, and so do
 * the bytes. docs/running.md says how good that is.
 */
#include "config.h"
#include <math.h>
#include "alya.h"
#include "base/sort.h"

enum { MOST_CELLS = 1 << 26 }; /* of all parts that are made: about 10 s */

/* Divides the extents of the box by `by`, as near as may be; returns the largest relative error. */
static double divide(const int64_t fine[3], int64_t by, alya_box_t *box)
{
    double worst = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t n = (fine[d] + by / 2) / by;
        box->cells[d] = n > 2 ? n : 2;
        worst = fmax(worst, fabs((double)(box->cells[d] * by) / (double)fine[d] - 1));
    }
    return worst;
}

/* Makes the box as coarse as it must be for all its parts to be made: among the divisors that are
 * at most twice the least possible one, takes that which keeps the shape best. Returns what bytes
 * are to be multiplied by: the nodes of the surface are as many as those of the box to 2/3. */
static double coarsen(alya_box_t *box, int ranks)
{
    const int64_t fine[3] = {box->cells[0], box->cells[1], box->cells[2]};
    int64_t least = 0, best = 1;
    double error = INFINITY, larger = 1;
    for (int64_t by = 1; least == 0 || by <= 2 * least; by++) {
        const double worst = divide(fine, by, box);
        const double cells = (double)box->cells[0] * (double)box->cells[1] * (double)box->cells[2];
        if (cells * ranks > MOST_CELLS && cells > 8)
            continue;
        least = least > 0 ? least : by;
        if (worst < error) {
            error = worst;
            best = by;
        }
    }
    divide(fine, best, box);
    for (int d = 0; d < 3; d++)
        larger *= (double)(fine[d] + 1) / (double)(box->cells[d] + 1);
    return pow(larger, 2. / 3);
}

/* Shared nodes of all parts, as they come. */
typedef struct {
    uint64_t *id;
    uint32_t *rank;
    size_t n, room;
} shared_t;

static void take(shared_t *shared, const alya_mesh_t *mesh, int rank)
{
    if (shared->n + (size_t)mesh->nodes > shared->room) {
        const size_t room = 2 * (shared->n + (size_t)mesh->nodes);
        uint64_t *id = RT_NEW(uint64_t, room, RT_HOST);
        uint32_t *of = RT_NEW(uint32_t, room, RT_HOST);
        for (size_t i = 0; i < shared->n; i++) {
            id[i] = shared->id[i];
            of[i] = shared->rank[i];
        }
        RT_FREE(shared->id, RT_HOST);
        RT_FREE(shared->rank, RT_HOST);
        *shared = (shared_t){id, of, shared->n, room};
    }
    for (int64_t i = 0; i < mesh->nodes; i++)
        if (mesh->flags[i] & ALYA_SHARED) {
            shared->id[shared->n] = (uint64_t)mesh->node_id[i];
            shared->rank[shared->n++] = (uint32_t)rank;
        }
}

/* Each rank sends its part of the sum to each other rank that has the node; a periodic box may have
 * two nodes of one id on a rank, of which the halo sends the sum. */
static void add_messages(const shared_t *shared, double bytes, rt_trace_t *trace)
{
    for (size_t i = 0, end; i < shared->n; i = end) {
        for (end = i + 1; end < shared->n && shared->id[end] == shared->id[i];)
            end++;
        for (size_t a = i; a < end; a++)
            for (size_t b = i; b < end; b++)
                if ((a == i || shared->rank[a] != shared->rank[a - 1]) &&
                    (b == i || shared->rank[b] != shared->rank[b - 1]))
                    rt_trace_message(trace, (int)shared->rank[a], (int)shared->rank[b], bytes);
    }
}

void alya_trace(const rt_run_t *run, const rt_rung_t *rung, rt_trace_t *trace)
{
    const alya_config_t *config = run->config;
    const int ranks = rt_trace_ranks(trace);
    alya_box_t box = alya_box(config);
    shared_t shared = {0};
    (void)rung;
    if (config->from_file || config->partition == ALYA_PARTITION_METIS)
        rt_refuse(RT_USAGE, "--trace: for meshes that are made and cut along the curve; leave "
                            "--mesh FILE and --partition out");
    const double larger = coarsen(&box, ranks);
    if (larger > 1)
        rt_text(rt_trace_remark(trace), "parts of %lldx%lldx%lld cells; bytes times %.4g",
                (long long)box.cells[0], (long long)box.cells[1], (long long)box.cells[2], larger);
    box.cells[0] *= ranks;
    for (int rank = 0; rank < ranks; rank++) {
        alya_mesh_t *mesh = alya_box_new(&box, rank, ranks);
        take(&shared, mesh, rank);
        alya_mesh_destroy(mesh);
    }
    rt_sort(shared.id, shared.rank, (int64_t)shared.n);
    rt_trace_exchange(trace, "halo", config->steps > 0 ? 3 : 1, 0);
    add_messages(&shared, 3 * sizeof(double) * larger, trace);
    RT_FREE(shared.id, RT_HOST);
    RT_FREE(shared.rank, RT_HOST);
}
