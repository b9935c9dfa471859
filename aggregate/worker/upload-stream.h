/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes of an upload's remote file: reads the log files of a plan one after the other, and writes them in the
 * remote format. The bytes are made while they are read, in pieces, so that the file is never in memory as a whole.
 */

#include <sys/types.h>

#include "aggregate/worker/upload-plan.h"
#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-work.h"

struct nm_upload_stream;

/* The file that gets the bytes. An IndexedFile may exist already, with offset_bytes bytes and the index former_meta. */
struct nm_upload_stream_to {
    const char *remote_name;
    uint64_t offset_bytes;
    const void *former_meta; /* may be NULL */
    size_t former_meta_size;
};

/* The arguments, except for `to` itself, must stay valid. -EBADMSG, -EFBIG: the former index can't be continued. */
int nm_upload_stream_new(const struct nm_upload_work *work, const struct nm_upload_plan *plan,
                         const struct nm_upload_stream_to *to, struct nm_upload_report *report,
                         struct nm_upload_stream **ret);
struct nm_upload_stream *nm_upload_stream_free(struct nm_upload_stream *s);
NM_DEFINE_CLEANUP(struct nm_upload_stream *, nm_upload_stream_free)

/* Both have the types of struct nm_http_body. userdata: the stream. */
ssize_t nm_upload_stream_read(void *userdata, char *buf, size_t n);
int nm_upload_stream_restart(void *userdata);

/* Reports progress. userdata: the stream. */
void nm_upload_stream_progress(void *userdata, uint64_t bytes, uint64_t total_bytes);

/* Returns the end of a sentence about the failure of the last read, or NULL. It belongs to the stream. */
const char *nm_upload_stream_message(const void *userdata);

/* After the last byte: the size of the remote file, and the bytes and the number of the log files in it. Files that
 * were replaced since the plan was made are left out. */
struct nm_upload_stream_sums {
    uint64_t remote_bytes, log_bytes, n_files;
};
struct nm_upload_stream_sums nm_upload_stream_sums(const struct nm_upload_stream *s);

/* After the last byte: adds the files to the memory. Returns 0, -E2BIG if not all have room, or -ENOMEM. */
int nm_upload_stream_remember(const struct nm_upload_stream *s, struct nm_upload_memory *memory);
