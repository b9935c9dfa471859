/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-stream.h. A step makes a few bytes, or reads one piece of a log file. */

#include "aggregate/worker/upload-stream.h"

#include <limits.h>
#include <sys/stat.h>

#include "aggregate/format/log-writer.h"
#include "util/error.h"

#define PIECE_BYTES (64U << 10)
#define NO_CONTAINER SIZE_MAX

/* The result for an item of the plan. */
struct sent {
    bool is_sent;
    uint64_t fingerprint;
};

struct nm_upload_stream {
    const struct nm_upload_work *work;
    const struct nm_upload_plan *plan;
    struct nm_upload_stream_to to;
    struct nm_upload_report *report;
    struct nm_log_writer *writer;
    /* bytes that the writer has made and that weren't read yet */
    char *made;
    size_t made_at, made_end, made_room;
    char *piece;
    /* the position in the plan */
    size_t next, container;
    int fd; /* the present log file */
    uint64_t left_bytes;
    bool has_ended, is_padding, is_repeated;
    struct nm_upload_stream_sums sums;
    struct sent *sent;
    char *message;
};

/* Stores the bytes that the writer makes. They are at most a few pieces of a log file, or an index. */
static int store(void *userdata, const void *data, size_t n, char **ret_message)
{
    struct nm_upload_stream *s = userdata;

    (void)ret_message;
    if (n > s->made_room - s->made_end) {
        if (s->made_at > 0)
            memmove(s->made, s->made + s->made_at, s->made_end - s->made_at);
        s->made_end -= s->made_at;
        s->made_at = 0;
    }
    if (n > s->made_room - s->made_end) {
        size_t room = NM_MAX(2 * s->made_room, s->made_end + n);
        char *grown = realloc(s->made, room);

        if (!grown)
            return -ENOMEM;
        s->made = grown;
        s->made_room = room;
    }
    memcpy(s->made + s->made_end, data, n);
    s->made_end += n;
    return 0;
}

int nm_upload_stream_restart(void *userdata)
{
    struct nm_upload_stream *s = userdata;
    const struct nm_log_sink sink = {.write = store, .userdata = s};
    const struct nm_log_params params = {
        .format = s->work->is_indexed ? NM_LOG_INDEXED : NM_LOG_TFILE,
        .application = s->work->application,
        .owner = s->work->user,
        .node = s->work->node,
        .view_acl = s->work->view_acl,
        .modify_acl = s->work->modify_acl,
        .upload_msec = s->work->upload_msec,
        .remote_name = s->to.remote_name,
        .offset_bytes = s->to.offset_bytes,
        .former_meta = s->to.former_meta,
        .former_meta_size = s->to.former_meta_size,
    };
    struct nm_log_writer *writer = NULL;
    int r = nm_log_writer_new(&params, &sink, &writer);

    if (r < 0)
        return r;
    nm_log_writer_free(s->writer);
    s->writer = writer;
    s->fd = nm_close(s->fd);
    s->made_at = s->made_end = s->next = 0;
    s->container = NO_CONTAINER;
    s->has_ended = false;
    s->is_repeated = s->is_repeated || s->sums.remote_bytes > 0;
    s->sums = (struct nm_upload_stream_sums){0};
    free(STEAL_PTR(s->message));
    memset(s->sent, 0, s->plan->n * sizeof *s->sent);
    return 0;
}

