/*
 * app/ladder.h - the rungs of an app, in order.
 *
 * An app's ladder.def is an X-macro table. Its order is the ladder. app.c declares the tables that it
 * names, and turns it into an array; no other file includes it, so that a new rung compiles one file
 * and app.c:
 *
 *   RUNG(RSP, CUDA, "RS", alya_rsp, "all three: intermediates are scalars of the thread, ...")
 *        name kind  after table     what changed since the rung before, and why
 *
 *   #define RUNG(name, kind, after, table, idea) extern const alya_kernels_t table;
 *   #include "ladder.def"
 *   #undef RUNG
 *   #define RUNG RT_RUNG
 *   static const rt_rung_t ladder[] = {
 *   #include "ladder.def"
 *   };
 *   #undef RUNG
 *
 * A rung whose kind was not built in stays listed, with the reason. An app with several jobs has a
 * ladder for each (gfnn-wave: its operator, its predictor, its solve), one after the other in
 * ladder.def, and uses RT_RUNG_ON, which has the ladder's name after `after`.
 *
 * Include config.h first: it says which kinds are built.
 */
#ifndef RT_LADDER_H
#define RT_LADDER_H

#include <stdbool.h>
#include <stdio.h>
#include "app/parameter.h"
#include "base/by_name.h"
#include "base/mem.h"
#include "base/text.h"
#include "machine/device.h"

RT_C_BEGIN

/* What every rung says about itself: the first member, named `rung`, of an app's function table. An
 * app casts back: (const nek_kernels_t *)rung->kernels. */
typedef struct rt_kernels {
    const char *precision; /* what it computes in: "FP64", "FP32 in patches, FP64 sums" */
    bool reproducible;     /* claims the same bits in every run, on any number of threads */
    const rt_parameter_t *parameters; /* [n_parameters] what a tuner may choose; NULL: nothing */
    int n_parameters;
    /* Returns NULL, or why the rung cannot run the problem of `config`: a constant, or a line in
     * *why. `self` is the rung's own table. NULL: it runs every problem. */
    const char *(*refuse)(const struct rt_kernels *self, const void *config, rt_text_t *why);
    /* Returns NULL, or why the values of `choice` cannot go together in the problem of `config`;
     * the answer is the same on all ranks. NULL: all go together. */
    const char *(*refuse_choice)(const void *config, const int *choice);
} RT_BY_NAME rt_kernels_t;

typedef struct {
    const char *name;
    rt_kind_t kind;
    const char *after;           /* rung that it is compared with; "" for the first */
    const char *idea;            /* one line */
    const rt_kernels_t *kernels; /* &table.rung of the app's function table; NULL: not built */
    const char *ladder;          /* which of the app's ladders; NULL if it has one */
} RT_BY_NAME rt_rung_t;

/* Makes a rung from a row of ladder.def. */
#define RT_RUNG_OF(name_, kind_, after_, ladder_, table_, idea_)            \
    {                                                                       \
        .name = #name_, .kind = RT_##kind_, .after = after_, .idea = idea_, \
        .kernels = RT_TABLE_##kind_(table_), .ladder = ladder_              \
    }
/* Make a row of an array. */
#define RT_RUNG(name_, kind_, after_, table_, idea_) \
    RT_RUNG_OF(name_, kind_, after_, NULL, table_, idea_),
#define RT_RUNG_ON(name_, kind_, after_, ladder_, table_, idea_) \
    RT_RUNG_OF(name_, kind_, after_, ladder_, table_, idea_),

#define RT_TABLE_CPU(table) &(table).rung
#if defined(RT_HAVE_CUDA) && RT_HAVE_CUDA
#define RT_TABLE_CUDA(table) &(table).rung
#else
#define RT_TABLE_CUDA(table) NULL
#endif
#if defined(RT_HAVE_KOKKOS) && RT_HAVE_KOKKOS
#define RT_TABLE_KOKKOS(table) &(table).rung
#else
#define RT_TABLE_KOKKOS(table) NULL
#endif

#if defined(RT_HAVE_OPENACC) && RT_HAVE_OPENACC
#define RT_TABLE_OPENACC(table) &(table).rung
#else
#define RT_TABLE_OPENACC(table) NULL
#endif

/* Returns NULL if this rung can run here and now (after rt_device_select), else one line that says
 * why not. */
const char *rt_rung_why_not(const rt_rung_t *rung);
/* Returns the space where its arrays are. */
rt_space_t rt_rung_space(const rt_rung_t *rung);
/* Returns the kind of processor that works on its arrays: RT_CPU or RT_CUDA. */
rt_kind_t rt_rung_processor(const rt_rung_t *rung);
/* Return what the rung's table says: for a rung that is not built NULL, and a count of 0. */
const rt_parameter_t *rt_rung_parameters(const rt_rung_t *rung, int *count);
const char *rt_rung_refuse(const rt_rung_t *rung, const void *config, rt_text_t *why);
const char *rt_rung_refuse_choice(const rt_rung_t *rung, const void *config, const int *choice);
/* Returns whether it is on the ladder of that name, on that processor (cpu, gpu), or on both (names with
 * a comma between). NULL: any. */
bool rt_rung_is_on(const rt_rung_t *rung, const char *only);

/* Returns the first rung of the ladder that ladder[i] is on, if there are several; else 0. */
int rt_ladder_first(const rt_rung_t *ladder, int i);
/* Returns whether ladder[i] has a reason, why[i], that no rung before it has; then puts the names of
 * all rungs with that reason into *names. */
bool rt_ladder_reason(const rt_rung_t *ladder, int n, const rt_text_t *why, int i,
                      rt_text_t *names);
/* Prints --list: the name, device and idea of each rung, and why some are absent. With details each
 * rung has below it why it is absent, what it computes in, and its parameters. */
void rt_ladder_print(const rt_rung_t *ladder, int n, bool details, FILE *out);

RT_C_END
#endif
