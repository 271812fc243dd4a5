/*
 * test_wing.c - the generated wing: conforming, not inverted, closed, and mixed as asked.
 *
 * Everything is derived from the lists of elements alone, by sorting faces, edges and pairs;
 * nothing of the generator is used to judge it.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "apps/fun3d-mcpi/input/input.h"
#include "tests/common/check.h"

static mcpi_wing_t wing_of(int64_t n, int64_t layers)
{
    return (mcpi_wing_t){.n = n, .layers = layers, .first = 1e-4, .seed = 1};
}

/* --- faces and edges of elements (order of mesh/mesh.h; faces as seen from outside) --- */

enum { MAX_FACES = 5, MAX_EDGES = 9 };
static const int face_count[RT_ELEMENTS] = {4, 5, 5, 0}, edge_count[RT_ELEMENTS] = {6, 8, 9, 0};
static const int8_t face_of[RT_ELEMENTS][MAX_FACES][4] = {
    {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {2, 0, 3, -1}},
    {{0, 3, 2, 1}, {0, 1, 4, -1}, {1, 2, 4, -1}, {2, 3, 4, -1}, {3, 0, 4, -1}},
    {{0, 2, 1, -1}, {3, 4, 5, -1}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}}};
static const int8_t edge_of[RT_ELEMENTS][MAX_EDGES][2] = {
    {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}},
    {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {1, 4}, {2, 4}, {3, 4}},
    {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}, {1, 4}, {2, 5}}};

/* --- conforming --- */

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
 * face unpaired. Returns the number of faults; *faces: how many faces the mesh has. */
static int64_t nonconforming(const rt_mesh_t *mesh, int64_t *faces)
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
    *faces = 0;
    for (int64_t i = 0, next; i < n; i = next) {
        int listed = 0, turns = 0;
        for (next = i; next < n && compare_faces(seen + i, seen + next) == 0; next++) {
            listed += seen[next].listed;
            turns += seen[next].turn;
        }
        bad += next - i != 2 || turns != 0 || listed > 1;
        ++*faces;
    }
    RT_FREE(seen, RT_HOST);
    return bad;
}

/* --- pairs of vertices --- */

static int compare_keys(const void *p, const void *q)
{
    uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
    return a < b ? -1 : a > b;
}

/* Counts different pairs that share an element, or only pairs that an edge connects. Adds each
 * vertex's pairs to degree[], if it is not NULL. */
static int64_t count_pairs(const rt_mesh_t *mesh, bool edges_only, int *degree)
{
    int64_t most = 0, n = 0, pairs = 0;
    for (int t = 0; t < RT_ELEMENTS; t++)
        most += 15 * mesh->elements[t]; /* the pairs of a prism */
    uint64_t *pair = RT_NEW(uint64_t, (size_t)most, RT_HOST);
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t e = 0; e < mesh->elements[t]; e++) {
            int size = rt_element_size((rt_element_t)t);
            const int32_t *vertex = mesh->element[t] + size * e;
            for (int k = 0; k < (edges_only ? edge_count[t] : size * size); k++) {
                int32_t a = vertex[edges_only ? edge_of[t][k][0] : k / size];
                int32_t b = vertex[edges_only ? edge_of[t][k][1] : k % size];
                if (edges_only && a > b) {
                    int32_t swap = a;
                    a = b;
                    b = swap;
                }
                if (a < b)
                    pair[n++] = (uint64_t)a << 32 | (uint64_t)b;
            }
        }
    qsort(pair, (size_t)n, sizeof *pair, compare_keys);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || pair[i] != pair[i - 1]) {
            pairs++;
            if (degree) {
                degree[pair[i] >> 32]++;
                degree[pair[i] & UINT32_MAX]++;
            }
        }
    RT_FREE(pair, RT_HOST);
    return pairs;
}

/* --- geometry --- */

static double volume6(const rt_mesh_t *mesh, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const double *x = mesh->x;
    double e[3][3];
    for (int k = 0; k < 3; k++) {
        e[0][k] = x[3 * (int64_t)b + k] - x[3 * (int64_t)a + k];
        e[1][k] = x[3 * (int64_t)c + k] - x[3 * (int64_t)a + k];
        e[2][k] = x[3 * (int64_t)d + k] - x[3 * (int64_t)a + k];
    }
    return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) +
           e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
           e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

/* Corners of each type: the vertex, then its three neighbours. */
static const int8_t corner_of[RT_ELEMENTS][6][4] = {
    {{0, 1, 2, 3}},
    {{0, 1, 3, 4}, {1, 2, 0, 4}, {2, 3, 1, 4}, {3, 0, 2, 4}},
    {{0, 1, 2, 3}, {1, 2, 0, 4}, {2, 0, 1, 5}, {3, 5, 4, 0}, {4, 3, 5, 1}, {5, 4, 3, 2}}};
static const int corner_count[RT_ELEMENTS] = {1, 4, 6, 0};
/* A cut into tetrahedra, exact where side faces are plane, as here: each is between two rays. */
static const int8_t cut_of[RT_ELEMENTS][3][4] = {
    {{0, 1, 2, 3}}, {{0, 1, 2, 4}, {0, 2, 3, 4}}, {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 5, 3, 4}}};
