/*
 * test_read.c - mesh files: the same cube as ASCII and binary, and then that cube broken in every way.
 *
 * The parsed text ends where a page starts that must not be touched, so that reading one byte too
 * far ends the test. Broken files are made here from the good ones: cut at each byte, each bit
 * flipped, numbers changed.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/alya-rhs/alya.h"
#include "tests/common/check.h"
#include "tests/common/guarded.h"

enum { FILES = 2, MOST = 1 << 16 };
static const char *const names[FILES] = {"cube-4.1.msh", "cube-4.1-binary.msh"};
static char path[FILES][1024];
static char bytes[FILES][MOST]; /* of the good files */
static size_t size[FILES];
static alya_mesh_t *good[FILES];
static char *guarded; /* MOST bytes, followed by a page that may not be accessed */
static char why[512];

static void load(void)
{
    const char *root = getenv("abs_top_srcdir");
    guarded = guarded_new(MOST);
    for (int f = 0; f < FILES; f++) {
        snprintf(path[f], sizeof path[f], "%s/inputs/alya-rhs/%s", root ? root : ".", names[f]);
        FILE *file = fopen(path[f], "rb");
        if (!file)
            perror(path[f]), exit(EXIT_FAILURE);
        size[f] = fread(bytes[f], 1, MOST, file);
        fclose(file);
    }
}

/* A leak checker reads that page too when the program ends. */
static void unload(void)
{
    guarded_free(guarded, MOST);
}

/* Parses these bytes at the end of the guarded memory. Whatever the result, memory stays within
 * what input/read.c promises, and a failure gives one line that starts with the name. */
