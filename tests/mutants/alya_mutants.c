/*
 * alya_mutants.c - wrong programs that the verification must detect; see mutants.h.
 *
 * Nodes are moved at random; otherwise half of the faults would have no effect: in a cut cube most
 * gradients have one component. Faults of a solve or of the steps are in the timed solve only, not
 * in the kernel that is checked by itself, so that only what is left behind can reveal them.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/alya-rhs/alya.h"
#include "tests/mutants/mutants.h"

typedef enum {
    HONEST,
    /* an element */
    FORCE_DROPPED,
    CONVECTION_DROPPED,
    TRANSPOSED_DROPPED,
    DIV_DROPPED,
    DIV_WHOLE,
    ALWAYS_CONS,
    GAUSS_DIGIT,
    GAUSS_POINT,
    GRADIENT_SIGN,
    COFACTOR_INDEX,
    /* the subgrid model and the properties */
    MODEL_OFF,
    CONSTANT_SQUARED,
    FILTER_IGNORED,
    WIDTH_CUBED,
    MINOR_DROPPED,
    RHO_MISSING,
    MU_IGNORED,
    /* precision */
    FLOAT_ELEMENT,
    FLOAT_GRADIENT,
    FLOAT_SUM,
    /* the loop over elements, and r */
    ELEMENT_OUT,
    GROUP_OUT,
    ELEMENT_TWICE,
    NODES_SWAPPED,
    RACE,
    NOT_ZEROED,
    ADDS_TO_BEFORE,
    STALE_U,
    NAN_IN_R,
    ONE_NODE,
    NODE_UNWRITTEN,
    WRONG_STRIDE,
    ORDER_VARIES,
    /* shared nodes */
    HALO_MISSING,
    HALO_TWICE,
    HALO_NODE_MISSING,
    MESSAGE_DROPPED,
    /* the solve */
    NOTHING,
    NOTHING_SECOND,
    LEFT_OVER,
    KEPT,
    KEPT_SCALED,
    KEPT_COMBINED,
    THIRD_COMBINED,
    OWN_VELOCITY,
    HALF_IN_WINDOWS,
    NAN_AFTER_SOLVE,
    ONE_NODE_AFTER_SOLVE,
    /* the steps */
    ONE_FEWER_STEP,
    EULER,
    COEFFICIENT,
    COEFFICIENT_DIGIT,
    STALE_R,
    BOUNDARY_MOVES,
    NODE_NOT_UPDATED,
    FLOAT_U,
    /* work omitted where the end does not show it */
    FEWER_CALLS,
    ONLY_LAST,
    ONLY_FIRST,
    SECOND_SKIPPED,
    HALF_BUT_LAST,
    MIDDLE_SKIPPED,
    MIDDLE_KEPT,
    MIDDLE_HALF,
    FLOAT_MIDDLE
} fault_t;

enum { HILL, BOX, STEPS, EMAC, SKEW, LONG, PROBLEMS };
static const char *const settings[PROBLEMS] = {
    [HILL] = "cells=5x4x3 jitter=0.1",
    [BOX] = "mesh=box cells=4x4x4 jitter=0.1",
    [STEPS] = "cells=5x4x3 jitter=0.1 steps=3",
    [EMAC] = "cells=5x4x3 jitter=0.1 form=emac filter-width=2 force-x=0.1",
    [SKEW] = "mesh=box cells=4x3x5 jitter=0.1 form=skew order=random-all reorder=no",
    [LONG] = "cells=5x4x3 jitter=0.1 steps=40"};

/* Variants: how a mutant's function table differs. */
enum { PLAIN, PACKED /* x and u in one record, r padded */, UNCLAIMED /* not reproducible */ };

