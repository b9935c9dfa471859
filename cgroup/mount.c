/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See backend.h. The files are read once at startup. A hybrid host mounts cgroup2 somewhere beside the v1 hierarchies
 * (/sys/fs/cgroup/unified). A container may see several cgroup2 mounts.
 */

#include "cgroup/backend.h"

#include <assert.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

/* mountinfo escapes blanks, tabs, newlines and backslashes as \040 and so on. Unescapes them in place. */
static void unescape(char *s)
{
    char *to = s;

    for (const char *from = s; *from;) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* Finds the mount point within a line "36 35 0:31 /root /mount/point options... - cgroup2 source options". */
static char *mount_point_of(char *line)
{
    char *type = strstr(line, " - "), *p = line, *end;

    if (!type || strncmp(type + 3, "cgroup2 ", 8) != 0)
        return NULL;
    for (unsigned field = 0; field < 4; field++) {
        p = strchr(p, ' ');
        if (!p || p >= type)
            return NULL;
        p++;
    }
    end = strchr(p, ' ');
    if (!end)
        return NULL;
    *end = '\0';
    unescape(p);
    return p;
}

static int has_controllers(const char *mount_point)
{
    _cleanup_close_ int fd = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char buf[512];

    return fd >= 0 && nm_read_file_at(fd, "cgroup.controllers", buf, sizeof buf, NULL) >= 0 &&
           buf[strspn(buf, " \n")] != '\0';
}

int nm_mount_find(const char *mountinfo, char **ret)
{
    _cleanup_fclose_ FILE *f = fopen(mountinfo, "re");
    _cleanup_free_ char *line = NULL, *found = NULL;
    size_t size = 0;

    assert(mountinfo && ret);
    if (!f)
        return -errno;
    while (getline(&line, &size, f) >= 0) {
        char *point = mount_point_of(line);

        if (!point || (found && !has_controllers(point)))
            continue;
        free(found);
        found = strdup(point);
        if (!found)
            return -ENOMEM;
        if (has_controllers(found))
            break;
    }
    if (!found)
        return -ENOENT;
    *ret = STEAL_PTR(found);
    return 0;
}

int nm_mount_own_cgroup(const char *proc_self_cgroup, char **ret)
{
    _cleanup_fclose_ FILE *f = fopen(proc_self_cgroup, "re");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;

    if (!f)
        return -errno;
    while (getline(&line, &size, f) >= 0) {
        char *own;

        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        own = strdup(line + 3);
        if (!own)
            return -ENOMEM;
        *ret = own;
        return 0;
    }
    return -ENOENT;
}
