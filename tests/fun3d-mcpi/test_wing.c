/*
 * test_wing.c - the generated wing: conforming, not inverted, closed, and mixed as asked.
 *
 * Faces are sorted here. What else is asked of the mesh is asked of files that know nothing of the
 * generator: the check of a mesh from a file, the graph, the volumes of elements.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "apps/fun3d-mcpi/input/flow.h"
#include "tests/common/check.h"

static mcpi_wing_t wing_of(int64_t n, int64_t layers)
{
    return (mcpi_wing_t){.n = n, .layers = layers, .seed = 1};
}

/* --- conforming --- */

/* Faces of elements (order of mesh/mesh.h), as seen from outside. */
enum { MAX_FACES = 5 };
static const int face_count[RT_ELEMENTS] = {4, 5, 5, 0};
static const int8_t face_of[RT_ELEMENTS][MAX_FACES][4] = {
    {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {2, 0, 3, -1}},
    {{0, 3, 2, 1}, {0, 1, 4, -1}, {1, 2, 4, -1}, {2, 3, 4, -1}, {3, 0, 4, -1}},
    {{0, 2, 1, -1}, {3, 4, 5, -1}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}}};

typedef struct {
    int32_t v[4]; /* least first, then its lesser neighbour; v[3] = -1: a triangle */
    int8_t turn;  /* 1, or -1 if sorting turned it over */
    int8_t listed;
} seen_t;

static seen_t see(const int32_t *vertex, int size, int listed)
{
    seen_t face = {.v = {-1, -1, -1, -1}, .turn = 1, .listed = (int8_t)listed};
    int least = 0;
    for (int a = 1; a < size; a++)
        least = vertex[a] < vertex[least] ? a : least;
    if (vertex[(least + size - 1) % size] < vertex[(least + 1) % size])
        face.turn = -1;
    for (int a = 0; a < size; a++)
        face.v[a] = vertex[(least + size + face.turn * a) % size];
    return face;
}

static int compare_faces(const void *p, const void *q)
{
    const seen_t *a = p, *b = q;
    for (int k = 0; k < 4; k++)
        if (a->v[k] != b->v[k])
            return a->v[k] < b->v[k] ? -1 : 1;
    return 0;
}

/* Every face of an element, and every listed boundary face, must occur twice, seen from opposite
 * sides, at least once in an element. A listed face represents an element outside, so it is turned
 * over. A quad against two triangles, a hole, and a listed face that does not exist all leave a
 * face unpaired. Returns the number of faults. */
static int64_t nonconforming(const rt_mesh_t *mesh)
{
    int64_t most = mesh->faces[RT_TRIANGLE] + mesh->faces[RT_QUAD], n = 0, bad = 0;
    for (int t = 0; t < RT_ELEMENTS; t++)
        most += face_count[t] * mesh->elements[t];
    seen_t *seen = RT_NEW(seen_t, (size_t)most, RT_HOST);
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t e = 0; e < mesh->elements[t]; e++)
            for (int f = 0; f < face_count[t]; f++) {
                const int32_t *vertex = mesh->element[t] + rt_element_size((rt_element_t)t) * e;
                const int8_t *at = face_of[t][f];
                int32_t face[4];
                int size = at[3] < 0 ? 3 : 4;
                for (int a = 0; a < size; a++)
                    face[a] = vertex[at[a]];
                seen[n++] = see(face, size, 0);
            }
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            int size = rt_face_size((rt_face_t)t);
            seen[n] = see(mesh->face[t] + size * f, size, 1);
            seen[n++].turn *= -1;
        }
    qsort(seen, (size_t)n, sizeof *seen, compare_faces);
    for (int64_t i = 0, next; i < n; i = next) {
        int listed = 0, turns = 0;
        for (next = i; next < n && compare_faces(seen + i, seen + next) == 0; next++) {
            listed += seen[next].listed;
            turns += seen[next].turn;
        }
        bad += next - i != 2 || turns != 0 || listed > 1;
    }
    RT_FREE(seen, RT_HOST);
    return bad;
}

