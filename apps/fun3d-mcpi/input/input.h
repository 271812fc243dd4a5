/*
 * input.h - from a mesh to the rows of the system: what the files of this folder
 * offer.
 *
 * A *vertex* is a vertex of the mesh, in the numbering of its file or generator. A *row* is a block
 * row of the system in the order of the colours. A *local row* is a row's position on this rank.
 */
#ifndef MCPI_INPUT_H
#define MCPI_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"
#include "mesh/mesh.h"

RT_C_BEGIN

enum { MCPI_MIN_NB = 4, MCPI_MAX_NB = 15, MCPI_MAX_NB2 = 225, MCPI_MAX_COLOURS = 64 };
/* The flow that A is linearised about. */
#define MCPI_MACH     0.84
#define MCPI_REYNOLDS 5e6
enum { MCPI_FIXED_NB = 7 }; /* larger blocks take other forms of some rungs */

/* --- options --- */

typedef enum { MCPI_FP64, MCPI_FP32, MCPI_FP16, MCPI_BF16, MCPI_TYPES } mcpi_type_t;
/* The dQ* behind R = A dQ*. */
typedef enum {
    MCPI_SOLUTION_RANDOM,  /* in (-1, 1), a function of the vertex */
    MCPI_SOLUTION_CONSTANT /* 1: smooth, and so slow for sweeps to find */
} mcpi_solution_t;
typedef struct {
    int64_t rows, blocks;                     /* of the whole system; blocks: off-diagonal ones */
    int64_t local_rows, local_blocks, ghosts; /* the largest of any rank */
} mcpi_counts_t;

typedef struct {
    const char *mesh;        /* "wing", or a file */
    int64_t surface, layers; /* wing: n of the octahedron (2n^2+2n+1 vertices per layer), layers */
    const char *walls;       /* boundary tags that are walls: "1,3", or "none" */
    const char *symmetry; /* boundary tags that are planes of symmetry; "auto" before configure */
    int64_t nb;           /* block size, 4 .. 15 */
    int offdiagonal, dq, accumulate; /* mcpi_type_t; dq and accumulate: FP32 or FP64 */
    int solution;
    int64_t sweeps;
    double cfl;
    /* ladder flow */
    double flow_mach, angle, courant, tolerance;
    double flow_reynolds; /* 0: no viscosity */
    int64_t steps;

    /* what configure derives from them */
    bool from_file;
    mcpi_counts_t counts; /* wing: upper bounds, known before there is a mesh; file: zeros */
} mcpi_config_t;

/* --- piece.c: the vertices of one rank --- */

/* The neighbours of each row: symmetric, without the diagonal, each list ascending. */
typedef struct {
    int64_t rows;
    int64_t *start;     /* [rows + 1] */
    int32_t *neighbour; /* [start[rows]] */
} mcpi_graph_t;

/* A rank's own vertices and its ghosts, which are their neighbours on other ranks. They ascend in
 * their number, so lists and sums have the same order on any number of ranks. In the graph of a
 * piece, a ghost has no list. */
typedef struct {
    int64_t all;      /* vertices of the whole mesh */
    int64_t vertices; /* own and ghosts */
    int64_t owned;
    int64_t *number; /* [vertices] in the whole; ascending */
    uint8_t *own;    /* [vertices] 1: own; 0: a ghost */
    rt_halo_t *halo; /* NULL on one rank */
} mcpi_piece_t;

/* Makes a piece of own vertices 0 .. vertices - 1. */
mcpi_piece_t *mcpi_piece_new(int64_t all, int64_t vertices);
void mcpi_piece_destroy(mcpi_piece_t *piece);
/* Makes ghosts of all vertices but those of the rank's part; part[number / each] is a vertex's. */
void mcpi_piece_own(mcpi_piece_t *piece, const int32_t *part, int64_t each, int rank);
/* Removes the vertices whose kept[v] is 0 from the piece. Returns the new number of each, -1 if it is
 * removed; the caller frees it. */
