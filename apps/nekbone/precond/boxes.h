/*
 * boxes.h - the work on one element or one point of a level's grid, written once for CUDA, Kokkos
 * and, where it is no hot loop, the CPU.
 *
 * A function for a team gets `team`, which has member(), size() and barrier(): the threads of a CUDA
 * block, a Kokkos team, or one thread alone. Its members share the work by lines or points, each
 * from its own number on. Box sizes are arguments; a caller that passes a constant gets unrolled
 * loops. `shared` is memory that the team shares.
 *
 * Advantage: one order of operations, so all processors differ by fused products only, and one text
 * to read. Price: on a CPU with one thread per element the compiler gets lines, not rows, to
 * vectorise; cpu/solve_cpu.c has rows for the hot loops.
 */
#ifndef NEK_BOXES_H
#define NEK_BOXES_H

#include "grid.h"

/* --- degree 1 --- */

/* The steps of Chebyshev's polynomial: number k takes a and b. */
typedef struct {
    double middle, half, rho; /* of the interval */
    float a, b;
    int k;
} nek_steps_t;

NEK_ANYWHERE nek_steps_t nek_steps_begin(const nek_coarse_view_t *c)
{
    nek_steps_t s;
    s.middle = ((double)c->largest + c->smallest) / 2;
    s.half = ((double)c->largest - c->smallest) / 2;
    s.rho = s.half / s.middle;
    s.a = (float)(1 / s.middle);
    s.b = 0;
    s.k = 0;
    return s;
}

NEK_ANYWHERE void nek_steps_next(nek_steps_t *s)
{
    const double next = 1 / (2 * s->middle / s->half - s->rho);
    s->a = (float)(2 * next / s->half);
    s->b = (float)(next * s->rho);
    s->rho = next;
    s->k++;
}

#ifdef __cplusplus

/* --- small products, P values each, on several lines at a time --- */

/* Loads a row of a matrix; on a GPU in pieces of 16 or 8 bytes where its length allows it, because
 * a row is read for every value of a line. The matrix begins at a multiple of 16 bytes. */
NEK_ANYWHERE void nek_load_row(int P, const float *M, float *row)
{
#ifdef __CUDA_ARCH__
    if (P % 4 == 0) {
        NEK_UNROLL
        for (int v = 0; v < P / 4; v++) {
            const float4 of = reinterpret_cast<const float4 *>(M)[v];
            row[4 * v] = of.x;
            row[4 * v + 1] = of.y;
            row[4 * v + 2] = of.z;
            row[4 * v + 3] = of.w;
        }
        return;
    }
    if (P % 2 == 0) {
        NEK_UNROLL
        for (int v = 0; v < P / 2; v++) {
            const float2 of = reinterpret_cast<const float2 *>(M)[v];
            row[2 * v] = of.x;
            row[2 * v + 1] = of.y;
        }
        return;
    }
#endif
    NEK_UNROLL
    for (int m = 0; m < P; m++)
        row[m] = M[m];
}

/* Computes out[m] = sum_l M[l][m] in[l], the values of modes. */
template <int lines, int most>
NEK_ANYWHERE void nek_to_modes(int P, const float *M, const float (&in)[lines][most],
                               float (&out)[lines][most])
{
    float row[most];
    NEK_UNROLL
    for (int a = 0; a < lines; a++) {
        NEK_UNROLL
        for (int m = 0; m < P; m++)
            out[a][m] = 0;
    }
    NEK_UNROLL
    for (int l = 0; l < P; l++) {
        nek_load_row(P, M + l * P, row);
        NEK_UNROLL
        for (int a = 0; a < lines; a++) {
            NEK_UNROLL
            for (int m = 0; m < P; m++)
                out[a][m] += row[m] * in[a][l];
        }
    }
}

/* Computes out[l] = sum_m M[l][m] in[m], the values at points. */
template <int lines, int most>
NEK_ANYWHERE void nek_to_points(int P, const float *M, const float (&in)[lines][most],
                                float (&out)[lines][most])
{
    float row[most];
    NEK_UNROLL
    for (int l = 0; l < P; l++) {
        nek_load_row(P, M + l * P, row);
        NEK_UNROLL
        for (int a = 0; a < lines; a++) {
            out[a][l] = 0;
            NEK_UNROLL
            for (int m = 0; m < P; m++)
                out[a][l] += row[m] * in[a][m];
        }
    }
}

/* Values of a line in shared memory: the row is one longer than a line, so that lines along x do not
 * meet in one bank. */
NEK_ANYWHERE constexpr int nek_patch_shared(int P)
{
    return P * P * (P + 1) + 3 * P * P + 3 * P;
}

/* Divides; on a GPU without the slow path for quotients at the ends of the range. */
NEK_ANYWHERE float nek_quotient(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fdividef(a, b);
#else
    return a / b;
#endif
}

/* Keeps the compiler from holding a matrix in registers from one product with it to the next. */
NEK_ANYWHERE void nek_load_anew(void)
{
#ifdef __CUDA_ARCH__
    asm volatile("" ::: "memory");
#endif
}