static const rt_mutant_t mutants[] = {
    {FORCE_DROPPED, "force dropped", HILL, false, PLAIN},
    {CONVECTION_DROPPED, "convective term dropped", HILL, false, PLAIN},
    {TRANSPOSED_DROPPED, "J in place of J + J^T in the stress", HILL, false, PLAIN},
    {DIV_DROPPED, "A without div", HILL, false, PLAIN},
    {DIV_DROPPED, "A without div, emac", EMAC, false, PLAIN},
    {DIV_WHOLE, "div in place of half of it, skew", SKEW, false, PLAIN},
    {ALWAYS_CONS, "form cons, whatever the option says", HILL, false, PLAIN},
    {ALWAYS_CONS, "form cons where emac was asked", EMAC, false, PLAIN},
    {GAUSS_DIGIT, "Gauss weight wrong in the 7th digit", HILL, false, PLAIN},
    {GAUSS_POINT, "one Gauss point left out", BOX, false, PLAIN},
    {GRADIENT_SIGN, "gradient of node 0 with the wrong sign", HILL, false, PLAIN},
    {COFACTOR_INDEX, "one wrong index in a cofactor", BOX, false, PLAIN},
    {MODEL_OFF, "no subgrid model", HILL, false, PLAIN},
    {CONSTANT_SQUARED, "constant of the model squared", HILL, false, PLAIN},
    {FILTER_IGNORED, "width of the filter ignored", HILL, false, PLAIN},
    {FILTER_IGNORED, "width of the filter ignored where it was given", EMAC, false, PLAIN},
    {WIDTH_CUBED, "Delta^3 in place of Delta^2", BOX, false, PLAIN},
    {MINOR_DROPPED, "one of the nine minors dropped", HILL, false, PLAIN},
    {RHO_MISSING, "rho missing in front of nu_t", EMAC, false, PLAIN},
    {MU_IGNORED, "mu ignored", HILL, false, PLAIN},
    {FLOAT_ELEMENT, "elements in single precision", HILL, false, PLAIN},
    {FLOAT_GRADIENT, "gradients in single precision", BOX, false, PLAIN},
    {FLOAT_SUM, "sum over elements in single precision", HILL, false, PLAIN},
    {ELEMENT_OUT, "last element left out", HILL, false, PLAIN},
    {GROUP_OUT, "last group of fewer than 16 left out", HILL, false, PLAIN},
    {ELEMENT_TWICE, "one element counted twice", SKEW, false, PLAIN},
    {NODES_SWAPPED, "two nodes of one element swapped", HILL, false, PLAIN},
    {RACE, "one contribution lost, one call in eight", HILL, false, PLAIN},
    {NOT_ZEROED, "adds to what was there", HILL, false, PLAIN},
    {ADDS_TO_BEFORE, "adds to the result of the call before", BOX, false, PLAIN},
    {STALE_U, "velocity of the call before", HILL, false, PLAIN},
    {STALE_U, "velocity of the call before, packed", EMAC, false, PACKED},
    {NAN_IN_R, "NaN in one node", HILL, false, PLAIN},
    {ONE_NODE, "one node off by 1e-9", HILL, false, PLAIN},
    {ONE_NODE, "one node off by 1e-9, packed", BOX, false, PACKED},
    {NODE_UNWRITTEN, "last node never written", BOX, false, PLAIN},
    {WRONG_STRIDE, "r without its padding", HILL, false, PACKED},
    {ORDER_VARIES, "claims the same bits, but its order varies", HILL, false, PLAIN},
    {HALO_MISSING, "halo missing", BOX, false, PLAIN},
    {HALO_TWICE, "halo done twice", BOX, false, PLAIN},
    {HALO_NODE_MISSING, "one node left out of the halo", BOX, false, PLAIN},
    {HALO_NODE_MISSING, "one node left out of the halo, random order", SKEW, false, PLAIN},
    {MESSAGE_DROPPED, "one halo message dropped", HILL, false, PLAIN},
    {NOTHING, "does nothing", HILL, false, PLAIN},
    {NOTHING, "does nothing, in steps", STEPS, false, PLAIN},
    {NOTHING_SECOND, "does nothing after the warm-up", HILL, true, PLAIN},
    {LEFT_OVER, "answer left over from the first solve", HILL, true, PLAIN},
    {KEPT, "answer kept from the first solve", BOX, true, PLAIN},
    {KEPT_SCALED, "answer kept from the first solve, scaled", HILL, true, PLAIN},
    {KEPT_COMBINED, "answers kept from two solves, combined", HILL, true, PLAIN},
    {KEPT_COMBINED, "velocities kept from two solves, combined", STEPS, true, PLAIN},
    {THIRD_COMBINED, "third assembly combined from two", HILL, true, PLAIN},
    {OWN_VELOCITY, "answer for the velocity it knows by heart", BOX, true, PLAIN},
    {HALF_IN_WINDOWS, "half of the elements once it is timed", HILL, true, PLAIN},
    {NAN_AFTER_SOLVE, "NaN in one node after the solve", HILL, false, PLAIN},
    {NAN_AFTER_SOLVE, "NaN in one node after the steps", STEPS, false, PLAIN},
    {ONE_NODE_AFTER_SOLVE, "one node off by 1e-9 after the solve", EMAC, false, PLAIN},
    {ONE_FEWER_STEP, "one step fewer", STEPS, false, PLAIN},
    {EULER, "one stage in place of three", STEPS, false, PLAIN},
    {COEFFICIENT, "1/2 and 1/2 in place of 1/3 and 2/3", STEPS, false, PLAIN},
    {COEFFICIENT_DIGIT, "2/3 to seven digits", STEPS, false, PLAIN},
    {STALE_R, "last stage with r of the one before", STEPS, false, PLAIN},
    {BOUNDARY_MOVES, "velocity not held on the boundary", STEPS, false, PLAIN},
    {NODE_NOT_UPDATED, "one node not updated", STEPS, false, PLAIN},
    {FLOAT_U, "velocity of the steps in single precision", STEPS, false, PLAIN},
    {FEWER_CALLS, "one assembly in place of three", HILL, false, PLAIN},
    {FEWER_CALLS, "one assembly in place of three once it is timed", HILL, true, PLAIN},
    {ONLY_LAST, "only the last of three assemblies made", HILL, false, PLAIN},
    {ONLY_LAST, "only the last of three, once it is timed, packed", HILL, true, PACKED},
    {ONLY_FIRST, "only the first of three assemblies made", BOX, true, PLAIN},
    {SECOND_SKIPPED, "the second of three assemblies left out", EMAC, true, PACKED},
    {HALF_BUT_LAST, "half of the elements in all assemblies but the last", HILL, true, PLAIN},
    {ONE_FEWER_STEP, "one step of forty fewer", LONG, false, PLAIN},
    {ONE_FEWER_STEP, "one step of forty fewer, same bits not claimed", LONG, false, UNCLAIMED},
    {FEWER_CALLS, "one step of forty fewer, and it shows", LONG, false, PLAIN},
    {MIDDLE_SKIPPED, "r left as it was in the middle of the steps", LONG, false, PLAIN},
    {MIDDLE_SKIPPED, "r left as it was, same bits not claimed", LONG, true, UNCLAIMED},
    {MIDDLE_KEPT, "r of the call before in the middle, always", LONG, false, PLAIN},
    {MIDDLE_KEPT, "r of the call before, same bits not claimed", LONG, false, UNCLAIMED},
    {MIDDLE_HALF, "half of the elements in the middle of the steps", LONG, false, PACKED},
    {FLOAT_MIDDLE, "velocity rounded once in the middle", LONG, false, PLAIN},
    {FLOAT_MIDDLE, "velocity rounded once, same bits not claimed", LONG, false, UNCLAIMED},
};

