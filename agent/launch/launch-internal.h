/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The structure and functions that launch.c (watching) and launch-spawn.c (starting) share. */

#include "agent/launch/output-drain.h"
#include "agent/launch/launch.h"
#include "agent/launch/shim.h"

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
    bool born_inside;
    bool has_gate;      /* the shim's gate is still closed */
    bool told_started;
    bool gone;
    struct nm_launch_record record; /* newest known record of the shim */
    struct nm_output_drain output_drain;
    sd_event_source *pid_source, *socket_source, *inotify_source, *defer_source;
};

int nm_launch_alloc(const char *container_dir, sd_event *event, nm_launch_cb_t cb, void *userdata,
                    struct nm_launch **ret);
int nm_launch_watch(struct nm_launch *l);
int nm_launch_forget_at(int dir_fd);
/* Reads field 22 of /proc/PID/stat. Returns -ESRCH if there is no such process. */
int nm_launch_read_start_ticks(pid_t pid, uint64_t *ret);
struct nm_launch_record nm_launch_never_ran(int error);

/*
 * Looks up the command's user in the name services. Only for a process that is about to exec another program: the
 * strings lie in libc's buffers, and no memory is freed. If the account cannot be used, `error` is set: ENOENT (no such
 * user), ESTALE (its uid or gid differs from the command's) or the reason why the lookup failed.
 */
struct nm_shim_account nm_launch_account_find(const struct nm_command *command);