static alya_mesh_t *parse(const char *data, size_t n)
{
    const size_t before = rt_mem_used(RT_HOST);
    char *at = guarded + MOST - n;
    memcpy(at, data, n);
    rt_mem_reset_high_water();
    alya_mesh_t *mesh = alya_mesh_parse("m", at, n, why, sizeof why);
    bool held = rt_mem_high_water(RT_HOST) - before <= 12 * n + 256;
    if (!mesh)
        held = held && rt_mem_used(RT_HOST) == before && strncmp(why, "m: ", 3) == 0 &&
               strlen(why) > 3 && !strchr(why, '\n');
    if (!held)
        fprintf(stderr, "    %zu bytes: %s, %zu of memory\n", n, why, rt_mem_high_water(RT_HOST));
    if (!held)
        CHECK(!"memory and message of a file are as promised");
    return mesh;
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
    double d[3][3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            d[k][i] = mesh->x[3 * mesh->connectivity[4 * e + k + 1] + i] -
                      mesh->x[3 * mesh->connectivity[4 * e] + i];
    return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) -
           d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
           d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
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

/* Is any start of a file refused, unless nothing that matters is missing? Catches a missing end-of-
 * file check at any place. */
static void test_cut(int f)
{
    const char *last = "$EndElements";
    const char *from = NULL; /* the last occurrence of `last`; each file has one */
    for (size_t i = 0; i + strlen(last) <= size[f]; i++)
        if (memcmp(bytes[f] + i, last, strlen(last)) == 0)
            from = bytes[f] + i;
    CHECK(from != NULL);
    const size_t needed = (size_t)(from - bytes[f]) + strlen(last);
    for (size_t n = 0; n < size[f]; n++) {
        alya_mesh_t *mesh = parse(bytes[f], n);
        if (mesh)
            CHECK(n >= needed && same(mesh, good[0]));
        alya_mesh_destroy(mesh);
    }
}

/* Flipped bits may give another mesh, but a sound one; and some must be refused. */
static void test_bits(int f)
{
    static char broken[MOST];
    int refused = 0, unsound = 0;
    memcpy(broken, bytes[f], size[f]);
    for (size_t i = 0; i < size[f]; i++)
        for (int bit = 0; bit < 8; bit++) {
            broken[i] = (char)(bytes[f][i] ^ (1 << bit));
            alya_mesh_t *mesh = parse(broken, size[f]);
            refused += !mesh;
            unsound += mesh && !sound(mesh);
            alya_mesh_destroy(mesh);
            broken[i] = bytes[f][i];
        }
    CHECK(unsound == 0);
    CHECK(refused > (int)size[f]);
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

/* Checks that the file with that change is refused with this text. */
static void check_refused(int f, const char *old, const char *new, const char *text)
{
    static char broken[MOST];
    alya_mesh_t *mesh = parse(broken, edit(f, old, new, broken));
    CHECK(mesh == NULL);
    if (!mesh && !strstr(why, text))
        CHECK_TEXT(why, text);
    CHECK(mesh || strstr(why, text));
    alya_mesh_destroy(mesh);
}

/* Checks that that change makes no difference. */
static void check_accepted(int f, const char *old, const char *new)
{
    static char changed[MOST];
    alya_mesh_t *mesh = parse(changed, edit(f, old, new, changed));
    if (!mesh)
        fprintf(stderr, "    %s\n", why);
    CHECK(same(mesh, good[0]));
    alya_mesh_destroy(mesh);
}

static void test_counts(void)
{
    check_refused(0, "4.1 0 8", "4.0 0 8", "line 2: Gmsh format 4.0: only 4.1");
    check_refused(0, "4.1 0 8", "4.1 2 8", "line 2: file type 2");
    check_refused(0, "\n4 28 1 28\n", "\n4 0 1 28\n", "0 nodes: must be 1 to");
    check_refused(0, "\n4 28 1 28\n", "\n4 -28 1 28\n", "-28 nodes: must be 1 to");
    check_refused(0, "\n4 28 1 28\n", "\n4 2147483648 1 28\n", "2147483648 nodes: must be 1 to");
    check_refused(0, "\n4 28 ", "\n4 99999999999999999999 ", "is not a whole number in range");
    check_refused(0, "\n4 28 ", "\n4 2147483647 ", "2147483647 nodes do not fit in the");
    check_refused(0, "\n5 52 ", "\n5 1000000 ", "1000000 elements do not fit in the");
    check_refused(0, "\n4 28 1 28\n", "\n4 29 1 28\n", "have 28 nodes, the total is 29");
    check_refused(0, "\n4 28 1 28\n", "\n3 28 1 28\n", "nodes, the total is 28");
    check_refused(0, "\n4 28 1 28\n", "\n5 28 1 28\n", "\"$EndNodes\" is not a whole number");
    check_refused(0, "\n5 52 1 52\n", "\n5 52 1\n", "the counts of $Elements is missing");
}

static void test_nodes(void)
{
    check_refused(0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 nan 9.0", "node 1: its y coordinate is not");
    check_refused(0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9.0 1e999", "node 1: its z coordinate is not");
    check_refused(0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 0x9 9.0", "\"0x9\" is not a number");
    check_refused(0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9,0 9.0", "\"9,0\" is not a number");
    check_refused(0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9.0", "a coordinate is missing");
    check_refused(0, "\n1\n9.0 9.0 9.0", "\n1\n9.0 9.0 9.0 1", "should end before \"1\"");
    check_refused(0, "\n1\n9.0", "\n18\n9.0", "node 18 occurs twice");
    check_refused(0, "\n1\n9.0", "\n-7\n9.0", "the number of a node is -7");
    check_refused(0, "\n2 1 1 8\n", "\n2 1 1 800\n", "a block of 800 nodes, where 27 are left");
    check_refused(0, "\n2 1 1 8\n", "\n2 1 1 -8\n", "a block of -8 nodes");
    check_refused(0, "\n2 1 1 8\n", "\n4 1 1 8\n", "of dimension 4 and parametric 1");
    check_refused(0, "\n2 1 1 8\n", "\n2 1 0 8\n", "the line should end before \"0.25\"");
}

static void test_elements(void)
{
    check_refused(0, "\n3 1 4 20\n", "\n3 1 5 20\n",
                  "element 5 is a hexahedron (type 5): only tetrahedra can be used");
    check_refused(0, "\n3 1 4 20\n", "\n3 1 6 20\n", "element 5 is a prism (type 6)");
    check_refused(0, "\n3 1 4 20\n", "\n3 1 7 20\n", "element 5 is a pyramid (type 7)");
    check_refused(0, "\n3 1 4 20\n", "\n3 1 11 20\n", "a tetrahedron of second order (type 11)");
    check_refused(0, "\n3 1 4 20\n", "\n3 1 77 20\n", "element 5 is of an unknown type (type 77)");
    check_refused(0, "\n3 1 4 20\n5 ", "\n3 1 4 20\n6 ", "element 6 occurs twice");
    check_refused(0, "\n3 1 4 20\n", "\n3 1 4 21\n", "a node of an element is missing");
    check_refused(0, "\n3 1 4 20\n", "\n3 1 4 99\n", "a block of 99 elements, where 48 are left");
}

static void test_sections(void)
{
    check_refused(0, "$PhysicalNames", "stray\n$PhysicalNames", "line 4: \"stray\" is outside");
    check_refused(0, "$EndPhysicalNames", "$End", "line 4: a section starts here and has no end");
    check_refused(0, "$MeshFormat", "$Mesh", "has no end");
    check_refused(0, "$MeshFormat", "$NOD", "Gmsh format 1");
    check_refused(0, "$Nodes", "$Knots\n$EndKnots\n$Elements\n", "$Elements comes before $Nodes");
    check_refused(0, "$EndElements", "$EndElements\n$Elements", "a second $Elements");
    check_accepted(0, "$Nodes", "$Comments\n$ $Nodes $End\n$EndComments\n\n$Nodes");
    check_accepted(0, "\n4 28 1 28\n", " \n\n 4 28 1 28 \t\n\n");
}

static void test_binary(void)
{
    static char data[MOST];
    const char swapped[] = {0, 0, 0, 1};
    const size_t marker = strlen("$MeshFormat\n4.1 1 8\n");
    memcpy(data, bytes[1], size[1]);
    memcpy(data + marker, swapped, 4);
    alya_mesh_t *mesh = parse(data, size[1]);
    CHECK(!mesh && strstr(why, "the other byte order"));
    alya_mesh_destroy(mesh);
    check_refused(1, " 1 8\n", " 1 4\n", "numbers of 4 bytes: only 8");
    check_refused(1, "$Nodes", "$Knots", "has no end");
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
    alya_mesh_t *mesh = parse(text, n);
    CHECK(same(mesh, good[0]));
    alya_mesh_destroy(mesh);
}

static void test_files(void)
{
    CHECK(!alya_mesh_read("/nonexistent.msh", why, sizeof why) && strstr(why, "No such file"));
    CHECK(!alya_mesh_read("/", why, sizeof why) && strstr(why, "/: Is a directory"));
    CHECK(!alya_mesh_read("/dev/null", why, sizeof why) && strstr(why, "not a regular file"));
    CHECK(!alya_mesh_parse("m", NULL, 0, why, sizeof why) && strstr(why, "m: the file is empty"));
    CHECK(!parse("solid cube\n", 11) && strstr(why, "neither a Gmsh file"));
    char little[8]; /* a message that does not fit is cut, not written past the end */
    memset(little, 'x', sizeof little);
    CHECK(!alya_mesh_parse("m", "solid", 5, little, 6));
    CHECK(strlen(little) == 5 && little[6] == 'x' && little[7] == 'x');
}

int main(void)
{
    load();
    test_good();
    for (int f = 0; f < FILES; f++) {
        test_cut(f);
        test_bits(f);
    }
    test_counts();
    test_nodes();
    test_elements();
    test_sections();
    test_binary();
    test_returns(0);
    test_files();
    for (int f = 0; f < FILES; f++)
        alya_mesh_destroy(good[f]);
    CHECK(rt_mem_used(RT_HOST) == 0);
    unload();
    return check_done();
}