static fault_t fault;               /* of the running mutant */
static int solves;                  /* that it has made */
static int calls;                   /* of its kernel */
static int solve_calls;             /* of these in this solve, or in these steps */
static int asked;                   /* how many a solve should make */
static bool solving;                /* not verifying */
static double *u_before, *r_before; /* [nodes][3] of the call before */
static double *r_update;            /* of the update before */
static double *first;               /* answer of the first solve, up to [nodes][4] */
static bool timed;                  /* solved in windows */

/* Rounds to single precision if this is the fault. */
static double maybe(fault_t single, double x)
{
    return fault == single || fault == FLOAT_ELEMENT ? rt_rounded(x) : x;
}

/* --- an element --- */

typedef struct {
    double x[4][3], u[4][3];
    double det, g[4][3], J[3][3], A[3][3];
    double r[4][3];
} element_t;

static void gradients(element_t *el)
{
    double e[3][3], c[3][3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            e[k][i] = el->x[k + 1][i] - el->x[0][i];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            const double *p = e[(k + 1) % 3], *q = e[(k + 2) % 3];
            int last = fault == COFACTOR_INDEX && k == 1 && i == 2 ? i : (i + 1) % 3;
            c[k][i] = p[(i + 1) % 3] * q[(i + 2) % 3] - p[(i + 2) % 3] * q[last];
        }
    el->det = e[0][0] * c[0][0] + e[0][1] * c[0][1] + e[0][2] * c[0][2];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            el->g[k + 1][i] = maybe(FLOAT_GRADIENT, c[k][i] / el->det);
        el->g[0][i] = el->g[1][i] + el->g[2][i] + el->g[3][i];
        if (fault != GRADIENT_SIGN)
            el->g[0][i] = -el->g[0][i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 1; k < 4; k++)
                sum += (el->u[k][i] - el->u[0][i]) * el->g[k][j];
            el->J[i][j] = maybe(FLOAT_ELEMENT, sum);
        }
}

