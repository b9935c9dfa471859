/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starting commands. nmd forks one shim per container (agent/launch/shim.c, a small binary of its own).
 * The shim waits at a gate while nmd puts it into the container's cgroup; when the gate opens it
 * forks the command's process, drops privileges there, execs, waits, and records how it ended in
 * the container's directory. It outlives nmd: a restarted nmd adopts it by pid, start time and that
 * record. If nmd dies before the gate is opened, the shim leaves without running anything.
 *
 * The container's directory <state>/containers/<id>/ belongs to root and holds what the shim
 * writes: `gate`, an empty file made before anything is done for the command, and `record` (see
 * struct nm_launch_record), atomically, first "started", then "ended". A shim that is gone and has
 * left neither has run nothing, which is all that makes it safe to start the container once more.
 * Logs are <logs>/<id>/stdout and stderr.
 */

#include <systemd/sd-event.h>

#include "agent/container.h"

/* Where a launch failed, so that each case gets its own message. */
enum nm_launch_stage {
    NM_LAUNCH_STAGE_NONE,
    NM_LAUNCH_STAGE_SHIM,    /* the shim itself could not be started, or went before the gate opened */
    NM_LAUNCH_STAGE_LOGS,
    NM_LAUNCH_STAGE_USER,    /* setgroups, setgid, setuid */
    NM_LAUNCH_STAGE_WORKDIR,
    NM_LAUNCH_STAGE_EXEC,    /* error: ENOENT not found, EACCES not executable, ENOEXEC, ... */
    NM_LAUNCH_STAGE_COUNT,
};
const char *nm_launch_stage_name(enum nm_launch_stage s);

enum nm_launch_phase { NM_LAUNCH_WAITING, NM_LAUNCH_STARTED, NM_LAUNCH_ENDED };

/* What the shim has recorded so far. */
struct nm_launch_record {
    enum nm_launch_phase phase;
    pid_t pid;                      /* the command's */
    uint64_t started_usec, started_realtime_usec;
    uint64_t ended_usec, ended_realtime_usec;
    enum nm_launch_stage failed_stage; /* NONE: the command ran */
    int failed_errno;
    int exit_code;                  /* -1 when ended by a signal */
    int exit_signal;                /* 0 when it exited */
    uint64_t max_rss_bytes;         /* of the command's process tree's largest, from wait4 */
    /* Of the whole cgroup, which is gone when nobody looks before systemd does; 0 where there is no
     * memory controller. */
    uint64_t oom_kills, memory_peak_bytes;
};

#define NM_LAUNCH_RECORD_FILE "record"
#define NM_LAUNCH_GATE_FILE "gate"
#define NM_LAUNCH_RECORD_SIZE 1024 /* more than any record needs, NUL included */

/* The record's text form, a pure parser and printer (foreign bytes: it is fuzzed). -EBADMSG when malformed. */
int nm_launch_record_parse(const char *text, struct nm_launch_record *ret);
int nm_launch_record_print(const struct nm_launch_record *r, char *buf, size_t size);
/* Reads <dir>/record. -ENOENT: the shim has written nothing yet. */
int nm_launch_record_read(const char *container_dir, struct nm_launch_record *ret);
/* Has the newest shim of this directory been let through its gate? If it hasn't, and is gone, nothing ran. */
bool nm_launch_gate_was_open(const char *container_dir);

struct nm_launch_params {
    const char *shim_path;     /* the shim's binary */
    const char *container_dir; /* made (0700) if missing */
    const char *log_dir;       /* <logs>/<id>, made (0700, root) if missing; the two files belong to the user */
    const char *container_id;
    const struct nm_command *command;
    int cgroup_fd;             /* the directory of the cgroup that the shim is born in; -EBADF: nmd's own */
    int oom_score_adj;         /* of the command; the shim itself takes -1000 where it may */
    sd_event *event;
};

struct nm_launch;

/*
 * Heard in the event loop; r is valid during the call.
 *   STARTED  the command runs (r->pid), or has already ended again (ENDED follows)
 *   ENDED    the shim is gone; r tells how the command ended, or that it never ran (failed_stage != NONE).
 *            r = NULL: the shim went without an ENDED record (it was killed, alone or with its cgroup).
 * The launch must not be freed inside the callback; free it afterwards.
 */
typedef void (*nm_launch_cb_t)(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                               void *userdata);

/* Forks the shim, which waits at its gate. Bad users and the like are found by the shim, later. */
int nm_launch_new(const struct nm_launch_params *p, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Opens the gate. Returns 0, or -EPIPE when the shim has gone. */
int nm_launch_open_gate(struct nm_launch *l);
/* Is that very process still there? */
bool nm_launch_shim_lives(pid_t shim_pid, uint64_t shim_start_ticks);
/* Takes over a shim of an earlier nmd. Returns 0; -ESRCH when that process is gone (read the record instead). */
int nm_launch_adopt(const char *container_dir, pid_t shim_pid, uint64_t shim_start_ticks, sd_event *event,
                    nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Forgets it. A shim still at its gate leaves; one that runs a command goes on. */
struct nm_launch *nm_launch_free(struct nm_launch *l);
NM_DEFINE_CLEANUP(struct nm_launch *, nm_launch_free)

pid_t nm_launch_shim_pid(const struct nm_launch *l);
uint64_t nm_launch_shim_start_ticks(const struct nm_launch *l);
