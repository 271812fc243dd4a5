/* io/vtk.c - VTK's XML files, with raw arrays after the text. */
#include "config.h"
#include "io/vtk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

/* Begins the text, which grows in memory. */
static FILE *text_new(rt_vtk_t *vtk, const char *type, char **text, size_t *length)
{
    const uint16_t one = 1;
    FILE *out = open_memstream(text, length);
    RT_EXPECT(out, RT_MEMORY, "no memory for the text of a VTK file");
    *vtk = (rt_vtk_t){.n = 0};
    fprintf(out,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"%s\" "
            "header_type=\"UInt64\">\n",
            type, *(const unsigned char *)&one ? "LittleEndian" : "BigEndian");
    return out;
}

/* Adds an array of `tuples` points or cells; returns its number. Its place is still that after the
 * text. */
static int add_array(rt_vtk_t *vtk, FILE *out, const rt_vtk_array_t *array, int64_t tuples)
{
    const int i = vtk->n++;
    RT_EXPECT(i < RT_VTK_MOST, RT_INVALID, "more than %d arrays in a VTK file", RT_VTK_MOST);
    const char *bits = strpbrk(array->type, "0123456789");
    vtk->tuple[i] = (size_t)array->components * (size_t)atoi(bits) / 8;
    vtk->bytes[i] = (uint64_t)tuples * vtk->tuple[i];
    vtk->at[i] = (int64_t)sizeof *vtk->bytes;
    if (i > 0)
        vtk->at[i] += vtk->at[i - 1] + (int64_t)vtk->bytes[i - 1];
    fprintf(out,
            "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" "
            "offset=\"%lld\"/>\n",
            array->type, array->name, array->components,
            (long long)(vtk->at[i] - (int64_t)sizeof *vtk->bytes));
    return i;
}

static void add_arrays(rt_vtk_t *vtk, FILE *out, const char *of, const rt_vtk_array_t *arrays,
                       int64_t tuples)
{
    fprintf(out, "<%s Scalars=\"%s\">\n", of, arrays->name);
    for (; arrays->name; arrays++)
        add_array(vtk, out, arrays, tuples);
    fprintf(out, "</%s>\n", of);
}

/* Writes the text, the size of each array, and the end. Frees the text. */
static void begin(rt_vtk_t *vtk, const char *path, FILE *out, char **text, const size_t *length)
{
    static const char last[] = "\n</AppendedData>\n</VTKFile>\n";
    fprintf(out, "<AppendedData encoding=\"raw\">\n_");
    RT_EXPECT(fclose(out) == 0, RT_MEMORY, "no memory for the text of a VTK file");
    rt_draft_begin(&vtk->draft, path);
    rt_draft_put(&vtk->draft, 0, *text, *length);
    for (int i = 0; i < vtk->n; i++) {
        vtk->at[i] += (int64_t)*length;
        rt_draft_put(&vtk->draft, vtk->at[i] - (int64_t)sizeof *vtk->bytes, &vtk->bytes[i],
                     sizeof *vtk->bytes);
    }
    rt_draft_put(&vtk->draft, vtk->at[vtk->n - 1] + (int64_t)vtk->bytes[vtk->n - 1], last,
                 sizeof last - 1);
    free(*text);
}

void rt_vtk_box_begin(rt_vtk_t *vtk, const char *path, const int64_t nodes[3], double spacing,
                      const char *facts, const rt_vtk_array_t *arrays)
{
    char *text, extent[80];
    size_t length;
    FILE *out = text_new(vtk, "ImageData", &text, &length);
    snprintf(extent, sizeof extent, "0 %lld 0 %lld 0 %lld", (long long)nodes[0] - 1,
             (long long)nodes[1] - 1, (long long)nodes[2] - 1);
    fprintf(out,
            "<ImageData WholeExtent=\"%s\" Origin=\"0 0 0\" Spacing=\"%.9g %.9g %.9g\">\n%s"
            "<Piece Extent=\"%s\">\n",
            extent, spacing, spacing, spacing, facts, extent);
    add_arrays(vtk, out, "PointData", arrays, nodes[0] * nodes[1] * nodes[2]);
    fprintf(out, "</Piece>\n</ImageData>\n");
    begin(vtk, path, out, &text, &length);
}

void rt_vtk_mesh_begin(rt_vtk_t *vtk, const char *path, const rt_vtk_mesh_t *mesh)
{
    char *text;
    size_t length;
    FILE *out = text_new(vtk, "UnstructuredGrid", &text, &length);
    fprintf(out, "<UnstructuredGrid>\n%s<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n",
            mesh->facts ? mesh->facts : "", (long long)mesh->points, (long long)mesh->cells);
    add_arrays(vtk, out, "PointData", mesh->of_points, mesh->points);
    if (mesh->of_cells)
        add_arrays(vtk, out, "CellData", mesh->of_cells, mesh->cells);
    fprintf(out, "<Points>\n");
    vtk->coordinates = add_array(vtk, out, &(rt_vtk_array_t){"Points", "Float64", 3}, mesh->points);
    fprintf(out, "</Points>\n<Cells>\n");
    vtk->connectivity =
        add_array(vtk, out, &(rt_vtk_array_t){"connectivity", "Int64", 1}, mesh->corners);
    vtk->offsets = add_array(vtk, out, &(rt_vtk_array_t){"offsets", "Int64", 1}, mesh->cells);
    vtk->types = add_array(vtk, out, &(rt_vtk_array_t){"types", "UInt8", 1}, mesh->cells);
    fprintf(out, "</Cells>\n</Piece>\n</UnstructuredGrid>\n");
    begin(vtk, path, out, &text, &length);
}

void rt_vtk_put(rt_vtk_t *vtk, int array, int64_t first, const void *values, int64_t n)
{
    const size_t tuple = vtk->tuple[array];
    rt_draft_put(&vtk->draft, vtk->at[array] + first * (int64_t)tuple, values, (size_t)n * tuple);
}

void rt_vtk_add_cells(rt_vtk_t *vtk, int type, int size, int64_t node, const int32_t *corner,
                      int64_t n)
{
    enum { BLOCK = 1024, MOST_CORNERS = 8 };
    int64_t wide[MOST_CORNERS * BLOCK], end[BLOCK];
    unsigned char types[BLOCK];
    RT_EXPECT(size <= MOST_CORNERS, RT_INVALID, "a cell of %d corners", size);
    memset(types, type, sizeof types);
    for (int64_t begin = 0, count; begin < n; begin += count) {
        count = n - begin < BLOCK ? n - begin : BLOCK;
        for (int64_t i = 0; i < count * size; i++)
            wide[i] = node + corner[begin * size + i];
        for (int64_t i = 0; i < count; i++)
            end[i] = vtk->corners + (i + 1) * size;
        rt_vtk_put(vtk, vtk->connectivity, vtk->corners, wide, count * size);
        rt_vtk_put(vtk, vtk->offsets, vtk->cells, end, count);
        rt_vtk_put(vtk, vtk->types, vtk->cells, types, count);
        vtk->cells += count;
        vtk->corners += count * size;
    }
}

void rt_vtk_end(rt_vtk_t *vtk, const char *path)
{
    rt_draft_publish(&vtk->draft, path);
}
