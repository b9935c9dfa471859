/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fetches the bytes of resources. Each function that fails returns the end of a sentence in *ret_message. */

#include "localize/worker/hdfs.h"
#include "localize/worker/http.h"
#include "localize/worker/uri.h"
#include "localize/worker/work.h"
#include "localize/worker/worker-report.h"

struct nm_fetch {
    const struct nm_work *work;
    struct nm_http *http;
    struct nm_worker_report *report;
    struct nm_hdfs hdfs;
    uint64_t deadline_usec; /* deadline of the resource, by nm_now_usec() */
    unsigned attempts; /* maximum number of attempts for each request of the resource; set by nm_fetch() */
};

/* A file that doesn't exist yet, in a directory that only this process uses. */
struct nm_fetch_to {
    int dir_fd;
    const char *dir_path;
    const char *name;
};

/* Positive return value: the source is a directory. */
#define NM_FETCH_E_DIRECTORY 1

/*
 * Fetches a resource's bytes from any scheme, and verifies that the source is unchanged since the job was submitted.
 * Returns a descriptor, positioned at the first byte, that the caller owns. *ret_is_ours: the bytes are in the new file
 * `to`. Otherwise the bytes are in the source itself, and `to` doesn't exist. NM_FETCH_E_DIRECTORY: the source is a
 * directory, and `to` doesn't exist; *ret_fd is set only for a directory of this host. On failure returns -errno, and
 * the end of a sentence.
 */
int nm_fetch(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri,
             const struct nm_fetch_to *to, int *ret_fd, bool *ret_is_ours, char **ret_message);

/* Copies the contents of a source that is a directory into the empty directory to_fd, whose mode the caller sets. fd:
 * the descriptor of nm_fetch(). *ret_message continues the source's name: "/sub/file: ...", or ": ...". */
int nm_fetch_tree(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri, int fd, int to_fd,
                  uint64_t *ret_bytes, char **ret_message);

/* ---- for the files fetch*.c ------------------------------------------------------------------ */

/* Opens a file or directory of this host. The caller owns *ret_fd. */
int nm_fetch_local(const struct nm_work_resource *res, const struct nm_uri *uri, int *ret_fd, char **ret_message);

/* Fetch the whole resource into the empty file fd. The caller tries again if the failure is temporary
 * (nm_http_may_pass). */
int nm_fetch_http(struct nm_fetch *f, const struct nm_work_resource *res, int fd, char **ret_message);
int nm_fetch_hdfs(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri, int fd,
                  char **ret_message);

/* Runs the command that is configured for the URI's scheme, which creates the file. The caller owns *ret_fd. */
int nm_fetch_command(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri,
                     const struct nm_fetch_to *to, int *ret_fd, char **ret_message);

/* Returns -ESTALE unless the source has the timestamp that was submitted with the job. */
int nm_fetch_check_time(const struct nm_work_resource *res, uint64_t modified_msec, char **ret_message);

/* Returns the maximum number of attempts for a request to this source. */
unsigned nm_fetch_attempts(const struct nm_fetch *f, const struct nm_uri *uri);

/* Repeats the attempt until it succeeds, fails permanently, or the maximum number of attempts or the deadline is
 * reached. Returns the last attempt's result. */
typedef int (*nm_fetch_attempt)(struct nm_fetch *f, void *what, char **ret_message);
int nm_fetch_persist(struct nm_fetch *f, nm_fetch_attempt attempt, void *what, char **ret_message);

/* Progress callback for struct nm_http_request; userdata is the struct nm_fetch. */
void nm_fetch_progress(void *userdata, uint64_t bytes, uint64_t total_bytes);

/* A directory as a resource. Contains the amounts that have been copied, for the limits. */
struct nm_fetch_tree {
    struct nm_fetch *fetch;
    bool is_public;
    bool names_failed; /* the message has the failed entry's name; further names are directories above it */
    uint64_t bytes, entries;
};

/* Copy the directory into the empty directory to_fd, which no other process uses before the copy is complete. fd: the
 * source, open for reading. */
int nm_fetch_local_tree(struct nm_fetch_tree *t, int fd, int to_fd, char **ret_message);
int nm_fetch_hdfs_tree(struct nm_fetch_tree *t, const struct nm_uri *uri, int to_fd, char **ret_message);

/* ---- fetch-tree.c: shared by nm_fetch_local_tree() and nm_fetch_hdfs_tree() ------------------ */

#define NM_FETCH_DEPTH_MAX 64 /* the same limit as in archives */

/* Counts one more entry and checks the limits. mode: the entry's mode at its source. */
int nm_fetch_tree_count(struct nm_fetch_tree *t, unsigned depth, bool is_directory, unsigned mode,
                        char **ret_message);
/* Make a file or directory that only its owner can access. The caller owns *ret_fd. */
int nm_fetch_tree_make_file(int to_fd, const char *name, int *ret_fd, char **ret_message);
int nm_fetch_tree_make_dir(int to_fd, const char *name, int *ret_fd, char **ret_message);
/* Sets the mode of localized files on a complete entry. */
int nm_fetch_tree_finish(const struct nm_fetch_tree *t, int fd, bool is_directory, char **ret_message);
/* Adds the entry's name to the message about a failure in this entry. Takes ownership of message; returns r. */
int nm_fetch_tree_failed(struct nm_fetch_tree *t, const char *name, int r, char *message, char **ret_message);
/* Reports progress; userdata is the struct nm_fetch_tree. */
void nm_fetch_tree_progress(void *userdata, uint64_t bytes, uint64_t total_bytes);
