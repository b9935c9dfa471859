/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Telling the person before a terminal what happens to the container that they wait for. */

#include <jansson.h>

#include "nmctl/nmctl.h"

struct nm_progress {
    uint64_t next_usec;      /* CLOCK_BOOTTIME of the next look */
    uint64_t said_usec;      /* and of the last message */
    char said_of[128];       /* the state, position and reason that it told; "": nothing has been told */
    bool told_waiting, started, paused;
    bool waits;              /* the container existed before: tell which one it is, its state, and that it lasts */
    bool tty;
    unsigned others;         /* waits: so many more containers are waited for */
    uint64_t deadline_usec;  /* CLOCK_BOOTTIME: no look lasts longer; UINT64_MAX: none */
    uint64_t answered_usec;  /* when nmd answered last */
    bool silent;             /* it has been said that nmd doesn't answer */
    char title[160];         /* of the container; "": not known yet */
};

void nm_progress_init(struct nm_progress *n, bool waits);
/* When to look again; UINT64_MAX: no need. */
uint64_t nm_progress_next(const struct nm_progress *n);
/* Asks nmd and tells what is new. */
void nm_progress_look(struct nm_progress *n, struct nm_ctl *ctl, const char *id);
/* nmd has been away and is back, which has been said. */
void nm_progress_resume(struct nm_progress *n);
/* Nothing more is to be told: a line that was kept up to date goes. */
void nm_progress_done(void);
/* How it ended, unless it simply exited. */
void nm_progress_end(const json_t *container);
