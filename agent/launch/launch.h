/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starting commands. nmd forks one shim per container (shim/shim.c, a small binary of its own).
 * The shim waits at a gate while nmd puts it into the container's cgroup; when the gate opens it
 * forks the command's process, drops privileges there, execs, waits, and records how it ended in
 * the container's directory. It outlives nmd: a restarted nmd adopts it by pid, start time and that
 * record. If nmd dies before the gate is opened, the shim leaves without running anything.
 *
 * The container's directory <state>/containers/<id>/ belongs to root and holds what the shim
 * writes: `gate`, an empty file made before anything is done for the command, and `record` (see
 * struct nm_launch_record), atomically, first "started", then "ended". A shim that is gone and has
 * left neither has run nothing, which is all that makes it safe to start the container once more.
 * Logs are <logs>/<id>/stdout and stderr, see output.h.
 */

#include <systemd/sd-event.h>

#include "agent/container.h"
#include "agent/launch/record.h"

/* Has the newest shim of this directory been let through its gate? If it hasn't, and is gone, nothing ran. */
bool nm_launch_gate_was_open(const char *container_dir);
/* What a shim that has ended left there for nmd: the next one is another's. 0 or -errno. */
int nm_launch_forget(const char *container_dir);

struct nm_launch_params {
    int shim_fd;               /* the shim's program, open (O_PATH); negative: why it couldn't be opened */
    const char *container_dir; /* made (0700) if missing */
    const char *log_dir;       /* <logs>/<id>, made (0700, root) if missing; what is in it, see output.h */
    uint64_t output_max_bytes; /* of each of the two streams, at least NM_OUTPUT_MIN_BYTES; 0: no limit */
    const char *container_id;
    const struct nm_command *command;
    int cgroup_fd;             /* the directory of the cgroup that the shim is born in; -EBADF: nmd's own */
    int input_fd;              /* a connection that carries its standard input; 0: that is empty */
    uint16_t rows, columns;    /* of its terminal, whose user is at the other end of the connection; 0: none */
    int oom_score_adj;         /* of the command; the shim itself takes -1000 where it may */
    bool confine;              /* in namespaces of its own, unless it is root's or may gain privileges */
    bool private_ipc;          /* shared memory of its own, too, with confine */
    sd_event *event;
};

/* Tries out, in a child that it waits for, what `confine` needs. 0, or -errno: it can't be had here. */
int nm_launch_probe_confinement(void);
/* Why not, for "it can't be had, for ...". error: negative, of the former. */
const char *nm_launch_no_confinement(int error);

struct nm_launch;
struct nm_shim_session; /* shim.h */

/*
 * Heard in the event loop; r is valid during the call.
 *   STARTED  the command runs (r->pid), or has already ended again (ENDED follows)
 *   ENDED    the shim is gone; r tells how the command ended, or that it never ran (failed_stage != NONE).
 *            r = NULL: the shim went without an ENDED record (it was killed, alone or with its cgroup).
 * The launch must not be freed inside the callback; free it afterwards.
 */
typedef void (*nm_launch_cb_t)(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                               void *userdata);

/* Are there as many descriptors free as a launch takes, and a reserve beyond that with which what runs can be paused
 * and killed? *ret_limit: how many nmd may have at all. */
bool nm_launch_has_descriptors(uint64_t *ret_limit);
/* Forks the shim, which waits at its gate. Bad users and the like are found by the shim, later. */
int nm_launch_new(const struct nm_launch_params *p, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/*
 * A session (shim-session.c): another command in a container that runs, whose shim is the process `shim_pidfd`, for
 * whoever is at the other end of `client_fd`, which stays the caller's. Of p there is no use for the directories and
 * the limit of output. Its gate opens like another's; all that is heard of it is ENDED with NULL, and once let through
 * it goes on without nmd.
 */
int nm_launch_session_new(const struct nm_launch_params *p, const struct nm_shim_session *session, int shim_pidfd,
                          int client_fd, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Opens the gate. Returns 0, or -EPIPE when the shim has gone. */
int nm_launch_open_gate(struct nm_launch *l);
/* Is that very process still there? */
bool nm_launch_shim_lives(pid_t shim_pid, uint64_t shim_start_ticks);
/* Takes over a shim of an earlier nmd. Returns 0; -ESRCH when that process is gone (read the record instead). */
int nm_launch_adopt(const char *container_dir, pid_t shim_pid, uint64_t shim_start_ticks, sd_event *event,
                    nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Before its cgroup is killed: what it has written last, and its shim may not pass on any more, still comes into the
 * log. */
void nm_launch_keep_output(struct nm_launch *l, const char *log_dir);
/* Its shim has gone: ENDED was heard, or is being told. */
bool nm_launch_is_gone(const struct nm_launch *l);
/* Is it in its cgroup already? Else who has made that moves it. */
bool nm_launch_was_born_inside(const struct nm_launch *l);
/* Forgets it. A shim still at its gate leaves; one that runs a command goes on. */
struct nm_launch *nm_launch_free(struct nm_launch *l);
NM_DEFINE_CLEANUP(struct nm_launch *, nm_launch_free)

pid_t nm_launch_shim_pid(const struct nm_launch *l);
int nm_launch_shim_pidfd(const struct nm_launch *l); /* the launch's own */
uint64_t nm_launch_shim_start_ticks(const struct nm_launch *l);
