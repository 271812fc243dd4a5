/*
 * test_mesh.c - a mesh of all four element types, written to memory in every format, read back and
 * compared; then the same files, broken in every way.
 *
 * The bytes that are parsed end where an inaccessible page begins, so that reading one byte too far
 * ends the test.
 */
#include "config.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "mesh/mesh.h"
#include "judge/verify.h"
#include "tests/common/check.h"
#include "tests/common/guarded.h"

enum { MOST = 1 << 14, TETS = 1 << RT_TETRAHEDRON };
typedef enum { GMSH, GMSH_BINARY, UGRID_BIG, UGRID_LITTLE, FORMATS } form_t;
static const char *const names[FORMATS] = {"m.msh", "m.msh", "m.b8.ugrid", "m.lb8.ugrid"};
static char bytes[FORMATS][MOST];
static size_t size[FORMATS];
static char *guarded;
static char why[512];

/* --- the mesh: a cube, a pyramid on top, a prism next to it, two tetrahedra at the pyramid --- */

enum { VERTICES = 13, FACES = 4 };
/* Vertex 0 is used by no element. */
static double x[VERTICES][3] = {{9, 9, 9}, {0, 0, 0}, {1, 0, 0},   {1, 1, 0}, {0, 1, 0},
                                {0, 0, 1}, {1, 0, 1}, {1, 1, 1},   {0, 1, 1}, {0.5, 0.5, 2},
                                {2, 0, 0}, {2, 0, 1}, {0.5, -1, 2}};
static int32_t hexahedron[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static int32_t pyramid[5] = {5, 6, 7, 8, 9};
static int32_t prism[6] = {2, 10, 3, 6, 11, 7};
static int32_t tetrahedra[2][4] = {{5, 6, 9, 12}, {6, 11, 9, 12}};
static int32_t triangles[3][3] = {{2, 10, 3}, {0, 1, 2}, {6, 11, 7}}; /* the second is dropped */
static int32_t quads[1][4] = {{1, 2, 3, 4}};
static const int32_t triangle_tag[3] = {3, 4, 5}, quad_tag[1] = {1};

static rt_mesh_t whole(void)
{
    return (rt_mesh_t){.vertices = VERTICES,
                       .x = x[0],
                       .elements = {2, 1, 1, 1},
                       .element = {tetrahedra[0], pyramid, prism, hexahedron},
                       .faces = {3, 1},
                       .face = {triangles[0], quads[0]},
                       .tag = {(int32_t *)(void *)triangle_tag, (int32_t *)(void *)quad_tag}};
}

/* --- writers --- */

static void put(form_t f, const void *data, size_t n)
{
    if (size[f] + n > MOST)
        fprintf(stderr, "MOST is too small\n"), exit(EXIT_FAILURE);
    memcpy(bytes[f] + size[f], data, n);
    size[f] += n;
}

static void text(form_t f, const char *fmt, ...)
{
    char line[256];
    va_list args;
    va_start(args, fmt);
    put(f, line, (size_t)vsnprintf(line, sizeof line, fmt, args));
    va_end(args);
}

static void put_int(form_t f, int32_t value)
{
    put(f, &value, sizeof value);
}

static void put_size(form_t f, uint64_t value)
{
    put(f, &value, sizeof value);
}

/* Calls `write` for all faces, then for all elements, with Gmsh's number of the type. A tag of 0
 * means an element. */
static void each(form_t f, void (*write)(form_t f, int number, int type, int32_t tag, int n,
                                         const int32_t *vertex))
{
    static const int gmsh_face[] = {2, 3}, gmsh_element[] = {4, 7, 6, 5};
    const rt_mesh_t m = whole();
    int number = 1;
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t i = 0; i < m.faces[t]; i++)
            write(f, number++, gmsh_face[t], m.tag[t][i], rt_face_size(t),
                  m.face[t] + i * rt_face_size(t));
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t i = 0; i < m.elements[t]; i++)
            write(f, number++, gmsh_element[t], 0, rt_element_size(t),
                  m.element[t] + i * rt_element_size(t));
}

