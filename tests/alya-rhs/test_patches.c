/*
 * test_patches.c - the patch builder, against the mesh it was given.
 *
 * Here a mesh is only a connectivity: random ones, runs of neighbours, shuffled ones, tiny ones.
 */
#include "config.h"
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "tests/common/check.h"
#include "apps/alya-rhs/patches/patches.h"

static uint64_t state = 1;
static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static const alya_patch_shape_t shapes[] = {
    {512, 304, 2}, {576, 256, 1}, {192, 96, 1}, {32, 16, 1}, {8, 4, 2}, {1, 4, 1}, {1024, 1024, 2},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Makes a mesh whose element e has 4 distinct nodes of the `window` that starts at e * nodes /
 * elements. A large window is a random order. Some nodes have no element. */
static alya_mesh_t mesh_new(int64_t elements, int64_t nodes, int64_t window)
{
    alya_mesh_t mesh = {.elements = elements, .nodes = nodes};
    mesh.connectivity = RT_NEW(int32_t, 4 * (size_t)elements, RT_HOST);
    if (window > nodes)
        window = nodes;
    for (int64_t e = 0; e < elements; e++) {
        int64_t first = e * nodes / elements;
        if (first > nodes - window)
            first = nodes - window;
        int32_t *c = mesh.connectivity + 4 * e;
        for (int a = 0; a < 4; a++) {
            bool again;
            do {
                c[a] = (int32_t)(first + random_below((uint32_t)window));
                again = false;
                for (int b = 0; b < a; b++)
                    again = again || c[b] == c[a];
            } while (again);
        }
    }
    return mesh;
}

static const alya_patch_head_t *head_of(const alya_patches_t *p, int64_t i)
{
    return (const alya_patch_head_t *)(p->record + ALYA_PATCH_UNIT * (size_t)p->offset[i]);
}

static uint32_t local_of(const unsigned char *local, int id_bytes, uint32_t k)
{
    return id_bytes == 1 ? local[k] : ((const uint16_t *)local)[k];
}

static alya_patch_layout_t layout_of(const alya_patches_t *p, const alya_patch_head_t *head)
{
    return alya_patch_layout(head->nodes, head->elements, head->rows, (uint32_t)p->shape.id_bytes);
}

/* Returns position k of a row; 4 * most or more: none. */
static uint32_t position_of(const unsigned char *record, alya_patch_layout_t at, uint32_t row,
                            uint32_t k)
{
    const uint16_t *start = (const uint16_t *)(record + at.start);
    const uint16_t *list = (const uint16_t *)(record + at.list);
    const uint32_t pair = start[row / ALYA_PATCH_SLICE] + k / 2;
    return list[2 * (pair * ALYA_PATCH_SLICE + row % ALYA_PATCH_SLICE) + k % 2];
}

static uint32_t steps_of(const unsigned char *record, alya_patch_layout_t at, uint32_t slice)
{
    const uint16_t *start = (const uint16_t *)(record + at.start);
    return 2u * (uint32_t)(start[slice + 1] - start[slice]);
}

/* Do the lists name each result of each element once, in a row of its node, are the other positions
 * zeros, and are rows short and sorted? Catches a shifted start, a lost or repeated entry, and a
 * list under another node. */
static bool lists_right(const alya_patches_t *p, const alya_patch_head_t *head)
{
    static bool seen[4 * ALYA_PATCH_MOST_ELEMENTS];
    const unsigned char *record = (const unsigned char *)head;
    const alya_patch_layout_t at = layout_of(p, head);
    const uint32_t most = (uint32_t)p->shape.elements, slices = alya_patch_slices(head->rows);
    uint32_t sum = 0, before = ALYA_PATCH_ROW;
    bool right = ((const uint16_t *)(record + at.start))[0] == 0;
    memset(seen, 0, sizeof seen);
    for (uint32_t row = 0; right && row < slices * ALYA_PATCH_SLICE; row++) {
        uint32_t length = 0;
        for (uint32_t k = 0; right && k < steps_of(record, at, row / ALYA_PATCH_SLICE); k++) {
            const uint32_t position = position_of(record, at, row, k);
            if (position >= 4 * most) {
                right = position < (uint32_t)ALYA_PATCH_STAGE((int)most);
                continue;
            }
            const uint32_t a = position / most, e = position % most;
            right = row < head->rows && e < head->elements && !seen[position] &&
                    local_of(record + at.local, p->shape.id_bytes, 4 * e + a) ==
                        ((const uint16_t *)(record + at.row))[row];
            seen[position] = true;
            length++;
        }
        right = right && length <= before && (row >= head->rows || length > 0);
        before = length;
        sum += length;
    }
    return right && sum == 4 * head->elements &&
           head->rows <= (uint32_t)p->shape.nodes + 4 * most / ALYA_PATCH_ROW;
}

/* Checks that the nodes are distinct and give back the elements. */
static bool nodes_right(const alya_mesh_t *mesh, const alya_patches_t *p,
                        const alya_patch_head_t *head)
{
    const alya_patch_layout_t at = layout_of(p, head);
    const unsigned char *record = (const unsigned char *)head;
    const uint32_t *node = (const uint32_t *)(record + at.node);
    bool right = true;
    for (uint32_t n = 0; n < head->nodes; n++)
        for (uint32_t m = 0; m < n; m++)
            right = right && (node[n] & ~ALYA_PATCH_ALONE) != (node[m] & ~ALYA_PATCH_ALONE);
    for (uint32_t k = 0; right && k < 4 * head->elements; k++) {
        const uint32_t n = local_of(record + at.local, p->shape.id_bytes, k);
        right = n < head->nodes && (node[n] & ~ALYA_PATCH_ALONE) ==
                                       (uint32_t)mesh->connectivity[4 * (size_t)head->first + k];
    }
    return right;
}

/* Checks that the top bit is set exactly where one row of one patch has the node. */
static bool bits_right(const alya_mesh_t *mesh, const alya_patches_t *p)
{
    int *rows = calloc((size_t)mesh->nodes, sizeof *rows);
    bool right = rows != NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; right && i < p->count.patches; i++) {
            const alya_patch_head_t *head = head_of(p, i);
            const uint16_t *row =
                (const uint16_t *)((const unsigned char *)head + layout_of(p, head).row);
            const uint32_t *node = (const uint32_t *)(head + 1);
            for (uint32_t k = 0; k < head->rows; k++) {
                const uint32_t id = node[row[k]];
                int *count = rows + (id & ~ALYA_PATCH_ALONE);
                if (pass == 0)
                    ++*count;
                else
                    right = right && (*count == 1) == ((id & ALYA_PATCH_ALONE) != 0);
            }
        }
    free(rows);
    return right;
}

