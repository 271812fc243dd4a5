/*
 * test_halo.c - the halo against an oracle that knows the entries of all ranks and adds them one by
 * one. Alone or under mpirun; the random groups spread over all ranks.
 *
 *   test_halo                            the checks
 *   test_halo no-owner | some-owners | transport NAME
 *                                        what must end all ranks (halo_mpi.sh)
 */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <time.h>
#include "check.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "base/error.h"
#include "halo/halo.h"
#include "machine/kokkos.h"
#if RT_HAVE_CUDA
#include "halo/allreduce.h"
#endif
#include "base/mem.h"
#include "halo/nccl.h"
#include "halo/transport.h"
#include "judge/verify.h"

enum { MOST = 600, LENGTH = 900, COMPONENTS = 3, SHARED_KEYS = 90, OWN_KEYS = 60 };

static int rank, size;

/* ---- random groups --------------------------------------------------------------------------- */

/* One entry. Entries of all ranks lie in one array, MOST for each rank, on every rank. */
typedef struct {
    int32_t key; /* which group; -1 none */
    uint8_t owner;
    int64_t position;
} entry_t;

typedef struct {
    int64_t n; /* entries of this rank */
    int64_t index[MOST], gid[MOST];
    uint8_t owner[MOST];
    entry_t *all; /* [size * MOST], key -1 where a rank has fewer */
    int64_t keys;
} groups_t;

static uint64_t draw(uint64_t *state)
{
    return rt_hash(++*state, 77);
}

/* Ids differ in their high bits only, seven of each, so that a truncated one would be seen. */
static int64_t gid_of(int32_t key)
{
    return key < 0 ? -1 - rank : ((int64_t)(key % 7) << 40) + key / 7;
}

/* Some keys can come up on any rank, some on one rank only. Key 0 is frequent: a group larger than
 * any that is unrolled. Key 1 has three copies on rank 0 and one on each other rank. */
static int32_t draw_key(uint64_t *state, int r)
{
    uint64_t kind = draw(state) % 20;
    if (kind == 0)
        return 0;
    if (kind <= 2)
        return -1;
    if (kind <= 10)
        return 2 + (int32_t)(draw(state) % (SHARED_KEYS - 2));
    return SHARED_KEYS + r * OWN_KEYS + (int32_t)(draw(state) % OWN_KEYS);
}

