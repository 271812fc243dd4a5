/*
 * attacks.c - what a submission may try on the one who grades it and on other submissions. climb.sh puts this before a
 * solution that calls attack(), with GRADER, the process that grades, and FILES, which are not its own. It ends the
 * program, and the reason that the grader gives is what worked.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FORKS 1000

static char worked[4096];

static void note(const char *what, const char *where, bool success)
{
    size_t n = 0;
    while (worked[n])
        n++;
    if (success)
        snprintf(worked + n, sizeof worked - n, " %s%s;", what, where);
}

static void attack_process(int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", pid);
    const int folder = open(path, O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    const int signals[] = {SIGSTOP, SIGKILL};
    for (int i = 0; i < 2; i++) {
        siginfo_t info = {.si_signo = signals[i], .si_code = SI_QUEUE};
        note("kill", "", kill(pid, signals[i]) == 0);
        note("tkill", "", syscall(SYS_tkill, pid, signals[i]) == 0);
        note("tgkill", "", syscall(SYS_tgkill, pid, pid, signals[i]) == 0);
        note("sigqueue", "", syscall(SYS_rt_sigqueueinfo, pid, signals[i], &info) == 0);
        note("pidfd", "", syscall(SYS_pidfd_send_signal, folder, signals[i], NULL, 0) == 0);
    }
    struct rlimit second = {1, 1};
    cpu_set_t first = {0};
    CPU_SET(0, &first);
    struct iovec byte = {path, 1}, there = {(void *)0x400000, 1};
    note("prlimit", "", prlimit(pid, RLIMIT_CPU, &second, NULL) == 0);
    note("setpriority", "", setpriority(PRIO_PROCESS, (id_t)pid, 19) == 0);
    note("affinity", "", sched_setaffinity(pid, sizeof first, &first) == 0);
    note("ptrace", "", ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
    note("write", path, open(path, O_RDWR) >= 0);
    note("process_vm_writev", "",
         process_vm_writev(pid, &byte, 1, &there, 1, 0) == 1 || errno == EFAULT);
}

static void attack_files(void)
{
    static const char *const files[] = {FILES};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        note("write ", files[i], open(files[i], O_WRONLY | O_APPEND | O_CREAT, 0600) >= 0);
        note("replace ", files[i], unlink(files[i]) == 0);
    }
    note("read ", files[0], open(files[0], O_RDONLY) >= 0);
    static const char *const folders[] = {".", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/run", "/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[64];
        struct statvfs disk;
        snprintf(path, sizeof path, "%s/attack", folders[i]);
        note("fill ", folders[i],
             open(path, O_WRONLY | O_CREAT, 0600) >= 0 && statvfs(path, &disk) == 0 &&
                 disk.f_blocks * disk.f_frsize > 256 << 20);
        unlink(path);
    }
    if (fork() == 0) /* with all rights in namespaces of its own, which has one thread */
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
              mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0);
    int status = 0;
    wait(&status);
    note("remount", "", status != 0 || mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0);
}

static void attack_network(void)
{
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_pton(AF_INET, "192.0.2.1", &other.sin_addr);
    note("connect", "",
         connect(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&other, sizeof other) == 0);
}

/* Leaves processes that outlive their parent, as many as it may: the kernel does not limit those of root. */
static void attack_machine(void)
{
    int n = 0;
    for (; n < (geteuid() == 0 ? 5 : MOST_FORKS); n++) {
        const pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            for (;;)
                pause();
        }
    }
    note("fork", "", n == MOST_FORKS);
}

static void attack(void)
{
    attack_process(GRADER);
    attack_files();
    attack_network();
    attack_machine();
    printf("nekbone: attacks that worked:%s\n", worked[0] ? worked : " none");
    fflush(stdout);
    _exit(3);
}
