/*
 * predict_simd.c - threads over rows of nodes, vectors along x, a block of nodes in registers.
 *
 * Idea: neighbouring nodes do the same with neighbouring r, so a tap of K is one number times a
 * vector of r. A block of a few vectors of nodes keeps all its sums in registers while K streams
 * past, and each vector of r that is read serves every row i of two kernels at once.
 *
 * The second idea is where to apply the coefficients, and there the two forms differ. gfm: after
 * the sums over s, z = sum_m c_m (K_m * r): 9 M multiply-adds per neighbour instead of 9 M + 9.
 * gf8: after the sums there would be four of each, of G and of G times each component of s: 36
 * multiply-adds. Instead r is weighted before the sums, once for i = j and once for i != j, and one
 * sum is left: 9 multiply-adds, 6 products, and 2 additions, as along x a weight grows by the same
 * amount from tap to tap.
 *
 * Price: lanes beyond the end of a row do useless work, so the last vector of a row ends where the
 * row ends, and a box narrower than a vector is first copied to where reading on does no harm.
 * 16-bit r is copied too, as FP32: it is converted once and read by all its neighbours.
 */
#include "config.h"
#include <string.h>
#include "apps/gfnn-wave/loops/node.h"
#include "cpu.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Registers hold the sums of two kernels for three components of BLOCK vectors, BLOCK vectors of r,
 * and a tap. */
#if defined(__AVX512F__)
enum { LANES = 16, BLOCK = 4 };
#elif defined(__AVX__)
enum { LANES = 8, BLOCK = 2 };
#elif defined(__aarch64__)
enum { LANES = 4, BLOCK = 4 };
#else
enum { LANES = 4, BLOCK = 2 };
#endif
enum { PAIR = 2 };
typedef float vec_t __attribute__((vector_size(LANES * sizeof(float))));

typedef struct {
    float *K; /* gfm: kernels in pairs, the last alone if M is odd, [z][y][j][x][kernel][i];
               * gf8: [z][y][x][xx yy zz yz zx xy] */
    float *r; /* a copy, on box->wide and LANES more; NULL: not needed */
} data_t;

/* A block of nodes: c, r and z at its first. */
typedef struct {
    const float *K, *c, *r;
    float *z;
    int kernels, reach;
    size_t bytes;               /* of a vector that belong to nodes */
    int64_t pitch, slab, plane; /* of r and z */
    int64_t c_plane;
} block_t;

/* Keeps v in a register from here on. Otherwise a compiler may read it again for each use, which
 * takes as long as the arithmetic, as most vectors of r cross a cache line. */
#if defined(__AVX512F__)
#define KEEP(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define KEEP(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define KEEP(v) __asm__("" : "+w"(v))
#else
#define KEEP(v) (void)(v)
#endif

/* --- v vectors of nodes --- */

/* clang unrolls before it inlines, when it knows neither v nor the number of kernels: so these are
 * not bounds of loops. */
#define FOR_VECTORS(b)              \
    UNROLL                          \
    for (int b = 0; b < BLOCK; b++) \
        if (b < v)
#define FOR_KERNELS(p)             \
    UNROLL                         \
    for (int p = 0; p < PAIR; p++) \
        if (p < kernels)

INLINE void load(vec_t *v, const float *from)
{
    memcpy(v, from, sizeof *v);
}

/* Loads the lanes that are nodes; the others are 0. */
INLINE void load_nodes(const block_t *block, vec_t *v, const float *from)
{
    if (block->bytes == sizeof *v) {
        load(v, from);
    } else {
        *v = (vec_t){0};
        memcpy(v, from, block->bytes);
    }
}

INLINE void store_nodes(const block_t *block, const int v, vec_t z[3][BLOCK])
{
    UNROLL
    for (int i = 0; i < 3; i++) {
        FOR_VECTORS(b)
        {
            float *to = block->z + i * block->plane + b * LANES;
            if (block->bytes == sizeof(vec_t))
                memcpy(to, &z[i][b], sizeof(vec_t));
            else
                memcpy(to, &z[i][b], block->bytes);
        }
    }
}

/* z += sum over `kernels` kernels, 1 or 2, from m on. */
INLINE void gfm_pair(const block_t *block, int m, const int kernels, const int v, vec_t z[3][BLOCK])
{
    const int nd = block->reach, width = 2 * nd + 1;
    const float *K = block->K + m * 9 * gfnn_stencil(nd);
    vec_t sum[PAIR][3][BLOCK] = {{{{0}}}};
    for (int row = 0; row < width * width; row++)
        for (int j = 0; j < 3; j++) {
            const float *r = block->r + j * block->plane + (row / width - nd) * block->slab +
                             (row % width - nd) * block->pitch - nd;
            for (int dx = 0; dx < width; dx++, K += 3 * kernels) {
                vec_t value[BLOCK];
                FOR_VECTORS(b)
                {
                    load(&value[b], r + dx + b * LANES);
                    KEEP(value[b]);
                }
                FOR_KERNELS(p)
                {
                    UNROLL
                    for (int i = 0; i < 3; i++) {
                        FOR_VECTORS(b)
                        sum[p][i][b] += K[3 * p + i] * value[b];
                    }
                }
            }
        }
    FOR_KERNELS(p)
    {
        FOR_VECTORS(b)
        {
            vec_t c;
            load_nodes(block, &c, block->c + (m + p) * block->c_plane + b * LANES);
            UNROLL
            for (int i = 0; i < 3; i++)
                z[i][b] += c * sum[p][i][b];
        }
    }
}