enum { ELEMENTS = 9, TAG = 100 }; /* node v has the tag 100 + 3 v */

/* The surface with physical group t is the entity 10 t. Each element is a block of its own. */
static void gmsh_element(form_t f, int number, int type, int32_t tag, int n, const int32_t *vertex)
{
    text(f, "%d %d %d 1\n%d", tag ? 2 : 3, tag ? 10 * tag : 1, type, number);
    for (int a = 0; a < n; a++)
        text(f, " %d", TAG + 3 * vertex[a]);
    text(f, "\n");
}

static void gmsh_binary_element(form_t f, int number, int type, int32_t tag, int n,
                                const int32_t *vertex)
{
    put_int(f, tag ? 2 : 3);
    put_int(f, tag ? 10 * tag : 1);
    put_int(f, type);
    put_size(f, 1);
    put_size(f, (uint64_t)number);
    for (int a = 0; a < n; a++)
        put_size(f, (uint64_t)(TAG + 3 * vertex[a]));
}

static void write_entities(form_t f)
{
    static const double box[6] = {0, 0, 0, 1, 1, 1};
    if (f == GMSH) {
        text(f, "$Entities\n1 1 4 1\n7 0 0 0 1 9 \n1 0 0 0 1 1 1 0 2 7 -7 \n");
        for (int t = 1; t <= 5; t++)
            if (t != 2)
                text(f, "%d 0 0 0 1 1 1 2 %d 99 1 1\n", 10 * t, t == 5 ? -t : t);
        text(f, "1 0 0 0 1 1 1 1 8 2 10 30\n$EndEntities\n");
        return;
    }
    text(f, "$Entities\n");
    for (int d = 0; d < 4; d++)
        put_size(f, d == 2 ? 4 : 0);
    for (int t = 1; t <= 5; t++) {
        if (t == 2)
            continue;
        put_int(f, 10 * t);
        put(f, box, sizeof box);
        put_size(f, 2);
        put_int(f, t == 5 ? -t : t);
        put_int(f, 99);
        put_size(f, 1);
        put_int(f, 1);
    }
    text(f, "\n$EndEntities\n");
}

static void write_gmsh(form_t f)
{
    const bool binary = f == GMSH_BINARY;
    text(f, "$MeshFormat\n4.1 %d 8\n", binary);
    if (binary) {
        put_int(f, 1);
        text(f, "\n");
    }
    text(f, "$EndMeshFormat\n");
    write_entities(f);
    text(f, "$Nodes\n");
    if (binary) {
        const uint64_t head[4] = {1, VERTICES, TAG, TAG + 3 * VERTICES};
        put(f, head, sizeof head);
        for (int i = 0; i < 3; i++)
            put_int(f, i == 0 ? 3 : i == 1);
        put_size(f, VERTICES);
        for (int v = 0; v < VERTICES; v++)
            put_size(f, (uint64_t)(TAG + 3 * v));
        put(f, x, sizeof x);
    } else {
        text(f, "1 %d %d %d\n3 1 0 %d\n", VERTICES, TAG, TAG + 3 * VERTICES, VERTICES);
        for (int v = 0; v < VERTICES; v++)
            text(f, "%d\n", TAG + 3 * v);
        for (int v = 0; v < VERTICES; v++)
            text(f, "%g %g %g\n", x[v][0], x[v][1], x[v][2]);
    }
    text(f, "%s$EndNodes\n$Elements\n", binary ? "\n" : "");
    if (binary) {
        const uint64_t head[4] = {ELEMENTS, ELEMENTS, 1, ELEMENTS};
        put(f, head, sizeof head);
    } else
        text(f, "%d %d 1 %d\n", ELEMENTS, ELEMENTS, ELEMENTS);
    each(f, binary ? gmsh_binary_element : gmsh_element);
    text(f, "%s$EndElements\n", binary ? "\n" : "");
}

static void put_ordered(form_t f, const void *data, size_t n)
{
    const uint16_t one = 1;
    unsigned char raw[8];
    const bool little = *(const unsigned char *)&one == 1;
    for (size_t i = 0; i < n; i++)
        raw[i] = ((const unsigned char *)data)[little == (f == UGRID_LITTLE) ? i : n - 1 - i];
    put(f, raw, n);
}

