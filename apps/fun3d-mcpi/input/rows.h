/*
 * rows.h - what the files that order rows do for each other.
 */
#ifndef MCPI_ROWS_H
#define MCPI_ROWS_H

#include "../mcpi.h"

/* order.c. list[rows]: the vertices along a Hilbert curve through x; in the order of a reverse
 * Cuthill-McKee search (breadth first, each component from one of its ends, last comes first). */
void mcpi_list_by_hilbert(const double *x, int64_t rows, uint32_t *list);
void mcpi_list_by_rcm(const mcpi_graph_t *graph, uint32_t *list);

#endif