/* Computes the cycles that a bank of shared memory needs over the least possible. Lists: 16
 * positions are read at once, one per bank. Nodes: those of 8 elements are read at once; one read
 * of 16 bytes each is examined. */
static void conflicts(const alya_patches_t *p, double *lists, double *nodes)
{
    double reads = 0, cycles = 0, node_reads = 0, node_cycles = 0;
    for (int64_t i = 0; i < p->count.patches; i++) {
        const alya_patch_head_t *head = head_of(p, i);
        const unsigned char *record = (const unsigned char *)head;
        const alya_patch_layout_t at = layout_of(p, head);
        for (uint32_t row = 0; row < head->rows; row += ALYA_PATCH_BANKS)
            for (uint32_t k = 0; k < steps_of(record, at, row / ALYA_PATCH_SLICE); k++) {
                uint32_t first[ALYA_PATCH_BANKS] = {0}, most = 1;
                int count[ALYA_PATCH_BANKS] = {0};
                for (uint32_t l = 0; l < ALYA_PATCH_BANKS; l++) {
                    const uint32_t position = position_of(record, at, row + l, k);
                    const uint32_t b = position % ALYA_PATCH_BANKS;
                    if (count[b] == 0 || first[b] != position) /* the same word is one read */
                        count[b]++;
                    first[b] = position;
                    most = (uint32_t)count[b] > most ? (uint32_t)count[b] : most;
                }
                reads++;
                cycles += most;
            }
        for (uint32_t e = 0; e + 8 <= head->elements; e += 8)
            for (uint32_t a = 0; a < 4; a++) {
                uint32_t place[8], most = 1;
                for (uint32_t l = 0; l < 8; l++)
                    place[l] = local_of(record + at.local, p->shape.id_bytes, 4 * (e + l) + a);
                for (uint32_t b = 0; b < 8; b++) {
                    uint32_t count = 0;
                    for (uint32_t l = 0; l < 8; l++) {
                        bool again = place[l] % 8 != b;
                        for (uint32_t m = 0; m < l; m++)
                            again = again || place[m] == place[l];
                        count += !again;
                    }
                    most = count > most ? count : most;
                }
                node_reads++;
                node_cycles += most;
            }
    }
    *lists = cycles / reads;
    *nodes = node_cycles / node_reads;
}

