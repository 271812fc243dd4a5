/*
 * distribute.c - sends the parts of a mesh that rank 0 has read to all ranks.
 *
 * A part has its elements and nodes in the order of the whole.
 */
#include "config.h"
#include "base/sort.h"
#include "input.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if RT_HAVE_METIS
#include <metis.h>
#endif

/* A node in transit. */
typedef struct {
    double x[3];
    int64_t id, flags;
} parcel_t;

/* What rank 0 sends, by rank: elements with the numbers of their nodes on that rank, and nodes. */
typedef struct {
    int64_t *elements, *nodes; /* [ranks] counts */
    int32_t *connectivity;     /* [4 * all elements] */
    parcel_t *node;
} shipment_t;

/* --- assigning elements to parts --- */

/* Cuts the Hilbert curve into equal shares. */
static void part_by_hilbert(const alya_mesh_t *mesh, int parts, int32_t *part)
{
    uint32_t *order = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    int64_t share = mesh->elements / parts, more = mesh->elements % parts;
    alya_hilbert_order(mesh, order);
    for (int64_t p = 0, i = 0; p < parts; p++)
        for (int64_t end = i + share + (p < more); i < end; i++)
            part[order[i]] = (int32_t)p;
    RT_FREE(order, RT_HOST);
}

#if RT_HAVE_METIS
/* Lets METIS make parts of about equal size with few faces between them. False if it cannot. */
static bool part_by_metis(const alya_mesh_t *mesh, int parts, int32_t *part)
{
    if (mesh->elements < parts ||
        (sizeof(idx_t) == sizeof(int32_t) && mesh->elements > INT32_MAX / 4))
        return false;
    size_t elements = (size_t)mesh->elements, nodes = (size_t)mesh->nodes;
    idx_t *start = RT_NEW(idx_t, elements + 1, RT_HOST),
          *node = RT_NEW(idx_t, 4 * elements, RT_HOST);
    idx_t *of_element = RT_NEW(idx_t, elements, RT_HOST), *of_node = RT_NEW(idx_t, nodes, RT_HOST);
    for (size_t e = 0; e <= elements; e++)
        start[e] = (idx_t)(4 * e);
    for (size_t i = 0; i < 4 * elements; i++)
        node[i] = (idx_t)mesh->connectivity[i];
    idx_t ne = (idx_t)elements, nn = (idx_t)nodes, common = 3, count = parts, cut = 0;
    bool done = METIS_PartMeshDual(&ne, &nn, start, node, NULL, NULL, &common, &count, NULL, NULL,
                                   &cut, of_element, of_node) == METIS_OK;
    for (size_t e = 0; e < elements && done; e++)
        part[e] = (int32_t)of_element[e];
    RT_FREE(start, RT_HOST);
    RT_FREE(node, RT_HOST);
    RT_FREE(of_element, RT_HOST);
    RT_FREE(of_node, RT_HOST);
    return done;
}
#else
static bool part_by_metis(const alya_mesh_t *mesh, int parts, int32_t *part)
{
    (void)mesh, (void)parts, (void)part;
    return false;
}
#endif

/* --- packing --- */

/* Lists the elements by part, in the order of the whole within a part. */
static uint32_t *list_by_part(const alya_mesh_t *mesh, const int32_t *part, int64_t *count)
{
    uint32_t *list = RT_NEW(uint32_t, (size_t)mesh->elements, RT_HOST);
    uint64_t *key = RT_NEW(uint64_t, (size_t)mesh->elements, RT_HOST);
    for (int64_t e = 0; e < mesh->elements; e++) {
        list[e] = (uint32_t)e;
        key[e] = (uint64_t)part[e];
        count[part[e]]++;
    }
    rt_sort(key, list, mesh->elements);
    RT_FREE(key, RT_HOST);
    return list;
}

/* Counts the distinct nodes of these elements, and writes them to `found` in ascending order unless
 * that is NULL. last[n]: the last part that had node n. */
