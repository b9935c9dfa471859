/* SPDX-License-Identifier: Apache-2.0 */

/*
 * IndexedFile, which Hadoop's LogAggregationIndexedFileController reads and writes:
 *
 *   id, then for each upload: contents of the files, META, length of META, id
 *
 * The id is the SHA-256 of the application's id. Readers begin at the end of the file.
 */

#include "aggregate/format/indexed-file.h"

#include <errno.h>
#include <nettle/sha2.h>

#include "util/array.h"
#include "util/error.h"

_Static_assert(NM_LOG_INDEXED_ID_SIZE == SHA256_DIGEST_SIZE, "the id is a SHA-256");

static void put_id(struct nm_log_writer *w)
{
    uint8_t id[SHA256_DIGEST_SIZE];
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, strlen(w->application), (const uint8_t *)w->application);
    sha256_digest(&context, sizeof id, id);
    nm_log_buffer_put(&w->head, id, sizeof id);
}

static int begin(struct nm_log_writer *w, char **ret_message)
{
    if (w->offset_bytes == 0)
        put_id(w);
    return nm_log_state_flush(w, ret_message);
}

/* Adds w->container to the ids, whose pointers stay valid. */
static int add_container(struct nm_log_writer *w)
{
    char *id;

    if (NM_ARRAY_ROOM(w->indexed.containers, w->indexed.n_containers, w->indexed.containers_room) < 0)
        return -ENOMEM;
    id = strdup(w->container);
    if (!id)
        return -ENOMEM;
    w->indexed.containers[w->indexed.n_containers++] = id;
    return 0;
}

static int file(struct nm_log_writer *w, const char *name, uint64_t size_bytes, uint64_t modified_msec,
                char **ret_message)
{
    char *copy;

    (void)ret_message;
    if (w->container_is_new && add_container(w) < 0)
        return -ENOMEM;
    if (NM_ARRAY_ROOM(w->indexed.files, w->indexed.n, w->indexed.room) < 0)
        return -ENOMEM;
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    w->indexed.files[w->indexed.n++] = (struct nm_log_meta_file){.container =
            w->indexed.containers[w->indexed.n_containers - 1],
        .name = copy, .start_bytes = w->offset_bytes, .size_bytes = size_bytes, .modified_msec = modified_msec};
    return 0;
}

/* Sorts by container, because a container may have been announced several times, and then by the place in the file. An
 * empty file has the place of the next one. */
static int compare(const void *a, const void *b)
{
    const struct nm_log_meta_file *f = a, *g = b;
    int order = strcmp(f->container, g->container);

    if (order == 0 && f->start_bytes != g->start_bytes)
        order = f->start_bytes < g->start_bytes ? -1 : 1;
    if (order == 0 && f->size_bytes != g->size_bytes)
        order = f->size_bytes < g->size_bytes ? -1 : 1;
    return order != 0 ? order : strcmp(f->name, g->name);
}

static int end(struct nm_log_writer *w, char **ret_message)
{
    struct nm_log_meta meta = {w->owner, w->node, w->view_acl, w->modify_acl};
    struct nm_log_meta_upload upload = {w->remote_name, w->upload_msec, w->indexed.files, w->indexed.n};
    struct nm_log_buffer index = {};
    int r;

    if (w->indexed.n > 0)
        qsort(w->indexed.files, w->indexed.n, sizeof *w->indexed.files, compare);
    r = nm_log_meta_write(&meta, w->former, &upload, &index);
    if (r == 0 && index.size > INT32_MAX)
        r = nm_fail(ret_message, -EFBIG, "the index of the logs is too large");
    if (r == 0)
        r = nm_log_state_write(w, index.data, index.size, ret_message);
    nm_log_buffer_number(&w->head, index.size, 4);
    nm_log_buffer_done(&index);
    if (r < 0)
        return r;
    put_id(w);
    return nm_log_state_flush(w, ret_message);
}

const struct nm_log_format_ops nm_indexed_file_ops = {begin, file, nm_log_state_write, end};