static const int cut_count[RT_ELEMENTS] = {1, 2, 3, 0};

/* Counts corners without a positive volume. Adds up the volume. */
static int64_t inverted(const rt_mesh_t *mesh, double *volume)
{
    int64_t bad = 0;
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t e = 0; e < mesh->elements[t]; e++) {
            const int32_t *v = mesh->element[t] + rt_element_size((rt_element_t)t) * e;
            for (int c = 0; c < corner_count[t]; c++) {
                const int8_t *at = corner_of[t][c];
                bad += !(volume6(mesh, v[at[0]], v[at[1]], v[at[2]], v[at[3]]) > 0);
            }
            for (int c = 0; c < cut_count[t]; c++) {
                const int8_t *at = cut_of[t][c];
                *volume += fabs(volume6(mesh, v[at[0]], v[at[1]], v[at[2]], v[at[3]])) / 6;
            }
        }
    return bad;
}

typedef struct {
    double vector[3], area, volume; /* volume: a third of x . n */
    int64_t misplaced;              /* vertices that are not where the tag says */
    int64_t tags[4];
} surface_sum_t;

static bool lies_on(const rt_mesh_t *mesh, int64_t layers, int32_t tag, int32_t v)
{
    return tag == MCPI_TAG_SYMMETRY ? mesh->x[3 * (int64_t)v + 1] == 0
                                    : v % (layers + 1) == (tag == MCPI_TAG_WALL ? 0 : layers);
}

static surface_sum_t sum_surface(const rt_mesh_t *mesh, int64_t layers)
{
    surface_sum_t sum = {.area = 0};
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            int size = rt_face_size((rt_face_t)t);
            const int32_t *v = mesh->face[t] + size * f, tag = mesh->tag[t][f];
            const double *x[4];
            double n[3], square = 0;
            for (int a = 0; a < size; a++) {
                x[a] = mesh->x + 3 * (int64_t)v[a];
                sum.misplaced += !lies_on(mesh, layers, tag, v[a]);
            }
            for (int d = 0; d < 3; d++) { /* half the product of the diagonals, or of two sides */
                int p = (d + 1) % 3, q = (d + 2) % 3;
                const double *from = size == 4 ? x[1] : x[0], *to = size == 4 ? x[3] : x[2];
                const double *end = size == 4 ? x[2] : x[1];
                n[d] = ((end[p] - x[0][p]) * (to[q] - from[q]) -
                        (end[q] - x[0][q]) * (to[p] - from[p])) /
                       2;
                sum.vector[d] += n[d];
                sum.volume += x[0][d] * n[d] / 3;
                square += n[d] * n[d];
            }
            sum.area += sqrt(square);
            sum.tags[tag >= 1 && tag <= 3 ? tag : 0]++;
        }
    return sum;
}

/* --- checks --- */

static void check_geometry(const rt_mesh_t *mesh, int64_t layers)
{
    double volume = 0;
    CHECK(inverted(mesh, &volume) == 0);
    surface_sum_t sum = sum_surface(mesh, layers);
    for (int d = 0; d < 3; d++)
        CHECK(fabs(sum.vector[d]) < 1e-12 * sum.area);
    CHECK(fabs(sum.volume - volume) <
          1e-10 * volume); /* Gauss: boundary and elements have the same volume */
    CHECK(sum.misplaced == 0);
    CHECK(sum.tags[0] == 0 && sum.tags[MCPI_TAG_WALL] == sum.tags[MCPI_TAG_FAR]);
}

/* 2V + 2T + 9P + 5Y - 2 + (Fb + 2Qb) */
static int64_t formula(const rt_mesh_t *mesh)
{
    return 2 * mesh->vertices + 2 * mesh->elements[RT_TETRAHEDRON] + 9 * mesh->elements[RT_PRISM] +
           5 * mesh->elements[RT_PYRAMID] - 2 + mesh->faces[RT_TRIANGLE] + 3 * mesh->faces[RT_QUAD];
}

static double prism_share(const rt_mesh_t *mesh)
{
    int64_t prisms = mesh->elements[RT_PRISM], pyramids = mesh->elements[RT_PYRAMID];
    double cells = (double)(mesh->elements[RT_TETRAHEDRON] - pyramids) / 3 + (double)pyramids;
    return (double)prisms / (cells + (double)prisms);
}

static void check_counts(const mcpi_wing_t *wing, const rt_mesh_t *mesh, double slack)
{
    int64_t vertices = 0, blocks = 0;
    mcpi_wing_count(wing, &vertices, &blocks);
    CHECK(vertices == mesh->vertices);
    CHECK(blocks >= formula(mesh) && (double)blocks <= slack * (double)formula(mesh));
}

