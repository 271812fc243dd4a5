/*
 * test_system.c - what is made of blocks: 16-bit values, and rows that cannot be used. The judge checks
 * in every run how rows are scaled, rounded and factored.
 */
#include "config.h"
#include "flow_test.h"

/* --- 16 bits --- */

/* Converts every pattern there and back. Between two neighbours the nearer one is right, halfway
 * the even one. */
static void check_16_bits(mcpi_type_t type, uint16_t infinity, double least)
{
    int back = 0, halves = 0, nan = 0, order = 0;
    for (uint32_t k = 0; k <= 0xffff; k++) {
        const uint16_t x = (uint16_t)k, magnitude = x & 0x7fff, sign = x & 0x8000;
        const double value = mcpi_from_16(type, x);
        if (magnitude > infinity) {
            nan += value == value || (mcpi_to_16(type, value) & 0x7fff) <= infinity;
            continue;
        }
        back += mcpi_to_16(type, value) != x;
        if (magnitude >= infinity)
            continue;
        const uint16_t next = x + 1;
        /* the value in infinity's place if exponents continued: overflow starts halfway to it */
        const double far = magnitude + 1 < infinity ? mcpi_from_16(type, next)
                           : infinity == 0x7c00     ? (sign ? -0x1p16 : 0x1p16)
                                                    : (sign ? -0x1p128 : 0x1p128);
        const double middle = (value + far) / 2;
        order += fabs(far) <= fabs(value);
        halves += mcpi_to_16(type, middle) != (x & 1 ? next : x);
        halves += mcpi_to_16(type, nextafter(middle, value)) != x ||
                  mcpi_to_16(type, nextafter(middle, far)) != next;
    }
    CHECK(back == 0 && halves == 0 && nan == 0 && order == 0);
    CHECK(mcpi_from_16(type, 1) == least && mcpi_from_16(type, 0x8001) == -least);
    CHECK(mcpi_from_16(type, infinity) == INFINITY && mcpi_to_16(type, 1e300) == infinity &&
          mcpi_to_16(type, -1e300) == (0x8000 | infinity));
    CHECK(mcpi_to_16(type, 1e-300) == 0 && mcpi_to_16(type, -1e-300) == 0x8000 &&
          mcpi_to_16(type, 5e-324) == 0);
    CHECK(mcpi_to_16(type, 1) == (infinity == 0x7c00 ? 0x3c00 : 0x3f80));
}

/* --- the system --- */

/* Rows are in another order than vertices: row i is vertex rows - 1 - i. */
typedef struct {
    mcpi_matrix_t matrix;
    mcpi_part_t part;
} host_t;

static host_t host_new(const mcpi_source_t *source)
{
    const int64_t rows = source->graph->rows;
    const int nb = source->nb;
    rows_t r = rows_new(source);
    host_t h = {.matrix = {.nb = nb, .D = r.D, .O = r.O}};
    h.part = (mcpi_part_t){.rows = rows,
                           .global_rows = rows,
                           .start = source->graph->start,
                           .vertex = RT_NEW(int64_t, (size_t)rows, RT_HOST)};
    h.matrix.R = RT_NEW(double, (size_t)(rows * nb), RT_HOST);
    for (int64_t i = 0; i < rows; i++) {
        h.part.vertex[i] = rows - 1 - i;
    }
    for (int64_t k = 0; k < rows * nb; k++)
        h.matrix.R[k] = rt_random((uint64_t)k, 4);
    /* different sizes: entries of O that only fit into 16 bits if they are scaled */
    for (int64_t i = 0; i < rows; i++) {
        const double size = ldexp(1 + 0.3 * rt_random((uint64_t)i, 6), (int)(i % 90) - 60);
        for (int k = 0; k < nb * nb; k++)
            h.matrix.D[i * nb * nb + k] *= size;
        for (int k = 0; k < nb; k++)
            h.matrix.R[i * nb + k] *= size;
        for (int64_t k = h.part.start[i] * nb * nb; k < h.part.start[i + 1] * nb * nb; k++)
            h.matrix.O[k] *= size;
    }
    return h;
}

