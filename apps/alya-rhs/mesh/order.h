/*
 * order.h - what order.c does for distribute.c.
 */
#ifndef ALYA_ORDER_H
#define ALYA_ORDER_H

#include "../alya.h"

/* order[elements]: the elements along the Hilbert curve. */
void alya_hilbert_order(const alya_mesh_t *mesh, uint32_t *order);

#endif
