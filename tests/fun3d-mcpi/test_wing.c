/*
 * test_wing.c - the generated wing: conforming, not inverted, closed, and mixed as asked.
 *
 * That is asked of files that know nothing of the generator: the check of a mesh from a file, the
 * graph, the dual mesh.
 */
#include "config.h"
#include "flow_test.h"

static mcpi_wing_t wing_of(int64_t n, int64_t layers)
{
    return (mcpi_wing_t){.n = n, .layers = layers, .seed = 1};
}

/* --- conforming --- */

/* Counts vertices whose dual cell is not closed by the listed boundary faces: those at a quad against
 * two triangles, at a hole, or at a listed face that does not exist. */
static int64_t open_cells(const rt_mesh_t *mesh)
{
    mcpi_source_t *source = flow_on(mesh, 5, "none");
    const mcpi_source_t *f = source;
    const mcpi_graph_t *graph = source->graph;
    double *area = RT_NEW(double, 3 * (size_t)mesh->vertices, RT_HOST);
    mcpi_incidence_t in = mcpi_incidence_new(mesh);
    int64_t bad = 0;
    mcpi_find_areas(&in, "1,2,3", source->piece->own, area);
    for (int64_t v = 0; v < mesh->vertices; v++) {
        double size = 0;
        for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++)
            size += sqrt(mcpi_dot(f->n + 3 * k, f->n + 3 * k));
        bad += differ(3, area + 3 * v, 1, f->boundary + 3 * v) > 1e-12 * size;
    }
    RT_FREE_ALL(RT_HOST, in.first, in.element);
    RT_FREE(area, RT_HOST);
    mcpi_source_destroy(source);
    return bad;
}

/* --- tags --- */

static bool lies_on(const rt_mesh_t *mesh, int64_t layers, int32_t tag, int32_t v)
{
    return tag == MCPI_TAG_SYMMETRY ? mesh->x[3 * (int64_t)v + 1] == 0
                                    : v % (layers + 1) == (tag == MCPI_TAG_WALL ? 0 : layers);
}

/* Counts vertices of faces that are not where the tag says, and faces by tag; 0: another. */
static int64_t misplaced(const rt_mesh_t *mesh, int64_t layers, int64_t tags[4])
{
    int64_t bad = 0;
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            const int size = rt_face_size((rt_face_t)t);
            const int32_t *v = mesh->face[t] + size * f, tag = mesh->tag[t][f];
            for (int a = 0; a < size; a++)
                bad += !lies_on(mesh, layers, tag, v[a]);
            tags[tag >= 1 && tag <= 3 ? tag : 0]++;
        }
    return bad;
}

/* --- checks --- */

static double prism_share(const rt_mesh_t *mesh)
{
    int64_t prisms = mesh->elements[RT_PRISM], pyramids = mesh->elements[RT_PYRAMID];
    double cells = (double)(mesh->elements[RT_TETRAHEDRON] - pyramids) / 3 + (double)pyramids;
    return (double)prisms / (cells + (double)prisms);
}

/* The off-diagonal blocks, pairs of vertices that share an element, are 2V + 2T + 9P + 5Y - 2 +
 * (Fb + 2Qb) for V vertices, T tetrahedra, P prisms, Y pyramids, Fb boundary faces, of which Qb are
 * quads: by Euler's formula for a ball, V - E + F - C = 1, with each inner face in two cells and
 * each boundary face in one. */
static void check_counts(const mcpi_wing_t *wing, const rt_mesh_t *mesh, double slack)
{
    const int64_t formula = 2 * mesh->vertices + 2 * mesh->elements[RT_TETRAHEDRON] +
                            9 * mesh->elements[RT_PRISM] + 5 * mesh->elements[RT_PYRAMID] - 2 +
                            mesh->faces[RT_TRIANGLE] + 3 * mesh->faces[RT_QUAD];
    int64_t vertices = 0, blocks = 0;
    mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh, NULL);
    mcpi_wing_count(wing, &vertices, &blocks);
    CHECK(graph->start[graph->rows] == formula);
    CHECK(vertices == mesh->vertices);
    CHECK(blocks >= formula && (double)blocks <= slack * (double)formula);
    mcpi_graph_destroy(graph);
}