static int64_t find_nodes(const alya_mesh_t *mesh, const uint32_t *list, int64_t elements, int part,
                          int32_t *last, uint32_t *found)
{
    int64_t n = 0;
    for (int64_t i = 0; i < 4 * elements; i++) {
        int32_t node = mesh->connectivity[4 * (int64_t)list[i / 4] + i % 4];
        if (last[node] == part)
            continue;
        last[node] = part;
        if (found)
            found[n] = (uint32_t)node;
        n++;
    }
    if (found && n > 0) {
        uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
        for (int64_t i = 0; i < n; i++)
            key[i] = found[i];
        rt_sort(key, found, n);
        RT_FREE(key, RT_HOST);
    }
    return n;
}

static void forget(int32_t *last, int64_t nodes)
{
    for (int64_t n = 0; n < nodes; n++)
        last[n] = -1;
}

/* Counts the nodes of each part, and flags those that several parts have. */
static int64_t count_nodes(alya_mesh_t *mesh, const uint32_t *list, const int64_t *elements,
                           int64_t *nodes, int32_t *last)
{
    int64_t sum = 0;
    forget(last, mesh->nodes);
    for (int p = 0; p < rt_comm_size(); p++) {
        for (int64_t i = 0; i < 4 * elements[p]; i++) {
            int32_t node = mesh->connectivity[4 * (int64_t)list[i / 4] + i % 4];
            if (last[node] >= 0 && last[node] != p)
                mesh->flags[node] |= ALYA_SHARED;
        }
        nodes[p] = find_nodes(mesh, list, elements[p], p, last, NULL);
        sum += nodes[p];
        list += elements[p];
    }
    return sum;
}

/* Packs one part. number: scratch, [nodes of the whole]. */
static void pack_part(const alya_mesh_t *mesh, const uint32_t *list, int64_t elements,
                      const uint32_t *found, int64_t nodes, int32_t *number, int32_t *connectivity,
                      parcel_t *parcel)
{
    for (int64_t n = 0; n < nodes; n++) {
        uint32_t node = found[n];
        number[node] = (int32_t)n;
        memcpy(parcel[n].x, mesh->x + 3 * (int64_t)node, sizeof parcel[n].x);
        parcel[n].id = mesh->node_id[node];
        parcel[n].flags = mesh->flags[node];
    }
    for (int64_t i = 0; i < 4 * elements; i++)
        connectivity[i] = number[mesh->connectivity[4 * (int64_t)list[i / 4] + i % 4]];
}

static void pack(alya_mesh_t *mesh, const int32_t *part, shipment_t *s)
{
    int32_t *last = RT_NEW(int32_t, (size_t)mesh->nodes, RT_HOST);
    int32_t *number = RT_NEW(int32_t, (size_t)mesh->nodes, RT_HOST);
    uint32_t *found = RT_NEW(uint32_t, (size_t)mesh->nodes, RT_HOST);
    uint32_t *list = list_by_part(mesh, part, s->elements);
    int64_t all = count_nodes(mesh, list, s->elements, s->nodes, last), element = 0, node = 0;
    s->connectivity = RT_NEW(int32_t, 4 * (size_t)mesh->elements, RT_HOST);
    s->node = RT_NEW(parcel_t, (size_t)all, RT_HOST);
    forget(last, mesh->nodes);
    for (int p = 0; p < rt_comm_size(); p++) {
        find_nodes(mesh, list + element, s->elements[p], p, last, found);
        pack_part(mesh, list + element, s->elements[p], found, s->nodes[p], number,
                  s->connectivity + 4 * element, s->node + node);
        element += s->elements[p];
        node += s->nodes[p];
    }
    RT_FREE(last, RT_HOST);
    RT_FREE(number, RT_HOST);
    RT_FREE(found, RT_HOST);
    RT_FREE(list, RT_HOST);
}

/* --- sending --- */

