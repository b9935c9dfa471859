/* SPDX-License-Identifier: Apache-2.0 */

/* See log-writer.h. Checks the calls and passes them to the format. */

#include "aggregate/format/log-writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "aggregate/format/indexed-file.h"
#include "aggregate/format/tfile.h"
#include "util/error.h"

/* A file of this size or above doesn't fit in Java's long. The limit leaves room for the rest of the file. */
#define BYTES_MAX (INT64_MAX - (int64_t)NM_LOG_INDEXED_META_MAX * 4)

static int copy_text(char **ret, const char *text)
{
    assert(text);
    if (nm_log_buffer_utf_size(text) > NM_LOG_TEXT_MAX)
        return -ENAMETOOLONG;
    *ret = strdup(text);
    return *ret ? 0 : -ENOMEM;
}

/* YARN writes " " for a list without users, its default. */
static const char *acl(const char *text)
{
    return text && *text ? text : " ";
}

static int copy_params(struct nm_log_writer *w, const struct nm_log_params *p)
{
    const struct {
        char **to;
        const char *from;
    } texts[] = {{&w->application, p->application},      {&w->owner, p->owner},
                 {&w->node, p->node},                    {&w->view_acl, acl(p->view_acl)},
                 {&w->modify_acl, acl(p->modify_acl)},   {&w->remote_name, p->remote_name ? p->remote_name : ""}};
    int r = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(texts) && r == 0; i++)
        r = copy_text(texts[i].to, texts[i].from);
    return r;
}

static int take_former(struct nm_log_writer *w, const struct nm_log_params *p)
{
    struct nm_log_meta meta = {w->owner, w->node, w->view_acl, w->modify_acl};

    if ((p->former_meta || p->offset_bytes > 0) && (p->format != NM_LOG_INDEXED || p->offset_bytes == 0))
        return -EINVAL;
    if (p->offset_bytes > BYTES_MAX)
        return -EFBIG;
    w->offset_bytes = p->offset_bytes;
    if (!p->former_meta)
        return 0;
    if (p->former_meta_size > NM_LOG_INDEXED_META_MAX)
        return -EBADMSG;
    w->former = (struct nm_log_meta_former){p->former_meta, p->former_meta_size};
    return nm_log_meta_check(&meta, w->former);
}

int nm_log_writer_new(const struct nm_log_params *p, const struct nm_log_sink *sink, struct nm_log_writer **ret)
{
    _cleanup_(nm_log_writer_freep) struct nm_log_writer *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return -ENOMEM;
    w->ops = p->format == NM_LOG_TFILE ? &nm_tfile_ops : &nm_indexed_file_ops;
    w->sink = *sink;
    w->upload_msec = p->upload_msec;
    r = copy_params(w, p);
    if (r == 0)
        r = take_former(w, p);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(w);
    return 0;
}

struct nm_log_writer *nm_log_writer_free(struct nm_log_writer *w)
{
    if (!w)
        return NULL;
    for (size_t i = 0; i < w->indexed.n; i++)
        free((char *)w->indexed.files[i].name);
    for (size_t i = 0; i < w->indexed.n_containers; i++)
        free(w->indexed.containers[i]);
    free(w->indexed.files);
    free(w->indexed.containers);
    nm_log_buffer_done(&w->tfile.key);
    nm_log_buffer_done(&w->head);
    free(w->container);
    free(w->application);
    free(w->remote_name);
    free(w->owner);
    free(w->node);
    free(w->view_acl);
    free(w->modify_acl);
    free(w);
    return NULL;
}

/* Records the first error. */
static int done(struct nm_log_writer *w, int r)
{
    if (r < 0 && w->error == 0)
        w->error = r;
    return r;
}

/* Checks that the writer works, and begins the output. */
static int ready(struct nm_log_writer *w, char **ret_message)
{
    if (w->error < 0)
        return nm_fail(ret_message, w->error, "an earlier part of the logs has not been written");
    if (w->ended)
        return nm_fail(ret_message, -EINVAL, "the logs are complete");
    if (w->begun)
        return 0;
    w->begun = true;
    return w->ops->begin(w, ret_message);
}

/* ready(), between two files. */
static int ready_for_next(struct nm_log_writer *w, char **ret_message)
{
    int r = ready(w, ret_message);

    if (r == 0 && w->left_bytes > 0)
        return nm_fail(ret_message, -EINVAL, "%" PRIu64 " bytes of a log are missing", w->left_bytes);
    return r;
}

int nm_log_writer_container(struct nm_log_writer *w, const char *id, char **ret_message)
{
    char *copy = NULL;
    int r = ready_for_next(w, ret_message);

    if (r < 0 || (w->container && nm_streq(w->container, id)))
        return done(w, r);
    r = copy_text(&copy, id);
    if (r == -ENAMETOOLONG)
        (void)nm_fail(ret_message, r, "the id of a container is too long");
    if (r < 0)
        return done(w, r);
    free(w->container);
    w->container = copy;
    w->container_is_new = true;
    return 0;
}

int nm_log_writer_file(struct nm_log_writer *w, const char *name, uint64_t size_bytes, uint64_t modified_msec,
                       char **ret_message)
{
    int r = ready_for_next(w, ret_message);

    if (r < 0)
        return done(w, r);
    if (!w->container)
        return done(w, nm_fail(ret_message, -EINVAL, "a log belongs to no container"));
    if (nm_log_buffer_utf_size(name) > NM_LOG_TEXT_MAX)
        return done(w, nm_fail(ret_message, -ENAMETOOLONG, "the name of a log is too long"));
    if (w->offset_bytes > BYTES_MAX || size_bytes > BYTES_MAX - w->offset_bytes)
        return done(w, nm_fail(ret_message, -EFBIG, "a log is too long"));
    r = w->ops->file(w, name, size_bytes, modified_msec, ret_message);
    if (r < 0)
        return done(w, r);
    w->container_is_new = false;
    w->left_bytes = size_bytes;
    return 0;
}

int nm_log_writer_data(struct nm_log_writer *w, const void *data, size_t n, char **ret_message)
{
    int r = ready(w, ret_message);

    if (r == 0 && n > w->left_bytes)
        r = nm_fail(ret_message, -EINVAL, "a log has more bytes than announced");
    if (r == 0 && n > 0)
        r = w->ops->data(w, data, n, ret_message);
    if (r < 0)
        return done(w, r);
    w->left_bytes -= n;
    return 0;
}

int nm_log_writer_end(struct nm_log_writer *w, char **ret_message)
{
    int r = ready_for_next(w, ret_message);

    if (r == 0)
        r = w->ops->end(w, ret_message);
    if (r < 0)
        return done(w, r);
    w->ended = true;
    return 0;
}
