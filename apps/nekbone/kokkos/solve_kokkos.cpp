/*
 * solve_kokkos.cpp - the solve over the operator of `kokkos`, the preconditioner as Kokkos kernels.
 *
 * Idea: the text of boxes.h, an element per team and a point of the grid per index, as in
 * `solve-cuda`. Advantage: portable, and the same order of operations. Price: on a CPU a team is one
 * thread, and lines of a patch are what it vectorises, not rows.
 */
#include "config.h"
#include "element.hpp"
#include "../precond/boxes.h"

namespace
{

using Exec = rt_kokkos::Exec;
using Policy = Kokkos::TeamPolicy<Exec>;
using nek_team::Member;
using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<int64_t>>;

/* A Kokkos team as boxes.h wants it. */
struct Team {
    const Member &of;
    KOKKOS_INLINE_FUNCTION int member() const
    {
        return of.team_rank();
    }
    KOKKOS_INLINE_FUNCTION int size() const
    {
        return of.team_size();
    }
    KOKKOS_INLINE_FUNCTION void barrier() const
    {
        of.team_barrier();
    }
};

/* Members of a team on a GPU. */
constexpr int gpu_team = 128;

/* Calls body(team, e, memory) for each element, with `values` floats of memory. */
template <class Body>
void each_element(const char *name, const nek_view_t *view, int values, const Body &body)
{
    const size_t bytes = sizeof(float) * static_cast<size_t>(values);
    const int level = nek_team::level_of(bytes);
    Policy policy(rt_kokkos::exec(), static_cast<int>(view->elements),
                  rt_kokkos::on_host ? 1 : gpu_team);
    policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
    Kokkos::parallel_for(
        name, policy, KOKKOS_LAMBDA(const Member &member) {
            body(Team{member}, static_cast<int64_t>(member.league_rank()),
                 static_cast<float *>(member.team_scratch(level).get_shmem(bytes)));
        });
}

template <class Body> void each_node(const char *name, int64_t nodes, Body body)
{
    Kokkos::parallel_for(name, Range(rt_kokkos::exec(), 0, nodes), body);
}

void take(const nek_view_t *, const nek_level_view_t *level, double scale, const double *r,
          float *r32)
{
    const nek_grid_t g = level->grid;
    each_node(
        "take", g.nodes, KOKKOS_LAMBDA(int64_t q) {
            const int64_t at = nek_point_at_grid(&g, q);
            r32[q] = at < 0 ? 0 : static_cast<float>(scale * r[at]);
        });
}

void schwarz(const nek_view_t *view, const nek_level_view_t *level, const float *r, float *boxes)
{
    const nek_level_view_t l = *level;
    each_element(
        "patches", view, nek_patch_shared(l.grid.patch),
        KOKKOS_LAMBDA(const Team &team, int64_t e, float *memory) {
            nek_patch_solve<NEK_MOST_PATCH, 1>(team, l, l.grid.patch, e, true, r, boxes, memory);
        });
}

void restrict_(const nek_view_t *view, const nek_level_view_t *fine, const nek_level_view_t *coarse,
               const float *r, float *boxes)
{
    const nek_level_view_t f = *fine, c = *coarse;
    each_element(
        "restrict", view, nek_transfer_shared(f.grid.n),
        KOKKOS_LAMBDA(const Team &team, int64_t e, float *memory) {
            nek_element_restrict(team, f, c, f.grid.n, c.grid.n, e, r, boxes, memory);
        });
}

/* Adds to x J times the coarse values of element e, at the points that no element after it on this
 * rank has. */
KOKKOS_INLINE_FUNCTION void element_prolong(const Team &team, const nek_level_view_t &coarse,
                                            const nek_level_view_t &fine, const int n, const int c,
                                            int64_t e, const float *from, float *x, float *shared)
{
    const nek_grid_t &g = fine.grid;
    float *a = shared, *b = a + n * n * n;
    const int64_t box = nek_grid_box(&coarse.grid, e, NEK_OWN_BOX),
                  to = nek_grid_box(&g, e, NEK_OWN_BOX);
    const int E = static_cast<int>(e);
    const int last[3] = {E % g.local[0] == g.local[0] - 1,
                         E / g.local[0] % g.local[1] == g.local[1] - 1,
                         E / (g.local[0] * g.local[1]) == g.local[2] - 1};
    for (int q = team.member(); q < c * c * c; q += team.size())
        a[q] = from[box + nek_grid_in_box(&coarse.grid, c, q)];
    team.barrier();
    nek_contract(team, c * c, c, 1, n, coarse.J, 1, c, a, b);
    nek_contract(team, c, c, n, n, coarse.J, 1, c, b, a);
    nek_contract(team, 1, c, n * n, n, coarse.J, 1, c, a, b);
    for (int q = team.member(); q < n * n * n; q += team.size()) {
        const int i = q % n, j = q / n % n, k = q / (n * n);
        const int64_t at = to + nek_grid_in_box(&g, n, q);
        if ((i < n - 1 || last[0]) && (j < n - 1 || last[1]) && (k < n - 1 || last[2]))
            x[at] += b[q];
    }
    team.barrier();
}

void prolong(const nek_view_t *view, const nek_level_view_t *coarse, const nek_level_view_t *fine,
             const float *from, float *x)
{
    const nek_level_view_t f = *fine, c = *coarse;
    each_element(
        "prolong", view, nek_transfer_shared(f.grid.n),
        KOKKOS_LAMBDA(const Team &team, int64_t e, float *memory) {
            element_prolong(team, c, f, f.grid.n, c.grid.n, e, from, x, memory);
        });
}

void collect(const nek_view_t *, const nek_level_view_t *level, nek_box_t kind, const float *boxes,
             float *sum)
{
    const nek_grid_t g = level->grid;
    each_node(
        "collect", g.nodes, KOKKOS_LAMBDA(int64_t q) { sum[q] = nek_collect(&g, kind, boxes, q); });
}

/* Returns (A x) at point q, which is not in the ring. */
KOKKOS_INLINE_FUNCTION float stencil_at(const nek_coarse_view_t *c, const float *x, int64_t q)
{
    const int64_t row = c->grid.points[0], plane = row * c->grid.points[1];
    float of[NEK_STENCIL], at[NEK_STENCIL], sum = 0;
    NEK_UNROLL /* all loads before the first sum: a GPU then waits once */
        for (int s = 0; s < NEK_STENCIL; s++)
    {
        of[s] = c->stencil[s * c->grid.nodes + q];
        at[s] = x[q + s % 3 - 1 + (s / 3 % 3 - 1) * row + (s / 9 - 1) * plane];
    }
    NEK_UNROLL
    for (int s = 0; s < NEK_STENCIL; s++)
        sum += of[s] * at[s];
    return sum;
}

/* Makes a step of Chebyshev's polynomial at point q: r -= A d, next = a r / diagonal + b d, x += next.
 * first: there is no d yet, and x is 0. */
KOKKOS_INLINE_FUNCTION void chebyshev_at(const nek_coarse_view_t *c, int64_t q, bool first, float a,
                                         float b, const float *d, float *r, float *x, float *next)
{
    const float inverse = c->inverse[q];
    float left = 0, step = 0;
    if (inverse > 0) {
        left = r[q] - (first ? 0 : stencil_at(c, d, q));
        step = a * inverse * left + (first ? 0 : b * d[q]);
    }
    r[q] = left;
    next[q] = step;
    x[q] = step + (first ? 0 : x[q]);
}

void coarse(const nek_view_t *, const nek_coarse_view_t *coarse, float *r, float *x)
{
    const nek_coarse_view_t c = *coarse;
    for (nek_steps_t s = nek_steps_begin(&c); s.k < c.order; nek_steps_next(&s)) {
        const bool first = s.k == 0;
        const float a = s.a, b = s.b;
        const float *d = c.work + (1 - s.k % 2) * c.grid.nodes;
        float *next = c.work + s.k % 2 * c.grid.nodes;
        each_node(
            "chebyshev", c.grid.nodes,
            KOKKOS_LAMBDA(int64_t q) { chebyshev_at(&c, q, first, a, b, d, r, x, next); });
    }
}

double dot(const nek_view_t *view, const nek_level_view_t *level, const double *r, const float *z)
{
    const nek_grid_t g = level->grid;
    const double *c = view->c;
    double total = 0;
    Kokkos::parallel_reduce(
        "r.z", Range(rt_kokkos::exec(), 0, view->points),
        KOKKOS_LAMBDA(int64_t q, double &sum) { sum += c[q] * r[q] * z[nek_grid_at_point(&g, q)]; },
        total);
    return total;
}

void update_p(const nek_view_t *view, const nek_level_view_t *level, double scale, const float *z,
              double beta, double *p)
{
    const nek_grid_t g = level->grid;
    each_node(
        "update_p", view->points,
        KOKKOS_LAMBDA(int64_t q) { p[q] = scale * z[nek_grid_at_point(&g, q)] + beta * p[q]; });
}

constexpr nek_precond_ops_t all_ops()
{
    nek_precond_ops_t o = {};
    o.take = take;
    o.schwarz = schwarz;
    o.restrict_ = restrict_;
    o.prolong = prolong;
    o.collect = collect;
    o.coarse = coarse;
    o.dot = dot;
    o.update_p = update_p;
    return o;
}

constexpr nek_precond_ops_t ops = all_ops();

constexpr nek_kernels_t table()
{
    nek_kernels_t t = nek_team::table();
    t.rung.precision = "FP64, preconditioner in FP32";
    t.preconditioner = &nek_precond_single;
    t.precond_ops = &ops;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(nek_kernels_t, nek_solve_kokkos, table());
