/*
 * mcpi.h - multicolour point-implicit sweeps for a block-sparse linear system A dQ = R.
 *
 * Zubair, Stone, Walden, Nielsen, "Experiences in Moving CUDA-Optimized Kernels to Intel GPUs using
 * oneAPI". A = O + D, with O the off-diagonal and D the diagonal blocks, nb x nb each:
 *
 *     dQ = 0
 *     for sweep in 1 .. sweeps:
 *       for colour c:     dr = R_c - O_c dQ;  dQ_c = D_c^-1 dr
 *
 * Rows of one colour are not neighbours, so they may be updated at once, and a colour sees what the
 * colours before it have just made (block Gauss-Seidel in colour order).
 *
 * Words: a *vertex* is one of the mesh, in the numbering of its file or generator; a *row* is a
 * block row of the system in the order of the colours, the same on any number of ranks (its global
 * number); a *local row* is its position on this rank.
 */
#ifndef MCPI_H
#define MCPI_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"
#include "mesh/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MCPI_MIN_NB = 4, MCPI_MAX_NB = 7, MCPI_MAX_NB2 = 49, MCPI_MAX_COLOURS = 64 };

/* --- options --- */

typedef enum { MCPI_FP64, MCPI_FP32, MCPI_FP16, MCPI_BF16, MCPI_TYPES } mcpi_type_t;
typedef enum {
    MCPI_NATURAL, /* by vertex number */
    MCPI_RCM,     /* reverse Cuthill-McKee of the whole graph, then inside each colour by that */
    MCPI_HILBERT, /* along a Hilbert curve through the coordinates */
    MCPI_RANDOM,
    MCPI_ORDERS
} mcpi_row_order_t;
typedef enum {
    MCPI_COLOUR_GLOBAL, /* one colouring of the whole graph: the result does not depend on ranks */
    MCPI_COLOUR_LOCAL   /* each rank colours its own rows; neighbours on other ranks may have the
                           same colour, and are then taken from the exchange before */
} mcpi_colouring_t;
/* dQ* behind R = A dQ*. */
typedef enum {
    MCPI_SOLUTION_RANDOM,  /* in (-1, 1), a function of the vertex */
    MCPI_SOLUTION_CONSTANT /* 1: smooth, which is what sweeps are slow to find */
} mcpi_solution_t;
typedef enum {
    MCPI_EXCHANGE_COLOUR, /* ghosts are brought up to date after every colour */
    MCPI_EXCHANGE_SWEEP   /* after every sweep: fewer messages, slower convergence */
} mcpi_exchange_t;

typedef struct {
    const char *mesh;        /* "wing", or a file */
    int64_t surface, layers; /* wing: n of the octahedron (2n^2+2n+1 vertices a layer), layers */
    const char *walls;       /* boundary tags that are walls: "1,3", or "none" */
    int64_t nb;              /* block size, 4 .. 7 */
    int offdiagonal, dq, accumulate; /* mcpi_type_t; dq and accumulate: FP32 or FP64 */
    int order, colouring, exchange, solution;
    int64_t sweeps;
    double cfl, mach, reynolds;

    /* what configure makes of them */
    bool from_file, is_matrix; /* is_matrix: Matrix Market */
    int64_t rows, blocks;      /* of the whole system; blocks: off-diagonal. Of a wing that was not
                                  made yet: upper bounds */
    int64_t local_rows, local_blocks, ghosts; /* most of any rank, upper bounds */
    struct mcpi_source *source; /* of a file: configure read it, problem_new takes it */
} mcpi_config_t;

/* --- input/wing.c --- */

/* Wing-body-like mesh of tetrahedra, prisms and pyramids (specification, "Generator"): a body with
 * a wing-like bump, half an octahedron sphere of n, extruded. Boundary tags: 1 wall, 2 far field, 3
 * symmetry plane. Same mesh on any number of threads and ranks. */
typedef struct {
    int64_t n, layers; /* vertices = (2n^2 + 2n + 1) (layers + 1); both at least 2 */
    double growth;     /* of the layers, about 1.24 at 51 layers; 0: chosen so that the outer
                          boundary is where it is with 51 */
    double first;      /* spacing at the wall, 1e-4 */
    uint64_t seed;     /* of the edge flips and priorities */
} mcpi_wing_t;
enum { MCPI_TAG_WALL = 1, MCPI_TAG_FAR = 2, MCPI_TAG_SYMMETRY = 3 };
rt_mesh_t *mcpi_wing_new(const mcpi_wing_t *wing);
/* Upper bounds, for memory before there is a mesh. */
void mcpi_wing_count(const mcpi_wing_t *wing, int64_t *vertices, int64_t *offdiagonal_blocks);

