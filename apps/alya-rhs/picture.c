/*
 * picture.c - --picture: the mesh with its fields for ParaView.
 *
 * No rank ever holds the whole mesh. A .vtu file has one place for each value of each array, so
 * rank 0 receives the parts one after the other and writes them there.
 *
 * Rank 0 writes. If that fails, rank 0 still takes part in the collective calls, and prints one
 * line at the end. The file is either complete or absent.
 */
#include "config.h"
#include "alya.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "io/image.h"

const char *alya_picture_why_not(const char *path)
{
    return rt_image_ends_with(path, ".vtu")
               ? NULL
               : "the name must end in .vtu (the mesh, u and r, for ParaView)";
}

/* --- .vtu: VTK's XML for unstructured grids, arrays as raw bytes after the text --- */

enum { VELOCITY, RHS, POINTS, CONNECTIVITY, OFFSETS, TYPES, ARRAYS };
enum { TETRAHEDRON = 10, BLOCK = 1 << 16 };

typedef struct {
    rt_draft_t draft;
    int64_t nodes, elements; /* of all ranks */
    int64_t at[ARRAYS];      /* where each array's values begin in the file */
} vtu_t;

static void vtu_begin(vtu_t *v, const char *path)
{
    static const char text[] =
        "<UnstructuredGrid>\n<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n"
        "<PointData Vectors=\"velocity\">\n"
        "<DataArray type=\"Float64\" Name=\"velocity\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Float64\" Name=\"r\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n</PointData>\n<Points>\n"
        "<DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" "
        "format=\"appended\" offset=\"%lld\"/>\n</Points>\n<Cells>\n"
        "<DataArray type=\"Int64\" Name=\"connectivity\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"Int64\" Name=\"offsets\" format=\"appended\" offset=\"%lld\"/>\n"
        "<DataArray type=\"UInt8\" Name=\"types\" format=\"appended\" offset=\"%lld\"/>\n"
        "</Cells>\n</Piece>\n</UnstructuredGrid>\n";
    const uint64_t field = (uint64_t)v->nodes * 3 * sizeof(double);
    const uint64_t elements = (uint64_t)v->elements;
    const uint64_t bytes[ARRAYS] = {field, field, field, 32 * elements, 8 * elements, elements};
    char body[sizeof text + 256];
    long long offset[ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        offset[i] = (long long)rt_vtk_offset(bytes, i);
    snprintf(body, sizeof body, text, (long long)v->nodes, (long long)v->elements, offset[0],
             offset[1], offset[2], offset[3], offset[4], offset[5]);
    rt_vtk_begin(&v->draft, path, "UnstructuredGrid", body, bytes, ARRAYS, v->at);
}

/* Writes where each cell's nodes end, and what each cell is: known without the mesh. */
static void vtu_cells(vtu_t *v)
{
    int64_t *ends = RT_NEW(int64_t, BLOCK, RT_HOST);
    unsigned char *types = RT_NEW(unsigned char, BLOCK, RT_HOST);
    memset(types, TETRAHEDRON, BLOCK);
    for (int64_t first = 0; first < v->elements; first += BLOCK) {
        int64_t n = v->elements - first < BLOCK ? v->elements - first : BLOCK;
        for (int64_t i = 0; i < n; i++)
            ends[i] = 4 * (first + i + 1);
        rt_draft_put(&v->draft, v->at[OFFSETS] + 8 * first, ends, (size_t)n * sizeof *ends);
        rt_draft_put(&v->draft, v->at[TYPES] + first, types, (size_t)n);
    }
    RT_FREE(ends, RT_HOST);
    RT_FREE(types, RT_HOST);
}

/* Writes n elements of a part. The first is element `first` of the file, and the part's node 0 is
 * node `node` of the file. */
static void vtu_connectivity(vtu_t *v, int64_t first, int64_t node, const int32_t *part, int64_t n)
{
    int64_t *wide = RT_NEW(int64_t, (size_t)4 * BLOCK, RT_HOST);
    for (int64_t begin = 0; begin < 4 * n; begin += 4 * BLOCK) {
        int64_t count = 4 * n - begin < 4 * BLOCK ? 4 * n - begin : 4 * BLOCK;
        for (int64_t i = 0; i < count; i++)
            wide[i] = node + part[begin + i];
        rt_draft_put(&v->draft, v->at[CONNECTIVITY] + 32 * first + 8 * begin, wide,
                     (size_t)count * sizeof *wide);
    }
    RT_FREE(wide, RT_HOST);
}

/* Sends n items of rank `from` to rank 0, which gets them (the caller frees them) and their number.
 * Returns NULL on all other ranks. Collective. */
static void *part_of(int from, const void *mine, int64_t n, size_t unit, int64_t *got)
{
    size_t ranks = (size_t)rt_comm_size();
    int64_t *send = RT_NEW(int64_t, ranks, RT_HOST);
    int64_t *recv = RT_NEW(int64_t, ranks, RT_HOST);
    memset(send, 0, ranks * sizeof *send);
    send[0] = rt_comm_rank() == from ? n : 0;
    void *part = rt_comm_exchange(mine, send, unit, recv);
    *got = recv[from];
    RT_FREE(send, RT_HOST);
    RT_FREE(recv, RT_HOST);
    return part;
}

static void write_vtu(const alya_mesh_t *mesh, const double *u, const double *r, const char *path)
{
    const double *const field[3] = {[VELOCITY] = u, [RHS] = r, [POINTS] = mesh->x};
    const bool writer = rt_comm_rank() == 0;
    int64_t total[2] = {mesh->nodes, mesh->elements}, nodes = 0, elements = 0, n = 0;
    rt_comm_sum_i64(total, 2);
    vtu_t *v = RT_NEW(vtu_t, 1, RT_HOST);
    v->nodes = total[0];
    v->elements = total[1];
    if (writer) {
        vtu_begin(v, path);
        vtu_cells(v);
    }
    for (int from = 0; from < rt_comm_size(); from++) {
        /* Elements first: their nodes are numbered after the nodes of the ranks before. */
        void *part = part_of(from, mesh->connectivity, mesh->elements, 4 * sizeof(int32_t), &n);
        if (writer)
            vtu_connectivity(v, elements, nodes, part, n);
        elements += n;
        free(part);
        for (int i = VELOCITY; i <= POINTS; i++) {
            part = part_of(from, field[i], mesh->nodes, 3 * sizeof(double), &n);
            if (writer)
                rt_draft_put(&v->draft, v->at[i] + 24 * nodes, part, (size_t)n * 24);
            free(part);
        }
        nodes += n;
    }
    if (writer)
        rt_image_end_file(&v->draft, path);
    RT_FREE(v, RT_HOST);
}

/* u, and r or a copy of the records. */
double alya_picture_memory(double nodes)
{
    const double field = 3 * sizeof(double) * nodes;
    return field + 8. / 3 * field + 4 * BLOCK * sizeof(int64_t) + sizeof(vtu_t);
}

void alya_picture(const void *solver, const char *path)
{
    const alya_solver_t *s = solver;
    const alya_mesh_t *mesh = s->problem->mesh;
    const char *why = alya_picture_why_not(path);
    if (why)
        rt_refuse(RT_USAGE, "--picture %.400s: %s", path, why);
    double *u = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    double *r = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    alya_get(s, s->u, s->u_stride, u);
    alya_get(s, s->r, s->kernels->r_stride, r);
    write_vtu(mesh, u, r, path);
    RT_FREE(r, RT_HOST);
    RT_FREE(u, RT_HOST);
}
