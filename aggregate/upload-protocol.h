/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reports of nm-log-uploader, one JSON object per line on its standard output:
 *
 *   {"state": "uploading", "bytes": ..., "total": ...}
 *   {"state": "note", "text": "a sentence"}
 *   {"state": "done", "bytes": size of the remote file, "files": number of log files, "name": "the remote file"}
 *   {"state": "failed", "error": "a sentence", "temporary": true or false, "full": true or false}
 *
 * "uploading" reports progress, at most a few times a second. "note" reports something that the upload leaves out. The
 * last line is "done" or "failed". With "files": 0 there was nothing to upload, and "name" is "". nm-log-uploader
 * writes with worker/upload-report.c, and nmd reads with upload-protocol.c. worker/upload-work.h describes the work,
 * which nmd writes and nm-log-uploader reads.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_UPLOAD_LINE_MAX_BYTES 4096U
#define NM_UPLOAD_MAX_NOTES 20U /* notes of one run, including one that says that there are more */
/* Log files of one upload. nmd passes up to 10,000 ended containers for one upload and then removes their logs, so a
 * low limit would lose logs. 13 files of each container have room. */
#define NM_UPLOAD_MAX_FILES 131072U

enum nm_upload_state {
    NM_UPLOAD_UPLOADING,
    NM_UPLOAD_NOTE,
    NM_UPLOAD_DONE,
    NM_UPLOAD_FAILED,
};

struct nm_upload_reply {
    json_t *json; /* owns the strings */
    enum nm_upload_state state;
    uint64_t bytes, total_bytes, n_files;
    const char *text;  /* the sentence of NOTE and FAILED; "" in other states */
    const char *name;  /* DONE: the name of the remote file, without its directory; "" otherwise */
    bool is_temporary; /* FAILED: another attempt may succeed */
    bool is_full;      /* FAILED: a quota or a disk was full */
};

/* Parses one line. The line is untrusted: nm-log-uploader runs as the application's user, who can make the process
 * write any text. The texts may contain any characters. -EBADMSG: the line isn't valid. */
int nm_upload_reply_parse(const char *text, size_t size, struct nm_upload_reply *ret);
void nm_upload_reply_done(struct nm_upload_reply *reply);
