/*
 * wing.c - the generated mesh: a body with a wing-like bump, in tetrahedra, prisms and pyramids.
 *
 * Half a sphere is triangulated (surface.c), and its triangles are extruded along rays from the
 * centre, so each triangle is the foot of a column of cells, and each vertex the foot of a column
 * of vertices. Near the wall cells are prisms. Farther out they are split into three tetrahedra;
 * their side faces are cut along the diagonal from the bottom of the column with the lower random
 * priority to the top of the other. The number of prisms differs from column to column, so there
 * are steps. A cell next to a step becomes a pyramid and a tetrahedron, or, where that is
 * impossible, a prism.
 *
 * Advantage: a tetrahedron between such rays has a vertical edge, and its volume is the length of
 * that edge times two distances from the centre times the volume spanned by the three directions.
 * So any body that is wholly visible from its centre gives positive volumes with any layers. Price:
 * lines are not perpendicular to the wall where the body is steep, and there is nothing like a
 * wake.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <string.h>
#include "wing.h"

/* Lengths are in body lengths. The body is along x; y = 0 is the symmetry plane. */
static const double semi_axis[3] = {0.5, 0.15, 0.15};
static const double wing_span = 0.4, wing_chord = 0.35, wing_thickness = 0.25;
/* Distance of the outer boundary from the wall: 51 layers from 1e-4 that grow by 1.24 each. */
static const double far_away = 24.2;

/* --- what becomes of the cells --- */

/* What a cell becomes: three tetrahedra; a pyramid on side 0, 1 or 2 and a tetrahedron; a prism. */
enum { SPLIT, MIXED, PRISM = MIXED + 3 };

/* Returns how many cells from the wall are prisms in a column. The wave is odd in (x, z), so the
 * mean does not depend on n. It swings by several layers, or by one where there are few layers. */
static int64_t prisms_planned(const mcpi_surface_t *s, int64_t layers, int64_t t)
{
    double x = 0, z = 0, swing = fmax(0.8, 0.16 * (double)layers);
    for (int a = 0; a < 3; a++) {
        x += s->u[3 * (int64_t)s->corner[3 * t + a]] / 3;
        z += s->u[3 * (int64_t)s->corner[3 * t + a] + 2] / 3;
    }
    double wave = 0.2 * x + 0.4 * sin(6 * x + 4 * z) + 0.4 * sin(8 * z - 3 * x);
    int64_t prisms = (int64_t)floor(0.525 * (double)layers + swing * wave + 0.5);
    return prisms < 1 ? 1 : prisms > layers ? layers : prisms;
}

/*
 * Returns what a cell must be, given which cells of its layer are prisms. Next to one prism it is a
 * pyramid on the common side, at whose apex the diagonals of the two other sides must end. They do
 * only if the column of the apex has the highest or the lowest priority of the three. A new prism
 * never lets a neighbour stop being one, so the least set of prisms that fits is the same in any
 * order of the cells.
 */
static uint8_t fitting(const mcpi_surface_t *s, const uint8_t *cell, int64_t t)
{
    int prisms = 0, side = 0;
    for (int k = 0; k < 3; k++)
        if (s->across[3 * t + k] >= 0 && cell[s->across[3 * t + k] / 3] == PRISM) {
            prisms++;
            side = k;
        }
    if (prisms == 0)
        return SPLIT;
    const int32_t *corner = s->corner + 3 * t;
    uint64_t a = s->priority[corner[side]], b = s->priority[corner[(side + 1) % 3]];
    uint64_t apex = s->priority[corner[(side + 2) % 3]];
    return prisms == 1 && (apex > a) == (apex > b) ? (uint8_t)(MIXED + side) : PRISM;
}

static void settle_layer(const mcpi_surface_t *s, const int64_t *planned, int64_t k, uint8_t *cell)
{
    for (int64_t t = 0; t < s->triangles; t++)
        cell[t] = k < planned[t] ? PRISM : SPLIT;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t t = 0; t < s->triangles; t++)
            if (cell[t] != PRISM) {
                uint8_t was = cell[t];
                cell[t] = fitting(s, cell, t);
                changed = changed || cell[t] != was;
            }
    }
}

