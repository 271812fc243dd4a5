/*
 * piece.c - which rank has which vertices, and what is cut out of a mesh for them.
 *
 * Parts are ranges of a Hilbert curve, and so compact. They are equal in blocks, because blocks are
 * what a sweep reads: prisms at the wall have 20 per row where tetrahedra have 14, so parts of equal
 * rows differ by a sixth in time and memory. Every rank has all points, of a file or of the surface
 * of a wing, and finds the same parts.
 *
 * A piece keeps the order of the whole: vertices, elements and neighbours ascend as they do there.
 * So whatever is added up over them has the same bits on any number of ranks.
 */
#include "config.h"
#include "input.h"
#include <string.h>

/* --- vertices --- */

mcpi_piece_t *mcpi_piece_new(int64_t all, int64_t vertices)
{
    mcpi_piece_t *piece = RT_NEW(mcpi_piece_t, 1, RT_HOST);
    *piece = (mcpi_piece_t){.all = all,
                            .vertices = vertices,
                            .owned = vertices,
                            .number = RT_NEW(int64_t, (size_t)vertices, RT_HOST),
                            .own = RT_NEW(uint8_t, (size_t)vertices, RT_HOST)};
    for (int64_t v = 0; v < vertices; v++) {
        piece->number[v] = v;
        piece->own[v] = 1;
    }
    return piece;
}

void mcpi_piece_destroy(mcpi_piece_t *piece)
{
    if (!piece)
        return;
    rt_halo_destroy(piece->halo);
    RT_FREE_ALL(RT_HOST, piece->number, piece->own, piece);
}

void mcpi_piece_own(mcpi_piece_t *piece, const int32_t *part, int64_t each, int rank)
{
    piece->owned = 0;
    for (int64_t v = 0; v < piece->vertices; v++) {
        piece->own[v] = part[piece->number[v] / each] == rank;
        piece->owned += piece->own[v];
    }
}

int32_t *mcpi_piece_keep(mcpi_piece_t *piece, const uint8_t *kept)
{
    int32_t *now = RT_NEW(int32_t, (size_t)piece->vertices, RT_HOST);
    int64_t n = 0;
    for (int64_t v = 0; v < piece->vertices; v++) {
        now[v] = kept[v] ? (int32_t)n : -1;
        if (!kept[v])
            continue;
        piece->number[n] = piece->number[v];
        piece->own[n++] = piece->own[v];
    }
    int64_t *shorter = rt_clone(piece->number, (size_t)n, sizeof *shorter, RT_HOST);
    RT_FREE(piece->number, RT_HOST);
    piece->number = shorter;
    piece->vertices = n;
    return now;
}

/* --- a mesh --- */

static bool has_own(const mcpi_piece_t *piece, const int32_t *vertex, int size)
{
    bool own = false;
    for (int a = 0; a < size; a++)
        own = own || piece->own[vertex[a]];
    return own;
}

/* Copies the elements or faces that have an own vertex. Returns how many. */
static int64_t copy_own(const mcpi_piece_t *piece, const int32_t *from, int64_t n, int size,
                        const int32_t *tag, int32_t **to, int32_t **to_tag)
{
    int64_t count = 0;
    for (int64_t e = 0; e < n; e++)
        count += has_own(piece, from + size * e, size);
    *to = RT_NEW(int32_t, (size_t)(size * count), RT_HOST);
    if (tag)
        *to_tag = RT_NEW(int32_t, (size_t)count, RT_HOST);
    count = 0;
    for (int64_t e = 0; e < n; e++) {
        if (!has_own(piece, from + size * e, size))
            continue;
        if (tag)
            (*to_tag)[count] = tag[e];
        memcpy(*to + size * count++, from + size * e, (size_t)size * sizeof **to);
    }
    return count;
}

/* A face of a file need not be the face of an element. A vertex of it that is not here becomes one
 * that is: faces only say which own vertices are walls. */
static void renumber_face(const int32_t *now, int32_t *vertex, int size)
{
    int32_t here = -1;
    for (int a = 0; a < size; a++)
        here = now[vertex[a]] >= 0 ? now[vertex[a]] : here;
    for (int a = 0; a < size; a++)
        vertex[a] = now[vertex[a]] >= 0 ? now[vertex[a]] : here;
}