static double viscosity(const alya_physics_t *physics, const element_t *el)
{
    double norm2 = 0, B = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double *p = el->J[(i + 1) % 3], *q = el->J[(i + 2) % 3];
            double minor = p[(j + 1) % 3] * q[(j + 2) % 3] - p[(j + 2) % 3] * q[(j + 1) % 3];
            norm2 += el->J[i][j] * el->J[i][j];
            if (fault != MINOR_DROPPED || i != 1 || j != 2)
                B += minor * minor;
        }
    bool given = physics->filter > 0 && fault != FILTER_IGNORED;
    double width = given ? physics->filter : cbrt(el->det / 6), c = physics->vreman;
    double nu = norm2 > 0 ? c * width * width * sqrt(B / norm2) : 0;
    if (fault == MODEL_OFF)
        nu = 0;
    if (fault == CONSTANT_SQUARED)
        nu *= c;
    if (fault == WIDTH_CUBED)
        nu *= width;
    double mu = fault == MU_IGNORED ? 0 : physics->mu;
    return maybe(FLOAT_ELEMENT, mu + (fault == RHO_MISSING ? 1 : physics->rho) * nu);
}

static void convective_matrix(alya_form_t form, element_t *el)
{
    double div = el->J[0][0] + el->J[1][1] + el->J[2][2];
    if (fault == ALWAYS_CONS)
        form = ALYA_CONS;
    double share = form == ALYA_CONV ? 0 : form == ALYA_SKEW && fault != DIV_WHOLE ? 0.5 : 1;
    if (fault == DIV_DROPPED)
        share = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            el->A[i][j] =
                el->J[i][j] + (form == ALYA_EMAC ? el->J[j][i] : 0) + (i == j ? share * div : 0);
}

