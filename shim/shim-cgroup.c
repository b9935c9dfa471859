/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the cgroup's figures at the container's end. systemd removes a scope, and the kernel's count of OOM kills with
 * it, as soon as the scope is empty. At that time nmd may read too late or may not be running. The shim is still in the
 * cgroup when its command ends, so the shim can always read these figures.
 */

#include "shim/shim-internal.h"

#include <limits.h>

#include "util/fileio.h"
#include "util/parse.h"

/* The mount of a host whose cgroup v2 has the memory controller. On a hybrid host there are no figures to read. */
#define MOUNT "/sys/fs/cgroup"
/* Each hierarchy has a line with a path of at most 4 KiB; the line of version 2 is the last. */
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

/* Reads the number after `key` at the beginning of a line. With an empty key the file has only one number. */
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