INLINE void gfm(const block_t *block, const int v)
{
    vec_t z[3][BLOCK] = {{{0}}};
    int m = 0;
    for (; m + PAIR <= block->kernels; m += PAIR)
        gfm_pair(block, m, PAIR, v, z);
    if (m < block->kernels)
        gfm_pair(block, m, 1, v, z);
    store_nodes(block, v, z);
}

/* z += a row of taps; weight: for i = j and i != j, at the first of them. */
INLINE void gf8_row(const block_t *block, const float *K, const float *r, const int v,
                    vec_t weight[2][BLOCK], vec_t step[2][BLOCK], vec_t z[3][BLOCK])
{
    for (int dx = 0; dx < 2 * block->reach + 1; dx++, K += 6) {
        FOR_VECTORS(b)
        {
            vec_t r0, r1, r2;
            load(&r0, r + dx + b * LANES);
            load(&r1, r + dx + b * LANES + block->plane);
            load(&r2, r + dx + b * LANES + 2 * block->plane);
            const vec_t same = weight[0][b], other = weight[1][b];
            const vec_t o0 = other * r0, o1 = other * r1, o2 = other * r2;
            z[0][b] += K[0] * (same * r0);
            z[1][b] += K[1] * (same * r1);
            z[2][b] += K[2] * (same * r2);
            z[1][b] += K[5] * o0;
            z[2][b] += K[3] * o1;
            z[0][b] += K[4] * o2;
            z[2][b] += K[4] * o0;
            z[0][b] += K[5] * o1;
            z[1][b] += K[3] * o2;
            weight[0][b] = same + step[0][b];
            weight[1][b] = other + step[1][b];
        }
    }
}

INLINE void gf8(const block_t *block, const int v)
{
    const int nd = block->reach, width = 2 * nd + 1;
    const float unit = 1.0f / (float)nd; /* of s */
    const float *K = block->K;
    vec_t c[2][4][BLOCK], z[3][BLOCK] = {{{0}}}, step[2][BLOCK], weight[2][BLOCK];
    for (int h = 0; h < 2; h++)
        FOR_VECTORS(b)
        {
            for (int q = 0; q < 4; q++)
                load_nodes(block, &c[h][q][b], block->c + (4 * h + q) * block->c_plane + b * LANES);
            step[h][b] = unit * c[h][1][b];
        }
    for (int row = 0; row < width * width; row++, K += 6 * width) {
        const int dz = row / width - nd, dy = row % width - nd;
        const float y_unit = unit * (float)dy, z_unit = unit * (float)dz;
        UNROLL
        for (int h = 0; h < 2; h++) {
            FOR_VECTORS(b)
            weight[h][b] = c[h][0][b] - c[h][1][b] + y_unit * c[h][2][b] + z_unit * c[h][3][b];
        }
        gf8_row(block, K, block->r + dz * block->slab + dy * block->pitch - nd, v, weight, step, z);
    }
    store_nodes(block, v, z);
}

/* --- a copy for each form and v --- */

typedef void block_fn(const block_t *block);
#define DEFINE(FORM, V)                          \
    static void FORM##_##V(const block_t *block) \
    {                                            \
        FORM(block, V);                          \
    }
DEFINE(gfm, 1)
DEFINE(gfm, 2)
DEFINE(gf8, 1)
DEFINE(gf8, 2)
#if defined(__AVX512F__) || defined(__aarch64__)
DEFINE(gfm, 3)
DEFINE(gfm, 4)
DEFINE(gf8, 3)
DEFINE(gf8, 4)
static block_fn *const gfm_of[] = {gfm_1, gfm_2, gfm_3, gfm_4};
static block_fn *const gf8_of[] = {gf8_1, gf8_2, gf8_3, gf8_4};
#else
static block_fn *const gfm_of[] = {gfm_1, gfm_2};
static block_fn *const gf8_of[] = {gf8_1, gf8_2};
#endif

/* --- all nodes --- */

int64_t gfnn_simd_copies(const gfnn_view_t *view, const gfnn_network_t *network)
{
    const int64_t *n = view->box->n, nd = network->reach;
    const data_t *data = view->data;
    return data->r ? 3 * (n[1] + 2 * nd) * (n[2] + 2 * nd) : 0;
}

