/*
 * blocks.c - the blocks: linearised Roe flux, viscous terms, pseudo-time and walls on a mesh of any
 * elements, about a made-up flow.
 *
 * Idea: any blocks can be swept, but the rate of convergence depends on them. So the blocks are
 * those of a flow solver (finite volumes on the median dual), and only the flow about which it is
 * linearised is made up: free stream, boundary layer, and waves so that no two vertices are alike.
 * Advantage: no flow solver is needed, and any mesh can be used. Price: the flow solves no
 * equation.
 *
 * Four doubles are kept for each pair of neighbours (dual area and viscous coefficient), a sixth of
 * a 5 x 5 block. Blocks are made from them when a row is asked for.
 *
 * The flux Jacobian A(n) has eigenvalues V (nb - 2 times), V + c and V - c. With B = A - V I,
 * B^3 = c^2 B, so |A| is a polynomial in B and no eigenvectors are needed:
 *
 *     |A| = |V| (I - B^2/c^2) + |V+c| (B^2 + c B) / (2 c^2) + |V-c| (B^2 - c B) / (2 c^2)
 *
 * nb = 5: compressible, conservative variables; c the speed of sound.
 *
 * nb = 4: artificial compressibility, (p, u): A = [0, beta n^T; n, V I + u n^T]. Then
 *     B = [-V, beta n^T; n, u n^T],  B^2 = [V^2 + beta, 0; u - V n, beta n n^T + V u n^T],
 *     and as n^T (u - V n) = 0 and n^T (beta n n^T + V u n^T) = (beta + V^2) n^T,
 *     B^3 = (V^2 + beta) B: the same with c^2 = V^2 + beta.
 *
 * nb = 6 .. 15: also rho phi, carried along. Its row of A is phi (-V, n^T, 0) and V on the
 * diagonal, so that of B is phi r with r = (-V, n^T, 0), which is the first row of the 5 x 5 B5. So
 * B = [B5, 0; phi e^T B5, 0], B^3 = [B5^3, 0; phi e^T B5^3, 0] = c^2 B.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/threads.h"
#include "blocks.h"

static const double ratio = 1.4;         /* ratio of specific heats, gamma */
static const double prandtl = 0.72;      /* laminar air */
static const double compressibility = 1; /* beta of nb = 4: waves as fast as sound */
static const double fix_share = 0.05;    /* entropy fix: of |V| + c */
static const double pi = 3.14159265358979323846;

/* --- the flow --- */

enum { WAVES = MCPI_MAX_NB - 5, MODES = 3 };
enum { FLOW_SEED = 1 }; /* the flow is the same for every --seed */
typedef struct {
    double length, layer; /* of the body; thickness of its boundary layer */
    double stream[3];     /* unit vector */
    double k[WAVES][MODES][3], phase[WAVES][MODES];
} scene_t;

/* Returns the length of what the flow goes around: the walls, or the whole mesh without walls. */
static double body_length(const mcpi_source_t *source)
{
    const mcpi_piece_t *piece = source->piece;
    const uint8_t *wall = source->wall;
    double low[3] = {INFINITY, INFINITY, INFINITY}, most = 0;
    double high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double any = 0;
    for (int64_t v = 0; v < piece->vertices; v++)
        any = piece->own[v] && wall[v] ? 1 : any;
    rt_comm_max(&any, 1);
    for (int64_t v = 0; v < piece->vertices; v++)
        for (int d = 0; d < 3 && piece->own[v] && (wall[v] || any == 0); d++) {
            low[d] = fmin(low[d], source->x[3 * v + d]);
            high[d] = fmax(high[d], source->x[3 * v + d]);
        }
    rt_comm_min(low, 3);
    rt_comm_max(high, 3);
    for (int d = 0; d < 3; d++)
        most = fmax(most, high[d] - low[d]);
    return most;
}

static scene_t make_scene(const mcpi_source_t *source, const mcpi_flow_t *flow)
{
    const double angle = 2 * pi / 180;
    scene_t s = {.length = body_length(source), .stream = {cos(angle), 0, sin(angle)}};
    s.layer = 5 * s.length / sqrt(flow->reynolds);
    for (uint64_t w = 0; w < WAVES; w++)
        for (uint64_t m = 0; m < MODES; m++) {
            const uint64_t at = 4 * (MODES * w + m);
            for (uint64_t d = 0; d < 3; d++) /* wavelengths from half a body up */
                s.k[w][m][d] = 4 * pi / s.length * rt_random(at + d, FLOW_SEED);
            s.phase[w][m] = pi * rt_random(at + 3, FLOW_SEED);
        }
    return s;
}

