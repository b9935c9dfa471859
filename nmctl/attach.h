/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Follows a container: copies its output to nmctl's own until the container has ended. */

#include <jansson.h>

#include "nmctl/nmctl.h"

struct nm_attach_params {
    const char *id;
    bool want_stdout, want_stderr;
    bool want_end;       /* find out how the container ended */
    bool follow;         /* false: print only the output that exists now */
    uint64_t since_usec; /* CLOCK_REALTIME; older lines are omitted; 0: no lines are omitted */
    bool timestamps;     /* print the time at which each line was written */
    uint64_t tail;       /* number of newest lines to start with; NM_CTL_UNSET: no limit */
    bool show_progress;  /* print on stderr when the container is queued, started, paused or resumed */
    int signal_fd; /* signalfd, if nmctl started the container: a signal, or a closed reader of its output, then kills
                      the container (the second signal immediately); -EBADF: nmctl didn't start the container */
    int signal;          /* a signal that nmctl received before this call; 0: no signal */
    int until_fd;        /* connection of the container's terminal: return as soon as it is readable. If the connection
                            ends without data, the container has no terminal, and its output is followed. 0: no
                            connection */
};

struct nm_attach_result {
    json_t *container; /* want_end: the ended container, a reference that the caller owns; NULL: the end isn't known, or
                          wasn't known in time */
    int signal;        /* the last signal that nmctl received; 0: no signal */
    bool until;        /* the call has returned because until_fd is readable */
};

/* Returns NM_CTL_OK, or another exit status after printing the reason. Sets *ret in any case. */
int nm_attach_run(struct nm_ctl *ctl, const struct nm_attach_params *p,
                  struct nm_attach_result *ret);
