/* SPDX-License-Identifier: Apache-2.0 */

/* See install.h. */

#include "localize/worker/install.h"

#include <assert.h>
#include <sys/stat.h>

#include "localize/worker/fetch.h"
#include "localize/worker/remove-tree.h"
#include "localize/worker/unpack.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

/* The temporary name of an archive, and of a command's result. Hadoop's shell reads its target as a URI, which can't
 * contain every name. The name of an archive can't be the same, because it has the ending of an archive. */
#define FETCHED_FILE ".fetched"

/* A target that is being created. */
struct install {
    struct nm_fetch *fetch;
    const struct nm_work_resource *res;
    struct nm_uri uri;
    int parent_fd;
    const char *base;  /* the target's name in its parent */
    char *tmp_path;
    const char *tmp;   /* tmp_path's name in the parent */
    int tmp_fd;
    uint64_t bytes;
};

#define INSTALL_NULL {.parent_fd = -EBADF, .tmp_fd = -EBADF}

/* Removes the temporary directory if it was not renamed. */
static void install_done(struct install *p)
{
    if (p->tmp_fd >= 0)
        (void)nm_remove_tree_at(p->parent_fd, p->tmp);
    p->tmp_fd = nm_close(p->tmp_fd);
    p->parent_fd = nm_close(p->parent_fd);
    nm_uri_done(&p->uri);
    free(p->tmp_path);
}

static int cannot_write(const struct install *p, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "can't write %s: %s", p->res->target, strerror(-r));
}