static double wave(const scene_t *s, int w, const double *x)
{
    double sum = 0;
    for (int m = 0; m < MODES; m++)
        sum += sin(mcpi_dot(s->k[w][m], x) + s->phase[w][m]) / MODES;
    return sum;
}

/* Makes a vertex's state. Units: density and speed of sound of the free stream. far: distance from
 * the wall, -1 if there is none. */
static void make_state(const scene_t *s, const mcpi_flow_t *flow, const double *x, double far,
                       double *q)
{
    const double layer = far < 0 ? 1 : tanh(2 * far / s->layer), size = 0.05;
    double u[3], square = 0;
    for (int d = 0; d < 3; d++) {
        u[d] = layer * flow->mach * (s->stream[d] + size * wave(s, d, x));
        square += u[d] * u[d];
    }
    const double p = (1 + size * wave(s, 3, x)) / ratio;
    if (flow->nb == 4) {
        q[0] = p;
        memcpy(q + 1, u, sizeof u);
        return;
    }
    /* the wall has the temperature of the stream that it stops */
    const double stopped = (ratio - 1) / 2 * flow->mach * flow->mach * (1 - layer * layer);
    const double rho = ratio * p / ((1 + stopped) * (1 + size * wave(s, 4, x)));
    q[0] = rho;
    for (int d = 0; d < 3; d++)
        q[1 + d] = rho * u[d];
    q[4] = p / (ratio - 1) + rho * square / 2;
    for (int k = 5; k < flow->nb; k++)
        q[k] = rho * (layer + size * (1 + wave(s, k - 5, x)));
}

/* --- blocks; entry (i, j) is at j nb + i ---
 *
 * Where the definition of the ladder flow and set-up wait for a loop, 5 unknowns are a constant. */

enum { USUAL = 5 };
#define INLINE static inline __attribute__((always_inline))

mcpi_state_t mcpi_state(int nb, const double *q)
{
    mcpi_state_t s = {.weight = 1};
    if (nb == 4) {
        memcpy(s.u, q + 1, sizeof s.u);
        return s;
    }
    for (int d = 0; d < 3; d++)
        s.u[d] = q[1 + d] / q[0];
    const double p = (ratio - 1) * (q[4] - q[0] * mcpi_dot(s.u, s.u) / 2);
    s.H = (q[4] + p) / q[0];
    for (int k = 5; k < nb; k++)
        s.phi[k - 5] = q[k] / q[0];
    s.weight = sqrt(q[0]);
    return s;
}

mcpi_state_t mcpi_roe_mean(const mcpi_state_t *a, const mcpi_state_t *b)
{
    const double of_a = a->weight / (a->weight + b->weight), of_b = 1 - of_a;
    mcpi_state_t mean = {.H = of_a * a->H + of_b * b->H, .weight = 1};
    for (int d = 0; d < 3; d++)
        mean.u[d] = of_a * a->u[d] + of_b * b->u[d];
    for (int k = 0; k < MCPI_MAX_NB - 5; k++)
        mean.phi[k] = of_a * a->phi[k] + of_b * b->phi[k];
    return mean;
}

INLINE void fill_jacobian(int nb, const mcpi_state_t *s, const double n[3], double *A, double *V,
                          double *c)
{
    const double g1 = ratio - 1, v = mcpi_dot(s->u, n), half = mcpi_dot(s->u, s->u) / 2;
    memset(A, 0, (size_t)(nb * nb) * sizeof *A);
    *V = v;
    *c = nb == 4 ? sqrt(v * v + compressibility) : sqrt(g1 * (s->H - half));
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            A[(1 + j) * nb + 1 + i] = s->u[i] * n[j] + (i == j ? v : 0);
        A[1 + i] = n[i];
        A[(1 + i) * nb] = compressibility * n[i];
    }
    if (nb == 4)
        return;
    for (int i = 0; i < 3; i++) {
        A[(1 + i) * nb] = n[i];
        A[1 + i] = g1 * half * n[i] - v * s->u[i];
        for (int j = 0; j < 3; j++)
            A[(1 + j) * nb + 1 + i] -= g1 * n[i] * s->u[j];
        A[4 * nb + 1 + i] = g1 * n[i];
        A[(1 + i) * nb + 4] = s->H * n[i] - g1 * v * s->u[i];
    }
    A[4] = v * (g1 * half - s->H);
    A[4 * nb + 4] = ratio * v;
    for (int k = 5; k < nb; k++) {
        A[k] = -s->phi[k - 5] * v;
        for (int j = 0; j < 3; j++)
            A[(1 + j) * nb + k] = s->phi[k - 5] * n[j];
        A[k * nb + k] = v;
    }
}