static void put_ints(form_t f, const int32_t *value, int64_t n, int32_t add)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t one = value[i] + add;
        put_ordered(f, &one, sizeof one);
    }
}

/* Written by hand, after AFLR3's picture of a prism 1 2 3 4 5 6 whose node 6 was moved onto 3: its
 * triangle 1 2 3 is (5, 8, 9), counter-clockwise as seen from inside, with 9 the apex; 4 (above 1)
 * is 6, and 5 (above 2) is 7. */
static const int32_t ugrid_pyramid[5] = {5, 8, 9, 6, 7};

static void write_ugrid(form_t f, const int32_t *pyramid_nodes)
{
    const rt_mesh_t m = whole();
    const int32_t counts[7] = {VERTICES, 3, 1, 2, 1, 1, 1};
    size[f] = 0;
    put_ints(f, counts, 7, 0);
    for (int v = 0; v < VERTICES; v++)
        for (int d = 0; d < 3; d++)
            put_ordered(f, &x[v][d], sizeof x[v][d]);
    put_ints(f, m.face[RT_TRIANGLE], 9, 1);
    put_ints(f, m.face[RT_QUAD], 4, 1);
    put_ints(f, triangle_tag, 3, 0);
    put_ints(f, quad_tag, 1, 0);
    put_ints(f, m.element[RT_TETRAHEDRON], 8, 1);
    put_ints(f, pyramid_nodes, 5, 1);
    put_ints(f, m.element[RT_PRISM], 6, 1);
    put_ints(f, m.element[RT_HEXAHEDRON], 8, 1);
}

static void make_files(void)
{
    guarded = guarded_new(MOST);
    write_gmsh(GMSH);
    write_gmsh(GMSH_BINARY);
    write_ugrid(UGRID_BIG, ugrid_pyramid);
    write_ugrid(UGRID_LITTLE, ugrid_pyramid);
}

/* --- reading back --- */

/* Parses these bytes at the end of the guarded memory. Checks that memory stays within what
 * mesh/read.c promises, and that a failure gives one line that starts with the name. */
static rt_mesh_t *parse(const char *name, const char *data, size_t n, unsigned types)
{
    const size_t before = rt_mem_used(RT_HOST), m = strlen(name);
    char *at = guarded + MOST - n;
    memcpy(at, data, n);
    rt_mem_reset_high_water();
    rt_mesh_t *mesh = rt_mesh_parse(name, at, n, types, why, sizeof why);
    bool held = rt_mem_high_water(RT_HOST) - before <= 12 * n + 512;
    if (!mesh)
        held = held && rt_mem_used(RT_HOST) == before && strncmp(why, name, m) == 0 &&
               why[m] == ':' && !strchr(why, '\n');
    if (!held)
        fprintf(stderr, "    %zu bytes: %s, %zu of memory\n", n, why, rt_mem_high_water(RT_HOST));
    if (!held)
        CHECK(!"memory and message of a file are as promised");
    return mesh;
}

/* True if all numbers are in range, as rt_mesh_check and others may assume. */
static bool sound(const rt_mesh_t *m)
{
    bool held = m->vertices > 0;
    int64_t elements = 0;
    for (int t = 0; t < RT_ELEMENTS; t++) {
        elements += m->elements[t];
        for (int64_t i = 0; i < rt_element_size(t) * m->elements[t]; i++)
            held = held && m->element[t][i] >= 0 && m->element[t][i] < m->vertices;
    }
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t i = 0; i < rt_face_size(t) * m->faces[t]; i++)
            held = held && m->face[t][i] >= 0 && m->face[t][i] < m->vertices;
    return held && elements > 0 && rt_count_nonfinite(m->x, 3 * (size_t)m->vertices) == 0;
}

