/*
 * mutants.h - wrong programs of an app; its verification must detect each of them.
 *
 * A mutant is a rung with one fault in it, run exactly as the driver runs a rung. It must be rated
 * INVALID, and plainly: some check exceeds its bound ten times. Every honest rung that can run here
 * must be rated VALID on the same problems, all checks five times below their bounds. So no result
 * is near a bound, and nothing depends on luck.
 *
 * A suite is one C file with a table of mutants, code with `if (fault == ...)` in it, and
 * RT_MUTANTS_MAIN as its last line. Its author must ensure:
 *
 * - Mutants of one phase are beside each other, so that one in N is a sample of all phases.
 * - No mutant may be right by chance: use problems in which every term counts (jitter, bent
 *   elements).
 * - The mutants' own code without a fault is in `honest`: otherwise it may be the harness that is
 *   detected.
 * - Faults of a solve are in the timed solve only, not in kernels that are checked by themselves,
 *   so that only what is left behind can reveal them.
 * - A mutant uses no memory that an earlier run left: `begin` resets what it counts and keeps.
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
    const rt_mutant_t *mutants, *honest; /* honest: valid, although run like mutants */
    int n_mutants, n_honest;
    rt_kind_t kind;   /* of the mutants' rungs, which says where their arrays are */
    int lost_message; /* a fault that has no effect on one rank, where there are no messages; or 0 */

    /* Run instead of the app's hooks. */
    void *(*solver_new)(void *problem, const rt_rung_t *rung);
    void (*solve)(void *solver);
    /* Returns the mutant's function table. */
    const rt_kernels_t *(*kernels)(const rt_mutant_t *mutant);
    const char *only; /* the ladder whose rungs are judged unchanged; NULL: all rungs */
    /* Returns the ladder of the app that the mutant is on; NULL if the app has one. */
    const char *(*ladder)(const rt_mutant_t *mutant);
    /* Before and after a run. `begin` sets the fault that the suite's code asks for, sets counters to
     * 0, and takes memory; `end` gives it back, and leaves no fault behind for the honest rungs. */
    void (*begin)(const rt_mutant_t *mutant, void *problem);
    void (*end)(void);
} rt_mutants_t;

/* Runs all honest rungs and programs, then all mutants; prints those that are misjudged, with
 * --verbose all, and the count. --every N: one rung and mutant in N, and the lost message. --device
 * LIST: on these GPUs. Any number of ranks. Returns the exit status. */
int rt_mutants_main(const rt_mutants_t *suite, int argc, char **argv);

/* Defines the suite and main() from what the file has under these names; further members of the
 * suite may follow: RT_MUTANTS_MAIN(gfnn_app, .ladder = ladder). */
#define RT_MUTANTS_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define RT_MUTANTS_MAIN(...)                                                \
    int main(int argc, char **argv)                                         \
    {                                                                       \
        const rt_mutants_t suite = {.settings = settings,                   \
                                    .problems = PROBLEMS,                   \
                                    .mutants = mutants,                     \
                                    .n_mutants = RT_MUTANTS_COUNT(mutants), \
                                    .honest = honest,                       \
                                    .n_honest = RT_MUTANTS_COUNT(honest),   \
                                    .lost_message = MESSAGE_DROPPED,        \
                                    .solver_new = faulty_solver_new,        \
                                    .solve = faulty_solve,                  \
                                    .kernels = kernels,                     \
                                    .begin = begin,                         \
                                    .end = end,                             \
                                    .app = &__VA_ARGS__};                   \
        return rt_mutants_main(&suite, argc, argv);                         \
    }

/* A transport that loses a message: what rank 0 receives first arrives as zeros. For
 * rt_halo_force_transport. */
extern const rt_transport_t rt_transport_lossy;

/* A kernel that remembers its first solves instead of computing: it answers with the first one's
 * result, or scales it, or combines two of them, as fits the new input best (least squares). */
typedef enum { RT_RECALL_WHOLE, RT_RECALL_SCALED, RT_RECALL_COMBINED } rt_recall_how_t;
typedef struct {
    double *array; /* host */
    size_t n;
} rt_piece_t;
enum { RT_RECALLED = 2, RT_PIECES = 3 };
typedef struct {
    int solves; /* that are kept */
    double *in[RT_RECALLED], *out[RT_RECALLED][RT_PIECES];
} rt_recall_t;
/* Answers from memory, and returns true; false: too little is kept, so solve and then call
 * rt_recall_keep. Collective. */
bool rt_recall(const rt_recall_t *recall, rt_recall_how_t how, rt_piece_t in, const rt_piece_t *out,
               int pieces);
void rt_recall_keep(rt_recall_t *recall, rt_piece_t in, const rt_piece_t *out, int pieces);
void rt_recall_forget(rt_recall_t *recall);

/* Rounds to single precision. */
static inline double rt_rounded(double x)
{
    return (double)(float)x;
}

#endif
