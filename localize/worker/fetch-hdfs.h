/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests to the name nodes of a URI's authority. */

#include "localize/worker/fetch-schemes.h"
#include "localize/worker/webhdfs.h"

struct nm_hdfs_question {
    const char *path;
    size_t path_len;
    const char *op;
    int fd; /* receives the body of the answer; -EBADF: the body is kept in memory */
    uint64_t most_bytes;
    void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes); /* NULL: report the resource's progress */
    void *userdata;
};

/* Asks each name node once, beginning with the one that answered last. The caller makes another attempt if the failure
 * is temporary (nm_http_may_pass). */
int nm_hdfs_ask(struct nm_fetch *f, const struct nm_uri *uri, const struct nm_hdfs_question *q,
                struct nm_http_answer *ret, char **ret_message);
