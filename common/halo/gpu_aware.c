/*
 * halo/gpu_aware.c - does this MPI move device memory?
 *
 * A library's own answer cannot be trusted, and the usual failure is a crash. So a child process
 * tries, and only its exit status 0 counts.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/error.h"
#include "base/mem.h"
#include "halo/transport.h"
#include "machine/comm.h"
#include "machine/device.h"
#include "machine/kokkos.h"

static bool proved;

bool rt_gpu_aware(void)
{
    return proved;
}

/* Sends `bytes` of device memory through MPI to this process itself; returns whether they arrived.
 */
static bool device_message_arrives(size_t bytes)
{
    unsigned char *host = RT_NEW(unsigned char, bytes, RT_HOST);
    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)(i * 7 + i / 251 + 1);
    unsigned char *from = rt_clone(host, bytes, 1, RT_DEVICE);
    unsigned char *to = RT_NEW(unsigned char, bytes, RT_DEVICE);
    unsigned char *back = RT_NEW(unsigned char, bytes, RT_HOST);
    rt_fill(to, RT_DEVICE, 0, bytes);
    rt_device_synchronize();

    rt_request_t *requests = rt_request_new(2);
    rt_request_recv(requests, to, bytes, 0, 1);
    rt_request_send(requests, from, bytes, 0, 1);
    rt_request_wait(requests);
    rt_request_destroy(requests);
    rt_copy(back, RT_HOST, to, RT_DEVICE, bytes);
    bool same = memcmp(host, back, bytes) == 0;

    RT_FREE(host, RT_HOST);
    RT_FREE(back, RT_HOST);
    RT_FREE(from, RT_DEVICE);
    RT_FREE(to, RT_DEVICE);
    return same;
}

int rt_gpu_aware_main(void)
{
    rt_device_select("auto", true, 1);
    if (!rt_device_gpu() || !rt_comm_init_alone())
        return EXIT_FAILURE;
    if (!rt_device_stream()) /* the GPU's memory is Kokkos's */
        rt_kokkos_start(1, rt_device_gpu()->ordinal);
    /* A short message is sent eagerly, a long one by rendezvous: two ways to fail. */
    bool arrived = device_message_arrives(64) && device_message_arrives(100003) &&
                   device_message_arrives((size_t)8 << 20);
    rt_comm_finish();
    return arrived ? EXIT_SUCCESS : EXIT_FAILURE;
}

extern char **environ;

/* Returns whether a launcher uses this variable to tell a process that it is one of many. What the
 * user set to tune MPI (OMPI_MCA_pml, UCX_TLS, ...) must stay, or the probe tries another MPI. */
static bool is_launchers(const char *variable)
{
    static const char *const prefixes[] = {"OMPI_COMM_",
                                           "OMPI_APP_",
                                           "OMPI_ARGV",
                                           "OMPI_COMMAND",
                                           "OMPI_FILE_",
                                           "OMPI_FIRST_",
                                           "OMPI_NUM_",
                                           "OMPI_UNIVERSE",
                                           "OMPI_MCA_orte_",
                                           "OMPI_MCA_ess",
                                           "OMPI_MCA_initial_wdir",
                                           "OMPI_MCA_shmem_RUNTIME",
                                           "OMPI_MCA_mpi_oversubscribe", /* set by mpirun itself */
                                           "PMIX_",
                                           "PMI_",
                                           "PMI2_",
                                           "PRTE_",
                                           "PALS_",
                                           "MV2_COMM_",
                                           "MPI_LOCAL",
                                           "HYDI_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Returns the environment without the launcher's variables; free the array, not the strings. */
static char **singleton_environment(void)
{
    static char isolated[] = "OMPI_MCA_ess_singleton_isolated=1"; /* starts no daemon of its own */
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **mine = malloc((n + 2) * sizeof *mine);
    RT_EXPECT(mine, RT_MEMORY, "no memory for %zu environment variables", n);
    for (size_t i = 0; i < n; i++)
        if (!is_launchers(environ[i]))
            mine[kept++] = environ[i];
    mine[kept++] = isolated;
    mine[kept] = NULL;
    return mine;
}

/* Returns the exit status of the child, or -1 if it crashed or had to be killed after `seconds`. */
static int wait_at_most(pid_t child, double seconds)
{
    const struct timespec nap = {0, 10000000};
    int status;
    for (int naps = 0; naps < seconds * 100; naps++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended < 0 && errno != EINTR)
            return -1;
        nanosleep(&nap, NULL);
    }
    kill(-child, SIGKILL); /* its group: MPI may have started helpers */
    waitpid(child, &status, 0);
    return -1;
}

enum { PATIENCE = 20 }; /* seconds */

/* posix_spawn, not fork: a forked child would share this process's device and network state. */
static bool probe_succeeds(const char *program)
{
    char path[] = "/proc/self/exe", option[] = "--probe-gpu-aware";
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", access(path, X_OK) == 0 || !program ? path : program);
    char *arguments[] = {name, option, NULL};
    char **variables = singleton_environment();
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int failed = posix_spawn(&child, name, &files, &attributes, arguments, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(variables);
    return !failed && wait_at_most(child, PATIENCE) == 0;
}

void rt_gpu_aware_probe(const char *program)
{
    double works = rt_device_gpu() != NULL;
    if (rt_comm_size() == 1)
        return;
    rt_comm_min(&works, 1);
    if (works > 0 && rt_comm_local_rank() == 0) /* one per host; its ranks share the answer */
        works = probe_succeeds(program);
    rt_comm_min(&works, 1);
    proved = works > 0;
}
