/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parses a line of nm-localizer (report.h) in nmd. The line is untrusted: nm-localizer runs as the container's user,
 * who can make the process write any text. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_worker_reply_state {
    NM_REPLY_FETCHING,
    NM_REPLY_UNPACKING,
    NM_REPLY_REMOVING,
    NM_REPLY_DONE,
    NM_REPLY_FAILED,
};

/* The list of the work that a line refers to. */
enum nm_worker_reply_list {
    NM_REPLY_RESOURCE,
    NM_REPLY_REMOVAL,
    NM_REPLY_CHECK,
    NM_REPLY_LISTS, /* number of lists */
};

struct nm_worker_reply {
    json_t *json; /* owns the strings */
    enum nm_worker_reply_list list;
    size_t index; /* index of the item in `list` */
    bool is_full;   /* the fetch failed because a disk or a quota was full */
    bool is_listed; /* DONE: a list of the resource's contents stands beside the resource */
    enum nm_worker_reply_state state;
    uint64_t bytes, total_bytes;
    const char *error; /* the reason of FAILED; "" in other states */
};

/* Parses one line. -EBADMSG: the line is invalid. */
int nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret);
void nm_worker_reply_done(struct nm_worker_reply *reply);