static alya_mesh_t *unpack(int64_t elements, const int32_t *connectivity, int64_t nodes,
                           const parcel_t *parcel)
{
    alya_mesh_t *mesh = RT_NEW(alya_mesh_t, 1, RT_HOST);
    mesh->elements = elements;
    mesh->nodes = nodes;
    mesh->connectivity = RT_NEW(int32_t, 4 * (size_t)elements, RT_HOST);
    mesh->x = RT_NEW(double, 3 * (size_t)nodes, RT_HOST);
    mesh->node_id = RT_NEW(int64_t, (size_t)nodes, RT_HOST);
    mesh->flags = RT_NEW(uint8_t, (size_t)nodes, RT_HOST);
    if (elements > 0)
        memcpy(mesh->connectivity, connectivity, 4 * (size_t)elements * sizeof *connectivity);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < nodes; n++) {
        memcpy(mesh->x + 3 * n, parcel[n].x, sizeof parcel[n].x);
        mesh->node_id[n] = parcel[n].id;
        mesh->flags[n] = (uint8_t)parcel[n].flags;
    }
    return mesh;
}

static alya_mesh_t *ship(const shipment_t *s)
{
    int64_t *elements = RT_NEW(int64_t, (size_t)rt_comm_size(), RT_HOST);
    int64_t *nodes = RT_NEW(int64_t, (size_t)rt_comm_size(), RT_HOST);
    int32_t *connectivity =
        rt_comm_exchange(s->connectivity, s->elements, 4 * sizeof *connectivity, elements);
    parcel_t *node = rt_comm_exchange(s->node, s->nodes, sizeof *node, nodes);
    alya_mesh_t *mesh = unpack(elements[0], connectivity, nodes[0], node);
    free(connectivity);
    free(node);
    RT_FREE(elements, RT_HOST);
    RT_FREE(nodes, RT_HOST);
    return mesh;
}

/* Each element's part, and the larger of: what assigns the parts; the list of elements, three
 * numbers per node, and what sorts the list or is sent. On average, a node is sent to at most 1.5
 * ranks. */
double alya_distribute_memory(double elements, double nodes, bool metis)
{
    const double sort = rt_sort_memory(elements);
    double finding = 12 * elements + sort;
#if RT_HAVE_METIS
    if (metis)
        finding = sizeof(idx_t) * (6 * elements + 1 + nodes);
#else
    (void)metis;
#endif
    const double sending = 16 * elements + 1.5 * sizeof(parcel_t) * nodes + 20 * nodes;
    const double packing = 12 * nodes + 4 * elements + fmax(8 * elements + sort, sending);
    return 4 * elements + fmax(finding, packing);
}

alya_mesh_t *alya_mesh_distribute(alya_mesh_t *whole, bool metis)
{
    int ranks = rt_comm_size();
    if (ranks == 1)
        return whole;
    if (metis && !RT_HAVE_METIS)
        rt_refuse(RT_ENVIRONMENT, "this program was built without METIS: partition by hilbert");
    int32_t *part = whole ? RT_NEW(int32_t, (size_t)whole->elements, RT_HOST) : NULL;
    int done = 1;
    if (whole && metis)
        done = part_by_metis(whole, ranks, part);
    else if (whole)
        part_by_hilbert(whole, ranks, part);
    rt_comm_bcast(&done, sizeof done, 0);
    if (!done)
        rt_refuse(RT_ENVIRONMENT, "METIS cannot make %d parts of this mesh: partition by hilbert",
                  ranks);
    shipment_t s = {.elements = RT_NEW(int64_t, (size_t)ranks, RT_HOST),
                    .nodes = RT_NEW(int64_t, (size_t)ranks, RT_HOST)};
    memset(s.elements, 0, (size_t)ranks * sizeof *s.elements);
    memset(s.nodes, 0, (size_t)ranks * sizeof *s.nodes);
    if (whole)
        pack(whole, part, &s);
    alya_mesh_destroy(whole);
    RT_FREE(part, RT_HOST);
    alya_mesh_t *mesh = ship(&s);
    RT_FREE(s.elements, RT_HOST);
    RT_FREE(s.nodes, RT_HOST);
    RT_FREE(s.connectivity, RT_HOST);
    RT_FREE(s.node, RT_HOST);
    return mesh;
}