/* Returns [layers][triangles]. Layers are independent of each other. */
static uint8_t *cells_new(const mcpi_surface_t *s, int64_t layers)
{
    uint8_t *cell = RT_NEW(uint8_t, (size_t)(layers * s->triangles), RT_HOST);
    int64_t *planned = RT_NEW(int64_t, (size_t)s->triangles, RT_HOST);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < s->triangles; t++)
            planned[t] = prisms_planned(s, layers, t);
#pragma omp for schedule(dynamic)
        for (int64_t k = 0; k < layers; k++)
            settle_layer(s, planned, k, cell + k * s->triangles);
    }
    RT_FREE(planned, RT_HOST);
    return cell;
}

/* --- elements and faces --- */

/* Where the elements and faces of a column go, or how many there are. */
typedef struct {
    int64_t element[RT_ELEMENTS], face[RT_FACES];
} place_t;

static place_t count_column(const mcpi_surface_t *s, const uint8_t *cell, int64_t layers, int64_t t)
{
    place_t count = {.face[RT_TRIANGLE] = 2};
    int sides = 0;
    for (int k = 0; k < 3; k++)
        sides += s->across[3 * t + k] < 0;
    for (int64_t k = 0; k < layers; k++) {
        uint8_t is = cell[k * s->triangles + t];
        count.element[RT_TETRAHEDRON] += is == SPLIT ? 3 : is == PRISM ? 0 : 1;
        count.element[RT_PYRAMID] += is != SPLIT && is != PRISM;
        count.element[RT_PRISM] += is == PRISM;
        count.face[RT_QUAD] += is == PRISM ? sides : 0;
        count.face[RT_TRIANGLE] += is == PRISM ? 0 : 2 * sides;
    }
    return count;
}

static void put_element(const rt_mesh_t *mesh, place_t *at, rt_element_t type,
                        const int32_t *vertex)
{
    int size = rt_element_size(type);
    memcpy(mesh->element[type] + size * at->element[type]++, vertex, (size_t)size * sizeof *vertex);
}

static void put_face(const rt_mesh_t *mesh, place_t *at, rt_face_t type, int tag,
                     const int32_t *vertex)
{
    int size = rt_face_size(type);
    mesh->tag[type][at->face[type]] = tag;
    memcpy(mesh->face[type] + size * at->face[type]++, vertex, (size_t)size * sizeof *vertex);
}

/* Splits a cell with vertices v[0 .. 2] below and v[3 .. 5] above. */
static void put_tetrahedra(const rt_mesh_t *mesh, place_t *at, const int32_t v[6],
                           const uint64_t priority[3])
{
    int low = 0, high = 0;
    for (int a = 1; a < 3; a++) {
        low = priority[a] < priority[low] ? a : low;
        high = priority[a] > priority[high] ? a : high;
    }
    int p = low, q = 3 - low - high, r = high, odd = q == (p + 2) % 3;
    /* right for p, q, r counter-clockwise; else two vertices are swapped */
    int32_t tetrahedron[3][4] = {{v[p], v[q], v[r], v[r + 3]},
                                 {v[p], v[q], v[r + 3], v[q + 3]},
                                 {v[p], v[p + 3], v[q + 3], v[r + 3]}};
    for (int t = 0; t < 3; t++) {
        int32_t *vertex = tetrahedron[t], first = vertex[0];
        if (odd) {
            vertex[0] = vertex[1];
            vertex[1] = first;
        }
        put_element(mesh, at, RT_TETRAHEDRON, vertex);
    }
}

static void put_mixed(const rt_mesh_t *mesh, place_t *at, const int32_t v[6],
                      const uint64_t priority[3], int side)
{
    int a = side, b = (side + 1) % 3, c = (side + 2) % 3;
    int32_t pyramid[5] = {v[a], v[a + 3], v[b + 3], v[b], v[c]};
    int32_t tetrahedron[4] = {v[a + 3], v[c + 3], v[b + 3], v[c]};
    if (priority[c] > priority[a]) { /* then diagonals end above c: the same, upside down */
        pyramid[4] = v[c + 3];
        tetrahedron[0] = v[a];
        tetrahedron[1] = v[b];
        tetrahedron[2] = v[c];
        tetrahedron[3] = v[c + 3];
    }
    put_element(mesh, at, RT_PYRAMID, pyramid);
    put_element(mesh, at, RT_TETRAHEDRON, tetrahedron);
}

