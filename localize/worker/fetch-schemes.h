/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ways to a resource's bytes, for fetch.c. All that fails leaves a sentence's end. */

#include "localize/report.h"
#include "localize/worker/http.h"
#include "localize/worker/uri.h"
#include "localize/work.h"

#define NM_FETCH_DEAD_NODES 512

struct nm_fetch {
    const struct nm_work *work;
    struct nm_http *http;
    struct nm_report *report;
    size_t active;          /* which of a cluster's name nodes answered last */
    uint64_t deadline_usec; /* of the resource */
    char dead_nodes[NM_FETCH_DEAD_NODES]; /* data nodes to be sent to no more, with commas between */
};

/* A file that isn't there yet, in a directory that is ours alone. */
struct nm_fetch_to {
    int dir_fd;
    const char *dir_path;
    const char *name;
};

/* The source is a directory. */
#define NM_FETCH_E_DIRECTORY 1

/* Opens a file or directory of this host; *ret_fd is the caller's. */
int nm_fetch_local(const struct nm_resource *res, const struct nm_uri *uri, int *ret_fd, char **ret_message);

/* Write all of it to the empty file fd. What may pass is for another attempt (nm_http_may_pass). */
int nm_fetch_http(struct nm_fetch *f, const struct nm_resource *res, int fd, char **ret_message);
int nm_fetch_hdfs(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, int fd,
                  char **ret_message);

/* A directory with all that is in it: how much has been had of what it may cost. */
struct nm_fetch_tree {
    struct nm_fetch *fetch;
    bool is_public;
    bool names_failed; /* what failed is named: more names are those of directories above it */
    uint64_t bytes, entries;
};

/* Into the empty directory to_fd, which is ours alone until then. fd: the source, open for reading. */
int nm_fetch_local_tree(struct nm_fetch_tree *t, int fd, int to_fd, char **ret_message);
int nm_fetch_hdfs_tree(struct nm_fetch_tree *t, const struct nm_uri *uri, int to_fd, char **ret_message);

/* ---- fetch-tree.c: what both have in common ---- */

#define NM_FETCH_DEPTH_MAX 64 /* as in archives */

/* One more entry, with that mode at its source. */
int nm_fetch_tree_count(struct nm_fetch_tree *t, unsigned depth, bool is_directory, unsigned mode,
                        char **ret_message);
/* Makes it, for us alone; *ret_fd is the caller's. */
int nm_fetch_tree_make_file(int to_fd, const char *name, int *ret_fd, char **ret_message);
int nm_fetch_tree_make_dir(int to_fd, const char *name, int *ret_fd, char **ret_message);
/* It is whole: the mode of what is localized. */
int nm_fetch_tree_finish(const struct nm_fetch_tree *t, int fd, bool is_directory, char **ret_message);
/* What failed within it. Takes message over; returns r. */
int nm_fetch_tree_failed(struct nm_fetch_tree *t, const char *name, int r, char *message, char **ret_message);
/* With the struct nm_fetch_tree as userdata. */
void nm_fetch_tree_progress(void *userdata, uint64_t bytes, uint64_t total_bytes);

/* Has the command that is configured for its scheme make the file; *ret_fd is the caller's. */
int nm_fetch_command(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri,
                     const struct nm_fetch_to *to, int *ret_fd, char **ret_message);

/* -ESTALE unless the source is the one that was submitted. */
int nm_fetch_check_time(const struct nm_resource *res, uint64_t modified_msec, char **ret_message);

/* Until it is there, fails for good, or the attempts or the time are used up: what an attempt returns. */
typedef int (*nm_fetch_attempt)(struct nm_fetch *f, void *what, char **ret_message);
int nm_fetch_persist(struct nm_fetch *f, nm_fetch_attempt attempt, void *what, char **ret_message);

/* For struct nm_http_request, with the struct nm_fetch as userdata. */
void nm_fetch_progress(void *userdata, uint64_t bytes, uint64_t total_bytes);
