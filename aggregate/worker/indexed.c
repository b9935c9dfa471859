/* SPDX-License-Identifier: Apache-2.0 */

/* See indexed.h. */

#include "aggregate/worker/indexed.h"

#include <endian.h>
#include <limits.h>

#include "aggregate/format/log-writer.h"
#include "aggregate/upload-names.h"
#include "util/error.h"
#include "util/fault.h"

/* Hadoop's default for indexedFile.log.roll-over.max-file-size-gb. */
#define ROLL_OVER_BYTES (UINT64_C(10) << 30)
#define MARK_BYTES (NM_UPLOAD_NODE_MAX + 32)

static char *path_of(const struct nm_indexed *x, const char *name)
{
    return nm_strdup_printf("%s/%s", x->dir, name);
}

void nm_indexed_done(struct nm_indexed *x)
{
    free(STEAL_PTR(x->name));
    free(STEAL_PTR(x->meta));
}

/* ---- mark ------------------------------------------------------------------------------------ */

static char *mark_path(const struct nm_upload_work *work, const char *dir)
{
    _cleanup_free_ char *node = nm_upload_names_file(work->node, 0);

    return node ? nm_strdup_printf("%s/%s-checksum", dir, node) : NULL;
}

/* A source of bytes in memory. */
struct text {
    uint8_t bytes[MARK_BYTES];
    size_t size, at;
};

static int restart_text(void *userdata)
{
    struct text *t = userdata;

    t->at = 0;
    return 0;
}

static ssize_t read_text(void *userdata, char *buf, size_t n)
{
    struct text *t = userdata;
    const size_t size = NM_MIN(n, t->size - t->at);

    memcpy(buf, t->bytes + t->at, size);
    t->at += size;
    return (ssize_t)size;
}

/* Writes the mark: the length and the bytes of the file's name, and the length of the valid part. */
static int write_mark(const struct nm_indexed *x, char **ret_message)
{
    _cleanup_free_ char *path = mark_path(x->work, x->dir), *message = NULL;
    struct text text = {0};
    const struct nm_target_source source = {
        .body = {.read = read_text, .restart = restart_text, .userdata = &text}};
    const size_t n = strlen(x->name);
    const uint32_t size = htobe32((uint32_t)n);
    const uint64_t good_bytes = htobe64(x->good_bytes);
    uint8_t *end;
    int r;

    if (n + sizeof size + sizeof good_bytes > sizeof text.bytes)
        return -ENAMETOOLONG;
    end = mempcpy(text.bytes, &size, sizeof size);
    end = mempcpy(end, x->name, n);
    end = mempcpy(end, &good_bytes, sizeof good_bytes);
    text.size = (size_t)(end - text.bytes);
    r = path ? x->target->ops->create(x->target, path, &source, &message) : -ENOMEM;
    return r < 0 ? nm_fail(ret_message, r, "can't write %s: %s", path ?: "a file", message ?: strerror(-r)) : 0;
}

/* Reads the name in a mark of this node. Returns 1 if there is a mark; -EBADMSG if it has another form. */
static int read_mark(const struct nm_indexed *x, char name[static NAME_MAX + 1], uint64_t *ret_good, char **ret_message)
{
    _cleanup_free_ char *path = mark_path(x->work, x->dir), *message = NULL;
    struct nm_target_status status;
    uint8_t bytes[MARK_BYTES];
    uint64_t good_bytes, msec;
    uint32_t size;
    int r = path ? x->target->ops->stat(x->target, path, &status, &message) : -ENOMEM;

    if (r == -ENOENT)
        return 0;
    if (r >= 0 && (status.bytes < sizeof size + sizeof good_bytes || status.bytes > sizeof bytes))
        return -EBADMSG;
    if (r >= 0)
        r = x->target->ops->read(x->target, path, 0, bytes, (size_t)status.bytes, &message);
    if (r < 0)
        return nm_fail(ret_message, r, "can't read %s: %s", path ?: "a file", message ?: strerror(-r));
    memcpy(&size, bytes, sizeof size);
    size = be32toh(size);
    if (size != status.bytes - sizeof size - sizeof good_bytes || size > NAME_MAX)
        return -EBADMSG;
    memcpy(name, bytes + sizeof size, size);
    name[size] = '\0';
    memcpy(&good_bytes, bytes + sizeof size + size, sizeof good_bytes);
    *ret_good = be64toh(good_bytes);
    return strlen(name) == size && nm_upload_names_is_file_of(name, x->work->node, &msec) ? 1 : -EBADMSG;
}