void mcpi_jacobian(int nb, const mcpi_state_t *s, const double n[3], double *A, double *V,
                   double *c)
{
    if (nb == USUAL)
        fill_jacobian(USUAL, s, n, A, V, c);
    else
        fill_jacobian(nb, s, n, A, V, c);
}

/* Returns |x|, smoothed (Harten) below `fix`: otherwise nothing would damp a standing wave. */
static double magnitude(double x, double fix)
{
    x = fabs(x);
    return x < fix ? (x * x + fix * fix) / (2 * fix) : x;
}

INLINE void fill_magnitude(int nb, const double *A, double V, double c, double fix, double *M)
{
    double B[MCPI_MAX_NB2];
    memcpy(B, A, (size_t)(nb * nb) * sizeof *B);
    for (int i = 0; i < nb; i++)
        B[i * nb + i] -= V;
    const double still = magnitude(V, fix), up = magnitude(V + c, fix),
                 down = magnitude(V - c, fix);
    const double first = (up - down) / (2 * c), second = ((up + down) / 2 - still) / (c * c);
    for (int j = 0; j < nb; j++) {
        double column[MCPI_MAX_NB] = {0}; /* of B^2 */
        for (int k = 0; k < nb; k++)
            for (int i = 0; i < nb; i++)
                column[i] += B[k * nb + i] * B[j * nb + k];
        for (int i = 0; i < nb; i++)
            M[j * nb + i] = first * B[j * nb + i] + second * column[i] + (i == j ? still : 0);
    }
}

void mcpi_magnitude(int nb, const double *A, double V, double c, double fix, double *M)
{
    if (nb == USUAL)
        fill_magnitude(USUAL, A, V, c, fix, M);
    else
        fill_magnitude(nb, A, V, c, fix, M);
}

void mcpi_viscous(int nb, const double *q, double *K)
{
    memset(K, 0, (size_t)(nb * nb) * sizeof *K);
    if (nb == 4) {
        for (int d = 1; d < 4; d++)
            K[d * nb + d] = 1;
        return;
    }
    const double g = ratio / prandtl, reciprocal = 1 / q[0];
    double square = 0;
    for (int d = 0; d < 3; d++) {
        const double u = q[1 + d] * reciprocal;
        square += u * u;
        K[1 + d] = -u * reciprocal;
        K[(1 + d) * nb + 1 + d] = reciprocal;
        K[(1 + d) * nb + 4] = (1 - g) * u * reciprocal;
    }
    K[4] = (g * (square - q[4] * reciprocal) - square) * reciprocal;
    K[4 * nb + 4] = g * reciprocal;
    for (int k = 5; k < nb; k++) {
        K[k] = -q[k] * reciprocal * reciprocal;
        K[k * nb + k] = reciprocal;
    }
}

/* --- rows --- */

/* Computes y += factor x. */
static void add_block(int n, double factor, const double *x, double *y)
{
    for (int k = 0; k < n; k++)
        y[k] += factor * x[k];
}

/* Adds the flux through a dual face of area n: half the sum of both sides' less Roe's dissipation,
 * with |A~| held fixed. D += S/2 (A(q_i) + |A~|), O += S/2 (A(q_j) - |A~|). Through the boundary,
 * where the state outside is given, there is no O. Returns (S/2)(|V| + c). */
static double add_convection(int nb, const mcpi_state_t *at, const mcpi_state_t *beyond,
                             const double n[3], double *D, double *O)
{
    const double S = sqrt(mcpi_dot(n, n));
    if (S == 0)
        return 0;
    const double unit[3] = {n[0] / S, n[1] / S, n[2] / S};
    const mcpi_state_t mean = beyond ? mcpi_roe_mean(at, beyond) : *at;
    double A[MCPI_MAX_NB2], M[MCPI_MAX_NB2], V, c, fastest;
    mcpi_jacobian(nb, &mean, unit, A, &V, &c);
    fastest = fabs(V) + c;
    mcpi_magnitude(nb, A, V, c, fix_share * fastest, M);
    add_block(nb * nb, S / 2, M, D);
    if (beyond) {
        add_block(nb * nb, -S / 2, M, O);
        mcpi_jacobian(nb, beyond, unit, A, &V, &c);
        add_block(nb * nb, S / 2, A, O);
        mcpi_jacobian(nb, at, unit, A, &V, &c);
    }
    add_block(nb * nb, S / 2, A, D);
    return S / 2 * fastest;
}

