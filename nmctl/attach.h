/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Following a container: its output to ours, until it has ended. */

#include <jansson.h>

#include "nmctl/nmctl.h"

struct nm_attach_params {
    const char *id;
    bool want_stdout, want_stderr;
    bool want_end;       /* learn how it ended */
    bool follow;         /* else: what was written so far */
    uint64_t since_usec; /* CLOCK_REALTIME: no lines from before; 0: all */
    bool timestamps;     /* each line with when it was written */
    uint64_t tail;       /* lines, or NM_CTL_UNSET */
    bool narrate;        /* print on stderr that it is queued, started, paused, resumed */
    int signal_fd; /* the container is ours: a signal here, or a reader of its output that goes,
                      kills it (the second signal: at once). -EBADF: it is not */
    int signal;          /* one that has come already, or 0 */
    int until_fd;        /* the connection of its terminal: come back as soon as something is said there. Without a word
                            it has none: then its output is wanted. 0: there is no such connection */
};

struct nm_attach_result {
    json_t *container; /* want_end: as it ended, the caller's reference; NULL: that isn't known, or not in time */
    int signal;        /* the last signal that came, or 0 */
    bool until;        /* something is said at until_fd, and nothing else has ended this */
};

/* Returns NM_CTL_OK, or another exit status after having said why. *ret is set in any case. */
int nm_attach_run(struct nm_ctl *ctl, const struct nm_attach_params *p,
                  struct nm_attach_result *ret);
