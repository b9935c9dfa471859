/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A client of HDFS through WebHDFS, for a worker that may block. It reads and writes, and finds the active name node
 * and a data node that works. nm-localizer and nm-log-uploader use it.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "localize/worker/http.h"
#include "localize/worker/uri.h"

#define NM_HDFS_DEAD_NODES 512

struct nm_hdfs {
    struct nm_http *http;
    json_t *name_nodes;  /* see work.h; may be NULL */
    const char *user;    /* for SIMPLE authentication; NULL: requests have no name */
    bool https;          /* TLS is used for name nodes that aren't in name_nodes */
    const char *ca_file; /* PEM: CA certificates for name nodes and data nodes; NULL: the system's */
    uint64_t idle_usec;  /* maximum time during which a server may transfer almost no data */
    /* state, which begins as zeros */
    size_t active;                       /* index of the name node that answered last */
    char dead_nodes[NM_HDFS_DEAD_NODES]; /* data nodes to be avoided, separated by commas */
};

/* Returns whether the URI stands for several name nodes. If the active one fails, another one becomes active. */
bool nm_hdfs_has_failover(const struct nm_hdfs *h, const struct nm_uri *uri);

/* A request to the name nodes of a URI's authority. */
struct nm_hdfs_query {
    const char *path;
    size_t path_len;
    const char *op;
    const char *method;    /* NULL: GET */
    const char *arguments; /* further parameters, such as "&overwrite=true"; NULL: none */
    const struct nm_http_body *body; /* bytes for a data node; NULL: none */
    bool sends_once; /* don't send the body to another data node after one may have stored a part of it */
    int fd; /* receives the body of the answer to OPEN; -EBADF: the body is kept in memory */
    uint64_t most_bytes;    /* limit on the body of the answer */
    uint64_t deadline_usec; /* by nm_now_usec() */
    void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes); /* may be NULL */
    void *userdata;
};

/*
 * Asks each name node once, beginning with the one that answered last. The caller tries again if the failure is
 * temporary (nm_http_may_pass). A request that changes something may have been executed although it fails: a name node
 * may die before it answers. Besides the errors of nm_http_perform() returns the end of a sentence in *ret_message, and
 *   -ENOENT     the file doesn't exist
 *   -EACCES     the user isn't permitted to do that
 *   -EDQUOT     a quota of HDFS is exhausted
 *   -ENOSPC     the data nodes have no space
 *   -EPROTO     a data node failed, and may have stored a part of the body (only with sends_once)
 *   -EREMOTEIO  another refusal
 */
int nm_hdfs_query(struct nm_hdfs *h, const struct nm_uri *uri, const struct nm_hdfs_query *q,
                  struct nm_http_answer *ret, char **ret_message);