/* --- geometry --- */

static double volume_of(const rt_mesh_t *mesh)
{
    double sum = 0;
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t e = 0; e < mesh->elements[t]; e++) {
            const int size = rt_element_size((rt_element_t)t);
            mcpi_share_t share;
            mcpi_share(mesh, (rt_element_t)t, mesh->element[t] + size * e, 0, &share);
            sum += share.volume;
        }
    return sum;
}

typedef struct {
    double volume;     /* a third of x . n */
    int64_t misplaced; /* vertices that are not where the tag says */
    int64_t tags[4];
} surface_sum_t;

static bool lies_on(const rt_mesh_t *mesh, int64_t layers, int32_t tag, int32_t v)
{
    return tag == MCPI_TAG_SYMMETRY ? mesh->x[3 * (int64_t)v + 1] == 0
                                    : v % (layers + 1) == (tag == MCPI_TAG_WALL ? 0 : layers);
}

static surface_sum_t sum_surface(const rt_mesh_t *mesh, int64_t layers)
{
    surface_sum_t sum = {.volume = 0};
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            int size = rt_face_size((rt_face_t)t);
            const int32_t *v = mesh->face[t] + size * f, tag = mesh->tag[t][f];
            const double *x[4];
            for (int a = 0; a < size; a++) {
                x[a] = mesh->x + 3 * (int64_t)v[a];
                sum.misplaced += !lies_on(mesh, layers, tag, v[a]);
            }
            for (int d = 0; d < 3; d++) { /* half the product of the diagonals, or of two sides */
                int p = (d + 1) % 3, q = (d + 2) % 3;
                const double *from = size == 4 ? x[1] : x[0], *to = size == 4 ? x[3] : x[2];
                const double *end = size == 4 ? x[2] : x[1];
                const double n = ((end[p] - x[0][p]) * (to[q] - from[q]) -
                                  (end[q] - x[0][q]) * (to[p] - from[p])) /
                                 2;
                sum.volume += x[0][d] * n / 3;
            }
            sum.tags[tag >= 1 && tag <= 3 ? tag : 0]++;
        }
    return sum;
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
    rt_mesh_t *mesh = mcpi_wing_new(wing);
    int failed = check_state.failed;
    char why[256] = "";
    CHECK(rt_mesh_check(mesh, why, sizeof why)); /* as strict as for a mesh from a file */
    CHECK_TEXT(why, "");
    CHECK(mesh->elements[RT_HEXAHEDRON] == 0);
    CHECK(nonconforming(mesh) == 0);
    const surface_sum_t sum = sum_surface(mesh, wing->layers);
    const double volume = volume_of(mesh); /* Gauss: boundary and elements have the same */
    CHECK(fabs(sum.volume - volume) < 1e-10 * volume);
    CHECK(sum.misplaced == 0);
    CHECK(sum.tags[0] == 0 && sum.tags[MCPI_TAG_WALL] == sum.tags[MCPI_TAG_FAR]);
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

/* A vertex of the wall has 4 .. 9 triangles, or half of 4 .. 8 on the symmetry plane. There were
 * flips, so not all vertices have six; there were few, so most have. */
static void check_flips(const rt_mesh_t *mesh, int64_t layers)
{
    int *triangles = RT_NEW(int, (size_t)mesh->vertices, RT_HOST);
    int64_t inner[16] = {0}, edge[16] = {0}, outside = 0, all = 0;
    memset(triangles, 0, (size_t)mesh->vertices * sizeof *triangles);
    for (int64_t f = 0; f < mesh->faces[RT_TRIANGLE]; f++)
        for (int a = 0; a < 3 && mesh->tag[RT_TRIANGLE][f] == MCPI_TAG_WALL; a++)
            triangles[mesh->face[RT_TRIANGLE][3 * f + a]]++;
    for (int64_t v = 0; v < mesh->vertices; v += layers + 1)
        (mesh->x[3 * v + 1] > 0 ? inner : edge)[triangles[v] & 15]++;
    for (int k = 0; k < 16; k++) {
        outside += (k < 4 || k > 9 ? inner[k] : 0) + (k < 2 || k > 4 ? edge[k] : 0);
        all += inner[k];
    }
    CHECK(outside == 0);
    CHECK(inner[4] > all / 20 && inner[5] > all / 8 && inner[7] > all / 8 && inner[8] > all / 20);
    CHECK(inner[6] > all / 4 && inner[9] > 0 && edge[2] > 0 && edge[4] > 0);
    RT_FREE(triangles, RT_HOST);
}

