/*
 * test_mtx.c - Matrix Market files: a small block matrix is written, read and compared entry by
 * entry; then that file is broken in every way.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "apps/fun3d-mcpi/input/input.h"
#include "tests/common/check.h"
#include "tests/common/guarded.h"

enum { NB = 4, ROWS = 3, N = NB * ROWS, MOST = 1 << 13 };
static char *guarded; /* MOST bytes; an access beyond them faults */
static char file[MOST];
static size_t size;
static double matrix[N][N];
static char why[512];

/* Block rows 0 and 2 are not neighbours; block (1, 2) has one entry, at its corner. */
static bool is_entry(int i, int j)
{
    const int a = i / NB, b = j / NB;
    if (a == b)
        return true;
    if (a == 1 && b == 2)
        return i == 7 && j == 8;
    return abs(a - b) == 1 && (i + j) % 2 == 0;
}

/* Writes from the last entry to the first, so that all must be sorted. */
static void write_file(void)
{
    int entries = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            entries += is_entry(i, j);
    size = (size_t)snprintf(file, sizeof file,
                            "%%%%MatrixMarket matrix coordinate real general\n%% comment\n%%\n"
                            "%d %d %d\n",
                            N, N, entries);
    for (int i = N - 1; i >= 0; i--)
        for (int j = N - 1; j >= 0; j--)
            if (is_entry(i, j)) {
                matrix[i][j] = 1 + 0.25 * i - 8 * j;
                size += (size_t)snprintf(file + size, sizeof file - size, "%d %d %g\n", i + 1,
                                         j + 1, matrix[i][j]);
            }
}

static mcpi_source_t *parse(const char *data, size_t n, int nb)
{
    const size_t before = rt_mem_used(RT_HOST);
    char *at = guarded + MOST - n;
    memcpy(at, data, n);
    mcpi_source_t *source = mcpi_mtx_parse("m", at, n, nb, why, sizeof why);
    if (!source && !(rt_mem_used(RT_HOST) == before && strncmp(why, "m: ", 3) == 0 &&
                     strlen(why) > 3 && !strchr(why, '\n'))) {
        fprintf(stderr, "    %s\n", why);
        CHECK(!"a refusal frees all and has one line");
    }
    return source;
}

/* Catches a transposed block, entries of another block or row, a list that does not ascend, a
 * missing entry that is not zero. */
static bool is_the_matrix(const mcpi_source_t *source)
{
    const mcpi_graph_t *graph = source ? source->graph : NULL;
    if (!source || graph->rows != ROWS || source->nb != NB || source->x || graph->start[ROWS] != 4)
        return false;
    bool held = true;
    for (int a = 0; a < ROWS; a++) {
        double D[NB * NB], O[2 * NB * NB], full[NB][N] = {{0}};
        const int64_t first = graph->start[a], n = graph->start[a + 1] - first;
        held = held && n == (a == 1 ? 2 : 1);
        if (!held)
            return false;
        source->row(source, a, D, O);
        for (int64_t k = -1; k < n; k++) {
            const double *block = k < 0 ? D : O + k * NB * NB;
            const int b = k < 0 ? a : graph->neighbour[first + k];
            held = held && b >= 0 && b < ROWS;
            for (int j = 0; held && j < NB; j++)
                for (int i = 0; i < NB; i++)
                    full[i][NB * b + j] += block[j * NB + i];
        }
        held = held && memcmp(full, matrix[NB * a], sizeof full) == 0;
    }
    return held;
}

static void test_good(void)
{
    mcpi_source_t *source = parse(file, size, NB);
    if (!source)
        fprintf(stderr, "    %s\n", why);
    CHECK(is_the_matrix(source));
    mcpi_source_destroy(source);
}

/* Every beginning of the file is refused, until only digits of the last value are missing. */
static void test_cut(void)
{
    size_t last = size - 1; /* where the last line starts */
    while (file[last - 1] != '\n')
        last--;
    for (size_t n = 0; n < size; n++) {
        mcpi_source_t *source = parse(file, n, NB);
        CHECK(!source || n > last);
        mcpi_source_destroy(source);
    }
}

/* Flipped bits may give another matrix, but it must be sound; and some must be refused. */
static void test_bits(void)
{
    static char broken[MOST];
    size_t refused = 0, unsound = 0;
    memcpy(broken, file, size);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            broken[i] = (char)(file[i] ^ (1 << bit));
            mcpi_source_t *source = parse(broken, size, NB);
            refused += !source;
            unsound += source && !mcpi_graph_check(source->graph, why, sizeof why);
            mcpi_source_destroy(source);
            broken[i] = file[i];
        }
    CHECK(unsound == 0);
    CHECK(refused > size);
}

/* Changes the first `old` to `new`: the file is refused with this text, or (NULL) still the
 * same. */
