/* base/free_memory.c - the kernel's figures in /proc and the control groups' in /sys. */
#include "config.h"
#include "base/free_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the number after `key` in a file of lines "key number"; false if there is none. */
static bool file_number(const char *path, const char *key, uint64_t *value)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *end;
        const char *digits = line + strlen(key);
        *value = strtoull(digits, &end, 10);
        found = end != digits;
    }
    fclose(file);
    return found;
}

/* Returns what the control group at /sys/fs/cgroup + folder still allows: its limit less its use.
 * File pages that the kernel would drop at once do not count as used. */
static uint64_t cgroup_room(const char *folder, bool v2)
{
    char path[1024];
    uint64_t limit, used, cached = 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", folder,
             v2 ? "memory.max" : "memory.limit_in_bytes");
    if (!file_number(path, "", &limit)) /* no such file, or "max" */
        return UINT64_MAX;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", folder,
             v2 ? "memory.current" : "memory.usage_in_bytes");
    if (!file_number(path, "", &used))
        return UINT64_MAX;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", folder);
    file_number(path, v2 ? "inactive_file " : "total_inactive_file ", &cached);
    used -= cached < used ? cached : used;
    return used < limit ? limit - used : 0;
}

/* Returns the least room of the process's control group and of all groups above it, because a limit
 * also binds the groups below. Inside a container the upper part of the path may not exist; the
 * root always does. */
static uint64_t cgroups_room(void)
{
    uint64_t room = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file)
        return room;
    char line[512];
    while (fgets(line, sizeof line, file)) { /* "0::/path" is v2, "4:memory:/path" is v1 */
        line[strcspn(line, "\n")] = '\0';
        const bool v2 = strncmp(line, "0::", 3) == 0;
        const char *path = v2 ? line + 3 : strstr(line, ":memory:");
        if (!path)
            continue;
        char folder[600];
        const char *root = v2 ? "" : "/memory";
        snprintf(folder, sizeof folder, "%s%s", root, v2 ? path : path + strlen(":memory:"));
        for (;;) {
            const uint64_t here = cgroup_room(folder, v2);
            room = here < room ? here : room;
            char *slash = strrchr(folder + strlen(root), '/');
            if (!slash)
                break;
            *slash = '\0';
        }
    }
    fclose(file);
    return room;
}

/* Linux promises memory that it does not have and kills the program that touches it. So what was
 * promised to us and is not resident yet is subtracted from what the kernel calls available. */
size_t rt_free_memory(size_t promised)
{
    uint64_t kib = 0;
    uint64_t available = UINT64_MAX;
    if (file_number("/proc/meminfo", "MemAvailable:", &kib))
        available = kib * 1024;
    const uint64_t room = cgroups_room();
    available = room < available ? room : available;

    long pages, resident_pages;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm) {
        if (fscanf(statm, "%ld %ld", &pages, &resident_pages) == 2) {
            const uint64_t resident = (uint64_t)resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
            const uint64_t owed = promised > resident ? promised - resident : 0;
            available -= owed < available ? owed : available;
        }
        fclose(statm);
    }
    return available;
}