/* Puts a side on the symmetry plane. Faces are counter-clockwise as seen from outside. */
static void put_side(const rt_mesh_t *mesh, place_t *at, const int32_t v[6],
                     const uint64_t priority[3], int side, bool whole)
{
    int a = side, b = (side + 1) % 3;
    if (whole) {
        put_face(mesh, at, RT_QUAD, MCPI_TAG_SYMMETRY,
                 (const int32_t[]){v[a], v[b], v[b + 3], v[a + 3]});
        return;
    }
    bool up = priority[a] < priority[b]; /* the diagonal rises from a to b */
    put_face(mesh, at, RT_TRIANGLE, MCPI_TAG_SYMMETRY,
             (const int32_t[]){v[a], v[b], up ? v[b + 3] : v[a + 3]});
    put_face(mesh, at, RT_TRIANGLE, MCPI_TAG_SYMMETRY,
             (const int32_t[]){up ? v[a] : v[b], v[b + 3], v[a + 3]});
}

static void put_column(const mcpi_surface_t *s, const uint8_t *cell, int64_t layers, int64_t t,
                       place_t at, const rt_mesh_t *mesh)
{
    uint64_t priority[3];
    int32_t v[6];
    for (int a = 0; a < 3; a++) {
        int32_t column = s->corner[3 * t + a];
        priority[a] = s->priority[column];
        v[a] = (int32_t)(column * (layers + 1));
        v[a + 3] = v[a] + 1;
    }
    put_face(mesh, &at, RT_TRIANGLE, MCPI_TAG_WALL, (const int32_t[]){v[0], v[2], v[1]});
    for (int64_t k = 0; k < layers; k++) {
        uint8_t is = cell[k * s->triangles + t];
        if (is == PRISM)
            put_element(mesh, &at, RT_PRISM, v);
        else if (is == SPLIT)
            put_tetrahedra(mesh, &at, v, priority);
        else
            put_mixed(mesh, &at, v, priority, is - MIXED);
        for (int side = 0; side < 3; side++)
            if (s->across[3 * t + side] < 0)
                put_side(mesh, &at, v, priority, side, is == PRISM);
        for (int a = 0; a < 6; a++)
            v[a]++;
    }
    put_face(mesh, &at, RT_TRIANGLE, MCPI_TAG_FAR, v);
}

static void make_elements(const mcpi_surface_t *s, const uint8_t *cell, int64_t layers,
                          rt_mesh_t *mesh)
{
    place_t *at = RT_NEW(place_t, (size_t)s->triangles, RT_HOST), sum = {.element[0] = 0};
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < s->triangles; t++)
        at[t] = count_column(s, cell, layers, t);
    for (int64_t t = 0; t < s->triangles; t++) {
        place_t count = at[t];
        at[t] = sum;
        for (int e = 0; e < RT_ELEMENTS; e++)
            sum.element[e] += count.element[e];
        for (int f = 0; f < RT_FACES; f++)
            sum.face[f] += count.face[f];
    }
    for (int e = 0; e < RT_ELEMENTS; e++) {
        size_t size = (size_t)rt_element_size((rt_element_t)e);
        mesh->elements[e] = sum.element[e];
        mesh->element[e] = RT_NEW(int32_t, size * (size_t)sum.element[e], RT_HOST);
    }
    for (int f = 0; f < RT_FACES; f++) {
        size_t size = (size_t)rt_face_size((rt_face_t)f);
        mesh->faces[f] = sum.face[f];
        mesh->face[f] = RT_NEW(int32_t, size * (size_t)sum.face[f], RT_HOST);
        mesh->tag[f] = RT_NEW(int32_t, (size_t)sum.face[f], RT_HOST);
    }
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < s->triangles; t++)
        put_column(s, cell, layers, t, at[t], mesh);
    RT_FREE(at, RT_HOST);
}