int nm_upload_stream_new(const struct nm_upload_work *work, const struct nm_upload_plan *plan,
                         const struct nm_upload_stream_to *to, struct nm_upload_report *report,
                         struct nm_upload_stream **ret)
{
    _cleanup_(nm_upload_stream_freep) struct nm_upload_stream *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->work = work;
    s->plan = plan;
    s->to = *to;
    s->report = report;
    s->fd = -EBADF;
    s->piece = malloc(PIECE_BYTES);
    s->sent = calloc(plan->n + 1, sizeof *s->sent);
    if (!s->piece || !s->sent)
        return -ENOMEM;
    r = nm_upload_stream_restart(s);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_upload_stream *nm_upload_stream_free(struct nm_upload_stream *s)
{
    if (!s)
        return NULL;
    nm_log_writer_free(s->writer);
    (void)nm_close(s->fd);
    free(s->made);
    free(s->piece);
    free(s->sent);
    free(s->message);
    free(s);
    return NULL;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const struct nm_upload_item *present(const struct nm_upload_stream *s)
{
    return &s->plan->items[s->next];
}

/* Reports a note only once, although the stream may be repeated for another data node. */
static void note(struct nm_upload_stream *s, const char *what)
{
    if (!s->is_repeated)
        nm_upload_report_note(s->report, "%s of %s %s", present(s)->name,
                              s->work->containers[present(s)->container].id, what);
}

/* Opens the present file if it is still the file of the plan. A file that was replaced is left out, because its
 * successor is another file, which the next upload contains. */
static int open_present(const struct nm_upload_stream *s)
{
    const struct nm_upload_item *item = present(s);
    _cleanup_close_ int dir =
        nm_upload_plan_open_dir(s->work, item->log_dir, s->work->containers[item->container].id);
    _cleanup_close_ int fd = dir < 0 ? dir : nm_upload_plan_open_file(dir, item->name);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_dev != item->device || st.st_ino != item->inode || !S_ISREG(st.st_mode) ||
        lseek(fd, (off_t)item->offset, SEEK_SET) < 0)
        return -ESTALE;
    return STEAL_FD(fd);
}

/* Returns the name for the remote file. Readers print it in a line of its own. */
static void print_name(const char *name, char buf[static NAME_MAX + 1])
{
    size_t i = 0;

    for (; name[i] && i < NAME_MAX; i++)
        buf[i] = (unsigned char)name[i] < ' ' || name[i] == '\x7f' ? '?' : name[i];
    buf[i] = '\0';
}

static int begin_file(struct nm_upload_stream *s)
{
    const struct nm_upload_item *item = present(s);
    char name[NAME_MAX + 1];
    int r = 0;

    s->fd = open_present(s);
    if (s->fd < 0) {
        note(s, s->fd == -ESTALE ? "is left out: it was replaced" : "is left out: it can't be read");
        s->next++;
        return 0;
    }
    if (s->container != item->container)
        r = nm_log_writer_container(s->writer, s->work->containers[item->container].id, &s->message);
    s->container = item->container;
    print_name(item->name, name);
    if (r >= 0)
        r = nm_log_writer_file(s->writer, name, item->size, item->modified_msec, &s->message);
    s->left_bytes = item->size;
    s->is_padding = false;
    return r;
}

static void end_file(struct nm_upload_stream *s)
{
    struct sent *sent = &s->sent[s->next];

    sent->is_sent = nm_upload_fingerprint(s->fd, present(s)->offset + present(s)->size, &sent->fingerprint) == 0;
    s->sums.log_bytes += present(s)->size;
    s->sums.n_files++;
    s->fd = nm_close(s->fd);
    s->next++;
}

/* Reads the next piece of the present file. The announced size can't be changed, so NUL bytes replace missing ones. */
static int copy_piece(struct nm_upload_stream *s)
{
    const size_t wanted = (size_t)NM_MIN(s->left_bytes, (uint64_t)PIECE_BYTES);
    ssize_t n = s->is_padding ? 0 : read(s->fd, s->piece, wanted);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0) {
        if (!s->is_padding)
            note(s, n < 0 ? "can't be read to its end, which is replaced by NUL bytes"
                          : "became shorter during the upload, and its end is replaced by NUL bytes");
        s->is_padding = true;
        memset(s->piece, 0, wanted);
        n = (ssize_t)wanted;
    }
    s->left_bytes -= (size_t)n;
    return nm_log_writer_data(s->writer, s->piece, (size_t)n, &s->message);
}

static int step(struct nm_upload_stream *s)
{
    if (s->fd >= 0 && s->left_bytes > 0)
        return copy_piece(s);
    if (s->fd >= 0) {
        end_file(s);
        return 0;
    }
    if (s->next < s->plan->n)
        return begin_file(s);
    s->has_ended = true;
    return nm_log_writer_end(s->writer, &s->message);
}

ssize_t nm_upload_stream_read(void *userdata, char *buf, size_t n)
{
    struct nm_upload_stream *s = userdata;
    size_t size;

    free(STEAL_PTR(s->message));
    while (s->made_end - s->made_at < n && !s->has_ended) { /* the writer makes many pieces of a few bytes */
        int r = step(s);

        if (r < 0)
            return r;
    }
    size = NM_MIN(n, s->made_end - s->made_at);
    memcpy(buf, s->made + s->made_at, size);
    s->made_at += size;
    s->sums.remote_bytes += size;
    return (ssize_t)size;
}

void nm_upload_stream_progress(void *userdata, uint64_t bytes, uint64_t total_bytes)
{
    struct nm_upload_stream *s = userdata;

    (void)bytes, (void)total_bytes;
    nm_upload_report_progress(s->report, s->sums.log_bytes + (s->fd >= 0 ? present(s)->size - s->left_bytes : 0),
                              s->plan->total_bytes);
}

const char *nm_upload_stream_message(const void *userdata)
{
    const struct nm_upload_stream *s = userdata;

    return s->message;
}

struct nm_upload_stream_sums nm_upload_stream_sums(const struct nm_upload_stream *s)
{
    return s->sums;
}

int nm_upload_stream_remember(const struct nm_upload_stream *s, struct nm_upload_memory *memory)
{
    int r = 0;

    for (size_t i = 0; i < s->plan->n && r >= 0; i++) {
        const struct nm_upload_item *item = &s->plan->items[i];
        const char *container = s->work->containers[item->container].id;

        if (s->sent[i].is_sent)
            r = nm_upload_memory_add(memory, container, item->inode, item->offset + item->size,
                                     s->sent[i].fingerprint);
        else if (item->offset > 0)
            r = nm_upload_memory_add(memory, container, item->inode, item->offset, item->fingerprint);
    }
    return r;
}