/* Are the limits kept, and does a patch end only where the next element would break one (or at the
 * end of a piece of 2^17 elements)? */
static bool greedy(const alya_mesh_t *mesh, const alya_patches_t *p, const alya_patch_head_t *head)
{
    const uint32_t next = head->first + head->elements;
    if (head->elements == 0 || head->elements > (uint32_t)p->shape.elements ||
        head->nodes > (uint32_t)p->shape.nodes)
        return false;
    if (next == mesh->elements || next % (1 << 17) == 0 ||
        head->elements == (uint32_t)p->shape.elements)
        return true;
    uint32_t fresh = 4;
    const uint32_t *node = (const uint32_t *)(head + 1);
    for (int a = 0; a < 4; a++)
        for (uint32_t n = 0; n < head->nodes; n++)
            fresh -= (node[n] & ~ALYA_PATCH_ALONE) ==
                     (uint32_t)mesh->connectivity[4 * (size_t)next + (size_t)a];
    return head->nodes + fresh > (uint32_t)p->shape.nodes;
}

static void check_mesh(const alya_mesh_t *mesh, const alya_patch_shape_t *shape)
{
    alya_patches_t *p = alya_patches_new(mesh, shape);
    const alya_patch_count_t count = alya_patches_count(mesh, shape);
    int64_t next = 0, nodes = 0;
    bool consecutive = true, ends = true, limits = true, elements = true, lists = true;
    for (int64_t i = 0; i < p->count.patches; i++) {
        const alya_patch_head_t *head = head_of(p, i);
        consecutive = consecutive && head->first == next;
        next += head->elements;
        nodes += head->nodes;
        const unsigned char *record = (const unsigned char *)head;
        const alya_patch_layout_t at = layout_of(p, head);
        uint32_t end = at.list;
        for (uint32_t slice = 0; slice < alya_patch_slices(head->rows); slice++)
            end += 2 * ALYA_PATCH_SLICE * steps_of(record, at, slice);
        ends = ends && p->offset[i + 1] - p->offset[i] == end / ALYA_PATCH_UNIT &&
               end <= alya_patch_most_bytes(*shape);
        limits = limits && greedy(mesh, p, head);
        elements = elements && nodes_right(mesh, p, head);
        lists = lists && lists_right(p, head);
    }
    CHECK(consecutive && next == mesh->elements);
    CHECK(p->offset[0] == 0 && ends);
    CHECK(limits);
    CHECK(elements);
    CHECK(lists);
    CHECK(bits_right(mesh, p));
    CHECK(count.patches == p->count.patches && count.patch_nodes == p->count.patch_nodes);
    CHECK(nodes == p->count.patch_nodes);
    const double held = (double)ALYA_PATCH_UNIT * p->offset[p->count.patches] +
                        4.0 * (double)(p->count.patches + 1);
    if (4 * nodes <= 3 * mesh->elements)
        CHECK(held <= alya_patches_memory(mesh->elements, mesh->nodes, shape, NULL));
    const double poor = shape->nodes < 128 ? 4 : ALYA_PATCH_POOR; /* 4: of any shape */
    CHECK(held <=
          alya_patches_memory((int64_t)(poor * (double)mesh->elements), mesh->nodes, shape, NULL));
    alya_patches_destroy(p);
}

