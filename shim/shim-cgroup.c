/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the container's cgroup has to say at its end. A scope is taken away by systemd as soon as it
 * is empty, and with it the kernel's count of OOM kills; nmd may look too late, or not be running
 * at all. The shim is still inside when its command ends, so it is the one witness that can't come
 * too late.
 */

#include "agent/launch/shim.h"

#include <limits.h>

#include "util/fileio.h"
#include "util/parse.h"

/* Where a kernel with a memory controller in cgroup v2 has it; on a hybrid host there is nothing to
 * be read anyway. */
#define MOUNT "/sys/fs/cgroup"
/* A line, with a path of 4 KiB at most, for each hierarchy; the one of version 2 is last. */
#define MEMBERSHIP_SIZE ((size_t)128 << 10)

int nm_shim_cgroup_open(void)
{
    char text[MEMBERSHIP_SIZE], path[PATH_MAX + sizeof MOUNT];
    const char *line;
    int r = nm_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof text, NULL);

    if (r < 0)
        return r;
    line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return -ENOENT;
    line = strchr(line, '/');
    if (!line)
        return -EBADMSG;
    (void)snprintf(path, sizeof path, MOUNT "%.*s", (int)strcspn(line, "\n"), line);
    return RET_NERRNO(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* The number after `key` at the beginning of a line; an empty key: the file's only number. */
static void read_number(int dir_fd, const char *file, const char *key, uint64_t *ret)
{
    char text[512], *save = NULL;

    if (nm_read_file_at(dir_fd, file, text, sizeof text, NULL) < 0)
        return;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, key, strlen(key)) == 0 && nm_parse_u64(line + strlen(key), ret) == 0)
            return;
}

void nm_shim_cgroup_read(int cgroup_fd, struct nm_launch_record *record)
{
    if (cgroup_fd < 0)
        return;
    record->ooms = NM_LAUNCH_OOMS_UNKNOWN;
    read_number(cgroup_fd, "memory.events", "oom ", &record->ooms);
    read_number(cgroup_fd, "memory.events", "oom_kill ", &record->oom_kills);
    read_number(cgroup_fd, "memory.peak", "", &record->memory_peak_bytes);
}