/* --- input/: from a mesh or a matrix file to rows of the system --- */

/* Who is a neighbour of whom: symmetric, without the diagonal, each list ascending. */
typedef struct {
    int64_t rows;
    int64_t *start;     /* [rows + 1] */
    int32_t *neighbour; /* [start[rows]] */
} mcpi_graph_t;

/* input/graph.c. All pairs of vertices that share an element. */
mcpi_graph_t *mcpi_graph_of_mesh(const rt_mesh_t *mesh);
/* First row without a neighbour, with one out of range, twice, itself, or not there in return: one
 * line into why (rows are named by their number from 0, as vertices), false. */
bool mcpi_graph_check(const mcpi_graph_t *graph, char *why, size_t len);
/* Its place in the row's list (an index of graph->neighbour), -1 if it is not there. */
int64_t mcpi_graph_find(const mcpi_graph_t *graph, int64_t row, int32_t neighbour);
void mcpi_graph_destroy(mcpi_graph_t *graph);
/* nnz_off by the specification's formula: 2V + 2T + 9P + 5Y - 2 + (Fb + 2Qb). Hexahedra: not in it,
 * -1 if the mesh has any. Holds for meshes whose volume is a ball (Euler characteristic 1). */
int64_t mcpi_graph_expected(const rt_mesh_t *mesh);

/* The system's rows. */
typedef struct {
    int64_t rows;
    int colours;
    int64_t *colour_start; /* [colours + 1] rows of colour c */
    int32_t *vertex;       /* [rows] of each row */
    int32_t *row;          /* [rows] of each vertex */
} mcpi_order_t;

/* input/colour.c. colour[graph->rows]: greedy, then iterated greedy (6 passes), then balanced;
 * deterministic, the same on any number of threads. Returns how many. A graph for which greedy
 * needs more than MCPI_MAX_COLOURS is refused (RT_USAGE; collective, if all ranks have the same
 * graph). */
int mcpi_colour(const mcpi_graph_t *graph, uint8_t *colour);
/* Largest colour over the mean, 1: balanced. */
double mcpi_colour_imbalance(const mcpi_graph_t *graph, const uint8_t *colour, int colours);
/* input/order.c. x: [rows][3] for MCPI_HILBERT, NULL if there are no coordinates (then Hilbert is
 * refused by the caller). */
mcpi_order_t *mcpi_order_new(const mcpi_graph_t *graph, const uint8_t *colour, int colours,
                             mcpi_row_order_t order, const double *x, uint64_t seed);
void mcpi_order_destroy(mcpi_order_t *order);

/* This rank's part of the rows. Local rows are sorted by colour; inside a colour those come first
 * that other ranks need (boundary rows), each group in ascending row number. Ghosts, rows of other
 * ranks that local rows have for neighbours, follow at rows .. rows + ghosts - 1, by colour and
 * row number. Columns of a row are ascending in the *global* row number, so that sums do not depend
 * on the number of ranks. */
typedef struct {
    int64_t rows, ghosts, global_rows;
    int colours;
    int64_t *colour_start; /* [colours + 1] */
    int64_t *boundary_end; /* [colours]: rows colour_start[c] .. boundary_end[c] - 1 are boundary */
    int64_t *ghost_start;  /* [colours + 1] local numbers of the ghosts of each colour */
    int64_t *start;        /* [rows + 1] */
    int32_t *column;       /* [start[rows]] local number of row or ghost */
    int32_t *place;        /* [start[rows]] of each column in its vertex's list of the graph */
    int64_t *global;       /* [rows + ghosts] row number */
} mcpi_part_t;

/* input/part.c. owner[vertex]: rank. Contiguous ranges, by count, of a Hilbert curve through x, or
 * of the rows of a breadth-first numbering if x is NULL. */
void mcpi_partition(const mcpi_graph_t *graph, const double *x, int ranks, int32_t *owner);
/* Every rank calls it with the same graph, order and owner; no messages. */
mcpi_part_t *mcpi_part_new(const mcpi_graph_t *graph, const mcpi_order_t *order,
                           const int32_t *owner, int rank);