/* True if this is the mesh above without vertex 0 and the triangle that has it. */
static bool is_the_mesh(const rt_mesh_t *m)
{
    const rt_mesh_t w = whole();
    bool held = m && m->vertices == VERTICES - 1 && memcmp(m->x, x[1], sizeof x - sizeof x[0]) == 0;
    for (int t = 0; held && t < RT_ELEMENTS; t++) {
        held = m->elements[t] == w.elements[t];
        for (int64_t i = 0; held && i < rt_element_size(t) * w.elements[t]; i++)
            held = m->element[t][i] == w.element[t][i] - 1;
    }
    for (int t = 0; held && t < RT_FACES; t++) {
        held = m->faces[t] == (t == RT_TRIANGLE ? 2 : 1);
        for (int64_t i = 0; held && i < rt_face_size(t) * m->faces[t]; i++)
            held = m->face[t][i] ==
                   w.face[t][t == RT_QUAD || i < 3 ? i : i + 3] - 1; /* past the second */
        for (int64_t f = 0; held && f < m->faces[t]; f++)
            held = m->tag[t][f] == w.tag[t][f < 1 ? f : f + 1];
    }
    return held;
}

/* Catches a type or an order of vertices that is mixed up, the tag of another face, tags of nodes
 * taken for positions, and an unused vertex that was kept. */
static void test_good(form_t f)
{
    rt_mesh_t *m = parse(names[f], bytes[f], size[f], 0);
    if (!m)
        fprintf(stderr, "    %s\n", why);
    CHECK(is_the_mesh(m));
    CHECK(m && rt_mesh_check(m, why, sizeof why));
    rt_mesh_destroy(m);
    m = parse(names[f], bytes[f], size[f], TETS | 1 << RT_PRISM | 1 << RT_HEXAHEDRON);
    CHECK(!m && strstr(why, " is a pyramid (type "));
    CHECK(strstr(why, "only tetrahedra, prisms and hexahedra can be used"));
    rt_mesh_destroy(m);
}

static form_t damaged;

static bool reads(const char *data, size_t n)
{
    rt_mesh_t *m = parse(names[damaged], data, n, 0);
    const bool accepted = m != NULL;
    if (m && !sound(m))
        CHECK(!"what is accepted is sound");
    if (m)
        rt_mesh_check(m, why, sizeof why);
    rt_mesh_destroy(m);
    return accepted;
}

/* Catches a missing check for the end of the file, at any place; the last line may lack its end. Flipped
 * bits may give another mesh, but a sound one; and some must be refused. */
static void test_damage(form_t f)
{
    damaged = f;
    const guarded_damage_t damage = guarded_damage(bytes[f], size[f], reads);
    CHECK(damage.shortest + 1 >= size[f]);
    CHECK(damage.refused > size[f]);
}

/* Changes the first `old` to `new`: the file must be refused with this text, or (NULL) give the
 * same mesh. */
static void check_change(form_t f, const char *old, const char *new, const char *wanted)
{
    static char broken[MOST];
    size_t n = size[f], i = 0;
    memcpy(broken, bytes[f], n);
    while (i + strlen(old) <= n && memcmp(broken + i, old, strlen(old)) != 0)
        i++;
    CHECK(i + strlen(old) <= n);
    memmove(broken + i + strlen(new), bytes[f] + i + strlen(old), n - i - strlen(old));
    memcpy(broken + i, new, strlen(new));
    rt_mesh_t *m = parse(names[f], broken, n + strlen(new) - strlen(old), 0);
    if (!wanted)
        CHECK(is_the_mesh(m));
    else if (m || !strstr(why, wanted))
        CHECK_TEXT(m ? "accepted" : why, wanted);
    rt_mesh_destroy(m);
}

