/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of nm-shuffle under nmd: it is told lines, and says when it listens and when it has ended. */

#include <systemd/sd-event.h>

#include "util/error.h"

struct nm_yarn_shuffle_process;

struct nm_yarn_shuffle_process_params {
    sd_event *event;
    int program_fd;           /* nm-shuffle's; it stays the caller's */
    const char *const *argv;  /* NULL-terminated */
    uint64_t most_files;      /* that it may have open */
    int nice;
    /* `ended` comes once, and last; it may free the process. why: what it said at last, or how it ended. */
    void (*listening)(uint16_t port, void *userdata);
    void (*refused)(const char *error, void *userdata);
    void (*ended)(const char *why, void *userdata);
    void *userdata;
};

int nm_yarn_shuffle_process_new(const struct nm_yarn_shuffle_process_params *params,
                                struct nm_yarn_shuffle_process **ret);
/* Ends it. */
struct nm_yarn_shuffle_process *nm_yarn_shuffle_process_free(struct nm_yarn_shuffle_process *p);
NM_DEFINE_CLEANUP(struct nm_yarn_shuffle_process *, nm_yarn_shuffle_process_free)

/* Returns 0 if it has ended. */
pid_t nm_yarn_shuffle_process_pid(const struct nm_yarn_shuffle_process *p);
/* Sets the nice value of all its threads. -EPERM: it runs as another user, and nmd lacks CAP_SYS_NICE. */
int nm_yarn_shuffle_process_set_nice(struct nm_yarn_shuffle_process *p, int nice);

/* -EPIPE: it can't be told, as one that takes nothing for so long that it can't be waited for, and one for which there
 * is no memory. It is killed then. */
int nm_yarn_shuffle_process_tell(struct nm_yarn_shuffle_process *p, const char *line);

/* The last line of its standard error; if it has said nothing, what is in the buffer stays. */
void nm_yarn_shuffle_process_last(struct nm_yarn_shuffle_process *p, char *buf, size_t size);

/* Waits outside of the loop until it listens or has ended, or the time is over. */
void nm_yarn_shuffle_process_wait(struct nm_yarn_shuffle_process *p, uint64_t timeout_usec);