int nm_indexed_complete(const struct nm_upload_work *work, struct nm_target *target, const char *dir,
                        char **ret_message)
{
    _cleanup_free_ char *path = mark_path(work, dir), *message = NULL;
    int r = path ? target->ops->remove(target, path, &message) : -ENOMEM;

    return r < 0 ? nm_fail(ret_message, r, "can't remove %s: %s", path ?: "a file", message ?: strerror(-r)) : 0;
}

/* ---- choice ---------------------------------------------------------------------------------- */

int nm_indexed_choose_new(struct nm_indexed *x)
{
    char *name = nm_upload_names_file(x->work->node, x->work->upload_msec);

    if (!name)
        return -ENOMEM;
    nm_indexed_done(x);
    x->name = name;
    x->good_bytes = x->bytes = x->meta_size = 0;
    return 0;
}

/* Reads the index of the valid part, which ends with the index, its length and an id. Returns -EBADMSG if the file has
 * another form. */
static int read_meta(struct nm_indexed *x, const char *path, char **ret_message)
{
    uint8_t tail[NM_LOG_INDEXED_TAIL_SIZE];
    _cleanup_free_ uint8_t *meta = NULL;
    uint32_t size;
    int r;

    if (x->good_bytes < sizeof tail + NM_LOG_INDEXED_ID_SIZE)
        return -EBADMSG;
    r = x->target->ops->read(x->target, path, x->good_bytes - sizeof tail, tail, sizeof tail, ret_message);
    if (r < 0)
        return r;
    memcpy(&size, tail, sizeof size);
    size = be32toh(size);
    if (size == 0 || size > NM_LOG_INDEXED_META_MAX || size > x->good_bytes - sizeof tail - NM_LOG_INDEXED_ID_SIZE)
        return -EBADMSG;
    meta = malloc(size);
    if (!meta)
        return -ENOMEM;
    r = x->target->ops->read(x->target, path, x->good_bytes - sizeof tail - size, meta, size, ret_message);
    if (r < 0)
        return r;
    x->meta = STEAL_PTR(meta);
    x->meta_size = size;
    return 0;
}

/* Tries the file of the last upload. Returns 1 if it can't be used any more. */
static int choose_former(struct nm_indexed *x, const struct nm_upload_memory *memory, char **ret_message)
{
    _cleanup_free_ char *path = path_of(x, memory->remote_name), *message = NULL;
    struct nm_target_status status;
    uint64_t msec;
    int r;

    if (!nm_upload_names_is_file_of(memory->remote_name, x->work->node, &msec) ||
        memory->remote_bytes >= ROLL_OVER_BYTES)
        return 1;
    r = path ? x->target->ops->stat(x->target, path, &status, &message) : -ENOMEM;
    if (r == -ENOENT || (r >= 0 && status.bytes < memory->remote_bytes))
        return 1;
    if (r >= 0) {
        x->good_bytes = memory->remote_bytes;
        x->bytes = status.bytes;
        r = read_meta(x, path, &message);
    }
    if (r == -EBADMSG)
        return 1;
    if (r < 0)
        return nm_fail(ret_message, r, "can't read %s: %s", path ?: "a file", message ?: strerror(-r));
    x->name = strdup(memory->remote_name);
    return x->name ? 0 : -ENOMEM;
}

/* Looks at a new name. It exists if an upload with this identity was interrupted before its memory was written, or if
 * this memory was lost. The mark shows whether the file is complete. mark: the result of read_mark(). A mark that can't
 * be read was being written when an upload was interrupted, so the file may be incomplete and is written again. */
