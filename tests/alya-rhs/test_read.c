/*
 * test_read.c - mesh files: the same cube as ASCII and binary, and what is said of that cube with one
 * place changed. tests/common/test_mesh.c cuts files at each byte and flips each bit.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/alya-rhs/alya.h"
#include "tests/common/check.h"

enum { FILES = 2, MOST = 1 << 16 };
static const char *const names[FILES] = {"cube-4.1.msh", "cube-4.1-binary.msh"};
static char path[FILES][1024];
static char bytes[FILES][MOST]; /* of the good files */
static size_t size[FILES];
static alya_mesh_t *good[FILES];
static char why[512];

static void load(void)
{
    const char *root = getenv("abs_top_srcdir");
    for (int f = 0; f < FILES; f++) {
        snprintf(path[f], sizeof path[f], "%s/inputs/alya-rhs/%s", root ? root : ".", names[f]);
        FILE *file = fopen(path[f], "rb");
        if (!file)
            perror(path[f]), exit(EXIT_FAILURE);
        size[f] = fread(bytes[f], 1, MOST, file);
        fclose(file);
    }
}

static bool same(const alya_mesh_t *a, const alya_mesh_t *b)
{
    return a && b && a->elements == b->elements && a->nodes == b->nodes &&
           memcmp(a->connectivity, b->connectivity, (size_t)a->elements * 16) == 0 &&
           memcmp(a->x, b->x, (size_t)a->nodes * 24) == 0;
}

/* Are the numbers in range, as alya_mesh_check may assume? */
static bool sound(const alya_mesh_t *mesh)
{
    bool held = mesh->elements > 0 && mesh->nodes > 0;
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        held = held && mesh->connectivity[i] >= 0 && mesh->connectivity[i] < mesh->nodes;
    for (int64_t i = 0; i < 3 * mesh->nodes; i++)
        held = held && isfinite(mesh->x[i]);
    for (int64_t n = 0; n < mesh->nodes; n++)
        held = held && mesh->node_id[n] == n && mesh->flags[n] == 0;
    return held;
}

static double determinant(const alya_mesh_t *mesh, int64_t e)
{
    double edge[3][3];
    alya_edges(mesh, mesh->connectivity + 4 * e, edge);
    return alya_determinant(edge);
}

/* Do the tetrahedra fill the unit cube? Catches mixed-up nodes, tags taken for positions, a lost
 * element, and the unused node at (9, 9, 9) if it was kept. */
static void check_cube(const alya_mesh_t *mesh)
{
    const double middle = pow(0.5, 1.3); /* read to the last digit */
    double volume = 0;
    CHECK(mesh->elements == 48 && mesh->nodes == 27 && sound(mesh));
    for (int64_t e = 0; e < mesh->elements; e++) {
        CHECK(determinant(mesh, e) > 0);
        volume += determinant(mesh, e) / 6;
    }
    CHECK(fabs(volume - 1) < 1e-14);
    for (int64_t i = 0; i < 3 * mesh->nodes; i++)
        CHECK(mesh->x[i] == 0 || mesh->x[i] == 1 || fabs(mesh->x[i] - middle) < 1e-15);
    /* the order of the file: points 0, 19, 11 of the cube, z fastest */
    const double first[9] = {0, 0, 0, 1, 0, middle, middle, 0, 1};
    for (int i = 0; i < 9; i++)
        CHECK(fabs(mesh->x[i] - first[i]) < 1e-15);
}

static void test_good(void)
{
    for (int f = 0; f < FILES; f++) {
        good[f] = alya_mesh_read(path[f], why, sizeof why);
        if (!good[f])
            fprintf(stderr, "%s\n", why), exit(EXIT_FAILURE);
        check_cube(good[f]);
        CHECK(same(good[f], good[0]));
    }
}

/* Copies file f as text, with the first `old` changed to `new`; returns its length. */
static size_t edit(int f, const char *old, const char *new, char *to)
{
    size_t n = size[f];
    memcpy(to, bytes[f], n);
    for (size_t i = 0; i + strlen(old) <= n; i++)
        if (memcmp(to + i, old, strlen(old)) == 0) {
            memmove(to + i + strlen(new), to + i + strlen(old), n - i - strlen(old));
            memcpy(to + i, new, strlen(new));
            return n - strlen(old) + strlen(new);
        }
    CHECK(!"the text to change is in the file");
    return n;
}