/* Calls product(line, in, out) for the P^2 lines of a patch, `lines` of them at a time. load(line, l)
 * gives point l of a line, store(line, l, value) takes it. */
template <int most, int lines, class Team, class Load, class Product, class Store>
NEK_ANYWHERE void nek_sweep(const Team &team, const int P, Load load, Product product, Store store)
{
    for (int first = team.member(); first < P * P; first += lines * team.size()) {
        float in[lines][most], out[lines][most];
        int line[lines];
        NEK_UNROLL
        for (int a = 0; a < lines; a++) { /* past the end, the first once more */
            line[a] = first + a * team.size() < P * P ? first + a * team.size() : first;
            NEK_UNROLL
            for (int l = 0; l < P; l++)
                in[a][l] = load(line[a], l);
        }
        nek_load_anew();
        product(line, in, out);
        NEK_UNROLL
        for (int a = 0; a < lines; a++) {
            NEK_UNROLL
            for (int l = 0; l < P; l++)
                store(line[a], l, out[a][l]);
        }
    }
}

/*
 * Solves on the patch of element e: box = S (S' r / sums of eigenvalues). Five sweeps over lines:
 * along z from the grid, y; S', the division and S along x, in registers; S along y, and z to the
 * box. A member has `lines` lines at a time, which share each row of S that it reads. shared:
 * nek_patch_shared(P) values. keep false: all but storing the box, for a team without an element.
 * Returns the member's part of r' box.
 */
template <int most, int lines, class Team>
NEK_ANYWHERE float nek_patch_solve(const Team &team, const nek_level_view_t &level, const int P,
                                   int64_t e, bool keep, const float *r, float *boxes,
                                   float *shared)
{
    using line_t = float[lines][most];
    const int row = P + 1, plane = P * row, P2 = P * P;
    float *const u = shared, *const S = u + P * plane, *const eigen = S + 3 * P2;
    float energy = 0;
    const int grid_row = level.grid.points[0], grid_plane = grid_row * level.grid.points[1];
    const float *const from = r + nek_grid_box(&level.grid, e, NEK_PATCH);
    float *const box = boxes + e * P * P2;
    auto along_z = [=](int line, int l) -> float & {
        return u[l * plane + line / P * row + line % P];
    };
    auto along_y = [=](int line, int l) -> float & {
        return u[line / P * plane + l * row + line % P];
    };
    auto along_x = [=](int line, int l) -> float & { return u[line * row + l]; };
    for (int q = team.member(); q < 3 * P2; q += team.size())
        S[q] = level.S[e * 3 * P2 + q];
    for (int q = team.member(); q < 3 * P; q += team.size())
        eigen[q] = level.eigen[e * 3 * P + q];
    team.barrier();
    nek_sweep<most, lines>(
        team, P,
        [=](int line, int l) { return from[line % P + line / P * grid_row + l * grid_plane]; },
        [=](const int *, const line_t &in, line_t &out) { nek_to_modes(P, S + 2 * P2, in, out); },
        [=](int line, int l, float value) { along_z(line, l) = value; });
    team.barrier();
    nek_sweep<most, lines>(
        team, P, along_y,
        [=](const int *, const line_t &in, line_t &out) { nek_to_modes(P, S + P2, in, out); },
        [=](int line, int l, float value) { along_y(line, l) = value; });
    team.barrier();
    nek_sweep<most, lines>(
        team, P, along_x,
        [=, &energy](const int *line, line_t &in, line_t &out) {
            nek_to_modes(P, S, in, out);
            nek_load_anew();
            NEK_UNROLL
            for (int a = 0; a < lines; a++) {
                const float sum = eigen[P + line[a] % P] + eigen[2 * P + line[a] / P];
                float part = 0;
                NEK_UNROLL
                for (int l = 0; l < P; l++) {
                    in[a][l] = nek_quotient(out[a][l], sum + eigen[l]);
                    part += out[a][l] * in[a][l];
                }
                if (a == 0 || line[a] != line[0]) /* else it only fills the step */
                    energy += part;
            }
            nek_to_points(P, S, in, out);
        },
        [=](int line, int l, float value) { along_x(line, l) = value; });
    team.barrier();
    nek_sweep<most, lines>(
        team, P, along_y,
        [=](const int *, const line_t &in, line_t &out) { nek_to_points(P, S + P2, in, out); },
        [=](int line, int l, float value) { along_y(line, l) = value; });
    team.barrier();
    nek_sweep<most, lines>(
        team, P, along_z,
        [=](const int *, const line_t &in, line_t &out) { nek_to_points(P, S + 2 * P2, in, out); },
        [=](int line, int l, float value) {
            if (keep)
                box[l * P2 + line] = value;
        });
    return keep ? energy : 0;
}