static int check_new(struct nm_indexed *x, int mark, const char *marked, char **ret_message)
{
    _cleanup_free_ char *path = path_of(x, x->name), *message = NULL;
    struct nm_target_status status;
    int r = path ? x->target->ops->stat(x->target, path, &status, &message) : -ENOMEM;

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return nm_fail(ret_message, r, "can't look for %s: %s", path ?: "a file", message ?: strerror(-r));
    x->is_done = mark == 0 || (mark > 0 && !nm_streq(marked, x->name));
    return 0;
}

/* Removes a file that an interrupted upload with another identity has begun: without its mark, readers would stop at
 * its incomplete end. */
static int remove_begun(const struct nm_indexed *x, const char *marked, char **ret_message)
{
    _cleanup_free_ char *path = path_of(x, marked), *message = NULL;
    int r = path ? x->target->ops->remove(x->target, path, &message) : -ENOMEM;

    return r < 0 ? nm_fail(ret_message, r, "can't remove %s: %s", path ?: "a file", message ?: strerror(-r)) : 0;
}

int nm_indexed_abandon(const struct nm_upload_work *work, struct nm_target *target, const char *dir,
                       char **ret_message)
{
    const struct nm_indexed x = {.work = work, .target = target, .dir = dir};
    char marked[NAME_MAX + 1] = "";
    uint64_t good_bytes = 0;
    int r = read_mark(&x, marked, &good_bytes, ret_message);

    if (r <= 0 || good_bytes > 0)
        return NM_MIN(r, 0);
    r = remove_begun(&x, marked, ret_message);
    return r < 0 ? r : nm_indexed_complete(work, target, dir, ret_message);
}

int nm_indexed_choose(struct nm_indexed *x, const struct nm_upload_memory *memory, char **ret_message)
{
    char marked[NAME_MAX + 1] = "";
    uint64_t marked_good = 0;
    int mark = read_mark(x, marked, &marked_good, ret_message);
    int r = mark < 0 && mark != -EBADMSG ? mark : 1;

    if (r > 0 && memory->remote_name)
        r = choose_former(x, memory, ret_message);
    if (r <= 0)
        return r;
    r = nm_indexed_choose_new(x);
    if (r >= 0)
        r = check_new(x, mark, marked, ret_message);
    if (r >= 0 && mark > 0 && marked_good == 0 && !nm_streq(marked, x->name))
        r = remove_begun(x, marked, ret_message);
    return r;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Returns whether the refused append has left the file as it was, so that another file can be begun. The mark is needed
 * for a file that has become longer. */
static bool is_unchanged(const struct nm_indexed *x, const char *path)
{
    _cleanup_free_ char *message = NULL;
    struct nm_target_status status;

    return x->bytes == x->good_bytes && x->target->ops->stat(x->target, path, &status, &message) >= 0 &&
           status.bytes == x->bytes;
}

int nm_indexed_write(struct nm_indexed *x, const struct nm_target_source *source, char **ret_message)
{
    _cleanup_free_ char *path = path_of(x, x->name), *message = NULL;
    int r = path ? write_mark(x, ret_message) : -ENOMEM;

    if (r < 0)
        return r;
    NM_FAULT("upload-marked");
    r = x->good_bytes > 0 ? x->target->ops->append(x->target, path, source, &message)
                          : x->target->ops->create(x->target, path, source, &message);
    if (r >= 0)
        return 0;
    if (x->good_bytes > 0 && (r == -EREMOTEIO || r == -EACCES) && is_unchanged(x, path)) {
        nm_upload_report_note(x->report, "a new file is begun, because nothing can be appended to %s: %s", x->name,
                              message ?: strerror(-r));
        r = nm_indexed_choose_new(x);
        return r < 0 ? r : 1;
    }
    return nm_fail(ret_message, r, "can't write %s: %s", path, message ?: strerror(-r));
}