/* Checks that one thread and several make the same bytes, over several pieces. The gaps between the
 * parts are compared too: they go to the GPU, so they must not be left undefined. */
static void check_threads(void)
{
#ifdef _OPENMP
    alya_mesh_t mesh = mesh_new(5 * (1 << 16) + 77, 60000, 200);
    const int before = omp_get_max_threads();
    rt_mem_poison(true);
    omp_set_num_threads(1);
    alya_patches_t *one = alya_patches_new(&mesh, &shapes[0]);
    rt_mem_poison(false);
    omp_set_num_threads(2);
    alya_patches_t *two = alya_patches_new(&mesh, &shapes[0]);
    omp_set_num_threads(before);
    CHECK(one->count.patches > 3 && one->count.patches == two->count.patches);
    CHECK(memcmp(one->offset, two->offset, 4 * (size_t)(one->count.patches + 1)) == 0);
    CHECK(memcmp(one->record, two->record,
                 ALYA_PATCH_UNIT * (size_t)one->offset[one->count.patches]) == 0);
    CHECK(bits_right(&mesh, two));
    alya_patches_destroy(one);
    alya_patches_destroy(two);
    RT_FREE(mesh.connectivity, RT_HOST);
#endif
}

/* Checks that banks conflict little in a mesh of cells in order. With lists and nodes in the order
 * in which they are met: 2.5 and 1.6, or more. */
static void check_banks(void)
{
    const alya_box_t box = {.cells = {12, 10, 14}, .growth = 1.12};
    alya_mesh_t *mesh = alya_box_new(&box, 0, 1);
    for (int order = ALYA_NATURAL; order <= ALYA_HILBERT; order++) {
        double lists, nodes;
        alya_mesh_reorder(mesh, (alya_order_t)order, 1);
        alya_patches_t *p = alya_patches_new(mesh, &shapes[1]);
        conflicts(p, &lists, &nodes);
        CHECK(lists <= 1.6);
        CHECK(nodes <= 1.2);
        alya_patches_destroy(p);
    }
    alya_mesh_destroy(mesh);
}

int main(void)
{
    rt_error_set_program("test_patches");
    for (int s = 0; s < SHAPES; s++) {
        for (int64_t elements = 1; elements <= 7; elements++) {
            alya_mesh_t tiny = mesh_new(elements, 4 + elements, 4 + elements);
            check_mesh(&tiny, &shapes[s]);
            RT_FREE(tiny.connectivity, RT_HOST);
        }
        const int64_t windows[] = {5, 60, 300, 1 << 30};
        for (int w = 0; w < 4; w++) {
            alya_mesh_t mesh = mesh_new(20011, 4001, windows[w]);
            check_mesh(&mesh, &shapes[s]);
            RT_FREE(mesh.connectivity, RT_HOST);
        }
    }
    alya_mesh_t fans = mesh_new(5000, 100, 20); /* 200 elements per node: several rows */
    check_mesh(&fans, &shapes[0]);
    check_mesh(&fans, &shapes[6]);
    RT_FREE(fans.connectivity, RT_HOST);
    check_banks();
    alya_mesh_t none = {.elements = 0, .nodes = 3};
    alya_patches_t *empty = alya_patches_new(&none, &shapes[0]);
    CHECK(empty->count.patches == 0 && empty->offset[0] == 0);
    alya_patches_destroy(empty);
    check_threads();
    const alya_patch_shape_t wrong = {512, 304, 1};
    CHECK_DIES(RT_ENVIRONMENT, "ids of 1 bytes", { alya_patches_count(&none, &wrong); });
    return check_done();
}
