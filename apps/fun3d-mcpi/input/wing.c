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
 *
 * A rank has whole columns of vertices, so that all ranks find the parts without a message: a wing
 * has some fifty layers, and cells near the wall are so thin that no cut runs along it.
 */
#include "config.h"
#include "input.h"
#include <math.h>
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
        if (f->base[c] < 0)
            continue;
        const double *u = f->s.u + 3 * c;
        double body[3], square = 0;
        for (int d = 0; d < 3; d++) {
            body[d] = semi_axis[d] * u[d];
            square += body[d] * body[d];
        }
        double radius = sqrt(square), across = u[0] / wing_chord, along = u[2] / wing_thickness;
        double wall = radius + wing_span * u[1] * u[1] * exp(-across * across - along * along);
        double above = 0, thickness = first;
        for (int64_t k = 0; k <= f->wing->layers; k++) {
            for (int d = 0; d < 3; d++)
                mesh->x[3 * (f->base[c] + k) + d] = body[d] / radius * (wall + above);
            above += thickness;
            thickness *= growth;
        }
    }
}

/* --- columns --- */

/* Fills part[columns]: compact parts, equal in blocks. A column counts by its levels and by the corners
 * of the elements around it: 6 of a prism, and 4 where the cell is three tetrahedra. */
static void share_columns(const mcpi_former_t *f, int ranks, int32_t *part)
{
    const int64_t layers = f->wing->layers;
    int64_t *weight = RT_NEW(int64_t, (size_t)f->s.columns, RT_HOST);
    for (int64_t c = 0; c < f->s.columns; c++)
        weight[c] = MCPI_ROW_WEIGHT * (layers + 1);
    for (int64_t t = 0; t < f->s.triangles; t++)
        for (int a = 0; a < 3; a++)
            weight[f->s.corner[3 * t + a]] +=
                2 * MCPI_PRISM_WEIGHT * f->height[t] + 4 * (layers - f->height[t]);
    mcpi_partition(f->s.columns, f->s.u, weight, ranks, part);
    RT_FREE(weight, RT_HOST);
}

/* Numbers the vertices of the own columns and of those around them. Returns how many there are. */
static int64_t number_columns(mcpi_former_t *f)
{
    const int64_t levels = f->wing->layers + 1;
    int64_t vertices = 0;
    for (int64_t c = 0; c < f->s.columns; c++)
        f->base[c] = -1;
    for (int64_t t = 0; t < f->s.triangles; t++)
        for (int a = 0; a < 3 && mcpi_is_here(f, t); a++)
            f->base[f->s.corner[3 * t + a]] = 0;
    for (int64_t c = 0; c < f->s.columns; c++)
        if (f->base[c] == 0) {
            f->base[c] = vertices;
            vertices += levels;
        }
    return vertices;
}

static mcpi_piece_t *piece_of(const mcpi_former_t *f, int64_t vertices, const int32_t *part,
                              int rank)
{
    const int64_t levels = f->wing->layers + 1;
    mcpi_piece_t *piece = mcpi_piece_new(f->s.columns * levels, vertices);
    for (int64_t c = 0; c < f->s.columns; c++)
        for (int64_t k = 0; f->base[c] >= 0 && k < levels; k++)
            piece->number[f->base[c] + k] = c * levels + k;
    mcpi_piece_own(piece, part, levels, rank);
    return piece;
}

/* --- the mesh --- */

rt_mesh_t *mcpi_wing_new(const mcpi_wing_t *wing, int rank, int ranks, mcpi_piece_t **piece)
{
    mcpi_former_t f = {.wing = wing};
    RT_EXPECT(wing->n >= 2 && wing->layers >= 2, RT_USAGE,
              "a wing needs n and layers of at least 2");
    RT_EXPECT(wing->n <= MCPI_MAX_SURFACE &&
                  12 * wing->n * wing->n * wing->layers / ranks <= INT32_MAX,
              RT_USAGE, "a rank can have 2147483647 tetrahedra of a wing");
    mcpi_surface_new(&f.s, wing->n, wing->seed);
    f.height = mcpi_heights_new(&f.s, wing->layers);
    f.own = RT_NEW(uint8_t, (size_t)f.s.columns, RT_HOST);
    f.base = RT_NEW(int64_t, (size_t)f.s.columns, RT_HOST);
    int32_t *part = RT_NEW(int32_t, (size_t)f.s.columns, RT_HOST);
    share_columns(&f, ranks, part);
    for (int64_t c = 0; c < f.s.columns; c++)
        f.own[c] = part[c] == rank;
    rt_mesh_t *mesh = RT_NEW(rt_mesh_t, 1, RT_HOST);
    *mesh = (rt_mesh_t){.vertices = number_columns(&f)};
    mcpi_make_elements(&f, mesh);
    make_vertices(&f, mesh);
    if (piece)
        *piece = piece_of(&f, mesh->vertices, part, rank);
    RT_FREE_ALL(RT_HOST, f.height, f.own, f.base, part, f.s.corner, f.s.across, f.s.u,
                f.s.priority);
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
