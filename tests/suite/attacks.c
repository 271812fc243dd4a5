/*
 * attacks.c - what a submission may try on the one who grades it and on other submissions. climb.sh puts this before a
 * solution that calls attack(), with GRADER, the process that grades, and FILES, which are not its own. It ends the
 * program, and the reason that the grader gives is what worked.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MOST_FORKS 1000

static char worked[4096];

static void note(const char *what, const char *where, bool success)
{
    const size_t n = strlen(worked);
    if (success)
        snprintf(worked + n, sizeof worked - n, " %s%s;", what, where);
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
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_pton(AF_INET, "192.0.2.1", &other.sin_addr);
    note("connect", "",
         connect(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&other, sizeof other) == 0);
    note("stop", "", kill(GRADER, SIGSTOP) == 0 || kill(GRADER, SIGKILL) == 0);
    note("setpriority", "", setpriority(PRIO_PROCESS, (id_t)GRADER, 19) == 0);
    note("ptrace", "", ptrace(PTRACE_SEIZE, GRADER, NULL, NULL) == 0);
    attack_files();
    attack_machine();
    printf("nekbone: attacks that worked:%s\n", worked[0] ? worked : " none");
    fflush(stdout);
    _exit(3);
}
