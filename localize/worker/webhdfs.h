/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The text of WebHDFS requests and answers. The code does no I/O. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Limit on the size of an answer. The answers to the requests of this file are shorter. */
#define NM_WEBHDFS_MAX_BYTES (64U << 10)

struct nm_webhdfs_status {
    bool is_directory;
    uint64_t length_bytes;
    uint64_t modified_msec;
    unsigned mode; /* the nine permission bits */
    bool is_sticky;
};

/* Returns the URL of a request, which the caller frees. base is like http://host:9870; the first path_len bytes of path
 * are the path of the request. */
int nm_webhdfs_url(const char *base, const char *path, size_t path_len, const char *op, const char *user, char **ret);

/* Returns a parameter of a request, such as "&destination=%2Fa", which the caller frees, or NULL if memory ran out. */
char *nm_webhdfs_argument(const char *key, const char *value);

/* Corrects the location of a redirect. In a redirect to a data node, a name node encodes the user's name once too
 * often. The data node would then read the user as "alice%40corp". Returns 1: *ret is the corrected location, freed by
 * the caller. Returns 0: the location is already correct. */
int nm_webhdfs_fix_location(const char *location, const char *user, char **ret);

/* Parses the answer to GETFILESTATUS. -EBADMSG: the text is not such an answer. */
int nm_webhdfs_parse_status(const char *text, size_t size, struct nm_webhdfs_status *ret);
/* Parses the owner in the answer to GETFILESTATUS. The caller frees it. -EBADMSG: the text has no owner. */
int nm_webhdfs_parse_owner(const char *text, size_t size, char **ret);
/* Parses the answer to MKDIRS, RENAME or DELETE: whether the operation was done. -EBADMSG: it is no such answer. */
int nm_webhdfs_parse_boolean(const char *text, size_t size, bool *ret);

/* An entry of a directory. The entry's name is a valid part of a path. */
struct nm_webhdfs_entry {
    const char *name;
    struct nm_webhdfs_status status;
};

struct nm_webhdfs_list {
    struct nm_webhdfs_entry *all;
    size_t n;
    json_t *json; /* owns the names */
};

/* Parses the answer to LISTSTATUS of a directory. -EBADMSG: the text is not such an answer. */
int nm_webhdfs_parse_list(const char *text, size_t size, struct nm_webhdfs_list *ret);
void nm_webhdfs_list_done(struct nm_webhdfs_list *list);

/* Parses a refusal: the class of the exception without its package, and the exception's message. The caller frees
 * both. -EBADMSG: the text is not a refusal. */
int nm_webhdfs_parse_exception(const char *text, size_t size, char **ret_class, char **ret_text);
