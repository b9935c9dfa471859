/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The log files of a container: the regular files in LOG-DIR/APPLICATION/CONTAINER of all log directories. Their owner
 * may change them and the directory at any time, so nmd opens them with the owner's rights, one path component at a
 * time, without following links and without crossing mounts. Neither a list nor an opened file can block the event
 * loop.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yarn/launch/launcher.h"

/* Limits of a list. Reading it blocks the event loop, and a directory may have any number of files. */
#define NM_YARN_LOG_NAMES_MAX 2048 /* names that are read, files of all kinds included */
#define NM_YARN_LOG_FILES_MAX 500  /* files in the list, and files that are looked at */

struct nm_yarn_log_file {
    char *name; /* any bytes but '/' and NUL; it need not be UTF-8 */
    uint64_t size;
    int64_t modified_sec;
};

struct nm_yarn_log_files {
    struct nm_yarn_log_file *all; /* ordered by name */
    size_t n, room;
    bool more; /* files are missing in the list, because there are too many */
};

/* Lists the container's log files. -ENOENT: no log directory has a directory of this container. */
int nm_yarn_log_files_read(struct nm_yarn_launcher *l, const char *application, const char *container,
                           struct nm_yarn_log_files *ret);
void nm_yarn_log_files_done(struct nm_yarn_log_files *files);

/* Opens a log file for reading. Returns 0 and the file's descriptor and data; the data have no name. -ENOENT: there is
 * no such regular file. */
int nm_yarn_log_files_open(struct nm_yarn_launcher *l, const char *application, const char *container, const char *name,
                           int *ret_fd, struct nm_yarn_log_file *ret);

/* Returns the submitter of an application that has ended and whose logs haven't been removed yet, and the application's
 * view ACL in *ret_view_acl (NULL: none). NULL: there is no such application. */
const char *nm_yarn_log_files_submitter(struct nm_yarn_launcher *l, const char *application, const char **ret_view_acl);
