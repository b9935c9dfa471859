/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reports of nm-localizer, one JSON object per line on its standard output:
 *
 *   {"resource": 0, "state": "fetching" or "unpacking", "bytes": ..., "total": ...}   (total 0: not known)
 *   {"removal": 0, "state": "removing", "bytes": 0, "total": 0}
 *   {"resource": 0, "state": "done", "bytes": size on the disk}   (with "listed": true if a list was made, install.h)
 *   {"resource": 0, "state": "failed", "error": "a sentence"}   (with "full": true if a disk or a quota was full)
 *
 * "resource" is the position in the list of the work. For a removal this member is called "removal", and for a check
 * "check". A check fails if a file is missing. "done" or "failed" is reported once for each position. The other states
 * report progress, at most a few times a second. The interval is a compromise: the reader must not wait long for a
 * line, and a slow reader must not delay the work for long. nm-localizer writes with worker/worker-report.c, and nmd
 * reads with worker-protocol.c. worker/work.h describes the work, which nmd writes and nm-localizer reads.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_WORKER_REPORT_INTERVAL_USEC UINT64_C(250000)
#define NM_WORKER_REPORT_LINE_MAX_BYTES 4096U
#define NM_WORK_TIME_USEC (24 * 3600 * NM_USEC_PER_SEC) /* time limit for one resource, unless the work contains another
                                                           limit */

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
    bool is_listed; /* DONE: a list of the resource's contents exists beside the resource */
    enum nm_worker_reply_state state;
    uint64_t bytes, total_bytes;
    const char *error; /* the reason of FAILED; "" in other states */
};

/* Parses one line. The line is untrusted: nm-localizer runs as the container's user, who can make the process write any
 * text. -EBADMSG: the line isn't valid. */
int nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret);
void nm_worker_reply_done(struct nm_worker_reply *reply);