/* MCPI_COLOUR_LOCAL: colours of the graph without the edges between ranks. */
int mcpi_colour_local(const mcpi_graph_t *graph, const int32_t *owner, uint8_t *colour);
void mcpi_part_destroy(mcpi_part_t *part);

/* Where blocks come from: a flow on a mesh, or a matrix file. */
typedef struct mcpi_source {
    mcpi_graph_t *graph;
    double *x; /* [rows][3], NULL: no coordinates */
    int nb;
    void *data;
    /* Blocks of one vertex, FP64, column-major (entry (i, j) at j nb + i): D[nb*nb], and
     * O[degree][nb*nb] in the order of the graph's list. From several threads at once. */
    void (*row)(const struct mcpi_source *source, int64_t vertex, double *D, double *O);
    void (*destroy)(struct mcpi_source *source); /* frees data; graph, x and source are freed by
                                                    mcpi_source_destroy */
} mcpi_source_t;
void mcpi_source_destroy(mcpi_source_t *source); /* NULL allowed; in problem.c */

/* input/flow.c. Linearised Roe flux, viscous terms, pseudo-time and wall rows of the
 * specification, "Blocks", about a made-up but smooth flow of that Mach and Reynolds number. nb =
 * 5: conservative variables; 4: artificial compressibility (pressure, velocity); 6, 7: with one or
 * two transported scalars. The mesh is read, not kept. walls: tags that are walls. */
typedef struct {
    int nb;
    double cfl, mach, reynolds;
    const char *walls;
    uint64_t seed;
} mcpi_flow_t;
mcpi_source_t *mcpi_flow_new(const rt_mesh_t *mesh, const mcpi_flow_t *flow);
/* Is `walls` a list of tags, each of which some boundary face has? "none", NULL: there are no
 * walls. One line into why, false, if not: mcpi_flow_new wants this to have been asked. */
bool mcpi_walls_check(const rt_mesh_t *mesh, const char *walls, char *why, size_t len);

/* input/mtx.c. Matrix Market, coordinate, real, general, square; nb x nb blocks (size divisible by
 * nb, else refused); a block with one entry is there. Every block row needs its diagonal block.
 * NULL and one line in why if it cannot be used. */
mcpi_source_t *mcpi_mtx_read(const char *path, int nb, char *why, size_t len);
mcpi_source_t *mcpi_mtx_parse(const char *name, const void *data, size_t bytes, int nb, char *why,
                              size_t len); /* from memory: for the fuzz target */

/* --- the system that is swept, host memory --- */

/* The exact matrix, FP64, not scaled. */
typedef struct {
    int nb;
    bool of_file; /* rows are those of a matrix file; else vertices */
    mcpi_part_t *part;
    double *D; /* [rows][nb*nb] column-major */
    double *O; /* [start[rows]][nb*nb] column-major */
    double *R; /* [rows][nb] */
} mcpi_matrix_t;

/* What the rungs sweep: block row i is scaled by 2^-exponent[i], which is exact and leaves dQ what
 * it is; O is rounded to its type; D is factored. */
typedef struct {
    int nb;
    mcpi_type_t type;        /* of O */
    const mcpi_part_t *part; /* the matrix's */
    int *exponent;           /* [rows] of the row's largest |D| */
    void *O;                 /* [start[rows]][nb*nb] column-major, of `type` */
    double *LU; /* [rows][nb*nb] column-major: L below the diagonal (unit diagonal), U above it,
                   reciprocals of U's diagonal on it */
    double *R;  /* [rows][nb], scaled */
} mcpi_system_t;

/* input/system.c. Factors without pivoting. A pivot below 1e-12 max|D| of its row, or what is not
 * finite, or overflows the type of O: one line into why that names the row, NULL. vertex[rows of
 * the whole system]: its number there. */
mcpi_system_t *mcpi_system_new(const mcpi_matrix_t *matrix, mcpi_type_t type, const int32_t *vertex,
                               char *why, size_t len);