static void integrate(const alya_physics_t *physics, element_t *el)
{
    const double near = fault == GAUSS_DIGIT ? 0.585410 : ALYA_GAUSS_NEAR;
    const double weight = maybe(FLOAT_ELEMENT, el->det / 24), mu = viscosity(physics, el);
    memset(el->r, 0, sizeof el->r);
    for (int q = 0; q < (fault == GAUSS_POINT ? 3 : 4); q++) {
        double u[3] = {0}, source[3];
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++)
                u[i] += (a == q ? near : ALYA_GAUSS_FAR) * el->u[a][i];
        for (int i = 0; i < 3; i++) {
            double Au = el->A[i][0] * u[0] + el->A[i][1] * u[1] + el->A[i][2] * u[2];
            source[i] = (fault == FORCE_DROPPED ? 0 : physics->force[i]) -
                        (fault == CONVECTION_DROPPED ? 0 : maybe(FLOAT_ELEMENT, Au));
        }
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                double stress = 0;
                for (int j = 0; j < 3; j++)
                    stress += (el->J[i][j] + (fault == TRANSPOSED_DROPPED ? 0 : el->J[j][i])) *
                              el->g[a][j];
                double N = a == q ? near : ALYA_GAUSS_FAR;
                el->r[a][i] +=
                    maybe(FLOAT_ELEMENT, weight * (N * physics->rho * source[i] - mu * stress));
            }
    }
}

/* --- all elements --- */

static void add_element(const alya_view_t *view, const alya_physics_t *physics, int64_t e,
                        const double *u, double *r, int r_stride)
{
    const int32_t *node = view->connectivity + 4 * e;
    const int64_t middle = view->elements / 2;
    element_t el;
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) {
            el.x[a][i] = view->x[(int64_t)node[a] * view->x_stride + i];
            el.u[a][i] = u[3 * (int64_t)node[a] + i];
        }
    gradients(&el);
    convective_matrix(physics->form, &el);
    integrate(physics, &el);
    for (int a = 0; a < 4; a++) {
        if (fault == RACE && e == middle && a == 2 && calls % 8 == 4)
            continue;
        int to = fault == NODES_SWAPPED && e == middle && a >= 2 ? 5 - a : a;
        double *sum = r + (int64_t)node[to] * r_stride;
        for (int i = 0; i < 3; i++) {
            sum[i] += (fault == ELEMENT_TWICE && e == middle ? 2 : 1) * el.r[a][i];
            if (fault == FLOAT_SUM)
                sum[i] = rt_rounded(sum[i]);
        }
    }
}

static int64_t elements_done(int64_t elements)
{
    if (fault == ELEMENT_OUT)
        return elements - 1;
    if (fault == GROUP_OUT)
        return (elements - 1) / ALYA_VECTOR_DIM * ALYA_VECTOR_DIM;
    const int call = (solve_calls - 1) % asked;
    const bool half = (fault == HALF_IN_WINDOWS && solving && solves > 1) ||
                      (fault == HALF_BUT_LAST && solving && call < asked - 1) ||
                      (fault == MIDDLE_HALF && solving && call == asked / 2);
    return half ? elements / 2 : elements;
}

/* Applies the fault to r when all elements are in. */
static void finish(int64_t nodes, double *r, int r_stride)
{
    double *one = r + nodes / 2 * r_stride;
    if (fault == NAN_IN_R && rt_comm_rank() == 0)
        one[1] = NAN;
    for (int i = 0; fault == ONE_NODE && rt_comm_rank() == 0 && i < 3; i++)
        one[i] *= 1 + 1e-9;
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++) {
            double *value = r + n * r_stride + i;
            if (fault == ADDS_TO_BEFORE && calls > 0) /* the first call is right */
                *value += r_before[3 * n + i];
            if (fault == MIDDLE_KEPT && calls % asked == 20) /* also when it is made again */
                *value = r_before[3 * n + i];
            r_before[3 * n + i] = *value;
        }
}

