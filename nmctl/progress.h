/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages about a container's changes of state, for a user who waits for the container. */

#include <jansson.h>

#include "nmctl/nmctl.h"

struct nm_progress {
    uint64_t begun_usec;     /* CLOCK_BOOTTIME of nm_progress_init() */
    uint64_t next_usec;      /* CLOCK_BOOTTIME of the next query */
    uint64_t printed_usec;   /* CLOCK_BOOTTIME of the last message */
    char printed_state[128]; /* state, position and reason in the last message; "": no message yet */
    bool reported_waiting, started, paused;
    /* the container existed before nmctl started, so messages contain the container's name and state and that the wait
     * continues */
    bool waits;
    bool tty;
    unsigned others;         /* waits: number of other containers that nmctl waits for */
    /* CLOCK_BOOTTIME at which a query ends at the latest; UINT64_MAX: queries have no deadline */
    uint64_t deadline_usec;
    uint64_t answered_usec;  /* time of the last answer from nmd */
    bool silent;             /* a message has reported that nmd doesn't answer */
    char title[160];         /* name of the container; "": not known yet */
};

void nm_progress_init(struct nm_progress *n, bool waits);
/* Returns the time of the next query; UINT64_MAX: no query is needed. */
uint64_t nm_progress_next(const struct nm_progress *n);
/* Queries nmd and prints what has changed. */
void nm_progress_poll(struct nm_progress *n, struct nm_ctl *ctl, const char *id);
/* Resumes after nmd was unreachable. The caller has printed a message about the lost connection. */
void nm_progress_resume(struct nm_progress *n);
/* Erases the message that was being updated, because no further messages are printed. */
void nm_progress_done(void);
/* Prints how the container ended, unless it exited normally. */
void nm_progress_end(const json_t *container);
