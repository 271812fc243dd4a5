/*
 * mutants.h - wrong programs of an app, each of which its verification must detect.
 *
 * A mutant is a rung with one fault in it, run exactly as the driver runs a rung. It must be rated
 * INVALID, and plainly: some check exceeds its bound ten times. Every honest rung that can run here
 * must be rated VALID on the same problems, all checks ten times below their bounds. So the bounds
 * are far from both, and chance decides nothing.
 *
 * A suite is one C file with a table of mutants, code with `if (fault == ...)` in it, and
 *
 *     int main(int argc, char **argv) { return rt_mutants_main(&suite, argc, argv); }
 *
 * The author must ensure:
 * - No mutant may be right by chance: problems in which every term counts (jitter, bent elements).
 * - The mutants' own code without a fault is in `honest`: otherwise the harness itself may be what
 * is detected.
 * - Faults of a solve go into the timed solve alone, not into kernels that are checked by
 *   themselves, so that what is left behind must show them.
 * - A mutant uses no memory that the run before left: `begin` resets what it counts and keeps.
 */
#ifndef MUTANTS_H
#define MUTANTS_H

#include "rt.h"

typedef struct {
    int fault; /* of the app's enum, 0: none */
    const char *name;
    int problem; /* index of the suite's settings, or RT_EVERY_PROBLEM (honest ones only) */
    bool timed;  /* solved in windows, as in a real run, and not once */
    int variant; /* for the app: which function table, which layout */
} rt_mutant_t;
enum { RT_EVERY_PROBLEM = -1 };

typedef struct {
    const rt_app_t *app;
    const char *const *settings; /* [problems] "name=value ...", as on the command line */
    int problems;
    const rt_mutant_t *mutants, *honest; /* honest: valid, though they are run as mutants are */
    int n_mutants, n_honest;
    rt_kind_t kind;   /* of the mutants' rungs, and so where their arrays are */
    int lost_message; /* the fault that is none on one rank, where there are no messages; or 0 */

    /* Run instead of the app's hooks. */
    void *(*solver_new)(void *problem, const rt_rung_t *rung);
    void (*solve)(void *solver);
    /* The mutant's function table. */
    const rt_kernels_t *(*kernels)(const rt_mutant_t *mutant);
    /* Which of the app's ladders it is on; NULL if the app has one. */
    const char *(*ladder)(const rt_mutant_t *mutant);
    /* Before and after a run: sets the fault that the suite's code asks for, counters to 0, and
     * takes memory; gives it back, and leaves no fault behind, for the honest rungs. */
    void (*begin)(const rt_mutant_t *mutant, void *problem);
    void (*end)(void);
} rt_mutants_t;

/* All honest rungs and programs, then all mutants; prints those that are misjudged, with --verbose
 * all, and the count. --device LIST: on these GPUs. Any number of ranks. Returns the exit status.
 */
int rt_mutants_main(const rt_mutants_t *suite, int argc, char **argv);

/* A transport that loses a message: what rank 0 receives first arrives as zeros. For
 * rt_halo_force_transport. */
extern const rt_transport_t rt_transport_lossy;

/* To single precision and back. */
static inline double rt_rounded(double x)
{
    return (double)(float)x;
}

#endif
