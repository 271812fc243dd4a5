/*
 * wing.c - the generated mesh: a body with a wing-like bump, in tetrahedra, prisms and pyramids.
 *
 * Half a sphere is triangulated (surface.c), and its triangles are extruded along rays from the
 * centre, so each triangle is the foot of a column of cells, and each vertex the foot of a column
 * of vertices. cells.c says what becomes of the cells.
 *
 * Advantage: a tetrahedron between such rays has a vertical edge, and its volume is the length of
 * that edge times two distances from the centre times the volume spanned by the three directions.
 * So any body that is wholly visible from its centre gives positive volumes with any layers. Price:
 * lines are not perpendicular to the wall where the body is steep, and there is nothing like a
 * wake. The surface is flipped one edge after the other, so every rank makes all of it.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <string.h>
#include "wing.h"

/* Lengths are in body lengths. The body is along x; y = 0 is the symmetry plane. */
static const double semi_axis[3] = {0.5, 0.15, 0.15};
static const double wing_span = 0.4, wing_chord = 0.35, wing_thickness = 0.25;
/* Spacing at the wall, and distance of the outer boundary: 51 layers that grow by 1.24 each. */
static const double first = 1e-4, far_away = 24.2;

/* --- vertices --- */

/* Returns the height of the last layer above the wall. */
static double height(double growth, int64_t layers)
{
    double rate = log(growth);
    return rate == 0 ? first * (double)layers : first * expm1((double)layers * rate) / expm1(rate);
}

/* Bisects for the logarithm of growth, with which height rises. */
static double choose_growth(int64_t layers)
{
    double low = -1, high = log(far_away / first);
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (height(exp(middle), layers) < far_away)
            low = middle;
        else
            high = middle;
    }
    return exp((low + high) / 2);
}

/* Places the vertices. The ellipsoid's points are a linear image of the sphere's, which keeps
 * triangles positive. The wing and the layers move them along their rays. */
static void make_vertices(const mcpi_former_t *f, rt_mesh_t *mesh)
{
    const double growth = choose_growth(f->wing->layers);
    mesh->x = RT_NEW(double, 3 * (size_t)mesh->vertices, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < f->s.columns; c++) {
        const double *u = f->s.u + 3 * c;
        double body[3], square = 0;
        for (int d = 0; d < 3; d++) {
            body[d] = semi_axis[d] * u[d];
            square += body[d] * body[d];
        }
        double radius = sqrt(square), across = u[0] / wing_chord, along = u[2] / wing_thickness;
        double wall = radius + wing_span * u[1] * u[1] * exp(-across * across - along * along);
        double above = 0, thickness = first;
        for (int64_t k = 0; k <= f->window[c].high; k++) {
            if (k >= f->window[c].low)
                for (int d = 0; d < 3; d++)
                    mesh->x[3 * (f->window[c].base + k) + d] = body[d] / radius * (wall + above);
            above += thickness;
            thickness *= growth;
        }
    }
}

/* --- windows --- */

/* Widens low .. high so that it has other's levels. */
static void widen(mcpi_window_t *to, const mcpi_window_t *other)
{
    if (other->high < other->low)
        return;
    if (to->high < to->low)
        *to = *other;
    to->low = other->low < to->low ? other->low : to->low;
    to->high = other->high > to->high ? other->high : to->high;
}

/* Finds the cells around the own vertices, then the vertices of those cells. own: as in
 * mcpi_wing_part. Returns how many vertices there are. */
