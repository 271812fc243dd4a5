/* cpu/collect.h - nek_precond_ops_t's collect for the host. */
#ifndef NEK_COLLECT_H
#define NEK_COLLECT_H

#include "../precond/precond.h"

/* Each row of the grid knows the elements that it crosses, so the bits do not depend on threads. */
void nek_collect_rows(const nek_view_t *view, const nek_level_view_t *level, nek_box_t kind,
                      const float *boxes, float *sum);

#endif
