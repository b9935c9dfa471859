/* SPDX-License-Identifier: Apache-2.0 */

/* Fetches a directory of HDFS as a resource: lists directories and copies file by file. Each request has its own
 * attempts, so that a large directory isn't fetched again from the start if a name node fails over meanwhile. */

#include <inttypes.h>

#include "localize/worker/fetch.h"
#include "localize/worker/webhdfs.h"
#include "util/error.h"

/* Limit on a listing. A name node lists a directory in one answer: about 10,000 files need 4 MB. */
#define LIST_BYTES (16 * NM_MIB)

/* The directory of the tree that is being copied. */
struct walk {
    struct nm_fetch_tree *tree;
    const struct nm_uri *uri;
    const char *path; /* path of the directory */
};

static int copy_all(struct nm_fetch_tree *t, const struct nm_uri *uri, const char *path, int to_fd, unsigned depth,
                    char **ret_message);

struct listing {
    const struct walk *walk;
    struct nm_webhdfs_list list;
};

static int list(struct nm_fetch *f, void *what, char **ret_message)
{
    struct listing *l = what;
    const struct nm_hdfs_query q = {.path = l->walk->path, .path_len = strlen(l->walk->path), .op = "LISTSTATUS",
                                    .fd = -EBADF, .most_bytes = LIST_BYTES, .deadline_usec = f->deadline_usec};
    struct nm_http_answer answer;
    int r = nm_hdfs_query(&f->hdfs, l->walk->uri, &q, &answer, ret_message);

    if (r < 0)
        return r;
    r = nm_webhdfs_parse_list(answer.text, answer.text_size, &l->list);
    return r < 0 ? nm_fail(ret_message, r, "the answer of %s is not a WebHDFS directory listing",
                           l->walk->uri->host ?: "the name node")
                 : 0;
}

struct copying {
    const struct walk *walk;
    const char *path;
    uint64_t length_bytes;
    int fd;
};

static int copy_bytes(struct nm_fetch *f, void *what, char **ret_message)
{
    struct copying *c = what;
    struct nm_fetch_tree *t = c->walk->tree;
    const struct nm_hdfs_query q = {.path = c->path, .path_len = strlen(c->path), .op = "OPEN", .fd = c->fd,
                                    .most_bytes = f->work->limits.fetch_bytes - t->bytes,
                                    .deadline_usec = f->deadline_usec,
                                    .progress = nm_fetch_tree_progress, .userdata = t};
    struct nm_http_answer answer;
    int r = nm_hdfs_query(&f->hdfs, c->walk->uri, &q, &answer, ret_message);

    if (r < 0)
        return r;
    if (answer.bytes != c->length_bytes)
        return nm_fail(ret_message, -EIO, "received %" PRIu64 " bytes, but the file has %" PRIu64, answer.bytes,
                       c->length_bytes);
    t->bytes += answer.bytes;
    return 0;
}

static int copy_file(const struct walk *w, const struct nm_webhdfs_entry *e, const char *path, int to_fd,
                     char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    struct copying c = {.walk = w, .path = path, .length_bytes = e->status.length_bytes};
    int r = nm_fetch_tree_make_file(to_fd, e->name, &fd, ret_message);

    if (r < 0)
        return r;
    c.fd = fd;
    r = nm_fetch_persist(w->tree->fetch, copy_bytes, &c, ret_message);
    return r < 0 ? r : nm_fetch_tree_finish(w->tree, fd, false, ret_message);
}

static int copy_entry(const struct walk *w, const struct nm_webhdfs_entry *e, int to_fd, unsigned depth,
                      char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    _cleanup_free_ char *path = NULL;
    int r = nm_fetch_tree_count(w->tree, depth, e->status.is_directory, e->status.mode, ret_message);

    if (r < 0)
        return r;
    if (asprintf(&path, "%s/%s", w->path, e->name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    if (!e->status.is_directory)
        return copy_file(w, e, path, to_fd, ret_message);
    r = nm_fetch_tree_make_dir(to_fd, e->name, &fd, ret_message);
    if (r >= 0)
        r = copy_all(w->tree, w->uri, path, fd, depth + 1, ret_message);
    return r < 0 ? r : nm_fetch_tree_finish(w->tree, fd, true, ret_message);
}

static int copy_all(struct nm_fetch_tree *t, const struct nm_uri *uri, const char *path, int to_fd, unsigned depth,
                    char **ret_message)
{
    const struct walk w = {t, uri, path};
    struct listing l = {.walk = &w};
    int r = nm_fetch_persist(t->fetch, list, &l, ret_message);

    for (size_t i = 0; r >= 0 && i < l.list.n; i++) {
        char *message = NULL;

        r = copy_entry(&w, &l.list.all[i], to_fd, depth, &message);
        if (r < 0)
            (void)nm_fetch_tree_failed(t, l.list.all[i].name, r, message, ret_message);
    }
    nm_webhdfs_list_done(&l.list);
    return r;
}

int nm_fetch_hdfs_tree(struct nm_fetch_tree *t, const struct nm_uri *uri, int to_fd, char **ret_message)
{
    return copy_all(t, uri, uri->path, to_fd, 0, ret_message);
}