static int64_t find_windows(mcpi_former_t *f, const int64_t *own, int64_t n)
{
    const int64_t layers = f->wing->layers;
    int64_t vertices = 0;
    for (int64_t c = 0; c < f->s.columns; c++)
        f->window[c] = (mcpi_window_t){.low = 0, .high = own ? -1 : (int32_t)layers};
    for (int64_t i = 0; own && i < n; i++) {
        const int32_t level = (int32_t)(own[i] % (layers + 1));
        widen(f->window + own[i] / (layers + 1), &(mcpi_window_t){level, level, 0});
    }
    for (int64_t t = 0; t < f->s.triangles; t++) {
        mcpi_window_t *cells = f->cells + t;
        *cells = (mcpi_window_t){.low = 0, .high = -1};
        for (int a = 0; a < 3; a++)
            widen(cells, f->window + f->s.corner[3 * t + a]);
        if (cells->high < cells->low)
            continue;
        cells->low -= cells->low > 0;
        cells->high += cells->high < layers;
    }
    for (int64_t t = 0; t < f->s.triangles; t++)
        for (int a = 0; a < 3; a++)
            widen(f->window + f->s.corner[3 * t + a], f->cells + t);
    for (int64_t c = 0; c < f->s.columns; c++) {
        f->window[c].base = vertices - f->window[c].low;
        vertices += f->window[c].high - f->window[c].low + 1;
    }
    return vertices;
}

/* Numbers the vertices of the windows as in the whole mesh, and marks the own ones. */
static mcpi_piece_t *number_vertices(const mcpi_former_t *f, int64_t vertices, const int64_t *own,
                                     int64_t n)
{
    const int64_t levels = f->wing->layers + 1;
    mcpi_piece_t *piece = mcpi_piece_new(f->s.columns * levels, vertices);
    for (int64_t c = 0; c < f->s.columns; c++)
        for (int64_t k = f->window[c].low; k <= f->window[c].high; k++)
            piece->number[f->window[c].base + k] = c * levels + k;
    mcpi_piece_own(piece, own, n);
    return piece;
}

/* --- the mesh --- */

static void check(const mcpi_wing_t *wing, bool whole)
{
    RT_EXPECT(wing->n >= 2 && wing->layers >= 2, RT_USAGE,
              "a wing needs n and layers of at least 2");
    RT_EXPECT(wing->n <= MCPI_MAX_SURFACE &&
                  (!whole || wing->layers <= INT32_MAX / (12 * wing->n * wing->n)),
              RT_USAGE, "a wing can have 2147483647 tetrahedra");
}

/* Makes the cells around the own vertices; own NULL: all. */
static rt_mesh_t *form(const mcpi_wing_t *wing, const int64_t *own, int64_t n, mcpi_piece_t **piece)
{
    mcpi_former_t f = {.wing = wing};
    check(wing, !own);
    mcpi_surface_new(&f.s, wing->n, wing->seed);
    f.height = mcpi_heights_new(&f.s, wing->layers);
    f.window = RT_NEW(mcpi_window_t, (size_t)f.s.columns, RT_HOST);
    f.cells = RT_NEW(mcpi_window_t, (size_t)f.s.triangles, RT_HOST);
    rt_mesh_t *mesh = RT_NEW(rt_mesh_t, 1, RT_HOST);
    *mesh = (rt_mesh_t){.vertices = find_windows(&f, own, n)};
    RT_EXPECT(mesh->vertices <= INT32_MAX / 6, RT_USAGE,
              "a wing's part can have 2147483647 tetrahedra");
    mcpi_make_elements(&f, mesh);
    make_vertices(&f, mesh);
    if (piece)
        *piece = number_vertices(&f, mesh->vertices, own, n);
    RT_FREE(f.height, RT_HOST);
    RT_FREE(f.window, RT_HOST);
    RT_FREE(f.cells, RT_HOST);
    mcpi_surface_destroy(&f.s);
    return mesh;
}

rt_mesh_t *mcpi_wing_new(const mcpi_wing_t *wing)
{
    return form(wing, NULL, 0, NULL);
}

rt_mesh_t *mcpi_wing_part(const mcpi_wing_t *wing, const int64_t *own, int64_t n,
                          mcpi_piece_t **piece)
{
    rt_mesh_t *around = form(wing, own, n, piece), *mesh = mcpi_mesh_cut(around, *piece);
    rt_mesh_destroy(around);
    return mesh;
}

/*
 * Blocks, by Euler's formula for a ball: 2V + 2T + 9P + 5Y - 2 + (Fb + 2Qb) for V vertices, T
 * tetrahedra, P prisms, Y pyramids, Fb boundary faces, of which Qb are quads; with T = 3 cells less
 * what prisms and mixed cells take, and all sides on the symmetry plane whole. Prisms are those planned (a little more than
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
