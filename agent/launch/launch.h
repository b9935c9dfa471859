/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starts commands. nmd forks one shim per container (shim/shim.c, a small binary of its own). The shim waits at a gate
 * while nmd puts it into the container's cgroup; when the gate opens it forks the command's process, drops privileges
 * there, execs, waits, and records how it ended in the container's directory. The shim outlives nmd: a restarted nmd
 * adopts it by pid, start time and that record. If nmd dies before the gate is opened, the shim exits without running
 * the command.
 *
 * The container's directory <state>/containers/<id>/ belongs to root and holds the shim's files. `gate` is an empty
 * file, made before the shim does anything for the command. `record` (see struct nm_launch_record) is written
 * atomically, first with "started", then with "ended". A shim that has gone and left neither file did not run the
 * command. Only this makes it safe to start the container again. Logs are <logs>/<id>/stdout and stderr, see output.h.
 */

#include <systemd/sd-event.h>

#include "agent/container.h"
#include "agent/launch/record.h"

/* Returns whether the newest shim of this directory has passed its gate. A shim that has gone without passing its gate
 * has not run the command. */
bool nm_launch_gate_was_open(const char *container_dir);
/* Removes the files of a shim that has ended, before a new shim uses the directory. Returns 0 or -errno. */
int nm_launch_forget(const char *container_dir);

struct nm_launch_params {
    int shim_fd;               /* the shim's program, open (O_PATH); negative: the error of opening it */
    const char *container_dir; /* made (0700) if missing */
    const char *log_dir;       /* <logs>/<id>, made (0700, root) if missing; for its contents see output.h */
    uint64_t output_max_bytes; /* limit of each of the two streams, at least NM_OUTPUT_MIN_BYTES; 0: no limit */
    const char *container_id;
    const struct nm_command *command;
    int cgroup_fd;             /* the directory of the cgroup in which the shim is born; -EBADF: nmd's own cgroup */
    int input_fd;              /* a connection that carries the standard input; 0: the input is empty */
    uint16_t rows, columns;    /* size of the command's terminal, whose user is at the other end of input_fd; 0 if there
                                  is no terminal */
    int oom_score_adj;         /* value for the command; the shim sets its own value to -1000 if permitted */
    bool confine;              /* use separate namespaces, unless the command is root's or may gain privileges */
    bool private_ipc;          /* with confine: use separate shared memory, too */
    sd_event *event;
};

/* Tests in a child, for which it waits, whether this host supports `confine`. Returns 0, or -errno if the host does not
 * support it. */
int nm_launch_probe_confinement(void);
/* Returns the reason in words, for use after "for". error: negative result of nm_launch_probe_confinement(). */
const char *nm_launch_no_confinement(int error);

struct nm_launch;
struct nm_shim_session; /* shim.h */

/*
 * Called from the event loop; r is valid during the call.
 *   STARTED  the command runs (r->pid), or has already ended again (ENDED follows)
 *   ENDED    the shim is gone; r tells how the command ended, or that it never ran (failed_stage != NONE).
 *            r = NULL: the shim left no ENDED record (it was killed, alone or with its cgroup).
 * The launch must not be freed inside the callback; free it afterwards.
 */
typedef void (*nm_launch_cb_t)(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                               void *userdata);

/* Returns whether enough descriptors are free for a launch and for a reserve with which running containers can still be
 * paused and killed. *ret_limit: nmd's limit of descriptors. */
bool nm_launch_has_descriptors(uint64_t *ret_limit);
/* Forks the shim, which waits at its gate. The shim detects errors such as an invalid user later. */
int nm_launch_new(const struct nm_launch_params *p, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/*
 * Starts a session (shim-session.c): another command in a running container, whose shim is the process `shim_pidfd`,
 * for the client at the other end of `client_fd`. The caller keeps client_fd. Directories and output limit of p are not
 * used. The gate opens as for other launches. The only callback is ENDED with NULL. After its gate a session no longer
 * needs nmd.
 */
int nm_launch_session_new(const struct nm_launch_params *p, const struct nm_shim_session *session, int shim_pidfd,
                          int client_fd, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Opens the gate. Returns 0, or -EPIPE if the shim has gone. */
int nm_launch_open_gate(struct nm_launch *l);
/* Returns whether the process with this pid and start time still exists. */
bool nm_launch_shim_lives(pid_t shim_pid, uint64_t shim_start_ticks);
/* Takes over a shim of an earlier nmd. Returns 0, or -ESRCH if that process has gone (then read the record instead). */
int nm_launch_adopt(const char *container_dir, pid_t shim_pid, uint64_t shim_start_ticks, sd_event *event,
                    nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Keeps the pipes of the shim open before its cgroup is killed. The newest output, which the shim may no longer be able
 * to copy, thus still reaches the log. */
void nm_launch_keep_output(struct nm_launch *l, const char *log_dir);
/* Returns whether the shim has gone: the ENDED callback was called or is being called. */
bool nm_launch_is_gone(const struct nm_launch *l);
/* Returns whether the shim was born in its cgroup. If not, the creator of the cgroup must move the shim there. */
bool nm_launch_was_born_inside(const struct nm_launch *l);
/* Frees the launch. A shim that waits at its gate exits; a shim that runs a command keeps running. */
struct nm_launch *nm_launch_free(struct nm_launch *l);
NM_DEFINE_CLEANUP(struct nm_launch *, nm_launch_free)

pid_t nm_launch_shim_pid(const struct nm_launch *l);
int nm_launch_shim_pidfd(const struct nm_launch *l); /* owned by the launch */
uint64_t nm_launch_shim_start_ticks(const struct nm_launch *l);
