/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A line of nm-localizer's (report.h), as nmd reads it: whoever runs it could have it say anything. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_said_state {
    NM_SAID_FETCHING,
    NM_SAID_UNPACKING,
    NM_SAID_REMOVING,
    NM_SAID_DONE,
    NM_SAID_FAILED,
};

struct nm_said {
    json_t *json; /* has the strings */
    bool is_removal, is_full; /* full: it failed since the disk, or a quota, was full */
    size_t index; /* in the list of resources, or of removals */
    enum nm_said_state state;
    uint64_t bytes, total_bytes;
    const char *error; /* of FAILED, else "" */
};

/* -EBADMSG: it is no such line. */
int nm_said_parse(const char *text, size_t size, struct nm_said *ret);
void nm_said_done(struct nm_said *said);
