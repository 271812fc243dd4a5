/*
 * judge.h - shared by the files of judge/: the arrays of a comparison, and the errors in them.
 */
#ifndef ALYA_JUDGE_H
#define ALYA_JUDGE_H

#include "../alya.h"

typedef struct {
    alya_solver_t *s;
    alya_problem_t *p;
    const alya_mesh_t *mesh;
    double *u, *want, *size; /* [nodes][3]; size [nodes][2] */
    double *got;             /* [nodes][3] before timing and in a replay, else NULL */
    rt_verdict_t *verdict;
    uint64_t seed;
} alya_bench_t;

/* Returns |got - want| of a node over what its elements allow, in units of the tolerance. */
double alya_node_error(const double got[3], const double want[3], const double size[2]);
/* Returns the largest |got - want| over the largest |want|; NaN counts as infinite. */
double alya_velocity_error(const alya_bench_t *t, const double *got, const double *want);
/* Returns how much error a step may add to u, relative to max |u|. In three stages an error of r
 * moves u by at most a few times m |r_e| tolerance, and m sum |r_e| is of the order of u itself
 * (Courant number); that is a few hundred times the tolerance. */
double alya_step_bound(const alya_bench_t *t);
/* schedule.c. Returns whether every element comes once, and no node is in two chunks of a colour. */
bool alya_schedule_is_right(const alya_mesh_t *mesh, const alya_schedule_t *schedule);
/* replay.c. Checks many steps by repeating them. */
void alya_check_replay(alya_bench_t *t, const alya_left_t *left);

#endif
