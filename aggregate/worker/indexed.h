/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Uploads that are appended to one IndexedFile for each node and application, so that an application that runs for
 * months has few files. A second file, the mark, contains the length of the valid part while an upload is written:
 * readers ignore what is behind it. The removal of the mark completes the upload. What an interrupted upload has
 * appended remains in the file, and no index refers to it.
 */

#include "aggregate/worker/target.h"
#include "aggregate/worker/upload-memory.h"
#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-stream.h"
#include "aggregate/worker/upload-work.h"

struct nm_indexed {
    const struct nm_upload_work *work;
    struct nm_target *target;
    struct nm_upload_report *report;
    const char *dir;     /* the application's directory */
    char *name;          /* of the file */
    bool is_done;        /* the file is a former result of this upload, whose memory was lost */
    uint64_t good_bytes; /* length of the valid part; 0: the file is new */
    uint64_t bytes;      /* length of the file, to which the upload is appended */
    uint8_t *meta;       /* the index of the valid part */
    size_t meta_size;
};

/* Chooses the file: that of the last upload, or a new one. The caller calls nm_indexed_done() in any case. */
int nm_indexed_choose(struct nm_indexed *x, const struct nm_upload_memory *memory, char **ret_message);
/* Writes the mark, and the bytes of the source behind the file. If the file system refuses to append, chooses a new
 * file and returns 1: the caller makes another stream. */
int nm_indexed_write(struct nm_indexed *x, const struct nm_target_source *source, char **ret_message);
/* Chooses a new file instead of the present one. */
int nm_indexed_choose_new(struct nm_indexed *x);
/* Removes the mark. */
int nm_indexed_complete(const struct nm_upload_work *work, struct nm_target *target, const char *dir,
                        char **ret_message);
/* Removes what the attempts of an abandoned upload have left: a file that contains no complete upload, and its mark. A
 * mark beside complete uploads stays, because readers must not read behind it. */
int nm_indexed_abandon(const struct nm_upload_work *work, struct nm_target *target, const char *dir,
                       char **ret_message);
void nm_indexed_done(struct nm_indexed *x);
