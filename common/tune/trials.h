/* tune/trials.h - the trials of a search: shared by its files, and private. */
#ifndef RT_TRIALS_H
#define RT_TRIALS_H

#include "tune/force.h"

enum { RT_MOST_ROUNDS = 7 };

/* A choice that was tried. */
typedef struct {
    int choice[RT_TUNE_PARAMETERS];
    double seconds, spread;
    double ratio[RT_MOST_ROUNDS]; /* to the default, in each round of the finals */
    bool valid, refused;          /* refused: not tried, because it does not fit */
} rt_tried_t;

/* The search for one rung, and what it found. */
typedef struct {
    rt_run_t *run;
    const rt_tune_plan_t *plan;
    const rt_rung_t *rung;
    const rt_force_t *force;
    rt_tried_t *trial; /* [n] trial[0] is the default */
    int n, room, invalid;
    bool all;          /* no combination that is allowed is left */
    int best;          /* a valid trial, or -1 */
    double slice;      /* seconds of timing in a trial */
    double begin, end; /* of this rung, on rank 0's clock */
    double cost;       /* seconds that the last trial took in all */
    /* found */
    int chosen; /* a trial; -1: the default is INVALID */
    double seconds, gain, noise;
    int rounds;                  /* of the finals so far */
    double base[RT_MOST_ROUNDS]; /* seconds of the default in each */
} rt_search_t;

/* --- search.c --- */

/* Returns rank 0's clock, on all ranks. Collective. */
double rt_search_clock(void);
/* Returns whether there is time for so many trials before `end`. Collective. */
bool rt_search_has_time(const rt_search_t *s, double end, double trials);
/* Fills order[s->n] with the valid trials, fastest first; returns how many. */
int rt_search_order(const rt_search_t *s, int *order);
/* Times the choice of *t again; says what failed if it is INVALID. */
void rt_search_time(rt_search_t *s, rt_tried_t *t, double give_up);

/* --- finals.c --- */

/* Times the faster trials again, alternately with the default, and sets what was chosen. */
void rt_search_finals(rt_search_t *s);

/* --- print.c --- */

/* Print the trials of a rung, and what was found for s[n]. */
void rt_search_print_tried(const rt_search_t *s);
void rt_search_print_found(const rt_search_t *s, int n, bool isolated);
void rt_search_json(const rt_search_t *s, int n, const char *path, json_t *root);

#endif