static void host_destroy(host_t *h)
{
    RT_FREE_ALL(RT_HOST, h->matrix.D, h->matrix.O, h->matrix.R, h->part.vertex);
}

static mcpi_system_t *system_of(host_t *h, mcpi_type_t type, char *why, size_t len)
{
    h->matrix.part = &h->part;
    return mcpi_system_new(&h->matrix, type, why, len);
}

/* Spoils entries of two rows; the first of them must be named, by its vertex. */
static void check_refused(const mcpi_source_t *source, mcpi_type_t type, char what, int64_t entry,
                          double value, const char *text)
{
    host_t h = host_new(source);
    const int64_t nb = source->nb, nb2 = nb * nb;
    const int64_t rows[2] = {40, 9};
    char why[256] = "", vertex[64];
    for (int k = 0; k < 2; k++) {
        const int64_t i = rows[k];
        const double size = ldexp(1, ilogb(h.matrix.D[i * nb2]));
        if (what == 'D' && entry < 0) /* all of it */
            for (int64_t m = 0; m < nb2; m++)
                h.matrix.D[i * nb2 + m] *= value;
        else if (what == 'D')
            h.matrix.D[i * nb2 + entry] = value;
        else if (what == 'O')
            h.matrix.O[h.part.start[i] * nb2 + entry] = value * size;
        else if (what == 'R')
            h.matrix.R[i * nb + entry] = value;
        else /* a row of D is nearly another one */
            for (int64_t j = 0; j < nb; j++)
                h.matrix.D[i * nb2 + j * nb + 1] =
                    h.matrix.D[i * nb2 + j * nb] + (j == 1 ? value * size : 0);
    }
    mcpi_system_t *s = system_of(&h, type, why, sizeof why);
    CHECK(s == NULL);
    snprintf(vertex, sizeof vertex, "vertex %d:", (int)(h.part.rows - 1 - 9));
    CHECK(strstr(why, vertex) != NULL && strstr(why, text) != NULL && strchr(why, '\n') == NULL);
    if (!strstr(why, vertex) || !strstr(why, text))
        fprintf(stderr, "    got: %s\n", why);
    mcpi_system_destroy(s);
    host_destroy(&h);
}

static void check_refusals(const mcpi_source_t *source)
{
    check_refused(source, MCPI_FP64, 'D', -1, 0, "is zero");
    check_refused(source, MCPI_FP64, 'D', 3, NAN, "is finite");
    check_refused(source, MCPI_FP64, 'D', 0, INFINITY, "is finite");
    check_refused(source, MCPI_FP32, 'O', 7, -INFINITY, "is finite");
    check_refused(source, MCPI_FP16, 'R', 4, NAN, "is finite");
    check_refused(source, MCPI_FP64, 'D', 0, 0, "pivot 1");
    check_refused(source, MCPI_FP64, 'P', 0, 0, "pivot 2");
    check_refused(source, MCPI_FP64, 'P', 0, 1e-13, "pivot 2");
    check_refused(source, MCPI_FP16, 'O', 7, 0x1p24, "overflows fp16");
    check_refused(source, MCPI_BF16, 'O', 7, 0x1p136, "overflows bf16");
    check_refused(source, MCPI_FP32, 'O', 7, 0x1p136, "overflows fp32");
}

int main(void)
{
    rt_mesh_t *tets = cube(3, false);
    mcpi_source_t *source = flow_on(tets, 5, "1");
    check_refusals(source);
    mcpi_source_destroy(source);
    rt_mesh_destroy(tets);
    check_16_bits(MCPI_FP16, 0x7c00, 0x1p-24);
    check_16_bits(MCPI_BF16, 0x7f80, 0x1p-133);
    return check_done();
}
