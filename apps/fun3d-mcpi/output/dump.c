/*
 * output/dump.c - --dump: of the ladder sweeps the system in block rows, and dQ; of the ladder flow
 * the state.
 *
 * The matrix is exact: not scaled, O in FP64. What is swept is each row times the power of two that
 * brings the largest |D| of it into [1, 2), and then O rounded to --offdiagonal.
 */
#include "config.h"
#include "../flow/march.h"

static void add_flow(const mcpi_march_t *m, rt_dump_t *dump)
{
    const int64_t state[] = {m->problem->part->rows, MCPI_Q};
    const rt_array_t w[] = {
        {"w", "<f8", "row component", state, m->field.w, m->space, "1",
         "density, velocity and pressure; units: density and speed of sound of the stream"},
    };
    rt_dump_add(dump, w, 1);
    rt_json_int(dump->index, "steps_done", m->steps);
}

static void add_sweeps(const mcpi_solver_t *s, rt_dump_t *dump)
{
    const mcpi_part_t *part = s->problem->part;
    const mcpi_matrix_t *A = s->problem->matrix;
    const int64_t nb = A->nb, blocks = part->start[part->rows];
    const int64_t starts[] = {part->rows + 1}, columns[] = {blocks};
    const int64_t values[] = {part->rows, nb}, D[] = {part->rows, nb, nb}, O[] = {blocks, nb, nb};
    const rt_array_t arrays[] = {
        {"start", "<i8", "row", starts, part->start, RT_HOST, "1",
         "first off-diagonal block of each row, and the number of blocks"},
        {"column", "<i4", "block", columns, part->column, RT_HOST, "1", "the blocks' columns"},
        {"D", "<f8", "row j i", D, A->D, RT_HOST, "1", "diagonal blocks: entry (i, j) at [j][i]"},
        {"O", "<f8", "block j i", O, A->O, RT_HOST, "1", "off-diagonal blocks, likewise"},
        {"R", "<f8", "row i", values, A->R, RT_HOST, "1", "right-hand side"},
        {"dQ", s->view.dq_type == MCPI_FP64 ? "<f8" : "<f4", "row i", values, s->dq, s->space, "1",
         "what the sweeps made of dQ = 0"},
    };
    rt_dump_add(dump, arrays, sizeof arrays / sizeof *arrays);
}

void mcpi_dump(const void *solver, rt_dump_t *dump)
{
    const mcpi_solver_t *s = solver; /* a march begins alike */
    const mcpi_part_t *part = s->problem->part;
    const int64_t rows[] = {part->rows}, colours[] = {part->colours + 1};
    const rt_array_t arrays[] = {
        {"vertex", "<i8", "row", rows, part->vertex, RT_HOST, "1", "vertex of the mesh"},
        {"colour_start", "<i8", "colour", colours, part->colour_start, RT_HOST, "1",
         "first row of each colour, and the number of rows"},
    };
    rt_dump_add(dump, arrays, sizeof arrays / sizeof *arrays);
    if (s->kernels->phases)
        add_flow(solver, dump);
    else
        add_sweeps(s, dump);
}
