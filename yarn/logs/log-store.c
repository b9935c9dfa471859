/* SPDX-License-Identifier: Apache-2.0 */

/* See log-store.h. */

#include "yarn/logs/log-store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"
#include "util/fileio.h"
#include "yarn/logs/log-state.h"
#include "yarn/state-dir.h"

int nm_yarn_log_store_open(const char *state_dir, int *ret)
{
    return nm_yarn_state_dir_open(state_dir, "logs", ret);
}

struct loader {
    void (*cb)(struct nm_yarn_log_book *b, void *userdata);
    void *userdata;
    int result;
};

static bool load_one(const char *name, struct nm_bytes content, void *userdata)
{
    struct loader *l = userdata;
    struct nm_yarn_log_book *b = NULL;
    int r = nm_yarn_log_state_parse(name, content, &b);

    if (r == 0)
        l->cb(b, l->userdata);
    else if (r == -ENOMEM)
        l->result = r;
    return r != -EBADMSG;
}

int nm_yarn_log_store_load(int fd, void (*cb)(struct nm_yarn_log_book *b, void *userdata), void *userdata)
{
    struct loader l = {cb, userdata, 0};
    int r = nm_yarn_state_dir_read(fd, NM_YARN_LOG_STATE_MAX, load_one, &l);

    return r < 0 ? r : l.result;
}

void nm_yarn_log_store_save(int fd, struct nm_yarn_log_book *b)
{
    _cleanup_free_ char *text = nm_yarn_log_state_text(b);

    b->is_unsaved = !text || nm_yarn_state_dir_put(fd, b->id, nm_bytes_of(text)) < 0;
}

/* Appends to the file. If only a part of the line was written, removes this part, because the next line would be
 * appended to it. */
static int append(int dir_fd, const char *name, const char *line)
{
    _cleanup_close_ int fd = RET_NERRNO(openat(dir_fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
    struct stat st;
    int r;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    r = nm_write_all(fd, line, strlen(line));
    if (r < 0)
        (void)!ftruncate(fd, st.st_size);
    return r;
}

void nm_yarn_log_store_append(int fd, struct nm_yarn_log_book *b, char *line)
{
    _cleanup_free_ char *text = line;

    if (b->is_unsaved || !text || append(fd, b->id, text) < 0)
        nm_yarn_log_store_save(fd, b);
}

void nm_yarn_log_store_drop(int fd, const struct nm_yarn_log_book *b)
{
    nm_yarn_state_dir_drop(fd, b->id);
}