void mcpi_system_destroy(mcpi_system_t *system);
size_t mcpi_type_size(mcpi_type_t type);
const char *mcpi_type_name(mcpi_type_t type); /* "fp64" */
/* Round to nearest even, denormals and overflow to infinity as IEEE says; and back. */
uint16_t mcpi_to_fp16(double x);
double mcpi_from_fp16(uint16_t x);
uint16_t mcpi_to_bf16(double x);
double mcpi_from_bf16(uint16_t x);
/* Value k of an array of that type, as a double. */
double mcpi_value(const void *array, mcpi_type_t type, int64_t k);
/* x = D^-1 b with D of LU above, nb values. */
void mcpi_solve_block(int nb, const double *LU, const double *b, double *x);

/* --- kernels --- */

/* What a kernel sees: arrays in the rung's space (host rungs: the system's own). */
typedef struct {
    const mcpi_system_t *system; /* host memory, for set-up */
    int nb;
    mcpi_type_t offdiagonal, dq_type, accumulate;
    int64_t rows, ghosts;
    int colours;
    const int64_t *colour_start; /* host */
    /* Block CSR, unless the rung has own_layout. */
    const int32_t *start;  /* [rows + 1] */
    const int32_t *column; /* [blocks] */
    const void *O;         /* [blocks][nb*nb] column-major, of type offdiagonal */
    const double *LU;      /* [rows][nb*nb] column-major */
    double *R;             /* [rows][nb] */
    const int *choice;     /* what is in force for the rung; zeros if it has nothing to choose */
    void *data;            /* what set_up made */
} mcpi_view_t;

typedef struct {
    /* dQ of local rows first .. last - 1, of one colour: dr = R - O dQ, dQ = D^-1 dr. On the rung's
     * stream. dq: [rows + ghosts][nb] of dq_type. */
    void (*rows)(const mcpi_view_t *view, int64_t first, int64_t last, void *dq);
    /* All sweeps from the dQ given, without halo, as one persistent kernel. NULL: the driver calls
     * `rows` colour by colour. */
    void (*sweeps)(const mcpi_view_t *view, int64_t sweeps, void *dq);
    void (*set_up)(mcpi_view_t *view);
    void (*tear_down)(mcpi_view_t *view);
    /* R of the next solve, [rows][nb] host, scaled; only with own_layout: others get it copied. */
    void (*put_r)(const mcpi_view_t *view, const double *R);
    /* Adds the most bytes that set_up holds on to, and (in RT_HOST) needs on the way. */
    void (*memory)(const mcpi_config_t *config, double bytes[RT_SPACES]);
    bool own_layout;   /* set_up packs O, LU and R its own way */
    bool always_fp64;  /* the oracle: dQ and sums FP64 whatever the options say */
    bool reproducible; /* the same bits from run to run */
    /* Bit t: this rung takes O of type t; 0: all. */
    unsigned types;
    /* On a GPU: most threads of a block, where that is a launch parameter (choice[0]); 0: it is
     * not. */
    int most_threads;
} mcpi_kernels_t;

/* cpu/cpu_simd.c: what a tuner may choose for cpu-simd; the first values are the initial ones. */
enum { MCPI_SIMD_PARAMETERS = 2 };
extern const rt_parameter_t mcpi_simd_parameters[MCPI_SIMD_PARAMETERS];

#define RUNG(name, kind, after, table, idea) extern const mcpi_kernels_t table;
#include "ladder.def"
#undef RUNG
enum {
    MCPI_RUNGS = 0
#define RUNG(name, kind, after, table, idea) +1
#include "ladder.def"
#undef RUNG
};
extern const rt_rung_t mcpi_ladder[MCPI_RUNGS];
extern const rt_app_t mcpi_app;

/* cpu/reference.c: the oracle. dQ (FP64) of local rows first .. last - 1 over the system's rounded
 * O; if `bound` is not NULL, bound[rows][nb] of these rows = |D^-1| (|R| + |O| |dQ|),
 * componentwise, with |D^-1| the magnitudes of the inverse. */
void mcpi_reference_rows(const mcpi_system_t *system, const double *R, int64_t first, int64_t last,
                         double *dq, double *bound);

