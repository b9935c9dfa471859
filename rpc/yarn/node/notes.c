/* SPDX-License-Identifier: Apache-2.0 */

/* See notes.h. */

#include "rpc/yarn/node/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "util/parse.h"

/* A token's identifier, and what was said of an end: a few KiB. */
#define NOTE_MAX (256u << 10)

static int open_dir(const char *state_dir, const char *name, int *ret)
{
    _cleanup_free_ char *path = NULL;
    int r;

    if (asprintf(&path, "%s/%s", state_dir, name) < 0)
        return -ENOMEM;
    r = nm_mkdir_p(path, 0700);
    if (r < 0)
        return r;
    *ret = RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return NM_MIN(*ret, 0);
}

int nm_yarn_notes_open(const char *state_dir, struct nm_yarn_notes *ret)
{
    int r;

    *ret = (struct nm_yarn_notes){-1, -1};
    r = open_dir(state_dir, "applications", &ret->applications_fd);
    return r < 0 ? r : open_dir(state_dir, "early-ends", &ret->ends_fd);
}

void nm_yarn_notes_done(struct nm_yarn_notes *notes)
{
    notes->applications_fd = nm_close(notes->applications_fd);
    notes->ends_fd = nm_close(notes->ends_fd);
}

/* ---- one ---------------------------------------------------------------------------------- */

void nm_yarn_notes_put_application(const struct nm_yarn_notes *notes, const char *name, const char *submitter)
{
    if (nm_name_is_valid(name) && nm_user_name_is_valid(submitter))
        (void)nm_write_file_atomic_at(notes->applications_fd, name, submitter, 0600);
}

void nm_yarn_notes_drop_application(const struct nm_yarn_notes *notes, const char *name)
{
    (void)unlinkat(notes->applications_fd, name, 0);
}

void nm_yarn_notes_put_end(const struct nm_yarn_notes *notes, const char *name, const Yarn__EarlyEnd *end)
{
    size_t size = yarn__early_end__get_packed_size(end);
    _cleanup_free_ uint8_t *data = size < NOTE_MAX && nm_name_is_valid(name) ? malloc(size + 1) : NULL;

    if (!data)
        return;
    (void)yarn__early_end__pack(end, data);
    (void)nm_write_bytes_atomic_at(notes->ends_fd, name, data, size, 0600);
}

void nm_yarn_notes_drop_end(const struct nm_yarn_notes *notes, const char *name)
{
    (void)unlinkat(notes->ends_fd, name, 0);
}

/* ---- all ---------------------------------------------------------------------------------- */

/* What can't be read now may be another time. */
static void read_one(int dir_fd, const char *name, char *buf, nm_yarn_note_cb_t cb, void *userdata)
{
    size_t size = 0;
    int r = nm_name_is_valid(name) ? nm_read_file_at(dir_fd, name, buf, NOTE_MAX, &size) : -EBADMSG;

    if (r == -EBADMSG || r == -E2BIG ||
        (r >= 0 && !cb(name, (struct nm_bytes){(const uint8_t *)buf, size}, userdata)))
        (void)unlinkat(dir_fd, name, 0);
}

static int read_all(int dir_fd, nm_yarn_note_cb_t cb, void *userdata)
{
    _cleanup_free_ char *buf = malloc(NOTE_MAX);
    int fd = RET_NERRNO(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    _cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;

    if (!dir || !buf) {
        if (!dir)
            (void)nm_close(fd);
        return fd < 0 ? fd : -ENOMEM;
    }
    while ((d = readdir(dir)))
        if (d->d_name[0] != '.')
            read_one(dir_fd, d->d_name, buf, cb, userdata);
    return 0;
}

int nm_yarn_notes_applications(const struct nm_yarn_notes *notes, nm_yarn_note_cb_t cb, void *userdata)
{
    return read_all(notes->applications_fd, cb, userdata);
}

int nm_yarn_notes_ends(const struct nm_yarn_notes *notes, nm_yarn_note_cb_t cb, void *userdata)
{
    return read_all(notes->ends_fd, cb, userdata);
}