void gfnn_simd_copy(const gfnn_view_t *view, const gfnn_network_t *network, const void *r,
                    int64_t row)
{
    const gfnn_grid_t *wide = &view->box->wide;
    const int64_t nd = network->reach, length = wide->n[0] + 2 * nd;
    const int64_t rows = wide->n[1] + 2 * nd, layers = wide->n[2] + 2 * nd;
    const data_t *data = view->data;
    const int64_t at = row / (rows * layers) * wide->plane +
                       gfnn_at(wide, -nd, row % rows - nd, row / rows % layers - nd);
    if (network->precision == GFNN_FP32)
        memcpy(data->r + at, (const float *)r + at, (size_t)length * sizeof(float));
    else
        for (int64_t i = 0; i < length; i++)
            data->r[at + i] = gfnn_from_half(((const uint16_t *)r)[at + i]);
}

static void blocks(block_fn *const *of, const block_t *first, int64_t n)
{
    for (int64_t x = 0; x < n;) {
        const int64_t left = n - x;
        int v = 1;
        if (left >= LANES) {
            v = left / LANES < BLOCK ? (int)(left / LANES) : BLOCK;
        } else if (n > LANES) {
            x = n - LANES;
        }
        block_t block = *first;
        block.c += x;
        block.r += x;
        block.z += x;
        of[v - 1](&block);
        x += v * LANES;
    }
}

void gfnn_simd_predict(const gfnn_view_t *view, const gfnn_network_t *network, const void *r,
                       int64_t row, float *z)
{
    const gfnn_grid_t *wide = &view->box->wide, *bare = &view->box->bare;
    const data_t *data = view->data;
    const int64_t n = wide->n[0], j = row % wide->n[1], k = row / wide->n[1];
    const int64_t at = gfnn_at(wide, 0, j, k);
    const block_t first = {.K = data->K,
                           .c = network->c + gfnn_at(bare, 0, j, k),
                           .r = (data->r ? data->r : (const float *)r) + at,
                           .z = z + at,
                           .kernels = network->kernels,
                           .reach = network->reach,
                           .bytes = sizeof(float) * (size_t)(n < LANES ? n : LANES),
                           .pitch = wide->pitch,
                           .slab = wide->slab,
                           .plane = wide->plane,
                           .c_plane = bare->plane};
    blocks(network->form == GFNN_GF8 ? gf8_of : gfm_of, &first, n);
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const int64_t copies = gfnn_simd_copies(view, network);
    const int64_t rows = view->box->n[1] * view->box->n[2];
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t row = 0; row < copies; row++)
            gfnn_simd_copy(view, network, r, row);
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++)
            gfnn_simd_predict(view, network, r, row, z);
    }
}

/* --- set-up --- */

static void pack_gfm(const gfnn_network_t *network, float *to)
{
    const int width = 2 * network->reach + 1;
    const int64_t taps = gfnn_stencil(network->reach);
    for (int m = 0; m < network->kernels; m += PAIR) {
        const int kernels = network->kernels - m < PAIR ? 1 : PAIR;
        for (int row = 0; row < width * width; row++)
            for (int j = 0; j < 3; j++)
                for (int dx = 0; dx < width; dx++)
                    for (int p = 0; p < kernels; p++)
                        for (int i = 0; i < 3; i++)
                            *to++ =
                                network->K[(((m + p) * 3 + i) * 3 + j) * taps + row * width + dx];
    }
}

static void pack_gf8(const gfnn_network_t *network, float *to)
{
    static const int pair[6] = {0, 4, 8, 5, 2, 1}; /* 3 i + j of xx yy zz yz zx xy */
    const int64_t taps = gfnn_stencil(network->reach);
    for (int64_t s = 0; s < taps; s++)
        for (int p = 0; p < 6; p++)
            *to++ = network->K[pair[p] * taps + s];
}

static bool is_copied(int64_t n, int precision)
{
    return precision == GFNN_FP16 || n < LANES;
}

static size_t packed(int form, int64_t kernels, int64_t reach)
{
    return (size_t)(gfnn_stencil(reach) * (form == GFNN_GF8 ? 6 : 9 * kernels));
}

static void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    const size_t values = (size_t)(3 * view->box->wide.plane) + LANES;
    data->K = RT_NEW(float, packed(network->form, network->kernels, network->reach), RT_HOST);
    data->r =
        is_copied(view->box->n[0], network->precision) ? RT_NEW(float, values, RT_HOST) : NULL;
    if (network->form == GFNN_GF8)
        pack_gf8(network, data->K);
    else
        pack_gfm(network, data->K);
    view->data = data;
}

static void tear_down(gfnn_view_t *view)
{
    data_t *data = view->data;
    RT_FREE(data->K, RT_HOST);
    RT_FREE(data->r, RT_HOST);
    RT_FREE(view->data, RT_HOST);
}

static double memory(const gfnn_config_t *config, const gfnn_box_t *box)
{
    return is_copied(box->n[0], config->precision) ? 3.0 * (double)box->wide.plane * sizeof(float)
                                                   : 0;
}

const gfnn_predictor_t gfnn_predictor_simd = {
    .apply = apply, .set_up = set_up, .tear_down = tear_down, .memory = memory};

const gfnn_kernels_t gfnn_net_simd = {
    .rung = {.precision = "FP32, r in FP32 or FP16", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {&gfnn_predictor_simd, &gfnn_predictor_simd},
};
