/*
 * test_colour.c - colours of the rows: sound, few, balanced, the same on any number of threads.
 */
#include "config.h"
#include "graph_test.h"

/* --- colours --- */

static int64_t edges_inside(const mcpi_graph_t *graph, const uint16_t *colour)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < graph->rows; i++)
        for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++)
            bad += colour[i] == colour[graph->neighbour[k]];
    return bad;
}

static int first_greedy(const mcpi_graph_t *graph)
{
    int colours = 0, *colour = RT_NEW(int, (size_t)graph->rows, RT_HOST);
    for (int64_t i = 0; i < graph->rows; i++) {
        bool found = false;
        for (colour[i] = 0; !found; colour[i] += !found) {
            found = true;
            for (int64_t k = graph->start[i]; k < graph->start[i + 1]; k++)
                found =
                    found && !(graph->neighbour[k] < i && colour[graph->neighbour[k]] == colour[i]);
        }
        colours = colour[i] >= colours ? colour[i] + 1 : colours;
    }
    RT_FREE(colour, RT_HOST);
    return colours;
}

static double imbalance_of(int64_t rows, const uint16_t *colour, int colours)
{
    mcpi_part_t part = {.global_rows = rows, .colours = colours};
    int64_t first_row[MCPI_MAX_COLOURS + 1] = {0};
    for (int64_t i = 0; i < rows; i++)
        first_row[colour[i] + 1]++;
    for (int c = 0; c < colours; c++)
        first_row[c + 1] += first_row[c];
    part.first_row = first_row;
    return mcpi_part_imbalance(&part);
}

/* The colouring is sound, the same on 1, 2, 3 threads, has at most `most` colours and that
 * imbalance. Frees the graph. */
static int check_colours(mcpi_graph_t *graph, int most, double imbalance)
{
    uint16_t *colour = RT_NEW(uint16_t, (size_t)graph->rows, RT_HOST);
    uint16_t *again = RT_NEW(uint16_t, (size_t)graph->rows, RT_HOST);
    rt_threads_set(1);
    const int colours = colour_whole(graph, NULL, colour);
    bool used[MCPI_MAX_COLOURS] = {false}, all = true;
    int64_t outside = 0;
    for (int64_t i = 0; i < graph->rows; i++) {
        outside += colour[i] >= colours;
        used[colour[i] % MCPI_MAX_COLOURS] = true;
    }
    for (int c = 0; c < colours; c++)
        all = all && used[c];
    CHECK(colours <= most);
    CHECK(outside == 0 && all);
    CHECK(edges_inside(graph, colour) == 0);
    CHECK(imbalance_of(graph->rows, colour, colours) <= imbalance);
    for (int threads = 2; threads <= 3; threads++) {
        rt_threads_set(threads);
        CHECK(colour_whole(graph, NULL, again) == colours);
        CHECK(same(colour, again, graph->rows, sizeof *colour));
    }
    RT_FREE_ALL(RT_HOST, colour, again);
    mcpi_graph_destroy(graph);
    return colours;
}

static void check_colourings(void)
{
    check_colours(path(1000), 3, 1.01);
    check_colours(path(2), 2, 1);
    check_colours(complete(10), 10, 1);
    check_colours(complete(64), 64, 1);
    check_colours(stars(1, 3000), 2, 2);
    check_colours(stars(1000, 3), 2, 1.5); /* no leaf can move alone */
    check_colours(lattice(16, 100), 8, 1.01);
    check_colours(random_graph(2000, 8, 1), 7, 1.01);
    check_colours(random_graph(3000, 17, 2), 9, 1.01);
    mcpi_graph_t *thinned = lattice(24, 60);
    const int greedy = first_greedy(thinned), found = check_colours(thinned, 64, 1.01);
    CHECK(found < greedy); /* or the passes after the first do nothing */
    mcpi_graph_t *dense = complete(65);
    uint16_t colour[65];
    CHECK_DIES(RT_USAGE, "row 64 has neighbours of 64 colours",
               { colour_whole(dense, NULL, colour); });
    mcpi_graph_destroy(dense);
    CHECK(imbalance_of(8, (uint16_t[]){0, 1, 2, 0, 1, 0, 0, 3}, 4) == 2);
    CHECK(imbalance_of(8, (uint16_t[]){0, 1, 2, 3, 0, 1, 2, 3}, 4) == 1);
}

int main(void)
{
    check_colourings();
    CHECK(rt_mem_used(RT_HOST) == 0);
    return check_done();
}
