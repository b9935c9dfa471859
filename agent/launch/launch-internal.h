/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of launch.c (watching) and launch-spawn.c (starting) share. */

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
    int socket;         /* -EBADF when adopted */
    bool is_child;      /* ours to reap */
    bool is_session;    /* it has no directory, and no record */
    bool born_inside;
    bool has_gate;      /* still shut */
    bool told_started;
    bool gone;
    struct nm_launch_record record; /* the newest that is known */
    struct nm_output_drain last_words;
    sd_event_source *pid_source, *socket_source, *inotify_source, *defer_source;
};

int nm_launch_alloc(const char *container_dir, sd_event *event, nm_launch_cb_t cb, void *userdata,
                    struct nm_launch **ret);
int nm_launch_watch(struct nm_launch *l);
int nm_launch_forget_at(int dir_fd);
/* Field 22 of /proc/PID/stat. -ESRCH: no such process. */
int nm_launch_read_start_ticks(pid_t pid, uint64_t *ret);
struct nm_launch_record nm_launch_never_ran(int error);

/*
 * Asks the name services who the command's user is. For a process that is about to become another program: the strings
 * lie in libc's buffers, and nothing is given back. Where the account can't be used, `error` is set: ENOENT (no such
 * user), ESTALE (its uid or gid is not the command's) or why nobody could be asked.
 */
struct nm_shim_account nm_launch_account_find(const struct nm_command *command);