int32_t *mcpi_piece_keep(mcpi_piece_t *piece, const uint8_t *kept);
/* Returns the elements and faces that have an own vertex. Vertices in none of those are removed from
 * the piece, whose numbering the mesh shares. */
rt_mesh_t *mcpi_mesh_cut(const rt_mesh_t *mesh, mcpi_piece_t *piece);
/* Finds out which ranks own the ghosts. Does nothing on one rank. Collective. */
void mcpi_piece_link(mcpi_piece_t *piece, const mcpi_graph_t *graph);
enum { MCPI_PIECE_COMPONENTS = 8 }; /* that are exchanged at once, at most */

/* --- wing.c: the generated mesh --- */

/* A wing-body-like mesh of tetrahedra, prisms and pyramids: a body with a wing-like bump, half an
 * octahedron sphere of n, extruded. Boundary tags: 1 wall, 2 far field, 3 symmetry plane. The mesh
 * is the same on any number of threads and ranks. */
typedef struct {
    int64_t n, layers; /* vertices = (2n^2 + 2n + 1) (layers + 1); both at least 2 */
    uint64_t seed;     /* of the edge flips and priorities */
} mcpi_wing_t;
enum { MCPI_TAG_WALL = 1, MCPI_TAG_FAR = 2, MCPI_TAG_SYMMETRY = 3 };
/* Makes a rank's part, of whole columns of vertices: the elements and faces of its own vertices, as
 * mcpi_mesh_cut makes them of the whole. Fills *piece, if piece is not NULL. Time and memory are those
 * of the part, and of the surface, about 250 bytes per vertex on it. Not collective. */
rt_mesh_t *mcpi_wing_new(const mcpi_wing_t *wing, int rank, int ranks, mcpi_piece_t **piece);
enum { MCPI_MAX_SURFACE = 13377 }; /* sides of triangles are numbered with 32 bits */
/* Returns upper bounds, from which memory is predicted before there is a mesh. */
void mcpi_wing_count(const mcpi_wing_t *wing, int64_t *vertices, int64_t *offdiagonal_blocks);

/* --- graph.c: neighbours --- */

/* The elements of each vertex, ascending: those of v are at places first[v] .. first[v + 1] - 1. */
typedef struct {
    const rt_mesh_t *mesh;
    int64_t base[RT_ELEMENTS + 1]; /* element e of type t is number base[t] + e */
    int64_t *first;                /* [vertices + 2] */
    uint32_t *element;
} mcpi_incidence_t;
mcpi_incidence_t mcpi_incidence_new(const rt_mesh_t *mesh);

/* Makes neighbours of all pairs of vertices that share an element. own[vertices]: which of them have
 * a list; NULL: all. */
mcpi_graph_t *mcpi_graph_of_mesh(const rt_mesh_t *mesh, const uint8_t *own);
void mcpi_graph_destroy(mcpi_graph_t *graph);

/* --- how stages read what an earlier one made --- */

/* Returns whether vertex v has a ghost for a neighbour. */
static inline bool mcpi_has_ghost(const mcpi_graph_t *graph, const mcpi_piece_t *piece, int64_t v)
{
    for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++)
        if (!piece->own[graph->neighbour[k]])
            return true;
    return false;
}

/* Gives the ghosts their owners' values: x [vertices][components]. Collective. */
static inline void mcpi_piece_update(const mcpi_piece_t *piece, rt_type_t type, int components,
                                     void *x)
{
    const rt_field_t field = {x, type, components, components, 1};
    if (piece->halo)
        rt_halo_do(piece->halo, RT_HALO_COPY, &field);
}

/* Returns the vertices and the type of the element at a place. */
static inline const int32_t *mcpi_incidence_get(const mcpi_incidence_t *in, int64_t place,
                                                rt_element_t *type)
{
    const uint32_t element = in->element[place];
    int t = 0;
    while (element >= in->base[t + 1])
        t++;
    *type = (rt_element_t)t;
    return in->mesh->element[t] + rt_element_size((rt_element_t)t) * (element - in->base[t]);
}