static void check_wing(const mcpi_wing_t *wing, double slack)
{
    rt_mesh_t *mesh = mcpi_wing_new(wing, 0, 1, NULL);
    int failed = check_state.failed;
    int64_t tags[4] = {0};
    char why[256] = "";
    CHECK(rt_mesh_check(mesh, why, sizeof why)); /* as strict as for a mesh from a file */
    CHECK_TEXT(why, "");
    CHECK(mesh->elements[RT_HEXAHEDRON] == 0);
    CHECK(open_cells(mesh) == 0);
    CHECK(misplaced(mesh, wing->layers, tags) == 0);
    CHECK(tags[0] == 0 && tags[MCPI_TAG_WALL] == tags[MCPI_TAG_FAR]);
    check_counts(wing, mesh, slack);
    if (failed != check_state.failed)
        fprintf(stderr, "    n %lld, %lld layers, seed %llu\n", (long long)wing->n,
                (long long)wing->layers, (unsigned long long)wing->seed);
    rt_mesh_destroy(mesh);
}

static void check_small(void)
{
    for (int64_t n = 2; n <= 6; n++)
        for (int64_t layers = 2; layers <= 7; layers++) {
            mcpi_wing_t wing = wing_of(n, layers);
            wing.seed = (uint64_t)(10 * n + layers);
            check_wing(&wing, 1.25);
        }
    mcpi_wing_t thin = wing_of(2, 60), flat = wing_of(30, 2);
    check_wing(&thin, 1.25);
    check_wing(&flat, 1.25);
}

/* Rows have 4 .. 29 blocks. Most have as many as an inner vertex with six triangles has among
 * tetrahedra, 6 + 2 + 6, or among prisms, 6 + 2 + 12. */
static void check_mix(void)
{
    mcpi_wing_t wing = wing_of(28, 14);
    check_wing(&wing, 1.05);
    rt_mesh_t *mesh = mcpi_wing_new(&wing, 0, 1, NULL);
    mcpi_graph_t *graph = mcpi_graph_of_mesh(mesh, NULL);
    int64_t rows[64] = {0}, outside = 0;
    for (int64_t v = 0; v < mesh->vertices; v++) {
        const int64_t degree = graph->start[v + 1] - graph->start[v];
        outside += degree < 4 || degree > 29;
        rows[degree & 63]++;
    }
    CHECK(outside == 0);
    for (int length = 4; length < 30; length++)
        CHECK(length == 14 || length == 20 || rows[length] < rows[length < 17 ? 14 : 20]);
    CHECK(rows[14] + rows[20] > mesh->vertices / 5);
    CHECK(fabs(prism_share(mesh) - 0.53) < 0.03);
    CHECK(mesh->elements[RT_PYRAMID] > 100);
    mcpi_graph_destroy(graph);
    rt_mesh_destroy(mesh);
    for (int64_t n = 8; n <= 32; n *= 2) { /* other sizes, the same mix */
        wing = wing_of(n, n);
        mesh = mcpi_wing_new(&wing, 0, 1, NULL);
        CHECK(fabs(prism_share(mesh) - 0.53) < 0.05);
        CHECK(mesh->elements[RT_PYRAMID] > n);
        check_counts(&wing, mesh, 1.10);
        rt_mesh_destroy(mesh);
    }
}

static double distance(const rt_mesh_t *mesh, int64_t a, int64_t b)
{
    double square = 0;
    for (int d = 0; d < 3; d++)
        square += pow(mesh->x[3 * a + d] - mesh->x[3 * b + d], 2);
    return sqrt(square);
}

/* The first layer, and the outer boundary, which is where it is with 51 layers that grow by 1.24. */
static void check_layers(void)
{
    double outer = 1e-4 * (pow(1.24, 51) - 1) / 0.24;
    const int64_t tried[3] = {2, 10, 51};
    for (int k = 0; k < 3; k++) {
        int64_t layers = tried[k];
        mcpi_wing_t wing = wing_of(3, layers);
        rt_mesh_t *mesh = mcpi_wing_new(&wing, 0, 1, NULL);
        for (int64_t foot = 0; foot < mesh->vertices; foot += layers + 1) {
            CHECK(fabs(distance(mesh, foot, foot + 1) - 1e-4) < 1e-12);
            CHECK(fabs(distance(mesh, foot, foot + layers) - outer) < 0.01 * outer);
        }
        rt_mesh_destroy(mesh);
    }
}

int main(void)
{
    check_small();
    check_mix();
    check_layers();
    return check_done();
}