static void test_messages(void)
{
    check_change(GMSH, "4.1 0 8", "2.2 0 8",
                 "Gmsh format 2.2: only 4.1 can be read; convert it: python3 inputs/to_ugrid.py");
    check_change(GMSH, "$MeshFormat", "NDIME= 3\n", "AFLR3 (.b8.ugrid, .lb8.ugrid); convert it:");
    static const char *const changes[][3] = {
        {"4.1 0 8", "4.1 2 8", "line 2: file type 2"},
        {"\n1 13 ", "\n1 0 ", "0 nodes: must be 1 to"},
        {"\n1 13 ", "\n1 -13 ", "-13 nodes: must be 1 to"},
        {"\n1 13 ", "\n1 2147483648 ", "2147483648 nodes: must be 1 to"},
        {"\n1 13 ", "\n1 99999999999999999999 ", "is not a whole number in range"},
        {"\n1 13 ", "\n1 2147483647 ", "2147483647 nodes do not fit in the"},
        {"\n1 13 ", "\n1 14 ", "have 13 nodes, the total is 14"},
        {"\n1 13 ", "\n0 13 ", "nodes, the total is 13"},
        {"\n1 13 ", "\n2 13 ", "\"$EndNodes\" is not a whole number"},
        {"\n9 9 1", "\n9 1000000 1", "1000000 elements do not fit in the"},
        {"\n9 9 1 9\n", "\n9 9 1\n", "the counts of $Elements is missing"},
        {"\n9 9 9\n", "\n9 nan 9\n", "node 100: its y coordinate is not"},
        {"\n9 9 9\n", "\n9 9 1e999\n", "node 100: its z coordinate is not"},
        {"\n9 9 9\n", "\n9 0x9 9\n", "\"0x9\" is not a number"},
        {"\n9 9 9\n", "\n9 9,0 9\n", "\"9,0\" is not a number"},
        {"\n9 9 9\n", "\n9 9\n", "a coordinate is missing"},
        {"\n9 9 9\n", "\n9 9 9 1\n", "should end before \"1\""},
        {"\n100\n", "\n103\n", "node 103 occurs twice"},
        {"\n100\n", "\n-7\n", "the number of a node is -7"},
        {"\n3 1 0 13\n", "\n3 1 0 800\n", "a block of 800 nodes, where 13 are left"},
        {"\n3 1 0 13\n", "\n3 1 0 -8\n", "a block of -8 nodes"},
        {"\n3 1 0 13\n", "\n4 1 1 13\n", "of dimension 4 and parametric 1"},
        {"\n3 1 5 1\n", "\n3 1 5 99\n", "a block of 99 elements, where 1 are left"},
        {"\n3 1 5 1\n9", "\n3 1 12 1\n9", "element 9 is of higher order or unknown (type 12)"},
        {"\n3 1 5 1\n9", "\n3 1 14 1\n9", "element 9 is of higher order or unknown (type 14)"},
        {"\n3 1 5 1\n9", "\n3 1 9 1\n9", "element 9 is of higher order or unknown (type 9)"},
        {"1 1 1 2 3 99 1 1\n", "1 1 1 2 3 99 1\n", "the boundary of an entity is missing"},
        {"$EndMeshFormat\n", "$EndMeshFormat\nstray\n", "line 4: \"stray\" is outside"},
        {"$Nodes", "$Knots\n$End\n$Nodes", "a section starts here and has no end"},
        {"$MeshFormat", "$Mesh", "has no end"},
        {"$MeshFormat", "$NOD", "Gmsh format 1"},
        {"$Nodes", "$Knots\n$EndKnots\n$Elements\n", "$Elements comes before $Nodes"},
        {"$Nodes", "$Comments\n$ $Nodes $End\n$EndComments\n\n$Nodes", NULL},
        {"\n1 13 100", " \n\n 1 13 \t100", NULL}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        check_change(GMSH, changes[i][0], changes[i][1], changes[i][2]);
    check_change(GMSH_BINARY, " 1 8\n", " 1 4\n", "numbers of 4 bytes: only 8");
    check_change(GMSH_BINARY, "$Nodes", "$Knots", "has no end");
    check_change(GMSH, "\n3 1 5 1\n9", "\n3 1 5 1\n8", "element 8 occurs twice");
    check_change(GMSH, "\n9 103", "\n9 104", "element 9: there is no node 104");
    check_change(GMSH, " 2 3 99", " 2 3000000000 99", "has the tag 3000000000");
    check_change(GMSH, "\n1 106", "\n1 107", "element 1: there is no node 107");
    check_change(GMSH, "\n9 9 1 9\n", "\n10 10 1 10\n0 7 15 1\n100 103\n", NULL);
    check_change(GMSH, "\n1 1 4 1\n", "\n1 1 5 1\n", "is not a whole number");
    check_change(GMSH, "\n1 1 4 1\n", "\n1 1 3 1\n", "line 12: \"1\" is where $EndEntities");
    check_change(GMSH, "\n1 1 4 1\n", "\n1 1 -4 1\n", "-4 entities of dimension 2");
    check_change(GMSH, "\n40 0 0 0", "\n30 0 0 0", "surface 30 occurs twice");
    check_change(GMSH, "$Elements\n", "$Elements\n\n", NULL);
    check_change(GMSH, "$EndElements", "$EndElements\n$Entities", "a second $Entities");
}

static void check_ugrid(size_t at, int32_t value, const char *wanted)
{
    static char broken[MOST];
    memcpy(broken, bytes[UGRID_LITTLE], size[UGRID_LITTLE]);
    for (int i = 0; i < 4; i++)
        broken[at + (size_t)i] = (char)((uint32_t)value >> 8 * i);
    rt_mesh_t *m = parse("m.lb8.ugrid", broken, size[UGRID_LITTLE], 0);
    CHECK(!m);
    if (!m && !strstr(why, wanted))
        CHECK_TEXT(why, wanted);
    rt_mesh_destroy(m);
}

static void test_ugrid(void)
{
    const size_t faces = 28 + 24 * VERTICES, last = size[UGRID_LITTLE] - 4;
    rt_mesh_t *m = parse("m.b8.ugrid", bytes[UGRID_LITTLE], size[UGRID_LITTLE], 0);
    CHECK(!m && strstr(why, "m.b8.ugrid: written in the other byte order"));
    m = parse("m.lb8.ugrid", bytes[UGRID_BIG], size[UGRID_BIG], 0);
    CHECK(!m && strstr(why, "other byte order"));
    m = parse("m.r8.ugrid", bytes[UGRID_BIG], size[UGRID_BIG], 0);
    CHECK(!m && strstr(why, "only .b8.ugrid and .lb8.ugrid"));
    check_ugrid(0, 0, "0 nodes");
    check_ugrid(4, -1, "-1 triangles");
    check_ugrid(24, INT32_MAX, "the counts ask for 687");
    check_ugrid(faces, 0, "byte 340: there is no node 0: nodes are 1 to 13");
    check_ugrid(last, 14, "there is no node 14");
    check_ugrid(28 + 4, 0x7ff00000, "node 1: its x coordinate is not finite");
    /* the order of CGNS, which is ours, would put the apex into the base */
    write_ugrid(UGRID_BIG, pyramid);
    m = parse("m.b8.ugrid", bytes[UGRID_BIG], size[UGRID_BIG], 0);
    CHECK(m && !rt_mesh_check(m, why, sizeof why) && strstr(why, "pyramid 0 is "));
    rt_mesh_destroy(m);
    write_ugrid(UGRID_BIG, ugrid_pyramid);
}

/* --- rt_mesh_check --- */

static void check_fault(const rt_mesh_t *m, const char *wanted)
{
    const bool good = rt_mesh_check(m, why, sizeof why);
    if (good || !strstr(why, wanted))
        CHECK_TEXT(good ? "no fault" : why, wanted);
    CHECK(!good && strstr(why, wanted));
}

static void swap(int32_t *a, int32_t *b)
{
    const int32_t old = *a;
    *a = *b;
    *b = old;
}

static void test_check(void)
{
    rt_mesh_t m = whole();
    CHECK(rt_mesh_check(&m, why, sizeof why));
    for (int t = 0; t < RT_ELEMENTS; t++) {
        char text[64];
        int32_t *vertex = m.element[t];
        const int n = rt_element_size(t);
        /* swapping a pair of vertices turns a corner over: a symmetry of the element takes two
         * swaps, so one swap is never one */
        for (int a = 0; a < n; a++)
            for (int b = 0; b < a; b++) {
                swap(vertex + a, vertex + b);
                CHECK(!rt_mesh_check(&m, why, sizeof why));
                swap(vertex + a, vertex + b);
                const int32_t old = vertex[a];
                vertex[a] = vertex[b];
                snprintf(text, sizeof text, "%s 0 has vertex %d twice", rt_element_name(t),
                         vertex[b]);
                check_fault(&m, text);
                vertex[a] = old;
            }
        /* a vertex out of range must be found at each place */
        for (int a = 0; a < n; a++) {
            const int32_t old = vertex[a];
            vertex[a] = VERTICES;
            snprintf(text, sizeof text, "%s 0 has vertex 13, and vertices are 0 to 12",
                     rt_element_name(t));
            check_fault(&m, text);
            vertex[a] = old;
        }
    }
    const double z =
        x[9][2]; /* the apex of the pyramid, which is also a vertex of the tetrahedra */
    m.elements[RT_TETRAHEDRON] = 0;
    x[9][2] = 1;
    check_fault(&m, "pyramid 0 is flat: the volume of the tetrahedron at its corner 0 is 0 m^3");
    x[9][2] = 0.5;
    check_fault(&m,
                "pyramid 0 is inverted: the volume of the tetrahedron at its corner 0 is -0.08");
    x[9][2] = z;
    m.elements[RT_TETRAHEDRON] = 2;
    x[0][1] = NAN; /* a vertex of no element, but of the mesh */
    check_fault(&m, "vertex 0 has a coordinate that is not finite");
    x[0][1] = 9;
    swap(&triangles[1][0], &triangles[1][1]); /* faces may turn either way */
    CHECK(rt_mesh_check(&m, why, sizeof why));
    swap(&triangles[1][0], &triangles[1][1]);
    quads[0][3] = 13;
    check_fault(&m, "boundary quadrilateral 0 has vertex 13");
    quads[0][3] = 2;
    check_fault(&m, "boundary quadrilateral 0 has vertex 2 twice");
    quads[0][3] = 4;
}

/* Windows line ends, and a message that does not fit: it is cut, not written past the end. */
static void test_ends(void)
{
    static char text[MOST];
    char little[8];
    size_t n = 0;
    for (size_t i = 0; i < size[GMSH]; i++) {
        if (bytes[GMSH][i] == '\n')
            text[n++] = '\r';
        text[n++] = bytes[GMSH][i];
    }
    rt_mesh_t *m = parse("m.msh", text, n, 0);
    CHECK(is_the_mesh(m));
    rt_mesh_destroy(m);
    memset(little, 'x', sizeof little);
    CHECK(!rt_mesh_parse("m", "solid", 5, 0, little, 6));
    CHECK(strlen(little) == 5 && little[6] == 'x' && little[7] == 'x');
}

static void test_files(void)
{
    CHECK(!rt_mesh_read("/nonexistent.msh", 0, why, sizeof why) && strstr(why, "No such file"));
    CHECK(!rt_mesh_read("/", 0, why, sizeof why) && strstr(why, "/: Is a directory"));
    CHECK(!rt_mesh_parse("m", NULL, 0, 0, why, sizeof why) && strstr(why, "m: the file is empty"));
    CHECK(!rt_mesh_parse("m.b8.ugrid", NULL, 0, 0, why, sizeof why) && strstr(why, "is empty"));
    static const char line[] = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 1 1 1\n3 1 0 1\n"
                               "1\n0 0 0\n$EndNodes\n$Elements\n1 1 1 1\n1 1 1 1\n1 1 1\n"
                               "$EndElements\n";
    CHECK(!parse("m", line, sizeof line - 1, 0));
    CHECK(strstr(why, "there is no volume element in it"));
    CHECK(!parse("m", line, sizeof line - 1, TETS));
    CHECK(strstr(why, "there is no tetrahedron in it"));
}

int main(void)
{
    make_files();
    for (int f = 0; f < FORMATS; f++) {
        test_good(f);
        test_damage(f);
    }
    test_messages();
    test_ugrid();
    test_check();
    test_ends();
    test_files();
    CHECK(rt_mem_used(RT_HOST) == 0);
    guarded_free(guarded, MOST);
    return check_done();
}
