/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The work of nm-log-uploader (aggregate/worker/upload-work.h), made from the books of an application. */

#include "yarn/conf/properties.h"
#include "yarn/logs/log-book.h"

#define NM_YARN_LOG_IDLE_SEC 60    /* for how long the worker waits for a server that sends nothing */
#define NM_YARN_LOG_SECONDS 3600   /* time limit of one attempt */

/* Returns the work of an upload, which the caller frees. node: host:port. dirs: the log directories, n_dirs > 0. NULL:
 * no memory. */
char *nm_yarn_log_work(const struct nm_yarn_settings *s, const struct nm_yarn_log_book *b, const char *node,
                       const char *const *dirs, size_t n_dirs);
/* Returns the work that makes or checks the remote directory itself. */
char *nm_yarn_log_work_prepare(const struct nm_yarn_settings *s);