static void check_topology(const rt_mesh_t *mesh)
{
    int64_t faces = 0, elements = 0;
    CHECK(nonconforming(mesh, &faces) == 0);
    for (int t = 0; t < RT_ELEMENTS; t++)
        elements += mesh->elements[t];
    int64_t edges = count_pairs(mesh, true, NULL);
    CHECK(mesh->vertices - edges + faces - elements == 1); /* a ball */
    CHECK(2 * count_pairs(mesh, false, NULL) == formula(mesh));
}

static void check_wing(const mcpi_wing_t *wing, double slack)
{
    rt_mesh_t *mesh = mcpi_wing_new(wing);
    int failed = check_state.failed;
    char why[256] = "";
    CHECK(rt_mesh_check(mesh, why, sizeof why)); /* as strict as for a mesh from a file */
    CHECK_TEXT(why, "");
    CHECK(mesh->elements[RT_HEXAHEDRON] == 0);
    check_topology(mesh);
    check_geometry(mesh, wing->layers);
    check_counts(wing, mesh, slack);
    if (failed != check_state.failed)
        fprintf(stderr, "    n %lld, %lld layers, growth %g, seed %llu\n", (long long)wing->n,
                (long long)wing->layers, wing->growth, (unsigned long long)wing->seed);
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
    mcpi_wing_t thin = wing_of(2, 60), flat = wing_of(30, 2), even = wing_of(5, 9);
    check_wing(&thin, 1.25);
    check_wing(&flat, 1.25);
    even.growth = 1;
    even.first = 0.01;
    check_wing(&even, 1.25);
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
    int *degree = RT_NEW(int, (size_t)mesh->vertices, RT_HOST);
    int64_t rows[64] = {0}, outside = 0;
    memset(degree, 0, (size_t)mesh->vertices * sizeof *degree);
    count_pairs(mesh, false, degree);
    for (int64_t v = 0; v < mesh->vertices; v++) {
        outside += degree[v] < 4 || degree[v] > 29;
        rows[degree[v] & 63]++;
    }
    CHECK(outside == 0);
    for (int length = 4; length < 30; length++)
        CHECK(length == 14 || length == 20 || rows[length] < rows[length < 17 ? 14 : 20]);
    CHECK(rows[14] + rows[20] > mesh->vertices / 5);
    CHECK(fabs(prism_share(mesh) - 0.53) < 0.03);
    CHECK(mesh->elements[RT_PYRAMID] > 100);
    check_flips(mesh, wing.layers);
    RT_FREE(degree, RT_HOST);
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

/* The first layer, growth, and the outer boundary, which is where it is with 51 layers that grow by
 * 1.24. */
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
    mcpi_wing_t wing = wing_of(2, 3);
    wing.growth = 2;
    wing.first = 0.25;
    rt_mesh_t *mesh = mcpi_wing_new(&wing);
    CHECK(fabs(distance(mesh, 0, 3) - 1.75) < 1e-14);
    rt_mesh_destroy(mesh);
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint64_t word;
    for (size_t i = 0; i < bytes; i += sizeof word) {
        word = 0;
        memcpy(&word, byte + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        hash = rt_hash(word, hash);
    }
    return hash;
}

static uint64_t hash_mesh(const mcpi_wing_t *wing)
{
    rt_mesh_t *mesh = mcpi_wing_new(wing);
    uint64_t hash = hash_bytes(0, mesh->x, 3 * (size_t)mesh->vertices * sizeof *mesh->x);
    for (int t = 0; t < RT_ELEMENTS; t++)
        hash = hash_bytes(hash, mesh->element[t],
                          (size_t)mesh->elements[t] * 4 * (size_t)rt_element_size((rt_element_t)t));
    for (int t = 0; t < RT_FACES; t++) {
        hash = hash_bytes(hash, mesh->face[t],
                          (size_t)mesh->faces[t] * 4 * (size_t)rt_face_size((rt_face_t)t));
        hash = hash_bytes(hash, mesh->tag[t], (size_t)mesh->faces[t] * 4);
    }
    rt_mesh_destroy(mesh);
    return hash;
}

static void check_same(void)
{
    mcpi_wing_t wing = wing_of(20, 20), other = wing_of(20, 20);
    other.seed = 2;
    uint64_t first = hash_mesh(&wing);
    CHECK(hash_mesh(&other) != first);
#ifdef _OPENMP
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        CHECK(hash_mesh(&wing) == first);
    }
#endif
}

static void check_refusals(void)
{
    mcpi_wing_t small = wing_of(1, 2), low = wing_of(2, 1), large = wing_of(10000, 2);
    mcpi_wing_t far = wing_of(2, 2), shrinking = wing_of(2, 2);
    far.first = 25;
    shrinking.growth = -1;
    CHECK_DIES(RT_USAGE, "at least 2", { mcpi_wing_new(&small); });
    CHECK_DIES(RT_USAGE, "at least 2", { mcpi_wing_new(&low); });
    CHECK_DIES(RT_USAGE, "2147483647", { mcpi_wing_new(&large); });
    CHECK_DIES(RT_USAGE, "first layer", { mcpi_wing_new(&far); });
    CHECK_DIES(RT_USAGE, "growth", { mcpi_wing_new(&shrinking); });
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
