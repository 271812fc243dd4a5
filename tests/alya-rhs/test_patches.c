/*
 * test_patches.c - the patch builder, against the mesh it was given.
 *
 * A mesh is here only a connectivity: random ones, runs of neighbours, shuffled ones, tiny ones.
 */
#include "config.h"
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "tests/common/check.h"
#include "apps/alya-rhs/patches.h"

static uint64_t state = 1;
static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static const alya_patch_shape_t shapes[] = {
    {512, 304, 2, false}, {512, 256, 1, true}, {192, 96, 1, true},    {32, 16, 1, false},
    {8, 4, 2, true},      {1, 4, 1, false},    {1024, 1024, 2, true},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Element e takes 4 distinct nodes of the `window` that starts at e * nodes / elements: a large
 * window is a random order. Some nodes have no element. */
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

/* The gather lists name each result of each element once, under the node it belongs to, element by
 * element. Catches a shifted start, a lost or doubled entry, and a list under another node. */
static bool lists_right(const alya_patches_t *p, const alya_patch_head_t *head)
{
    static bool seen[4 * ALYA_PATCH_MOST_ELEMENTS];
    const alya_patch_layout_t at =
        alya_patch_layout(head->nodes, head->elements, (uint32_t)p->shape.id_bytes);
    const unsigned char *record = (const unsigned char *)head;
    const uint16_t *start = (const uint16_t *)(record + at.start);
    const uint16_t *list = (const uint16_t *)(record + at.list);
    const uint32_t most = (uint32_t)p->shape.elements;
    bool right = start[0] == 0 && start[head->nodes] == 4 * head->elements;
    memset(seen, 0, sizeof seen);
    for (uint32_t n = 0; right && n < head->nodes; n++) {
        right = start[n] < start[n + 1]; /* no node without an element */
        for (uint32_t k = start[n]; right && k < start[n + 1]; k++) {
            const uint32_t a = list[k] / most, e = list[k] % most;
            right = a < 4 && e < head->elements && !seen[list[k]] &&
                    local_of(record + at.local, p->shape.id_bytes, 4 * e + a) == n &&
                    (k == start[n] || list[k - 1] % most < e);
            seen[list[k]] = true;
        }
        if (p->shape.by_length && n > 0)
            right = right && start[n + 1] - start[n] <= start[n] - start[n - 1];
    }
    return right;
}

/* Nodes differ, are in order if they should be, and give back the elements. */
static bool nodes_right(const alya_mesh_t *mesh, const alya_patches_t *p,
                        const alya_patch_head_t *head)
{
    const alya_patch_layout_t at =
        alya_patch_layout(head->nodes, head->elements, (uint32_t)p->shape.id_bytes);
    const unsigned char *record = (const unsigned char *)head;
    const uint32_t *node = (const uint32_t *)(record + at.node);
    bool right = true;
    for (uint32_t n = 0; n < head->nodes; n++)
        for (uint32_t m = 0; m < n; m++) {
            const uint32_t one = node[n] & ~ALYA_PATCH_ALONE, two = node[m] & ~ALYA_PATCH_ALONE;
            right = right && (p->shape.by_length ? one != two : one > two);
        }
    for (uint32_t k = 0; right && k < 4 * head->elements; k++) {
        const uint32_t n = local_of(record + at.local, p->shape.id_bytes, k);
        right = n < head->nodes && (node[n] & ~ALYA_PATCH_ALONE) ==
                                       (uint32_t)mesh->connectivity[4 * (size_t)head->first + k];
    }
    return right;
}

/* The top bit is set exactly where one patch has the node. */
static bool bits_right(const alya_mesh_t *mesh, const alya_patches_t *p)
{
    int *patches = calloc((size_t)mesh->nodes, sizeof *patches);
    bool right = patches != NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; right && i < p->count.patches; i++) {
            const alya_patch_head_t *head = head_of(p, i);
            const uint32_t *node = (const uint32_t *)(head + 1);
            for (uint32_t n = 0; n < head->nodes; n++) {
                int *count = patches + (node[n] & ~ALYA_PATCH_ALONE);
                if (pass == 0)
                    ++*count;
                else
                    right = right && (*count == 1) == ((node[n] & ALYA_PATCH_ALONE) != 0);
            }
        }
    free(patches);
    return right;
}

/* Limits are kept, and only where the next element would break one does a patch end (or where the
 * piece of 2^17 elements does). */
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
        ends = ends &&
               p->offset[i + 1] - p->offset[i] ==
                   alya_patch_layout(head->nodes, head->elements, (uint32_t)shape->id_bytes).end /
                       ALYA_PATCH_UNIT;
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
    CHECK(held <= alya_patches_memory(mesh->elements, mesh->nodes, shape, NULL));
    alya_patches_destroy(p);
}

/* The same bytes from 1 thread and from several, over several pieces. What is between the parts is
 * compared too: it goes to the GPU, so it must not be left undefined. */
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
    alya_mesh_t none = {.elements = 0, .nodes = 3};
    alya_patches_t *empty = alya_patches_new(&none, &shapes[0]);
    CHECK(empty->count.patches == 0 && empty->offset[0] == 0);
    alya_patches_destroy(empty);
    check_threads();
    const alya_patch_shape_t wrong = {512, 304, 1, false};
    CHECK_DIES(RT_ENVIRONMENT, "ids of 1 bytes", { alya_patches_count(&none, &wrong); });
    return check_done();
}
