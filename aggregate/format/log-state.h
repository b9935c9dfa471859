/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of a writer, which the formats share. log-writer.c checks the order of the calls and the lengths of texts
 * and files, so a format may rely on them. */

#include <stdbool.h>

#include "aggregate/format/log-buffer.h"
#include "aggregate/format/log-meta.h"
#include "aggregate/format/log-writer.h"

struct nm_log_format_ops {
    int (*begin)(struct nm_log_writer *w, char **ret_message);
    /* Begins a file of w->container. w->container_is_new: it is the first file since the container began. */
    int (*file)(struct nm_log_writer *w, const char *name, uint64_t size_bytes, uint64_t modified_msec,
                char **ret_message);
    /* Writes the next n > 0 of the w->left_bytes of the present file. */
    int (*data)(struct nm_log_writer *w, const void *data, size_t n, char **ret_message);
    int (*end)(struct nm_log_writer *w, char **ret_message);
};

struct nm_log_writer {
    const struct nm_log_format_ops *ops;
    struct nm_log_sink sink;
    char *application, *remote_name;
    char *owner, *node, *view_acl, *modify_acl;
    uint64_t upload_msec;
    struct nm_log_meta_former former;

    uint64_t offset_bytes; /* position in the file */
    uint64_t left_bytes;   /* bytes that the present file still needs */
    char *container;       /* id of the present container; NULL: no container yet */
    bool container_is_new, begun, ended;
    int error;                 /* the first error */
    struct nm_log_buffer head; /* bytes that the next flush writes */

    struct {
        bool in_record;      /* a container's record has begun */
        uint64_t chunk_left; /* bytes that the present chunk still needs */
        uint64_t n_records;
        struct nm_log_buffer key; /* key of the last record */
    } tfile;
    struct {
        char **containers; /* owns the ids to which the files point */
        size_t n_containers, containers_room;
        struct nm_log_meta_file *files; /* they own their names */
        size_t n, room;
    } indexed;
};

/* Pass bytes to the sink: the given ones, or those in w->head, which are then removed. */
int nm_log_state_write(struct nm_log_writer *w, const void *data, size_t n, char **ret_message);
int nm_log_state_flush(struct nm_log_writer *w, char **ret_message);