/* Computes out[a][m][b] = sum_l M(l, m) in[a][l][b], M(l, m) = M[l by + m step]. */
template <class Team>
NEK_ANYWHERE void nek_contract(const Team &team, int A, int L, int B, int most, const float *M,
                               int by, int step, const float *in, float *out)
{
    for (int q = team.member(); q < A * most * B; q += team.size()) {
        const int b = q % B, m = q / B % most, a = q / (B * most);
        float sum = 0;
        NEK_UNROLL_SHORT
        for (int l = 0; l < L; l++)
            sum += M[l * by + m * step] * in[(a * L + l) * B + b];
        out[q] = sum;
    }
    team.barrier();
}

/* --- transfers by point --- */

/* Returns a member's share of point q of the last level: of the sum over this rank's elements of J'
 * times their boxes of n^3 on the level before. */
NEK_ANYWHERE float nek_restrict_at(const nek_level_view_t *last, const int n, const float *boxes,
                                   int64_t q, int member, const int members)
{
    const nek_grid_t *g = &last->grid;
    const int n3 = n * n * n, point = static_cast<int>(q),
              in[3] = {point % g->points[0], point / g->points[0] % g->points[1],
                       point / (g->points[0] * g->points[1])};
    float sum = 0;
    for (int d = 0; d < 3; d++)
        if (!nek_is_inside(g, d, in[d]))
            return 0;
    int64_t box[8]; /* where that of an element is whose corner the point is; -1: none */
    NEK_UNROLL
    for (int corner = 0; corner < 8; corner++) {
        const int to[3] = {corner % 2, corner / 2 % 2, corner / 4};
        bool has = true;
        int e = 0;
        NEK_UNROLL
        for (int d = 2; d >= 0; d--) {
            const int at = in[d] - 1 - to[d] - g->origin[d];
            has = has && at >= 0 && at < g->local[d];
            e = e * g->local[d] + at;
        }
        box[corner] = has ? static_cast<int64_t>(e) * n3 : -1;
    }
    for (int p = member; p < n3; p += members) {
        const float *const J[3] = {last->J + 2 * (p % n), last->J + 2 * (p / n % n),
                                   last->J + 2 * (p / (n * n))};
        NEK_UNROLL /* eight loads at a time */
            for (int c = 0; c < 8; c++) sum +=
            (box[c] >= 0 ? boxes[box[c] + p] : 0) * J[0][c % 2] * J[1][c / 2 % 2] * J[2][c / 4];
    }
    return sum;
}

/* Returns J times the coarse values at point q of the finer grid, 0 in the ring; at a point that
 * other ranks have too, this rank's share. */
NEK_ANYWHERE float nek_prolong_at(const nek_level_view_t *coarse, const nek_grid_t *fine,
                                  const float *from, int64_t q)
{
    const nek_grid_t *g = &coarse->grid;
    const int c = g->n, point = static_cast<int>(q),
              in[3] = {point % fine->points[0], point / fine->points[0] % fine->points[1],
                       point / (fine->points[0] * fine->points[1])};
    const float *J[3];
    float share = 1, sum = 0;
    int e = 0;
    for (int d = 2; d >= 0; d--) {
        const int here = in[d] - 1, last = fine->local[d] * fine->degree;
        if (here < 0 || here > last)
            return 0;
        if ((here == 0 && !fine->low[d]) || (here == last && !fine->high[d]))
            share *= 0.5f;
        const int element = here < last ? here / fine->degree : fine->local[d] - 1;
        J[d] = coarse->J + (here - element * fine->degree) * c;
        e = e * fine->local[d] + element;
    }
    from += nek_grid_box(g, e, NEK_OWN_BOX);
    for (int k = 0; k < c; k++)
        for (int j = 0; j < c; j++)
            for (int i = 0; i < c; i++)
                sum += J[0][i] * J[1][j] * J[2][k] *
                       from[i + g->points[0] * (j + static_cast<int64_t>(g->points[1]) * k)];
    return share * sum;
}

/* Returns the values of memory that transfers need, n those of the finer level. */
NEK_ANYWHERE constexpr int nek_transfer_shared(int n)
{
    return 2 * n * n * n;
}

/* Computes box[c^3] = J' (share of r) of element e. */
template <class Team>
NEK_ANYWHERE void nek_element_restrict(const Team &team, const nek_level_view_t &fine,
                                       const nek_level_view_t &coarse, const int n, const int c,
                                       int64_t e, const float *r, float *boxes, float *shared)
{
    float *a = shared, *b = a + n * n * n;
    const int64_t from = nek_grid_box(&fine.grid, e, NEK_OWN_BOX);
    for (int q = team.member(); q < n * n * n; q += team.size())
        a[q] = nek_share(n, q % n) * nek_share(n, q / n % n) * nek_share(n, q / (n * n)) *
               r[from + nek_grid_in_box(&fine.grid, n, q)];
    team.barrier();
    nek_contract(team, n * n, n, 1, c, coarse.J, c, 1, a, b);
    nek_contract(team, n, n, c, c, coarse.J, c, 1, b, a);
    nek_contract(team, 1, n, c * c, c, coarse.J, c, 1, a, b);
    for (int q = team.member(); q < c * c * c; q += team.size())
        boxes[e * c * c * c + q] = b[q];
    team.barrier();
}

#endif
#endif
