/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of a worker under nmd, such as nm-localizer: a process group that runs as a user, with limits. The worker
 * reads its work from its standard input and reports in lines on its standard output. The event loop reads the lines
 * and detects the end of the process. */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "localize/worker-protocol.h"
#include "util/macros.h"

struct nm_worker_process;

struct nm_worker_process_params {
    sd_event *event;
    int program_fd;      /* open file of the program, from nmd's start */
    const char *name;    /* name of the program for argv[0] and for messages; a constant */
    uid_t uid;
    gid_t gid;
    const char *account; /* account whose supplementary groups are used; NULL: the uid's first account */
    const char *work;    /* text for the worker's standard input */
    size_t extra_lines;  /* lines that the worker may write at once, in addition to the lines that a pipe holds */
    uint64_t most_memory_bytes; /* limit on the worker's writable memory; the worker may raise it for a command */
    /* A line without its newline, not terminated by NUL. It is untrusted: any process of the user can write it.
     * has_ended: the line is read after the process has ended. Must not free the worker. */
    void (*line)(const char *line, size_t size, bool has_ended, void *userdata);
    /* Called once, as the last callback. Only this callback may free the worker. reason: how the process has ended. */
    void (*ended)(const char *reason, void *userdata);
    /* The worker has written more lines than a worker ever writes, and nmd reads no further lines. The callback may
     * kill the worker. */
    void (*overran)(void *userdata);
    void *userdata;
};

int nm_worker_process_new(const struct nm_worker_process_params *p, struct nm_worker_process **ret);
/* Kills the whole process group and waits for its end, unless the process can't exit because it waits for a disk. No
 * callback is called afterwards. */
struct nm_worker_process *nm_worker_process_free(struct nm_worker_process *w);
NM_DEFINE_CLEANUP(struct nm_worker_process *, nm_worker_process_free)
/* Kills the whole process group without waiting, because a process may need time to exit. `ended` will be called. */
void nm_worker_process_kill(struct nm_worker_process *w);
