/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parses a line of nm-localizer (report.h) in nmd. The line is untrusted: the user whom the process runs as can make it
 * write anything. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_worker_reply_state {
    NM_SAID_FETCHING,
    NM_SAID_UNPACKING,
    NM_SAID_REMOVING,
    NM_SAID_DONE,
    NM_SAID_FAILED,
};

/* The list of the work that a line refers to. */
enum nm_worker_reply_list {
    NM_SAID_RESOURCE,
    NM_SAID_REMOVAL,
    NM_SAID_CHECK,
    NM_SAID_LISTS, /* number of lists */
};

struct nm_worker_reply {
    json_t *json; /* owns the strings */
    enum nm_worker_reply_list list;
    size_t index; /* index in that list */
    bool is_full;   /* it failed because a disk or a quota was full */
    bool is_listed; /* DONE: a list of its contents stands beside it */
    enum nm_worker_reply_state state;
    uint64_t bytes, total_bytes;
    const char *error; /* for FAILED, else "" */
};

/* Parses one line. -EBADMSG: the line is invalid. */
int nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret);
void nm_worker_reply_done(struct nm_worker_reply *said);