/* Changes of a file, and a part of what is said of it; NULL: the mesh is the same. */
static const struct {
    int file;
    const char *old, *new, *wanted;
} changes[] = {
    {0, "4.1 0 8", "4.1 2 8", "line 2: file type 2"},
    {0, "\n4 28 1 28\n", "\n4 0 1 28\n", "0 nodes: must be 1 to"},
    {0, "\n4 28 1 28\n", "\n4 -28 1 28\n", "-28 nodes: must be 1 to"},
    {0, "\n4 28 1 28\n", "\n4 2147483648 1 28\n", "2147483648 nodes: must be 1 to"},
    {0, "\n4 28 ", "\n4 99999999999999999999 ", "is not a whole number in range"},
    {0, "\n4 28 ", "\n4 2147483647 ", "2147483647 nodes do not fit in the"},
    {0, "\n5 52 ", "\n5 1000000 ", "1000000 elements do not fit in the"},
    {0, "\n4 28 1 28\n", "\n4 29 1 28\n", "have 28 nodes, the total is 29"},
    {0, "\n4 28 1 28\n", "\n3 28 1 28\n", "nodes, the total is 28"},
    {0, "\n4 28 1 28\n", "\n5 28 1 28\n", "\"$EndNodes\" is not a whole number"},
    {0, "\n5 52 1 52\n", "\n5 52 1\n", "the counts of $Elements is missing"},
    {0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 nan 9.0", "node 1: its y coordinate is not"},
    {0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9.0 1e999", "node 1: its z coordinate is not"},
    {0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 0x9 9.0", "\"0x9\" is not a number"},
    {0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9,0 9.0", "\"9,0\" is not a number"},
    {0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9.0", "a coordinate is missing"},
    {0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9.0 9.0 1", "should end before \"1\""},
    {0, "\n1\n9.0", "\n18\n9.0", "node 18 occurs twice"},
    {0, "\n1\n9.0", "\n-7\n9.0", "the number of a node is -7"},
    {0, "\n2 1 1 8\n", "\n2 1 1 800\n", "a block of 800 nodes, where 27 are left"},
    {0, "\n2 1 1 8\n", "\n2 1 1 -8\n", "a block of -8 nodes"},
    {0, "\n2 1 1 8\n", "\n4 1 1 8\n", "of dimension 4 and parametric 1"},
    {0, "\n2 1 1 8\n", "\n2 1 0 8\n", "the line should end before \"0.25\""},
    {0, "\n3 1 4 20\n", "\n3 1 5 20\n",
     "element 5 is a hexahedron (type 5): only tetrahedra can be used"},
    {0, "\n3 1 4 20\n", "\n3 1 7 20\n", "element 5 is a pyramid (type 7)"},
    {0, "\n3 1 4 20\n", "\n3 1 77 20\n", "element 5 is of higher order or unknown (type 77)"},
    {0, "\n3 1 4 20\n", "\n3 1 4 21\n", "a node of an element is missing"},
    {0, "\n3 1 4 20\n", "\n3 1 4 99\n", "a block of 99 elements, where 48 are left"},
    {0, "$PhysicalNames", "stray\n$PhysicalNames", "line 4: \"stray\" is outside"},
    {0, "$EndPhysicalNames", "$End", "line 4: a section starts here and has no end"},
    {0, "$MeshFormat", "$Mesh", "has no end"},
    {0, "$MeshFormat", "$NOD", "Gmsh format 1"},
    {0, "$Nodes", "$Knots\n$EndKnots\n$Elements\n", "$Elements comes before $Nodes"},
    {0, "$Nodes", "$Comments\n$ $Nodes $End\n$EndComments\n\n$Nodes", NULL},
    {0, "\n4 28 1 28\n", " \n\n 4 28 1 28 \t\n\n", NULL},
    {1, " 1 8\n", " 1 4\n", "numbers of 4 bytes: only 8"},
    {1, "$Nodes", "$Knots", "has no end"},
};

static void test_changes(void)
{
    static char changed[MOST];
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *wanted = changes[i].wanted;
        const size_t n = edit(changes[i].file, changes[i].old, changes[i].new, changed);
        const size_t before = rt_mem_used(RT_HOST);
        alya_mesh_t *mesh = alya_mesh_parse("m", changed, n, why, sizeof why);
        if (!wanted)
            CHECK(same(mesh, good[0]));
        else if (mesh || !strstr(why, wanted))
            CHECK_TEXT(mesh ? "accepted" : why, wanted);
        alya_mesh_destroy(mesh);
        CHECK(rt_mem_used(RT_HOST) == before);
    }
}

static void test_byte_order(void)
{
    const size_t marker = strlen("$MeshFormat\n4.1 1 8\n");
    static char data[MOST];
    memcpy(data, bytes[1], size[1]);
    memcpy(data + marker, "\0\0\0\1", 4);
    CHECK(!alya_mesh_parse("m", data, size[1], why, sizeof why));
    CHECK(strstr(why, "the other byte order"));
}

/* Windows line ends. */
static void test_returns(int f)
{
    static char text[MOST];
    size_t n = 0;
    for (size_t i = 0; i < size[f]; i++) {
        if (bytes[f][i] == '\n')
            text[n++] = '\r';
        text[n++] = bytes[f][i];
    }
    alya_mesh_t *mesh = alya_mesh_parse("m", text, n, why, sizeof why);
    CHECK(same(mesh, good[0]));
    alya_mesh_destroy(mesh);
}

static void test_message(void)
{
    char little[8]; /* a message that does not fit is cut, not written past the end */
    memset(little, 'x', sizeof little);
    CHECK(!alya_mesh_parse("m", "solid", 5, little, 6));
    CHECK(strlen(little) == 5 && little[6] == 'x' && little[7] == 'x');
}

int main(void)
{
    load();
    test_good();
    test_changes();
    test_byte_order();
    test_returns(0);
    test_message();
    for (int f = 0; f < FILES; f++)
        alya_mesh_destroy(good[f]);
    CHECK(rt_mem_used(RT_HOST) == 0);
    return check_done();
}
