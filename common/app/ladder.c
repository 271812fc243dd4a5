/* app/ladder.c - queries about a rung, and the list that --list prints. */
#include "config.h"
#include "app/ladder.h"
#include <stdlib.h>
#include <string.h>
#include "machine/kokkos.h"
#include "machine/openacc.h"

const char *rt_rung_why_not(const rt_rung_t *rung)
{
    switch (rung->kind) {
    case RT_CUDA:
        if (!rung->kernels)
            return "this build has no CUDA: install the CUDA Toolkit and run configure again, or "
                   "give --with-cuda=DIR";
        return rt_device_gpu() ? NULL : rt_device_why_not();
    case RT_KOKKOS:
        return rt_kokkos_why_not();
    case RT_OPENACC:
        return rt_openacc_why_not();
    case RT_CPU:
        break;
    }
    return NULL;
}

rt_space_t rt_rung_space(const rt_rung_t *rung)
{
    return rt_kind_space(rung->kind);
}

rt_kind_t rt_rung_processor(const rt_rung_t *rung)
{
    return rt_kind_on_gpu(rung->kind) ? RT_CUDA : RT_CPU;
}

const rt_parameter_t *rt_rung_parameters(const rt_rung_t *rung, int *count)
{
    *count = rung->kernels ? rung->kernels->n_parameters : 0;
    RT_EXPECT(*count >= 0 && *count <= RT_TUNE_PARAMETERS, RT_INVALID, "%s has %d parameters",
              rung->name, *count);
    return rung->kernels ? rung->kernels->parameters : NULL;
}

const char *rt_rung_refuse(const rt_rung_t *rung, const void *config, rt_text_t *why)
{
    const rt_kernels_t *kernels = rung->kernels;
    return kernels && kernels->refuse ? kernels->refuse(kernels, config, why) : NULL;
}

const char *rt_rung_refuse_choice(const rt_rung_t *rung, const void *config, const int *choice)
{
    const rt_kernels_t *kernels = rung->kernels;
    if (!kernels || !kernels->refuse_choice || kernels->n_parameters == 0)
        return NULL;
    return kernels->refuse_choice(config, choice);
}

bool rt_rung_is_on(const rt_rung_t *rung, const char *only)
{
    const char *names[] = {rung->ladder, rt_rung_processor(rung) == RT_CUDA ? "gpu" : "cpu"};
    for (size_t n = 0; only && *only; only += n + (only[n] == ',')) {
        bool found = false;
        n = strcspn(only, ",");
        for (int i = 0; i < 2; i++)
            found |= names[i] && strlen(names[i]) == n && strncmp(only, names[i], n) == 0;
        if (!found)
            return false;
    }
    return true;
}

/* --- the whole ladder --- */

static bool same_ladder(const rt_rung_t *a, const rt_rung_t *b)
{
    return a->ladder == b->ladder || (a->ladder && b->ladder && strcmp(a->ladder, b->ladder) == 0);
}

int rt_ladder_first(const rt_rung_t *ladder, int i)
{
    while (i > 0 && same_ladder(&ladder[i - 1], &ladder[i]))
        i--;
    return i;
}

enum { LIST_COLUMN = 21 }; /* of the ideas */

/* Prints a line, wrapped, below the ideas. */
static void print_below(FILE *out, const char *text)
{
    rt_print_wrapped(out, 0, LIST_COLUMN, text);
}

/* Prints the details of a rung that is in this build. */
static void print_details(const rt_rung_t *rung, FILE *out)
{
    int count;
    rt_text_t line;
    const rt_parameter_t *parameter = rt_rung_parameters(rung, &count);
    if (!rung->kernels)
        return;
    const char *precision = rung->kernels->precision;
    print_below(out, rt_text(&line, "%s%s%s",
                             rung->kernels->reproducible
                                 ? "claims the same bits from run to run, on any number of threads"
                                 : "the last bits vary from run to run",
                             precision ? "; computes in " : "", precision ? precision : ""));
    for (int p = 0; p < count; p++) {
        rt_text(&line, "%s:", parameter[p].name);
        for (int v = 0; parameter[p].values[v]; v++)
            rt_text_add(&line, "%s %s%s", v ? "," : "", parameter[p].values[v],
                        v == parameter[p].initial ? " (default)" : "");
        print_below(out, rt_text_add(&line, "; %s", parameter[p].about));
    }
}

/* Prints what --list has below a rung: why it is absent, or what it runs on, and its details. */
static void print_below_rung(const rt_rung_t *rung, FILE *out)
{
    rt_text_t line;
    const char *why_not = rt_rung_why_not(rung);
    if (why_not)
        print_below(out, rt_text(&line, "absent: %s", why_not));
    print_details(rung, out);
    if (!why_not && rung->kind == RT_KOKKOS)
        print_below(out, rt_text(&line, "back-end here: Kokkos %s, %s", rt_kokkos_version(),
                                 rt_kokkos_backend()));
    if (!why_not && rung->kind == RT_OPENACC)
        print_below(out, rt_text(&line, "compiled by %s; runs %s here", RT_OPENACC_ID,
                                 rt_openacc_on_gpu() ? "on the GPU" : "on one CPU core"));
}

bool rt_ladder_reason(const rt_rung_t *ladder, int n, const rt_text_t *why, int i, rt_text_t *names)
{
    rt_text(names, "%s", "");
    for (int k = 0; k < n; k++) {
        if (strcmp(why[k].text, why[i].text) != 0)
            continue;
        if (k < i)
            return false;
        rt_text_add(names, "%s%s", k > i ? ", " : "", ladder[k].name);
    }
    return *why[i].text != '\0';
}

/* Prints each reason for which rungs are absent once, after all its rungs. */
static void print_absent(const rt_rung_t *ladder, int n, FILE *out)
{
    rt_text_t names, *why = calloc((size_t)n, sizeof *why);
    RT_EXPECT(why, RT_MEMORY, "no memory for %d rungs", n);
    for (int i = 0; i < n; i++) {
        const char *why_not = rt_rung_why_not(&ladder[i]);
        rt_text(&why[i], "%s", why_not ? why_not : "");
    }
    for (int i = 0; i < n; i++) {
        if (!rt_ladder_reason(ladder, n, why, i, &names))
            continue;
        fputc('\n', out);
        rt_print_wrapped(out, fprintf(out, "absent"), 4, rt_text_add(&names, ": %s", why[i].text));
    }
    free(why);
}

void rt_ladder_print(const rt_rung_t *ladder, int n, bool details, FILE *out)
{
    for (int i = 0; i < n; i++) {
        const rt_rung_t *rung = &ladder[i];
        if (rung->ladder && rt_ladder_first(ladder, i) == i)
            fprintf(out, "%s%s:\n", i ? "\n" : "", rung->ladder);
        const int column = fprintf(out, "%-12s %-7s", rung->name, rt_kind_name(rung->kind));
        rt_print_wrapped(out, column, LIST_COLUMN, rung->idea);
        if (details)
            print_below_rung(rung, out);
    }
    if (!details)
        print_absent(ladder, n, out);
}
