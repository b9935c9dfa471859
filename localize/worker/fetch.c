/* SPDX-License-Identifier: Apache-2.0 */

/* See fetch.h. Fetches http: and https: from any server, and chooses the scheme. */

#include "localize/worker/fetch.h"

#include <assert.h>

#include "util/error.h"

/* ---- http and https -------------------------------------------------------------------------- */

/* Reports a refusal. Some statuses are temporary: "too many requests", and errors of a server or a proxy. */
static int refused(long status, char **ret_message)
{
    bool may_pass = status == 408 || status == 429 || status >= 500;

    return nm_fail(ret_message, may_pass ? -EIO : status == 404 ? -ENOENT : -EREMOTEIO, "HTTP %ld%s", status,
                   status == 404                    ? ": no such file"
                   : status == 401 || status == 403 ? ": the server doesn't permit anonymous access"
                                                    : "");
}

int nm_fetch_http(struct nm_fetch *f, const struct nm_work_resource *res, int fd, char **ret_message)
{
    const struct nm_http_request request = {
        .url = res->uri,
        .most_bytes = f->work->limits.fetch_bytes,
        .deadline_usec = f->deadline_usec,
        .idle_usec = f->work->limits.idle_usec,
        .fd = fd,
        .progress = nm_fetch_progress,
        .userdata = f,
    };
    struct nm_http_answer answer;
    int r = nm_http_perform(f->http, &request, &answer, ret_message);

    if (r < 0)
        return r;
    if (answer.status != 200)
        return refused(answer.status, ret_message);
    /* Hadoop's own HTTP client reports a time of 0 for each file, so most jobs submit 0. */
    return res->timestamp_msec == 0 ? 0 : nm_fetch_check_time(res, answer.modified_msec, ret_message);
}

/* ---- any scheme ------------------------------------------------------------------------------ */

/* The arguments of an attempt. */
struct wanted {
    const struct nm_work_resource *res;
    const struct nm_uri *uri;
    int fd;
};

static int attempt(struct nm_fetch *f, void *what, char **ret_message)
{
    const struct wanted *w = what;

    /* an earlier attempt may have written data */
    if (ftruncate(w->fd, 0) < 0 || lseek(w->fd, 0, SEEK_SET) < 0)
        return nm_fail(ret_message, -errno, "can't write the local copy: %s", strerror(errno));
    return w->uri->scheme == NM_URI_HTTP ? nm_fetch_http(f, w->res, w->fd, ret_message)
                                         : nm_fetch_hdfs(f, w->res, w->uri, w->fd, ret_message);
}

/* Fetches into a new file. O_EXCL: the directory is new and only this process uses it, so an existing file is an
 * error. */
static int fetch_file(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri,
                      const struct nm_fetch_to *to, int *ret_fd, char **ret_message)
{
    _cleanup_close_ int fd = openat(to->dir_fd, to->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct wanted w = {res, uri, fd};
    int r;

    if (fd < 0)
        return nm_fail(ret_message, -errno, "can't create the local file: %s", strerror(errno));
    r = nm_fetch_persist(f, attempt, &w, ret_message);
    if (r == NM_FETCH_E_DIRECTORY && unlinkat(to->dir_fd, to->name, 0) < 0)
        return nm_fail(ret_message, -errno, "can't remove the local file: %s", strerror(errno));
    if (r != 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_fetch(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri,
             const struct nm_fetch_to *to, int *ret_fd, bool *ret_is_ours, char **ret_message)
{
    int r;

    assert(f->work && f->http && f->hdfs.http && f->report && to->dir_fd >= 0);
    f->attempts = nm_fetch_attempts(f, uri);
    if (uri->scheme == NM_URI_FILE)
        r = nm_fetch_local(res, uri, ret_fd, ret_message);
    else if (uri->scheme == NM_URI_OTHER)
        r = nm_fetch_command(f, res, uri, to, ret_fd, ret_message);
    else
        r = fetch_file(f, res, uri, to, ret_fd, ret_message);
    if (r >= 0)
        *ret_is_ours = uri->scheme != NM_URI_FILE;
    return r;
}

int nm_fetch_tree(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri, int fd, int to_fd,
                  uint64_t *ret_bytes, char **ret_message)
{
    struct nm_fetch_tree t = {.fetch = f, .is_public = res->is_public};
    _cleanup_free_ char *message = NULL;
    int r = uri->scheme == NM_URI_FILE ? nm_fetch_local_tree(&t, fd, to_fd, &message)
                                       : nm_fetch_hdfs_tree(&t, uri, to_fd, &message);

    if (r < 0)
        return nm_fail(ret_message, r, "%s%s", t.names_failed ? "/" : ": ", message ?: strerror(-r));
    *ret_bytes = t.bytes;
    return 0;
}
