/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * META, the index at the end of an IndexedFile: an IndexedLogsMeta in Java's serialization. It lists all uploads that
 * the file has, so readers need only the last one.
 */

#include <stddef.h>
#include <stdint.h>

#include "aggregate/format/log-buffer.h"

/* What is the same in all uploads of a file. */
struct nm_log_meta {
    const char *owner, *node, *view_acl, *modify_acl;
};

struct nm_log_meta_file {
    const char *container, *name;
    uint64_t start_bytes, size_bytes, modified_msec;
};

struct nm_log_meta_upload {
    const char *remote_name;
    uint64_t upload_msec;
    const struct nm_log_meta_file *files; /* sorted by container */
    size_t n;
};

/* The META that an earlier upload has written. All members are zero if no upload came before. */
struct nm_log_meta_former {
    const void *data;
    size_t size;
};

/* Checks that nm_log_meta_write() wrote `former` for the same owner, node and access lists. Returns 0, -EBADMSG or
 * -ENOMEM. */
int nm_log_meta_check(const struct nm_log_meta *meta, struct nm_log_meta_former former);
/* Makes a META with the uploads of `former` and the new one. The caller ends *ret with nm_log_buffer_done(). Returns 0
 * or -errno. */
int nm_log_meta_write(const struct nm_log_meta *meta, struct nm_log_meta_former former,
                      const struct nm_log_meta_upload *upload, struct nm_log_buffer *ret);