rt_mesh_t *mcpi_mesh_cut(const rt_mesh_t *mesh, mcpi_piece_t *piece)
{
    rt_mesh_t *cut = RT_NEW(rt_mesh_t, 1, RT_HOST);
    uint8_t *kept = rt_clone(piece->own, (size_t)piece->vertices, 1, RT_HOST);
    *cut = (rt_mesh_t){.vertices = 0};
    for (int t = 0; t < RT_ELEMENTS; t++) {
        const int size = rt_element_size((rt_element_t)t);
        cut->elements[t] = copy_own(piece, mesh->element[t], mesh->elements[t], size, NULL,
                                    &cut->element[t], NULL);
        for (int64_t i = 0; i < size * cut->elements[t]; i++)
            kept[cut->element[t][i]] = 1;
    }
    for (int t = 0; t < RT_FACES; t++)
        cut->faces[t] = copy_own(piece, mesh->face[t], mesh->faces[t], rt_face_size((rt_face_t)t),
                                 mesh->tag[t], &cut->face[t], &cut->tag[t]);
    int32_t *now = mcpi_piece_keep(piece, kept);
    RT_FREE(kept, RT_HOST);
    cut->vertices = piece->vertices;
    cut->x = RT_NEW(double, 3 * (size_t)cut->vertices, RT_HOST);
    for (int64_t v = 0; v < mesh->vertices; v++)
        if (now[v] >= 0)
            memcpy(cut->x + 3 * now[v], mesh->x + 3 * v, 3 * sizeof *cut->x);
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t i = 0; i < rt_element_size((rt_element_t)t) * cut->elements[t]; i++)
            cut->element[t][i] = now[cut->element[t][i]];
    for (int t = 0; t < RT_FACES; t++) {
        const int size = rt_face_size((rt_face_t)t);
        for (int64_t f = 0; f < cut->faces[t]; f++)
            renumber_face(now, cut->face[t] + size * f, size);
    }
    RT_FREE(now, RT_HOST);
    return cut;
}

/* --- parts of equal weight --- */

void mcpi_partition(int64_t n, const double *x, const int64_t *weight, int parts, int32_t *part)
{
    uint32_t *list = RT_NEW(uint32_t, (size_t)n, RT_HOST);
    int64_t all = 0, before = 0;
    int32_t p = 0;
    mcpi_hilbert_order(n, NULL, x, list);
    for (int64_t i = 0; i < n; i++)
        all += weight[i];
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = all / parts * (p + 1) + all % parts * (p + 1) / parts;
        if (i > 0 && p < parts - 1 && (before >= end || n - i < parts - p))
            p++; /* at least one for each part */
        part[list[i]] = p;
        before += weight[list[i]];
    }
    RT_FREE(list, RT_HOST);
}

/* An inner vertex with tetrahedra alone has half as many neighbours, less 2, as corners of
 * tetrahedra meet there (Euler). A row counts as much as two more blocks, for D, R and dQ. */
static int64_t *weigh(const rt_mesh_t *mesh)
{
    static const int corner[RT_ELEMENTS] = {1, 2, MCPI_PRISM_WEIGHT, 6};
    int64_t *weight = RT_NEW(int64_t, (size_t)mesh->vertices, RT_HOST);
    for (int64_t v = 0; v < mesh->vertices; v++)
        weight[v] = MCPI_ROW_WEIGHT;
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t i = 0; i < rt_element_size((rt_element_t)t) * mesh->elements[t]; i++)
            weight[mesh->element[t][i]] += corner[t];
    return weight;
}

rt_mesh_t *mcpi_mesh_share(const rt_mesh_t *whole, int rank, int ranks, mcpi_piece_t **piece)
{
    int64_t *weight = weigh(whole);
    int32_t *part = RT_NEW(int32_t, (size_t)whole->vertices, RT_HOST);
    mcpi_partition(whole->vertices, whole->x, weight, ranks, part);
    *piece = mcpi_piece_new(whole->vertices, whole->vertices);
    mcpi_piece_own(*piece, part, 1, rank);
    RT_FREE_ALL(RT_HOST, weight, part);
    return mcpi_mesh_cut(whole, *piece);
}

/* --- ghosts --- */

/* A vertex that has a ghost for a neighbour is that rank's ghost in return. */
void mcpi_piece_link(mcpi_piece_t *piece, const mcpi_graph_t *graph)
{
    rt_halo_list_t list = {0};
    if (rt_comm_size() == 1)
        return;
    while (rt_halo_list_again(&list))
        for (int64_t v = 0; v < piece->vertices; v++)
            if (!piece->own[v] || mcpi_has_ghost(graph, piece, v))
                rt_halo_list_add(&list, v, piece->number[v], piece->own[v]);
    piece->halo = rt_halo_of_list(&list, true,
                                  (rt_halo_desc_t){.max_components = MCPI_PIECE_COMPONENTS,
                                                   .kind = RT_CPU,
                                                   .space = RT_HOST,
                                                   .transport = "staged"});
}
