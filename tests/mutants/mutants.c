/*
 * mutants.c - runs the mutants of an app: tests whether the verification finds them.
 */
#include "config.h"
#include "tests/mutants/mutants.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/threads.h"
#include "judge/perturb.h"
#include "tests/common/check.h"

/* --- the transport that loses a message --- */

typedef struct {
    void *staged;
    void *recv;
    size_t bytes;
} lossy_t;

static void *lossy_open(int n_peers, const int *peers, const size_t *most)
{
    lossy_t *state = calloc(1, sizeof *state);
    RT_EXPECT(state, RT_MEMORY, "no memory for a transport");
    state->staged = rt_transport_staged.open(n_peers, peers, most);
    return state;
}

static void lossy_close(void *state)
{
    lossy_t *s = state;
    rt_transport_staged.close(s->staged);
    free(s);
}

static void lossy_start(void *state, const void *send, const rt_halo_range_t *out, void *recv,
                        const rt_halo_range_t *in, size_t bytes_per_value)
{
    lossy_t *s = state;
    rt_transport_staged.start(s->staged, send, out, recv, in, bytes_per_value);
    s->recv = (char *)recv + (size_t)in[0].first * bytes_per_value;
    s->bytes = (size_t)in[0].count * bytes_per_value;
}

static void lossy_finish(void *state)
{
    lossy_t *s = state;
    rt_transport_staged.finish(s->staged);
    if (rt_comm_rank() == 0)
        memset(s->recv, 0, s->bytes);
}

const rt_transport_t rt_transport_lossy = {.name = "lossy",
                                           .buffer_space = RT_HOST,
                                           .open = lossy_open,
                                           .close = lossy_close,
                                           .start = lossy_start,
                                           .finish = lossy_finish};

/* --- kernels that remember --- */

static double *copy_of(rt_piece_t piece)
{
    double *copy = malloc(piece.n * sizeof *copy + 1);
    RT_EXPECT(copy, RT_MEMORY, "no memory for %zu values", piece.n);
    memcpy(copy, piece.array, piece.n * sizeof *copy);
    return copy;
}

void rt_recall_keep(rt_recall_t *recall, rt_piece_t in, const rt_piece_t *out, int pieces)
{
    if (recall->solves == RT_RECALLED)
        return;
    recall->in[recall->solves] = copy_of(in);
    for (int i = 0; i < pieces; i++)
        recall->out[recall->solves][i] = copy_of(out[i]);
    recall->solves++;
}

void rt_recall_forget(rt_recall_t *recall)
{
    for (int k = 0; k < RT_RECALLED; k++) {
        free(recall->in[k]);
        for (int i = 0; i < RT_PIECES; i++)
            free(recall->out[k][i]);
    }
    *recall = (rt_recall_t){0};
}

static double product(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    rt_comm_sum(&sum, 1);
    return sum;
}

/* Finds the factors of the kept inputs whose sum is nearest to `in`. */
static void fit(const rt_recall_t *recall, rt_recall_how_t how, rt_piece_t in,
                double factor[RT_RECALLED])
{
    const double *a = recall->in[0], *b = recall->in[1];
    const double aa = product(a, a, in.n), xa = product(in.array, a, in.n);
    factor[0] = how == RT_RECALL_WHOLE ? 1 : xa / aa;
    factor[1] = 0;
    if (how != RT_RECALL_COMBINED)
        return;
    const double bb = product(b, b, in.n), ab = product(a, b, in.n),
                 xb = product(in.array, b, in.n), det = aa * bb - ab * ab;
    factor[0] = det > 0 ? (xa * bb - xb * ab) / det : factor[0];
    factor[1] = det > 0 ? (xb * aa - xa * ab) / det : 0;
}

bool rt_recall(const rt_recall_t *recall, rt_recall_how_t how, rt_piece_t in, const rt_piece_t *out,
               int pieces)
{
    double factor[RT_RECALLED];
    if (recall->solves <= (how == RT_RECALL_COMBINED))
        return false;
    fit(recall, how, in, factor);
    for (int i = 0; i < pieces; i++)
        for (size_t v = 0; v < out[i].n; v++)
            out[i].array[v] = factor[0] * recall->out[0][i][v] +
                              (factor[1] != 0 ? factor[1] * recall->out[1][i][v] : 0);
    return true;
}

/* --- running --- */

typedef struct {
    rt_run_t run;
    void *problem;
} case_t;

typedef struct {
    const rt_mutants_t *suite;
    case_t *cases; /* [problems] */
    int every;     /* judges one mutant or honest rung in so many, and the lost message */
    bool verbose;
} court_t;

static bool is_root(void)
{
    return rt_comm_rank() == 0;
}

static void run_mutant(const rt_mutants_t *suite, const rt_mutant_t *mutant, case_t *c,
                       rt_outcome_t *out)
{
    const char *ladder = suite->ladder ? suite->ladder(mutant) : NULL;
    const rt_rung_t rung = {.name = mutant->name,
                            .kind = suite->kind,
                            .after = "",
                            .idea = "a fault",
                            .kernels = suite->kernels(mutant),
                            .ladder = ladder};
    rt_app_t app = *suite->app;
    rt_run_t *run = &c->run;
    app.ladder = &rung;
    app.n_rungs = 1;
    app.solver_new = suite->solver_new;
    app.solve = suite->solve;
    run->app = &app;
    run->opt.seconds = mutant->timed ? 1e-3 : 0;
    run->opt.windows = 2;
    suite->begin(mutant, c->problem);
    rt_run_rung(run, c->problem, &rung, NULL, out, NULL);
    suite->end();
    run->app = suite->app;
    run->opt.seconds = 0;
}

