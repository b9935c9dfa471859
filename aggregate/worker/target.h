/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The remote file system: HDFS through WebHDFS, or a directory of this host that all nodes share. Paths are absolute
 * paths of the remote file system, at or below the remote directory of the work. Each function that fails returns
 * -errno, and the end of a sentence in *ret_message, which the caller frees. ret_message must not be NULL.
 */

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-work.h"
#include "localize/worker/http.h"

#define NM_TARGET_MAX_LIST_ENTRIES 65536U

struct nm_target;

struct nm_target_status {
    bool is_directory;
    unsigned mode;  /* permission bits, and 01000 for the sticky bit */
    uint64_t bytes; /* of a file */
    bool is_owned;  /* the object belongs to the user */
};

/* The bytes for a file. */
struct nm_target_source {
    struct nm_http_body body;
    /* Both may be NULL, and get the userdata of the body. message() returns the end of a sentence about a failure of
     * read(), or NULL. */
    void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes);
    const char *(*message)(const void *userdata);
};

struct nm_target_ops {
    /* -ENOENT: it doesn't exist. */
    int (*stat)(struct nm_target *t, const char *path, struct nm_target_status *ret, char **ret_message);
    /* Makes one directory with exactly this mode. Succeeds if it exists. */
    int (*make_dir)(struct nm_target *t, const char *path, unsigned mode, char **ret_message);
    int (*set_mode)(struct nm_target *t, const char *path, unsigned mode, char **ret_message);
    /* Sets the owner and the group, which may be "", of a directory that was made just now. */
    int (*set_owner)(struct nm_target *t, const char *path, const char *owner, const char *group, char **ret_message);
    /* Makes a file with the bytes of the source, or replaces it. */
    int (*create)(struct nm_target *t, const char *path, const struct nm_target_source *source, char **ret_message);
    /* Appends the bytes of the source to a file, which may then have a part of the bytes after a failure. */
    int (*append)(struct nm_target *t, const char *path, const struct nm_target_source *source, char **ret_message);
    /* Reads `size` bytes of a file. -EBADMSG: the file is shorter. */
    int (*read)(struct nm_target *t, const char *path, uint64_t offset, void *buf, size_t size, char **ret_message);
    /* -EEXIST: there is a file of the new name already, or no file of the old name. */
    int (*rename)(struct nm_target *t, const char *from, const char *to, char **ret_message);
    /* Removes a file. Succeeds if it doesn't exist. */
    int (*remove)(struct nm_target *t, const char *path, char **ret_message);
    /* Calls found() for each entry of a directory. */
    int (*list)(struct nm_target *t, const char *path, int (*found)(void *userdata, const char *name), void *userdata,
                char **ret_message);
    void (*free)(struct nm_target *t);
};

struct nm_target {
    const struct nm_target_ops *ops;
    const struct nm_upload_work *work;
    uint64_t deadline_usec;
};

/* user: the name for requests to HDFS, which a file system of this host ignores. */
int nm_target_hdfs_new(const struct nm_upload_work *work, const char *user, uint64_t deadline_usec,
                       struct nm_target **ret, char **ret_message);
int nm_target_file_new(const struct nm_upload_work *work, uint64_t deadline_usec, struct nm_target **ret,
                       char **ret_message);
struct nm_target *nm_target_free(struct nm_target *t);
NM_DEFINE_CLEANUP(struct nm_target *, nm_target_free)
