/*
 * test_comm.c - the ranks, alone or under mpirun: each answer depends on rank and size, so a
 * function that does nothing fails as soon as there are two ranks.
 *
 *   test_comm            the checks
 *   test_comm library    prints what rt_comm_library says (halo_mpi.sh asks)
 *   test_comm die        the last rank dies while the others wait: all must end, with its status
 *   test_comm refuse     all ranks refuse: one of them speaks
 */
#include "config.h"
#include <stdint.h>
#include "check.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "base/error.h"

static int rank, size;

static void test_reductions(void)
{
    double x[3] = {rank + 1, -rank, 0.5};
    rt_comm_sum(x, 3);
    CHECK(x[0] == size * (size + 1) / 2.0);
    CHECK(x[1] == -size * (size - 1) / 2.0);
    CHECK(x[2] == 0.5 * size);

    double high[2] = {rank, -rank}, low[2] = {rank, -rank};
    rt_comm_max(high, 2);
    rt_comm_min(low, 2);
    CHECK(high[0] == size - 1 && high[1] == 0);
    CHECK(low[0] == 0 && low[1] == -(size - 1));

    int64_t big[2] = {(INT64_C(1) << 53) + rank, 1}; /* a double could not add these */
    rt_comm_sum_i64(big, 2);
    CHECK(big[0] == (INT64_C(1) << 53) * size + size * (size - 1) / 2);
    CHECK(big[1] == size);
}

static void test_broadcast(void)
{
    for (int root = 0; root < size; root++) {
        char word[32] = "";
        if (rank == root)
            snprintf(word, sizeof word, "from %d", root);
        rt_comm_bcast(word, sizeof word, root);
        char want[32];
        snprintf(want, sizeof want, "from %d", root);
        CHECK_TEXT(word, want);
    }
}

static void test_allgather(void)
{
    short mine[3] = {(short)rank, (short)(10 * rank), 7};
    short *all = malloc((size_t)size * sizeof mine);
    rt_comm_allgather(mine, sizeof mine, all);
    for (int r = 0; r < size; r++)
        CHECK(all[3 * r] == r && all[3 * r + 1] == 10 * r && all[3 * r + 2] == 7);
    free(all);
}

/* Rank r sends (r + 2 to) % 5 items to rank `to`: uneven, some none. An item says where it comes
 * from, where it goes, and which one it is. */
static int64_t items_from_to(int from, int to)
{
    return (from + 2 * to) % 5;
}

static void test_exchange(void)
{
    typedef struct {
        int from, to, number;
    } item_t;
    size_t counts = (size_t)size * sizeof(int64_t);
    int64_t *nsend = malloc(counts), *nrecv = malloc(counts);
    item_t *send = malloc((size_t)size * 5 * sizeof *send);
    int64_t n = 0;
    for (int to = 0; to < size; to++) {
        nsend[to] = items_from_to(rank, to);
        for (int i = 0; i < nsend[to]; i++)
            send[n++] = (item_t){rank, to, i};
    }
    item_t *recv = rt_comm_exchange(send, nsend, sizeof *send, nrecv);
    int64_t at = 0;
    for (int from = 0; from < size; from++) {
        CHECK(nrecv[from] == items_from_to(from, rank));
        for (int i = 0; i < nrecv[from]; i++, at++)
            CHECK(recv[at].from == from && recv[at].to == rank && recv[at].number == i);
    }
    CHECK((recv == NULL) == (at == 0));
    free(recv);

    memset(nsend, 0, counts); /* nobody sends anything */
    memset(nrecv, 1, counts);
    CHECK(rt_comm_exchange(NULL, nsend, sizeof *send, nrecv) == NULL);
    for (int from = 0; from < size; from++)
        CHECK(nrecv[from] == 0);
    free(send);
    free(nsend);
    free(nrecv);
}

/* A ring in both directions at once, told apart by the tag, the longer message beyond any eager
 * limit. The set of requests is used twice. */
