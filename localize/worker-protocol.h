/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A line of nm-localizer's (report.h), as nmd reads it: whoever runs it could have it say anything. */

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

/* Which of the work's lists it is about. */
enum nm_worker_reply_list {
    NM_SAID_RESOURCE,
    NM_SAID_REMOVAL,
    NM_SAID_CHECK,
    NM_SAID_LISTS, /* how many there are */
};

struct nm_worker_reply {
    json_t *json; /* has the strings */
    enum nm_worker_reply_list list;
    size_t index; /* in that */
    bool is_full;   /* it failed since the disk, or a quota, was full */
    bool is_listed; /* DONE: a list of what is in it stands beside it */
    enum nm_worker_reply_state state;
    uint64_t bytes, total_bytes;
    const char *error; /* of FAILED, else "" */
};

/* -EBADMSG: it is no such line. */
int nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret);
void nm_worker_reply_done(struct nm_worker_reply *said);