/* --- vertices --- */

/* Returns the height of the last layer above the wall. */
static double height(double first, double growth, int64_t layers)
{
    double rate = log(growth);
    return rate == 0 ? first * (double)layers : first * expm1((double)layers * rate) / expm1(rate);
}

/* Bisects for the logarithm of growth, with which height rises. */
static double choose_growth(double first, int64_t layers)
{
    double low = -1, high = log(far_away / first);
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (height(first, exp(middle), layers) < far_away)
            low = middle;
        else
            high = middle;
    }
    return exp((low + high) / 2);
}

/* The ellipsoid's points are a linear image of the sphere's, which keeps triangles positive. The
 * wing and the layers move them along their rays. */
static void make_vertices(const mcpi_surface_t *s, const mcpi_wing_t *wing, rt_mesh_t *mesh)
{
    int64_t levels = wing->layers + 1;
    double growth = wing->growth > 0 ? wing->growth : choose_growth(wing->first, wing->layers);
    mesh->vertices = s->columns * levels;
    mesh->x = RT_NEW(double, 3 * (size_t)mesh->vertices, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < s->columns; c++) {
        const double *u = s->u + 3 * c;
        double body[3], square = 0;
        for (int d = 0; d < 3; d++) {
            body[d] = semi_axis[d] * u[d];
            square += body[d] * body[d];
        }
        double radius = sqrt(square), across = u[0] / wing_chord, along = u[2] / wing_thickness;
        double wall = radius + wing_span * u[1] * u[1] * exp(-across * across - along * along);
        double above = 0, thickness = wing->first;
        for (int64_t k = 0; k < levels; k++) {
            for (int d = 0; d < 3; d++)
                mesh->x[3 * (c * levels + k) + d] = body[d] / radius * (wall + above);
            above += thickness;
            thickness *= growth;
        }
    }
}

rt_mesh_t *mcpi_wing_new(const mcpi_wing_t *wing)
{
    mcpi_surface_t s;
    RT_EXPECT(wing->n >= 2 && wing->layers >= 2, RT_USAGE,
              "a wing needs n and layers of at least 2");
    RT_EXPECT(wing->n < 20000 && wing->layers <= INT32_MAX / (12 * wing->n * wing->n), RT_USAGE,
              "a wing can have 2147483647 tetrahedra");
    RT_EXPECT(wing->first > 0 && wing->first < far_away && wing->growth >= 0, RT_USAGE,
              "the first layer must be from 0 to %g body lengths, and growth not negative",
              far_away);
    mcpi_surface_new(&s, wing->n, wing->seed);
    uint8_t *cell = cells_new(&s, wing->layers);
    rt_mesh_t *mesh = RT_NEW(rt_mesh_t, 1, RT_HOST);
    make_elements(&s, cell, wing->layers, mesh);
    make_vertices(&s, wing, mesh);
    RT_FREE(cell, RT_HOST);
    mcpi_surface_destroy(&s);
    return mesh;
}

/*
 * Blocks: the formula of mcpi_graph_expected with T = 3 cells less what prisms and mixed cells
 * take, and all sides on the symmetry plane whole. Prisms are those planned (a little more than
 * half), what rounding adds where layers are few, and those along steps. The length of steps grows
 * with n, their number with layers, so their share falls as 1 / n.
 */
void mcpi_wing_count(const mcpi_wing_t *wing, int64_t *vertices, int64_t *offdiagonal_blocks)
{
    int64_t n = wing->n, layers = wing->layers, cells = 4 * n * n * layers;
    double share = 0.527 + 0.5 / (double)n + 0.3 / (double)layers;
    int64_t prisms = share < 1 ? (int64_t)ceil((double)cells * share) : cells;
    *vertices = (2 * n * n + 2 * n + 1) * (layers + 1);
    *offdiagonal_blocks = 2 * *vertices + 6 * cells + 3 * prisms + 8 * n * n + 12 * n * layers;
}