/* Does the mutant return from this call of the kernel at once? */
static bool is_skipped(void)
{
    const int call = fault == THIRD_COMBINED ? solve_calls : solve_calls++;
    const bool in_middle = call > asked / 3 && call < asked / 2;
    switch (fault) {
    case ONLY_LAST:
        return solving && call < asked - 1;
    case ONLY_FIRST:
        return solving && call > 0;
    case SECOND_SKIPPED:
        return solving && call == 1;
    case MIDDLE_SKIPPED:
        return solving && in_middle;
    default:
        return false;
    }
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r, int u_stride, int r_stride)
{
    if (is_skipped())
        return;
    const int64_t nodes = view->nodes, elements = elements_done(view->elements);
    double *now = RT_NEW(double, 3 * (size_t)nodes, RT_HOST);
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++)
            now[3 * n + i] = u[n * u_stride + i];
    bool stale = fault == STALE_U && calls > 0; /* the first call is right */
    if (!stale)
        memcpy(u_before, now, 3 * (size_t)nodes * sizeof *now);
    if (fault == WRONG_STRIDE)
        r_stride = 3;
    for (int64_t n = 0; fault != NOT_ZEROED && n < nodes - (fault == NODE_UNWRITTEN); n++)
        memset(r + n * r_stride, 0, 3 * sizeof *r);
    for (int64_t p = 0; p < elements; p++) {
        bool backwards = fault == ORDER_VARIES && calls % 2;
        add_element(view, physics, backwards ? elements - 1 - p : p, u_before, r, r_stride);
    }
    memcpy(u_before, now, 3 * (size_t)nodes * sizeof *now);
    RT_FREE(now, RT_HOST);
    finish(nodes, r, r_stride);
    calls++;
}

/* Combines r of the third assembly of a solve from the first two, as their densities say: right
 * where nothing but the density differs. */
static void combine_third(const alya_view_t *view, const alya_physics_t *physics, double *r)
{
    static double rho[2];
    const int call = solve_calls++ % 3;
    const size_t bytes = 3 * (size_t)view->nodes * sizeof *r;
    if (call < 2) {
        rho[call] = physics->rho;
        memcpy(call ? r_update : first, r, bytes);
        return;
    }
    const double b = (physics->rho - rho[0]) / (rho[1] - rho[0]);
    for (int64_t v = 0; v < 3 * view->nodes; v++)
        r[v] = (1 - b) * first[v] + b * r_update[v];
}

static void assemble_plain(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                           double *r)
{
    assemble(view, physics, u, r, 3, 3);
    if (fault == THIRD_COMBINED && solving)
        combine_third(view, physics, r);
}

static void assemble_packed(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                            double *r)
{
    assemble(view, physics, u, r, 8, 4);
}

/* --- vector work --- */

/* Returns the node that moves most readily: one that is not held. */
static int64_t lightest(int64_t nodes, const double *m)
{
    int64_t at = 0;
    for (int64_t n = 0; n < nodes; n++)
        if (m[n] > m[at])
            at = n;
    return at;
}

static void faulty_update(int64_t nodes, double a, double b, double c, const double *u0,
                          const double *m, const double *r, int r_stride, double *u, int u_stride)
{
    const fault_t now = solving ? fault : HONEST;
    const int64_t light = lightest(nodes, m);
    double *one = u + light * u_stride, kept[3] = {one[0], one[1], one[2]};
    double *mass = RT_NEW(double, (size_t)nodes, RT_HOST);
    double *fresh = RT_NEW(double, 3 * (size_t)nodes, RT_HOST);
    for (int64_t n = 0; n < nodes; n++)
        mass[n] = now == BOUNDARY_MOVES && m[n] == 0 ? m[light] : m[n];
    alya_vectors_cpu.scale(nodes, 1, r, r_stride, fresh, 3);
    const bool last = a > 0 && a < 0.5;
    if (last && now == COEFFICIENT)
        a = b = c = 0.5;
    if (last && now == COEFFICIENT_DIGIT)
        b = c = 0.6666667;
    alya_vectors_cpu.update(nodes, a, b, c, u0, mass, last && now == STALE_R ? r_update : fresh, 3,
                            u, u_stride);
    memcpy(r_update, fresh, 3 * (size_t)nodes * sizeof *fresh);
    RT_FREE(fresh, RT_HOST);
    RT_FREE(mass, RT_HOST);
    if (now == NODE_NOT_UPDATED)
        memcpy(one, kept, sizeof kept);
    if (now == FLOAT_U || (now == FLOAT_MIDDLE && solve_calls == asked / 2))
        for (int64_t n = 0; n < nodes; n++)
            for (int i = 0; i < 3; i++)
                u[n * u_stride + i] = rt_rounded(u[n * u_stride + i]);
}

