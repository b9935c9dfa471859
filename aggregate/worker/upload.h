/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One upload, from the log directories of an application to the remote directory. The upload can be interrupted at any
 * step and repeated, and its logs then exist once in the remote directory: the remote file gets its bytes under a
 * temporary name, the pending memory is written (upload-memory.h), the file is renamed, and the pending memory replaces
 * the old one. If the pending memory exists at the start, the remote file shows whether it was renamed. Uploads that
 * are appended to an IndexedFile have a mark instead of the temporary name (indexed.h).
 */

#include "aggregate/worker/target.h"
#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-work.h"

struct nm_upload_result {
    /* size of the remote file, and the number of log files in it; both are 0 if no log had new bytes */
    uint64_t bytes, n_files;
    char *name;              /* of the remote file; NULL: there was nothing to upload */
};

/* Returns 0; the caller frees ret->name. Or -errno, with the end of a sentence in *ret_message. */
int nm_upload(const struct nm_upload_work *work, struct nm_target *target, struct nm_upload_report *report,
              struct nm_upload_result *ret, char **ret_message);
