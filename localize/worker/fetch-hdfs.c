/* SPDX-License-Identifier: Apache-2.0 */

/* See fetch.h. Fetches hdfs:, webhdfs: and swebhdfs: through WebHDFS (hdfs.h). */

#include <inttypes.h>

#include "localize/worker/fetch.h"
#include "localize/worker/webhdfs.h"
#include "util/error.h"

/* Gets the status of the file, or of a directory above it, whose path is the first path_len bytes of the file's
 * path. */
static int get_status(struct nm_fetch *f, const struct nm_uri *uri, size_t path_len, struct nm_webhdfs_status *ret,
                      char **ret_message)
{
    const struct nm_hdfs_query q = {.path = uri->path, .path_len = path_len, .op = "GETFILESTATUS", .fd = -EBADF,
                                    .most_bytes = NM_WEBHDFS_MAX_BYTES, .deadline_usec = f->deadline_usec};
    struct nm_http_answer answer;
    int r = nm_hdfs_query(&f->hdfs, uri, &q, &answer, ret_message);

    if (r < 0)
        return r;
    r = nm_webhdfs_parse_status(answer.text, answer.text_size, ret);
    return r < 0 ? nm_fail(ret_message, r, "the answer of %s is not a WebHDFS file status",
                           uri->host ?: "the name node")
                 : 0;
}

/* Checks that all users can read a PUBLIC resource at its source, as for files of this host. */
static int check_public(struct nm_fetch *f, const struct nm_uri *uri, const struct nm_webhdfs_status *status,
                        char **ret_message)
{
    size_t len = strlen(uri->path);

    if (!(status->mode & 0004) || (status->is_directory && !(status->mode & 0001)))
        return nm_fail(ret_message, -EACCES,
                       "the resource is PUBLIC, but not all users may read it; run hdfs dfs -chmod o+%s on it",
                       status->is_directory ? "rx" : "r");
    while (len > 1) {
        struct nm_webhdfs_status parent;
        int r;

        while (uri->path[len - 1] != '/')
            len--;
        while (len > 1 && uri->path[len - 1] == '/')
            len--;
        r = get_status(f, uri, len, &parent, ret_message);
        if (r < 0)
            return r;
        if (!(parent.mode & 0001))
            return nm_fail(ret_message, -EACCES,
                           "the resource is PUBLIC, but not all users may enter %.*s; run hdfs dfs -chmod o+x on "
                           "it", (int)len,
                           uri->path);
    }
    return 0;
}

int nm_fetch_hdfs(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri, int fd,
                  char **ret_message)
{
    struct nm_hdfs_query q = {.path = uri->path, .path_len = strlen(uri->path), .op = "OPEN", .fd = fd,
                              .most_bytes = f->work->limits.fetch_bytes, .deadline_usec = f->deadline_usec,
                              .progress = nm_fetch_progress, .userdata = f};
    struct nm_webhdfs_status status;
    struct nm_http_answer answer;
    int r;

    r = get_status(f, uri, q.path_len, &status, ret_message);
    if (r < 0)
        return r;
    r = nm_fetch_check_time(res, status.modified_msec, ret_message);
    if (r >= 0 && res->is_public)
        r = check_public(f, uri, &status, ret_message);
    if (r >= 0 && status.is_directory)
        return NM_FETCH_E_DIRECTORY;
    if (r >= 0)
        r = nm_hdfs_query(&f->hdfs, uri, &q, &answer, ret_message);
    if (r < 0)
        return r;
    if (answer.bytes != status.length_bytes)
        return nm_fail(ret_message, -EIO, "received %" PRIu64 " bytes, but the file has %" PRIu64, answer.bytes,
                       status.length_bytes);
    return 0;
}