static void check_change(const char *old, const char *new, const char *wanted)
{
    static char broken[MOST];
    const char *at = strstr(file, old);
    CHECK(at != NULL);
    if (!at)
        return;
    const size_t i = (size_t)(at - file), n = size + strlen(new) - strlen(old);
    memcpy(broken, file, i);
    memcpy(broken + i, new, strlen(new));
    memcpy(broken + i + strlen(new), at + strlen(old), size - i - strlen(old));
    mcpi_source_t *source = parse(broken, n, NB);
    if (!wanted)
        CHECK(is_the_matrix(source));
    else {
        if (source || !strstr(why, wanted))
            fprintf(stderr, "    %s\n", source ? "accepted" : why);
        CHECK(!source && strstr(why, wanted));
    }
    mcpi_source_destroy(source);
}

static void test_messages(void)
{
    check_change("%%MatrixMarket", "%MatrixMarket", "not a Matrix Market file");
    check_change("matrix", "vector", "line 1: object \"vector\": only matrix");
    check_change("coordinate", "array", "line 1: format \"array\": only coordinate");
    check_change("real", "complex", "field \"complex\": only real or integer can be read");
    check_change("real", "pattern", "field \"pattern\"");
    check_change("general", "symmetric", "symmetry \"symmetric\": only general");
    check_change("12 12 ", "12 13 ", "line 4: 12 rows and 13 columns: must be square");
    check_change("12 12 ", "13 13 ", "line 4: 13 rows: not a multiple of the block size, 4");
    check_change("12 12 ", "0 0 ", "line 4: 0 rows: must be 1 to");
    check_change("12 12 ", "2147483648 2147483648 ", "line 4: 2147483648 rows: must be 1 to");
    check_change("12 12 ", "2147483644 2147483644 ",
                 "line 4: 73 entries cannot fill the 536870911");
    check_change("12 12 73", "12 12 2147483648", "line 4: 2147483648 entries: must be 1 to");
    check_change("12 12 73", "12 12 2147483647", "entries do not fit in the");
    check_change("12 12 73", "12 12 0", "0 entries");
    check_change("12 12 73", "12 12 74", "the file ends here, where row should follow");
    check_change("12 12 73", "12 12 72", "line 77: \"1\" follows on the last of 72 entries");
    check_change("12 12 73", "12 12", "line 4: the number of entries is missing");
    check_change("\n12 12 -", "\n12 13 -", "line 5: column 13: must be 1 to 12");
    check_change("\n12 12 -", "\n0 12 -", "line 5: row 0: must be 1 to 12");
    check_change("\n12 12 -", "\n12 -12 -", "line 5: column -12");
    check_change("\n12 12 -", "\n12 11 -", "m: row 12, column 11 is listed twice");
    check_change("\n12 12 -", "\n12 12 nan\n% -", "row 12, column 12: the value is not finite");
    check_change("\n12 12 -", "\n12 12 1e999\n% -", "row 12, column 12: the value is not finite");
    check_change("\n12 12 -", "\n12 12 1 2\n% -", "line 5: the line should end before \"2\"");
    check_change("\n12 12 -", "\n12 12\n% -", "line 5: the value of an entry is missing");
    check_change("\n8 9 ", "\n8 1 ", "has neighbour 1, which does not"); /* no (1, 2) */
    check_change("matrix coordinate", "MATRIX Coordinate", NULL);
    check_change("% comment\n", "", NULL);
    check_change("12 12 73\n", "\n%\n12 12 73 \r\n\n% more\n", NULL);
}

static void test_structure(void)
{
    static const char head[] = "%%MatrixMarket matrix coordinate integer general\n";
    static const struct {
        const char *body, *wanted;
    } cases[] = {
        {"8 8 3\n1 1 1\n1 5 1\n5 1 1\n", "block row 1 (rows 5 to 8) has no diagonal block"},
        {"8 8 2\n1 1 1\n5 5 1\n", "there are no blocks off the diagonal"},
        {"8 8 3\n1 1 1\n1 5 1\n5 5 1\n", "in blocks from 0, row 0 has neighbour 1, which does not"},
        {"8 8 4\n1 1 1\n4 5 1\n8 1 2\n8 8 -1\n", NULL}};
    char text[256];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        snprintf(text, sizeof text, "%s%s", head, cases[c].body);
        mcpi_source_t *source = parse(text, strlen(text), NB);
        if (source || !cases[c].wanted)
            CHECK(source && !cases[c].wanted && source->graph->start[2] == 2);
        else if (!strstr(why, cases[c].wanted))
            CHECK_TEXT(why, cases[c].wanted);
        mcpi_source_destroy(source);
    }
    CHECK(!mcpi_mtx_read("/nonexistent.mtx", NB, why, sizeof why) && strstr(why, "No such file"));
    CHECK(!mcpi_mtx_parse("m", NULL, 0, NB, why, sizeof why) && strstr(why, "the file is empty"));
}

int main(void)
{
    guarded = guarded_new(MOST);
    write_file();
    test_good();
    test_cut();
    test_bits();
    test_messages();
    test_structure();
    CHECK(rt_mem_used(RT_HOST) == 0);
    guarded_free(guarded, MOST);
    return check_done();
}
