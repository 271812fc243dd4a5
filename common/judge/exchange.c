/* judge/exchange.c - sums over copies, by ids: see exchange.h. */
#include "config.h"
#include "judge/exchange.h"
#include <stdlib.h>
#include "base/mem.h"
#include "machine/comm.h"

enum { IDS = 4096, TRIES = 32 };

/* Returns the value that an entry has before the exchange: an integer below 2^20. */
static double value_of(int64_t entry, uint64_t seed)
{
    return (double)(rt_hash((uint64_t)entry, seed + (uint64_t)rt_comm_rank()) >> 44);
}

/* Returns how many ids a rank draws, with at most n entries on a rank. */
static int ids_each(int64_t n)
{
    const int64_t ranks = rt_comm_size(), share = ranks < IDS ? IDS / ranks : 1;
    return (int)(n < share ? n : share);
}

double rt_exchange_memory(int64_t n)
{
    const double each = ids_each(n);
    return each * sizeof(int64_t) + each * rt_comm_size() * (sizeof(int64_t) + sizeof(double));
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Draws ids among the entries, every second one among those whose x the exchange changed. Returns
 * all ranks' ids, sorted, each once, -1 for what a rank could not draw; *n: how many. */
static int64_t *draw_ids(const rt_exchange_t *e, uint64_t seed, const double *x, int *n)
{
    const int ranks = rt_comm_size();
    double most = (double)e->n;
    rt_comm_max(&most, 1);
    const int each = ids_each((int64_t)most);
    int64_t *mine = RT_NEW(int64_t, (size_t)each, RT_HOST);
    int64_t *id = RT_NEW(int64_t, (size_t)(each * ranks), RT_HOST);
    for (int i = 0; i < each; i++) {
        int64_t entry = -1;
        for (int k = 0; e->n > 0 && k < TRIES; k++) {
            entry = (int64_t)(rt_hash((uint64_t)(i * TRIES + k), seed) % (uint64_t)e->n);
            if (i % 2 == 0 || x[entry] != value_of(entry, seed))
                break;
        }
        mine[i] = entry < 0 ? -1 : e->id(e->data, entry);
    }
    const int drawn = each * ranks;
    *n = 0;
    rt_comm_allgather(mine, (size_t)each * sizeof *mine, id);
    if (drawn > 0)
        qsort(id, (size_t)drawn, sizeof *id, compare_ids);
    for (int i = 0; i < drawn; i++)
        if (i == 0 || id[i] != id[i - 1])
            id[(*n)++] = id[i];
    RT_FREE(mine, RT_HOST);
    return id;
}

/* Returns where the entry's id is in the list, -1 if it was not drawn. */
static int find(const rt_exchange_t *e, int64_t entry, const int64_t *id, int n)
{
    const int64_t own = e->id(e->data, entry);
    const int64_t *found = n > 0 ? bsearch(&own, id, (size_t)n, sizeof *id, compare_ids) : NULL;
    return found ? (int)(found - id) : -1;
}

void rt_exchange_check(const rt_exchange_t *e, uint64_t seed, double *x, rt_verdict_t *v)
{
    int n;
    double wrong = 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < e->n; i++)
        x[i] = value_of(i, seed);
    e->sum(e->data, x);
    int64_t *id = draw_ids(e, seed, x, &n);
    double *sum = RT_NEW(double, (size_t)n, RT_HOST);
    rt_fill(sum, RT_HOST, 0, (size_t)n * sizeof *sum);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < e->n; i++) {
        const int k = find(e, i, id, n);
        if (k >= 0)
#pragma omp atomic
            sum[k] += value_of(i, seed);
    }
    rt_comm_sum(sum, n);
#pragma omp parallel for schedule(static) reduction(+ : wrong)
    for (int64_t i = 0; i < e->n; i++) {
        const int k = find(e, i, id, n);
        wrong += k >= 0 && x[i] != sum[k];
    }
    rt_comm_sum(&wrong, 1);
    rt_verdict_true(v, "the judge's own sums over copies (by ids)", wrong == 0);
    RT_FREE(sum, RT_HOST);
    RT_FREE(id, RT_HOST);
}
