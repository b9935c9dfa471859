/* SPDX-License-Identifier: Apache-2.0 */

/* See upload.h. */

#include "aggregate/worker/upload.h"

#include <sys/stat.h>

#include "aggregate/upload-names.h"
#include "aggregate/worker/indexed.h"
#include "aggregate/worker/remote-dirs.h"
#include "util/array.h"
#include "util/error.h"
#include "util/fault.h"

struct upload {
    const struct nm_upload_work *work;
    struct nm_target *target;
    struct nm_upload_report *report;
    int state_fd; /* the log directory in which the memory is; -EBADF if the application has no log directory */
    struct nm_upload_memory memory, pending;
    struct nm_upload_plan plan;
    struct nm_upload_stream *stream;
    char *name, *dir, *path, *temporary; /* of the remote file */
};

static void upload_done(struct upload *u)
{
    (void)nm_close(u->state_fd);
    nm_upload_memory_done(&u->memory);
    nm_upload_memory_done(&u->pending);
    nm_upload_stream_free(u->stream);
    nm_upload_plan_done(&u->plan);
    free(u->name);
    free(u->dir);
    free(u->path);
    free(u->temporary);
}

/* Returns whether the upload is appended to the file of earlier uploads. */
static bool appends(const struct upload *u)
{
    return u->work->is_indexed && u->work->is_rolling;
}

