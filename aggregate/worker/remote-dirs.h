/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The directories of the remote file system, with the modes that Hadoop's readers expect. */

#include "aggregate/worker/target.h"
#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-work.h"

#define NM_REMOTE_DIR_MODE 01777U /* the remote directory itself, in which each user makes a directory */
#define NM_APPLICATION_DIR_MODE 0770U

/* Makes the directories of the application below the remote directory, which must exist. A directory of the application
 * that exists with another mode gets the expected one. -EPERM: another user has made the user's directory. */
int nm_remote_dirs_make(const struct nm_upload_work *work, struct nm_target *target, char **ret_message);

/* Makes the remote directory itself, or checks it if it exists. A wrong mode is reported as a note only, because the
 * administrator may have set it. */
int nm_remote_dirs_prepare(const struct nm_upload_work *work, struct nm_target *target,
                           struct nm_upload_report *report, char **ret_message);
