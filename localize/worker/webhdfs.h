/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* WebHDFS in words: what is asked for, and what a name node's answers say. No I/O. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* No answer that we ask for has reason to be longer. */
#define NM_WEBHDFS_MAX_BYTES (64U << 10)

struct nm_webhdfs_status {
    bool is_directory;
    uint64_t length_bytes;
    uint64_t modified_msec;
    unsigned mode; /* the nine bits */
};

/* base is as http://host:9870; the first path_len bytes of path are what is asked for. The caller frees the URL. */
int nm_webhdfs_url(const char *base, const char *path, size_t path_len, const char *op, const char *user, char **ret);

/* A name node encodes the user's name once too often when it sends us on to a data node, which then takes us for
 * "alice%40corp". 1: *ret is the location as it should be, the caller's; 0: it is so already. */
int nm_webhdfs_mend_location(const char *location, const char *user, char **ret);

/* -EBADMSG: this isn't the answer to GETFILESTATUS. */
int nm_webhdfs_parse_status(const char *text, size_t size, struct nm_webhdfs_status *ret);

/* An entry of a directory; its name can stand in a path. */
struct nm_webhdfs_entry {
    const char *name;
    struct nm_webhdfs_status status;
};

struct nm_webhdfs_list {
    struct nm_webhdfs_entry *all;
    size_t n;
    json_t *json; /* in which the names are */
};

/* -EBADMSG: this isn't the answer to LISTSTATUS of a directory. */
int nm_webhdfs_parse_list(const char *text, size_t size, struct nm_webhdfs_list *ret);
void nm_webhdfs_list_done(struct nm_webhdfs_list *list);

/* What a refusal says: the class of the exception without its package, and its message. Both are the caller's to free;
 * -EBADMSG: it is no such answer. */
int nm_webhdfs_parse_exception(const char *text, size_t size, char **ret_class, char **ret_text);