static struct nm_target_source source_of(struct nm_upload_stream *stream)
{
    return (struct nm_target_source){
        .body = {.read = nm_upload_stream_read, .restart = nm_upload_stream_restart, .userdata = stream},
        .progress = nm_upload_stream_progress,
        .message = nm_upload_stream_message,
    };
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Opens the log directory that has the memory, or the first one. The memory is in another directory than the first one
 * if the disk of the first one had failed. */
static int open_state(struct upload *u)
{
    for (size_t i = 0; i < u->work->n_log_dirs; i++) {
        int fd = nm_upload_plan_open_dir(u->work, i, NULL);
        bool has_memory;

        if (fd < 0)
            continue;
        has_memory = faccessat(fd, NM_UPLOAD_MEMORY, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
                     faccessat(fd, NM_UPLOAD_PENDING, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (has_memory || u->state_fd < 0) {
            (void)nm_close(u->state_fd);
            u->state_fd = fd;
        } else {
            (void)nm_close(fd);
        }
        if (has_memory)
            break;
    }
    return u->state_fd;
}

/* Loads a memory. A damaged one is treated as missing: its logs are then uploaded again, which is better than never. */
static int load(struct upload *u, const char *name, struct nm_upload_memory *ret)
{
    int r = nm_upload_memory_load(u->state_fd, name, ret);

    if (r == -ENOMEM)
        return r;
    if (r < 0 && r != -ENOENT)
        nm_upload_report_note(u->report, "%s can't be used, so logs may be uploaded again: %s", name, strerror(-r));
    return 0;
}

/* Chooses the remote file with this time in its name, or without a time (0). */
static int use_name(struct upload *u, uint64_t msec)
{
    free(STEAL_PTR(u->name));
    free(STEAL_PTR(u->path));
    u->name = nm_upload_names_file(u->work->node, msec);
    u->path = u->name ? nm_strdup_printf("%s/%s", u->dir, u->name) : NULL;
    return u->path ? 0 : -ENOMEM;
}

/* Returns 1 if the remote file exists with this size, and 0 if it doesn't. */
static int is_in_place(struct upload *u, const char *name, uint64_t bytes, char **ret_message)
{
    _cleanup_free_ char *path = nm_strdup_printf("%s/%s", u->dir, name), *message = NULL;
    struct nm_target_status status;
    int r = path ? u->target->ops->stat(u->target, path, &status, &message) : -ENOMEM;

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return nm_fail(ret_message, r, "can't look for %s: %s", name, message ?: strerror(-r));
    return !status.is_directory && status.bytes == bytes;
}

/* Makes the pending memory the memory. */
static int commit(struct upload *u)
{
    return RET_NERRNO(renameat(u->state_fd, NM_UPLOAD_PENDING, u->state_fd, NM_UPLOAD_MEMORY));
}

/* Completes an interrupted upload if its remote file is in place. Otherwise discards its pending memory. */
static int recover(struct upload *u, char **ret_message)
{
    int r;

    if (!u->pending.remote_name)
        return 0;
    r = is_in_place(u, u->pending.remote_name, u->pending.remote_bytes, ret_message);
    if (r < 0)
        return r;
    if (r > 0) {
        r = appends(u) ? nm_indexed_complete(u->work, u->target, u->dir, ret_message) : 0;
        if (r < 0)
            return r;
        nm_upload_memory_done(&u->memory);
        u->memory = u->pending;
        u->pending = (struct nm_upload_memory){0};
        r = commit(u);
        return r < 0 ? nm_fail(ret_message, r, "can't rename %s: %s", NM_UPLOAD_PENDING, strerror(-r)) : 0;
    }
    nm_upload_memory_done(&u->pending);
    (void)unlinkat(u->state_fd, NM_UPLOAD_PENDING, 0);
    return 0;
}

static int remember_before(struct upload *u, char **ret_message)
{
    int r = 0;

    if (u->state_fd < 0)
        return 0;
    r = load(u, NM_UPLOAD_MEMORY, &u->memory);
    if (r >= 0)
        r = load(u, NM_UPLOAD_PENDING, &u->pending);
    return r < 0 ? r : recover(u, ret_message);
}

/* Writes the pending memory. If the disk is full, the last upload continues without it: the logs can't be removed from
 * the disk before they are uploaded. The remote file then gets the name with the time of the upload, by which another
 * attempt recognizes it. Readers ignore the name in the index of an IndexedFile, so the bytes needn't be written again.
 */
static int save_pending(struct upload *u, const struct nm_upload_stream_sums *sums, char **ret_message)
{
    struct nm_upload_memory *next = &u->plan.kept;
    int r = nm_upload_memory_set_upload(next, u->work->upload_msec, u->name, sums->remote_bytes, sums->log_bytes,
                                        sums->n_files);

    if (r >= 0)
        r = nm_upload_stream_remember(u->stream, next);
    if (r == -E2BIG)
        nm_upload_report_note(u->report, "there are too many log files, so some may be uploaded again");
    if (r >= 0 || r == -E2BIG)
        r = nm_upload_memory_save(u->state_fd, NM_UPLOAD_PENDING, next);
    if (r >= 0 || r == -ENOMEM)
        return r;
    if (!u->work->is_final)
        return nm_fail(ret_message, r, "can't write %s to the log directory: %s", NM_UPLOAD_PENDING, strerror(-r));
    nm_upload_report_note(u->report, "can't write %s to the log directory: %s", NM_UPLOAD_PENDING, strerror(-r));
    return u->work->is_rolling ? 0 : use_name(u, u->work->upload_msec);
}

/* ---- remote file ----------------------------------------------------------------------------- */

/* Returns 1 if the remote file u->name exists, and 0 if it doesn't. */
static int is_taken(struct upload *u, char **ret_message)
{
    _cleanup_free_ char *message = NULL;
    struct nm_target_status status;
    int r = u->target->ops->stat(u->target, u->path, &status, &message);

    if (r >= 0 || r == -ENOENT)
        return r >= 0;
    return nm_fail(ret_message, r, "can't look for %s: %s", u->path, message ?: strerror(-r));
}

/* Chooses the name. Without rolling the name has no time, unless an earlier upload has taken it. Returns 1 if a file
 * whose name has the time of this upload exists: then this upload is done, but its memory was lost. */
static int choose_name(struct upload *u, char **ret_message)
{
    int r = use_name(u, u->work->upload_msec);

    if (r >= 0)
        r = is_taken(u, ret_message);
    if (r != 0 || u->work->is_rolling)
        return r;
    r = use_name(u, 0);
    if (r >= 0)
        r = is_taken(u, ret_message);
    return r == 1 ? use_name(u, u->work->upload_msec) : r;
}

/* Removes the temporary file. The next attempt replaces it if this removal fails. */
static void remove_temporary(struct upload *u)
{
    _cleanup_free_ char *message = NULL;

    (void)u->target->ops->remove(u->target, u->temporary, &message);
}

/* Writes the temporary file, which readers ignore. A data node may have stored less than it has confirmed, so the size
 * is checked. */
static int write_temporary(struct upload *u, struct nm_upload_stream_sums *ret, char **ret_message)
{
    struct nm_target_status status = {0};
    _cleanup_free_ char *message = NULL;
    const struct nm_target_source source = source_of(u->stream);
    int r = u->target->ops->create(u->target, u->temporary, &source, &message);

    NM_FAULT("upload-written");
    if (r >= 0) {
        *ret = nm_upload_stream_sums(u->stream);
        r = u->target->ops->stat(u->target, u->temporary, &status, &message);
    }
    if (r >= 0 && status.bytes != ret->remote_bytes)
        r = nm_fail(&message, -EIO, "it has %llu bytes instead of %llu", (unsigned long long)status.bytes,
                    (unsigned long long)ret->remote_bytes);
    if (r >= 0)
        return 0;
    if (r == -EDQUOT || r == -ENOSPC || r == -EIO)
        remove_temporary(u); /* a part of a file would use up the quota */
    return nm_fail(ret_message, r, "can't write %s: %s", u->temporary, message ?: strerror(-r));
}

/* Gives the file its final name. After a failure the name node may have renamed it all the same. */
static int give_name(struct upload *u, uint64_t bytes, char **ret_message)
{
    _cleanup_free_ char *message = NULL;
    int r = u->target->ops->rename(u->target, u->temporary, u->path, &message);

    if (r >= 0 || is_in_place(u, u->name, bytes, NULL) == 1)
        return 0;
    return nm_fail(ret_message, r, "can't rename %s to %s: %s", u->temporary, u->name, message ?: strerror(-r));
}

/* ---- limit of files -------------------------------------------------------------------------- */

struct found_files {
    const struct nm_upload_work *work;
    uint64_t *msec;
    size_t n, size;
};

static int add_found(void *userdata, const char *name)
{
    struct found_files *f = userdata;
    uint64_t msec;

    if (!nm_upload_names_is_file_of(name, f->work->node, &msec) || f->n >= NM_TARGET_MAX_LIST_ENTRIES)
        return 0;
    if (NM_ARRAY_ROOM(f->msec, f->n, f->size) < 0)
        return -ENOMEM;
    f->msec[f->n++] = msec;
    return 0;
}

static int compare_msec(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Removes the oldest files of this node beyond the limit. A failure doesn't fail the upload, because the next upload
 * tries again. */
static int remove_oldest(struct upload *u, char **ret_message)
{
    struct found_files f = {.work = u->work};
    int r = u->target->ops->list(u->target, u->dir, add_found, &f, ret_message);

    if (r >= 0 && f.n > u->work->max_files)
        qsort(f.msec, f.n, sizeof *f.msec, compare_msec);
    for (size_t i = 0; r >= 0 && i + u->work->max_files < f.n; i++) {
        _cleanup_free_ char *name = nm_upload_names_file(u->work->node, f.msec[i]);
        _cleanup_free_ char *path = name ? nm_strdup_printf("%s/%s", u->dir, name) : NULL;

        if (!path)
            r = -ENOMEM;
        else if (!nm_streq(name, u->name))
            r = u->target->ops->remove(u->target, path, ret_message);
    }
    free(f.msec);
    return r;
}

static void limit_files(struct upload *u)
{
    _cleanup_free_ char *message = NULL;
    int r = u->work->is_rolling && !appends(u) && u->work->max_files > 0 ? remove_oldest(u, &message) : 0;

    if (r < 0)
        nm_upload_report_note(u->report, "can't remove the oldest logs: %s", message ?: strerror(-r));
}

/* ---- upload ---------------------------------------------------------------------------------- */

/* Completes an upload whose bytes are in the remote file system. */
static int finish(struct upload *u, const struct nm_upload_stream_sums *sums, char **ret_message)
{
    int r = u->state_fd < 0 ? 0 : save_pending(u, sums, ret_message);

    NM_FAULT("upload-pending");
    if (r >= 0)
        r = appends(u) ? nm_indexed_complete(u->work, u->target, u->dir, ret_message)
                       : give_name(u, sums->remote_bytes, ret_message);
    NM_FAULT("upload-renamed");
    if (r < 0)
        return r;
    /* a failure is repaired by recover() */
    if (u->state_fd >= 0 && commit(u) < 0 && errno != ENOENT)
        nm_upload_report_note(u->report, "can't rename %s: %s", NM_UPLOAD_PENDING, strerror(errno));
    NM_FAULT("upload-committed");
    limit_files(u);
    return 0;
}

/* Returns the result of an upload that was done before. */
static int return_former(const struct nm_upload_memory *memory, struct nm_upload_result *ret)
{
    char *name = strdup(memory->remote_name);

    if (!name)
        return -ENOMEM;
    *ret = (struct nm_upload_result){.bytes = memory->remote_bytes, .n_files = memory->n_files, .name = name};
    return 0;
}

static int write_and_finish(struct upload *u, struct nm_upload_result *ret, char **ret_message)
{
    const struct nm_upload_stream_to to = {.remote_name = u->name};
    struct nm_upload_stream_sums sums = {0};
    int r = nm_upload_stream_new(u->work, &u->plan, &to, u->report, &u->stream);

    if (r < 0)
        return nm_fail(ret_message, r, "can't make the file's format: %s", strerror(-r));
    r = write_temporary(u, &sums, ret_message);
    if (r < 0)
        return r;
    if (sums.n_files == 0) { /* all files were replaced in the meantime */
        remove_temporary(u);
        return 0;
    }
    r = finish(u, &sums, ret_message);
    if (r < 0)
        return r;
    *ret = (struct nm_upload_result){.bytes = sums.remote_bytes, .n_files = sums.n_files, .name = STEAL_PTR(u->name)};
    return 0;
}

/* Writes the bytes behind the file that x has chosen, or another one if that isn't possible. */
static int append_bytes(struct upload *u, struct nm_indexed *x, struct nm_upload_stream_sums *ret, char **ret_message)
{
    _cleanup_free_ char *path = NULL, *message = NULL;
    struct nm_target_status status = {0};
    int r = 1;

    while (r == 1) {
        const struct nm_upload_stream_to to = {.remote_name = x->name, .offset_bytes = x->bytes,
                                               .former_meta = x->meta, .former_meta_size = x->meta_size};
        struct nm_target_source source;

        u->stream = nm_upload_stream_free(u->stream);
        r = nm_upload_stream_new(u->work, &u->plan, &to, u->report, &u->stream);
        if ((r == -EBADMSG || r == -EFBIG) && x->good_bytes > 0) {
            r = nm_indexed_choose_new(x);
            r = r < 0 ? r : 1;
            continue;
        }
        if (r < 0)
            return nm_fail(ret_message, r, "can't make the file's format: %s", strerror(-r));
        source = source_of(u->stream);
        r = nm_indexed_write(x, &source, ret_message);
    }
    NM_FAULT("upload-written");
    if (r < 0)
        return r;
    *ret = nm_upload_stream_sums(u->stream);
    ret->remote_bytes += x->bytes;
    path = nm_strdup_printf("%s/%s", u->dir, x->name);
    r = path ? u->target->ops->stat(u->target, path, &status, &message) : -ENOMEM;
    if (r >= 0 && status.bytes != ret->remote_bytes)
        r = nm_fail(&message, -EIO, "it has %llu bytes instead of %llu", (unsigned long long)status.bytes,
                    (unsigned long long)ret->remote_bytes);
    return r < 0 ? nm_fail(ret_message, r, "can't write %s: %s", x->name, message ?: strerror(-r)) : 0;
}

static int append_and_finish(struct upload *u, struct nm_indexed *x, struct nm_upload_result *ret,
                             char **ret_message)
{
    struct nm_upload_stream_sums sums = {0};
    int r = nm_indexed_choose(x, &u->memory, ret_message);

    if (r >= 0 && x->is_done) {
        *ret = (struct nm_upload_result){.n_files = u->plan.n, .name = STEAL_PTR(x->name)};
        return 0;
    }
    if (r >= 0)
        r = append_bytes(u, x, &sums, ret_message);
    if (r < 0)
        return r;
    u->name = STEAL_PTR(x->name);
    r = finish(u, &sums, ret_message);
    if (r >= 0 && sums.n_files > 0)
        *ret = (struct nm_upload_result){
            .bytes = sums.remote_bytes, .n_files = sums.n_files, .name = STEAL_PTR(u->name)};
    return r;
}

static int upload_appended(struct upload *u, struct nm_upload_result *ret, char **ret_message)
{
    struct nm_indexed x = {.work = u->work, .target = u->target, .report = u->report, .dir = u->dir};
    int r = append_and_finish(u, &x, ret, ret_message);

    u->stream = nm_upload_stream_free(u->stream); /* it refers to the index in x */
    nm_indexed_done(&x);
    return r;
}

/* Removes what the attempts of an abandoned upload have left. Succeeds if one of them had completed the upload, but its
 * memory was lost. */
static int abandon(struct upload *u, struct nm_upload_result *ret, char **ret_message)
{
    int r;

    if (appends(u)) {
        r = nm_indexed_abandon(u->work, u->target, u->dir, ret_message);
        return r < 0 ? r : nm_fail(ret_message, -ECANCELED, "the upload was given up");
    }
    remove_temporary(u);
    r = use_name(u, u->work->upload_msec);
    if (r >= 0)
        r = is_taken(u, ret_message);
    if (r == 0)
        return nm_fail(ret_message, -ECANCELED, "the upload was given up");
    if (r > 0)
        *ret = (struct nm_upload_result){.name = STEAL_PTR(u->name)};
    return NM_MIN(r, 0);
}

static int upload_all(struct upload *u, struct nm_upload_result *ret, char **ret_message)
{
    _cleanup_free_ char *node_file = nm_upload_names_file(u->work->node, 0);
    int r;

    u->dir = nm_upload_names_dir(u->work->remote.path, u->work->user, u->work->suffix, u->work->application,
                                 NM_UPLOAD_DEPTH);
    u->temporary = u->dir && node_file ? nm_strdup_printf("%s/%s.tmp", u->dir, node_file) : NULL;
    if (!u->temporary)
        return -ENOMEM;
    if (open_state(u) >= 0) {
        r = remember_before(u, ret_message);
        if (r < 0)
            return r;
    }
    if (u->memory.remote_name && u->memory.upload_msec == u->work->upload_msec)
        return return_former(&u->memory, ret);
    if (u->work->is_abandoned)
        return abandon(u, ret, ret_message);
    r = nm_upload_plan_make(u->work, &u->memory, u->target->deadline_usec, u->report, &u->plan, ret_message);
    if (r < 0 || u->plan.n == 0)
        return r;
    r = nm_remote_dirs_make(u->work, u->target, ret_message);
    if (r < 0)
        return r;
    NM_FAULT("upload-dirs");
    if (appends(u))
        return upload_appended(u, ret, ret_message);
    r = choose_name(u, ret_message);
    if (r < 0)
        return r;
    if (r == 0)
        return write_and_finish(u, ret, ret_message);
    *ret = (struct nm_upload_result){.n_files = u->plan.n, .name = STEAL_PTR(u->name)};
    return 0;
}

int nm_upload(const struct nm_upload_work *work, struct nm_target *target, struct nm_upload_report *report,
              struct nm_upload_result *ret, char **ret_message)
{
    struct upload u = {.work = work, .target = target, .report = report, .state_fd = -EBADF};
    struct nm_upload_result result = {0};
    int r = upload_all(&u, &result, ret_message);

    upload_done(&u);
    if (r < 0)
        return r;
    *ret = result;
    return 0;
}