/* Makes the entries of rank r. Positions are any, no two the same. */
static void fill_entries(entry_t *entry, int r, uint64_t seed, bool empty)
{
    uint64_t state = 1000 * seed + (uint64_t)r;
    int64_t place[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        place[i] = i;
    for (int i = 0; i < MOST; i++) {
        const int64_t j = i + (int64_t)(draw(&state) % (uint64_t)(LENGTH - i));
        const bool is_one = r == 0 ? i % 200 == 5 : i == 9;
        entry[i] = (entry_t){.key = is_one ? 1 : draw_key(&state, r), .position = place[j]};
        place[j] = place[i];
        if (empty || i >= MOST - 7 * r)
            entry[i].key = -1;
    }
}

/* Makes one entry of each group its owner, chosen at random. */
static void choose_owners(groups_t *groups, uint64_t seed)
{
    int64_t *chosen = calloc((size_t)groups->keys, sizeof *chosen); /* an entry's number and 1 */
    for (int64_t e = 0; e < (int64_t)size * MOST; e++) {
        const int32_t key = groups->all[e].key;
        if (key >= 0 && (!chosen[key] || rt_hash((uint64_t)e, seed + 1) >
                                             rt_hash((uint64_t)chosen[key] - 1, seed + 1)))
            chosen[key] = e + 1;
    }
    for (int64_t key = 0; key < groups->keys; key++)
        if (chosen[key])
            groups->all[chosen[key] - 1].owner = 1;
    free(chosen);
}

static groups_t *groups_new(uint64_t seed, int empty_rank)
{
    groups_t *groups = calloc(1, sizeof *groups);
    groups->all = calloc((size_t)size * MOST, sizeof *groups->all);
    groups->keys = SHARED_KEYS + (int64_t)size * OWN_KEYS;
    for (int r = 0; r < size; r++)
        fill_entries(&groups->all[r * MOST], r, seed, r == empty_rank);
    choose_owners(groups, seed);
    groups->n = rank == empty_rank ? 0 : MOST - 7 * rank;
    for (int64_t i = 0; i < groups->n; i++) {
        const entry_t *e = &groups->all[rank * MOST + i];
        groups->index[i] = e->position;
        groups->gid[i] = gid_of(e->key);
        groups->owner[i] = e->owner;
    }
    return groups;
}

static void groups_destroy(groups_t *groups)
{
    free(groups->all);
    free(groups);
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* A layout of an array, and the processor and space that work on it. */
typedef struct {
    const char *name;
    rt_type_t type;
    int components;
    int64_t entry_stride, component_stride;
} layout_t;

static const layout_t layouts[] = {
    {"one double", RT_F64, 1, 1, 0},
    {"interleaved doubles", RT_F64, COMPONENTS, COMPONENTS, 1},
    {"planar doubles", RT_F64, COMPONENTS, 1, LENGTH},
    {"two of every five doubles", RT_F64, 2, 5, 2},
    {"one float", RT_F32, 1, 1, 0},
    {"planar floats", RT_F32, 2, 1, LENGTH},
    {"one half", RT_F16, 1, 1, 0},
    {"interleaved halves", RT_F16, COMPONENTS, COMPONENTS, 1},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

typedef struct {
    rt_kind_t kind;
    rt_space_t space;
} place_t;

static size_t value_bytes(rt_type_t type)
{
    return type == RT_F64 ? 8 : type == RT_F32 ? 4 : 2;
}

static size_t array_bytes(const layout_t *layout)
{
    return (size_t)(LENGTH * 5) * value_bytes(layout->type);
}

static int64_t at(const layout_t *layout, int64_t position, int c)
{
    return position * layout->entry_stride + c * layout->component_stride;
}

static double get(const void *array, const layout_t *layout, int64_t position, int c)
{
    const int64_t i = at(layout, position, c);
    switch (layout->type) {
    case RT_F64:
        return ((const double *)array)[i];
    case RT_F32:
        return ((const float *)array)[i];
    default:
        return ((const uint16_t *)array)[i];
    }
}

/* Returns value i of rank r's array: a real in (-1, 1); for halves, which are only copied, any bits. */
static double value_of(rt_type_t type, uint64_t seed, int r, int64_t i)
{
    const uint64_t index = (uint64_t)(r * LENGTH * 5 + i);
    return type == RT_F64   ? rt_random(index, seed)
           : type == RT_F32 ? (float)rt_random(index, seed)
                            : (uint16_t)rt_hash(index, seed);
}

/* Fills every byte of this rank's array, so that a stray write shows. */
static void fill_array(void *array, rt_type_t type, uint64_t seed)
{
    for (int64_t i = 0; i < LENGTH * 5; i++) {
        const double value = value_of(type, seed, rank, i);
        if (type == RT_F64)
            ((double *)array)[i] = value;
        else if (type == RT_F32)
            ((float *)array)[i] = (float)value;
        else
            ((uint16_t *)array)[i] = (uint16_t)value;
    }
}

/* ---- oracle ---------------------------------------------------------------------------------- */

/* What the copies of a group must hold, with the bound on the error. */
typedef struct {
    double value[COMPONENTS], bound[COMPONENTS];
    int copies;
    bool owned;
} want_t;

/* Adds up the entries of all ranks, one by one, or of this rank (`alone`, without messages), whose
 * arrays were filled with `seed`. Returns [keys]. */
static want_t *add_entries(const groups_t *groups, const layout_t *layout, rt_halo_op_t op,
                           bool alone, uint64_t seed)
{
    const double eps = layout->type == RT_F64 ? RT_EPS : 5.9604644775390625e-08;
    want_t *want = calloc((size_t)groups->keys, sizeof *want);
    for (int64_t e = 0; e < (int64_t)size * MOST; e++) {
        const entry_t *entry = &groups->all[e];
        const int r = (int)(e / MOST);
        if (entry->key < 0 || (alone && r != rank))
            continue;
        want_t *w = &want[entry->key];
        w->copies++;
        w->owned = w->owned || entry->owner;
        for (int c = 0; c < layout->components; c++) {
            const double x = value_of(layout->type, seed, r, at(layout, entry->position, c));
            if (op == RT_HALO_COPY)
                w->value[c] = entry->owner ? x : w->value[c];
            else
                w->value[c] += x, w->bound[c] += fabs(x);
        }
    }
    for (want_t *w = want; w < want + groups->keys; w++)
        for (int c = 0; c < COMPONENTS; c++) /* ours rounds and so does the oracle */
            w->bound[c] *= w->copies > 1 ? 2 * w->copies * eps : 0;
    return want;
}

/* Counts the entries on all ranks that are wrong. */
static double wrong_entries(const groups_t *groups, rt_halo_op_t op, const void *after,
                            const layout_t *layout, bool alone, uint64_t seed)
{
    double wrong = 0;
    want_t *want = add_entries(groups, layout, op, alone, seed);
    for (int64_t i = 0; i < groups->n; i++) {
        const int32_t key = groups->all[rank * MOST + i].key;
        for (int c = 0; key >= 0 && c < layout->components; c++) {
            const want_t *w = &want[key];
            const double before =
                value_of(layout->type, seed, rank, at(layout, groups->index[i], c));
            const bool kept = op == RT_HALO_COPY && !w->owned; /* nothing came from the owner */
            const double error =
                get(after, layout, groups->index[i], c) - (kept ? before : w->value[c]);
            wrong += !(fabs(error) <= w->bound[c]);
        }
    }
    free(want);
    rt_comm_sum(&wrong, 1);
    return wrong;
}

/* Counts the values of groups of which two copies, on any ranks, differ in a bit. */
static int unequal_copies(const groups_t *groups, const void *after, const layout_t *layout)
{
    const int n = (int)groups->keys * COMPONENTS;
    double *high = malloc((size_t)n * sizeof *high), *low = malloc((size_t)n * sizeof *low);
    int unequal = 0;
    for (int k = 0; k < n; k++)
        high[k] = -(low[k] = 1e300);
    for (int64_t i = 0; i < groups->n; i++)
        for (int c = 0; groups->gid[i] >= 0 && c < layout->components; c++) {
            const int k = groups->all[rank * MOST + i].key * COMPONENTS + c;
            const double value = get(after, layout, groups->index[i], c);
            high[k] = fmax(high[k], value);
            low[k] = fmin(low[k], value);
        }
    rt_comm_max(high, n);
    rt_comm_min(low, n);
    for (int k = 0; k < n; k++)
        unequal += high[k] > low[k];
    free(high);
    free(low);
    return unequal;
}

/* Counts the values outside all groups that are not as in `want`. */
static int64_t strays(const groups_t *groups, const void *want, const void *after,
                      const layout_t *layout)
{
    size_t bytes = value_bytes(layout->type);
    bool *ours = calloc(LENGTH * 5, sizeof *ours);
    int64_t stray = 0;
    for (int64_t i = 0; i < groups->n; i++)
        for (int c = 0; groups->gid[i] >= 0 && c < layout->components; c++)
            ours[at(layout, groups->index[i], c)] = true;
    for (int64_t i = 0; i < LENGTH * 5; i++)
        stray += !ours[i] && memcmp((const char *)want + (size_t)i * bytes,
                                    (const char *)after + (size_t)i * bytes, bytes) != 0;
    free(ours);
    return stray;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static rt_halo_t *halo_new(const groups_t *groups, place_t place, bool owners,
                           const char *transport)
{
    rt_halo_desc_t desc = {.n = groups->n,
                           .index = groups->index,
                           .gid = groups->gid,
                           .owner = owners ? groups->owner : NULL,
                           .max_components = COMPONENTS,
                           .kind = place.kind,
                           .space = place.space,
                           .transport = transport};
    return rt_halo_new(&desc);
}

/* Writes all values that are in no group, as interior work between begin and end would. Changes
 * `want` and the array alike. */
static void interior_work(const groups_t *groups, const layout_t *layout, void *want, void *array,
                          rt_space_t space)
{
    size_t bytes = value_bytes(layout->type);
    static const double mark = 7.25;
    for (int64_t i = 0; i < groups->n; i++)
        for (int c = 0; groups->gid[i] < 0 && c < layout->components; c++) {
            const size_t offset = (size_t)at(layout, groups->index[i], c) * bytes;
            memcpy((char *)want + offset, &mark, bytes);
            rt_copy((char *)array + offset, space, (char *)want + offset, RT_HOST, bytes);
        }
}

/* Does one exchange. Returns the result in host memory (free it with rt_free); *want: the input with
 * the interior's work. */
static void *exchange(rt_halo_t *halo, const groups_t *groups, rt_halo_op_t op,
                      const layout_t *layout, place_t place, uint64_t seed, void *want)
{
    size_t bytes = array_bytes(layout);
    fill_array(want, layout->type, seed);
    void *array = rt_clone(want, bytes, 1, place.space);
    rt_field_t field = {array, layout->type, layout->components, layout->entry_stride,
                        layout->component_stride};
    rt_halo_begin(halo, op, &field);
    memset(&field, 0x5a, sizeof field); /* it was copied */
    interior_work(groups, layout, want, array, place.space);
    rt_halo_end(halo);
    if (place.kind == RT_KOKKOS)
        rt_kokkos_fence();
    void *result = rt_alloc(bytes, 1, RT_HOST);
    rt_copy(result, RT_HOST, array, place.space, bytes);
    rt_free(array, place.space);
    return result;
}

/* Does one exchange and returns the number of wrong entries on all ranks. */
static double judge(rt_halo_t *halo, const groups_t *groups, rt_halo_op_t op,
                    const layout_t *layout, place_t place, bool alone)
{
    size_t bytes = array_bytes(layout);
    void *want = rt_alloc(bytes, 1, RT_HOST);
    void *first = exchange(halo, groups, op, layout, place, 3, want);
    double wrong = wrong_entries(groups, op, first, layout, alone, 3);
    CHECK(strays(groups, want, first, layout) == 0);

    void *other = exchange(halo, groups, op, layout, place, 4, want); /* other messages between */
    void *again = exchange(halo, groups, op, layout, place, 3, want);
    CHECK(memcmp(first, again, bytes) == 0);
    CHECK(memcmp(first, other, bytes) != 0 || groups->n == 0);
    if (wrong == 0 && !alone)
        CHECK(unequal_copies(groups, first, layout) == 0);
    rt_free(again, RT_HOST);
    rt_free(other, RT_HOST);
    rt_free(first, RT_HOST);
    RT_FREE(want, RT_HOST);
    return wrong;
}

static void test_all_layouts(const groups_t *groups, place_t place, const char *transport)
{
    bool alone = strcmp(transport, "none") == 0;
    rt_halo_t *sums = halo_new(groups, place, false, transport);
    rt_halo_t *both = halo_new(groups, place, true, transport);
    for (int i = 0; i < LAYOUTS; i++) {
        const layout_t *layout = &layouts[i];
        double wrong = judge(both, groups, RT_HALO_COPY, layout, place, alone);
        if (layout->type != RT_F16) {
            wrong += judge(both, groups, RT_HALO_SUM, layout, place, alone);
            wrong += judge(sums, groups, RT_HALO_SUM, layout, place, alone);
        }
        CHECK(wrong == 0);
        if (wrong > 0 && rank == 0)
            fprintf(stderr, "    %s, %s, transport %s: %g wrong\n", layout->name,
                    rt_kind_name(place.kind), transport, wrong);
    }
    rt_halo_destroy(sums);
    rt_halo_destroy(both);
}

/* Two exchanges under way at once, ended in a different order on half of the ranks; also begun in a
 * different order, which only messages that are not on the stream allow. */
static void test_two_at_once(const groups_t *groups, place_t place)
{
    const layout_t *layout = &layouts[0];
    size_t bytes = array_bytes(layout);
    rt_halo_t *a = halo_new(groups, place, true, "auto");
    rt_halo_t *b = halo_new(groups, place, true, "auto");
    double *host = rt_alloc(bytes, 1, RT_HOST);
    fill_array(host, RT_F64, 9);
    double *x = rt_clone(host, bytes, 1, place.space), *y = rt_clone(host, bytes, 1, place.space);
    rt_field_t fx = rt_field_f64(x), fy = rt_field_f64(y);
    if (rank % 2 || rt_halo_on_stream(a)) {
        rt_halo_begin(a, RT_HALO_SUM, &fx);
        rt_halo_begin(b, RT_HALO_COPY, &fy);
        rt_halo_end(b);
        rt_halo_end(a);
    } else {
        rt_halo_begin(b, RT_HALO_COPY, &fy);
        rt_halo_begin(a, RT_HALO_SUM, &fx);
        rt_halo_end(a);
        rt_halo_end(b);
    }
    rt_copy(host, RT_HOST, x, place.space, bytes);
    CHECK(wrong_entries(groups, RT_HALO_SUM, host, layout, false, 9) == 0);
    rt_copy(host, RT_HOST, y, place.space, bytes);
    CHECK(wrong_entries(groups, RT_HALO_COPY, host, layout, false, 9) == 0);
    RT_FREE(x, place.space);
    RT_FREE(y, place.space);
    RT_FREE(host, RT_HOST);
    rt_halo_destroy(a);
    rt_halo_destroy(b);
}

/* The oracle finds that there were no messages, so it would find a lost one too. */
static void test_lost_messages(const groups_t *groups, place_t place)
{
    rt_halo_t *halo = halo_new(groups, place, true, "none");
    CHECK(judge(halo, groups, RT_HALO_SUM, &layouts[0], place, false) > 0);
    CHECK(judge(halo, groups, RT_HALO_COPY, &layouts[6], place, false) > 0);
    rt_halo_destroy(halo);
}

/* ---- rt_halo_info ---------------------------------------------------------------------------- */

static void test_info(const groups_t *groups, place_t place)
{
    size_t used[RT_SPACES];
    for (int space = 0; space < RT_SPACES; space++)
        used[space] = rt_mem_used((rt_space_t)space);
    rt_halo_t *halo = halo_new(groups, place, true, "auto");
    rt_halo_info_t info = rt_halo_info(halo);
    for (int space = 0; space < RT_SPACES; space++)
        CHECK(rt_mem_used((rt_space_t)space) - used[space] == info.bytes[space]);
    int64_t n_groups = 0, local = 0, shared = 0, slots = 0;
    bool *peer = calloc((size_t)size, sizeof *peer);
    for (int32_t key = 0; key < groups->keys; key++) {
        int64_t mine = 0, others = 0, total = 0;
        for (int r = 0; r < size; r++) {
            int64_t here = 0;
            for (int i = 0; i < MOST; i++)
                here += groups->all[r * MOST + i].key == key;
            total += here;
            mine += r == rank ? here : 0;
            others += r != rank && here > 0;
        }
        for (int r = 0; mine > 0 && r < size; r++)
            for (int i = 0; r != rank && i < MOST; i++)
                peer[r] |= groups->all[r * MOST + i].key == key;
        n_groups += mine > 0 && total > 1;
        local += others == 0 && mine > 1 ? mine : 0;
        shared += others > 0 ? mine : 0;
        slots += mine > 0 ? others : 0;
    }
    int neighbours = 0;
    for (int r = 0; r < size; r++)
        neighbours += peer[r];
    CHECK(info.groups == n_groups);
    CHECK(info.local_entries == local);
    CHECK(info.shared_entries == shared);
    CHECK(info.neighbours == neighbours);
    CHECK(info.send_values == slots);
    if (size > 1 && rt_halo_on_stream(halo)) /* it won: GPUs of their own */
        CHECK(place.kind != RT_CPU);
    else
        CHECK_TEXT(info.transport, size > 1 ? "staged" : "none");
    CHECK(strlen(info.choice) > 10);
    free(peer);
    rt_halo_destroy(halo);
    for (int space = 0; space < RT_SPACES; space++)
        CHECK(rt_mem_used((rt_space_t)space) == used[space]);
}

/* No index: entry i is at position i; nothing at all to share. */
static void test_plain(place_t place)
{
    int64_t gid[4] = {10 * (rank + 1), 7, 10 * (rank + 1), -1};
    double host[4] = {1, 2, 4, 8};
    rt_halo_desc_t desc = {
        .n = 4, .gid = gid, .max_components = 1, .kind = place.kind, .space = place.space};
    rt_halo_t *halo = rt_halo_new(&desc); /* transport NULL: auto */
    double *x = rt_clone(host, 4, sizeof *x, place.space);
    rt_field_t field = rt_field_f64(x);
    rt_halo_do(halo, RT_HALO_SUM, &field);
    if (place.kind == RT_KOKKOS)
        rt_kokkos_fence();
    rt_copy(host, RT_HOST, x, place.space, sizeof host);
    CHECK(host[0] == 5 && host[1] == 2 * size && host[2] == 5 && host[3] == 8);
    rt_halo_destroy(halo);

    desc.n = 0;
    desc.gid = NULL;
    halo = rt_halo_new(&desc);
    rt_halo_do(halo, RT_HALO_SUM, &field);
    rt_halo_do(halo, RT_HALO_COPY, &field);
    CHECK(rt_halo_info(halo).groups == 0 && rt_halo_info(halo).neighbours == 0);
    rt_halo_destroy(halo);
    rt_halo_destroy(NULL);
    RT_FREE(x, place.space);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

/* Entries {position, gid, owner}; with owners or without. */
static rt_halo_t *small_halo(int64_t *index, int64_t *gid, uint8_t *owner, const char *transport)
{
    rt_halo_desc_t desc = {.n = 3,
                           .index = index,
                           .gid = gid,
                           .owner = owner,
                           .max_components = 2,
                           .kind = RT_CPU,
                           .space = RT_HOST,
                           .transport = transport};
    return rt_halo_new(&desc);
}

/* Only with one rank: a child of one of many ranks would end them all. */
static void test_misuse(void)
{
    int64_t apart[3] = {4, 0, 2}, twice[3] = {4, 2, 4}, below[3] = {1, -1, 2};
    int64_t beyond[3] = {1, INT64_C(1) << 31, 2}, gid[3] = {5, 5, 6};
    uint8_t good[3] = {0, 1, 1}, none[3] = {0, 0, 1}, two[3] = {1, 1, 1}, lone[3] = {0, 1, 0};
    double x[16] = {0};
    rt_field_t field = rt_field_f64(x), three = {x, RT_F64, 3, 3, 1}, half = {x, RT_F16, 1, 1, 0};
    rt_halo_t *sum = small_halo(apart, gid, NULL, "auto"),
              *copy = small_halo(apart, gid, good, "auto");

    CHECK_DIES(RT_USAGE, "entry 2 is at position 4, like an earlier one",
               { small_halo(twice, gid, NULL, "auto"); });
    CHECK_DIES(RT_USAGE, "position -1", { small_halo(below, gid, NULL, "auto"); });
    CHECK_DIES(RT_USAGE, "position 2147483648", { small_halo(beyond, gid, NULL, "auto"); });
    CHECK_DIES(RT_USAGE, "global id 5 has 0 owners", { small_halo(apart, gid, none, "auto"); });
    CHECK_DIES(RT_USAGE, "global id 5 has 2 owners", { small_halo(apart, gid, two, "auto"); });
    CHECK_DIES(RT_USAGE, "global id 6 has 0 owners", { small_halo(apart, gid, lone, "auto"); });
    CHECK_DIES(RT_USAGE, "there are auto, staged",
               { small_halo(apart, gid, NULL, "carrier pigeon"); });
#if !RT_HAVE_CUDA
    CHECK_DIES(RT_ENVIRONMENT, "peer: not in this build",
               { small_halo(apart, gid, NULL, "peer"); });
#endif
#if !RT_HAVE_NCCL
    CHECK_DIES(RT_ENVIRONMENT, "nccl: not in this build",
               { small_halo(apart, gid, NULL, "nccl"); });
#endif
    CHECK_DIES(RT_USAGE, "before this one was not ended", {
        rt_halo_begin(sum, RT_HALO_SUM, &field);
        rt_halo_begin(sum, RT_HALO_SUM, &field);
    });
    CHECK_DIES(RT_USAGE, "no exchange was begun", { rt_halo_end(sum); });
    CHECK_DIES(RT_USAGE, "was not ended", {
        rt_halo_begin(sum, RT_HALO_SUM, &field);
        rt_halo_destroy(sum);
    });
    CHECK_DIES(RT_USAGE, "3 components in a halo made for 2",
               { rt_halo_do(sum, RT_HALO_SUM, &three); });
    CHECK_DIES(RT_USAGE, "only copied", { rt_halo_do(copy, RT_HALO_SUM, &half); });
    CHECK_DIES(RT_USAGE, "made without owners", { rt_halo_do(sum, RT_HALO_COPY, &field); });
    rt_halo_destroy(sum);
    rt_halo_destroy(copy);
}

/* Does what must end all ranks; returns only if it did not. */
static void run_mode(const char *mode, const char *argument)
{
    int64_t index[3] = {0, 1, 2}, gid[3] = {5, 10 + rank, 20 + rank};
    uint8_t owner[3] = {0, 1, 1};
    bool without =
        strcmp(mode, "transport") == 0 || (strcmp(mode, "some-owners") == 0 && rank == 0);
    rt_halo_destroy(small_halo(index, gid, without ? NULL : owner, argument ? argument : "auto"));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Lists the processors and spaces of this build on this machine. */
static int list_places(place_t *place)
{
    int n = 0;
    place[n++] = (place_t){RT_CPU, RT_HOST};
    place[n++] = (place_t){RT_CPU, RT_PINNED};
    if (rt_mem_device_is_emulated())
        place[n++] = (place_t){RT_CPU, RT_DEVICE};
#if RT_HAVE_CUDA
    if (rt_device_gpu()) {
        place[n++] = (place_t){RT_CUDA, RT_DEVICE};
        place[n++] = (place_t){RT_CUDA, RT_PINNED};
    }
#endif
#if RT_HAVE_KOKKOS
    if (!rt_kokkos_why_not()) {
        rt_kokkos_start(1, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
        place[n++] = (place_t){RT_KOKKOS, rt_kokkos_space()};
        if (!rt_kokkos_on_gpu())
            place[n++] = (place_t){RT_KOKKOS, RT_HOST};
    }
#endif
    return n;
}

/* Exchanges on the stream, a GPU per rank. Catches messages that overtake packing or unpacking. */
static void test_nccl(const groups_t *groups, place_t place)
{
    if (size == 1 || place.kind != RT_CUDA)
        return;
    const char *why = rt_nccl_why_not();
    if (!why)
        test_all_layouts(groups, place, "nccl");
    else if (rank == 0)
        printf("    not by nccl: %s\n", why);
}

#if RT_HAVE_CUDA
/* Does many exchanges of two halos, sums and copies (which go one way only), with random delays of
 * ranks and nothing else that keeps them together. */
static void *exchange_often(const groups_t *groups, place_t place, const char *transport)
{
    enum { TURNS = 40 };
    const size_t bytes = array_bytes(&layouts[0]);
    uint64_t state = 5000 + (uint64_t)rank;
    rt_halo_t *one = halo_new(groups, place, true, transport);
    rt_halo_t *two = halo_new(groups, place, true, transport);
    void *host = rt_alloc(bytes, 1, RT_HOST);
    fill_array(host, RT_F64, 9);
    void *x = rt_clone(host, bytes, 1, place.space);
    rt_field_t field = rt_field_f64(x);
    for (int turn = 0; turn < TURNS; turn++) {
        const struct timespec late = {0, (long)(draw(&state) % 4) * 500000};
        nanosleep(&late, NULL);
        rt_halo_do(turn % 3 ? one : two, turn % 5 ? RT_HALO_COPY : RT_HALO_SUM, &field);
    }
    rt_copy(host, RT_HOST, x, place.space, bytes);
    rt_free(x, place.space);
    rt_halo_destroy(one);
    rt_halo_destroy(two);
    return host;
}

/* Exchanges by direct writes into each other's memory. Catches a slot that is reused before it was
 * read, and turns that two ranks count differently. */
static void test_peer(const groups_t *groups, place_t place)
{
    if (size == 1 || place.kind != RT_CUDA)
        return;
    if (!rt_device_allreduce_get()) {
        if (rank == 0)
            printf("    not by peer: %s\n", rt_device_allreduce_why_not());
        return;
    }
    test_all_layouts(groups, place, "peer");
    void *got = exchange_often(groups, place, "peer");
    void *want = exchange_often(groups, place, "staged");
    CHECK(memcmp(got, want, array_bytes(&layouts[0])) == 0);
    rt_free(got, RT_HOST);
    rt_free(want, RT_HOST);
}
#endif

static void test_place(place_t place)
{
    if (rank == 0)
        printf("%s, %s memory\n", rt_kind_name(place.kind), rt_space_name(place.space));
    for (int seed = 1; seed <= 2; seed++) {
        int empty = seed == 2 && size > 1 ? size - 1 : -1;
        groups_t *groups = groups_new((uint64_t)seed, empty);
        test_all_layouts(groups, place, "auto");
        test_all_layouts(groups, place, "staged");
        test_all_layouts(groups, place, "none");
        test_nccl(groups, place);
#if RT_HAVE_CUDA
        test_peer(groups, place);
#endif
        test_two_at_once(groups, place);
        test_info(groups, place);
        if (size > 1 && empty < 0)
            test_lost_messages(groups, place);
        groups_destroy(groups);
    }
    test_plain(place);
}

int main(int argc, char **argv)
{
    rt_error_set_program("test_halo");
    rt_comm_init(&argc, &argv);
    rank = rt_comm_rank();
    size = rt_comm_size();
    alarm(CHECK_SECONDS);
    rt_mem_poison(true);
    if (argc > 1) {
        run_mode(argv[1], argc > 2 ? argv[2] : NULL);
        rt_comm_finish();
        return 0;
    }
    rt_device_select("auto", true, 0);
    place_t place[8];
    for (int i = 0, n = list_places(place); i < n; i++)
        test_place(place[i]);
    if (size == 1)
        test_misuse();
#if RT_HAVE_KOKKOS
    rt_kokkos_finish();
#endif
    rt_comm_barrier();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