/* --- problem.c --- */
enum { MCPI_SAMPLES = 16 };
typedef struct {
    const rt_run_t *run;
    const mcpi_config_t *config;
    int nb;
    mcpi_order_t *order; /* of the whole system */
    mcpi_part_t *part;
    mcpi_matrix_t *matrix;
    mcpi_system_t *system;
    rt_halo_t **halo;    /* [colours] of host FP64 arrays [rows + ghosts][nb]; NULL with one rank */
    double *exact;       /* [rows][nb] dQ*: R = A dQ* */
    rt_items_t vertices; /* of a mesh file, of this rank's rows, for the digest */
    double imbalance;    /* of the colours */
    double seconds_mesh, seconds_colour, seconds_blocks, seconds_factor;
    /* Residual after the sweeps, with the default exchange and colouring and with those asked for;
     * 0 where that is the same. */
    double price_default, price_asked;
    /* mcpi_residual after so many sweeps, from dQ = 0. */
    int samples;
    int64_t sample_sweep[MCPI_SAMPLES];
    double sample_residual[MCPI_SAMPLES];
    uint64_t fingerprint; /* of the bits of dQ after a solve by cpu-simd, 48 bits: the same in any
                             order of ranks, and so for any number of them in the default mode */
    /* Made by verify.c when first needed: */
    void *oracle;
} mcpi_problem_t;
void *mcpi_problem_new(const rt_run_t *run);
void mcpi_problem_destroy(void *problem);
void mcpi_digest(const void *problem, rt_digest_t *digest);
/* One halo a colour: ghosts of that colour become what their owners have. */
rt_halo_t **mcpi_halo_new(const mcpi_part_t *part, int nb, const char *transport, rt_kind_t kind,
                          rt_space_t space);
void mcpi_halo_destroy(rt_halo_t **halo, int colours);
/* ||R - A dQ|| / ||R|| with the exact FP64 matrix, over all ranks: Euclidean norms of all values,
 * neither scaled nor weighted, so that the rows of large cells count most. dq host [rows +
 * ghosts][nb], whose ghosts are up to date. Collective. */
double mcpi_residual(const mcpi_matrix_t *matrix, const double *R, const double *dq);
/* Reads the mesh or matrix file, once, on every rank: cfg->source, is_matrix, rows and blocks,
 * exact, and local_*. Refuses what cannot be used. Collective. */
void mcpi_file_count(mcpi_config_t *cfg);
/* local_* of the ranks from rows and blocks: upper bounds. */
void mcpi_count_parts(mcpi_config_t *cfg);

/* --- solve.c --- */
typedef struct {
    mcpi_problem_t *problem;
    const rt_rung_t *rung;
    const mcpi_kernels_t *kernels;
    rt_space_t space;
    mcpi_view_t view;
    rt_halo_t **halo;
    bool own_halo;
    void *dq;      /* [rows + ghosts][nb] of view.dq_type, in `space` */
    double *R;     /* [rows][nb] host: scaled R of the next solve */
    double factor; /* R of this solve = factor * the problem's; new after each spoil */
    uint64_t solves;
    int64_t swept; /* sweeps that the last solve asked for, for verify.c */
    double seconds_set_up;
    bool each_colour; /* ghosts are brought up to date after every colour, else after every sweep */
    bool on_stream;   /* messages are, of all colours: nothing of a sweep waits for the host */
    bool recording;   /* the sweeps are not run but recorded: no timers */
    rt_replay_t replay;
} mcpi_solver_t;
void *mcpi_solver_new(void *problem, const rt_rung_t *rung);
void mcpi_solver_destroy(void *solver);
/* dQ = 0, then the sweeps. */
void mcpi_solve(void *solver);
void mcpi_spoil(void *solver);
/* Sweeps from what dq holds; if nothing needs the host, as one launch. */
void mcpi_sweeps(mcpi_solver_t *s, int64_t sweeps);
/* dq [rows + ghosts][nb] to and from host doubles. Rounds to the rung's type. */
void mcpi_put_dq(mcpi_solver_t *s, const double *host);
void mcpi_get_dq(const mcpi_solver_t *s, double *host);
/* Residual at doubling numbers of sweeps from 0 up to those of a solve, into problem->sample_*, by
 * the rung cpu-simd. Collective. */
void mcpi_history(mcpi_problem_t *problem);
/* What an exchange after each sweep, or colours of each rank's own, cost: fills price_* with the
 * residuals after the sweeps, by the rung cpu-simd. Collective. */
void mcpi_price(mcpi_problem_t *problem);

/* --- verify.c, work.c --- */
void mcpi_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void mcpi_verify_after(void *solver, rt_verdict_t *verdict);
void mcpi_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
void mcpi_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
void mcpi_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
const char *mcpi_paper(const rt_run_t *run, const rt_rung_t *rung);

#ifdef __cplusplus
}
#endif
#endif