static int open_parent(struct install *p)
{
    size_t len;
    int r;

    if (asprintf(&p->tmp_path, "%s_tmp", p->res->target) < 0) {
        p->tmp_path = NULL;
        return -ENOMEM;
    }
    len = (size_t)(strrchr(p->res->target, '/') - p->res->target);
    p->base = p->res->target + len + 1;
    p->tmp = p->tmp_path + len + 1;
    p->tmp_path[len] = '\0';
    r = len > 0 ? nm_mkdir_p(p->tmp_path, p->res->is_public ? 0755 : 0710) : 0;
    if (r >= 0)
        p->parent_fd = r = RET_NERRNO(open(len > 0 ? p->tmp_path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    p->tmp_path[len] = '/';
    return r < 0 ? r : 0;
}

/* Creates the temporary directory. Doesn't change an existing target, because the target is complete and may be in
 * use. */
static int make_tmp(struct install *p)
{
    int r = open_parent(p);

    if (r < 0)
        return r;
    if (faccessat(p->parent_fd, p->base, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    /* an earlier worker that was killed may have left the directory */
    r = nm_remove_tree_at(p->parent_fd, p->tmp);
    if (r < 0)
        return r;
    if (mkdirat(p->parent_fd, p->tmp, 0700) < 0)
        return -errno;
    p->tmp_fd = RET_NERRNO(openat(p->parent_fd, p->tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (p->tmp_fd >= 0)
        return 0;
    (void)unlinkat(p->parent_fd, p->tmp, AT_REMOVEDIR);
    return p->tmp_fd;
}

/* Moves the file to `name` in dir_fd, if the file is in the temporary directory of this fetch. */
static int move_file(struct install *p, const char *ours, int dir_fd, const char *name, char **ret_message)
{
    struct stat st;

    if (!(dir_fd == p->tmp_fd && nm_streq(ours, name)) && renameat(p->tmp_fd, ours, dir_fd, name) < 0)
        return cannot_write(p, -errno, ret_message);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        fchmodat(dir_fd, name, nm_localized_file_mode(p->res->is_public), 0) < 0)
        return cannot_write(p, -errno, ret_message);
    p->bytes += (uint64_t)st.st_size;
    return 0;
}

/* Copies a source file to `name` in dir_fd. */
static int copy_file(struct install *p, int fd, int dir_fd, const char *name, char **ret_message)
{
    const uint64_t most_bytes = p->fetch->work->limits.fetch_bytes;
    _cleanup_close_ int to_fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint64_t bytes;
    int r;

    if (to_fd < 0)
        return cannot_write(p, -errno, ret_message);
    r = nm_copy_file(fd, to_fd, most_bytes, p->fetch->deadline_usec, nm_fetch_progress, p->fetch, &bytes);
    if (r < 0)
        return nm_fail(ret_message, r, "%s: can't copy it to %s: %s", p->res->uri, p->res->target, strerror(-r));
    if (fchmod(to_fd, nm_localized_file_mode(p->res->is_public)) < 0)
        return cannot_write(p, -errno, ret_message);
    p->bytes += bytes;
    return 0;
}

/* Moves or copies a file. ours: the file's name in the temporary directory; NULL: the file is elsewhere, so it is
 * copied. */
static int keep_file(struct install *p, int fd, const char *ours, int dir_fd, const char *name, char **ret_message)
{
    return ours ? move_file(p, ours, dir_fd, name, ret_message) : copy_file(p, fd, dir_fd, name, ret_message);
}

/* Reports progress without a total, because the size that an archive declares can't be trusted. */
static void report_unpacking(void *userdata, uint64_t bytes)
{
    struct nm_worker_report *report = userdata;

    nm_worker_report_progress(report, "unpacking", bytes, 0);
}

static void report_listing(void *userdata)
{
    const struct install *p = userdata;

    report_unpacking(p->fetch->report, p->bytes);
}

static int unpack(struct install *p, int fd, int dir_fd, struct nm_pattern *pattern, char **ret_message)
{
    const struct nm_work_limits *l = &p->fetch->work->limits;
    const struct nm_unpack_params params = {
        .kind = nm_archive_kind(p->uri.name),
        .is_public = p->res->is_public,
        .pattern = pattern,
        .most_bytes = l->unpacked_bytes,
        .most_entries = l->entries,
        .ratio = l->ratio,
        .deadline_usec = p->fetch->deadline_usec,
        .progress = report_unpacking,
        .userdata = p->fetch->report,
    };
    _cleanup_free_ char *message = NULL;
    uint64_t bytes = 0;
    int r = nm_unpack(fd, dir_fd, &params, &bytes, &message);

    if (r < 0)
        return nm_fail(ret_message, r, "%s: %s", p->res->uri, message ? message : strerror(-r));
    p->bytes += bytes;
    return 0;
}

/* Creates a directory with the archive's name and unpacks the archive into it. A jar of type PATTERN is itself also
 * stored in that directory, because MapReduce's class paths contain the jar at this place. */
static int install_archive(struct install *p, int fd, const char *ours, struct nm_pattern *pattern, bool keeps_archive,
                           char **ret_message)
{
    _cleanup_close_ int dir_fd = -EBADF;
    int r;

    if (mkdirat(p->tmp_fd, p->uri.name, nm_localized_dir_mode(p->res->is_public)) < 0)
        return cannot_write(p, -errno, ret_message);
    dir_fd = openat(p->tmp_fd, p->uri.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir_fd < 0)
        return cannot_write(p, -errno, ret_message);
    r = unpack(p, fd, dir_fd, pattern, ret_message);
    if (r < 0)
        return r;
    if (keeps_archive)
        return keep_file(p, fd, ours, dir_fd, p->uri.name, ret_message);
    return ours && unlinkat(p->tmp_fd, ours, 0) < 0 ? cannot_write(p, -errno, ret_message) : 0;
}

/* Fetches the bytes. Completes an error message with the resource's URI. */
static int fetch(struct install *p, const char *file, int *ret_fd, bool *ret_is_ours, char **ret_message)
{
    const struct nm_fetch_to to = {.dir_fd = p->tmp_fd, .dir_path = p->tmp_path, .name = file};
    _cleanup_free_ char *message = NULL;
    int r = nm_fetch(p->fetch, p->res, &p->uri, &to, ret_fd, ret_is_ours, &message);

    return r < 0 ? nm_fail(ret_message, r, "%s: %s", p->res->uri, message ? message : strerror(-r)) : r;
}

static int install_directory(struct install *p, int fd, char **ret_message)
{
    _cleanup_free_ char *message = NULL;
    _cleanup_close_ int dir_fd = -EBADF;
    uint64_t bytes = 0;
    int r;

    if (mkdirat(p->tmp_fd, p->uri.name, 0700) < 0)
        return cannot_write(p, -errno, ret_message);
    dir_fd = openat(p->tmp_fd, p->uri.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir_fd < 0)
        return cannot_write(p, -errno, ret_message);
    r = nm_fetch_tree(p->fetch, p->res, &p->uri, fd, dir_fd, &bytes, &message);
    if (r < 0)
        return nm_fail(ret_message, r, "%s%s", p->res->uri, message ? message : "");
    if (fchmod(dir_fd, nm_localized_dir_mode(p->res->is_public)) < 0)
        return cannot_write(p, -errno, ret_message);
    p->bytes += bytes;
    return 0;
}

/* Fills the temporary directory. Whether a resource is an archive is determined by its name. All other resources, of
 * any type, are files or directories. */
static int fill(struct install *p, char **ret_message)
{
    const enum nm_archive_kind kind =
        p->res->type == NM_WORK_RESOURCE_FILE ? NM_ARCHIVE_NONE : nm_archive_kind(p->uri.name);
    const bool is_pattern = p->res->type == NM_WORK_RESOURCE_PATTERN && kind == NM_ARCHIVE_JAR;
    const bool has_own_name = kind == NM_ARCHIVE_NONE && p->uri.scheme != NM_URI_OTHER;
    const char *file = has_own_name ? p->uri.name : FETCHED_FILE;
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;
    _cleanup_free_ char *message = NULL;
    _cleanup_close_ int fd = -EBADF;
    bool is_ours = false;
    int r;

    if (is_pattern && p->res->pattern) {
        r = nm_pattern_new(p->res->pattern, &pattern, &message);
        if (r < 0)
            return nm_fail(ret_message, r, "%s: %s", p->res->uri, message ? message : strerror(-r));
    }
    r = fetch(p, file, &fd, &is_ours, ret_message);
    if (r < 0)
        return r;
    if (r == NM_FETCH_E_DIRECTORY)
        return install_directory(p, fd, ret_message);
    return kind == NM_ARCHIVE_NONE ? keep_file(p, fd, is_ours ? file : NULL, p->tmp_fd, p->uri.name, ret_message)
                                   : install_archive(p, fd, is_ours ? file : NULL, pattern, is_pattern,
                                                     ret_message);
}

/* Creates the list. The bytes of the list, like the bytes of directories, don't count as bytes of the resource. */
static int make_listing(struct install *p)
{
    const struct nm_work_limits *l = &p->fetch->work->limits;
    const struct nm_listing_params params = {
        .most_bytes = NM_MAX(l->fetch_bytes, l->unpacked_bytes), /* the limit on any file (worker.c) */
        .progress = report_listing,
        .userdata = p,
    };

    return nm_listing_make(p->tmp_fd, p->uri.name, &params);
}

/* Renames without replacing an existing target. NFS, gluster and older ZFS fail with EINVAL for RENAME_NOREPLACE, and a
 * seccomp filter may refuse renameat2(). In these cases a check before rename() is enough: only one worker creates a
 * target, and rename() would replace only an empty directory. */
static int rename_to_target(const struct install *p)
{
    int r = RET_NERRNO(renameat2(p->parent_fd, p->tmp, p->parent_fd, p->base, RENAME_NOREPLACE));

    if (r >= 0 || !nm_error_is_not_supported(-r))
        return r;
    if (faccessat(p->parent_fd, p->base, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return RET_NERRNO(renameat(p->parent_fd, p->tmp, p->parent_fd, p->base));
}

/* Creates the target. The rename is the last step, so until then no file has a name that another process uses. */
int nm_install(struct nm_fetch *f, const struct nm_work_resource *res, uint64_t *ret_bytes, bool *ret_is_listed,
               char **ret_message)
{
    _cleanup_(install_done) struct install p = INSTALL_NULL;
    int r, listed;

    p.fetch = f;
    p.res = res;
    f->deadline_usec = nm_add_u64(nm_now_usec(), f->work->limits.time_usec);
    r = nm_uri_parse(res->uri, &p.uri, ret_message);
    if (r < 0)
        return r;
    r = make_tmp(&p);
    if (r < 0)
        return cannot_write(&p, r, ret_message);
    r = fill(&p, ret_message);
    if (r < 0)
        return r;
    listed = r = make_listing(&p);
    if (r < 0)
        return cannot_write(&p, r, ret_message);
    if (fchmod(p.tmp_fd, nm_localized_dir_mode(res->is_public)) < 0)
        return cannot_write(&p, -errno, ret_message);
    r = rename_to_target(&p);
    if (r < 0)
        return cannot_write(&p, r, ret_message);
    p.tmp_fd = nm_close(p.tmp_fd); /* tells install_done() not to remove the target */
    *ret_bytes = p.bytes;
    *ret_is_listed = listed == NM_LISTING_E_MADE;
    return 0;
}

static void report_removing(void *userdata)
{
    nm_worker_report_progress(userdata, "removing", 0, 0);
}

int nm_uninstall(const char *target, struct nm_worker_report *report, char **ret_message)
{
    _cleanup_free_ char *tmp = NULL, *copy = strdup(target);
    _cleanup_close_ int parent_fd = -EBADF;
    char *base = copy ? strrchr(copy, '/') : NULL;
    int r;

    if (!base || asprintf(&tmp, "%s_tmp", base + 1) < 0)
        return -ENOMEM;
    *base++ = '\0';
    parent_fd = RET_NERRNO(open(*copy ? copy : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (parent_fd == -ENOENT)
        return 0;
    r = parent_fd < 0 ? parent_fd : nm_remove_tree_with_progress(parent_fd, tmp, report_removing, report);
    if (r >= 0)
        r = nm_remove_tree_with_progress(parent_fd, base, report_removing, report);
    return r < 0 ? nm_fail(ret_message, r, "can't remove %s: %s", target, strerror(-r)) : 0;
}
