/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ways to a resource's bytes, for fetch.c. All that fails leaves a sentence's end. */

#include "localize/http.h"
#include "localize/report.h"
#include "localize/uri.h"
#include "localize/work.h"

struct nm_fetch {
    const struct nm_work *work;
    struct nm_http *http;
    struct nm_report *report;
    size_t active;          /* which of a cluster's name nodes answered last */
    uint64_t deadline_usec; /* of the resource */
};

/* A file that isn't there yet, in a directory that is ours alone. */
struct nm_fetch_to {
    int dir_fd;
    const char *dir_path;
    const char *name;
};

/* Opens a file of this host; *ret_fd is the caller's. */
int nm_fetch_local(const struct nm_resource *res, const struct nm_uri *uri, int *ret_fd, char **ret_message);

/* Write all of it to the empty file fd. What may pass is for another attempt (nm_http_may_pass). */
int nm_fetch_http(struct nm_fetch *f, const struct nm_resource *res, int fd, char **ret_message);
int nm_fetch_hdfs(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, int fd,
                  char **ret_message);

/* Has the command that is configured for its scheme make the file; *ret_fd is the caller's. */
int nm_fetch_command(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri,
                     const struct nm_fetch_to *to, int *ret_fd, char **ret_message);

/* -ESTALE unless the source is the one that was submitted. */
int nm_fetch_check_time(const struct nm_resource *res, uint64_t modified_msec, char **ret_message);

/* For struct nm_http_request, with the struct nm_fetch as userdata. */
void nm_fetch_progress(void *userdata, uint64_t bytes, uint64_t total_bytes);
