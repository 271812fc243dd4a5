/*
 * schedule.c - which elements may be assembled at the same time.
 *
 * Idea: colour chunks of consecutive elements, not elements. One thread works on a chunk, so
 * elements within it may share nodes, and only chunks that share a node need different colours.
 * Greedy, with one word per node: bit c is set if a chunk of colour c has the node. Advantage: no
 * atomics, results that do not depend on the number of threads, and the locality of the mesh is
 * kept within a chunk. Price: one barrier per colour, and nodes on the edge of a chunk are fetched
 * again.
 *
 * In a random order a chunk touches nodes everywhere and meets nearly every other chunk. Then the
 * elements themselves are coloured, and chunks are cut from each colour: more barriers and no reuse
 * of nodes, but in such an order there was no reuse to lose.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "../kernel.h"

enum {
    WORD = 64,        /* colours tried in one round over the nodes */
    MOST_COLOURS = 32 /* of chunks; good orders need 4 to 12 */
};

/* Returns the colours that these nodes have. */
static uint64_t colours_used(const int32_t *nodes, int64_t count, const uint64_t *used)
{
    uint64_t seen = 0;
    for (int64_t i = 0; i < count; i++)
        seen |= used[nodes[i]];
    return seen;
}

/* Gives these nodes one more colour. */
static void colour_nodes(const int32_t *nodes, int64_t count, uint64_t *used, int colour)
{
    for (int64_t i = 0; i < count; i++)
        used[nodes[i]] |= (uint64_t)1 << colour;
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Colours groups of `group` consecutive elements; of[g] is the colour of group g. Returns the
 * number of colours, or 0 if more than `limit` are needed. Groups that find no colour in one round
 * wait for the next, which starts with clean words, so any number of colours is possible. */
static int32_t colour_groups(const alya_mesh_t *mesh, int64_t group, int32_t limit, uint64_t *used,
                             int32_t *of)
{
    int64_t groups = (mesh->elements + group - 1) / group, left = groups;
    int32_t colours = 0;
    for (int64_t g = 0; g < groups; g++)
        of[g] = -1;
    for (int32_t base = 0; left > 0; base += WORD) {
        memset(used, 0, (size_t)mesh->nodes * sizeof *used);
        for (int64_t g = 0; g < groups; g++) {
            if (of[g] >= 0)
                continue;
            const int32_t *nodes = mesh->connectivity + 4 * g * group;
            int64_t count = 4 * min_i64(group, mesh->elements - g * group);
            uint64_t seen = colours_used(nodes, count, used);
            if (seen == UINT64_MAX) /* none is left in this round */
                continue;
            int c = 0;
            while (seen >> c & 1)
                c++;
            if (base + c >= limit)
                return 0;
            colour_nodes(nodes, count, used, c);
            of[g] = base + c;
            left--;
            if (base + c >= colours)
                colours = base + c + 1;
        }
    }
    return colours;
}

/* Sorts the elements by colour, of[g] of those of group g, and cuts chunks from each colour. As only
 * the last group of all is shorter, chunks as long as groups are the groups. */
static void cut_chunks(alya_schedule_t *s, int64_t elements, int64_t most, int64_t group,
                       const int32_t *of)
{
    int64_t *start = RT_NEW(int64_t, s->colours + 1, RT_HOST);
    memset(start, 0, (size_t)(s->colours + 1) * sizeof *start);
    for (int64_t e = 0; e < elements; e++)
        start[of[e / group] + 1]++;
    for (int32_t c = 0; c < s->colours; c++)
        start[c + 1] += start[c];
    for (int32_t c = 0; c < s->colours; c++) {
        s->colour[c] = s->chunks;
        for (int64_t p = start[c]; p < start[c + 1]; p += most)
            s->first[s->chunks++] = p;
    }
    s->first[s->chunks] = elements;
    s->colour[s->colours] = s->chunks;
    for (int64_t e = 0; s->list && e < elements; e++)
        s->list[start[of[e / group]]++] = (int32_t)e;
    RT_FREE(start, RT_HOST);
}

/* A small chunk stays in the first-level cache and spreads well over threads; a large one has fewer
 * nodes on its edge, and there are fewer colours to wait for. Small blocks of a GPU are replaced
 * sooner when they finish; large ones share more of what their first-level cache holds. */
static const char *const chunks[] = {"64", "128", "256", "512", "1024", "2048", "4096", NULL};
static const char *const blocks[] = {"64", "128", "256", "512", NULL};
static const char *const small_blocks[] = {"64", "128", "256", NULL};
/* The paper's VECTOR_DIM on a GPU: what was best for its baseline, and what it uses. */
static const char *const passes[] = {"auto", "196608", "2097152", NULL};
#define THREADS_UP_TO(list)                                                   \
    {                                                                         \
        .name = "threads", .about = "per block", .values = list, .initial = 1 \
    }
#define PASS                                                                             \
    {                                                                                    \
        .name = "pass", .about = "elements whose intermediates are in memory at a time", \
        .values = passes                                                                 \
    }
const rt_parameter_t alya_chunk = {.name = "chunk",
                                   .about = "elements that a thread takes at a time",
                                   .values = chunks,
                                   .initial = 3};
const rt_parameter_t alya_threads = THREADS_UP_TO(blocks);
const rt_parameter_t alya_few_threads = THREADS_UP_TO(small_blocks);
const rt_parameter_t alya_pass_only = PASS;
const rt_parameter_t alya_threads_and_pass[2] = {THREADS_UP_TO(blocks), PASS};

/* Returns the value that was chosen for a parameter of the rung; 0: "auto", or it has none. */
static int64_t chosen(const rt_rung_t *rung, const int *choice, const char *name)
{
    const rt_kernels_t *kernels = rung->kernels;
    for (int i = 0; kernels && i < kernels->n_parameters; i++)
        if (strcmp(kernels->parameters[i].name, name) == 0)
            return strtoll(kernels->parameters[i].values[choice[i]], NULL, 10);
    return 0;
}

unsigned alya_block_threads(const rt_rung_t *rung, const int *choice)
{
    return (unsigned)chosen(rung, choice, "threads");
}

int64_t alya_chunk_elements(const rt_rung_t *rung, const int *choice)
{
    const int64_t elements = chosen(rung, choice, "chunk");
    return elements > 0 ? elements : ALYA_CHUNK;
}

/* Enough elements to fill a GPU several times, and far more intermediates than any cache holds; but
 * at most a sixteenth of the mesh, so that the workspace stays in proportion to it. */
int64_t alya_pass_elements(const rt_rung_t *rung, const int *choice, int64_t elements)
{
    const int64_t least = 4096, most = 1 << 21, part = elements / 16;
    const int64_t pass = chosen(rung, choice, "pass");
    if (pass > 0)
        return pass < elements ? pass : elements > least ? elements : least;
    return part < least ? least : part > most ? most : part;
}

alya_schedule_t *alya_schedule_new(const alya_mesh_t *mesh, int64_t most)
{
    int64_t elements = mesh->elements, groups = (elements + most - 1) / most;
    alya_schedule_t *s = RT_NEW(alya_schedule_t, 1, RT_HOST);
    memset(s, 0, sizeof *s);
    uint64_t *used = RT_NEW(uint64_t, mesh->nodes, RT_HOST);
    int32_t *of = RT_NEW(int32_t, elements, RT_HOST);
    int64_t group = most;
    s->colours = colour_groups(mesh, group, MOST_COLOURS, used, of);
    if (s->colours == 0 && elements > 0) {
        group = 1;
        s->colours = colour_groups(mesh, group, INT32_MAX, used, of);
    }
    RT_FREE(used, RT_HOST);
    s->first = RT_NEW(int64_t, groups + s->colours + 1, RT_HOST);
    s->colour = RT_NEW(int64_t, s->colours + 1, RT_HOST);
    if (s->colours > 1) /* else positions are elements */
        s->list = RT_NEW(int32_t, elements, RT_HOST);
    cut_chunks(s, elements, most, group, of);
    RT_FREE(of, RT_HOST);
    return s;
}

void alya_schedule_destroy(alya_schedule_t *schedule)
{
    if (schedule == NULL)
        return;
    RT_FREE_ALL(RT_HOST, schedule->list, schedule->first, schedule->colour, schedule);
}

/* Valid for chunks of 64 elements or more and up to 256 colours; a node with more elements than
 * that adds 16 bytes for each of them. The words per node are freed before the list is made. */
double alya_schedule_memory(int64_t elements, int64_t nodes, double *making)
{
    const double held = sizeof(alya_schedule_t) + 4096 + (4 + 8.0 / 64) * (double)elements;
    const double words = 8.0 * (double)nodes - held;
    *making = 4.0 * (double)elements + (words > 0 ? words : 0);
    return held;
}