/* --- shared nodes --- */

static rt_halo_t *faulty_halo(const alya_mesh_t *mesh)
{
    alya_mesh_t copy = *mesh;
    copy.flags = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
    memcpy(copy.flags, mesh->flags, (size_t)mesh->nodes);
    if (fault == HALO_NODE_MISSING && rt_comm_rank() == 0) {
        int64_t n = 0;
        while (!(copy.flags[n] & ALYA_SHARED))
            n++;
        copy.flags[n] = 0;
    }
    rt_halo_force_transport(fault == MESSAGE_DROPPED ? &rt_transport_lossy : NULL);
    rt_halo_t *halo = alya_halo_new(&copy, "staged", RT_CPU, RT_HOST, 0);
    rt_halo_force_transport(NULL);
    RT_FREE(copy.flags, RT_HOST);
    return halo;
}

static void *faulty_solver_new(void *problem, const rt_rung_t *rung)
{
    static alya_vectors_t vectors;
    alya_solver_t *s = alya_solver_new(problem, rung);
    vectors = alya_vectors_cpu;
    vectors.update = faulty_update;
    s->vectors = &vectors;
    if (fault == HALO_MISSING)
        s->halo = NULL;
    if (fault == HALO_NODE_MISSING || fault == MESSAGE_DROPPED) {
        s->halo = faulty_halo(s->problem->mesh);
        s->own_halo = true;
    }
    return s;
}

/* --- the solve --- */

/* Makes u + m r in one stage; leaves before and u as alya_step does. */
static void euler_step(alya_solver_t *s)
{
    s->vectors->scale(s->view.nodes, 1, s->u, s->u_stride, s->before, 3);
    alya_assemble(s);
    s->vectors->update(s->view.nodes, 0, 1, 1, s->before, s->mass_step, s->r, s->kernels->r_stride,
                       s->u, s->u_stride);
}

static void solve_honestly(alya_solver_t *s)
{
    solving = true;
    solve_calls = 0;
    alya_solve(s);
    solving = false;
}

static rt_recall_t recall;

static void remembered_solve(alya_solver_t *s)
{
    const size_t values = (size_t)s->view.nodes * 3;
    double *u = RT_NEW(double, values, RT_HOST);
    alya_get(s, s->u, s->u_stride, u);
    const rt_piece_t in = {u, values};
    const rt_piece_t out[] = {{s->before ? s->u : s->r, values},
                              {s->before ? s->before : s->witness,
                               s->before ? values : 3 * ALYA_WATCHED * ALYA_WITNESSES}};
    if (!rt_recall(&recall, (rt_recall_how_t)(fault - KEPT), in, out, 2)) {
        alya_solve(s);
        rt_recall_keep(&recall, in, out, 2);
    }
    RT_FREE(u, RT_HOST);
}

static void solve_wrongly(alya_solver_t *s)
{
    const size_t values = (size_t)s->view.nodes * (size_t)s->kernels->r_stride;
    const int64_t steps = s->problem->config->steps;
    switch (fault) {
    case NOTHING:
        return;
    case NOTHING_SECOND:
        if (solves < 2)
            alya_solve(s);
        return;
    case LEFT_OVER:
        if (solves == 1) {
            alya_solve(s);
            memcpy(first, s->r, values * sizeof *first);
        }
        memcpy(s->r, first, values * sizeof *first);
        return;
    case KEPT:
    case KEPT_SCALED:
    case KEPT_COMBINED:
        remembered_solve(s);
        return;
    case OWN_VELOCITY:
        alya_put_velocity(s, s->problem->u);
        alya_solve(s);
        return;
    case FEWER_CALLS:
        if (solves < 2 && steps == 0 && timed)
            alya_solve(s);
        else if (steps == 0)
            alya_assemble(s);
        for (int64_t k = 1; k < steps; k++)
            alya_step(s);
        return;
    case ONE_FEWER_STEP:
        for (int64_t k = 1; k < steps; k++)
            alya_step(s);
        return;
    case EULER:
        for (int64_t k = 0; k < steps; k++)
            euler_step(s);
        return;
    default:
        solve_honestly(s);
    }
}

