/* SPDX-License-Identifier: Apache-2.0 */

/* See state-dir.h. */

#include "yarn/state-dir.h"

#include <errno.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "util/parse.h"

int nm_yarn_state_dir_open(const char *state_dir, const char *name, int *ret)
{
    _cleanup_free_ char *path = NULL;
    int fd, r;

    if (asprintf(&path, "%s/%s", state_dir, name) < 0)
        return -ENOMEM;
    r = nm_mkdir_p(path, 0700);
    if (r < 0)
        return r;
    fd = RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return fd;
    *ret = fd;
    return 0;
}

int nm_yarn_state_dir_put(int dir_fd, const char *name, struct nm_bytes content)
{
    return nm_name_is_valid(name) ? nm_write_bytes_atomic_at(dir_fd, name, content.data, content.size, 0600) : -EINVAL;
}

void nm_yarn_state_dir_drop(int dir_fd, const char *name)
{
    (void)unlinkat(dir_fd, name, 0);
}

/* Reads a file. If a temporary failure prevents reading, the file is kept. The buffer is cleared afterwards, since the
 * file may contain keys. */
static void read_one(int dir_fd, const char *name, size_t max, nm_yarn_state_file_cb_t cb, void *userdata)
{
    _cleanup_free_ uint8_t *data = NULL;
    size_t size = 0;
    int r = nm_name_is_valid(name) ? nm_read_regular_at(dir_fd, name, max, &data, &size) : -EBADMSG;

    if (r == -EBADMSG || (r == 0 && !cb(name, (struct nm_bytes){data, size}, userdata)))
        nm_yarn_state_dir_drop(dir_fd, name);
    if (r == 0)
        explicit_bzero(data, size);
}

int nm_yarn_state_dir_read(int dir_fd, size_t max, nm_yarn_state_file_cb_t cb, void *userdata)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *d;
    int r = nm_opendir_at(dir_fd, &dir);

    if (r < 0)
        return r;
    while ((d = readdir(dir)))
        if (d->d_name[0] != '.')
            read_one(dir_fd, d->d_name, max, cb, userdata);
    return 0;
}