/* --- judging --- */

/* Returns the name of the check whose bound was exceeded by most. */
static const char *worst_check(const rt_verdict_t *v)
{
    const double excess = rt_verdict_excess(v);
    for (int i = 0; i < v->n; i++) {
        rt_verdict_t one = {.check = {v->check[i]}, .n = 1, .valid = v->check[i].held};
        if (!one.valid && rt_verdict_excess(&one) == excess)
            return v->check[i].name;
    }
    return "";
}

static const char *rating(const rt_outcome_t *out)
{
    return rt_grade_name(rt_outcome_grade(out));
}

static bool is_found_out(const court_t *court, const rt_mutant_t *mutant)
{
    rt_outcome_t out;
    run_mutant(court->suite, mutant, &court->cases[mutant->problem], &out);
    const double excess = rt_verdict_excess(&out.verdict);
    const bool found = rt_outcome_grade(&out) == RT_GRADE_INVALID && excess >= 10;
    if (is_root() && (court->verbose || !found))
        printf("%-56s %-8s %9.2e  %s\n", mutant->name, rating(&out), excess,
               worst_check(&out.verdict));
    if (is_root() && !found)
        rt_verdict_print(&out.verdict, stdout);
    return found;
}

static int judge_mutants(const court_t *court, int *count)
{
    int found = 0;
    *count = 0;
    for (int i = 0; i < court->suite->n_mutants; i++) {
        const rt_mutant_t *mutant = &court->suite->mutants[i];
        const bool is_lost = mutant->fault == court->suite->lost_message;
        if (is_lost ? rt_comm_size() == 1 : i % court->every != 0)
            continue;
        ++*count;
        found += is_found_out(court, mutant);
    }
    return found;
}

static void judge_one(const court_t *court, const char *name, int problem, const rt_outcome_t *out)
{
    const double margin = rt_verdict_margin(&out->verdict);
    const bool good = out->verdict.valid && margin >= 5; /* inputs are drawn at random */
    CHECK(good);
    if (is_root() && (court->verbose || !good))
        printf("%-34s %-8s margin %8.1f  %s\n", name, rating(out), margin,
               court->suite->settings[problem]);
    if (is_root() && !good)
        rt_verdict_print(&out->verdict, stdout);
}

/* Judges the unchanged rungs, and the mutants' own code without a fault. */
static void judge_honest(const court_t *court)
{
    const rt_mutants_t *suite = court->suite;
    const rt_app_t *app = suite->app;
    int rungs = 0;
    for (int p = 0; p < suite->problems; p++) {
        case_t *c = &court->cases[p];
        rt_outcome_t out;
        rt_text_t why;
        for (int i = 0; i < app->n_rungs; i++) {
            const rt_rung_t *rung = &app->ladder[i];
            if (!rt_rung_is_on(rung, suite->only) || rt_rung_why_not(rung) ||
                rt_rung_refuse(rung, c->run.config, &why))
                continue;
            if (rungs++ % court->every != 0)
                continue;
            rt_run_rung(&c->run, c->problem, rung, NULL, &out, NULL);
            judge_one(court, rung->name, p, &out);
        }
        for (int i = 0; i < suite->n_honest; i++) {
            const rt_mutant_t *honest = &suite->honest[i];
            if (honest->problem != RT_EVERY_PROBLEM && honest->problem != p)
                continue;
            if (rungs++ % court->every != 0)
                continue;
            run_mutant(suite, honest, c, &out);
            judge_one(court, honest->name, p, &out);
        }
    }
}

static void start(const char *app, const char *device, int *argc, char ***argv)
{
    char name[64];
    if (!device)
        device = getenv("RT_TEST_DEVICE"); /* in gpu.sh, ranks share one GPU */
    snprintf(name, sizeof name, "%s mutants", app);
    rt_error_set_program(name);
    rt_comm_init(argc, argv);
    rt_device_select(device ? device : "auto", true, 0);
    rt_kokkos_start(rt_device_cpu()->threads, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
}

int rt_mutants_main(const rt_mutants_t *suite, int argc, char **argv)
{
    const rt_app_t *app = suite->app;
    bool verbose = false;
    int every = 1;
    const char *device = NULL;
    for (int i = 1; i < argc; i++) {
        verbose = verbose || strcmp(argv[i], "--verbose") == 0;
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device = argv[++i];
        if (strcmp(argv[i], "--every") == 0 && i + 1 < argc)
            every = (int)fmax(1, atof(argv[++i]));
    }
    start(app->name, device, &argc, &argv);
    rt_perturb_limit(2);
    rt_threads_set(1); /* problems are tiny; checks that compare threads set the number */
    court_t court = {.suite = suite, .every = every, .verbose = verbose};
    court.cases = RT_NEW(case_t, (size_t)suite->problems, RT_HOST);
    for (int p = 0; p < suite->problems; p++) {
        case_t *c = &court.cases[p];
        rt_run_init(&c->run, app, suite->settings[p]);
        c->run.opt.seconds = 0;
        c->run.opt.quiet = true; /* no line about the set-up of each problem */
        c->problem = rt_problem_new(&c->run);
    }
    judge_honest(&court);
    int count, found = judge_mutants(&court, &count);
    CHECK(found == count && count >= 20 / every);
    for (int p = 0; p < suite->problems; p++) {
        rt_problem_destroy(&court.cases[p].run, court.cases[p].problem);
        rt_run_destroy(&court.cases[p].run);
    }
    RT_FREE(court.cases, RT_HOST);
    if (is_root())
        printf("%s: %d mutants, %d rated INVALID\n", app->name, count, found);
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return check_state.failed > 0;
}