static void test_messages(void)
{
    enum { LONG = 300000 };
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in), back = -1;
    rt_request_t *requests = rt_request_new(4);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LONG; i++)
            out[i] = rank * LONG + i + round;
        rt_request_recv(requests, in, LONG * sizeof *in, before, 1);
        rt_request_recv(requests, &back, sizeof back, next, 2);
        rt_request_send(requests, &rank, sizeof rank, before, 2);
        rt_request_send(requests, out, LONG * sizeof *out, next, 1);
        rt_request_wait(requests);
        int wrong = 0;
        for (int i = 0; i < LONG; i++)
            wrong += in[i] != before * LONG + i + round;
        CHECK(wrong == 0);
        CHECK(back == next);
    }
    rt_request_destroy(requests);
    free(out);
    free(in);
}

/* Catches a fault that is lost, or of another rank than the lowest that has one. */
static void test_agree(void)
{
    const int rank = rt_comm_rank(), size = rt_comm_size();
    char line[40] = "", want[40];
    CHECK(rt_comm_agree(line, sizeof line) == -1 && line[0] == '\0');
    if (rank >= size / 2)
        snprintf(line, sizeof line, "fault of rank %d", rank);
    snprintf(want, sizeof want, "fault of rank %d", size / 2);
    CHECK(rt_comm_agree(line, sizeof line) == size / 2);
    CHECK_TEXT(line, want);
}

static void test_identity(void)
{
    CHECK(rank >= 0 && rank < size);
    CHECK(rt_comm_local_size() >= 1 && rt_comm_local_size() <= size);
    CHECK(rt_comm_local_rank() >= 0 && rt_comm_local_rank() < rt_comm_local_size());
    CHECK(strlen(rt_comm_host()) > 0);
    CHECK(strlen(rt_comm_library()) > 0);

    int *ranks = malloc((size_t)size * sizeof *ranks);
    rt_comm_allgather(&rank, sizeof rank, ranks);
    for (int r = 0; r < size; r++)
        CHECK(ranks[r] == r);
    rt_comm_local_allgather(&rank, sizeof rank, ranks);
    CHECK(ranks[rt_comm_local_rank()] == rank);
    for (int r = 0; r < rt_comm_local_size(); r++)
        CHECK(rt_comm_node(ranks[r]) == rt_comm_node(rank));
    CHECK(rt_comm_node(0) == 0 && rt_comm_node(size - 1) < rt_comm_nodes());
    free(ranks);
}

/* A build without MPI that mpirun started on several ranks says so, once. */
static void test_launched_without_mpi(void)
{
#if !RT_HAVE_MPI
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    CHECK_DIES(RT_ENVIRONMENT, "3 ranks, but this build has no MPI", { rt_comm_init(NULL, NULL); });
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    if (check_fork() == 0) { /* the other ranks end with the same status, silently */
        rt_comm_init(NULL, NULL);
        check_survived();
    }
    int status;
    CHECK(waitpid(check_state.child, &status, 0) > 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == RT_ENVIRONMENT);
    fseek(check_state.child_stderr, 0, SEEK_END);
    CHECK(ftell(check_state.child_stderr) == 0);
    fclose(check_state.child_stderr);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    CHECK(strstr(rt_comm_library(), "this build has no MPI") != NULL);
#endif
}

static void die_on_last_rank(void)
{
    if (rank == size - 1)
        rt_die(RT_MEMORY, "on purpose");
    rt_comm_barrier();
    rt_comm_barrier();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    rt_error_set_program("test_comm");
    rt_comm_init(&argc, &argv);
    rank = rt_comm_rank();
    size = rt_comm_size();
    if (strcmp(mode, "library") == 0) {
        if (rank == 0)
            printf("%d ranks: %s\n", size, rt_comm_library());
        rt_comm_finish();
        return 0;
    }
    if (strcmp(mode, "die") == 0)
        die_on_last_rank();
    if (strcmp(mode, "refuse-alone") == 0) { /* the others wait for it */
        if (rank == size - 1)
            rt_refuse(RT_USAGE, "on purpose, alone");
        rt_comm_barrier();
    }
    if (strcmp(mode, "refuse") == 0)
        rt_refuse(RT_ENVIRONMENT, "on purpose, %d ranks", size);

    rt_device_select("auto", true, 1);
    test_agree();
    test_identity();
    test_reductions();
    test_broadcast();
    test_allgather();
    test_exchange();
    if (size > 1)
        test_messages();
    test_launched_without_mpi();
    rt_comm_barrier();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