/* Rows have 4 .. 29 blocks. Most have as many as an inner vertex with six triangles has among
 * tetrahedra, 6 + 2 + 6, or among prisms, 6 + 2 + 12. */
static void check_mix(void)
{
    mcpi_wing_t wing = wing_of(28, 14);
    check_wing(&wing, 1.05);
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
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
    check_flips(mesh, wing.layers);
    mcpi_graph_destroy(graph);
    rt_mesh_destroy(mesh);
    for (int64_t n = 8; n <= 32; n *= 2) { /* other sizes, the same mix */
        wing = wing_of(n, n);
        mesh = mcpi_wing_new(&wing);
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
        rt_mesh_t *mesh = mcpi_wing_new(&wing);
        for (int64_t foot = 0; foot < mesh->vertices; foot += layers + 1) {
            CHECK(fabs(distance(mesh, foot, foot + 1) - 1e-4) < 1e-12);
            CHECK(fabs(distance(mesh, foot, foot + layers) - outer) < 0.01 * outer);
        }
        rt_mesh_destroy(mesh);
    }
}

static bool same_meshes(const rt_mesh_t *a, const rt_mesh_t *b)
{
    bool same = memcmp(a->x, b->x, 3 * (size_t)a->vertices * sizeof *a->x) == 0;
    for (int t = 0; t < RT_ELEMENTS; t++) {
        const size_t corners = (size_t)a->elements[t] * (size_t)rt_element_size((rt_element_t)t);
        same = same && a->elements[t] == b->elements[t] &&
               memcmp(a->element[t], b->element[t], corners * sizeof(int32_t)) == 0;
    }
    for (int t = 0; t < RT_FACES; t++) {
        const size_t n = (size_t)a->faces[t], size = (size_t)rt_face_size((rt_face_t)t);
        same = same && a->faces[t] == b->faces[t] &&
               memcmp(a->face[t], b->face[t], n * size * sizeof(int32_t)) == 0 &&
               memcmp(a->tag[t], b->tag[t], n * sizeof(int32_t)) == 0;
    }
    return same;
}

static void check_same(void)
{
    mcpi_wing_t wing = wing_of(20, 20), other = wing_of(20, 20);
    other.seed = 2;
    rt_mesh_t *first = mcpi_wing_new(&wing), *next = mcpi_wing_new(&other);
    CHECK(!same_meshes(first, next));
    rt_mesh_destroy(next);
#ifdef _OPENMP
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        next = mcpi_wing_new(&wing);
        CHECK(same_meshes(first, next));
        rt_mesh_destroy(next);
    }
#endif
    rt_mesh_destroy(first);
}

static void check_refusals(void)
{
    mcpi_wing_t small = wing_of(1, 2), low = wing_of(2, 1), large = wing_of(10000, 2);
    CHECK_DIES(RT_USAGE, "at least 2", { mcpi_wing_new(&small); });
    CHECK_DIES(RT_USAGE, "at least 2", { mcpi_wing_new(&low); });
    CHECK_DIES(RT_USAGE, "2147483647", { mcpi_wing_new(&large); });
}

int main(void)
{
    check_refusals(); /* first: no threads yet where it forks */
    check_small();
    check_mix();
    check_layers();
    check_same();
    return check_done();
}
