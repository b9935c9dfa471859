/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The structures and functions shared by launch.c (watches shims), launch-spawn.c (starts shims) and output-drain.c
 * (saves the last output). Functions return 0 or -errno.
 */

#include "agent/launch/launch.h"
#include "agent/launch/output.h"
#include "agent/launch/shim.h"

/*
 * ---- output-drain.c --------------------------------------------------------------------------
 *
 * Saves the last output of a container that is killed. The shim is in the same cgroup and is killed together with the
 * command, perhaps before it has copied the newest output from the pipes to the log. A pipe exists as long as one of
 * its ends is open. So nmd opens the pipes before the kill, and writes their remaining content to the log after the
 * shim has exited. nmd keeps the pipes open only for this time: it uses two descriptors for each container that is
 * being killed, and no descriptors for running containers.
 */

struct nm_output_drain {
    char *log_dir; /* owned; NULL: no pipes are open */
    int fd[NM_OUTPUT_N_STREAMS];
};

#define NM_OUTPUT_DRAIN_NONE ((struct nm_output_drain){.fd = {-EBADF, -EBADF}})

/* Opens the output pipes of the shim `pid`. The caller then checks that the pid still belongs to this shim, and
 * otherwise calls nm_output_drain_close(). A second call has no effect. */
void nm_output_drain_open(struct nm_output_drain *w, pid_t pid, const char *log_dir);
/* Writes the remaining content of the pipes to the log, and closes the pipes. Is called after the shim has exited.
 * max_bytes: the log's limit for each stream. */
void nm_output_drain_write(struct nm_output_drain *w, uint64_t max_bytes);
void nm_output_drain_close(struct nm_output_drain *w);

/* ---- launch.c and launch-spawn.c ------------------------------------------------------------- */

/* The progress of a shim, as far as nmd knows it. A shim only goes forward, and may skip values. */
enum nm_shim_progress {
    NM_SHIM_NONE,           /* there is no shim yet */
    NM_SHIM_AT_GATE,        /* the shim waits at its gate, and this nmd can open the gate */
    NM_SHIM_NO_GATE,        /* this nmd has opened the gate, or an earlier nmd has started the shim */
    NM_SHIM_REPORTED_START, /* the callback was called for STARTED */
    NM_SHIM_GONE,           /* the shim has exited */
};

struct nm_launch {
    sd_event *event;
    nm_launch_cb_t cb;
    void *userdata;
    char *dir;
    pid_t pid;
    uint64_t start_ticks;
    int pidfd;
    int socket;         /* -EBADF for an adopted shim */
    bool is_child;      /* the shim is a child of nmd, so nmd must reap it */
    bool is_session;    /* the launch is a session, which has neither directory nor record */
    bool started_in_cgroup;
    enum nm_shim_progress progress;
    struct nm_launch_record record; /* newest known record of the shim */
    struct nm_output_drain output_drain;
    sd_event_source *pid_source, *socket_source, *inotify_source, *defer_source;
};

int nm_launch_alloc(const char *container_dir, sd_event *event, nm_launch_cb_t cb, void *userdata,
                    struct nm_launch **ret);
/* Asserts that the shim goes forward. */
void nm_launch_advance(struct nm_launch *l, enum nm_shim_progress to);
int nm_launch_watch(struct nm_launch *l);
int nm_launch_drop_at(int dir_fd);
/* Reads field 22 of /proc/PID/stat. Returns -ESRCH if there is no such process. */
int nm_launch_read_start_ticks(pid_t pid, uint64_t *ret);
struct nm_launch_record nm_launch_never_ran(int error);
