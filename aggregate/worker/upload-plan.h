/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The log files that an upload contains. The containers' directories belong to the user and may contain anything. */

#include <stddef.h>
#include <stdint.h>

#include "aggregate/worker/upload-memory.h"
#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-work.h"

struct nm_upload_item {
    size_t container; /* index in the work */
    size_t log_dir;   /* index in the work */
    char *name;
    uint64_t device, inode;
    uint64_t offset;      /* bytes that were uploaded before */
    uint64_t fingerprint; /* of the uploaded bytes; 0 if nothing was uploaded */
    uint64_t size;   /* bytes to be uploaded */
    uint64_t modified_msec;
};

struct nm_upload_plan {
    struct nm_upload_item *items; /* by container, name and log directory */
    size_t n, size;
    uint64_t total_bytes;
    /* entries that the new memory takes over from the old one: those of files without new bytes, and of containers
     * that this upload doesn't read */
    struct nm_upload_memory kept;
};

/* Reads the directories and makes the plan. `memory` has what was uploaded before. Files that can't be uploaded are
 * left out, with a note. deadline_usec: by nm_now_usec(). On failure returns the end of a sentence. */
int nm_upload_plan_make(const struct nm_upload_work *work, const struct nm_upload_memory *memory,
                        uint64_t deadline_usec, struct nm_upload_report *report, struct nm_upload_plan *ret,
                        char **ret_message);
void nm_upload_plan_done(struct nm_upload_plan *plan);

/* Opens the application's log directory, or the directory of one of its containers. Returns a descriptor that the
 * caller owns, or -errno. */
int nm_upload_plan_open_dir(const struct nm_upload_work *work, size_t log_dir, const char *container);
/* Opens a log file, without waiting for the other end of a pipe. Returns a descriptor, or -errno. */
int nm_upload_plan_open_file(int dir_fd, const char *name);
