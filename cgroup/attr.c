/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See attr.h. cgroup.procs shows whether a cgroup exists: every cgroup2 directory has this file, with or without
 * controllers, and openat() on a removed directory fails.
 */

#include "cgroup/attr.h"

#include <assert.h>
#include <ctype.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

bool nm_attr_exists(int dir_fd, const char *file)
{
    return faccessat(dir_fd, file, F_OK, 0) == 0;
}

bool nm_attr_cgroup_exists(int dir_fd)
{
    return nm_attr_exists(dir_fd, "cgroup.procs");
}

static int distinguish(int dir_fd, int r)
{
    if (r == -ENODEV)
        return -ENOENT;
    if (r == -ENOENT && nm_attr_cgroup_exists(dir_fd))
        return -EOPNOTSUPP;
    return r;
}

int nm_attr_read(int dir_fd, const char *file, char *buf, size_t size)
{
    assert(file && buf && size > 0);
    return distinguish(dir_fd, nm_read_file_at(dir_fd, file, buf, size, NULL));
}

int nm_attr_write(int dir_fd, const char *file, const char *text)
{
    assert(file && text);
    return distinguish(dir_fd, nm_write_file_at(dir_fd, file, text));
}

bool nm_attr_has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    assert(len > 0);
    for (const char *p = text; (p = strstr(p, word)); p += len)
        if ((p == text || isspace((unsigned char)p[-1])) &&
            (p[len] == '\0' || isspace((unsigned char)p[len])))
            return true;
    return false;
}