/* Returns the neighbour's place in the row's list (an index of graph->neighbour), or -1. */
static inline int64_t mcpi_graph_find(const mcpi_graph_t *graph, int64_t row, int32_t neighbour)
{
    int64_t low = graph->start[row], high = graph->start[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (graph->neighbour[middle] < neighbour)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->start[row + 1] && graph->neighbour[low] == neighbour ? low : -1;
}

/* --- piece.c: parts of equal weight --- */

/* Fills part[n]: ranges of the Hilbert curve through x [n][3], equal in weight; none is empty unless n
 * is less than parts. Not collective. */
void mcpi_partition(int64_t n, const double *x, const int64_t *weight, int parts, int32_t *part);
/* Twice the blocks of a row, and two more for D, R and dQ: this, and for each corner of an element
 * there 1 (tetrahedron), 2 (pyramid), 3 (prism) or 6. Exact inside the mesh. */
enum { MCPI_ROW_WEIGHT = 8, MCPI_PRISM_WEIGHT = 3 };
/* Makes a rank's part of a mesh that all ranks have read, equal in blocks. Not collective. */
rt_mesh_t *mcpi_mesh_share(const rt_mesh_t *whole, int rank, int ranks, mcpi_piece_t **piece);

/* --- colour.c --- */

/* Colours the graph of all ranks' pieces: greedy, then iterated greedy (6 passes), then balanced.
 * Deterministic, the same on any number of threads and ranks. Fills colour[piece->vertices] and
 * returns the number of colours. Greedy takes the vertices with odd[vertices] = 0 first, at random;
 * odd NULL: it takes all by number. Refuses (RT_USAGE) a graph for which greedy needs more than
 * MCPI_MAX_COLOURS. Collective. */
int mcpi_colour(const mcpi_graph_t *graph, const mcpi_piece_t *piece, const uint8_t *odd,
                uint16_t *colour);

/* --- order.c --- */

/* The row numbers of a piece's vertices. Rows are numbered by colour, inside a colour by rank, and
 * on a rank along the Hilbert curve. */
typedef struct {
    int colours;
    const uint16_t *colour; /* [vertices] the caller's */
    int64_t *start;         /* [colours + 1] first row of each colour, of the whole */
    int64_t *row;           /* [vertices] */
    uint32_t *curve;        /* [vertices] one after the other along the curve; NULL: as here */
} mcpi_order_t;

/* x: [vertices][3]. Collective. */
mcpi_order_t *mcpi_order_new(const mcpi_piece_t *piece, const uint16_t *colour, int colours,
                             const double *x);
/* Lists the points x [n][3] along a Hilbert curve. own[n]: that through the own points of all ranks,
 * collective; NULL: through all of these. */
void mcpi_hilbert_order(int64_t n, const uint8_t *own, const double *x, uint32_t *order);

/* --- part.c: the rows of one rank --- */

/* This rank's part of the rows. Local rows are sorted by colour; inside a colour the rows that
 * other ranks need (boundary rows) come first, each group in ascending row number. Ghosts, which
 * are rows of other ranks that are neighbours of local rows, follow at rows .. rows + ghosts - 1,
 * by colour and row number. The columns of a row ascend by colour, then by *vertex*, so that sums do
 * not depend on the number of ranks or the order of the rows. */
typedef struct {
    int64_t rows, ghosts, global_rows;
    int colours;
    int64_t *colour_start; /* [colours + 1] */
    int64_t *boundary_end; /* [colours]: rows colour_start[c] .. boundary_end[c] - 1 are boundary */
    int64_t *ghost_start;  /* [colours + 1] local numbers of the ghosts of each colour */
    int64_t *start;        /* [rows + 1] */
    int32_t *short_start;  /* the same in 32 bits, which are enough */
    int longest;           /* most columns of a row */
    int32_t *column;       /* [start[rows]] local number of row or ghost */
    int32_t *place;        /* [start[rows]] each column's place in its vertex's list of the graph */
    int64_t *global;       /* [rows + ghosts] row number */
    int64_t *vertex;       /* [rows + ghosts] vertex number */
    int32_t *here;         /* [rows + ghosts] vertex of the piece */
    int32_t *along;        /* [rows + ghosts] how many of these come before it on the curve */
    int64_t *first_row;    /* [colours + 1] row number of the first of each colour, of the whole */
} mcpi_part_t;

mcpi_part_t *mcpi_part_new(const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                           const mcpi_order_t *order);
void mcpi_part_destroy(mcpi_part_t *part);
/* Returns the rows of the largest colour over the mean; 1: balanced. */
double mcpi_part_imbalance(const mcpi_part_t *part);

/* --- blocks.c: where blocks come from --- */

/* A flow on a mesh. Entries are those of the graph's lists. */
typedef struct {
    mcpi_piece_t *piece;
    mcpi_graph_t *graph; /* of the piece */
    double *x;           /* [vertices][3] */
    uint8_t *odd;        /* [vertices] 1: in an odd layer from the wall */
    int nb;
    double cfl, mu;   /* mu: for speeds over the speed of sound and lengths of the mesh */
    double *n;        /* [entries][3] area of the dual face towards the neighbour */
    double *viscous;  /* [entries] L_ab */
    double *boundary; /* [vertices][3] what closes the dual cell: 0 inside */
    double *diagonal; /* [vertices] L_aa */
    double *q;        /* [vertices][nb] */
    uint8_t *wall;    /* [vertices] */
    double *wall_area, *slip_area; /* [vertices][3] of `boundary`: what is wall, what symmetry */
    double length;                 /* of the body */
} mcpi_source_t;
/* Writes the blocks of one own vertex, FP64, column-major (entry (i, j) at j nb + i): D[nb*nb], and
 * O[degree][nb*nb] in the order of the graph's list. Several threads may call it at once. */
void mcpi_source_row(const mcpi_source_t *source, int64_t vertex, double *D, double *O);
/* In input.c. NULL is allowed. */
void mcpi_source_destroy(mcpi_source_t *source);

/* Linearised Roe flux, viscous terms, pseudo-time and wall rows about a made-up but smooth flow of
 * that Mach and Reynolds number. nb = 5: conservative variables; 4: artificial compressibility
 * (pressure, velocity); 6, 7: with one or two transported scalars. The mesh is read, not kept.
 * Takes the piece over, whose vertices are the mesh's. walls: tags that are walls. Collective. */
typedef struct {
    int nb;
    double cfl, mach, reynolds;
    const char *walls, *symmetry;
} mcpi_flow_t;
mcpi_source_t *mcpi_flow_new(const rt_mesh_t *mesh, mcpi_piece_t *piece, const mcpi_flow_t *flow);
/* Returns whether an option's `tags` are a list of tags, each of which some boundary face has; "none"
 * and NULL mean no faces. If not, writes one line into why. Call it before mcpi_flow_new. */
bool mcpi_tags_check(const rt_mesh_t *mesh, const char *option, const char *tags, char *why,
                     size_t len);

/* --- input.c: all of it --- */

/* Everything that does not depend on the rung or on the values of the blocks. mcpi_problem_new
 * takes source, order and part over and leaves NULL here. */
typedef struct {
    mcpi_source_t *source;
    mcpi_part_t *part;
    mcpi_counts_t counts; /* exact */
    double seconds_mesh, seconds_colour;
} mcpi_input_t;

/* Generates this rank's part of the wing, or reads the file on every rank and keeps this rank's part;
 * colours and orders the rows. Refuses a file that cannot be used. Collective. */
void *mcpi_input_new(const rt_run_t *run);
void mcpi_input_destroy(void *input);
/* Makes or reads the mesh again, on this rank alone; NULL, and one line in why, if a file cannot be
 * read any more. */
rt_mesh_t *mcpi_mesh_again(const mcpi_config_t *config, char *why, size_t len);
/* Estimates config->counts for a wing; false: a rank would have more rows or blocks than it can
 * number with 32 bits. */
bool mcpi_count_wing(mcpi_config_t *config);
/* Returns the run's config with the counts of its input, if it has one yet, else the estimates. */
mcpi_config_t mcpi_counted(const rt_run_t *run);

/* --- system.c: the exact matrix --- */

/* The exact matrix, FP64, not scaled. Host memory. */
typedef struct {
    int nb;
    mcpi_part_t *part;
    double *D; /* [rows][nb*nb] column-major */
    double *O; /* [start[rows]][nb*nb] column-major */
    double *R; /* [rows][nb] */
} mcpi_matrix_t;
/* Makes D and O of the part's rows; R is not set. In blocks.c. */
mcpi_matrix_t *mcpi_matrix_new(const mcpi_source_t *source, mcpi_part_t *part);
/* Computes R = A dQ. dq: host [rows + ghosts][nb] with current ghosts. */
void mcpi_matrix_multiply(mcpi_matrix_t *matrix, const double *dq);
/* In judge/oracle.c. Returns |factor R - A dQ| / |R| over all ranks: Euclidean norms of all values, not weighted, so that
 * the rows of large cells count most. R is scaled by 2^-exponent[row], or not, if that is NULL. dq:
 * host [rows + ghosts][nb] with current ghosts. Collective. */
double mcpi_residual(const mcpi_matrix_t *matrix, const int *exponent, const double *R,
                     double factor, const double *dq);

/* --- system.c: the system that is swept --- */

/* What the rungs sweep, in host memory: block row i is scaled by 2^-exponent[i], which is exact and
 * does not change dQ; O is rounded to its type; D is factored. */
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

/* Scales, rounds and factors without pivoting. Returns NULL, and one line in why that names the
 * row, if a pivot is below 1e-12 max|D| of its row, or a value is not finite or overflows the type
 * of O. */
mcpi_system_t *mcpi_system_new(const mcpi_matrix_t *matrix, mcpi_type_t type, char *why,
                               size_t len);
void mcpi_system_destroy(mcpi_system_t *system);
/* Returns how many bytes rows first .. last - 1 of O take in chunks (portable.h). */
size_t mcpi_chunk_bytes(const mcpi_system_t *system, int64_t first, int64_t last);
/* Puts these rows of the system's O into chunks, at to[mcpi_chunk_bytes]. */
void mcpi_chunk_rows(const mcpi_system_t *system, int64_t first, int64_t last, void *to);
/* Returns all of O in chunks, in `space`. */
void *mcpi_chunks_new(const mcpi_system_t *system, rt_space_t space);

size_t mcpi_type_size(mcpi_type_t type);
extern const char *const mcpi_type_names[]; /* "fp64", "fp32", "fp16", "bf16", NULL */
/* Convert to FP16 or BF16 and back. Rounds to nearest even; denormals, and overflow to infinity,
 * follow IEEE 754. */
uint16_t mcpi_to_16(mcpi_type_t type, double x);
double mcpi_from_16(mcpi_type_t type, uint16_t x);
/* Returns value k of an array of that type, as a double. */
double mcpi_value(const void *array, mcpi_type_t type, int64_t k);
/* Rounds x to value k of such an array. */
static inline void mcpi_put_value(void *array, mcpi_type_t type, int64_t k, double x)
{
    if (type == MCPI_FP64)
        ((double *)array)[k] = x;
    else if (type == MCPI_FP32)
        ((float *)array)[k] = (float)x;
    else
        ((uint16_t *)array)[k] = mcpi_to_16(type, x);
}

RT_C_END
#endif
