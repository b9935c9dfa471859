/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Telling the person before a terminal what happens to the container that they wait for. */

#include <jansson.h>

#include "nmctl/nmctl.h"

struct nm_narrate {
    uint64_t next_usec;      /* CLOCK_BOOTTIME of the next look */
    uint64_t position;       /* as told; 0: not queued */
    char hold[32];           /* as told */
    bool told_waiting, started, paused;
    bool waits;              /* the container existed before: print first which one it is, and its state */
    bool told;               /* that has been printed */
    bool tty;
};

void nm_narrate_init(struct nm_narrate *n, bool waits);
/* When to look again; UINT64_MAX: no need. */
uint64_t nm_narrate_next(const struct nm_narrate *n);
/* Asks nmd and tells what is new. */
void nm_narrate_look(struct nm_narrate *n, struct nm_ctl *ctl, const char *id);
/* How it ended, unless it simply exited. */
void nm_narrate_end(const json_t *container);