static void faulty_solve(void *solver)
{
    alya_solver_t *s = solver;
    const int64_t steps = s->problem->config->steps;
    solves++;
    solve_wrongly(s);
    if (fault != FEWER_CALLS)
        s->assembled = asked; /* otherwise the number alone would give it away */
    double *answer = steps > 0 ? s->u : s->r;
    const int stride = steps > 0 ? s->u_stride : s->kernels->r_stride;
    double *one = answer + s->view.nodes / 2 * stride;
    if (fault == HALO_TWICE && s->halo) {
        rt_field_t field = {s->r, RT_F64, 3, s->kernels->r_stride, 1};
        rt_halo_do(s->halo, RT_HALO_SUM, &field);
    }
    if (fault == NAN_AFTER_SOLVE && rt_comm_rank() == 0)
        one[2] = NAN;
    for (int i = 0; fault == ONE_NODE_AFTER_SOLVE && rt_comm_rank() == 0 && i < 3; i++)
        one[i] *= 1 + 1e-9;
}

/* --- the suite --- */

static const rt_kernels_t *kernels(const rt_mutant_t *mutant)
{
    static const alya_kernels_t tables[] = {
        [PLAIN] = {.rung = {.precision = "FP64", .reproducible = true},
                   .assemble = assemble_plain,
                   .r_stride = 3,
                   .tolerance = ALYA_TOLERANCE},
        [PACKED] = {.rung = {.precision = "FP64", .reproducible = true},
                    .assemble = assemble_packed,
                    .packed = 8,
                    .r_stride = 4,
                    .tolerance = ALYA_TOLERANCE},
        [UNCLAIMED] = {.rung = {.precision = "FP64"},
                       .assemble = assemble_plain,
                       .r_stride = 3,
                       .tolerance = ALYA_TOLERANCE}};
    return &tables[mutant->variant].rung;
}

static void begin(const rt_mutant_t *mutant, void *problem)
{
    const alya_problem_t *p = problem;
    const size_t nodes = (size_t)p->mesh->nodes;
    u_before = RT_NEW(double, 3 * nodes, RT_HOST);
    r_before = RT_NEW(double, 3 * nodes, RT_HOST);
    r_update = RT_NEW(double, 3 * nodes, RT_HOST);
    first = RT_NEW(double, 4 * nodes, RT_HOST);
    fault = (fault_t)mutant->fault;
    timed = mutant->timed;
    asked = (int)(p->config->steps > 0 ? 3 * p->config->steps : p->config->assemblies);
    solves = calls = solve_calls = 0;
}

static void end(void)
{
    fault = HONEST;
    rt_recall_forget(&recall);
    RT_FREE(u_before, RT_HOST);
    RT_FREE(r_before, RT_HOST);
    RT_FREE(r_update, RT_HOST);
    RT_FREE(first, RT_HOST);
}

static const rt_mutant_t honest[] = {
    {HONEST, "mutant without a fault", RT_EVERY_PROBLEM, false, PLAIN},
    {HONEST, "the same, in windows", RT_EVERY_PROBLEM, true, PLAIN},
    {HONEST, "the same, packed", RT_EVERY_PROBLEM, false, PACKED},
    {ORDER_VARIES, "the same bits neither kept nor claimed", RT_EVERY_PROBLEM, true, UNCLAIMED},
};

RT_MUTANTS_MAIN(alya_app)