/* The wall's velocity is 0, so the momentum rows say that dQ is 0 there, with entries as large as
 * the others of the row. */
static void set_wall(int nb, double scale, double *D, double *O, int64_t neighbours)
{
    for (int i = 1; i < 4; i++) {
        for (int j = 0; j < nb; j++)
            D[j * nb + i] = i == j ? scale : 0;
        for (int64_t k = 0; k < neighbours * nb; k++)
            O[k * nb + i] = 0;
    }
}

void mcpi_source_row(const mcpi_source_t *source, int64_t vertex, double *D, double *O)
{
    const mcpi_graph_t *graph = source->graph;
    const int nb = source->nb, nb2 = nb * nb;
    const int64_t first = graph->start[vertex], end = graph->start[vertex + 1];
    const double *q = source->q + vertex * nb;
    const mcpi_state_t at = mcpi_state(nb, q);
    double K[MCPI_MAX_NB2], rate = 0;
    memset(D, 0, (size_t)nb2 * sizeof *D);
    memset(O, 0, (size_t)((end - first) * nb2) * sizeof *O);
    for (int64_t p = first; p < end; p++) {
        double *block = O + (p - first) * nb2;
        const double *q_there = source->q + (int64_t)graph->neighbour[p] * nb;
        const mcpi_state_t there = mcpi_state(nb, q_there);
        rate += add_convection(nb, &at, &there, source->n + 3 * p, D, block);
        mcpi_viscous(nb, q_there, K);
        add_block(nb2, -source->mu * source->viscous[p], K, block);
    }
    if (!source->wall[vertex]) /* nothing flows through a wall */
        rate += add_convection(nb, &at, NULL, source->boundary + 3 * vertex, D, NULL);
    mcpi_viscous(nb, q, K);
    add_block(nb2, -source->mu * source->diagonal[vertex], K, D);
    for (int i = 0; i < nb; i++)
        D[i * nb + i] += rate / source->cfl;
    if (source->wall[vertex])
        set_wall(nb, rate, D, O, end - first);
}

/* --- all of them --- */

void mcpi_flow_fill(mcpi_source_t *source, const mcpi_flow_t *flow, const double *far)
{
    const int64_t vertices = source->piece->vertices;
    const scene_t scene = make_scene(source, flow);
    source->length = scene.length;
    source->mu = flow->mach * scene.length / flow->reynolds;
    source->q = RT_NEW(double, (size_t)(vertices * flow->nb), RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < vertices; v++)
        make_state(&scene, flow, source->x + 3 * v, far[v], source->q + v * flow->nb);
}

/* Fills the blocks of local rows, whose columns are in another order than the source's. */
static void fill_blocks(mcpi_matrix_t *m, const mcpi_source_t *source)
{
    const mcpi_part_t *part = m->part;
    const int64_t nb2 = m->nb * m->nb, widest = part->longest;
    const int threads = rt_threads();
    double *scratch = RT_NEW(double, (size_t)(threads * (widest + 1) * nb2), RT_HOST);
#pragma omp parallel num_threads(threads)
    {
        double *blocks = scratch + rt_thread() * (widest + 1) * nb2;
#pragma omp for schedule(dynamic, 256)
        for (int64_t row = 0; row < part->rows; row++) {
            const int64_t vertex = part->here[row];
            mcpi_source_row(source, vertex, m->D + row * nb2, blocks);
            for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
                memcpy(m->O + k * nb2, blocks + part->place[k] * nb2, (size_t)nb2 * sizeof(double));
        }
    }
    RT_FREE(scratch, RT_HOST);
}

mcpi_matrix_t *mcpi_matrix_new(const mcpi_source_t *source, mcpi_part_t *part)
{
    const int64_t rows = part->rows, blocks = part->start[rows];
    const int64_t nb = source->nb, nb2 = nb * nb;
    mcpi_matrix_t *m = RT_NEW(mcpi_matrix_t, 1, RT_HOST);
    *m = (mcpi_matrix_t){.nb = source->nb,
                         .part = part,
                         .D = RT_NEW(double, (size_t)(rows * nb2), RT_HOST),
                         .O = RT_NEW(double, (size_t)(blocks * nb2), RT_HOST),
                         .R = RT_NEW(double, (size_t)(rows * nb), RT_HOST)};
    fill_blocks(m, source);
    return m;
}
